#include "passes.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "blocks.hpp"
#include "operators.hpp"
#include "parallel.hpp"

namespace splinear {
namespace {

// The penalty that leaves everything as it is: adding to the tables of an operator that has it, and
// the scale 1, is a plain sum of B_i.
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

template <class Use>
auto with_plain_operator(const AnyRows& rows, const AnyBasis& basis, std::size_t n_features,
                         const Use& use) {
    const AnyPenalty penalty = no_penalty(basis);
    const std::vector<double> ones(n_features, 1.0);
    return with_operator(rows, {basis, penalty, ones}, 1, use);
}

std::size_t size_of(const AnyBasis& any) {
    return std::visit([](const auto& basis) { return static_cast<std::size_t>(basis.size()); },
                      any);
}

// Sums part(begin, end, out) over pieces of the first n_rows rows, the pieces spread over threads
// and their sums added in order.
template <class Rows, class Part>
std::vector<double> sum_over(const Rows& rows, Row n_rows, Row piece, std::size_t length,
                             int n_threads, const Part& part) {
    const Row n_pieces = (n_rows + piece - 1) / piece;
    const Row at_once = std::min<Row>(n_pieces, n_threads);
    std::vector<double> total(length);
    std::vector<std::vector<double>> sums(static_cast<std::size_t>(at_once));
    Trail trail(rows);
    for (Row first = 0; first < n_pieces; first += at_once) {
        const Row here = std::min(at_once, n_pieces - first);
        parallel_for(here, n_threads, [&](Row t) {
            std::vector<double>& sum = sums[static_cast<std::size_t>(t)];
            sum.assign(length, 0.0);
            part((first + t) * piece, std::min(n_rows, (first + t + 1) * piece), sum);
        });
        for (Row t = 0; t < here; ++t) {
            const std::vector<double>& sum = sums[static_cast<std::size_t>(t)];
            for (std::size_t k = 0; k < length; ++k) total[k] += sum[k];
        }
        trail.reached(std::min(n_rows, (first + here) * piece));
    }
    return total;
}

// Rows of one partial sum: enough that adding it up is less work than the rows themselves.
Row rows_per_sum(const AnyRows& any, std::size_t length, Row at_least) {
    const auto* rows = std::get_if<SparseRows>(&any);
    if (rows == nullptr || rows->n_entries() == 0) return at_least;
    const std::size_t per_row = rows->n_entries() / static_cast<std::size_t>(rows->n_rows()) + 1;
    return std::max(at_least, static_cast<Row>(length / per_row));
}

// Calls use(source, basis) with the types at hand.
template <class Use>
auto with_types(const AnyRows& rows, const AnyBasis& basis, const Use& use) {
    return std::visit([&](const auto& source, const auto& b) { return use(source, b); }, rows,
                      basis);
}

}  // namespace

std::vector<double> score_all(const AnyRows& rows, const AnyBasis& basis,
                              std::span<const double> coef, int n_threads) {
    constexpr Row piece = 256;
    const std::size_t n_features = coef.size() / size_of(basis);
    return with_plain_operator(rows, basis, n_features, [&](const auto& op) {
        const auto tables = op.tables_of(coef);
        std::vector<double> out(static_cast<std::size_t>(op.n_rows()));
        const Row step = rows_per_block(op);
        for (Row begin = 0; begin < op.n_rows(); begin += step) {
            const Row end = std::min(op.n_rows(), begin + step);
            parallel_for((end - begin + piece - 1) / piece, n_threads, [&](Row t) {
                std::array<Row, piece> here;
                const Row first = begin + t * piece;
                const auto m = static_cast<std::size_t>(std::min(piece, end - first));
                std::iota(here.begin(), here.end(), first);
                op.score(std::span(here).first(m), tables, &out[static_cast<std::size_t>(first)]);
            });
            done_with(op, begin, end);
        }
        return out;
    });
}

std::vector<double> sum_all(const AnyRows& rows, const AnyBasis& basis, std::size_t n_features,
                            std::span<const double> r, int n_threads) {
    return with_plain_operator(rows, basis, n_features, [&](const auto& op) {
        const auto part = [&](Row begin, Row end, std::vector<double>& sum) {
            constexpr Row together = 512;
            std::array<Row, together> here;
            auto tables = op.zero_tables();
            for (Row i = begin; i < end; i += together) {
                const auto m = static_cast<std::size_t>(std::min(together, end - i));
                std::iota(here.begin(), here.end(), i);
                const auto some = std::span(here).first(m);
                if constexpr (requires { op.sum(some, r.data(), tables); })
                    op.sum(some, &r[static_cast<std::size_t>(i)], tables);
                else
                    op.add(some, &r[static_cast<std::size_t>(i)], tables);
            }
            sum = op.coefficients(tables);
        };
        const std::size_t length = n_features * size_of(basis);
        return sum_over(op, op.n_rows(), rows_per_sum(rows, length, 2048), length, n_threads, part);
    });
}

std::vector<double> blocks_all(const AnyRows& rows, const AnyBasis& any, std::size_t n_features,
                               std::span<const double> h, int n_threads) {
    return with_types(rows, any, [&](const auto& source, const auto& basis) {
        const auto size = static_cast<std::size_t>(basis.size());
        const auto support = static_cast<std::size_t>(basis.support());
        const auto part = [&](Row begin, Row end, std::vector<double>& sum) {
            std::vector<double> w(support);
            for (Row i = begin; i < end; ++i) {
                const double weight = h[static_cast<std::size_t>(i)];
                if (weight == 0.0) continue;
                source.for_each(i, [&](std::size_t j, double argument) {
                    const int start = basis.evaluate(argument, w.data());
                    double* out = &sum[(j * size + static_cast<std::size_t>(start)) * support];
                    for (std::size_t a = 0; a < support; ++a, out += support)
                        for (std::size_t b = a; b < support; ++b)
                            out[b - a] += weight * w[a] * w[b];
                });
            }
        };
        const std::size_t length = n_features * size * support;
        return sum_over(source, source.n_rows(), rows_per_sum(rows, length, 8192), length,
                        n_threads, part);
    });
}

std::vector<double> hessian_some(const AnyRows& rows, const AnyBasis& any,
                                 std::span<const std::int64_t> places, std::size_t n,
                                 std::span<const double> h, double bias, int n_threads) {
    return with_types(rows, any, [&](const auto& source, const auto& basis) {
        const auto size = static_cast<std::size_t>(basis.size());
        const auto support = static_cast<std::size_t>(basis.support());
        const auto n_rows = static_cast<Row>(h.size());
        const auto part = [&](Row begin, Row end, std::vector<double>& sum) {
            std::vector<double> w(support), value(n);
            std::vector<std::size_t> place(n);
            for (Row i = begin; i < end; ++i) {
                const double weight = h[static_cast<std::size_t>(i)];
                if (weight == 0.0) continue;
                std::size_t m = 0;  // entries of (B_i, B) that are not zero
                source.for_each(i, [&](std::size_t j, double argument) {
                    const int start = basis.evaluate(argument, w.data());
                    const std::int64_t* to = &places[j * size + static_cast<std::size_t>(start)];
                    for (std::size_t a = 0; a < support; ++a) {
                        if (w[a] == 0.0 || to[a] < 0) continue;
                        place[m] = static_cast<std::size_t>(to[a]);
                        value[m++] = w[a];
                    }
                });
                place[m] = n - 1;
                value[m++] = bias;
                for (std::size_t a = 0; a < m; ++a) {
                    const double factor = weight * value[a];
                    double* row = &sum[place[a] * n];
                    for (std::size_t b = a; b < m; ++b) row[place[b]] += factor * value[b];
                }
            }
        };
        // Few pieces, as each holds a matrix; their number does not depend on the threads.
        std::vector<double> total =
            sum_over(source, n_rows, (n_rows + 7) / 8, n * n, n_threads, part);
        for (std::size_t a = 0; a < n; ++a)
            for (std::size_t b = a + 1; b < n; ++b) total[b * n + a] = total[a * n + b];
        return total;
    });
}

}  // namespace splinear
