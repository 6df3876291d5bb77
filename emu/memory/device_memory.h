/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The memory behind the caches, from an address or the number of a line down to the device: reads, writes,
 * and when these are durable.
 */
#ifndef EMU_DEVICE_MEMORY_H
#define EMU_DEVICE_MEMORY_H

#include "../machine.h"

/* ---- host.c ---------------------------------------------------------------------------------- */

/* The memory behind a device pointer. False outside device memory. */
static inline bool emu_locate(const struct nvw_machine *m, uint64_t address, uint64_t size,
	emu_line_id *ret_line, unsigned *ret_offset)
{
	const struct emu_device *d = m->device;
	uint64_t off = address - (uint64_t)(uintptr_t)d->base;

	while (off >= d->bytes || size > d->bytes - off) {
		if (++d == m->device + m->device_count) {
			return false;
		}
		off = address - (uint64_t)(uintptr_t)d->base;
	}
	*ret_line = d->first + (emu_line_id)(off / EMU_LINE);
	*ret_offset = (unsigned)(off % EMU_LINE);
	return true;
}

/* ---- devices.c: the devices and their write queues ------------------------------------------- */

/* Creates the devices of m->config; pool, if not NULL, is the NVRAM's. */
int emu_devices_init(struct nvw_machine *m, struct nvw_pool *pool);
void emu_devices_finish(struct nvw_machine *m);

/*
 * The bytes [from, from + bytes) of a DRAM device have been allocated. Where they are many, they come from
 * the host in huge pages, as they are touched: a host that emulates scattered accesses would look nearly
 * every one of them up in its page tables.
 */
void emu_device_expect(const struct emu_device *d, uint64_t from, uint64_t bytes);
/* From now on the NVRAM devices have the DRAM's latencies, and nothing is persistent. */
void emu_devices_set_volatile(struct nvw_machine *m);
/* Adds the devices' traffic to the statistics and resets it. */
void emu_devices_count(struct nvw_machine *m);
void emu_devices_count_from_here(struct nvw_machine *m);
/* The device of an address, NULL outside device memory. */
const struct emu_device *emu_device_at(const struct nvw_machine *m, const char *address);
/* Returns when the write queue of the line's channel accepts a write that the L2 sends at t; *ret_done is
 * when the device has completed it. The L2 learns of either channels.link_ps later. */
emu_time emu_channel_write(
	struct nvw_machine *m, struct emu_device *d, emu_line_id id, emu_time t, emu_time *ret_done);
static inline uint32_t emu_channel_of(const struct emu_channels *c, emu_line_id id)
{
	return emu_interleave(emu_line_number(id), c->count);
}

/* Channels are numbered over all devices: the first of one. */
static inline uint32_t emu_first_channel(const struct nvw_machine *m, unsigned device)
{
	uint32_t first = 0;

	for (unsigned i = 0; i < device; i++) {
		first += m->device[i].channels.count;
	}
	return first;
}

/* The device of a line. */
static inline unsigned emu_device_index(const struct nvw_machine *m, emu_line_id id)
{
	return m->window[id >> EMU_WINDOW_BITS];
}
static inline const struct emu_device *emu_device_of(const struct nvw_machine *m, emu_line_id id)
{
	return &m->device[emu_device_index(m, id)];
}
/* The offset of a line in the range of the run's pools, or in its DRAM device. */
static inline nvw_off emu_line_off(const struct nvw_machine *m, emu_line_id id)
{
	const struct emu_device *const d = emu_device_of(m, id);

	return d->off + (nvw_off)(id - d->first) * EMU_LINE;
}
/* The bytes of a line: the DRAM's, or the durable ones of the pool. */
static inline char *emu_memory_behind(const struct nvw_machine *m, emu_line_id id)
{
	const struct emu_device *const d = emu_device_of(m, id);

	return d->behind + (nvw_off)(id - d->first) * EMU_LINE;
}
/* Whether persist barriers and NVW-FIFOs treat this line as NVRAM. */
static inline bool emu_is_persistent(const struct nvw_machine *m, emu_line_id id)
{
	return m->persistent >> (id >> EMU_WINDOW_BITS) & 1;
}

/* ---- memory.c: reads and writes of lines ----------------------------------------------------- */

/* Reads the whole line into to; returns when it has arrived at the L2. */
emu_time emu_memory_read(struct nvw_machine *m, emu_line_id id, uint8_t *to, emu_time t);
/* Writes the line's dirty bytes, which are clean afterwards; returns when the controller has accepted them.
 * A write to NVRAM is durable later, see emu_nvram_settled_at(). */
emu_time emu_memory_write(struct nvw_machine *m, emu_line_id id, struct emu_line *line, emu_time t);
/* Fetches the bytes into the host's caches. */
static inline void emu_memory_prefetch(const struct nvw_machine *m, emu_line_id id)
{
	emu_prefetch(emu_memory_behind(m, id));
}
/* The current bytes behind the caches; takes no time. */
void emu_memory_peek(const struct nvw_machine *m, emu_line_id id, uint8_t *to);

/* ---- l3.c: between the L2 and memory, where the machine has it ------------------------------- */

int emu_l3_init(struct nvw_machine *m);
void emu_l3_finish(struct nvw_machine *m);
emu_time emu_l3_read_here(struct nvw_machine *m, emu_line_id id, uint8_t *to, emu_time t);
emu_time emu_l3_write_here(struct nvw_machine *m, emu_line_id id, struct emu_line *line, emu_time t);
/* As emu_memory_read() and emu_memory_write(), by the L3 if there is one. */
static inline emu_time emu_l3_read(struct nvw_machine *m, emu_line_id id, uint8_t *to, emu_time t)
{
	if (m->l3.banks) {
		return emu_l3_read_here(m, id, to, t);
	}
	return emu_memory_read(m, id, to, t);
}
static inline emu_time emu_l3_write(struct nvw_machine *m, emu_line_id id, struct emu_line *line, emu_time t)
{
	if (m->l3.banks) {
		return emu_l3_write_here(m, id, line, t);
	}
	return emu_memory_write(m, id, line, t);
}
/* Writes all that it keeps to memory; returns when memory has accepted it. There is one. */
emu_time emu_l3_flush(struct nvw_machine *m, emu_time t);
/* For the host: overlays to with its content of the line; the host has written bytes; lines first to end - 1
 * are no longer used. */
void emu_l3_peek(const struct nvw_machine *m, emu_line_id id, uint8_t *to);
void emu_l3_update(struct nvw_machine *m, emu_line_id id, const uint8_t *data, uint64_t mask);
void emu_l3_forget(struct nvw_machine *m, emu_line_id first, emu_line_id end);

/* ---- nvram.c: writes in flight, durability --------------------------------------------------- */

int emu_nvram_init(struct nvw_machine *m);
void emu_nvram_finish(struct nvw_machine *m);
/* A write of the bytes of mask, with a chain of store records, arrives at the controller at t. Returns when
 * the controller has accepted it. */
emu_time emu_nvram_write(struct nvw_machine *m, emu_line_id id, const uint8_t *data, uint64_t mask,
	uint32_t stores, uint32_t tag, emu_time t);
/* These bytes of a line, from offset on, become durable now: a store under eadr. */
void emu_nvram_store_through(
	struct nvw_machine *m, emu_line_id id, unsigned offset, const uint8_t *data, unsigned bytes);
/* The bytes of mask are the last of their line in coherence order (eadr): those that the medium has not
 * become durable now. */
void emu_nvram_catch_up(struct nvw_machine *m, emu_line_id id, const uint8_t *data, uint64_t mask);
/* Overlays to with the bytes of writes in flight. */
void emu_nvram_forward(const struct nvw_machine *m, emu_line_id id, uint8_t *to);
/* Completes every write that is due at t. */
void emu_nvram_complete(struct nvw_machine *m, emu_time t);
/* When the L2, from now on, knows that all writes in flight to all devices are durable; now if there are
 * none. */
emu_time emu_nvram_settled_at(const struct nvw_machine *m);
/* A persist barrier waits for them: counts for how long, by device. */
void emu_nvram_count_wait(struct nvw_machine *m);

/* Advances time while only the memory behind the caches works. */
static inline void emu_spend(struct nvw_machine *m, emu_time took)
{
	if (took) {
		m->now += took;
		emu_nvram_complete(m, m->now);
	}
}
/* Tears the writes in flight as a power cut does. */
void emu_nvram_tear(struct nvw_machine *m, uint64_t seed);
/* Writes the bytes of mask to the medium behind a line, word by word, each word at once. */
void emu_medium_write(struct nvw_machine *m, emu_line_id id, const uint8_t *data, uint64_t mask);

#endif
