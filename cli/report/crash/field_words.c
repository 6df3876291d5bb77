/* SPDX-License-Identifier: BSD-3-Clause */
/* Fields in words. See field_words.h. */
#include <stdio.h>
#include <string.h>

#include "field_words.h"
#include "../words.h"

const char *cli_field_words(const struct nvw__field *f, char ret[CLI_FIELD_BYTES])
{
	snprintf(ret, CLI_FIELD_BYTES, "%s%s (%s%s%llu byte%s)", words_if(f->part, "a part of "), f->name,
		f->type, words_if(*f->type, ", "), (ull)f->bytes, plural(f->bytes));
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
