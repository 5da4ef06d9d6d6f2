#include "simd/joint.hpp"

#include "simd/clones.hpp"

namespace splinear::simd {
namespace {

// sum[p * B + q] += x[p] y[q]. The compiler sees no vector in so few products by itself.
template <int A, int B>
SPLINEAR_INLINE void add_products(const double* x, const double* y, double* sum) {
#ifdef __GNUC__
    if constexpr (A * B >= 4) {
        typedef double Four __attribute__((vector_size(32)));
        for (int k = 0; k < A * B; k += 4) {
            const Four left{x[k / B], x[(k + 1) / B], x[(k + 2) / B], x[(k + 3) / B]};
            const Four right{y[k % B], y[(k + 1) % B], y[(k + 2) % B], y[(k + 3) % B]};
            Four total;
            __builtin_memcpy(&total, sum + k, sizeof total);
            total += left * right;
            __builtin_memcpy(sum + k, &total, sizeof total);
        }
        return;
    }
#endif
    for (int p = 0; p < A; ++p)
        for (int q = 0; q < B; ++q) sum[p * B + q] += x[p] * y[q];
}

// Unit: b has no weights, which are all 1.
template <int A, int B, bool Own, bool Unit = false>
SPLINEAR_INLINE void add(const CellColumn& a, const CellColumn& b, std::int32_t n_cells,
                         std::size_t n, const Sums& sums) {
    const std::int32_t* cell_a = a.cell;
    const std::int32_t* cell_b = b.cell;
    const double* x = a.weight;
    const double* y = b.weight;
    double* const first = sums.first;
    const std::size_t apart = sums.apart;
    const auto add_row = [=](std::size_t i, double* sum) SPLINEAR_INLINE_LAMBDA {
        const std::int64_t cell =
            Own ? std::int64_t{cell_a[i]} : std::int64_t{cell_a[i]} * n_cells + cell_b[i];
        double* at = sum + cell * (A * B);
        if constexpr (Unit)
            for (int p = 0; p < A; ++p) at[p] += x[i * A + static_cast<std::size_t>(p)];
        else
            add_products<A, B>(x + i * A, y + i * B, at);
    };
    std::size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        add_row(i, first);
        add_row(i + 1, first + apart);
        add_row(i + 2, first + 2 * apart);
        add_row(i + 3, first + 3 * apart);
    }
    for (; i < n; ++i) add_row(i, first);
}

template <int A, bool Own>
SPLINEAR_INLINE void by_second(const CellColumn& a, const CellColumn& b, std::int32_t n_cells,
                               std::size_t n, const Sums& sums) {
    if (b.weight == nullptr) return add<A, 1, Own, true>(a, b, n_cells, n, sums);
    switch (b.width) {
        case 1: return add<A, 1, Own>(a, b, n_cells, n, sums);
        case 2: return add<A, 2, Own>(a, b, n_cells, n, sums);
        default: return add<A, 4, Own>(a, b, n_cells, n, sums);
    }
}

template <bool Own>
SPLINEAR_INLINE void by_width(const CellColumn& a, const CellColumn& b, std::int32_t n_cells,
                              std::size_t n, const Sums& sums) {
    switch (a.width) {
        case 1: return by_second<1, Own>(a, b, n_cells, n, sums);
        case 2: return by_second<2, Own>(a, b, n_cells, n, sums);
        default: return by_second<4, Own>(a, b, n_cells, n, sums);
    }
}

}  // namespace

SPLINEAR_CLONES void add_joint(const CellColumn& a, const CellColumn& b, std::int32_t n_cells,
                               std::size_t n, const Sums& sums) {
    by_width<false>(a, b, n_cells, n, sums);
}

SPLINEAR_CLONES void add_own(const CellColumn& a, const CellColumn& b, std::size_t n,
                             const Sums& sums) {
    by_width<true>(a, b, 0, n, sums);
}

}  // namespace splinear::simd
