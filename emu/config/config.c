/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Machine files: reading, overriding, checking and writing, all from config.def and device.def.
 *
 * A time given in cycles is kept in cycles: when gpu.clock changes later in the file or on the command line,
 * it is rescaled.
 */
#include "config.h"

#include <errno.h>
#include <ini.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <nvw/input.h>

#include "core/each.h"
#include "core/invariant.h"

#include "config_devices.h"
#include "machines.h"

enum { MACHINE_BYTES_MAX = 1 << 20 };

struct key {
	const char *section, *name, *full; /* full: "section.name" */
	enum config_type type;
	size_t offset;
	const char *value; /* the default */
	const char *meaning;
};

static const struct key keys[] = {
#define KEY(section, key, type, field, value, meaning) \
	{#section, #key, #section "." #key, type, offsetof(struct emu_config, field), value, meaning},
#include "config.def"
#undef KEY
};

enum { KEYS = NVW_COUNT(keys), NAMES_MAX = KEYS + CONFIG_DEVICE_NAMES_MAX };
_Static_assert(KEYS <= 128, "emu_config.in_cycles has a bit for each key");

static struct config_place place_of(struct emu_config *c, const struct key *key)
{
	const size_t i = (size_t)(key - keys);
	NVW_INVARIANT(key >= keys && i < KEYS);

	return (struct config_place){.field = (uint64_t *)(void *)((char *)c + key->offset),
		.in_cycles = &c->in_cycles[i / 64],
		.bit = UINT64_C(1) << i % 64,
		.clock = c->clock};
}

/* ---- One key ------------------------------------------------------------------------------- */

static int set_clock(struct emu_config *c, const char *text)
{
	uint64_t clock;

	NVW_TRY(nvw_parse_frequency(text, &clock));
	NVW_FAIL_IF(!clock || clock > UINT64_C(1000000000000), NVW_E_USAGE,
		"\"%s\" is not between 1Hz and 1000GHz", text);
	NVW_EACH(key, keys, KEYS) {
		const struct config_place place = place_of(c, key);

		config_value_scale(&place, clock);
	}
	config_devices_scale(c, clock);
	c->clock = clock;
	return 0;
}

/* emu_create() checks whether a protocol of that name exists. */
static int set_name(struct emu_config *c, const char *text)
{
	NVW_FAIL_IF(!*text || strlen(text) >= sizeof c->protocol, NVW_E_USAGE,
		"\"%s\" is not a name of 1 to %zu bytes", text, sizeof c->protocol - 1);
	snprintf(c->protocol, sizeof c->protocol, "%s", text);
	return 0;
}

static int set(struct emu_config *c, const struct key *key, const char *text)
{
	const struct config_place place = place_of(c, key);

	switch (key->type) {
	case FREQ:
		return set_clock(c, text);
	case NAME:
		return set_name(c, text);
	default:
		return config_value_set(&place, key->type, text);
	}
}

static const struct key *find(const char *full)
{
	return NVW_FIND(key, keys, KEYS, !strcmp(key->full, full));
}

static bool is_section(const char *name)
{
	return NVW_ANY(key, keys, KEYS, !strcmp(key->section, name));
}

static int unknown_key(const struct emu_config *c, const char *full)
{
	char of_devices[CONFIG_DEVICE_NAMES_MAX][CONFIG_DEVICE_KEY_BYTES];
	const char *names[NAMES_MAX + 1], *near;
	const unsigned n = config_devices_names(c, of_devices);
	NVW_INVARIANT(n <= CONFIG_DEVICE_NAMES_MAX);

	/* The first of equally near names is taken. */
	NVW_FOR(i, KEYS) {
		names[i] = keys[i].full;
	}
	NVW_FOR(i, n) {
		names[KEYS + i] = of_devices[i];
	}
	names[KEYS + n] = NULL;
	near = nvw_nearest(full, names);
	NVW_FAIL_IF(near, NVW_E_CONFIG, "%s is not a key of a machine; did you mean %s?", full, near);
	return nvw_fail(NVW_E_CONFIG, "%s is not a key of a machine", full);
}

static int set_by_name(struct emu_config *c, const char *full, const char *text)
{
	const struct key *const key = find(full);
	bool found = true;
	int r;

	if (key) {
		r = set(c, key, text);
	} else {
		r = config_devices_set(c, full, text, is_section, &found);
	}
	if (!found) {
		return unknown_key(c, full);
	}
	NVW_FAIL_IF(r < 0, NVW_E_CONFIG, "%s: %s", full, nvw_error_message());
	return 0;
}

void emu_config_default(struct emu_config *c)
{
	*c = (struct emu_config){.name = "gope18", .protocol = "vi", .clock = 1000000000};
	config_devices_default(c);
	NVW_EACH(key, keys, KEYS) {
		if (set(c, key, key->value) < 0) {
			fprintf(stderr, "emu/config/config.def: %s: %s\n", key->full, nvw_error_message());
			abort();
		}
	}
}

int emu_config_set(struct emu_config *c, const char *assignment)
{
	const char *const equals = strchr(assignment, '=');
	struct emu_config copy = *c;
	char full[64];
	int r;

	NVW_FAIL_IF(!equals || equals == assignment || (size_t)(equals - assignment) >= sizeof full,
		NVW_E_CONFIG, "\"%s\" is not of the form section.key=value", assignment);
	memcpy(full, assignment, (size_t)(equals - assignment));
	full[equals - assignment] = 0;
	r = set_by_name(&copy, full, equals + 1);
	if (r == 0) {
		*c = copy;
	}
	return r;
}

/* ---- Files --------------------------------------------------------------------------------- */

struct reading {
	struct emu_config config;
	char error[512];
	const char *next;           /* remaining text */
	int line;                   /* number of the line handed on last */
	int too_long;               /* the line that is longer than libinih takes, or 0 */
	int room;                   /* for such a line */
	int began[EMU_DEVICES_MAX]; /* the section of each device of this file, or 0 */
};

/* Called by libinih for each key; 0 reports an error in the line. */
static int on_key(void *user, const char *section, const char *name, const char *value)
{
	struct reading *const r = user;
	char full[128];

	snprintf(full, sizeof full, "%s.%s", section, name);
	const unsigned devices = r->config.device_count;

	if (set_by_name(&r->config, full, value) == 0) {
		if (r->config.device_count > devices) {
			NVW_INVARIANT(devices < EMU_DEVICES_MAX);
			r->began[devices] = r->line;
		}
		return 1;
	}
	if (!r->error[0]) {
		snprintf(r->error, sizeof r->error, "%s", nvw_error_message());
	}
	return 0;
}

static const char *shipped(const char *name)
{
	for (unsigned i = 0; emu_shipped_machines[i].name; i++) {
		if (!strcmp(emu_shipped_machines[i].name, name)) {
			return emu_shipped_machines[i].text;
		}
	}
	return NULL;
}

/*
 * Returns the next line to libinih, as fgets() would. libinih treats the rest of a too long line as another
 * line, so a key far to the right in a comment would count. A comment is therefore handed on as an empty
 * line; any other line that is too long is an error.
 */
static char *next_line(char *to, int room, void *stream)
{
	struct reading *const r = stream;
	const size_t blanks = strspn(r->next, " \t"), n = strcspn(r->next, "\n");
	const bool is_comment = r->next[blanks] == ';' || r->next[blanks] == '#';
	NVW_INVARIANT(room > 2);

	if (!*r->next || r->too_long) {
		return NULL;
	}
	r->line++;
	if (!is_comment && n + 2 > (size_t)room) {
		r->too_long = r->line;
		r->room = room - 2;
		return NULL;
	}
	snprintf(to, (size_t)room, "%.*s\n", (int)n * !is_comment, r->next);
	r->next += n + (r->next[n] == '\n');
	return to;
}

/* The text of a shipped machine or of a file; the caller frees *ret_file. */
static int machine_text(const char *name_or_path, const char **ret_text, char **ret_file)
{
	uint64_t bytes;

	*ret_file = NULL;
	*ret_text = shipped(name_or_path);
	if (*ret_text) {
		return 0;
	}
	NVW_TRY(nvw_input_read(name_or_path, MACHINE_BYTES_MAX, ret_file, &bytes));
	*ret_text = *ret_file;
	if (memchr(*ret_file, 0, bytes)) {
		free(*ret_file);
		*ret_file = NULL;
		return nvw_fail(NVW_E_INPUT, "%s: found a 0 byte: the file is not text", name_or_path);
	}
	return 0;
}

static int not_found(const char *name, int error)
{
	const char *const near = nvw_nearest(name, emu_machine_names());

	NVW_FAIL_IF(error != -ENOENT || strchr(name, '/') || strchr(name, '.'), NVW_E_CONFIG,
		"machine file %s", nvw_error_message());
	NVW_FAIL_IF(near, NVW_E_CONFIG, "there is no machine %s; did you mean %s?", name, near);
	return nvw_fail(NVW_E_CONFIG,
		"there is no shipped machine and no file called %s (see nvwave list machines)", name);
}

/* The line of the first device that lacks a key, 0 if none does. */
static int incomplete_device(struct reading *r)
{
	NVW_INVARIANT(r->config.device_count <= EMU_DEVICES_MAX);
	NVW_FOR(i, r->config.device_count) {
		if (r->began[i] && config_device_complete(&r->config, i) < 0) {
			snprintf(r->error, sizeof r->error, "%s", nvw_error_message());
			return r->began[i];
		}
	}
	return 0;
}

/* 0, or the first line with an error. */
static int parse(struct reading *r)
{
	NVW_TRY(ini_parse_stream(next_line, r, on_key, r));
	if (r->too_long) {
		snprintf(r->error, sizeof r->error, "a line has at most %d bytes", r->room);
		return r->too_long;
	}
	return incomplete_device(r);
}

static void take_name(struct emu_config *c, const char *path)
{
	char *dot;

	snprintf(c->name, sizeof c->name, "%s", basename(path));
	dot = strrchr(c->name, '.');
	if (dot && dot != c->name) {
		*dot = 0;
	}
}

int emu_config_load(struct emu_config *config, const char *name_or_path)
{
	struct reading r = {.config = *config};
	char *file;
	int line = machine_text(name_or_path, &r.next, &file);

	if (line) {
		return not_found(name_or_path, line);
	}
	line = parse(&r);
	free(file);
	NVW_FAIL_IF(line, NVW_E_CONFIG, "%s:%d: %s", name_or_path, line,
		r.error[0] ? r.error : "expected [section], key = value or a comment");
	take_name(&r.config, name_or_path);
	*config = r.config;
	return 0;
}

int emu_config_dump(const struct emu_config *config, FILE *to)
{
	struct emu_config copy = *config;
	const char *section = "";

	fprintf(to, "; machine %s\n", config->name);
	NVW_EACH(key, keys, KEYS) {
		const struct config_place place = place_of(&copy, key);
		const char *value = config->protocol;
		char buffer[NVW_UNIT_TEXT];

		if (strcmp(section, key->section)) {
			section = key->section;
			fprintf(to, "\n[%s]\n", section);
		}
		if (key->type != NAME) {
			value = config_value_text(&place, key->type, buffer);
		}
		fprintf(to, "%s = %s\n", key->name, value);
	}
	config_devices_dump(config, to);
	NVW_FAIL_ERRNO_IF(ferror(to), "cannot write the machine file");
	return 0;
}

const char *const *emu_machine_names(void)
{
	static const char *names[64]; /* the same at each call */

	for (unsigned i = 0; i < 63 && emu_shipped_machines[i].name; i++) {
		names[i] = emu_shipped_machines[i].name;
	}
	return names;
}

/* ---- Contradictions ------------------------------------------------------------------------ */

/* Conditions for a machine to exist, each with its message. */
static int check_fifo(const char *cache, const char *name, uint64_t entries)
{
	NVW_FAIL_IF(entries == 0 || entries > 1u << 20, NVW_E_CONFIG,
		"%s.%s: expected a FIFO of 1 to 1048576 entries", cache, name);
	return 0;
}

static int check_cache(const char *name, const struct emu_cache_config *c)
{
	NVW_FAIL_IF(!c->ways || c->size < 64 * c->ways || c->size % (64 * c->ways), NVW_E_CONFIG,
		"%s.size: %" PRIu64 " bytes are not a multiple of one set of %" PRIu64
		" lines of 64 bytes (%s.ways)",
		name, c->size, c->ways, name);
	NVW_FAIL_IF(c->size > UINT64_C(1) << 30, NVW_E_CONFIG, "%s.size: more than 1GiB", name);
	NVW_FAIL_IF(!c->write_ways || c->write_size < 64 * c->write_ways ||
			    c->write_size % (64 * c->write_ways) || c->write_size > UINT64_C(1) << 30,
		NVW_E_CONFIG,
		"%s.write_size: %" PRIu64 " bytes are not between one set of %" PRIu64
		" lines of 64 bytes (%s.write_ways) and 1GiB, and a multiple of it",
		name, c->write_size, c->write_ways, name);
	NVW_FAIL_IF(c->tag > c->latency, NVW_E_CONFIG,
		"%s.tag: the look-up of tags takes no longer than a hit (%s.latency)", name, name);
	NVW_TRY(check_fifo(name, "sfifo", c->sfifo));
	return check_fifo(name, "nvw_fifo", c->nvw_fifo);
}

static int check_range(const char *key, uint64_t value, uint64_t least, uint64_t most)
{
	NVW_INVARIANT(least <= most);
	NVW_FAIL_IF(value < least || value > most, NVW_E_CONFIG,
		"%s: between %" PRIu64 " and %" PRIu64 ", not %" PRIu64, key, least, most, value);
	return 0;
}

/* It has no NVW-FIFO. */
static int check_l3(const struct emu_config *c)
{
	struct emu_cache_config l3 = c->l3;

	l3.nvw_fifo = 1;
	NVW_TRY(check_range("l3.banks", c->l3_banks, 1, 1024));
	if (!l3.size) {
		return 0;
	}
	return check_cache("l3", &l3);
}

static int check_directory(const struct emu_directory_config *c)
{
	NVW_TRY(check_range("directory.lines", c->lines, 0, 1u << 24));
	NVW_TRY(check_range("directory.ways", c->ways, 1, 1u << 20));
	NVW_TRY(check_range("directory.mshrs", c->mshrs, 1, 1u << 20));
	NVW_FAIL_IF(c->lines % c->ways, NVW_E_CONFIG,
		"directory.lines: %" PRIu64 " are not a multiple of directory.ways, %" PRIu64, c->lines,
		c->ways);
	return 0;
}

/* The paper's buffers and MSHRs are "perfect"; these are the largest and an ample one. */
enum { STORES_MAX = 4096, LOADS_OF_RMO = 16 };

struct emu_config emu_config_consistent(const struct emu_config *config)
{
	static const struct {
		bool has_buffer;
		uint64_t order, loads, in_flight;
	} models[] = {
		[EMU_CONSISTENCY_sc_simple] = {false, EMU_STORES_fifo, EMU_LOADS_wait, 0},
		[EMU_CONSISTENCY_sc_wb] = {true, EMU_STORES_fifo, EMU_LOADS_wait, 0},
		[EMU_CONSISTENCY_tso] = {true, EMU_STORES_fifo, EMU_LOADS_pass, 0},
		[EMU_CONSISTENCY_rmo] = {true, EMU_STORES_unordered, EMU_LOADS_pass, LOADS_OF_RMO},
	};
	const uint64_t model = config->consistency;
	struct emu_config c = *config;
	NVW_INVARIANT(model < NVW_COUNT(models));

	if (model == EMU_CONSISTENCY_none) {
		return c;
	}
	if (!models[model].has_buffer) {
		c.store_buffer.entries = 0;
	} else if (!c.store_buffer.entries) {
		c.store_buffer.entries = STORES_MAX;
	}
	c.store_buffer.order = models[model].order;
	c.store_buffer.loads = models[model].loads;
	if (!c.loads || !models[model].in_flight) {
		c.loads = models[model].in_flight;
	}
	return c;
}

static int check_store_buffer(const struct emu_config *config)
{
	const struct emu_config c = emu_config_consistent(config);
	static const char *const keys_of[] = {"store_buffer.entries", "gpu.consistency"};

	NVW_TRY(check_range(keys_of[0], c.store_buffer.entries, 0, STORES_MAX));
	NVW_FAIL_IF(c.store_buffer.entries && c.model == EMU_MODEL_strict, NVW_E_CONFIG,
		"%s: strict persistency has each store durable before the next one, so its stores "
		"cannot wait in a buffer",
		keys_of[c.consistency != 0]);
	return 0;
}

static int check_stc(const struct emu_stc_config *c)
{
	NVW_TRY(check_range("stc.bits", c->bits, 1, 5));
	NVW_TRY(check_range("stc.seb", c->seb, 6, 32));
	NVW_TRY(check_range("stc.seb_least", c->seb_least, 6, 32));
	NVW_TRY(check_range("stc.at_once", c->at_once, 1, 32));
	NVW_TRY(check_range("stc.wakeup (ps)", c->wakeup, 1, UINT64_C(1000000000)));
	NVW_TRY(check_range("stc.cycle (ps)", c->cycle, 1, UINT64_C(1000000000)));
	NVW_TRY(check_range("stc.bsq", c->bsq, 1, 1u << 20));
	NVW_TRY(check_range("stc.bsq_banks", c->bsq_banks, 1, 64));
	return check_range("stc.bsq_drain", c->bsq_drain, 1, 1024);
}

static int check_tcs(const struct emu_tcs_config *c)
{
	const uint64_t most = UINT64_C(1000000000);

	NVW_TRY(check_range("tcs.most (ps)", c->most, 0, most));
	NVW_TRY(check_range("tcs.least (ps)", c->least, 0, c->most));
	NVW_TRY(check_range("tcs.lease (ps)", c->lease, c->least, c->most));
	NVW_TRY(check_range("tcs.step (ps)", c->step, 0, most));
	return check_range("tcs.mshrs", c->mshrs, 1, 1u << 20);
}

/* A switch that has a third position elsewhere has two here. */
static int check_acquire(const struct emu_config *c)
{
	NVW_FAIL_IF(c->l1_acquire == EMU_AUTO, NVW_E_CONFIG, "l1.acquire: expected off or on, found auto");
	return 0;
}

int emu_config_check(const struct emu_config *c)
{
	NVW_TRY(check_range("gpu.cus", c->cus, 1, 128));
	NVW_TRY(check_range("gpu.wavefronts_per_cu", c->wavefronts_per_cu, 1, 1024));
	NVW_TRY(check_range("gpu.wavefront_width", c->wavefront_width, 1, 64));
	NVW_TRY(check_range("gpu.loads", c->loads, 0, 64));
	NVW_TRY(check_range("l2.banks", c->l2_banks, 1, 1024));
	NVW_TRY(check_range("network.columns", c->columns, 0, 1024));
	NVW_TRY(check_range("network.flit (bytes)", c->flit, 1, 4096));
	NVW_TRY(check_range("persist.buffer", c->buffer, 1, 1u << 20));
	NVW_TRY(check_range("host.stack (bytes)", c->stack, 1024, 1u << 24));
	NVW_TRY(check_cache("l1", &c->l1));
	NVW_TRY(check_acquire(c));
	NVW_TRY(check_cache("l2", &c->l2));
	NVW_TRY(check_l3(c));
	NVW_TRY(check_directory(&c->directory));
	NVW_TRY(check_stc(&c->stc));
	NVW_TRY(check_tcs(&c->tcs));
	NVW_TRY(config_devices_check(c));
	NVW_FAIL_IF(c->nvram.atomicity != 8 && c->nvram.atomicity != 64, NVW_E_CONFIG,
		"nvram.atomicity: 8B or 64B, not %" PRIu64 "B", c->nvram.atomicity);
	NVW_FAIL_IF(c->l2.ways < emu_model_info(c->model)->l2_ways, NVW_E_CONFIG,
		"l2.ways: %s persistency needs at least %" PRIu64 ": an eviction may need a second way",
		emu_model_info(c->model)->name, emu_model_info(c->model)->l2_ways);
	NVW_TRY(check_store_buffer(c));
	NVW_FAIL_IF(c->stack % 64, NVW_E_CONFIG, "host.stack: a multiple of 64B, not %" PRIu64 "B", c->stack);
	return 0;
}

bool emu_config_key(unsigned i, struct emu_key *ret)
{
	if (i >= KEYS) {
		return config_devices_key(i - KEYS, ret);
	}
	*ret = (struct emu_key){.name = keys[i].full, .value = keys[i].value, .meaning = keys[i].meaning};
	return true;
}
