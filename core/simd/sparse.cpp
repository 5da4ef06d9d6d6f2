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

// In order: an entry that adds nothing changes nothing. Memory is what this waits for.
template <int Degree, class Real>
SPLINEAR_INLINE Real score(const SparseShape& shape, const Real* tables,
                           const SparseEntry<Real>* entries, std::size_t n) {
    Real total = 0;
    for (std::size_t k = 0; k < n; ++k) total += value<Degree>(shape, tables, entries[k]);
    return total;
}

template <int Degree, class Real>
SPLINEAR_INLINE void add(const SparseShape& shape, const Real* smoother, std::size_t stride,
                         Real step, const SparseEntry<Real>* entries, std::size_t n, Real* tables) {
    for (std::size_t e = 0; e < n; ++e) {
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

}  // namespace splinear::simd
