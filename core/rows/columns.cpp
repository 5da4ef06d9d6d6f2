#include "rows/columns.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <type_traits>
#include <variant>

namespace splinear {
namespace {

constexpr std::size_t most_at_once = 4;

std::size_t rounded_up(std::size_t n) { return n > 2 ? 4 : n; }

template <class B>
std::vector<ColumnShape> shapes_of(const B& basis, const Group& group) {
    const auto support = static_cast<std::size_t>(basis.support());
    std::vector<ColumnShape> shapes;
    for (std::size_t j = 0; j < group.n_features(); ++j)
        for (std::size_t first = 0; first < support; first += most_at_once) {
            const std::size_t n = std::min(most_at_once, support - first);
            shapes.push_back({j, group.size(), first, n, rounded_up(n), group.size() + 1 - support,
                              group.has_missing(), std::is_same_v<B, BSpline<0>>});
        }
    return shapes;
}

template <DenseSource S, Basis B>
class Reader final : public ColumnReader {
public:
    Reader(const S& source, const B& basis, const Group& group)
        : source_(source), basis_(basis), shapes_(shapes_of(basis, group)) {}

    const std::vector<ColumnShape>& shapes() const noexcept override { return shapes_; }

    void read(Row begin, Row end, Column* const* columns, std::size_t to) const override {
        if constexpr (requires { source_.grid(), basis_.n_bins; })
            if (source_.grid().span == basis_.n_bins &&
                (source_.grid().rounding == 0.0) == (basis_.support() == 1))
                return read_codes(begin, end, columns, to);
        std::vector<double> w(static_cast<std::size_t>(basis_.support()));
        for (std::size_t c = 0; c < shapes_.size(); ++c)
            for (Row i = begin; columns[c] != nullptr && i < end; ++i)
                read_value(i, shapes_[c], w, *columns[c], to + static_cast<std::size_t>(i - begin));
    }

private:
    void read_value(Row i, const ColumnShape& shape, std::vector<double>& w, Column& column,
                    std::size_t to) const {
        const double x = source_.argument(i, shape.feature);
        const bool is_missing = std::isnan(x) && shape.has_missing;
        column.cell[to] = is_missing ? static_cast<std::int32_t>(shape.missing_cell)
                                     : basis_.evaluate(std::isnan(x) ? 0.0 : x, w.data());
        if (shape.is_unit) return;
        double* weight = &column.weight[to * shape.width];
        std::fill_n(weight, shape.width, 0.0);
        if (is_missing) {
            weight[0] = shape.first == 0 ? 1.0 : 0.0;
            return;
        }
        std::copy_n(w.begin() + static_cast<std::ptrdiff_t>(shape.first), shape.n_used, weight);
    }

    // Reads B-splines directly from the codes of their bins: a cell is a bin, except that the right
    // end of the axis, which has a bin of its own, belongs to the last cell.
    void read_codes(Row begin, Row end, Column* const* columns, std::size_t to) const {
        for (std::size_t j = 0; j < shapes_.size(); ++j) {
            if (columns[j] == nullptr) continue;
            const auto* code = source_.row(begin) + j;
            const auto n = static_cast<std::size_t>(end - begin);
            std::int32_t* cell = columns[j]->cell.data() + to;
            if constexpr (B::support() == 1)
                for (std::size_t i = 0; i < n; ++i)
                    cell[i] = static_cast<std::int32_t>(code[i * shapes_.size()]);
            else
                split_codes(code, n, cell, columns[j]->weight.data() + to * shapes_[j].width);
        }
    }

    // Splits n codes, one per row, into bin and fraction.
    template <class C>
    void split_codes(const C* code, std::size_t n, std::int32_t* cell, double* weight) const {
        constexpr std::size_t width = B::support() > 2 ? 4 : 2;
        // Local copies, because the compiler cannot exclude that the writes below alias members.
        const std::size_t stride = shapes_.size();
        const int bits = source_.grid().fraction_bits;
        const std::uint32_t missing_code = source_.grid().missing_code;
        const std::int32_t last = basis_.n_bins - 1;
        const double unit = 1.0 / static_cast<double>(1 << bits);
        for (std::size_t i = 0; i < n; ++i, weight += width) {
            const std::uint32_t here = code[i * stride];
            const auto bin = std::min(static_cast<std::int32_t>(here >> bits), last);
            cell[i] = here == missing_code ? last + 1 : bin;
            std::array<double, 4> w{};
            B::weights(static_cast<double>(here) * unit - bin, w.data());
            if (here == missing_code) w = {1.0, 0.0, 0.0, 0.0};
            std::copy_n(w.begin(), width, weight);
        }
    }

    const S& source_;
    B basis_;
    std::vector<ColumnShape> shapes_;
};

}  // namespace

std::unique_ptr<ColumnReader> make_reader(const Group& group) {
    return std::visit(
        [&]<class S, class B>(const S& source, const B& basis) -> std::unique_ptr<ColumnReader> {
            if constexpr (DenseSource<S> && !has_too_wide_codes<S, B>)
                return std::make_unique<Reader<S, B>>(source, basis, group);
            else
                return nullptr;
        },
        group.rows, group.basis);
}

}  // namespace splinear
