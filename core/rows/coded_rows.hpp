// Rows stored as codes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "model/axis.hpp"
#include "rows/codes.hpp"
#include "rows/matrix_view.hpp"
#include "rows/row.hpp"
#include "support/checks.hpp"

namespace splinear {

// Rows of a Codes object, C being its code type: 2 bytes per value, rounded to one of at least
// 32,768 positions along the axis, or 4 bytes. The codes must outlive this, unless they are its own
// copy (see some_rows()).
template <class C>
class CodedRowsOf {
public:
    CodedRowsOf(const Codes& codes, const Axes& axes)
        : codes_(&codes), n_rows_(codes.n_rows()), missing_code_(codes.grid().missing_code) {
        must_be("the number of axes, one per feature,", axes.size(),
                static_cast<std::size_t>(codes.n_features()));
        must(codes.grid().is_wide == std::is_same_v<C, WideCode>,
             "the codes are not as wide as these rows");
        for (std::size_t j = 0; j < axes.size(); ++j) {
            first_.push_back(axes[j].first());
            width_.push_back(1.0 / codes.grid().density(axes[j]));
        }
    }

    // A view of the first n rows.
    CodedRowsOf first_rows(Row n) const {
        CodedRowsOf some = *this;
        some.n_rows_ = std::min(n, n_rows_);
        return some;
    }

    // A copy of the rows with the given numbers.
    CodedRowsOf some_rows(std::span<const std::int64_t> numbers, int n_threads) const {
        check_rows(numbers, n_rows_);
        CodedRowsOf some = *this;
        some.own_ = std::make_shared<const Codes>(codes_->some_rows(numbers, n_threads));
        some.codes_ = some.own_.get();
        some.n_rows_ = some.codes_->n_rows();
        return some;
    }

    const Codes& codes() const noexcept { return *codes_; }
    const CodeGrid& grid() const noexcept { return codes_->grid(); }
    const C* row(Row i) const noexcept { return codes_->template row<C>(i); }
    double first(std::size_t feature) const noexcept { return first_[feature]; }
    double width(std::size_t feature) const noexcept { return width_[feature]; }
    Row n_rows() const noexcept { return n_rows_; }
    std::size_t n_features() const noexcept { return first_.size(); }
    Row rows_per_block() const noexcept { return codes_->rows_per_block(); }
    void done_with(Row begin, Row end) const noexcept { codes_->done_with(begin, end); }
    double argument(Row i, std::size_t feature) const noexcept {
        const C code = row(i)[feature];
        if (code == missing_code_) return std::numeric_limits<double>::quiet_NaN();
        return first_[feature] + width_[feature] * code;
    }
    template <class Visit>
    void for_each(Row i, const Visit& visit) const {
        for (std::size_t j = 0; j < first_.size(); ++j) visit(j, argument(i, j));
    }

private:
    std::shared_ptr<const Codes> own_;  // null if somebody else owns the codes
    const Codes* codes_;
    Row n_rows_;
    std::uint32_t missing_code_;
    std::vector<double> first_;  // the argument of code 0, per feature
    std::vector<double> width_;  // the change of the argument per code
};

using CodedRows = CodedRowsOf<Code>;
using WideRows = CodedRowsOf<WideCode>;

}  // namespace splinear
