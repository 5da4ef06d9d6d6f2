#include "operators/passes.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <variant>

#include "operators/make_operator.hpp"
#include "operators/partial_sums.hpp"
#include "support/checks.hpp"

namespace splinear {
namespace {

// The identity penalty, L = I.
AnyPenalty no_penalty(const AnyBasis& any) {
    return std::visit(
        []<class B>(const B& basis) -> AnyPenalty {
            if constexpr (belong_together<B, DiagonalPenalty>)
                return DiagonalPenalty(
                    std::vector<double>(static_cast<std::size_t>(basis.size()), 1.0));
            else
                return DifferencePenalty(0, basis.size(), basis.support());
        },
        any);
}

// The same group with variances of 1, the identity penalty and a mean of 0, so that the operator's
// tables are plain coefficients.
Group plain(const Group& group) {
    const std::size_t n = group.n_features();
    const std::size_t n_missing = group.has_missing() ? n : 0;
    return {
        {group.basis, no_penalty(group.basis), std::vector<double>(n, 1.0),
         std::vector<double>(n_missing * group.size(), 0.0), std::vector<double>(n_missing, 1.0)},
        group.rows};
}

// Operator::write_sums() of part p for the rows [begin, end).
void write_part(const Operator& op, std::span<const double> r, Row begin, Row end, std::size_t p,
                double* to) {
    std::vector<Row> here(index(end - begin));
    std::iota(here.begin(), here.end(), begin);
    op.write_sums(p, here, &r[index(begin)], to);
}

}  // namespace

std::vector<double> sum_one(const Group& group, std::span<const double> r, int n_threads) {
    const Group own = plain(group);
    const auto op = make_pass_operator(own, 1);
    const auto part = [&](Row begin, Row end, std::vector<double>& sum) {
        constexpr Row together = 512;
        std::array<Row, together> here;
        GroupTables tables = op->zero_tables();
        for_each_piece(begin, end, together, [&](Row first, Row last) {
            std::iota(here.begin(), here.end(), first);
            op->sum(std::span(here).first(index(last - first)), &r[index(first)], tables);
        });
        sum = op->sums(tables);
    };
    const std::size_t length = group.n_coefficients();
    const std::size_t per_part = op->features_per_sum();
    Row piece = 2048;
    if (!has_sparse_rows(group))
        piece = rows_per_piece(op->n_rows(), length, group.n_features(), piece);
    if (!op->has_single_sums()) piece = rows_per_sum(group, length, piece);
    if (per_part > 0)
        return sum_parts_over(
            *op, op->n_rows(), piece, part_starts(group.n_features(), group.stride(), per_part),
            n_threads,
            [&](Row begin, Row end, double* to) {
                std::vector<double> sum;
                part(begin, end, sum);
                std::ranges::copy(sum, to);
            },
            [&](Row begin, Row end, std::size_t p, double* to) {
                write_part(*op, r, begin, end, p, to);
            });
    return sum_over(*op, op->n_rows(), piece, length, n_threads, part);
}

void put_scores(const Group& group, std::span<const double> coef, Put how, int n_threads,
                double* out) {
    constexpr Row piece = 256;  // maximum number of rows per call of score()
    const Group own = plain(group);
    const auto op = make_pass_operator(own, 1);
    const GroupTables tables = op->tables_of(coef);
    // Even few rows are shared by many threads; scores do not depend on the division.
    const Row shares = 4 * static_cast<Row>(n_threads);
    const Row step = op->rows_together();
    const Row share = whole_pieces(n_pieces(op->n_rows(), shares), step);
    const Row here_at_once = std::clamp<Row>(share, 64, piece);
    read_in_order(*op, op->n_rows(), op->rows_per_block(), [&](Row begin, Row end) {
        parallel_pieces(begin, end, here_at_once, n_threads, [&](Row first, Row last) {
            std::array<Row, piece> here;
            std::array<double, piece> scores;
            const std::size_t m = index(last - first);
            std::iota(here.begin(), here.end(), first);
            op->score(std::span(here).first(m), tables, scores.data());
            for (std::size_t a = 0; a < m; ++a) put(how, scores[a], out[index(first) + a]);
        });
    });
}

std::vector<double> score_all(Groups groups, std::span<const double> coef, int n_threads) {
    check(groups);
    must_be("the size of tables, one number per coefficient,", coef.size(), n_coefficients(groups));
    std::vector<double> out(index(groups.front()->n_rows()));
    for (const Group* group : groups) {
        put_scores(*group, coef.first(group->n_coefficients()), Put::more, n_threads, out.data());
        coef = coef.subspan(group->n_coefficients());
    }
    return out;
}

std::vector<double> sum_all(Groups groups, std::span<const double> r, int n_threads) {
    check_per_row(groups, r);
    std::vector<double> out;
    for (const Group* group : groups) {
        const std::vector<double> own = sum_one(*group, r, n_threads);
        out.insert(out.end(), own.begin(), own.end());
    }
    return out;
}

}  // namespace splinear
