// Coordinate descent for problems in a box: 1/2 b'(K + diag(d)) b - t'b + e |b| of several outputs,
// which share K (n, n). ROWS of the rows that move at a time: `turns` goes through them, a block of
// threads per output, and `follow` lets the gradient of all rows follow, of all outputs, in one
// reading of these rows of K. Everything is added up in a fixed order.
//
// Defined by the caller:
//   ROWS      rows at a time
//   TURNS     how often they are gone through
//   OUTPUTS   of one call of `follow`
//   ONLY_...  which kernel is wanted

typedef long long Row;

#ifdef ONLY_turns
#define PARTS (ROWS / 32)  // rows of a lane

// Where b_i goes along its own coordinate; `scale` is one over the second derivative.
__device__ __forceinline__ float goal_of(float b, float gradient, float scale, float shrinkage,
                                         float low, float high) {
    const float goal = b - gradient * scale;
    const float size = fmaxf(fabsf(goal) - shrinkage * scale, 0.0f);
    return fminf(fmaxf(goal < 0.0f ? -size : size, low), high);
}

// The m <= ROWS `rows` of output blockIdx.x: b moves, and moves (outputs, ROWS) says how far. The
// gradient gets what d has of that. Arrays of rows are (outputs, n). `memory` has room for ROWS * ROWS
// floats. All threads fetch what these rows have of K, and one warp goes through them: its lanes tell
// each other about moves far faster than the threads of a block could.
extern "C" __global__ void __launch_bounds__(4 * ROWS)
    turns(const float* __restrict__ K, const float* __restrict__ low,
          const float* __restrict__ high, const float* __restrict__ ridge,
          float* __restrict__ gradient, float* __restrict__ b, float* __restrict__ moves,
          const int* __restrict__ rows, Row n, int m, float shrinkage) {
    extern __shared__ double memory[];
    float* here = (float*)memory;
    const int t = threadIdx.x;
    const Row mine = rows[t < m ? t : 0];
#pragma unroll 16
    for (int i = threadIdx.y; i < ROWS; i += 4)
        here[i * ROWS + t] = t < m && i < m ? __ldg(K + rows[i] * n + mine) : 0.0f;
    __syncthreads();
    if (threadIdx.y > 0 || t >= 32) return;
    Row at[PARTS];
    float own[PARTS], before[PARTS], g[PARTS], d[PARTS], scale[PARTS], least[PARTS], most[PARTS];
#pragma unroll
    for (int q = 0; q < PARTS; ++q) {
        const int i = 32 * q + t;
        at[q] = (Row)blockIdx.x * n + rows[i < m ? i : 0];
        d[q] = ridge[at[q]];
        scale[q] = i < m ? 1.0f / fmaxf(here[i * ROWS + i] + d[q], 1.17549435e-38f) : 0.0f;
        own[q] = before[q] = i < m ? b[at[q]] : 0.0f;
        g[q] = i < m ? gradient[at[q]] : 0.0f;
        least[q] = i < m ? low[at[q]] : 0.0f;
        most[q] = i < m ? high[at[q]] : 0.0f;
    }
    for (int turn = 0; turn < TURNS; ++turn)
#pragma unroll
        for (int q = 0; q < PARTS; ++q)
#pragma unroll 8
            for (int lane = 0; lane < 32; ++lane) {  // rows beyond m do not move
                const float* row = here + (32 * q + lane) * ROWS + t;
                const float to = goal_of(own[q], g[q], scale[q], shrinkage, least[q], most[q]);
                const float move = __shfl_sync(0xffffffffu, to - own[q], lane);
                if (t == lane) {
                    own[q] = to;
                    g[q] += d[q] * move;
                }
#pragma unroll
                for (int p = 0; p < PARTS; ++p) g[p] += move * row[32 * p];
            }
#pragma unroll
    for (int q = 0; q < PARTS; ++q) {
        const int i = 32 * q + t;
        if (i < m) {
            b[at[q]] = own[q];
            gradient[at[q]] += d[q] * (own[q] - before[q]);
        }
        moves[blockIdx.x * ROWS + i] = own[q] - before[q];
    }
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

#ifdef ONLY_slopes
// out (outputs, shares): the sum over i of q (b + t p - a(f + t q)), t the share blockIdx.y of output
// blockIdx.x, and a(f) what a score asks for: (target - f) / w, shrunk and cut off at the bounds.
// Arrays of rows are (outputs, n).
extern "C" __global__ void __launch_bounds__(256)
    slopes(const double* __restrict__ targets, const double* __restrict__ low,
           const double* __restrict__ high, const double* __restrict__ w,
           const double* __restrict__ b, const double* __restrict__ p,
           const double* __restrict__ f, const double* __restrict__ q,
           const double* __restrict__ shares, double* __restrict__ out, Row n, double shrinkage) {
    __shared__ double sums[256];
    const double t = shares[blockIdx.y];
    double sum = 0.0;
    for (Row i = threadIdx.x; i < n; i += 256) {
        const Row at = blockIdx.x * n + i;
        const double off = targets[at] - (f[at] + t * q[at]);
        const double size = fmax(fabs(off) - shrinkage, 0.0);
        const double goal = (off < 0.0 ? -size : size) / w[at];
        sum += q[at] * (b[at] + t * p[at] - fmin(fmax(goal, low[at]), high[at]));
    }
    sums[threadIdx.x] = sum;
    for (int half = 128; half > 0; half >>= 1) {
        __syncthreads();
        if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    }
    if (threadIdx.x == 0) out[blockIdx.x * gridDim.y + blockIdx.y] = sums[0];
}
#endif
