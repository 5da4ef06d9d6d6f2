#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "rows/codes.hpp"
#include "simd/dispatch.hpp"
#include "tests/check.hpp"

using namespace splinear;
using splinear::testing::is_refused;

namespace {

// Axes that map [lo, hi] of every feature to [0, last].
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
    const std::array<std::int64_t, 1> first{0};
    codes.fill(MatrixView<Real>{column.data(), n, 1, 1, 1}, first, places, axes_of(1, lo, hi, last),
               1);
    return codes;
}

void a_grid_uses_the_bits_it_has() {
    for (const int n_bins : {1, 2, 3, 10, 255, 256, 1000, 20000, 32767, 32768}) {
        const CodeGrid grid = CodeGrid::bins(n_bins, 1, false);
        const int bits = grid.fraction_bits;
        CHECK(grid.steps == std::ldexp(n_bins, bits));
        CHECK(grid.steps <= 65535 && 2 * grid.steps > 65535);
        CHECK(grid.last == grid.steps);
        CHECK(CodeGrid::bins(n_bins, 0, false).last + 1 == static_cast<std::uint32_t>(n_bins));
    }
}

// A shift and a mask separate bin and fraction.
void a_code_holds_bin_and_fraction() {
    const CodeGrid grid = CodeGrid::bins(10, 3, false);
    const int bits = grid.fraction_bits;
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
    const Codes codes = codes_of<double>({0.0, 0.0999, 0.1001, 0.55, 0.9999, 1.0}, 0.0, 1.0,
                                         CodeGrid::bins(10, 0, false));
    const std::array<int, 6> bins{0, 0, 1, 5, 9, 9};
    for (std::size_t i = 0; i < bins.size(); ++i)
        CHECK(*codes.row(static_cast<std::ptrdiff_t>(i)) == bins[i]);
}

template <class Real>
void bytes_are_exact_with_255_bins() {
    std::vector<Real> bytes(256);
    std::iota(bytes.begin(), bytes.end(), Real{0});
    for (const int degree : {1, 2, 3}) {
        const Codes codes = codes_of(bytes, 0.0, 255.0, CodeGrid::bins(255, degree, false));
        for (int k = 0; k < 256; ++k) CHECK(*codes.row(k) == k << 8);
    }
}

void smooth_uses_all_codes() {
    const Codes codes =
        codes_of<double>({-9.0, -1.0, 0.0, 1.0, 9.0}, -1.0, 1.0, CodeGrid::whole_axis(false));
    CHECK(*codes.row(0) == 0 && *codes.row(1) == 0);
    CHECK(std::abs(*codes.row(2) - 32767.5) <= 0.5);
    CHECK(*codes.row(3) == 65535 && *codes.row(4) == 65535);
}

void a_constant_and_a_nan_become_zero() {
    const double nan = std::nan("");
    CHECK(*codes_of<double>({3.0}, 3.0, 3.0, CodeGrid::bins(10, 1, false)).row(0) == 0);
    CHECK(*codes_of<double>({nan}, 0.0, 1.0, CodeGrid::bins(10, 1, false)).row(0) == 0);
}

// Values beyond the range of a feature with two bins stay in these, although others have four.
void a_shorter_axis_ends_before_the_last_code() {
    const CodeGrid grid = CodeGrid::bins(4, 1, false);
    const int bits = grid.fraction_bits;
    const std::vector<double> column{0.0, 0.5, 1.0, 1.5, 100.0};
    const std::vector<std::int64_t> places{0, 1, 2, 3, 4};
    Codes codes(5, 1, grid);
    codes.fill(MatrixView<double>{column.data(), 5, 1, 1, 1}, std::array<std::int64_t, 1>{0},
               places, axes_of(1, 0.0, 1.0, 2.0), 1);
    for (int i = 0; i < 5; ++i) CHECK(*codes.row(i) == std::min(i, 2) << bits);
}

// Features with and without knots in one matrix get the codes that they would get alone.
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
    const CodeGrid grid = CodeGrid::bins(4, 1, false);
    Codes all(n, 3, grid);
    all.fill(MatrixView<float>{values.data(), n, 3, 3, 1}, std::array<std::int64_t, 3>{0, 1, 2},
             places, Axes(lo, hi, first, last, knots), 2);
    for (std::size_t j = 0; j < 3; ++j) {
        Codes one(n, 1, grid);
        const std::vector<double> own(knots.begin() + 5 * static_cast<std::ptrdiff_t>(j),
                                      knots.begin() + 5 * static_cast<std::ptrdiff_t>(j + 1));
        const Axes alone(std::span<const double>(lo).subspan(j, 1),
                         std::span<const double>(hi).subspan(j, 1),
                         std::span<const double>(first).subspan(j, 1),
                         std::span<const double>(last).subspan(j, 1), own);
        one.fill(MatrixView<float>{values.data(), n, 3, 3, 1},
                 std::array{static_cast<std::int64_t>(j)}, places, alone, 1);
        for (std::ptrdiff_t i = 0; i < n; ++i) CHECK(*one.row(i) == all.row(i)[j]);
    }
}

// All kernels give exactly the codes of double precision: at knots, next to them, at the boundaries
// of codes, beyond the ends, and for NaN.
void kernels_code_between_knots_as_double_precision(int n_bins, int degree, bool missing) {
    constexpr std::size_t n_features = 45;
    constexpr auto infinity = std::numeric_limits<float>::infinity();
    const CodeGrid grid = CodeGrid::bins(n_bins, degree, missing);
    const auto size = static_cast<std::size_t>(n_bins) + 1;
    std::vector<double> knots(n_features * size, std::nan(""));
    std::vector<float> values;
    const auto knot = [&](std::size_t j, std::size_t k) {
        const double u = static_cast<double>(k) / n_bins;
        return static_cast<float>(j % 2 == 0 ? 9.0 * u * u * u : 1e6 * u * (1.0 + u) - 7.0);
    };
    const std::size_t n_rows = 6 * size + 7;
    for (std::size_t i = 0; i < n_rows; ++i)
        for (std::size_t j = 0; j < n_features; ++j) {
            const float at = knot(j, i / 6 % size);
            const float width = knot(j, i / 6 % size + 1) - at;
            const float step = width / static_cast<float>(grid.density(Axis(0, 1, 0, n_bins)));
            const std::array<float, 6> near{at,
                                            std::nextafter(at, -infinity),
                                            std::nextafter(at, infinity),
                                            at + 0.37f * width,
                                            at + 0.5f * step,
                                            at + 1.5f * step};
            values.push_back(near[i % 6]);
        }
    for (std::size_t j = 0; j < n_features; ++j) {
        for (std::size_t k = 0; k < size && j % 3 != 1; ++k) knots[j * size + k] = knot(j, k);
        const std::array<float, 5> odd{-infinity, infinity, std::nanf(""), -1e30f, 1e30f};
        for (std::size_t i = 0; i < odd.size(); ++i)
            values[(n_rows - 1 - i) * n_features + j] = odd[i];
    }
    std::vector<double> lo(n_features, knot(0, 0)), hi(n_features, knot(0, size - 1));
    for (std::size_t j = 1; j < n_features; j += 2) lo[j] = knot(1, 0), hi[j] = knot(1, size - 1);
    const Axes axes(lo, hi, std::vector<double>(n_features, 0.0),
                    std::vector<double>(n_features, n_bins), knots);
    std::vector<std::int64_t> places(n_rows), columns(n_features);
    std::iota(places.rbegin(), places.rend(), 0);
    std::iota(columns.begin(), columns.end(), 0);
    const auto n = static_cast<std::ptrdiff_t>(n_rows);
    const auto coded = [&](const std::string& name) {
        setenv("SPLINEAR_INSTRUCTIONS", name.c_str(), 1);
        Codes codes(n, n_features, grid);
        codes.fill(MatrixView<float>{values.data(), n, n_features, n_features, 1}, columns, places,
                   axes, 1);
        unsetenv("SPLINEAR_INSTRUCTIONS");
        return codes;
    };
    const Codes expected = coded("reference");
    for (const std::string& name : simd::names()) {
        const Codes found = coded(name);
        for (std::ptrdiff_t i = 0; i < n; ++i)
            CHECK(std::equal(found.row(i), found.row(i) + n_features, expected.row(i)));
    }
}

// Rows go to their places, and a negative place skips a row, with any strides and any number of
// threads.
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
        Codes codes(n_kept, 2, CodeGrid::bins(255, 1, false));
        codes.fill(MatrixView<double>{by_column.data(), n, 2, 1, n},
                   std::array<std::int64_t, 2>{0, 1}, places, axes, n_threads);
        for (std::ptrdiff_t i = 0; i < n; ++i) {
            const std::int64_t place = places[static_cast<std::size_t>(i)];
            if (place < 0) continue;
            CHECK(codes.row(place)[0] == (i % 256) << 8);
            CHECK(codes.row(place)[1] == (255 - i % 256) << 8);
        }
    }
}

// A missing value has a code of its own, beyond all others; if the grid has none, NaN gets code 0.
void a_missing_value_has_its_own_code() {
    const double nan = std::nan("");
    for (const int degree : {1, 2, 3})
        for (const int n_bins : {1, 7, 255, 5000, 65000}) {
            const CodeGrid grid = CodeGrid::bins(n_bins, degree, true);
            const std::int64_t top = std::int64_t{n_bins} + degree + 1;
            CHECK((top << grid.fraction_bits) <= 65535 &&
                  (top << (grid.fraction_bits + 1)) > 65535);
            CHECK(grid.missing_code == static_cast<std::uint32_t>(n_bins + degree)
                                           << grid.fraction_bits);
            CHECK(grid.missing_code > grid.last && !grid.is_wide);
            const Codes codes = codes_of<double>({nan, 1.0}, 0.0, 1.0, grid);
            CHECK(*codes.row(0) == grid.missing_code && *codes.row(1) == grid.last);
        }
    CHECK(*codes_of<float>({std::nanf("")}, 0.0, 1.0, CodeGrid::bins(9, 0, true)).row(0) == 9);
    CHECK(*codes_of<double>({nan}, 0.0, 1.0, CodeGrid::whole_axis(true)).row(0) == 65535);
    CHECK(*codes_of<double>({2.0}, 0.0, 1.0, CodeGrid::whole_axis(true)).row(0) == 65534);
}

void many_levels_take_32_bits() {
    CHECK(!CodeGrid::bins(65534, 0, true).is_wide && CodeGrid::bins(65535, 0, true).is_wide);
    CHECK(!CodeGrid::bins(65535, 0, false).is_wide && CodeGrid::bins(65536, 0, false).is_wide);
    const CodeGrid grid = CodeGrid::bins(100'000, 0, true);
    const Codes codes =
        codes_of<float>({0.0f, 1.0f, 70'001.0f, 99'999.0f, std::nanf("")}, 0.0, 100'000.0, grid);
    const std::array<WideCode, 5> levels{0, 1, 70'001, 99'999, 100'000};
    for (std::size_t i = 0; i < levels.size(); ++i)
        CHECK(*codes.row<WideCode>(static_cast<Row>(i)) == levels[i]);
}

// Columns of X in any order, adjacent or not.
void features_are_found_in_their_columns() {
    constexpr std::ptrdiff_t n = 70;
    std::vector<double> X(4 * n);
    for (std::size_t i = 0; i < X.size(); ++i) X[i] = static_cast<double>(i % 256);
    std::vector<std::int64_t> places(n);
    std::iota(places.begin(), places.end(), 0);
    const MatrixView<double> view{X.data(), n, 4, 4, 1};
    for (const std::array<std::int64_t, 2> columns :
         {std::array<std::int64_t, 2>{1, 2}, std::array<std::int64_t, 2>{3, 0}}) {
        Codes codes(n, 2, CodeGrid::bins(255, 1, false));
        codes.fill(view, columns, places, axes_of(2, 0.0, 255.0, 255.0), 1);
        for (std::ptrdiff_t i = 0; i < n; ++i)
            for (std::size_t j = 0; j < 2; ++j)
                CHECK(codes.row(i)[j] == static_cast<int>(view(i, columns[j])) << 8);
    }
}

void arrays_of_the_wrong_size_are_refused() {
    const std::vector<double> x(6);
    const MatrixView<double> view{x.data(), 3, 2, 2, 1};
    const auto refused = [&](const std::vector<std::int64_t>& columns,
                             const std::vector<std::int64_t>& places) {
        Codes codes(3, 2, CodeGrid::bins(4, 1, false));
        return is_refused([&] { codes.fill(view, columns, places, axes_of(2, 0.0, 1.0, 4.0), 1); });
    };
    CHECK(!refused({0, 1}, {0, 1, 2}));
    CHECK(refused({0}, {0, 1, 2}) && refused({0, 2}, {0, 1, 2}) && refused({0, -1}, {0, 1, 2}));
    CHECK(refused({0, 1}, {0, 1}) && refused({0, 1}, {0, 1, 3}));
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
    for (const int n_bins : {2, 7, 15, 16, 20, 31, 32, 40, 63, 64, 100, 300, 600})
        for (const int degree : {0, 1, 3})
            for (const bool missing : {false, true})
                kernels_code_between_knots_as_double_precision(n_bins, degree, missing);
    rows_are_placed();
    a_missing_value_has_its_own_code();
    many_levels_take_32_bits();
    features_are_found_in_their_columns();
    arrays_of_the_wrong_size_are_refused();
    return splinear::testing::result();
}
