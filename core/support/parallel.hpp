// Parallel loops. All threads of the core are started here.
#pragma once

#include <cstddef>

namespace splinear {

// The upper limit on threads, however many are requested.
inline constexpr int most_threads = 256;

// A type-erased task: call(task, i) runs task number i.
struct AnyTask {
    const void* task;
    void (*call)(const void* task, std::ptrdiff_t i);
};

// Implements parallel_for(): runs the tasks on this thread and up to n_threads - 1 others.
void run_on_pool(std::ptrdiff_t n_tasks, int n_threads, AnyTask task);

// Runs task(0), ..., task(n_tasks - 1) on up to n_threads threads, in no fixed order, and returns
// when all are done. If a task throws, no further tasks are started, running ones are waited for,
// and the first exception is rethrown to the caller. For results that do not depend on n_threads,
// store one result per task and combine them afterward. Nested calls, from within a task, run as a
// plain loop.
template <class Task>
void parallel_for(std::ptrdiff_t n_tasks, int n_threads, const Task& task) {
    if (n_threads > 1 && n_tasks > 1) {
        run_on_pool(n_tasks, n_threads, {&task, [](const void* t, std::ptrdiff_t i) {
                                             (*static_cast<const Task*>(t))(i);
                                         }});
        return;
    }
    for (std::ptrdiff_t i = 0; i < n_tasks; ++i) task(i);
}

}  // namespace splinear
