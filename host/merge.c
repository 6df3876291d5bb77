/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Kernels that ran on a machine (cuda/recorded.h), in the log of a file: the session's spool says where each
 * belongs and which part of the machine's NVRAM was the file, the machine's own log has its stores and
 * persist barriers. Of that log only those are taken: what is durable follows from the model that the log is
 * explored under.
 *
 * A file that no kernel could store to has the log of a host program.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "convert.h"
#include "core/array.h"
#include "core/each.h"
#include "core/invariant.h"

#define NO_MEMORY "no memory for the kernels of a persist log"

/* ---- The machines' logs --------------------------------------------------------------------------- */

/* Whether the kernel of an event could store to the file. */
static bool is_of_file(const struct converter *c, const struct host_event *e)
{
	const struct host_kernel_range *const r = (const void *)(e + 1);

	return NVW_ANY(one, r, e->bytes / sizeof *r, one->bytes > 0 && one->file == c->file);
}

static struct machine_log *find_log(const struct host_merge *m, uint32_t number)
{
	return NVW_FIND(log, m->log, m->log_count, log->number == number);
}

static int open_log(const struct converter *c, struct host_merge *m, uint32_t number)
{
	char path[300];

	if (find_log(m, number)) {
		return 0;
	}
	NVW_GROWN(m->log, m->log_room, m->log_count + 1, NO_MEMORY);
	struct machine_log *const log = &m->log[m->log_count];

	*log = (struct machine_log){.number = number};
	snprintf(path, sizeof path, "%s/kernels-%u", c->s->folder.path, number);
	const int error = nvw_log_open(path, &log->reader);

	m->log_count += !error;
	NVW_INVARIANT(m->log_count <= m->log_room);
	return error;
}

int host_merge_begin(struct converter *c, struct host_merge *m)
{
	NVW_INVARIANT(c->merge == NULL);

	int error = 0;

	*m = (struct host_merge){.log = NULL};
	c->merge = m;
	HOST_EACH_EVENT_WHILE(e, c, c->s->control->kernel_logs > 0 && !error) {
		if (e->kind == HOST_KERNEL && is_of_file(c, e)) {
			error = open_log(c, m, (uint32_t)(e->off >> 32));
		}
	}
	if (!error && m->log_count) {
		m->info = nvw_log_info(m->log[0].reader);
	}
	return error;
}

void host_merge_end(struct host_merge *m)
{
	NVW_EACH(log, m->log, m->log_count) {
		nvw_log_reader_close(log->reader);
		free(log->site);
	}
	free(m->log);
	*m = (struct host_merge){.log = NULL};
}

/* ---- Records -------------------------------------------------------------------------------------- */

/* A kernel whose records are being taken. */
struct taken {
	struct converter *c;
	struct machine_log *log;
	const struct host_kernel_range *range;
	size_t range_count;
};

static int take_site(const struct taken *t, const struct nvw_log_record *from)
{
	struct nvw_log_record r = *from;
	const uint64_t room = t->log->site_room;

	NVW_GROWN(t->log->site, t->log->site_room, (uint64_t)r.site.id + 1, NO_MEMORY);
	memset(t->log->site + room, 0, (t->log->site_room - room) * sizeof *t->log->site);
	t->log->site[r.site.id] = r.site.id ? ++t->c->sites : 0;
	r.site.id = t->c->sites;
	r.site.caller = 0;
	return host_convert_append(t->c, &r);
}

static uint32_t site_in_log(const struct taken *t, uint32_t site)
{
	return site < t->log->site_room ? t->log->site[site] : 0;
}

/* The file's offset of an offset in the NVRAM. */
static bool locate(const struct taken *t, uint64_t nvram, uint64_t *ret_off)
{
	NVW_EACH(r, t->range, t->range_count) {
		if (r->file == t->c->file && nvram - r->nvram < r->bytes) {
			*ret_off = r->off + (nvram - r->nvram);
			return *ret_off < t->c->bytes;
		}
	}
	return false;
}

/* One record for each word of the file: a mapping that was registered from the middle of a word on is in
 * other words of the NVRAM. */
static int take_store(const struct taken *t, const struct nvw_log_record *from)
{
	struct nvw_log_record r = *from;
	uint64_t value = from->store.value, off;

	r.store.kernel = t->c->merge->kernels;
	r.store.site = site_in_log(t, from->store.site);
	for (uint32_t at = 0, n; at < from->store.bytes; at += n) {
		n = 1;
		if (!locate(t, from->store.off + at, &off)) {
			continue;
		}
		n = (uint32_t)nvw_min(from->store.bytes - at, nvw_min(8 - off % 8, t->c->bytes - off));
		r.store.off = off;
		r.store.bytes = n;
		r.store.value = value >> 8 * at;
		r.store.value &= nvw_low_bits(8 * n);
		memcpy(t->c->replay + off, &r.store.value, n);
		t->c->counts.stores++;
		NVW_TRY(host_convert_append(t->c, &r));
	}
	return 0;
}

static int take(const struct taken *t, const struct nvw_log_record *from)
{
	struct nvw_log_record r = *from;

	switch (from->kind) {
	case NVW_LOG_STORE:
		return take_store(t, from);
	case NVW_LOG_BARRIER:
	case NVW_LOG_PERSISTED:
		r.barrier.kernel = t->c->merge->kernels;
		r.barrier.site = site_in_log(t, r.barrier.site);
		t->c->counts.flushes += r.kind == NVW_LOG_PERSISTED;
		break;
	case NVW_LOG_LAUNCH:
		r.launch.kernel = t->c->merge->kernels;
		break;
	case NVW_LOG_FINISH:
		r.finish.kernel = t->c->merge->kernels;
		break;
	default:
		return 0;
	}
	return host_convert_append(t->c, &r);
}

/* Those of kernel number; before them may be others' that are not the file's. */
static int take_kernel(const struct taken *t, uint32_t number)
{
	NVW_INVARIANT(t->c->in_kernel && t->log != NULL);

	struct nvw_log_record r;
	bool taking = false;
	int more;

	while ((more = nvw_log_next(t->log->reader, &r)) == 1) {
		int error = 0;

		taking = taking || (r.kind == NVW_LOG_LAUNCH && r.launch.kernel == number);
		r.time_ps = t->c->time_ps;
		if (r.kind == NVW_LOG_SITE) {
			error = take_site(t, &r);
		} else if (taking) {
			error = take(t, &r);
		}
		if (error || (taking && r.kind == NVW_LOG_FINISH)) {
			return error;
		}
	}
	return more; /* a kernel that failed has no end */
}

int host_merge_kernel(struct converter *c, const struct host_event *e, const struct host_kernel_range *ranges)
{
	NVW_INVARIANT(e->kind == HOST_KERNEL || e->kind == HOST_KERNEL_END);

	const struct taken t = {.c = c,
		.log = e->kind == HOST_KERNEL && is_of_file(c, e) ?
			       find_log(c->merge, (uint32_t)(e->off >> 32)) :
			       NULL,
		.range = ranges,
		.range_count = e->bytes / sizeof *ranges};

	c->in_kernel = e->kind == HOST_KERNEL;
	if (!t.log) {
		return 0;
	}
	c->merge->kernels++;
	return take_kernel(&t, (uint32_t)e->off);
}

void host_merge_given(struct converter *c, const struct host_event *e, const uint8_t *data)
{
	for (uint32_t at = 0; at + 8 <= e->bytes && e->off + at + 8 <= c->bytes; at += 8) {
		c->merge->differing += memcmp(c->replay + e->off + at, data + at, 8) != 0;
		memcpy(c->replay + e->off + at, data + at, 8);
	}
}
