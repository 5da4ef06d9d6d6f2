// The kernels for NEON that have a file of their own; kernels.hpp says what each computes.
#pragma once

#include "simd/kernels.hpp"

namespace splinear::simd::neon {

void score(const Shape& shape, const float* tables, const std::uint16_t* const* codes,
           std::size_t n_rows, float* out);

void decide(const Shape& shape, const BinMap& map, const float* tables, const float* const* x,
            std::size_t n_rows, float* out);

void add(const Shape& shape, const float* smoother, const float* variance,
         const std::uint16_t* const* codes, const float* steps, std::size_t n_rows, float* tables);

void sum(const Shape& shape, const std::uint16_t* const* codes, const float* steps,
         std::size_t n_rows, float* tables);

void min_products(const Shape& shape, const std::uint16_t* x, const std::uint16_t* const* codes,
                  std::size_t n_rows, float* out);

void hat_products(const Shape& shape, const std::uint16_t* x, const std::uint16_t* const* codes,
                  std::size_t n_rows, float* out);

void products(const Shape& shape, const float* smoother, const float* variance,
              const std::uint16_t* const* codes, std::size_t n_rows, float* out);

}  // namespace splinear::simd::neon
