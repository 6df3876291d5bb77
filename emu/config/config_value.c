/* SPDX-License-Identifier: BSD-3-Clause */
/* Values of keys. See config_value.h. */
#include "config_value.h"
#include "core/invariant.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* clang-format off */
static const char *const topologies[] = {
#define X(name, text) text,
	EMU_TOPOLOGIES(X)
#undef X
		NULL};
static const char *const domains[] = {
#define X(name, text) text,
	EMU_DOMAINS(X)
#undef X
		NULL};
static const char *const stores[] = {
#define X(name, text) text,
	EMU_STORES(X)
#undef X
		NULL};
static const char *const loads[] = {
#define X(name, text) text,
	EMU_LOADS(X)
#undef X
		NULL};
static const char *const consistencies[] = {
#define X(name, text) text,
	EMU_CONSISTENCIES(X)
#undef X
		NULL};
static const char *const firsts[] = {
#define X(name, text) text,
	EMU_FIRSTS(X)
#undef X
		NULL};
static const char *const fences[] = {
#define X(name, text) text,
	EMU_FENCES(X)
#undef X
		NULL};
static const char *const sbrps[] = {
#define X(name, text) text,
	EMU_SBRPS(X)
#undef X
		NULL};
static const char *const kinds[] = {
#define X(name, text) text,
	EMU_KINDS(X)
#undef X
		NULL};
static const char *const parts[] = {
#define X(name, text) text,
	EMU_PARTS(X)
#undef X
		NULL};
static const char *const banks[] = {
#define X(name, text) text,
	EMU_BANKS(X)
#undef X
		NULL};
static const char *const replacements[] = {
#define X(name, text) text,
	EMU_REPLACEMENTS(X)
#undef X
		NULL};
static const char *const units[] = {
#define X(name, text) text,
	EMU_UNITS(X)
#undef X
		NULL};
static const char *const models[] = {
#define MACHINE_MODEL(id, symbol, name) name,
#define STATE_MODEL(id, symbol, name)
#include "core/each.h"
#include "../persist/models.def"
#undef MACHINE_MODEL
#undef STATE_MODEL
		NULL};
static const char *const switches[] = {"off", "on", "auto", NULL};
/* clang-format on */

static const char *const *words_of(enum config_type type)
{
	static const char *const *const words[] = {[BOOL] = switches,
		[ENUM_topology] = topologies,
		[ENUM_banks] = banks,
		[ENUM_replacement] = replacements,
		[ENUM_unit] = units,
		[ENUM_domain] = domains,
		[ENUM_kind] = kinds,
		[ENUM_part] = parts,
		[ENUM_stores] = stores,
		[ENUM_loads] = loads,
		[ENUM_consistency] = consistencies,
		[ENUM_first] = firsts,
		[ENUM_fence] = fences,
		[ENUM_sbrp] = sbrps,
		[ENUM_model] = models};

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

static int parse_word(const char *text, const char *const *words, uint64_t *ret)
{
	char list[128] = "";

	for (unsigned i = 0; words[i]; i++) {
		if (!strcmp(words[i], text)) {
			*ret = i;
			return 0;
		}
		snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", i ? ", " : "", words[i]);
	}
	return nvw_fail(NVW_E_USAGE, "\"%s\" is not one of %s", text, list);
}

static int set_time(const struct config_place *p, const char *text)
{
	uint64_t value;
	bool cycles;
	const int r = nvw_parse_time(text, &value, &cycles);

	if (r < 0) {
		return r;
	}
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
		return parse_word(text, words_of(type), p->field);
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
		return words_of(type)[value];
	}
}
