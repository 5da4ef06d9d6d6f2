// Pages of memory: those that a file is mapped into, and large ones.
#pragma once

#include <algorithm>
#include <cstddef>
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

// Asks for large pages where memory is about to be used for the first time: it is there in fewer
// steps, and rows that are read in a random order are found sooner. Systems may ignore it.
inline void prefer_large_pages(void* begin, std::size_t n_bytes) noexcept {
#if __has_include(<sys/mman.h>) && defined(MADV_HUGEPAGE)
    constexpr std::uintptr_t page = std::uintptr_t{1} << 21;
    const auto at = reinterpret_cast<std::uintptr_t>(begin);
    const std::uintptr_t first = (at + page - 1) / page * page;
    const std::uintptr_t last = (at + n_bytes) / page * page;
    if (last > first) madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
#else
    (void)begin;
    (void)n_bytes;
#endif
}

}  // namespace splinear
