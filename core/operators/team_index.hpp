// An inverted index of a team of sparse rows: for every feature, the rows that contain it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "rows/row.hpp"

namespace splinear {

// gram() and add() of sparse operators both go feature by feature; the index is built by the first
// and reused by the second. Every caller of an operator keeps its own, one per thread. Operators of
// dense rows do not use it. Features are identified by the place of their table (TablePlaces).
class TeamIndex {
public:
    struct Occurrence {
        std::uint32_t row;  // rows[row] contains the feature
        double argument;    // of its basis
    };

    // Calls body(feature, its occurrences) for every feature that occurs in the rows. All calls
    // must pass the same source.
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

    // Finds the features that occur in more than one of the rows. Calls body(places) for runs of up
    // to `most` of them; during the call number_of() returns their numbers within the run.
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

    // The number of a feature within the current run of for_each_shared(), starting from 1; 0 if it
    // is not in the run.
    std::uint32_t number_of(std::uint32_t place) const noexcept { return marks_[place / 2]; }

private:
    template <class Source>
    void find_shared(const Source& source, std::span<const Row> rows) {
        marks_.resize(source.places().length() / 2 + 1, 0);
        sorted_.clear();  // features_ is overwritten
        std::size_t n = 0;
        for (const Row row : rows) n += source.row(row).size();
        features_.resize(n);
        shared_.resize(n);
        // Branch-free: whether a feature was seen before is unpredictable.
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
        // A counting sort: place_ goes from counts to starts, and below from starts to ends.
        std::uint32_t next = 0;
        for (const std::uint32_t j : features_) next += std::exchange(place_[j / 2], next);
        for (std::size_t a = 0; a < rows.size(); ++a)
            for (const auto& entry : source.row(rows[a]))
                occurrences_[place_[entry.place / 2]++] = {static_cast<std::uint32_t>(a),
                                                           static_cast<double>(entry.argument)};
        ends_.clear();
        for (const std::uint32_t j : features_) ends_.push_back(std::exchange(place_[j / 2], 0));
    }

    // Indexed by a feature's place / 2, which is unique because tables have headers of two numbers.
    // All zero between calls.
    std::vector<std::uint32_t> place_;
    std::vector<std::uint16_t> marks_;
    std::vector<std::uint32_t> shared_;    // features in more than one row, by place
    std::vector<Row> sorted_;              // the rows that the next three members describe
    std::vector<std::uint32_t> features_;  // features that occur, by place
    std::vector<std::uint32_t> ends_;      // end of each feature's occurrences
    std::vector<Occurrence> occurrences_;  // feature by feature
};

}  // namespace splinear
