// Products of one row with some others in whole numbers of 16 bits; lanes are features. Included by
// the files that implement them, inside an unnamed namespace, after loops.hpp. V names the vectors'
// operations: those on 16 bits are without a sign but for times(), which is a b / 2^15, and dot().

// What both kinds compute from a row's codes.
template <class V>
struct Units {
    typename V::Ints mask;
    typename V::Ints one;  // a bin, or all but 2^-15 of it
    int to_top;
    float unit;

    explicit Units(int bits)
        : mask(V::all((1 << bits) - 1)),
          one(V::all(bits < 15 ? 1 << bits : 32767)),
          to_top(15 - bits),
          unit(1.0f / static_cast<float>(1 << bits)) {}
};

// min(x, y) + [same bin] (a a' - min(a, a')): with c the part of x's bin that lies before y, the
// smaller of y and (where that bin begins) + a c, whether y is before, in or behind it.
template <class V>
struct Minimum {
    using Vectors = V;
    using Ints = typename V::Ints;
    Ints begin;   // of x's bin
    Ints factor;  // a times 2^15

    struct Sum {
        Ints total = V::nothing();

        float value(const Units<V>& units, std::size_t n) const {
            alignas(64) std::int32_t parts[V::size / 2];
            V::store(total, parts);
            auto all = static_cast<std::int64_t>(n * (V::size << 15));
            for (const std::int32_t part : parts) all += part;
            return static_cast<float>(all) * units.unit;
        }
    };

    // keep: which features count.
    void set(const Units<V>& units, Ints x, Ints keep) {
        const Ints kept = V::both(x, keep);
        begin = V::without(kept, units.mask);
        factor = V::up(V::both(kept, units.mask), units.to_top);
    }

    // Numbers are moved down by 2^15 to fit a sign.
    void add(const Units<V>& units, Ints y, Sum& sum) const {
        const Ints c = V::smaller(V::excess(y, begin), units.one);
        const Ints inside = V::plus(begin, V::times(factor, c));
        const Ints moved = V::flip_sign(V::smaller(inside, y));
        sum.total = V::plus_wide(sum.total, V::dot(moved, V::all(1)));
    }
};

// (1 - a) h(y - begin) + a h(y - begin - 1) with h(t) = max(0, 1 - |t|).
template <class V>
struct Hats {
    using Vectors = V;
    using Ints = typename V::Ints;
    Ints begin;  // of x's bin
    Ints end;
    Ints low;  // 1 - a and a, in turn, of half of the features
    Ints high;

    struct Sum {
        typename V::Floats total = V::no_floats();

        float value(const Units<V>& units, std::size_t) const {
            return V::sum(total) * units.unit * units.unit;
        }
    };

    void set(const Units<V>& units, Ints x, Ints keep) {
        begin = V::without(x, units.mask);
        end = V::plus(begin, units.one);
        const Ints a = V::both(x, units.mask);
        const Ints right = V::both(a, keep);
        const Ints left = V::both(V::minus(units.one, a), keep);
        low = V::low_pairs(left, right);
        high = V::high_pairs(left, right);
    }

    void add(const Units<V>& units, Ints y, Sum& sum) const {
        const Ints left = hat(units, y, begin);
        const Ints right = hat(units, y, end);
        const Ints some = V::dot(V::low_pairs(left, right), low);
        const Ints others = V::dot(V::high_pairs(left, right), high);
        sum.total = V::plus(sum.total, V::plus_wide(some, others));
    }

private:
    static Ints hat(const Units<V>& units, Ints y, Ints top) {
        return V::excess(units.one, V::either(V::excess(y, top), V::excess(top, y)));
    }
};

constexpr std::size_t chunk = 256;  // vectors of features that are prepared at a time

// The place of vector i: the last one ends with the last feature.
template <class V>
inline std::size_t place(std::size_t i, std::size_t n_features) {
    return V::size * (i + 1) <= n_features ? V::size * i : n_features - V::size;
}

// sums[k] += those of row k, by the features from vector `first` on.
template <class Kind, std::size_t N>
inline void add_chunk(const Units<typename Kind::Vectors>& units, const Kind* x, std::size_t first,
                      std::size_t n, std::size_t n_features, const Code* const* codes, float* out) {
    using V = typename Kind::Vectors;
    typename Kind::Sum sums[N];
    for (std::size_t i = 0; i < n; ++i) {
        const std::size_t at = place<V>(first + i, n_features);
        for (std::size_t k = 0; k < N; ++k) x[i].add(units, V::load(codes[k] + at), sums[k]);
    }
    for (std::size_t k = 0; k < N; ++k) out[k] = sums[k].value(units, n);
}

// out[b] = the sum over features, at least V::size of them, of what Kind says of x and y_b.
template <class Kind>
void pairs(const Shape& shape, const Code* x, const Code* const* codes, std::size_t n_rows,
           float* out) {
    using V = typename Kind::Vectors;
    const Units<V> units(shape.fraction_bits);
    const std::size_t n_features = shape.n_features;
    const std::size_t n_vectors = (n_features + V::size - 1) / V::size;
    double total[splinear::simd::max_team] = {};
    for (std::size_t first = 0; first < n_vectors; first += chunk) {
        const std::size_t n = n_vectors - first < chunk ? n_vectors - first : chunk;
        Kind prepared[chunk];
        for (std::size_t i = 0; i < n; ++i) {
            const std::size_t at = place<V>(first + i, n_features);
            // The vector before has seen some of these features.
            const auto seen = static_cast<int>(V::size * (first + i) - at);
            prepared[i].set(units, V::load(x + at), V::from(seen));
        }
        float part[4];
        for (std::size_t b = 0; b < n_rows; b += 4) {
            const std::size_t n_some = n_rows - b < 4 ? n_rows - b : 4;
            if (n_some == 4)
                add_chunk<Kind, 4>(units, prepared, first, n, n_features, codes + b, part);
            for (std::size_t k = 0; k < n_some; ++k) {
                if (n_some < 4)
                    add_chunk<Kind, 1>(units, prepared, first, n, n_features, codes + b + k,
                                       part + k);
                total[b + k] += static_cast<double>(part[k]);
            }
        }
    }
    for (std::size_t b = 0; b < n_rows; ++b) out[b] = static_cast<float>(total[b]);
}
