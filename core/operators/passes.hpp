// What primal methods do with the rows: score all of them, and sum over them.
//
// B_i is row i's vector of basis functions, all features of all groups one after the other,
// `stride` entries per feature; few of them are not zero for B-splines. In a group with missing
// values the last entry of a feature is 1 where it is missing, and all others are 0. Variance,
// penalty and mean of a group are not used. Sums are taken in single precision over 2,048 rows at
// most and in double precision over these, or in double precision throughout; the result does not
// depend on the number of threads.
//
// All throw std::invalid_argument for groups that do not belong together, and for arrays of the
// wrong size.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "rows/group.hpp"

namespace splinear {

// What becomes of numbers per row: they are written where others are added to them afterward.
enum class Put { first, more };

inline void put(Put how, double score, double& to) noexcept {
    to = how == Put::first ? score : to + score;
}

// Puts coef'B_i of one group into out[i], for every row i.
void put_scores(const Group& group, std::span<const double> coef, Put how, int n_threads,
                double* out);

// coef'B_i of every row i.
std::vector<double> score_all(Groups groups, std::span<const double> coef, int n_threads);

// sum_i r_i B_i of one group, of which r has a number per row: that is not checked.
std::vector<double> sum_one(const Group& group, std::span<const double> r, int n_threads);

// sum_i r_i B_i.
std::vector<double> sum_all(Groups groups, std::span<const double> r, int n_threads);

}  // namespace splinear
