// Seeded random numbers, the same on every platform.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace splinear {

// SplitMix64 (Steele, Lea, Flood 2014): small, fast, and good enough for shuffling.
class Random {
public:
    explicit Random(std::uint64_t seed) : state_(seed) {}

    std::uint64_t next() noexcept {
        state_ += 0x9e3779b97f4a7c15ULL;
        std::uint64_t z = state_;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
        return z ^ (z >> 31);
    }

    // Uniform on 0, ..., n - 1 for n < 2^32, by Lemire's multiply-and-shift (2019). Its bias of at
    // most n / 2^32 does not matter for shuffling.
    std::size_t below(std::size_t n) noexcept {
        return static_cast<std::size_t>(((next() >> 32) * static_cast<std::uint64_t>(n)) >> 32);
    }

private:
    std::uint64_t state_;
};

// Fisher-Yates shuffle.
template <class T>
void shuffle(std::span<T> items, Random& random) {
    for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[random.below(i)]);
}

}  // namespace splinear
