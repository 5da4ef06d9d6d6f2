// Scores of float32 values for curves of degree 1 on uniform knots, in single precision.
//
// `score` in kernels.cu does the same for all kinds of terms; here a value takes few instructions.
// A lane reads four features of a row at a time, and `lanes` lanes share a row. Between two knots a
// curve is its value at the middle plus a slope times the distance from there. Both are looked up
// at once, in a column of the table that no other lane of the same half-warp reads; columns repeat
// if a warp takes several rows.
//
// Macros defined by the caller:
//   OUTPUTS   outputs per launch
//   ROWS      rows per lane at a time
//   GAP       the table entry of missing values; -1 if there is none
//   VECTOR    1 to read four values at once, 0 to read them one by one
//   ADD       1 to add the sums to out, 0 to overwrite it

typedef long long Row;

typedef float2 Entry;  // value at the middle, slope

#define COLUMNS 16
#define LOW (-0.5f)
#define SHIFT 12582912.0f  // 3 * 2^22: adding it rounds a small number to an integer
#define SHIFT_BITS 0x4B400000u

struct Quad {
    float x[4];
};

__device__ __forceinline__ Quad quad_at(const float* from, Row column_stride, int n_left) {
    Quad q;
#if VECTOR
    const float4 all = __ldg((const float4*)from);
    q.x[0] = all.x;
    q.x[1] = all.y;
    q.x[2] = all.z;
    q.x[3] = all.w;
#else
#pragma unroll
    for (int k = 0; k < 4; ++k) q.x[k] = k < n_left ? __ldg(from + k * column_stride) : 0.0f;
#endif
    return q;
}

// out (OUTPUTS, n) = the sum of the curves of n_features features. The position of a value x on its
// axis is (x - axis.x) * axis.y + axis.z, at most axis.w, for axes (n_steps, 4, lanes). Tables are
// (n_steps, 4, OUTPUTS, entries, COLUMNS). Feature 4 (step * lanes + lane) + k has the index (step,
// k, lane).
extern "C" __global__ void __launch_bounds__(512, 2)
    uniform(const float* __restrict__ X, Row row_stride, Row column_stride,
            const float4* __restrict__ axes, const Entry* __restrict__ tables,
            double* __restrict__ out, Row n, int n_features, int lanes_log2, int n_steps,
            int entries) {
    extern __shared__ double memory[];
    const int lanes = 1 << lanes_log2, at_once = 32 >> lanes_log2;
    const int per_feature = OUTPUTS * entries * COLUMNS;
    float4* axis_of = (float4*)memory;
    Entry* table = (Entry*)(axis_of + n_steps * 4 * lanes);
    for (int k = threadIdx.x; k < n_steps * 4 * lanes; k += blockDim.x) axis_of[k] = axes[k];
    for (int k = threadIdx.x; k < n_steps * 4 * per_feature; k += blockDim.x) table[k] = tables[k];
    __syncthreads();
    const int lane = threadIdx.x & 31, own = lane & (lanes - 1), sub = lane >> lanes_log2;
    const Row n_warps = (Row)gridDim.x * (blockDim.x >> 5);
    const Row warp = (Row)blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5);
    const Row tile = ROWS * at_once;
    for (Row base = warp * tile; base < n; base += n_warps * tile) {
        float sum[ROWS][OUTPUTS], largest[ROWS];
#pragma unroll
        for (int u = 0; u < ROWS; ++u) {
            largest[u] = 0;
#pragma unroll
            for (int o = 0; o < OUTPUTS; ++o) sum[u][o] = 0;
        }
        for (int step = 0; step < n_steps; ++step) {
            const int first = 4 * (step * lanes + own);
            Quad cells[ROWS];
#pragma unroll
            for (int u = 0; u < ROWS; ++u) {
                const Row i = base + u * at_once + sub;
                const float* from = X + (i < n ? i : base) * row_stride;
                const Row at = first < n_features ? first : 0;
                cells[u] = quad_at(from + at * column_stride, column_stride, n_features - (int)at);
            }
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                const float4 axis = axis_of[(step * 4 + k) * lanes + own];
                const Entry* mine = table + (step * 4 + k) * per_feature + (lane & (COLUMNS - 1));
#pragma unroll
                for (int u = 0; u < ROWS; ++u) {
                    const float x = cells[u].x[k];
                    largest[u] = fmaxf(largest[u], fabsf(x));
                    const float t = fminf(fmaxf(fmaf(x - axis.x, axis.y, axis.z), LOW), axis.w);
                    const float whole = t + SHIFT;
                    const float way = t - (whole - SHIFT);
                    unsigned int at = __float_as_uint(whole) - SHIFT_BITS;
#if GAP >= 0
                    at = isnan(x) ? (unsigned int)GAP : at;
#endif
#pragma unroll
                    for (int o = 0; o < OUTPUTS; ++o) {
                        const Entry entry = mine[(o * entries + at) * COLUMNS];
                        sum[u][o] = fmaf(entry.y, way, sum[u][o] + entry.x);
                    }
                }
            }
        }
#pragma unroll
        for (int u = 0; u < ROWS; ++u) {
            const Row i = base + u * at_once + sub;
#pragma unroll
            for (int o = 0; o < OUTPUTS; ++o) {
                if (isinf(largest[u])) sum[u][o] = largest[u] - largest[u];  // NaN
                for (int other = lanes >> 1; other > 0; other >>= 1)
                    sum[u][o] += __shfl_xor_sync(0xffffffffu, sum[u][o], other);
                if (own == (o * ROWS + u) % lanes && i < n)
                    out[o * n + i] = ADD ? out[o * n + i] + sum[u][o] : sum[u][o];
            }
        }
    }
}
