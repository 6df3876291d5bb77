/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The devices behind the caches: their places and bytes, their write queues, and what they have served.
 *
 * A channel transfers one line at a time, at its bandwidth; latency comes on top and overlaps. Reads and
 * writes have queues of their own: reads overtake posted writes.
 */
#include <stdlib.h>
#include <sys/mman.h>

#include "machine.h"

/* ---- The list of devices ------------------------------------------------------------------- */

static int channels_init(struct emu_channels *c, const struct emu_memory_config *config)
{
	c->count = (uint32_t)config->channels;
	c->read_ps = config->read;
	c->write_ps = config->write;
	c->line_ps = (emu_time)(EMU_LINE * 1e12 / (double)config->bandwidth + 0.5);
	c->queue_ps = config->queue * c->line_ps;
	c->read = calloc(c->count, sizeof *c->read);
	c->write_free = calloc(c->count, sizeof *c->write_free);
	return c->read && c->write_free ? 0 : nvw_fail(NVW_E_MEMORY, "no memory for %u channels", c->count);
}

/* A range of addresses, without access if protection is PROT_NONE. */
static int map(uint64_t bytes, int protection, const char *what, char **ret_base)
{
	void *const base = mmap(NULL, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (base == MAP_FAILED) {
		return nvw_fail_errno(
			"no address range of %llu bytes for the %s", (unsigned long long)bytes, what);
	}
	*ret_base = base;
	return 0;
}

static void unmap(char *base, uint64_t bytes)
{
	if (base) {
		munmap(base, bytes);
	}
}

/* The device gets as many windows of line numbers as its bytes need, from the next on. */
static int give_windows(struct nvw_machine *m, unsigned index, unsigned next, unsigned *ret_next)
{
	struct emu_device *const d = &m->device[index];
	const uint64_t window_bytes = (UINT64_C(1) << EMU_WINDOW_BITS) * EMU_LINE;
	const uint64_t windows = (d->bytes + window_bytes - 1) / window_bytes;

	if (windows > EMU_WINDOWS - next) {
		return nvw_fail(NVW_E_CONFIG, "%s: %llu bytes need more line numbers than the machine has",
			d->name, (unsigned long long)d->bytes);
	}
	d->first = (emu_line_id)next << EMU_WINDOW_BITS;
	*ret_next = next + (unsigned)windows;
	for (unsigned w = next; w < *ret_next; w++) {
		m->window[w] = (uint8_t)index;
		m->persistent |= (uint8_t)((d->pool != NULL) << w);
	}
	return 0;
}

static int dram_init(struct nvw_machine *m)
{
	struct emu_device *const d = &m->device[EMU_DRAM];
	unsigned next;
	int r;

	*d = (struct emu_device){.name = "dram", .bytes = m->config.dram_size};
	m->device_count = 1;
	m->dram_used = EMU_LINE; /* address 0 of the range stays unused */
	r = map(d->bytes, PROT_READ | PROT_WRITE, "DRAM", &d->behind);
	r = r ? r : map(d->bytes, PROT_NONE, "DRAM", &d->base);
	r = r ? r : give_windows(m, EMU_DRAM, 0, &next);
	return r ? r : channels_init(&d->channels, &m->config.dram);
}

/* The bytes [from, to) of the pool, at base + from. */
static int nvram_init(struct nvw_machine *m, const struct emu_device *what, nvw_off from, nvw_off to,
	const struct emu_memory_config *config, unsigned *next)
{
	struct emu_device *const d = &m->device[m->device_count];

	*d = *what;
	d->base += from;
	d->behind += from;
	d->off = from;
	d->bytes = to - from;
	m->device_count++;

	const int r = give_windows(m, m->device_count - 1, *next, next);

	return r ? r : channels_init(&d->channels, config);
}

/* How much of the pool lies on the first NVRAM device. */
static nvw_off first_part(const struct emu_config *config, const struct nvw_pool_geometry *pool)
{
	enum { PAGE = 4096 };

	return config->nvram2_holds == EMU_PART_heap ? pool->chunks :
	       config->nvram2_holds == EMU_PART_half ? pool->bytes / 2 / PAGE * PAGE :
						       pool->bytes;
}

/* The pool is one range of addresses, so that what refers to it by offset does not ask which device has the bytes. */
static int pool_init(struct nvw_machine *m, struct nvw_pool *pool)
{
	const struct nvw_pool_geometry *const g = nvw_pool_geometry(pool);
	const nvw_off split = first_part(&m->config, g);
	struct emu_device nvram = {
		.name = "nvram", .pool = pool, .behind = nvw_pool_medium(pool), .domain = m->config.domain};
	struct emu_device nvram2 = nvram;
	unsigned next = EMU_WINDOWS / 2; /* the DRAM has the lower half */
	int r;

	assert(split > 0 && split <= g->bytes);
	if (!nvram.behind) {
		return nvw_fail(NVW_E_USAGE,
			"%s: the pool is open for reading only, and a machine writes to its pool",
			nvw_pool_path(pool));
	}
	r = map(g->bytes, PROT_NONE, "NVRAM", &nvram.base);
	if (r < 0) {
		return r;
	}
	nvram2.name = "nvram2";
	nvram2.base = nvram.base;
	nvram2.domain = m->config.nvram2_domain;
	r = nvram_init(m, &nvram, 0, split, &m->config.nvram, &next);
	return r || split == g->bytes ? r : nvram_init(m, &nvram2, split, g->bytes, &m->config.nvram2, &next);
}

int emu_devices_init(struct nvw_machine *m, struct nvw_pool *pool)
{
	const int r = dram_init(m);

	return r < 0 || !pool ? r : pool_init(m, pool);
}

void emu_devices_finish(struct nvw_machine *m)
{
	for (unsigned i = 0; i < m->device_count; i++) {
		struct emu_device *const d = &m->device[i];

		emu_resources_finish(d->channels.read, d->channels.count);
		free(d->channels.read);
		free(d->channels.write_free);
		unmap(d->base, d->bytes);
	}
	unmap(m->device[EMU_DRAM].behind, m->device[EMU_DRAM].bytes);
}

/* On a DRAM-only machine there is DRAM behind the pool's range too: as many channels as the machine that it is
 * compared with, with the DRAM's latencies. */
void emu_devices_set_volatile(struct nvw_machine *m)
{
	m->is_volatile = true;
	m->persistent = 0;
	for (unsigned i = EMU_NVRAM; i < m->device_count; i++) {
		m->device[i].channels.read_ps = m->device[EMU_DRAM].channels.read_ps;
		m->device[i].channels.write_ps = m->device[EMU_DRAM].channels.write_ps;
	}
}

const struct emu_device *emu_device_at(const struct nvw_machine *m, const char *address)
{
	emu_line_id line;
	unsigned offset;

	return emu_locate(m, (uint64_t)(uintptr_t)address, 1, &line, &offset) ? emu_device_of(m, line) : NULL;
}

/* ---- Write queues ------------------------------------------------------------------------- */

emu_time emu_channel_write(struct emu_device *d, emu_line_id id, emu_time t, emu_time *ret_done)
{
	const struct emu_channels *const c = &d->channels;
	const emu_time start = emu_reserve(&c->write_free[emu_channel_of(c, id)], t, c->line_ps);

	d->traffic.writes++;
	d->traffic.write_wait_ps += start - t;
	*ret_done = start + c->write_ps;
	return start - t > c->queue_ps ? start - c->queue_ps : t;
}

/* ---- Traffic ------------------------------------------------------------------------------- */

static void add_up(struct emu_traffic *to, const struct emu_traffic *one)
{
	to->reads += one->reads;
	to->writes += one->writes;
	to->words += one->words;
	to->read_wait_ps += one->read_wait_ps;
	to->write_wait_ps += one->write_wait_ps;
}

/* What is served as DRAM counts as DRAM. */
void emu_devices_count(struct nvw_machine *m)
{
	struct emu_stats *const s = &m->stats;
	const struct emu_traffic nothing = {0};
	const struct emu_traffic nvram2 = m->is_volatile ? nothing : m->device[EMU_NVRAM2].traffic;
	struct emu_traffic dram = m->device[EMU_DRAM].traffic, nvram = nothing;

	for (unsigned i = EMU_NVRAM; i < m->device_count; i++) {
		add_up(m->is_volatile ? &dram : &nvram, &m->device[i].traffic);
	}
	s->dram_reads = dram.reads;
	s->dram_writes = dram.writes;
	s->nvram_reads = nvram.reads;
	s->nvram_writes = nvram.writes;
	s->nvram_words = nvram.words;
	s->nvram_read_wait_ps = nvram.read_wait_ps;
	s->nvram_write_wait_ps = nvram.write_wait_ps;
	s->nvram2_reads = nvram2.reads;
	s->nvram2_writes = nvram2.writes;
	s->nvram2_words = nvram2.words;
	s->nvram2_read_wait_ps = nvram2.read_wait_ps;
	s->nvram2_write_wait_ps = nvram2.write_wait_ps;
}

void emu_devices_count_from_here(struct nvw_machine *m)
{
	for (unsigned i = 0; i < m->device_count; i++) {
		m->device[i].traffic = (struct emu_traffic){0};
	}
}
