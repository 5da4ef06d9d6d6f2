#include "solve/arrow.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "support/checks.hpp"
#include "support/dot.hpp"
#include "support/pieces.hpp"

namespace splinear {
namespace {

// Lower bound of ArrowGroup::remainder: u_j and M_j are sums that are no more accurate than that.
constexpr double least_remainder = 1e-6;
constexpr std::size_t numbers_per_task = 512;
constexpr std::size_t features_at_once = 8;

// Entries of parameters that are not used become 0.
void keep_used(const std::uint8_t* used, std::size_t n, double* x) noexcept {
    for (std::size_t k = 0; k < n; ++k)
        if (!used[k]) x[k] = 0.0;
}

}  // namespace

ArrowGroup::ArrowGroup(BandedBlocks the_blocks, std::vector<std::uint8_t> is_used,
                       std::vector<double> the_mean, std::vector<double> tied, double s,
                       int n_threads, Lines the_lines)
    : blocks(std::move(the_blocks)),
      used(std::move(is_used)),
      mean(std::move(the_mean)),
      share(mean.empty() ? 0 : n_features()),
      of_mean(mean.size()),
      joint(share.size()),
      ties(std::move(tied)),
      solved(n_parameters()),
      remainder(n_features()),
      lines(std::move(the_lines.times)) {
    must_be("the size of used, one per parameter,", used.size(), n_parameters());
    must_be("the number of ties, one per parameter,", ties.size(), n_parameters());
    if (!mean.empty())
        must_be("the size of mean, n_features x size,", mean.size(), n_parameters() - n_features());
    must_be("the number of lines, one per parameter,", the_lines.line.size(), lines.size());
    if (!lines.empty()) {
        must_be("the number of lines, one per parameter,", lines.size(), n_parameters());
        must_be("the number of precisions of lines", the_lines.precision.size(), n_features());
    }
    const auto add_line = [&](std::size_t j) {
        const std::size_t i = j * stride();
        std::vector<double> of_line(&lines[i], &lines[i] + stride());
        double* p = &lines[i];
        blocks.solve(j, j + 1, p);
        for (std::size_t k = 0; k < stride(); ++k) p[k] = the_lines.line[i + k] - p[k];
        const double along = std::max(dot(of_line.data(), p, stride()), 0.0);
        const double root = std::sqrt(the_lines.precision[j] + along);
        for (std::size_t k = 0; k < stride(); ++k) p[k] = root > 0.0 ? p[k] / root : 0.0;
    };
    const auto join_missing = [&](std::size_t j) {
        const std::size_t size = stride() - 1;
        double* m = &mean[j * size];
        double* own = &ties[j * stride()];
        const double c = own[size];
        keep_used(&used[j * stride()], size, m);
        std::vector<double> x(m, m + size);
        x.push_back(1.0);
        solve_curves(j, j + 1, x.data());
        const bool deviates = used[j * stride() + size];
        share[j] = deviates ? std::clamp(c * x[size], 0.0, 1.0) : 0.0;
        const double k = c * (1.0 - share[j]);
        joint[j] = k / (1.0 + k * dot(m, x.data(), size));
        std::copy_n(x.data(), size, &of_mean[j * size]);
        for (std::size_t i = 0; i < size; ++i) own[i] += c * m[i];
    };
    const auto prepare = [&](std::size_t first, std::size_t last) {
        for (std::size_t j = first; j < last && !lines.empty(); ++j) add_line(j);
        for (std::size_t j = first; j < last && !mean.empty(); ++j) join_missing(j);
        for (std::size_t i = first * stride(); i < last * stride(); ++i)
            solved[i] = ties[i] = used[i] ? ties[i] / s : 0.0;
        solve(first, last, &solved[first * stride()]);
        for (std::size_t j = first; j < last; ++j) {
            const double own = s * dot(&ties[j * stride()], &solved[j * stride()], stride());
            remainder[j] = std::max(1.0 - own, least_remainder);
        }
    };
    parallel_pieces(0, std::ssize(remainder), std::ptrdiff_t{features_at_once}, n_threads,
                    [&](std::ptrdiff_t first, std::ptrdiff_t last) {
                        prepare(static_cast<std::size_t>(first), static_cast<std::size_t>(last));
                    });
}

void ArrowGroup::solve(std::size_t first, std::size_t last, double* x) const {
    const std::size_t size = mean.empty() ? stride() : stride() - 1;
    // The deviation is eliminated: (A + k m m') a = r - share r_d m, d = r_d / (c + p) - share m'a.
    for (std::size_t j = first; j < last && !mean.empty(); ++j) {
        double* own = x + (j - first) * stride();
        const double of_deviation = share[j] * own[size];
        for (std::size_t k = 0; k < size; ++k) own[k] -= of_deviation * mean[j * size + k];
    }
    solve_curves(first, last, x);
    for (std::size_t j = first; j < last && !mean.empty(); ++j) {
        double* own = x + (j - first) * stride();
        const double* m = &mean[j * size];
        const double along = joint[j] * dot(m, own, size);
        for (std::size_t k = 0; k < size; ++k) own[k] -= along * of_mean[j * size + k];
        own[size] -= share[j] * dot(m, own, size);
    }
}

void ArrowGroup::solve_curves(std::size_t first, std::size_t last, double* x) const {
    std::vector<double> along(lines.empty() ? 0 : last - first);
    for (std::size_t j = first; j < first + along.size(); ++j)
        along[j - first] = dot(&lines[j * stride()], x + (j - first) * stride(), stride());
    blocks.solve(first, last, x);
    for (std::size_t j = first; j < first + along.size(); ++j)
        for (std::size_t k = 0; k < stride(); ++k)
            x[(j - first) * stride() + k] += along[j - first] * lines[j * stride() + k];
}

std::vector<ArrowPart> arrow_parts(std::span<const ArrowGroup* const> groups) {
    std::vector<ArrowPart> parts;
    std::size_t start = 0;
    std::size_t feature = 0;
    for (std::size_t number = 0; number < groups.size(); ++number) {
        const ArrowGroup* group = groups[number];
        const std::size_t n = group->n_features();
        const std::size_t step = std::max(features_at_once, numbers_per_task / group->stride());
        for (std::size_t first = 0; first < n; first += step)
            parts.push_back({group, number, first, std::min(n, first + step),
                             start + first * group->stride(), feature + first});
        start += group->n_parameters();
        feature += n;
    }
    return parts;
}

std::size_t checked_size(std::span<const ArrowGroup* const> groups) {
    std::size_t n = 0;
    for (const ArrowGroup* group : groups) {
        must(group->blocks.is_definite(), "a block is not positive definite");
        n += group->n_parameters();
    }
    return n;
}

void solve_part(const ArrowPart& part, double s, const double* r, double r_intercept, double* out,
                double* tilts) {
    const ArrowGroup& group = *part.group;
    const std::size_t stride = group.stride();
    for (std::size_t j = part.first; j < part.last; ++j) {
        double* to = out + (j - part.first) * stride;
        const double* own = r + (j - part.first) * stride;
        const double* ties = &group.ties[j * stride];
        for (std::size_t k = 0; k < stride; ++k) to[k] = own[k] - ties[k] * r_intercept;
        keep_used(&group.used[j * stride], stride, to);
    }
    group.solve(part.first, part.last, out);
    for (std::size_t j = part.first; j < part.last; ++j, out += stride) {
        const double* ties = &group.ties[j * stride];
        const double* solved = &group.solved[j * stride];
        const double along = s * dot(ties, out, stride) / group.remainder[j];
        for (std::size_t k = 0; k < stride; ++k) out[k] += solved[k] * along;
        tilts[j - part.first] = dot(ties, out, stride);
        keep_used(&group.used[j * stride], stride, out);
    }
}

std::vector<double> solve_arrow(std::span<const ArrowGroup* const> groups, double s,
                                std::span<const double> r, int n_threads) {
    const std::vector<ArrowPart> parts = arrow_parts(groups);
    const std::size_t n = checked_size(groups) + 1;
    std::size_t n_features = 0;
    for (const ArrowGroup* group : groups) n_features += group->n_features();
    must(r.size() % n == 0, "the vectors must be of all parameters and the intercept");
    const std::size_t n_vectors = r.size() / n;
    std::vector<double> out(r.size());
    std::vector<double> tilts(n_vectors * n_features);
    const auto n_tasks = static_cast<std::ptrdiff_t>(n_vectors * parts.size());
    parallel_for(n_tasks, n_threads, [&](std::ptrdiff_t task) {
        const std::size_t v = static_cast<std::size_t>(task) / parts.size();
        const ArrowPart& part = parts[static_cast<std::size_t>(task) % parts.size()];
        const double* own = &r[v * n];
        solve_part(part, s, own + part.start, own[n - 1], &out[v * n + part.start],
                   &tilts[v * n_features + part.feature]);
    });
    for (std::size_t v = 0; v < n_vectors; ++v) {
        const double* own = tilts.data() + v * n_features;
        out[(v + 1) * n - 1] = r[(v + 1) * n - 1] / s - std::accumulate(own, own + n_features, 0.0);
    }
    return out;
}

}  // namespace splinear
