// The kernels for AVX2 that have a file of their own; kernels.hpp says what each computes.
#pragma once

#include "simd/kernels.hpp"

namespace splinear::simd::avx2 {

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

void code_tile(const CodeMap& map, std::size_t j, std::size_t n, const float* const* x,
               std::uint16_t* const* out, std::uint64_t* doubts);

}  // namespace splinear::simd::avx2
