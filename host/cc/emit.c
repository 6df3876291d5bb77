/* SPDX-License-Identifier: BSD-3-Clause */
/* What the assembler stage inserts, in the syntax of the file. */
#include "core/invariant.h"
#include "stage.h"

enum { PUSHED = 128 + 8 }; /* how much lower the stack pointer is when the operand's address is taken */

const char *cc_register_mark(const struct stage *s)
{
	if (s->bare) {
		return "";
	}
	return "%";
}

const char *cc_in_syntax(const struct stage *s, const char *intel, const char *att)
{
	return s->intel ? intel : att;
}

/* ---- Addresses ------------------------------------------------------------------------------------ */

bool cc_address_of(const struct stage *s, struct piece p, char *to, size_t n)
{
	if (s->intel) {
		p = piece_behind(p, "ptr");
	}
	if (piece_find(p, ":")) {
		const struct piece segment = piece_before(p, ":");

		if (piece_find(segment, "fs") || piece_find(segment, "gs")) {
			return false;
		}
		p = piece_behind(p, ":");
	}
	const char *const stack = piece_find(p, cc_in_syntax(s, "rsp", "(%rsp"));

	if (stack == NULL) {
		return (size_t)snprintf(to, n, "%.*s", (int)p.n, p.at) < n;
	}
	if (!s->intel) {
		const bool plain = stack == p.at; /* without a number before it */

		return (size_t)snprintf(to, n, plain ? "%d%.*s" : "%d+%.*s", PUSHED, (int)p.n, p.at) < n;
	}
	return (size_t)snprintf(to, n, "%.*srsp+%d%.*s", (int)(stack - p.at), p.at, PUSHED,
		       (int)(p.n - (size_t)(stack - p.at) - 3), stack + 3) < n;
}

/* ---- Calls ---------------------------------------------------------------------------------------- */

void cc_emit_to(struct stage *s, const char *at)
{
	NVW_INVARIANT(at >= s->emitted); /* nothing is written twice */
	fwrite(s->emitted, 1, (size_t)(at - s->emitted), s->to);
	s->emitted = at;
}

static unsigned site_kind(unsigned what)
{
	switch (what & 0xff) {
	case NVWAVE_CC_FLUSH:
	case NVWAVE_CC_FLUSH_ORDERED:
	case NVWAVE_CC_FENCE:
		return NVWAVE_CC_SITE_FLUSH;
	default:
		return NVWAVE_CC_SITE_STORE;
	}
}

void cc_emit_site(const struct stage *s, unsigned kind)
{
	NVW_INVARIANT(kind == NVWAVE_CC_SITE_STORE || kind == NVWAVE_CC_SITE_FLUSH);
	fprintf(s->to, HERE("marked") SITE(".Lnvwave_marked", ".Lnvwave_marked"), kind);
}

void cc_emit_call(const struct stage *s, const char *address, unsigned what)
{
	NVW_INVARIANT((what & 0xff) >= NVWAVE_CC_FLUSH && (what & 0xff) <= NVWAVE_CC_STRING);

	const char *const r = cc_register_mark(s);

	if (!s->intel) {
		fprintf(s->to, "lea -128(%%rsp), %%rsp; push %%rax; ");
		if (address != NULL) {
			fprintf(s->to, "lea %s, %%rax; ", address);
		}
		fprintf(s->to, "push $%u; call __nvwave_cc_instruction; ", what);
		cc_emit_site(s, site_kind(what));
		fprintf(s->to, "lea 8(%%rsp), %%rsp; pop %%rax; lea 128(%%rsp), %%rsp; ");
		return;
	}
	fprintf(s->to, "lea %srsp, [%srsp-128]; push %srax; ", r, r, r);
	if (address != NULL) {
		fprintf(s->to, "lea %srax, %s; ", r, address);
	}
	fprintf(s->to, "push %u; call __nvwave_cc_instruction; ", what);
	cc_emit_site(s, site_kind(what));
	fprintf(s->to, "lea %srsp, [%srsp+8]; pop %srax; lea %srsp, [%srsp+128]; ", r, r, r, r, r);
}

void cc_emit_passed(const struct stage *s)
{
	const char *const r = cc_register_mark(s);

	if (!s->intel) {
		fprintf(s->to, "lea -128(%%rsp), %%rsp; call __nvwave_cc_passed; " HERE(
				       "marked") "lea 128(%%rsp), %%rsp; ");
		return;
	}
	fprintf(s->to,
		"lea %srsp, [%srsp-128]; call __nvwave_cc_passed; " HERE("marked") "lea %srsp, [%srsp+128]; ",
		r, r, r, r);
}

void cc_emit_counted(const struct stage *s, unsigned counter)
{
	NVW_INVARIANT(counter < 2);

	const char *const r = cc_register_mark(s);

	if (!s->intel) {
		fprintf(s->to, "movb $1, .Lnvwave_counter+%u(%%rip); ", counter);
		return;
	}
	fprintf(s->to, "mov byte ptr [%srip+.Lnvwave_counter+%u], 1; ", r, counter);
}
