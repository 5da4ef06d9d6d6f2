// SPLINEAR_CLONES before a function: the compiler makes a clone of it per instruction set and picks
// one when the library is loaded. For loops that it vectorizes by itself; files that use it are
// compiled without fused multiplication and addition, so that all clones round alike.
#pragma once

#if defined(__x86_64__) && defined(__gnu_linux__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define SPLINEAR_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define SPLINEAR_CLONES
#endif

// For what the clones share: inlined, it is compiled anew for each of them.
#ifdef __GNUC__
#define SPLINEAR_INLINE inline __attribute__((always_inline))
#define SPLINEAR_INLINE_LAMBDA __attribute__((always_inline))
#else
#define SPLINEAR_INLINE inline
#define SPLINEAR_INLINE_LAMBDA
#endif
