// Arrays aligned to cache lines, as the kernels require.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace splinear {

template <class T>
struct CacheLineAllocator {
    using value_type = T;
    static constexpr std::align_val_t line{64};

    CacheLineAllocator() = default;
    template <class U>
    CacheLineAllocator(const CacheLineAllocator<U>&) noexcept {}

    T* allocate(std::size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), line)); }
    void deallocate(T* p, std::size_t) noexcept { ::operator delete(p, line); }

    friend bool operator==(CacheLineAllocator, CacheLineAllocator) noexcept { return true; }
};

using AlignedFloats = std::vector<float, CacheLineAllocator<float>>;
using AlignedDoubles = std::vector<double, CacheLineAllocator<double>>;

}  // namespace splinear
