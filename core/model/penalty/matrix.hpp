// A penalty given as a dense matrix.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace splinear {

// T and its inverse, both size x size in row-major order. Products take size^2 operations, where
// other penalties need a few per coefficient. For the members see any.hpp.
class MatrixPenalty {
public:
    MatrixPenalty(int size, std::vector<double> map, std::vector<double> inverse)
        : size_(static_cast<std::size_t>(size)),
          map_(std::move(map)),
          inverse_(std::move(inverse)) {}

    int size() const noexcept { return static_cast<int>(size_); }

    void embed(double* a) const { store(transposed(map_, {a, size_}, 0), a); }
    void integrate(double* a) const { store(times(map_, a), a); }
    void difference(double* a) const { store(times(inverse_, a), a); }
    void difference_transpose(double* a) const { store(transposed(inverse_, {a, size_}, 0), a); }

    void smooth(double* a) const {
        embed(a);
        integrate(a);
    }

    double quadratic(int first, std::span<const double> w) const {
        double total = 0.0;
        for (const double v : transposed(map_, w, static_cast<std::size_t>(first))) total += v * v;
        return total;
    }

private:
    // The transposed matrix times the vector that holds w from index `first` on and 0 elsewhere.
    std::vector<double> transposed(const std::vector<double>& matrix, std::span<const double> w,
                                   std::size_t first) const {
        std::vector<double> out(size_, 0.0);
        for (std::size_t i = 0; i < w.size(); ++i) {
            const double* row = matrix.data() + (first + i) * size_;
            for (std::size_t k = 0; k < size_; ++k) out[k] += w[i] * row[k];
        }
        return out;
    }

    std::vector<double> times(const std::vector<double>& matrix, const double* a) const {
        std::vector<double> out(size_, 0.0);
        for (std::size_t i = 0; i < size_; ++i)
            for (std::size_t k = 0; k < size_; ++k) out[i] += matrix[i * size_ + k] * a[k];
        return out;
    }

    static void store(const std::vector<double>& from, double* to) {
        for (std::size_t i = 0; i < from.size(); ++i) to[i] = from[i];
    }

    std::size_t size_;
    std::vector<double> map_;
    std::vector<double> inverse_;
};

}  // namespace splinear
