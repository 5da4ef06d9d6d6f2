// Rows of which most values are zero: only the others are stored.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "axis.hpp"
#include "codes.hpp"
#include "paging.hpp"

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

// Rows of a sparse matrix, each a list of features and arguments of the basis: 8 bytes a non-zero,
// and 8 a row. What is zero takes no part, so it serves models whose curves are zero at zero.
class SparseRows {
public:
    struct Entry {
        std::uint32_t feature;
        float argument;
    };

    // The rows order[0], order[1], ... of X, in memory of their own.
    template <class Real>
    SparseRows(const SparseView<Real>& X, const Axes& axes, std::span<const std::int64_t> order) {
        starts_.reserve(order.size() + 1);
        starts_.push_back(0);
        for (const std::int64_t row : order)
            starts_.push_back(starts_.back() + X.starts[index(row) + 1] - X.starts[index(row)]);
        own_.reserve(index(starts_.back()));
        for (const std::int64_t row : order)
            for (auto k = index(X.starts[index(row)]); k < index(X.starts[index(row) + 1]); ++k) {
                const auto j = static_cast<std::uint32_t>(X.features[k]);
                const auto argument = axes[j].argument(static_cast<double>(X.values[k]));
                own_.push_back({j, static_cast<float>(argument)});
            }
        entries_ = own_;
        rows_per_block_ = std::max<Row>(n_rows(), 1);
    }

    // Rows in a read-only map of a file; the entries of row i begin at starts[i]. Blocks are as
    // those of Codes.
    SparseRows(std::vector<std::int64_t> starts, std::span<const Entry> mapped, Row rows_per_block)
        : starts_(std::move(starts)),
          entries_(mapped),
          rows_per_block_(std::max<Row>(rows_per_block, 1)) {}

    SparseRows(const SparseRows&) = delete;  // entries_ points into own_
    SparseRows& operator=(const SparseRows&) = delete;
    SparseRows(SparseRows&&) = default;
    SparseRows& operator=(SparseRows&&) = default;

    // See blocks.hpp.
    Row rows_per_block() const noexcept { return rows_per_block_; }
    void done_with(Row begin, Row end) const noexcept {
        if (!own_.empty() || entries_.empty()) return;
        const Entry* first = entries_.data();
        release_pages(first + starts_[index(begin)], first + starts_[index(end)], first,
                      first + entries_.size());
    }

    Row n_rows() const noexcept { return static_cast<Row>(starts_.size()) - 1; }
    std::size_t n_entries() const noexcept { return entries_.size(); }

    std::span<const Entry> row(Row i) const noexcept {
        const std::size_t begin = index(starts_[index(i)]);
        return entries_.subspan(begin, index(starts_[index(i) + 1]) - begin);
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
    std::vector<Entry> own_;  // empty if they are in a file
    std::span<const Entry> entries_;
    Row rows_per_block_ = 1;
};

}  // namespace splinear
