#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "model/arguments.hpp"
#include "model/axis.hpp"
#include "tests/check.hpp"

using namespace splinear;
using splinear::testing::near;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double largest = std::numeric_limits<double>::max();
constexpr double smallest = std::numeric_limits<double>::denorm_min();

void maps_ends_middle_and_beyond(double lo, double hi) {
    const Axis axis(lo, hi, 0.0, 10.0);
    CHECK(axis.argument(lo) == 0.0);
    CHECK(near(axis.argument(hi), 10.0, 1e-15) && axis.argument(hi) <= 10.0);
    CHECK(near(axis.argument(0.5 * lo + 0.5 * hi), 5.0, 1e-14));
    CHECK(near(axis.argument(0.75 * lo + 0.25 * hi), 2.5, 1e-14));
    CHECK(axis.argument(-infinity) == 0.0);
    CHECK(axis.argument(infinity) == 10.0);
    CHECK(axis.argument(nan) == 0.0);
}

void copes_with_any_width() {
    maps_ends_middle_and_beyond(0.0, 1.0);
    maps_ends_middle_and_beyond(-3.0, 7.0);
    maps_ends_middle_and_beyond(0.0, 255.0);
    maps_ends_middle_and_beyond(-1e300, 1e300);
    maps_ends_middle_and_beyond(0.0, 1e-300);
    maps_ends_middle_and_beyond(0.0, 1e300);
    maps_ends_middle_and_beyond(-largest, largest);              // hi - lo is infinite
    maps_ends_middle_and_beyond(0.0, std::ldexp(smallest, 10));  // all denormal
    maps_ends_middle_and_beyond(-std::ldexp(smallest, 4), std::ldexp(smallest, 4));
}

void copes_with_neighbors() {
    for (const double lo : {1.0, 1e300, -1e-310, 0.0}) {
        const double hi = std::nextafter(lo, infinity);
        const Axis axis(lo, hi, -1.0, 1.0);
        CHECK(axis.argument(lo) == -1.0);
        CHECK(axis.argument(hi) == 1.0);
    }
}

void is_exact_on_whole_numbers() {
    const Axis axis(0.0, 255.0, 0.0, 255.0);
    for (int k = 0; k <= 255; ++k) CHECK(axis.argument(k) == k);
}

void a_constant_maps_to_the_first_place() {
    const Axis axis(3.0, 3.0, -1.0, 1.0);
    for (const double x : {-infinity, 0.0, 3.0, 4.0, infinity, nan})
        CHECK(axis.argument(x) == -1.0);
}

void warps_between_knots() {
    const std::vector<double> knots{0.0, 1.0, 10.0, 10.0, 20.0};
    const Axis axis(std::span<const double>(knots), 0.0, 4.0);
    CHECK(axis.argument(-5.0) == 0.0);
    CHECK(axis.argument(0.0) == 0.0);
    CHECK(axis.argument(0.5) == 0.5);
    CHECK(axis.argument(1.0) == 1.0);
    CHECK(near(axis.argument(5.5), 1.5));
    CHECK(axis.argument(10.0) == 3.0);  // the last of equal knots
    CHECK(near(axis.argument(15.0), 3.5));
    CHECK(axis.argument(20.0) == 4.0);
    CHECK(axis.argument(infinity) == 4.0);
    CHECK(axis.argument(nan) == 0.0);
}

// If the first knot is repeated, as when half of a column has its lowest value, that value and all
// below map to the last of the equal knots, as at any other repeated knot.
void warps_repeated_end_knots() {
    const std::vector<double> low{0.0, 0.0, 0.0, 1.0, 2.0};
    const Axis from_low(std::span<const double>(low), 0.0, 4.0);
    CHECK(from_low.argument(0.0) == 2.0);
    CHECK(from_low.argument(-1.0) == 2.0);
    CHECK(near(from_low.argument(smallest), 2.0));
    CHECK(from_low.argument(1.0) == 3.0);
    const std::vector<double> high{0.0, 1.0, 2.0, 2.0, 2.0};
    const Axis to_high(std::span<const double>(high), 0.0, 4.0);
    CHECK(to_high.argument(0.0) == 0.0);
    CHECK(to_high.argument(1.5) == 1.5);
    CHECK(to_high.argument(2.0) == 4.0);
    CHECK(to_high.argument(3.0) == 4.0);
}

void warps_any_width() {
    const std::vector<double> wide{-largest, 0.0, largest};
    const Axis axis(std::span<const double>(wide), 0.0, 2.0);
    CHECK(near(axis.argument(-0.5 * largest), 0.5));
    CHECK(near(axis.argument(0.25 * largest), 1.25));
    const std::vector<double> narrow{0.0, 2 * smallest, 6 * smallest};
    const Axis tiny(std::span<const double>(narrow), 0.0, 2.0);
    CHECK(tiny.argument(smallest) == 0.5);
    CHECK(tiny.argument(5 * smallest) == 1.75);
}

void axes_are_one_per_feature() {
    const std::array<double, 3> lo{0.0, 5.0, -1.0};
    const std::array<double, 3> hi{1.0, 5.0, 3.0};
    const std::array<double, 3> first{0.0, 0.0, -1.0};
    const std::array<double, 3> last{10.0, 10.0, 1.0};
    const Axes plain(lo, hi, first, last);
    CHECK(plain.size() == 3);
    CHECK(plain[0].argument(0.5) == 5.0);
    CHECK(plain[1].argument(5.0) == 0.0);
    CHECK(plain[2].argument(1.0) == 0.0);
    const Axes warped(lo, hi, first, last, {0.0, 0.25, 1.0, 5.0, 5.0, 5.0, -1.0, 2.0, 3.0});
    CHECK(warped[0].argument(0.25) == 5.0);
    CHECK(warped[1].argument(5.0) == 0.0);
    CHECK(warped[2].argument(2.0) == 0.0);
    CHECK(warped[2].first() == -1.0 && warped[2].last() == 1.0);
}

void a_feature_without_knots_beside_others_is_straight() {
    const std::array<double, 2> lo{0.0, 0.0}, hi{4.0, 4.0}, first{0.0, 0.0}, last{3.0, 2.0};
    const Axes axes(lo, hi, first, last, {nan, nan, nan, 0.0, 1.0, 4.0});
    CHECK(!axes[0].has_knots() && axes[1].has_knots());
    CHECK(axes[0].argument(2.0) == 1.5);
    CHECK(axes[1].argument(1.0) == 1.0);
    CHECK(axes[0].argument(9.0) == 3.0 && axes[1].argument(9.0) == 2.0);
}

// Many values at once give the same bits as one by one, on every instruction set.
void columns_are_placed_like_single_values() {
    std::vector<std::vector<double>> cases{
        {0.0, 1.0},  {0.0, 1.0, 10.0, 10.0, 20.0}, {0.0, 0.0, 0.0, 1.0, 2.0},
        {-3.0, 0.1}, {0.0, 1.0, 2.0, 2.0, 2.0},    {-largest, 0.0, largest},
    };
    for (const int n : {10, 15, 16, 17, 40, 129}) {  // linear or binary search
        std::vector<double> knots;
        for (int k = 0; k <= n; ++k) knots.push_back(std::expm1(0.37 * k) - 5.0);
        cases.push_back(knots);
    }
    for (const std::vector<double>& knots : cases) {
        const auto n_cells = static_cast<double>(knots.size() - 1);
        const std::array<Axis, 3> axes{Axis(std::span<const double>(knots), 0.0, n_cells),
                                       Axis(std::span<const double>(knots), -1.0, 1.0),
                                       Axis(knots.front(), knots.back(), 0.0, n_cells)};
        std::vector<double> values{-infinity, infinity, nan, -largest, largest, 0.0};
        for (std::size_t k = 0; k < knots.size(); ++k)
            for (const double x : {knots[k], std::nextafter(knots[k], -infinity),
                                   0.3 * knots[k] + 0.7 * knots[k > 0 ? k - 1 : 0]})
                values.push_back(x);
        values.resize((values.size() / simd::column_rows + 1) * simd::column_rows, 0.5);
        for (const Axis& axis : axes)
            for (std::size_t i = 0; i < values.size(); i += simd::column_rows) {
                std::array<double, simd::column_rows> out{};
                place_column(axis, &values[i], out.data());
                for (std::size_t a = 0; a < out.size(); ++a)
                    CHECK(out[a] == axis.argument(values[i + a]));
            }
    }
}

}  // namespace

int main() {
    copes_with_any_width();
    copes_with_neighbors();
    is_exact_on_whole_numbers();
    a_constant_maps_to_the_first_place();
    warps_between_knots();
    warps_repeated_end_knots();
    warps_any_width();
    axes_are_one_per_feature();
    a_feature_without_knots_beside_others_is_straight();
    columns_are_placed_like_single_values();
    return splinear::testing::result();
}
