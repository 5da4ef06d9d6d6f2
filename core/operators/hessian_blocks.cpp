// blocks_all() of hessian.hpp: the diagonal blocks of a Hessian, one per feature.
#include <cmath>
#include <variant>

#include "operators/hessian.hpp"
#include "operators/partial_sums.hpp"
#include "rows/columns.hpp"

namespace splinear {
namespace {

// The blocks of a group of sparse rows, entry by entry.
template <class S>
std::vector<double> sparse_blocks(const S& rows, const Group& group, std::span<const double> h,
                                  int n_threads) {
    const std::size_t stride = group.stride();
    const std::size_t support = group.support();
    const std::size_t length = group.n_coefficients() * support;
    const auto blocks_of = [&](const Basis auto& basis) {
        const auto part = [&](Row begin, Row end, std::vector<double>& sum) {
            std::vector<double> w(support);
            sum.assign(length, 0.0);
            for (Row i = begin; i < end; ++i) {
                const double weight = h[static_cast<std::size_t>(i)];
                if (weight == 0.0) continue;
                rows.for_each(i, [&](std::size_t j, double argument) {
                    if (std::isnan(argument) && group.has_missing()) {
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

// Two columns of the same feature, and the sums of their products per cell.
struct OwnPair {
    std::size_t a;
    std::size_t b;
    CellSums sum;
};

// All pairs of columns of the same feature.
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

// Adds the sums of a pair to the bands of its feature's block.
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

// The blocks of a group of dense rows. Some rows are read at a time, in parallel; then each pair of
// columns is one task, so that no two threads write to the same sums.
std::vector<double> dense_blocks(const ColumnReader& reader, const Group& group,
                                 std::span<const double> h, int n_threads) {
    constexpr Row together = 1024;
    constexpr Row per_task = 256;
    const auto& shapes = reader.shapes();
    std::vector<Column> columns(shapes.size());
    std::vector<Column*> to;
    for (Column& column : columns) to.push_back(&column);
    std::vector<OwnPair> pairs = own_pairs(shapes);
    const auto add_rows = [&](Row begin, Row end) {
        const std::size_t n = index(end - begin);
        for (std::size_t c = 0; c < shapes.size(); ++c) columns[c].resize(n, shapes[c]);
        parallel_pieces(begin, end, per_task, n_threads, [&](Row first, Row last) {
            reader.read(first, last, to.data(), index(first - begin));
        });
        parallel_for(static_cast<Row>(pairs.size()), n_threads, [&](Row t) {
            OwnPair& pair = pairs[index(t)];
            std::vector<double> scaled;
            simd::add_own(times(columns[pair.a], shapes[pair.a], &h[index(begin)], scaled),
                          columns[pair.b].view(shapes[pair.b]), n, pair.sum.to());
        });
    };
    std::visit(
        [&](const auto& source) { read_in_order(source, group.n_rows(), together, add_rows); },
        group.rows);
    const std::size_t support = group.support();
    std::vector<double> out(group.n_coefficients() * support);
    for (OwnPair& pair : pairs)
        add_bands(pair, shapes[pair.a], shapes[pair.b], group.stride(), support, out);
    return out;
}

}  // namespace

std::vector<double> blocks_all(Groups groups, std::span<const double> h, int n_threads) {
    check_per_row(groups, h);
    std::vector<double> out;
    for (const Group* group : groups) {
        const std::vector<double> own = std::visit(
            [&]<class S>(const S& rows) {
                if constexpr (is_sparse<S>)
                    return sparse_blocks(rows, *group, h, n_threads);
                else
                    return dense_blocks(*make_reader(*group), *group, h, n_threads);
            },
            group->rows);
        out.insert(out.end(), own.begin(), own.end());
    }
    return out;
}

}  // namespace splinear
