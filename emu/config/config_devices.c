/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The memory devices of a machine's description.
 *
 * Every machine has dram and nvram, and nvram2 where nvram2.holds says so. Further devices are sections
 * [device NAME], whose first key is kind. They are kept in the order of the file. device.def has the keys of
 * all.
 */
#include "config_devices.h"
#include "core/each.h"
#include "core/invariant.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The devices that have a key (device.def): a bit for each device of every machine, then for those of
 * sections [device NAME] by their kind. */
enum {
	first = 1 << EMU_NVRAM,
	second = 1 << EMU_NVRAM2,
	named = 3 << EMU_DEVICES_NAMED,
	dram = 1 << EMU_DRAM | 1 << (EMU_DEVICES_NAMED + EMU_KIND_dram),
	nvram = first | second | 1 << (EMU_DEVICES_NAMED + EMU_KIND_nvram),
	all = dram | nvram,
	needed = all | 1 << 8,
	extra = all | 1 << 9,
};

struct device_key {
	const char *name, *full[EMU_DEVICES_NAMED + 1]; /* "dram.name" ... "device.name" */
	enum config_type type;
	size_t offset;
	unsigned of;
	const char *value[2]; /* the defaults by enum emu_kind */
	const char *meaning;
};

static const struct device_key keys[] = {
#define DEVICE_KEY(key, type, field, of, dram, nvram, meaning)                      \
	{#key, {"dram." #key, "nvram." #key, "nvram2." #key, "device." #key}, type, \
		offsetof(struct emu_device_config, field), of, {dram, nvram}, meaning},
#include "device.def"
#undef DEVICE_KEY
};

enum { KEYS = NVW_COUNT(keys), KIND = 0 };
_Static_assert((int)KEYS <= (int)CONFIG_DEVICE_KEYS_MAX, "as many keys as a device may have");

static struct config_place place_of(
	struct emu_config *c, struct emu_device_config *d, const struct device_key *key)
{
	return (struct config_place){.field = (uint64_t *)(void *)((char *)d + key->offset),
		.in_cycles = &d->in_cycles,
		.bit = UINT64_C(1) << (key - keys),
		.clock = c->clock};
}

static bool is_named(unsigned device)
{
	return device >= EMU_DEVICES_NAMED;
}

/* Whether the device's section may have the key. */
static bool has_key(const struct emu_config *c, unsigned device, const struct device_key *key)
{
	NVW_INVARIANT(device < NVW_COUNT(c->device));
	if (is_named(device)) {
		return key->of >> (EMU_DEVICES_NAMED + c->device[device].kind) & 1;
	}
	return key->of >> device & 1;
}

/* The device is one that every machine has. */
static enum emu_kind kind_of(unsigned device)
{
	if (device == EMU_DRAM) {
		return EMU_KIND_dram;
	}
	return EMU_KIND_nvram;
}

static void default_energies(struct emu_device_config *d)
{
	enum { OF_read, OF_write };
	static const uint64_t energies[][2] = {
#define ENERGY(component, counted, femtojoules, source)
#define DEVICE_ENERGY(kind, operation, femtojoules, source) [EMU_KIND_##kind][OF_##operation] = femtojoules,
#include "../observe/energy.def"
#undef ENERGY
#undef DEVICE_ENERGY
	};

	d->read_energy = energies[d->kind][OF_read];
	d->write_energy = energies[d->kind][OF_write];
}

/* The energies, too, which follow from the kind. */
static int default_values(struct emu_config *c, struct emu_device_config *d)
{
	default_energies(d);
	for (unsigned i = KIND + 1; i < KEYS; i++) {
		const struct config_place place = place_of(c, d, &keys[i]);
		const char *const value = keys[i].value[d->kind];

		if (keys[i].type != ENERGY) {
			NVW_TRY(config_value_set(&place, keys[i].type, value));
		}
	}
	return 0;
}

void config_devices_default(struct emu_config *c)
{
	static const char *const names[EMU_DEVICES_NAMED] = {"dram", "nvram", "nvram2"};

	c->device_count = EMU_DEVICES_NAMED;
	NVW_FOR(i, EMU_DEVICES_NAMED) {
		struct emu_device_config *const d = &c->device[i];

		snprintf(d->name, sizeof d->name, "%s", names[i]);
		d->kind = kind_of(i);
		if (default_values(c, d) < 0) {
			fprintf(stderr, "emu/config/device.def: %s\n", nvw_error_message());
			abort();
		}
	}
}

/* ---- Names --------------------------------------------------------------------------------- */

static int index_of(const struct emu_config *c, const char *name)
{
	NVW_FOR(i, c->device_count) {
		if (!strcmp(c->device[i].name, name)) {
			return (int)i;
		}
	}
	return -1;
}

bool emu_config_has_device(const struct emu_config *c, unsigned device)
{
	return device < c->device_count && (device != EMU_NVRAM2 || c->nvram2.holds != EMU_PART_none);
}

static const char *nearest_device(const struct emu_config *c, const char *name)
{
	const char *names[EMU_DEVICES_MAX + 1];
	unsigned n = 0;

	NVW_FOR(i, c->device_count) {
		if (emu_config_has_device(c, i)) {
			names[n++] = c->device[i].name;
		}
	}
	names[n] = NULL;
	return nvw_nearest(name, names);
}

int emu_config_device(const struct emu_config *c, const char *name)
{
	int device = EMU_NVRAM;
	const char *near;

	if (*name) {
		device = index_of(c, name);
	}
	if (device >= 0 && emu_config_has_device(c, (unsigned)device)) {
		return device;
	}
	near = nearest_device(c, name);
	if (near) {
		nvw_fail(NVW_E_CONFIG, "the machine %s has no device %s; did you mean %s?", c->name, name,
			near);
	} else {
		nvw_fail(NVW_E_CONFIG,
			"the machine %s has no device %s (docs/machine-files.md, \"Memory devices\")",
			c->name, name);
	}
	return -1;
}

static bool is_of_every_machine(int device)
{
	return device >= 0 && !is_named((unsigned)device);
}

static int check_name(const struct emu_config *c, const char *name, bool (*is_section)(const char *name))
{
	const size_t n = strlen(name), good = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-_");

	NVW_FAIL_IF(n == 0 || n >= NVW_DEVICE_NAME_BYTES || good != n || name[0] < 'a' || name[0] > 'z',
		NVW_E_USAGE,
		"a device's name has 1 to %d lower-case letters, digits, '-' and '_', a letter first",
		NVW_DEVICE_NAME_BYTES - 1);
	NVW_FAIL_IF(is_section(name) || is_of_every_machine(index_of(c, name)), NVW_E_USAGE,
		"%s is a section of every machine; choose another name", name);
	return 0;
}

/* ---- One key ------------------------------------------------------------------------------- */

static int create(
	struct emu_config *c, const char *name, const char *kind, bool (*is_section)(const char *name))
{
	struct emu_device_config d = {0};
	const struct config_place place = place_of(c, &d, &keys[KIND]);

	NVW_TRY(check_name(c, name, is_section));
	NVW_FAIL_IF(c->device_count == EMU_DEVICES_MAX, NVW_E_USAGE,
		"a machine has at most %d devices with sections of their own",
		EMU_DEVICES_MAX - EMU_DEVICES_NAMED);
	NVW_TRY(config_value_set(&place, keys[KIND].type, kind));
	NVW_TRY(default_values(c, &d));
	memcpy(d.name, name, strlen(name)); /* checked */
	d.given = UINT64_C(1) << KIND;
	c->device[c->device_count++] = d;
	return 0;
}

static const struct device_key *find(const char *name)
{
	return NVW_FIND(key, keys, KEYS, !strcmp(key->name, name));
}

static int unknown_key(const struct emu_config *c, unsigned device, const char *name)
{
	NVW_INVARIANT(device < NVW_COUNT(c->device));

	const char *names[KEYS + 1], *near;
	unsigned n = 0;

	NVW_FAIL_IF(find(name), NVW_E_USAGE, "a device of kind %s has no such key",
		config_words(ENUM_kind)[c->device[device].kind]);
	NVW_EACH(key, keys, KEYS) {
		if (has_key(c, device, key)) {
			names[n++] = key->name;
		}
	}
	names[n] = NULL;
	near = nvw_nearest(name, names);
	NVW_FAIL_IF(near, NVW_E_USAGE, "not a key of a device; did you mean %s?", near);
	return nvw_fail(NVW_E_USAGE, "not a key of a device");
}

static int set_key(struct emu_config *c, unsigned device, const char *name, const char *text)
{
	NVW_INVARIANT(device < NVW_COUNT(c->device));

	struct emu_device_config *const d = &c->device[device];
	const struct device_key *const key = find(name);

	if (!key || !has_key(c, device, key)) {
		return unknown_key(c, device, name);
	}
	NVW_FAIL_IF(key == &keys[KIND], NVW_E_USAGE, "there is a device %s already", d->name);

	const struct config_place place = place_of(c, d, key);

	if (is_named(device) || key->of == extra) {
		d->given |= place.bit;
	}
	return config_value_set(&place, key->type, text);
}

/* A key of a section [device NAME] that has not begun with kind. */
static int no_such_device(const struct emu_config *c, const char *name)
{
	const char *const near = nearest_device(c, name);

	NVW_FAIL_IF(near, NVW_E_USAGE, "there is no device %s; did you mean %s?", name, near);
	return nvw_fail(NVW_E_USAGE,
		"there is no device %s: a section with kind = dram or kind = nvram creates it", name);
}

int config_devices_set(struct emu_config *c, const char *full, const char *text,
	bool (*is_section)(const char *name), bool *ret_found)
{
	static const char prefix[] = "device ";
	const bool declares = !strncmp(full, prefix, sizeof prefix - 1);
	const char *const dot = strrchr(full, '.'), *name = full;
	char device[128];
	int i;

	if (declares) {
		name += sizeof prefix - 1;
		name += strspn(name, " \t");
	}
	*ret_found = dot != NULL;
	if (!dot) {
		return NVW_E_USAGE;
	}
	snprintf(device, sizeof device, "%.*s", (int)(dot - name), name);
	i = index_of(c, device);
	if (declares && i < 0 && !strcmp(dot + 1, keys[KIND].name)) {
		return create(c, device, text, is_section);
	}
	if (declares && is_of_every_machine(i)) {
		return check_name(c, device, is_section);
	}
	if (is_of_every_machine(i) && !(find(dot + 1) && has_key(c, (unsigned)i, find(dot + 1)))) {
		*ret_found = false; /* the caller knows the nearest */
		return NVW_E_USAGE;
	}
	*ret_found = declares || i >= 0;
	if (i < 0) {
		return no_such_device(c, device);
	}
	return set_key(c, (unsigned)i, dot + 1, text);
}

unsigned config_devices_names(
	const struct emu_config *c, char ret_names[CONFIG_DEVICE_NAMES_MAX][CONFIG_DEVICE_KEY_BYTES])
{
	unsigned n = 0;

	NVW_FOR(i, c->device_count) {
		NVW_FOR(k, KEYS) {
			if (has_key(c, i, &keys[k]) && k != KIND) {
				snprintf(ret_names[n++], CONFIG_DEVICE_KEY_BYTES, "%s.%s", c->device[i].name,
					keys[k].name);
			}
		}
	}
	return n;
}

void config_devices_scale(struct emu_config *c, uint64_t new_clock)
{
	NVW_EACH(device, c->device, c->device_count) {
		NVW_EACH(key, keys, KEYS) {
			const struct config_place place = place_of(c, device, key);

			config_value_scale(&place, new_clock);
		}
	}
}

/* ---- Contradictions ------------------------------------------------------------------------ */

int config_device_complete(const struct emu_config *c, unsigned device)
{
	NVW_INVARIANT(device < NVW_COUNT(c->device));

	const struct emu_device_config *const d = &c->device[device];

	for (unsigned k = 0; is_named(device) && k < KEYS; k++) {
		NVW_FAIL_IF(keys[k].of == needed && !(d->given >> k & 1), NVW_E_CONFIG,
			"device %s: the key %s is missing, and it has no default", d->name, keys[k].name);
	}
	return 0;
}

static int check_device(const struct emu_config *c, unsigned device)
{
	NVW_INVARIANT(device < NVW_COUNT(c->device));

	enum { HOPS_MAX = 1000 };
	const struct emu_device_config *const d = &c->device[device];

	NVW_TRY(config_device_complete(c, device));
	NVW_FAIL_IF(!d->channels || d->channels > 1024, NVW_E_CONFIG,
		"%s.channels: expected 1 to 1024, found %" PRIu64, d->name, d->channels);
	NVW_FAIL_IF(
		d->shared == EMU_AUTO, NVW_E_CONFIG, "%s.shared: expected off or on, found auto", d->name);
	NVW_FAIL_IF(!d->bandwidth, NVW_E_CONFIG, "%s.bandwidth: expected more than 0", d->name);
	NVW_FAIL_IF(d->hops > HOPS_MAX, NVW_E_CONFIG, "%s.hops: expected 0 to %d, found %" PRIu64, d->name,
		HOPS_MAX, d->hops);
	NVW_FAIL_IF(d->kind == EMU_KIND_dram && (d->size < 4096 || d->size > UINT64_C(64) << 30),
		NVW_E_CONFIG, "%s.size (bytes): between 4096 and %" PRIu64 ", not %" PRIu64, d->name,
		UINT64_C(64) << 30, d->size);
	NVW_FAIL_IF(d->kind == EMU_KIND_dram && d->size % 64, NVW_E_CONFIG,
		"%s.size: a multiple of 64B, not %" PRIu64 "B", d->name, d->size);
	return 0;
}

static const char *domain_text(const struct emu_config *c, unsigned device)
{
	NVW_INVARIANT(device < NVW_COUNT(c->device));

	return config_words(ENUM_domain)[c->device[device].domain];
}

static bool is_other_nvram(const struct emu_config *c, unsigned device)
{
	NVW_INVARIANT(device < NVW_COUNT(c->device));
	return device != EMU_NVRAM && emu_config_has_device(c, device) &&
	       c->device[device].kind == EMU_KIND_nvram;
}

/* Flushing the caches when the power fails is up to the processor, not to a device. */
static int check_domain(const struct emu_config *c, unsigned device)
{
	NVW_INVARIANT(device < NVW_COUNT(c->device));

	const bool is_inside = c->device[device].domain == EMU_DOMAIN_eadr;

	NVW_FAIL_IF(is_other_nvram(c, device) && is_inside != (c->nvram.domain == EMU_DOMAIN_eadr),
		NVW_E_CONFIG,
		"%s.domain: %s, but nvram.domain is %s: caches are inside the domain (eadr) for all "
		"NVRAM devices or for none",
		c->device[device].name, domain_text(c, device), domain_text(c, EMU_NVRAM));
	return 0;
}

int config_devices_check(const struct emu_config *c)
{
	NVW_FOR(i, c->device_count) {
		NVW_TRY(check_device(c, i));
		NVW_TRY(check_domain(c, i));
	}
	return 0;
}

const char *emu_domain_name(const struct emu_config *c)
{
	static char text[EMU_DEVICES_MAX * (NVW_DEVICE_NAME_BYTES + 16)]; /* until the next call */
	size_t n = (size_t)snprintf(text, sizeof text, "%s", domain_text(c, EMU_NVRAM));

	NVW_FOR(i, c->device_count) {
		if (is_other_nvram(c, i) && c->device[i].domain != c->nvram.domain) {
			n += (size_t)snprintf(
				text + n, sizeof text - n, ", %s %s", c->device[i].name, domain_text(c, i));
		}
	}
	return text;
}

/* ---- Writing ------------------------------------------------------------------------------- */

void config_devices_dump(const struct emu_config *c, FILE *to)
{
	struct emu_config copy = *c;

	NVW_FOR(i, c->device_count) {
		struct emu_device_config *const d = &copy.device[i];

		fprintf(to, "\n[%s%s]\n", is_named(i) ? "device " : "", d->name);
		NVW_FOR(k, KEYS) {
			const bool is_left_out = keys[k].of == extra && !is_named(i) && !(d->given >> k & 1);
			const struct config_place place = place_of(&copy, d, &keys[k]);
			char buffer[NVW_UNIT_TEXT];

			if (has_key(c, i, &keys[k]) && !is_left_out) {
				fprintf(to, "%s = %s\n", keys[k].name,
					config_value_text(&place, keys[k].type, buffer));
			}
		}
	}
}

bool config_devices_key(unsigned i, struct emu_key *ret)
{
	static const unsigned devices[] = {1 << EMU_DRAM, first, second, named};

	for (unsigned d = 0; d <= EMU_DEVICES_NAMED; d++) {
		NVW_EACH(key, keys, KEYS) {
			if (key->of & devices[d] && i-- == 0) {
				const bool is_needed = d == EMU_DEVICES_NAMED && key->of == needed;

				*ret = (struct emu_key){
					.name = key->full[d], .value = "", .meaning = key->meaning};
				if (!is_needed) {
					ret->value = key->value[kind_of(d)];
				}
				return true;
			}
		}
	}
	return false;
}
