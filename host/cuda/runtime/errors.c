/* SPDX-License-Identifier: BSD-3-Clause */
/* Errors of the host API: those of kernels stay, the others are told once. */
#include "runtime.h"

static cudaError_t sticky;
static __thread cudaError_t last;

static bool is_sticky(cudaError_t error)
{
	return error == cudaErrorIllegalAddress || error == cudaErrorLaunchFailure ||
	       error == cudaErrorAssert || error == cudaErrorMisalignedAddress ||
	       error == cudaErrorLaunchTimeout;
}

cudaError_t nvw_cuda_fail(cudaError_t error)
{
	NVW_INVARIANT(error != cudaSuccess);
	if (is_sticky(error)) {
		sticky = error;
	}
	return last = error;
}

cudaError_t nvw_cuda_unless(cudaError_t error, bool is_right)
{
	if (is_right) {
		return cudaSuccess;
	}
	return nvw_cuda_fail(error);
}

cudaError_t nvw_cuda_failed(void)
{
	return sticky;
}

cudaError_t cudaPeekAtLastError(void)
{
	return NVW_OR(sticky, last);
}

cudaError_t cudaGetLastError(void)
{
	const cudaError_t error = cudaPeekAtLastError();

	last = cudaSuccess;
	return error;
}

const char *cudaGetErrorString(cudaError_t error)
{
	switch (error) {
#define X(name, number, text) \
	case name:            \
		return text;
		NVW_CUDA_ERRORS(X)
#undef X
	}
	return "unrecognized error code";
}

const char *cudaGetErrorName(cudaError_t error)
{
	switch (error) {
#define X(name, number, text) \
	case name:            \
		return #name;
		NVW_CUDA_ERRORS(X)
#undef X
	}
	return "unrecognized error code";
}

void nvw_cuda_forget_errors(void)
{
	sticky = last = cudaSuccess;
}
