/* SPDX-License-Identifier: BSD-3-Clause */
/* Fields in words. See field_words.h. */
#include <stdio.h>
#include <string.h>

#include "core/member.h"

#include "field_words.h"
#include "../words.h"

typedef unsigned long long ull;

const char *cli_field_words(const struct nvw__field *f, char ret[CLI_FIELD_BYTES])
{
	const bool has_type = f->type[0] != '\0';

	snprintf(ret, CLI_FIELD_BYTES, "%s%s (%s%s%llu byte%s)", words_if(f->part, "a part of "), f->name,
		f->type, words_if(has_type, ", "), (ull)f->bytes, plural(f->bytes));
	return ret;
}

const char *cli_field_within(const struct nvw__field *f, char ret[CLI_FIELD_BYTES])
{
	size_t n = 0;

	*ret = '\0';
	if (f->of[0] != '\0') {
		n = (size_t)snprintf(
			ret, CLI_FIELD_BYTES, "; the field is at offset %llu of %s", (ull)f->offset, f->of);
	}
	if (f->whole[0] != '\0') {
		snprintf(ret + n, CLI_FIELD_BYTES - n, "; of %llu bytes stored to %s", (ull)f->whole_bytes,
			f->whole);
	}
	return ret;
}

const char *cli_field_place(const struct ct_place *p, char ret[CLI_FIELD_BYTES])
{
	char within[CLI_FIELD_BYTES];

	snprintf(ret, CLI_FIELD_BYTES, "%u byte%s at pool offset 0x%llx%s", p->bytes, plural(p->bytes),
		(ull)p->off, cli_field_within(&p->field, within));
	return ret;
}

static void take_text(const json_t *o, const char *name, char *ret, size_t n)
{
	snprintf(ret, n, "%s", member_text(o, name));
}

void cli_field_read(const json_t *stored, struct nvw__field *f)
{
	take_text(stored, "field", f->name, sizeof f->name);
	take_text(stored, "type", f->type, sizeof f->type);
	take_text(stored, "of", f->of, sizeof f->of);
	take_text(stored, "whole", f->whole, sizeof f->whole);
	f->offset = member_count(stored, "offset");
	f->bytes = member_count(stored, "size");
	f->whole_bytes = member_count(stored, "whole_size");
	f->part = member_flag(stored, "part");
}
