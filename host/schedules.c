/* SPDX-License-Identifier: BSD-3-Clause */
/* See schedules.h. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include <nvw/random.h>

#include "core/bounds.h"
#include "core/each.h"
#include "schedules.h"
#include "core/invariant.h"
#include "core/zeroed.h"

#include "source/frames.h"

/* ---- Before the run ------------------------------------------------------------------------------- */

enum { POLICIES_IN_TURN = 4, MORE_OFTEN = 4 };

static unsigned count_places(const struct host_schedule_length *first)
{
	unsigned n = 0;

	NVW_EACH_IN(place, first->place) {
		n += place->exposed > 0;
	}
	return n;
}

/* The place of that number, from 0, by hash. */
static const struct host_access_place *place_number(const struct host_schedule_length *first, unsigned number)
{
	NVW_INVARIANT(number < count_places(first));

	const struct host_access_place *p = first->place;

	while (p->exposed == 0 || number-- > 0) {
		p++;
	}
	return p;
}

/* One of the times that it was executed, each as likely as another; directed, in half of the cases some
 * others, too. */
static struct host_aim draw_aim(const struct host_access_place *p, bool directed, struct nvw_random *random)
{
	NVW_INVARIANT(p->exposed > 0);

	struct host_aim aim = {
		.code = p->code, .nth = 1 + nvw_random_below(random, p->exposed), .ahead = p->loads};

	if (directed && nvw_random_below(random, 2) == 1) {
		aim.rarely = 1 + (p->exposed >> nvw_random_below(random, MORE_OFTEN));
	}
	return aim;
}

static bool is_aim(const struct host_schedule_plan *plan, uint64_t code)
{
	return NVW_ANY(aim, plan->aim, plan->aims, aim->code == code);
}

/* Plans take turns with the places. A directed one has others beside. Where there are many, a thread that
 * has read a store may be held itself, before it has made anything durable: so some plans have one. A thread
 * that is held behind its first store does not come to its second: so some have one where there are two. */
static void draw_aims(struct host_schedule_plan *plan, const struct host_schedule_length *first)
{
	const unsigned places = count_places(first);
	struct nvw_random random = {nvw_mix64(plan->seed + 1) ^ nvw_mix64(plan->number)};
	const unsigned bits = 63 - (unsigned)__builtin_clzll(places | 1);
	const uint64_t doublings = nvw_min(HOST_SCHEDULE_AIMS_LOG2, bits) * plan->directed;
	const uint64_t most = UINT64_C(1) << nvw_random_below(&random, doublings + 1);
	uint64_t number = plan->seed + plan->number / POLICIES_IN_TURN;

	for (unsigned i = 0; i < most && places > 0; i++) {
		const struct host_access_place *const p = place_number(first, (unsigned)(number % places));

		if (!is_aim(plan, p->code)) {
			plan->aim[plan->aims++] = draw_aim(p, plan->directed, &random);
		}
		number = nvw_random_below(&random, places);
	}
	NVW_INVARIANT(plan->aims <= HOST_SCHEDULE_AIMS);
	plan->mixed = plan->directed && nvw_random_below(&random, 2) == 1;
}

struct host_schedule_plan host_schedule_plan_of(uint64_t seed, uint64_t number, unsigned depth, bool directed,
	const struct host_schedule_length *first)
{
	NVW_INVARIANT(number > 0);

	static const enum host_policy turns[POLICIES_IN_TURN] = {
		HOST_POLICY_STORES, HOST_POLICY_PRIORITIES, HOST_POLICY_RANDOM, HOST_POLICY_PLACES};
	struct host_schedule_plan plan = {.seed = seed,
		.number = number,
		.depth = depth,
		.policy = HOST_POLICY_PLAIN,
		.points = first->points,
		.exposed = first->exposed,
		.directed = directed};

	if (number > 1 && directed) {
		plan.policy = HOST_POLICY_PLACES;
	} else if (number > 1) {
		plan.policy = turns[number % POLICIES_IN_TURN];
	}
	if (plan.policy == HOST_POLICY_PLACES) {
		draw_aims(&plan, first);
	}
	return plan;
}

/* line: FILE:LINE, the end of a path and a number. */
static bool is_named(const struct host_place *p, const char *line)
{
	const char *const colon = strrchr(line, ':');
	const size_t length = strlen(p->file);

	if (colon == NULL || colon == line || strtoul(colon + 1, NULL, 10) != p->line) {
		return false;
	}
	const size_t wanted = (size_t)(colon - line);

	if (wanted > length) {
		return false;
	}
	const char *const end = p->file + length - wanted;

	return memcmp(end, line, wanted) == 0 && (end == p->file || end[-1] == '/');
}

/* The line, or one that it is inlined at. */
static bool is_at(const struct host_session *s, uint32_t site, const char *line)
{
	struct host_place p[HOST_INLINED_MAX];
	const unsigned n = host_places_of(s->control, site, p);

	return NVW_ANY(place, p, n, is_named(place, line));
}

int host_schedule_direct(struct host_session *s, const char *line)
{
	NVW_INVARIANT(s->schedule != NULL);

	struct host_schedule_length *const l = &s->schedule->length;
	unsigned wanted = 0;

	NVW_EACH_IN(place, l->place) {
		const bool is_wanted = place->exposed > 0 && is_at(s, place->site, line);

		wanted += is_wanted;
		place->exposed *= is_wanted;
	}
	NVW_FAIL_IF(wanted == 0, NVW_E_INPUT,
		"--switch-at=%s: no store of that line was executed while threads took turns", line);
	return 0;
}

const char *host_policy_name(uint32_t policy)
{
	static const char *const names[] = {HOST_POLICIES(HOST_TEXT)};

	NVW_INVARIANT(policy < NVW_COUNT(names));
	return names[policy];
}

/* With holes: what is not used takes no memory. */
int host_schedule_make(
	struct host_session *s, const struct host_schedule_plan *plan, const struct host_switch *list)
{
	NVW_INVARIANT(s->schedule == NULL);
	NVW_INVARIANT(list == NULL || plan->switches <= HOST_SCHEDULE_SWITCHES);

	const int fd = nvw_folder_create(&s->folder, "schedule", sizeof *s->schedule);
	void *at = MAP_FAILED;

	if (fd >= 0) {
		at = mmap(NULL, sizeof *s->schedule, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	}
	host_close(fd);
	NVW_FAIL_ERRNO_IF(at == MAP_FAILED, "%s/schedule", s->folder.path);
	s->schedule = at;
	s->schedule->plan = *plan;
	if (list != NULL) {
		memcpy(s->schedule->list, list, plan->switches * sizeof *list);
	}
	return 0;
}

void host_schedule_close(struct host_session *s)
{
	nvw__unmap(s->schedule, sizeof *s->schedule);
}

/* ---- While it runs -------------------------------------------------------------------------------- */

enum { ASLEEP_SECONDS = 5, RUNNING_SECONDS = 120 };

static double seconds_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The thread's state in the kernel, a letter, and its time on a processor; false: it is gone. */
static bool state_of(int32_t process, int32_t thread, char *ret_state, uint64_t *ret_ticks)
{
	char path[64], line[1024];
	unsigned long long user, kernel;

	snprintf(path, sizeof path, "/proc/%d/task/%d/stat", process, thread);
	FILE *const f = fopen(path, "re");

	if (f == NULL) {
		return false;
	}
	line[fread(line, 1, sizeof line - 1, f)] = '\0';
	fclose(f);
	const char *const behind = strrchr(line, ')'); /* of its name */

	if (behind == NULL || sscanf(behind, ") %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu",
				      ret_state, &user, &kernel) != 3) {
		return false;
	}
	*ret_ticks = user + kernel;
	return true;
}

/* With the place of the thread whose turn it is, if it may be looked into. */
static void refuse(struct host_session *s, const char *why)
{
	NVW_INVARIANT(s->schedule != NULL);

	char place[200];

	nvw__process_place(s->schedule->running, place, sizeof place);
	snprintf(s->schedule->refused, sizeof s->schedule->refused, "%s%s%s", why, *place ? ", at " : "",
		place);
	s->schedule->end = HOST_SCHEDULE_REFUSED;
	kill(s->schedule->process, SIGKILL);
}

/* Counts the time since its last point: asleep without a pause, or running. */
void host_schedule_watch(struct host_session *s, struct host_stall *stall)
{
	const struct host_schedule *const c = s->schedule;
	const double before = stall->at, now = seconds_now();
	double passed = 0;
	int32_t thread;
	uint64_t ticks;
	char state;

	stall->at = now;
	if (before > 0) {
		passed = now - before;
	}
	if (c == NULL || (thread = __atomic_load_n(&c->running, __ATOMIC_RELAXED)) == 0 ||
		c->end != HOST_SCHEDULE_RAN || c->alive < 2 ||
		!state_of(c->process, thread, &state, &ticks)) {
		return;
	}
	if (stall->points != c->length.points) {
		*stall = (struct host_stall){.points = c->length.points, .ticks = ticks, .at = now};
	} else if (state == 'S' && ticks == stall->ticks) {
		stall->seconds += passed;
	} else {
		stall->running += (state == 'R') * passed;
		stall->seconds = 0;
		stall->ticks = ticks;
	}
	if (stall->seconds > ASLEEP_SECONDS) {
		refuse(s, "the thread whose turn it is waits in a call that is not controlled");
	} else if (stall->running > RUNNING_SECONDS) {
		refuse(s, "the thread whose turn it is runs on and on without a point where another could "
			  "go on");
	}
}

/* ---- After the run -------------------------------------------------------------------------------- */

int host_schedule_check(const struct host_session *s)
{
	if (s->schedule == NULL || s->schedule->end != HOST_SCHEDULE_REFUSED) {
		return 0;
	}
	return nvw_fail(NVW_E_INPUT, "--schedules: the threads of %s cannot be made to take turns: %s",
		s->program, s->schedule->refused);
}

static const char *wait_text(uint32_t wait)
{
	static const char *const texts[] = {HOST_WAITS(HOST_TEXT)};

	NVW_INVARIANT(wait < NVW_COUNT(texts));
	return texts[wait];
}

static void print_thread(const struct host_session *s, uint32_t i, FILE *to)
{
	NVW_INVARIANT(i < NVW_COUNT(s->schedule->thread));

	const uint32_t waits = s->schedule->thread[i].waits, site = s->schedule->thread[i].site;
	struct host_place p;

	if (waits == HOST_WAIT_NOTHING) {
		fprintf(to, " thread %u polls", i);
	} else {
		fprintf(to, " thread %u waits for %s", i, wait_text(waits));
	}
	if (site != 0) {
		host_place_of(s->control, site, &p);
		fprintf(to, " at %s:%u (%s)", p.file, p.line, p.function);
	}
}

void host_schedule_print_end(const struct host_session *s, FILE *to)
{
	const struct host_schedule *const c = s->schedule;
	const char *before = c->end == HOST_SCHEDULE_POLLS ? "no thread gets on:" : "deadlock:";

	if (c->end != HOST_SCHEDULE_DEADLOCK && c->end != HOST_SCHEDULE_POLLS) {
		return;
	}
	for (uint32_t i = 1; i <= c->threads; i++) {
		if (c->thread[i].alive) {
			fputs(before, to);
			print_thread(s, i, to);
			before = ",";
		}
	}
}
