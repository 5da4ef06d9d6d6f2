// Sparse rows: only the nonzero values are stored.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "model/axis.hpp"
#include "rows/blocks.hpp"
#include "rows/matrix_view.hpp"
#include "rows/paging.hpp"
#include "rows/row.hpp"
#include "rows/sparse_entry.hpp"
#include "rows/table_places.hpp"
#include "support/checks.hpp"

namespace splinear {

// A view of a sparse matrix in CSR format: the nonzeros of row i are values[k] in column
// features[k] for starts[i] <= k < starts[i + 1].
template <class Real>
struct SparseView {
    std::span<const std::int64_t> starts;  // n_rows + 1
    std::span<const std::int32_t> features;
    std::span<const Real> values;

    std::ptrdiff_t n_rows() const noexcept {
        return static_cast<std::ptrdiff_t>(starts.size()) - 1;
    }
};

// Throws std::invalid_argument unless the starts are ascending and within [0, n_entries].
inline void check_starts(std::span<const std::int64_t> starts, std::size_t n_entries) {
    must(!starts.empty(), "there must be one start more than rows, and there is none");
    must(starts.front() >= 0 && std::ranges::is_sorted(starts),
         "the starts of the rows must ascend, and not be negative");
    if (starts.back() > static_cast<std::int64_t>(n_entries))
        must_be("the number of entries, where the last row ends,", n_entries,
                static_cast<std::size_t>(starts.back()));
}

template <class Real>
void check(const SparseView<Real>& X, std::size_t n_features) {
    must_be("the number of features, one per value,", X.features.size(), X.values.size());
    check_starts(X.starts, X.values.size());
    for (const std::int32_t j : X.features) must_be_one_of("feature", j, n_features);
}

using PlacesPtr = std::shared_ptr<const TablePlaces>;

// Rows of a sparse matrix, each a list of features and arguments of the basis: 8 bytes per nonzero
// (16 if arguments are double precision), and 8 per row. Zeros are ignored, so curves must be zero
// at zero. A feature is identified by the place of its table, which saves operators a lookup.
template <class Argument>
class SparseRowsOf {
public:
    using Entry = SparseEntry<Argument>;

    // A copy of the rows order[0], order[1], ... of X.
    template <class Real>
    SparseRowsOf(const SparseView<Real>& X, const Axes& axes, std::span<const std::int64_t> order,
                 PlacesPtr places)
        : places_(std::move(places)) {
        check(X, axes.size());
        must_be("the number of tables, one per feature,", places_->n_features(), axes.size());
        check_rows(order, X.n_rows());
        starts_.reserve(order.size() + 1);
        starts_.push_back(0);
        for (const std::int64_t row : order)
            starts_.push_back(starts_.back() + X.starts[index(row) + 1] - X.starts[index(row)]);
        own_.reserve(index(starts_.back()));
        for (const std::int64_t row : order)
            for (auto k = index(X.starts[index(row)]); k < index(X.starts[index(row) + 1]); ++k) {
                const auto j = static_cast<std::size_t>(X.features[k]);
                const auto argument = argument_of(axes[j], static_cast<double>(X.values[k]));
                own_.push_back({static_cast<std::uint32_t>(places_->start(j)),
                                static_cast<Argument>(argument)});
            }
        entries_ = own_;
        rows_per_block_ = std::max<Row>(n_rows(), 1);
        note_reach();
    }

    // Rows in a read-only file mapping, which must outlive this; the entries of row i begin at
    // starts[i]. rows_per_block is as for Codes.
    SparseRowsOf(std::vector<std::int64_t> starts, std::span<const Entry> mapped,
                 Row rows_per_block, PlacesPtr places)
        : starts_(std::move(starts)),
          entries_(mapped),
          is_mapped_(true),
          places_(std::move(places)),
          rows_per_block_(std::max<Row>(rows_per_block, 1)) {
        check_starts(starts_, entries_.size());
        note_reach();
    }

    SparseRowsOf(const SparseRowsOf&) = delete;  // entries_ points into own_
    SparseRowsOf& operator=(const SparseRowsOf&) = delete;
    SparseRowsOf(SparseRowsOf&&) = default;
    SparseRowsOf& operator=(SparseRowsOf&&) = default;

    // A view of the first n rows; this must outlive it.
    SparseRowsOf first_rows(Row n) const {
        const auto end = starts_.begin() + std::min(n, n_rows()) + 1;
        SparseRowsOf some;
        some.starts_.assign(starts_.begin(), end);
        some.entries_ = entries_.first(index(some.starts_.back()));
        some.is_mapped_ = is_mapped_;
        some.rows_per_block_ = rows_per_block_;
        some.places_ = places_;
        some.within_tables_ = within_tables_;
        return some;
    }

    // A copy of the rows with the given numbers.
    SparseRowsOf some_rows(std::span<const std::int64_t> numbers) const {
        check_rows(numbers, n_rows());
        SparseRowsOf some;
        some.starts_.push_back(0);
        for (const std::int64_t i : numbers) {
            const auto own = row(i);
            some.own_.insert(some.own_.end(), own.begin(), own.end());
            some.starts_.push_back(static_cast<std::int64_t>(some.own_.size()));
        }
        some.entries_ = some.own_;
        some.rows_per_block_ = std::max<Row>(some.n_rows(), 1);
        some.places_ = places_;
        some.within_tables_ = within_tables_;
        return some;
    }

    // See blocks.hpp.
    Row rows_per_block() const noexcept { return rows_per_block_; }
    void done_with(Row begin, Row end) const noexcept {
        if (!is_mapped_ || entries_.empty()) return;
        const Entry* first = entries_.data();
        release_pages(first + starts_[index(begin)], first + starts_[index(end)], first,
                      first + entries_.size());
    }

    Row n_rows() const noexcept { return static_cast<Row>(starts_.size()) - 1; }
    std::size_t n_features() const noexcept { return places_->n_features(); }
    const TablePlaces& places() const noexcept { return *places_; }
    // Whether no argument is beyond its feature's table.
    bool within_tables() const noexcept { return within_tables_; }
    std::size_t n_entries() const noexcept { return entries_.size(); }

    std::span<const Entry> row(Row i) const noexcept {
        const std::size_t begin = index(starts_[index(i)]);
        return entries_.subspan(begin, index(starts_[index(i) + 1]) - begin);
    }

    // Calls visit(feature, argument) for the nonzero values of a row.
    template <class Visit>
    void for_each(Row i, const Visit& visit) const {
        for (const Entry& entry : row(i))
            visit(places_->feature(entry.place), static_cast<double>(entry.argument));
    }

private:
    SparseRowsOf() = default;

    // Reads all rows once to check places and set within_tables_: operators would read beyond their
    // tables otherwise.
    void note_reach() {
        read_in_order(*this, n_rows(), rows_per_block_, [&](Row begin, Row end) {
            for (Row i = begin; i < end; ++i)
                for (const Entry& entry : row(i)) {
                    must(places_->is_start(entry.place), "an entry is of no feature");
                    const std::size_t size = places_->size(places_->feature(entry.place));
                    if (entry.argument > static_cast<Argument>(size)) within_tables_ = false;
                }
        });
    }

    std::vector<std::int64_t> starts_;
    std::vector<Entry> own_;  // empty if the entries are in a file
    std::span<const Entry> entries_;
    bool is_mapped_ = false;  // the entries are in a file, whose pages may be released
    bool within_tables_ = true;
    PlacesPtr places_;
    Row rows_per_block_ = 1;
};

using SparseRows = SparseRowsOf<float>;
using ExactSparseRows = SparseRowsOf<double>;

template <class S>
inline constexpr bool is_sparse =
    std::is_same_v<S, SparseRows> || std::is_same_v<S, ExactSparseRows>;

}  // namespace splinear
