/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Producers and consumers, each a work-group, in one kernel. *Turns* in DRAM determine which work-group may
 * use which part of the ring (visibility: release and acquire of agent scope); state words in NVRAM determine
 * the messages that survive a crash (durability: persist barriers). Neither implies the other (gope18 6.2). A
 * message:
 *
 *	producer	state := WRITING(t)			(a)
 *			persist barrier				(b)
 *			payload, digest				(c)
 *			persist barrier				(d)  keeps (2): complete before it is FULL
 *			state := FULL(t)			(e)
 *			persist barrier, work-item		(f)
 *			acknowledge the production		(g)  keeps (1)
 *			release the turn			(h)  (--release=visible: before (f))
 *	consumer	acquire the turn, read			(i)
 *			state := CLAIMED(t)			(j)
 *			the effect: a ledger record		(k)
 *			persist barrier				(l)  keeps (3): an effect is complete
 *			the record's head, its commitment	(m)
 *			persist barrier, work-item		(n)
 *			acknowledge the effect			(o)  keeps (4)
 *			state := DONE(t)			(p)  keeps (3): by (n) not before the effect
 *			release the turn			(q)
 *
 * (b), (d) and (l) have the scope in which messages and records are written (--scope); (f) and (n) order
 * stores of one work-item.
 *
 * Two orders lead from one work-group to another, beyond the reach of barriers (equations 1 and 2 order the
 * stores of one work-item or work-group). Both use the state word, whose stores persist in the order of
 * visibility:
 *
 *	(e) before (m), keeps (5)		(e), then (j) on the same word, (l), (m): the consumer's own
 *						barrier covers what it has read, durable or not
 *	(m) before (c) of the next lap,		(m), (n), (p), then (a) on the same word, (b), (c): a message
 *	keeps (1)				is not overwritten before its effect is durable
 *
 * If barriers wait (epoch persistency) and the turn is released after (f), then (e) is durable when it
 * becomes visible, (n) completes before (q), and neither (a) nor (j) is needed. If barriers only order
 * (buffered epoch persistency), both are needed; (j) is also needed with --release=visible.
 *
 * STEP() marks the steps that a seeded bug may replace (mutations.c).
 */
#include "common/bounds.h"
#include "steps.h"

enum { POLLS_MAX = 1 << 22 };

/* Whether there is such a message, and a crash has left something to do with it. */
static bool is_to(const struct queue_args *a, uint64_t ticket, unsigned what)
{
	return ticket < a->plan->count && (!a->rest || (a->rest->to_do[ticket] & what) != 0);
}

/* ---- Taking turns --------------------------------------------------------------------------------- */

static uint64_t draw(const struct queue_args *a, uint64_t *next)
{
	(void)a;
	return nvw_atomic_add(next, 1, NVW_RELAXED, NVW_SCOPE_AGENT);
}

static void acquire(uint64_t *turn, uint64_t wanted)
{
	(void)wanted;
	(void)nvw_atomic_load(turn, NVW_ACQUIRE, NVW_SCOPE_AGENT);
}

/* Waits for the batch's turn. The polls are relaxed: only the last one needs to drop stale copies. */
static bool await(const struct queue_args *a, uint64_t *turn, uint64_t wanted)
{
	uint64_t polls = 0;

	while (nvw_atomic_load(turn, NVW_RELAXED, NVW_SCOPE_AGENT) != wanted && polls < POLLS_MAX) {
		polls++;
	}
	a->plan->polls += polls;
	STEP(a->replaced, acquire, turn, wanted);
	return polls < POLLS_MAX;
}

/*
 * Waits until the work-group's next part of the ring may be filled (at the tail) or emptied (at the head).
 * The first work-item draws the batch and waits; the others meet it. False if no batch is left.
 */
static bool take_batch(
	const struct queue_args *a, uint64_t *next, unsigned emptied, struct queue_message *ret_message)
{
	uint64_t *const drawn = a->drawn + 8 * nvw_group_id();
	struct queue_message m;

	if (nvw_local_id() == 0) {
		m.batch = STEP(a->replaced, draw, a, next);
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
	m.exists = is_to(a, m.ticket, emptied ? QUEUE_TO_CONSUME : QUEUE_TO_PRODUCE);
	m.slot = queue_slot(a->ring, a->plan->payload, m.ticket % a->plan->capacity);
	*ret_message = m;
	return m.batch < a->batches;
}

/* Passes the part of the ring on, and makes the work-group's stores visible to its next user. */
static void give_batch(const struct queue_args *a, const struct queue_message *m, uint64_t turn)
{
	nvw_barrier(NVW_WORKGROUP);
	if (nvw_local_id() == 0) {
		nvw_atomic_store(&a->turns[m->batch % a->ring_batches], turn, NVW_RELEASE, NVW_SCOPE_AGENT);
	}
}

/* ---- Shared by producers and consumers --------------------------------------------------------------- */

static void store_state(uint64_t *state, uint64_t word)
{
	nvw_store(state, word);
}

void queue_set_state(const struct queue_args *a, const struct queue_message *m, enum queue_phase phase)
{
	uint64_t *const state = nvw_at(&a->pmem, uint64_t, m->slot);
	const uint64_t word = queue_state_word(phase, m->ticket);

	if (!m->exists) {
		return;
	}
	STEP(a->replaced, store_state, state, word);
}

/* Whether the work is distributed over the work-group word by word, so that neighbours write neighbouring
 * words; then the publisher of a message or record is not its writer. Otherwise each work-item writes its
 * own. */
static bool is_shared(const struct queue_args *a)
{
	return a->plan->scope == QUEUE_SCOPE_WORKGROUP;
}

/* From the turn that the work-group was given to the turn that it has passed on. */
static void end_operation(const struct queue_message *m, enum queue_operation operation, uint64_t begun)
{
	if (m->exists) {
		nvw_operation_end(operation, begun);
	}
}

/* ---- Producers ------------------------------------------------------------------------------------ */

static void write_word(const struct queue_args *a, uint64_t ticket, uint64_t i)
{
	const struct queue_plan *const p = a->plan;

	if (is_to(a, ticket, QUEUE_TO_PRODUCE)) {
		nvw_store(nvw_at(&a->pmem, uint64_t,
				  queue_slot(a->ring, p->payload, ticket % p->capacity) + 8 * (1 + i)),
			queue_message_word(p->seed, ticket, i, p->payload));
	}
}

static void write_message(const struct queue_args *a, const struct queue_message *m)
{
	const uint64_t words = a->plan->payload + 1, first = m->batch * nvw_group_size();

	NVW_FOR(i, words) {
		if (is_shared(a)) {
			const uint64_t w = i * nvw_group_size() + nvw_local_id();

			write_word(a, first + w / words, w % words);
		} else {
			write_word(a, m->ticket, i);
		}
	}
}

static void take_over(const struct queue_args *a, const struct queue_message *m)
{
	queue_set_state(a, m, QUEUE_WRITING); /* (a) */
	ORDER(a);                             /* (b) */
}

static void order_message(const struct queue_args *a)
{
	ORDER(a);
}

static void complete_production(const struct queue_args *a, const struct queue_message *m)
{
	(void)a;
	nvw_p_barrier_wi();              /* (f) */
	queue_acknowledge(m, m->ticket); /* (g) */
}

static void produce_batch(const struct queue_args *a, const struct queue_message *m)
{
	const bool is_early = a->plan->release == QUEUE_VISIBLE;

	STEP(a->replaced, take_over, a, m);  /* (a), (b) */
	write_message(a, m);                 /* (c) */
	STEP(a->replaced, order_message, a); /* (d) */
	queue_set_state(a, m, QUEUE_FULL);   /* (e) */
	if (is_early) {
		give_batch(a, m, 2 * m->lap + 1);
	}
	STEP(a->replaced, complete_production, a, m); /* (f), (g) */
	if (!is_early) {
		give_batch(a, m, 2 * m->lap + 1); /* (h) */
	}
}

static void produce(const struct queue_args *a)
{
	struct queue_message m;

	while (take_batch(a, a->tail, 0, &m)) {
		const uint64_t begun = nvw_operation_begin();

		produce_batch(a, &m);
		end_operation(&m, QUEUE_OPERATION_PRODUCE, begun);
	}
}

/* ---- Consumers ------------------------------------------------------------------------------------ */

/* (i): reads the message in the slot; returns its digest. */
static uint64_t read_message(const struct queue_args *a, const struct queue_message *m)
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

static uint64_t place(const struct queue_args *a, uint64_t consumer, uint64_t i)
{
	return a->rest->places[consumer * a->plan->count + i];
}

static uint64_t *record_words(const struct queue_args *a, uint64_t consumer, uint64_t i)
{
	const uint64_t at = !a->rest ? i : STEP(a->replaced, place, a, consumer, i);

	return nvw_at(&a->pmem, uint64_t, queue_record(a->ledgers, a->plan->count, consumer, at));
}

/* How many of the batch's messages before number `end` get a record. */
static uint64_t records_before(const struct queue_args *a, const struct queue_message *m, unsigned end)
{
	const uint64_t first = m->batch * nvw_group_size();
	uint64_t records = 0;

	if (!a->rest) {
		return u64_min(a->plan->count - first, end);
	}
	NVW_FOR(i, end) {
		records += is_to(a, first + i, QUEUE_TO_CONSUME);
	}
	return records;
}

/* (k): the records of the batch, from record first of the ledger on. */
static void write_records(const struct queue_args *a, const struct queue_message *m, uint64_t consumer,
	uint64_t first, uint64_t digest)
{
	uint64_t *const digests = a->digests + nvw_group_id() * nvw_group_size();
	const unsigned me = nvw_local_id();

	if (is_shared(a)) {
		nvw_store(&digests[me], digest);
		nvw_barrier(NVW_WORKGROUP); /* all digests are visible to the work-group */
	}
	NVW_FOR(i, QUEUE_RESULTS) {
		const unsigned w = is_shared(a) ? i * nvw_group_size() + me : me * QUEUE_RESULTS + i;
		const unsigned of = w / QUEUE_RESULTS, word = w % QUEUE_RESULTS;

		if (is_to(a, m->batch * nvw_group_size() + of, QUEUE_TO_CONSUME)) {
			nvw_store(&record_words(a, consumer, first + records_before(a, m, of))[1 + word],
				queue_result(is_shared(a) ? nvw_load(&digests[of]) : digest, word));
		}
	}
}

static void claim(const struct queue_args *a, const struct queue_message *m)
{
	queue_set_state(a, m, QUEUE_CLAIMED);
}

static void order_records(const struct queue_args *a)
{
	ORDER(a);
}

static void commit(
	const struct queue_args *a, const struct queue_message *m, uint64_t consumer, uint64_t first)
{
	if (m->exists) {
		const uint64_t i = first + records_before(a, m, nvw_local_id());

		nvw_store(record_words(a, consumer, i), m->ticket + 1);
	}
}

static void complete_effect(const struct queue_args *a, const struct queue_message *m)
{
	nvw_p_barrier_wi();                               /* (n) */
	queue_acknowledge(m, a->plan->count + m->ticket); /* (o) */
}

static void mark_done(const struct queue_args *a, const struct queue_message *m)
{
	queue_set_state(a, m, QUEUE_DONE);
}

static void consume_batch(
	const struct queue_args *a, const struct queue_message *m, uint64_t consumer, uint64_t first)
{
	const uint64_t digest = read_message(a, m); /* (i) */

	STEP(a->replaced, claim, a, m);               /* (j) */
	write_records(a, m, consumer, first, digest); /* (k) */
	STEP(a->replaced, order_records, a);          /* (l) */
	commit(a, m, consumer, first);                /* (m) */
	STEP(a->replaced, complete_effect, a, m);     /* (n), (o) */
	STEP(a->replaced, mark_done, a, m);           /* (p) */
	give_batch(a, m, 2 * m->lap + 2);             /* (q) */
}

static void consume(const struct queue_args *a, uint64_t consumer)
{
	struct queue_message m;
	uint64_t records = 0;

	while (take_batch(a, a->head, 1, &m)) {
		const uint64_t begun = nvw_operation_begin();

		consume_batch(a, &m, consumer, records);
		end_operation(&m, QUEUE_OPERATION_CONSUME, begun);
		records += records_before(a, &m, nvw_group_size());
	}
	if (nvw_local_id() == 0) {
		a->plan->consumed[consumer] = records;
	}
}

/* ---- The kernel ----------------------------------------------------------------------------------- */

/*
 * Work-groups are assigned to the CUs in turn. Apart: producers and consumers alternate, so that on a machine
 * with an even number of CUs no L1 serves both. Together: producers come first, so that every CU gets both
 * kinds.
 */
void queue_kernel(const void *args)
{
	const struct queue_args *const a = args;
	const struct queue_plan *const p = a->plan;
	const uint64_t group = nvw_group_id();
	const uint64_t pairs = u64_min(p->producers, p->consumers);
	bool is_producer = group < p->producers;
	uint64_t number = group - p->producers; /* a consumer's */

	if (p->placement == QUEUE_APART && group < 2 * pairs) {
		is_producer = group % 2 == 0;
		number = group / 2;
	} else if (p->placement == QUEUE_APART) {
		is_producer = p->producers > pairs;
		number = group - pairs;
	}
	if (is_producer) {
		produce(a);
	} else {
		consume(a, number);
	}
}
