#include "operators/many_outputs.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <variant>

#include "operators/hessian.hpp"
#include "operators/partial_sums.hpp"
#include "operators/passes.hpp"
#include "simd/dispatch.hpp"
#include "simd/kernels.hpp"
#include "simd/many.hpp"
#include "support/aligned.hpp"
#include "support/checks.hpp"

namespace splinear {
namespace {

constexpr Row rows_per_float_sum = 2048;  // rows that may be summed in single precision
constexpr std::size_t rows_at_once = 64;
constexpr std::size_t features_per_part = 16;  // see sum_parts_over()

// A group that the kernels for several outputs support: B-splines of degree 0 or 1 on 16-bit codes.
struct ManyGroup {
    const CodedRows* rows;
    simd::ManyShape shape;
    std::size_t stride;

    // None for other groups, and if SPLINEAR_INSTRUCTIONS asks for the reference.
    static std::optional<ManyGroup> of(const Group& group) {
        const auto* rows = std::get_if<CodedRows>(&group.rows);
        const bool is_flat = std::holds_alternative<BSpline<0>>(group.basis);
        const bool is_straight = std::holds_alternative<BSpline<1>>(group.basis);
        if (rows == nullptr || !(is_flat || is_straight) || simd::chosen() == nullptr)
            return std::nullopt;
        // One more entry, because the kernels read the code of a missing value and its neighbor.
        const simd::ManyShape shape{is_flat ? 0 : 1, is_flat ? 0 : rows->grid().fraction_bits,
                                    group.stride() + 1, group.n_features()};
        return ManyGroup{rows, shape, group.stride()};
    }

    // The size of tables for simd::output_lanes outputs.
    std::size_t length() const noexcept {
        return shape.n_features * shape.entries * simd::output_lanes;
    }

    // The index of function k of feature j in such tables; outputs are next to each other.
    std::size_t entry(std::size_t j, std::size_t k) const noexcept {
        return (j * shape.entries + k) * simd::output_lanes;
    }

    // The number of rows of one partial sum of `length` numbers.
    Row rows_per_sum(std::size_t length) const noexcept {
        return rows_per_piece(rows->n_rows(), length / 4, shape.n_features, rows_per_float_sum);
    }

    // Calls use(codes, first row, number of rows) for the rows [begin, end), up to rows_at_once at
    // a time. codes[a] points to the code of `feature` in row first + a.
    template <class Use>
    void over_rows(Row begin, Row end, const Use& use, std::size_t feature = 0) const {
        std::array<const Code*, rows_at_once> codes;
        for_each_piece(begin, end, static_cast<Row>(rows_at_once), [&](Row first, Row last) {
            for (Row i = first; i < last; ++i) codes[index(i - first)] = rows->row(i) + feature;
            use(codes.data(), index(first), index(last - first));
        });
    }
};

// The outputs first, ..., first + count - 1, and where a group's numbers are in an array of
// `length` numbers per output: from `offset` on.
struct OutputRange {
    std::size_t first;
    std::size_t count;
    std::size_t length;
    std::size_t offset;

    std::size_t start_of(std::size_t o) const noexcept { return (first + o) * length + offset; }
};

// Writes the group's scores for some outputs to out (n_outputs x n_rows), or adds them if it is not
// the first group. coef is n_outputs x length.
void put_scores(const ManyGroup& group, std::span<const double> coef, const OutputRange& outputs,
                int n_threads, double* out) {
    const Put how = outputs.offset == 0 ? Put::first : Put::more;
    AlignedFloats tables(group.length());
    for (std::size_t o = 0; o < outputs.count; ++o) {
        const double* own = &coef[outputs.start_of(o)];
        for (std::size_t j = 0; j < group.shape.n_features; ++j)
            for (std::size_t k = 0; k < group.stride; ++k)
                tables[group.entry(j, k) + o] = static_cast<float>(own[j * group.stride + k]);
    }
    const Row n_rows = group.rows->n_rows();
    const auto score_rows = [&](Row begin, Row end) {
        group.over_rows(begin, end, [&](auto codes, auto i, auto n) {
            std::array<float, rows_at_once * simd::output_lanes> scores{};
            simd::score_many(group.shape, tables.data(), codes, n, scores.data());
            for (std::size_t o = 0; o < outputs.count; ++o) {
                double* to = out + (outputs.first + o) * index(n_rows) + i;
                for (std::size_t a = 0; a < n; ++a)
                    put(how, static_cast<double>(scores[a * simd::output_lanes + o]), to[a]);
            }
        });
    };
    constexpr Row rows_per_task = 512;
    read_in_order(*group.rows, n_rows, group.rows->rows_per_block(), [&](Row begin, Row end) {
        parallel_pieces(begin, end, rows_per_task, n_threads, score_rows);
    });
}

// Whether it is faster to process features one by one: the kernels for one output take as long for
// a few features as for a whole tile. Fewer still if tables fit in a few registers.
bool has_few(const ManyGroup& group) {
    const bool is_long = group.shape.entries > static_cast<std::size_t>(simd::short_entries);
    return group.shape.n_features <= (is_long ? 8u : 4u);
}

// The same as put_scores() for one output and few features; out has n_rows entries.
void put_few_scores(const ManyGroup& group, std::span<const double> coef, Put how, int n_threads,
                    double* out) {
    std::vector<float> tables(group.shape.n_features * group.shape.entries);
    for (std::size_t j = 0; j < group.shape.n_features; ++j)
        for (std::size_t k = 0; k < group.stride; ++k)
            tables[j * group.shape.entries + k] = static_cast<float>(coef[j * group.stride + k]);
    const auto score_rows = [&](Row begin, Row end) {
        group.over_rows(begin, end, [&](auto codes, auto i, auto n) {
            std::array<float, rows_at_once> scores{};
            simd::score_few(group.shape, tables.data(), codes, n, scores.data());
            for (std::size_t a = 0; a < n; ++a)
                put(how, static_cast<double>(scores[a]), out[i + a]);
        });
    };
    constexpr Row rows_per_task = 1024;
    read_in_order(*group.rows, group.rows->n_rows(), group.rows->rows_per_block(),
                  [&](Row begin, Row end) {
                      parallel_pieces(begin, end, rows_per_task, n_threads, score_rows);
                  });
}

// Copies r (n_outputs x n_rows) of some outputs for the rows i, ..., i + n - 1 to `to`, in single
// precision, `lanes` numbers per row.
void gather(std::span<const double> r, std::size_t n_rows, const OutputRange& outputs,
            std::size_t lanes, std::size_t i, std::size_t n, float* to) {
    for (std::size_t o = 0; o < outputs.count; ++o)
        for (std::size_t a = 0; a < n; ++a)
            to[a * lanes + o] = static_cast<float>(r[(outputs.first + o) * n_rows + i + a]);
}

// Writes the group's sums for some outputs to out (n_outputs x length).
void write_sums(const ManyGroup& group, std::span<const double> r, const OutputRange& outputs,
                int n_threads, double* out) {
    const std::size_t n_rows = index(group.rows->n_rows());
    const auto part = [&](Row begin, Row end, std::vector<double>& sum) {
        AlignedFloats tables(group.length());
        group.over_rows(begin, end, [&](auto codes, auto i, auto n) {
            std::array<float, rows_at_once * simd::output_lanes> own{};
            gather(r, n_rows, outputs, simd::output_lanes, i, n, own.data());
            simd::sum_many(group.shape, codes, own.data(), n, tables.data());
        });
        sum.assign(tables.begin(), tables.end());
    };
    const std::vector<double> sums =
        sum_over(*group.rows, group.rows->n_rows(), group.rows_per_sum(group.length()),
                 group.length(), n_threads, part);
    for (std::size_t o = 0; o < outputs.count; ++o) {
        double* own = out + outputs.start_of(o);
        for (std::size_t j = 0; j < group.shape.n_features; ++j)
            for (std::size_t k = 0; k < group.stride; ++k)
                own[j * group.stride + k] = sums[group.entry(j, k) + o];
    }
}

// Writes the group's blocks for some outputs to out (n_outputs x length). The kernels sum, for each
// bin, the three products of its two functions, `lanes` outputs each; or a single number per bin
// for one output of degree 0.
void write_blocks(const ManyGroup& group, std::span<const double> h, const OutputRange& outputs,
                  int n_threads, double* out) {
    const bool is_one = outputs.count == 1;
    const std::size_t lanes = is_one ? 1 : simd::output_lanes;
    const bool is_flat = is_one && group.shape.degree == 0;
    const std::size_t per_bin = is_flat ? 1 : is_one ? 4 : 3 * simd::output_lanes;
    const std::size_t n_features = group.shape.n_features;
    const std::size_t per_feature = group.shape.entries * per_bin;
    const std::size_t n_rows = index(group.rows->n_rows());
    // The sums for the features `feature`, ..., feature + n - 1 over the rows [begin, end).
    const auto add = [&](Row begin, Row end, std::size_t feature, std::size_t n) {
        AlignedFloats own(n * per_feature);
        simd::ManyShape shape = group.shape;
        shape.n_features = n;
        const auto add_rows = [&](auto codes, auto i, auto m) {
            std::array<float, rows_at_once * simd::output_lanes> r{};
            gather(h, n_rows, outputs, lanes, i, m, r.data());
            const auto kernel = is_flat ? simd::sum_few : is_one ? simd::own_one : simd::own_many;
            kernel(shape, codes, r.data(), m, own.data());
        };
        group.over_rows(begin, end, add_rows, feature);
        return own;
    };
    const std::size_t size = n_features * per_feature;
    const Row piece = group.rows_per_sum(size);
    const auto starts = part_starts(n_features, per_feature, features_per_part);
    const std::vector<double> sums = sum_parts_over(
        *group.rows, group.rows->n_rows(), piece, starts, n_threads,
        [&](Row begin, Row end, double* to) {
            const auto own = add(begin, end, 0, n_features);
            std::copy(own.begin(), own.end(), to);
        },
        [&](Row begin, Row end, std::size_t p, double* to) {
            const std::size_t n = (starts[p + 1] - starts[p]) / per_feature;
            const auto own = add(begin, end, p * features_per_part, n);
            std::copy(own.begin(), own.end(), to);
        });
    const std::size_t support = group.shape.degree == 0 ? 1 : 2;
    const auto product = [&](std::size_t j, std::size_t bin, std::size_t q, std::size_t o) {
        return sums[(j * group.shape.entries + bin) * per_bin + q * lanes + o];
    };
    for (std::size_t o = 0; o < outputs.count; ++o) {
        double* to = out + outputs.start_of(o);
        for (std::size_t j = 0; j < group.shape.n_features; ++j)
            for (std::size_t k = 0; k < group.stride; ++k, to += support) {
                to[0] = product(j, k, 0, o);
                if (support == 1) continue;
                if (k > 0) to[0] += product(j, k - 1, 2, o);
                to[1] = product(j, k, 1, o);
            }
    }
}

// For each group: if the kernels support it and there are at least `least` outputs, calls
// together(group, outputs) for runs of up to simd::output_lanes outputs; otherwise
// alone(output, index of the group) for each output. `starts` is that of starts_of().
template <class Together, class Alone>
void over_groups(Groups groups, const std::vector<std::size_t>& starts, std::size_t n_outputs,
                 std::size_t least, const Together& together, const Alone& alone) {
    for (std::size_t g = 0; g < groups.size(); ++g) {
        const auto served = ManyGroup::of(*groups[g]);
        if (served && n_outputs >= least)
            for (std::size_t first = 0; first < n_outputs; first += simd::output_lanes)
                together(*served,
                         OutputRange{first, std::min(simd::output_lanes, n_outputs - first),
                                     starts.back(), starts[g]});
        else
            for (std::size_t o = 0; o < n_outputs; ++o) alone(o, g);
    }
}

// The start of each group's numbers, length_of(group) many, and the end of the last one's.
template <class LengthOf>
std::vector<std::size_t> starts_of(Groups groups, const LengthOf& length_of) {
    std::vector<std::size_t> starts{0};
    for (const Group* group : groups) starts.push_back(starts.back() + length_of(*group));
    return starts;
}

// Lengths of a group's sums and blocks.
std::size_t n_numbers(const Group& group) { return group.n_coefficients(); }

std::size_t n_in_bands(const Group& group) { return group.n_coefficients() * group.support(); }

void write(const std::vector<double>& from, std::vector<double>& to, std::size_t at) {
    std::copy(from.begin(), from.end(), to.begin() + static_cast<std::ptrdiff_t>(at));
}

}  // namespace

Buffer<double> score_many(Groups groups, std::size_t n_outputs, std::span<const double> coef,
                          int n_threads) {
    check(groups);
    const auto starts = starts_of(groups, n_numbers);
    const std::size_t length = starts.back();
    must_be("the size of tables, one number per output and coefficient,", coef.size(),
            n_outputs * length);
    const auto n_rows = index(groups.front()->n_rows());
    Buffer<double> out(n_outputs * n_rows);
    over_groups(
        groups, starts, n_outputs, 2,
        [&](const ManyGroup& group, const OutputRange& outputs) {
            put_scores(group, coef, outputs, n_threads, out.data());
        },
        [&](std::size_t o, std::size_t g) {
            const auto own = coef.subspan(o * length + starts[g], starts[g + 1] - starts[g]);
            const auto served = ManyGroup::of(*groups[g]);
            const Put how = g == 0 ? Put::first : Put::more;
            if (served && has_few(*served))
                return put_few_scores(*served, own, how, n_threads, out.data() + o * n_rows);
            put_scores(*groups[g], own, how, n_threads, out.data() + o * n_rows);
        });
    return out;
}

std::vector<double> sum_many(Groups groups, std::size_t n_outputs, std::span<const double> r,
                             int n_threads) {
    check(groups);
    const auto n_rows = index(groups.front()->n_rows());
    must_be("the size of r, one number per output and row,", r.size(), n_outputs * n_rows);
    const auto starts = starts_of(groups, n_numbers);
    const std::size_t length = starts.back();
    std::vector<double> out(n_outputs * length);
    over_groups(
        groups, starts, n_outputs, 2,
        [&](const ManyGroup& group, const OutputRange& outputs) {
            write_sums(group, r, outputs, n_threads, out.data());
        },
        [&](std::size_t o, std::size_t g) {
            const auto own = r.subspan(o * n_rows, n_rows);
            write(sum_one(*groups[g], own, n_threads), out, o * length + starts[g]);
        });
    return out;
}

std::vector<double> blocks_many(Groups groups, std::size_t n_outputs, std::span<const double> h,
                                int n_threads) {
    check(groups);
    const auto n_rows = index(groups.front()->n_rows());
    must_be("the size of h, one number per output and row,", h.size(), n_outputs * n_rows);
    const auto starts = starts_of(groups, n_in_bands);
    const std::size_t length = starts.back();
    std::vector<double> out(n_outputs * length);
    over_groups(
        groups, starts, n_outputs, 1,
        [&](const ManyGroup& group, const OutputRange& outputs) {
            write_blocks(group, h, outputs, n_threads, out.data());
        },
        [&](std::size_t o, std::size_t g) {
            const auto own = h.subspan(o * n_rows, n_rows);
            write(blocks_all(groups.subspan(g, 1), own, n_threads), out, o * length + starts[g]);
        });
    return out;
}

}  // namespace splinear
