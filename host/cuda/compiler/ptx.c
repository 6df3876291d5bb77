/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Inline PTX in the device half, before it is optimized. Each instruction becomes calls of the runtime's
 * functions (runtime/ptx.c); what is not supported is an error with its source line.
 *
 * There is no control flow in a statement: under a predicate arithmetic is done and its result dropped, an
 * access is asked for with the predicate. Of a predicate the lowest bit counts. A branch forwards makes a
 * predicate of what lies before its label: only who has not jumped there executes it.
 */
#include "ptx.h"

#include <ctype.h>

/* ---- Branches */

static struct ptx_label *label_of(struct ptx *p, const char *name)
{
	NVW_FOR(i, p->label_count) {
		if (strcmp(p->labels[i].name, name) == 0) {
			return &p->labels[i];
		}
	}
	p->labels = realloc(p->labels, (p->label_count + 1) * sizeof *p->labels);
	struct ptx_label *const label = &p->labels[p->label_count++];

	*label = (struct ptx_label){0};
	snprintf(label->name, sizeof label->name, "%s", name);
	return label;
}

static size_t length_of_name(const char *text)
{
	size_t n = 0;

	if (!isdigit((unsigned char)*text)) {
		while (isalnum((unsigned char)text[n]) || text[n] == '_' || text[n] == '$') {
			n++;
		}
	}
	return n;
}

static LLVMValueRef either(struct ptx *p, LLVMValueRef a, LLVMValueRef b)
{
	if (!a) {
		return b;
	}
	return LLVMBuildOr(p->d->builder, a, b, "");
}

static void branch(struct ptx *p, const char *name)
{
	struct ptx_label *label;
	LLVMValueRef jumps, stays;

	if (!*name || length_of_name(name) != strlen(name)) {
		ptx_refuse(p, "nvwave does not support branches to %s", name);
		return;
	}
	label = label_of(p, name);
	if (label->passed) {
		ptx_refuse(p, "nvwave does not support branches backwards: bra %s", name);
		return;
	}
	jumps = ptx_condition(p);
	NVW_INVARIANT(LLVMTypeOf(jumps) == p->d->i64); /* conditions are 0 or 1 in 64 bits */
	label->waiting = either(p, label->waiting, jumps);
	stays = LLVMBuildXor(p->d->builder, jumps, ptx_number(p, 1), "");
	if (p->active) {
		stays = LLVMBuildAnd(p->d->builder, stays, p->active, "");
	}
	p->active = stays;
}

static void arrive(struct ptx *p, const char *name)
{
	struct ptx_label *const label = label_of(p, name);
	bool is_somebody_elsewhere = false;

	label->passed = true;
	if (label->waiting) {
		p->active = either(p, p->active, label->waiting);
		label->waiting = NULL;
	}
	NVW_FOR(i, p->label_count) {
		is_somebody_elsewhere |= p->labels[i].waiting != NULL;
	}
	if (!is_somebody_elsewhere) {
		p->active = NULL;
	}
}

static void end_branches(struct ptx *p)
{
	NVW_FOR(i, p->label_count) {
		if (p->labels[i].waiting) {
			ptx_refuse(
				p, "a branch to %s, which is not in this asm statement", p->labels[i].name);
		}
	}
}

/* ---- One statement of PTX */

/* "r<4>": r0 to r3 */
static void declare_several(struct ptx *p, const char *name, unsigned count)
{
	char each[64];

	NVW_FOR(i, count) {
		snprintf(each, sizeof each, "%.40s%u", name, i);
		ptx_declare(p, each, NULL);
	}
}

static void declare_registers(struct ptx *p, char *list)
{
	char *rest = list, *name;

	while ((name = strsep(&rest, ",")) != NULL) {
		char *const count = strchr(name, '<');

		if (count) {
			*count = '\0';
			declare_several(p, ptx_trimmed(name), (unsigned)strtoul(count + 1, NULL, 10));
		} else {
			ptx_declare(p, ptx_trimmed(name), NULL);
		}
	}
}

static char *behind_word(char *text)
{
	while (*text && !isspace((unsigned char)*text)) {
		text++;
	}
	return text;
}

static void directive(struct ptx *p, char *text)
{
	char *type;

	if (strncmp(text, ".reg", 4) != 0) {
		ptx_refuse(p, "nvwave does not support this directive: %s", text);
		return;
	}
	type = strchr(text + 1, '.');
	if (type) {
		declare_registers(p, behind_word(type));
	}
}

/* The predicate before an instruction, and the branches before it. Returns the instruction. */
static char *take_guard(struct ptx *p, char *text)
{
	p->guard = NULL;
	p->negated = false;
	if (*text == '@') {
		char *const end = behind_word(text);

		p->negated = text[1] == '!';
		text += 1 + p->negated;
		if (*end) {
			*end = '\0';
			p->guard = ptx_value(p, text);
			text = ptx_trimmed(end + 1);
		}
	}
	if (p->active) {
		p->guard = LLVMBuildAnd(p->d->builder, p->active, ptx_condition(p), "");
		p->negated = false;
	}
	return text;
}

static char *skip(char *text, const char *what)
{
	return text + strspn(text, what);
}

static char *take_labels(struct ptx *p, char *text)
{
	text = skip(text, " \t\n{}");
	for (size_t n; (n = length_of_name(text)) > 0;) {
		char *const colon = skip(text + n, " \t\n");

		if (*colon != ':') {
			break;
		}
		text[n] = '\0';
		arrive(p, text);
		text = skip(colon + 1, " \t\n{}");
	}
	return ptx_trimmed(text);
}

static bool is_word(const char *text, const char *word)
{
	const size_t n = strlen(word);

	return strncmp(text, word, n) == 0 && (text[n] == '\0' || text[n] == '.' || text[n] == ' ');
}

static void translate_one(struct ptx *p, char *text)
{
	text = take_labels(p, text);
	if (!*text || strcmp(text, "}") == 0) {
		return;
	}
	if (*text == '.') {
		directive(p, text);
		return;
	}
	text = take_guard(p, text);
	if (is_word(text, "bra")) {
		branch(p, ptx_trimmed(behind_word(text)));
	} else if (is_word(text, "call") || is_word(text, "ret") || is_word(text, "brx")) {
		ptx_refuse(p, "nvwave does not support calls and returns: %s", text);
	} else {
		ptx_instruction(p, text);
	}
}

/* ---- The text of an asm statement */

/* LLVM prints it as: asm sideeffect "text", "constraints", with characters as \22. Cut out in place. */
static char *cut_last_string(char *printed)
{
	char *const end = strrchr(printed, '"');

	if (!end) {
		return NULL;
	}
	*end = '\0';
	char *const start = strrchr(printed, '"');

	if (!start) {
		return NULL;
	}
	*start = '\0';
	return start + 1;
}

static void unescape(char *text)
{
	char *to = text;

	for (char *from = text; *from; from++) {
		char digits[3] = "";
		const bool is_escape = *from == '\\' && isxdigit((unsigned char)from[1]);

		if (is_escape) {
			memcpy(digits, from + 1, 2);
			*to++ = (char)strtoul(digits, NULL, 16);
			from += 2;
		} else {
			*to++ = *from;
		}
	}
	*to = '\0';
}

/* The bytes of the comment that begins there; 0: none does. */
static size_t comment_at(const char *at)
{
	const char *end = NULL;

	if (begins(at, "//")) {
		end = "\n";
	} else if (begins(at, "/*")) {
		end = "*/";
	} else {
		return 0;
	}
	const char *const found = strstr(at + 2, end);

	if (!found) {
		return strlen(at);
	}
	return (size_t)(found - at) + strlen(end);
}

/* Comments become blanks; so do all blanks. */
static void blank_comments(char *text)
{
	for (char *at = text; *at; at++) {
		memset(at, ' ', comment_at(at));
		if (isspace((unsigned char)*at)) {
			*at = ' ';
		}
	}
}

/* LLVM writes braces and bars as $( $) $|, and ${:uid} for the number of the statement: its labels are its
 * own. */
static void replace_dollars(char *text)
{
	static const struct {
		const char *from, *to;
	} replaced[] = {{"$(", "{"}, {"$)", "}"}, {"$|", "|"}, {"${:uid}", "_uid"}};

	NVW_FOR(i, NVW_COUNT(replaced)) {
		const size_t from = strlen(replaced[i].from), to = strlen(replaced[i].to);

		for (char *at = text; (at = strstr(at, replaced[i].from)) != NULL; at += to) {
			memcpy(at, replaced[i].to, to);
			memmove(at + to, at + from, strlen(at + from) + 1);
		}
	}
}

/* ---- asm statements */

/* Outputs, "=r", are the first; an input "0" is the first output's register. */
static unsigned take_operands(struct ptx *p, char *constraints)
{
	unsigned outputs = 0, inputs = 0;
	char *rest = constraints, *one;

	while ((one = strsep(&rest, ",")) != NULL && *one) {
		char name[16];

		if (*one == '~') {
			continue;
		}
		if (strpbrk(one, "*m")) {
			ptx_refuse(p, "operands in memory are not supported");
		}
		snprintf(name, sizeof name, "$%u", outputs + inputs);
		if (*one == '=') {
			outputs++;
			ptx_declare(p, name, NULL);
			continue;
		}
		if (isdigit((unsigned char)*one)) {
			snprintf(name, sizeof name, "$%.8s", one);
		}
		ptx_declare(p, name, ptx_widened(p, LLVMGetOperand(p->statement, inputs++)));
	}
	return outputs;
}

static LLVMValueRef output(struct ptx *p, unsigned i, LLVMTypeRef type)
{
	char name[16];

	snprintf(name, sizeof name, "$%u", i);
	const struct ptx_named *const r = ptx_find_register(p, name);
	LLVMValueRef value = ptx_number(p, 0);

	if (r) {
		value = NVW_OR(r->value, value);
	}
	return ptx_narrowed(p, value, type);
}

static LLVMValueRef all_outputs(struct ptx *p, unsigned outputs)
{
	const LLVMTypeRef type = LLVMTypeOf(p->statement);
	LLVMValueRef all = LLVMGetUndef(type);

	if (outputs == 1) {
		return output(p, 0, type);
	}
	NVW_FOR(i, outputs) {
		LLVMValueRef one = output(p, i, LLVMStructGetTypeAtIndex(type, i));

		all = LLVMBuildInsertValue(p->d->builder, all, one, i, "");
	}
	return all;
}

static void translate_text(struct ptx *p, char *text, char *constraints)
{
	const unsigned outputs = take_operands(p, constraints);
	char *rest = text, *one;

	unescape(text);
	blank_comments(text);
	replace_dollars(text);
	while ((one = strsep(&rest, ";")) != NULL) {
		translate_one(p, one);
	}
	end_branches(p);
	p->guard = NULL;
	if (outputs) {
		LLVMReplaceAllUsesWith(p->statement, all_outputs(p, outputs));
	}
	LLVMInstructionEraseFromParent(p->statement);
}

static void translate_statement(struct device *d, LLVMValueRef i, bool *failed)
{
	struct ptx p = {.d = d, .statement = i, .failed = failed};

	if (!LLVMIsACallInst(i) || !LLVMIsAInlineAsm(LLVMGetCalledValue(i))) {
		return;
	}
	char *const printed = LLVMPrintValueToString(LLVMGetCalledValue(i));
	char *const constraints = cut_last_string(printed), *const text = cut_last_string(printed);

	LLVMPositionBuilderBefore(d->builder, i);
	if (text && constraints) {
		translate_text(&p, text, constraints);
	}
	free(p.registers);
	free(p.labels);
	LLVMDisposeMessage(printed);
}

bool translate_ptx(struct device *d)
{
	bool failed = false;

	FOR_FUNCTIONS(f, d) {
		FOR_INSTRUCTIONS(i, f) {
			translate_statement(d, i, &failed);
		}
	}
	return !failed;
}
