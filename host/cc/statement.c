/* SPDX-License-Identifier: BSD-3-Clause */
/* The text of the assembler stage: lines, comments, statements, directives and prefixes. */
#include <stdlib.h>
#include <string.h>

#include "core/bounds.h"
#include "stage.h"

/* clang has its own section types, which other assemblers warn of. */
static void cut_type(struct stage *s, struct piece p)
{
	const char *const type = piece_find(p, ",@llvm_");

	if (type != NULL) {
		cc_emit_to(s, type);
		s->emitted = p.at + p.n;
	}
}

/* What a compiler adds of itself has line 0: .loc FILE LINE COLUMN. Each sscanf() would read all of the
 * text that follows. */
static bool has_line(struct piece p)
{
	char *line;

	strtoul(p.at + strlen(".loc "), &line, 10);
	return strtoul(line, NULL, 10) != 0;
}

static void direct(struct stage *s, struct piece p)
{
	if (piece_begins(p, ".intel_syntax") || piece_begins(p, ".att_syntax")) {
		s->intel = piece_begins(p, ".intel");
		s->bare = s->intel && piece_find(p, "noprefix") != NULL;
	} else if (piece_begins(p, ".section")) {
		cut_type(s, p);
	} else if (piece_begins(p, ".cfi_startproc") || piece_begins(p, ".cfi_endproc")) {
		s->unwinds = piece_begins(p, ".cfi_startproc");
	} else if (piece_begins(p, ".type")) {
		s->framed = s->located = false;
		s->announced = 0;
	} else if (piece_begins(p, ".loc ") || piece_begins(p, ".loc\t")) {
		s->located = has_line(p);
	} else if (piece_begins(p, ".rept") || piece_begins(p, ".irp")) {
		s->repeats++;
	} else if (piece_begins(p, ".endr") && s->repeats > 0) {
		s->repeats--;
	} else if (piece_begins(p, ".macro")) {
		s->macros++;
	} else if (piece_begins(p, ".endm") && s->macros > 0) {
		s->macros--;
	}
}

static void note(const struct stage *s, const char *what)
{
	fprintf(stderr, "nvwave-cc: %s:%u: %s\n", s->file, s->line, what);
}

static void note_macro(const struct stage *s, struct piece p)
{
	static const char *const names[] = {"clwb", "clflush", "movnt", "sfence", "mfence", NULL};

	if (piece_begins_any(p, names)) {
		note(s, "an instruction in the body of a .macro is not watched");
	}
}

/* Removes prefixes from the front of an instruction. */
static struct piece take_prefixes(struct piece p, struct instruction *i)
{
	NVW_INVARIANT(i->mnemonic.n == 0); /* it begins behind them */

	static const char *const others[] = {"rep", "repe", "repz", "repne", "repnz", "notrack", "bnd",
		"addr32", "cs", "ds", "es", "ss", "fs", "gs", "xacquire", "xrelease", NULL};
	bool again = true;

	while (again && p.n > 0) {
		const struct piece word = {p.at, piece_word(p)};

		again = piece_is(word, "lock") || piece_is(word, "data16") || piece_is_any(word, others);
		i->locked = i->locked || piece_is(word, "lock");
		i->wide = i->wide || piece_is(word, "data16");
		i->repeated = i->repeated || piece_begins(word, "rep");
		if (again) {
			p = piece_rest(p, word.n);
		}
	}
	return p;
}

static void statement(struct stage *s, struct piece p)
{
	size_t n;

	p = piece_trim(p);
	while ((n = piece_word(p)) > 0 && n < p.n && p.at[n] == ':') {
		p = piece_rest(p, n + 1);
		s->hold = NULL;
	}
	if (p.n == 0) {
		return;
	}
	struct instruction i = {.whole = p,
		.intel = s->intel,
		.locked = s->hold && s->locked,
		.wide = s->hold && s->wide,
		.repeated = s->hold && s->repeated};
	const bool is_0x66 = piece_begins(p, ".byte") && piece_is(piece_rest(p, 5), "0x66");

	direct(s, p);
	p = take_prefixes(p, &i);
	if (p.n == 0 || is_0x66) {
		if (s->hold == NULL) {
			s->hold = i.whole.at;
		}
		s->locked = i.locked;
		s->wide = i.wide || is_0x66;
		s->repeated = i.repeated;
		return;
	}
	i.mnemonic = (struct piece){p.at, piece_word(p)};
	if (s->macros > 0) {
		s->unwatched = s->unwatched || *p.at != '.';
		note_macro(s, p);
	} else if (i.mnemonic.n > 0 && *p.at != '.') {
		cc_take_operands(&i, piece_rest(p, i.mnemonic.n));
		cc_instruct(s, &i);
	}
	s->hold = NULL;
}

/* Number of characters up to the end of a string, a character or a comment; 0 for none of these. */
static size_t skip(struct stage *s, const char *at, const char *end)
{
	size_t n = 1;

	NVW_INVARIANT(at < end && !s->comment);
	if (*at == '"') {
		while (at + n < end && at[n] != '"') {
			n += 1 + (at[n] == '\\');
		}
		n++;
	} else if (*at == '\'') {
		n += 1 + (at + 1 < end && at[1] == '\\');
	} else if (*at == '/' && at + 1 < end && at[1] == '*') {
		s->comment = true;
		n = 2;
	}
	return nvw_min(n, (size_t)(end - at));
}

void cc_line(struct stage *s, const char *at, const char *end)
{
	NVW_INVARIANT(at <= end);

	const char *from = at;
	const struct piece whole = piece_trim((struct piece){at, (size_t)(end - at)});

	if (!s->comment && (piece_is(whole, "#APP") || piece_is(whole, "#NO_APP"))) {
		s->inline_assembly = piece_is(whole, "#APP");
	}
	if (!s->comment && piece_begins(whole, "/") && !piece_begins(whole, "/*")) {
		return;
	}
	while (at < end) {
		if (s->comment) {
			const char *const stop = piece_find((struct piece){at, (size_t)(end - at)}, "*/");

			s->comment = stop == NULL;
			at = end;
			if (stop != NULL) {
				at = stop + 2;
			}
			from = at;
		} else if (*at == '#' || *at == ';') {
			statement(s, (struct piece){from, (size_t)(at - from)});
			at = *at == '#' ? end : at + 1;
			from = at;
		} else {
			const size_t n = skip(s, at, end);

			if (s->comment) {
				statement(s, (struct piece){from, (size_t)(at - from)});
			}
			at += n;
		}
	}
	if (!s->comment) {
		statement(s, (struct piece){from, (size_t)(at - from)});
	}
}
