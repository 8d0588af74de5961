/* CG's problem by class (NPB report, table of CG parameters) and the published eigenvalue estimates. */
#ifndef CG_PARAMS_H
#define CG_PARAMS_H

#if NPB_CLASS == 'S'
#define NA       1400
#define NONZER   7
#define NITER    15
#define SHIFT    10.0
#define ZETA_REF 8.5971775078648
#elif NPB_CLASS == 'W'
#define NA       7000
#define NONZER   8
#define NITER    15
#define SHIFT    12.0
#define ZETA_REF 10.362595087124
#elif NPB_CLASS == 'A'
#define NA       14000
#define NONZER   11
#define NITER    15
#define SHIFT    20.0
#define ZETA_REF 17.130235054029
#elif NPB_CLASS == 'B'
#define NA       75000
#define NONZER   13
#define NITER    75
#define SHIFT    60.0
#define ZETA_REF 22.712745482631
#elif NPB_CLASS == 'C'
#define NA       150000
#define NONZER   15
#define NITER    75
#define SHIFT    110.0
#define ZETA_REF 28.973605592845
#else
#error "unknown class: S, W, A, B or C"
#endif

#define RCOND   0.1
#define CGITMAX 25 /* CG iterations of one solve */
#define NZ      (NA * (NONZER + 1) * (NONZER + 1) + NA * (NONZER + 2)) /* room for all terms, unmerged */

#endif
