/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Between the runtime in a CUDA program and the emulated machine, a shared library that is loaded when the
 * environment names one (NVWAVE_CUDA_LIBRARY). Without it kernels run by themselves.
 *
 * While a kernel runs, what its memory holds is in the machine: in caches, in memory. The program's own bytes
 * are a window: a load brings the machine's value there, right before the instruction that reads it; a store
 * takes the value from there, once the instruction has been executed. Between kernels the program's bytes are
 * the truth; run() takes over what has changed, and gives back what the kernel touched, or keeps it.
 *
 * A function called in a kernel may let other work-items run before it returns.
 */
#ifndef HOST_CUDA_SEAM_H
#define HOST_CUDA_SEAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <nvw/kernel.h>

#define NVW_CUDA_LIBRARY_VARIABLE "NVWAVE_CUDA_LIBRARY" /* the shared library */
#define NVW_CUDA_MACHINE_VARIABLE "NVWAVE_CUDA_MACHINE" /* the machine file */
#define NVW_CUDA_REPORT_VARIABLE \
	"NVWAVE_CUDA_REPORT" /* where the report goes, JSON; without it there is none */
/* source, drf, hrf, with ":atomic": volatile accesses, too; absent: no race detection */
#define NVW_CUDA_RACES_VARIABLE "NVWAVE_CUDA_RACES"

#define NVW_CUDA_FENCE_VARIABLE "NVWAVE_CUDA_FENCE" /* host.fence_system: visible, durable, switched */

#define NVW_CUDA_STACKS_VARIABLE \
	"NVWAVE_CUDA_STACKS" /* work-items have stacks, also where they could do without */

#define NVW_CUDA_SBRP_VARIABLE "NVWAVE_CUDA_SBRP" /* host.sbrp: "nothing", "barriers", "refused" */

enum nvw_cuda_order {
	NVW_CUDA_RELAXED,
	NVW_CUDA_ACQUIRE,
	NVW_CUDA_RELEASE,
	NVW_CUDA_ACQ_REL,
	NVW_CUDA_BY_FENCE = 4 /* beside RELEASE: because of a fence before it, not by itself */
};

/* Memory of the program that kernels may access. */
struct nvw_cuda_range {
	char *start;
	size_t bytes;
	bool persistent; /* a mapping of a file: NVRAM; else DRAM */
	bool pinned;     /* memory of the host: the device "pinned", if the machine has one */
	bool by_copies;  /* host code reaches it by copies alone: it asks for it (give_back()) */
	/* Where host code may have written since the last kernel: all else is as that left it. */
	size_t changed, changed_end;
};

struct nvw_cuda_job {
	const char *name;
	const void *place; /* of the launch: a code address, NULL: unknown */
	uint64_t groups;
	unsigned group_size;
	void (*work_item)(uint64_t group, unsigned local);
	/* A kernel whose work-items have no stacks: bytes of a frame, and what fills one in
	 * (emu_launch_resumable()). 0: they have. */
	size_t frame_bytes;
	void (*begin)(void *frame, uint64_t group, unsigned local);
	const struct nvw_cuda_range *ranges;
	size_t range_count;
};

/* What a program may ask about its device. */
struct nvw_cuda_description {
	char name[64];
	uint64_t compute_units, clock_hz, l2_bytes, dram_bytes;
	uint64_t stack_bytes; /* of a work-item */
};

/*
 * The short way of an access, which needs no call but the issue: a span of memory that the machine has, found
 * by the number of its page. What it holds is true until the kernel ends.
 */
struct nvw_cuda_span {
	const char *start; /* in the program */
	size_t bytes;      /* 0: empty */
	uintptr_t at;      /* in the machine */
	uint8_t *touched;  /* by line of NVW_CUDA_LINE bytes, from at: to be set for every access */
};
enum { NVW_CUDA_SPANS = 64, NVW_CUDA_PAGE = 4096, NVW_CUDA_LINE = 64 };
/* What is left in the window of a value that was stored. */
enum { NVW_CUDA_POISON = 0xa5 };

static inline unsigned nvw_cuda_span_of(const void *address)
{
	return (unsigned)((uintptr_t)address / NVW_CUDA_PAGE % NVW_CUDA_SPANS);
}

struct nvw_cuda_short_way {
	struct nvw_cuda_span span[NVW_CUDA_SPANS]; /* filled by has(), load() and store() */
	struct nvw__request **self;                /* the running work-item's, also after the issue */
	void (*issue)(void);                       /* to be jumped to; goes on at rcx (nvw__issue_at()) */
	const struct nvw_site *(*site)(const void *place); /* for ever; does not return without memory */
	struct emu_turn *turn;                             /* emu.h */
};

/* What the request of an atomic load or store has as compare where a fence makes it (nvw/kernel.h). */
enum { NVW_CUDA_OF_FENCE = 1 };

struct nvw_cuda_machine {
	struct nvw_cuda_short_way *short_way;

	/* Runs a kernel. False: it failed, and message() says why; no further one can run. */
	bool (*run)(const struct nvw_cuda_job *job);
	/* Between kernels: brings what they have left in a range by_copies; NULL: in all. */
	void (*give_back)(const char *start);
	const char *(*message)(void);
	void (*end)(void); /* the report */

	/* ---- In kernels. place: the return address of the call that announces, which leads to a source
	 * line. */
	bool (*has)(const void *address, size_t n); /* in one of the job's ranges */
	void (*load)(void *address, size_t n, bool is_volatile, const void *place);
	void (*store)(void *address, size_t n, bool is_volatile, bool released, const void *place);
	/* An operation of nvw_cuda_atomics.h.
	 * compare: NVW_CUDA_OF_FENCE for a load that is no access of the program's. */
	uint64_t (*atomic)(unsigned operation, void *address, unsigned bytes, uint64_t value,
		uint64_t compare, enum nvw_cuda_order order, unsigned scope, const void *place);
	/* The same, for a work-item without a stack: only fills in the request. */
	void (*ask)(unsigned operation, void *address, unsigned bytes, uint64_t value, uint64_t compare,
		enum nvw_cuda_order order, unsigned scope, const struct nvw_site *site);
	void (*fence)(unsigned scope, const void *place);
	void (*barrier)(bool grid, const void *place);
	void (*persist)(unsigned scope, const void *place); /* 0 work-item, 1 block, 2 kernel */
	void (*pass)(uint64_t ps, const void *place); /* lets others run for so long, at least a cycle */
	void (*abandon)(void);   /* ends the kernel, and does not return; the runtime has said why */
	bool (*has_races)(void); /* were any found so far? */
	void (*returned)(void);  /* the work-item, without a stack: its last request */
	void (*leave)(void);     /* behind it, from the middle of a call; does not return */
	uint64_t (*clock)(void); /* cycles */
	uint64_t (*time_ps)(void);
	void (*describe)(struct nvw_cuda_description *ret_description);
};

#define NVW_CUDA_MACHINE "nvw_cuda_machine_12"
/* The library's function of that name. NULL: it cannot be used, and standard error says why. */
typedef const struct nvw_cuda_machine *nvw_cuda_find_machine(void);

#endif
