/* SPDX-License-Identifier: BSD-3-Clause */
/* Command lines of checkers. See command.h. */
#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <nvw/errors.h>

#include "core/each.h"
#include "core/print.h"

#include "command.h"

/* ---- Cutting ------------------------------------------------------------------------------------------- */

struct cut {
	const char *from;
	char *to;
	const char *why; /* it takes a shell; NULL: it does not */
};

static const char *special(char c)
{
	static const struct {
		const char *characters, *are;
	} kinds[] = {{"|&;<>()\n", "a pipe, a list or a redirection"}, {"*?[", "a pattern"},
		{"$`", "a variable or a substitution"}};

	NVW_EACH_IN(kind, kinds) {
		if (strchr(kind->characters, c)) {
			return kind->are;
		}
	}
	return NULL;
}

static void cut_quoted(struct cut *c, char quote)
{
	while (*c->from && *c->from != quote) {
		if (quote == '"' && strchr("$`\\", *c->from)) {
			c->why = "a variable, a substitution or a backslash within quotes";
			return;
		}
		*c->to++ = *c->from++;
	}
	if (!*c->from) {
		c->why = "a quote that does not end";
		return;
	}
	c->from++;
}

/* One word; it begins where from is. */
static void cut_word(struct cut *c)
{
	if (strchr("#~", *c->from) || (strchr("!{}", *c->from) && strchr(" \t", c->from[1]))) {
		c->why = "a word of the shell";
	}
	while (!c->why && *c->from && !strchr(" \t", *c->from)) {
		const char here = *c->from++;

		if (here == '\'' || here == '"') {
			cut_quoted(c, here);
		} else if (here == '\\' && *c->from && *c->from != '\n') {
			*c->to++ = *c->from++;
		} else if (here == '\\' || (here == '=' && *c->from == '~')) {
			c->why = "a word of the shell";
		} else {
			c->why = special(here);
			*c->to++ = here;
		}
	}
	*c->to++ = '\0';
}

/* NAME=value in front of the program. */
static bool is_assignment(const char *source, const char *word)
{
	size_t n = 0;

	while (isalnum((unsigned char)source[n]) || source[n] == '_') {
		n++;
	}
	return n > 0 && !isdigit((unsigned char)*source) && source[n] == '=' && word[n] == '=';
}

static void cut(struct ct_command *c)
{
	struct cut at = {.from = c->source, .to = c->text};
	unsigned words = 0, assigned = 0;

	while (!at.why) {
		at.from += strspn(at.from, " \t");
		if (!*at.from) {
			break;
		}
		const char *const source = at.from;
		char *const word = at.to;

		cut_word(&at);
		if (words == 0 && is_assignment(source, word) && assigned < CT_ASSIGNED_MAX) {
			c->assigned[assigned++] = word;
		} else if (words < CT_WORDS_MAX - 2) {
			c->word[words++] = word;
		} else {
			at.why = "many words";
		}
	}
	if (!at.why && words == 0) {
		at.why = "no program";
	}
	c->by_shell = at.why;
	if (at.why) {
		NVW_PRINT(c->why, "%s", at.why);
	}
}

/* ---- Programs ------------------------------------------------------------------------------------------ */

static bool is_in_path(const char *name)
{
	const char *at = getenv("PATH");
	char path[4096];
	bool found = !at;

	while (!found && *at) {
		const size_t part = strcspn(at, ":");

		NVW_PRINT(path, "%.*s%s%s", (int)part, at, part ? "/" : "", name);
		found = access(path, X_OK) == 0;
		at += part + (at[part] == ':');
	}
	return found;
}

/* A word that the shell itself knows, such as exec; word has no character that is special to it. */
static bool is_of_shell(const char *word)
{
	char text[CT_COMMAND_BYTES + 64];

	if (word[strcspn(word, " \t\n|&;<>()$`\\\"'*?[]#~=%!{}")] != '\0') {
		return false;
	}
	NVW_PRINT(text, "command -v %s >/dev/null 2>&1", word);
	return system(text) == 0;
}

/* A missing command would be a finding in every state. For a shell command, only the shell can tell. */
int ct_command_make(const char *source, const char *option, struct ct_command *ret)
{
	*ret = (struct ct_command){.source = source, .option = option};
	NVW_FAIL_IF(
		strlen(source) >= CT_COMMAND_BYTES - 96, NVW_E_USAGE, "%s: the command is too long", option);
	cut(ret);
	if (ret->by_shell) {
		return 0;
	}
	const char *const program = ret->word[0];

	if (strchr(program, '/') ? access(program, X_OK) == 0 : is_in_path(program)) {
		return 0;
	}
	ret->by_shell = true;
	NVW_PRINT(ret->why, "a command of the shell itself");
	NVW_FAIL_IF(strchr(program, '/') || !is_of_shell(program), NVW_E_USAGE,
		"%s: %s: expected an executable program", option, program);
	return 0;
}

/* ---- Filling in ---------------------------------------------------------------------------------------- */

/* Copies text, with what stands for {}; returns how often that was. */
static unsigned place(const char *text, const char *what, char **to, const char *end)
{
	unsigned placed = 0;

	while (*text && *to + strlen(what) + 2 < end) {
		if (!strncmp(text, "{}", 2)) {
			*to = stpcpy(*to, what);
			text += 2;
			placed++;
		} else {
			*(*to)++ = *text++;
		}
	}
	*(*to)++ = '\0';
	return placed;
}

void ct_command_fill(const struct ct_command *c, const char *path, struct ct_command_line *ret)
{
	static char shell[] = "/bin/sh", option[] = "-c",
		    name[] = "sh"; /* not const, as execve() has words */
	char *to = ret->text;
	const char *const end = ret->text + sizeof ret->text;
	unsigned n = 0, placed = 0;

	if (c->by_shell) {
		ret->word[n++] = shell;
		ret->word[n++] = option;
		ret->word[n++] = to;
		if (place(c->source, "\"$1\"", &to, end) == 0) {
			strcpy(to - 1, " \"$1\"");
		}
		ret->word[n++] = name;
	}
	for (unsigned i = 0; !c->by_shell && c->word[i]; i++) {
		ret->word[n++] = to;
		placed += place(c->word[i], path, &to, end);
	}
	if (placed == 0) {
		ret->word[n++] = (char *)(uintptr_t)path;
	}
	ret->word[n] = NULL;
}
