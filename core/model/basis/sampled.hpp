// A basis of arbitrary functions on [-1, 1], given by their values at equally spaced points.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace splinear {

// `size` functions, interpolated linearly between n_cells + 1 points. values: (n_cells + 1) x size,
// shared by all copies.
class Sampled {
public:
    Sampled(int size, std::vector<double> values)
        : size_(size),
          n_cells_(static_cast<int>(values.size()) / size - 1),
          values_(std::make_shared<const std::vector<double>>(std::move(values))) {}

    int size() const noexcept { return size_; }
    int support() const noexcept { return size_; }

    int evaluate(double x, double* w) const noexcept {
        const double t = (x + 1.0) * (0.5 * n_cells_);
        const int last = n_cells_ - 1;
        const int cell = !(t > 0.0) ? 0 : t < last ? static_cast<int>(t) : last;
        const double a = t - cell;
        const auto n = static_cast<std::size_t>(size_);
        const double* left = values_->data() + static_cast<std::size_t>(cell) * n;
        for (std::size_t k = 0; k < n; ++k) w[k] = (1.0 - a) * left[k] + a * left[n + k];
        return 0;
    }

private:
    int size_;
    int n_cells_;
    std::shared_ptr<const std::vector<double>> values_;
};

}  // namespace splinear
