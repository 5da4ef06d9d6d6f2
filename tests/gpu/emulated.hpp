// CUDA emulated on the CPU, for tests: the threads of a block take turns, each up to its next
// barrier.
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

// A thread of CUDA. It starts by a context switch and resumes by jumps, which are far faster
// because they make no system calls.
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
static std::vector<double> exchanged;  // one number per thread
static std::vector<double> memory;     // dynamic shared memory of the block

static double* memory_of_block() { return memory.data(); }

static void become(const Fiber& own) { threadIdx = own.thread; }

static void pause(Wait wait) {
    Fiber& own = fibers[running];
    own.wait = wait;
    if (!_setjmp(own.place)) _longjmp(scheduler, 1);
    become(own);
}

static void go_on() {
    Fiber& own = fibers[running];
    become(own);
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

// Release the threads of [from, to) from this barrier if each of them waits there or has ended.
// Returns whether any was released.
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
        become(fibers[running]);
        (*body)();
        fibers[running].wait = Wait::end;
        _longjmp(scheduler, 1);
    }
};
template <class Body>
Body* Entry<Body>::body = nullptr;

// Run the block `blockIdx`.
template <class Body>
void run_block(Body& body, std::size_t n_shared) {
    const std::size_t n = blockDim.x * blockDim.y;
    if (fibers.size() != n) fibers = std::vector<Fiber>(n);
    exchanged.assign(n, 0.0);
    memory.assign(n_shared, nan(""));
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
    gridDim = {unsigned(shape[0]), unsigned(shape[1]), unsigned(shape[2])};
    blockDim = {unsigned(shape[3]), unsigned(shape[4]), 1};
    const std::size_t n_shared = shape[5] / 8 + 1;
    auto body = [&] { kernel(*(std::remove_const_t<A>*)args[I]...); };
    for (unsigned int k = 0; k < gridDim.x * gridDim.y * gridDim.z; ++k) {
        blockIdx = {k % gridDim.x, k / gridDim.x % gridDim.y, k / gridDim.x / gridDim.y};
        run_block(body, n_shared);
    }
}
template <class... A>
void run(void (*kernel)(A...), const int* shape, void** args) {
    run(kernel, shape, args, std::index_sequence_for<A...>{});
}

}  // namespace emulation
