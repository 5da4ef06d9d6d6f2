// An uninitialized array of numbers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>

namespace splinear {

// Unlike a std::vector, it is not initialized, so its pages are first touched, in parallel, by the
// threads that write to it.
template <class Number>
class Buffer {
public:
    Buffer() = default;
    explicit Buffer(std::size_t n) : data_(std::make_unique_for_overwrite<Number[]>(n)), size_(n) {}

    Number* data() noexcept { return data_.get(); }
    const Number* data() const noexcept { return data_.get(); }
    std::size_t size() const noexcept { return size_; }
    Number& operator[](std::size_t i) noexcept { return data_[i]; }
    const Number* begin() const noexcept { return data(); }
    const Number* end() const noexcept { return data() + size_; }
    operator std::span<const Number>() const noexcept { return {data(), size_}; }

    friend bool operator==(const Buffer& a, const Buffer& b) {
        return std::equal(a.begin(), a.end(), b.begin(), b.end());
    }

    // Transfers ownership to the caller, who must delete[] the array.
    Number* release() noexcept { return data_.release(); }

private:
    std::unique_ptr<Number[]> data_;
    std::size_t size_ = 0;
};

}  // namespace splinear
