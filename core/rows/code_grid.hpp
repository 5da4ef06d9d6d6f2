// How finely an axis is divided into codes of 16 or 32 bits.
#pragma once

#include <cstdint>
#include <limits>

#include "model/axis.hpp"

namespace splinear {

using Code = std::uint16_t;
using WideCode = std::uint32_t;  // for more than 65,535 codes

// The quantization of an axis. A position u in [0, 1] along the axis gets the code
// min(floor(u * steps + rounding), last), and code k stands for the position k / steps. If `span`
// is given, the steps divide that length of the basis's argument instead of the axis's own, and a
// shorter axis, of a feature with fewer bins than others, uses only the lower codes. A missing
// value has a code of its own, beyond the last.
struct CodeGrid {
    static constexpr std::int64_t most_codes = 65535;  // the largest code of 16 bits
    static constexpr std::uint32_t no_missing = std::numeric_limits<std::uint32_t>::max();

    double steps;
    double rounding;
    std::uint32_t last;
    double span = 0.0;                        // 0: each axis's own length
    int fraction_bits = 0;                    // low bits of a code; the higher bits are the bin
    std::uint32_t missing_code = no_missing;  // the code of a missing value
    bool is_wide = false;                     // codes are WideCode

    bool has_missing() const noexcept { return missing_code != no_missing; }

    // Codes per unit of the basis's argument.
    double density(const Axis& axis) const noexcept {
        return steps / (span > 0.0 ? span : axis.last() - axis.first());
    }

    // The grid of B-splines. The high bits of a code are the bin, the low bits its fraction, as
    // many as 16 bits leave, so that a shift and a mask separate the two. There are at most
    // most_codes bins, including that of a missing value. Degree 0 needs no fraction, and may have
    // any number of bins. A missing value is in bin n_bins + degree: the entry of a table behind
    // its last basis function.
    static CodeGrid bins(int n_bins, int degree, bool missing) noexcept {
        const auto span = static_cast<double>(n_bins);
        const std::int64_t size = std::int64_t{n_bins} + degree;
        const std::int64_t top = missing ? size + 1 : n_bins;
        int bits = 0;
        while (degree > 0 && (top << (bits + 1)) <= most_codes) ++bits;
        const std::int64_t end = std::int64_t{n_bins} << bits;
        const auto code = [](std::int64_t k) { return static_cast<std::uint32_t>(k); };
        return {static_cast<double>(end),
                degree == 0 ? 0.0 : 0.5,
                code(degree == 0 ? end - 1 : end),
                span,
                bits,
                missing ? code(size << bits) : no_missing,
                degree == 0 && top > most_codes};
    }

    // The grid of Fourier and Hermite curves: equal steps over the whole axis.
    static CodeGrid whole_axis(bool missing) noexcept {
        if (missing) return {65534.0, 0.5, 65534, 0.0, 0, 65535, false};
        return {65535.0, 0.5, 65535};
    }
};

}  // namespace splinear
