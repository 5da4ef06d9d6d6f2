#include "solve/row_sample.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "rows/row.hpp"
#include "support/pieces.hpp"

namespace splinear {
namespace {

constexpr Row per_task = 8192;

using Sums = std::array<double, 2>;

// Divides n rows into pieces; returns, for each, the sums that add(i, sums) accumulates.
template <class Add>
std::vector<Sums> sums_of_pieces(Row n, int n_threads, const Add& add) {
    std::vector<Sums> found(index(n_pieces(n, per_task)));
    parallel_pieces(0, n, per_task, n_threads, [&](Row begin, Row end) {
        Sums own{};
        for (Row i = begin; i < end; ++i) add(index(i), own);
        found[index(begin / per_task)] = own;
    });
    return found;
}

Sums total(const std::vector<Sums>& pieces) {
    Sums all{};
    for (const Sums& own : pieces)
        for (std::size_t k = 0; k < all.size(); ++k) all[k] += own[k];
    return all;
}

// The t at which n rows are expected, by fixed-point iteration: rows with g_i >= t are taken for
// sure and count as one each, which lowers t for the others, of which more may then reach it.
double threshold(std::span<const double> h, double floor, double n, int n_threads) {
    const auto n_rows = static_cast<Row>(h.size());
    double t = std::numeric_limits<double>::infinity();
    for (double n_sure = -1.0;;) {
        const auto [left, sure] =
            total(sums_of_pieces(n_rows, n_threads, [&](std::size_t i, Sums& own) {
                const double g = h[i] + floor;
                own[0] += g < t ? g : 0.0;
                own[1] += g < t ? 0.0 : 1.0;
            }));
        if (!(sure > n_sure)) return t;
        n_sure = sure;
        t = std::min(t, left / std::max(n - sure, 1.0));
    }
}

// Concatenates the samples of consecutive pieces of the rows.
RowSample joined(const std::vector<RowSample>& found) {
    RowSample out;
    for (const RowSample& own : found) {
        out.rows.insert(out.rows.end(), own.rows.begin(), own.rows.end());
        out.weights.insert(out.weights.end(), own.weights.begin(), own.weights.end());
    }
    return out;
}

}  // namespace

RowSample sample_rows(std::span<const double> h, double n, double evenly, int n_threads) {
    const auto n_rows = static_cast<Row>(h.size());
    const double sum = total(
        sums_of_pieces(n_rows, n_threads, [&](std::size_t i, Sums& own) { own[0] += h[i]; }))[0];
    if (!(sum > 0.0)) return {};
    const double floor = evenly * sum / static_cast<double>(h.size());
    const double t = threshold(h, floor, n, n_threads);
    const auto probability = [&](std::size_t i) {
        const double g = h[i] + floor;
        return g < t ? g / t : 1.0;
    };
    const std::vector<Sums> sums = sums_of_pieces(
        n_rows, n_threads, [&](std::size_t i, Sums& own) { own[0] += probability(i); });
    std::vector<double> before(sums.size() + 1);
    for (std::size_t k = 0; k < sums.size(); ++k) before[k + 1] = before[k] + sums[k][0];

    std::vector<RowSample> found(sums.size());
    parallel_pieces(0, n_rows, per_task, n_threads, [&](Row begin, Row end) {
        const std::size_t piece = index(begin / per_task);
        double passed = std::floor(before[piece] + 0.5);
        double here = 0.0;  // added up as in `sums`, so that a piece ends where the next begins
        for (Row i = begin; i < end; ++i) {
            const double p = probability(index(i));
            here += p;
            const double now = std::floor(before[piece] + here + 0.5);
            if (now > passed) {
                found[piece].rows.push_back(i);
                found[piece].weights.push_back(1.0 / p);
            }
            passed = now;
        }
    });
    return joined(found);
}

RowSample nonzero_rows(std::span<const double> h, int n_threads) {
    const auto n_rows = static_cast<Row>(h.size());
    std::vector<RowSample> found(index(n_pieces(n_rows, per_task)));
    parallel_pieces(0, n_rows, per_task, n_threads, [&](Row begin, Row end) {
        RowSample& own = found[index(begin / per_task)];
        for (Row i = begin; i < end; ++i) {
            if (h[index(i)] == 0.0) continue;
            own.rows.push_back(i);
            own.weights.push_back(h[index(i)]);
        }
    });
    return joined(found);
}

}  // namespace splinear
