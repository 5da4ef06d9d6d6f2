// Inverse factors W = L^{-1} of several matrices H = L L', tile by tile, and products with them.
//
// Step k computes column k of tiles of L and row k of tiles of W, by two kernels:
//
//   `panel`    L_ik = A_ik W_kk' below the diagonal, and W_kj = -W_kk S_kj left of it;
//   `update`   A_ij -= L_ik L_jk' in the remaining rows and columns, S_ij += L_ik W_kj in the
//              remaining rows, and the next diagonal tile, W_{k+1,k+1}.
//
// A holds the matrices H at first, and L below the diagonal at the end; S is stored where W will
// be. Both are (n, m, m), row by row; entries of A above the diagonal are not read. Tiles that
// extend beyond m are padded with the identity matrix.
//
// Macros defined by the caller:
//   REAL       type of numbers
//   ONLY_...   the kernel to compile

#define TILE 64
#define CHUNK 16   // columns of a tile in shared memory at a time
#define THREADS 256  // 16 x 16 threads; each has 4 x 4 entries of a tile, 16 apart

typedef REAL Own[4][4];

// Entry (i, j) of M (m, m), padded with the identity matrix.
__device__ __forceinline__ REAL entry(const REAL* M, int m, int i, int j) {
    return i < m && j < m ? M[(long long)i * m + j] : (REAL)(i == j);
}

// own += A B, or A B' if transposed, with the tiles (ai, aj) of A and (bi, bj) of B. `room` is
// shared memory for TILE * (CHUNK + 1) + CHUNK * (TILE + 1) numbers.
__device__ void add_product(Own own, REAL* room, const REAL* A, int ai, int aj, const REAL* B,
                            int bi, int bj, bool transposed, int m) {
    REAL(*a)[CHUNK + 1] = (REAL(*)[CHUNK + 1])room;
    REAL(*b)[TILE + 1] = (REAL(*)[TILE + 1])(room + TILE * (CHUNK + 1));
    const int t = threadIdx.x, ty = t / 16, tx = t % 16, row = t / TILE, column = t % TILE;
    // The next columns are loaded while the last are multiplied.
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

// Set tile (i, j) of M to sign * own, or add sign * own to it.
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
// Each block computes one tile of L or W: blockIdx.x numbers those of L below the diagonal, then
// those of W left of it. blockIdx.y is a matrix.
extern "C" __global__ void __launch_bounds__(THREADS)
    panel(REAL* __restrict__ A, REAL* __restrict__ W, int m, int k) {
    __shared__ REAL room[TILE * (CHUNK + 1) + CHUNK * (TILE + 1)];
    const long long size = (long long)m * m;
    A += blockIdx.y * size;
    W += blockIdx.y * size;
    const int below = n_tiles(m) - k - 1, t = blockIdx.x;
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
// Compute W_kk from diagonal tile k of A, which is in `room`, by Gaussian elimination: multiples of
// each row in turn are subtracted from all rows below it. This leaves the inverse of L, up to a
// scale per row, in the place of the eliminated entries. Four threads hold a row in registers. The
// row to subtract is in one of two buffers in shared memory, so that the next can be written while
// it is read.
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

// Each block updates one tile: blockIdx.x numbers the remaining tiles of A by rows, from the next
// diagonal tile on, then those of S. blockIdx.y is a matrix. With k = -1, only the first diagonal
// tile is inverted.
extern "C" __global__ void __launch_bounds__(THREADS)
    update(REAL* __restrict__ A, REAL* __restrict__ W, int m, int k) {
    __shared__ REAL room[TILE * (TILE + 1)];
    const long long size = (long long)m * m;
    A += blockIdx.y * size;
    W += blockIdx.y * size;
    const int left = n_tiles(m) - k - 1, n_left = left * (left + 1) / 2;
    int t = blockIdx.x;
    Own own;
    clear(own);
    if (t >= n_left) {
        const int i = k + 1 + (t - n_left) / (k + 1), j = (t - n_left) % (k + 1);
        add_product(own, room, A, i, k, W, k, j, false, m);
        store(own, W, i, j, 1, j < k, m);
        return;
    }
    int row = 0;
    while (t > row) t -= ++row;
    const int i = k + 1 + row, j = k + 1 + t;
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
// out (n, m) = W v for each lower triangular matrix W, with one warp per row.
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
// out (n, m) = W' v for each lower triangular matrix W, with 32 columns per block and 8 threads per
// column.
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
