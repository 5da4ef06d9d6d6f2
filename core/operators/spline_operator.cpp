#include "operators/spline_operator.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "model/penalty/any.hpp"

namespace splinear {

SplineOperator::SplineOperator(const CodedRows& source, const DifferencePenalty& penalty,
                               std::span<const double> variance, const simd::Kernels& kernels,
                               int n_threads, const MissingValues& missing)
    : codes_(source.codes()),
      n_rows_(source.n_rows()),
      penalty_(penalty),
      kernels_(kernels),
      n_threads_(n_threads),
      missing_(missing),
      variance_(variance.size()),
      ones_(variance.size(), 1.0f),
      exact_variance_(variance.begin(), variance.end()) {
    for (std::size_t j = 0; j < variance.size(); ++j)
        variance_[j] = static_cast<float>(variance[j]);
}

// Single precision changes a coefficient by about 1e-7 of itself, and differences of order d are
// smaller than the coefficients by a factor of about n^d.
bool SplineOperator::needs_exact_tables() const noexcept {
    constexpr double largest_ratio = 1 << 17;
    return missing_.any() || std::pow(static_cast<double>(size_), shape_.order) > largest_ratio;
}

GroupTables SplineOperator::zero_tables() const {
    return {AlignedFloats(whole_pieces(shape_.n_features, std::size_t{simd::tile}) * entries()),
            std::vector<double>(needs_exact_tables() ? shape_.n_features * exact_width() : 0)};
}

GroupTables SplineOperator::tables_of(std::span<const double> coef) const {
    GroupTables tables = zero_tables();
    if (needs_exact_tables()) {
        tables.exact = missing_.tables_of(coef, shape_.n_features);
        for (std::size_t j = 0; j < shape_.n_features; ++j)
            round(tables, j, &tables.single[j * entries()]);
        return tables;
    }
    for (std::size_t j = 0; j < shape_.n_features; ++j)
        std::transform(&coef[j * size_], &coef[j * size_] + size_, &tables.single[j * entries()],
                       [](double c) { return static_cast<float>(c); });
    return tables;
}

// Rounds feature j's table from double to single precision.
void SplineOperator::round(const GroupTables& tables, std::size_t j, float* single) const noexcept {
    const double* exact = &tables.exact[j * exact_width()];
    std::transform(exact, exact + size_, single, [](double c) { return static_cast<float>(c); });
    if (missing_.any())
        std::fill_n(single + size_, shape_.degree + 1, static_cast<float>(exact[size_]));
}

void SplineOperator::score(std::span<const Row> rows, const GroupTables& tables,
                           double* out) const {
    // Many rows per task, because tables are read once for all of them; but work for every thread.
    const std::size_t share = n_pieces(rows.size(), 2 * static_cast<std::size_t>(n_threads_));
    const std::size_t n = std::clamp(whole_pieces(share, std::size_t{simd::lanes}),
                                     std::size_t{simd::lanes}, max_rows_at_once);
    in_parallel(n_pieces(rows.size(), n), rows.size(), [&](std::size_t task) {
        const std::size_t a = task * n;
        score_together(rows.subspan(a, std::min(n, rows.size() - a)), tables.single, out + a);
    });
}

// Scores up to max_rows_at_once rows. Long tables do not all fit in the cache, so all rows are
// scored with some of them before the next are read.
void SplineOperator::score_together(std::span<const Row> rows, const AlignedFloats& tables,
                                    double* out) const {
    std::array<const Code*, max_rows_at_once> codes;
    std::array<float, max_rows_at_once> scores;
    const std::size_t n = whole_pieces(rows.size(), std::size_t{simd::lanes});
    for (std::size_t a = 0; a < n; ++a) {
        codes[a] = codes_.row(rows[a < rows.size() ? a : 0]);  // padded with the first row
        scores[a] = 0.0f;
    }
    const std::size_t step = is_long() ? long_tables_at_once : shape_.n_features;
    for (std::size_t j = 0; j < shape_.n_features; j += step) {
        const Part part = part_from(j, step);
        kernels_.score(part.shape, tables.data() + j * entries(), codes.data(), n, scores.data());
        for (std::size_t a = 0; a < n; ++a) codes[a] += part.shape.n_features;
    }
    std::copy_n(scores.begin(), rows.size(), out);
}

void SplineOperator::gram(std::span<const Row> rows, double* out, TeamIndex&) const {
    const std::size_t m = rows.size();
    const auto codes = pointers(rows);
    if (pair_kernel_ == nullptr) {
        const bool by_part = kernels_.products != nullptr && !missing_.any();
        return by_part ? gram_by_part(codes, out) : gram_by_score(codes, out);
    }
    in_parallel(m, m * m / 2, [&](std::size_t a) {
        std::array<float, simd::max_team> line;
        const std::size_t left = m - a - 1;
        pair_kernel_(shape_, codes[a], codes.data() + a + 1, left, line.data());
        for (std::size_t b = 0; b < left; ++b)
            out[a * m + a + 1 + b] = pair_factor_ * (static_cast<double>(line[b]) + pair_offset_);
    });
}

// By products(): every part of the features computes its share, and shares are added in order.
void SplineOperator::gram_by_part(const Pointers& codes, double* out) const {
    const std::size_t m = codes.size();
    std::vector<float> shares(n_parts() * m * m);
    in_parallel(n_parts(), m * m / 2, [&](std::size_t p) {
        const Part part = part_at(p);
        kernels_.products(part.shape, smoother(), &variance_[part.first],
                          shifted(codes, part.first).data(), m, &shares[p * m * m]);
    });
    std::fill_n(out, m * m, 0.0);
    for (std::size_t i = 0; i < shares.size(); ++i)
        out[i % (m * m)] += static_cast<double>(shares[i]);
}

// By scores: phi_a'phi_b is the score of row b with the tables of w = phi_a. One tile of features
// at a time, so that these tables stay in the cache.
void SplineOperator::gram_by_score(const Pointers& codes, double* out) const {
    const std::size_t m = codes.size();
    in_parallel(m, m * m / 2, [&](std::size_t a) {
        if (a + 1 == m) return;
        AlignedFloats tables(simd::tile * entries());
        std::array<float, simd::max_team + simd::lanes> products{};
        for (std::size_t j = 0; j < shape_.n_features; j += simd::tile) {
            const simd::Shape part = part_from(j, simd::tile).shape;
            Pointers here = shifted(std::span(codes).subspan(a), j);
            here.resize(here.size() + simd::lanes, here.back());
            std::fill(tables.begin(), tables.end(), 0.0f);
            const float step = 1.0f;
            kernels_.add(part, smoother(), &variance_[j], here.data(), &step, 1, tables.data());
            if (missing_.any()) couple_missing(here[0], j, part.n_features, tables.data());
            kernels_.score(part, tables.data(), &here[1],
                           whole_pieces(m - a - 1, std::size_t{simd::lanes}), &products[1]);
        }
        std::copy_n(&products[1], m - a - 1, out + a * m + a + 1);
    });
}

// Completes the tables of w = phi of a row, for features first, ..., first + n - 1, which the
// kernel has filled as if nothing were missing. A feature that is missing in the row gets the table
// of a missing value; for the others, the entries for a missing x are set to the product of the
// row's part of phi with that of a missing value.
void SplineOperator::couple_missing(const Code* row, std::size_t first, std::size_t n,
                                    float* tables) const {
    const std::uint32_t missing_code = codes_.grid().missing_code;
    const float unit = 1.0f / static_cast<float>(1 << shape_.fraction_bits);
    const int mask = (1 << shape_.fraction_bits) - 1;
    const auto n_copies = static_cast<std::size_t>(shape_.degree) + 1;
    for (std::size_t i = 0; i < n; ++i, tables += entries()) {
        const float* missing_row = &missing_rows_[(first + i) * entries()];
        if (row[i] == missing_code) {
            std::copy_n(missing_row, entries(), tables);
            continue;
        }
        std::array<double, 4> w{};
        const double a = static_cast<double>(static_cast<float>(row[i] & mask) * unit);
        switch (shape_.degree) {
            case 0: BSpline<0>::weights(a, w.data()); break;
            case 1: BSpline<1>::weights(a, w.data()); break;
            case 2: BSpline<2>::weights(a, w.data()); break;
            default: BSpline<3>::weights(a, w.data());
        }
        // At the right end of the axis at[degree] is an entry for missing values; its weight is 0.
        const float* at = missing_row + (row[i] >> shape_.fraction_bits);
        double common = 0.0;
        for (std::size_t p = 0; p < n_copies; ++p) common += w[p] * static_cast<double>(at[p]);
        std::fill_n(tables + size_, n_copies, static_cast<float>(common));
    }
}

void SplineOperator::add(std::span<const Row> rows, const double* steps, GroupTables& tables,
                         TeamIndex&) const {
    const auto codes = pointers(rows);
    const std::vector<float> single(steps, steps + rows.size());
    // Several parts per thread, so that none is idle for long.
    const std::size_t share = n_pieces(shape_.n_features, 4 * static_cast<std::size_t>(n_threads_));
    const std::size_t n = std::min(whole_pieces(share, std::size_t{simd::tile}), features_per_part);
    in_parallel(n_pieces(shape_.n_features, n), rows.size(), [&](std::size_t p) {
        const Part part = part_from(p * n, n);
        const Pointers here = shifted(codes, part.first);
        if (needs_exact_tables()) return add_exactly(part, here, single, tables);
        kernels_.add(part.shape, smoother(), &variance_[part.first], here.data(), single.data(),
                     rows.size(), tables.single.data() + part.first * entries());
    });
}

// add() for tables in double precision, one tile of features at a time: plain sums per basis
// function by the kernel, to which L is applied in double precision.
void SplineOperator::add_exactly(const Part& all, const Pointers& codes,
                                 const std::vector<float>& steps, GroupTables& tables) const {
    AlignedFloats sums(simd::tile * entries());
    std::vector<double> change(size_);
    for (std::size_t j = 0; j < all.shape.n_features; j += simd::tile) {
        Part part = part_from(all.first + j, simd::tile);
        part.shape.order = 0;
        std::fill(sums.begin(), sums.end(), 0.0f);
        kernels_.add(part.shape, nullptr, &ones_[part.first], shifted(codes, j).data(),
                     steps.data(), steps.size(), sums.data());
        for (std::size_t i = 0; i < part.shape.n_features; ++i)
            add_to_feature(part.first + i, &sums[i * entries()], change, tables);
    }
}

// Adds to feature j's table, given the plain sums per basis function. `change` is scratch memory of
// size_ numbers.
void SplineOperator::add_to_feature(std::size_t j, const float* sums, std::vector<double>& change,
                                    GroupTables& tables) const {
    const double missing_steps = missing_sum(sums);
    std::transform(sums, sums + size_, change.begin(),
                   [&](float v) { return exact_variance_[j] * static_cast<double>(v); });
    if (missing_steps != 0.0)
        missing_.add_mean(j, exact_variance_[j] * missing_steps, change.data());
    penalty_.smooth(change.data());
    double* exact = &tables.exact[j * exact_width()];
    for (std::size_t k = 0; k < size_; ++k) exact[k] += change[k];
    if (missing_.any()) missing_.settle(j, missing_steps, exact);
    round(tables, j, &tables.single[j * entries()]);
}

// The sum of the steps of a feature's missing values, which are behind those of basis functions.
double SplineOperator::missing_sum(const float* sums) const noexcept {
    double total = 0.0;
    for (int p = 0; missing_.any() && p <= shape_.degree; ++p)
        total += static_cast<double>(sums[size_ + static_cast<std::size_t>(p)]);
    return total;
}

// The number of features at the end that are summed one by one; see few_to_sum.
std::size_t SplineOperator::n_few() const noexcept {
    const std::size_t left = shape_.degree > 1 ? 0 : shape_.n_features % simd::tile;
    return left <= few_to_sum ? left : 0;
}

void SplineOperator::sum(std::span<const Row> rows, const double* steps,
                         GroupTables& tables) const {
    const auto codes = pointers(rows);
    const std::vector<float> single(steps, steps + rows.size());
    const std::size_t n_last = n_few();
    if (const Part part = part_from(0, shape_.n_features - n_last); part.shape.n_features > 0)
        kernels_.sum(part.shape, codes.data(), single.data(), rows.size(), tables.single.data());
    if (n_last == 0) return;
    const std::size_t first = shape_.n_features - n_last;
    simd::sum_few(few_shape(n_last), shifted(codes, first).data(), single.data(), rows.size(),
                  tables.single.data() + first * entries());
}

std::vector<double> SplineOperator::sums(const GroupTables& tables) const {
    std::vector<double> out(shape_.n_features * (size_ + missing_.coef_extra()));
    double* to = out.data();
    for (std::size_t j = 0; j < shape_.n_features; ++j)
        to = copy_sums(&tables.single[j * entries()], to);
    return out;
}

// Writes the sums of one feature; returns the end of what was written.
double* SplineOperator::copy_sums(const float* table, double* out) const noexcept {
    out = std::copy_n(table, size_, out);
    if (missing_.any()) *out++ = missing_sum(table);
    return out;
}

void SplineOperator::write_sums(std::size_t number, std::span<const Row> rows, const double* steps,
                                double* out) const {
    const Part part = part_from(number * simd::tile, simd::tile);
    const std::size_t n = part.shape.n_features;
    const std::vector<float> single(steps, steps + rows.size());
    auto codes = pointers(rows);
    for (const Code*& row : codes) row += part.first;
    AlignedFloats table(simd::tile * entries());
    if (n == n_few())
        simd::sum_few(few_shape(n), codes.data(), single.data(), rows.size(), table.data());
    else
        kernels_.sum(part.shape, codes.data(), single.data(), rows.size(), table.data());
    for (std::size_t j = 0; j < n; ++j) out = copy_sums(&table[j * entries()], out);
}

double SplineOperator::squared_norm(Row row) const {
    const Code* codes = codes_.row(row);
    double total = kernels_.norm(shape_, polynomial_.data(), variance_.data(), codes);
    const std::uint32_t missing_code = codes_.grid().missing_code;
    for (std::size_t j = 0; j < missing_norm_.size(); ++j)
        total += codes[j] == missing_code ? missing_norm_[j] : 0.0;
    return total;
}

double SplineOperator::squared_weight(const GroupTables& tables) const {
    if (!missing_.any())
        return splinear::squared_weight(penalty_, coefficients(tables), size_, variance_);
    return splinear::squared_weight(penalty_, tables.exact, exact_width(), exact_variance_) +
           missing_.squared_weight(tables.exact);
}

std::vector<double> SplineOperator::coefficients(const GroupTables& tables) const {
    if (needs_exact_tables()) return missing_.coefficients(tables.exact, shape_.n_features);
    std::vector<double> coef(shape_.n_features * size_);
    for (std::size_t j = 0; j < shape_.n_features; ++j)
        std::copy_n(tables.single.data() + j * entries(), size_, &coef[j * size_]);
    return coef;
}

// Computes what prepare() needs of the penalty: L_d, which is not stored for d = 0, and either the
// tables of missing values or the choice of the pair kernel.
void SplineOperator::fill_smoother() {
    if (missing_.any())
        fill_missing_rows();
    else
        note_pair_kernel();
    if (penalty_.order() == 0) return;
    smoother_.resize((static_cast<std::size_t>(shape_.n_basis) + 1) * entries());
    std::vector<double> column(size_);
    for (std::size_t k = 0; k < size_; ++k) {
        std::fill(column.begin(), column.end(), 0.0);
        column[k] = 1.0;
        penalty_.smooth(column.data());
        std::transform(column.begin(), column.end(), &smoother_[k * entries()],
                       [](double v) { return static_cast<float>(v); });
    }
}

void SplineOperator::fill_missing_rows() {
    missing_rows_ = AlignedFloats(shape_.n_features * entries());
    std::vector<double> smooth(size_);
    for (std::size_t j = 0; j < shape_.n_features; ++j) {
        std::fill(smooth.begin(), smooth.end(), 0.0);
        missing_.add_mean(j, exact_variance_[j], smooth.data());
        penalty_.smooth(smooth.data());
        missing_norm_.push_back(missing_.squared_norm(j, penalty_, exact_variance_[j]));
        float* row = &missing_rows_[j * entries()];
        std::transform(smooth.begin(), smooth.end(), row,
                       [](double v) { return static_cast<float>(v); });
        std::fill_n(row + size_, shape_.degree + 1, static_cast<float>(missing_norm_.back()));
    }
}

// min_products() and hat_products() apply if all features that are not constant have the same
// variance. The codes of constant features (variance 0) are 0, which adds 0 to min_products() but
// 1 to hat_products().
void SplineOperator::note_pair_kernel() {
    const float largest = *std::max_element(variance_.begin(), variance_.end());
    const auto n_varying = std::count(variance_.begin(), variance_.end(), largest);
    const auto n_constant = std::count(variance_.begin(), variance_.end(), 0.0f);
    const bool equal = n_varying + n_constant == std::ssize(variance_) && largest > 0.0f;
    if (!equal || shape_.degree > 1 || variance_.size() >= simd::max_ramp) return;
    pair_factor_ = static_cast<double>(largest);
    if (penalty_.order() == 1) {
        pair_kernel_ = kernels_.min_products;
        pair_offset_ = static_cast<double>(n_varying);
    } else if (penalty_.order() == 0 && shape_.degree == 1) {
        pair_kernel_ = kernels_.hat_products;
        pair_offset_ = -static_cast<double>(n_constant);
    }
}

// Up to n features from `first` on.
SplineOperator::Part SplineOperator::part_from(std::size_t first, std::size_t n) const noexcept {
    Part part{first, shape_};
    part.shape.n_features = std::min(n, shape_.n_features - first);
    return part;
}

SplineOperator::Pointers SplineOperator::shifted(std::span<const Code* const> codes,
                                                 std::size_t j) {
    Pointers here(codes.begin(), codes.end());
    for (const Code*& row : here) row += j;
    return here;
}

SplineOperator::Pointers SplineOperator::pointers(std::span<const Row> rows) const {
    Pointers codes;
    codes.reserve(rows.size());
    for (const Row row : rows) codes.push_back(codes_.row(row));
    return codes;
}

}  // namespace splinear
