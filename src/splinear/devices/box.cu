// Box-constrained problems of several outputs that share one matrix K (n, n):
//
//     minimize 1/2 b'(K + diag(d)) b - t'b + e |b|_1 subject to low <= b <= high.
//
// `descend` is coordinate descent; the kernels from `list_free` on make a Newton step of the free
// variables, those at no bound. `plain_box.py` and `subspace.py` compute the same in NumPy. Per-row
// arrays are (n_outputs, n), and `gradient` is (K + diag(d)) b - t. All sums have a fixed order.
//
// Macros defined by the caller:
//   ROWS      rows per batch of `descend`
//   TURNS     passes of `descend` over the rows of a batch
//   OUTPUTS   outputs whose gradients are updated while K is read once
//   SHRINKS   1 if e > 0
//   LEAST     rows with a violation up to this share of the largest do not move
//   SHARES    number of step lengths that a Newton step tries: 1, 1/2, 1/4, ...
//   ONLY_...  the kernel to compile

typedef long long Row;

// Write the indices i < n for which keep(i) is true to `to`, in ascending order, and return their
// number. All threads of a block call this; `counts` has one entry per thread.
template <class Keep>
__device__ int compacted(Keep keep, int* to, Row n, int* counts) {
    const int t = threadIdx.x, n_threads = blockDim.x;
    const Row each = (n + n_threads - 1) / n_threads, first = t * each;
    const Row end = first + each < n ? first + each : n;
    int own = 0;
    for (Row i = first; i < end; ++i) own += keep(i);
    counts[t] = own;
    for (int step = 1; step < n_threads; step *= 2) {
        __syncthreads();
        const int more = t >= step ? counts[t - step] : 0;
        __syncthreads();
        counts[t] += more;
    }
    __syncthreads();
    int at = counts[t] - own;
    for (Row i = first; i < end; ++i)
        if (keep(i)) to[at++] = (int)i;
    return counts[n_threads - 1];
}

// The violation of row i: the rate at which the objective falls if b_i alone moves within its
// bounds, in the output where that is largest. It is the maximum over outputs of `Box.violation`
// (solvers/hinge/box.py).
__device__ __forceinline__ float violation(const float* low, const float* high,
                                           const float* gradient, const float* b, Row i, Row n,
                                           int n_outputs, float shrinkage) {
    float most = 0.0f;
    for (Row at = i; at < n_outputs * n; at += n) {
        const float own = b[at], g = gradient[at];
        if (own < high[at]) most = fmaxf(most, -g - (own >= 0.0f ? shrinkage : -shrinkage));
        if (own > low[at]) most = fmaxf(most, g + (own > 0.0f ? shrinkage : -shrinkage));
    }
    return most;
}

// *to = max(*to, value), for numbers that are not negative: as integers, their bits have the same
// order.
__device__ __forceinline__ void raise_to(float* to, float value) {
    if (value > 0.0f) atomicMax((int*)to, __float_as_int(value));
}

#ifdef ONLY_violations
// told[0] = the largest violation over all rows; it must be 0 at launch.
extern "C" __global__ void __launch_bounds__(256)
    violations(const float* __restrict__ low, const float* __restrict__ high,
               const float* __restrict__ gradient, const float* __restrict__ b,
               float* __restrict__ told, Row n, int n_outputs, float shrinkage) {
    const Row i = (Row)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) raise_to(told, violation(low, high, gradient, b, i, n, n_outputs, shrinkage));
}
#endif

#ifdef ONLY_descend
#define THREADS 512
#define PARTS (ROWS / 32)           // rows per lane of the warp that moves them
#define COLUMNS 128                 // columns of K that a block reads at a time
#define SHARING (THREADS / COLUMNS)  // threads that share the sum of a column

#ifndef GRID_BARRIER
// Wait until all blocks of the grid get here. They all run at the same time, because the launch is
// cooperative. Everything written before the barrier is visible to all blocks after it.
__device__ void grid_barrier(unsigned int* arrived, unsigned int* goal) {
    __syncthreads();
    if (threadIdx.x == 0) {
        unsigned int found;
        *goal += gridDim.x;
        asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(arrived) : "memory");
        do {
            asm volatile("ld.acquire.gpu.global.u32 %0, [%1];"
                         : "=r"(found)
                         : "l"(arrived)
                         : "memory");
        } while (found < *goal);
    }
    __syncthreads();
}
#endif

// The value of b_i that minimizes the objective with all other variables fixed, given the goal
// b_i - gradient_i / (K_ii + d_i) and the threshold edge = e / (K_ii + d_i).
__device__ __forceinline__ float least_at(float goal, float edge, float low, float high) {
#if SHRINKS
    const float size = fmaxf(fabsf(goal) - edge, 0.0f);
    goal = goal < 0.0f ? -size : size;
#endif
    return fminf(fmaxf(goal, low), high);
}

__device__ __forceinline__ float scale_of(float bend) { return 1.0f / fmaxf(bend, 1.17549435e-38f); }

// The m rows of a batch, and the entries of K it needs: `own` (ROWS, ROWS) between its own rows,
// and `cross` (ROWS, ROWS) between the rows of the batch before (first index) and its own.
struct Batch {
    const int* rows;
    int m;
    float* own;
    float* cross;
};

// Move b of one output along the rows of a batch, and write how far to `moves` (ROWS). All arrays
// are those of the output. First the gradient of these rows is updated by the moves `last` (ROWS)
// of the batch before, if any. Of the batch's own moves, this function adds only the part of d to
// the gradient; `follow` adds the part of K.
//
// All threads of the block read the entries of K. Then a single warp moves the rows, because lanes
// exchange moves far faster than the threads of a block could. A lane has PARTS consecutive rows,
// and broadcasts their moves together. It stores the goal of each row j, to which a move of another
// row i adds -K_ij / (K_jj + d_j) times that move.
__device__ void go_through(const Batch& batch, const float* last, const float* low,
                           const float* high, const float* ridge, float* gradient, float* b,
                           float* moves, float shrinkage, float* here) {
    const int *rows = batch.rows, m = batch.m, t = threadIdx.x, c = t % ROWS, y = t / ROWS;
    const int each = THREADS / ROWS;
    // Issue all loads before the first use of a loaded value.
    float tile[ROWS / each], sum = 0.0f;
#pragma unroll
    for (int e = 0; e < ROWS / each; ++e) {
        const int i = y + e * each;
        tile[e] = c < m && i < m && i != c ? batch.own[i * ROWS + c] : 0.0f;
    }
    const float scale = c < m ? scale_of(batch.own[c * ROWS + c] + ridge[rows[c]]) : 1.0f;
    Row at[PARTS];
    float own[PARTS], g[PARTS], least[PARTS], most[PARTS], bend[PARTS], of_ridge[PARTS];
    if (t < 32) {
#pragma unroll
        for (int q = 0; q < PARTS; ++q) {  // rows from m on do not move
            const int i = PARTS * t + q;
            at[q] = rows[i < m ? i : 0];
            own[q] = i < m ? b[at[q]] : 0.0f;
            g[q] = i < m ? gradient[at[q]] : 0.0f;
            least[q] = i < m ? low[at[q]] : 0.0f;
            most[q] = i < m ? high[at[q]] : 0.0f;
            of_ridge[q] = ridge[at[q]];
            bend[q] = i < m ? batch.own[i * ROWS + i] + of_ridge[q] : 1.0f;
        }
    }
    if (last)
#pragma unroll
        for (int e = 0; e < ROWS / each; ++e) {
            const int i = y + e * each;
            if (c < m) sum += last[i] * batch.cross[i * ROWS + c];
        }
    here[t] = sum;
    __syncthreads();
    if (t < 32)
#pragma unroll
        for (int q = 0; q < PARTS; ++q)
            for (int part = 0; part < each; ++part) g[q] += here[part * ROWS + PARTS * t + q];
    __syncthreads();
#pragma unroll
    for (int e = 0; e < ROWS / each; ++e) here[(y + e * each) * ROWS + c] = -scale * tile[e];
    __syncthreads();
    if (t < 32) {
        float before[PARTS], goal[PARTS], edge[PARTS], among[PARTS][PARTS];  // of this lane's rows
#pragma unroll
        for (int q = 0; q < PARTS; ++q) {
            const int i = PARTS * t + q;
            before[q] = own[q];
            goal[q] = own[q] - g[q] * scale_of(bend[q]);
            edge[q] = shrinkage * scale_of(bend[q]);
#pragma unroll
            for (int p = 0; p < PARTS; ++p) among[q][p] = here[i * ROWS + PARTS * t + p];
        }
        for (int turn = 0; turn < TURNS; ++turn)
#pragma unroll 8
            for (int lane = 0; lane < 32; ++lane) {  // all compute, but only `lane` moves
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
            const float move = own[q] - before[q];
            if (i < m) {
                b[at[q]] = own[q];
                gradient[at[q]] = g[q] + of_ridge[q] * move;
            }
            moves[i] = move;
        }
    }
    __syncthreads();
}

// gradient += moves (n_outputs, ROWS) times the batch's rows of K, except in the columns whose rows
// are in batch number `except`. n_blocks blocks share the columns.
__device__ void follow(const float* __restrict__ K, const Batch& batch, const float* moves,
                       float* gradient, const int* batch_of, int except, Row n, int n_outputs,
                       int block, int n_blocks, float* memory) {
    float(*by)[ROWS] = (float(*)[ROWS])memory;
    float(*sums)[OUTPUTS][COLUMNS] = (float(*)[OUTPUTS][COLUMNS])(memory + OUTPUTS * ROWS);
    int* at = (int*)(memory + OUTPUTS * ROWS + SHARING * OUTPUTS * COLUMNS);
    const int t = threadIdx.x, x = t % COLUMNS, y = t / COLUMNS, m = batch.m;
    for (int first = 0; first < n_outputs; first += OUTPUTS) {
        const int n_here = n_outputs - first < OUTPUTS ? n_outputs - first : OUTPUTS;
        __syncthreads();
        for (int i = t; i < m; i += THREADS) at[i] = batch.rows[i];
        for (int k = t; k < OUTPUTS * ROWS; k += THREADS)
            by[k / ROWS][k % ROWS] = k < n_here * ROWS ? moves[first * ROWS + k] : 0.0f;
        __syncthreads();
        for (Row left = (Row)block * COLUMNS; left < n; left += (Row)n_blocks * COLUMNS) {
            const Row j = left + x;
            const bool is_in = j < n && batch_of[j] != except;
            float sum[OUTPUTS];
#pragma unroll
            for (int k = 0; k < OUTPUTS; ++k) sum[k] = 0.0f;
            if (is_in) {
#pragma unroll 16
                for (int i = y; i < m; i += SHARING) {
                    const float own = __ldg(K + at[i] * n + j);
#pragma unroll
                    for (int k = 0; k < OUTPUTS; ++k) sum[k] += by[k][i] * own;
                }
            }
#pragma unroll
            for (int k = 0; k < OUTPUTS; ++k) sums[y][k][x] = sum[k];
            __syncthreads();
            for (int k = y; k < n_here && is_in; k += SHARING) {
                float all = 0.0f;
                for (int part = 0; part < SHARING; ++part) all += sums[part][k][x];
                gradient[(first + k) * n + j] += all;
            }
            __syncthreads();
        }
    }
}

// Copy the entries of K that a batch needs; n_blocks blocks share the work. The m_before rows of
// the batch before are stored right before its own.
__device__ void fetch(const float* __restrict__ K, const Batch& batch, int m_before, Row n,
                      int block, int n_blocks) {
    const int c = threadIdx.x % ROWS, each = THREADS / ROWS;
    if (c >= batch.m) return;
    const Row column = batch.rows[c];
    for (int i = block * each + threadIdx.x / ROWS; i < batch.m + m_before; i += n_blocks * each) {
        float* to = i < batch.m ? batch.own + i * ROWS : batch.cross + (i - batch.m) * ROWS;
        const Row row = i < batch.m ? batch.rows[i] : batch.rows[i - batch.m - m_before];
        to[c] = __ldg(K + row * n + column);
    }
}

// n_sweeps sweeps over the rows that violate optimality, in batches of ROWS. While one block per
// output moves the rows of a batch (`go_through`), the other blocks update the gradient of all
// other rows by the moves of the batch before (`follow`), and copy the entries of K for the next
// batch (`fetch`). So blocks wait for each other only once per batch. `arrived` (1) and `largest`
// (n_sweeps) must be 0 at launch; largest[s] becomes the largest violation before sweep s. Work
// space: violations of_rows (n), the moving rows (n) and their number n_moving (1), batch_of (n),
// products (2, 2, ROWS, ROWS) and moves (2, n_outputs, ROWS).
extern "C" __global__ void __launch_bounds__(THREADS)
    descend(const float* __restrict__ K, const float* __restrict__ low,
            const float* __restrict__ high, const float* __restrict__ ridge, float* gradient,
            float* b, float* largest, float* of_rows, int* rows, int* n_moving, int* batch_of,
            float* products, float* moves, unsigned int* arrived, Row n, int n_outputs,
            int n_sweeps, float shrinkage) {
    extern __shared__ double memory[];
    float* here = (float*)memory;
    unsigned int goal = 0;
    const int n_blocks = gridDim.x, n_spare = n_blocks - n_outputs;
    // The blocks that call `follow` and `fetch`: those without an output, or all if each has one.
    const int n_following = n_spare > 0 ? n_spare : n_blocks;
    const int block = n_spare > 0 ? (int)blockIdx.x - n_outputs : (int)blockIdx.x;
    for (int sweep = 0; sweep < n_sweeps; ++sweep) {
        for (Row i = (Row)blockIdx.x * THREADS + threadIdx.x; i < n; i += (Row)n_blocks * THREADS) {
            of_rows[i] = violation(low, high, gradient, b, i, n, n_outputs, shrinkage);
            batch_of[i] = -1;
            raise_to(largest + sweep, of_rows[i]);
        }
        grid_barrier(arrived, &goal);
        if (blockIdx.x == 0) {
            const float least = (float)LEAST * largest[sweep];
            const int found =
                compacted([&](Row i) { return of_rows[i] > least; }, rows, n, (int*)memory);
            if (threadIdx.x == 0) *n_moving = found;
        }
        grid_barrier(arrived, &goal);
        const int count = *n_moving, n_batches = (count + ROWS - 1) / ROWS;
        const auto numbered = [&](int k) {
            const int left = count - k * ROWS;
            float* own = products + (k & 1) * 2 * ROWS * ROWS;
            return Batch{rows + k * ROWS, left < ROWS ? left : ROWS, own, own + ROWS * ROWS};
        };
        for (int i = blockIdx.x * THREADS + threadIdx.x; i < count; i += n_blocks * THREADS)
            batch_of[rows[i]] = i / ROWS;
        if (count) fetch(K, numbered(0), 0, n, blockIdx.x, n_blocks);
        grid_barrier(arrived, &goal);
        for (int k = 0; k <= n_batches && count; ++k) {  // k = n_batches only updates gradients
            float *now = moves + (k & 1) * n_outputs * ROWS, *last = moves + (~k & 1) * n_outputs * ROWS;
            for (int output = blockIdx.x; output < n_outputs && k < n_batches; output += n_blocks) {
                const Row at = output * n;
                go_through(numbered(k), k > 0 ? last + output * ROWS : nullptr, low + at, high + at,
                           ridge + at, gradient + at, b + at, now + output * ROWS, shrinkage, here);
            }
            if (block >= 0 && k > 0)
                follow(K, numbered(k - 1), last, gradient, batch_of, k, n, n_outputs, block,
                       n_following, here);
            if (block >= 0 && k + 1 < n_batches)
                fetch(K, numbered(k + 1), ROWS, n, block, n_following);
            grid_barrier(arrived, &goal);
        }
    }
}
#endif

// The derivative of the objective with respect to b_i, where it exists: if b_i != 0 or e = 0.
__device__ __forceinline__ float slope_at(float gradient, float b, float shrinkage) {
    return gradient + (b > 0.0f ? shrinkage : b < 0.0f ? -shrinkage : 0.0f);
}

#ifdef ONLY_list_free
// rows (n_outputs, n), sizes (n_outputs): the free rows of output blockIdx.x and their number. b_i
// is free if it is strictly between its bounds and, if e > 0, not 0.
extern "C" __global__ void __launch_bounds__(1024)
    list_free(const float* __restrict__ low, const float* __restrict__ high,
              const float* __restrict__ b, int* __restrict__ rows, int* __restrict__ sizes, Row n,
              float shrinkage) {
    __shared__ int counts[1024];
    const Row begin = (Row)blockIdx.x * n;
    low += begin, high += begin, b += begin;
    const auto is_free = [&](Row i) {
        return b[i] > low[i] && b[i] < high[i] && (shrinkage == 0.0f || b[i] != 0.0f);
    };
    const int found = compacted(is_free, rows + begin, n, counts);
    if (threadIdx.x == 0) sizes[blockIdx.x] = found;
}
#endif

#ifdef ONLY_hessians
// out (n_outputs, m, m) = K + diag(d) over the free rows of each output, plus `growth` times the
// diagonal of K; rows and columns after the free ones are those of the identity matrix. blockIdx.x
// is a row of a matrix, blockIdx.y an output.
extern "C" __global__ void __launch_bounds__(256)
    hessians(const float* __restrict__ K, const float* __restrict__ ridge,
             const int* __restrict__ rows, const int* __restrict__ sizes, float* __restrict__ out,
             Row n, int m, float growth) {
    const int i = blockIdx.x, size = sizes[blockIdx.y];
    const Row begin = (Row)blockIdx.y * n;
    rows += begin;
    out += ((Row)blockIdx.y * m + i) * m;
    const Row own = i < size ? rows[i] : 0;
    for (int j = threadIdx.x; j < m; j += blockDim.x) {
        float value = i == j ? 1.0f : 0.0f;
        if (i < size && j < size) value = __ldg(K + own * n + rows[j]);
        if (i < size && j == i) value += growth * value + ridge[begin + own];
        out[j] = value;
    }
}
#endif

#ifdef ONLY_right_sides
// out (n_outputs, m) = minus the slopes of the free rows, then 0.
extern "C" __global__ void __launch_bounds__(256)
    right_sides(const float* __restrict__ gradient, const float* __restrict__ b,
                const int* __restrict__ rows, const int* __restrict__ sizes,
                float* __restrict__ out, Row n, int m, float shrinkage) {
    const int j = blockIdx.x * 256 + threadIdx.x, k = blockIdx.y;
    if (j >= m) return;
    const Row begin = (Row)k * n, at = begin + (j < sizes[k] ? rows[begin + j] : 0);
    out[(Row)k * m + j] = j < sizes[k] ? -slope_at(gradient[at], b[at], shrinkage) : 0.0f;
}
#endif

#ifdef ONLY_path
// moves (SHARES, n_outputs, n), 0 at launch: the directions (n_outputs, m) of the free rows times
// each share, clipped such that b stays within its bounds and, if e > 0, keeps its sign. NaN where
// a direction is not finite.
extern "C" __global__ void __launch_bounds__(256)
    path(const float* __restrict__ directions, const float* __restrict__ low,
         const float* __restrict__ high, const float* __restrict__ b, const int* __restrict__ rows,
         const int* __restrict__ sizes, float* __restrict__ moves, Row n, int m,
         float shrinkage) {
    const int j = blockIdx.x * 256 + threadIdx.x, k = blockIdx.y;
    if (j >= sizes[k]) return;
    const Row begin = (Row)k * n, at = begin + rows[begin + j];
    const float own = b[at], direction = directions[(Row)k * m + j];
    const bool is_signed = shrinkage != 0.0f;
    const float least = is_signed && own > 0.0f ? 0.0f : low[at];
    const float most = is_signed && own < 0.0f ? 0.0f : high[at];
    float share = 1.0f;
    for (int s = 0; s < SHARES; ++s, share *= 0.5f) {
        const float to = fminf(fmaxf(own + share * direction, least), most);
        moves[(Row)s * gridDim.y * n + at] = isfinite(direction) ? to - own : nanf("");
    }
}
#endif

#ifdef ONLY_falls
// out (SHARES, n_outputs, 2): along each move, minus the slope and the second derivative of the
// objective. `follows` is K times the moves. There is one block per share and output.
extern "C" __global__ void __launch_bounds__(256)
    falls(const float* __restrict__ gradient, const float* __restrict__ b,
          const float* __restrict__ ridge, const float* __restrict__ moves,
          const float* __restrict__ follows, double* __restrict__ out, Row n, int n_outputs,
          float shrinkage) {
    __shared__ double sums[2][256];
    const int t = threadIdx.x;
    const Row begin = (blockIdx.x % n_outputs) * n, there = (Row)blockIdx.x * n;
    double fall = 0.0, bend = 0.0;
    for (Row i = t; i < n; i += 256) {
        const float move = moves[there + i];
        if (move == 0.0f) continue;
        const Row at = begin + i;
        fall -= (double)slope_at(gradient[at], b[at], shrinkage) * move;
        bend += ((double)follows[there + i] + (double)ridge[at] * move) * move;
    }
    sums[0][t] = fall, sums[1][t] = bend;
    for (int half = 128; half > 0; half /= 2) {
        __syncthreads();
        if (t < half) sums[0][t] += sums[0][t + half], sums[1][t] += sums[1][t + half];
    }
    if (t == 0) out[2 * blockIdx.x] = sums[0][0], out[2 * blockIdx.x + 1] = sums[1][0];
}
#endif

#ifdef ONLY_go
// Make the best move of output blockIdx.y: each is shortened to where the objective is lowest along
// it, and the one that lowers it most is chosen. told[1 + output] = the share of that move that was
// made, or -1 if the direction was not finite.
extern "C" __global__ void __launch_bounds__(256)
    go(const float* __restrict__ low, const float* __restrict__ high,
       const float* __restrict__ ridge, float* __restrict__ gradient, float* __restrict__ b,
       const float* __restrict__ moves, const float* __restrict__ follows,
       const double* __restrict__ falls, float* __restrict__ told, Row n) {
    const int k = blockIdx.y, n_outputs = gridDim.y;
    const Row i = (Row)blockIdx.x * 256 + threadIdx.x;
    double most = 0.0, share = 0.0;
    int best = 0;
    bool is_finite = true;
    for (int s = 0; s < SHARES; ++s) {
        const double fall = falls[2 * (s * n_outputs + k)], bend = falls[2 * (s * n_outputs + k) + 1];
        is_finite = is_finite && isfinite(fall) && isfinite(bend);
        if (!(fall > 0.0 && bend > 0.0)) continue;
        const double way = fmin(fall / bend, 1.0), gain = way * (fall - 0.5 * way * bend);
        if (gain > most) most = gain, share = way, best = s;
    }
    if (i == 0) told[1 + k] = is_finite ? (float)share : -1.0f;
    if (i >= n || !is_finite || share == 0.0) return;
    const Row at = (Row)k * n + i, there = (Row)best * n_outputs * n + at;
    const float move = moves[there], own = b[at], part = (float)share;
    // A variable that moves to a bound must be there exactly: with rounding it would count as free.
    const bool to_low = part == 1.0f && move == low[at] - own;
    const bool to_high = part == 1.0f && move == high[at] - own;
    const float to = fminf(fmaxf(own + part * move, low[at]), high[at]);
    b[at] = to_low ? low[at] : to_high ? high[at] : to;
    gradient[at] += part * (follows[there] + ridge[at] * move);
}
#endif
