// Sparse rows for tests, and the same rows as a dense matrix.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "model/axis.hpp"
#include "rows/matrix_view.hpp"
#include "rows/sparse_rows.hpp"
#include "support/random.hpp"

namespace splinear::testing {

// Rows with values in [0, 1], two thirds of them zero, as a dense and a sparse matrix. The last
// feature is zero everywhere, and the third row is empty. Values are multiples of 1/64, which are
// exact in single precision.
struct SparseData {
    static constexpr std::ptrdiff_t n_rows = 40;
    static constexpr std::size_t n_features = 6;
    static constexpr std::array<double, n_features> variance{0.1, 0.0, 2.5, 1.0, 0.3, 0.7};
    static constexpr std::array<std::int64_t, n_features> columns{0, 1, 2, 3, 4, 5};

    // Feature j's axis ends at last[j].
    SparseData(double first, std::span<const double> last)
        : axes(all(0.0), all(1.0), all(first), last) {
        Random random(7);
        for (std::size_t i = 0; i < n_rows; ++i) {
            for (std::size_t j = 0; j + 1 < n_features; ++j) {
                const std::uint64_t drawn = random.next();
                if (i == 2 || drawn % 3 != 0) continue;
                // Some are 1, the end of the axis.
                const double x = drawn % 5 == 0 ? 1.0 : static_cast<double>(drawn >> 58) / 64.0;
                X[i * n_features + j] = x;
                features.push_back(static_cast<std::int32_t>(j));
                values.push_back(x);
            }
            starts.push_back(static_cast<std::int64_t>(values.size()));
        }
        for (std::size_t i = 0; i < n_rows; ++i)
            order.push_back(static_cast<std::int64_t>((i * 7) % n_rows));
    }

    static std::vector<double> all(double v) { return std::vector<double>(n_features, v); }

    MatrixView<double> view() const { return {X.data(), n_rows, n_features, n_features, 1}; }

    template <class Rows>
    Rows rows(std::span<const std::int64_t> sizes) const {
        return Rows(SparseView<double>{starts, features, values}, axes, order,
                    std::make_shared<TablePlaces>(sizes));
    }

    std::array<double, n_rows * n_features> X{};
    std::vector<std::int64_t> starts{0};
    std::vector<std::int32_t> features;
    std::vector<double> values;
    std::vector<std::int64_t> order;
    Axes axes;
};

}  // namespace splinear::testing
