/* One body, three instruction sets, chosen when it runs: nothing is compiled for this machine only. */
#ifndef SUFFICE_DISPATCH_H
#define SUFFICE_DISPATCH_H

#if defined(__FAST_MATH__)
#error "kernels keep the rounding of every operation: build them without -ffast-math"
#endif
#if defined(__FLT_EVAL_METHOD__) && __FLT_EVAL_METHOD__ != 0
#error "kernels need double arithmetic without excess precision"
#endif

#if defined(__GNUC__)
#define INLINE static inline __attribute__((always_inline))
#define PREFETCH(AT) __builtin_prefetch(AT)
#else
#define PREFETCH(AT) ((void)(AT))
#define INLINE static inline
#define restrict __restrict
#endif

/* no two rounds of the loop write to one place */
#if defined(__clang__)
#define EACH_ONCE _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define EACH_ONCE _Pragma("GCC ivdep")
#else
#define EACH_ONCE
#endif

#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#elif defined(__GNUC__)
#define UNROLL _Pragma("GCC unroll 8")
#else
#define UNROLL
#endif

#if defined(__GNUC__) && defined(__x86_64__)
#if defined(__clang__)
#define WIDE __attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,avx2,fma,bmi,bmi2")))
#else
#define WIDE \
    __attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,avx2,fma,bmi,bmi2,prefer-vector-width=512")))
#endif
#define MIDDLE __attribute__((target("avx2,fma,bmi,bmi2")))
#define HAS_WIDE \
    (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && \
     __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw"))
#define HAS_MIDDLE \
    (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2"))
/* DISPATCH(run, (Job *job), (job)) defines run() from an INLINE run_body() */
#define DISPATCH(NAME, PARAMETERS, ARGUMENTS) \
    WIDE static void NAME##_wide PARAMETERS { NAME##_body ARGUMENTS; } \
    MIDDLE static void NAME##_middle PARAMETERS { NAME##_body ARGUMENTS; } \
    static void NAME##_plain PARAMETERS { NAME##_body ARGUMENTS; } \
    static void NAME PARAMETERS \
    { \
        if (suffice_lanes >= 3 && HAS_WIDE) \
            NAME##_wide ARGUMENTS; \
        else if (suffice_lanes >= 2 && HAS_MIDDLE) \
            NAME##_middle ARGUMENTS; \
        else \
            NAME##_plain ARGUMENTS; \
    }
#else
#define DISPATCH(NAME, PARAMETERS, ARGUMENTS) \
    static void NAME PARAMETERS { (void)suffice_lanes; NAME##_body ARGUMENTS; }
#endif

/* the widest instruction set that may be used: 3 is AVX-512, 2 AVX2, 1 the baseline; tests lower it */
static int suffice_lanes = 3;

#endif
