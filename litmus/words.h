/* SPDX-License-Identifier: BSD-3-Clause */
/* The smallest parts of the text form of litmus tests: each function takes one from the text, behind white
 * space and comments. Those that return an int fail with NVW_E_INPUT, file:line, and what was expected. */
#ifndef LITMUS_WORDS_H
#define LITMUS_WORDS_H

#include "parse.h"

/* The failure: what was expected here, and what is found instead. */
int litmus_expected(const struct litmus_reader *reader, const char *what);
/* Takes the text if it comes next. */
bool litmus_accept(struct litmus_reader *reader, const char *text);
NVW_CHECKED int litmus_expect(struct litmus_reader *reader, const char *text);
bool litmus_is_word(char c);
/* A word: letters, digits, "_"; does not begin with a digit. */
NVW_CHECKED int litmus_take_word(struct litmus_reader *reader, char word[LITMUS_WORD], const char *what);
NVW_CHECKED int litmus_take_number(struct litmus_reader *reader, int64_t *ret);
/* A number from 0 to 255: a thread, work-group, device or barrier. */
NVW_CHECKED int litmus_take_small(struct litmus_reader *reader, unsigned *ret);
/* The position of the name that comes next. */
NVW_CHECKED int litmus_take_choice(
	struct litmus_reader *reader, const char *const *names, const char *what, unsigned *ret);

/* -1: there is none of that name. */
int litmus_find_variable(const struct litmus_test *test, const char *name);
int litmus_find_register(const struct litmus_thread *thread, const char *name);
/* The variable with that name; created if needed. */
NVW_CHECKED int litmus_take_variable(struct litmus_reader *reader, unsigned *ret);
/* The register of the thread with that name, created if needed; "_" stands for none. */
NVW_CHECKED int litmus_take_register(struct litmus_reader *reader, const char *what, int *ret);
/* A register that has been assigned, for reading. */
NVW_CHECKED int litmus_take_source(struct litmus_reader *reader, const char *what, int *ret);
/* A number or a register. */
NVW_CHECKED int litmus_take_value(struct litmus_reader *reader, struct litmus_value *ret);
NVW_CHECKED int litmus_take_relation(struct litmus_reader *reader, enum litmus_relation *ret);

#endif
