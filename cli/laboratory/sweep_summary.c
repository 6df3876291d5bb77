/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A group of points differs in the seed only. Its mean and median are over the points that are ok; its ratio
 * is that of its mean to the mean of the group that has the baseline's values instead of its own. Means and
 * ratios have confidence intervals (confidence.h). A geometric mean is of the ratios of all groups with the
 * same values of the baseline's axes; groups without a ratio are not in it, and it says of how many it is.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/bounds.h"
#include "core/array.h"
#include "core/invariant.h"
#include "core/member.h"
#include "core/newfile.h"
#include "core/order.h"
#include "core/print.h"
#include "core/search.h"
#include "confidence.h"
#include "sweep.h"
#include "report/words.h"

struct group {
	const struct sweep_point *first;
	unsigned points, ok, room;
	double *value; /* ok, sorted */
	struct confidence mean;
	struct confidence ratio; /* 0: none */
	char variant[256];       /* "scope=kernel": the values of the baseline's axes */
};

struct summary {
	const struct sweep *sweep;
	int seed; /* axis, -1: none */
	const struct sweep_point **sorted;
	const char *metric;
	struct group *group;
	unsigned count;
	json_t *rows, *means;
};

static bool is_of_baseline(const struct sweep *s, unsigned axis)
{
	NVW_INVARIANT(axis < s->axis_count);
	return NVW_ANY(term, s->baseline.term, s->baseline.count, term->axis == axis);
}

/* ---- Groups -------------------------------------------------------------------------------------- */

/* Orders points by all axes but the seed; the order of the points otherwise. */
static int compare_points(const struct summary *m, const struct sweep_point *a, const struct sweep_point *b)
{
	NVW_FOR(i, m->sweep->axis_count) {
		const int order = NVW_ORDER(a->choice[i], b->choice[i]);

		if (order && (int)i != m->seed) {
			return order;
		}
	}
	return 0;
}

static int by_point(const void *a, const void *b, void *summary)
{
	return compare_points(summary, *(struct sweep_point *const *)a, *(struct sweep_point *const *)b);
}

static bool value_of(const struct sweep_point *p, const char *metric, double *ret)
{
	const json_t *const value = json_object_get(json_object_get(p->row, "values"), metric);

	*ret = json_number_value(value);
	return json_is_number(value) && !strcmp(member_string(p->row, "status"), "ok");
}

static double median_of(const struct group *g)
{
	NVW_INVARIANT(g->ok > 0);
	return (g->value[(g->ok - 1) / 2] + g->value[g->ok / 2]) / 2;
}

static void clear_groups(struct summary *m)
{
	NVW_EACH(group, m->group, m->count) {
		free(group->value);
	}
	free(m->group);
	m->group = NULL;
	m->count = 0;
}

static int add_point(struct summary *m, unsigned i)
{
	const struct sweep_point *const p = m->sorted[i];

	NVW_INVARIANT(i < m->sweep->count);
	if (i == 0 || compare_points(m, m->sorted[i - 1], p) != 0) {
		m->group[m->count++].first = p;
	}
	struct group *const g = &m->group[m->count - 1];

	NVW_INVARIANT(m->count <= i + 1 && g->points <= i);
	NVW_GROWN(g->value, g->room, g->ok + 1, "no memory for the summary");
	g->points++;
	g->ok += value_of(p, m->metric, &g->value[g->ok]);
	return 0;
}

static void measure_groups(struct summary *m)
{
	NVW_EACH(g, m->group, m->count) {
		qsort(g->value, g->ok, sizeof(double), nvw_by_double);
		if (g->ok) {
			g->mean = confidence_of(g->value, g->ok);
		}
	}
}

static int make_groups(struct summary *m)
{
	const unsigned count = m->sweep->count;

	NVW_INVARIANT(!m->group && m->count == 0);
	m->group = calloc(count, sizeof *m->group);
	NVW_ALLOCATED(m->group, "no memory for the summary");
	NVW_FOR(i, count) {
		NVW_TRY(add_point(m, i));
	}
	measure_groups(m);
	return 0;
}

/* The group with the same values of all axes, but the seed. */
static const struct group *group_with(const struct summary *m, const struct sweep_point *wanted)
{
	const unsigned i = NVW_FIRST(k, 0, m->count, compare_points(m, m->group[k].first, wanted) >= 0);

	if (i == m->count || compare_points(m, m->group[i].first, wanted) != 0) {
		return NULL;
	}
	return &m->group[i];
}

/* The group that has the baseline's values in place of this one's; NULL if it was excluded. */
static const struct group *base_of(const struct summary *m, const struct group *g)
{
	const struct sweep *const s = m->sweep;
	struct sweep_point wanted = *g->first;

	NVW_INVARIANT(s->baseline.count > 0);
	NVW_EACH(term, s->baseline.term, s->baseline.count) {
		const struct sweep_axis *const a = &s->axis[term->axis];
		uint32_t *const choice = &wanted.choice[term->axis];

		for (*choice = 0; strcmp(a->value[*choice], term->text) != 0; ++*choice) {
		}
	}
	return group_with(m, &wanted);
}

static void set_ratios(struct summary *m)
{
	for (unsigned i = 0; m->sweep->baseline.count && i < m->count; i++) {
		struct group *const g = &m->group[i];
		const struct group *const base = base_of(m, g);

		if (base && g->ok && base->ok && base->mean.mean > 0) {
			g->ratio = confidence_ratio(g->mean, base->mean);
		}
		if (base == g) {
			g->ratio.half = NAN; /* it is 1 */
		}
	}
}

/* ---- Rows ---------------------------------------------------------------------------------------- */

static void add_real(json_t *row, const char *name, bool has, double value)
{
	json_object_set_new(row, name, has && isfinite(value) ? json_real(value) : json_null());
}

static void add_values(json_t *row, const struct group *g)
{
	const bool has = g->ok > 0, has_ratio = g->ratio.mean > 0;

	NVW_INVARIANT(g->ok <= g->points);
	add_real(row, "mean", has, g->mean.mean);
	add_real(row, "mean_confidence_95", has, g->mean.half);
	add_real(row, "median", has, has ? median_of(g) : 0);
	add_real(row, "least", has, has ? g->value[0] : 0);
	add_real(row, "most", has, has ? g->value[g->ok - 1] : 0);
	add_real(row, "ratio", has_ratio, g->ratio.mean);
	add_real(row, "ratio_confidence_95", has_ratio, g->ratio.half);
}

static json_t *row_of(const struct summary *m, const struct group *g)
{
	const struct sweep *const s = m->sweep;
	json_t *const row = json_object();

	NVW_FOR(k, s->axis_count) {
		if ((int)k != m->seed) {
			member_set_text(row, s->axis[k].name, sweep_value(s, g->first, k));
		}
	}
	member_set_text(row, "metric", m->metric);
	member_set_number(row, "points", g->points);
	member_set_number(row, "ok", g->ok);
	add_values(row, g);
	return row;
}

static void add_rows(struct summary *m)
{
	NVW_EACH(group, m->group, m->count) {
		json_array_append_new(m->rows, row_of(m, group));
	}
}

static void name_variant(const struct summary *m, struct group *g)
{
	const struct sweep *const s = m->sweep;
	char one[sizeof g->variant];

	NVW_FOR(k, s->axis_count) {
		if (is_of_baseline(s, k)) {
			NVW_PRINT(one, "%s=%s", s->axis[k].name, sweep_value(s, g->first, k));
			words_add(g->variant, sizeof g->variant, " ", one);
		}
	}
}

/* The interval of the mean of logarithms is the root of the sum of the squares of theirs. */
static json_t *mean_of(const struct summary *m, const char *variant)
{
	double sum = 0, squares = 0, least = INFINITY, most = 0;
	unsigned n = 0;

	NVW_INVARIANT(m->sweep->baseline.count > 0);
	NVW_EACH(g, m->group, m->count) {
		if (g->ratio.mean > 0 && !strcmp(g->variant, variant)) {
			sum += log(g->ratio.mean);
			squares += pow(g->ratio.half / g->ratio.mean, 2);
			least = fmin(least, g->ratio.mean);
			most = fmax(most, g->ratio.mean);
			n++;
		}
	}
	if (n == 0) {
		return NULL;
	}
	json_t *const mean = json_pack("{s:s, s:s, s:f, s:f, s:f, s:i}", "metric", m->metric, "points",
		variant, "geometric_mean", exp(sum / n), "least", least, "most", most, "groups", (int)n);

	add_real(mean, "confidence_95", true, exp(sum / n) * sqrt(squares) / n);
	return mean;
}

static void add_means(struct summary *m)
{
	NVW_EACH(group, m->group, m->count) {
		name_variant(m, group);
	}
	for (unsigned i = 0; m->sweep->baseline.count && i < m->count; i++) {
		const char *const variant = m->group[i].variant;

		if (!NVW_ANY(before, m->group, i, !strcmp(before->variant, variant))) {
			json_array_append_new(
				m->means, mean_of(m, variant)); /* NULL is no mean, and left out */
		}
	}
}

/* ---- The whole ----------------------------------------------------------------------------------- */

static bool is_known(const struct sweep *s, const char *metric)
{
	bool any_ok = false;

	NVW_EACH(point, s->point, s->count) {
		json_t *const values = json_object_get(point->row, "values");

		any_ok = any_ok || json_object_size(values);
		if (json_is_number(json_object_get(values, metric))) {
			return true;
		}
	}
	return !any_ok;
}

static void add_summary(struct summary *m)
{
	set_ratios(m);
	add_rows(m);
	add_means(m);
}

static int summarise(struct summary *m)
{
	NVW_FAIL_IF(!is_known(m->sweep, m->metric), NVW_E_USAGE,
		"%s: metrics: no point has a number named %s", m->sweep->where, m->metric);
	const int r = make_groups(m);

	if (!r) {
		add_summary(m);
	}
	clear_groups(m);
	return r;
}

static const char *standard_metric(const char *command)
{
	static const char *const metrics[][2] = {{"run", "sim_time"}, {"crash", "states_distinct"},
		{"litmus", "tests"}, {"torture", "operations"}};
	const __auto_type metric = NVW_FIND(one, metrics, 4, !strcmp(command, (*one)[0]));

	NVW_INVARIANT(metric);
	return (*metric)[1];
}

static int summarise_all(struct summary *m, char *metrics)
{
	const struct sweep *const s = m->sweep;

	NVW_INVARIANT(s->count > 0);
	NVW_FAIL_IF(!m->sorted || !metrics, NVW_E_MEMORY, "no memory for the summary");
	NVW_FOR(i, s->count) {
		m->sorted[i] = &s->point[i];
	}
	qsort_r(m->sorted, s->count, sizeof *m->sorted, by_point, m);
	while ((m->metric = strtok_r(metrics, ", ", &metrics))) {
		NVW_TRY(summarise(m));
	}
	return 0;
}

int sweep_summarise(struct sweep *s)
{
	struct summary m = {.sweep = s,
		.seed = sweep_axis_named(s, "seed"),
		.sorted = malloc(s->count * sizeof *m.sorted),
		.rows = json_array(),
		.means = json_array()};
	char *const metrics = strdup(NVW_OR(s->metrics, standard_metric(s->command)));
	const int r = summarise_all(&m, metrics);

	free(metrics);
	free(m.sorted);
	s->summary = json_pack("{s:o, s:o}", "summary", m.rows, "geometric_means", m.means);
	return r;
}

int sweep_write_summary(const struct sweep *s, const char *path)
{
	NVW_INVARIANT(json_is_object(s->summary));

	struct nvw_new_file f;
	json_t *const rows = json_object_get(s->summary, "summary"), *row;
	const char *separator = "";
	size_t i;

	NVW_TRY(nvw_new_file_begin(path, false, &f));
	JSON_EACH_MEMBER(key, value, json_array_get(rows, 0)) {
		fputs(separator, f.file);
		sweep_csv_field(key, f.file);
		separator = ",";
	}
	json_array_foreach(rows, i, row)
	{
		separator = "\n";
		JSON_EACH_MEMBER(key, value, row) {
			fputs(separator, f.file);
			sweep_csv_value(value, f.file);
			separator = ",";
		}
	}
	fputs(words_if(i, "\n"), f.file);
	return nvw_new_file_end(&f, 0);
}
