// Softmax probabilities of OUTPUTS classes: sums over rows, second derivatives and divergences.
//
// F, R, V and probabilities are (OUTPUTS, n), costs c (n,). Each thread handles one row at a time.
//
// Macros defined by the caller:
//   OUTPUTS   number of classes; few, because a thread holds the products of all pairs in registers
//   REAL      type of V in `bends`
//   ONLY_...  the kernel to compile

typedef long long Row;

#if defined(ONLY_moments) || defined(ONLY_shift)
#define PRODUCTS (OUTPUTS * (OUTPUTS + 1) / 2)

// out (PRODUCTS + OUTPUTS,) = sum_i c_i p_ki p_mi for k <= m, then sum_i c_i p_ki, with p_i the
// softmax of F_i + shift. Each warp writes its sums to `parts`, and the last block to finish adds
// them up, in a fixed order. `n_done` counts finished blocks and is reset to 0. Returns true in the
// threads of that last block, where `out` can be read.
__device__ bool add_up(const double* __restrict__ F, const double* __restrict__ cost,
                       const double* shift, double* parts, int* n_done, double* out, Row n) {
    __shared__ int is_last;
    double sums[PRODUCTS + OUTPUTS];
#pragma unroll
    for (int s = 0; s < PRODUCTS + OUTPUTS; ++s) sums[s] = 0.0;
    const Row n_threads = (Row)gridDim.x * blockDim.x;
    for (Row i = (Row)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += n_threads) {
        double p[OUTPUTS], most = F[i] + shift[0], all = 0.0;
#pragma unroll
        for (int k = 0; k < OUTPUTS; ++k) {
            p[k] = F[k * n + i] + shift[k];
            most = fmax(most, p[k]);
        }
#pragma unroll
        for (int k = 0; k < OUTPUTS; ++k) {
            p[k] = exp(p[k] - most);
            all += p[k];
        }
        const double c = cost[i];
#pragma unroll
        for (int k = 0; k < OUTPUTS; ++k) p[k] /= all;
        int s = 0;
#pragma unroll
        for (int k = 0; k < OUTPUTS; ++k) {
            const double own = c * p[k];
            sums[PRODUCTS + k] += own;
#pragma unroll
            for (int m = k; m < OUTPUTS; ++m) sums[s++] += own * p[m];
        }
    }
    const int lane = threadIdx.x & 31;
    const Row warp = (Row)blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5);
#pragma unroll
    for (int s = 0; s < PRODUCTS + OUTPUTS; ++s) {
        for (int other = 16; other > 0; other >>= 1)
            sums[s] += __shfl_xor_sync(0xffffffffu, sums[s], other);
        if (lane == 0) parts[warp * (PRODUCTS + OUTPUTS) + s] = sums[s];
    }
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        is_last = atomicAdd(n_done, 1) == (int)gridDim.x - 1;
        if (is_last) *n_done = 0;
    }
    __syncthreads();
    if (!is_last) return false;
    __threadfence();
    const int n_parts = gridDim.x * (blockDim.x >> 5);
    for (int s = threadIdx.x >> 5; s < PRODUCTS + OUTPUTS; s += blockDim.x >> 5) {
        double sum = 0.0;
        for (int part = lane; part < n_parts; part += 32)
            sum += ((volatile double*)parts)[part * (PRODUCTS + OUTPUTS) + s];
        for (int other = 16; other > 0; other >>= 1)
            sum += __shfl_xor_sync(0xffffffffu, sum, other);
        if (lane == 0) out[s] = sum;
    }
    __syncthreads();
    return true;
}
#endif

#ifdef ONLY_moments
extern "C" __global__ void __launch_bounds__(256)
    moments(const double* __restrict__ F, const double* __restrict__ cost,
            const double* __restrict__ shift, double* parts, int* n_done, double* out, Row n) {
    add_up(F, cost, shift, parts, n_done, out, n);
}
#endif

#ifdef ONLY_shift
// Solve H x = right by elimination. x replaces `right`, and is not finite if H is singular.
__device__ void solve(double H[OUTPUTS][OUTPUTS], double right[OUTPUTS]) {
    for (int p = 0; p < OUTPUTS; ++p)  // without pivoting, because H is positive definite
        for (int k = p + 1; k < OUTPUTS; ++k) {
            const double factor = H[k][p] / H[p][p];
            for (int m = p + 1; m < OUTPUTS; ++m) H[k][m] -= factor * H[p][m];
            right[k] -= factor * right[p];
        }
    for (int p = OUTPUTS - 1; p >= 0; --p) {
        for (int m = p + 1; m < OUTPUTS; ++m) right[p] -= H[p][m] * right[m];
        right[p] /= H[p][p];
    }
}

// A Newton step of the constants that are added to the scores of each class. told (OUTPUTS + 1,)
// holds these constants, then a state: 0 to continue; 1 if the step was at most `least` or a
// constant exceeds `most`; 2 if the step was not finite. If the state is not 0, a launch does
// nothing. `shifted_classes` in plain_classes.py computes the same in NumPy.
extern "C" __global__ void __launch_bounds__(256)
    shift(const double* __restrict__ F, const double* __restrict__ cost,
          const double* __restrict__ of_classes, double* told, double* parts, int* n_done,
          double* out, Row n, double least, double most) {
    if (told[OUTPUTS] != 0.0) return;
    if (!add_up(F, cost, told, parts, n_done, out, n) || threadIdx.x > 0) return;
    double H[OUTPUTS][OUTPUTS], step[OUTPUTS], trace = 0.0, mean = 0.0, longest = 0.0, far = 0.0;
    int s = 0;
    for (int k = 0; k < OUTPUTS; ++k) {
        for (int m = k; m < OUTPUTS; ++m) H[k][m] = H[m][k] = -out[s++];
        const double own = out[PRODUCTS + k];
        H[k][k] += own;
        trace += H[k][k];
        step[k] = of_classes[k] - own;
    }
    const double more = trace / (OUTPUTS * OUTPUTS) + 2.2250738585072014e-308;
    for (int k = 0; k < OUTPUTS; ++k)
        for (int m = 0; m < OUTPUTS; ++m) H[k][m] += more;
    solve(H, step);
    bool is_finite = true;
    for (int k = 0; k < OUTPUTS; ++k) {
        is_finite = is_finite && isfinite(step[k]);
        step[k] = fmin(fmax(step[k], -1.0), 1.0);
        mean += step[k] / OUTPUTS;
    }
    for (int k = 0; k < OUTPUTS && is_finite; ++k) {
        told[k] += step[k] - mean;
        longest = fmax(longest, fabs(step[k] - mean));
        far = fmax(far, fabs(told[k]));
    }
    told[OUTPUTS] = !is_finite ? 2.0 : longest <= least || far > most ? 1.0 : 0.0;
}
#endif

#ifdef ONLY_classes
// p (OUTPUTS, n) = the softmax of F, minus `minus` for the label of each row; own (n,) = the
// label's log-probability.
extern "C" __global__ void __launch_bounds__(256)
    classes(const double* __restrict__ F, const long long* __restrict__ labels,
            double* __restrict__ p, double* __restrict__ own, Row n, double minus) {
    const Row i = (Row)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double e[OUTPUTS], most = F[i], all = 0.0, mine = 0.0;
    const int label = (int)labels[i];
#pragma unroll
    for (int k = 0; k < OUTPUTS; ++k) {
        e[k] = F[k * n + i];
        most = fmax(most, e[k]);
    }
#pragma unroll
    for (int k = 0; k < OUTPUTS; ++k) {
        const double off = e[k] - most;
        if (k == label) mine = off;
        e[k] = exp(off);
        all += e[k];
    }
#pragma unroll
    for (int k = 0; k < OUTPUTS; ++k) p[k * n + i] = e[k] / all - (k == label ? minus : 0.0);
    own[i] = mine - log(all);
}
#endif

#ifdef ONLY_bends
// out (OUTPUTS, n) = c_i p_ki (V_ki - sum_m p_mi V_mi) + e_i V_ki. e is `extra` (n,), or 0 if that
// is null.
extern "C" __global__ void __launch_bounds__(256)
    bends(const double* __restrict__ p, const double* __restrict__ cost, const double* extra,
          const REAL* __restrict__ V, REAL* __restrict__ out, Row n) {
    const Row i = (Row)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double own[OUTPUTS], given[OUTPUTS], mean = 0.0;
#pragma unroll
    for (int k = 0; k < OUTPUTS; ++k) {
        own[k] = p[k * n + i];
        given[k] = V[k * n + i];
        mean += own[k] * given[k];
    }
    const double c = cost[i], e = extra ? extra[i] : 0.0;
#pragma unroll
    for (int k = 0; k < OUTPUTS; ++k)
        out[k * n + i] = (REAL)(c * own[k] * (given[k] - mean) + e * given[k]);
}
#endif

#ifdef ONLY_bend_diagonals
// out (OUTPUTS, n) = c_i p_ki (1 - p_ki) + e_i.
extern "C" __global__ void __launch_bounds__(256)
    bend_diagonals(const double* __restrict__ p, const double* __restrict__ cost,
                   const double* extra, double* __restrict__ out, Row n) {
    const Row i = (Row)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const double c = cost[i], e = extra ? extra[i] : 0.0;
#pragma unroll
    for (int k = 0; k < OUTPUTS; ++k) {
        const double own = p[k * n + i];
        out[k * n + i] = c * own * (1.0 - own) + e;
    }
}
#endif

#ifdef ONLY_cautious
// out (n,) = costs, raised where the loss is nearly linear, given probabilities p (OUTPUTS, n) and
// the log-probabilities `own` (n,) of the labels; see `raised_costs` in plain_classes.py.
extern "C" __global__ void __launch_bounds__(256)
    cautious(const double* __restrict__ p, const double* __restrict__ own,
             const double* __restrict__ cost, double* __restrict__ out, Row n) {
    const Row i = (Row)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const double mine = fmin(own[i], -1e-9), m = mine - log1p(-exp(mine)), far = fmin(m, -1.0);
    double most = 1e-12;
#pragma unroll
    for (int k = 0; k < OUTPUTS; ++k) most = fmax(most, p[k * n + i] * (1.0 - p[k * n + i]));
    const double bound = tanh(far / 2.0) / (2.0 * far);
    out[i] = m < -1.0 ? cost[i] * fmax(1.0, bound / most) : cost[i];
}
#endif

#ifdef ONLY_divergences
// out (n,) = c_i KL(q_i, p_i), with p_i the softmax of F_i and q_i = indicator + R_i / c_i;
// infinite if q_i are not probabilities, by more than `rounding`.
extern "C" __global__ void __launch_bounds__(256)
    divergences(const double* __restrict__ F, const double* __restrict__ R,
                const long long* __restrict__ labels, const double* __restrict__ cost,
                double* __restrict__ out, Row n, double rounding) {
    const Row i = (Row)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const double c = cost[i], divisor = fmax(c, 1e-300);
    const int label = (int)labels[i];
    double e[OUTPUTS], most = F[i], all = 0.0, sum = 0.0, each = 0.0;
    bool is_feasible = true;
#pragma unroll
    for (int k = 0; k < OUTPUTS; ++k) {
        e[k] = F[k * n + i];
        most = fmax(most, e[k]);
    }
#pragma unroll
    for (int k = 0; k < OUTPUTS; ++k) {
        e[k] -= most;
        all += exp(e[k]);
    }
    const double log_all = log(all);
#pragma unroll
    for (int k = 0; k < OUTPUTS; ++k) {
        const double q = R[k * n + i] / divisor + (k == label ? 1.0 : 0.0), inside = fmax(q, 0.0);
        is_feasible = is_feasible && q >= -rounding;
        sum += q;
        each += inside * (log(fmax(inside, 2.2250738585072014e-308)) - (e[k] - log_all));
    }
    is_feasible = is_feasible && fabs(sum - 1.0) <= rounding;
    out[i] = is_feasible ? c * each : -log(0.0);
}
#endif
