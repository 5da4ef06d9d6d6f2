// The kernels of Fourier and Hermite curves as plain loops over lanes, for the compiler to
// vectorize. Included like loops.hpp, by the same files.

using splinear::simd::max_series;
using splinear::simd::SeriesShape;

// sin(pi y) for |y| <= 1/2, by its Taylor series; what is left out is below 1e-9.
inline float sin_pi(float y) {
    constexpr float c1 = 3.14159265359f;
    constexpr float c3 = -5.16771278005f;
    constexpr float c5 = 2.55016403988f;
    constexpr float c7 = -0.599264529321f;
    constexpr float c9 = 0.0821458866111f;
    constexpr float c11 = -0.00737043094571f;
    constexpr float c13 = 0.000466302805768f;
    const float z = y * y;
    const float tail = c7 + z * (c9 + z * (c11 + z * c13));
    return y * (c1 + z * (c3 + z * (c5 + z * tail)));
}

struct FourierLanes {
    static void evaluate(int degree, const float* x, float (*w)[n_lanes]) {
        for (int a = 0; a < n_lanes; ++a) {
            const float size = x[a] < 0.0f ? -x[a] : x[a];
            const float folded = size > 0.5f ? 1.0f - size : size;  // sin(pi u) = sin(pi (1 - u))
            w[0][a] = sin_pi(0.5f - size);
            w[1][a] = sin_pi(x[a] < 0.0f ? -folded : folded);
        }
        for (int n = 1; n < degree; ++n)
            for (int a = 0; a < n_lanes; ++a) {
                w[2 * n][a] = w[2 * n - 2][a] * w[0][a] - w[2 * n - 1][a] * w[1][a];
                w[2 * n + 1][a] = w[2 * n - 1][a] * w[0][a] + w[2 * n - 2][a] * w[1][a];
            }
    }
};

struct HermiteLanes {
    static void evaluate(int degree, const float* x, float (*w)[n_lanes]) {
        for (int a = 0; a < n_lanes; ++a) w[0][a] = x[a];
        if (degree > 1)
            for (int a = 0; a < n_lanes; ++a) w[1][a] = x[a] * x[a] - 1.0f;
        for (int n = 2; n < degree; ++n)
            for (int a = 0; a < n_lanes; ++a)
                w[n][a] = x[a] * w[n - 1][a] - static_cast<float>(n) * w[n - 2][a];
    }
};

// All functions of feature j for 16 rows.
template <class Lanes>
inline void evaluate_series(const SeriesShape& shape, const Code* const* codes, std::size_t j,
                            float (*w)[n_lanes]) {
    float x[n_lanes];
    for (int a = 0; a < n_lanes; ++a)
        x[a] = shape.first[j] + shape.width[j] * static_cast<float>(codes[a][j]);
    Lanes::evaluate(shape.degree, x, w);
}

template <class Lanes>
void score_series(const SeriesShape& shape, const float* tables, const Code* const* codes,
                  float* out) {
    for (std::size_t j = 0; j < shape.n_features; ++j) {
        float w[max_series][n_lanes];
        evaluate_series<Lanes>(shape, codes, j, w);
        for (int k = 0; k < shape.size; ++k) {
            const float entry =
                tables[j * static_cast<std::size_t>(shape.size) + static_cast<std::size_t>(k)];
            for (int a = 0; a < n_lanes; ++a) out[a] += entry * w[k][a];
        }
    }
}

template <class Lanes>
void norm_series(const SeriesShape& shape, const float* variance, const Code* const* codes,
                 float* out) {
    for (std::size_t j = 0; j < shape.n_features; ++j) {
        float w[max_series][n_lanes];
        evaluate_series<Lanes>(shape, codes, j, w);
        for (int k = 0; k < shape.size; ++k) {
            const float factor = variance[j] * shape.smoother[k];
            for (int a = 0; a < n_lanes; ++a) out[a] += factor * w[k][a] * w[k][a];
        }
    }
}

template <class Lanes>
void add_series(const SeriesShape& shape, const float* variance, const Code* const* codes,
                const float* steps, float* tables) {
    for (std::size_t j = 0; j < shape.n_features; ++j) {
        float w[max_series][n_lanes];
        evaluate_series<Lanes>(shape, codes, j, w);
        for (int k = 0; k < shape.size; ++k) {
            float part[n_lanes];
            for (int a = 0; a < n_lanes; ++a) part[a] = steps[a] * w[k][a];
            float sum = 0.0f;
            for (int a = 0; a < n_lanes; ++a) sum += part[a];
            tables[j * static_cast<std::size_t>(shape.size) + static_cast<std::size_t>(k)] +=
                variance[j] * shape.smoother[k] * sum;
        }
    }
}

template <class Lanes>
void gram_series(const SeriesShape& shape, const float* variance, const Code* const* codes,
                 std::size_t n_groups, float* out) {
    constexpr int most = splinear::simd::max_team;
    const std::size_t m = n_groups * n_lanes;
    for (std::size_t j = 0; j < shape.n_features; ++j) {
        float all[max_series][most];
        for (std::size_t g = 0; g < n_groups; ++g) {
            float w[max_series][n_lanes];
            evaluate_series<Lanes>(shape, codes + g * n_lanes, j, w);
            for (int k = 0; k < shape.size; ++k)
                for (int a = 0; a < n_lanes; ++a)
                    all[k][g * n_lanes + static_cast<std::size_t>(a)] = w[k][a];
        }
        for (std::size_t a = 0; a < m; ++a)
            for (int k = 0; k < shape.size; ++k) {
                const float factor = variance[j] * shape.smoother[k] * all[k][a];
                for (int b = 0; b < most; ++b)
                    out[a * most + static_cast<std::size_t>(b)] += factor * all[k][b];
            }
    }
}

constexpr splinear::simd::SeriesKernels fourier_loops{
    score_series<FourierLanes>, norm_series<FourierLanes>, add_series<FourierLanes>,
    gram_series<FourierLanes>};
constexpr splinear::simd::SeriesKernels hermite_loops{
    score_series<HermiteLanes>, norm_series<HermiteLanes>, add_series<HermiteLanes>,
    gram_series<HermiteLanes>};
