/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A workload with the mistakes that nvwave has to name: its kernel, its host code or its check dereferences
 * a device address, or its check dies. A shared object, as users build them; --mutate says which mistake.
 */
#include <stdlib.h>

#include <nvw/workload.h>

#define MISTAKES(X)                                                             \
	X(KERNEL_STORE, "kernel-store", "a kernel stores plainly")              \
	X(KERNEL_LOAD, "kernel-load", "a kernel loads plainly")                 \
	X(HOST_WRITE, "host-write", "run() writes device memory")               \
	X(HOST_READ, "host-read", "run() reads device memory")                  \
	X(CHECK_DIES, "check-dies", "check() follows a null pointer")           \
	X(CHECK_EXITS, "check-exits", "check() ends the process")               \
	X(CHECK_ABORTS, "check-aborts", "check() aborts")                       \
	X(RUN_WRONG, "run-wrong", "run() itself sees that its result is wrong") \
	X(VERIFY_READS, "verify-reads", "verify() reads device memory")

enum mistake {
	NONE = -1,
#define X(name, text, what) name,
	MISTAKES(X)
#undef X
};

struct plan {
	enum mistake mistake;
	uint64_t *words; /* device address, in DRAM */
};

struct args {
	enum mistake mistake;
	uint64_t *words;
	uint64_t *durable;
};

static void kernel(const void *args)
{
	const struct args *const a = args;
	uint64_t value = nvw_global_id();

	if (a->mistake == KERNEL_LOAD) {
		value = a->words[value];
	}
	if (a->mistake == KERNEL_STORE) {
		a->durable[value] = value;
	}
	nvw_store(&a->durable[nvw_global_id()], value);
	nvw_p_barrier_wi();
	nvw_ack(nvw_global_id());
}

static int prepare(const struct nvw_options *options, uint64_t seed, int mutation, void **ret_plan)
{
	struct plan *const p = calloc(1, sizeof *p);

	*ret_plan = p;
	if (!p) {
		return nvw_fail(NVW_E_MEMORY, "no memory for a plan");
	}
	p->mistake = (enum mistake)mutation;
	return 0;
}

static int pool(const void *plan, struct nvw_pool_params *ret_params)
{
	*ret_params = (struct nvw_pool_params){.layout = "mistaken"};
	return 0;
}

static __attribute__((noinline)) uint64_t read_plainly(const uint64_t *device)
{
	return *(const volatile uint64_t *)device;
}

static __attribute__((noinline)) void write_plainly(uint64_t *device)
{
	*(volatile uint64_t *)device = 1;
}

static int run(void *plan, struct nvw_machine *machine)
{
	struct plan *const p = plan;
	const nvw_off chunks = nvw_pool_geometry(nvw_machine_pool(machine))->chunks;
	const struct args args = {.mistake = p->mistake,
		.words = nvw_alloc(machine, 4096),
		.durable = (uint64_t *)(uintptr_t)(nvw_nvram_base(machine) + chunks)};

	if (!args.words) {
		return NVW_E_MEMORY;
	}
	p->words = args.words;
	if (p->mistake == HOST_WRITE) {
		write_plainly(args.words);
	}
	if (p->mistake == HOST_READ && read_plainly(args.words)) {
		return nvw_fail(NVW_E_USAGE, "never said");
	}
	if (p->mistake == RUN_WRONG) {
		return nvw_fail(NVW_E_INCONSISTENT, "7 of 64 words are wrong");
	}
	return nvw_launch(machine, "mistaken", kernel, &args, 64, 64);
}

static int verify(void *plan, struct nvw_machine *machine, struct nvw_findings *findings)
{
	const struct plan *const p = plan;

	return p->mistake == VERIFY_READS && read_plainly(p->words) ? NVW_E_INCONSISTENT : 0;
}

/* The undefined sanitizer would see it before the signal comes. */
static __attribute__((noinline, no_sanitize("undefined"))) uint64_t follow(const uint64_t *volatile pointer)
{
	return *pointer;
}

static int check(
	void *plan, struct nvw_pool *pool, const struct nvw_acks *acks, struct nvw_findings *findings)
{
	const struct plan *const p = plan;

	if (p->mistake == CHECK_EXITS) {
		exit(0);
	}
	if (p->mistake == CHECK_ABORTS) {
		abort();
	}
	return p->mistake == CHECK_DIES && follow(NULL) ? NVW_E_INCONSISTENT : 0;
}

static const struct nvw_mutation mutations[] = {
#define X(name, text, what) {text, what, "observed", NULL},
	MISTAKES(X)
#undef X
		{NULL, NULL, NULL, NULL},
};

extern const struct nvw_workload nvw_workload;

const struct nvw_workload nvw_workload = {
	.name = "mistaken",
	.summary = "a workload with mistakes",
	.mutations = mutations,
	.prepare = prepare,
	.dispose = free,
	.pool = pool,
	.run = run,
	.verify = verify,
	.check = check,
};
