// Surfaces over pairs of features: where rows stand on chains of nodes, scores of rows and sums over
// them; and the grids that tell which pairs have surfaces. See core/pairs/surfaces.hpp and
// core/pairs/evidence.hpp for what is computed.
//
// Sums are in whole numbers of 64 bits, in units of 1 / scale. Their order does not matter, so that
// the bits are the same every time.
//
// Defined by the caller:
//   VALUE     type of the numbers in X
//   POSITION  float or double
//   OUTPUTS   how many scores per row at a time
//   BLOCKS    1: sums of products of two functions; 0: of one
//   COPIES    of tables in shared memory, a power of two; 0: there is no room for one
//   ONLY_...  which kernel is wanted: each is compiled by itself

typedef long long Row;
typedef unsigned long long Sum;

__device__ Sum whole_number(double value, double scale) { return (Sum)llrint(value * scale); }

#ifdef ONLY_place
// A chain: its column of X, where its nodes begin, how many there are, whether these are the nodes of
// levels (else knots, in ascending order), and the node of a missing value, -1 if there is none.
struct Chain {
    int column, start, count, has_levels, missing;
};

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
    // By halves, where the distance of the largest numbers would overflow.
    const double half = fabs(first) > 1.0 || fabs(last) > 1.0 ? 0.5 : 1.0;
    const double length = half * own[at + 1] - half * own[at], beyond = half * x - half * own[at];
    const double share = length > 0 ? beyond / length : 0.0;
    return at + (share < 1.0 ? share : 1.0);
}

// out (n_chains, n_out): where row i of X (n, ...) stands, as number places[i], or i if there are no
// places. Numbers that are not there are left out. blockIdx.y is a chain.
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

// A surface: its two chains, and how many nodes they have.
struct Surface {
    int first, second, n_first, n_second;
};

// The cell of a row: the node at its lowest corner, and the weights of all four.
struct Cell {
    int node;
    double w[4];
};

// Find the cell of a row; false: the row stands nowhere.
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
// out (OUTPUTS, n) = the sum of all surfaces, of tables (n_nodes, OUTPUTS). A row is a thread's;
// positions are (n_chains, pitch).
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

// Corners a <= b of a cell: the band of their product.
__device__ int band(int a, int b) {
    const int rows = (b >> 1) - (a >> 1), columns = (b & 1) - (a & 1);
    return rows ? 3 + columns : columns;
}

// Sums over rows of R (OUTPUTS, n) times functions of surface blockIdx.x, or products of two of
// them, are added to out (n_nodes, BANDS, OUTPUTS), in units of 1 / scales[output]. There are several
// copies of a table in shared memory, so that the lanes of a warp seldom meet.
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
#define CELLS (SIDE * SIDE)  // which are as many as threads

// z (n_outputs, n_pairs): how much two features say together. cells are (n_features, n), G and H
// (n_outputs, n), pairs (n_pairs, 2). blockIdx.x is a pair, blockIdx.y an output.
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
