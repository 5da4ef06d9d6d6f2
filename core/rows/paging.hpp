// Memory that a file is mapped into.
#pragma once

#include <algorithm>
#include <cstdint>

#if __has_include(<sys/mman.h>)
#include <sys/mman.h>
#endif

namespace splinear {

// Takes the pages of a read-only map of a file out of this process's memory; whoever reads them
// again gets them from the file. The map goes from map_begin, where a page begins, to map_end.
// Where the system has no such call it frees pages by itself.
inline void release_pages(const void* begin, const void* end, const void* map_begin,
                          const void* map_end) noexcept {
#if __has_include(<sys/mman.h>)
    // With a page Linux brings its neighbors, up to the next multiples of 64 kB: they go too.
    constexpr std::uintptr_t window = 1 << 16;
    const auto first = std::max(reinterpret_cast<std::uintptr_t>(begin) / window * window,
                                reinterpret_cast<std::uintptr_t>(map_begin));
    const auto last =
        std::min((reinterpret_cast<std::uintptr_t>(end) + window - 1) / window * window,
                 reinterpret_cast<std::uintptr_t>(map_end));
    if (last > first) madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
#else
    (void)begin;
    (void)end;
    (void)map_begin;
    (void)map_end;
#endif
}

}  // namespace splinear
