// Inverse factors L^{-1} of several matrices H = L L', tile by tile, and products with them.
//
// Tiles of L and of its inverse W come in steps, each of which ends with tiles that the next one
// begins with. With tiles numbered i, j, and k that of the step:
//
//   `panel`    L_ik = A_ik W_kk' below the diagonal, and W_kj = -W_kk S_kj left of it.
//   `update`   A_ij -= L_ik L_jk' for all that is left, S_ij += L_ik W_kj of the rows to come; and
//              the next tile of the diagonal, W_{k+1,k+1}.
//
// A are the matrices, which become L below the diagonal; S becomes W. Both are (n, m, m), row by row;
// what is above the diagonal of A is not read. Rows beyond m are those of the unit matrix, and so are
// those of matrix number b from sizes[b] on: tiles of them are left out.
//
// Defined by the caller:
//   REAL       type of numbers
//   ONLY_...   which kernel is wanted

#define TILE 64
#define CHUNK 16   // columns of a tile that are in shared memory at a time
#define THREADS 256  // 16 x 16 of them, each with 4 x 4 numbers of a tile, 16 apart

typedef REAL Own[4][4];

__device__ __forceinline__ REAL entry(const REAL* M, int m, int i, int j) {
    return i < m && j < m ? M[(long long)i * m + j] : (REAL)(i == j);
}

// own += A B' or A B of the tiles (ai, aj) of A and (bi, bj) of B. `room` is for TILE * (TILE + 1).
__device__ void add_product(Own own, REAL* room, const REAL* A, int ai, int aj, const REAL* B,
                            int bi, int bj, bool transposed, int m) {
    REAL(*a)[CHUNK + 1] = (REAL(*)[CHUNK + 1])room;
    REAL(*b)[TILE + 1] = (REAL(*)[TILE + 1])(room + TILE * (CHUNK + 1));
    const int t = threadIdx.x, ty = t / 16, tx = t % 16, row = t / TILE, column = t % TILE;
    // What is read next is on its way while the last is multiplied.
    REAL next_a[4], next_b[4];
    for (int first = -CHUNK; first < TILE; first += CHUNK) {
        if (first >= 0) {
            __syncthreads();
#pragma unroll
            for (int u = 0; u < 4; ++u) {
                a[ty + 16 * u][tx] = next_a[u];
                if (transposed)
                    b[tx][ty + 16 * u] = next_b[u];
                else
                    b[row + 4 * u][column] = next_b[u];
            }
            __syncthreads();
        }
        const int next = first + CHUNK;
        if (next < TILE) {
#pragma unroll
            for (int u = 0; u < 4; ++u) {
                const int i = ty + 16 * u, p = next + tx;
                next_a[u] = entry(A, m, ai * TILE + i, aj * TILE + p);
                next_b[u] = transposed
                                ? entry(B, m, bi * TILE + i, bj * TILE + p)
                                : entry(B, m, bi * TILE + next + row + 4 * u, bj * TILE + column);
            }
        }
        if (first < 0) continue;
#pragma unroll
        for (int p = 0; p < CHUNK; ++p) {
            REAL left[4], right[4];
#pragma unroll
            for (int u = 0; u < 4; ++u) left[u] = a[ty + 16 * u][p], right[u] = b[p][tx + 16 * u];
#pragma unroll
            for (int u = 0; u < 4; ++u)
#pragma unroll
                for (int v = 0; v < 4; ++v) own[u][v] += left[u] * right[v];
        }
    }
}

__device__ int n_tiles(int n) { return (n + TILE - 1) / TILE; }

__device__ void clear(Own own) {
#pragma unroll
    for (int u = 0; u < 4; ++u)
#pragma unroll
        for (int v = 0; v < 4; ++v) own[u][v] = 0;
}

// Tile (i, j) of M = sign * own, or what it is plus that.
__device__ void store(const Own own, REAL* M, int i, int j, int sign, bool add, int m) {
    const int ty = threadIdx.x / 16, tx = threadIdx.x % 16;
#pragma unroll
    for (int u = 0; u < 4; ++u)
#pragma unroll
        for (int v = 0; v < 4; ++v) {
            const int r = i * TILE + ty + 16 * u, c = j * TILE + tx + 16 * v;
            if (r >= m || c >= m) continue;
            REAL* to = M + (long long)r * m + c;
            *to = add ? *to + sign * own[u][v] : sign * own[u][v];
        }
}

#ifdef ONLY_panel
// One tile of L or W per block of threads: blockIdx.x counts those below the diagonal, then those left
// of it.
extern "C" __global__ void __launch_bounds__(THREADS)
    panel(REAL* __restrict__ A, REAL* __restrict__ W, const int* __restrict__ sizes, int m, int k) {
    __shared__ REAL room[TILE * (CHUNK + 1) + CHUNK * (TILE + 1)];
    const long long size = (long long)m * m;
    A += blockIdx.y * size;
    W += blockIdx.y * size;
    const int below = n_tiles(m) - k - 1, t = blockIdx.x, last = n_tiles(sizes[blockIdx.y]);
    if (k >= last || (t < below && k + 1 + t >= last)) return;
    Own own;
    clear(own);
    if (t < below) {
        const int i = k + 1 + t;
        add_product(own, room, A, i, k, W, k, k, true, m);
        store(own, A, i, k, 1, false, m);
    } else {
        const int j = t - below;
        add_product(own, room, W, k, k, W, k, j, false, m);
        store(own, W, k, j, -1, false, m);
    }
}
#endif

#ifdef ONLY_update
// Tile k of the diagonal is that of the unit matrix.
__device__ void store_unit(REAL* W, int k, int m) {
    const int i = k * TILE + threadIdx.x;
    if (threadIdx.x < TILE && i < m) W[(long long)i * m + i] = 1;
}

// W_kk of tile k of the diagonal, which is in `room`: Gauss' elimination of all rows below a row, one
// after the other. To the left of what is left of them is then the inverse of L without its scale. Four
// threads have a row in registers, and the row that is subtracted is in shared memory, where it stays
// while the next one comes.
__device__ void invert(const REAL* room, REAL* W, int k, int m) {
    alignas(16) __shared__ REAL rows[2][TILE];
    const int r = threadIdx.x / 4, part = threadIdx.x % 4, first = threadIdx.x & 28;
    REAL own[16];
#pragma unroll
    for (int c = 0; c < 16; ++c) own[c] = room[r * (TILE + 1) + 16 * part + c];
    for (int now = 0; now < 4; ++now)
#pragma unroll
        for (int c = 0; c < 16; ++c) {
            const int p = 16 * now + c;
            REAL* row = rows[c & 1];
            if (r == p)
#pragma unroll
                for (int u = 0; u < 16; ++u) row[16 * part + u] = own[u];
            __syncthreads();
            const REAL pivot = row[p], below = __shfl_sync(0xffffffffu, own[c], first + now);
            if (r <= p) continue;
            const REAL factor = below / (pivot > 0 ? pivot : (REAL)nan(""));
#pragma unroll
            for (int u = 0; u < 16; ++u) own[u] -= factor * row[16 * part + u];
            if (part == now) own[c] = -factor;
        }
    REAL pivot = 0;
#pragma unroll
    for (int c = 0; c < 16; ++c)
        if (16 * part + c == r) pivot = own[c];
    pivot = __shfl_sync(0xffffffffu, pivot, first + r / 16);
    const REAL scale = pivot > 0 ? (REAL)(1.0 / sqrt((double)pivot)) : (REAL)nan("");
    const int i = k * TILE + r;
#pragma unroll
    for (int c = 0; c < 16; ++c) {
        const int column = 16 * part + c, j = k * TILE + column;
        if (i >= m || j >= m) continue;
        W[(long long)i * m + j] = column > r ? 0 : column == r ? scale : scale * own[c];
    }
}

// One tile per block of threads: blockIdx.x counts those of A that are left, by rows, beginning with
// the next of the diagonal, then those of S. k = -1: only the first of the diagonal.
extern "C" __global__ void __launch_bounds__(THREADS)
    update(REAL* __restrict__ A, REAL* __restrict__ W, const int* __restrict__ sizes, int m, int k) {
    __shared__ REAL room[TILE * (TILE + 1)];
    const long long size = (long long)m * m;
    A += blockIdx.y * size;
    W += blockIdx.y * size;
    const int left = n_tiles(m) - k - 1, n_left = left * (left + 1) / 2;
    const int last = n_tiles(sizes[blockIdx.y]);
    int t = blockIdx.x;
    Own own;
    clear(own);
    if (t >= n_left) {
        const int i = k + 1 + (t - n_left) / (k + 1), j = (t - n_left) % (k + 1);
        if (i >= last) return;
        add_product(own, room, A, i, k, W, k, j, false, m);
        store(own, W, i, j, 1, j < k, m);
        return;
    }
    int row = 0;
    while (t > row) t -= ++row;
    const int i = k + 1 + row, j = k + 1 + t;
    if (i >= last) {
        if (i == k + 1) store_unit(W, i, m);
        return;
    }
    if (k >= 0) add_product(own, room, A, i, k, A, j, k, true, m);
    if (i > k + 1) {
        store(own, A, i, j, -1, true, m);
        return;
    }
    __syncthreads();
    const int ty = threadIdx.x / 16, tx = threadIdx.x % 16;
#pragma unroll
    for (int u = 0; u < 4; ++u)
#pragma unroll
        for (int v = 0; v < 4; ++v) {
            const int r = ty + 16 * u, c = tx + 16 * v;
            const int low = i * TILE + (r > c ? r : c), high = i * TILE + (r > c ? c : r);
            room[r * (TILE + 1) + c] = entry(A, m, low, high) - own[u][v];
        }
    __syncthreads();
    invert(room, W, i, m);
}
#endif

#ifdef ONLY_multiply
// out (n, m) = W v of each matrix, W being lower triangular: a warp per row.
extern "C" __global__ void __launch_bounds__(THREADS)
    multiply(const REAL* __restrict__ W, const REAL* __restrict__ v, REAL* __restrict__ out, int m) {
    const int i = blockIdx.x * (THREADS / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (i >= m) return;
    const long long first = (long long)blockIdx.y * m;
    REAL sum = 0;
    for (int j = lane; j <= i; j += 32) sum += W[(first + i) * m + j] * v[first + j];
    for (int other = 16; other > 0; other /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, other);
    if (lane == 0) out[first + i] = sum;
}
#endif

#ifdef ONLY_multiply_transposed
// out (n, m) = W' v of each matrix: 32 columns per block, of which 8 threads add up one.
extern "C" __global__ void __launch_bounds__(THREADS)
    multiply_transposed(const REAL* __restrict__ W, const REAL* __restrict__ v, REAL* __restrict__ out,
                     int m) {
    __shared__ REAL sums[THREADS / 32][33];
    const int x = threadIdx.x % 32, y = threadIdx.x / 32, j = blockIdx.x * 32 + x;
    const long long first = (long long)blockIdx.y * m;
    REAL sum = 0;
    if (j < m)
        for (int i = blockIdx.x * 32 + y; i < m; i += THREADS / 32)
            if (i >= j) sum += W[(first + i) * m + j] * v[first + i];
    sums[y][x] = sum;
    __syncthreads();
    if (y > 0 || j >= m) return;
    for (int part = 1; part < THREADS / 32; ++part) sum += sums[part][x];
    out[first + j] = sum;
}
#endif
