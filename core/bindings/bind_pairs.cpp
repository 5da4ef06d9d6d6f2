// Python bindings of surfaces and of evidence for pairs: pairs/.
#include <nanobind/stl/vector.h>

#include "bindings/arrays.hpp"
#include "pairs/evidence.hpp"
#include "pairs/surfaces.hpp"
#include "support/band_inverse.hpp"

namespace splinear::bindings {
namespace {

// Surfaces that keep their array of positions alive.
template <class Real>
class BoundSurfaces {
public:
    BoundSurfaces(Table<Real> positions, const Table<std::int64_t>& surfaces)
        : positions_(std::move(positions)), rows_(view(), read(surfaces)) {}

    const SurfaceRows<Real>& rows() const { return rows_; }

private:
    Positions<Real> view() const {
        return {as_span(positions_), positions_.shape(0), positions_.shape(1)};
    }
    static std::vector<Surface> read(const Table<std::int64_t>& given) {
        must_be("the number of columns of surfaces", given.shape(1), 4);
        std::vector<Surface> out;
        for (std::size_t s = 0; s < given.shape(0); ++s)
            out.push_back({given(s, 0), given(s, 1), given(s, 2), given(s, 3)});
        return out;
    }

    Table<Real> positions_;
    SurfaceRows<Real> rows_;
};

template <class Pass>
NumpyTable unlocked(std::size_t n_outputs, const Pass& pass) {
    std::vector<double> out;
    {
        nb::gil_scoped_release release;
        out = pass();
    }
    const std::size_t n = n_outputs > 0 ? out.size() / n_outputs : 0;
    return to_numpy<NumpyTable>(std::move(out), n_outputs, n);
}

template <class Real>
void bind_surfaces(nb::module_& m, const char* name, const char* doc) {
    using Bound = BoundSurfaces<Real>;
    nb::class_<Bound>(m, name, doc)
        .def(nb::init<Table<Real>, const Table<std::int64_t>&>(), nb::arg("positions").noconvert(),
             nb::arg("surfaces").noconvert(),
             "positions (n_features, n_rows), negative where a row has no part; surfaces "
             "(n_surfaces, 4): two features and the numbers of their nodes.")
        .def(
            "score",
            [](const Bound& self, const Table<double>& tables, std::int64_t n_threads) {
                const std::size_t n = tables.shape(0);
                return unlocked(
                    n, [&] { return self.rows().score(n, as_span(tables), threads(n_threads)); });
            },
            nb::arg("tables").noconvert(), nb::arg("n_threads"),
            "The sum over surfaces, (n_outputs, n_rows), of tables (n_outputs, n_nodes).")
        .def(
            "sum",
            [](const Bound& self, const Table<double>& r, std::int64_t n_threads) {
                const std::size_t n = r.shape(0);
                return unlocked(n,
                                [&] { return self.rows().sum(n, as_span(r), threads(n_threads)); });
            },
            nb::arg("r").noconvert(), nb::arg("n_threads"),
            "sum_i r_i B_i, (n_outputs, n_nodes), for r (n_outputs, n_rows).")
        .def(
            "blocks",
            [](const Bound& self, const Table<double>& h, std::int64_t n_threads) {
                const std::size_t n = h.shape(0);
                return unlocked(
                    n, [&] { return self.rows().blocks(n, as_span(h), threads(n_threads)); });
            },
            nb::arg("h").noconvert(), nb::arg("n_threads"),
            "The diagonal blocks of sum_i h_i B_i B_i', (n_outputs, n_nodes * 5): a node with "
            "itself and its neighbors at distances 1, m - 1, m, m + 1, m being the number of "
            "nodes of the second feature.");
}

}  // namespace

void bind_pairs(nb::module_& m) {
    bind_surfaces<float>(m, "Surfaces", "Surfaces over pairs of features, and their rows.");
    bind_surfaces<double>(m, "ExactSurfaces", "The same with positions in double precision.");
    m.def(
        "pair_evidence",
        [](const Table<std::uint8_t>& cells, const Vector<double>& g, const Vector<double>& h,
           const Table<std::int64_t>& pairs, std::int64_t n_threads) {
            must_be("the number of columns of pairs", pairs.shape(1), 2);
            std::vector<double> out;
            {
                nb::gil_scoped_release release;
                out = pair_evidence(as_span(cells), cells.shape(0), as_span(g), as_span(h),
                                    as_span(pairs), threads(n_threads));
            }
            const std::size_t n = out.size();
            return to_numpy<NumpyVector>(std::move(out), n);
        },
        nb::arg("cells").noconvert(), nb::arg("g").noconvert(), nb::arg("h").noconvert(),
        nb::arg("pairs").noconvert(), nb::arg("n_threads"),
        "How far the sums of g over the cells of two features exceed what chance gives, in its "
        "standard deviations, for pairs (n_pairs, 2); cells (n_features, n_rows).");
    m.def(
        "band_inverse",
        [](const Table<double>& factor) {
            std::vector<double> out = band_inverse(as_span(factor), factor.shape(0));
            return to_numpy<NumpyTable>(std::move(out), factor.shape(0), factor.shape(1));
        },
        nb::arg("factor").noconvert(),
        "The entries of (L L')^{-1} inside the band of L, both (n_bands, n), entry [p, k] being "
        "that at (k + p, k).");
}

}  // namespace splinear::bindings
