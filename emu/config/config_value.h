/* SPDX-License-Identifier: BSD-3-Clause */
/* The values of a machine file's keys, from text and to text. What config.c and config_devices.c share. */
#ifndef EMU_CONFIG_VALUE_H
#define EMU_CONFIG_VALUE_H

#include <stddef.h>

#include "config.h"
#include "core/units.h"

enum config_type {
	COUNT,
	BYTES,
	TIME,
	FREQ,
	RATE,
	ENERGY,
	BOOL,
	NAME,
#define E(name, list) ENUM_##name,
	EMU_ENUMS(E)
#undef E
		ENUM_model
};

/* Where a key's value is: a field of a record, whose keys have a bit each in *in_cycles. */
struct config_place {
	uint64_t *field, *in_cycles;
	uint64_t bit;
	uint64_t clock; /* gpu.clock, which times in cycles follow */
};

/* The words of a type that has some, in order; ends with NULL. */
const char *const *config_words(enum config_type type);

/* Parses a value of any type except FREQ and NAME. NVW_E_USAGE with the expected values. */
NVW_CHECKED int config_value_set(const struct config_place *place, enum config_type type, const char *text);
/* The value as text, in buffer or as a constant, for all types but NAME. */
const char *config_value_text(
	const struct config_place *place, enum config_type type, char buffer[NVW_UNIT_TEXT]);
/* A value in cycles of the old clock takes as many of the new one. */
void config_value_scale(const struct config_place *place, uint64_t new_clock);

#endif
