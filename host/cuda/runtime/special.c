/* SPDX-License-Identifier: BSD-3-Clause */
/* CUDA's functions that the C library lacks. They are computed by long double, and rounded once. */
#include <math.h>
#include <stdbool.h>

enum { STEPS = 6 };

/* Where erf is x and erfc is y, by Halley's method: the one of the two is used that has all its digits
 * there. */
static double inverse(long double x, long double y, bool is_complement)
{
	const long double a = 0.147L, w = logl(y * (2 - y)), t = 2 / (M_PIl * a) + w / 2;
	long double z = copysignl(sqrtl(sqrtl(t * t - w / a) - t), x); /* within 0.2 % */

	for (int i = 0; i < STEPS; i++) {
		const long double slope = 2 / sqrtl(M_PIl) * expl(-z * z);
		const long double off = (is_complement ? y - erfcl(z) : erfl(z) - x) / slope;

		z -= off / (1 + z * off);
	}
	return (double)z;
}

double nvw_cuda_erfcinv(double y)
{
	if (y == 0 || y == 2) {
		return copysign(INFINITY, 1 - y);
	}
	if (!(y > 0 && y < 2)) {
		return NAN;
	}
	if (y == 1) {
		return 0;
	}
	return inverse(1 - (long double)y, y, y < 0.5);
}

double nvw_cuda_erfinv(double x)
{
	if (fabs(x) == 1) {
		return copysign(INFINITY, x);
	}
	if (!(x > -1 && x < 1)) {
		return NAN;
	}
	if (fabs(x) < 1e-300) {
		return x * (sqrt(M_PI) / 2);
	}
	return inverse(x, 1 - (long double)x, false);
}

double nvw_cuda_erfcx(double x)
{
	const long double square = (long double)x * x;

	if (x < 100) {
		return (double)(expl(square) * erfcl(x));
	}
	return (double)((1 - 1 / (2 * square) * (1 - 3 / (2 * square))) / (sqrtl(M_PIl) * x));
}

/* The power series, all of whose terms have one sign. */
double nvw_cuda_cyl_bessel_i(int order, double x)
{
	const long double quarter = (long double)x * x / 4;
	long double term = order ? (long double)x / 2 : 1, sum = term;

	for (int k = 1; fabsl(term) > fabsl(sum) * 1e-20L; k++) {
		term *= quarter / ((long double)k * (k + order));
		sum += term;
	}
	return (double)sum;
}
