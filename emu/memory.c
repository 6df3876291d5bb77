/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory channels: DRAM and NVRAM reads, DRAM writes.
 *
 * A channel transfers one line at a time, at its bandwidth; latency comes on top and overlaps. Reads and
 * writes have queues of their own (reads overtake posted writes); what a read must see of the writes that
 * it overtakes is forwarded to it.
 */
#include <stdlib.h>

#include "machine.h"
#include "persist/persist.h"

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

int emu_memory_init(struct nvw_machine *m)
{
	const int r = channels_init(&m->dram_channels, &m->config.dram);

	return r < 0 ? r : channels_init(&m->nvram_channels, &m->config.nvram);
}

void emu_memory_finish(struct nvw_machine *m)
{
	emu_resources_finish(m->dram_channels.read, m->dram_channels.count);
	emu_resources_finish(m->nvram_channels.read, m->nvram_channels.count);
	free(m->dram_channels.read);
	free(m->dram_channels.write_free);
	free(m->nvram_channels.read);
	free(m->nvram_channels.write_free);
}

static uint32_t channel_of(const struct emu_channels *c, emu_line_id id)
{
	return (id & ~EMU_NVRAM) % c->count;
}

static emu_time channel_read(
	struct nvw_machine *m, struct emu_channels *c, emu_line_id id, emu_time t, uint64_t *wait_ps)
{
	const emu_time start = emu_book(m, &c->read[channel_of(c, id)], t, c->line_ps);

	*wait_ps += start - t;
	return start + c->read_ps;
}

emu_time emu_channel_write(
	struct emu_channels *c, emu_line_id id, emu_time t, emu_time *ret_done, uint64_t *wait_ps)
{
	const emu_time start = emu_reserve(&c->write_free[channel_of(c, id)], t, c->line_ps);

	*wait_ps += start - t;
	*ret_done = start + c->write_ps;
	return start - t > c->queue_ps ? start - c->queue_ps : t;
}

/* The pool's range has its own controller. On a DRAM-only machine there is DRAM behind it too: as many
 * channels as the machine that it is compared with, with the DRAM's latencies (nvw_machine_set_volatile). */
static struct emu_channels *controller_of(struct nvw_machine *m, emu_line_id id)
{
	return emu_is_nvram(id) ? &m->nvram_channels : &m->dram_channels;
}

void emu_memory_peek(const struct nvw_machine *m, emu_line_id id, uint8_t *to)
{
	memcpy(to, emu_memory_behind(m, id), EMU_LINE);
	if (emu_is_persistent(m, id)) {
		emu_nvram_forward(m, id, to);
		persist_forward(m, id, to);
	}
}

void emu_memory_prefetch(const struct nvw_machine *m, emu_line_id id)
{
	__builtin_prefetch(emu_memory_behind(m, id));
}

emu_time emu_memory_read(struct nvw_machine *m, emu_line_id id, uint8_t *to, emu_time t)
{
	uint64_t wait_ps = 0;

	emu_memory_peek(m, id, to);
	if (emu_is_persistent(m, id)) {
		m->stats.nvram_reads++;
		return channel_read(m, &m->nvram_channels, id, t, &m->stats.nvram_read_wait_ps);
	}
	m->stats.dram_reads++;
	return channel_read(m, controller_of(m, id), id, t, &wait_ps);
}

emu_time emu_memory_write(struct nvw_machine *m, emu_line_id id, struct emu_line *line, emu_time t)
{
	const uint64_t mask = line->dirty;
	uint64_t wait_ps = 0;
	emu_time done, accepted;

	line->dirty = 0;
	if (emu_is_persistent(m, id)) {
		const uint32_t stores = line->stores;

		line->stores = line->stores_tail = 0;
		return m->persist->write(m, id, line, mask, stores, t);
	}
	m->stats.dram_writes++;
	accepted = emu_channel_write(controller_of(m, id), id, t, &done, &wait_ps);
	emu_copy_masked((uint8_t *)emu_memory_behind(m, id), line->data, mask);
	return accepted;
}
