/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The names of GPM's library (GPM: persistent memory for GPUs, ASPLOS 2022), so that its programs compile here. Both of its
 * versions: the one with gpm_persist(), and that of its programs with gpm_persist(address, bytes) and gpm_drain().
 *
 * A file is mapped and registered, so that kernels store to it. gpm_persist() is __threadfence_system(): the work-item's earlier
 * stores are durable when it returns if the machine says so (host.fence_system), and else it promises nothing. A store of 8 aligned bytes is
 * not torn; larger copies are.
 *
 * Device functions have no lines of their own: reports name the line that calls them.
 */
#ifndef NVW_LIBGPM_CUH
#define NVW_LIBGPM_CUH

#include <cuda_runtime.h>
#include <libpmem.h>
#include <stdio.h>
#include <sys/types.h>
#include <unistd.h>

#include "change-ddio.h"
#include "gpm-annotations.cuh"

extern "C" {
/*
 * Maps a file (len bytes, created; or an existing one, whose size is returned) and registers it; NULL, with a message on standard
 * error, if that cannot be done. Where NVWAVE_GPM_POOL names a file, it holds all files of the program, so that one image has the
 * state of all of them.
 */
void *nvw_gpm_map(const char *path, size_t *len, int create);
int nvw_gpm_unmap(void *address, size_t len);
__host__ __device__ int nvw_gpm_is_mapped(const void *address, size_t len);
/* Host stores to it are flushed and fenced. */
void nvw_gpm_persist(void *address, size_t len);
}

#define checkForCudaErrors(call) nvw_gpm_check((call), __FILE__, __LINE__)
static inline void nvw_gpm_check(cudaError_t error, const char *file, int line)
{
	if (error != cudaSuccess) {
		fprintf(stderr, "%s:%d: %s\n", file, line, cudaGetErrorString(error));
		exit((int)error);
	}
}

#define NVW_GPM_DEVICE static __device__ __attribute__((always_inline, nodebug, unused))
#define NVW_GPM_HOST   static inline __host__ __attribute__((always_inline, nodebug, unused))

/* ---- Files ---------------------------------------------------------------------------------------- */

NVW_GPM_HOST void *gpm_map_file(const char *path, size_t &len, bool create)
{
	return nvw_gpm_map(path, &len, create);
}

NVW_GPM_HOST cudaError_t gpm_unmap(void *address, size_t len)
{
	return nvw_gpm_unmap(address, len) ? cudaErrorInvalidValue : cudaSuccess;
}

NVW_GPM_HOST cudaError_t gpm_unmap(const char *, void *address, size_t len)
{
	return gpm_unmap(address, len);
}

NVW_GPM_HOST void gpm_persist_begin(void)
{
	ddio_off();
}

NVW_GPM_HOST void gpm_persist_end(void)
{
	ddio_on();
}

/* Those that programs with kernels behind the library's back call: the host flushes what kernels have stored. */
NVW_GPM_HOST void pmem_mt_persist(void *address, size_t len)
{
	nvw_gpm_persist(address, len);
}

NVW_GPM_HOST long long pmem_write(int fd, const void *from, size_t n, off_t offset)
{
	return pwrite(fd, from, n, offset) == (ssize_t)n && fsync(fd) == 0 ? (long long)n : -1;
}

/* ---- Persisting ----------------------------------------------------------------------------------- */

NVW_GPM_DEVICE void gpm_persist(void)
{
	nvw_cuda_fence(3);
}
NVW_GPM_DEVICE void gpm_drain(void)
{
	nvw_cuda_fence(3);
}
NVW_GPM_DEVICE void gpm_flush(const void *, size_t)
{
}
NVW_GPM_DEVICE void gpm_persist(const void *, size_t)
{
	nvw_cuda_fence(3);
}

static inline __device__ __host__ __attribute__((unused)) int gpm_is_pmem(const void *address, size_t len)
{
	return nvw_gpm_is_mapped(address, len);
}

/* ---- Copies: volatile stores of 8, 4 and 1 bytes, as alignment allows --------------------------------- */

template <class T> NVW_GPM_DEVICE size_t nvw_gpm_copy_words(char *to, const char *from, size_t done, size_t n)
{
	if (((size_t)to | (size_t)from) % sizeof(T) == 0) {
		for (; done + sizeof(T) <= n; done += sizeof(T)) {
			*(volatile T *)(to + done) = *(const T *)(from + done);
		}
	}
	return done;
}

NVW_GPM_DEVICE void vol_memcpy(void *to, const void *from, size_t n)
{
	size_t done = nvw_gpm_copy_words<unsigned long long>((char *)to, (const char *)from, 0, n);

	done = nvw_gpm_copy_words<unsigned>((char *)to, (const char *)from, done, n);
	nvw_gpm_copy_words<unsigned char>((char *)to, (const char *)from, done, n);
}

template <class T>
NVW_GPM_DEVICE size_t nvw_gpm_fill_words(char *to, unsigned char byte, size_t done, size_t n)
{
	const T word = (T)(0x0101010101010101ull * byte);

	if ((size_t)to % sizeof(T) == 0) {
		for (; done + sizeof(T) <= n; done += sizeof(T)) {
			*(volatile T *)(to + done) = word;
		}
	}
	return done;
}

NVW_GPM_DEVICE void nvw_gpm_fill(void *to, unsigned char byte, size_t n)
{
	size_t done = nvw_gpm_fill_words<unsigned long long>((char *)to, byte, 0, n);

	done = nvw_gpm_fill_words<unsigned>((char *)to, byte, done, n);
	nvw_gpm_fill_words<unsigned char>((char *)to, byte, done, n);
}

/* On the host a kernel does it, with a piece of 8 bytes per work-item. */
enum { NVW_GPM_BLOCK = 256 };

static __global__ __attribute__((unused)) void nvw_gpm_copy_kernel(char *to, const char *from, size_t n)
{
	const size_t at = 8 * ((size_t)blockIdx.x * blockDim.x + threadIdx.x);

	if (at < n) {
		vol_memcpy(to + at, from + at, n - at < 8 ? n - at : 8);
		gpm_persist();
	}
}

static __global__ __attribute__((unused)) void nvw_gpm_fill_kernel(char *to, unsigned char byte, size_t n)
{
	const size_t at = 8 * ((size_t)blockIdx.x * blockDim.x + threadIdx.x);

	if (at < n) {
		nvw_gpm_fill(to + at, byte, n - at < 8 ? n - at : 8);
		gpm_persist();
	}
}

static inline unsigned nvw_gpm_blocks(size_t n)
{
	return (unsigned)((n + 8 * NVW_GPM_BLOCK - 1) / (8 * NVW_GPM_BLOCK));
}

/* From memory of the host it goes through device memory. */
NVW_GPM_HOST cudaError_t nvw_gpm_copy_from_host(void *to, const void *from, size_t n, cudaMemcpyKind kind)
{
	void *between = NULL;
	cudaError_t error = cudaMalloc(&between, n);

	error = error ? error : cudaMemcpy(between, from, n, kind);
	if (!error && n) {
		nvw_gpm_copy_kernel<<<nvw_gpm_blocks(n), NVW_GPM_BLOCK>>>(
			(char *)to, (const char *)between, n);
		error = cudaDeviceSynchronize();
	}
	cudaFree(between);
	return error;
}

#ifdef __CUDA_ARCH__
#define NVW_GPM_BOTH static __device__ __host__ __attribute__((always_inline, nodebug, unused))
#else
#define NVW_GPM_BOTH static inline __device__ __host__ __attribute__((unused))
#endif

NVW_GPM_BOTH cudaError_t gpm_memcpy_nodrain(void *to, const void *from, size_t n, cudaMemcpyKind kind)
{
#ifdef __CUDA_ARCH__
	(void)kind;
	vol_memcpy(to, from, n);
	return cudaSuccess;
#else
	return cudaMemcpy(to, from, n, kind);
#endif
}

NVW_GPM_BOTH cudaError_t gpm_memcpy(void *to, const void *from, size_t n, cudaMemcpyKind kind)
{
#ifdef __CUDA_ARCH__
	(void)kind;
	vol_memcpy(to, from, n);
	gpm_persist();
	return cudaSuccess;
#else
	return nvw_gpm_copy_from_host(to, from, n, kind);
#endif
}

NVW_GPM_BOTH cudaError_t gpm_memset_nodrain(void *to, unsigned char byte, size_t n)
{
#ifdef __CUDA_ARCH__
	nvw_gpm_fill(to, byte, n);
	return cudaSuccess;
#else
	return cudaMemset(to, byte, n);
#endif
}

NVW_GPM_BOTH cudaError_t gpm_memset(void *to, unsigned char byte, size_t n)
{
#ifdef __CUDA_ARCH__
	nvw_gpm_fill(to, byte, n);
	gpm_persist();
	return cudaSuccess;
#else
	if (n) {
		nvw_gpm_fill_kernel<<<nvw_gpm_blocks(n), NVW_GPM_BLOCK>>>((char *)to, byte, n);
	}
	return cudaDeviceSynchronize();
#endif
}

#endif
