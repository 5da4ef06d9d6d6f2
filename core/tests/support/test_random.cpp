#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "support/random.hpp"
#include "tests/check.hpp"

using namespace splinear;

namespace {

// The first outputs of SplitMix64 for the seeds 0 and 1234567, as its authors' code prints them.
void gives_the_published_numbers() {
    Random zero(0);
    CHECK(zero.next() == 0xe220a8397b1dcdafULL);
    CHECK(zero.next() == 0x6e789e6aa1b965f4ULL);
    CHECK(zero.next() == 0x06c45d188009454fULL);
    Random other(1234567);
    CHECK(other.next() == 6457827717110365317ULL);
    CHECK(other.next() == 3203168211198807973ULL);
}

void below_stays_in_range() {
    Random random(1);
    const std::vector<std::size_t> sizes{1, 2, 3, 10, 64, 1000003, 4294967295U};
    for (const std::size_t n : sizes)
        for (int i = 0; i < 1000; ++i) CHECK(random.below(n) < n);
}

// 100,000 draws of 10 numbers: counts are 10,000 with a standard deviation of 95; five of these are
// allowed.
void below_is_even() {
    Random random(2);
    std::vector<int> counts(10);
    for (int i = 0; i < 100000; ++i) ++counts[random.below(10)];
    for (const int count : counts) CHECK(std::abs(count - 10000) < 475);
}

void shuffle_permutes() {
    std::vector<int> items(100);
    std::iota(items.begin(), items.end(), 0);
    const std::vector<int> sorted = items;
    Random random(3);
    shuffle(std::span(items), random);
    CHECK(items != sorted);
    CHECK(std::is_permutation(items.begin(), items.end(), sorted.begin()));
    std::vector<int> none;
    shuffle(std::span(none), random);
    CHECK(none.empty());
}

// Each of the six orders of three items occurs in 10,000 of 60,000 draws, with a standard deviation
// of 91.
void shuffle_is_even() {
    Random random(4);
    std::vector<int> counts(27);
    for (int i = 0; i < 60000; ++i) {
        std::vector<std::size_t> items{0, 1, 2};
        shuffle(std::span(items), random);
        ++counts[9 * items[0] + 3 * items[1] + items[2]];
    }
    int seen = 0;
    for (const int count : counts) {
        if (count == 0) continue;
        ++seen;
        CHECK(std::abs(count - 10000) < 456);
    }
    CHECK(seen == 6);
}

}  // namespace

int main() {
    gives_the_published_numbers();
    below_stays_in_range();
    below_is_even();
    shuffle_permutes();
    shuffle_is_even();
    return splinear::testing::result();
}
