/* SPDX-License-Identifier: BSD-3-Clause */
/* The memory devices of a machine's description: sections [dram], [nvram], [nvram2] and [device NAME]. See
 * config_devices.c. */
#ifndef EMU_CONFIG_DEVICES_H
#define EMU_CONFIG_DEVICES_H

#include "config_value.h"

enum {
	CONFIG_DEVICE_KEYS_MAX = 16,
	CONFIG_DEVICE_NAMES_MAX = EMU_DEVICES_MAX * CONFIG_DEVICE_KEYS_MAX,
	CONFIG_DEVICE_KEY_BYTES = NVW_DEVICE_NAME_BYTES + 24, /* "device NAME.key" */
};

/* dram, nvram and nvram2 with their defaults. */
void config_devices_default(struct emu_config *c);

/*
 * Sets "device NAME.key" or "NAME.key". *ret_found is false if it is neither; otherwise 0, or a message
 * without the key's name. A new device must not have the name of a section.
 */
NVW_CHECKED int config_devices_set(struct emu_config *c, const char *full, const char *text,
	bool (*is_section)(const char *name), bool *ret_found);

/* Lists the keys that config_devices_set() accepts, for "did you mean"; returns their number. */
unsigned config_devices_names(
	const struct emu_config *c, char ret_names[CONFIG_DEVICE_NAMES_MAX][CONFIG_DEVICE_KEY_BYTES]);

/* Key number i of all devices, as emu_config_key(). */
bool config_devices_key(unsigned i, struct emu_key *ret_key);

/* Before gpu.clock changes. */
void config_devices_scale(struct emu_config *c, uint64_t new_clock);

/* NVW_E_CONFIG if a key is missing that a device must have. */
NVW_CHECKED int config_device_complete(const struct emu_config *c, unsigned device);
/* The same for all, and whether their values and domains go together. */
NVW_CHECKED int config_devices_check(const struct emu_config *c);

void config_devices_dump(const struct emu_config *c, FILE *to);

#endif
