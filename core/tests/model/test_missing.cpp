// Compares every operator, on rows with missing values, with explicit embeddings.
#include <cmath>
#include <memory>
#include <vector>

#include "operators/make_operator.hpp"
#include "operators/row_operator.hpp"
#include "operators/sparse_operator.hpp"
#include "operators/spline_operator.hpp"
#include "simd/dispatch.hpp"
#include "tests/check.hpp"
#include "tests/embedding.hpp"

using namespace splinear;
using namespace splinear::testing;

namespace {

constexpr Row n_rows = 90;
constexpr double share = 0.2;

void operator_agrees(const Group& group, double tolerance) {
    check(group);
    const auto made = make_operator(group, 2);
    agrees_with(*made, embeddings(group), tolerance);
    sums_agree(*made, group, tolerance);
}

template <int Degree>
void values_agree() {
    const BSpline<Degree> basis{6};
    const DrawnRows data(n_rows, 4, 0.0, 6.0, share);
    const AnyRows rows = data.values();
    for (const int order : {0, 1, 2}) {
        const DifferencePenalty penalty(order, basis.size(), basis.support());
        operator_agrees(data.group(rows, basis, penalty, true), 1e-11);
    }
}

void smooth_curves_agree() {
    const DiagonalPenalty weights({1.0, 0.7, 0.5, 0.2});
    const DrawnRows data(n_rows, 4, -1.0, 1.0, share);
    const Codes codes = data.coded(CodeGrid::whole_axis(true));
    for (const AnyRows& rows : {data.values(), coded_rows(codes, data.axes)}) {
        operator_agrees(data.group(rows, Fourier{2}, weights, true), 1e-11);
        operator_agrees(data.group(rows, Hermite{4}, weights, true), 1e-11);
    }
}

template <int Degree>
void kernels_agree(const simd::Kernels& kernels, int n_bins, int order, std::size_t n_features) {
    const BSpline<Degree> basis{n_bins};
    const DrawnRows data(n_rows, n_features, 0.0, n_bins, share);
    const Codes codes = data.coded(CodeGrid::bins(n_bins, Degree, true));
    const CodedRows source(codes, data.axes);
    const AnyRows rows = source;
    const DifferencePenalty penalty(order, basis.size(), basis.support());
    const Group group = data.group(rows, basis, penalty, true);
    const auto fast =
        SplineOperator::make(source, basis, penalty, group.variance, kernels, 2, group.missing());
    CHECK(fast != nullptr);
    fast->prepare();
    agrees_with(*fast, embeddings(group), 3e-5);
    sums_agree(*fast, group, 1e-5);
}

void coded_splines_agree() {
    for (const simd::Kernels* kernels : simd::available())
        for (const int order : {0, 1, 2})
            for (const int n_bins : {1, 12, 14, 15, 40, 60, 200})
                for (const std::size_t n_features : {std::size_t{3}, std::size_t{40}}) {
                    kernels_agree<0>(*kernels, n_bins, order, n_features);
                    kernels_agree<1>(*kernels, n_bins, order, n_features);
                    kernels_agree<2>(*kernels, n_bins, order, n_features);
                    kernels_agree<3>(*kernels, n_bins, order, n_features);
                }
}

// A group with missing values whose codes have none.
void a_group_may_have_nothing_missing_after_all() {
    const BSpline<1> basis{9};
    const DrawnRows data(n_rows, 3, 0.0, 9.0, 0.0);
    const Codes codes = data.coded(CodeGrid::bins(9, 1, false));
    const AnyRows rows = coded_rows(codes, data.axes);
    operator_agrees(data.group(rows, basis, DifferencePenalty(1, 10, 2), true), 3e-5);
}

void levels_agree(int n_levels, int order, double tolerance) {
    const BSpline<0> basis{n_levels};
    for (const bool with_missing : {false, true}) {
        const DrawnRows data(n_rows, 4, 0.0, n_levels, with_missing ? share : 0.0);
        const Codes codes = data.coded(CodeGrid::bins(n_levels, 0, with_missing));
        const AnyRows rows = coded_rows(codes, data.axes);
        operator_agrees(
            data.group(rows, basis, DifferencePenalty(order, n_levels, 1), with_missing),
            tolerance);
    }
}

void sparse_rows_agree() {
    const DrawnRows data(n_rows, 5, 0.0, 8.0, share);
    std::vector<std::int64_t> starts{0};
    std::vector<std::int32_t> features;
    std::vector<double> values;
    for (Row i = 0; i < n_rows; ++i) {
        for (std::ptrdiff_t j = 0; j < 5; ++j) {
            const double x = data.view()(i, j);
            if ((i + j) % 3 == 0 || x == 0.0) continue;
            features.push_back(static_cast<std::int32_t>(j));
            values.push_back(std::isnan(x) ? x : std::round(64.0 * x) / 64.0);
        }
        starts.push_back(static_cast<std::int64_t>(values.size()));
    }
    const auto places = std::make_shared<TablePlaces>(std::vector<std::int64_t>(5, 9));
    const AnyRows rows =
        SparseRows(SparseView<double>{starts, features, values}, data.axes, data.order, places);
    for (const int order : {0, 1, 2})
        operator_agrees(data.group(rows, BSpline<1>{8}, DifferencePenalty(order, 9, 2, 1), true),
                        1e-11);
}

bool refused(const Group& group) {
    return is_refused([&] { check(group); });
}

void parts_that_do_not_fit_are_refused() {
    const DrawnRows data(n_rows, 3, 0.0, 9.0, share);
    const Codes codes = data.coded(CodeGrid::bins(9, 1, true));
    const AnyRows rows = coded_rows(codes, data.axes);
    const DifferencePenalty penalty(1, 10, 2);
    const Group good = data.group(rows, BSpline<1>{9}, penalty, true);
    CHECK(!refused(good));
    CHECK(refused(data.group(rows, BSpline<1>{9}, penalty, false)));  // codes have missing values
    CHECK(refused(data.group(rows, BSpline<2>{8}, penalty, true)));
    Group bad = good;
    bad.mean.pop_back();
    CHECK(refused(bad));
    Group short_variance = good;
    short_variance.variance.pop_back();
    CHECK(refused(short_variance));
    Group no_variance = good;
    no_variance.missing_variance.clear();
    CHECK(refused(no_variance));
}

}  // namespace

int main() {
    values_agree<0>();
    values_agree<1>();
    values_agree<2>();
    values_agree<3>();
    smooth_curves_agree();
    coded_splines_agree();
    a_group_may_have_nothing_missing_after_all();
    levels_agree(20, 0, 3e-5);
    levels_agree(3000, 0, 1e-11);     // 16 bits
    levels_agree(100'000, 0, 1e-11);  // 32 bits
    levels_agree(3000, 1, 1e-11);     // ordered
    sparse_rows_agree();
    parts_that_do_not_fit_are_refused();
    return splinear::testing::result();
}
