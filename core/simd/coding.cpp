#include "simd/coding.hpp"

#include "simd/clones.hpp"

namespace splinear::simd {
namespace {

template <class Real>
SPLINEAR_INLINE void code(const Coder& coder, const Real* x, std::uint16_t* out) {
    const double* prescale = coder.prescale;
    const double* lo = coder.lo;
    const double* slope = coder.slope;
    const double rounding = coder.rounding;
    const double last = coder.last;
    for (std::size_t j = 0; j < coder.n_features; ++j) {
        double a = (static_cast<double>(x[j]) * prescale[j] - lo[j]) * slope[j];
        a = a > 0.0 ? a : 0.0;
        a += rounding;
        a = a < last ? a : last;
        out[j] = static_cast<std::uint16_t>(static_cast<std::int32_t>(a));
    }
}

}  // namespace

SPLINEAR_CLONES void code_row(const Coder& coder, const float* x, std::uint16_t* out) {
    code(coder, x, out);
}

SPLINEAR_CLONES void code_row(const Coder& coder, const double* x, std::uint16_t* out) {
    code(coder, x, out);
}

}  // namespace splinear::simd
