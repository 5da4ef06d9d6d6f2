#include "support/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#if __has_include(<unistd.h>)
#include <unistd.h>
#endif
#if defined(__x86_64__) || defined(_M_X64)
#include <immintrin.h>
#endif

namespace splinear {
namespace {

using namespace std::chrono_literals;

// How long a thread spins before it goes to sleep. The next job of a fit usually comes sooner, and
// waking up takes long: on 16 cores fits took 8 to 18 % longer with 100 us, and no less time with
// 1 ms. Much longer would hurt on a busy machine: a thread that never sleeps uses up its time slice
// and is then preempted just when work arrives.
constexpr auto patience = 300us;

// Tells the processor that this is a spin loop.
void pause() noexcept {
#if defined(__x86_64__) || defined(_M_X64)
    _mm_pause();
#else
    std::this_thread::yield();
#endif
}

// The process id, or 0 if unknown.
int process() noexcept {
#if __has_include(<unistd.h>)
    return static_cast<int>(getpid());
#else
    return 0;
#endif
}

// Waits until done(value) holds for the atomic's value, which is returned. Spins at first, then
// sleeps.
template <class T, class Done>
T wait_until(const std::atomic<T>& atomic, const Done& done) {
    const auto deadline = std::chrono::steady_clock::now() + patience;
    for (int turn = 1;; ++turn) {
        const T value = atomic.load(std::memory_order_acquire);
        if (done(value)) return value;
        if (turn % 64 == 0 && std::chrono::steady_clock::now() > deadline) break;
        pause();
    }
    for (;;) {
        const T value = atomic.load(std::memory_order_acquire);
        if (done(value)) return value;
        atomic.wait(value, std::memory_order_acquire);
    }
}

thread_local bool in_task = false;  // whether this thread is running a task

// Sets in_task during its lifetime.
struct InTask {
    InTask() noexcept { in_task = true; }
    ~InTask() { in_task = false; }
    InTask(const InTask&) = delete;
    InTask& operator=(const InTask&) = delete;
};

// The helper threads of one calling thread. Helpers join a job if they wake up in time; nobody
// waits for one that does not, since the other threads take all tasks.
class ThreadPool {
public:
    ThreadPool() = default;
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;
    ~ThreadPool() {
        ending_ = true;
        gate_.fetch_add(one_job, std::memory_order_release);
        gate_.notify_all();
        for (std::thread& helper : helpers_) helper.join();
    }

    // Returns, or rethrows the first exception of a task, when no thread is in a task anymore.
    void run(std::ptrdiff_t n_tasks, int n_threads, AnyTask task) {
        hire(static_cast<std::size_t>(std::min<std::ptrdiff_t>(n_threads, n_tasks)) - 1);
        task_ = task;
        n_tasks_ = n_tasks;
        wanted_ = static_cast<std::size_t>(n_threads) - 1;
        next_.store(0, std::memory_order_relaxed);
        has_failed_.store(false, std::memory_order_relaxed);
        gate_.fetch_add(one_job, std::memory_order_release);  // open
        gate_.notify_all();
        work();
        gate_.fetch_add(one_job, std::memory_order_acq_rel);  // closed
        wait_until(gate_, [](std::uint32_t gate) { return inside(gate) == 0; });
        if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
    }

    // Whether the pool was made by this process, not by the parent of a fork.
    bool is_ours() const noexcept { return process_ == process(); }

private:
    // The gate combines two numbers: the low 8 bits count the helpers inside, and the rest is
    // incremented when a job opens and again when it closes, so it is odd while a job is open.
    static constexpr std::uint32_t one_job = 256;
    static constexpr std::size_t most_helpers = most_threads - 1;
    static_assert(most_helpers < one_job);
    static constexpr std::uint32_t inside(std::uint32_t gate) { return gate % one_job; }
    static constexpr std::uint32_t number(std::uint32_t gate) { return gate / one_job; }
    static constexpr bool is_open(std::uint32_t gate) { return number(gate) % 2 == 1; }

    // Starts helpers until there are n, or as many as the system allows.
    void hire(std::size_t n) noexcept {
        n = std::min(n, most_helpers);
        try {
            while (helpers_.size() < n)
                helpers_.emplace_back([this, rank = helpers_.size()] { help(rank); });
        } catch (const std::system_error&) {
            // Go on with those that were started.
        } catch (const std::bad_alloc&) {
            // Likewise.
        }
    }

    // The main loop of helper number `rank`.
    void help(std::size_t rank) noexcept {
        const InTask here;
        std::uint32_t seen = 0;
        for (;;) {
            std::uint32_t gate = wait_until(gate_, [&](std::uint32_t g) {
                return number(g) != seen && (is_open(g) || ending_);
            });
            if (ending_) return;
            seen = number(gate);
            if (enter(gate)) {
                if (rank < wanted_) work();
                if (inside(gate_.fetch_sub(1, std::memory_order_acq_rel)) == 1) gate_.notify_all();
            }
        }
    }

    // Counts this helper as inside; returns false if the job has been closed meanwhile.
    bool enter(std::uint32_t gate) {
        const std::uint32_t job = number(gate);
        while (number(gate) == job)
            if (gate_.compare_exchange_weak(gate, gate + 1, std::memory_order_acq_rel)) return true;
        return false;
    }

    // Runs tasks until none is left or one has thrown.
    void work() noexcept {
        try {
            for (;;) {
                const std::ptrdiff_t i = next_.fetch_add(1, std::memory_order_relaxed);
                if (i >= n_tasks_) return;
                task_.call(task_.task, i);
            }
        } catch (...) {
            next_.store(n_tasks_, std::memory_order_relaxed);  // no further tasks are started
            if (!has_failed_.exchange(true, std::memory_order_relaxed))
                error_ = std::current_exception();
        }
    }

    const int process_ = process();
    std::vector<std::thread> helpers_;
    std::atomic<std::uint32_t> gate_{0};
    std::atomic<bool> ending_{false};

    // The current job; only threads that are inside read these.
    AnyTask task_{};
    std::ptrdiff_t n_tasks_ = 0;
    std::size_t wanted_ = 0;  // helpers of a higher rank do nothing
    std::atomic<std::ptrdiff_t> next_{0};
    std::atomic<bool> has_failed_{false};
    std::exception_ptr error_;  // written by the first thread that fails
};

// A forked process inherits the parent's pool without its threads, so it must not be destroyed.
struct DeleteIfOurs {
    void operator()(ThreadPool* pool) const {
        if (pool->is_ours()) delete pool;
    }
};

}  // namespace

void run_on_pool(std::ptrdiff_t n_tasks, int n_threads, AnyTask task) {
    if (in_task) {
        for (std::ptrdiff_t i = 0; i < n_tasks; ++i) task.call(task.task, i);
        return;
    }
    static thread_local std::unique_ptr<ThreadPool, DeleteIfOurs> pool;
    if (!pool || !pool->is_ours()) pool.reset(new ThreadPool);
    const InTask here;
    pool->run(n_tasks, n_threads, task);
}

}  // namespace splinear
