// The pieces of one feature's curve as polynomials, looked up by AVX-512. Included after
// avx512_tables.hpp, like it.

// sum_p a^p c_p in the bin where c0, ... are the entries from there on; a in units of `unit`.
template <int Degree>
struct Polynomial {
    __m512 c[Degree + 1];

    // entry(p): those p behind the first.
    template <class Entry>
    Polynomial(const Entry& entry, float unit) {
        const __m512 one = _mm512_set1_ps(unit);
        const __m512 c0 = entry(0);
        if constexpr (Degree == 0) {
            c[0] = c0;
        } else {
            const __m512 c1 = entry(1);
            const __m512 d0 = _mm512_sub_ps(c1, c0);
            if constexpr (Degree == 1) {
                c[0] = c0;
                c[1] = _mm512_mul_ps(one, d0);
            } else {
                const __m512 half = _mm512_set1_ps(0.5f);
                const __m512 c2 = entry(2);
                const __m512 d1 = _mm512_sub_ps(c2, c1);
                const __m512 bend = _mm512_sub_ps(d1, d0);
                const __m512 square = _mm512_mul_ps(one, one);
                if constexpr (Degree == 2) {
                    c[0] = _mm512_fmadd_ps(half, d0, c0);
                    c[1] = _mm512_mul_ps(one, d0);
                    c[2] = _mm512_mul_ps(square, _mm512_mul_ps(half, bend));
                } else {
                    const __m512 sixth = _mm512_set1_ps(1.0f / 6.0f);
                    const __m512 d2 = _mm512_sub_ps(entry(3), c2);
                    const __m512 twist = _mm512_sub_ps(_mm512_sub_ps(d2, d1), bend);
                    c[0] = _mm512_fmadd_ps(sixth, bend, c1);
                    c[1] = _mm512_mul_ps(one, _mm512_mul_ps(half, _mm512_add_ps(d0, d1)));
                    c[2] = _mm512_mul_ps(square, _mm512_mul_ps(half, bend));
                    c[3] = _mm512_mul_ps(_mm512_mul_ps(square, one), _mm512_mul_ps(sixth, twist));
                }
            }
        }
    }

    __m512 operator()(__m512 a) const {
        __m512 value = c[Degree];
        for (int p = Degree - 1; p >= 0; --p) value = _mm512_fmadd_ps(a, value, c[p]);
        return value;
    }
};

// Up to 64 pieces in registers, 16 of them in each.
template <int Degree, int Entries>
struct RegisterPieces {
    static constexpr int n_parts = Entries / 16;
    __m512 c[Degree + 1][n_parts];

    RegisterPieces(const float* table, float unit, int) {
        for (int i = 0; i < n_parts; ++i) {
            const auto entry = [&](int p) {
                // Nothing is read behind the table: no value is in the pieces that end there.
                const auto there = static_cast<__mmask16>(i + 1 < n_parts ? 0xffff : 0xffff >> p);
                return _mm512_maskz_loadu_ps(there, table + 16 * i + p);
            };
            const Polynomial<Degree> some(entry, unit);
            for (int p = 0; p <= Degree; ++p) c[p][i] = some.c[p];
        }
    }

    // total + the value of the piece `bin`, of which the low bits count, at a.
    __m512 add(__m512 total, __m512i bin, __m512 a) const {
        [[maybe_unused]] const __mmask16 upper =
            n_parts > 2 ? _mm512_test_epi32_mask(bin, _mm512_set1_epi32(32)) : __mmask16{0};
        __m512 value = at(c[Degree], bin, upper);
        for (int p = Degree - 1; p >= 0; --p)
            value = _mm512_fmadd_ps(a, value, at(c[p], bin, upper));
        return _mm512_add_ps(total, value);
    }

private:
    static __m512 at(const __m512* part, __m512i bin, __mmask16 upper) {
        if constexpr (n_parts == 1) {
            return _mm512_permutexvar_ps(bin, part[0]);
        } else {
            const __m512 low = _mm512_permutex2var_ps(part[0], bin, part[1]);
            if constexpr (n_parts == 2)
                return low;
            else if constexpr (n_parts == 3)
                return _mm512_mask_permutexvar_ps(low, upper, bin, part[2]);
            else
                return _mm512_mask_blend_ps(upper, low,
                                            _mm512_permutex2var_ps(part[2], bin, part[3]));
        }
    }
};

// More of them, from entries in memory.
template <int Degree>
struct MemoryPieces {
    MemoryTable table;
    float unit;
    __m512i mask;

    MemoryPieces(const float* entries, float of_a, int)
        : table(entries), unit(of_a), mask(_mm512_set1_epi32(0xffff)) {}

    __m512 add(__m512 total, __m512i bin, __m512 a) const {
        const __m512i low = _mm512_and_si512(bin, mask);
        __m512 c[4];
        if constexpr (Degree == 0)
            c[0] = table[low];
        else
            table.pair(low, c[0], c[1]);
        const __m512i after = _mm512_add_epi32(low, _mm512_set1_epi32(2));
        if constexpr (Degree == 2) c[2] = table[after];
        if constexpr (Degree == 3) table.pair(after, c[2], c[3]);
        const Polynomial<Degree> piece([&](int p) { return c[p]; }, unit);
        return _mm512_add_ps(total, piece(a));
    }
};

template <int Degree, class Length>
struct PiecesOf {
    using Pieces = RegisterPieces<Degree, Length::most>;
};

template <int Degree>
struct PiecesOf<Degree, Long> {
    using Pieces = MemoryPieces<Degree>;
};
