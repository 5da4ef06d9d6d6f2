#include <array>
#include <cstdint>
#include <numeric>
#include <vector>

#include "operators/hessian.hpp"
#include "operators/passes.hpp"
#include "tests/check.hpp"

using namespace splinear;
using splinear::testing::near;

namespace {

constexpr std::ptrdiff_t n_rows = 5000;
constexpr std::size_t n_features = 3;

// Rows of three features, as values and as codes that represent these values exactly.
struct Data {
    Data(double first, double last, CodeGrid grid)
        : lo(n_features, 0.0),
          hi(n_features, 1.0),
          begin(n_features, first),
          end(n_features, last),
          axes(lo, hi, begin, end),
          codes(n_rows, n_features, grid),
          order(n_rows) {
        std::iota(order.begin(), order.end(), 0);
        for (std::size_t i = 0; i < n_rows * n_features; ++i) {
            x.push_back(static_cast<double>((i * 7919) % 4097) / 4096.0);
            r.push_back(static_cast<double>((i * 31) % 17) / 8.0 - 1.0);
        }
        r.resize(n_rows);
        codes.fill(view(), columns, order, axes, 1);
    }
    MatrixView<double> view() const { return {x.data(), n_rows, n_features, n_features, 1}; }
    AnyRows values() const { return ValueRows<double>(view(), columns, axes, order); }
    AnyRows coded() const { return CodedRows(codes, axes); }

    std::vector<double> lo, hi, begin, end, x, r;
    static constexpr std::array<std::int64_t, n_features> columns{0, 1, 2};
    Axes axes;
    Codes codes;
    std::vector<std::int64_t> order;
};

bool alike(const std::vector<double>& a, const std::vector<double>& b, double tolerance) {
    if (a.size() != b.size()) return false;
    double largest = 0.0;
    for (const double v : a) largest = std::max(largest, std::abs(v));
    for (std::size_t k = 0; k < a.size(); ++k)
        if (std::abs(a[k] - b[k]) > tolerance * largest) return false;
    return true;
}

template <Basis B>
AnyPenalty penalty_of(const B& basis) {
    if constexpr (belong_together<B, DiagonalPenalty>)
        return DiagonalPenalty(std::vector<double>(static_cast<std::size_t>(basis.size()), 0.5));
    else
        return DifferencePenalty(1, basis.size(), basis.support());
}

template <Basis B>
void agree_with_each_other(const B& basis, const Data& data) {
    const AnyRows value_rows = data.values(), code_rows = data.coded();
    const AnyPenalty penalty = penalty_of(basis);
    const std::vector<double> ones(n_features, 1.0);
    const Group value_group{{basis, penalty, ones, {}, {}}, value_rows};
    const Group code_group{{basis, penalty, ones, {}, {}}, code_rows};
    const std::array<const Group*, 1> values{&value_group}, coded{&code_group};
    const auto size = static_cast<std::size_t>(basis.size());
    const auto support = static_cast<std::size_t>(basis.support());
    std::vector<double> coef(n_features * size);
    for (std::size_t k = 0; k < coef.size(); ++k) coef[k] = static_cast<double>(k % 5) - 2.0;

    const auto scores = score_all(values, coef, 1);
    const auto sums = sum_all(values, data.r, 1);
    const auto blocks = blocks_all(values, data.r, 1);
    const std::size_t n = n_features * size + 1;
    std::vector<std::int64_t> places(n - 1);
    std::iota(places.begin(), places.end(), 0);
    const auto hessian = hessian_some(values, places, n, data.r, 2.0, 1);

    // Scores and sums are adjoint: r'(B coef) = (B'r)'coef.
    double one = 0.0, two = 0.0;
    for (std::size_t i = 0; i < n_rows; ++i) one += data.r[i] * scores[i];
    for (std::size_t k = 0; k < coef.size(); ++k) two += coef[k] * sums[k];
    CHECK(near(one, two, 1e-9));

    // The whole Hessian contains the blocks, and the sums in its last column.
    for (std::size_t j = 0; j < n_features; ++j)
        for (std::size_t k = 0; k < size; ++k) {
            const std::size_t row = j * size + k;
            for (std::size_t p = 0; p < support && k + p < size; ++p)
                CHECK(near(hessian[row * n + row + p], blocks[row * support + p], 1e-9));
            CHECK(near(hessian[row * n + n - 1], 2.0 * sums[row], 1e-9));
            CHECK(hessian[row * n + n - 1] == hessian[(n - 1) * n + row]);
        }

    // Codes and several threads give the same results.
    CHECK(alike(scores, score_all(coded, coef, 3), 1e-5));
    CHECK(alike(sums, sum_all(coded, data.r, 3), 1e-5));
    CHECK(alike(blocks, blocks_all(coded, data.r, 3), 1e-9));
    CHECK(alike(hessian, hessian_some(coded, places, n, data.r, 2.0, 3), 1e-9));
    CHECK(sum_all(coded, data.r, 1) == sum_all(coded, data.r, 2));
}

}  // namespace

int main() {
    const Data eight(0.0, 8.0, CodeGrid::bins(8, 1, false));
    agree_with_each_other(BSpline<1>{8}, eight);
    agree_with_each_other(BSpline<3>{8}, eight);
    const Data bins(0.0, 8.0, CodeGrid::bins(8, 0, false));
    agree_with_each_other(BSpline<0>{8}, bins);
    const Data smooth(-1.0, 1.0, CodeGrid{4096.0, 0.5, 4096});
    agree_with_each_other(Fourier{2}, smooth);
    agree_with_each_other(Hermite{3}, smooth);
    return splinear::testing::result();
}
