/* SPDX-License-Identifier: BSD-3-Clause */
/* Key sources (keys.h): a table of generators; any other name is a file. */
#include "keys.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "keyfile.h"
#include "zipf.h"

static void fill_uniform(const struct keys_source *s, uint64_t count, uint64_t *keys)
{
	struct nvw_random random = {s->seed};

	NVW_FOR(i, count) {
		keys[i] = s->records == 0 ? nvw_random_u64(&random) :
					    keys_of_record(nvw_random_below(&random, s->records));
	}
}

static void fill_sequential(const struct keys_source *s, uint64_t count, uint64_t *keys)
{
	NVW_FOR(i, count) {
		keys[i] = i;
	}
}

static void fill_zipfian(const struct keys_source *s, uint64_t count, uint64_t *keys)
{
	const uint64_t records = s->records == 0 ? count : s->records;
	struct nvw_random random = {s->seed};
	struct zipf z;

	assert(records > 0);
	zipf_init(&z, ZIPF_YCSB_ITEMS, ZIPF_YCSB_THETA);
	NVW_FOR(i, count) {
		keys[i] = keys_of_record(zipf_scrambled(&z, records, &random));
	}
}

static const struct generator {
	const char *name;
	void (*fill)(const struct keys_source *s, uint64_t count, uint64_t *keys);
} generators[] = {
	{"uniform", fill_uniform},
	{"sequential", fill_sequential},
	{"zipfian", fill_zipfian},
};

static const struct generator *find_generator(const char *name)
{
	NVW_FOR(i, sizeof(generators) / sizeof(*generators)) {
		if (strcmp(name, generators[i].name) == 0) {
			return &generators[i];
		}
	}
	return NULL;
}

bool keys_is_file(const char *source)
{
	return !find_generator(source);
}

static int make_generated(const struct generator *g, const struct keys_source *s, uint64_t count,
	uint64_t **ret_keys, uint64_t *ret_count)
{
	NVW_FAIL_IF(count == 0, NVW_E_USAGE, "keys: \"%s\" needs a number of keys", s->source);

	uint64_t *const keys = count > SIZE_MAX / sizeof(*keys) ? NULL : malloc(count * sizeof(*keys));

	NVW_ALLOCATED(keys, "no memory for %" PRIu64 " keys", count);
	g->fill(s, count, keys);
	*ret_keys = keys;
	*ret_count = count;
	return 0;
}

/* If there is no such file, it is probably a misspelt generator. */
static bool is_plain_word(const char *source)
{
	return !strchr(source, '/') && !strchr(source, ':') && access(source, F_OK) != 0;
}

static int make_from_file(
	const struct keys_source *s, uint64_t count, uint64_t **ret_keys, uint64_t *ret_count)
{
	uint64_t *keys, found;

	NVW_FAIL_IF(is_plain_word(s->source), NVW_E_INPUT,
		"keys: expected uniform, sequential, zipfian or a file, found \"%s\"", s->source);

	NVW_TRY(keyfile_read(s->source, s->column, &keys, &found));
	if (count > found) {
		free(keys);
		return nvw_fail(NVW_E_INPUT, "%s: expected %" PRIu64 " keys, found %" PRIu64, s->source,
			count, found);
	}
	*ret_keys = keys;
	*ret_count = count == 0 ? found : count;
	return 0;
}

int keys_make(const struct keys_source *source, uint64_t count, uint64_t **ret_keys, uint64_t *ret_count)
{
	const struct generator *const g = find_generator(source->source);

	if (g) {
		return make_generated(g, source, count, ret_keys, ret_count);
	}
	return make_from_file(source, count, ret_keys, ret_count);
}
