/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ideal machine (ideal.h). Its heap keeps a word for each 64 bytes: the size of the block that begins
 * there.
 */
#include "ideal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <nvw/epoch.h>
#include <nvw/random.h>

#include "core/each.h"

enum { UNIT = 64, STACK = 32768, ITEMS = 4096, CUS = 4, DRAM = 16 << 20, OPS = 1 << 20 };

struct nvw_pool {
	struct nvw_pool_geometry geometry;
	uint8_t *bytes;
};

struct nvw_machine {
	struct nvw_pool pool;
	uint8_t *dram;
	uint64_t dram_used;
	struct nvw_random random;
	void (*hook)(void *context);
	void *context;
	struct {
		uint64_t *blocks, count, next;
	} heap;
};

struct nvw_acks {
	uint8_t op[OPS];
	uint64_t count;
};

struct item {
	ucontext_t context;
	struct nvw__request request;
	uint64_t id;
	bool is_done;
	unsigned waits; /* enum nvw_group + 1 at a barrier, 0: runs */
};

static struct nvw_machine machine;
static struct nvw_acks acks;
static struct item items[ITEMS];
static uint8_t *stacks;
static ucontext_t scheduler;
static struct item *self;
static uint64_t item_count, group_size;
static nvw_kernel kernel;
static const void *kernel_args;
static char violation[4096]; /* all of them, one after the other */
static unsigned violations;

struct nvw__request *nvw__self;

/* ---- Pool ----------------------------------------------------------------------------------------- */

/*
 * The memory of the last copy is used again: with address sanitizer, pages that the system has just given
 * cost far more than the copying.
 */
static struct {
	uint8_t *memory;
	uint64_t bytes;
} spare;

static void leave_spare(uint8_t *memory, uint64_t bytes)
{
	free(spare.memory);
	spare.memory = memory;
	spare.bytes = bytes;
}

static uint8_t *take_spare(uint64_t bytes)
{
	uint8_t *const memory = spare.memory;

	if (spare.bytes != bytes) {
		return malloc(bytes);
	}
	spare.memory = NULL;
	spare.bytes = 0;
	return memory;
}

struct nvw_machine *ideal_create(uint64_t bytes, uint64_t seed)
{
	machine = (struct nvw_machine){.random = {seed}};
	machine.pool.geometry = (struct nvw_pool_geometry){
		.bytes = bytes,
		.roots = 4096,
		.chunk_table = 8192,
		.chunks = (8192 + bytes / 8 + 65535) & ~UINT64_C(65535),
	};
	machine.pool.bytes = calloc(1, bytes);
	machine.dram = calloc(1, DRAM);
	/* Untouched until a work-item runs: not from malloc(), which tests make write all that it returns. */
	stacks =
		mmap(NULL, (size_t)ITEMS * STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert(machine.pool.bytes != NULL && machine.dram != NULL && stacks != MAP_FAILED);
	memset(&acks, 0, sizeof(acks));
	return &machine;
}

void ideal_destroy(void)
{
	leave_spare(NULL, 0);
	free(machine.heap.blocks);
	free(machine.pool.bytes);
	free(machine.dram);
	munmap(stacks, (size_t)ITEMS * STACK);
	machine = (struct nvw_machine){0};
}

void ideal_on_store(void (*hook)(void *context), void *context)
{
	machine.hook = hook;
	machine.context = context;
}

static void changed(void)
{
	if (machine.hook != NULL) {
		machine.hook(machine.context);
	}
}

struct nvw_pool *ideal_pool_copy(void)
{
	struct nvw_pool *const copy = malloc(sizeof(*copy));

	assert(copy != NULL);
	*copy = machine.pool;
	copy->bytes = take_spare(copy->geometry.bytes);
	assert(copy->bytes != NULL);
	memcpy(copy->bytes, machine.pool.bytes, copy->geometry.bytes);
	return copy;
}

void ideal_pool_free(struct nvw_pool *pool)
{
	leave_spare(pool->bytes, pool->geometry.bytes);
	free(pool);
}

uint8_t *ideal_pool_bytes(struct nvw_pool *pool)
{
	return pool->bytes;
}

const struct nvw_pool_geometry *nvw_pool_geometry(const struct nvw_pool *pool)
{
	return &pool->geometry;
}

const void *nvw_pool_base(const struct nvw_pool *pool)
{
	return pool->bytes;
}

struct nvw_pool *nvw_machine_pool(struct nvw_machine *m)
{
	return &m->pool;
}

const char *nvw_pool_path(const struct nvw_pool *pool)
{
	return "(ideal)";
}

const void *nvw_pool_at(const struct nvw_pool *pool, nvw_off off, uint64_t n)
{
	return off <= pool->geometry.bytes && n <= pool->geometry.bytes - off ? pool->bytes + off : NULL;
}

uint64_t nvw_pool_word(const struct nvw_pool *pool, nvw_off off)
{
	const uint64_t *const word = nvw_pool_at(pool, off, 8);

	return word == NULL ? 0 : *word;
}

int nvw_pool_write_word(struct nvw_pool *pool, nvw_off off, uint64_t value)
{
	memcpy(pool->bytes + off, &value, 8);
	return 0;
}

/* ---- Heap ----------------------------------------------------------------------------------------- */

static uint64_t units_of(uint64_t bytes)
{
	return (bytes + UNIT - 1) / UNIT;
}

static uint64_t unit_count(const struct nvw_pool *pool)
{
	return (pool->geometry.bytes - pool->geometry.chunks) / UNIT;
}

static uint64_t *unit_word(const struct nvw_pool *pool, uint64_t unit)
{
	return (uint64_t *)(pool->bytes + pool->geometry.chunk_table) + unit;
}

static nvw_off unit_off(const struct nvw_pool *pool, uint64_t unit)
{
	return pool->geometry.chunks + unit * UNIT;
}

static uint64_t unit_at(const struct nvw_pool *pool, nvw_off off)
{
	return (off - pool->geometry.chunks) / UNIT;
}

static void set_unit(nvw_off off, uint64_t bytes)
{
	*unit_word(&machine.pool, unit_at(&machine.pool, off)) = bytes;
	changed();
}

bool nvw_heap_is_allocated(const struct nvw_pool *pool, nvw_off block, uint64_t *ret_bytes)
{
	const uint64_t unit = unit_at(pool, block);

	if (block < pool->geometry.chunks || block % UNIT != 0 || unit >= unit_count(pool)) {
		return false;
	}
	*ret_bytes = *unit_word(pool, unit);
	return *ret_bytes != 0;
}

int nvw_heap_visit(const struct nvw_pool *pool, int (*visit)(void *context, nvw_off block, uint64_t bytes),
	void *context)
{
	NVW_FOR(u, unit_count(pool)) {
		if (*unit_word(pool, u) != 0) {
			const int error = visit(context, unit_off(pool, u), *unit_word(pool, u));

			if (error != 0) {
				return error;
			}
		}
	}
	return 0;
}

int nvw_heap_sweep(struct nvw_pool *pool, bool (*reachable)(void *context, nvw_off block, uint64_t bytes),
	void *context, struct nvw_recovery *report)
{
	NVW_FOR(u, unit_count(pool)) {
		uint64_t *const word = unit_word(pool, u);

		if (*word != 0 && !reachable(context, unit_off(pool, u), *word)) {
			*word = 0;
			report->blocks_freed++;
		}
	}
	return 0;
}

uint64_t nvw_heap_block_bytes(uint64_t bytes)
{
	return bytes == 0 || bytes > NVW_HEAP_BLOCK_MAX ? 0 : units_of(bytes) * UNIT;
}

/* The first run of free units, from *unit on; moves *unit behind it. */
static nvw_off find_run(uint64_t units, uint64_t *unit)
{
	uint64_t run = 0;

	for (; *unit < unit_count(&machine.pool); ++*unit) {
		const uint64_t bytes = *unit_word(&machine.pool, *unit);

		run = bytes == 0 ? run + 1 : 0;
		*unit += bytes == 0 ? 0 : units_of(bytes) - 1;
		if (run == units) {
			++*unit;
			return unit_off(&machine.pool, *unit - units);
		}
	}
	return 0;
}

int nvw_heap_provision(struct nvw_machine *m, struct nvw_pmem *pmem, uint64_t bytes, uint64_t count)
{
	uint64_t unit = 0;

	free(m->heap.blocks);
	m->heap.blocks = calloc(count, sizeof(uint64_t));
	m->heap.count = count;
	m->heap.next = 0;
	assert(m->heap.blocks != NULL);
	NVW_EACH(block, m->heap.blocks, count) {
		*block = find_run(units_of(bytes), &unit);
		if (*block == 0) {
			return nvw_fail(NVW_E_FULL, "ideal heap is full");
		}
	}
	return 0;
}

int nvw_heap_alloc_extent(struct nvw_machine *m, struct nvw_pmem *pmem, uint64_t bytes, nvw_off *ret_extent)
{
	uint64_t unit = 0;
	const nvw_off off = find_run(units_of(bytes), &unit);

	if (off == 0) {
		return nvw_fail(NVW_E_FULL, "ideal heap is full");
	}
	memset(m->pool.bytes + off, 0, bytes);
	set_unit(off, bytes);
	*ret_extent = off;
	return 0;
}

int nvw_heap_free_extent(struct nvw_machine *m, struct nvw_pmem *pmem, nvw_off extent)
{
	set_unit(extent, 0);
	return 0;
}

/* ---- Work-items ----------------------------------------------------------------------------------- */

static void yield_turn(void)
{
	swapcontext(&self->context, &scheduler);
}

nvw_off nvw_pmalloc(const struct nvw_pmem *pmem, uint64_t bytes, const struct nvw_epoch *epoch)
{
	if (machine.heap.next == machine.heap.count) {
		return 0;
	}

	const nvw_off off = machine.heap.blocks[machine.heap.next++];

	yield_turn();
	set_unit(off, bytes);
	return off;
}

void nvw_pfree(const struct nvw_pmem *pmem, nvw_off block, uint64_t bytes, const struct nvw_epoch *epoch)
{
	yield_turn();
	assert(*unit_word(&machine.pool, unit_at(&machine.pool, block)) == bytes);
	set_unit(block, 0);
}

uint64_t nvw_global_id(void)
{
	return self->id;
}

unsigned nvw_local_id(void)
{
	return (unsigned)(self->id % group_size);
}

uint64_t nvw_group_id(void)
{
	return self->id / group_size;
}

unsigned nvw_group_size(void)
{
	return (unsigned)group_size;
}

uint64_t nvw_group_count(void)
{
	return item_count / group_size;
}

/* Spread unevenly: nothing may depend on how many work-groups a CU gets. */
unsigned nvw_cu_id(void)
{
	return (unsigned)(nvw_mix64(nvw_group_id() + 1) % CUS);
}

/* Nobody watches. */
void nvw__epoch_tell(const struct nvw__epoch_told *told)
{
	(void)told;
}

uint64_t nvw_operation_begin(void)
{
	return 0;
}

void nvw_operation_end(unsigned operation, uint64_t begun)
{
	(void)operation;
	(void)begun;
}

static uint64_t mask_of(unsigned bytes)
{
	return bytes == 8 ? UINT64_MAX : (UINT64_C(1) << (8 * bytes)) - 1;
}

/* What is in memory afterwards. */
static uint64_t operate(enum nvw__kind kind, uint64_t old, const struct nvw__request *r)
{
	switch (kind) {
	case NVW__STORE:
	case NVW__ATOMIC_STORE:
	case NVW__EXCHANGE:
		return r->value;
	case NVW__ADD:
		return old + r->value;
	case NVW__SUB:
		return old - r->value;
	case NVW__OR:
		return old | r->value;
	case NVW__COMPARE_EXCHANGE:
		return old == r->compare ? r->value : old;
	default:
		return old;
	}
}

static void access_memory(struct nvw__request *r)
{
	const unsigned bytes = 1u << (r->op >> 8 & 0xff);
	uint8_t *const at = (uint8_t *)(uintptr_t)r->address;
	const bool is_pool =
		at >= machine.pool.bytes && at < machine.pool.bytes + machine.pool.geometry.bytes;
	uint64_t old = 0;

	assert(is_pool || (at >= machine.dram && at < machine.dram + DRAM));
	memcpy(&old, at, bytes);

	const uint64_t new = operate((enum nvw__kind)(r->op & 0xff), old, r) & mask_of(bytes);

	memcpy(at, &new, bytes);
	r->value = old;
	if (is_pool && new != old) {
		changed();
	}
}

static void barrier(unsigned group)
{
	if (group != NVW_WORKITEM) {
		self->waits = group + 1;
		yield_turn();
	}
}

static void acknowledge(uint64_t op)
{
	assert(op < OPS);
	acks.count += !acks.op[op];
	acks.op[op] = 1;
}

void nvw__issue(void)
{
	struct nvw__request *const r = nvw__self;
	const enum nvw__kind kind = (enum nvw__kind)(r->op & 0xff);

	yield_turn();
	if (kind == NVW__BARRIER || kind == NVW__P_BARRIER) {
		barrier((unsigned)r->value);
	} else if (kind == NVW__ACK) {
		acknowledge(r->value);
	} else if (kind != NVW__WORK) {
		access_memory(r);
	}
}

static void item_main(void)
{
	kernel(kernel_args);
	self->is_done = true;
	swapcontext(&self->context, &scheduler);
}

/* Frees group g if all of it (or of the kernel) waits. */
static bool release_waiters(uint64_t first, uint64_t count, unsigned waits)
{
	for (uint64_t i = first; i < first + count; i++) {
		if (items[i].waits != waits) {
			return false;
		}
	}
	for (uint64_t i = first; i < first + count; i++) {
		items[i].waits = 0;
	}
	return true;
}

static void turn(struct item *item)
{
	self = item;
	nvw__self = &item->request;
	swapcontext(&scheduler, &item->context);
	if (item->waits == NVW_WORKGROUP + 1) {
		release_waiters(item->id / group_size * group_size, group_size, item->waits);
	} else if (item->waits == NVW_KERNEL + 1) {
		release_waiters(0, item_count, item->waits);
	}
}

static void make_items(void)
{
	NVW_FOR(i, item_count) {
		struct item *const item = &items[i];

		*item = (struct item){.id = i};
		getcontext(&item->context);
		item->context.uc_stack.ss_sp = stacks + i * STACK;
		item->context.uc_stack.ss_size = STACK;
		makecontext(&item->context, item_main, 0);
	}
}

int nvw_launch(struct nvw_machine *m, const char *name, nvw_kernel k, const void *args, uint64_t work_items,
	unsigned size)
{
	uint64_t left = (work_items + size - 1) / size * size;

	assert(left <= ITEMS);
	kernel = k;
	kernel_args = args;
	group_size = size;
	item_count = left;
	make_items();
	while (left > 0) {
		struct item *const item = &items[nvw_random_below(&m->random, item_count)];

		if (!item->is_done && item->waits == 0) {
			turn(item);
			left -= item->is_done;
		}
	}
	return 0;
}

/* ---- Host ----------------------------------------------------------------------------------------- */

void *nvw_alloc(struct nvw_machine *m, uint64_t bytes)
{
	void *const at = m->dram + m->dram_used;

	m->dram_used += units_of(bytes) * UNIT;
	assert(m->dram_used <= DRAM);
	return at;
}

uint64_t nvw_mark(const struct nvw_machine *m)
{
	return m->dram_used;
}

void nvw_release(struct nvw_machine *m, uint64_t mark)
{
	m->dram_used = mark;
}

int nvw_pmem_attach(struct nvw_machine *m, struct nvw_pmem *ret_pmem)
{
	*ret_pmem = (struct nvw_pmem){.base = (char *)m->pool.bytes, .geometry = m->pool.geometry};
	return 0;
}

int nvw_read(struct nvw_machine *m, void *to, const void *device, uint64_t n)
{
	memcpy(to, device, n);
	return 0;
}

int nvw_write(struct nvw_machine *m, void *device, const void *from, uint64_t n)
{
	memcpy(device, from, n);
	changed();
	return 0;
}

int nvw_persist(struct nvw_machine *m)
{
	return 0;
}

int nvw_acknowledge(struct nvw_machine *m, uint64_t first, uint64_t count)
{
	for (uint64_t op = first; op < first + count; op++) {
		acknowledge(op);
	}
	return 0;
}

uint64_t nvw_resident_work_items(const struct nvw_machine *m)
{
	return 512;
}

unsigned nvw_compute_units(const struct nvw_machine *m)
{
	return CUS;
}

unsigned nvw_wavefront_width(const struct nvw_machine *m)
{
	return 32;
}

uint64_t nvw_time_ps(const struct nvw_machine *m)
{
	return 0;
}

/* ---- Judgement ------------------------------------------------------------------------------------ */

bool nvw_acked(const struct nvw_acks *a, uint64_t op)
{
	return op < OPS && a->op[op];
}

uint64_t nvw_acked_count(const struct nvw_acks *a)
{
	return a->count;
}

const struct nvw_acks *ideal_acks(void)
{
	return &acks;
}

struct nvw_findings *ideal_findings(void)
{
	return NULL;
}

int nvw_violation(struct nvw_findings *findings, nvw_off off, const char *format, ...)
{
	va_list args;

	const size_t used = violations == 0 ? 0 : strlen(violation);

	va_start(args, format);
	vsnprintf(violation + used, sizeof(violation) - used, format, args);
	va_end(args);
	strncat(violation, "; ", sizeof(violation) - strlen(violation) - 1);
	violations++;
	return NVW_E_INCONSISTENT;
}

unsigned ideal_violations(const char **ret_text)
{
	const unsigned n = violations;

	*ret_text = violation;
	violations = 0;
	return n;
}

int nvw_describe_u64(
	struct nvw_description *d, const char *name, uint64_t value, const char *unit, const char *meaning)
{
	return 0;
}

int nvw_describe_real(
	struct nvw_description *d, const char *name, double value, const char *unit, const char *meaning)
{
	return 0;
}

int nvw_describe_text(struct nvw_description *d, const char *name, const char *value, const char *meaning)
{
	return 0;
}
