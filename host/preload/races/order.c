/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads of the detector of persistency races, and what orders them.
 *
 * The creation and the joining of threads order what they do in every run: clock. Atomics order it in this
 * run, perhaps not in another: hints, a clock that has both. A release at an address and a later acquire
 * there are kept in a table of addresses; one that is full forgets, and the hint is then missing. Each clock
 * there has a version: who has acquired it learns nothing from it until it changes.
 */
#include <fcntl.h>
#include <pthread.h>
#include <string.h>

#include "core/each.h"
#include "windows.h"

enum { CLOCKS_OF_THREADS = 1 << 11 }; /* the last parts are for those */

struct host_races *host_races;
bool host_checking;

struct host_releases *host_releases;

void host_check_attach(void)
{
	NVW_INVARIANT(!host_checking);

	const bool inside = host_self.inside;
	const int fd = host_open("races", -1, O_RDWR);

	host_self.inside = true; /* these mappings are not the program's */
	host_races = host_map(fd, 0, sizeof *host_races);
	host_releases = host_memory(sizeof *host_releases);
	host_self.inside = inside;
	host_close(fd);
	host_checking = host_races != NULL && host_releases != NULL;
}

void host_race_limit(enum host_race_limit limit)
{
	NVW_INVARIANT(limit < HOST_RACE_LIMIT_COUNT);
	__atomic_add_fetch(&host_races->limit[limit], 1, __ATOMIC_RELAXED);
}

/* ---- Clocks --------------------------------------------------------------------------------------- */

static inline uint32_t parts(void)
{
	const uint32_t threads = __atomic_load_n(&host_races->threads, __ATOMIC_RELAXED);

	return (uint32_t)nvw_min(
		(threads + HOST_RACE_COMPONENTS - 1) / HOST_RACE_COMPONENTS, HOST_RACE_PARTS);
}

/* Keeps a clock for records; 0 if there is no room. */
static uint32_t keep(const struct host_clock *c, uint32_t room)
{
	NVW_DEEP_INVARIANT(room <= HOST_RACE_CLOCKS && parts() > 0);

	const uint32_t n = parts();

	if (__atomic_load_n(&host_races->clocks, __ATOMIC_RELAXED) + n >= room) {
		return 0;
	}
	const uint32_t first = __atomic_fetch_add(&host_races->clocks, n, __ATOMIC_RELAXED) + 1;

	if (first + n > room) {
		return 0;
	}
	memcpy(&host_races->clock[first], c, n * sizeof *host_races->clock);
	return first * HOST_RACE_PARTS + n - 1;
}

/* True: that has changed it. */
static bool join(struct host_clock *to, const struct host_clock *from)
{
	uint32_t changes = 0;

	NVW_FOR(i, parts() * HOST_RACE_COMPONENTS) {
		const uint32_t joined = (uint32_t)nvw_max(to->of[i], from->of[i]);

		changes |= to->of[i] ^ joined;
		to->of[i] = joined;
	}
	return changes != 0;
}

/* They are known since the clock has changed. */
static void forget_loads(struct host_watched *w)
{
	NVW_DEEP_INVARIANT(w->known_count <= w->known_room);
	if (w->known_count > 0) {
		memset(w->known, 0, w->known_room * sizeof *w->known);
		w->known_count = 0;
	}
}

static void clock_changed(struct host_watched *w)
{
	NVW_DEEP_INVARIANT(w->number > 0 && w->number <= HOST_RACE_THREADS);
	w->clock = keep(&w->shared->clock, HOST_RACE_CLOCKS);
	w->hints = 0;
	forget_loads(w);
}

uint32_t host_hints(struct host_watched *w)
{
	if (w->hints == 0) {
		w->hints = keep(&w->shared->hints, HOST_RACE_CLOCKS - CLOCKS_OF_THREADS);
	}
	return w->hints;
}

/* ---- Threads -------------------------------------------------------------------------------------- */

static struct host_watched *new_thread(void)
{
	const uint32_t number = __atomic_add_fetch(&host_races->threads, 1, __ATOMIC_RELAXED);
	struct host_watched *w = NULL;

	if (number <= HOST_RACE_THREADS) {
		w = host_memory(sizeof *w);
	}
	if (w == NULL) {
		host_race_limit(HOST_RACE_MANY_THREADS);
		return NULL;
	}
	w->number = number;
	w->known = w->first_known;
	w->known_record = w->first_record;
	w->known_room = KNOWN_FIRST;
	w->shared = &host_races->thread[number];
	w->shared->process = getpid();
	return w;
}

/* Its own component begins, so that what it does comes after nothing that others know. */
static void begin_clocks(struct host_watched *w)
{
	NVW_INVARIANT(w->shared->clock.of[w->number - 1] == 0); /* nobody has known of it */
	w->shared->clock.of[w->number - 1] = 1;
	w->shared->hints.of[w->number - 1] = 1;
	clock_changed(w);
}

static void tick(struct host_watched *w)
{
	NVW_DEEP_INVARIANT(w->shared->clock.of[w->number - 1] > 0);
	w->shared->clock.of[w->number - 1]++;
	w->shared->hints.of[w->number - 1]++;
	clock_changed(w);
}

/* A thread that was not created by a function that we see. */
void host_watch_meets(void)
{
	NVW_INVARIANT(host_self.watched == NULL && host_self.inside);

	HOST_KEEPS_ERRNO;
	struct host_watched *const w = new_thread();

	if (w != NULL) {
		w->shared->self = (uint64_t)pthread_self();
		begin_clocks(w);
	}
	host_self.watched = w;
	host_self.unwatched = w == NULL;
	host_self.inside = w != NULL;
}

static struct host_watched *enter(void *created)
{
	struct host_watched *const w = created;

	NVW_INVARIANT(!w->start != !w->start_c11);
	host_self.watched = w;
	w->shared->self = (uint64_t)pthread_self();
	return w;
}

static void *start(void *created)
{
	const struct host_watched *const w = enter(created);

	return w->start(w->argument);
}

static int start_c11(void *created)
{
	const struct host_watched *const w = enter(created);

	return w->start_c11(w->argument);
}

/* The creator's clock, so far, comes before the thread. */
void host_check_creates(void *(**ret_start)(void *), int (**ret_start_c11)(void *), void **argument)
{
	struct host_watched *const creator = host_watch_begins();

	if (creator == NULL) {
		return;
	}
	struct host_watched *const w = new_thread();

	if (w != NULL) {
		w->argument = *argument;
		*argument = w;
		if (ret_start != NULL) {
			w->start = *ret_start;
			*ret_start = start;
		} else {
			w->start_c11 = *ret_start_c11;
			*ret_start_c11 = start_c11;
		}
		w->shared->clock = creator->shared->clock;
		w->shared->hints = creator->shared->hints;
		begin_clocks(w);
		tick(creator);
	}
	host_watch_ends();
}

/* The latest thread of that name: names of threads that have ended are used again. */
static struct host_race_thread *thread_named(uint64_t self, int32_t process)
{
	for (uint32_t i = (uint32_t)nvw_min(host_races->threads, HOST_RACE_THREADS); i > 0; i--) {
		if (host_races->thread[i].self == self && host_races->thread[i].process == process) {
			return &host_races->thread[i];
		}
	}
	return NULL;
}

HOST_EXPORT void nvwave_joined_1(pthread_t thread);

HOST_EXPORT void nvwave_joined_1(pthread_t thread)
{
	struct host_watched *const w = host_watch_begins();

	if (w == NULL) {
		return;
	}
	struct host_race_thread *const ended = thread_named((uint64_t)thread, w->shared->process);

	if (ended != NULL && ended != w->shared) {
		join(&w->shared->clock, &ended->clock);
		join(&w->shared->hints, &ended->hints);
		clock_changed(w);
		ended->joined = true;
	}
	host_watch_ends();
}

/* ---- Atomics -------------------------------------------------------------------------------------- */

/* The entry of an address, perhaps new; NULL: there is no room. */
static struct host_released *released_at(uintptr_t address)
{
	for (;;) {
		struct host_released *const r = host_released_at(address);
		uintptr_t found = 0;

		if (r == NULL || __atomic_load_n(&r->address, __ATOMIC_ACQUIRE) == address ||
			__atomic_compare_exchange_n(
				&r->address, &found, address, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
			return r;
		}
	}
}

static void hold(struct host_released *r)
{
	while (__atomic_exchange_n(&r->busy, 1, __ATOMIC_ACQUIRE)) {
	}
}

static void let_go(struct host_released *r)
{
	NVW_DEEP_INVARIANT(r->busy == 1);
	__atomic_store_n(&r->busy, 0, __ATOMIC_RELEASE);
}

void host_check_release(const void *address)
{
	struct host_watched *const w = host_watch_begins();
	struct host_released *r;

	if (w == NULL) {
		return;
	}
	r = released_at((uintptr_t)address);
	if (r != NULL) {
		uint64_t bit, *const line = host_released_line((uintptr_t)address, &bit);
		uint32_t *const acquired = &w->acquired[r - host_releases->at];

		hold(r);
		join(&host_releases->hints[r - host_releases->at], &w->shared->hints);
		*acquired += *acquired == r->version; /* it knows what it adds */
		if (!(__atomic_load_n(line, __ATOMIC_RELAXED) & bit)) {
			__atomic_or_fetch(line, bit, __ATOMIC_RELEASE);
		}
		__atomic_store_n(&r->version, r->version + 1, __ATOMIC_RELEASE);
		let_go(r);
		w->shared->hints.of[w->number - 1]++;
		w->hints = 0;
	}
	host_watch_ends();
}

void host_acquire(struct host_watched *w, const void *address)
{
	struct host_released *const r = host_new_release(w, address);

	if (r == NULL) {
		return;
	}
	hold(r);
	const bool learns = join(&w->shared->hints, &host_releases->hints[r - host_releases->at]);

	NVW_DEEP_INVARIANT(r->busy == 1);
	w->acquired[r - host_releases->at] = r->version;
	let_go(r);
	if (learns) {
		w->hints = 0;
	}
}
