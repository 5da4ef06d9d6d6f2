// The rows that dual coordinate descent still visits.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "random.hpp"

namespace splinear {

// One bit a row, 64 rows a word. A pass visits the words of a block in a new random order and,
// inside a word, starts at a random row; the rows themselves were shuffled once when they were
// coded. So a visit reads memory in long runs, and the order needs no index per row.
class ActiveSet {
public:
    explicit ActiveSet(std::ptrdiff_t n_rows)
        : words_(static_cast<std::size_t>((n_rows + 63) / 64)), order_(words_.size()) {
        std::iota(order_.begin(), order_.end(), std::uint32_t{0});
        for (std::ptrdiff_t i = 0; i < n_rows; ++i) set(i, true);
    }

    void set(std::ptrdiff_t row, bool active) noexcept {
        const std::uint64_t bit = std::uint64_t{1} << (row & 63);
        std::uint64_t& word = words_[static_cast<std::size_t>(row >> 6)];
        word = active ? word | bit : word & ~bit;
    }

    std::ptrdiff_t count() const noexcept {
        std::ptrdiff_t total = 0;
        for (const std::uint64_t word : words_) total += std::popcount(word);
        return total;
    }

    // Calls visit(row) once for every row of a block that is active when its word's turn comes. A
    // block is rows begin to end - 1, begin being a multiple of 64, and end too unless it is the
    // last; blocks do not overlap.
    template <class Visit>
    void for_each_in_random_order(std::ptrdiff_t begin, std::ptrdiff_t end, Random& random,
                                  const Visit& visit) {
        const std::span words =
            std::span(order_).subspan(static_cast<std::size_t>(begin / 64),
                                      static_cast<std::size_t>((end - begin + 63) / 64));
        shuffle(words, random);
        for (const std::uint32_t word : words) {
            const int turn = static_cast<int>(random.next() >> 58);
            std::uint64_t left = std::rotr(words_[word], turn);
            while (left != 0) {
                const int place = (std::countr_zero(left) + turn) & 63;
                visit(static_cast<std::ptrdiff_t>(word) * 64 + place);
                left &= left - 1;
            }
        }
    }

private:
    std::vector<std::uint64_t> words_;
    std::vector<std::uint32_t> order_;
};

}  // namespace splinear
