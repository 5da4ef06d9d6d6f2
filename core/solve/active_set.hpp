// The set of rows that dual coordinate descent visits, and the random order of visits.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "support/pieces.hpp"
#include "support/random.hpp"

namespace splinear {

// One bit per row, 64 rows per word. Rows were shuffled once, when they were coded, so it is enough
// that a pass visits the words in random order and starts at a random row within each: memory is
// read in long runs, and no index per row is needed.
//
// Rows on disk are visited in blocks of several units, each a run of rows_per_unit rows. Which
// units form a block is drawn anew for every pass; with fixed blocks, rows of different blocks
// would never be visited together.
class ActiveSet {
public:
    // All rows are active at first. rows_per_unit is a multiple of 64, or at least n_rows for a
    // single unit.
    ActiveSet(std::ptrdiff_t n_rows, std::ptrdiff_t rows_per_unit)
        : words_per_unit_(static_cast<std::size_t>(n_pieces(rows_per_unit, std::ptrdiff_t{64}))),
          words_(static_cast<std::size_t>(n_pieces(n_rows, std::ptrdiff_t{64}))),
          order_(words_.size()),
          units_(n_pieces(words_.size(), words_per_unit_)) {
        std::iota(order_.begin(), order_.end(), std::uint32_t{0});
        std::iota(units_.begin(), units_.end(), std::uint32_t{0});
        for (std::ptrdiff_t i = 0; i < n_rows; ++i) set(i, true);
    }

    // Threads may call this at once for rows of different words, i.e. different row / 64.
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

    // Calls visit(row) for every active row, in ascending order.
    template <class Visit>
    void for_each(const Visit& visit) const {
        for (std::size_t word = 0; word < words_.size(); ++word)
            for (std::uint64_t left = words_[word]; left != 0; left &= left - 1)
                visit(static_cast<std::ptrdiff_t>(word) * 64 + std::countr_zero(left));
    }

    // The units in the order of visits. Unit u starts at row u * rows_per_unit.
    std::span<const std::uint32_t> units() const noexcept { return units_; }

    // Shuffles the units, except for the last, which may be shorter and stays last.
    void deal(Random& random) {
        if (units_.size() < 2) return;
        shuffle(std::span(units_).first(units_.size() - 1), random);
        auto place = order_.begin();
        for (const std::uint32_t unit : units_) {
            const std::size_t first = unit * words_per_unit_;
            const std::size_t n = std::min(words_per_unit_, words_.size() - first);
            std::iota(place, place + static_cast<std::ptrdiff_t>(n),
                      static_cast<std::uint32_t>(first));
            place += static_cast<std::ptrdiff_t>(n);
        }
    }

    // Calls visit(row) for every active row of units()[begin, end), in random order. `visit` may
    // call set(); changes take effect at the next word.
    template <class Visit>
    void for_each_in_random_order(std::size_t begin, std::size_t end, Random& random,
                                  const Visit& visit) {
        const std::size_t first = begin * words_per_unit_;
        const std::size_t last = std::min(words_.size(), end * words_per_unit_);
        const std::span words = std::span(order_).subspan(first, last - first);
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
    std::size_t words_per_unit_;
    std::vector<std::uint64_t> words_;  // bit b of word k: whether row 64 k + b is active
    std::vector<std::uint32_t> order_;  // words in the order of visits, unit by unit
    std::vector<std::uint32_t> units_;
};

}  // namespace splinear
