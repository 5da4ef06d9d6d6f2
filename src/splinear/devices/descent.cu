// Coordinate descent for problems in a box: 1/2 b'(K + diag(d)) b - t'b + e |b| of several outputs,
// which share K (n, n). ROWS of the rows that move at a time: `turns` goes through them, a block of
// threads per output, and `follow` lets the gradient of all rows follow, of all outputs, in one
// reading of these rows of K. Everything is added up in a fixed order.
//
// Defined by the caller:
//   ROWS      rows at a time, and threads of a block of `turns`
//   TURNS     how often they are gone through
//   OUTPUTS   of one call of `follow`
//   ONLY_...  which kernel is wanted

typedef long long Row;

// Where b_i goes along its own coordinate.
__device__ __forceinline__ float goal_of(float b, float gradient, float bend, float shrinkage,
                                         float low, float high) {
    const float goal = b - gradient / bend;
    const float size = fmaxf(fabsf(goal) - shrinkage / bend, 0.0f);
    return fminf(fmaxf(goal < 0.0f ? -size : size, low), high);
}

#ifdef ONLY_turns
// The m <= ROWS `rows` of output blockIdx.x: b moves, and moves (outputs, ROWS) says how far. The
// gradient gets what d has of that. Arrays of rows are (outputs, n). `memory` has room for ROWS * ROWS
// floats.
extern "C" __global__ void __launch_bounds__(ROWS)
    turns(const float* __restrict__ K, const float* __restrict__ low,
          const float* __restrict__ high, const float* __restrict__ ridge,
          float* __restrict__ gradient, float* __restrict__ b, float* __restrict__ moves,
          const int* __restrict__ rows, Row n, int m, float shrinkage) {
    extern __shared__ double memory[];
    float* here = (float*)memory;
    __shared__ float moved[2];
    const int t = threadIdx.x, mine = rows[t < m ? t : 0];
    const Row at = (Row)blockIdx.x * n + mine;
    for (int i = 0; i < m; ++i)
        if (t < m) here[i * ROWS + t] = __ldg(K + rows[i] * n + mine);
    __syncthreads();
    float own = 0.0f, g = 0.0f, d = 0.0f, bend = 1.0f, least = 0.0f, most = 0.0f;
    if (t < m) {
        own = b[at];
        g = gradient[at];
        d = ridge[at];
        bend = fmaxf(here[t * ROWS + t] + d, 1.17549435e-38f);
        least = low[at];
        most = high[at];
    }
    const float before = own;
    for (int turn = 0; turn < TURNS; ++turn)
        for (int i = 0; i < m; ++i) {
            // Two places in turn: all have read the one before when the next is written.
            float* told = moved + ((turn * m + i) & 1);
            if (t == i) {
                const float to = goal_of(own, g, bend, shrinkage, least, most);
                *told = to - own;
                g += d * (to - own);
                own = to;
            }
            __syncthreads();
            const float move = *told;
            if (move != 0.0f && t < m) g += move * here[i * ROWS + t];
        }
    if (t < m) {
        b[at] = own;
        gradient[at] += d * (own - before);
    }
    moves[blockIdx.x * ROWS + t] = own - before;
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
