/* SPDX-License-Identifier: BSD-3-Clause */
/* The field of a structure that a store goes to, in words. */
#ifndef CLI_FIELD_WORDS_H
#define CLI_FIELD_WORDS_H

#include <stdbool.h>

#include <crashtest/crash.h>

enum { CLI_FIELD_BYTES = 512 };

static inline bool cli_field_is_known(const struct nvw__field *f)
{
	return f->name[0] != '\0';
}

/* "node->slots[3].value (unsigned long, 8 bytes)", or a part of that. */
const char *cli_field_words(const struct nvw__field *field, char ret_words[CLI_FIELD_BYTES]);

/* Where it is in what, behind other words: "; the field is at offset 8 of struct slot; of 16 bytes stored to
 * node->slots[3]", or "". */
const char *cli_field_within(const struct nvw__field *field, char ret_words[CLI_FIELD_BYTES]);

/* The same with the place in the pool: "8 bytes at pool offset 0x3c00; the field is at ...". */
const char *cli_field_place(const struct ct_place *p, char ret_words[CLI_FIELD_BYTES]);

#endif
