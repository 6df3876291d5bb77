/* SPDX-License-Identifier: BSD-3-Clause */
/* A check in parts. See parts.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <check/check.h>
#include <nvw/random.h>

#include "choices.h"
#include "group.h"
#include "holders.h"
#include "parts.h"
#include "pool/layout.h"
#include "../recovery/through.h"
#include "restores.h"
#include "watch.h"

enum { RESTORES_MAX = 32, KEY_THINGS = 1 << 16 };

/* An image that is made word by word, and the pool handle on it. */
struct made {
	uint64_t *words;
	uint32_t *made_in; /* the evaluation in which the word was made */
	struct nvw_pool *pool;
};

struct ct_parts {
	const struct nvw_workload *workload;
	void *plan;
	struct ct_medium *medium;
	struct nvw_pool_geometry geometry;
	uint64_t bytes;
	struct made before, after; /* recovery */
	struct rec_through through;
	struct ct_choices choices;
	struct ct_restores restores;
	struct ct_holders holders;
	struct ct_watch watch;
	uint32_t evaluation;
	uint64_t seed; /* of noise */
	bool is_wide;  /* this evaluation reads what cannot be looked through */
	int error;
	const unsigned *levels; /* tests: of the state to look at, instead of the choices */
	struct nvw_acks acks;   /* the medium's, which tell what is asked for */
	struct nvw_findings findings;
	uint64_t of_entries, of_streams, of_chunks, of_blocks,
		of_recovery;     /* where the parts of each kind end */
	struct ct_array trouble; /* struct ct_part_trouble */
	struct ct_parts_count count;
};

/* ---- Words before recovery --------------------------------------------------------------------------- */

static uint64_t word_count(const struct ct_parts *p)
{
	return p->bytes / 8;
}

/* Things to look at: words, all acknowledgements, keys by their hash, operations. */
static uint64_t thing_of_key(const struct ct_parts *p, uint64_t key)
{
	return word_count(p) + 1 + nvw_mix64(key) % KEY_THINGS;
}

static uint64_t thing_of_op(const struct ct_parts *p, uint64_t op)
{
	return word_count(p) + 1 + KEY_THINGS + op;
}

static void look(struct ct_parts *p, uint64_t thing)
{
	if (p->levels == NULL && ct_watch_look(&p->watch, thing) != 0) {
		p->error = NVW_E_MEMORY;
	}
}

static uint64_t level_word(const struct ct_medium *m, const unsigned *levels, nvw_off off)
{
	const uint32_t i = m->cell_of[off / m->unit_bytes];
	const struct ct_cell *const c = i ? &m->cell[i - 1] : NULL;

	return c == NULL || levels[i - 1] == 0 ?
		       ct_image_word(&m->image, off) :
		       c->content[(size_t)(levels[i - 1] - 1) * c->words + (off - c->off) / 8];
}

static uint64_t raw_word(struct ct_parts *p, nvw_off off)
{
	look(p, off / 8);
	return p->levels ? level_word(p->medium, p->levels, off) : ct_choices_word(&p->choices, off);
}

static void fetch(struct ct_parts *p, struct made *made, nvw_off off, uint64_t n,
	uint64_t (*word)(struct ct_parts *p, nvw_off off))
{
	for (uint64_t i = off / 8; i < (off + n + 7) / 8 && i < word_count(p); i++) {
		if (made->made_in[i] != p->evaluation) {
			made->words[i] = word(p, 8 * i);
			made->made_in[i] = p->evaluation;
		}
	}
}

static void fetch_before(void *context, nvw_off off, uint64_t n)
{
	struct ct_parts *const p = context;

	fetch(p, &p->before, off, n, raw_word);
}

static uint64_t completed(void *context, uint32_t stream)
{
	const struct ct_parts *const p = context;

	return p->restores.completed[stream];
}

/* ---- Words after recovery ----------------------------------------------------------------------------- */

static bool in(nvw_off off, nvw_off begin, uint64_t bytes)
{
	return off >= begin && off - begin < bytes;
}

/* The part's answer would not be known. */
static uint64_t cannot_tell(struct ct_parts *p, nvw_off off)
{
	p->is_wide = true;
	return raw_word(p, off);
}

/* The word has this content in all states. */
static bool is_always(const struct ct_parts *p, nvw_off off, uint64_t value)
{
	const struct ct_medium *const m = p->medium;
	const uint32_t i = m->cell_of[off / m->unit_bytes];
	const struct ct_cell *const c = i ? &m->cell[i - 1] : NULL;
	bool same = ct_image_word(&m->image, off) == value;

	for (unsigned v = 0; c != NULL && v < c->count && same; v++) {
		same = c->content[(size_t)v * c->words + (off - c->off) / 8] == value;
	}
	return same;
}

/* While an entry is on its way, the word that it protects has not changed yet: restored or not, it is the same. */
static bool is_no_matter(const struct ct_parts *p, nvw_off off, const uint32_t *entries, unsigned count)
{
	uint64_t value;

	for (unsigned i = 0; i < count; i++) {
		if (!ct_restores_one_value(&p->restores, entries[i], &value) || !is_always(p, off, value)) {
			return false;
		}
	}
	return true;
}

/* The word with the old value that the undo log restores. A block word is not restored: no program logs it. */
static uint64_t restored_word(
	struct ct_parts *p, nvw_off off, bool is_block, const uint32_t *entries, unsigned count)
{
	const uint32_t n = p->geometry.log_entries;
	struct rec_entry entry;

	for (unsigned i = 0; i < count; i++) {
		if (rec_through_entry(&p->through, entries[i] / n, entries[i] % n, &entry) == 0 &&
			entry.verdict == REC_RESTORE && entry.undo.off == off) {
			return is_block ? cannot_tell(p, off) : entry.undo.value;
		}
	}
	return raw_word(p, off);
}

static uint64_t recovered_word(struct ct_parts *p, nvw_off off)
{
	const struct nvw_pool_geometry *const g = &p->geometry;
	uint32_t entries[RESTORES_MAX];
	uint64_t word;

	if (in(off, g->est, 8 * (uint64_t)g->streams)) {
		return cannot_tell(p, off);
	}
	if (!in(off, g->roots, 8 * (uint64_t)NVW_POOL_ROOTS) &&
		!in(off, g->chunks, nvw__chunk_off(g, g->chunk_count) - g->chunks)) {
		return raw_word(p, off);
	}
	look(p, off / 8);
	const unsigned count = ct_restores_of(&p->restores, off, entries, RESTORES_MAX);
	const bool is_block = rec_through_is_block_word(&p->through, off);

	if (count > RESTORES_MAX) {
		return cannot_tell(p, off);
	}
	word = !is_block && p->levels == NULL && is_no_matter(p, off, entries, count) ?
		       raw_word(p, off) :
		       restored_word(p, off, is_block, entries, count);
	if (is_block && rec_through_block(&p->through, off, &word) != 0) {
		word = raw_word(p, off); /* recovery refuses the pool: the part of this block word says so */
	}
	return word;
}

static void fetch_after(void *context, nvw_off off, uint64_t n)
{
	struct ct_parts *const p = context;

	fetch(p, &p->after, off, n, recovered_word);
}

/* A word that recovery may change is looked at as a whole. */
static uint64_t ask_after(void *context, nvw_off off, ct_of of, const void *from)
{
	struct ct_parts *const p = context;
	uint32_t entry;

	look(p, off / 8);
	if (p->levels != NULL || !in(off, p->geometry.chunks, p->bytes) ||
		p->after.made_in[off / 8] == p->evaluation ||
		ct_restores_of(&p->restores, off, &entry, 1) > 0 ||
		rec_through_is_block_word(&p->through, off)) {
		return of(from, nvw_pool_word(p->after.pool, off));
	}
	return ct_choices_ask(&p->choices, off, of, from);
}

static unsigned holders_after(void *context, uint64_t key, nvw_off *ret_offs, unsigned max)
{
	struct ct_parts *const p = context;

	if (p->workload->parts->key == NULL || p->restores.at.count > 0) {
		p->is_wide = true; /* an old value that the log restores is not found by its key */
		return 0;
	}
	if (ct_holders_start(&p->holders)) {
		p->error = NVW_E_MEMORY;
		return 0;
	}
	look(p, thing_of_key(p, key));
	const unsigned count = ct_holders_of(&p->holders, key, ret_offs, max);

	p->is_wide = p->is_wide || count > max;
	return count;
}

static void asked(void *context, uint64_t op)
{
	struct ct_parts *const p = context;

	look(p, op == NVW__ACKS_ALL ? word_count(p) : thing_of_op(p, op));
}

/* ---- One part ----------------------------------------------------------------------------------------- */

static int refused(struct ct_parts *p, nvw_off off)
{
	return nvw_violation(&p->findings, off, "recovery refuses the pool: %s", nvw_error_message());
}

/* Of the word at this place of a class chunk. */
static int check_block(struct ct_parts *p, uint64_t number)
{
	const nvw_off off = nvw__chunk_off(&p->geometry, number / nvw__class_blocks[0]) +
			    8 * (number % nvw__class_blocks[0]);
	uint64_t word;

	return rec_through_is_block_word(&p->through, off) &&
			       rec_through_block(&p->through, off, &word) != 0 ?
		       refused(p, off) :
		       0;
}

/* The parts of nvw_recover(), in the order of its metadata. */
static int check_recovery(struct ct_parts *p, uint64_t part)
{
	const struct nvw_pool_geometry *const g = &p->geometry;
	struct rec_entry entry;

	if (part < p->of_entries) {
		return rec_through_entry(&p->through, (uint32_t)(part / g->log_entries),
			       (uint32_t)(part % g->log_entries), &entry) != 0 ?
			       refused(p, g->log + part * NVW__ENTRY_BYTES) :
			       0;
	}
	if (part < p->of_streams) {
		return rec_through_stream(&p->through, (uint32_t)(part - p->of_entries)) != 0 ?
			       refused(p, nvw__est_off(g, (uint32_t)(part - p->of_entries))) :
			       0;
	}
	if (part < p->of_chunks) {
		return rec_through_chunk(&p->through, part - p->of_streams) != 0 ?
			       refused(p, nvw__chunk_word_off(g, part - p->of_streams)) :
			       0;
	}
	if (part < p->of_blocks) {
		return check_block(p, part - p->of_chunks);
	}
	fetch_before(p, 0, NVW__ROOTS_OFF); /* the headers, which no run changes */
	p->is_wide = ct_choices_forks(&p->choices) > 0;
	return 0;
}

static void begin_evaluation(struct ct_parts *p)
{
	p->is_wide = false;
	if (++p->evaluation == 0) {
		memset(p->before.made_in, 0, p->bytes / 2);
		memset(p->after.made_in, 0, p->bytes / 2);
		p->evaluation = 1;
	}
}

/* What was not asked for: noise, or nothing. */
static void make_noise(struct ct_parts *p)
{
	for (uint64_t i = NVW__ROOTS_OFF / 8; p->seed != 0 && i < word_count(p); i++) {
		p->before.words[i] = nvw_mix64(p->seed + i);
		p->after.words[i] = nvw_mix64(p->seed - i);
	}
	p->seed += p->seed != 0;
}

/* True if the part finds nothing. */
static bool evaluate(struct ct_parts *p, uint64_t part)
{
	begin_evaluation(p);
	make_noise(p);
	nvw__findings_clear(&p->findings);
	p->count.evaluations++;
	const int error = part < p->of_recovery ? check_recovery(p, part) :
						  p->workload->parts->check(p->plan, p->after.pool, &p->acks,
							  part - p->of_recovery, &p->findings);

	if (error != 0 && p->findings.count == 0) {
		nvw_violation(&p->findings, 0, "a part of the check gives up: %s", nvw_error_message());
	}
	return p->findings.count == 0;
}

static void note_width(struct ct_parts *p, uint64_t part, unsigned forks)
{
	if (forks > p->count.most_forks) {
		p->count.most_forks = forks;
		p->count.widest = part;
	}
}

/* Texts that differ in numbers alone are one shape. */
uint64_t ct_parts_shape(const struct nvw_findings *findings, unsigned i)
{
	char shape[CT_TEXT_BYTES];
	uint64_t hash = 0;

	ct_shape(i < findings->kept ? findings->finding[i].text : "", shape);
	for (const char *c = shape; *c != '\0'; c++) {
		hash = nvw_mix64(hash + (unsigned char)*c);
	}
	return hash;
}

static struct ct_part_trouble try_part(struct ct_parts *p, uint64_t part)
{
	struct ct_part_trouble t = {.part = part, .verdict = CT_PART_PASSES};

	ct_watch_try(&p->watch, (uint32_t)part);
	p->count.tries++;
	ct_choices_begin(&p->choices, p->medium);
	do {
		const bool passes = evaluate(p, part);
		const unsigned forks = ct_choices_forks(&p->choices);

		t.forks = forks > t.forks ? forks : t.forks;
		if (p->is_wide || p->choices.too_many || t.evaluation == CT_PART_EVALUATIONS) {
			t.verdict = CT_PART_WIDE;
		} else if (!passes) {
			t.verdict = CT_PART_FAILS;
			t.shape = ct_parts_shape(&p->findings, 0);
		} else {
			t.evaluation++;
		}
	} while (t.verdict == CT_PART_PASSES && ct_choices_next(&p->choices));
	note_width(p, part, t.forks);
	return t;
}

/* ---- All parts ---------------------------------------------------------------------------------------- */

static int named(void *context, nvw_off off)
{
	struct ct_parts *const p = context;

	return off < p->bytes ? ct_watch_wake(&p->watch, off / 8) : 0;
}

static int held(void *context, uint64_t key)
{
	struct ct_parts *const p = context;

	return ct_watch_wake(&p->watch, thing_of_key(p, key));
}

static int wake_all(struct ct_parts *p)
{
	int error = 0;

	for (uint64_t i = 0; i < p->count.parts && !error; i++) {
		error = ct_watch_wake_part(&p->watch, (uint32_t)i);
	}
	return error;
}

static int take_words(struct ct_parts *p)
{
	const nvw_off *const word = p->medium->changed_words.at;
	bool fell = false;
	int error = 0;

	for (uint64_t i = 0; i < p->medium->changed_words.count && !error; i++) {
		error = ct_watch_wake(&p->watch, word[i] / 8);
		error = error ? error : ct_holders_changed(&p->holders, word[i], held, p);
		error = error ? error : ct_restores_changed(&p->restores, word[i], named, p, &fell);
	}
	p->medium->changed_words.count = 0;
	return error || !fell ? error : wake_all(p);
}

static int take_acks(struct ct_parts *p)
{
	const struct ct_told *const told = p->medium->changed_acks.at;
	int error = 0;

	for (uint64_t i = 0; i < p->medium->changed_acks.count && !error; i++) {
		error = ct_watch_wake(&p->watch, word_count(p));
		for (uint64_t op = told[i].first; op < told[i].first + told[i].count && !error; op++) {
			error = ct_watch_wake(&p->watch, thing_of_op(p, op));
		}
	}
	p->medium->changed_acks.count = 0;
	return error;
}

static int by_number(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static int by_part(const void *a, const void *b)
{
	const uint64_t x = ((const struct ct_part_trouble *)a)->part,
		       y = ((const struct ct_part_trouble *)b)->part;

	return (x > y) - (x < y);
}

/* Of the parts that are not tried now the answers stay. */
static void forget_trouble(struct ct_parts *p, const uint32_t *tried, uint64_t count)
{
	struct ct_part_trouble *const t = p->trouble.at;
	uint64_t kept = 0;

	for (uint64_t i = 0; i < p->trouble.count && count > 0; i++) {
		const uint32_t part = (uint32_t)t[i].part;

		if (bsearch(&part, tried, count, sizeof part, by_number) == NULL) {
			t[kept++] = t[i];
		}
	}
	p->trouble.count = count > 0 ? kept : p->trouble.count;
}

static int note_trouble(struct ct_parts *p, const struct ct_part_trouble *t)
{
	const int error = ct_array_grow(&p->trouble, p->trouble.count + 1, sizeof *t);

	if (!error) {
		((struct ct_part_trouble *)p->trouble.at)[p->trouble.count++] = *t;
	}
	return error;
}

/* The medium's acknowledgements, which grow in other memory from time to time. */
static void borrow_acks(struct ct_parts *p)
{
	p->acks = p->medium->acks;
	p->acks.asked = asked;
	p->acks.asker = p;
}

int ct_parts_try(struct ct_parts *p, void (*began)(void *context, uint64_t part), void *context)
{
	const uint32_t *tried;
	int error = take_words(p);

	error = error ? error : take_acks(p);
	if (error) {
		return error;
	}
	const uint64_t count = ct_watch_take(&p->watch, &tried);

	borrow_acks(p);
	forget_trouble(p, tried, count);
	for (uint64_t i = 0; i < count && !p->error; i++) {
		if (began != NULL) {
			began(context, tried[i]);
		}
		const struct ct_part_trouble t = try_part(p, tried[i]);

		p->error = t.verdict != CT_PART_PASSES ? note_trouble(p, &t) : p->error;
	}
	if (p->trouble.count > 1) {
		qsort(p->trouble.at, p->trouble.count, sizeof(struct ct_part_trouble), by_part);
	}
	return p->error;
}

uint64_t ct_parts_troubles(const struct ct_parts *p, const struct ct_part_trouble **ret_troubles)
{
	*ret_troubles = p->trouble.at;
	return p->trouble.count;
}

bool ct_parts_remake(struct ct_parts *p, uint64_t part, uint32_t evaluation, struct nvw_findings *findings,
	unsigned *levels)
{
	ct_choices_begin(&p->choices, p->medium);
	borrow_acks(p);
	ct_watch_try(&p->watch, (uint32_t)part);
	for (uint32_t n = 0; n < evaluation; n++) {
		evaluate(p, part);
		if (!ct_choices_next(&p->choices)) {
			return false;
		}
	}
	evaluate(p, part);
	*findings = p->findings;
	ct_choices_state(&p->choices, levels);
	return true;
}

const struct ct_parts_count *ct_parts_count(const struct ct_parts *p)
{
	return &p->count;
}

static void name_of_recovery(const struct ct_parts *p, uint64_t part, char ret_name[CT_PART_NAME])
{
	const unsigned long long n = part;

	if (part < p->of_entries) {
		snprintf(ret_name, CT_PART_NAME, "undo log entry %llu of stream %llu",
			n % p->geometry.log_entries, n / p->geometry.log_entries);
	} else if (part < p->of_streams) {
		snprintf(ret_name, CT_PART_NAME, "stream %llu", n - p->of_entries);
	} else if (part < p->of_chunks) {
		snprintf(ret_name, CT_PART_NAME, "chunk %llu", n - p->of_streams);
	} else if (part < p->of_blocks) {
		snprintf(ret_name, CT_PART_NAME, "block word %llu of chunk %llu",
			(n - p->of_chunks) % nvw__class_blocks[0], (n - p->of_chunks) / nvw__class_blocks[0]);
	} else {
		snprintf(ret_name, CT_PART_NAME, "the header");
	}
}

void ct_parts_name(const struct ct_parts *p, uint64_t part, char ret_name[CT_PART_NAME])
{
	if (part < p->of_recovery) {
		name_of_recovery(p, part, ret_name);
	} else {
		p->workload->parts->name(p->plan, part - p->of_recovery, ret_name, CT_PART_NAME);
	}
}

/* ---- A life ------------------------------------------------------------------------------------------- */

static void *pages(uint64_t bytes)
{
	void *const at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

static int make(struct ct_parts *p, struct made *made, const struct nvw_pool_image *handle)
{
	struct nvw_pool_image image = *handle;

	made->words = pages(p->bytes);
	made->made_in = pages(p->bytes / 2);
	image.image = made->words;
	image.bytes = p->bytes;
	image.context = p;
	if (made->words == NULL || made->made_in == NULL) {
		return nvw_fail(NVW_E_MEMORY, "no memory for a check in parts");
	}
	memcpy(made->words, p->medium->image.rw, NVW__ROOTS_OFF); /* the headers, which no run changes */
	return nvw_pool_open_image(&image, &made->pool);
}

static void unmake(struct ct_parts *p, struct made *made)
{
	nvw_pool_close(made->pool);
	if (made->words != NULL) {
		munmap(made->words, p->bytes);
	}
	if (made->made_in != NULL) {
		munmap(made->made_in, p->bytes / 2);
	}
}

void ct_parts_free(struct ct_parts *p)
{
	if (p == NULL) {
		return;
	}
	p->medium->notes_changes = false;
	unmake(p, &p->before);
	unmake(p, &p->after);
	ct_choices_free(&p->choices);
	ct_restores_free(&p->restores);
	ct_holders_free(&p->holders);
	ct_watch_free(&p->watch);
	free(p->trouble.at);
	free(p);
}

static int number_parts(struct ct_parts *p)
{
	const struct nvw_pool_geometry *const g = &p->geometry;
	const uint64_t of_workload = p->workload->parts->count(p->plan, g);

	p->of_entries = (uint64_t)g->streams * g->log_entries;
	p->of_streams = p->of_entries + g->streams;
	p->of_chunks = p->of_streams + g->chunk_count;
	p->of_blocks = p->of_chunks + (uint64_t)g->chunk_count * nvw__class_blocks[0];
	p->of_recovery = p->of_blocks + 1;
	p->count.parts = p->of_recovery + of_workload;
	if (p->count.parts > UINT32_MAX / 2) {
		return nvw_fail(NVW_E_USAGE, "a check of more than 2^31 parts");
	}
	return ct_watch_create(p->count.parts, word_count(p) + 1 + KEY_THINGS, &p->watch);
}

static int fill_in(struct ct_parts *p)
{
	const struct nvw_pool_image before = {.fetch = fetch_before}, after = {.fetch = fetch_after,
									      .ask = ask_after,
									      .holders = holders_after,
									      .recovered = true};
	/* Opening reads the headers alone. */
	unsigned *const none = calloc(p->medium->cell_count + 1, sizeof *none);
	int error = none ? 0 : nvw_fail(NVW_E_MEMORY, "no memory for a check in parts");

	p->levels = none;
	p->evaluation = 1;
	error = error ? error : make(p, &p->before, &before);
	if (!error) {
		p->geometry = *nvw_pool_geometry(p->before.pool);
		error = make(p, &p->after, &after);
	}
	p->levels = NULL;
	free(none);
	p->through = (struct rec_through){p->before.pool, completed, p};
	error = error ? error : ct_restores_create(p->medium, &p->geometry, &p->restores);
	return error ? error : number_parts(p);
}

static bool can_be_had(const struct nvw_workload *w, const struct ct_medium *m)
{
	return w != NULL && w->parts != NULL && w->further_pools == NULL && m->rules.limits == NULL &&
	       ct_model_info(m->rules.model)->levels != CT_GRAPH &&
	       (ct_model_info(m->rules.model)->of_runs || ct_model_info(m->rules.model)->replays) &&
	       m->image.bytes >= NVW__ROOTS_OFF && m->image.bytes % CT_PAGE == 0;
}

int ct_parts_create(
	const struct nvw_workload *w, void *plan, struct ct_medium *m, struct ct_parts **ret_parts)
{
	*ret_parts = NULL;
	if (!can_be_had(w, m)) {
		return 0;
	}
	struct ct_parts *const p = calloc(1, sizeof *p);

	if (p == NULL) {
		return nvw_fail(NVW_E_MEMORY, "no memory for a check in parts");
	}
	*p = (struct ct_parts){.workload = w, .plan = plan, .medium = m, .bytes = m->image.bytes};
	p->holders = (struct ct_holders){.medium = m, .key = w->parts->key, .plan = plan};
	m->notes_changes = true;
	m->changed_words.count = m->changed_acks.count = 0;
	const int error = fill_in(p);

	if (error) {
		ct_parts_free(p);
		return error;
	}
	*ret_parts = p;
	return 0;
}

/* ---- For tests ---------------------------------------------------------------------------------------- */

void ct_parts_noise(struct ct_parts *p, uint64_t seed)
{
	p->seed = seed;
}

bool ct_parts_recovered(struct ct_parts *p, nvw_off off, const unsigned *levels, uint64_t *ret_word)
{
	begin_evaluation(p);
	p->levels = levels;
	*ret_word = nvw_pool_word(p->after.pool, off);
	p->levels = NULL;
	return !p->is_wide;
}

bool ct_parts_fail_in(struct ct_parts *p, const unsigned *levels)
{
	bool fails = false;

	borrow_acks(p);
	p->levels = levels;
	for (uint64_t part = 0; part < p->count.parts && !fails; part++) {
		fails = !evaluate(p, part);
	}
	p->levels = NULL;
	return fails;
}
