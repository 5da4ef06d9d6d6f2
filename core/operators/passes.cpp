#include "operators/passes.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <variant>

#include "operators/make_operator.hpp"
#include "operators/partial_sums.hpp"
#include "rows/columns.hpp"

namespace splinear {
namespace {

// The penalty that leaves everything as it is.
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

// The group whose coefficients are the values themselves: scales of 1, no penalty, a mean of 0.
Group plain(const Group& group) {
    const std::size_t n = group.n_features();
    const std::size_t n_gaps = group.has_gaps() ? n : 0;
    return {group.rows,
            group.basis,
            no_penalty(group.basis),
            std::vector<double>(n, 1.0),
            std::vector<double>(n_gaps * group.size(), 0.0),
            std::vector<double>(n_gaps, 1.0)};
}

// Rows of one partial sum: enough that adding it up is less work than the rows themselves.
Row rows_per_sum(const Group& group, std::size_t length, Row at_least) {
    std::size_t per_row = group.n_features();
    if (const auto* rows = std::get_if<SparseRows>(&group.rows))
        per_row = rows->n_entries() / static_cast<std::size_t>(std::max<Row>(rows->n_rows(), 1));
    return std::max(at_least, static_cast<Row>(length / (per_row + 1)));
}

void check_rows(Groups groups, std::span<const double> per_row) {
    check(groups);
    if (static_cast<Row>(per_row.size()) != groups.front()->n_rows())
        throw std::invalid_argument("there must be one number per row");
}

// out += the scores of one group.
void add_scores(const Group& group, std::span<const double> coef, int n_threads, double* out) {
    constexpr Row piece = 256;
    const Group own = plain(group);
    const auto op = make_operator(own, 1);
    const GroupTables tables = op->tables_of(coef);
    const Row n_rows = op->n_rows();
    const Row step = op->rows_per_block();
    for (Row begin = 0; begin < n_rows; begin += step) {
        const Row end = std::min(n_rows, begin + step);
        parallel_for((end - begin + piece - 1) / piece, n_threads, [&](Row t) {
            std::array<Row, piece> here;
            std::array<double, piece> scores;
            const Row first = begin + t * piece;
            const auto m = static_cast<std::size_t>(std::min(piece, end - first));
            std::iota(here.begin(), here.end(), first);
            op->score(std::span(here).first(m), tables, scores.data());
            for (std::size_t a = 0; a < m; ++a)
                out[static_cast<std::size_t>(first) + a] += scores[a];
        });
        op->done_with(begin, end);
    }
}

std::vector<double> sums_of(const Group& group, std::span<const double> r, int n_threads) {
    const Group own = plain(group);
    const auto op = make_operator(own, 1);
    const auto part = [&](Row begin, Row end, std::vector<double>& sum) {
        constexpr Row together = 512;
        std::array<Row, together> here;
        GroupTables tables = op->zero_tables();
        for (Row i = begin; i < end; i += together) {
            const auto m = static_cast<std::size_t>(std::min(together, end - i));
            std::iota(here.begin(), here.end(), i);
            op->sum(std::span(here).first(m), &r[static_cast<std::size_t>(i)], tables);
        }
        sum = op->sums(tables);
    };
    const std::size_t length = group.n_coefficients();
    // Tables in single precision are short; only others may take more rows at once.
    const bool is_single = !op->zero_tables().single.empty();
    const Row piece = is_single ? 2048 : rows_per_sum(group, length, 2048);
    return sum_over(*op, op->n_rows(), piece, length, n_threads, part);
}

std::size_t support_of(const Group& group) {
    return std::visit([](const auto& basis) { return static_cast<std::size_t>(basis.support()); },
                      group.basis);
}

// Non-zero by non-zero.
std::vector<double> sparse_blocks(const SparseRows& rows, const Group& group,
                                  std::span<const double> h, int n_threads) {
    const std::size_t stride = group.stride();
    const std::size_t support = support_of(group);
    const std::size_t length = group.n_coefficients() * support;
    const auto blocks_of = [&](const Basis auto& basis) {
        const auto part = [&](Row begin, Row end, std::vector<double>& sum) {
            std::vector<double> w(support);
            for (Row i = begin; i < end; ++i) {
                const double weight = h[static_cast<std::size_t>(i)];
                if (weight == 0.0) continue;
                rows.for_each(i, [&](std::size_t j, double argument) {
                    if (std::isnan(argument) && group.has_gaps()) {
                        sum[(j * stride + group.size()) * support] += weight;
                        return;
                    }
                    const int start =
                        basis.evaluate(std::isnan(argument) ? 0.0 : argument, w.data());
                    double* out = &sum[(j * stride + static_cast<std::size_t>(start)) * support];
                    for (std::size_t a = 0; a < support; ++a, out += support)
                        for (std::size_t b = a; b < support; ++b)
                            out[b - a] += weight * w[a] * w[b];
                });
            }
        };
        return sum_over(rows, rows.n_rows(), rows_per_sum(group, length, 8192), length, n_threads,
                        part);
    };
    return std::visit(blocks_of, group.basis);
}

// Two columns of one feature, and the sums of their products per cell.
struct OwnPair {
    std::size_t a;
    std::size_t b;
    CellSums sum;
};

std::vector<OwnPair> own_pairs(const std::vector<ColumnShape>& shapes) {
    std::vector<OwnPair> pairs;
    for (std::size_t a = 0; a < shapes.size(); ++a)
        for (std::size_t b = a; b < shapes.size() && shapes[b].feature == shapes[a].feature; ++b) {
            const std::size_t length = shapes[a].n_cells() * shapes[a].width * shapes[b].width;
            pairs.push_back({a, b, {}});
            pairs.back().sum.reset(length);
        }
    return pairs;
}

void add_bands(OwnPair& pair, const ColumnShape& a, const ColumnShape& b, std::size_t stride,
               std::size_t support, std::vector<double>& out) {
    const double* value = pair.sum.total().data();
    for (std::size_t cell = 0; cell < a.n_cells(); ++cell)
        for (std::size_t p = 0; p < a.width; ++p)
            for (std::size_t q = 0; q < b.width; ++q, ++value) {
                const std::int64_t first = a.function(cell, p);
                const std::int64_t second = b.function(cell, q);
                if (first < 0 || second < first) continue;
                const std::size_t row = a.feature * stride + static_cast<std::size_t>(first);
                out[row * support + static_cast<std::size_t>(second - first)] += *value;
            }
}

// Some rows at a time; then every feature is one thread's own.
std::vector<double> dense_blocks(const ColumnReader& reader, const Group& group,
                                 std::span<const double> h, int n_threads) {
    constexpr Row together = 1024;
    constexpr Row per_task = 256;
    const auto& shapes = reader.shapes();
    std::vector<Column> columns(shapes.size());
    std::vector<Column*> to;
    for (Column& column : columns) to.push_back(&column);
    std::vector<OwnPair> pairs = own_pairs(shapes);
    const Row n_rows = group.n_rows();
    std::visit(
        [&](const auto& source) {
            Trail trail(source);
            for (Row begin = 0; begin < n_rows; begin += together) {
                const auto n = static_cast<std::size_t>(std::min(together, n_rows - begin));
                for (std::size_t c = 0; c < shapes.size(); ++c) columns[c].resize(n, shapes[c]);
                const Row end = begin + static_cast<Row>(n);
                parallel_for((end - begin + per_task - 1) / per_task, n_threads, [&](Row t) {
                    const Row first = begin + t * per_task;
                    reader.read(first, std::min(end, first + per_task), to.data(),
                                static_cast<std::size_t>(t * per_task));
                });
                const double* factor = &h[static_cast<std::size_t>(begin)];
                const auto n_pairs = static_cast<Row>(pairs.size());
                parallel_for(n_pairs, n_threads, [&](Row t) {
                    OwnPair& pair = pairs[static_cast<std::size_t>(t)];
                    std::vector<double> scaled;
                    simd::add_own(times(columns[pair.a], shapes[pair.a], factor, scaled),
                                  columns[pair.b].view(shapes[pair.b]), n, pair.sum.to());
                });
                trail.reached(end);
            }
        },
        group.rows);
    const std::size_t support = support_of(group);
    std::vector<double> out(group.n_coefficients() * support);
    for (OwnPair& pair : pairs)
        add_bands(pair, shapes[pair.a], shapes[pair.b], group.stride(), support, out);
    return out;
}

}  // namespace

std::vector<double> score_all(Groups groups, std::span<const double> coef, int n_threads) {
    check(groups);
    if (coef.size() != n_coefficients(groups))
        throw std::invalid_argument("there must be one number per coefficient");
    std::vector<double> out(static_cast<std::size_t>(groups.front()->n_rows()));
    for (const Group* group : groups) {
        add_scores(*group, coef.first(group->n_coefficients()), n_threads, out.data());
        coef = coef.subspan(group->n_coefficients());
    }
    return out;
}

std::vector<double> sum_all(Groups groups, std::span<const double> r, int n_threads) {
    check_rows(groups, r);
    std::vector<double> out;
    for (const Group* group : groups) {
        const std::vector<double> own = sums_of(*group, r, n_threads);
        out.insert(out.end(), own.begin(), own.end());
    }
    return out;
}

std::vector<double> blocks_all(Groups groups, std::span<const double> h, int n_threads) {
    check_rows(groups, h);
    std::vector<double> out;
    for (const Group* group : groups) {
        const auto reader = make_reader(*group);
        const std::vector<double> own =
            reader ? dense_blocks(*reader, *group, h, n_threads)
                   : sparse_blocks(std::get<SparseRows>(group->rows), *group, h, n_threads);
        out.insert(out.end(), own.begin(), own.end());
    }
    return out;
}

}  // namespace splinear
