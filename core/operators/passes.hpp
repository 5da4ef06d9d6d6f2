// Passes over the rows for primal methods: score all rows, and sum over them.
//
// B_i is row i's vector of basis functions: group after group, feature after feature, `stride`
// entries per feature. In a group with missing values the last entry of a feature is 1 where it is
// missing, and then all its others are 0. Variance, penalty and mean of a group are not used. Sums
// are accumulated in single precision over at most 2,048 rows and in double precision over these,
// or in double precision throughout. No result depends on n_threads.
//
// Functions of all groups throw std::invalid_argument if groups do not fit together or arrays have
// the wrong size.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "rows/group.hpp"

namespace splinear {

// Whether scores overwrite (first) or are added to (more) what an array holds.
enum class Put { first, more };

inline void put(Put how, double score, double& to) noexcept {
    to = how == Put::first ? score : to + score;
}

// Writes coef'B_i of one group to out[i], or adds it, for every row i.
void put_scores(const Group& group, std::span<const double> coef, Put how, int n_threads,
                double* out);

// coef'B_i of every row i.
std::vector<double> score_all(Groups groups, std::span<const double> coef, int n_threads);

// sum_i r_i B_i of one group. r must have one entry per row; this is not checked.
std::vector<double> sum_one(const Group& group, std::span<const double> r, int n_threads);

// sum_i r_i B_i of all groups.
std::vector<double> sum_all(Groups groups, std::span<const double> r, int n_threads);

}  // namespace splinear
