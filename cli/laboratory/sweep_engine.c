/* SPDX-License-Identifier: BSD-3-Clause */
/* What runs the points of a sweep. See sweep.h. */
#include <stdlib.h>
#include <string.h>

#include "core/invariant.h"

#include "sweep.h"

/* ---- The points as work of a job array ----------------------------------------------------------- */

struct points {
	struct sweep *sweep;
	const struct sweep_manner *manner;
	struct sweep_journal *journal;
	unsigned given_up;
};

static bool point_is_done(const void *of, unsigned i)
{
	NVW_INVARIANT(i < ((const struct points *)of)->sweep->count);
	return ((const struct points *)of)->sweep->point[i].row != NULL;
}

static const char *point_key(const void *of, unsigned i)
{
	NVW_INVARIANT(i < ((const struct points *)of)->sweep->count);
	return ((const struct points *)of)->sweep->point[i].key;
}

static int point_words(const void *of, unsigned i, struct sweep_words *ret_words)
{
	const struct sweep *const s = ((const struct points *)of)->sweep;

	NVW_INVARIANT(i < s->count);
	return sweep_words(s, &s->point[i], ret_words);
}

static int take_point(void *of, unsigned i, const struct sweep_outcome *o)
{
	struct points *const p = of;

	return sweep_take(p->sweep, p->manner, p->journal, &p->sweep->point[i], o);
}

static int give_up_point(void *of, unsigned i, const char *status, const char *reason)
{
	struct points *const p = of;
	struct sweep_point *const point = &p->sweep->point[i];

	NVW_INVARIANT(!point->row);
	p->given_up++;
	point->row = json_pack(
		"{s:s, s:s, s:f, s:{}}", "status", status, "reason", reason, "seconds", 0.0, "values");
	NVW_ALLOCATED(point->row, "no memory for a result");
	return sweep_journal_add(p->journal, point);
}

/* In the folder OUTPUT.slurm beside the journal. It stays if points were given up, for the tasks' messages.
 */
static int run_on_cluster(struct points *p)
{
	const char *const journal = p->journal->path;
	char *const folder = slurm_folder(journal, (int)(strlen(journal) - strlen(".journal")));
	const struct slurm_work work = {.count = p->sweep->count,
		.folder = folder,
		.what = "points",
		.of = p,
		.is_done = point_is_done,
		.key = point_key,
		.words = point_words,
		.take = take_point,
		.give_up = give_up_point};

	NVW_ALLOCATED(folder, "no memory for a job array");
	const int r = slurm_run(&work, p->manner);

	if (r == 0 && p->given_up == 0) {
		slurm_remove(folder);
	}
	free(folder);
	return r;
}

int sweep_run(struct sweep *s, const struct sweep_manner *manner, struct sweep_journal *journal)
{
	struct points points = {.sweep = s, .manner = manner, .journal = journal};

	if (manner->engine == SWEEP_SLURM) {
		return run_on_cluster(&points);
	}
	return sweep_local_run(s, manner, journal);
}
