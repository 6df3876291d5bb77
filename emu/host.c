/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The host's view of device memory: allocation, copies that see the caches, acknowledgements.
 *
 * Between kernels the L1s have only data that the L2 or memory also has or knows of (a kernel ends with a
 * release on every CU), so the host reads the L2, the L1s that it names for registered bytes, the writes in
 * flight, and memory.
 */
#include <unistd.h>

#include "core/bounds.h"
#include "core/each.h"
#include "core/invariant.h"
#include "memory/device_memory.h"
#include "machine.h"
#include "persist/persist.h"
#include "protocol/protocol.h"
#include "observe/record.h"

static void *alloc(struct emu_device *d, uint64_t bytes)
{
	const uint64_t rounded = (bytes + EMU_LINE - 1) / EMU_LINE * EMU_LINE;
	void *const block = d->base + d->used;
	NVW_INVARIANT(d->used <= d->bytes);

	if (rounded < bytes || rounded > d->bytes - d->used) {
		nvw_fail(NVW_E_MEMORY,
			"no room for %llu bytes: the machine's DRAM has %llu (%s.size), and %llu are in use",
			(unsigned long long)bytes, (unsigned long long)d->bytes, d->name,
			(unsigned long long)d->used);
		return NULL;
	}
	emu_device_expect(d, d->used, rounded);
	d->used += rounded;
	return block;
}

void *nvw_alloc(struct nvw_machine *m, uint64_t bytes)
{
	return alloc(&m->device[EMU_DRAM], bytes);
}

void *nvw_alloc_on(struct nvw_machine *m, const char *device, uint64_t bytes)
{
	const int i = emu_config_device(&m->config, device);

	if (i >= 0 && !m->device[i].is_dram) {
		nvw_fail(NVW_E_USAGE,
			"the device %s is NVRAM: expected DRAM (NVRAM is allocated from a pool's heap)",
			device);
	}
	if (i >= 0 && m->device[i].is_dram) {
		return alloc(&m->device[i], bytes);
	}
	return NULL;
}

uint64_t nvw_mark(const struct nvw_machine *m)
{
	return m->device[EMU_DRAM].used;
}

/* L1s keep data that they have read from kernel to kernel: every change must be reported to them. */
static bool keeps_l1s(const struct nvw_machine *m)
{
	return !m->protocol->kernel_begin[0];
}

static void evict_lines(
	struct nvw_machine *m, struct emu_cu *cu, struct emu_cache *cache, emu_line_id first, emu_line_id end)
{
	NVW_INVARIANT(first <= end);

	EMU_EACH_LINE(i, cache) {
		const emu_line_id id = emu_cache_tag_at(cache, i);

		if (id < first || id >= end) {
			continue;
		}
		if (cu) {
			coh_l1_event(m, cu, &cache->lines[i], id, COH_L1_EVICT, COH_BY_EVICT, m->now);
		} else {
			coh_l2_event(m, &cache->lines[i], id, COH_L2_EVICT, COH_BY_EVICT, m->now);
		}
	}
}

/* Nobody needs the bytes of these lines any more, so that they leave without being written. */
static void forget_stores(struct emu_cache *cache, emu_line_id first, emu_line_id end)
{
	NVW_INVARIANT(first <= end);

	EMU_EACH_LINE(i, cache) {
		const emu_line_id id = emu_cache_tag_at(cache, i);

		if (id >= first && id < end) {
			cache->lines[i].dirty = 0;
		}
	}
}

/* Drops a range of DRAM from the caches and zeroes it. */
static void clear_dram(struct nvw_machine *m, uint64_t from, uint64_t to)
{
	const emu_line_id base = m->device[EMU_DRAM].first, first = base + (emu_line_id)(from / EMU_LINE),
			  end = base + (emu_line_id)(to / EMU_LINE);
	NVW_INVARIANT(from <= to && to <= m->device[EMU_DRAM].bytes);

	EMU_EACH_CU(cu, m) {
		forget_stores(&cu->l1, first, end);
	}
	forget_stores(&m->l2.cache, first, end);
	forget_stores(m->l2.stores, first, end);
	if (coh_has_directory(m)) {
		evict_lines(m, NULL, &m->directory.cache, first, end);
	}
	evict_lines(m, NULL, m->l2.stores, first, end);
	evict_lines(m, NULL, &m->l2.cache, first, end);
	for (unsigned i = 0; keeps_l1s(m) && i < m->config.cus; i++) {
		evict_lines(m, &m->cus[i], &m->cus[i].l1, first, end);
	}
	emu_l3_forget(m, first, end);
	memset(m->device[EMU_DRAM].behind + from, 0, to - from);
}

void nvw_release(struct nvw_machine *m, uint64_t mark)
{
	struct emu_device *const dram = &m->device[EMU_DRAM];

	assert(mark <= dram->used);
	if (mark < dram->used) {
		clear_dram(m, mark, dram->used);
	}
	dram->used = mark;
}

struct nvw_pool *nvw_machine_pool(struct nvw_machine *m)
{
	return m->pool;
}

const char *nvw_nvram_base(const struct nvw_machine *m)
{
	return m->nvram_base;
}

/* ---- Copies ---------------------------------------------------------------------------------- */

/* A range may go on from an NVRAM device to the next of the same pool. */
static bool is_device_memory(const struct nvw_machine *m, const char *from, uint64_t n)
{
	const struct emu_device *const first = emu_device_at(m, from), *d = first;

	while (d && d->pool == first->pool && n > d->bytes - (uint64_t)(from - d->base)) {
		n -= d->bytes - (uint64_t)(from - d->base);
		from = d->base + d->bytes;
		d = first->pool ? emu_device_at(m, from) : NULL;
	}
	return d && d->pool == first->pool;
}

static int check_range(const struct nvw_machine *m, const void *device, uint64_t n)
{
	NVW_FAIL_IF(n && !is_device_memory(m, device, n), NVW_E_USAGE,
		"a host copy of %llu bytes at %p is outside device memory", (unsigned long long)n, device);
	return 0;
}

/* The next piece of a copy that lies within one line. */
static uint64_t piece_at(const struct nvw_machine *m, uint64_t address, uint64_t n, emu_line_id *ret_line,
	unsigned *ret_offset)
{
	*ret_line = EMU_NO_LINE;
	*ret_offset = 0;
	emu_locate(m, address, 1, ret_line, ret_offset);
	return nvw_min(n, EMU_LINE - *ret_offset);
}

#define PS_PER_SECOND UINT64_C(1000000000000)

/* Actions of the host after the measured part take no time. */
void emu_spend_copy(struct nvw_machine *m, uint64_t bytes)
{
	const uint64_t per_second = m->config.host_bandwidth;
	emu_time took = m->config.host_copy;

	if (per_second) {
		took += (emu_time)((unsigned __int128)bytes * PS_PER_SECOND / per_second);
	}
	if (m->measured_to == 0) {
		m->stats.host_copies++;
		m->stats.host_copy_ps += took;
		emu_spend(m, took);
	}
}

/* The visible bytes of a line. */
static void peek(const struct nvw_machine *m, emu_line_id id, uint8_t *to)
{
	const struct emu_line *const cached = emu_cache_peek(&m->l2.cache, id);
	const struct emu_line *const stored = emu_cache_peek(m->l2.stores, id);

	emu_memory_peek(m, id, to);
	emu_l3_peek(m, id, to);
	if (cached) {
		emu_copy_masked(to, cached->data, cached->valid);
		coh_registry_peek(m, id, to);
	}
	if (stored && stored != cached) {
		emu_copy_masked(to, stored->data, stored->dirty);
	}
	coh_directory_peek(m, id, to);
}

void emu_peek(const struct nvw_machine *m, void *to, const void *device, uint64_t n)
{
	uint64_t address = (uint64_t)(uintptr_t)device;
	uint8_t *out = to;

	while (n) {
		uint8_t line[EMU_LINE];
		emu_line_id id;
		unsigned offset;
		const uint64_t piece = piece_at(m, address, n, &id, &offset);

		peek(m, id, line);
		memcpy(out, line + offset, piece);
		out += piece;
		address += piece;
		n -= piece;
	}
}

int nvw_read(struct nvw_machine *m, void *to, const void *device, uint64_t n)
{
	NVW_TRY(check_range(m, device, n));
	emu_peek(m, to, device, n);
	emu_spend_copy(m, n);
	return 0;
}

/* Updates the caches' copies of a line with the host's data. */
static void update_caches(
	struct nvw_machine *m, emu_line_id id, unsigned offset, const uint8_t *from, uint64_t n)
{
	const uint64_t mask = nvw_low_bits(n) << offset;
	uint8_t data[EMU_LINE];

	NVW_DEEP_INVARIANT(offset + n <= EMU_LINE);
	memcpy(data + offset, from, n);
	coh_registry_update(m, id, data, mask);
	emu_cache_update(&m->l2.cache, id, data, mask);
	emu_cache_update(m->l2.stores, id, data, mask);
	emu_l3_update(m, id, data, mask);
	for (unsigned i = 0; keeps_l1s(m) && i < m->config.cus; i++) {
		emu_cache_update(&m->cus[i].l1, id, data, mask);
	}
}

/* Writes in flight would overwrite the host's bytes, so the host waits for them. */
static void settle_nvram(struct nvw_machine *m)
{
	if (m->persist->info.drains) {
		persist_everything(m);
	}
	if (m->nvram.in_flight) {
		m->now = emu_nvram_settled_at(m);
		emu_nvram_complete(m, m->now);
	}
}

int nvw_write(struct nvw_machine *m, void *device, const void *from, uint64_t n)
{
	uint64_t address = (uint64_t)(uintptr_t)device;
	const uint8_t *in = from;
	emu_line_id first = EMU_NO_LINE;
	unsigned skip = 0;
	bool durable = false;

	NVW_TRY(check_range(m, device, n));
	if (n) {
		piece_at(m, address, n, &first, &skip);
		durable = emu_is_persistent(m, first);
	}
	if (durable) {
		settle_nvram(m);
		record_host_write(m, emu_line_off(m, first) + skip, from, n);
	}
	while (n) {
		emu_line_id id;
		unsigned offset;
		const uint64_t piece = piece_at(m, address, n, &id, &offset);

		if (durable) {
			uint8_t line[EMU_LINE];

			memcpy(line + offset, in, piece);
			emu_medium_write(m, id, line, nvw_low_bits(piece) << offset);
		} else {
			memcpy(emu_memory_behind(m, id) + offset, in, piece);
		}
		update_caches(m, id, offset, in, piece);
		in += piece;
		address += piece;
		n -= piece;
	}
	emu_spend_copy(m, (uint64_t)(in - (const uint8_t *)from));
	return m->error;
}

/* ---- Durability, time ------------------------------------------------------------------------ */

int nvw_persist(struct nvw_machine *m)
{
	if (!m->error) {
		persist_everything(m);
	}
	return m->error;
}

int nvw_acknowledge(struct nvw_machine *m, uint64_t first, uint64_t count)
{
	if (m->persist->info.drains && !m->error) {
		persist_everything(m);
	}
	if (!m->error) {
		emu_nvram_complete(m, m->now);
		persist_acknowledge(m, NULL, 0, first, count);
	}
	return m->error;
}

void nvw_machine_set_volatile(struct nvw_machine *m)
{
	assert(m->exec.number == 0);
	persist_switch_off(m);
	emu_devices_set_volatile(m);
}

bool nvw_machine_is_volatile(const struct nvw_machine *m)
{
	return m->is_volatile;
}

uint64_t nvw_time_ps(const struct nvw_machine *m)
{
	return m->now;
}

unsigned nvw_wavefront_width(const struct nvw_machine *m)
{
	return (unsigned)m->config.wavefront_width;
}

unsigned nvw_compute_units(const struct nvw_machine *m)
{
	return (unsigned)m->config.cus;
}

uint64_t nvw_resident_work_items(const struct nvw_machine *m)
{
	return m->config.cus * m->config.wavefronts_per_cu * m->config.wavefront_width;
}

void nvw_begin_measurement(struct nvw_machine *m)
{
	memset(&m->stats, 0, sizeof m->stats);
	emu_forget_waits(m);
	emu_devices_count_from_here(m);
	m->measured_from = m->now;
	m->measured_to = 0;
}

void nvw_end_measurement(struct nvw_machine *m)
{
	NVW_INVARIANT(m->measured_from <= m->now);
	m->measured_to = m->now;
}
