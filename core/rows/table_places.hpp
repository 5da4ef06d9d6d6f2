// The layout of the tables of all features of sparse rows in one array.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "support/checks.hpp"

namespace splinear {

// Tables of different lengths, one after the other, each preceded by a header of two numbers that
// operators may use. In text, most words occur once or twice and their curves have few
// coefficients: tables of equal length would be many times as large and fit in no cache.
class TablePlaces {
public:
    static constexpr std::size_t header = 2;    // numbers before each table
    static constexpr std::size_t padding = 16;  // numbers after the last table

    // sizes: the size of each feature's table, at least 1.
    explicit TablePlaces(std::span<const std::int64_t> sizes) {
        std::size_t end = 0;
        for (const std::int64_t size : sizes) {
            must(size > 0, "a table must have a place for something");
            starts_.push_back(static_cast<std::uint32_t>(end + header));
            end += header + static_cast<std::size_t>(size);
            must(end < std::numeric_limits<std::uint32_t>::max() - padding,
                 "the tables are too long for places of 32 bits");
        }
        ends_ = end;
        features_.assign(end, none);
        for (std::size_t j = 0; j < starts_.size(); ++j)
            features_[starts_[j]] = static_cast<std::uint32_t>(j);
    }

    std::size_t n_features() const noexcept { return starts_.size(); }
    std::size_t length() const noexcept { return ends_ + padding; }  // of the whole array

    std::span<const std::uint32_t> starts() const noexcept { return starts_; }
    std::size_t start(std::size_t j) const noexcept { return starts_[j]; }
    std::size_t size(std::size_t j) const noexcept {
        const std::size_t end = j + 1 < starts_.size() ? starts_[j + 1] - header : ends_;
        return end - starts_[j];
    }

    // The feature whose table starts at `place`, which must be a start.
    std::size_t feature(std::uint32_t place) const noexcept { return features_[place]; }
    bool is_start(std::uint32_t place) const noexcept {
        return place < features_.size() && features_[place] != none;
    }

private:
    static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

    std::vector<std::uint32_t> starts_;
    std::vector<std::uint32_t> features_;  // per place, the feature whose table starts there
    std::size_t ends_ = 0;                 // end of the last table
};

}  // namespace splinear
