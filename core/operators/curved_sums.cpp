#include "operators/curved_sums.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "operators/many_outputs.hpp"
#include "operators/partial_sums.hpp"
#include "support/pieces.hpp"

namespace splinear {
namespace {

constexpr Row rows_per_task = 4096;
constexpr std::size_t lanes = 8;

// One thread for few rows: it is done before others have started.
int threads_for(std::span<const double> h, int n_threads) {
    constexpr std::size_t few = 4 * rows_per_task;
    return h.size() <= few ? 1 : n_threads;
}

// sum_i h_i and sum_i h_i scores_i over n rows, in an order that allows vector instructions.
std::array<double, 2> weighted(const double* h, const double* scores, std::size_t n) noexcept {
    std::array<double, lanes> weights{};
    std::array<double, lanes> products{};
    const auto add = [&](std::size_t i, std::size_t l) {
        weights[l] += h[i + l];
        products[l] += h[i + l] * scores[i + l];
    };
    std::size_t i = 0;
    for (; i + lanes <= n; i += lanes)
        for (std::size_t l = 0; l < lanes; ++l) add(i, l);
    for (std::size_t l = 0; i + l < n; ++l) add(i, l);
    std::array<double, 2> out{};
    for (std::size_t l = 0; l < lanes; ++l) out[0] += weights[l], out[1] += products[l];
    return out;
}

// The same over all rows, in an order that does not depend on n_threads.
std::array<double, 2> weighted_all(std::span<const double> h, const double* scores, int n_threads) {
    const auto n = static_cast<Row>(h.size());
    std::vector<std::array<double, 2>> found(index(n_pieces(n, rows_per_task)));
    parallel_pieces(0, n, rows_per_task, n_threads, [&](Row first, Row last) {
        found[index(first / rows_per_task)] =
            weighted(&h[index(first)], scores + first, index(last - first));
    });
    std::array<double, 2> out{};
    for (const auto& [own, with_scores] : found) out[0] += own, out[1] += with_scores;
    return out;
}

}  // namespace

CurvedSums curved_sums(Groups groups, std::span<const double> coef, std::span<const double> h,
                       std::optional<double> level, int n_threads) {
    check_per_row(groups, h);
    CurvedSums out;
    out.scores = score_many(groups, 1, coef, n_threads);
    const auto [weight, product] = weighted_all(h, out.scores.data(), threads_for(h, n_threads));
    out.level = level.value_or(-product / std::max(weight, std::numeric_limits<double>::min()));
    out.total = level ? product + out.level * weight : 0.0;
    Buffer<double> r(h.size());
    parallel_pieces(0, static_cast<Row>(h.size()), rows_per_task, threads_for(h, n_threads),
                    [&](Row first, Row last) {
                        for (auto i = index(first); i < index(last); ++i) {
                            out.scores[i] += out.level;
                            r[i] = h[i] * out.scores[i];
                        }
                    });
    out.sums = sum_many(groups, 1, r, n_threads);
    return out;
}

}  // namespace splinear
