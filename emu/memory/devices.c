/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The devices behind the caches: their places and bytes, their write queues, and their traffic.
 *
 * A channel transfers one line at a time in each direction, at its bandwidth; latency is added and overlaps.
 * Reads and writes have separate queues and share nothing: reads overtake posted writes, and writes do not
 * slow reads. A shared channel (the key shared) transfers one line at a time, whichever way. A write that
 * waits has its time already, so a read takes the first time that is left.
 */
#include <stdlib.h>
#include <sys/mman.h>

#include "core/bounds.h"
#include "core/each.h"
#include "core/invariant.h"
#include "core/zeroed.h"
#include "../time/booking.h"
#include "device_memory.h"
#include "../machine.h"

/* ---- The list of devices ------------------------------------------------------------------- */

static int channels_init(struct emu_channels *c, const struct emu_device_config *config, emu_time hop)
{
	c->count = (uint32_t)config->channels;
	c->read_ps = config->read;
	c->write_ps = config->write;
	c->line_ps = (emu_time)(EMU_LINE * 1e12 / (double)config->bandwidth + 0.5);
	c->queue_ps = config->queue * c->line_ps;
	c->link_ps = config->hops * hop + config->link;
	c->read = calloc(c->count, sizeof *c->read);
	c->write_free = calloc(c->count, sizeof *c->write_free);
	if (config->shared) {
		c->places = config->queue;
		c->begun = calloc(c->count, NVW_OR(c->places, 1) * sizeof *c->begun);
		c->turn = calloc(c->count, sizeof *c->turn);
	}
	if (c->read && c->write_free && (!config->shared || (c->begun && c->turn))) {
		return 0;
	}
	return nvw_fail(NVW_E_MEMORY, "no memory for %u channels", c->count);
}

/* A range of addresses, without access if protection is PROT_NONE. */
static int map(uint64_t bytes, int protection, const char *what, char **ret_base)
{
	void *const base = mmap(NULL, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	NVW_FAIL_ERRNO_IF(base == MAP_FAILED, "no address range of %llu bytes for the %s",
		(unsigned long long)bytes, what);
	*ret_base = base;
	return 0;
}

void emu_device_expect(const struct emu_device *d, uint64_t from, uint64_t bytes)
{
	char *const first = d->behind + from;
	const uint64_t before = -(uintptr_t)first % EMU_HUGE_PAGE;

	NVW_INVARIANT(from + bytes <= d->bytes);
	if (bytes >= 2 * EMU_HUGE_PAGE) {
		/* Where the host has no huge pages, nothing changes. */
		(void)madvise(
			first + before, (bytes - before) / EMU_HUGE_PAGE * EMU_HUGE_PAGE, MADV_HUGEPAGE);
	}
}

/* Gives the device as many windows of line numbers as its bytes need, from the next on. */
static int give_windows(struct nvw_machine *m, unsigned index, unsigned *next)
{
	NVW_DEEP_INVARIANT(index < NVW_COUNT(m->device));

	struct emu_device *const d = &m->device[index];
	const uint64_t window_bytes = (UINT64_C(1) << EMU_WINDOW_BITS) * EMU_LINE;
	const uint64_t windows = (d->bytes + window_bytes - 1) / window_bytes;
	const unsigned end = *next + (unsigned)windows;

	NVW_FAIL_IF(windows > EMU_WINDOWS - *next, NVW_E_CONFIG,
		"%s: %llu bytes need more line numbers than the machine has", d->name,
		(unsigned long long)d->bytes);
	d->first = (emu_line_id)*next << EMU_WINDOW_BITS;
	for (; *next < end; ++*next) {
		m->window[*next] = (uint8_t)index;
		m->persistent |= (uint16_t)((d->pool != NULL) << *next);
	}
	return 0;
}

/* A device in the machine's description; it has no bytes yet, so no address leads to it. */
static int device_init(struct nvw_machine *m, unsigned i)
{
	NVW_DEEP_INVARIANT(i < NVW_COUNT(m->config.device));

	const struct emu_device_config *const config = &m->config.device[i];
	struct emu_device *const d = &m->device[i];

	*d = (struct emu_device){.name = config->name,
		.is_dram = config->kind == EMU_KIND_dram,
		.domain = config->domain,
		.read_energy = config->read_energy,
		.write_energy = config->write_energy,
		.hops = config->hops};
	if (!emu_config_has_device(&m->config, i)) {
		return 0;
	}
	return channels_init(&d->channels, config, m->config.hop);
}

static int dram_init(struct nvw_machine *m, unsigned i, unsigned *next)
{
	NVW_DEEP_INVARIANT(i < NVW_COUNT(m->config.device));

	struct emu_device *const d = &m->device[i];

	d->bytes = m->config.device[i].size;
	d->used = EMU_LINE; /* address 0 of the range stays unused */
	NVW_TRY(map(d->bytes, PROT_READ | PROT_WRITE, d->name, &d->behind));
	NVW_TRY(map(d->bytes, PROT_NONE, d->name, &d->base));
	return give_windows(m, i, next);
}

/* The device has the bytes [from, to) of the pool, whose run's range is at base. */
static int nvram_init(struct nvw_machine *m, unsigned i, struct nvw_pool *pool, char *base, nvw_off from,
	nvw_off to, unsigned *next)
{
	struct emu_device *const d = &m->device[i];

	NVW_INVARIANT(from < to);
	NVW_FAIL_IF(
		d->pool, NVW_E_USAGE, "%s: the device %s has a pool already", nvw_pool_path(pool), d->name);
	d->pool = pool;
	d->off = nvw_pool_begin(pool) + from;
	d->base = base + d->off;
	d->behind = (char *)nvw_pool_medium(pool) + from;
	d->bytes = to - from;
	return give_windows(m, i, next);
}

/* Size of the part of the pool on the first NVRAM device. */
static nvw_off first_part(const struct emu_config *config, const struct nvw_pool_geometry *pool)
{
	enum { PAGE = 4096 };

	switch (config->nvram2.holds) {
	case EMU_PART_heap:
		return pool->chunks;
	case EMU_PART_half:
		return pool->bytes / 2 / PAGE * PAGE;
	default:
		return pool->bytes;
	}
}

/* Puts a pool on the device that it names. The pool of nvram may continue on nvram2. */
static int pool_init(struct nvw_machine *m, struct nvw_pool *pool, char *base, unsigned *next)
{
	const struct nvw_pool_geometry *const g = nvw_pool_geometry(pool);
	const int device = emu_config_device(&m->config, nvw_pool_device(pool));
	nvw_off split = g->bytes;

	NVW_FAIL_IF(device < 0, NVW_E_CONFIG, "%s: %s", nvw_pool_path(pool), nvw_error_message());
	NVW_FAIL_IF(m->device[device].is_dram || device == EMU_NVRAM2, NVW_E_USAGE,
		"%s: the device %s %s: expected an NVRAM device", nvw_pool_path(pool), m->device[device].name,
		device == EMU_NVRAM2 ? "has a part of nvram's pool (nvram2.holds)" : "is DRAM");
	NVW_FAIL_IF(!nvw_pool_medium(pool), NVW_E_USAGE,
		"%s: the pool is open for reading only, and a machine writes to its pool",
		nvw_pool_path(pool));
	if (device == EMU_NVRAM) {
		split = first_part(&m->config, g);
		assert(split > 0 && split <= g->bytes);
	}
	NVW_TRY(nvram_init(m, (unsigned)device, pool, base, 0, split, next));
	if (split == g->bytes) {
		return 0;
	}
	return nvram_init(m, EMU_NVRAM2, pool, base, split, g->bytes, next);
}

/* The pools are one range of addresses, so references by offset do not depend on the device. */
static int pools_init(struct nvw_machine *m, struct nvw_pool *first)
{
	unsigned next = EMU_WINDOWS / 2; /* the DRAM has the lower half */
	char *base;

	NVW_TRY(map(nvw_pool_run_bytes(first), PROT_NONE, "NVRAM", &base));
	m->pool = first;
	m->nvram_base = base;
	NVW_FOR(i, nvw_pool_count(first)) {
		NVW_TRY(pool_init(m, nvw_pool_number(first, i), base, &next));
	}
	return 0;
}

/* No line may have the number that means none. It ends the lower half of the numbers. */
static bool reaches_no_line(const struct nvw_machine *m)
{
	const struct emu_device *const last = &m->device[m->window[EMU_WINDOWS / 2 - 1]];

	return EMU_NO_LINE - last->first < last->bytes / EMU_LINE;
}

int emu_devices_init(struct nvw_machine *m, struct nvw_pool *pool)
{
	unsigned next = 0;

	m->device_count = m->config.device_count;
	NVW_FOR(i, m->device_count) {
		NVW_TRY(device_init(m, i));
		if (m->device[i].is_dram) {
			NVW_TRY(dram_init(m, i, &next));
		}
	}
	NVW_FAIL_IF(next > EMU_WINDOWS / 2 || (next == EMU_WINDOWS / 2 && reaches_no_line(m)), NVW_E_CONFIG,
		"the machine's DRAM devices are larger than its line numbers reach");
	if (!pool) {
		return 0;
	}
	return pools_init(m, pool);
}

void emu_devices_finish(struct nvw_machine *m)
{
	NVW_EACH(d, m->device, m->device_count) {
		emu_resources_finish(d->channels.read, d->channels.count);
		free(d->channels.read);
		free(d->channels.write_free);
		free(d->channels.begun);
		free(d->channels.turn);
		if (d->is_dram) {
			nvw__unmap(d->base, d->bytes);
			nvw__unmap(d->behind, d->bytes);
		}
	}
	nvw__unmap(m->nvram_base, nvw_pool_run_bytes(m->pool));
}

/* On a DRAM-only machine the pools' range is DRAM too: with as many channels as the machine that it is
 * compared with, in the same places of the network, with the DRAM's latencies and energies. */
void emu_devices_set_volatile(struct nvw_machine *m)
{
	const struct emu_device *const dram = &m->device[EMU_DRAM];

	m->is_volatile = true;
	m->persistent = 0;
	NVW_EACH(d, m->device, m->device_count) {
		if (!d->is_dram) {
			d->channels.read_ps = dram->channels.read_ps;
			d->channels.write_ps = dram->channels.write_ps;
			d->read_energy = dram->read_energy;
			d->write_energy = dram->write_energy;
		}
	}
}

const struct emu_device *emu_device_at(const struct nvw_machine *m, const char *address)
{
	emu_line_id line;
	unsigned offset;

	if (emu_locate(m, (uint64_t)(uintptr_t)address, 1, &line, &offset)) {
		return emu_device_of(m, line);
	}
	return NULL;
}

/* ---- Write queues ------------------------------------------------------------------------- */

/* Books the time of a write on a shared channel. The queue takes it when the one that many places before has
 * begun. */
static emu_time share(struct nvw_machine *m, const struct emu_channels *c, uint32_t channel, emu_time arrival,
	emu_time *ret_accepted)
{
	const emu_time start =
		emu_book(m, &c->read[channel], emu_later(arrival, c->write_free[channel]), c->line_ps);

	c->write_free[channel] = start + c->line_ps;
	*ret_accepted = start;
	if (c->places) {
		emu_time *const begun = &c->begun[channel * c->places + c->turn[channel]++ % c->places];

		*ret_accepted = emu_later(arrival, *begun);
		*begun = start;
	}
	return start;
}

emu_time emu_channel_write(
	struct nvw_machine *m, struct emu_device *d, emu_line_id id, emu_time t, emu_time *ret_done)
{
	const struct emu_channels *const c = &d->channels;
	const emu_time arrival = t + c->link_ps;
	const uint32_t channel = emu_channel_of(c, id);
	emu_time start, accepted;

	if (c->begun) {
		start = share(m, c, channel, arrival, &accepted);
	} else {
		start = emu_reserve(&c->write_free[channel], arrival, c->line_ps);
		accepted = start - nvw_min(start - arrival, c->queue_ps);
	}

	d->traffic.writes++;
	d->traffic.write_wait_ps += start - arrival;
	*ret_done = start + c->write_ps;
	return accepted;
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

/* Statistics of each event, by kind. */
enum {
#define ENERGY(component, counted, femtojoules, source) FJ_##counted = femtojoules,
#define DEVICE_ENERGY(kind, operation, femtojoules, source)
#include "../observe/energy.def"
#undef ENERGY
#undef DEVICE_ENERGY
};

static bool serves_as_dram(const struct nvw_machine *m, const struct emu_device *d)
{
	return d->is_dram || m->is_volatile;
}

/* In fJ. */
static uint64_t energy_of(const struct nvw_machine *m, const struct emu_device *d)
{
	uint64_t written = d->traffic.words;

	if (serves_as_dram(m, d)) {
		written = d->traffic.writes;
	}
	return d->traffic.reads * d->read_energy + written * d->write_energy;
}

/* A request and its answer, one of which carries the line. */
static uint64_t link_flits(const struct nvw_machine *m, const struct emu_device *d)
{
	return (d->traffic.reads + d->traffic.writes) *
	       (emu_network_flits(m, 0) + emu_network_flits(m, EMU_LINE)) * d->hops;
}

/* Devices served as DRAM count as DRAM. */
void emu_devices_count(struct nvw_machine *m)
{
	struct emu_stats *const s = &m->stats;
	struct emu_traffic dram = {0}, nvram = {0}, nvram2 = {0};
	uint64_t dram_fj = 0, nvram_fj = 0;

	if (!m->is_volatile) {
		nvram2 = m->device[EMU_NVRAM2].traffic;
	}
	NVW_EACH(d, m->device, m->device_count) {
		if (serves_as_dram(m, d)) {
			add_up(&dram, &d->traffic);
			dram_fj += energy_of(m, d);
		} else {
			add_up(&nvram, &d->traffic);
			nvram_fj += energy_of(m, d);
		}
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
	s->energy_dram = dram_fj / EMU_FJ_A_PJ;
	s->energy_nvram = nvram_fj / EMU_FJ_A_PJ;
}

const char *emu_device_statistics(const struct nvw_machine *m, unsigned i, struct emu_device_stats *ret_stats)
{
	if (i >= m->device_count) {
		return NULL;
	}

	const struct emu_device *const d = &m->device[i];
	const uint64_t hops = link_flits(m, d);

	*ret_stats = (struct emu_device_stats){.reads = d->traffic.reads,
		.writes = d->traffic.writes,
		.words = d->traffic.words * !m->is_volatile,
		.read_wait_ps = d->traffic.read_wait_ps,
		.write_wait_ps = d->traffic.write_wait_ps,
		.barrier_wait_ps = d->traffic.barrier_wait_ps,
		.flit_hops = hops,
		.energy = (energy_of(m, d) + hops * FJ_net_flit_hops) / EMU_FJ_A_PJ};
	return d->name;
}

void emu_devices_count_from_here(struct nvw_machine *m)
{
	NVW_EACH(device, m->device, m->device_count) {
		device->traffic = (struct emu_traffic){0};
	}
}
