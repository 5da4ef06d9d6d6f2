// The whole Hessian of hessian.hpp.
//
// Dense rows are processed one pair of features at a time: sums of their products per pair of cells
// (see rows/columns.hpp) stay in the first-level cache and are then added to the matrix. Pairs of
// features have no entries in common, so they are divided among threads.
#include "operators/hessian.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <variant>

#include "operators/partial_sums.hpp"
#include "operators/placed_column.hpp"
#include "rows/columns.hpp"
#include "support/checks.hpp"

namespace splinear {
namespace {

// The number of rows that are read before their products are added up. The more, the less often
// sums of cells are added to the matrix; few columns leave room for more rows.
Row rows_together(std::size_t n_columns) {
    constexpr std::size_t values = std::size_t{1} << 19;
    constexpr std::size_t least = 8192;
    constexpr std::size_t most = 32768;
    return static_cast<Row>(std::clamp(values / std::max<std::size_t>(n_columns, 1), least, most));
}

std::size_t support(const Group& group) {
    return std::visit([](const auto& basis) { return static_cast<std::size_t>(basis.support()); },
                      group.basis);
}

// Coefficients per feature after thinning.
std::size_t thinned_stride(const Group& group, std::int64_t factor) {
    return n_thinned(group.size(), support(group), static_cast<std::size_t>(factor)) +
           (group.has_missing() ? 1 : 0);
}

// Copies the upper triangle to the lower one, in tiles, since it reads columns and writes rows.
void mirror(std::vector<double>& matrix, std::size_t n, int n_threads) {
    constexpr std::size_t tile = 32;
    const auto size = static_cast<std::ptrdiff_t>(n);
    parallel_pieces(0, size, tile, n_threads, [&](std::ptrdiff_t first, std::ptrdiff_t last) {
        for (std::size_t a = 0; a < index(last); a += tile)
            for (std::size_t row = index(first); row < index(last); ++row)
                for (std::size_t k = a; k < std::min(a + tile, row); ++k)
                    matrix[row * n + k] = matrix[k * n + row];
    });
}

// Computes the matrix for groups of dense rows.
class DenseHessian {
public:
    DenseHessian(Groups groups, std::span<const std::int64_t> factors,
                 std::span<const std::int64_t> places, std::size_t n, std::span<const double> h,
                 double bias, int n_threads)
        : groups_(groups), n_(n), h_(h), bias_(bias), n_threads_(n_threads), total_(n * n) {
        for (std::size_t g = 0; g < groups.size(); ++g) {
            readers_.push_back(make_reader(*groups[g]));
            const auto& shapes = readers_.back()->shapes();
            const std::size_t stride = thinned_stride(*groups[g], factors[g]);
            for (std::size_t c = 0; c < shapes.size(); ++c) {
                PlacedColumn column = placed(shapes[c], static_cast<std::size_t>(factors[g]),
                                             places.subspan(shapes[c].feature * stride, stride));
                column.group = g;
                column.number = c;
                if (column.n_cells() > 1) columns_.push_back(std::move(column));
            }
            places = places.subspan(groups[g]->n_features() * stride);
        }
        PlacedColumn last;  // the bias: one cell, one weight
        last.group = groups.size();
        last.shape.width = 1;
        last.places = {static_cast<std::int64_t>(n - 1)};
        columns_.push_back(std::move(last));
    }

    std::vector<double> compute() {
        const auto n_rows = static_cast<Row>(h_.size());
        const Row together = rows_together(columns_.size());
        read_in_order(RowsOfAll{groups_}, n_rows, together, [&](Row begin, Row end) {
            read(begin, end);
            parallel_for(static_cast<Row>(columns_.size()), n_threads_, [&](Row a) {
                add_pairs(index(a), &h_[index(begin)], index(end - begin));
            });
        });
        mirror(total_, n_, n_threads_);
        return std::move(total_);
    }

private:
    // Reads the rows [begin, end) into all columns.
    void read(Row begin, Row end) {
        constexpr Row per_task = 256;
        const auto n = static_cast<std::size_t>(end - begin);
        std::vector<std::vector<Column*>> to;
        for (const auto& reader : readers_) to.emplace_back(reader->shapes().size(), nullptr);
        for (PlacedColumn& column : columns_) {
            column.rows.resize(n, column.shape);
            if (column.group < to.size()) to[column.group][column.number] = &column.rows;
        }
        Column& bias_column = columns_.back().rows;
        std::ranges::fill(bias_column.cell, 0);
        std::ranges::fill(bias_column.weight, bias_);
        parallel_pieces(begin, end, per_task, n_threads_, [&](Row first, Row last) {
            for (std::size_t g = 0; g < readers_.size(); ++g)
                readers_[g]->read(first, last, to[g].data(), index(first - begin));
            for (PlacedColumn& column : columns_)
                if (!column.cells.empty())
                    column.renumber(index(first - begin), index(last - begin));
        });
        // All but the bias, which is nonzero in every row.
        parallel_for(static_cast<Row>(columns_.size() - 1), n_threads_,
                     [&](Row c) { columns_[index(c)].list_rows(); });
    }

    // Adds the products of one column with itself and all later ones. Of two columns the rarer one
    // determines which rows are visited.
    void add_pairs(std::size_t first, const double* h, std::size_t n) {
        PlacedColumn& a = columns_[first];
        const simd::CellColumn weighted = times(a.rows, a.shape, h, a.scaled);
        PickedRows of_a, of_both, of_b;
        const simd::CellColumn own = a.is_rare ? of_a.pick(weighted, a.listed) : weighted;
        CellSums sum;
        for (std::size_t second = first; second < columns_.size(); ++second) {
            const PlacedColumn& b = columns_[second];
            const simd::CellColumn other = b.rows.view(b.shape);
            if (is_rarer(b, a)) {
                const simd::CellColumn some = of_both.pick(weighted, b.listed);
                add_pair(a, b, some, of_b.pick(other, b.listed), b.listed.size(), sum);
            } else if (a.is_rare) {
                add_pair(a, b, own, of_b.pick(other, a.listed), a.listed.size(), sum);
            } else {
                add_pair(a, b, own, other, n, sum);
            }
        }
    }

    static bool is_rarer(const PlacedColumn& b, const PlacedColumn& a) noexcept {
        return b.is_rare && (!a.is_rare || b.listed.size() < a.listed.size());
    }

    // Adds the products of columns a and b over n rows: of_a are the weights of a times h, of_b
    // those of b.
    void add_pair(const PlacedColumn& a, const PlacedColumn& b, const simd::CellColumn& of_a,
                  const simd::CellColumn& of_b, std::size_t n, CellSums& sum) {
        const std::size_t per_pair = a.shape.width * b.shape.width;
        if (&a == &b) {
            sum.reset(a.n_cells() * per_pair);
            simd::add_own(of_a, of_b, n, sum.to());
            place_own(a, sum.total());
        } else if (a.n_cells() * b.n_cells() * per_pair <= 4 * n) {
            sum.reset(a.n_cells() * b.n_cells() * per_pair);
            simd::add_joint(of_a, of_b, static_cast<std::int32_t>(b.n_cells()), n, sum.to());
            place_joint(a, b, sum.total());
        } else {
            add_directly(a, b, of_a, of_b, n);
        }
    }

    // Adds to an entry of the upper triangle; negative indices are skipped.
    void add(std::int64_t row, std::int64_t column, double value) noexcept {
        if (row < 0 || column < 0) return;
        const auto low = static_cast<std::size_t>(std::min(row, column));
        const auto high = static_cast<std::size_t>(std::max(row, column));
        total_[low * n_ + high] += value;
    }

    // Adds the sums per cell of a column with itself to the matrix.
    void place_own(const PlacedColumn& a, std::span<const double> sum) noexcept {
        const std::size_t width = a.shape.width;
        const double* value = sum.data();
        for (std::size_t k = 0; k < a.n_cells(); ++k)
            for (std::size_t p = 0; p < width; ++p)
                for (std::size_t q = 0; q < width; ++q, ++value)
                    if (p <= q) add(a.places[k * width + p], a.places[k * width + q], *value);
    }

    // Adds the sums per pair of cells of two columns to the matrix.
    void place_joint(const PlacedColumn& a, const PlacedColumn& b,
                     std::span<const double> sum) noexcept {
        const std::size_t wa = a.shape.width;
        const std::size_t wb = b.shape.width;
        const double* value = sum.data();
        // Columns are in the order of their places, so all of this is above the diagonal.
        for (std::size_t k = 0; k < a.n_cells(); ++k)
            for (std::size_t l = 0; l < b.n_cells(); ++l)
                for (std::size_t p = 0; p < wa; ++p, value += wb) {
                    const std::int64_t row = a.places[k * wa + p];
                    if (row < 0) continue;
                    double* to = &total_[static_cast<std::size_t>(row) * n_];
                    for (std::size_t q = 0; q < wb; ++q)
                        if (const std::int64_t at = b.places[l * wb + q]; at >= 0)
                            to[at] += value[q];
                }
    }

    // Adds products to the matrix row by row, if there are many more pairs of cells than rows.
    void add_directly(const PlacedColumn& a, const PlacedColumn& b, const simd::CellColumn& of_a,
                      const simd::CellColumn& of_b, std::size_t n) noexcept {
        const std::size_t wa = a.shape.width;
        const std::size_t wb = b.shape.width;
        for (std::size_t i = 0; i < n; ++i) {
            const std::int64_t* pa = &a.places[static_cast<std::size_t>(of_a.cell[i]) * wa];
            const std::int64_t* pb = &b.places[static_cast<std::size_t>(of_b.cell[i]) * wb];
            for (std::size_t p = 0; p < wa; ++p)
                for (std::size_t q = 0; q < wb; ++q) {
                    const double weight = of_b.weight == nullptr ? 1.0 : of_b.weight[i * wb + q];
                    add(pa[p], pb[q], of_a.weight[i * wa + p] * weight);
                }
        }
    }

    Groups groups_;
    std::size_t n_;
    std::span<const double> h_;
    double bias_;
    int n_threads_;
    std::vector<std::unique_ptr<ColumnReader>> readers_;
    std::vector<PlacedColumn> columns_;
    std::vector<double> total_;
};

// The nonzero entries of (B_i, bias) for one row, with their places in the matrix.
struct PlacedRow {
    std::vector<std::size_t> place;
    std::vector<double> value;

    void push(std::int64_t at, double v) {
        if (at < 0 || v == 0.0) return;
        place.push_back(static_cast<std::size_t>(at));
        value.push_back(v);
    }
};

// Appends the entries of row i of one group to `out`.
void read_row(const Group& group, Row i, std::span<const std::int64_t> places, PlacedRow& out) {
    std::visit(
        [&](const auto& source, const auto& basis) {
            std::vector<double> w(static_cast<std::size_t>(basis.support()));
            source.for_each(i, [&](std::size_t j, double x) {
                const auto own = places.subspan(j * group.stride(), group.stride());
                if (std::isnan(x) && group.has_missing()) return out.push(own.back(), 1.0);
                const int start = basis.evaluate(std::isnan(x) ? 0.0 : x, w.data());
                for (std::size_t p = 0; p < w.size(); ++p)
                    out.push(own[static_cast<std::size_t>(start) + p], w[p]);
            });
        },
        group.rows, group.basis);
}

// The matrix row by row, for sparse rows.
std::vector<double> hessian_by_row(Groups groups, std::span<const std::int64_t> places,
                                   std::size_t n, std::span<const double> h, double bias,
                                   int n_threads) {
    const auto part = [&](Row begin, Row end, std::vector<double>& sum) {
        PlacedRow row;
        sum.assign(n * n, 0.0);
        for (Row i = begin; i < end; ++i) {
            const double weight = h[static_cast<std::size_t>(i)];
            if (weight == 0.0) continue;
            row.place.clear();
            row.value.clear();
            std::span<const std::int64_t> left = places;
            for (const Group* group : groups) {
                read_row(*group, i, left.first(group->n_coefficients()), row);
                left = left.subspan(group->n_coefficients());
            }
            row.push(static_cast<std::int64_t>(n - 1), bias);
            for (std::size_t a = 0; a < row.place.size(); ++a) {
                const double factor = weight * row.value[a];
                double* to = &sum[row.place[a] * n];
                for (std::size_t b = a; b < row.place.size(); ++b)
                    to[row.place[b]] += factor * row.value[b];
            }
        }
    };
    const auto n_rows = static_cast<Row>(h.size());
    // Few pieces, since each holds a matrix; their number does not depend on n_threads.
    constexpr Row n_parts = 8;
    const Row piece = std::max<Row>(n_pieces(n_rows, n_parts), 1);
    std::vector<double> total = sum_over(RowsOfAll{groups}, n_rows, piece, n * n, n_threads, part);
    mirror(total, n, n_threads);
    return total;
}

// Checks the factors and returns the number of coefficients of all groups after thinning.
std::size_t check_factors(Groups groups, std::span<const std::int64_t> factors) {
    check(groups);
    must_be("the number of factors, one per group,", factors.size(), groups.size());
    std::size_t total = 0;
    for (std::size_t g = 0; g < groups.size(); ++g) {
        const bool can_be_thinned =
            support(*groups[g]) <= 2 && groups[g]->size() >= 2 && !has_sparse_rows(*groups[g]);
        must(factors[g] == 1 || (factors[g] > 1 && can_be_thinned),
             "only B-splines of degree 0 and 1 can be thinned, of rows that are not sparse");
        total += groups[g]->n_features() * thinned_stride(*groups[g], factors[g]);
    }
    return total;
}

void check_places(Groups groups, std::size_t n_left, std::span<const std::int64_t> places,
                  std::size_t n, std::span<const double> h) {
    must_be("the number of places, one per coefficient,", places.size(), n_left);
    std::int64_t before = -1;
    std::size_t n_placed = 0;
    for (const std::int64_t place : places) {
        if (place < 0) continue;
        must(place > before, "the places must ascend");
        before = place;
        ++n_placed;
    }
    must_be("the size of the matrix, one more than places,", n, n_placed + 1);
    if (n_placed > 0) must_be_one_of("place", before, n_placed);
    must(static_cast<Row>(h.size()) <= groups.front()->n_rows(), "there are more h than rows");
}

}  // namespace

std::vector<double> hessian_some(Groups groups, std::span<const std::int64_t> places, std::size_t n,
                                 std::span<const double> h, double bias, int n_threads) {
    const std::vector<std::int64_t> whole(groups.size(), 1);
    return hessian_thinned(groups, whole, places, n, h, bias, n_threads);
}

std::vector<double> hessian_thinned(Groups groups, std::span<const std::int64_t> factors,
                                    std::span<const std::int64_t> places, std::size_t n,
                                    std::span<const double> h, double bias, int n_threads) {
    check_places(groups, check_factors(groups, factors), places, n, h);
    if (std::ranges::any_of(groups, [](const Group* group) { return has_sparse_rows(*group); }))
        return hessian_by_row(groups, places, n, h, bias, n_threads);
    return DenseHessian(groups, factors, places, n, h, bias, n_threads).compute();
}

Buffer<double> upper_half(std::span<const double> matrix, std::size_t n, int n_threads) {
    must_be("the size of the matrix", matrix.size(), n * n);
    constexpr std::ptrdiff_t rows_per_task = 16;
    Buffer<double> out(n * (n + 1) / 2);
    parallel_pieces(0, static_cast<std::ptrdiff_t>(n), rows_per_task, n_threads,
                    [&](std::ptrdiff_t first, std::ptrdiff_t last) {
                        for (std::size_t k = index(first); k < index(last); ++k)
                            std::copy_n(&matrix[k * n + k], n - k, &out[k * n - k * (k - 1) / 2]);
                    });
    return out;
}

}  // namespace splinear
