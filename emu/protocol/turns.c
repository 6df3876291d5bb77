/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * See turns.h. From top to bottom: the CU's side (stores and loads), the EMU's side (a change of epochs),
 * lines, rules.
 *
 * If a scheduler chooses the order of events, time has no meaning: the EMU is awake only while stores wait,
 * and when it wakes is the scheduler's choice.
 */
#include "core/bounds.h"
#include "core/each.h"
#include "turns.h"

#include <stdlib.h>

static uint32_t emu_node(const struct nvw_machine *m)
{
	return emu_network_bank_node(m, 0);
}

/* A message without data from a CU to the EMU. */
static emu_time to_emu(struct nvw_machine *m, unsigned cu, emu_time t)
{
	return emu_network_send(m, emu_network_cu_node(m, cu), emu_node(m), 0, EMU_MESSAGE_CONTROL, t);
}

static uint32_t bit_of(unsigned band)
{
	return UINT32_C(1) << band;
}

/* The EMU grants some of its bands. A CU's BSQ has the stores that are blocked, whose bands it has noted. */
__attribute__((unused)) static bool turns_are_valid(const struct coh_turns *turns)
{
	const uint32_t beyond = ~(bit_of(turns->bands - 1) | (bit_of(turns->bands - 1) - 1));

	return turns->bands > 0 && !(turns->bands & (turns->bands - 1)) && !(turns->granted & beyond) &&
	       !(turns->next & beyond) && turns->current < turns->bands && turns->seb >= turns->seb_least &&
	       turns->seb <= TURNS_SEB_MOST;
}

__attribute__((unused)) static bool is_cu_valid(const struct turns_cu *here)
{
	return (here->blocked != NULL) == (here->count > 0) && !*here->blocked_end && !*here->outside_end &&
	       (here->blocked_bands != 0) == (here->count > 0);
}

static uint64_t address_of(emu_line_id id)
{
	return (uint64_t)id * EMU_LINE;
}

static void append(struct coh_wait ***end, struct coh_wait *w)
{
	w->next = NULL;
	**end = w;
	*end = &w->next;
}

/* ---- The EMU sleeps and wakes ---------------------------------------------------------------- */

static void wake_up(struct nvw_machine *m, void *nothing);

static emu_time at_emu_clock(const struct nvw_machine *m, emu_time t)
{
	const emu_time cycle = m->config.stc.cycle;

	return (t + cycle - 1) / cycle * cycle;
}

/* An event of the EMU: it keeps no kernel from ending, and where one has ended it comes with the next kernel,
 * late. */
static void schedule(
	struct nvw_machine *m, emu_time t, void (*act)(struct nvw_machine *, void *), bool is_a_choice)
{
	NVW_DEEP_INVARIANT(t + m->config.stc.cycle > t);
	m->exec.background++;
	m->turns->at = at_emu_clock(m, t);
	(is_a_choice ? emu_schedule_open : emu_schedule)(m, m->turns->at, act, NULL);
}

/* The EMU sleeps; it wakes at its first tick at which the demand that comes at t is there. */
static void demand_wakes(struct nvw_machine *m, emu_time t)
{
	struct coh_turns *const turns = m->turns;
	const emu_time period = m->config.stc.wakeup;

	NVW_DEEP_INVARIANT(turns_are_valid(turns));
	if (turns->emu == TURNS_ASLEEP) {
		t = emu_later(emu_later(t, turns->ready), m->now);
		turns->emu = TURNS_WAKING;
		turns->due = turns->tick + (t - turns->tick + period - 1) / period * period;
		schedule(m, turns->due, wake_up, m->scheduler.choose);
	}
}

/* EpochDemand, once per CU and band in an epoch, and EpochDemandAck. */
static void demand(struct nvw_machine *m, const struct emu_cu *cu, emu_line_id id, emu_time t)
{
	struct coh_turns *const turns = m->turns;
	struct turns_cu *const here = &turns->cu[cu->id];
	const unsigned band = coh_band(turns, id);
	struct turns_demand *const entry = &turns->erv[band];

	if (!turns->rules->skips) {
		demand_wakes(m, t);
		return;
	}
	if (here->demanded & bit_of(band)) {
		return;
	}
	here->demanded |= bit_of(band);
	m->stats.stc_demands++;
	t = to_emu(m, cu->id, t);
	emu_network_send(m, emu_node(m), emu_network_cu_node(m, cu->id), 0, EMU_MESSAGE_CONTROL, t);
	if (!entry->is_set) {
		*entry = (struct turns_demand){.is_set = true, .at = t, .line = id};
	}
	demand_wakes(m, t);
}

/* ---- Stores ---------------------------------------------------------------------------------- */

static bool is_full(const struct nvw_machine *m, const struct turns_cu *here)
{
	return here->count >= m->config.stc.bsq;
}

/* A full BSQ stalls what comes behind. */
static emu_time hold_up(const struct coh_request *r, emu_time t)
{
	struct turns_cu *const here = &r->m->turns->cu[r->cu->id];
	struct coh_wait *const w = coh_put_off(r, EMU_CAUSE_bsq, t);

	if (!w) {
		return t;
	}
	append(&here->outside_end, w);
	NVW_DEEP_INVARIANT(is_cu_valid(here));
	return COH_NOT_YET;
}

static emu_time block(const struct coh_request *r, emu_time t)
{
	struct nvw_machine *const m = r->m;
	struct turns_cu *const here = &m->turns->cu[r->cu->id];
	struct coh_wait *w;

	if (is_full(m, here)) {
		return hold_up(r, t);
	}
	w = coh_put_off(r, EMU_CAUSE_turn, t);
	if (!w) {
		return t;
	}
	append(&here->blocked_end, w);
	here->count++;
	here->blocked_bands |= bit_of(coh_band(m->turns, r->line));
	NVW_DEEP_INVARIANT(is_cu_valid(here) && here->count <= m->config.stc.bsq);
	m->stats.stc_bsq_most = emu_later(m->stats.stc_bsq_most, here->count);
	demand(m, r->cu, r->line, t);
	return COH_NOT_YET;
}

static emu_time await_turn(const struct coh_request *r, emu_time t)
{
	struct nvw_machine *const m = r->m;
	struct turns_cu *const here = &m->turns->cu[r->cu->id];
	const bool is_granted = m->turns->granted & bit_of(coh_band(m->turns, r->line));

	if (here->outside && !r->again) {
		return hold_up(r, t);
	}
	if (!is_granted || t >= here->stops) {
		return block(r, t);
	}
	here->pending++;
	return t;
}

static emu_time acknowledge(const struct coh_request *r, emu_time t)
{
	struct coh_turns *const turns = r->m->turns;
	struct turns_cu *const here = &turns->cu[r->cu->id];

	if (!(turns->granted & bit_of(coh_band(turns, r->line))) || !here->pending) {
		turns->broken = "a band is written out of its epoch (rule ER2)";
	}
	here->pending -= here->pending > 0;
	here->acknowledged = emu_later(here->acknowledged, t);
	return t;
}

/* ---- Loads ----------------------------------------------------------------------------------- */

/* Where the bits that set two addresses apart are: 1 above the band's bits, -1 below them, 0 in neither
 * place. Below the lowest SEB nothing can set them apart. */
static int side_of(const struct coh_turns *turns, uint64_t a, uint64_t b)
{
	const unsigned width = (unsigned)__builtin_ctz(turns->bands);
	const uint64_t differ = (a ^ b) >> turns->seb_least << turns->seb_least;

	if (differ & ((UINT64_C(1) << turns->seb) - 1)) {
		return -1;
	}
	return differ >> (turns->seb + width) != 0;
}

/* EpochConflict: the first read, in an epoch, of a band that a store of this CU waits to write. */
static void tell_conflict(const struct coh_request *r, emu_time t)
{
	struct nvw_machine *const m = r->m;
	struct coh_turns *const turns = m->turns;
	struct turns_cu *const here = &turns->cu[r->cu->id];
	const unsigned band = coh_band(turns, r->line);

	if (here->has_told || !turns->rules->adapts || !(here->blocked_bands & bit_of(band))) {
		return;
	}
	here->has_told = true;
	m->stats.stc_conflicts++;
	to_emu(m, r->cu->id, t);
	if (turns->erv[band].is_set) {
		turns->votes += side_of(turns, address_of(r->line), address_of(turns->erv[band].line));
	}
}

/* Load, or, if it is the band's epoch, Load_U. */
static emu_time ld_turn(const struct coh_request *r, emu_time t)
{
	struct nvw_machine *const m = r->m;
	const struct coh_turns *const turns = m->turns;
	const struct turns_cu *const here = &turns->cu[r->cu->id];

	if (here->outside && !r->again) {
		return hold_up(r, t);
	}
	tell_conflict(r, t);
	if (turns->granted & bit_of(coh_band(turns, r->line))) {
		m->stats.stc_uncached++;
		return coh_ld_l2.carry_out(r, t);
	}
	return coh_ld_l1.carry_out(r, t);
}

/* ---- A change of epochs: PrepareEpochChange, ReadyAck, ChangeEpoch, DoneAck ------------------ */

static bool is_demanded(const struct nvw_machine *m, unsigned band)
{
	NVW_DEEP_INVARIANT(band < sizeof m->turns->erv / sizeof *m->turns->erv);

	const struct turns_demand *const entry = &m->turns->erv[band];

	return !m->turns->rules->skips || (entry->is_set && entry->at <= m->now);
}

/* Each band that has been demanded and not chosen has been passed over once more (DAR 3). */
static void count_passed(struct nvw_machine *m, uint32_t chosen)
{
	for (unsigned band = 0; chosen && band < m->turns->bands; band++) {
		unsigned *const passed = &m->turns->erv[band].passed;

		*passed = !(chosen & bit_of(band)) && is_demanded(m, band) ? *passed + 1 : 0;
	}
}

/* DAR 3: by turns, a demand is passed over by each other band once at most. */
static const char *broken_turn(const struct coh_turns *turns)
{
	NVW_EACH(erv, turns->erv, turns->bands) {
		if (erv->passed >= turns->bands) {
			return "a band is passed over for more than a round of epochs (rule DAR3)";
		}
	}
	return NULL;
}

/* Rules are checked after transactions, of which there may be none while bands are passed over. */
static void check_turn(struct nvw_machine *m)
{
#ifdef EMU_DEBUG
	const char *const broken = broken_turn(m->turns);

	if (broken && !m->error) {
		m->error = nvw_fail(NVW_E_MODEL, "protocol %s: %s", m->protocol->name, broken);
	}
#endif
}

/* The bands of the next epochs, by turns; 0 if nobody wants any. */
static uint32_t choose(struct nvw_machine *m)
{
	struct coh_turns *const turns = m->turns;
	const uint64_t most = turns->rules->many ? m->config.stc.at_once : 1;
	const unsigned from = turns->current + 1;
	uint32_t chosen = 0;

	turns->chosen_count = 0;
	for (unsigned i = 0; i < turns->bands && turns->chosen_count < most; i++) {
		const unsigned band = (from + i) % turns->bands;

		if (is_demanded(m, band)) {
			turns->chosen[turns->chosen_count++] = turns->erv[band].line;
			turns->erv[band].is_set = false;
			turns->current = band;
			chosen |= bit_of(band);
		}
	}
	count_passed(m, chosen);
	check_turn(m);
	return chosen;
}

/* Lines that have not been met since learn, by the old bands, of the epochs that they have missed. */
static void sweep(struct nvw_machine *m, struct emu_cu *cu)
{
	struct emu_cache *const l1 = &cu->l1;

	EMU_EACH_LINE(i, l1) {
		coh_l1_event(m, cu, &l1->lines[i], emu_cache_tag_at(l1, i), COH_L1_INVALIDATE, COH_BY_ACCESS,
			m->now);
		l1->lines[i].generation = l1->generation;
	}
}

/* The bands move by one bit, where the conflicts since the last change want it. The EMU forgets its demands
 * by old bands, of which the CUs remind it, and grants those bands of now in which it had chosen
 * addresses. */
static void move_bands(struct nvw_machine *m)
{
	struct coh_turns *const turns = m->turns;
	const int step = (turns->votes > 0) - (turns->votes < 0);

	turns->votes = 0;
	if (!turns->rules->adapts || !step || (step < 0 && turns->seb <= turns->seb_least) ||
		(step > 0 && turns->seb >= TURNS_SEB_MOST)) {
		return;
	}
	EMU_EACH_CU(cu, m) {
		sweep(m, cu);
	}
	turns->seb = (unsigned)((int)turns->seb + step);
	memset(turns->last_granted, 0, sizeof turns->last_granted);
	memset(turns->erv, 0, sizeof turns->erv);
	turns->next = 0;
	NVW_EACH(chosen, turns->chosen, turns->chosen_count) {
		turns->next |= bit_of(coh_band(turns, *chosen));
	}
	m->stats.stc_moves++;
}

/* The stores of the current epochs leave the BSQ, some from each bank per cycle; the others demand theirs
 * again. */
static void drain_bsq(struct nvw_machine *m, struct emu_cu *cu)
{
	struct turns_cu *const here = &m->turns->cu[cu->id];
	struct coh_wait *w = here->blocked, *next;
	unsigned left[TURNS_BANKS_MAX] = {0};

	here->blocked = NULL;
	here->blocked_end = &here->blocked;
	here->blocked_bands = 0;
	for (; w; w = next) {
		const emu_line_id id = w->request.line;
		const unsigned band = coh_band(m->turns, id),
			       bank = (unsigned)(emu_line_number(id) % m->config.stc.bsq_banks);

		next = w->next;
		if (m->turns->granted & bit_of(band)) {
			NVW_DEEP_INVARIANT(here->count > 0);
			here->count--;
			coh_wake(m, w, m->now + left[bank]++ / m->config.stc.bsq_drain * m->cycle_ps);
		} else {
			append(&here->blocked_end, w);
			here->blocked_bands |= bit_of(band);
			demand(m, cu, id, m->now);
		}
	}
}

static void let_in(struct nvw_machine *m, struct turns_cu *here)
{
	struct coh_wait *w = here->outside;

	NVW_DEEP_INVARIANT(is_cu_valid(here));
	if (is_full(m, here)) {
		return;
	}
	here->outside = NULL;
	here->outside_end = &here->outside;
	while (w) {
		struct coh_wait *const next = w->next;

		coh_wake(m, w, m->now + m->cycle_ps);
		w = next;
	}
}

static void enter_epochs(struct nvw_machine *m)
{
	struct coh_turns *const turns = m->turns;

	move_bands(m);
	NVW_DEEP_INVARIANT(turns_are_valid(turns) && turns->next != 0);
	turns->granted = turns->next;
	turns->changes++;
	NVW_FOR(band, turns->bands) {
		if (turns->granted & bit_of(band)) {
			turns->last_granted[band] = turns->changes;
			turns->erv[band].is_set = false;
		}
	}
	NVW_FOR(i, m->config.cus) {
		m->cus[i].l1.generation = turns->changes;
		turns->cu[i].stops = UINT64_MAX;
		turns->cu[i].demanded = 0;
		turns->cu[i].has_told = false;
	}
}

/* Whether the EMU has to wake again: stores wait, or it never sleeps; then, when it has slept, something else
 * goes on. */
static bool stays_awake(const struct nvw_machine *m)
{
	const bool goes_on =
		m->exec.event_count > m->exec.background || m->exec.groups_done == m->exec.groups;

	return NVW_ANY(cu, m->turns->cu, m->config.cus, cu->blocked) ||
	       (!m->turns->rules->skips && !m->scheduler.choose && goes_on);
}

static void rest(struct nvw_machine *m)
{
	struct coh_turns *const turns = m->turns;

	NVW_DEEP_INVARIANT(turns->emu != TURNS_ASLEEP);
	turns->emu = TURNS_ASLEEP;
	if (stays_awake(m)) {
		turns->emu = TURNS_WAKING;
		turns->due = emu_later(turns->tick + m->config.stc.wakeup, turns->ready);
		schedule(m, turns->due, wake_up, false);
	}
}

/* By how much the EMU's event is late. Its messages are sent now; their times are taken as if they had been
 * sent in time. */
static emu_time delay(const struct nvw_machine *m)
{
	NVW_DEEP_INVARIANT(m->now >= m->turns->at);
	return m->now - m->turns->at;
}

/* ChangeEpoch is at the last CU. */
static void change(struct nvw_machine *m, void *nothing)
{
	struct coh_turns *const turns = m->turns;
	emu_time last = m->now;

	NVW_DEEP_INVARIANT(m->exec.background > 0 && turns->emu == TURNS_CHANGING);
	m->exec.background--;
	enter_epochs(m);
	NVW_FOR(i, m->config.cus) {
		drain_bsq(m, &m->cus[i]);
		let_in(m, &turns->cu[i]);
		last = emu_later(last, to_emu(m, i, m->now));
	}
	turns->ready = last - delay(m);
	m->stats.stc_changes++;
	m->stats.stc_change_ps += turns->ready - turns->tick;
	rest(m);
}

static emu_time tell_all(struct nvw_machine *m, emu_time t, emu_time *arrivals)
{
	emu_time last = t;

	emu_network_broadcast(m, emu_node(m), EMU_MESSAGE_CONTROL, t, arrivals);
	NVW_EACH(arrival, arrivals, m->config.cus) {
		last = emu_later(last, *arrival);
	}
	return last;
}

/* PrepareEpochChange is at the last CU. Each answers when its writes are acknowledged; where one never is,
 * nothing goes on. */
static void prepared(struct nvw_machine *m, void *nothing)
{
	struct coh_turns *const turns = m->turns;
	emu_time last = m->now, arrivals[EMU_CUS_MAX];

	NVW_DEEP_INVARIANT(m->exec.background > 0 && turns->emu == TURNS_CHANGING);
	m->exec.background--;
	NVW_FOR(i, m->config.cus) {
		const struct turns_cu *const here = &turns->cu[i];

		if (here->pending) {
			return;
		}
		last = emu_later(last, to_emu(m, i, emu_later(m->now, here->acknowledged)));
	}
	schedule(m, tell_all(m, at_emu_clock(m, last), arrivals) - delay(m), change, false);
}

/* An EMU that never sleeps has gone on while no kernel ran: one change stands for those of that time. */
static void catch_up(struct nvw_machine *m)
{
	struct coh_turns *const turns = m->turns;
	uint64_t missed;

	if (turns->rules->skips || m->now < turns->due) {
		return;
	}
	missed = (m->now - turns->due) / m->config.stc.wakeup;
	if (!missed) {
		return;
	}
	m->stats.stc_changes += missed;
	m->stats.stc_idle += missed;
	turns->changes++;
	for (uint64_t i = 0; i < missed && i < turns->bands; i++) {
		const unsigned band = (unsigned)((turns->current + 1 + i) % turns->bands);

		turns->last_granted[band] = turns->changes;
		turns->erv[band].passed = 0;
	}
	turns->current = (unsigned)((turns->current + missed) % turns->bands);
	EMU_EACH_CU(cu, m) {
		cu->l1.generation = turns->changes;
	}
}

static void wake_up(struct nvw_machine *m, void *nothing)
{
	struct coh_turns *const turns = m->turns;
	emu_time arrivals[EMU_CUS_MAX], last;

	NVW_DEEP_INVARIANT(m->exec.background > 0 && turns->emu == TURNS_WAKING);
	m->exec.background--;
	catch_up(m);
	turns->tick = turns->ready = m->now;
	turns->next = choose(m);
	if (!turns->next) {
		rest(m);
		return;
	}
	turns->emu = TURNS_CHANGING;
	last = tell_all(m, m->now, arrivals);
	NVW_FOR(i, m->config.cus) {
		turns->cu[i].stops = arrivals[i];
	}
	schedule(m, last, prepared, false);
}

/* ---- Lines ----------------------------------------------------------------------------------- */

/* Whether the line's band has had an epoch since the line was last met. */
static bool has_missed_one(const struct coh_turns *turns, const struct emu_line *line, emu_line_id id)
{
	return turns->last_granted[coh_band(turns, id)] > line->generation;
}

void coh_line_drop_granted(struct coh_event *e)
{
	if (has_missed_one(e->m->turns, e->line, e->id)) {
		e->line->valid = 0;
		e->line->state = 0;
		e->m->stats.stc_invalidated++;
	}
}

/* ---- Rules ----------------------------------------------------------------------------------- */

static const char *broken_line(const struct nvw_machine *m, const struct emu_cu *cu, emu_line_id id)
{
	const struct emu_line *const line = coh_l1_line(cu, id);

	if (!line || !line->valid || has_missed_one(m->turns, line, id)) {
		return NULL;
	}
	if (m->turns->granted & bit_of(coh_band(m->turns, id))) {
		return "an L1 caches a line of a band that may be written (rule ER1)";
	}
	if (line->dirty) {
		return "an L1 keeps a store (rule ER2)";
	}
	if (coh_differs_below(m, line, id)) {
		return "an L1 has an old byte (rules ER1, ER2)";
	}
	return NULL;
}

static bool has_load(const struct coh_wait *w)
{
	while (w && (w->request.kind == NVW__STORE || w->request.kind >= NVW__ATOMIC_STORE)) {
		w = w->next;
	}
	return w;
}

/* ER 4: nothing but a full BSQ keeps a load. */
static const char *broken_read(const struct nvw_machine *m, const struct turns_cu *here)
{
	if (has_load(here->blocked)) {
		return "a read waits for an epoch (rule ER4)";
	}
	if (has_load(here->outside) && !is_full(m, here)) {
		return "a read waits for room in a queue that has some (rule ER4)";
	}
	return NULL;
}

/* DAR 2 and 3: what waits is demanded, or in the change under way, and the EMU will wake. */
static const char *broken_wait(const struct coh_turns *turns, const struct turns_cu *here)
{
	if (here->blocked && turns->emu == TURNS_ASLEEP) {
		return "a store waits while the EMU sleeps (rule DAR2)";
	}
	for (const struct coh_wait *w = here->blocked; w && turns->rules->skips; w = w->next) {
		if (!(here->demanded & bit_of(coh_band(turns, w->request.line)))) {
			return "a store waits for an epoch that nobody has demanded (rule DAR3)";
		}
	}
	return NULL;
}

const char *coh_turns_broken(const struct nvw_machine *m, emu_line_id id)
{
	const struct coh_turns *const turns = m->turns;
	const char *broken = turns->broken;

	if (!broken && turns->granted >> (turns->bands - 1) > 1) {
		return "an epoch has no band (rule DAR1)";
	}
	if (!broken) {
		broken = broken_turn(turns);
	}
	for (unsigned i = 0; i < m->config.cus && !broken; i++) {
		if (m->cus[i].l1.generation != turns->changes) {
			return "two CUs are in different epochs (rule ER3)";
		}
		broken = broken_wait(turns, &turns->cu[i]);
		if (!broken) {
			broken = broken_read(m, &turns->cu[i]);
		}
		if (!broken) {
			broken = broken_line(m, &m->cus[i], id);
		}
	}
	return NVW_OR(broken, coh_broken_dirty(m, id, COH_TURNS_DIRTY));
}

/* ---- A machine's life ------------------------------------------------------------------------ */

static void empty_cu(struct turns_cu *here)
{
	*here = (struct turns_cu){.stops = UINT64_MAX};
	here->blocked_end = &here->blocked;
	here->outside_end = &here->outside;
}

int coh_turns_init(struct nvw_machine *m)
{
	struct coh_turns *turns;

	if (!m->protocol->turns) {
		return 0;
	}
	m->turns = turns = calloc(1, sizeof *turns);
	if (turns) {
		turns->cu = calloc(m->config.cus, sizeof *turns->cu);
	}
	NVW_FAIL_IF(!turns || !turns->cu, NVW_E_MEMORY, "no memory for the epochs of %llu CUs",
		(unsigned long long)m->config.cus);
	turns->rules = m->protocol->turns;
	turns->bands = 1u << m->config.stc.bits;
	turns->seb = (unsigned)m->config.stc.seb;
	turns->seb_least = (unsigned)m->config.stc.seb_least;
	turns->granted = 1;
	NVW_EACH(cu, turns->cu, m->config.cus) {
		empty_cu(cu);
	}
	return 0;
}

void coh_turns_launch(struct nvw_machine *m)
{
	if (m->turns && !m->turns->rules->skips && !m->scheduler.choose) {
		demand_wakes(m, m->now);
	}
}

void coh_turns_forget(struct nvw_machine *m)
{
	m->exec.background = 0;
	if (!m->turns) {
		return;
	}
	m->turns->emu = TURNS_ASLEEP;
	NVW_EACH(cu, m->turns->cu, m->config.cus) {
		empty_cu(cu);
	}
}

void coh_turns_finish(struct nvw_machine *m)
{
	if (m->turns) {
		free(m->turns->cu);
	}
	free(m->turns);
}

/* ---- Names in the tables --------------------------------------------------------------------- */

#define X(name, text, part) const struct coh_action_info coh_##name = {name, text, COH_PART_##part};
COH_TURN_ACTIONS(X)
#undef X
