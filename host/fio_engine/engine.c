/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nvwave's ioengine for fio (docs/fio-engine.md): maps fio's calls to I/O on a block device in emulated
 * NVRAM.
 *
 * I/Os are collected until fio waits for one of them, or until their number is the job's iodepth; then they
 * run as one kernel. A sync runs alone.
 *
 * fio sets a job's files up in its own process and runs the job in another: the pool is created in the first,
 * the machine in the second.
 */
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include <fio.h>
#include <optgroup.h>

#include "core/bounds.h"
#include "core/each.h"
#include "core/invariant.h"
#include "device.h"
#include "report.h"

/* The job's options; fio stores a pointer to the job in the first member. */
struct engine_options {
	struct thread_data *td;
	char *machine, *set, *protocol, *log, *report, *power_cut;
	unsigned int seed, group, scope, fault;
};

#define TEXT_OPTION(field, text)                                                                            \
	{                                                                                                   \
		.name = #field, .lname = #field, .type = FIO_OPT_STR_STORE,                                 \
		.off1 = offsetof(struct engine_options, field), .help = text, .category = FIO_OPT_C_ENGINE, \
		.group = FIO_OPT_G_INVALID,                                                                 \
	}
#define NUMBER_OPTION(field, least, most, value, text)                                                  \
	{                                                                                               \
		.name = #field, .lname = #field, .type = FIO_OPT_INT,                                   \
		.off1 = offsetof(struct engine_options, field), .minval = (least), .maxval = (most),    \
		.def = (value), .help = text, .category = FIO_OPT_C_ENGINE, .group = FIO_OPT_G_INVALID, \
	}

static struct fio_option options[] = {
	TEXT_OPTION(machine, "A shipped machine or a machine file (gope18)"),
	TEXT_OPTION(set, "section.key=value,...: overrides keys of the machine"),
	TEXT_OPTION(protocol, "Coherence protocol (vi)"),
	NUMBER_OPTION(seed, 0, UINT_MAX, "1", "Of the machine, and of what a power cut tears"),
	NUMBER_OPTION(group, 1, 1024, "64", "Work-items in the work-group of one I/O"),
	{
		.name = "scope",
		.lname = "scope",
		.type = FIO_OPT_STR,
		.off1 = offsetof(struct engine_options, scope),
		.help = "Of the persist barrier that ends a write with sync=1",
		.def = "workgroup",
		.posval = {{.ival = "workgroup",
				   .oval = NVW_WORKGROUP,
				   .help = "Of the write's own work-group"},
			{.ival = "kernel", .oval = NVW_KERNEL, .help = "Of all I/Os that run together"}},
		.category = FIO_OPT_C_ENGINE,
		.group = FIO_OPT_G_INVALID,
	},
	TEXT_OPTION(log, "Writes the persist log, and beside it FILE.image, the pool as it was before"),
	TEXT_OPTION(report, "Writes the figures in simulated time, as JSON"),
	TEXT_OPTION(
		power_cut, "Kills the job at this simulated time (20us): the pool keeps what was durable"),
	{
		.name = "fault",
		.lname = "fault",
		.type = FIO_OPT_STR,
		.off1 = offsetof(struct engine_options, fault),
		.help = "A seeded bug, for crash tests to find",
		.def = "none",
		.posval =
			{
#define X(id, text, meaning) {.ival = text, .oval = BLOCK_FAULT_##id, .help = meaning},
				BLOCK_FAULTS(X)
#undef X
			},
		.category = FIO_OPT_C_ENGINE,
		.group = FIO_OPT_G_INVALID,
	},
	{.name = NULL},
};

struct engine {
	struct block_device *device;
	unsigned depth;
	struct io_u **gathered, **done, **events; /* depth each */
	unsigned gathered_count, done_count;
	struct block_io *ios;
};

static int errno_of(int error)
{
	switch (error) {
	case NVW_E_BUSY:
		return EBUSY;
	case NVW_E_MEMORY:
		return ENOMEM;
	case NVW_E_FULL:
		return ENOSPC;
	case NVW_E_KERNEL:
	case NVW_E_MODEL:
		return EIO;
	default:
		return error < 0 && error > -4096 ? -error : EINVAL;
	}
}

/* The whole message goes to fio's log, because fio may truncate its own copy. */
static int fail(struct thread_data *td, int error)
{
	const int number = errno_of(error);

	log_err("nvwave: %s: %s\n", td->o.name, nvw_error_message());
	td_vmsg(td, number, nvw_error_message(), "nvwave");
	return number;
}

/* ---- Files, in fio's process ---------------------------------------------------------------------- */

/* The size of a device that does not exist yet: the range that the job may access. */
static int create_file(struct thread_data *td, const struct fio_file *f)
{
	const uint64_t wanted = NVW_OR(td->o.size, td->o.file_size_high) + td->o.start_offset;

	NVW_FAIL_IF(!td_write(td), -ENOENT, "%s does not exist: only a job that writes creates the pool",
		f->file_name);
	NVW_FAIL_IF(td->o.size == 0 && td->o.file_size_high == 0, NVW_E_USAGE,
		"%s does not exist: set size= to create it", f->file_name);
	return block_device_create(f->file_name, wanted);
}

static int find_size(struct thread_data *td, const struct fio_file *f, uint64_t *ret_bytes)
{
	const struct engine *const e = td->io_ops_data;

	NVW_FAIL_IF(td->files_index != 1, NVW_E_USAGE, "a job has one pool: expected one file, found %u",
		td->files_index);
	NVW_FAIL_IF(
		td_trim(td), NVW_E_USAGE, "NVRAM cannot be trimmed: expected an rw= that reads or writes");
	if (e) { /* create_serialize=0 */
		*ret_bytes = block_device_bytes(e->device);
		return 0;
	}
	if (access(f->file_name, F_OK)) {
		NVW_TRY(create_file(td, f));
	}
	return block_device_size(f->file_name, ret_bytes);
}

static int engine_get_file_size(struct thread_data *td, struct fio_file *f)
{
	uint64_t bytes;

	if (fio_file_size_known(f)) {
		return 0;
	}
	const int error = find_size(td, f, &bytes);

	if (error) {
		return fail(td, error);
	}
	f->real_file_size = bytes;
	fio_file_set_size_known(f);
	return 0;
}

/* The device is open for the whole job: files are opened and closed between its phases. */
static int engine_open_file(struct thread_data *td, struct fio_file *f)
{
	if (f->io_size > f->real_file_size || f->file_offset > f->real_file_size - f->io_size) {
		return fail(
			td, nvw_fail(NVW_E_USAGE,
				    "%s has %llu bytes, but the job needs %llu from offset %llu: use another "
				    "pool",
				    f->file_name, (unsigned long long)f->real_file_size,
				    (unsigned long long)f->io_size, (unsigned long long)f->file_offset));
	}
	return 0;
}

static int engine_close_file(struct thread_data *td, struct fio_file *f)
{
	return 0;
}

/* ---- A job's beginning and end, in its own process ------------------------------------------------ */

static void dispose(struct engine *e)
{
	if (e) {
		free(e->gathered);
		free(e->done);
		free(e->events);
		free(e->ios);
		free(e);
	}
}

static struct engine *create_engine(unsigned depth)
{
	struct engine *const e = calloc(1, sizeof *e);

	if (e) {
		e->depth = depth;
		e->gathered = calloc(depth, sizeof *e->gathered);
		e->done = calloc(depth, sizeof *e->done);
		e->events = calloc(depth, sizeof *e->events);
		e->ios = calloc(depth, sizeof *e->ios);
	}
	if (!e || !e->gathered || !e->done || !e->events || !e->ios) {
		nvw_fail(NVW_E_MEMORY, "no memory for an iodepth of %u", depth);
		dispose(e);
		return NULL;
	}
	return e;
}

static int open_device(struct thread_data *td, struct engine *e)
{
	const struct engine_options *const o = td->eo;
	char description[256];
	const struct block_options wanted = {.machine = o->machine,
		.set = o->set,
		.protocol = o->protocol,
		.log = o->log,
		.description = description,
		.power_cut = o->power_cut,
		.seed = o->seed,
		.group_size = o->group,
		.scope = (enum nvw_group)o->scope,
		.fault = (enum block_fault)o->fault,
		.depth = e->depth,
		.bytes_max = (td_max_bs(td) + 63) / 64 * 64};

	snprintf(description, sizeof description, "job=%s iodepth=%u bs=%llu sync=%u fsync=%u group=%u",
		td->o.name, e->depth, td_max_bs(td), td->o.sync_io, td->o.fsync_blocks, o->group);
	NVW_FAIL_IF(td->files_index == 0, NVW_E_USAGE, "filename= is missing: expected a pool");
	if (access(td->files[0]->file_name, F_OK)) { /* create_serialize=0 */
		const int error = create_file(td, td->files[0]);

		if (error) {
			return error;
		}
	}
	return block_device_open(td->files[0]->file_name, &wanted, &e->device);
}

static int engine_init(struct thread_data *td)
{
	struct engine *const e = create_engine(NVW_OR(td->o.iodepth, 1));
	const int error = e ? open_device(td, e) : NVW_E_MEMORY;

	if (error) {
		dispose(e);
		return fail(td, error);
	}
	td->io_ops_data = e;
	return 0;
}

/* Printed between the lines of fio's own report, if it has lines. */
static void print_report(struct thread_data *td, struct engine *e)
{
	char *text = NULL;
	size_t bytes;
	FILE *const f = output_format & FIO_OUTPUT_NORMAL ? open_memstream(&text, &bytes) : NULL;

	if (f) {
		block_report_text(e->device, td->o.name, f);
		if (fclose(f) == 0) {
			log_info("%s", text);
		}
		free(text);
	}
}

static void engine_cleanup(struct thread_data *td)
{
	const struct engine_options *const o = td->eo;
	struct engine *const e = td->io_ops_data;

	if (!e) {
		return;
	}
	if (!td->error) {
		print_report(td, e);
	}
	if (!td->error && o->report && block_report_json(e->device, td->o.name, o->report)) {
		fail(td, NVW_E_SYSTEM);
	}
	const int error = block_device_close(e->device);

	if (error && !td->error) {
		fail(td, error);
	}
	dispose(e);
	td->io_ops_data = NULL;
}

/* ---- I/O ------------------------------------------------------------------------------------------ */

static void run_gathered(struct thread_data *td, struct engine *e)
{
	NVW_INVARIANT(e->gathered_count + e->done_count <= e->depth);
	NVW_FOR(i, e->gathered_count) {
		const struct io_u *const u = e->gathered[i];

		e->ios[i] = (struct block_io){.buffer = u->xfer_buf,
			.off = u->offset,
			.bytes = u->xfer_buflen,
			.is_write = u->ddir == DDIR_WRITE,
			.durable = td->o.sync_io != 0};
	}
	const int error = block_device_run(e->device, e->ios, e->gathered_count);
	const int number = error ? fail(td, error) : 0;

	NVW_EACH(gathered, e->gathered, e->gathered_count) {
		(*gathered)->error = (unsigned)number;
		(*gathered)->resid = number ? (*gathered)->xfer_buflen : 0;
		e->done[e->done_count++] = *gathered;
	}
	e->gathered_count = 0;
}

static enum fio_q_status run_sync(struct thread_data *td, struct engine *e, struct io_u *u)
{
	if (e->gathered_count) {
		return FIO_Q_BUSY; /* fio waits for earlier I/Os, and retries */
	}
	const int error = block_device_sync(e->device);

	u->error = error ? (unsigned)fail(td, error) : 0;
	return FIO_Q_COMPLETED;
}

static enum fio_q_status engine_queue(struct thread_data *td, struct io_u *u)
{
	struct engine *const e = td->io_ops_data;

	fio_ro_check(td, u);
	if (ddir_sync(u->ddir)) {
		return run_sync(td, e, u);
	}
	if (u->ddir != DDIR_READ && u->ddir != DDIR_WRITE) {
		u->error = EINVAL;
		return FIO_Q_COMPLETED;
	}
	if (e->gathered_count + e->done_count == e->depth) {
		return FIO_Q_BUSY;
	}
	e->gathered[e->gathered_count++] = u;
	return FIO_Q_QUEUED;
}

static int engine_getevents(
	struct thread_data *td, unsigned int min, unsigned int max, const struct timespec *timeout)
{
	struct engine *const e = td->io_ops_data;

	if (e->gathered_count && (e->done_count < min || e->gathered_count == e->depth)) {
		run_gathered(td, e);
	}
	const unsigned n = e->done_count < max ? e->done_count : max;

	NVW_INVARIANT(n <= e->depth);
	memcpy(e->events, e->done, n * sizeof *e->done);
	memmove(e->done, e->done + n, (e->done_count - n) * sizeof *e->done);
	e->done_count -= n;
	return (int)n;
}

static struct io_u *engine_event(struct thread_data *td, int event)
{
	const struct engine *const e = td->io_ops_data;

	return e->events[event];
}

__attribute__((visibility("default"))) struct ioengine_ops ioengine = {
	.name = "nvwave",
	.version = FIO_IOOPS_VERSION,
	.flags = FIO_DISKLESSIO | FIO_NOEXTEND | FIO_NODISKUTIL | FIO_NO_OFFLOAD,
	.init = engine_init,
	.cleanup = engine_cleanup,
	.queue = engine_queue,
	.getevents = engine_getevents,
	.event = engine_event,
	.open_file = engine_open_file,
	.close_file = engine_close_file,
	.get_file_size = engine_get_file_size,
	.option_struct_size = sizeof(struct engine_options),
	.options = options,
};
