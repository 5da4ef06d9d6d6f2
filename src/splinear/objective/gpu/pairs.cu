// Surfaces over pairs of features: positions of rows on chains of nodes, scores, sums over rows,
// and the evidence for pairs. See core/pairs/surfaces.hpp and core/pairs/evidence.hpp for the
// formulas.
//
// Sums are in 64-bit integers, in units of 1 / scale. Their order does not matter, so the result
// has the same bits every time.
//
// Macros defined by the caller:
//   VALUE     type of the numbers in X
//   POSITION  type of positions, float or double
//   OUTPUTS   outputs per launch
//   BLOCKS    1 for sums of products of two functions, 0 for sums of functions
//   COPIES    copies of a table in shared memory, a power of two; 0 if none fits
//   ONLY_...  the kernel to compile

typedef long long Row;
typedef unsigned long long Sum;

__device__ Sum whole_number(double value, double scale) { return (Sum)llrint(value * scale); }

#ifdef ONLY_place
// A chain: its column of X; the start and number of its entries in `nodes`; whether these are the
// nodes of levels (otherwise knots, in ascending order); and the node of missing values, or -1.
struct Chain {
    int column, start, count, has_levels, missing;
};

// The position of x on a chain; negative if it has none.
__device__ double position(double x, const Chain& chain, const double* nodes) {
    if (isnan(x)) return chain.missing;
    const double* own = nodes + chain.start;
    if (chain.has_levels) return x >= 0 && x < chain.count ? own[(int)x] : -1.0;
    if (chain.count < 2) return 0.0;
    const double first = own[0], last = own[chain.count - 1];
    if (!(x > first)) return 0.0;
    if (x > last) x = last;
    int at = 0;
    for (int left = chain.count - 1; left > 1; left -= left / 2)
        if (own[at + left / 2] <= x) at += left / 2;
    // Halve large numbers, because their difference could overflow.
    const double half = fabs(first) > 1.0 || fabs(last) > 1.0 ? 0.5 : 1.0;
    const double length = half * own[at + 1] - half * own[at], beyond = half * x - half * own[at];
    const double share = length > 0 ? beyond / length : 0.0;
    return at + (share < 1.0 ? share : 1.0);
}

// out (n_chains, n_out): write the position of row i of X (n, ...) at index places[i], or i if
// places is null. Rows whose index is out of range are skipped. blockIdx.y is a chain.
extern "C" __global__ void __launch_bounds__(256)
    place(const VALUE* __restrict__ X, Row row_stride, Row column_stride,
          const Chain* __restrict__ chains, const double* __restrict__ nodes,
          const Row* __restrict__ places, POSITION* __restrict__ out, Row n, Row n_out) {
    const Chain chain = chains[blockIdx.y];
    const VALUE* column = X + chain.column * column_stride;
    const Row step = (Row)gridDim.x * blockDim.x;
    for (Row i = (Row)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        const Row to = places ? places[i] : i;
        if (to < 0 || to >= n_out) continue;
        out[blockIdx.y * n_out + to] = (POSITION)position(column[i * row_stride], chain, nodes);
    }
}
#endif

// A surface: its two chains, and their numbers of nodes.
struct Surface {
    int first, second, n_first, n_second;
};

// The cell of a row: the node at its lowest corner, and the weights of its four corners.
struct Cell {
    int node;
    double w[4];
};

// Find the cell of a row at positions (p, q), and return whether it has one.
__device__ bool found(const Surface& surface, double p, double q, Cell& cell) {
    if (!(p >= 0 && q >= 0)) return false;
    int k = (int)p, l = (int)q;
    if (k > surface.n_first - 2) k = surface.n_first - 2;
    if (l > surface.n_second - 2) l = surface.n_second - 2;
    const double a = p - k, b = q - l;
    cell.node = k * surface.n_second + l;
    cell.w[0] = (1 - a) * (1 - b);
    cell.w[1] = (1 - a) * b;
    cell.w[2] = a * (1 - b);
    cell.w[3] = a * b;
    return true;
}

#ifdef ONLY_score
// out (OUTPUTS, n) = the sum of all surfaces with tables (n_nodes, OUTPUTS), at positions
// (n_chains, pitch). Each thread handles one row at a time.
extern "C" __global__ void __launch_bounds__(256)
    score(const POSITION* __restrict__ positions, Row pitch, Row n,
          const Surface* __restrict__ surfaces, const Row* __restrict__ starts, int n_surfaces,
          const double* __restrict__ tables, double* __restrict__ out) {
    const Row step = (Row)gridDim.x * blockDim.x;
    for (Row i = (Row)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        double sum[OUTPUTS];
#pragma unroll
        for (int k = 0; k < OUTPUTS; ++k) sum[k] = 0;
        for (int s = 0; s < n_surfaces; ++s) {
            const Surface surface = surfaces[s];
            Cell cell;
            if (!found(surface, positions[surface.first * pitch + i],
                       positions[surface.second * pitch + i], cell))
                continue;
            const double* below = tables + (starts[s] + cell.node) * OUTPUTS;
            const double* above = below + (Row)surface.n_second * OUTPUTS;
#pragma unroll
            for (int k = 0; k < OUTPUTS; ++k)
                sum[k] += cell.w[0] * __ldg(below + k) + cell.w[1] * __ldg(below + OUTPUTS + k) +
                          cell.w[2] * __ldg(above + k) + cell.w[3] * __ldg(above + OUTPUTS + k);
        }
#pragma unroll
        for (int k = 0; k < OUTPUTS; ++k) out[k * n + i] = sum[k];
    }
}
#endif

#ifdef ONLY_add
#define BANDS (BLOCKS ? 5 : 1)

// The band of the product of corners a <= b of a cell.
__device__ int band(int a, int b) {
    const int rows = (b >> 1) - (a >> 1), columns = (b & 1) - (a & 1);
    return rows ? 3 + columns : columns;
}

// out (n_nodes, BANDS, OUTPUTS) += sums over rows of R (OUTPUTS, n) times the functions of surface
// blockIdx.x, or products of two of them, in units of 1 / scales[output]. There are several copies
// of a table in shared memory, so that the lanes of a warp rarely collide.
extern "C" __global__ void __launch_bounds__(256)
    add(const POSITION* __restrict__ positions, Row pitch, Row n,
        const Surface* __restrict__ surfaces, const Row* __restrict__ starts,
        const double* __restrict__ R, const double* __restrict__ scales, Sum* __restrict__ out) {
    extern __shared__ double memory[];
    const Surface surface = surfaces[blockIdx.x];
    Sum* whole = out + starts[blockIdx.x] * BANDS * OUTPUTS;
#if COPIES
    const int width = COPIES, entries = surface.n_first * surface.n_second * BANDS * OUTPUTS;
    Sum* copies = (Sum*)memory;
    Sum* table = copies + threadIdx.x % COPIES;
    for (int e = threadIdx.x; e < entries * COPIES; e += blockDim.x) copies[e] = 0;
    __syncthreads();
#else
    const int width = 1;
    Sum* table = whole;
#endif
    double scale[OUTPUTS];
#pragma unroll
    for (int k = 0; k < OUTPUTS; ++k) scale[k] = scales[k];
    const Row step = (Row)gridDim.y * blockDim.x;
    for (Row i = (Row)blockIdx.y * blockDim.x + threadIdx.x; i < n; i += step) {
        Cell cell;
        if (!found(surface, positions[surface.first * pitch + i],
                   positions[surface.second * pitch + i], cell))
            continue;
        double r[OUTPUTS];
#pragma unroll
        for (int k = 0; k < OUTPUTS; ++k) r[k] = R[k * n + i];
#pragma unroll
        for (int a = 0; a < 4; ++a) {
            const int node = cell.node + (a >> 1) * surface.n_second + (a & 1);
#pragma unroll
            for (int b = a; b < (BLOCKS ? 4 : a + 1); ++b) {
                const double w = BLOCKS ? cell.w[a] * cell.w[b] : cell.w[a];
                if (w == 0) continue;
                Sum* to = table + (node * BANDS + (BLOCKS ? band(a, b) : 0)) * OUTPUTS * width;
#pragma unroll
                for (int k = 0; k < OUTPUTS; ++k) {
                    const Sum part = whole_number(r[k] * w, scale[k]);
                    if (part) atomicAdd(to + k * width, part);
                }
            }
        }
    }
#if COPIES
    __syncthreads();
    for (int e = threadIdx.x; e < entries; e += blockDim.x) {
        Sum sum = 0;
        for (int c = 0; c < COPIES; ++c) sum += copies[e * COPIES + c];
        if (sum) atomicAdd(whole + e, sum);
    }
#endif
}
#endif

#ifdef ONLY_evidence
#define SIDE 16
#define CELLS (SIDE * SIDE)  // one per thread

// z (n_outputs, n_pairs) = the evidence for interactions of pairs (n_pairs, 2). cells are
// (n_features, n), G and H (n_outputs, n). blockIdx.x is a pair, blockIdx.y an output.
extern "C" __global__ void __launch_bounds__(CELLS)
    evidence(const unsigned char* __restrict__ cells, const double* __restrict__ G,
             const double* __restrict__ H, const double* __restrict__ scales_of_g,
             const double* __restrict__ scales_of_h, const int* __restrict__ pairs,
             double* __restrict__ z, Row n) {
    __shared__ Sum of_g[CELLS], of_h[CELLS];
    __shared__ double parts[3][CELLS];
    const int own = threadIdx.x;
    of_g[own] = of_h[own] = 0;
    __syncthreads();
    const unsigned char* first = cells + pairs[2 * blockIdx.x] * n;
    const unsigned char* second = cells + pairs[2 * blockIdx.x + 1] * n;
    const double *g = G + blockIdx.y * n, *h = H + blockIdx.y * n;
    const double of_one_g = scales_of_g[blockIdx.y], of_one_h = scales_of_h[blockIdx.y];
    for (Row i = own; i < n; i += CELLS) {
        const int cell = first[i] * SIDE + second[i];
        atomicAdd(of_g + cell, whole_number(g[i], of_one_g));
        atomicAdd(of_h + cell, whole_number(h[i], of_one_h));
    }
    __syncthreads();
    const double sum = (long long)of_g[own] / of_one_g, bend = (long long)of_h[own] / of_one_h;
    const double q = bend / (bend + 1);
    parts[0][own] = 0.5 * sum * sum / (bend + 1);
    parts[1][own] = 0.5 * q;
    parts[2][own] = 0.5 * q * q;
    for (int half = CELLS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (own < half)
            for (int k = 0; k < 3; ++k) parts[k][own] += parts[k][own + half];
    }
    if (own) return;
    const double variance = parts[2][0];
    z[(Row)blockIdx.y * gridDim.x + blockIdx.x] =
        variance > 0 ? (parts[0][0] - parts[1][0]) / sqrt(variance) : 0.0;
}
#endif
