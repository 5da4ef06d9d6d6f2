#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

#include "support/parallel.hpp"
#include "tests/check.hpp"

#if __has_include(<sys/wait.h>)
#include <sys/wait.h>
#include <unistd.h>
#endif

using namespace splinear;

namespace {

// Every task runs once, whatever the number of threads, and is done when parallel_for() returns.
bool runs_all(std::ptrdiff_t n_tasks, int n_threads) {
    std::vector<int> runs(static_cast<std::size_t>(n_tasks), 0);  // plain: each has one writer
    parallel_for(n_tasks, n_threads,
                 [&](std::ptrdiff_t i) { ++runs[static_cast<std::size_t>(i)]; });
    for (const int n : runs)
        if (n != 1) return false;
    return true;
}

void every_number_of_tasks_and_threads() {
    for (const int n_threads : {1, 2, 3, 8})
        for (const std::ptrdiff_t n_tasks : {0, 1, 2, 3, 7, 100, 5000})
            CHECK(runs_all(n_tasks, n_threads));
}

void many_short_jobs() {
    bool all = true;
    for (int job = 0; job < 20'000; ++job) all = all && runs_all(job % 5, 2 + job % 3);
    CHECK(all);
}

// Inside a task another parallel_for() is a plain loop.
void nested_jobs() {
    std::atomic<int> n{0};
    std::atomic<bool> elsewhere{false};
    parallel_for(10, 3, [&](std::ptrdiff_t) {
        const auto here = std::this_thread::get_id();
        parallel_for(10, 3, [&](std::ptrdiff_t) {
            if (std::this_thread::get_id() != here) elsewhere = true;
            ++n;
        });
    });
    CHECK(n == 100);
    CHECK(!elsewhere);
}

void several_callers() {
    std::vector<std::thread> callers;
    std::atomic<int> good{0};
    for (int c = 0; c < 4; ++c)
        callers.emplace_back([&] {
            for (int job = 0; job < 500; ++job) good += runs_all(20, 3) ? 1 : 0;
        });
    for (std::thread& caller : callers) caller.join();
    CHECK(good == 4 * 500);
}

// A process that is forked off has none of its parent's threads, and starts its own.
void after_a_fork() {
#if __has_include(<sys/wait.h>) && !defined(__SANITIZE_THREAD__)  // which allows no such thing
    CHECK(runs_all(100, 3));
    const pid_t child = fork();
    if (child == 0) _exit(runs_all(100, 3) ? 0 : 1);
    int status = 1;
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK(runs_all(100, 3));
#endif
}

}  // namespace

int main() {
    every_number_of_tasks_and_threads();
    many_short_jobs();
    nested_jobs();
    several_callers();
    after_a_fork();
    return splinear::testing::result();
}
