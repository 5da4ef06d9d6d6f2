// Compares the kernels of Fourier and Hermite curves with the reference in double precision.
#include <algorithm>
#include <vector>

#include "operators/row_operator.hpp"
#include "operators/series_operator.hpp"
#include "simd/dispatch.hpp"
#include "tests/check.hpp"
#include "tests/reference.hpp"

using namespace splinear;

namespace {

constexpr std::size_t n_features = 21;

template <class B>
void compare(const simd::Kernels& kernels, const B& basis, double end, int n_threads) {
    const testing::DrawnRows drawn(testing::n_reference_rows, n_features, -end, end, 0.0);
    const Codes codes = drawn.coded(CodeGrid::whole_axis(false));
    std::vector<double> variance(n_features);
    for (std::size_t j = 0; j < n_features; ++j) variance[j] = 0.3 * static_cast<double>(j % 4);
    std::vector<double> weights(static_cast<std::size_t>(basis.size()));
    for (std::size_t k = 0; k < weights.size(); ++k) weights[k] = 1.0 / static_cast<double>(k + 1);

    const CodedRows source(codes, drawn.axes);
    const DiagonalPenalty penalty(weights);
    const auto fast = SeriesOperator::make(source, basis, penalty, variance, kernels, n_threads);
    const RowOperator slow(source, basis, penalty, variance);
    CHECK(fast != nullptr);
    testing::equals_reference(
        *fast, slow, {.tables = 1e-5, .scores = 1e-5, .squared_weight = 1e-5, .products = 1e-4});
}

}  // namespace

int main() {
    for (const simd::Kernels* kernels : simd::available())
        for (const int degree : {1, 2, 5, 16})
            for (const int n_threads : {1, 2}) {
                compare(*kernels, Fourier{degree}, 1.0, n_threads);
                compare(*kernels, Hermite{degree}, 1.0, n_threads);
                compare(*kernels, Hermite{std::min(degree, 5)}, 6.0, n_threads);
            }
    return testing::result();
}
