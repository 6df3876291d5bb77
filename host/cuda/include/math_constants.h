/* SPDX-License-Identifier: BSD-3-Clause */
/* CUDA's names of constants, those that its libraries' headers use. */
#ifndef NVW_MATH_CONSTANTS_H
#define NVW_MATH_CONSTANTS_H

#define CUDART_INF_F        (__builtin_inff())
#define CUDART_NAN_F        (__builtin_nanf(""))
#define CUDART_MAX_NORMAL_F 3.402823466e38f
#define CUDART_ZERO_F       0.0f
#define CUDART_ONE_F        1.0f
#define CUDART_SQRT_HALF_F  0.707106781f
#define CUDART_SQRT_TWO_F   1.414213562f
#define CUDART_PI_F         3.141592654f
#define CUDART_PIO2_F       1.570796327f
#define CUDART_PIO4_F       0.785398163f
#define CUDART_L2E_F        1.442695041f
#define CUDART_LN2_F        0.693147181f

#define CUDART_INF          (__builtin_inf())
#define CUDART_NAN          (__builtin_nan(""))
#define CUDART_ZERO         0.0
#define CUDART_ONE          1.0
#define CUDART_SQRT_HALF    7.0710678118654757e-1
#define CUDART_SQRT_HALF_HI CUDART_SQRT_HALF
#define CUDART_SQRT_HALF_LO (-4.8336466567264567e-17)
#define CUDART_SQRT_TWO     1.4142135623730951
#define CUDART_PI           3.1415926535897931
#define CUDART_PIO2         1.5707963267948966
#define CUDART_PIO4         7.8539816339744828e-1
#define CUDART_L2E          1.4426950408889634
#define CUDART_LN2          6.9314718055994529e-1

#endif
