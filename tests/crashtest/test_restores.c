/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which undo log entries can restore a word (crashtest/parts/restores.h), kept up to date along random logs,
 * against every combination of the versions that an entry's words have.
 */
#include "hand_log.h"

#include <string.h>
#include <unistd.h>

#include <crashtest/parts/restores.h>
#include <nvw/random.h>

#include "pool/layout.h"

enum { STREAMS = 2, ENTRIES = 3, WORDS = 3, EPOCHS = 4, VALUES = 3, STEPS = 60, IN_FLIGHT = 12, LOGS = 60 };
enum { ROOM = 20 }; /* what entries name at one instant, at most; places are used again */

static const struct nvw_pool_geometry geometry = {
	.bytes = POOL_BYTES, .est = 4096, .log = 8192, .streams = STREAMS, .log_entries = ENTRIES};

/* ---- Random logs ------------------------------------------------------------------------------------- */

/*
 * A word of an entry, or what a stream has completed; now and then damaged. The last stream lies behind the
 * others, and is none.
 */
static void issue(struct memory_log *run, struct nvw_random *random, uint32_t stream, uint32_t entry,
	unsigned i, const struct nvw__undo *undo, uint64_t epoch)
{
	const nvw_off est = nvw__est_off(&geometry, stream),
		      off = nvw__entry_off(&geometry, stream, entry) + 8 * i;
	const uint64_t damage = (uint64_t)(nvw_random_below(random, 30) == 0) << 63; /* of the seal */

	if (i == NVW__ENTRY_WORDS) {
		const enum nvw__est_state state =
			nvw_random_below(random, 4) ? NVW__EST_COMPLETED : NVW__EST_ROLLED_BACK;

		log_issue(run, est, nvw_seal(est, nvw__est_payload(state, epoch - 1)) ^ damage);
		return;
	}
	log_issue(run, off, nvw_seal(off, nvw__entry_payload(undo, epoch, i)) ^ damage);
}

static int make_log(uint64_t seed)
{
	struct nvw_random random = {nvw_mix64(seed)};
	struct memory_log run = log_begin(8);
	uint64_t done = 0;

	NVW_FOR(step, STEPS) {
		const uint32_t stream = (uint32_t)nvw_random_below(&random, STREAMS + 1),
			       entry = (uint32_t)nvw_random_below(&random, ENTRIES);
		const uint64_t epoch = 1 + nvw_random_below(&random, EPOCHS);
		const struct nvw__undo undo = {.off = line_at((unsigned)nvw_random_below(&random, WORDS)),
			.value = nvw_random_below(&random, VALUES) << 45};
		const bool whole = nvw_random_below(&random, 3) != 0;

		NVW_FOR(i, NVW__ENTRY_WORDS) {
			if (whole || nvw_random_below(&random, 2)) {
				issue(&run, &random, stream, entry, i, &undo, epoch);
			}
		}
		if (nvw_random_below(&random, 4) == 0) {
			issue(&run, &random, stream, entry, NVW__ENTRY_WORDS, &undo, epoch);
		}
		while (run.write > done + nvw_random_below(&random, IN_FLIGHT)) {
			log_done(&run, ++done);
		}
	}
	return log_end(&run);
}

/* ---- The plain way ----------------------------------------------------------------------------------- */

/* What the entries restore at an instant: by word, and by entry. */
struct plain {
	bool names[WORDS][STREAMS * ENTRIES], restores[WORDS][VALUES],
		entry_restores[STREAMS * ENTRIES][VALUES];
	bool one_open[STREAMS * ENTRIES]; /* version of each of its words, and it is sealed */
	uint64_t completed[STREAMS];
};

static uint64_t least_completed(const struct ct_medium *m, uint32_t stream)
{
	const nvw_off off = nvw__est_off(&geometry, stream);
	uint64_t word, payload, least = UINT64_MAX;

	for (unsigned i = 0; ct_medium_version(m, off, i, &word); i++) {
		const bool known =
			nvw_unseal(off, word, &payload) && nvw__est_state(payload) == NVW__EST_COMPLETED;
		const uint64_t epoch = known ? nvw__est_epoch(payload) : 0;

		least = epoch < least ? epoch : least;
	}
	return least;
}

/* One combination: version[i] of word i. The first two words name the word, if they are of one open epoch. */
static void note(const struct ct_medium *m, uint32_t entry, const unsigned *version, uint64_t completed,
	struct plain *p)
{
	uint64_t payload[NVW__ENTRY_WORDS] = {0}, first = 0;
	unsigned same = 0;

	for (unsigned i = 0; i < NVW__ENTRY_WORDS && same == i; i++) {
		const nvw_off off = geometry.log + NVW__ENTRY_BYTES * (nvw_off)entry + 8 * i;
		uint64_t word = 0;

		assert_true(ct_medium_version(m, off, version[i], &word));
		first = i ? first : nvw__entry_epoch(word);
		same += first > completed && nvw__entry_epoch(word) == first &&
			nvw_unseal(off, word, &payload[i]);
	}
	const struct nvw__undo undo = nvw__entry_undo(payload);

	if (same >= 2) {
		p->names[undo.off / 64][entry] = true;
	}
	if (same == NVW__ENTRY_WORDS) {
		p->restores[undo.off / 64][undo.value >> 45] = true;
		p->entry_restores[entry][undo.value >> 45] = true;
	}
}

static bool has_one_open(const struct ct_medium *m, uint32_t entry, uint64_t completed)
{
	bool one = true;

	NVW_FOR(i, NVW__ENTRY_WORDS) {
		const nvw_off off = geometry.log + NVW__ENTRY_BYTES * (nvw_off)entry + 8 * i;
		unsigned open = 0, sealed = 0;
		uint64_t word, payload;

		for (unsigned v = 0; ct_medium_version(m, off, v, &word); v++) {
			open += nvw__entry_epoch(word) > completed;
			sealed += nvw__entry_epoch(word) > completed && nvw_unseal(off, word, &payload);
		}
		one = one && open == 1 && sealed == 1;
	}
	return one;
}

static void look_plainly(const struct ct_medium *m, struct plain *p)
{
	*p = (struct plain){0};
	NVW_FOR(entry, STREAMS * ENTRIES) {
		const uint64_t completed = least_completed(m, entry / ENTRIES);
		unsigned version[NVW__ENTRY_WORDS] = {0}, i = 0;

		p->completed[entry / ENTRIES] = completed;
		p->one_open[entry] = has_one_open(m, entry, completed);
		/*
		 * All combinations: the first word that has a further version takes it, and those before it
		 * begin again.
		 */
		while (i < NVW__ENTRY_WORDS) {
			uint64_t word;

			note(m, entry, version, completed, p);
			for (i = 0; i < NVW__ENTRY_WORDS; i++) {
				const nvw_off off = geometry.log + NVW__ENTRY_BYTES * (nvw_off)entry + 8 * i;

				if (ct_medium_version(m, off, version[i] + 1, &word)) {
					version[i]++;
					break;
				}
				version[i] = 0;
			}
		}
	}
}

/* ---- Compared ---------------------------------------------------------------------------------------- */

/* Each entry once, and the last stream's oldest entry first. */
static void compare_entries(const struct ct_restores *r, const struct plain *p, unsigned word)
{
	uint32_t expected[STREAMS * ENTRIES], found[STREAMS * ENTRIES + 1], few[3];
	unsigned count = 0;

	for (uint32_t stream = STREAMS; stream-- > 0;) {
		NVW_FOR(i, ENTRIES) {
			if (p->names[word][stream * ENTRIES + i]) {
				expected[count++] = stream * ENTRIES + i;
			}
		}
	}
	assert_int_equal(ct_restores_of(r, line_at(word), found, STREAMS * ENTRIES + 1), count);
	assert_memory_equal(found, expected, count * sizeof *found);
	few[2] = UINT32_MAX;
	assert_int_equal(ct_restores_of(r, line_at(word), few, 2), count);
	assert_memory_equal(few, expected, (count < 2 ? count : 2) * sizeof *few);
	assert_int_equal(few[2], UINT32_MAX);
}

static void compare_values(const struct ct_restores *r, const struct plain *p, unsigned word)
{
	uint64_t found[VALUES], few[2] = {0, UINT64_MAX};
	unsigned count = 0;

	NVW_FOR(v, VALUES) {
		count += p->restores[word][v];
	}
	assert_int_equal(ct_restores_values(r, line_at(word), found, VALUES), count);
	NVW_FOR(i, count) {
		assert_true(p->restores[word][found[i] >> 45]);
		NVW_EACH(one, found, i) {
			assert_int_not_equal(found[i], *one);
		}
	}
	assert_true(ct_restores_values(r, line_at(word), few, 1) >= (count > 1 ? 2 : count));
	assert_int_equal(few[1], UINT64_MAX);
}

/* True if the entry can restore one value alone, which then is right. */
static bool compare_one_value(const struct ct_restores *r, const struct plain *p, uint32_t entry)
{
	uint64_t value = 0;

	assert_int_equal(ct_restores_one_value(r, entry, &value), p->one_open[entry]);
	if (!p->one_open[entry]) {
		return false;
	}
	for (unsigned v = 0; v < VALUES; v++) {
		assert_true(!p->entry_restores[entry][v] || v == value >> 45);
	}
	return true;
}

static int note_word(void *context, nvw_off off)
{
	((bool *)context)[off / 64] = true;
	return 0;
}

static bool has_fallen(const struct plain *before, const struct plain *now)
{
	return NVW_ANY_BELOW(i, STREAMS, now->completed[i] < before->completed[i]);
}

/* Whoever relied on what entries did with a word is told when that changes. */
static void assert_told(const struct plain *before, const struct plain *now, const bool *told)
{
	NVW_FOR(word, WORDS) {
		const bool same =
			!memcmp(before->names[word], now->names[word], sizeof now->names[word]) &&
			!memcmp(before->restores[word], now->restores[word], sizeof now->restores[word]);

		assert_true(same || told[word]);
	}
}

static unsigned follow(uint64_t seed)
{
	static const uint8_t zeroes[POOL_BYTES];
	const struct ct_rules rules = {.model = CT_MODEL_OBSERVED};
	const int fd = make_log(seed);
	struct ct_restores r;
	struct ct_medium m;
	struct plain before, now;
	unsigned single = 0;
	bool fell = false;

	assert_ok(ct_medium_create(fd, zeroes, POOL_BYTES, 0, &rules, &m));
	m.notes_changes = true;
	assert_ok(ct_restores_create(&m, &geometry, &r));
	look_plainly(&m, &before);
	while (ct_medium_next(&m) == 1) {
		bool told[WORDS] = {false};
		const struct ct_restores_told tell = {
			.named = note_word, .settled = note_word, .context = told};

		NVW_FOR(i, m.changed_words.count) {
			assert_ok(ct_restores_changed(
				&r, ((const nvw_off *)m.changed_words.at)[i], &tell, &fell));
		}
		m.changed_words.count = 0;
		look_plainly(&m, &now);
		NVW_FOR(word, WORDS) {
			compare_entries(&r, &now, word);
			compare_values(&r, &now, word);
		}
		NVW_FOR(entry, STREAMS * ENTRIES) {
			single += compare_one_value(&r, &now, entry);
		}
		assert_int_equal(fell, has_fallen(&before, &now));
		if (!fell) {
			assert_told(&before, &now, told);
		}
		before = now;
		fell = false;
	}
	assert_in_range(r.words.rows.count, 1, ROOM);
	ct_restores_free(&r);
	ct_medium_destroy(&m);
	close(fd);
	return single;
}

TEST(entries_restore_what_any_of_their_versions_restores)
{
	unsigned single = 0;

	for (uint64_t seed = 1; seed <= LOGS; seed++) {
		single += follow(seed);
	}
	assert_true(single > 0);
}
