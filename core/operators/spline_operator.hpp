// The operator for B-splines on coded rows: vector kernels in single precision.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "model/basis/bspline.hpp"
#include "model/missing.hpp"
#include "model/norm_polynomial.hpp"
#include "model/penalty/difference.hpp"
#include "operators/operator.hpp"
#include "rows/any_rows.hpp"
#include "simd/dispatch.hpp"
#include "simd/many.hpp"
#include "support/aligned.hpp"
#include "support/pieces.hpp"

namespace splinear {

// RowOperator is the reference; it also serves bases of more than simd::max_entries functions. The
// table of a feature is padded to a multiple of 16 entries.
//
// GroupTables::single holds the coefficients. GroupTables::exact holds them in double precision as
// well if there are missing values, or if the weights w could not be recovered from differences of
// rounded coefficients. The code of a missing value has fraction 0 in the bin behind the last basis
// function; the degree + 1 entries there all hold the curve's value at a missing x, so the kernels
// need no special case.
class SplineOperator final : public Operator {
public:
    // Null if the basis is too large, or the codes are not those of its bins.
    template <int Degree>
    static std::unique_ptr<SplineOperator> make(const CodedRows& source,
                                                const BSpline<Degree>& basis,
                                                const DifferencePenalty& penalty,
                                                std::span<const double> variance,
                                                const simd::Kernels& kernels, int n_threads,
                                                const MissingValues& missing = {}) {
        const CodeGrid& grid = source.grid();
        const int room = basis.size() + (missing.any() ? Degree + 1 : 0);
        const int entries = simd::padded_entries(room, Degree);
        const bool fits = grid.span == basis.n_bins && (Degree == 0) == (grid.rounding == 0.0);
        if (entries == 0 || !fits) return nullptr;
        std::unique_ptr<SplineOperator> made(
            new SplineOperator(source, penalty, variance, kernels, n_threads, missing));
        made->size_ = static_cast<std::size_t>(basis.size());
        made->shape_ = {Degree,  grid.fraction_bits, penalty.order(), room,
                        entries, variance.size()};
        made->n_bins_ = basis.n_bins;
        made->norm_polynomials_ = &norm_polynomials<Degree>;
        return made;
    }

    void prepare() override {
        fill_smoother();
        polynomial_ = norm_polynomials_(penalty_, n_bins_, entries());
    }

    Row n_rows() const noexcept override { return n_rows_; }
    Row rows_per_block() const noexcept override { return codes_.rows_per_block(); }
    void done_with(Row begin, Row end) const noexcept override { codes_.done_with(begin, end); }

    GroupTables zero_tables() const override;
    GroupTables tables_of(std::span<const double> coef) const override;
    void blend(double a, GroupTables& tables, double b, const GroupTables& others) const override {
        blend_tables(a, tables, b, others);
    }

    Row rows_together() const noexcept override { return simd::lanes; }
    bool has_expensive_products() const noexcept override { return pair_kernel_ == nullptr; }
    void score(std::span<const Row> rows, const GroupTables& tables, double* out) const override;

    // If all variances are equal and there are no missing values, degrees 0 and 1 under D_1 use
    // min_products(), and degree 1 under D_0 uses hat_products(). Otherwise products() of the
    // kernels, if they have it, or scores.
    void gram(std::span<const Row> rows, double* out, TeamIndex&) const override;

    // Threads divide the features, so every table has one writer.
    void add(std::span<const Row> rows, const double* steps, GroupTables& tables,
             TeamIndex&) const override;

    void sum(std::span<const Row> rows, const double* steps, GroupTables& tables) const override;
    std::vector<double> sums(const GroupTables& tables) const override;
    bool has_single_sums() const noexcept override { return true; }
    std::size_t features_per_sum() const noexcept override { return simd::tile; }
    void write_sums(std::size_t part, std::span<const Row> rows, const double* steps,
                    double* out) const override;

    double squared_norm(Row row) const override;
    double squared_weight(const GroupTables& tables) const override;
    std::vector<double> coefficients(const GroupTables& tables) const override;

private:
    using Pointers = std::vector<const Code*>;
    using PairKernel = decltype(simd::Kernels::min_products);

    // A run of whole tiles of features, processed by one thread.
    struct Part {
        std::size_t first;  // feature
        simd::Shape shape;  // n_features is that of the part
    };
    static constexpr std::size_t features_per_part = 8 * simd::tile;
    static constexpr std::size_t max_rows_at_once = 16 * simd::lanes;
    static constexpr std::size_t long_tables_at_once = simd::tile;
    // The kernel takes as long for a few features as for a whole tile. If at most this many
    // features are left over by whole tiles, they are summed one by one instead.
    static constexpr std::size_t few_to_sum = 10;

    SplineOperator(const CodedRows& source, const DifferencePenalty& penalty,
                   std::span<const double> variance, const simd::Kernels& kernels, int n_threads,
                   const MissingValues& missing);

    std::size_t entries() const noexcept { return static_cast<std::size_t>(shape_.entries); }
    std::size_t exact_width() const noexcept { return size_ + missing_.table_extra(); }
    bool is_long() const noexcept { return shape_.entries > simd::short_entries; }
    bool needs_exact_tables() const noexcept;
    simd::ManyShape few_shape(std::size_t n_features) const noexcept {
        return {shape_.degree, shape_.degree == 0 ? 0 : shape_.fraction_bits, entries(),
                n_features};
    }

    void round(const GroupTables& tables, std::size_t j, float* single) const noexcept;
    void score_together(std::span<const Row> rows, const AlignedFloats& tables, double* out) const;
    void add_exactly(const Part& all, const Pointers& codes, const std::vector<float>& steps,
                     GroupTables& tables) const;
    void add_to_feature(std::size_t j, const float* sums, std::vector<double>& change,
                        GroupTables& tables) const;
    double missing_sum(const float* sums) const noexcept;
    std::size_t n_few() const noexcept;
    double* copy_sums(const float* table, double* out) const noexcept;

    void fill_smoother();
    void fill_missing_rows();
    void note_pair_kernel();

    void gram_by_part(const Pointers& codes, double* out) const;
    void gram_by_score(const Pointers& codes, double* out) const;
    void couple_missing(const Code* row, std::size_t first, std::size_t n, float* tables) const;

    std::size_t n_parts() const noexcept { return n_pieces(shape_.n_features, features_per_part); }
    Part part_at(std::size_t p) const noexcept {
        return part_from(p * features_per_part, features_per_part);
    }
    Part part_from(std::size_t first, std::size_t n) const noexcept;

    static Pointers shifted(std::span<const Code* const> codes, std::size_t j);
    Pointers pointers(std::span<const Row> rows) const;

    // Calls task(i) for all i < n_tasks; in parallel only if the work outweighs waking the threads.
    template <class Task>
    void in_parallel(std::size_t n_tasks, std::size_t n_rows, const Task& task) const {
        constexpr std::size_t worth_it = std::size_t{1} << 17;  // codes
        const int n = n_rows * shape_.n_features < worth_it ? 1 : n_threads_;
        parallel_for(static_cast<std::ptrdiff_t>(n_tasks), n,
                     [&](std::ptrdiff_t i) { task(static_cast<std::size_t>(i)); });
    }

    // The rows of L_d, or null for L_0 = I.
    const float* smoother() const noexcept {
        return penalty_.order() == 0 ? nullptr : smoother_.data();
    }

    const Codes& codes_;
    Row n_rows_;
    DifferencePenalty penalty_;
    const simd::Kernels& kernels_;
    int n_threads_;
    MissingValues missing_;
    std::size_t size_ = 0;    // number of basis functions
    simd::Shape shape_{};     // n_basis includes the entries for missing values
    AlignedFloats smoother_;  // L_d, one padded row per basis function
    int n_bins_ = 0;
    AlignedFloats (*norm_polynomials_)(const DifferencePenalty&, int, std::size_t) = nullptr;
    AlignedFloats polynomial_;            // |phi|^2 within each bin, see norm_polynomial.hpp
    std::vector<float> variance_;         // s_j^2
    std::vector<float> ones_;             // replaces variance_ in plain sums
    std::vector<double> exact_variance_;  // s_j^2
    AlignedFloats missing_rows_;          // per feature, the table w = phi of a missing value
    std::vector<double> missing_norm_;    // per feature, |phi|^2 of a missing value
    PairKernel pair_kernel_ = nullptr;    // null if neither pair kernel applies
    double pair_factor_ = 0.0;            // the common s^2
    double pair_offset_ = 0.0;            // added to the kernel's result before multiplying by s^2
};

}  // namespace splinear
