/* SPDX-License-Identifier: BSD-3-Clause */
/* Commands that do not terminate. See hang.h. */
#include <stdio.h>
#include <string.h>
#include <sys/param.h>

#include "core/invariant.h"
#include "core/print.h"

#include "source/frames.h"

#include "descendants.h"
#include "hang.h"
#include "output.h"
#include "process.h"

enum {
	TREE_MAX = 32,
	FIRST_LOOK_MS = 10,
	LOOK_MS = 100,
	EARLIEST_MS = 20,
	STATE_FACTOR = 10,
	TIMEOUT_PART = 20
};

/* A process and what it has started, as far as there is room. */
static unsigned tree(pid_t pid, pid_t list[TREE_MAX])
{
	unsigned count = 1;

	NVW_INVARIANT(pid > 0);
	list[0] = pid;
	NVW_FOR(i, count) {
		char path[64];

		NVW_PRINT(path, "/proc/%d/task/%d/children", (int)list[i], (int)list[i]);
		count += ct_children(path, &list[count], TREE_MAX - count);
	}
	return count;
}

/* CPU time of the slowest command of this process that terminated. */
static double slowest;

/* CPU time of all of them, and which has used most. */
static double cpu_of(pid_t pid, pid_t *ret_busiest)
{
	pid_t list[TREE_MAX];
	const unsigned count = tree(pid, list);
	double sum = 0, most = -1;

	NVW_EACH(one, list, count) {
		const double cpu = ct_cpu_seconds(*one);

		sum += MAX(cpu, 0);
		if (cpu > most) {
			most = cpu;
			*ret_busiest = *one;
		}
	}
	return sum;
}

/* The function, which stays while the line goes round; "" if it is unknown. */
static const char *function_of(const char *where)
{
	return where + strcspn(where, "(");
}

static bool is_known(const struct ct_hangs *h, const char *where)
{
	bool is = false;

	for (uint32_t i = 0; i < h->count && i < CT_HANGS_MAX && *where && !is; i++) {
		is = !strcmp(h->place[i], function_of(where));
	}
	return is;
}

/* Looks where a process is: how often in a row it has been in a place where others hang, which is known at
 * twice. */
static bool is_seen_twice(struct ct_hangs *h, pid_t pid, unsigned *seen, char where[CT_TEXT_BYTES])
{
	nvw__process_place(pid, where, CT_TEXT_BYTES);
	*seen = is_known(h, where) ? *seen + 1 : 0;
	h->alike += *seen == 2;
	return *seen == 2;
}

void ct_hang_remember(struct ct_hangs *h, const char *where)
{
	if (*function_of(where) != '\0' && !is_known(h, where) && h->count < CT_HANGS_MAX) {
		snprintf(h->place[h->count], sizeof h->place[0], "%s", function_of(where));
		h->count++;
	}
}

bool ct_hang_wait(
	int fd, pid_t pid, unsigned timeout_ms, struct ct_hangs *hangs, char ret_where[CT_TEXT_BYTES])
{
	NVW_INVARIANT(pid > 0);
	const double began = ct_wall_seconds(), limit = 1e-3 * timeout_ms;
	const double early = MAX(2 * slowest, 1e-3 * EARLIEST_MS);
	unsigned look_ms = MIN(timeout_ms, FIRST_LOOK_MS), seen = 0;
	double looked = 0;

	ret_where[0] = '\0';
	while (!ct_output_wait(fd, (int)look_ms)) {
		pid_t busiest = pid;
		const double cpu = cpu_of(pid, &busiest), wall = ct_wall_seconds() - began;

		if (cpu > limit || wall > CT_COMMAND_WALL_FACTOR * limit) {
			nvw__process_place(busiest, ret_where, CT_TEXT_BYTES);
			if (hangs) {
				ct_hang_remember(hangs, ret_where);
			}
			return false;
		}
		if (hangs && hangs->count > 0 && cpu > early && cpu > looked + early / 2) {
			looked = cpu;
			if (is_seen_twice(hangs, busiest, &seen, ret_where)) {
				return false;
			}
		}
		if (look_ms < LOOK_MS && (!hangs || hangs->count == 0)) {
			look_ms *= 2;
		}
	}
	return true;
}

void ct_hang_ended(const struct rusage *usage)
{
	slowest = MAX(slowest, ct_cpu_of_usage(usage));
}

/* States are short: one may take ten times as long as any before, and still end. */
bool ct_hang_is_alike(struct ct_hangs *h, const struct ct_hang_state *s, struct ct_hang_look *look)
{
	const double least = 1e-3 * s->timeout_ms / TIMEOUT_PART,
		     early = MAX(STATE_FACTOR * s->slowest, least);
	char where[CT_TEXT_BYTES] = "";

	if (h->count == 0 || s->cpu < early || s->cpu < look->cpu + early / 2) {
		return false;
	}
	look->cpu = s->cpu;
	return is_seen_twice(h, s->pid, &look->alike, where);
}
