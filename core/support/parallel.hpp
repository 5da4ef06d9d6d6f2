// The one place that starts threads.
#pragma once

#include <cstddef>

namespace splinear {

// More than that are not used, however many are asked for.
inline constexpr int most_threads = 256;

// A task by number, without its type.
struct AnyTask {
    const void* task;
    void (*call)(const void* task, std::ptrdiff_t i);
};

// Runs task 0, ..., n_tasks - 1 on this thread and up to n_threads - 1 others.
void run_on_pool(std::ptrdiff_t n_tasks, int n_threads, AnyTask task);

// Runs task(0), ..., task(n_tasks - 1) on up to n_threads threads, in no fixed order. What a task
// throws reaches the caller, whichever thread ran it: no other task is begun, those that were are
// waited for, and of several exceptions the first is thrown. Results that must not depend on
// n_threads are stored per task and combined afterward. Inside a task it is a plain loop.
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
