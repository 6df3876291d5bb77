/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Between a CUDA program, with its machine, and the library that "nvwave exec" preloads: kernels that run on
 * the machine, in a record, and how many do not.
 *
 * The machine writes a persist log of its own, a file of the session's folder. The session's spool has the
 * place of each kernel among the events of host code; when the session is converted, the kernel's records
 * come there (host/merge.c). While a kernel runs, the program's mappings are a window (seam.h): their content
 * is not compared.
 */
#ifndef HOST_CUDA_RECORDED_H
#define HOST_CUDA_RECORDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Memory of the program that lies in the machine's NVRAM. */
struct nvwave_kernel_range {
	const void *start;
	size_t bytes;
	uint64_t off; /* of its first byte, in the machine's log */
};

struct nvwave_kernel_hooks {
	/* A path for the log of a new machine, and its number; false: nothing is recorded. */
	bool (*new_log)(char *ret_path, size_t n, uint32_t *ret_number);
	/* A kernel is about to run, which has this number in that log. What host code has stored until now
	 * comes before it. */
	void (*begins)(uint32_t log, uint32_t kernel, const struct nvwave_kernel_range *ranges, size_t count,
		const void *place);
	/* It has ended, and the program has its stores. failed: it has not, and the record ends here. */
	void (*ends)(bool failed);
	/* Before and after the calling thread uses memory of its own in the same way as persistent memory. */
	void (*own)(bool begins);
	/* A kernel runs by itself. */
	void (*alone)(void);
};

#define NVWAVE_KERNEL_HOOKS "nvwave_kernel_hooks_2"
/* The library's function of that name; NULL outside of nvwave exec. */
typedef const struct nvwave_kernel_hooks *nvwave_find_kernel_hooks(void);

#endif
