// Passes over the rows of one group of terms, compiled at run time (NVRTC) for one kind of rows.
//
// Each lane of a warp handles one feature, so that a warp reads neighboring values of a row. A lane
// looks up its curve in its own column of the table, so that no two lanes access the same bank of
// shared memory. If a group has fewer than 32 features (padded to a power of two, `lanes`), a warp
// takes several rows at a time. Each lane of each warp sums over rows in a table of its own, and
// these tables are added up in a fixed order, without atomics: the result has the same bits every
// time. Tables too long for shared memory (FIXED) are summed by atomics on integers, for which the
// order does not matter.
//
// Features are in chunks of 32, and the table of a chunk has a column for each.
//
// Macros defined by the caller:
//   REAL      type of the computations, float or double
//   CODES     1 if rows are codes of type CODE, 0 if they are values of type VALUE
//   KIND      0 for B-splines, 1 for Fourier curves, 2 for Hermite polynomials
//   SUPPORT   number of functions that are not zero at a point
//   OUTPUTS   outputs per block
//   ROWS      rows per lane at a time
//   BLOCKS    1 for sums of products of two functions, 0 for sums of functions
//   FIXED     1 for sums in 64-bit integers, if tables do not fit in shared memory
//   ONLY_...  the kernel to compile

typedef long long Row;

// The rows, and how their values become arguments of the basis.
struct Source {
    const void* cells;      // codes (n, pitch), or values with the strides below
    Row row_stride;         // strides count cells, not bytes
    Row column_stride;
    const int* columns;     // of values, one per feature
    const double* axes;     // five numbers per feature: prescale, lo, slope, first, last
    const double* knots;    // most_knots per feature
    const int* n_knots;     // 0 if the axis is not warped
    const double* width;    // of a code, per feature (Fourier and Hermite)
    int most_knots;
    int n_features;
    int n_bins;
    int bits;               // of a code's fraction
    int gap;                // the table entry of missing values; -1 if there is none
    unsigned int gap_code;  // their code
};

// A source as kernel arguments: plain numbers and pointers, which any caller can pass.
#define SOURCE                                                                                    \
    const void *cells, Row row_stride, Row column_stride, const int *columns, const double *axes, \
        const double *knots, const int *n_knots, const double *width_of_code, int most_knots,     \
        int n_features, int n_bins, int bits, int gap, unsigned int gap_code
#define THE_SOURCE                                                                            \
    {cells,         row_stride, column_stride, columns, axes, knots, n_knots, width_of_code, \
     most_knots, n_features, n_bins,        bits,    gap,  gap_code}

// A position on an axis: the values w of the functions from number `bin` on.
struct Place {
    int bin;
    REAL w[SUPPORT];
};

// The feature of a lane, read once for many rows.
struct Lane {
    bool is_feature;
    int n_knots;
    Row offset;  // of the feature's cell in a row
    REAL prescale, lo, slope, first, last, width;
    const double* knots;
};

__device__ Lane lane_of(const Source& s, int j) {
    Lane l;
    l.is_feature = j < s.n_features;
    if (!l.is_feature) j = 0;
#if CODES
    l.offset = j;
#else
    l.offset = s.columns[j] * s.column_stride;
#endif
    const double* axis = s.axes + 5 * j;
    l.prescale = (REAL)axis[0];
    l.lo = (REAL)axis[1];
    l.slope = (REAL)axis[2];
    l.first = (REAL)axis[3];
    l.last = (REAL)axis[4];
    l.width = (REAL)s.width[j];
    l.n_knots = s.n_knots[j];
    l.knots = s.knots + (Row)j * s.most_knots;
    return l;
}

// The argument of x on an axis with knots.
__device__ double warped(const Lane& l, double x) {
    const double* knots = l.knots;
    const int n = l.n_knots;
    if (x >= knots[n - 1]) return l.last;
    if (!(x > knots[0])) x = knots[0];
    int at = 0;
    for (int left = n - 1; left > 1; left -= left / 2)
        if (knots[at + left / 2] <= x) at += left / 2;
    const double from = knots[at], to = knots[at + 1];
    const double f = isinf(to - from) ? (0.5 * x - 0.5 * from) / (0.5 * to - 0.5 * from)
                                      : (x - from) / (to - from);
    return l.first + (at + f) * ((double)l.last - l.first) / (n - 1);
}

// The argument of x, between the first and the last of its axis.
__device__ REAL argument(const Lane& l, REAL x) {
    const REAL a = l.n_knots ? (REAL)warped(l, x) : l.first + (x * l.prescale - l.lo) * l.slope;
    if (!(a > l.first)) return l.first;
    return a < l.last ? a : l.last;
}

// The values of the basis functions at argument t.
__device__ void functions(REAL t, int n_bins, Place& at) {
#if KIND == 0
    const int whole = (int)t;
    at.bin = whole < n_bins ? whole : n_bins - 1;
#if SUPPORT == 1
    at.w[0] = 1;
#else
    const REAL a = t - at.bin;
#endif
#if SUPPORT == 2
    at.w[0] = 1 - a;
    at.w[1] = a;
#elif SUPPORT == 3
    at.w[0] = (REAL)0.5 * (1 - a) * (1 - a);
    at.w[2] = (REAL)0.5 * a * a;
    at.w[1] = 1 - at.w[0] - at.w[2];
#elif SUPPORT == 4
    at.w[0] = (1 - a) * (1 - a) * (1 - a) / 6;
    at.w[1] = (REAL)(2.0 / 3.0) - a * a * (1 - (REAL)0.5 * a);
    at.w[3] = a * a * a / 6;
    at.w[2] = 1 - at.w[0] - at.w[1] - at.w[3];
#endif
#elif KIND == 1
    at.bin = 0;
#pragma unroll
    for (int k = 0; k < SUPPORT / 2; ++k) {
        at.w[2 * k] = cospi(t * (k + 1));
        at.w[2 * k + 1] = sinpi(t * (k + 1));
    }
#else
    at.bin = 0;
    REAL before = 1, now = t;
#pragma unroll
    for (int k = 0; k < SUPPORT; ++k) {
        at.w[k] = now;
        const REAL next = t * now - (k + 1) * before;
        before = now;
        now = next;
    }
#endif
}

// A place where only the function of one entry has a value.
__device__ void alone(int entry, REAL value, Place& at) {
    at.bin = entry;
#pragma unroll
    for (int p = 0; p < SUPPORT; ++p) at.w[p] = 0;
    at.w[0] = value;
}

#if CODES
typedef CODE Cell;
#else
typedef VALUE Cell;
#endif

__device__ Cell cell_at(const Source& s, const Lane& l, Row i) {
    return __ldg((const Cell*)s.cells + i * s.row_stride + l.offset);
}

// The place of a cell on its axis; without weights if `there` is false or the lane has no feature.
__device__ Place place(const Source& s, const Lane& l, Cell cell, bool there) {
    Place at;
    if (!there || !l.is_feature) {
        alone(0, 0, at);
        return at;
    }
#if CODES
    const unsigned int code = cell;
    if (s.gap >= 0 && code == s.gap_code) {
        alone(s.gap, 1, at);
        return at;
    }
#if KIND == 0
    functions((code & ((1u << s.bits) - 1)) * ((REAL)1 / (1u << s.bits)), 1, at);  // as if in bin 0
    at.bin = code >> s.bits;
#else
    functions(l.first + l.width * code, 1, at);
#endif
#else
    if (isnan(cell) && s.gap >= 0)
        alone(s.gap, 1, at);
    else if (isinf(cell))
        alone(0, (REAL)(cell - cell), at);  // NaN, which makes the score NaN
    else
        functions(argument(l, (REAL)cell), s.n_bins, at);
#endif
    return at;
}

#ifdef ONLY_score
// out (OUTPUTS, n) += the sum of the curves of n_chunks chunks of features, from first_chunk on.
// `tables` is (n_chunks, entries, OUTPUTS, width). If it fits in shared memory, width is 32 and
// `shared` is 1; otherwise width is `lanes`. Each lane holds the sums of ROWS rows in registers.
extern "C" __global__ void __launch_bounds__(512)
    score(SOURCE, const REAL* __restrict__ tables, double* __restrict__ out, Row n, int lanes_log2,
          int first_chunk, int n_chunks, int entries, int width, int shared) {
    const Source s = THE_SOURCE;
    extern __shared__ double memory[];
    const int per_chunk = entries * OUTPUTS * width;
    const REAL* table = tables;
    if (shared) {
        REAL* copy = (REAL*)memory;
        for (int k = threadIdx.x; k < n_chunks * per_chunk; k += blockDim.x) copy[k] = tables[k];
        __syncthreads();
        table = copy;
    }
    const int lane = threadIdx.x & 31, lanes = 1 << lanes_log2, at_once = 32 >> lanes_log2;
    const int own = lane & (lanes - 1), sub = lane >> lanes_log2;
    const Row n_warps = (Row)gridDim.x * (blockDim.x >> 5);
    const Row warp = (Row)blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5);
    const Row tile = ROWS * at_once;
    for (Row base = warp * tile; base < n; base += n_warps * tile) {
        REAL sum[ROWS][OUTPUTS];
#pragma unroll
        for (int u = 0; u < ROWS; ++u)
#pragma unroll
            for (int k = 0; k < OUTPUTS; ++k) sum[u][k] = 0;
        for (int c = 0; c < n_chunks; ++c) {
            const Lane l = lane_of(s, (first_chunk + c) * 32 + own);
            Cell cells_here[ROWS];
#pragma unroll
            for (int u = 0; u < ROWS; ++u) {
                const Row i = base + u * at_once + sub;
                cells_here[u] = cell_at(s, l, i < n ? i : base);
            }
            const REAL* mine = table + (Row)c * per_chunk + (lane & (width - 1));
#pragma unroll
            for (int u = 0; u < ROWS; ++u) {
                const Place at = place(s, l, cells_here[u], true);
                const REAL* t = mine + at.bin * OUTPUTS * width;
#pragma unroll
                for (int p = 0; p < SUPPORT; ++p)
#pragma unroll
                    for (int k = 0; k < OUTPUTS; ++k)
                        sum[u][k] += at.w[p] * t[(p * OUTPUTS + k) * width];
            }
        }
#pragma unroll
        for (int u = 0; u < ROWS; ++u) {
            const Row i = base + u * at_once + sub;
#pragma unroll
            for (int k = 0; k < OUTPUTS; ++k) {
                for (int other = lanes >> 1; other > 0; other >>= 1)
                    sum[u][k] += __shfl_xor_sync(0xffffffffu, sum[u][k], other);
                if (own == (k * ROWS + u) % lanes && i < n) out[k * n + i] += sum[u][k];
            }
        }
    }
}
#endif

#ifdef ONLY_lay
// out (n_chunks, entries, n_outputs, width) = tables (n_outputs, n_features, stride), in the order
// in which `score` reads them. Entries from `stride` on are 0, and so are columns without a
// feature; columns repeat for lanes that take other rows.
extern "C" __global__ void lay(const double* __restrict__ tables, REAL* __restrict__ out, Row size,
                               int entries, int n_outputs, int width, int lanes_log2,
                               int n_features, int stride) {
    const int lanes = 1 << lanes_log2;
    const Row step = (Row)gridDim.x * blockDim.x;
    for (Row k = (Row)blockIdx.x * blockDim.x + threadIdx.x; k < size; k += step) {
        const Row row = k / width;
        const int output = (int)(row % n_outputs), entry = (int)(row / n_outputs % entries);
        const int feature = (int)(row / n_outputs / entries * lanes + (k % width) % lanes);
        const bool is_there = feature < n_features && entry < stride;
        const Row from = ((Row)output * n_features + feature) * stride + entry;
        out[k] = is_there ? (REAL)tables[from] : (REAL)0;
    }
}
#endif

#ifdef ONLY_add
#if FIXED
typedef unsigned long long Sum;
#else
typedef REAL Sum;
#endif

// Add r (OUTPUTS) times the functions of a row, or products of two of them, to a table.
__device__ void add_row(const Place& at, const REAL* r, Sum* table, int width, double scale) {
    Sum* to = table + at.bin * (BLOCKS ? SUPPORT : 1) * OUTPUTS * width;
#pragma unroll
    for (int p = 0; p < SUPPORT; ++p)
#pragma unroll
        for (int q = 0; q < (BLOCKS ? SUPPORT - p : 1); ++q) {
            const REAL w = BLOCKS ? at.w[p] * at.w[p + q] : at.w[p];
            const int entry = BLOCKS ? p * SUPPORT + q : p;
#pragma unroll
            for (int k = 0; k < OUTPUTS; ++k) {
#if FIXED
                const long long part = llrint((double)(r[k] * w) * scale);
                if (part) atomicAdd(to + (entry * OUTPUTS + k) * width, (Sum)part);
#else
                to[(entry * OUTPUTS + k) * width] += r[k] * w;
#endif
            }
        }
}

// Sums over rows of R (n, n_outputs) times the functions of features. blockIdx.y is a chunk of
// features, blockIdx.z a batch of OUTPUTS outputs; outputs from n_outputs on are 0. out is
// (gridDim.z, gridDim.y, n_warps, entries, OUTPUTS, 32), with separate sums for each warp. With
// FIXED it is (gridDim.z, gridDim.y, entries, OUTPUTS, width), with the sums of all warps in units
// of 1 / scale.
extern "C" __global__ void __launch_bounds__(256)
    add(SOURCE, const REAL* __restrict__ R, Sum* __restrict__ out, Row n, int n_outputs,
        int lanes_log2, int entries, int width, double scale) {
    const Source s = THE_SOURCE;
    extern __shared__ double memory[];
    const int lane = threadIdx.x & 31, at_once = 32 >> lanes_log2;
    const int own = lane & ((1 << lanes_log2) - 1), sub = lane >> lanes_log2;
    const int n_warps = gridDim.x * (blockDim.x >> 5);
    const int warp = blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5);
    const int size = entries * OUTPUTS * width, first = blockIdx.z * OUTPUTS;
    const Row chunk = (Row)blockIdx.z * gridDim.y + blockIdx.y;
#if FIXED
    Sum* table = out + chunk * size + (lane & (width - 1));
#else
    Sum* mine = (Sum*)memory + (threadIdx.x >> 5) * size;
    for (int k = lane; k < size; k += 32) mine[k] = 0;
    __syncwarp();
    Sum* table = mine + lane;
#endif
    const Lane l = lane_of(s, blockIdx.y * 32 + own);
    const Row span = ((n + n_warps - 1) / n_warps + 31) / 32 * 32;
    const Row end = warp * span + span < n ? warp * span + span : n;
    for (Row base = warp * span; base < end; base += ROWS * at_once) {
        Cell cells_here[ROWS];
        REAL r[ROWS][OUTPUTS];
#pragma unroll
        for (int u = 0; u < ROWS; ++u) {
            const Row i = base + u * at_once + sub, valid = i < end ? i : base;
            cells_here[u] = cell_at(s, l, valid);
#pragma unroll
            for (int k = 0; k < OUTPUTS; ++k)
                r[u][k] = first + k < n_outputs ? __ldg(R + valid * n_outputs + first + k) : (REAL)0;
        }
#pragma unroll
        for (int u = 0; u < ROWS; ++u)
            add_row(place(s, l, cells_here[u], base + u * at_once + sub < end), r[u], table, width,
                    scale);
    }
#if !FIXED
    __syncwarp();
    Sum* part = out + (chunk * n_warps + warp) * size;
    for (int k = lane; k < size; k += 32) part[k] = mine[k];
#endif
}
#endif

#ifdef ONLY_expand
// out (n, n_features, width) = the functions of each feature times its map, for maps (n_features,
// entries, width). There is one warp per row and feature.
extern "C" __global__ void expand(SOURCE, const float* __restrict__ maps, float* __restrict__ out,
                                  Row n, int entries, int width) {
    const Source s = THE_SOURCE;
    const int lane = threadIdx.x & 31;
    const Row n_warps = (Row)gridDim.x * (blockDim.x >> 5), n_all = n * s.n_features;
    for (Row k = (Row)blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5); k < n_all; k += n_warps) {
        const int j = (int)(k % s.n_features);
        const Lane l = lane_of(s, j);
        const Place at = place(s, l, cell_at(s, l, k / s.n_features), true);
        const float* map = maps + ((Row)j * entries + at.bin) * width;
        for (int c = lane; c < width; c += 32) {
            float sum = 0;
#pragma unroll
            for (int p = 0; p < SUPPORT; ++p) sum += (float)at.w[p] * map[p * width + c];
            out[k * width + c] = sum;
        }
    }
}
#endif

#ifdef ONLY_total
// out (n_outputs, n_features, kept) = the sums, in a fixed order, of the first `kept` entries of
// parts (gridDim.z, gridDim.y, n_parts, entries, each, 32), over parts and over lanes with the same
// feature. blockIdx.x is an entry and one of the `each` outputs of batch blockIdx.z, blockIdx.y a
// chunk of features; a block has 32 x 32 threads.
extern "C" __global__ void total(const REAL* __restrict__ parts, double* out, int n_parts,
                                 int entries, int kept, int n_outputs, int each, int n_features,
                                 int lanes_log2) {
    __shared__ double sums[32][33];
    const int entry = blockIdx.x / each, output = blockIdx.z * each + blockIdx.x % each;
    if (output >= n_outputs) return;
    const int lane = threadIdx.x, lanes = 1 << lanes_log2, feature = blockIdx.y * 32 + lane;
    const Row size = (Row)entries * each * 32, chunk = (Row)blockIdx.z * gridDim.y + blockIdx.y;
    const REAL* from = parts + chunk * n_parts * size + blockIdx.x * 32 + lane;
    double sum = 0;
    for (int part = threadIdx.y; part < n_parts; part += 32) sum += from[part * size];
    sums[threadIdx.y][lane] = sum;
    __syncthreads();
    if (threadIdx.y) return;
    for (int other = 1; other < 32; ++other) sum += sums[other][lane];
    for (int other = 16; other >= lanes; other >>= 1)
        sum += __shfl_xor_sync(0xffffffffu, sum, other);
    if (lane < lanes && feature < n_features)
        out[((Row)output * n_features + feature) * kept + entry] = sum;
}
#endif

#ifdef ONLY_encode
// Write the codes of row i to row places[i] of out (..., pitch); skip rows with a negative place.
// The lanes of a warp are features.
extern "C" __global__ void encode(SOURCE, CODE* out, const Row* places, Row n, Row pitch,
                                  const double* steps, double rounding, double last) {
    const Source s = THE_SOURCE;
    const int j = blockIdx.y * 32 + threadIdx.x;
    if (j >= s.n_features) return;
    const Lane l = lane_of(s, j);
    const double density = steps[j];
    const Row step = (Row)gridDim.x * blockDim.y;
    for (Row i = (Row)blockIdx.x * blockDim.y + threadIdx.y; i < n; i += step) {
        if (places[i] < 0) continue;
        const VALUE x = cell_at(s, l, i);
        CODE code = (CODE)s.gap_code;
        if (!isnan(x) || s.gap < 0) {
            const double a = (argument(l, (REAL)x) - l.first) * density + rounding;
            code = (CODE)(unsigned int)(a < last ? a : last);
        }
        out[places[i] * pitch + j] = code;
    }
}
#endif
