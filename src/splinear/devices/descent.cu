// Coordinate descent for problems in a box: 1/2 b'(K + diag(d)) b - t'b + e |b| of several outputs,
// which share K (n, n). ROWS of the rows that move at a time: `turns` goes through them, a block of
// threads per output, and `follow` lets the gradient of all rows follow, of all outputs, in one
// reading of these rows of K. Everything is added up in a fixed order.
//
// Defined by the caller:
//   ROWS      rows at a time
//   TURNS     how often they are gone through
//   OUTPUTS   of one call of `follow`
//   SHRINKS   1: there is an e
//   ONLY_...  which kernel is wanted

typedef long long Row;

#ifdef ONLY_turns
#define PARTS (ROWS / 32)  // rows of a lane

// Where the function is least along b_i alone, given the goal b_i - gradient_i / (K_ii + d_i) and the
// part `edge` of it that |b_i| costs.
__device__ __forceinline__ float least_at(float goal, float edge, float low, float high) {
#if SHRINKS
    const float size = fmaxf(fabsf(goal) - edge, 0.0f);
    goal = goal < 0.0f ? -size : size;
#endif
    return fminf(fmaxf(goal, low), high);
}

// The m <= ROWS `rows` of output blockIdx.x: b moves, and moves (outputs, ROWS) says how far. The
// gradient gets what d has of that. Arrays of rows are (outputs, n). `memory` has room for ROWS * ROWS
// floats. All threads fetch what these rows have of K, and one warp goes through them: its lanes tell
// each other about moves far faster than the threads of a block could, and a lane has PARTS rows that
// follow each other, so that it need not tell of each by itself. What it knows of a row is the goal,
// to which a move along another row i adds -K_ij / (K_jj + d_j) times it.
extern "C" __global__ void __launch_bounds__(4 * ROWS)
    turns(const float* __restrict__ K, const float* __restrict__ low,
          const float* __restrict__ high, const float* __restrict__ ridge,
          float* __restrict__ gradient, float* __restrict__ b, float* __restrict__ moves,
          const int* __restrict__ rows, Row n, int m, float shrinkage) {
    extern __shared__ double memory[];
    __shared__ float scales[ROWS];
    float* here = (float*)memory;
    const int t = threadIdx.x;
    const Row mine = rows[t < m ? t : 0], first = (Row)blockIdx.x * n;
    const float bend = __ldg(K + mine * n + mine) + ridge[first + mine];
    const float scale = 1.0f / fmaxf(bend, 1.17549435e-38f);
    if (threadIdx.y == 0) scales[t] = scale;
#pragma unroll
    for (int i = threadIdx.y; i < ROWS; i += 4)
        here[i * ROWS + t] = t < m && i < m && i != t ? -scale * __ldg(K + rows[i] * n + mine) : 0.0f;
    __syncthreads();
    if (threadIdx.y > 0 || t >= 32) return;
    Row at[PARTS];
    float own[PARTS], before[PARTS], goal[PARTS], edge[PARTS], least[PARTS], most[PARTS];
    float among[PARTS][PARTS];  // the rows of this lane
#pragma unroll
    for (int q = 0; q < PARTS; ++q) {  // rows beyond m do not move
        const int i = PARTS * t + q;
        at[q] = first + rows[i < m ? i : 0];
        own[q] = before[q] = i < m ? b[at[q]] : 0.0f;
        goal[q] = i < m ? own[q] - gradient[at[q]] * scales[i] : 0.0f;
        edge[q] = shrinkage * scales[i];
        least[q] = i < m ? low[at[q]] : 0.0f;
        most[q] = i < m ? high[at[q]] : 0.0f;
#pragma unroll
        for (int p = 0; p < PARTS; ++p) among[q][p] = here[i * ROWS + PARTS * t + p];
    }
    for (int turn = 0; turn < TURNS; ++turn)
#pragma unroll 8
        for (int lane = 0; lane < 32; ++lane) {  // all lanes do as if it were their turn
            float to[PARTS], move[PARTS];
#pragma unroll
            for (int q = 0; q < PARTS; ++q) {
                float there = goal[q];
#pragma unroll
                for (int p = 0; p < q; ++p) there += move[p] * among[p][q];
                to[q] = least_at(there, edge[q], least[q], most[q]);
                move[q] = to[q] - own[q];
            }
#pragma unroll
            for (int q = 0; q < PARTS; ++q) {
                const float* row = here + (PARTS * lane + q) * ROWS + PARTS * t;
                const float told = __shfl_sync(0xffffffffu, move[q], lane);
                if (t == lane) own[q] = to[q];
#pragma unroll
                for (int p = 0; p < PARTS; ++p) goal[p] += told * row[p];
            }
        }
#pragma unroll
    for (int q = 0; q < PARTS; ++q) {
        const int i = PARTS * t + q;
        if (i < m) {
            b[at[q]] = own[q];
            gradient[at[q]] += ridge[at[q]] * (own[q] - before[q]);
        }
        moves[blockIdx.x * ROWS + i] = own[q] - before[q];
    }
}
#endif

#ifdef ONLY_violations
// out (n) = how much the function falls per unit of b_i alone, where it can, of the output where that
// is most: the largest of what `Box.violation` (solvers/hinge/box.py) returns for all outputs, in one
// call. `same_violations` in tests/devices/test_pool.py compares the two.
extern "C" __global__ void __launch_bounds__(256)
    violations(const float* __restrict__ low, const float* __restrict__ high,
               const float* __restrict__ gradient, const float* __restrict__ b,
               float* __restrict__ out, Row n, int n_outputs, float shrinkage) {
    const Row i = (Row)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float most = 0.0f;
    for (Row at = i; at < n_outputs * n; at += n) {
        const float own = b[at], g = gradient[at];
        if (own < high[at]) most = fmaxf(most, -g - (own >= 0.0f ? shrinkage : -shrinkage));
        if (own > low[at]) most = fmaxf(most, g + (own > 0.0f ? shrinkage : -shrinkage));
    }
    out[i] = most;
}
#endif

#ifdef ONLY_follow
// gradient (OUTPUTS, n) += moves (OUTPUTS, ROWS) times these rows of K. 32 columns of K per block of
// 32 x 8 threads, each of which adds up every eighth row.
extern "C" __global__ void __launch_bounds__(256)
    follow(const float* __restrict__ K, const float* __restrict__ moves,
           float* __restrict__ gradient, const int* __restrict__ rows, Row n, int m) {
    __shared__ float by[OUTPUTS][ROWS];
    __shared__ int at[ROWS];
    __shared__ float sums[8][OUTPUTS][33];
    __shared__ int any;
    const int t = threadIdx.y * 32 + threadIdx.x;
    if (t == 0) any = 0;
    for (int i = t; i < m; i += 256) at[i] = rows[i];
    __syncthreads();
    for (int k = t; k < OUTPUTS * ROWS; k += 256) {
        const float move = moves[k];
        by[k / ROWS][k % ROWS] = move;
        if (move != 0.0f) any = 1;
    }
    __syncthreads();
    if (!any) return;
    const Row j = (Row)blockIdx.x * 32 + threadIdx.x;
    float sum[OUTPUTS];
#pragma unroll
    for (int k = 0; k < OUTPUTS; ++k) sum[k] = 0.0f;
    if (j < n) {
#pragma unroll 4
        for (int i = threadIdx.y; i < m; i += 8) {
            const float own = __ldg(K + at[i] * n + j);
#pragma unroll
            for (int k = 0; k < OUTPUTS; ++k) sum[k] += by[k][i] * own;
        }
    }
#pragma unroll
    for (int k = 0; k < OUTPUTS; ++k) sums[threadIdx.y][k][threadIdx.x] = sum[k];
    __syncthreads();
    if (j >= n) return;
    for (int k = threadIdx.y; k < OUTPUTS; k += 8) {
        float all = 0.0f;
        for (int part = 0; part < 8; ++part) all += sums[part][k][threadIdx.x];
        gradient[k * n + j] += all;
    }
}
#endif

#ifdef ONLY_among
// Row blockIdx.x of out (outputs, m, m), of output blockIdx.y: what K (n, n) has of `rows` (outputs, m),
// of which -1 is one of the unit matrix.
extern "C" __global__ void __launch_bounds__(256)
    among(const float* __restrict__ K, const int* __restrict__ rows, float* __restrict__ out, Row n,
          int m) {
    const int i = blockIdx.x;
    rows += (Row)blockIdx.y * m;
    out += ((Row)blockIdx.y * m + i) * m;
    const Row own = rows[i];
    for (int j = threadIdx.x; j < m; j += blockDim.x) {
        const int other = rows[j];
        const bool both = own >= 0 && other >= 0;
        out[j] = both ? __ldg(K + own * n + other) : i == j ? 1.0f : 0.0f;
    }
}
#endif
