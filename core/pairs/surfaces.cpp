#include "pairs/surfaces.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "support/checks.hpp"
#include "support/pieces.hpp"

namespace splinear {
namespace {

constexpr std::ptrdiff_t rows_at_once = 2048;  // their scores stay in the cache

// The cell of a row.
struct Cell {
    std::size_t node;               // index of its first corner (k, l)
    std::array<double, 4> weights;  // of the corners (k, l), (k, l+1), (k+1, l), (k+1, l+1)
};

Cell cell_at(const Surface& surface, double p, double q) {
    const auto k = std::min(static_cast<std::int64_t>(p), surface.n_first - 2);
    const auto l = std::min(static_cast<std::int64_t>(q), surface.n_second - 2);
    const double a = p - static_cast<double>(k);
    const double b = q - static_cast<double>(l);
    return {static_cast<std::size_t>(k * surface.n_second + l),
            {(1.0 - a) * (1.0 - b), (1.0 - a) * b, a * (1.0 - b), a * b}};
}

// Calls body(row, cell) for the rows in [first, last) with nonnegative positions.
template <class Real, class Body>
void for_each_row(const Positions<Real>& positions, const Surface& surface, std::ptrdiff_t first,
                  std::ptrdiff_t last, const Body& body) {
    const Real* p = positions.of(surface.first);
    const Real* q = positions.of(surface.second);
    for (std::ptrdiff_t i = first; i < last; ++i)
        if (p[i] >= 0 && q[i] >= 0) body(i, cell_at(surface, p[i], q[i]));
}

template <class Real>
void check_chain(const Positions<Real>& positions, std::int64_t feature, std::int64_t n_nodes) {
    must_be_one_of("feature", feature, positions.n_features);
    must(n_nodes >= 2, "a chain must have at least two nodes");
    must(n_nodes <= 1 << 20, "a chain must have at most 1,048,576 nodes");
    const Real* p = positions.of(feature);
    const bool fits = std::all_of(p, p + positions.n_rows, [&](Real at) {
        return at <= static_cast<Real>(n_nodes - 1);  // false if it is NaN
    });
    must(fits, "positions must not lie behind the last node");
}

}  // namespace

template <class Real>
SurfaceRows<Real>::SurfaceRows(Positions<Real> positions, std::vector<Surface> surfaces)
    : positions_(positions), surfaces_(std::move(surfaces)), offsets_{0} {
    must_be("the number of positions", positions.values.size(),
            positions.n_features * positions.n_rows);
    for (const Surface& surface : surfaces_) {
        check_chain(positions, surface.first, surface.n_first);
        check_chain(positions, surface.second, surface.n_second);
        offsets_.push_back(offsets_.back() + surface.size());
    }
}

template <class Real>
std::vector<double> SurfaceRows<Real>::score(std::size_t n_outputs, std::span<const double> tables,
                                             int n_threads) const {
    must_be("the size of the tables", tables.size(), n_outputs * n_nodes());
    std::vector<double> out(n_outputs * n_rows());
    const auto n = static_cast<std::ptrdiff_t>(n_rows());
    parallel_pieces(0, n, rows_at_once, n_threads, [&](std::ptrdiff_t first, std::ptrdiff_t last) {
        for (std::size_t s = 0; s < surfaces_.size(); ++s) {
            const std::size_t next = static_cast<std::size_t>(surfaces_[s].n_second);
            const double* table = tables.data() + offsets_[s];
            for_each_row(
                positions_, surfaces_[s], first, last, [&](std::ptrdiff_t i, const Cell& cell) {
                    const auto& [node, w] = cell;
                    for (std::size_t k = 0; k < n_outputs; ++k) {
                        const double* t = table + k * n_nodes() + node;
                        out[k * n_rows() + static_cast<std::size_t>(i)] +=
                            w[0] * t[0] + w[1] * t[1] + w[2] * t[next] + w[3] * t[next + 1];
                    }
                });
        }
    });
    return out;
}

// Calls add(output, surface) for all combinations, each as one parallel task.
template <class Real>
template <class Add>
void SurfaceRows<Real>::for_each_surface(std::size_t n_outputs, int n_threads,
                                         const Add& add) const {
    const std::size_t n = surfaces_.size();
    parallel_for(static_cast<std::ptrdiff_t>(n_outputs * n), n_threads, [&](std::ptrdiff_t task) {
        const auto number = static_cast<std::size_t>(task);
        add(number / n, number % n);
    });
}

template <class Real>
std::vector<double> SurfaceRows<Real>::sum(std::size_t n_outputs, std::span<const double> r,
                                           int n_threads) const {
    must_be("the number of values", r.size(), n_outputs * n_rows());
    std::vector<double> out(n_outputs * n_nodes());
    for_each_surface(n_outputs, n_threads, [&](std::size_t k, std::size_t s) {
        const Surface& surface = surfaces_[s];
        const auto next = static_cast<std::size_t>(surface.n_second);
        const double* own = r.data() + k * n_rows();
        double* to = out.data() + k * n_nodes() + offsets_[s];
        for_each_row(positions_, surface, 0, static_cast<std::ptrdiff_t>(n_rows()),
                     [&](std::ptrdiff_t i, const Cell& cell) {
                         const auto& [node, w] = cell;
                         to[node] += w[0] * own[i];
                         to[node + 1] += w[1] * own[i];
                         to[node + next] += w[2] * own[i];
                         to[node + next + 1] += w[3] * own[i];
                     });
    });
    return out;
}

template <class Real>
std::vector<double> SurfaceRows<Real>::blocks(std::size_t n_outputs, std::span<const double> h,
                                              int n_threads) const {
    must_be("the number of values", h.size(), n_outputs * n_rows());
    std::vector<double> out(n_outputs * n_nodes() * n_surface_bands);
    for_each_surface(n_outputs, n_threads, [&](std::size_t k, std::size_t s) {
        const Surface& surface = surfaces_[s];
        const auto next = static_cast<std::size_t>(surface.n_second);
        const double* own = h.data() + k * n_rows();
        double* to = out.data() + (k * n_nodes() + offsets_[s]) * n_surface_bands;
        for_each_row(positions_, surface, 0, static_cast<std::ptrdiff_t>(n_rows()),
                     [&](std::ptrdiff_t i, const Cell& cell) {
                         const auto& [node, w] = cell;
                         double* at00 = to + node * n_surface_bands;
                         double* at01 = at00 + n_surface_bands;
                         double* at10 = at00 + next * n_surface_bands;
                         double* at11 = at10 + n_surface_bands;
                         at00[0] += own[i] * w[0] * w[0];
                         at00[1] += own[i] * w[0] * w[1];
                         at00[3] += own[i] * w[0] * w[2];
                         at00[4] += own[i] * w[0] * w[3];
                         at01[0] += own[i] * w[1] * w[1];
                         at01[2] += own[i] * w[1] * w[2];
                         at01[3] += own[i] * w[1] * w[3];
                         at10[0] += own[i] * w[2] * w[2];
                         at10[1] += own[i] * w[2] * w[3];
                         at11[0] += own[i] * w[3] * w[3];
                     });
    });
    return out;
}

template class SurfaceRows<float>;
template class SurfaceRows<double>;

}  // namespace splinear
