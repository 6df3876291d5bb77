/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads and writes of lines behind the caches. A read overtakes posted writes; their bytes are forwarded to
 * it (nvram.c, persist/).
 */
#include "../time/booking.h"
#include "device_memory.h"
#include "../machine.h"
#include "../persist/persist.h"

void emu_memory_peek(const struct nvw_machine *m, emu_line_id id, uint8_t *to)
{
	memcpy(to, emu_memory_behind(m, id), EMU_LINE);
	if (emu_is_persistent(m, id)) {
		emu_nvram_forward(m, id, to);
		persist_forward(m, id, to);
	}
}

emu_time emu_memory_read(struct nvw_machine *m, emu_line_id id, uint8_t *to, emu_time t)
{
	struct emu_device *const d = &m->device[emu_device_index(m, id)];
	const struct emu_channels *const c = &d->channels;
	emu_time start;

	emu_memory_peek(m, id, to);
	t += c->link_ps;
	start = emu_book(m, &c->read[emu_channel_of(c, id)], t, c->line_ps);
	d->traffic.reads++;
	d->traffic.read_wait_ps += start - t;
	if (emu_is_watched(m)) {
		emu_watch_memory(m, EMU_SIGHT_READ, id, t, start + c->read_ps);
	}
	return start + c->read_ps + c->link_ps;
}

emu_time emu_memory_write(struct nvw_machine *m, emu_line_id id, struct emu_line *line, emu_time t)
{
	const uint64_t mask = line->dirty;
	emu_time done, accepted;

	line->dirty = 0;
	if (emu_is_persistent(m, id)) {
		const uint32_t stores = line->stores;

		line->stores = line->stores_tail = 0;
		if (m->persist->write) {
			return m->persist->write(m, id, line, mask, stores, t);
		}
		return emu_nvram_write(m, id, line->data, mask, stores, 0, t);
	}
	struct emu_device *const d = &m->device[emu_device_index(m, id)];

	accepted = emu_channel_write(m, d, id, t, &done);
	emu_copy_masked((uint8_t *)emu_memory_behind(m, id), line->data, mask);
	if (emu_is_watched(m)) {
		emu_watch_memory(m, EMU_SIGHT_WRITE, id, t + d->channels.link_ps, done);
	}
	return accepted + d->channels.link_ps;
}
