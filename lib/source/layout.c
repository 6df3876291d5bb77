/* SPDX-License-Identifier: BSD-3-Clause */
/* Looking up fields. See layout.h. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/invariant.h"

#include "layout.h"

enum { NAMED_MAX = 4 }; /* fields of one word that are named */

struct object {
	enum nvw__layout_kind kind;
	char name[160], type[96], of[96];
	uint64_t offset, bytes;
};

struct part {
	char suffix[128], type[96];
	uint64_t at, bytes, element;
};

/* The text to the next tab or the end of the line. Returns what is behind it. */
static const char *take_text(const char *at, char *ret, size_t n)
{
	const size_t length = strcspn(at, "\t\n");

	snprintf(ret, n, "%.*s", (int)length, at);
	return at + length + (at[length] == '\t');
}

static const char *take_number(const char *at, uint64_t *ret)
{
	char text[24];

	at = take_text(at, text, sizeof text);
	*ret = strtoull(text, NULL, 10);
	return at;
}

static const char *next_line(const char *at)
{
	at += strcspn(at, "\n");
	return at + (*at == '\n');
}

static const char *take_object(const char *at, struct object *ret)
{
	char kind[4];

	at = take_text(at, kind, sizeof kind);
	ret->kind = (enum nvw__layout_kind)kind[0];
	at = take_text(at, ret->name, sizeof ret->name);
	at = take_text(at, ret->type, sizeof ret->type);
	at = take_text(at, ret->of, sizeof ret->of);
	at = take_number(at, &ret->offset);
	at = take_number(at, &ret->bytes);
	return next_line(at);
}

static const char *take_part(const char *at, struct part *ret)
{
	at = take_text(at, ret->suffix, sizeof ret->suffix);
	at = take_text(at, ret->type, sizeof ret->type);
	at = take_number(at, &ret->at);
	at = take_number(at, &ret->bytes);
	at = take_number(at, &ret->element);
	return next_line(at);
}

/* ---- Names --------------------------------------------------------------------------------------- */

static bool is_simple(const char *name)
{
	for (; *name != '\0'; name++) {
		if (!isalnum((unsigned char)*name) && !strchr("_.:[]->", *name)) {
			return false;
		}
	}
	return true;
}

/* Names what a pointer leads to: "p->key" and "p[2].key", "*p" and "p[2]". */
static void name_pointed(const struct object *o, uint64_t element, const char *suffix, char *ret, size_t n)
{
	const char *const open = is_simple(o->name) ? "" : "(", *const close = *open ? ")" : "";

	if (element > 0) {
		snprintf(ret, n, "%s%s%s[%llu]%s", open, o->name, close, (unsigned long long)element, suffix);
	} else if (suffix[0] == '.') {
		snprintf(ret, n, "%s%s%s->%s", open, o->name, close, suffix + 1);
	} else if (suffix[0] != '\0') {
		snprintf(ret, n, "(*%s)%s", o->name, suffix);
	} else {
		snprintf(ret, n, "*%s%s%s", open, o->name, close);
	}
}

static void name_in(const struct object *o, uint64_t element, const char *suffix, char *ret, size_t n)
{
	if (o->kind == NVW__LAYOUT_POINTED) {
		name_pointed(o, element, suffix, ret, n);
	} else if (o->name[0] == '*' && suffix[0] != '\0') {
		snprintf(ret, n, "(%s)%s", o->name, suffix);
	} else {
		snprintf(ret, n, "%s%s", o->name, suffix);
	}
}

/* "[3]", or "[8..15]" of several elements; "" where the bytes are no elements. Returns the elements'
 * bytes. */
static uint64_t name_elements(const struct part *p, uint64_t at, uint64_t bytes, char *ret, size_t n)
{
	*ret = '\0';
	if (p->element == 0 || bytes == 0 || at % p->element != 0 || bytes % p->element != 0) {
		return 0;
	}
	const uint64_t first = at / p->element, count = bytes / p->element;

	if (count == 1) {
		snprintf(ret, n, "[%llu]", (unsigned long long)first);
	} else {
		snprintf(ret, n, "[%llu..%llu]", (unsigned long long)first,
			(unsigned long long)(first + count - 1));
	}
	return bytes;
}

static void add_name(struct nvw__field *f, const char *name)
{
	const size_t end = strlen(f->name);

	snprintf(f->name + end, sizeof f->name - end, "%s%s", end > 0 ? ", " : "", name);
}

/* ---- Looking up ---------------------------------------------------------------------------------- */

/* All of the object, or an unknown part of it. */
static void take_whole(const struct object *o, uint64_t element, struct nvw__field *ret)
{
	name_in(o, element, "", ret->name, sizeof ret->name);
	snprintf(ret->type, sizeof ret->type, "%s", o->type);
	snprintf(ret->of, sizeof ret->of, "%s", o->of);
	ret->offset = o->offset + element * o->bytes;
	ret->bytes = o->bytes;
}

/* A part in which the bytes begin, or on. */
static void take_overlapping(const struct object *o, const struct part *p, uint64_t element, uint64_t at,
	uint64_t bytes, unsigned before, struct nvw__field *ret)
{
	char elements[48] = "", suffix[192], name[192];
	const bool inside = at >= p->at && at + bytes <= p->at + p->bytes, all = inside && bytes == p->bytes;
	uint64_t named = 0;

	if (inside && !all) {
		named = name_elements(p, at - p->at, bytes, elements, sizeof elements);
	}
	snprintf(suffix, sizeof suffix, "%s%s", p->suffix, elements);
	name_in(o, element, suffix, name, sizeof name);
	add_name(ret, name);
	ret->part = ret->part || (named == 0 && (at > p->at || at + bytes < p->at + p->bytes));
	if (before == 0) {
		const bool has_own = o->of[0] != '\0';

		snprintf(ret->type, sizeof ret->type, "%s", p->type);
		snprintf(ret->of, sizeof ret->of, "%s", has_own ? o->of : o->type);
		ret->offset = o->offset + (named ? at : p->at);
		ret->bytes = named ? named : p->bytes;
	} else {
		ret->type[0] = '\0';
		ret->bytes = p->at + p->bytes - (ret->offset - o->offset);
	}
}

/* The parts that the bytes lie in. Returns their number. */
static unsigned find_parts(const char *lines, const struct object *o, uint64_t element, uint64_t at,
	uint64_t bytes, struct nvw__field *ret)
{
	unsigned count = 0;
	struct part p;

	while (*lines != '\0') {
		lines = take_part(lines, &p);
		if (p.at < at + bytes && p.at + p.bytes > at) {
			take_overlapping(o, &p, element, at, bytes, count++, ret);
		}
	}
	return count;
}

static void note_whole(const struct object *o, uint64_t bytes, uint64_t total, struct nvw__field *f)
{
	if (total > bytes) {
		snprintf(f->whole, sizeof f->whole, "%s%s", o->kind == NVW__LAYOUT_POINTED ? "*" : "",
			o->name);
		f->whole_bytes = total;
	}
}

/* Bytes whose place in the object is known. */
static bool find_at(
	const char *parts, const struct object *o, uint64_t at, uint64_t bytes, struct nvw__field *ret)
{
	uint64_t element = 0;

	if (o->kind == NVW__LAYOUT_POINTED && o->bytes > 0) {
		element = at / o->bytes;
		at %= o->bytes;
	}
	if (element > 0 && *parts != '\0') { /* a structure with something behind it may be copied at once */
		return false;
	}
	if (at + bytes > o->bytes) {
		return false;
	}
	const unsigned count = find_parts(parts, o, element, at, bytes, ret);

	if (count > NAMED_MAX || (count == 0 && *parts != '\0')) {
		*ret = (struct nvw__field){.part = true};
	}
	if (count == 0 || count > NAMED_MAX) {
		take_whole(o, element, ret);
		ret->part = bytes < o->bytes;
	}
	return true;
}

bool nvw__layout_find(const char *layout, uint64_t at, uint64_t bytes, uint64_t total, struct nvw__field *ret)
{
	struct object o;
	const char *const parts = take_object(layout, &o);

	*ret = (struct nvw__field){.part = false};
	if (*layout == '\0' || total == 0 || at + bytes > total) {
		return false;
	}
	if (o.kind == NVW__LAYOUT_BITS ||
		(o.kind == NVW__LAYOUT_OBJECT && total < o.bytes && *parts != '\0')) {
		take_whole(&o, 0, ret);
		ret->part = o.kind != NVW__LAYOUT_BITS;
		return true;
	}
	if (o.kind == NVW__LAYOUT_OBJECT && total != o.bytes) {
		return false;
	}
	const bool known = find_at(parts, &o, at, bytes, ret);

	note_whole(&o, bytes, total, ret);
	return known;
}
