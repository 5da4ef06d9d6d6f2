// Search among knots by AVX2; lanes are values. Included like avx2_tables.hpp, after it. The trees
// are those of simd/knot_tree.hpp.

using splinear::simd::section_leaves;
constexpr int n_near = 6;  // levels whose nodes are looked up by permuting registers

inline __m256 one_of_eight(const float* eight, __m256i at) {
    return _mm256_permutevar8x32_ps(_mm256_loadu_ps(eight), at);
}

// Vectors of values on their way through a tree. Each step waits for the one before: the vectors
// take it in turn.
template <int Vectors>
struct Descent {
    const __m256* x;
    __m256i at[Vectors] = {};

    SPLINEAR_INLINE explicit Descent(const __m256* values, const float* nodes) : x(values) {
        step<0>(nodes);
        step<1>(nodes);
        step<2>(nodes);
    }

    // The levels behind the first three.
    SPLINEAR_INLINE void go_on(const float* nodes, int depth) {
        step<3>(nodes);
        step<4>(nodes);
        step<5>(nodes);
        for (int l = n_near; l < depth; ++l)
            for (int v = 0; v < Vectors; ++v)
                rise(v, l, _mm256_i32gather_ps(nodes + (1 << l), at[v], 4));
    }

private:
    template <int L>
    SPLINEAR_INLINE void step(const float* nodes) {
        for (int v = 0; v < Vectors; ++v) rise(v, L, next<L>(nodes + (1 << L), at[v]));
    }

    // The three lowest bits of a place say which of 8 nodes, and the next two, which 8.
    template <int L>
    static SPLINEAR_INLINE __m256 next(const float* level, __m256i place) {
        if constexpr (L == 0) {
            return _mm256_set1_ps(level[0]);
        } else if constexpr (L <= 3) {
            return one_of_eight(level, place);
        } else {
            const __m256 third = _mm256_castsi256_ps(_mm256_slli_epi32(place, 28));
            const auto one_of_16 = [&](const float* from) {
                return _mm256_blendv_ps(one_of_eight(from, place), one_of_eight(from + 8, place),
                                        third);
            };
            if constexpr (L == 4) return one_of_16(level);
            const __m256 fourth = _mm256_castsi256_ps(_mm256_slli_epi32(place, 27));
            return _mm256_blendv_ps(one_of_16(level), one_of_16(level + 16), fourth);
        }
    }

    SPLINEAR_INLINE void rise(int v, int l, __m256 node) {
        const __m256i up = _mm256_castps_si256(_mm256_cmp_ps(x[v], node, _CMP_GE_OQ));
        at[v] = _mm256_or_si256(at[v], _mm256_and_si256(up, _mm256_set1_epi32(1 << l)));
    }
};

// The records, four numbers each, of 8 leaves: out[i] holds their numbers i.
SPLINEAR_INLINE void fetch_records(const float* records, __m256i leaf, __m256 out[4]) {
    alignas(32) int at[8];
    _mm256_store_si256(reinterpret_cast<__m256i*>(at), _mm256_slli_epi32(leaf, 2));
    __m256 two[4];
    for (int i = 0; i < 4; ++i)
        two[i] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_load_ps(records + at[i])),
                                      _mm_load_ps(records + at[i + 4]), 1);
    const auto low = [&](int i) {
        return _mm256_castps_pd(_mm256_unpacklo_ps(two[i], two[i + 1]));
    };
    const auto high = [&](int i) {
        return _mm256_castps_pd(_mm256_unpackhi_ps(two[i], two[i + 1]));
    };
    out[0] = _mm256_castpd_ps(_mm256_unpacklo_pd(low(0), low(2)));
    out[1] = _mm256_castpd_ps(_mm256_unpackhi_pd(low(0), low(2)));
    out[2] = _mm256_castpd_ps(_mm256_unpacklo_pd(high(0), high(2)));
    out[3] = _mm256_castpd_ps(_mm256_unpackhi_pd(high(0), high(2)));
}

// The same by permuting registers, in a tree of some sections.
template <int Sections>
SPLINEAR_INLINE void look_up_records(const float* tree, __m256 x, __m256i at, __m256 out[4]) {
    const auto number = [&](int section, int i) {
        return one_of_eight(tree + section_leaves * (Sections + 4 * section + i), at);
    };
    for (int i = 0; i < 4; ++i) out[i] = number(0, i);
    for (int s = 1; s < Sections; ++s) {
        const __m256 up = _mm256_cmp_ps(x, one_of_eight(tree + section_leaves * s, at), _CMP_GE_OQ);
        for (int i = 0; i < 4; ++i) out[i] = _mm256_blendv_ps(out[i], number(s, i), up);
    }
}

// body(v, record) for some vectors of values, with the four numbers of their leaves. Sections: of
// the tree; 0 for one of that depth.
template <int Sections, int Vectors, class Body>
SPLINEAR_INLINE void with_records(const float* tree, int depth, const __m256* x, const Body& body) {
    Descent<Vectors> descent(x, tree);
    if constexpr (Sections == 0) descent.go_on(tree, depth);
    for (int v = 0; v < Vectors; ++v) {
        __m256 record[4];
        if constexpr (Sections == 0)
            fetch_records(tree + (std::size_t{1} << depth), descent.at[v], record);
        else
            look_up_records<Sections>(tree, x[v], descent.at[v], record);
        body(v, record);
    }
}

// body(Number<Sections>) for so many of them.
template <class Body>
inline auto by_sections(int n_sections, const Body& body) {
    static_assert(splinear::simd::most_sections == 4);
    switch (n_sections) {
        case 1: return body(Number<1>{});
        case 2: return body(Number<2>{});
        case 3: return body(Number<3>{});
        case 4: return body(Number<4>{});
        default: return body(Number<0>{});
    }
}

// Turns 8 rows of 8 numbers, or pairs of codes.
SPLINEAR_INLINE void transpose(const __m256 in[8], __m256 out[8]) {
    __m256 s[8];
    __m256 t[8];
    for (int i = 0; i < 8; i += 2) {
        s[i] = _mm256_unpacklo_ps(in[i], in[i + 1]);
        s[i + 1] = _mm256_unpackhi_ps(in[i], in[i + 1]);
    }
    for (int i = 0; i < 8; i += 4) {
        const auto four = [&](int k) { return _mm256_castps_pd(s[i + k]); };
        t[i] = _mm256_castpd_ps(_mm256_unpacklo_pd(four(0), four(2)));
        t[i + 1] = _mm256_castpd_ps(_mm256_unpackhi_pd(four(0), four(2)));
        t[i + 2] = _mm256_castpd_ps(_mm256_unpacklo_pd(four(1), four(3)));
        t[i + 3] = _mm256_castpd_ps(_mm256_unpackhi_pd(four(1), four(3)));
    }
    for (int i = 0; i < 4; ++i) {
        out[i] = _mm256_permute2f128_ps(t[i], t[i + 4], 0x20);
        out[i + 4] = _mm256_permute2f128_ps(t[i], t[i + 4], 0x31);
    }
}
