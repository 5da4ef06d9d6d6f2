#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
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

// Every task runs exactly once, whatever the number of threads, and is done when parallel_for()
// returns.
bool runs_all(std::ptrdiff_t n_tasks, int n_threads) {
    std::vector<int> runs(static_cast<std::size_t>(n_tasks), 0);  // not atomic: one writer each
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

// A nested parallel_for() is a plain loop.
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

// What parallel_for() throws if the given task throws its number, as text.
std::optional<std::string> thrown_by(std::ptrdiff_t task, std::ptrdiff_t n_tasks, int n_threads) {
    try {
        parallel_for(n_tasks, n_threads, [&](std::ptrdiff_t i) {
            if (i == task) throw std::runtime_error(std::to_string(i));
        });
    } catch (const std::runtime_error& error) {
        return error.what();
    }
    return std::nullopt;
}

// Whichever task fails, and with any number of threads; the next job is not affected.
void what_a_task_throws_reaches_the_caller() {
    for (const int n_threads : {1, 2, 3, 8})
        for (const std::ptrdiff_t n_tasks : {1, 2, 100, 5000})
            for (const std::ptrdiff_t task : {std::ptrdiff_t{0}, n_tasks / 2, n_tasks - 1}) {
                CHECK(thrown_by(task, n_tasks, n_threads) == std::to_string(task));
                CHECK(runs_all(n_tasks, n_threads));
            }
}

// An exception of a helper, or of the caller itself, while the other one is running a task, which
// is waited for. Two tasks that wait for each other must be on two threads, if there is a helper.
bool fails_on(bool helper) {
    const auto caller = std::this_thread::get_id();
    std::atomic<int> n_begun{0};
    std::atomic<bool> is_thrown{false};
    std::atomic<bool> other_is_done{false};
    try {
        parallel_for(2, 2, [&](std::ptrdiff_t) {
            ++n_begun;
            while (n_begun < 2) std::this_thread::yield();
            if ((std::this_thread::get_id() != caller) == helper) {
                is_thrown = true;
                throw std::bad_alloc();
            }
            while (!is_thrown) std::this_thread::yield();
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
            other_is_done = true;
        });
    } catch (const std::bad_alloc&) {
        return other_is_done;
    }
    return false;
}

void from_any_thread() {
    for (int turn = 0; turn < 20; ++turn) {
        CHECK(fails_on(true));
        CHECK(fails_on(false));
        CHECK(runs_all(100, 2));
    }
}

// All tasks fail: one exception is thrown, the others are discarded.
void many_failures() {
    bool all = true;
    for (int job = 0; job < 2000; ++job) {
        std::atomic<int> n{0};
        try {
            parallel_for(50, 4, [&](std::ptrdiff_t) {
                ++n;
                throw std::bad_alloc();
            });
            all = false;
        } catch (const std::bad_alloc&) {
            all = all && 1 <= n && n <= 4;  // no thread starts another task after one failed
        }
        all = all && runs_all(job % 7, 4);
    }
    CHECK(all);
}

// Exceptions pass through two levels; afterward the outer level has its threads again.
void nested_failures() {
    for (const int n_threads : {1, 3}) {
        bool caught = false;
        try {
            parallel_for(10, n_threads, [&](std::ptrdiff_t i) {
                parallel_for(10, 3, [&](std::ptrdiff_t k) {
                    if (i == 7 && k == 3) throw std::out_of_range("inside");
                });
            });
        } catch (const std::out_of_range&) {
            caught = true;
        }
        CHECK(caught);
    }
    CHECK(fails_on(true));  // would hang if there were no second thread
}

// A forked process has none of its parent's threads, and starts its own.
void after_a_fork() {
#if __has_include(<sys/wait.h>) && !defined(__SANITIZE_THREAD__)  // which does not support this
    // QEMU 7.2 fails an internal assertion when a forked child of several threads starts one.
    if (std::getenv("SPLINEAR_EMULATED") != nullptr) return;
    CHECK(runs_all(100, 3));
    const pid_t child = fork();
    if (child == 0) _exit(runs_all(100, 3) && fails_on(true) && runs_all(100, 3) ? 0 : 1);
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
    what_a_task_throws_reaches_the_caller();
    from_any_thread();
    many_failures();
    nested_failures();
    after_a_fork();
    return splinear::testing::result();
}
