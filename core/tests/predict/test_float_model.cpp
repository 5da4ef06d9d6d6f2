// Scores of float32 values by every set of kernels, against the basis functions one by one.
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "model/axis.hpp"
#include "model/basis/bspline.hpp"
#include "predict/tree_pieces.hpp"
#include "simd/dispatch.hpp"
#include "support/aligned.hpp"
#include "support/pieces.hpp"
#include "support/random.hpp"
#include "tests/check.hpp"
#include "tests/embedding.hpp"

using namespace splinear;
using namespace splinear::testing;

namespace {

constexpr std::size_t n_rows = 112;  // those that kernels score together, and some more

// Features of [0, 8], every `warped`-th of which has knots; tables, and values of rows that are
// also beyond the ends, at the ends and at knots. All as the kernels take them.
struct Problem {
    Problem(int degree, int n_bins, std::size_t n, std::size_t warped)
        : shape{degree, 0, 0, n_bins + degree, simd::padded_entries(n_bins + degree, degree), n},
          entries(static_cast<std::size_t>(shape.entries)),
          lo(n, 0.0f),
          slope(n, static_cast<float>(n_bins) / 8.0f),
          end(n, static_cast<float>(n_bins)),
          is_warped(n, 0),
          knots(2 * entries * n),
          tables(whole_pieces(n, std::size_t{simd::tile}) * entries),
          x(n_rows, std::vector<float>(n)) {
        for (std::size_t j = 0; j < n; ++j) {
            if (warped > 0 && j % warped == 0) warp(j, n_bins);
            for (int k = 0; k < shape.n_basis; ++k)
                tables[j * entries + static_cast<std::size_t>(k)] = draw(-1.0, 1.0);
            for (auto& row : x) row[j] = draw_value(j, n_bins);
        }
    }

    float draw(double from, double to) {
        return static_cast<float>(from + (to - from) * drawn(random));
    }

    // Narrow bins at the beginning, even most of them very narrow, or in the middle.
    static double share_of(double u, std::size_t j) {
        if (j % 3 == 0) return u * u;
        if (j % 3 == 1) return std::exp2(20.0 * (u - 1.0)) - std::exp2(-20.0) * (1.0 - u);
        const double v = 2.0 * u - 1.0;
        return 0.5 + 0.5 * v * std::max(v * v, 1e-2);
    }

    // Bins of many widths; infinity behind the last.
    void warp(std::size_t j, int n_bins) {
        is_warped[j] = 1;
        slope[j] = 0.0f;
        end[j] = 8.0f;
        float* lower = &knots[2 * entries * j];
        for (std::size_t k = 0; k < entries; ++k) {
            const double u = static_cast<double>(k) / n_bins;
            lower[k] = u < 1.0 ? static_cast<float>(8.0 * share_of(u, j))
                               : std::numeric_limits<float>::infinity();
        }
        for (std::size_t k = 0; k < static_cast<std::size_t>(n_bins); ++k) {
            const float next = k + 1 < static_cast<std::size_t>(n_bins) ? lower[k + 1] : 8.0f;
            lower[entries + k] = 1.0f / (next - lower[k]);
        }
    }

    // The same for kernels that search in trees, one behind the other.
    AlignedFloats planted(PieceTrees& made) const {
        AlignedFloats trees(made.n_floats() * shape.n_features + made.n_behind());
        const auto n_bins = static_cast<std::size_t>(shape.n_basis - shape.degree);
        for (std::size_t j = 0; j < shape.n_features; ++j) {
            if (is_warped[j] == 0) continue;
            const float* lower = &knots[2 * entries * j];
            std::vector<double> all(lower, lower + n_bins);
            all.push_back(8.0);
            const float* own = &tables[j * entries];
            const std::vector<double> coef(own, own + shape.n_basis);
            made.plant(all, coef.data(), &trees[made.n_floats() * j]);
        }
        return trees;
    }

    float draw_value(std::size_t j, int n_bins) {
        const double u = drawn(random);
        if (u < 0.2) return 0.0f;
        if (u < 0.3) return 8.0f;
        const auto k = static_cast<std::size_t>(u * 1e6) % static_cast<std::size_t>(n_bins);
        if (u < 0.5 && is_warped[j] != 0) return knots[2 * entries * j + k];
        return draw(-1.0, 9.0);
    }

    // Where the map sends a value, in double precision.
    double argument(std::size_t j, float value) const {
        const double inside = std::min(std::max(static_cast<double>(value), 0.0), 8.0);
        if (is_warped[j] == 0) return inside * static_cast<double>(slope[j]);
        const float* lower = &knots[2 * entries * j];
        std::size_t k = 0;
        while (static_cast<double>(lower[k + 1]) <= inside) ++k;
        return static_cast<double>(k) +
               (inside - static_cast<double>(lower[k])) * static_cast<double>(lower[entries + k]);
    }

    // Scores of all rows, `together` of them at a time.
    std::vector<float> decided(const simd::Kernels& kernels, std::size_t together = n_rows) const {
        std::array<const float*, n_rows> rows;
        for (std::size_t a = 0; a < rows.size(); ++a) rows[a] = x[a].data();
        const simd::KnotForm form = kernels.knot_form;
        const auto n_bins = static_cast<std::size_t>(shape.n_basis - shape.degree);
        PieceTrees made(n_bins, shape.degree, form);
        const AlignedFloats trees = planted(made);
        std::vector<const float*> tree_of(shape.n_features, nullptr);
        for (std::size_t j = 0; j < tree_of.size(); ++j)
            if (is_warped[j] != 0) tree_of[j] = &trees[made.n_floats() * j];
        const bool takes_trees = form == simd::KnotForm::columns || shape.degree == 1;
        const simd::BinMap map{
            lo.data(),    slope.data(), end.data(),      is_warped.data(),
            knots.data(), made.depth(), made.sections(), takes_trees ? tree_of.data() : nullptr};
        std::vector<float> out(rows.size(), 0.5f);
        for (std::size_t a = 0; a < n_rows; a += together)
            kernels.decide(shape, map, tables.data(), &rows[a], together, &out[a]);
        return out;
    }

    simd::Shape shape;
    std::size_t entries;
    Random random{3};
    std::vector<float> lo;
    std::vector<float> slope;
    std::vector<float> end;
    std::vector<unsigned char> is_warped;
    AlignedFloats knots;
    AlignedFloats tables;
    std::vector<std::vector<float>> x;
};

template <int Degree>
void compare(const simd::Kernels& kernels, int n_bins, std::size_t n_features, std::size_t warped) {
    Problem problem(Degree, n_bins, n_features, warped);
    const BSpline<Degree> basis{n_bins};
    std::vector<double> expected(n_rows, 0.5);
    for (std::size_t a = 0; a < expected.size(); ++a)
        for (std::size_t j = 0; j < n_features; ++j) {
            std::array<double, Degree + 1> w;
            const auto start = static_cast<std::size_t>(
                basis.evaluate(problem.argument(j, problem.x[a][j]), w.data()));
            for (std::size_t p = 0; p < w.size(); ++p)
                expected[a] +=
                    w[p] * static_cast<double>(problem.tables[j * problem.entries + start + p]);
        }
    const std::vector<float> found = problem.decided(kernels);
    CHECK(problem.decided(kernels, simd::lanes) == found);
    // Single precision moves a place by 1e-7 of the axis, that is n_bins * 1e-7 bins, at every
    // feature.
    const double tolerance = 2e-6 * n_bins * std::sqrt(static_cast<double>(n_features)) + 1e-5;
    for (std::size_t a = 0; a < expected.size(); ++a)
        CHECK(std::abs(static_cast<double>(found[a]) - expected[a]) < tolerance);

    const std::size_t last = n_features - 1;
    problem.x[2][last] = std::numeric_limits<float>::quiet_NaN();
    problem.x[3][last] = std::numeric_limits<float>::infinity();
    problem.x[4][0] = -std::numeric_limits<float>::infinity();
    const std::vector<float> odd = problem.decided(kernels);
    for (std::size_t a = 0; a < odd.size(); ++a)
        CHECK(a >= 2 && a <= 4 ? std::isnan(odd[a]) : odd[a] == found[a]);
}

}  // namespace

int main() {
    for (const simd::Kernels* kernels : simd::available())
        for (const int n_bins : {1, 7, 8, 13, 20, 29, 40, 61, 62, 100, 255, 256, 500, 1500})
            for (const std::size_t n_features : {1u, 8u, 31u, 32u, 45u})
                for (const std::size_t warped : {0u, 1u, 3u}) {
                    compare<1>(*kernels, n_bins, n_features, warped);
                    compare<2>(*kernels, n_bins, n_features, warped);
                    compare<3>(*kernels, n_bins, n_features, warped);
                }
    return result();
}
