/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The emulated machine as CUDA programs load it (seam.h): its life, launches, and what kernels ask for.
 *
 * The machine is made at the first launch, with NVRAM for twice the program's file mappings so far and
 * NVRAM_MORE, if there are any. Mappings that find no room later make a new machine, which is told: its
 * caches are cold, and its time begins anew.
 *
 * A process has one, and CUDA's functions take no context: it is in static objects of this folder's files.
 */
#include <alloca.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nvw/kernel.h>

#include "../include/nvw_cuda_atomics.h"
#include "../seam.h"
#include "core/bounds.h"
#include "core/each.h"
#include "core/folder.h"
#include "emu.h"
#include "logged.h"
#include "ranges.h"
#include "report.h"
#include "sites.h"

/* Nothing but addresses, until it is used. */
#define NVRAM_MORE (UINT64_C(256) << 20)

enum { WARP = 32, STACK_LEAST = 128 << 10, FENCE_LINES = 4096, LINE = 64, TOGETHER = 4096 };

static struct {
	struct emu_config config;
	struct nvw_pool *pool;
	struct nvw_machine *machine;
	char *fences; /* a line per work-item, by its number: fences release to it, and nobody else */
	struct emu_resumable resumable; /* of the running kernel */
	uint64_t of_volatile;           /* in the op of a volatile access: it is no atomic */
	bool failed;
} self;

static const struct nvw_site *site(const void *place);
static struct nvw_cuda_short_way short_way = {.issue = nvw__issue_at, .self = &nvw__self, .site = site};

/* ---- Life --------------------------------------------------------------------------------------- */

static int make_pool(uint64_t bytes)
{
	struct nvw_pool_params params = {.heap_bytes = bytes + NVW_POOL_CHUNK_BYTES, .layout = "cuda"};

	if (!bytes) {
		return 0;
	}
	return nvw__pool_create_unnamed("cuda", &params, 1, &self.pool);
}

static int look_for_races(void)
{
	static const struct {
		const char *name;
		enum emu_race_model model;
		bool of_volatile;
	} asked[] = {{"source", EMU_RACES_SOURCE, true}, {"drf", EMU_RACES_DRF, true},
		{"hrf", EMU_RACES_HRF, true}, {"source:atomic", EMU_RACES_SOURCE, false},
		{"drf:atomic", EMU_RACES_DRF, false}, {"hrf:atomic", EMU_RACES_HRF, false}};
	const char *const name = getenv(NVW_CUDA_RACES_VARIABLE);

	NVW_EACH_IN(one, asked) {
		if (name && !strcmp(one->name, name)) {
			self.of_volatile = one->of_volatile * EMU_OP_VOLATILE;
			NVW_TRY(emu_check_races(self.machine, one->model));
		}
	}
	emu_races_know_fences(self.machine);
	return 0;
}

/* A DRAM device of that name is the host's pinned memory. */
static bool has_pinned(void)
{
	NVW_EACH(device, self.config.device, self.config.device_count) {
		if (!strcmp(device->name, "pinned")) {
			return device->kind == EMU_KIND_dram;
		}
	}
	return false;
}

static int make_machine(uint64_t nvram_bytes)
{
	struct nvw_log_writer *log = NULL;
	const char *nvram = NULL;

	NVW_TRY(make_pool(nvram_bytes));
	if (self.pool) {
		NVW_TRY(logged_create(&self.config, nvw_pool_geometry(self.pool)->bytes, &log));
	}
	NVW_TRY(emu_create(&self.config, self.pool, log, &self.machine));
	NVW_TRY(look_for_races());
	if (self.pool) {
		nvram = (const char *)nvw_nvram_base(self.machine) + nvw_pool_geometry(self.pool)->chunks;
	}
	emu_barriers_without_returned(self.machine);
	emu_order_by_line(self.machine);
	self.fences = nvw_alloc(self.machine, FENCE_LINES * LINE);
	ranges_begin(self.machine, short_way.span, has_pinned(), nvram, nvram_bytes);
	return self.fences ? 0 : NVW_E_MEMORY;
}

static void destroy_machine(void)
{
	NVW_INVARIANT(self.machine || !self.pool); /* it has the pool */
	if (self.machine) {
		const uint64_t ps = nvw_time_ps(self.machine);

		report_machine_ends(self.machine);
		emu_destroy(self.machine);
		logged_close(ps);
		nvw_pool_close(self.pool);
	}
	self.machine = NULL;
	self.pool = NULL;
}

/* The machine for the ranges of a job. */
static int prepare(const struct nvw_cuda_job *job)
{
	uint64_t nvram = ranges_nvram_bytes(job);

	if (self.machine && ranges_have_room(job)) {
		return 0;
	}
	if (self.machine) {
		fprintf(stderr,
			"nvwave: kernel %s: a file was mapped that the machine's NVRAM has no room for: "
			"a new machine, with cold caches\n",
			job->name);
	}
	ranges_give_back(NULL);
	destroy_machine();
	NVW_INVARIANT(!self.machine && !self.pool);
	if (nvram) {
		nvram = 2 * nvram + NVRAM_MORE;
	}
	return make_machine(nvram);
}

/* ---- Launches ----------------------------------------------------------------------------------- */

static void kernel(const void *args)
{
	const struct nvw_cuda_job *const job = args;

	job->work_item(nvw_group_id(), nvw_local_id());
}

static void begin(const void *args, void *frame)
{
	const struct nvw_cuda_job *const job = args;

	job->begin(frame, nvw_group_id(), nvw_local_id());
}

static int launch_on_machine(const struct nvw_cuda_job *job)
{
	const uint64_t work_items = job->groups * job->group_size;

	NVW_INVARIANT(work_items > 0 && work_items / job->group_size == job->groups);
	if (!job->frame_bytes) {
		return nvw_launch(self.machine, job->name, kernel, job, work_items, job->group_size);
	}
	self.resumable = (struct emu_resumable){.frame_bytes = job->frame_bytes, .begin = begin};
	return emu_launch_resumable(
		self.machine, job->name, &self.resumable, job, work_items, job->group_size);
}

static int announce(const struct nvw_cuda_job *job)
{
	struct nvwave_kernel_range *const ranges = calloc(job->range_count + 1, sizeof *ranges);

	NVW_ALLOCATED(ranges, "no memory for the record of a kernel");
	const size_t count = ranges_in_nvram(ranges);

	logged_own(false);
	logged_kernel_begins(ranges, count, job->place);
	logged_own(true);
	free(ranges);
	return 0;
}

static int launch(const struct nvw_cuda_job *job)
{
	NVW_INVARIANT(self.machine && ranges_have_room(job)); /* prepare() */
	report_kernel_begins(self.machine, job);
	const int error = launch_on_machine(job);

	report_kernel_ends(self.machine);
	if (!error) {
		ranges_keep();
	}
	logged_own(false);
	const int flushed = logged_kernel_ends(error != 0);

	return NVW_OR(error, flushed);
}

static int try_to_run(const struct nvw_cuda_job *job)
{
	NVW_TRY(prepare(job));
	NVW_TRY(ranges_take_over(job));
	NVW_TRY(announce(job));
	return launch(job);
}

static bool run(const struct nvw_cuda_job *job)
{
	logged_own(true);
	self.failed = self.failed || try_to_run(job) != 0;
	logged_own(false);
	return !self.failed;
}

static const char *message(void)
{
	return nvw_error_message();
}

static void end(void)
{
	logged_own(true);
	destroy_machine();
	logged_own(false);
	report_write(&self.config);
}

/* ---- In kernels --------------------------------------------------------------------------------- */

static const struct nvw_site *site(const void *place)
{
	const struct nvw_site *const found = site_of(place);

	if (!found) {
		emu_fail_kernel(
			self.machine, nvw_fail(NVW_E_MEMORY, "no memory for the source line of an access"));
	}
	return found;
}

static void fill_in(unsigned kind, uint64_t address, unsigned bytes, uint64_t value, uint64_t compare,
	unsigned order, unsigned scope, uint64_t also, const struct nvw_site *its)
{
	NVW_DEEP_INVARIANT(bytes <= 8 && !(bytes & (bytes - 1)));
	const unsigned log2 = (unsigned)__builtin_ctz(bytes);
	struct nvw__request *const r = nvw__self;

	r->address = address;
	r->value = value;
	r->compare = compare;
	r->site = its;
	r->op = (kind | log2 << 8 | order << 16 | scope << 24) | also;
}

static uint64_t issue(unsigned kind, uint64_t address, unsigned bytes, uint64_t value, uint64_t compare,
	unsigned order, unsigned scope, uint64_t also, const void *place)
{
	fill_in(kind, address, bytes, value, compare, order, scope, also, site(place));
	nvw__issue_here();
	return nvw__self->value;
}

/* The longest piece of an access that is aligned, and no longer than 8 bytes. */
static unsigned piece_of(uint64_t address, size_t n)
{
	unsigned piece = 8;

	NVW_DEEP_INVARIANT(n > 0);
	while (piece > n || address % piece) {
		piece /= 2;
	}
	return piece;
}

/* Others may run before each piece, who may use the same bytes of the window. So all pieces come there
 * together. */
static void load_together(void *address, size_t n, bool is_volatile, const void *place)
{
	NVW_DEEP_INVARIANT(n > 0 && n <= TOGETHER);
	char *const bytes = alloca(n);

	for (size_t done = 0; done < n;) {
		const uint64_t at = ranges_locate((char *)address + done);
		const unsigned piece = piece_of(at, n - done);
		uint64_t value;

		if (is_volatile) {
			value = issue(NVW__ATOMIC_LOAD, at, piece, 0, 0, NVW_RELAXED, NVW_SCOPE_AGENT,
				self.of_volatile, place);
		} else {
			value = issue(NVW__LOAD, at, piece, 0, 0, 0, 0, 0, place);
		}
		memcpy(bytes + done, &value, piece);
		done += piece;
	}
	memcpy(address, bytes, n);
}

/* A large structure in parts: the stack is small. */
static void load(void *address, size_t n, bool is_volatile, const void *place)
{
	for (size_t done = 0; done < n; done += TOGETHER) {
		load_together((char *)address + done, nvw_min(n - done, TOGETHER), is_volatile, place);
	}
}

/* What was stored is taken out of the window at once, since others may run before it has been issued. */
static void store(void *address, size_t n, bool is_volatile, bool released, const void *place)
{
	char copy[64], *window = address;
	const char *from = copy;

	if (n > sizeof copy) {
		return; /* the runtime has split it */
	}
	memcpy(copy, window, n);
	memset(window, NVW_CUDA_POISON, n); /* nobody may read it but by a hook */
	while (n) {
		const uint64_t at = ranges_locate(window);
		const unsigned piece = piece_of(at, n);
		uint64_t value = 0;

		memcpy(&value, from, piece);
		if (is_volatile) {
			issue(NVW__ATOMIC_STORE, at, piece, value, 0, released ? NVW_RELEASE : NVW_RELAXED,
				NVW_SCOPE_AGENT, self.of_volatile | EMU_OP_BY_FENCE, place);
		} else {
			issue(NVW__STORE, at, piece, value, 0, 0, 0, 0, place);
		}
		window += piece;
		from += piece;
		n -= piece;
	}
}

static const enum nvw_scope scopes[] = {
	NVW_SCOPE_WORKITEM, NVW_SCOPE_WORKGROUP, NVW_SCOPE_AGENT, NVW_SCOPE_SYSTEM};

static void ask(unsigned operation, void *address, unsigned bytes, uint64_t value, uint64_t compare,
	enum nvw_cuda_order order, unsigned scope, const struct nvw_site *its)
{
	static const enum nvw_order orders[] = {NVW_RELAXED, NVW_ACQUIRE, NVW_RELEASE, NVW_ACQ_REL};

	fill_in(operation, ranges_locate(address), bytes, value, compare, orders[order & NVW_CUDA_ACQ_REL],
		scopes[scope], order & NVW_CUDA_BY_FENCE ? EMU_OP_BY_FENCE : 0, its);
}

static uint64_t atomic(unsigned operation, void *address, unsigned bytes, uint64_t value, uint64_t compare,
	enum nvw_cuda_order order, unsigned scope, const void *place)
{
	ask(operation, address, bytes, value, compare, order, scope, site(place));
	nvw__issue_here();
	return nvw__self->value;
}

static void fence(unsigned scope, const void *place)
{
	NVW_DEEP_INVARIANT(scope < NVW_COUNT(scopes));
	const uint64_t own = (uint64_t)(uintptr_t)self.fences + nvw_global_id() % FENCE_LINES * LINE;

	issue(NVW__ATOMIC_STORE, own, 8, 0, NVW_CUDA_OF_FENCE, NVW_RELEASE, scopes[scope], 0, place);
	issue(NVW__ATOMIC_LOAD, own, 8, 0, NVW_CUDA_OF_FENCE, NVW_ACQUIRE, scopes[scope], 0, place);
}

static void barrier(bool grid, const void *place)
{
	nvw__op(site(place), NVW__OP_BARRIER, NULL, grid ? NVW_KERNEL : NVW_WORKGROUP, 0);
}

static void persist(unsigned scope, const void *place)
{
	nvw__op(site(place), NVW__OP_P_BARRIER, NULL, scope, 0);
}

static uint64_t cycle_ps(void)
{
	return UINT64_C(1000000000000) / self.config.clock;
}

/* Takes a cycle, so that nobody waits for others without an end. */
static void pass(uint64_t ps, const void *place)
{
	nvw__op(site(place), NVW__OP_USE, NULL, nvw_time_ps(self.machine) + nvw_max(ps, cycle_ps()), 0);
}

static _Noreturn void abandon(void)
{
	emu_fail_kernel(self.machine, nvw_fail(NVW_E_KERNEL, "the kernel was ended"));
}

static bool has_races(void)
{
	const struct emu_race_report *const r = emu_races(self.machine);

	return r && r->count > 0;
}

static uint64_t time_ps(void)
{
	if (!self.machine) {
		return 0;
	}
	return nvw_time_ps(self.machine);
}

static uint64_t cycles(void)
{
	return time_ps() / cycle_ps();
}

static void describe(struct nvw_cuda_description *ret)
{
	*ret = (struct nvw_cuda_description){.compute_units = self.config.cus,
		.clock_hz = self.config.clock,
		.l2_bytes = self.config.l2.size,
		.dram_bytes = self.config.dram.size,
		.stack_bytes = self.config.stack};
	snprintf(ret->name, sizeof ret->name, "%s", self.config.name);
}

/* ---- The library -------------------------------------------------------------------------------- */

static const struct nvw_cuda_machine machine = {
	.short_way = &short_way,
	.run = run,
	.give_back = ranges_give_back,
	.message = message,
	.end = end,
	.has = ranges_have,
	.load = load,
	.store = store,
	.atomic = atomic,
	.ask = ask,
	.fence = fence,
	.barrier = barrier,
	.persist = persist,
	.pass = pass,
	.abandon = abandon,
	.has_races = has_races,
	.returned = emu_post_return,
	.leave = emu_leave_resumable,
	.clock = cycles,
	.time_ps = time_ps,
	.describe = describe,
};

__attribute__((visibility("default"))) const struct nvw_cuda_machine *nvw_cuda_machine_12(void);

const struct nvw_cuda_machine *nvw_cuda_machine_12(void)
{
	const char *const path = getenv(NVW_CUDA_MACHINE_VARIABLE);
	int error = 0;

	emu_config_default(&self.config);
	if (path) {
		error = emu_config_load(&self.config, path);
	}
	self.config.wavefront_width = WARP;
	self.config.stack = nvw_max(self.config.stack, STACK_LEAST);
	if (error || emu_config_check(&self.config)) {
		fprintf(stderr, "nvwave: %s\n", nvw_error_message());
		return NULL;
	}
	short_way.turn = emu_turn();
	return &machine;
}
