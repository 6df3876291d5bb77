/* SPDX-License-Identifier: BSD-3-Clause */
/* Fields in words. See field_words.h. */
#include <stdio.h>
#include <string.h>

#include "field_words.h"
#include "words.h"

typedef unsigned long long ull;

const char *cli_field_words(const struct ct_place *p, char ret[CLI_FIELD_BYTES])
{
	const struct nvw__field *const f = &p->field;
	const bool has_type = f->type[0] != '\0';

	snprintf(ret, CLI_FIELD_BYTES, "%s%s (%s%s%llu byte%s)", words_if(f->part, "a part of "), f->name,
		f->type, words_if(has_type, ", "), (ull)f->bytes, plural(f->bytes));
	return ret;
}

const char *cli_field_place(const struct ct_place *p, char ret[CLI_FIELD_BYTES])
{
	const struct nvw__field *const f = &p->field;
	size_t n = (size_t)snprintf(ret, CLI_FIELD_BYTES, "%u byte%s at pool offset 0x%llx", p->bytes,
		plural(p->bytes), (ull)p->off);

	if (f->of[0] != '\0') {
		n += (size_t)snprintf(ret + n, CLI_FIELD_BYTES - n, "; the field is at offset %llu of %s",
			(ull)f->offset, f->of);
	}
	if (f->whole[0] != '\0') {
		snprintf(ret + n, CLI_FIELD_BYTES - n, "; of %llu bytes stored to %s", (ull)f->whole_bytes,
			f->whole);
	}
	return ret;
}
