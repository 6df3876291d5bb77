/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The names of a summary's columns, before anything runs. Reports of crash, litmus and torture have numbers
 * that are known by name. A workload of run may report numbers of its own: there a name is refused if it is
 * that of another report, or looks like a statistic of the machine. sweep_summary.c refuses what is left.
 */
#include <stdlib.h>
#include <string.h>

#include <emu.h>

#include "../report/numbers.h"
#include "../report/words.h"
#include "sweep.h"

const char *sweep_behind_protocol(const char *metric)
{
	const char *const dot = strchr(metric, '.');
	const char *name, *source, *text;

	for (unsigned i = 0; dot && emu_protocol_info(i, &name, &source, &text); i++) {
		if (text_is(metric, (size_t)(dot - metric), name)) {
			return dot + 1;
		}
	}
	return metric;
}

/* A name that only a workload can have. */
static bool may_be_a_workloads(const char *command, const char *name)
{
	static const char *const others[] = {"crash", "torture", "litmus", "series", "bench"};

	if (strcmp(command, "run") != 0 || cli_number_group(name)) {
		return false;
	}
	return !NVW_ANY(other, others, NVW_COUNT(others), cli_number_is_of(*other, name)) &&
	       !cli_number_nearest("run", name);
}

static int refuse(const struct sweep *s, const char *metric)
{
	return nvw_fail(NVW_E_USAGE, "%s: metrics: reports of %s have no number named %s%s", s->where,
		s->command, metric,
		DID_YOU_MEAN(cli_number_nearest(s->command, metric), "; see nvwave list stats"));
}

/* Numbers that differ from one run to the next are in a table of their own, which has no summary. */
static int check_metric(const struct sweep *s, const char *metric)
{
	const char *const name = sweep_behind_protocol(metric);

	if (cli_number_is_of(s->command, name)) {
		return 0;
	}
	NVW_FAIL_IF(cli_number_is_of("host", name), NVW_E_USAGE,
		"%s: metrics: %s differs from run to run: it is in no table but NAME.host.csv", s->where,
		metric);
	if (may_be_a_workloads(s->command, name)) {
		return 0;
	}
	return refuse(s, metric);
}

int sweep_check_metrics(const struct sweep *s)
{
	char *const copy = s->metrics ? strdup(s->metrics) : NULL, *rest = copy, *metric;
	int r = 0;

	NVW_FAIL_IF(s->metrics && !copy, NVW_E_MEMORY, SWEEP_NO_MEMORY);
	while (rest && r == 0 && (metric = strtok_r(rest, ", ", &rest))) {
		r = check_metric(s, metric);
	}
	free(copy);
	return r;
}
