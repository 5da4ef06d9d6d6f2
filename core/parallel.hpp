// The one place that starts threads.
#pragma once

#include <cstddef>

namespace splinear {

// Runs task(0), ..., task(n_tasks - 1) on up to n_threads threads, in no fixed order. Tasks must
// not throw; results that must not depend on n_threads are stored per task and combined afterwards.
template <class Task>
void parallel_for(std::ptrdiff_t n_tasks, int n_threads, const Task& task) {
    (void)n_threads;  // unused in a build without OpenMP
#ifdef _OPENMP
#pragma omp parallel for schedule(dynamic) num_threads(n_threads) if (n_threads > 1 && n_tasks > 1)
#endif
    for (std::ptrdiff_t i = 0; i < n_tasks; ++i) task(i);
}

}  // namespace splinear
