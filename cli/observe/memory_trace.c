/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Traces of a device's requests. See memory_trace.h.
 *
 * Sights do not come in the order of their times, and simulators want the times to ascend: so all requests
 * are kept until the end.
 */
#include "memory_trace.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/array.h"
#include "core/each.h"
#include "core/invariant.h"
#include "core/order.h"
#include "core/newfile.h"
#include "report/words.h"

enum { NAME = 64, NAMES = EMU_DEVICES_MAX * (NVW_DEVICE_NAME_BYTES + 2) };

struct request {
	uint64_t time_ps, address;
	uint64_t number : 63; /* in the order of the sights, for equal times */
	uint64_t is_write : 1;
};

struct cli_memory_trace {
	struct nvw_new_file file;
	bool no_memory;
	enum cli_memory_format format;
	const char *device;
	const struct nvw_machine *machine;
	uint64_t cycle_ps, origin_ps;
	struct request *requests;
	uint64_t count, capacity;
};

int cli_memory_trace_create(const char *path, enum cli_memory_format format, const char *device,
	uint64_t cycle_ps, struct cli_memory_trace **ret)
{
	struct cli_memory_trace *const t = calloc(1, sizeof *t);

	NVW_INVARIANT(cycle_ps > 0);
	NVW_ALLOCATED(t, "no memory for a memory trace");
	*ret = t;
	t->format = format;
	t->device = device;
	t->cycle_ps = cycle_ps;
	return nvw_new_file_begin(path, false, &t->file);
}

void cli_memory_trace_free(struct cli_memory_trace *t)
{
	if (t && t->file.file) {
		(void)!nvw_new_file_end(&t->file, NVW_E_STOPPED);
	}
	if (t) {
		free(t->requests);
		free(t);
	}
}

int cli_memory_trace_start(struct cli_memory_trace *t, const struct nvw_machine *machine)
{
	struct emu_device_stats stats;
	char names[NAMES] = "";
	const char *name;

	NVW_INVARIANT(!t->machine);
	t->machine = machine;
	t->origin_ps = nvw_time_ps(machine);
	for (unsigned i = 0; (name = emu_device_statistics(machine, i, &stats)); i++) {
		if (!strcmp(name, t->device)) {
			return 0;
		}
		words_add(names, sizeof names, ", ", name);
	}
	return nvw_fail(NVW_E_USAGE,
		"--memory-device=%s: the machine has no memory device of this name: it has %s", t->device,
		names);
}

/* Whether the channel is the device's. */
static bool is_ours(const struct cli_memory_trace *t, const struct emu_sight *s)
{
	const size_t n = strlen(t->device);
	char place[NAME];

	emu_sight_place(t->machine, s->kind, s->unit, place, sizeof place);
	return !strncmp(place, t->device, n) && !strncmp(place + n, " channel ", 9);
}

void cli_memory_trace_see(struct cli_memory_trace *t, const struct emu_sight *s)
{
	const bool is_write = s->kind == EMU_SIGHT_WRITE;

	NVW_DEEP_INVARIANT(t->count <= t->capacity);
	if ((s->kind != EMU_SIGHT_READ && !is_write) || !is_ours(t, s)) {
		return;
	}
	if (!NVW_ROOM(t->requests, t->capacity, t->count + 1)) {
		t->no_memory = true;
		return;
	}
	t->requests[t->count] = (struct request){.time_ps = s->from - t->origin_ps,
		.address = s->number,
		.number = t->count,
		.is_write = is_write};
	t->count++;
}

static int by_arrival(const void *a, const void *b)
{
	const struct request *const x = a, *const y = b;

	if (x->time_ps != y->time_ps) {
		return NVW_ORDER(x->time_ps, y->time_ps);
	}
	return NVW_ORDER(x->number, y->number);
}

static int write_request(const struct cli_memory_trace *t, const struct request *r)
{
	static const char *const kinds[][2] = {
		[CLI_MEMORY_DRAMSIM3] = {"READ", "WRITE"}, [CLI_MEMORY_RAMULATOR] = {"R", "W"}};

	NVW_INVARIANT(t->format < NVW_COUNT(kinds));
	fprintf(t->file.file, "0x%" PRIx64 " %s", r->address, kinds[t->format][r->is_write]);
	if (t->format == CLI_MEMORY_DRAMSIM3) {
		fprintf(t->file.file, " %" PRIu64, r->time_ps / t->cycle_ps);
	}
	NVW_FAIL_ERRNO_IF(fputc('\n', t->file.file) == EOF, "%s", t->file.path);
	return 0;
}

int cli_memory_trace_end(struct cli_memory_trace *t)
{
	int r = 0;

	NVW_INVARIANT(t->file.file);
	if (t->no_memory) {
		r = nvw_fail(NVW_E_MEMORY, "no memory for a memory trace");
	}

	if (t->count) {
		qsort(t->requests, t->count, sizeof *t->requests, by_arrival);
	}
	for (uint64_t i = 0; i < t->count && r == 0; i++) {
		r = write_request(t, &t->requests[i]);
	}
	return nvw_new_file_end(&t->file, r);
}
