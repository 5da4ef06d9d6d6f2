#include "simd/sparse.hpp"

#include "simd/clones.hpp"

namespace splinear::simd {
namespace {

// The functions that are not zero at an argument, and the first of them.
template <int Degree, class Real>
struct Cell {
    SPLINEAR_INLINE Cell(Real argument, int last_bin) {
        const Real t = argument > 0 ? argument : Real{0};  // also for a NaN
        const int whole = static_cast<int>(t);
        const int bin = whole < last_bin ? whole : last_bin;
        const Real a = t - static_cast<Real>(bin);
        first = static_cast<std::size_t>(bin);
        if constexpr (Degree == 0) {
            w[0] = 1;
        } else if constexpr (Degree == 1) {
            w[0] = 1 - a;
            w[1] = a;
        } else if constexpr (Degree == 2) {
            w[0] = Real(0.5) * (1 - a) * (1 - a);
            w[2] = Real(0.5) * a * a;
            w[1] = 1 - w[0] - w[2];
        } else {
            w[0] = (1 - a) * (1 - a) * (1 - a) / 6;
            w[1] = Real(2) / 3 - a * a * (1 - Real(0.5) * a);
            w[3] = a * a * a / 6;
            w[2] = 1 - w[0] - w[1] - w[3];
        }
    }

    std::size_t first;
    Real w[Degree + 1];
};

template <int Degree, class Real>
SPLINEAR_INLINE Real value(const SparseShape& shape, const Real* tables,
                           const SparseEntry<Real>& entry) {
    const Cell<Degree, Real> cell(entry.argument, shape.n_bins - 1);
    const Real* coef = tables + entry.place + cell.first;
    Real total = 0;
    for (int p = 0; p <= Degree; ++p) total += coef[p] * cell.w[p];
    return total;
}

// Tables are read here and there, and memory is what all this waits for: those of the entries to
// come are asked for ahead.
constexpr std::size_t ahead = 16;

template <class Real>
SPLINEAR_INLINE void ask_for(const Real* tables, const SparseEntry<Real>& entry) {
#ifdef __GNUC__
    __builtin_prefetch(tables + entry.place);
#else
    static_cast<void>(tables), static_cast<void>(entry);
#endif
}

// In order: an entry that adds nothing changes nothing.
template <int Degree, class Real>
SPLINEAR_INLINE Real score(const SparseShape& shape, const Real* tables,
                           const SparseEntry<Real>* entries, std::size_t n) {
    Real total = 0;
    for (std::size_t k = 0; k < n; ++k) {
        if (k + ahead < n) ask_for(tables, entries[k + ahead]);
        total += value<Degree>(shape, tables, entries[k]);
    }
    return total;
}

template <int Degree, class Real>
SPLINEAR_INLINE void add(const SparseShape& shape, const Real* smoother, std::size_t stride,
                         Real step, const SparseEntry<Real>* entries, std::size_t n, Real* tables) {
    for (std::size_t e = 0; e < n; ++e) {
        if (e + ahead < n) ask_for(tables, entries[e + ahead]);
        const Cell<Degree, Real> cell(entries[e].argument, shape.n_bins - 1);
        Real* coef = tables + entries[e].place;
        const Real factor = step * coef[-2];
        const auto size = static_cast<int>(coef[-1]);
        const Real* rows = smoother + cell.first * stride;
        for (int begin = 0; begin < size; begin += static_cast<int>(sparse_lanes)) {
            Real lanes[sparse_lanes];
            for (std::size_t k = 0; k < sparse_lanes; ++k) lanes[k] = cell.w[0] * rows[k];
            for (int p = 1; p <= Degree; ++p)
                for (std::size_t k = 0; k < sparse_lanes; ++k)
                    lanes[k] += cell.w[p] * rows[static_cast<std::size_t>(p) * stride + k];
            for (int k = 0; k < static_cast<int>(sparse_lanes); ++k)
                coef[k] += begin + k < size ? factor * lanes[k] : Real{0};
            coef += sparse_lanes;
            rows += sparse_lanes;
        }
    }
}

template <class Real>
SPLINEAR_INLINE Real least(Real a, Real b) {
    return a < b ? a : b;
}

template <class Real>
SPLINEAR_INLINE void add_ramp(Real step, const SparseEntry<Real>* entries, std::size_t n,
                              Real* tables) {
    for (std::size_t e = 0; e < n; ++e) {
        if (e + ahead < n) ask_for(tables, entries[e + ahead]);
        const Real t = entries[e].argument > 0 ? entries[e].argument : Real{0};
        Real* coef = tables + entries[e].place;
        const Real factor = step * coef[-2];
        const Real size = coef[-1];
        for (Real first = 0; first < size; first += sparse_lanes) {
            for (int k = 0; k < static_cast<int>(sparse_lanes); ++k) {
                const Real at = first + static_cast<Real>(k);
                const Real within = least(at + 1, size) - least(at, size);  // 1, or 0 behind it
                coef[k] += factor * least(at, t) * within;
            }
            coef += sparse_lanes;
        }
    }
}

template <class Real>
SPLINEAR_INLINE void multiply(const SharedEntry<Real>* entries, std::size_t n, const Real* variance,
                              const Real* others, std::size_t stride, std::size_t n_before,
                              Real* out) {
    for (std::size_t first = 0; first < n_before; first += ramp_lanes) {
        Real total[ramp_lanes] = {};
        for (std::size_t e = 0; e < n; ++e) {
            const Real t = entries[e].argument;
            const auto bin = static_cast<Real>(static_cast<int>(t));
            const Real inside = t - bin;
            const Real factor = variance[entries[e].number];
            const Real* u = others + entries[e].number * stride + first;
            for (std::size_t k = 0; k < ramp_lanes; ++k) {
                const Real below = least(u[k], bin);
                total[k] += factor * (below + inside * (least(u[k], bin + 1) - below));
            }
        }
        for (std::size_t k = 0; k < ramp_lanes; ++k) out[first + k] = total[k];
    }
}

// Calls function with the degree as a constant.
template <class Function>
SPLINEAR_INLINE auto with_degree(int degree, const Function& function) {
    switch (degree) {
        case 0: return function.template operator()<0>();
        case 1: return function.template operator()<1>();
        case 2: return function.template operator()<2>();
        default: return function.template operator()<3>();
    }
}

}  // namespace

SPLINEAR_CLONES
float score_sparse(const SparseShape& shape, const float* tables, const SparseEntry<float>* entries,
                   std::size_t n) {
    return with_degree(shape.degree, [&]<int Degree>() SPLINEAR_INLINE_LAMBDA {
        return score<Degree>(shape, tables, entries, n);
    });
}

SPLINEAR_CLONES
double score_sparse(const SparseShape& shape, const double* tables,
                    const SparseEntry<double>* entries, std::size_t n) {
    return with_degree(shape.degree, [&]<int Degree>() SPLINEAR_INLINE_LAMBDA {
        return score<Degree>(shape, tables, entries, n);
    });
}

SPLINEAR_CLONES
void add_sparse(const SparseShape& shape, const float* smoother, std::size_t stride, float step,
                const SparseEntry<float>* entries, std::size_t n, float* tables) {
    with_degree(shape.degree, [&]<int Degree>() SPLINEAR_INLINE_LAMBDA {
        add<Degree>(shape, smoother, stride, step, entries, n, tables);
    });
}

SPLINEAR_CLONES
void add_sparse(const SparseShape& shape, const double* smoother, std::size_t stride, double step,
                const SparseEntry<double>* entries, std::size_t n, double* tables) {
    with_degree(shape.degree, [&]<int Degree>() SPLINEAR_INLINE_LAMBDA {
        add<Degree>(shape, smoother, stride, step, entries, n, tables);
    });
}

SPLINEAR_CLONES
void add_ramps(float step, const SparseEntry<float>* entries, std::size_t n, float* tables) {
    add_ramp(step, entries, n, tables);
}

SPLINEAR_CLONES
void add_ramps(double step, const SparseEntry<double>* entries, std::size_t n, double* tables) {
    add_ramp(step, entries, n, tables);
}

SPLINEAR_CLONES
void multiply_ramps(const SharedEntry<float>* entries, std::size_t n, const float* variance,
                    const float* others, std::size_t stride, std::size_t n_before, float* out) {
    multiply(entries, n, variance, others, stride, n_before, out);
}

SPLINEAR_CLONES
void multiply_ramps(const SharedEntry<double>* entries, std::size_t n, const double* variance,
                    const double* others, std::size_t stride, std::size_t n_before, double* out) {
    multiply(entries, n, variance, others, stride, n_before, out);
}

}  // namespace splinear::simd
