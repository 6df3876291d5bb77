/* SPDX-License-Identifier: BSD-3-Clause */
/* The names of sights and of their places (watch.h), for those who show them. */
#include <stdio.h>

#include "memory/device_memory.h"
#include "core/each.h"
#include "core/invariant.h"
#include "machine.h"

const char *emu_sight_name(enum emu_sight_kind kind)
{
	static const char *const names[] = {
#define X(id, name, unit) name,
		EMU_SIGHTS(X)
#undef X
	};

	NVW_INVARIANT(kind < NVW_COUNT(names));
	return names[kind];
}

static void channel_name(const struct nvw_machine *m, uint32_t unit, char *text, size_t size)
{
	unsigned device = 0;

	while (device + 1 < m->device_count && unit >= emu_first_channel(m, device + 1)) {
		device++;
	}
	snprintf(text, size, "%s channel %u", m->device[device].name, unit - emu_first_channel(m, device));
}

void emu_sight_place(
	const struct nvw_machine *m, enum emu_sight_kind kind, uint32_t unit, char *text, size_t size)
{
	static const char *const scopes[] = {"work-item", "work-group", "kernel"};

	switch (kind) {
	case EMU_SIGHT_GROUP:
	case EMU_SIGHT_STALL:
	case EMU_SIGHT_WAIT:
		snprintf(text, size, "CU %llu, wavefront %llu",
			(unsigned long long)(unit / m->config.wavefronts_per_cu),
			(unsigned long long)(unit % m->config.wavefronts_per_cu));
		break;
	case EMU_SIGHT_BARRIER:
	case EMU_SIGHT_PART:
	case EMU_SIGHT_EPOCH:
		snprintf(text, size, "%s scope", scopes[unit]);
		break;
	case EMU_SIGHT_FLUSH:
	case EMU_SIGHT_INVALIDATION:
		snprintf(text, size, "CU %u", unit);
		break;
	case EMU_SIGHT_BANK:
		if (unit < m->l2.banks) {
			snprintf(text, size, "L2 bank %u", unit);
		} else {
			snprintf(text, size, "L3 bank %u", unit - m->l2.banks);
		}
		break;
	case EMU_SIGHT_LINK:
		emu_network_link_name(m, unit, text, size);
		break;
	case EMU_SIGHT_READ:
	case EMU_SIGHT_WRITE:
		channel_name(m, unit, text, size);
		break;
	default:
		snprintf(text, size, "GPU");
	}
}
