/* SPDX-License-Identifier: BSD-3-Clause */
/* Differences of two files, and how important each is. See compare.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/array.h"
#include "core/bounds.h"
#include "core/each.h"
#include "core/invariant.h"
#include "core/member.h"
#include "core/order.h"
#include "core/print.h"
#include "core/text_stream.h"
#include "compare.h"

enum { OF_VERDICT = 3, OF_TEXT = 2 }; /* above every number's importance */

static int add_row(struct comparison *c, const struct compare_row *row)
{
	NVW_INVARIANT(row->importance > 0);
	NVW_GROWN(c->row, c->room, c->count + 1, "no memory for the comparison");
	struct compare_row *const to = &c->row[c->count];

	*to = *row;
	to->order = c->count++;
	return 0;
}

/* ---- Points of rows ------------------------------------------------------------------------------ */

/* The member, which is made if it is not there. */
static json_t *object_at(json_t *of, const char *name)
{
	if (!json_object_get(of, name)) {
		json_object_set_new(of, name, json_object());
	}
	return json_object_get(of, name);
}

/* {"AXIS": ["VALUE", ...]} */
static void collect_axes(const json_t *rows, json_t *axes)
{
	JSON_EACH(row, rows) {
		JSON_EACH_MEMBER(axis, value, json_object_get(row, "axes")) {
			member_set_flag(object_at(axes, axis), json_string_value(value), true);
		}
	}
}

static bool varies(json_t *const axes[2], const char *axis)
{
	return json_object_size(json_object_get(axes[0], axis)) > 1 ||
	       json_object_size(json_object_get(axes[1], axis)) > 1;
}

/* "scope=kernel count=8" of the axes that vary. NULL without memory. */
static char *name_of(json_t *row, json_t *const axes[2])
{
	struct text_stream name;
	const char *separator = "";

	if (!text_begin(&name)) {
		return NULL;
	}
	JSON_EACH_MEMBER(axis, value, json_object_get(row, "axes")) {
		if (varies(axes, axis)) {
			fprintf(name.to, "%s%s=%s", separator, axis, json_string_value(value));
			separator = " ";
		}
	}
	return text_end(&name);
}

/* Seeds whose texts differ have them one behind the other. */
static void merge_text(json_t *texts, const char *name, const char *text)
{
	const char *const former = member_string(texts, name);

	if (!former) {
		member_set_text(texts, name, text);
	} else if (!strstr(former, text)) {
		json_object_set_new(texts, name, json_sprintf("%s, %s", former, text));
	}
}

static void merge_row(json_t *point, json_t *row, json_t *const axes[2])
{
	json_t *const texts = json_object_get(point, "texts"), *const numbers =
								       json_object_get(point, "numbers");

	JSON_EACH_MEMBER(name, value, json_object_get(row, "axes")) {
		if (!varies(axes, name)) {
			merge_text(texts, name, json_string_value(value));
		}
	}
	JSON_EACH_MEMBER(name, value, json_object_get(row, "texts")) {
		merge_text(texts, name, json_string_value(value));
	}
	JSON_EACH_MEMBER(name, value, json_object_get(row, "numbers")) {
		if (!json_object_get(numbers, name)) {
			json_object_set_new(numbers, name, json_array());
		}
		json_array_append(json_object_get(numbers, name), value);
	}
}

static json_t *point_named(json_t *points, const char *name)
{
	if (!json_object_get(points, name)) {
		json_object_set_new(points, name, json_pack("{s:{}, s:{}}", "numbers", "texts"));
	}
	return json_object_get(points, name);
}

static int make_points(const json_t *rows, json_t *const axes[2], json_t *points)
{
	JSON_EACH(row, rows) {
		char *const name = name_of(row, axes);

		NVW_ALLOCATED(name, "no memory for the comparison");
		merge_row(point_named(points, name), row, axes);
		free(name);
	}
	return 0;
}

/* ---- Numbers ------------------------------------------------------------------------------------- */

static int take_samples(const json_t *array, struct confidence *ret)
{
	const unsigned count = (unsigned)json_array_size(array);
	double *const value = malloc((count + 1) * sizeof *value);

	NVW_ALLOCATED(value, "no memory for the comparison");
	NVW_FOR(i, count) {
		value[i] = json_real_value(json_array_get(array, i));
	}
	*ret = confidence_of(value, count);
	free(value);
	return 0;
}

static double importance_of(const struct compare_row *row)
{
	const double noise = hypot(row->a.half, row->b.half);
	const double change = fabs(row->b.mean - row->a.mean) - (noise > 0 ? noise : 0);

	if (!(change > 0)) {
		return 0;
	}
	return change / fmax(fabs(row->a.mean), fabs(row->b.mean));
}

static int compare_numbers(
	struct comparison *c, const char *point, const char *name, const json_t *a, json_t *b)
{
	struct compare_row row = {.point = point, .name = name};

	if (json_equal(a, b)) {
		c->equal++;
		return 0;
	}
	NVW_TRY(take_samples(a, &row.a));
	NVW_TRY(take_samples(b, &row.b));
	row.ratio = confidence_ratio(row.b, row.a);
	row.importance = importance_of(&row);
	if (row.importance > 0) {
		return add_row(c, &row);
	}
	c->within_noise++;
	return 0;
}

/* ---- Points -------------------------------------------------------------------------------------- */

/* The same change of another point. */
static bool are_alike(const struct compare_row *a, const struct compare_row *b)
{
	return !strcmp(a->name, b->name) && !strcmp(a->a_text, b->a_text) && !strcmp(a->b_text, b->b_text);
}

static struct compare_row *row_like(const struct comparison *c, const struct compare_row *row)
{
	return NVW_FIND(other, c->row, c->count, other->a_text && are_alike(other, row));
}

static int add_text(struct comparison *c, const struct compare_row *row)
{
	struct compare_row *const like = row->importance < OF_VERDICT ? row_like(c, row) : NULL;

	NVW_INVARIANT(row->a_text && row->b_text);
	if (like) {
		like->point = "several points";
		return 0;
	}
	return add_row(c, row);
}

static int compare_texts(struct comparison *c, const char *point, json_t *a, json_t *b)
{
	JSON_EACH_MEMBER(name, value, a) {
		const char *const other = member_string(b, name);
		struct compare_row row = {.point = point,
			.name = name,
			.a_text = json_string_value(value),
			.b_text = other,
			.importance = OF_TEXT};

		if (!strcmp(name, "status") || !strcmp(name, "verdict")) {
			row.importance = OF_VERDICT;
		}
		if (other && strcmp(other, row.a_text) != 0) {
			NVW_TRY(add_text(c, &row));
		}
	}
	return 0;
}

/* What the one has and the other lacks. */
static void note_in_one(json_t *of, json_t *other, const char *side, json_t *to)
{
	JSON_EACH_MEMBER(name, value, of) {
		if (!json_object_get(other, name)) {
			member_set_text(to, name, side);
		}
	}
}

static int compare_point(struct comparison *c, const char *point, json_t *a, json_t *b)
{
	json_t *const of_a = json_object_get(a, "numbers"), *const of_b = json_object_get(b, "numbers");

	NVW_TRY(compare_texts(c, point, json_object_get(a, "texts"), json_object_get(b, "texts")));
	JSON_EACH_MEMBER(name, value, of_a) {
		json_t *const other = json_object_get(of_b, name);

		if (other) {
			NVW_TRY(compare_numbers(c, point, name, value, other));
		}
	}
	if (json_object_size(of_a) && json_object_size(of_b)) {
		note_in_one(of_a, of_b, "a", c->names_in_one);
		note_in_one(of_b, of_a, "b", c->names_in_one);
	}
	return 0;
}

/* Rows alike stay in the order of the first file. */
static int by_importance(const void *a, const void *b)
{
	const struct compare_row *const x = a, *const y = b;

	if (x->importance != y->importance) {
		return x->importance < y->importance ? 1 : -1;
	}
	return NVW_ORDER(x->order, y->order);
}

static int compare_points(struct comparison *c, json_t *a, json_t *b)
{
	JSON_EACH_MEMBER(point, value, a) {
		json_t *const other = json_object_get(b, point);

		if (other) {
			NVW_TRY(compare_point(c, point, value, other));
		}
	}
	note_in_one(a, b, "a", c->points_in_one);
	note_in_one(b, a, "b", c->points_in_one);
	return 0;
}

/* Axes with one value that only one of both files has. */
static void note_axes(struct comparison *c, json_t *of, json_t *other, const char *side)
{
	JSON_EACH_MEMBER(axis, values, of) {
		char text[256];

		if (json_object_size(values) == 1 && !json_object_get(other, axis)) {
			NVW_PRINT(text, "%s=%s", axis, json_object_iter_key(json_object_iter(values)));
			member_set_text(c->names_in_one, text, side);
		}
	}
}

int compare_judge(const json_t *a, const json_t *b, struct comparison *c)
{
	json_t *const axes[2] = {json_object(), json_object()};
	int r;

	*c = (struct comparison){.points = {json_object(), json_object()},
		.points_in_one = json_object(),
		.names_in_one = json_object()};
	collect_axes(a, axes[0]);
	collect_axes(b, axes[1]);
	note_axes(c, axes[0], axes[1], "a");
	note_axes(c, axes[1], axes[0], "b");
	r = make_points(a, axes, c->points[0]);
	r = NVW_OR(r, make_points(b, axes, c->points[1]));
	r = NVW_OR(r, compare_points(c, c->points[0], c->points[1]));
	json_decref(axes[0]);
	json_decref(axes[1]);
	if (c->count) {
		qsort(c->row, c->count, sizeof *c->row, by_importance);
	}
	return r;
}

void compare_end(struct comparison *c)
{
	json_decref(c->points[0]);
	json_decref(c->points[1]);
	json_decref(c->points_in_one);
	json_decref(c->names_in_one);
	free(c->row);
}
