// Rows of which most values are zero: only the others are stored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "axis.hpp"
#include "codes.hpp"

namespace splinear {

// A matrix by rows (CSR), owned by someone else: the non-zeros of row i are values[k] in column
// features[k], starts[i] <= k < starts[i + 1].
template <class Real>
struct SparseView {
    std::span<const std::int64_t> starts;  // n_rows + 1
    std::span<const std::int32_t> features;
    std::span<const Real> values;

    std::ptrdiff_t n_rows() const noexcept {
        return static_cast<std::ptrdiff_t>(starts.size()) - 1;
    }
};

// The rows order[0], order[1], ... of a sparse matrix, each a list of features and arguments of the
// basis: 8 bytes a non-zero, and 8 a row. What is zero takes no part, so it serves models whose
// curves are zero at zero.
class SparseRows {
public:
    struct Entry {
        std::uint32_t feature;
        float argument;
    };

    template <class Real>
    SparseRows(const SparseView<Real>& X, const Axes& axes, std::span<const std::int64_t> order) {
        starts_.reserve(order.size() + 1);
        starts_.push_back(0);
        for (const std::int64_t row : order)
            starts_.push_back(starts_.back() + X.starts[index(row) + 1] - X.starts[index(row)]);
        entries_.reserve(index(starts_.back()));
        for (const std::int64_t row : order)
            for (auto k = index(X.starts[index(row)]); k < index(X.starts[index(row) + 1]); ++k) {
                const auto j = static_cast<std::uint32_t>(X.features[k]);
                const auto argument = axes[j].argument(static_cast<double>(X.values[k]));
                entries_.push_back({j, static_cast<float>(argument)});
            }
    }

    Row n_rows() const noexcept { return static_cast<Row>(starts_.size()) - 1; }
    std::size_t n_entries() const noexcept { return entries_.size(); }

    std::span<const Entry> row(Row i) const noexcept {
        const std::size_t begin = index(starts_[index(i)]);
        return std::span(entries_).subspan(begin, index(starts_[index(i) + 1]) - begin);
    }

    // visit(feature, argument) for the values of a row that are not zero.
    template <class Visit>
    void for_each(Row i, const Visit& visit) const {
        for (const Entry& entry : row(i))
            visit(std::size_t{entry.feature}, static_cast<double>(entry.argument));
    }

private:
    static std::size_t index(std::int64_t i) noexcept { return static_cast<std::size_t>(i); }

    std::vector<std::int64_t> starts_;
    std::vector<Entry> entries_;
};

}  // namespace splinear
