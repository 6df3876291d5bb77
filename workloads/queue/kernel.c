/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Producers and consumers, a work-group each, in one kernel. *Turns* in DRAM say who may use which part of the
 * ring (visibility: release and acquire of agent scope); state words in NVRAM say what survives a crash
 * (durability: persist barriers). Neither stands for the other (gope18 6.2). A message:
 *
 *	producer	state := WRITING(t)			(a)
 *			persist barrier				(b)
 *			payload, digest				(c)
 *			persist barrier				(d)  keeps (2): whole before it is FULL
 *			state := FULL(t)			(e)
 *			persist barrier, work-item		(f)
 *			acknowledge the production		(g)  keeps (1)
 *			release the turn			(h)  (--release=visible: before (f))
 *	consumer	acquire the turn, read			(i)
 *			state := CLAIMED(t)			(j)
 *			the effect: a ledger record		(k)
 *			persist barrier				(l)  keeps (3): an effect is whole
 *			the record's head, its commitment	(m)
 *			persist barrier, work-item		(n)
 *			acknowledge the effect			(o)  keeps (4)
 *			state := DONE(t)			(p)  keeps (3): by (n) not before the effect
 *			release the turn			(q)
 *
 * (b), (d) and (l) have the scope in which messages and records are written (--scope); what (f) and (n) order is a
 * work-item's own.
 *
 * Two orders go from one work-group to another, where no barrier reaches (equations 1 and 2 order the stores
 * of one work-item or work-group). Both go through the state word, whose stores persist in the order of
 * visibility:
 *
 *	(e) before (m), keeps (5)		(e), then (j) on the same word, (l), (m): the consumer's own
 *						barrier covers what it has read, durable or not
 *	(m) before (c) of the next lap,		(m), (n), (p), then (a) on the same word, (b), (c): a message
 *	keeps (1)				is not overwritten before its effect is durable
 *
 * Where barriers wait (epoch persistency) and the turn is released after (f), (e) is durable when it can be
 * seen, (n) is complete before (q), and neither (a) nor (j) would be needed. Where barriers only order
 * (buffered epoch persistency), and (j) with --release=visible, they are what makes the queue right.
 */
#include "plan.h"

enum { POLLS_MAX = 1 << 22 };

/* One message in the hands of its work-item. */
struct message {
	uint64_t batch, ticket, lap;
	bool exists; /* the last batch may not be full */
	nvw_off slot;
};

/* ---- Taking turns --------------------------------------------------------------------------------- */

/* Seeded bug "racy-tickets": two work-groups may draw the same batch. */
static uint64_t draw(const struct queue_args *a, uint64_t *next)
{
	uint64_t batch;

	if (a->plan->mutation != QUEUE_RACY_TICKETS || next != a->head) {
		return nvw_atomic_add(next, 1, NVW_RELAXED, NVW_SCOPE_AGENT);
	}
	batch = nvw_atomic_load(next, NVW_RELAXED, NVW_SCOPE_AGENT);
	nvw_atomic_store(next, batch + 1, NVW_RELAXED, NVW_SCOPE_AGENT);
	return batch;
}

/* Waits for the batch's turn. The looks are relaxed: only the last one needs to drop stale copies. */
static bool await(const struct queue_args *a, uint64_t *turn, uint64_t wanted)
{
	const bool is_narrow = a->plan->mutation == QUEUE_NARROW_ACQUIRE && (wanted & 1) != 0;
	uint64_t polls = 0;

	while (nvw_atomic_load(turn, NVW_RELAXED, NVW_SCOPE_AGENT) != wanted && polls < POLLS_MAX) {
		polls++;
	}
	a->plan->polls += polls;
	(void)nvw_atomic_load(turn, NVW_ACQUIRE, is_narrow ? NVW_SCOPE_WORKGROUP : NVW_SCOPE_AGENT);
	return polls < POLLS_MAX;
}

/*
 * The work-group's next batch, when its part of the ring is to be filled (from the tail) or emptied (from the
 * head). The first work-item draws and waits, the others meet it. False when there is none left.
 */
static bool take_batch(
	const struct queue_args *a, uint64_t *next, unsigned emptied, struct message *ret_message)
{
	uint64_t *const drawn = a->drawn + 8 * nvw_group_id();
	struct message m;

	if (nvw_local_id() == 0) {
		m.batch = draw(a, next);
		if (m.batch < a->batches && !await(a, &a->turns[m.batch % a->ring_batches],
						    2 * (m.batch / a->ring_batches) + emptied)) {
			a->plan->stuck++;
			m.batch = a->batches;
		}
		nvw_store(drawn, m.batch);
	}
	nvw_barrier(NVW_WORKGROUP);
	m.batch = nvw_load(drawn);
	m.lap = m.batch / a->ring_batches;
	m.ticket = m.batch * nvw_group_size() + nvw_local_id();
	m.exists = m.ticket < a->plan->count;
	m.slot = queue_slot(a->ring, a->plan->payload, m.ticket % a->plan->capacity);
	*ret_message = m;
	return m.batch < a->batches;
}

/* The part of the ring is somebody else's: what the work-group has stored is visible to whom it will be. */
static void give_batch(const struct queue_args *a, const struct message *m, uint64_t turn)
{
	nvw_barrier(NVW_WORKGROUP);
	if (nvw_local_id() == 0) {
		nvw_atomic_store(&a->turns[m->batch % a->ring_batches], turn, NVW_RELEASE, NVW_SCOPE_AGENT);
	}
}

/* ---- What both do --------------------------------------------------------------------------------- */

/*
 * The persist barrier of the chosen scope; a macro, so that findings name the place where it stands. The work-group
 * also meets, for a persist barrier may not wait: neighbours write into one line, and who is ahead must not store
 * there what is to persist after what others have not stored yet.
 */
#define ORDER(a) ORDER_UNLESS(a, false, false)
#define ORDER_UNLESS(a, is_missing, is_narrow)                                     \
	({                                                                         \
		if (!(is_missing) && (a)->plan->scope == QUEUE_SCOPE_WORKGROUP) {  \
			nvw_barrier(NVW_WORKGROUP);                                \
			nvw_p_barrier((is_narrow) ? NVW_WORKITEM : NVW_WORKGROUP); \
		} else if (!(is_missing)) {                                        \
			nvw_p_barrier_wi();                                        \
		}                                                                  \
	})

static void set_state(const struct queue_args *a, const struct message *m, enum queue_phase phase)
{
	uint64_t *const state = nvw_at(&a->pmem, uint64_t, m->slot);
	const uint64_t word = queue_state_word(phase, m->ticket);

	if (!m->exists) {
		return;
	}
	if (a->plan->mutation == QUEUE_TORN_STATE) {
		nvw_store((uint32_t *)state + 1, (uint32_t)(word >> 32));
		nvw_store((uint32_t *)state, (uint32_t)word);
	} else {
		nvw_store(state, word);
	}
}

/* Work is shared out over the work-group, word by word, so that neighbours write neighbouring words: then who
 * publishes a message or a record is not who wrote it. Or a work-item writes its own. */
static bool is_shared(const struct queue_args *a)
{
	return a->plan->scope == QUEUE_SCOPE_WORKGROUP;
}

/* ---- Producers ------------------------------------------------------------------------------------ */

static void write_word(const struct queue_args *a, uint64_t ticket, uint64_t i)
{
	const struct queue_plan *const p = a->plan;

	if (ticket < p->count) {
		nvw_store(nvw_at(&a->pmem, uint64_t,
				  queue_slot(a->ring, p->payload, ticket % p->capacity) + 8 * (1 + i)),
			queue_message_word(p->seed, ticket, i, p->payload));
	}
}

static void write_message(const struct queue_args *a, const struct message *m)
{
	const uint64_t words = a->plan->payload + 1, first = m->batch * nvw_group_size();

	for (uint64_t i = 0; i < words; i++) {
		if (is_shared(a)) {
			const uint64_t w = i * nvw_group_size() + nvw_local_id();

			write_word(a, first + w / words, w % words);
		} else {
			write_word(a, m->ticket, i);
		}
	}
}

static void acknowledge(const struct message *m, uint64_t op)
{
	if (m->exists) {
		nvw_ack(op);
	}
}

static void produce_batch(const struct queue_args *a, const struct message *m)
{
	const enum queue_mutation bug = a->plan->mutation;
	const bool is_early = a->plan->release == QUEUE_VISIBLE;

	if (bug != QUEUE_NO_TAKE_OVER) {
		set_state(a, m, QUEUE_WRITING); /* (a) */
		ORDER(a);                       /* (b) */
	}
	write_message(a, m);                                                             /* (c) */
	ORDER_UNLESS(a, bug == QUEUE_PUBLISH_BEFORE_PAYLOAD, bug == QUEUE_NARROW_SCOPE); /* (d) */
	set_state(a, m, QUEUE_FULL);                                                     /* (e) */
	if (is_early) {
		give_batch(a, m, 2 * m->lap + 1);
	}
	if (bug == QUEUE_ACK_BEFORE_BARRIER) {
		acknowledge(m, m->ticket);
	}
	if (bug != QUEUE_VISIBLE_IS_DURABLE) {
		nvw_p_barrier_wi(); /* (f) */
	}
	if (bug != QUEUE_ACK_BEFORE_BARRIER && bug != QUEUE_VISIBLE_IS_DURABLE) {
		acknowledge(m, m->ticket); /* (g) */
	}
	if (!is_early) {
		give_batch(a, m, 2 * m->lap + 1); /* (h) */
	}
}

static void produce(const struct queue_args *a)
{
	struct message m;

	while (take_batch(a, a->tail, 0, &m)) {
		produce_batch(a, &m);
	}
}

/* ---- Consumers ------------------------------------------------------------------------------------ */

/* (i): the digest of what is in the slot. */
static uint64_t read_message(const struct queue_args *a, const struct message *m)
{
	uint64_t *const words = nvw_at(&a->pmem, uint64_t, m->slot);
	uint64_t digest = queue_digest_begin(m->ticket), found;

	if (!m->exists) {
		return 0;
	}
	for (uint64_t i = 1; i <= a->plan->payload; i++) {
		digest = queue_digest_add(digest, nvw_load(&words[i]));
	}
	found = nvw_load(&words[1 + a->plan->payload]);
	a->plan->torn += found != digest; /* no other work-item runs between the load and here */
	return digest;
}

static uint64_t *record_words(const struct queue_args *a, uint64_t consumer, uint64_t i)
{
	return nvw_at(&a->pmem, uint64_t, queue_record(a->ledgers, a->plan->count, consumer, i));
}

/* (k): the records of the batch, from the ledger's record first on. */
static void write_records(const struct queue_args *a, const struct message *m, uint64_t consumer,
	uint64_t first, uint64_t digest)
{
	uint64_t *const digests = a->digests + nvw_group_id() * nvw_group_size();
	const unsigned me = nvw_local_id();

	if (is_shared(a)) {
		nvw_store(&digests[me], digest);
		nvw_barrier(NVW_WORKGROUP); /* the work-group knows its digests */
	}
	for (unsigned i = 0; i < QUEUE_RESULTS; i++) {
		const unsigned w = is_shared(a) ? i * nvw_group_size() + me : me * QUEUE_RESULTS + i;
		const unsigned of = w / QUEUE_RESULTS, word = w % QUEUE_RESULTS;

		if (m->batch * nvw_group_size() + of < a->plan->count) {
			nvw_store(&record_words(a, consumer, first + of)[1 + word],
				queue_result(is_shared(a) ? nvw_load(&digests[of]) : digest, word));
		}
	}
}

static void consume_batch(
	const struct queue_args *a, const struct message *m, uint64_t consumer, uint64_t first)
{
	const enum queue_mutation bug = a->plan->mutation;
	const uint64_t digest = read_message(a, m);

	if (bug != QUEUE_NO_CLAIM && bug != QUEUE_VISIBLE_IS_DURABLE) {
		set_state(a, m, QUEUE_CLAIMED); /* (j) */
	}
	if (bug == QUEUE_MARK_BEFORE_EFFECT) {
		set_state(a, m, QUEUE_DONE);
		ORDER(a);
	}
	write_records(a, m, consumer, first, digest);                                   /* (k) */
	ORDER_UNLESS(a, bug == QUEUE_COMMIT_BEFORE_RECORD, bug == QUEUE_NARROW_EFFECT); /* (l) */
	if (m->exists) {
		nvw_store(record_words(a, consumer, first + nvw_local_id()), m->ticket + 1); /* (m) */
	}
	if (bug == QUEUE_EFFECT_ACK_EARLY) {
		acknowledge(m, a->plan->count + m->ticket);
	}
	if (bug == QUEUE_MARK_WITH_EFFECT) {
		set_state(a, m, QUEUE_DONE);
	}
	nvw_p_barrier_wi(); /* (n) */
	if (bug != QUEUE_EFFECT_ACK_EARLY) {
		acknowledge(m, a->plan->count + m->ticket); /* (o) */
	}
	if (bug != QUEUE_MARK_BEFORE_EFFECT && bug != QUEUE_MARK_WITH_EFFECT) {
		set_state(a, m, QUEUE_DONE); /* (p) */
	}
	give_batch(a, m, 2 * m->lap + 2); /* (q) */
}

static void consume(const struct queue_args *a, uint64_t consumer)
{
	struct message m;
	uint64_t records = 0;

	while (take_batch(a, a->head, 1, &m)) {
		const uint64_t left = a->plan->count - m.batch * nvw_group_size();

		consume_batch(a, &m, consumer, records);
		records += left < nvw_group_size() ? left : nvw_group_size();
	}
	if (nvw_local_id() == 0) {
		a->plan->consumed[consumer] = records;
	}
}

/* ---- The kernel ----------------------------------------------------------------------------------- */

/*
 * Work-groups go to the CUs in turn. Apart, producers and consumers alternate, so that on a machine with an
 * even number of CUs no L1 serves both; together, producers come first, so that every CU gets both kinds.
 */
void queue_kernel(const void *args)
{
	const struct queue_args *const a = args;
	const struct queue_plan *const p = a->plan;
	const uint64_t group = nvw_group_id();
	const uint64_t pairs = p->producers < p->consumers ? p->producers : p->consumers;
	bool is_producer = group < p->producers;
	uint64_t number = is_producer ? group : group - p->producers;

	if (p->placement == QUEUE_APART) {
		is_producer = group < 2 * pairs ? group % 2 == 0 : p->producers > pairs;
		number = group < 2 * pairs ? group / 2 : group - pairs;
	}
	if (is_producer) {
		produce(a);
	} else {
		consume(a, number);
	}
}
