// The degree and the length of tables as types, so that loops over them have known ends. Included
// like loops.hpp, after it.

// The length of a table: known to the compiler ...
template <int Entries>
struct Short {
    static constexpr int most = Entries;
    static constexpr int entries(const Shape&) { return Entries; }
};

// ... or only when the program runs.
struct Long {
    static constexpr int most = splinear::simd::max_entries;
    static int entries(const Shape& shape) { return shape.entries; }
};

template <int Degree, class Length>
struct Choice {};

template <int Degree, class Body>
inline auto by_length(const Shape& shape, const Body& body) {
    switch (shape.entries) {
        case 16: return body(Choice<Degree, Short<16>>{});
        case 32: return body(Choice<Degree, Short<32>>{});
        case 48: return body(Choice<Degree, Short<48>>{});
        case 64: return body(Choice<Degree, Short<64>>{});
        default: return body(Choice<Degree, Long>{});
    }
}

// body(Choice<Degree, Length>{}) for the shape's degree and length.
template <class Body>
inline auto by_shape(const Shape& shape, const Body& body) {
    switch (shape.degree) {
        case 0: return by_length<0>(shape, body);
        case 1: return by_length<1>(shape, body);
        case 2: return by_length<2>(shape, body);
        default: return by_length<3>(shape, body);
    }
}
