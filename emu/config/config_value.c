/* SPDX-License-Identifier: BSD-3-Clause */
/* Values of keys. See config_value.h. */
#include "config_value.h"
#include "core/each.h"
#include "core/invariant.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const switches[] = {"off", "on", "auto", NULL};
/* clang-format off */
static const char *const models[] = {
#define MACHINE_MODEL(id, symbol, name) name,
#define STATE_MODEL(id, symbol, name)
#include "../persist/models.def"
#undef MACHINE_MODEL
#undef STATE_MODEL
		NULL};
static const char *const *const words[] = {
	[BOOL] = switches,
#define X(of, name, word) word,
#define E(name, list) [ENUM_##name] = (const char *const[]){list(X) NULL},
	EMU_ENUMS(E)
#undef E
#undef X
	[ENUM_model] = models};
/* clang-format on */

const char *const *config_words(enum config_type type)
{
	NVW_INVARIANT(type < NVW_COUNT(words));
	return words[type];
}

static uint64_t cycle_ps(uint64_t clock)
{
	if (!clock) {
		return 1;
	}
	return (uint64_t)(1e12 / (double)clock + 0.5);
}

static int set_time(const struct config_place *p, const char *text)
{
	uint64_t value;
	bool cycles;

	NVW_TRY(nvw_parse_time(text, &value, &cycles));
	NVW_FAIL_IF(cycles && value > UINT64_MAX / 2 / cycle_ps(p->clock), NVW_E_USAGE, "\"%s\" is too large",
		text);
	*p->field = cycles ? value * cycle_ps(p->clock) : value;
	*p->in_cycles = cycles ? *p->in_cycles | p->bit : *p->in_cycles & ~p->bit;
	return 0;
}

void config_value_scale(const struct config_place *p, uint64_t new_clock)
{
	if (*p->in_cycles & p->bit) {
		*p->field = *p->field / cycle_ps(p->clock) * cycle_ps(new_clock);
	}
}

int config_value_set(const struct config_place *p, enum config_type type, const char *text)
{
	switch (type) {
	case COUNT:
		return nvw_parse_count(text, p->field);
	case BYTES:
		return nvw_parse_bytes(text, p->field);
	case TIME:
		return set_time(p, text);
	case FREQ:
		return nvw_parse_frequency(text, p->field);
	case RATE:
		return nvw_parse_rate(text, p->field);
	case ENERGY:
		return nvw_parse_energy(text, p->field);
	default:
		return nvw_parse_word(text, config_words(type), p->field);
	}
}

const char *config_value_text(const struct config_place *p, enum config_type type, char buffer[NVW_UNIT_TEXT])
{
	const uint64_t value = *p->field;

	switch (type) {
	case COUNT:
		snprintf(buffer, NVW_UNIT_TEXT, "%" PRIu64, value);
		return buffer;
	case BYTES:
		return nvw_format_bytes(value, buffer);
	case TIME:
		if (*p->in_cycles & p->bit) {
			snprintf(buffer, NVW_UNIT_TEXT, "%" PRIu64 "cycles", value / cycle_ps(p->clock));
			return buffer;
		}
		return nvw_format_time(value, buffer);
	case FREQ:
		return nvw_format_frequency(value, buffer);
	case RATE:
		return nvw_format_rate(value, buffer);
	case ENERGY:
		return nvw_format_energy(value, buffer);
	default:
		return config_words(type)[value];
	}
}
