/* EP's problem by class: 2^LOG2_PAIRS candidate pairs, and the published sums of the accepted ones. */
#ifndef EP_PARAMS_H
#define EP_PARAMS_H

#if NPB_CLASS == 'S'
#define LOG2_PAIRS 24
#define SX_REF     (-3247.83465203474)
#define SY_REF     (-6958.407078382297)
#elif NPB_CLASS == 'W'
#define LOG2_PAIRS 25
#define SX_REF     (-2863.319731645753)
#define SY_REF     (-6320.053679109499)
#elif NPB_CLASS == 'A'
#define LOG2_PAIRS 28
#define SX_REF     (-4295.875165629892)
#define SY_REF     (-15807.32573678431)
#elif NPB_CLASS == 'B'
#define LOG2_PAIRS 30
#define SX_REF     40338.15542441498
#define SY_REF     (-26606.69192809235)
#elif NPB_CLASS == 'C'
#define LOG2_PAIRS 32
#define SX_REF     47643.67927995374
#define SY_REF     (-80840.72988043731)
#else
#error "unknown class: S, W, A, B or C"
#endif

#define NK      (1 << 16)                 /* pairs of one batch */
#define BATCHES (1 << (LOG2_PAIRS - 16))
#define NQ      10                        /* square annuli that are counted */

#endif
