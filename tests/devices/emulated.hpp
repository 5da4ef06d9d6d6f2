// CUDA on the processor, for tests: the threads of a block take turns, each up to its next barrier.
#include <math.h>
#include <setjmp.h>
#include <ucontext.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

struct Dim {
    unsigned int x, y, z;
};
static Dim threadIdx, blockIdx, blockDim, gridDim;
static std::vector<double> shared_memory_of_block;

#define __global__
#define __device__
#define __forceinline__ inline
#define __shared__ static
#define __restrict__
#define __launch_bounds__(...)
#define __ldg(pointer) (*(pointer))
#define __threadfence()

namespace emulation {

enum class Wait { nothing, warp, block, end };

// Contexts begin and end a thread; in between jumps are far faster, as they ask the system nothing.
struct Fiber {
    ucontext_t context;
    jmp_buf place;
    std::vector<char> stack = std::vector<char>(1 << 15);
    Dim thread;
    Wait wait = Wait::nothing;
    bool has_begun = false;
};
static std::vector<Fiber> fibers;
static ucontext_t beginning;
static jmp_buf scheduler;
static unsigned int running;
static std::vector<double> exchanged;  // one number per thread of the block

static void pause(Wait wait) {
    Fiber& own = fibers[running];
    own.wait = wait;
    if (!_setjmp(own.place)) _longjmp(scheduler, 1);
    threadIdx = own.thread;
}

static void go_on() {
    Fiber& own = fibers[running];
    threadIdx = own.thread;
    if (_setjmp(scheduler)) return;
    if (own.has_begun) _longjmp(own.place, 1);
    own.has_begun = true;
    swapcontext(&beginning, &own.context);
}
}  // namespace emulation

static void __syncthreads() { emulation::pause(emulation::Wait::block); }
static void __syncwarp() { emulation::pause(emulation::Wait::warp); }
template <class T>
T __shfl_xor_sync(unsigned int, T value, int other) {
    using namespace emulation;
    exchanged[running] = (double)value;
    __syncwarp();
    const T found = (T)exchanged[running ^ other];
    __syncwarp();
    return found;
}
template <class T>
T __shfl_sync(unsigned int, T value, int lane) {
    using namespace emulation;
    exchanged[running] = (double)value;
    __syncwarp();
    const T found = (T)exchanged[running / 32 * 32 + lane];
    __syncwarp();
    return found;
}
template <class T>
T atomicAdd(T* to, T value) {
    const T before = *to;
    *to += value;
    return before;
}

namespace emulation {

// Let all threads of [from, to) go on that wait for this, if all of them do or have ended.
static bool release(std::size_t from, std::size_t to, Wait wait) {
    bool any = false;
    for (std::size_t k = from; k < to; ++k) {
        if (fibers[k].wait != wait && fibers[k].wait != Wait::end) return false;
        any = any || fibers[k].wait == wait;
    }
    for (std::size_t k = from; k < to && any; ++k)
        if (fibers[k].wait == wait) fibers[k].wait = Wait::nothing;
    return any;
}

template <class Body>
struct Entry {
    static Body* body;
    static void begin() {
        threadIdx = fibers[running].thread;
        (*body)();
        fibers[running].wait = Wait::end;
        _longjmp(scheduler, 1);
    }
};
template <class Body>
Body* Entry<Body>::body = nullptr;

template <class Body>
void run_block(Body& body) {
    const std::size_t n = blockDim.x * blockDim.y;
    if (fibers.size() != n) fibers = std::vector<Fiber>(n);
    exchanged.assign(n, 0.0);
    Entry<Body>::body = &body;
    for (std::size_t k = 0; k < n; ++k) {
        Fiber& own = fibers[k];
        own.wait = Wait::nothing;
        own.has_begun = false;
        own.thread = {unsigned(k % blockDim.x), unsigned(k / blockDim.x), 0};
        getcontext(&own.context);
        own.context.uc_stack.ss_sp = own.stack.data();
        own.context.uc_stack.ss_size = own.stack.size();
        own.context.uc_link = nullptr;
        makecontext(&own.context, &Entry<Body>::begin, 0);
    }
    for (bool go = true; go;) {
        for (running = 0; running < n; ++running)
            if (fibers[running].wait == Wait::nothing) go_on();
        go = false;
        for (std::size_t k = 0; k < n; k += 32)
            go = release(k, k + 32 < n ? k + 32 : n, Wait::warp) || go;
        go = release(0, n, Wait::block) || go;
    }
}

template <class... A, std::size_t... I>
void run(void (*kernel)(A...), const int* shape, void** args, std::index_sequence<I...>) {
    gridDim = {unsigned(shape[0]), unsigned(shape[1]), 1};
    blockDim = {unsigned(shape[2]), unsigned(shape[3]), 1};
    auto body = [&] { kernel(*(std::remove_const_t<A>*)args[I]...); };
    for (unsigned int y = 0; y < gridDim.y; ++y)
        for (unsigned int x = 0; x < gridDim.x; ++x) {
            blockIdx = {x, y, 0};
            shared_memory_of_block.assign(shape[4] / 8 + 1, nan(""));
            run_block(body);
        }
}
template <class... A>
void run(void (*kernel)(A...), const int* shape, void** args) {
    run(kernel, shape, args, std::index_sequence_for<A...>{});
}

}  // namespace emulation
