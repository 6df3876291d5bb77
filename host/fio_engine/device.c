/* SPDX-License-Identifier: BSD-3-Clause */
/* A block device in emulated NVRAM. See device.h. */
#include "device.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <emu.h>

#include "core/array.h"
#include "core/bounds.h"
#include "core/each.h"
#include "core/order.h"
#include "core/units.h"

static const char layout[] = "block-device";
enum { ROOT_EXTENT, ROOT_BYTES };

/* Latencies of a kind of I/O. */
struct sample {
	uint64_t *ps, count, capacity;
	uint64_t bytes, busy_ps;
};

struct block_device {
	struct block_options options;
	struct emu_config config;
	struct nvw_pool *pool;
	struct nvw_log_writer *log;
	struct nvw_machine *machine;
	bool failed;
	uint64_t cut_ps; /* time of the power cut; UINT64_MAX: never */
	uint64_t *data;  /* device address of offset 0 */
	uint64_t bytes;
	char *buffers;              /* in DRAM, options.depth of options.bytes_max */
	struct block_copy *copies;  /* options.depth */
	uint64_t ops, acknowledged; /* number of writes so far; number of acknowledged ones, from the first */
	uint64_t operations, time_ps;
	struct sample sample[BLOCK_KINDS];
};

/* ---- The process: one machine at a time --------------------------------------------------------- */

/* Jobs that are threads may get here concurrently. */
static atomic_flag in_use = ATOMIC_FLAG_INIT;

static int take_process(const char *path)
{
	if (atomic_flag_test_and_set(&in_use)) {
		return nvw_fail(NVW_E_USAGE,
			"%s: a process can emulate only one machine at a time; remove thread=1 to give "
			"each job "
			"its own process",
			path);
	}
	return 0;
}

/* ---- The pool ------------------------------------------------------------------------------------- */

/* First the extent, then its size: a device is valid once it has a size. */
static int make_extent(struct nvw_machine *machine, uint64_t bytes)
{
	struct nvw_pmem pmem;
	nvw_off extent;

	NVW_TRY(nvw_pmem_attach(machine, &pmem));
	NVW_TRY(nvw_heap_alloc_extent(machine, &pmem, bytes, &extent));
	char *const root = pmem.base + nvw_pool_root_off(&pmem.geometry, 0);

	NVW_TRY(nvw_write(machine, root + 8 * ROOT_EXTENT, &extent, sizeof extent));
	NVW_TRY(nvw_write(machine, root + 8 * ROOT_BYTES, &bytes, sizeof bytes));
	return nvw_persist(machine);
}

static int fill_pool(struct nvw_pool *pool, uint64_t bytes)
{
	struct nvw_machine *machine = NULL;
	struct emu_config config;

	emu_config_default(&config);
	int error = emu_create(&config, pool, NULL, &machine);

	if (!error) {
		error = make_extent(machine, bytes);
	}
	emu_destroy(machine);
	return error;
}

int block_device_create(const char *path, uint64_t bytes)
{
	struct nvw_pool_params params = {.heap_bytes = bytes + NVW_POOL_CHUNK_BYTES};
	struct nvw_pool *pool;
	int error = take_process(path);

	if (error) {
		return error;
	}
	strcpy(params.layout, layout);
	error = nvw_pool_create(path, &params, &pool);
	if (!error) {
		error = fill_pool(pool, bytes);
		nvw_pool_close(pool);
		if (error) {
			unlink(path);
		}
	}
	atomic_flag_clear(&in_use);
	return error;
}

/* The place of the device in an open pool. */
static int locate(const struct nvw_pool *pool, nvw_off *ret_extent, uint64_t *ret_bytes)
{
	const struct nvw_pool_geometry *const g = nvw_pool_geometry(pool);

	*ret_extent = nvw_pool_word(pool, nvw_pool_root_off(g, ROOT_EXTENT));
	*ret_bytes = nvw_pool_word(pool, nvw_pool_root_off(g, ROOT_BYTES));
	NVW_FAIL_IF(strcmp(g->layout, layout), NVW_E_INPUT,
		"%s: expected a pool of layout \"%s\", found \"%s\"", nvw_pool_path(pool), layout, g->layout);
	if (*ret_bytes == 0 || *ret_extent % 8 || nvw_pool_at(pool, *ret_extent, *ret_bytes) == NULL) {
		return nvw_fail(NVW_E_INPUT,
			"%s: expected %" PRIu64 " bytes of data at offset %" PRIu64
			", found a pool that is too short or was never finished; remove it",
			nvw_pool_path(pool), *ret_bytes, *ret_extent);
	}
	return 0;
}

int block_device_size(const char *path, uint64_t *ret_bytes)
{
	struct nvw_pool *pool;
	nvw_off extent;
	int error = nvw_pool_open(path, NVW_POOL_READ, &pool);

	if (error) {
		return error;
	}
	error = locate(pool, &extent, ret_bytes);
	nvw_pool_close(pool);
	return error;
}

/* ---- Opening and closing -------------------------------------------------------------------------- */

static int set_keys(struct emu_config *config, const char *set)
{
	char *const copy = strdup(set), *rest = copy, *key;
	int error = 0;

	NVW_ALLOCATED(copy, "set: no memory for \"%s\"", set);
	while (!error && (key = strsep(&rest, ", ")) != NULL) {
		if (*key) {
			error = emu_config_set(config, key);
		}
	}
	free(copy);
	return error ? nvw_fail(error, "set: %s", nvw_error_message()) : 0;
}

static int set_protocol(struct emu_config *config, const char *protocol)
{
	const char *names[65], *citation, *summary;
	unsigned n = 0;

	for (; n < 64 && emu_protocol_info(n, &names[n], &citation, &summary); n++) {
		if (!strcmp(names[n], protocol)) {
			snprintf(config->protocol, sizeof config->protocol, "%s", protocol);
			return 0;
		}
	}
	names[n] = NULL;
	const char *const near = nvw_nearest(protocol, names);

	return nvw_fail(NVW_E_USAGE, "protocol: there is no coherence protocol %s; did you mean %s?",
		protocol, NVW_OR(near, names[0]));
}

static int configure(struct block_device *d)
{
	const struct block_options *const o = &d->options;

	emu_config_default(&d->config);
	if (o->machine) {
		NVW_TRY(emu_config_load(&d->config, o->machine));
	}
	if (o->set) {
		NVW_TRY(set_keys(&d->config, o->set));
	}
	if (o->protocol) {
		NVW_TRY(set_protocol(&d->config, o->protocol));
	}
	d->config.seed = o->seed;
	return emu_config_check(&d->config);
}

/* The pool before the first record of the log, from which crash tests start. */
static int copy_image(const struct block_device *d)
{
	const uint64_t bytes = nvw_pool_geometry(d->pool)->bytes;
	const char *const from = nvw_pool_base(d->pool);
	char path[4096];
	uint64_t at = 0;

	snprintf(path, sizeof path, "%s.image", d->options.log);
	const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

	while (fd >= 0 && at < bytes) {
		const ssize_t n = write(fd, from + at, bytes - at);

		if (n <= 0) {
			break;
		}
		at += (uint64_t)n;
	}
	NVW_FAIL_ERRNO_IF(fd < 0 || at < bytes || close(fd), "%s", path);
	return 0;
}

static int create_log(struct block_device *d)
{
	const struct nvw_log_info info = {.workload = layout,
		.options = d->options.description,
		.machine = d->config.name,
		.protocol = d->config.protocol,
		.model = emu_model_info(d->config.model)->name,
		.domain = emu_domain_name(&d->config),
		.seed = d->config.seed,
		.pool_bytes = nvw_pool_geometry(d->pool)->bytes,
		.atomicity = (uint32_t)d->config.nvram.atomicity};

	NVW_TRY(copy_image(d));
	return nvw_log_create(d->options.log, &info, &d->log);
}

/* The log is complete up to the power cut; the pool has the machine's durable data. */
static void die(void *context)
{
	struct block_device *const d = context;

	nvw_log_abandon(d->log);
	kill(getpid(), SIGKILL);
	for (;;) {
		pause();
	}
}

static int arm_power_cut(struct block_device *d)
{
	struct emu_power_cut cut = {.seed = d->options.seed, .die = die, .context = d};
	bool cycles;
	const int error = nvw_parse_time(d->options.power_cut, &cut.time_ps, &cycles);

	NVW_FAIL_IF(error || cycles, NVW_E_USAGE,
		"power_cut: expected a simulated time such as 20us, found \"%s\"", d->options.power_cut);
	d->cut_ps = cut.time_ps;
	emu_set_power_cut(d->machine, &cut);
	return 0;
}

/* A machine cuts the power only while a kernel runs: an instant between two kernels is handled here. */
static void between_kernels(struct block_device *d)
{
	if (nvw_time_ps(d->machine) >= d->cut_ps) {
		die(d);
	}
}

static int make_buffers(struct block_device *d)
{
	NVW_INVARIANT(d->options.depth > 0 && d->options.bytes_max % 8 == 0);

	const struct block_options *const o = &d->options;

	d->copies = calloc(o->depth, sizeof *d->copies);
	d->buffers = nvw_alloc(d->machine, o->depth * o->bytes_max);
	NVW_ALLOCATED(d->copies, "no memory for %u I/Os", o->depth);
	return d->buffers ? 0 : NVW_E_MEMORY;
}

static int start_device(struct block_device *d, const char *path)
{
	nvw_off extent;
	int error;

	NVW_TRY(configure(d));
	NVW_TRY(nvw_pool_open(path, NVW_POOL_WRITE, &d->pool));
	NVW_TRY(locate(d->pool, &extent, &d->bytes));
	if (d->options.log) {
		NVW_TRY(create_log(d));
	}
	NVW_TRY(emu_create(&d->config, d->pool, d->log, &d->machine));
	d->data = (uint64_t *)(uintptr_t)(nvw_nvram_base(d->machine) + extent);
	error = make_buffers(d);
	if (!error && d->options.power_cut) {
		error = arm_power_cut(d);
	}
	nvw_begin_measurement(d->machine);
	return error;
}

static int end_device(struct block_device *d)
{
	NVW_INVARIANT(d->log == NULL || d->options.log != NULL);

	int error = 0;

	if (!d->failed) {
		between_kernels(d);
		error = nvw_persist(d->machine);
	}
	if (d->log && !d->failed && !error) {
		error = nvw_log_close(d->log, nvw_time_ps(d->machine));
	} else {
		nvw_log_abandon(d->log);
	}
	emu_destroy(d->machine);
	nvw_pool_close(d->pool);
	NVW_EACH(sample, d->sample, BLOCK_KINDS) {
		free(sample->ps);
	}
	free(d->copies);
	free(d);
	return error;
}

int block_device_open(const char *path, const struct block_options *options, struct block_device **ret_device)
{
	int error;

	NVW_TRY(take_process(path));
	struct block_device *const d = calloc(1, sizeof *d);

	if (!d) {
		atomic_flag_clear(&in_use);
		return nvw_fail(NVW_E_MEMORY, "no memory for a device");
	}
	d->options = *options;
	d->cut_ps = UINT64_MAX;
	error = start_device(d, path);
	if (error) {
		d->failed = true;
		(void)!block_device_close(d);
		return error;
	}
	*ret_device = d;
	return 0;
}

int block_device_close(struct block_device *d)
{
	int error;

	if (d == NULL) {
		return 0;
	}
	error = end_device(d);
	atomic_flag_clear(&in_use);
	return error;
}

/* ---- I/O ------------------------------------------------------------------------------------------ */

static int note(struct block_device *d, enum block_kind kind, uint64_t ps, uint64_t bytes)
{
	NVW_INVARIANT(kind < NVW_COUNT(d->sample));

	struct sample *const s = &d->sample[kind];

	NVW_FAIL_IF(!NVW_ROOM(s->ps, s->capacity, s->count + 1), NVW_E_MEMORY,
		"no memory for more than %" PRIu64 " latencies", s->count);
	s->ps[s->count++] = ps;
	s->bytes += bytes;
	return 0;
}

static int check_range(const struct block_device *d, const struct block_io *io)
{
	NVW_FAIL_IF((io->off | io->bytes) % 8 != 0, NVW_E_USAGE,
		"an I/O of %" PRIu64 " bytes at %" PRIu64 ": both must be multiples of 8", io->bytes,
		io->off);
	NVW_FAIL_IF(io->bytes > d->options.bytes_max || io->off > d->bytes || io->bytes > d->bytes - io->off,
		NVW_E_USAGE,
		"an I/O of %" PRIu64 " bytes at %" PRIu64 " is not on the device of %" PRIu64
		" bytes, or longer than %" PRIu64,
		io->bytes, io->off, d->bytes, d->options.bytes_max);
	return 0;
}

static int check_all(const struct block_device *d, const struct block_io *ios, unsigned count)
{
	NVW_EACH(io, ios, count) {
		NVW_TRY(check_range(d, io));
	}
	return 0;
}

static int has_failed(void)
{
	return nvw_fail(NVW_E_KERNEL, "the machine failed earlier");
}

/* Prepares the I/Os for the kernel; copies data to be written to their buffers. */
static int send_all(
	struct block_device *d, const struct block_io *ios, unsigned count, struct block_args *args)
{
	NVW_INVARIANT(count <= d->options.depth);
	NVW_FOR(i, count) {
		const struct block_io *const io = &ios[i];
		uint64_t *const buffer = (uint64_t *)(d->buffers + i * d->options.bytes_max);
		uint64_t *const place = d->data + io->off / 8;

		d->copies[i] = (struct block_copy){.from = place,
			.to = buffer,
			.words = io->bytes / 8,
			.durable = io->is_write && io->durable,
			.op = d->ops};
		d->ops += io->is_write;
		args->any_durable |= d->copies[i].durable;
		if (io->is_write) {
			d->copies[i].from = buffer;
			d->copies[i].to = place;
			NVW_TRY(nvw_write(d->machine, buffer, io->buffer, io->bytes));
		}
	}
	return 0;
}

static int receive(struct block_device *d, const struct block_io *ios, unsigned count, uint64_t ps)
{
	NVW_INVARIANT(count <= d->options.depth);

	bool seen[BLOCK_KINDS] = {false};
	int error = 0;

	for (unsigned i = 0; i < count && !error; i++) {
		const struct block_io *const io = &ios[i];
		const enum block_kind kind = io->is_write ? BLOCK_WRITE : BLOCK_READ;

		if (!seen[kind]) {
			d->sample[kind].busy_ps += ps;
		}
		seen[kind] = true;
		error = note(d, kind, ps, io->bytes);
		if (!error && !io->is_write) {
			error = nvw_read(d->machine, io->buffer, d->copies[i].to, io->bytes);
		}
	}
	return error;
}

int block_device_run(struct block_device *d, const struct block_io *ios, unsigned count)
{
	NVW_INVARIANT(d->acknowledged <= d->ops);

	struct block_args args = {.copies = d->copies, .scope = d->options.scope, .fault = d->options.fault};
	const uint64_t began = nvw_time_ps(d->machine);
	int error;

	if (d->failed) {
		return has_failed();
	}
	NVW_TRY(check_all(d, ios, count));
	between_kernels(d);
	error = send_all(d, ios, count, &args);
	if (!error) {
		error = nvw_launch(d->machine, "block I/O", block_kernel, &args,
			(uint64_t)count * d->options.group_size, d->options.group_size);
	}
	const uint64_t ps = nvw_time_ps(d->machine) - began;

	d->operations++;
	d->time_ps += ps;
	if (!error) {
		error = receive(d, ios, count, ps);
	}
	if (args.any_durable) {
		d->acknowledged = d->ops; /* all of a job's writes are durable */
	}
	d->failed |= error != 0;
	return error;
}

int block_device_sync(struct block_device *d)
{
	NVW_INVARIANT(d->acknowledged <= d->ops);

	const uint64_t began = nvw_time_ps(d->machine);

	if (d->failed) {
		return has_failed();
	}
	between_kernels(d);
	int error = d->options.fault == BLOCK_FAULT_NO_BARRIER ? 0 : nvw_persist(d->machine);

	if (!error && d->acknowledged < d->ops) {
		error = nvw_acknowledge(d->machine, d->acknowledged, d->ops - d->acknowledged);
		d->acknowledged = d->ops;
	}
	const uint64_t ps = nvw_time_ps(d->machine) - began;

	d->operations++;
	d->time_ps += ps;
	d->sample[BLOCK_SYNC].busy_ps += ps;
	if (!error) {
		error = note(d, BLOCK_SYNC, ps, 0);
	}
	d->failed |= error != 0;
	return error;
}

/* ---- Figures -------------------------------------------------------------------------------------- */

void block_device_figures(struct block_device *d, enum block_kind kind, struct block_figures *ret)
{
	NVW_INVARIANT(kind < NVW_COUNT(d->sample));

	struct sample *const s = &d->sample[kind];

	*ret = (struct block_figures){.count = s->count, .bytes = s->bytes, .busy_ps = s->busy_ps};
	if (s->count) {
		qsort(s->ps, s->count, sizeof *s->ps, nvw_by_u64);
		ret->p50_ps = s->ps[(s->count - 1) / 2];
		ret->p99_ps = s->ps[(s->count - 1) * 99 / 100];
		ret->max_ps = s->ps[s->count - 1];
	}
}

uint64_t block_device_bytes(const struct block_device *d)
{
	return d->bytes;
}

uint64_t block_device_time_ps(const struct block_device *d)
{
	return d->time_ps;
}

uint64_t block_device_operations(const struct block_device *d)
{
	return d->operations;
}

const struct emu_stats *block_device_statistics(struct block_device *d)
{
	return emu_statistics(d->machine);
}

const struct emu_config *block_device_config(const struct block_device *d)
{
	return emu_machine_config(d->machine);
}
