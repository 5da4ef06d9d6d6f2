// Hints to the operating system about pages of memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#if __has_include(<sys/mman.h>)
#include <sys/mman.h>
#endif

namespace splinear {

// Releases the pages [begin, end) of a read-only file mapping from this process's memory; reading
// them again loads them from the file. The mapping is [map_begin, map_end), and map_begin is the
// start of a page. Does nothing on systems without madvise().
inline void release_pages(const void* begin, const void* end, const void* map_begin,
                          const void* map_end) noexcept {
#if __has_include(<sys/mman.h>)
    // Linux loads pages together with their neighbors, in windows of 64 KB: release these as well.
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

// Asks for large pages for memory that is not in use yet: fewer page faults, and fewer TLB misses
// when rows are read in random order. The system may ignore it.
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
