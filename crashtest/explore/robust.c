/* SPDX-License-Identifier: BSD-3-Clause */
/* Robustness of what recovery and check have read. See robust.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include <check/check.h>

#include "core/array.h"
#include "core/bounds.h"
#include "core/invariant.h"
#include "core/order.h"
#include "core/search.h"

#include "../crash.h"
#include "../judge/ask.h"
#include "../log_walk.h"
#include "program_order.h"
#include "robust.h"

/* Store number i of the log is element i - 1. */
struct store {
	uint64_t word; /* offset / 8 */
	uint64_t work_item;
	/* The record after which its work-item has acknowledged something, UINT64_MAX: none; and what. */
	uint64_t acknowledged, operation;
	uint64_t before;      /* the work-item's previous store, 0: none */
	uint64_t instruction; /* of a program on the host: its pieces have no order */
	uint32_t kernel, site;
	uint8_t bytes; /* of the word */
};

struct site {
	char text[144]; /* "kernel.c:190 (publish)" */
};

struct ct_robust {
	struct store *store;
	uint64_t count, capacity;
	struct site *site;
	uint64_t sites, site_capacity;
	/* The stores to word w, ascending: of_word[first[w]] to of_word[first[w + 1] - 1]. */
	uint64_t *first, *of_word, words;
	struct ct_program_order order;
	uint32_t *member;            /* of each store, in that order */
	uint64_t *own, own_capacity; /* words that recovery has written, in order */
	const struct nvw_workload *workload;
	void *plan;
	const struct ct_asked *asked;     /* of a program on the host; else NULL */
	uint64_t (*stored)[CT_READ_BITS]; /* bits of the words that it has stored to, by page */
};

/* ---- The log ------------------------------------------------------------------------------------------- */

static int add_site(struct ct_robust *r, const struct nvw_log_record *record)
{
	const char *const slash = strrchr(record->site.file, '/');

	NVW_INVARIANT(record->kind == NVW_LOG_SITE);
	NVW_GROWN(r->site, r->site_capacity, record->site.id + 1, "no memory for the source places of a log");
	snprintf(r->site[record->site.id].text, sizeof r->site->text, "%.60s:%u (%.63s)",
		slash ? slash + 1 : record->site.file, record->site.line, record->site.function);
	r->sites = MAX(r->sites, record->site.id + 1);
	return 0;
}

static int add_store(void *context, const struct nvw_log_record *record, uint64_t number)
{
	struct ct_robust *const r = context;

	if (record->kind == NVW_LOG_SITE) {
		return add_site(r, record);
	}
	if (record->kind != NVW_LOG_STORE) {
		return 0;
	}
	NVW_GROWN(r->store, r->capacity, r->count + 1, "no memory for the stores of a log");
	r->store[r->count++] = (struct store){.word = record->store.off / 8,
		.work_item = record->store.work_item,
		.acknowledged = UINT64_MAX,
		.instruction = record->store.kernel == 0 ? record->store.group : UINT64_MAX,
		.kernel = record->store.kernel,
		.site = record->store.site,
		.bytes = (uint8_t)((UINT8_MAX >> (8 - record->store.bytes)) << record->store.off % 8)};
	r->words = MAX(r->words, record->store.off / 8 + 1);
	return 0;
}

/* The acknowledgements of a second pass. */
struct acknowledging {
	struct ct_robust *robust;
	uint64_t *newest; /* store of each member */
	uint64_t stores;  /* so far */
	uint64_t host;    /* those before it are acknowledged by the host */
};

/* The stores of the work-item since its last acknowledgement. */
static void acknowledge_item(struct ct_robust *r, uint64_t newest, uint64_t operation, uint64_t record)
{
	for (uint64_t i = newest; i != 0 && r->store[i - 1].acknowledged > record;
		i = r->store[i - 1].before) {
		r->store[i - 1].acknowledged = record;
		r->store[i - 1].operation = operation;
	}
}

static void acknowledge_all(struct acknowledging *a, uint64_t operation, uint64_t record)
{
	for (; a->host < a->stores; a->host++) {
		struct store *const store = &a->robust->store[a->host];

		if (store->acknowledged > record) {
			store->acknowledged = record;
			store->operation = operation;
		}
	}
}

static int note_order(void *context, const struct nvw_log_record *record, uint64_t number)
{
	struct acknowledging *const a = context;
	struct ct_robust *const r = a->robust;

	if (record->kind == NVW_LOG_STORE) {
		uint64_t *const newest = &a->newest[r->member[a->stores]];

		r->store[a->stores++].before = *newest;
		*newest = a->stores;
	} else if (record->kind == NVW_LOG_ACK && record->ack.kernel == 0 && !r->asked) {
		acknowledge_all(a, record->ack.first, number);
	} else if (record->kind == NVW_LOG_ACK) {
		const uint32_t member =
			ct_program_order_member(&r->order, record->ack.kernel, record->ack.work_item);

		acknowledge_item(r, member != 0 ? a->newest[member - 1] : 0, record->ack.first, number);
	}
	return 0;
}

static int sort_by_word(struct ct_robust *r)
{
	r->first = calloc(r->words + 2, sizeof *r->first);
	r->of_word = calloc(r->count + 1, sizeof *r->of_word);
	NVW_FAIL_IF(!r->first || !r->of_word, NVW_E_MEMORY, "no memory for the stores of a log");
	NVW_EACH(store, r->store, r->count) {
		r->first[store->word + 2]++;
	}
	for (uint64_t w = 2; w <= r->words; w++) {
		r->first[w + 1] += r->first[w];
	}
	/* first[w + 1] is now where word w begins, and becomes where it ends. */
	NVW_FOR(i, r->count) {
		r->of_word[r->first[r->store[i].word + 1]++] = i + 1;
	}
	return 0;
}

static int read_order(struct ct_robust *r, int syncs_fd)
{
	r->member = calloc(r->count + 1, sizeof *r->member);
	NVW_ALLOCATED(r->member, "no memory for the order of a program");
	NVW_TRY(ct_program_order_make(&r->order, syncs_fd, r->count));
	NVW_FOR(i, r->count) {
		r->member[i] = ct_program_order_take(&r->order, r->store[i].kernel, r->store[i].work_item);
	}
	return ct_program_order_read(&r->order, syncs_fd, r->count, r->member);
}

/* A second pass. */
static int note_orders(struct ct_robust *r, int log_fd)
{
	struct acknowledging a = {.robust = r, .newest = calloc(r->order.members + 1, sizeof *a.newest)};

	NVW_ALLOCATED(a.newest, "no memory for the stores of a log");
	const int error = ct_log_walk(log_fd, note_order, &a);

	NVW_INVARIANT(error != 0 || a.stores == r->count);
	free(a.newest);
	return error;
}

static int read_log(struct ct_robust *r, int log_fd, int syncs_fd)
{
	NVW_TRY(ct_log_walk(log_fd, add_store, r));
	NVW_TRY(read_order(r, syncs_fd));
	NVW_TRY(note_orders(r, log_fd));
	return sort_by_word(r);
}

static int create(int log_fd, int syncs_fd, const struct ct_robust *is, struct ct_robust **ret_robust)
{
	struct ct_robust *const r = malloc(sizeof *r);

	NVW_ALLOCATED(r, "no memory for the stores of a log");
	*r = *is;
	const int error = read_log(r, log_fd, syncs_fd);

	if (error != 0) {
		ct_robust_destroy(r);
		return error;
	}
	*ret_robust = r;
	return 0;
}

static bool has_epochs(const struct ct_model_info *model)
{
	return model->narrows && !model->replays;
}

int ct_robust_create(int log_fd, int syncs_fd, const struct ct_rules *rules,
	const struct nvw_workload *workload, void *plan, struct ct_robust **ret_robust)
{
	NVW_FAIL_IF(!has_epochs(ct_model_info(rules->model)) || rules->mixed, NVW_E_USAGE,
		"--oracle=robust: expected --mode=permitted and a model of epochs");
	return create(log_fd, syncs_fd, &(struct ct_robust){.workload = workload, .plan = plan}, ret_robust);
}

static void note_word(struct ct_robust *r, uint64_t word)
{
	r->stored[8 * word / CT_READ_PAGE][word / 64 % CT_READ_BITS] |= UINT64_C(1) << word % 64;
}

static int find_words(struct ct_robust *r, uint64_t bytes)
{
	r->stored = calloc(bytes / CT_READ_PAGE + 1, sizeof *r->stored);
	NVW_ALLOCATED(r->stored, "no memory for the words of an image");
	NVW_EACH(store, r->store, r->count) {
		const uint64_t word = store->word;

		if (8 * word < bytes) {
			note_word(r, word);
		}
	}
	return 0;
}

int ct_robust_create_of_program(
	int log_fd, const struct ct_rules *rules, const struct ct_asked *asked, struct ct_robust **ret_robust)
{
	NVW_FAIL_IF(!(ct_model_info(rules->model)->axioms & CT_A(LINE)) || rules->mixed, NVW_E_USAGE,
		"--oracle=robust: expected a program under the model x86");
	NVW_TRY(create(log_fd, 0, &(struct ct_robust){.asked = asked}, ret_robust));
	return find_words(*ret_robust, asked->bytes);
}

void ct_robust_destroy(struct ct_robust *r)
{
	if (r) {
		free(r->store);
		free(r->site);
		free(r->first);
		free(r->of_word);
		free(r->member);
		free(r->stored);
		ct_program_order_free(&r->order);
		free(r->own);
		free(r);
	}
}

/* ---- One word of a state ------------------------------------------------------------------------------- */

/* The words that recovery has written. */
static int list_own(struct ct_robust *r, const struct ct_image *image, uint64_t from, uint64_t *ret_count)
{
	const uint64_t count = image->undo_count - from;

	NVW_INVARIANT(from <= image->undo_count);
	NVW_GROWN(r->own, r->own_capacity, count + 1, "no memory for the writes of recovery");
	NVW_FOR(i, count) {
		r->own[i] = image->undo[from + i].off / 8;
	}
	qsort(r->own, count, sizeof *r->own, nvw_by_u64);
	*ret_count = count;
	return 0;
}

/* Bytes of a word that have been read. */
struct read {
	uint64_t word;
	uint8_t bytes;
};

static bool makes(const struct ct_robust *r, uint64_t number, const struct read *read)
{
	NVW_DEEP_INVARIANT(number >= 1 && number <= r->count);
	return r->store[number - 1].word == read->word && (r->store[number - 1].bytes & read->bytes) != 0;
}

/* The newest store to these bytes that is not above this number; 0: none. */
static uint64_t store_to(const struct ct_robust *r, const struct read *read, uint64_t number)
{
	if (read->word >= r->words) {
		return 0;
	}
	const uint64_t first = r->first[read->word];
	uint64_t end = NVW_FIRST(i, first, r->first[read->word + 1], r->of_word[i] > number);

	while (end > first && !makes(r, r->of_word[end - 1], read)) {
		end--;
	}
	return end > first ? r->of_word[end - 1] : 0;
}

/* The newest store whose bytes the state has, and those that are lost. */
struct versions {
	uint64_t durable; /* 0: none of the run */
	const struct ct_cell *cell;
	unsigned level;
};

static struct versions versions_of(
	const struct ct_robust *r, const struct ct_medium *m, const unsigned *levels, const struct read *read)
{
	const struct ct_cell *const c = ct_medium_cell_at(m, 8 * read->word);
	struct versions v = {.cell = c};

	if (!c) {
		v.durable = store_to(r, read, m->stores);
		return v;
	}
	v.level = levels[c - m->cell];
	v.durable = store_to(r, read, c->write[0] - 1);
	NVW_FOR(i, c->count) { /* of a line: also to other words */
		if (ct_cell_has(c, v.level, i) && makes(r, c->write[i], read)) {
			v.durable = MAX(v.durable, c->write[i]);
		}
	}
	return v;
}

/* ---- A state ------------------------------------------------------------------------------------------- */

struct state {
	struct ct_robust *robust;
	struct ct_medium *medium;
	const unsigned *levels;
	uint64_t applied;                /* entries of the image's undo log that are the state's */
	uint64_t own;                    /* words */
	uint64_t of_kernel;              /* the durable store of the latest kernel, 0: none */
	uint64_t earliest;               /* lost store that was read, UINT64_MAX: none */
	const struct ct_read_set *words; /* that a command has read; NULL: the image has them */
	struct nvw_findings *findings;
	int verdict;
};

static const char *site_of(const struct ct_robust *r, uint64_t store)
{
	NVW_DEEP_INVARIANT(store >= 1 && store <= r->count);

	const uint32_t site = r->store[store - 1].site;

	return site < r->sites ? r->site[site].text : "an unknown place";
}

static void note_durable(struct state *s, const struct versions *v)
{
	struct ct_robust *const r = s->robust;
	const uint64_t number = v->durable;

	if (number == 0) {
		return;
	}
	ct_program_order_need(&r->order, r->member[number - 1], number);
	if (s->of_kernel == 0 || r->store[number - 1].kernel > r->store[s->of_kernel - 1].kernel) {
		s->of_kernel = number;
	}
}

/* Under buffered epochs an acknowledgement waits, and is lost with what it waits for. */
static bool is_acknowledged(const struct state *s, const struct store *store)
{
	return store->acknowledged <= s->medium->record && nvw_acked(&s->medium->acks, store->operation);
}

static void judge_lost(struct state *s, uint64_t word, uint64_t number)
{
	struct ct_robust *const r = s->robust;
	const struct store *const lost = &r->store[number - 1];
	const uint64_t later = ct_program_order_later(&r->order, r->member[number - 1], number);
	const nvw_off off = 8 * word;

	NVW_INVARIANT(number >= 1 && number <= r->count);
	if (later != 0 && r->store[later - 1].instruction == lost->instruction && r->asked) {
		return; /* its pieces */
	}
	if (later != 0 && r->member[later - 1] == r->member[number - 1]) {
		s->verdict = nvw_violation(s->findings, off,
			"the store at %s is lost, and a later one of its %s is durable: %s",
			site_of(r, number), r->asked ? "thread" : "work-item", site_of(r, later));
	} else if (later != 0) {
		s->verdict = nvw_violation(s->findings, off,
			"the store at %s is lost, and one of a work-item that synchronized behind it is "
			"durable: %s",
			site_of(r, number), site_of(r, later));
	} else if (is_acknowledged(s, lost)) {
		s->verdict = nvw_violation(s->findings, off,
			"the store at %s is lost, and was made before an acknowledgement",
			site_of(r, number));
	} else if (s->of_kernel != 0 && r->store[s->of_kernel - 1].kernel > lost->kernel) {
		s->verdict = nvw_violation(s->findings, off,
			"the store at %s is lost, and one of a later kernel is durable: %s",
			site_of(r, number), site_of(r, s->of_kernel));
	}
}

/* Have durable stores made all that was read of this version since? */
static bool is_covered(const struct ct_robust *r, const struct versions *v, unsigned version, uint8_t bytes)
{
	const struct ct_cell *const c = v->cell;
	uint8_t over = 0;

	NVW_DEEP_INVARIANT(version < v->cell->count);
	for (unsigned i = version + 1; i < c->count; i++) {
		const struct store *const later = &r->store[c->write[i] - 1];

		if (later->word == r->store[c->write[version] - 1].word && ct_cell_has(c, v->level, i)) {
			over |= later->bytes;
		}
	}
	return (bytes & ~over) == 0;
}

static void for_each_lost(struct state *s, const struct read *read, const struct versions *v,
	void (*look)(struct state *s, uint64_t word, uint64_t number))
{
	const struct ct_robust *const r = s->robust;

	for (unsigned i = 0; v->cell && i < v->cell->count; i++) {
		const uint64_t number = v->cell->write[i];

		if (!ct_cell_has(v->cell, v->level, i) && makes(r, number, read) &&
			!is_covered(r, v, i, r->store[number - 1].bytes & read->bytes)) {
			look(s, read->word, number);
		}
	}
}

static void note_earliest(struct state *s, uint64_t word, uint64_t number)
{
	s->earliest = MIN(s->earliest, number);
}

static void note_versions(struct state *s, const struct read *read)
{
	const struct versions v = versions_of(s->robust, s->medium, s->levels, read);

	note_durable(s, &v);
	for_each_lost(s, read, &v, note_earliest);
}

static void judge_versions(struct state *s, const struct read *read)
{
	const struct versions v = versions_of(s->robust, s->medium, s->levels, read);

	for_each_lost(s, read, &v, judge_lost);
}

/* What was read, but for what recovery itself has written. */
static void for_each_read(struct state *s, void (*look)(struct state *s, const struct read *read))
{
	const struct nvw_pool_reads *const reads = s->medium->image.reads;

	if (s->words) {
		NVW_FOR(i, s->words->count) {
			look(s, &(struct read){s->words->word[i], s->words->bytes[i]});
		}
		return;
	}
	NVW_EACH(order, reads->order, reads->count) {
		const uint64_t at = *order;

		for (uint64_t bits = reads->words[at]; bits != 0; bits &= bits - 1) {
			const struct read all = {64 * at + (uint64_t)__builtin_ctzll(bits), UINT8_MAX};

			if (!bsearch(&all.word, s->robust->own, s->own, sizeof all.word, nvw_by_u64)) {
				look(s, &all);
			}
		}
	}
}

static void judge_reads(struct state *s)
{
	struct ct_program_order *const order = &s->robust->order;

	ct_program_order_begin(order);
	s->of_kernel = 0;
	s->earliest = UINT64_MAX;
	for_each_read(s, note_versions);
	if (s->earliest == UINT64_MAX) {
		return;
	}
	ct_program_order_follow(order, s->medium->stores, s->earliest);
	for_each_read(s, judge_versions);
}

/* ---- The readers --------------------------------------------------------------------------------------- */

/* One after the other; what they say of the structure does not count. */
static int read_parts(struct state *s, const struct nvw_pool *pool)
{
	struct ct_robust *const r = s->robust;
	struct ct_medium *const m = s->medium;
	const struct nvw_parts *const parts = r->workload->parts;
	const uint64_t count = parts->count(r->plan, nvw_pool_geometry(pool));

	NVW_INVARIANT(r->workload->parts);
	NVW_TRY(list_own(r, &m->image, s->applied, &s->own));
	NVW_FOR(i, count) {
		ct_image_forget_reads(&m->image);
		(void)parts->check(r->plan, pool, &m->acks, i, NULL);
		judge_reads(s);
	}
	return 0;
}

static int read_whole(struct state *s, struct nvw_pool *pool)
{
	struct ct_robust *const r = s->robust;
	struct nvw_recovery report = {0};

	NVW_INVARIANT(!r->workload->parts);
	ct_image_forget_reads(&s->medium->image);
	if (r->workload->recover) {
		(void)r->workload->recover(pool, &report);
	}
	(void)r->workload->check(r->plan, pool, &s->medium->acks, NULL);
	NVW_TRY(list_own(r, &s->medium->image, s->applied, &s->own));
	judge_reads(s);
	return 0;
}

/* words: what the command reads, NULL: that cannot be seen. What it says does not count. */
static int ask(struct ct_robust *r, const struct ct_image *image, const struct nvw_acks *acks,
	struct ct_answer *ret_answer, const struct ct_read_set **ret_words)
{
	NVW_INVARIANT(r->asked);
	return ct_ask_reads(
		r->asked, image, acks, (const uint64_t(*)[CT_READ_BITS])r->stored, ret_answer, ret_words);
}

static int fail_unseen(const struct ct_robust *r, int error)
{
	char why[CT_TEXT_BYTES];

	ct_asked_why_unseen(r->asked, why);
	return nvw_fail(error, "what the command of --check reads cannot be seen, because %s", why);
}

int ct_robust_try(void *robust, struct ct_image *image, const struct nvw_acks *acks,
	struct nvw_findings *findings, volatile uint32_t *phase)
{
	struct ct_robust *const r = robust;
	const struct ct_read_set *words;
	struct ct_answer answer;

	*phase = CT_PHASE_CHECK;
	NVW_TRY(ask(r, image, acks, &answer, &words));
	if (!answer.in_time || !WIFEXITED(answer.status)) {
		return 0; /* states will tell */
	}
	if (!words) {
		return fail_unseen(r, NVW_E_USAGE);
	}
	NVW_FAIL_IF(words->count == 0, NVW_E_USAGE,
		"--oracle=robust: the command of --check reads nothing that the program has stored, "
		"and ends with status %d: expected a program that opens the file and reads it%s%.200s",
		WEXITSTATUS(answer.status), answer.line[0] != '\0' ? "; it says: " : "", answer.line);
	return 0;
}

/* What the command says does not count, but for its death. */
static int judge_program(struct state *s, volatile uint32_t *phase)
{
	struct ct_robust *const r = s->robust;
	struct ct_answer answer;

	*phase = CT_PHASE_CHECK;
	NVW_TRY(ask(r, &s->medium->image, &s->medium->acks, &answer, &s->words));
	if (!s->words) {
		NVW_TRY(ct_answer_note(&answer, s->findings));
		return fail_unseen(r, CT_NO_ANSWER);
	}
	judge_reads(s);
	return s->verdict;
}

int ct_robust_judge(struct ct_robust *r, struct ct_medium *m, const unsigned *levels,
	struct nvw_findings *findings, volatile uint32_t *phase)
{
	const struct nvw_pool_image image = {.image = m->image.ro,
		.bytes = m->image.bytes,
		.write = ct_image_write,
		.context = &m->image,
		.reads = m->image.reads};
	struct state s = {.robust = r,
		.medium = m,
		.levels = levels,
		.findings = findings,
		.applied = m->image.undo_count};
	struct nvw_recovery report = {0};
	struct nvw_pool *pool;

	if (r->asked) {
		return judge_program(&s, phase);
	}
	NVW_INVARIANT(m->image.reads);
	*phase = CT_PHASE_RECOVER;
	if (nvw_pool_open_image(&image, &pool) != 0) {
		return nvw_violation(findings, 0, "the pool does not open: %s", nvw_error_message());
	}
	int error = nvw_recover(pool, &report);

	*phase = CT_PHASE_CHECK;
	if (error != 0) {
		error = nvw_violation(findings, 0, "recovery refuses the pool: %s", nvw_error_message());
	} else {
		error = r->workload->parts ? read_parts(&s, pool) : read_whole(&s, pool);
	}
	nvw_pool_close(pool);
	return NVW_OR(error, s.verdict);
}
