// Scores of rows given by their values: what predict uses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <utility>

#include "model/axis.hpp"
#include "model/basis/any.hpp"
#include "rows/matrix_view.hpp"
#include "rows/sparse_rows.hpp"

namespace splinear {

class FloatModel;

// What was made of curves for the kernels when they were last used, kept for the next call.
class Prepared {
public:
    std::shared_ptr<const FloatModel> last() const {
        const std::scoped_lock lock(mutex_);
        return model_;
    }
    void keep(std::shared_ptr<const FloatModel> model) {
        const std::scoped_lock lock(mutex_);
        model_ = std::move(model);
    }

private:
    mutable std::mutex mutex_;
    std::shared_ptr<const FloatModel> model_;
};

// The curves of all outputs: coef is n_outputs x n_features x (basis size + 1), and the last entry
// of a curve is its value where x is missing.
struct Curves {
    const AnyBasis& basis;
    const Axes& axes;
    std::span<const double> coef;
    std::span<const double> intercepts;  // one per output
    std::shared_ptr<Prepared> prepared = std::make_shared<Prepared>();

    std::size_t n_outputs() const noexcept { return intercepts.size(); }
    std::size_t stride() const noexcept { return static_cast<std::size_t>(basis_size(basis)) + 1; }
    const double* coef_of(std::size_t output, std::size_t j) const noexcept {
        return coef.data() + (output * axes.size() + j) * stride();
    }
};

// out[i * n_outputs + k] = intercepts[k] + sum_j coef_kj' B(x_ij), x_ij being in column columns[j]
// of X. NaN for a row with an infinite value. B-splines of float32 values are scored in single
// precision, by vector instructions (see simd/); everything else, and rows with a NaN, in double
// precision. Throws std::invalid_argument for arrays of the wrong size.
template <class Real>
void decide(const Curves& curves, const MatrixView<Real>& X, std::span<const std::int64_t> columns,
            int n_threads, double* out);

// out[i * n_outputs + k] = start[k] + what decide() writes there; with no start, it is added to
// what is there.
template <class Real>
void add_decision(const Curves& curves, const MatrixView<Real>& X,
                  std::span<const std::int64_t> columns, std::span<const double> start,
                  int n_threads, double* out);

// Whether no number is infinite or NaN.
bool are_finite(std::span<const double> values, int n_threads);

// What decide() does, for a sparse matrix. at_zero (n_outputs x n_features) holds the curves'
// values at zero, which a value that is stored replaces and the intercepts are to include already;
// empty: all are zero.
template <class Real>
void decide_sparse(const Curves& curves, const SparseView<Real>& X, std::span<const double> at_zero,
                   int n_threads, double* out);

}  // namespace splinear
