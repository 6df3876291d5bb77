/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads that take turns (turns.h): one runs, the others wait for their futex. A thread gives its turn away
 * at a point, where it waits for another, and at its end.
 *
 * Time is of the schedule, too: it passes a little at every point, and jumps to where the first sleeper
 * wakes when nobody else can go on. So sleeps cost nothing, and are the same in every run.
 *
 * Who waits for descriptors is asked about when a thread has used one, and when nobody can go on. If another
 * process may make them ready, the last resort is to wait, as the computer does.
 *
 * A thread that looks often and changes nothing *polls*: it goes on when another has changed something of
 * what it looks at, or when all poll. Who looks at many lines is mostly on its way through data, and polls
 * later in a long run. If nothing changes for very long, nothing ever will.
 */
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/each.h"
#include "turns.h"

enum {
	LOOKS = 64,          /* then a thread polls */
	LOOKS_AROUND = 1024, /* the same where it looks at many lines, after so many times: */
	AROUND = 4096,
	AT_A_TIME = 10000,   /* points of a thread, then others go first */
	POINT_NS = 100,      /* a point takes this long */
	UNCHANGED = 1 << 24, /* looks in a row after which nothing will change any more */
	YIELD_WEIGHT = 128,  /* looks that a yield stands for */
	PLACE_PROBES = 16,
	ASK_EVERY = 64, /* points, where another process may make descriptors ready */
	DESCRIPTORS = 1024,
	MS_NS = 1000000,
};

static const uint64_t SECOND_NS = 1000000000, QUIET_NS = 30 * SECOND_NS;

struct host_schedule *host_schedule;
bool host_scheduling;
struct host_turns host_turns;

static struct host_turn room[HOST_SCHEDULE_THREADS + 1]; /* by number */
static struct {
	uint64_t now, first_until, waits, unchanged;
	int32_t ending;  /* id of the thread that gave its turn away at its end, and may still be there */
	unsigned around; /* times that who looked at many lines was taken to poll */
	bool some_poll;
	bool ask, outside;             /* about descriptors; another process may make them ready */
	unsigned waiting_for, unasked; /* threads that wait for some; points since they were asked about */
} all = {.now = UINT64_C(1000000000) * UINT64_C(1000000000), .first_until = UINT64_MAX};

uint64_t host_turn_now(void)
{
	all.now += POINT_NS;
	return all.now;
}

void host_turn_pass(uint64_t until)
{
	all.now = nvw_max(all.now, until);
}

const struct host_turn *host_turn_named(uint64_t self)
{
	uint32_t i = host_schedule->threads;

	while (i > 0 && room[i].self != self) {
		i--;
	}
	return i > 0 ? &room[i] : NULL;
}

/* ---- The end of the program ------------------------------------------------------------------------ */

__attribute__((noreturn)) static void stop(void)
{
	while (true) {
		kill(getpid(), SIGKILL);
	}
}

void host_schedule_refuse(const char *why)
{
	HOST_COPY_TEXT(host_schedule->refused, why);
	host_schedule->end = HOST_SCHEDULE_REFUSED;
	stop();
}

static uint32_t site_of(void *place)
{
	const struct host_caller caller = {.address = place};
	const bool inside = host_self.inside;

	host_self.inside = true; /* the lock is not the program's */
	host_lock();
	const uint32_t site = host_site(&caller);

	host_unlock();
	host_self.inside = inside;
	return site;
}

/* Nobody can go on. */
__attribute__((noreturn)) static void stuck(enum host_schedule_end how)
{
	NVW_INVARIANT(how == HOST_SCHEDULE_DEADLOCK || how == HOST_SCHEDULE_POLLS);
	HOST_EACH_TURN(t) {
		host_schedule->thread[t->number].site = t->place ? site_of(t->place) : 0;
		host_schedule->thread[t->number].alive = true;
		host_schedule->thread[t->number].waits =
			t->state == TURN_WAITS ? t->waits : HOST_WAIT_NOTHING;
	}
	if (host_schedule->end != HOST_SCHEDULE_REFUSED) { /* by another process */
		host_schedule->end = how;
	}
	stop();
}

/* ---- Waiting for a turn ---------------------------------------------------------------------------- */

static void wait_for_turn(struct host_turn *t)
{
	while (__atomic_load_n(&t->go, __ATOMIC_ACQUIRE) == 0) {
		syscall(SYS_futex, &t->go, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
	}
	t->go = 0;
	t->at_a_time = 0;
	host_schedule->running = t->tid;
	/* What a thread leaves to the next one, a stack or a heap, it leaves at its very end. */
	while (all.ending != 0 && syscall(SYS_tgkill, getpid(), all.ending, 0) == 0) {
		syscall(SYS_sched_yield);
	}
	all.ending = 0;
}

static void give_turn(struct host_turn *to)
{
	NVW_INVARIANT(host_turn_may_go(to));
	host_schedule->running = 0;
	__atomic_store_n(&to->go, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &to->go, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* ---- Waking --------------------------------------------------------------------------------------- */

static void find_first_until(void)
{
	NVW_INVARIANT(host_turns.count <= HOST_SCHEDULE_THREADS);
	all.first_until = UINT64_MAX;
	HOST_EACH_TURN(t) {
		if (t->state == TURN_WAITS && t->until > 0) {
			all.first_until = nvw_min(all.first_until, t->until);
		}
	}
}

static void wake(struct host_turn *t, bool timed_out)
{
	NVW_INVARIANT(t->state == TURN_WAITS);

	const bool timed = t->until > 0;

	t->state = TURN_CAN_RUN;
	t->timed_out = timed_out;
	t->polls = false;
	t->until = 0;
	if (timed) {
		find_first_until();
	}
}

static void wake_first(void)
{
	while (all.now >= all.first_until) {
		HOST_EACH_TURN(t) {
			if (t->state == TURN_WAITS && t->until > 0 && t->until <= all.now) {
				wake(t, true);
			}
		}
	}
}

static inline void wake_sleepers(void)
{
	if (all.now >= all.first_until) {
		wake_first();
	}
}

/* NULL: nobody waits for it. */
static struct host_turn *first_waiting(const void *object)
{
	struct host_turn *first = NULL;

	HOST_EACH_TURN(t) {
		if (t->state == TURN_WAITS && t->object == object &&
			(first == NULL || t->since < first->since)) {
			first = t;
		}
	}
	return first;
}

void host_turn_wake(const void *object, unsigned n)
{
	for (struct host_turn *t; n > 0 && (t = first_waiting(object)) != NULL; n--) {
		wake(t, false);
	}
}

/* A thread ends, and may be a lock's owner: where the lock is robust, those who try again get it. */
static void wake_heirs(void)
{
	HOST_EACH_TURN(t) {
		if (t->state == TURN_WAITS && t->waits == HOST_WAIT_MUTEX) {
			wake(t, false);
		}
	}
}

/* ---- Descriptors ---------------------------------------------------------------------------------- */

/* What is wrong with a descriptor its thread's own call will tell. */
static bool is_ready(const struct host_turn *t)
{
	const struct timespec none = {.tv_sec = 0};

	return t->state == TURN_WAITS && t->fds != NULL &&
	       syscall(SYS_ppoll, t->fds, t->fd_count, &none, NULL, 0) != 0;
}

/* False: nobody was woken. */
static bool wake_ready(void)
{
	HOST_KEEPS_ERRNO;
	bool woken = false;

	all.ask = false;
	all.unasked = 0;
	HOST_EACH_TURN(t) {
		if (is_ready(t)) {
			wake(t, false);
			woken = true;
		}
	}
	return woken;
}

static void ask_in_time(void)
{
	if (all.ask || (all.outside && ++all.unasked >= ASK_EVERY)) {
		wake_ready();
	}
}

/* All that some thread waits for. */
static unsigned gather(struct pollfd to[DESCRIPTORS])
{
	unsigned n = 0;

	HOST_EACH_TURN(t) {
		if (t->fds == NULL) {
			continue;
		}
		if (t->fd_count > DESCRIPTORS - n) {
			host_schedule_refuse("its threads wait for more than 1,024 descriptors");
		}
		memcpy(to + n, t->fds, t->fd_count * sizeof *to);
		n += t->fd_count;
	}
	return n;
}

/* Of the computer. */
static uint64_t real_ns(void)
{
	struct timespec t;

	syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * SECOND_NS + (uint64_t)t.tv_nsec;
}

/* For so long, or until one is ready: the schedule's time passes with it. */
static bool wait_outside(uint64_t ns)
{
	static struct pollfd fds[DESCRIPTORS];
	const struct timespec most = {.tv_sec = (time_t)(ns / SECOND_NS), .tv_nsec = (long)(ns % SECOND_NS)};
	const unsigned n = gather(fds);
	const uint64_t began = real_ns();

	host_schedule->running = 0;
	const long ready = syscall(SYS_ppoll, fds, n, &most, NULL, 0);

	all.now += ready == 0 ? ns : nvw_min(real_ns() - began, ns);
	return ready != 0;
}

void host_turn_ask(void)
{
	all.ask = true;
}

void host_turn_outside(void)
{
	all.outside = true;
}

/* ---- Who goes next --------------------------------------------------------------------------------- */

/* The next by number that may go; itself last; NULL: none. */
static struct host_turn *next_after(const struct host_turn *t)
{
	struct host_turn *first = NULL;

	HOST_EACH_TURN(o) {
		if (!host_turn_may_go(o)) {
			continue;
		}
		if (o->number > t->number) {
			return o;
		}
		if (first == NULL) {
			first = o;
		}
	}
	return first;
}

/* Lines are kept: it may look at the same ones. */
static void look_again(struct host_turn *t)
{
	t->polls = false;
	t->looks = 0;
	if (t->more) {
		t->lines = 0;
		t->more = false;
	}
}

static void stop_polling(void)
{
	for (unsigned i = 0; all.some_poll && i < host_turns.count; i++) {
		look_again(host_turns.of[i]);
	}
	all.some_poll = false;
}

static bool has_seen(const struct host_turn *t, const void *object)
{
	return NVW_ANY(line, t->line, t->lines, *line == (uintptr_t)object / HOST_LINE);
}

/* Those who poll for it look again. */
static void stop_polling_for(const void *object, bool any)
{
	bool some_poll = false;

	HOST_EACH_TURN(t) {
		if (t->polls && (t->more ? any : has_seen(t, object))) {
			look_again(t);
		}
		some_poll = some_poll || t->polls;
	}
	all.some_poll = some_poll;
}

static void see(struct host_turn *t, const void *object)
{
	NVW_DEEP_INVARIANT(t->lines <= TURN_LINES && !has_seen(t, object));
	if (object == NULL || t->lines == TURN_LINES) {
		t->more = true;
	} else {
		t->line[t->lines++] = (uintptr_t)object / HOST_LINE;
	}
}

void host_turn_changes(void)
{
	all.unchanged = 0;
	stop_polling();
}

/* Nobody may go, and another process may change that. */
static void go_on_outside(void)
{
	uint64_t most = QUIET_NS;

	if (all.some_poll) {
		most = MS_NS;
	} else if (all.first_until != UINT64_MAX) {
		most = all.first_until - all.now;
	}
	if (!wait_outside(most) && most == QUIET_NS && all.first_until == UINT64_MAX) {
		stuck(HOST_SCHEDULE_DEADLOCK);
	}
	wake_ready();
	wake_sleepers();
	host_turn_changes();
}

/* Nobody may go: a descriptor is ready, time passes, or those who poll look again. */
static void go_on(void)
{
	NVW_INVARIANT(all.waiting_for <= host_turns.count);
	if (all.unchanged > UNCHANGED) {
		stuck(HOST_SCHEDULE_POLLS);
	}
	if (all.waiting_for > 0 && wake_ready()) {
		all.unchanged += YIELD_WEIGHT;
		return;
	}
	if (all.waiting_for > 0 && all.outside) {
		go_on_outside();
		return;
	}
	if (all.first_until != UINT64_MAX) {
		all.now = nvw_max(all.now, all.first_until);
		all.unchanged += YIELD_WEIGHT;
		wake_sleepers();
	} else if (all.some_poll) {
		stop_polling();
	} else {
		stuck(HOST_SCHEDULE_DEADLOCK);
	}
}

/* It may not go on. */
static struct host_turn *default_of(struct host_turn *t)
{
	struct host_turn *next = next_after(t);
	HOST_KEEPS_ERRNO;

	while (next == NULL) {
		go_on();
		next = next_after(t);
	}
	NVW_INVARIANT(host_turn_may_go(next));
	return next;
}

static void note_switch(const struct host_turn *t, const struct host_turn *next)
{
	if (host_schedule->switches < HOST_SCHEDULE_SWITCHES) {
		host_schedule->made[host_schedule->switches++] =
			(struct host_switch){.from = t->number, .to = next->number, .point = t->point};
	}
}

static inline struct host_turn *choose(struct host_turn *t, bool exposed)
{
	if (all.waiting_for > 0) {
		ask_in_time();
	}
	struct host_turn *const default_ = host_turn_may_go(t) ? t : default_of(t);
	struct host_turn *next = default_;

	if (host_schedule->switches == HOST_SCHEDULE_SWITCHES) {
		host_schedule->many = true;
	} else if (host_turns.count > 1) {
		next = host_policy_choose(t, exposed, default_);
	}
	if (next != default_) {
		note_switch(t, next);
	}
	NVW_INVARIANT(host_turn_may_go(next));
	return next;
}

/* Gives the turn away where another thread is chosen. */
static inline void take_turns(struct host_turn *t, bool exposed)
{
	struct host_turn *const next = choose(t, exposed);

	if (next != t) {
		HOST_KEEPS_ERRNO;

		give_turn(next);
		wait_for_turn(t);
	}
}

/* ---- Points --------------------------------------------------------------------------------------- */

/* Who looks at many lines does not wait, but lets others go on between its looks: that finds more, so it is
 * given up only in a long run. */
static inline bool seems_to_poll(const struct host_turn *t)
{
	const bool around = t->lines == TURN_LINES;

	if (t->looks <= LOOKS || (around && all.around == AROUND && t->looks <= LOOKS_AROUND)) {
		return false;
	}
	all.around += around && all.around < AROUND;
	return true;
}

static void poll_from_now(struct host_turn *t)
{
	NVW_DEEP_INVARIANT(t->state == TURN_CAN_RUN);
	t->polls = true;
	t->looks = 0;
	t->at_a_time = 0;
	all.some_poll = true;
}

/* Beyond the room places are not counted. */
static void count_place(struct host_access_place *table, void *place)
{
	const uint64_t code = (uintptr_t)place, hash = code * UINT64_C(0x9e3779b97f4a7c15) >> 40;

	NVW_FOR(i, PLACE_PROBES) {
		struct host_access_place *const p = &table[(hash + i) % HOST_SCHEDULE_PLACES];

		if (p->code == 0 && host_schedule->plan.directed) {
			p->site = site_of(place);
		}
		if (p->code == 0 || p->code == code) {
			p->code = code;
			p->exposed++;
			return;
		}
	}
}

/* What it was about to change at its last point has changed. */
static inline void tell_of_change(struct host_turn *t)
{
	const struct host_changing c = t->changing;

	if (c.object != NULL || c.any) {
		t->changing = (struct host_changing){.object = NULL};
		if (all.some_poll) {
			stop_polling_for(c.object, c.any);
		}
	}
}

/* What it has not tried to change before, it may change now. */
static void look_at(struct host_turn *t, enum host_point what, const void *object)
{
	t->looks++;
	all.unchanged++;
	if (has_seen(t, object)) {
		return;
	}
	see(t, object);
	if (what == HOST_AT_ATOMIC) {
		t->changing = (struct host_changing){.object = object};
	}
}

/* Counts it, and what it tells of the thread. True: between its store and its flush or fence. */
static bool note_point(struct host_turn *t, enum host_point what, const void *object)
{
	const bool stores =
		what == HOST_AT_STORE || (what == HOST_AT_ATOMIC && host_mapping_of(object) != NULL);
	const bool flushes = what == HOST_AT_FLUSH || what == HOST_AT_FENCE, exposed = flushes && t->stored;

	struct host_schedule_length *const l = &host_schedule->length;

	tell_of_change(t);
	l->points++;
	l->exposed += exposed;
	if (host_schedule->plan.directed && stores) {
		count_place(l->place, t->place);
	} else if (host_schedule->plan.directed && what == HOST_AT_LOAD) {
		count_place(l->load, t->place);
	} else if (exposed && !host_schedule->plan.directed) {
		count_place(l->place, t->store_place);
	}
	t->point++;
	all.now += POINT_NS;
	if (what == HOST_AT_STORE || exposed) {
		t->looks = t->lines = 0;
		t->more = false;
		all.unchanged = 0;
		t->changing = (struct host_changing){.object = exposed ? NULL : object, .any = true};
	} else if (what <= HOST_AT_LOOK) {
		look_at(t, what, object);
	}
	if (stores || what == HOST_AT_FENCE) {
		t->stored = stores;
	}
	if (stores) {
		t->store_place = t->place;
		t->stores_to = object;
	}
	return exposed;
}

void host_turn_point(enum host_point what, const void *object, void *place)
{
	NVW_DEEP_INVARIANT(host_self.turn != NULL);

	struct host_turn *const t = host_self.turn;

	host_self.turn = NULL;                           /* a signal's handler takes no part */
	t->before = place != t->place ? t->place : NULL; /* a locked instruction has two points */
	t->place = place;
	t->stored_to = t->stores_to;
	t->stores_to = NULL;
	t->at = object;
	const bool exposed = note_point(t, what, object);

	wake_sleepers();
	if (seems_to_poll(t)) {
		poll_from_now(t);
	} else if (++t->at_a_time > AT_A_TIME) {
		t->more = true;
		poll_from_now(t);
	}
	take_turns(t, exposed);
	host_self.turn = t;
}

void host_turn_yield(void *place)
{
	NVW_INVARIANT(host_self.turn != NULL);

	struct host_turn *const t = host_self.turn;

	all.unchanged += YIELD_WEIGHT;
	t->more = true;
	poll_from_now(t);
	host_turn_point(HOST_AT_SYNC, NULL, place);
}

bool host_turn_wait(enum host_wait what, const void *object, uint64_t until, void *place)
{
	NVW_INVARIANT(host_self.turn != NULL && host_self.turn->state == TURN_CAN_RUN);
	NVW_INVARIANT(what > HOST_WAIT_NOTHING && what <= HOST_WAIT_DESCRIPTORS);

	struct host_turn *const t = host_self.turn;

	if (until > 0 && until <= all.now) {
		return false;
	}
	host_self.turn = NULL;
	tell_of_change(t);
	t->place = place;
	t->state = TURN_WAITS;
	t->waits = (uint8_t)what;
	t->object = object;
	t->until = until;
	t->since = ++all.waits;
	if (until > 0) {
		all.first_until = nvw_min(all.first_until, until);
	}
	take_turns(t, false);
	t->object = NULL;
	host_self.turn = t;
	return !t->timed_out;
}

bool host_turn_wait_for(struct pollfd *fds, unsigned n, uint64_t until, void *place)
{
	NVW_INVARIANT(host_self.turn->fds == NULL);

	struct host_turn *const t = host_self.turn;

	t->fds = fds;
	t->fd_count = n;
	all.waiting_for++;
	const bool ready = host_turn_wait(HOST_WAIT_DESCRIPTORS, NULL, until, place);

	NVW_INVARIANT(all.waiting_for > 0);
	all.waiting_for--;
	t->fds = NULL;
	return ready;
}

/* ---- Threads -------------------------------------------------------------------------------------- */

struct host_turn *host_turn_new(void)
{
	NVW_INVARIANT(host_turns.count <= host_schedule->threads);
	if (host_schedule->threads == HOST_SCHEDULE_THREADS) {
		host_schedule_refuse("it has more than 1,024 threads");
	}
	struct host_turn *const t = &room[++host_schedule->threads];

	*t = (struct host_turn){.number = (uint16_t)host_schedule->threads};
	host_policy_meets(t);
	host_turns.of[host_turns.count++] = t;
	host_schedule->alive = host_turns.count;
	return t;
}

static void remove_turn(const struct host_turn *t)
{
	NVW_INVARIANT(host_turns.count > 0);

	unsigned kept = 0;

	NVW_FOR(i, host_turns.count) {
		if (host_turns.of[i] != t) {
			host_turns.of[kept++] = host_turns.of[i];
		}
	}
	host_turns.count = kept;
	NVW_INVARIANT(kept <= host_schedule->threads);
	host_schedule->alive = kept;
}

void host_turn_drop(struct host_turn *t)
{
	NVW_INVARIANT(t->state != TURN_ENDED);
	remove_turn(t);
	t->state = TURN_ENDED;
}

void host_turn_begin(struct host_turn *t)
{
	NVW_INVARIANT(t->tid == 0 && host_self.turn == NULL);
	t->tid = (int32_t)syscall(SYS_gettid);
	wait_for_turn(t);
	host_self.turn = t;
}

void host_turn_end(struct host_turn *t)
{
	host_self.turn = NULL;
	host_turn_drop(t);
	host_turn_changes();
	host_turn_wake(t, UINT32_MAX);
	wake_heirs();
	t->point++;
	if (host_turns.count > 0) {
		struct host_turn *const next = choose(t, false);

		all.ending = t->tid;
		give_turn(next);
	}
}
