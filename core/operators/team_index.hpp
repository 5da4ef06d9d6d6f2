// The features of a few sparse rows, and which of the rows list them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "rows/row.hpp"

namespace splinear {

// The products of a team of rows and its steps both go feature by feature: what is in the rows is
// sorted once for both. Whoever calls an operator keeps one of these for it, and one per thread;
// operators of dense rows leave it empty.
class TeamIndex {
public:
    struct Occurrence {
        std::uint32_t row;  // rows[row] has the feature
        double argument;
    };

    // Calls body(feature, its occurrences in the rows) for all features that occur. The source must
    // be the same in all calls.
    template <class Source, class Body>
    void for_each_feature(const Source& source, std::span<const Row> rows, const Body& body) {
        if (!std::ranges::equal(rows, sorted_)) sort(source, rows);
        std::uint32_t begin = 0;
        for (std::size_t f = 0; f < features_.size(); ++f) {
            body(source.places().feature(features_[f]),
                 std::span<const Occurrence>(occurrences_).subspan(begin, ends_[f] - begin));
            begin = ends_[f];
        }
    }

    // Numbers the features that more than one of the rows list, `most` of them at a time, and calls
    // body(their places) each time; number_of() is theirs meanwhile.
    template <class Source, class Body>
    void for_each_shared(const Source& source, std::span<const Row> rows, std::size_t most,
                         const Body& body) {
        find_shared(source, rows);
        for (std::size_t first = 0; first < shared_.size(); first += most) {
            const auto some = std::span<const std::uint32_t>(shared_).subspan(first).first(
                std::min(most, shared_.size() - first));
            std::uint16_t next = 0;
            for (const std::uint32_t place : some) marks_[place / 2] = ++next;
            body(some);
            for (const std::uint32_t place : some) marks_[place / 2] = 0;
        }
    }

    // From 1 on; 0 for a feature that is not among those that body() was called with.
    std::uint32_t number_of(std::uint32_t place) const noexcept { return marks_[place / 2]; }

private:
    template <class Source>
    void find_shared(const Source& source, std::span<const Row> rows) {
        marks_.resize(source.places().length() / 2 + 1, 0);
        sorted_.clear();  // features_ will not be theirs
        std::size_t n = 0;
        for (const Row row : rows) n += source.row(row).size();
        features_.resize(n);
        shared_.resize(n);
        // No branches: whether a feature was seen before is as good as random.
        std::size_t n_features = 0;
        std::size_t n_shared = 0;
        for (const Row row : rows)
            for (const auto& entry : source.row(row)) {
                const std::uint16_t seen = marks_[entry.place / 2];
                features_[n_features] = entry.place;
                shared_[n_shared] = entry.place;
                n_features += seen == 0 ? 1 : 0;
                n_shared += seen == 1 ? 1 : 0;
                marks_[entry.place / 2] = static_cast<std::uint16_t>(seen + (seen < 2 ? 1 : 0));
            }
        features_.resize(n_features);
        shared_.resize(n_shared);
        for (const std::uint32_t place : features_) marks_[place / 2] = 0;
    }

    template <class Source>
    void sort(const Source& source, std::span<const Row> rows) {
        place_.resize(source.places().length() / 2 + 1, 0);
        sorted_.assign(rows.begin(), rows.end());
        features_.clear();
        std::size_t n = 0;
        for (const Row row : rows)
            for (const auto& entry : source.row(row)) {
                if (place_[entry.place / 2]++ == 0) features_.push_back(entry.place);
                ++n;
            }
        occurrences_.resize(n);
        std::uint32_t next = 0;  // from counts to the place behind each feature's occurrences
        for (const std::uint32_t j : features_) next += std::exchange(place_[j / 2], next);
        for (std::size_t a = 0; a < rows.size(); ++a)
            for (const auto& entry : source.row(rows[a]))
                occurrences_[place_[entry.place / 2]++] = {static_cast<std::uint32_t>(a),
                                                           static_cast<double>(entry.argument)};
        ends_.clear();
        for (const std::uint32_t j : features_) ends_.push_back(std::exchange(place_[j / 2], 0));
    }

    std::vector<std::uint32_t>
        place_;  // per two places, which no two tables start at; all zero between calls
    std::vector<std::uint16_t> marks_;     // likewise
    std::vector<std::uint32_t> shared_;    // by their places
    std::vector<Row> sorted_;              // the rows that the next three are about
    std::vector<std::uint32_t> features_;  // by their places
    std::vector<std::uint32_t> ends_;
    std::vector<Occurrence> occurrences_;
};

}  // namespace splinear
