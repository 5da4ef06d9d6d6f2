// Memory that a file is mapped into.
#pragma once

#include <cstddef>
#include <cstdint>

#if __has_include(<sys/mman.h>)
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace splinear {

// Takes the pages of a read-only map of a file out of this process's memory; whoever reads them
// again gets them from the file. Where the system has no such call it frees pages by itself.
inline void release_pages(const void* begin, const void* end) noexcept {
#if __has_include(<sys/mman.h>)
    const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    const auto first = reinterpret_cast<std::uintptr_t>(begin) / page * page;
    const auto last = reinterpret_cast<std::uintptr_t>(end);
    if (last > first) madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
#else
    (void)begin;
    (void)end;
#endif
}

}  // namespace splinear
