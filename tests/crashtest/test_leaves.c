/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a run of the machine can leave, its model permits: random small programs without races run under every
 * protocol and persistency model, with NVRAM that writes words or lines at once, and every state of observed
 * mode is looked for among those of permitted mode.
 *
 * Work-groups store to bytes that are theirs for a round, change them by atomics, or meet persist barriers;
 * then all of them synchronize by release and acquire, and the bytes get other owners. L1s of few lines write
 * back early.
 */
#include "common/rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <crashtest/crash.h>
#include <crashtest/states/states.h>
#include <nvw/host.h>
#include <nvw/kernel.h>
#include <nvw/random.h>

#include "protocol/protocol.h"

enum {
	GROUPS = 3,
	ROUNDS = 3,
	OPERATIONS = 10,
	WORDS = 3,
	SEEDS = 4,
	STATES_MAX = 1 << 17,
	KEYS_MAX = 1 << 21
};

/* ---- Programs ------------------------------------------------------------------------------ */

enum kind { STORE, ADD, BARRIER, LOAD, KINDS };

struct operation {
	enum kind kind;
	unsigned round, group, at, bytes;
	uint64_t value;
};

struct program {
	struct operation operation[OPERATIONS];
	char *data;
	uint64_t *arrived, *other; /* not in NVRAM */
};

/* Two words of a line, and one of another. */
static unsigned place(unsigned byte)
{
	return byte < 16 ? 8 + byte : 64 + byte - 16;
}

/* Bytes of an operation are the part of a word that belongs to a group in its round. */
static void make_program(uint64_t seed, struct program *p)
{
	struct nvw_random r = {seed};
	unsigned part[ROUNDS][WORDS];

	NVW_FOR(i, ROUNDS * WORDS) {
		part[i / WORDS][i % WORDS] = 1u << nvw_random_below(&r, 4);
	}
	NVW_FOR(i, OPERATIONS) {
		struct operation *const o = &p->operation[i];
		const unsigned byte = (unsigned)nvw_random_below(&r, 8 * WORDS);

		o->kind = (enum kind)(nvw_random_below(&r, 2) ? STORE : nvw_random_below(&r, KINDS));
		o->round = i * ROUNDS / OPERATIONS;
		o->bytes = part[o->round][byte / 8];
		o->at = byte / o->bytes * o->bytes;
		o->group = (unsigned)(nvw_mix64(seed ^ nvw_mix64(64 * o->round + o->at)) % GROUPS);
		o->value = nvw_random_u64(&r);
	}
}

#define CARRY_OUT(type)                                                                   \
	do {                                                                              \
		type *const at = (type *)(void *)(p->data + place(o->at));                \
		if (o->kind == ADD) {                                                     \
			nvw_atomic_add(at, (type)o->value, NVW_RELAXED, NVW_SCOPE_AGENT); \
		} else if (o->kind == LOAD) {                                             \
			(void)nvw_load(at);                                               \
		} else {                                                                  \
			nvw_store(at, (type)o->value);                                    \
		}                                                                         \
	} while (0)

/* Atomics are of 4 or 8 bytes. */
static void carry_out(const struct program *p, const struct operation *o)
{
	if (o->kind == BARRIER) {
		nvw_p_barrier_wi();
	} else if (o->bytes == 8) {
		CARRY_OUT(uint64_t);
	} else if (o->bytes == 4) {
		CARRY_OUT(uint32_t);
	} else if (o->bytes == 2) {
		nvw_store((uint16_t *)(void *)(p->data + place(o->at)), (uint16_t)o->value);
	} else {
		nvw_store((uint8_t *)(p->data + place(o->at)), (uint8_t)o->value);
	}
	(void)nvw_load(&p->other[8 * (o->value % 4)]);
}

static void run_program(const void *args)
{
	const struct program *const p = *(const struct program *const *)args;

	for (unsigned round = 0; round < ROUNDS; round++) {
		NVW_EACH(operation, p->operation, OPERATIONS) {
			if (operation->round == round && operation->group == nvw_group_id()) {
				carry_out(p, operation);
			}
		}
		nvw_atomic_add(p->arrived, 1, NVW_RELEASE, NVW_SCOPE_AGENT);
		while (nvw_atomic_load(p->arrived, NVW_ACQUIRE, NVW_SCOPE_AGENT) < (round + 1) * GROUPS) {
		}
	}
}

/* ---- States -------------------------------------------------------------------------------- */

struct keys {
	uint64_t *key, count;
};

/* False: there are too many. */
static bool add_instant(struct ct_medium *m, struct keys *keys)
{
	struct ct_walk walk = {0};
	unsigned *const levels = calloc(m->cell_count + 1, sizeof *levels);
	struct ct_count n;

	assert_non_null(levels);
	assert_ok(ct_states_count(m, &n));
	const uint64_t numbers = n.fresh == CT_COUNT_MANY ? UINT64_MAX : ct_states_numbers(m);
	const bool has_room = numbers <= STATES_MAX && keys->count + numbers <= KEYS_MAX;

	for (uint64_t i = 0; has_room && i < numbers; i++) {
		if (ct_states_by_number(m, &walk, i, levels)) {
			ct_medium_apply(m, levels);
			keys->key[keys->count++] = ct_medium_key(m);
			ct_medium_undo(m);
		}
	}
	ct_walk_end(&walk);
	free(levels);
	return has_room;
}

/* Lists the states of all instants, in order. */
static bool list_states(
	int log_fd, const void *initial, uint64_t bytes, const struct ct_rules *rules, struct keys *keys)
{
	struct ct_medium m;
	bool all = true;

	keys->count = 0;
	rig_ok(ct_medium_create(log_fd, initial, bytes, 0, rules, &m));
	while (all && ct_medium_next(&m) == 1) {
		all = add_instant(&m, keys);
	}
	ct_medium_destroy(&m);
	qsort(keys->key, keys->count, sizeof *keys->key, by_number);
	return all;
}

static bool has(const struct keys *keys, uint64_t key)
{
	return bsearch(&key, keys->key, keys->count, sizeof key, by_number) != NULL;
}

/* ---- Runs ---------------------------------------------------------------------------------- */

static struct keys observed, permitted;

struct sum {
	uint64_t runs, left_out, states;
};

static void *copy_of(const struct nvw_pool *pool)
{
	const uint64_t bytes = nvw_pool_geometry(pool)->bytes;
	uint64_t *const copy = malloc(bytes);

	assert_non_null(copy);
	NVW_FOR(i, bytes / 8) {
		copy[i] = nvw_pool_word(pool, 8 * i);
	}
	return copy;
}

static void compare(const char *log, const void *initial, uint64_t bytes, enum ct_model model, unsigned unit,
	const char *what, struct sum *sum)
{
	const struct ct_rules as_run = {.model = CT_MODEL_OBSERVED, .unit_bytes = unit};
	const struct ct_rules as_model = {.model = model, .unit_bytes = unit};
	FILE *const file = fopen(log, "r");

	assert_non_null(file);
	if (list_states(fileno(file), initial, bytes, &as_run, &observed) &&
		list_states(fileno(file), initial, bytes, &as_model, &permitted)) {
		NVW_EACH(key, observed.key, observed.count) {
			if (!has(&permitted, *key)) {
				fail_msg("%s: the run leaves a state that is not permitted", what);
			}
		}
		sum->states += observed.count;
	} else {
		sum->left_out++;
	}
	sum->runs++;
	fclose(file);
}

static void compare_run(
	const char *protocol, enum ct_model model, unsigned unit, uint64_t seed, struct sum *sum)
{
	const char *const name = ct_model_info(model)->name;
	struct program program, *const args = &program;
	struct rig rig;
	void *initial;

	make_program(seed, &program);
	rig_begin_logged_set(&rig, seed, formatted("protocol=%s", protocol),
		formatted("persist.model=%s", name), formatted("nvram.atomicity=%uB", unit), "l1.size=128B",
		"l1.ways=1");
	program.data = rig.nvram;
	program.arrived = nvw_alloc(rig.machine, 64);
	program.other = nvw_alloc(rig.machine, 4 * 64);
	initial = copy_of(rig.pool);
	rig_launch(&rig, run_program, &args, GROUPS, 1);
	const uint64_t bytes = nvw_pool_geometry(rig.pool)->bytes;

	rig_end(&rig);
	compare(rig.log_path, initial, bytes, model, unit,
		formatted("%s, %s, units of %u bytes, seed %llu", protocol, name, unit,
			(unsigned long long)seed),
		sum);
	unlink(rig.log_path);
	free(initial);
}

static unsigned seeds(void)
{
	const char *const given = getenv("LEAVES_SEEDS");

	return given != NULL ? (unsigned)strtoul(given, NULL, 10) : SEEDS;
}

TEST(what_a_run_without_races_leaves_its_model_permits)
{
	static const enum ct_model models[] = {CT_MODEL_STRICT, CT_MODEL_EPOCH, CT_MODEL_BUFFERED};
	struct sum sum = {0};

	observed.key = malloc(KEYS_MAX * sizeof *observed.key);
	permitted.key = malloc(KEYS_MAX * sizeof *permitted.key);
	assert_true(observed.key != NULL && permitted.key != NULL);
	for (unsigned i = 0; coh_protocols[i]; i++) {
		NVW_FOR(k, 6 * seeds()) {
			compare_run(coh_protocols[i]->name, models[k % 3], k / 3 % 2 ? 64 : 8,
				1000 * i + k / 6 + 1, &sum);
		}
	}
	print_message("# %llu runs and %llu left out, %llu states\n", (unsigned long long)sum.runs,
		(unsigned long long)sum.left_out, (unsigned long long)sum.states);
	assert_true(sum.left_out <= sum.runs / 20);
	free(observed.key);
	free(permitted.key);
}
