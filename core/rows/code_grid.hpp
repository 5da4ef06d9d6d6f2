// How finely an axis is divided into codes of 16 or 32 bits.
#pragma once

#include <cstdint>
#include <limits>

#include "model/axis.hpp"

namespace splinear {

using Code = std::uint16_t;
using WideCode = std::uint32_t;  // where 65,535 codes are not enough

// How finely an axis is divided. A position u in [0, 1] along the axis becomes the whole number
// min(floor(u * steps + rounding), last); the code k stands for the position k / steps. With a
// `span` the steps divide that length of the basis's argument, and an axis that is shorter takes
// the lower codes only: a feature may have fewer bins than others. A missing
// value has a code of its own behind the last.
struct CodeGrid {
    static constexpr std::int64_t most_codes = 65535;  // of 16 bits
    static constexpr std::uint32_t no_missing = std::numeric_limits<std::uint32_t>::max();

    double steps;
    double rounding;
    std::uint32_t last;
    double span = 0.0;                        // 0: each axis's own length
    int fraction_bits = 0;                    // of a code; the bin is above them
    std::uint32_t missing_code = no_missing;  // the code of a missing value
    bool is_wide = false;                     // codes are WideCode

    bool has_missing() const noexcept { return missing_code != no_missing; }

    // Codes per unit of the basis's argument.
    double density(const Axis& axis) const noexcept {
        return steps / (span > 0.0 ? span : axis.last() - axis.first());
    }

    // B-splines: bins in the high bits, as many bits of the fraction below as 16 bits leave, so
    // that a bin and its fraction come apart by a shift and a mask; at most most_codes bins, those
    // of a missing value included. Degree 0 needs the bin alone, and may have any number of them. A
    // missing value is in the bin n_bins + degree, where a table goes on behind its last basis
    // function.
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

    // The length of each axis, in equal steps: Fourier and Hermite curves.
    static CodeGrid whole_axis(bool missing) noexcept {
        if (missing) return {65534.0, 0.5, 65534, 0.0, 0, 65535, false};
        return {65535.0, 0.5, 65535};
    }
};

}  // namespace splinear
