#include <array>
#include <vector>

#include "model/penalty/any.hpp"
#include "model/penalty/distance.hpp"
#include "tests/check.hpp"

using namespace splinear;
using splinear::testing::near;

namespace {

using Vector = std::vector<double>;
using Matrix = std::vector<Vector>;

Matrix zeros(std::size_t n) { return Matrix(n, Vector(n)); }

Matrix product(const Matrix& A, const Matrix& B) {
    Matrix C = zeros(A.size());
    for (std::size_t i = 0; i < A.size(); ++i)
        for (std::size_t k = 0; k < A.size(); ++k)
            for (std::size_t j = 0; j < A.size(); ++j) C[i][j] += A[i][k] * B[k][j];
    return C;
}

Matrix transposed(const Matrix& A) {
    Matrix B = zeros(A.size());
    for (std::size_t i = 0; i < A.size(); ++i)
        for (std::size_t j = 0; j < A.size(); ++j) B[j][i] = A[i][j];
    return B;
}

Vector times(const Matrix& A, const Vector& v) {
    Vector out(v.size());
    for (std::size_t i = 0; i < A.size(); ++i)
        for (std::size_t j = 0; j < A.size(); ++j) out[i] += A[i][j] * v[j];
    return out;
}

double dot(const Vector& a, const Vector& b) {
    double total = 0.0;
    for (std::size_t i = 0; i < a.size(); ++i) total += a[i] * b[i];
    return total;
}

// D_1 as printed, and its inverse: ones on and below the diagonal.
Matrix first_difference(std::size_t n) {
    Matrix D = zeros(n);
    for (std::size_t i = 0; i < n; ++i) {
        D[i][i] = 1.0;
        if (i > 0) D[i][i - 1] = -1.0;
    }
    return D;
}

Matrix first_sum(std::size_t n) {
    Matrix S = zeros(n);
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j <= i; ++j) S[i][j] = 1.0;
    return S;
}

Matrix power(const Matrix& A, int order) {
    Matrix P = zeros(A.size());
    for (std::size_t i = 0; i < A.size(); ++i) P[i][i] = 1.0;
    for (int d = 0; d < order; ++d) P = product(P, A);
    return P;
}

// A vector of small integers, so that sums are exact.
Vector some_vector(std::size_t n) {
    Vector v(n);
    for (std::size_t i = 0; i < n; ++i) v[i] = static_cast<double>((7 * i + 3) % 11) - 5.0;
    return v;
}

template <class Map>
Vector mapped(Vector v, const Map& map) {
    map(v.data());
    return v;
}

void running_sums_are_the_matrices(int order, int size) {
    const auto n = static_cast<std::size_t>(size);
    const DifferencePenalty penalty(order, size, 1);
    CHECK(penalty.size() == size && penalty.order() == order);
    const Matrix D = power(first_difference(n), order);
    const Matrix T = power(first_sum(n), order);
    const Matrix L = product(T, transposed(T));
    const Vector v = some_vector(n);
    CHECK(mapped(v, [&](double* a) { penalty.difference(a); }) == times(D, v));
    CHECK(mapped(v, [&](double* a) { penalty.difference_transpose(a); }) ==
          times(transposed(D), v));
    CHECK(mapped(v, [&](double* a) { penalty.integrate(a); }) == times(T, v));
    CHECK(mapped(v, [&](double* a) { penalty.embed(a); }) == times(transposed(T), v));
    CHECK(mapped(v, [&](double* a) { penalty.smooth(a); }) == times(L, v));
    CHECK(mapped(v, [&](double* a) {
              penalty.integrate(a);
              penalty.difference(a);
          }) == v);
}

void quadratic_is_that_of_the_dense_matrix(int order, int size, int support) {
    const auto n = static_cast<std::size_t>(size);
    const DifferencePenalty penalty(order, size, support);
    const Matrix T = power(first_sum(n), order);
    const Matrix L = product(T, transposed(T));
    const Vector w{0.3, -1.25, 2.0, 0.7};
    for (int first = 0; first + support <= size; ++first) {
        Vector v(n);
        for (int p = 0; p < support; ++p)
            v[static_cast<std::size_t>(first + p)] = w[static_cast<std::size_t>(p)];
        CHECK(near(penalty.quadratic(first, std::span(w).first(static_cast<std::size_t>(support))),
                   dot(v, times(L, v))));
    }
}

// Two features; one difference of the second has a stiffness of 0 and is ignored.
void distance_is_that_of_the_matrix() {
    const DifferencePenalty penalty(1, 4, 2);
    const Matrix D = first_difference(4);
    const Matrix T = first_sum(4);
    const Vector v = some_vector(16);
    const std::span all(v);
    const Vector stiffness{2.0, 4.0, 0.5, 1.0, 8.0, 1.0, 2.0, 0.0};
    Distance expected;
    for (std::size_t j = 0; j < 2; ++j) {
        const Vector coef(&v[4 * j], &v[4 * j] + 4);
        const Vector sums(&v[8 + 4 * j], &v[8 + 4 * j] + 4);
        const Vector d = times(D, coef);
        const Vector embedded = times(transposed(T), sums);
        for (std::size_t k = 0; k < 4; ++k) {
            const double p = stiffness[4 * j + k];
            const double q = p * d[k] + embedded[k];
            expected.value += p * d[k] * d[k];
            if (p > 0.0) expected.square += q * q / p;
        }
    }
    const Distance found = distance_of(penalty, all.first(8), all.last(8), stiffness);
    CHECK(near(found.value, expected.value));
    CHECK(near(found.square, expected.square));
}

void diagonal_scales() {
    const DiagonalPenalty penalty({1.0, 0.5, 0.25});
    const Vector v{3.0, -4.0, 8.0};
    CHECK(penalty.size() == 3);
    CHECK(mapped(v, [&](double* a) { penalty.embed(a); }) == Vector{3.0, -2.0, 2.0});
    CHECK(mapped(v, [&](double* a) { penalty.integrate(a); }) == Vector{3.0, -2.0, 2.0});
    CHECK(mapped(v, [&](double* a) { penalty.smooth(a); }) == Vector{3.0, -1.0, 0.5});
    CHECK(mapped(v, [&](double* a) { penalty.difference(a); }) == Vector{3.0, -8.0, 32.0});
    CHECK(penalty.quadratic(0, v) == 9.0 + 4.0 + 4.0);
}

void a_matrix_is_what_it_says() {
    const Matrix T = power(first_sum(4), 2);
    const Matrix D = power(first_difference(4), 2);
    const auto flat = [](const Matrix& A) {
        Vector out;
        for (const Vector& row : A) out.insert(out.end(), row.begin(), row.end());
        return out;
    };
    const MatrixPenalty penalty(4, flat(T), flat(D));
    const DifferencePenalty twin(2, 4, 2);
    const Vector v = some_vector(4);
    const auto same = [&](const auto& map) {
        return mapped(v, [&](double* a) { map(penalty, a); }) ==
               mapped(v, [&](double* a) { map(twin, a); });
    };
    CHECK(penalty.size() == 4);
    CHECK(same([](const auto& p, double* a) { p.embed(a); }));
    CHECK(same([](const auto& p, double* a) { p.integrate(a); }));
    CHECK(same([](const auto& p, double* a) { p.smooth(a); }));
    CHECK(same([](const auto& p, double* a) { p.difference(a); }));
    CHECK(same([](const auto& p, double* a) { p.difference_transpose(a); }));
    const Vector w{3.0, -2.0};
    CHECK(near(penalty.quadratic(1, w), twin.quadratic(1, w)));
}

}  // namespace

int main() {
    for (int order = 0; order <= 4; ++order)
        for (const int size : {1, 2, 3, 8, 13}) {
            running_sums_are_the_matrices(order, size);
            for (int support = 1; support <= std::min(4, size); ++support)
                quadratic_is_that_of_the_dense_matrix(order, size, support);
        }
    distance_is_that_of_the_matrix();
    diagonal_scales();
    a_matrix_is_what_it_says();
    return splinear::testing::result();
}
