#include <algorithm>
#include <cstdint>
#include <vector>

#include "solve/active_set.hpp"
#include "tests/check.hpp"

using namespace splinear;

namespace {

std::vector<std::ptrdiff_t> visits(ActiveSet& rows, Random& random, std::size_t begin = 0,
                                   std::size_t end = 1) {
    std::vector<std::ptrdiff_t> order;
    rows.for_each_in_random_order(begin, end, random,
                                  [&](std::ptrdiff_t i) { order.push_back(i); });
    return order;
}

// Whether `order` contains every row of 0..n-1 that `wanted` accepts exactly once, and no others.
template <class Wanted>
bool is_each_once(std::vector<std::ptrdiff_t> order, std::ptrdiff_t n, const Wanted& wanted) {
    std::sort(order.begin(), order.end());
    std::vector<std::ptrdiff_t> expected;
    for (std::ptrdiff_t i = 0; i < n; ++i)
        if (wanted(i)) expected.push_back(i);
    return order == expected;
}

void all_rows_are_active_at_first() {
    Random random(0);
    for (const std::ptrdiff_t n : {0, 1, 2, 63, 64, 65, 128, 1000}) {
        ActiveSet rows(n, std::max<std::ptrdiff_t>(n, 1));
        CHECK(rows.count() == n);
        for (int pass = 0; pass < 5; ++pass)
            CHECK(is_each_once(visits(rows, random), n, [](std::ptrdiff_t) { return true; }));
    }
}

void only_active_rows_are_visited() {
    constexpr std::ptrdiff_t n = 200;
    const auto kept = [](std::ptrdiff_t i) { return i % 3 == 0 && i / 64 != 1; };
    ActiveSet rows(n, std::max<std::ptrdiff_t>(n, 1));
    std::ptrdiff_t n_kept = 0;
    for (std::ptrdiff_t i = 0; i < n; ++i) {
        rows.set(i, kept(i));
        rows.set(i, kept(i));  // setting a row twice changes nothing
        if (kept(i)) ++n_kept;
    }
    Random random(1);
    CHECK(rows.count() == n_kept);
    CHECK(is_each_once(visits(rows, random), n, kept));
    for (std::ptrdiff_t i = 0; i < n; ++i) rows.set(i, true);
    CHECK(rows.count() == n);
}

void a_visit_may_set_its_row_aside() {
    constexpr std::ptrdiff_t n = 150;
    ActiveSet rows(n, std::max<std::ptrdiff_t>(n, 1));
    Random random(2);
    std::ptrdiff_t visited = 0;
    rows.for_each_in_random_order(0, 1, random, [&](std::ptrdiff_t i) {
        ++visited;
        if (i % 2 == 0) rows.set(i, false);
    });
    CHECK(visited == n);
    CHECK(rows.count() == n / 2);
    CHECK(is_each_once(visits(rows, random), n, [](std::ptrdiff_t i) { return i % 2 == 1; }));
}

void the_order_is_new_each_pass_and_the_seeds_own() {
    ActiveSet one(1000, 1000), two(1000, 1000);
    Random first(3), second(3), other(4);
    const auto order = visits(one, first);
    CHECK(order == visits(two, second));
    CHECK(order != visits(one, first));
    ActiveSet three(1000, 1000);
    CHECK(order != visits(three, other));
}

void units_are_dealt_out_anew() {
    constexpr std::ptrdiff_t n = 1000, unit = 128;
    ActiveSet rows(n, unit);
    Random random(5);
    std::vector<std::uint32_t> last;
    for (int pass = 0; pass < 3; ++pass) {
        rows.deal(random);
        CHECK(rows.units().size() == 8 && rows.units().back() == 7);
        const std::vector<std::uint32_t> now(rows.units().begin(), rows.units().end());
        CHECK(now != last);
        last = now;
        for (const std::size_t begin : {6, 0, 3}) {
            const std::size_t end = std::min<std::size_t>(begin + 3, 8);
            const auto inside = [&](std::ptrdiff_t i) {
                const auto mine = static_cast<std::uint32_t>(i / unit);
                return std::count(now.begin() + static_cast<std::ptrdiff_t>(begin),
                                  now.begin() + static_cast<std::ptrdiff_t>(end), mine) > 0;
            };
            CHECK(is_each_once(visits(rows, random, begin, end), n, inside));
        }
    }
}

}  // namespace

int main() {
    all_rows_are_active_at_first();
    only_active_rows_are_visited();
    a_visit_may_set_its_row_aside();
    the_order_is_new_each_pass_and_the_seeds_own();
    units_are_dealt_out_anew();
    return splinear::testing::result();
}
