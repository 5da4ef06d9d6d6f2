#include "simd/dispatch.hpp"

#include <cstdlib>
#include <stdexcept>
#include <string>

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
    if (neon_kernels() != nullptr)
        found.push_back(neon_kernels());  // all of its processors have it
    found.push_back(&portable_kernels());
    return found;
}

std::vector<std::string> names() {
    std::vector<std::string> all;
    for (const Kernels* kernels : available()) all.emplace_back(kernels->name);
    all.emplace_back("reference");
    return all;
}

const Kernels* chosen() {
    const char* variable = std::getenv("SPLINEAR_INSTRUCTIONS");
    const std::string forced = variable == nullptr ? "" : variable;
    if (forced == "reference") return nullptr;
    std::string others;
    for (const Kernels* kernels : available()) {
        if (forced.empty() || forced == kernels->name) return kernels;
        others += std::string(kernels->name) + ", ";
    }
    throw std::invalid_argument("SPLINEAR_INSTRUCTIONS is '" + forced + "', but this machine has " +
                                others + "reference");
}

}  // namespace splinear::simd
