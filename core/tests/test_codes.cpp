#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "check.hpp"
#include "codes.hpp"

using namespace splinear;

namespace {

// Axes that map [lo, hi] of every feature onto [0, last].
Axes axes_of(std::size_t n_features, double lo, double hi, double last) {
    const std::vector<double> los(n_features, lo), his(n_features, hi), firsts(n_features, 0.0),
        lasts(n_features, last);
    return {los, his, firsts, lasts};
}

template <class Real>
Codes codes_of(const std::vector<Real>& column, double lo, double hi, CodeGrid grid) {
    const auto n = static_cast<std::ptrdiff_t>(column.size());
    std::vector<std::int64_t> places(column.size());
    std::iota(places.begin(), places.end(), 0);
    Codes codes(n, 1, grid);
    const double last = grid.span > 0.0 ? grid.span : 1.0;
    codes.fill(MatrixView<Real>{column.data(), n, 1, 1, 1}, places.data(), axes_of(1, lo, hi, last),
               1);
    return codes;
}

void a_grid_uses_the_bits_it_has() {
    for (const int n_bins : {1, 2, 3, 10, 255, 256, 1000, 20000, 32767, 32768}) {
        const int bits = CodeGrid::fraction_bits(n_bins);
        const CodeGrid grid = CodeGrid::bins(n_bins, 1);
        CHECK(grid.steps == std::ldexp(n_bins, bits));
        CHECK(grid.steps <= 65535 && 2 * grid.steps > 65535);
        CHECK(grid.last == grid.steps);
        CHECK(CodeGrid::bins(n_bins, 0).last == n_bins - 1);
    }
}

// Bin and fraction come apart by a shift and a mask.
void a_code_holds_bin_and_fraction() {
    const CodeGrid grid = CodeGrid::bins(10, 3);
    const int bits = CodeGrid::fraction_bits(10);
    std::vector<double> column;
    for (int i = 0; i <= 1000; ++i) column.push_back(i / 1000.0);
    const Codes codes = codes_of(column, 0.0, 1.0, grid);
    for (int i = 0; i <= 1000; ++i) {
        const int code = *codes.row(i);
        const double position = (code >> bits) + std::ldexp(code & ((1 << bits) - 1), -bits);
        CHECK(std::abs(position - i / 100.0) <= std::ldexp(0.5, -bits) + 1e-12);  // half a step
    }
    CHECK(*codes.row(0) == 0);
    CHECK(*codes.row(1000) == 10 << bits);
}

void degree_zero_keeps_the_bin_alone() {
    const Codes codes =
        codes_of<double>({0.0, 0.0999, 0.1001, 0.55, 0.9999, 1.0}, 0.0, 1.0, CodeGrid::bins(10, 0));
    const std::array<int, 6> bins{0, 0, 1, 5, 9, 9};
    for (std::size_t i = 0; i < bins.size(); ++i)
        CHECK(*codes.row(static_cast<std::ptrdiff_t>(i)) == bins[i]);
}

template <class Real>
void bytes_are_exact_with_255_bins() {
    std::vector<Real> bytes(256);
    std::iota(bytes.begin(), bytes.end(), Real{0});
    for (const int degree : {1, 2, 3}) {
        const Codes codes = codes_of(bytes, 0.0, 255.0, CodeGrid::bins(255, degree));
        for (int k = 0; k < 256; ++k) CHECK(*codes.row(k) == k << 8);
    }
}

void smooth_uses_all_codes() {
    const Codes codes =
        codes_of<double>({-9.0, -1.0, 0.0, 1.0, 9.0}, -1.0, 1.0, CodeGrid::smooth());
    CHECK(*codes.row(0) == 0 && *codes.row(1) == 0);
    CHECK(std::abs(*codes.row(2) - 32767.5) <= 0.5);
    CHECK(*codes.row(3) == 65535 && *codes.row(4) == 65535);
}

void a_constant_and_a_nan_become_zero() {
    const double nan = std::nan("");
    CHECK(*codes_of<double>({3.0}, 3.0, 3.0, CodeGrid::bins(10, 1)).row(0) == 0);
    CHECK(*codes_of<double>({nan}, 0.0, 1.0, CodeGrid::bins(10, 1)).row(0) == 0);
}

// Beyond its range a feature of two bins stays in them, although others have four.
void a_shorter_axis_ends_before_the_last_code() {
    const CodeGrid grid = CodeGrid::bins(4, 1);
    const int bits = CodeGrid::fraction_bits(4);
    const std::vector<double> column{0.0, 0.5, 1.0, 1.5, 100.0};
    const std::vector<std::int64_t> places{0, 1, 2, 3, 4};
    Codes codes(5, 1, grid);
    codes.fill(MatrixView<double>{column.data(), 5, 1, 1, 1}, places.data(),
               axes_of(1, 0.0, 1.0, 2.0), 1);
    for (int i = 0; i < 5; ++i) CHECK(*codes.row(i) == std::min(i, 2) << bits);
}

// Features with and without knots in one matrix: each has the codes that it would have alone.
void features_are_coded_as_if_they_were_alone() {
    constexpr std::ptrdiff_t n = 300;
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    const std::vector<double> lo{0.0, 0.0, 0.0}, hi{9.0, 9.0, 9.0}, first{0.0, 0.0, 0.0},
        last{4.0, 4.0, 2.0};
    const std::vector<double> knots{nan, nan, nan, nan, nan, 0.0, 0.1, 0.5,
                                    2.0, 9.0, nan, nan, nan, nan, nan};
    std::vector<float> values;
    for (std::ptrdiff_t i = 0; i < 3 * n; ++i)
        values.push_back(static_cast<float>(std::fmod(0.37 * static_cast<double>(i), 11.0) - 1.0));
    std::vector<std::int64_t> places(n);
    std::iota(places.begin(), places.end(), 0);
    const CodeGrid grid = CodeGrid::bins(4, 1);
    Codes all(n, 3, grid);
    all.fill(MatrixView<float>{values.data(), n, 3, 3, 1}, places.data(),
             Axes(lo, hi, first, last, knots), 2);
    for (std::size_t j = 0; j < 3; ++j) {
        Codes one(n, 1, grid);
        const std::vector<double> own(knots.begin() + 5 * static_cast<std::ptrdiff_t>(j),
                                      knots.begin() + 5 * static_cast<std::ptrdiff_t>(j + 1));
        const Axes alone(std::span<const double>(lo).subspan(j, 1),
                         std::span<const double>(hi).subspan(j, 1),
                         std::span<const double>(first).subspan(j, 1),
                         std::span<const double>(last).subspan(j, 1), own);
        one.fill(MatrixView<float>{values.data() + j, n, 1, 3, 1}, places.data(), alone, 1);
        for (std::ptrdiff_t i = 0; i < n; ++i) CHECK(*one.row(i) == all.row(i)[j]);
    }
}

// Rows go where they are told; a negative place drops one; any strides; any number of threads.
void rows_are_placed() {
    constexpr std::ptrdiff_t n = 1000;
    std::vector<double> by_column(2 * n);
    std::vector<std::int64_t> places(n);
    std::int64_t n_kept = 0;
    for (std::ptrdiff_t i = 0; i < n; ++i) {
        const auto k = static_cast<std::size_t>(i);
        by_column[k] = static_cast<double>(i % 256);
        by_column[k + n] = static_cast<double>(255 - i % 256);
        places[k] = i % 3 == 0 ? -1 : n_kept++;
    }
    const Axes axes = axes_of(2, 0.0, 255.0, 255.0);
    for (const int n_threads : {1, 3}) {
        Codes codes(n_kept, 2, CodeGrid::bins(255, 1));
        codes.fill(MatrixView<double>{by_column.data(), n, 2, 1, n}, places.data(), axes,
                   n_threads);
        for (std::ptrdiff_t i = 0; i < n; ++i) {
            const std::int64_t place = places[static_cast<std::size_t>(i)];
            if (place < 0) continue;
            CHECK(codes.row(place)[0] == (i % 256) << 8);
            CHECK(codes.row(place)[1] == (255 - i % 256) << 8);
        }
    }
}

}  // namespace

int main() {
    a_grid_uses_the_bits_it_has();
    a_code_holds_bin_and_fraction();
    degree_zero_keeps_the_bin_alone();
    bytes_are_exact_with_255_bins<float>();
    bytes_are_exact_with_255_bins<double>();
    smooth_uses_all_codes();
    a_constant_and_a_nan_become_zero();
    a_shorter_axis_ends_before_the_last_code();
    features_are_coded_as_if_they_were_alone();
    rows_are_placed();
    return splinear::testing::result();
}
