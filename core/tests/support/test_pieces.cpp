#include <utility>
#include <vector>

#include "support/pieces.hpp"
#include "tests/check.hpp"

using namespace splinear;

namespace {

using Pairs = std::vector<std::pair<std::ptrdiff_t, std::ptrdiff_t>>;

void counts() {
    CHECK(n_pieces(0, 4) == 0 && n_pieces(1, 4) == 1 && n_pieces(8, 4) == 2 && n_pieces(9, 4) == 3);
    CHECK(whole_pieces(0, 16) == 0 && whole_pieces(16, 16) == 16 && whole_pieces(17, 16) == 32);
}

void pieces_cover_the_range() {
    Pairs found;
    for_each_piece(3, 12, 4, [&](auto first, auto last) { found.emplace_back(first, last); });
    CHECK(found == Pairs{{3, 7}, {7, 11}, {11, 12}});
    found.clear();
    for_each_piece(3, 3, 4, [&](auto first, auto last) { found.emplace_back(first, last); });
    CHECK(found.empty());
}

void threads_get_the_same_pieces() {
    for (const int n_threads : {1, 3}) {
        std::vector<int> visits(1000);
        parallel_pieces(10, 1000, 64, n_threads, [&](auto first, auto last) {
            CHECK((first - 10) % 64 == 0 && (last == 1000 || last - first == 64));
            for (auto i = first; i < last; ++i) ++visits[static_cast<std::size_t>(i)];
        });
        for (std::size_t i = 0; i < visits.size(); ++i) CHECK(visits[i] == (i < 10 ? 0 : 1));
    }
}

}  // namespace

int main() {
    counts();
    pieces_cover_the_range();
    threads_get_the_same_pieces();
    return splinear::testing::result();
}
