#include "simd/dispatch.hpp"

namespace splinear::simd {
namespace {

#if (defined(__x86_64__) || defined(__i386__)) && defined(__GNUC__)
bool has_avx512() {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}
bool has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
#else
bool has_avx512() { return false; }
bool has_avx2() { return false; }
#endif

}  // namespace

std::vector<const Kernels*> available() {
    std::vector<const Kernels*> found;
    if (avx512_kernels() != nullptr && has_avx512()) found.push_back(avx512_kernels());
    if (avx2_kernels() != nullptr && has_avx2()) found.push_back(avx2_kernels());
    found.push_back(&portable_kernels());
    return found;
}

}  // namespace splinear::simd
