/* SPDX-License-Identifier: BSD-3-Clause */
/* Which instructions the assembler stage announces, or marks as executed (as.c). */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/bounds.h"
#include "stage.h"

/* ---- Instructions --------------------------------------------------------------------------------- */

static bool is_on_stack(const struct stage *s, struct piece p)
{
	return piece_find(p, "rsp") != NULL || (s->framed && piece_find(p, "rbp") != NULL);
}

/* Whether a plain store needs a call, or the compiler has announced it. An extra call does no harm. */
static bool is_unannounced(struct stage *s, struct piece to, unsigned bytes)
{
	if (s->inline_assembly) {
		return true;
	}
	if (is_on_stack(s, to)) {
		return false;
	}
	if (s->announced == bytes || s->announced == UINT_MAX) {
		if (s->announced == bytes) {
			s->announced = 0;
		}
		return false;
	}
	return piece_find(to, "rip") == NULL;
}

static struct piece target(const struct instruction *i)
{
	NVW_INVARIANT(i->operands > 0);

	struct piece p = i->operand[0];

	if (piece_begins(p, "*")) {
		p = piece_rest(p, 1);
	}
	if (piece_begins(p, "[")) {
		return piece_behind(p, "ptr");
	}
	return p;
}

/* The target of a call, also through the table of offsets (-fno-plt); empty: not a call. */
static struct piece callee(const struct instruction *i)
{
	if (!piece_begins(i->mnemonic, "call") || i->operands != 1) {
		return (struct piece){0};
	}
	return target(i);
}

/* The function is one of the C library, of the kernel's calls, of libpmem, or one that CUDA's kernels
 * call. */
static unsigned library_kind(struct piece name)
{
	static const char *const stores[] = {"memcpy", "memmove", "memset", "mempcpy", "bzero", "strcpy",
		"stpcpy", "strncpy", "strcat", "pmem_memcpy", "pmem_memmove", "pmem_memset",
		"nvw_cuda_atomic", "nvw_cuda_before_store", "nvw_ptx_atomic", "nvw_ptx_store",
		"nvw_tsan_memcpy", "nvw_tsan_memmove", "nvw_tsan_memset", NULL};
	static const char *const flushes[] = {"pmem_persist", "pmem_flush", "pmem_drain", "pmem_msync",
		"pmem_deep_persist", "pmem_deep_flush", "pmem_deep_drain", "pmem_memcpy_persist",
		"pmem_memmove_persist", "pmem_memset_persist", "pmem_memcpy_nodrain", "pmem_memmove_nodrain",
		"pmem_memset_nodrain", "msync", "fsync", "fdatasync", "nvw_cuda_persist_barrier",
		"nvw_cuda_fence", "nvw_ptx_fence", NULL};

	if (piece_is_any(name, stores)) {
		return NVWAVE_CC_SITE_STORE;
	}
	if (piece_is_any(name, flushes)) {
		return NVWAVE_CC_SITE_FLUSH;
	}
	return 0;
}

/* The function is one that the compiler calls before a store, or for it; 0: a load. */
static unsigned announced_kind(struct piece name)
{
	if (piece_find(name, "thread_fence")) {
		return NVWAVE_CC_SITE_FLUSH;
	}
	if (piece_find(name, "write") || piece_find(name, "vptr_update")) {
		return NVWAVE_CC_SITE_STORE;
	}
	if (piece_find(name, "atomic") && !piece_find(name, "_load") && !piece_find(name, "signal_fence")) {
		return NVWAVE_CC_SITE_STORE;
	}
	return 0;
}

/* The call in place of a jump, with room that aligns the stack. None of these functions takes an argument
 * from there. */
static void emit_jump(struct stage *s, const struct instruction *i)
{
	const char *const r = cc_register_mark(s);

	fprintf(s->to, cc_in_syntax(s, "lea %srsp, [%srsp-8]; ", "lea -8(%%rsp), %%rsp; "), r, r);
	if (s->unwinds) {
		fputs(".cfi_adjust_cfa_offset 8; ", s->to);
	}
	fprintf(s->to, "call %.*s; ", (int)i->operand[0].n, i->operand[0].at);
	s->emitted = i->whole.at + i->whole.n;
}

/* Behind it. */
static void emit_return(const struct stage *s)
{
	const char *const r = cc_register_mark(s);

	fprintf(s->to, cc_in_syntax(s, "lea %srsp, [%srsp+8]; ", "lea 8(%%rsp), %%rsp; "), r, r);
	if (s->unwinds) {
		fputs(".cfi_adjust_cfa_offset -8; ", s->to);
	}
	fputs("ret", s->to);
}

/* What it calls, without the linker's word behind it. */
static struct piece name_of(const struct instruction *i)
{
	return piece_before(target(i), "@");
}

/* A call of a kernel. */
static void list_device_site(struct stage *s, const struct instruction *i)
{
	const struct piece name = name_of(i);
	const unsigned kind = NVW_OR(library_kind(name), announced_kind(name));

	if (kind == 0) {
		return;
	}
	cc_emit_to(s, i->whole.at);
	fputs(COUNTERS(1), s->to);
	cc_emit_counted(s, 0);
	cc_emit_to(s, i->whole.at + i->whole.n);
	fprintf(s->to, "; " HERE("known") SITE(".Lnvwave_counter", ".Lnvwave_known"), kind);
}

/* A call, or a jump, of a function that stores, flushes or fences. */
static void list_site(struct stage *s, const struct instruction *i)
{
	NVW_INVARIANT(i->operands == 1);

	const bool jumps = !piece_begins(i->mnemonic, "call");
	const struct piece name = name_of(i);
	const bool announced = piece_begins(name, "__tsan_");
	const unsigned kind = announced ? announced_kind(name) : library_kind(name);

	if (kind == 0) {
		return;
	}
	cc_emit_to(s, NVW_OR(s->hold, i->whole.at));
	if (!announced) {
		cc_emit_passed(s);
	}
	if (jumps) {
		emit_jump(s, i);
	} else {
		cc_emit_to(s, i->whole.at + i->whole.n);
		fputs("; ", s->to);
	}
	if (announced) {
		cc_emit_site(s, kind);
	} else {
		fprintf(s->to, HERE("known") SITE(".Lnvwave_marked", ".Lnvwave_known"), kind);
	}
	if (jumps) {
		emit_return(s);
	}
}

/* ---- Branches ------------------------------------------------------------------------------------- */

/* jne, and not jmp, jrcxz or jpe */
static bool is_branch(const struct instruction *i)
{
	static const char *const conditions[] = {
		"o", "b", "c", "ae", "e", "z", "be", "a", "s", "p", "l", "ge", "le", "g", NULL};

	if (!piece_begins(i->mnemonic, "j") || i->operands != 1 || i->whole.at != i->mnemonic.at) {
		return false;
	}
	return piece_is_any(piece_rest(i->mnemonic, 1 + piece_begins(i->mnemonic, "jn")), conditions);
}

/* By the words of the thread that stack protectors and split stacks compare. */
static bool checks_stack(const struct instruction *i)
{
	return piece_find(i->whole, "fs:40") != NULL || piece_find(i->whole, "fs:112") != NULL;
}

static void list_branch(struct stage *s, const struct instruction *i)
{
	NVW_INVARIANT(s->located && s->repeats == 0);

	static unsigned branches;
	const bool negated = piece_begins(i->mnemonic, "jn");
	const struct piece condition = piece_rest(i->mnemonic, 1 + negated), to = i->operand[0];

	cc_emit_to(s, i->whole.at);
	fprintf(s->to, COUNTERS(2) "j%s%.*s .Lnvwave_goes_on_%u; ", negated ? "" : "n", (int)condition.n,
		condition.at, branches);
	fprintf(s->to, HERE("known") SITE(".Lnvwave_counter", ".Lnvwave_known"), NVWAVE_CC_SITE_BRANCH);
	cc_emit_counted(s, 0);
	fprintf(s->to, "jmp %.*s; .Lnvwave_goes_on_%u: ", (int)to.n, to.at, branches++);
	cc_emit_counted(s, 1);
	s->emitted = i->whole.at + i->whole.n;
}

/* Of code that a compiler has made, once. */
static void meet_branch(struct stage *s, const struct instruction *i)
{
	const bool is_checked = s->checks;

	s->checks = checks_stack(i);
	if (s->located && !s->inline_assembly && s->repeats == 0 && !is_checked && is_branch(i)) {
		list_branch(s, i);
	}
}

/* ---- Calls that are announced --------------------------------------------------------------------- */

/* A call ends earlier announcements, and may announce a store: a range, or any number of them. */
static void meet_call(struct stage *s, const struct instruction *i)
{
	const struct piece to = callee(i);
	const char *const write = piece_find(to, "write");

	if (write == NULL || !piece_begins(to, "__tsan_")) {
		s->announced = 0;
	} else if (piece_find(to, "range")) {
		s->announced = UINT_MAX;
	} else {
		s->announced = (unsigned)atoi(write + strlen("write"));
	}
}

static unsigned sized(unsigned kind, unsigned bytes)
{
	NVW_INVARIANT(kind > 0 && kind >> NVWAVE_CC_BYTES_SHIFT == 0);
	return kind | bytes << NVWAVE_CC_BYTES_SHIFT;
}

/* What string instructions and masked moves store to. */
static struct piece by_rdi(const struct stage *s)
{
	const char *const text = cc_in_syntax(s, "[rdi]", "(%rdi)");

	return (struct piece){text, strlen(text)};
}

/* The kind of an instruction, with its bytes; 0: irrelevant. Its operand may not be memory. */
static unsigned what_of(struct stage *s, const struct instruction *i, struct piece *ret_operand)
{
	const unsigned target = s->intel ? 0 : i->operands - 1; /* the destination */
	unsigned flush, bytes;
	bool is_by_rdi;

	*ret_operand = (struct piece){0};
	if (i->operands > 0) {
		*ret_operand =
			piece_before(i->operand[target], "{"); /* without a vector's mask: (%rdi){%k1} */
	}
	if ((flush = cc_flush_of(i)) != 0) {
		return flush;
	}
	if ((bytes = cc_streamed_bytes(i, &is_by_rdi)) != 0) {
		if (is_by_rdi) {
			*ret_operand = by_rdi(s);
		}
		return sized(NVWAVE_CC_STREAM, bytes);
	}
	if (i->locked || piece_is(i->mnemonic, "xchg") ||
		(piece_begins(i->mnemonic, "xchg") && i->mnemonic.n == 5)) {
		if (!i->locked && i->operands == 2 && !cc_is_memory(i, *ret_operand)) {
			*ret_operand = i->operand[1 - target];
		}
		if (!cc_is_memory(i, *ret_operand)) {
			return 0;
		}
		return sized(NVWAVE_CC_ATOMIC, cc_bytes_of(i));
	}
	if ((bytes = cc_string_bytes(i)) != 0) {
		*ret_operand = by_rdi(s);
		if (s->announced == UINT_MAX && !s->inline_assembly) {
			return 0;
		}
		return sized(i->repeated ? NVWAVE_CC_STRING : NVWAVE_CC_STORE, bytes);
	}
	bytes = cc_plain_bytes(i, *ret_operand);
	if (bytes == 0 || !is_unannounced(s, *ret_operand, bytes)) {
		return 0;
	}
	return sized(NVWAVE_CC_STORE, bytes);
}

static bool is_load_call(const struct instruction *i)
{
	static const char *const names[] = {"__tsan_read", "__tsan_unaligned_read", "__tsan_volatile_read",
		"__tsan_unaligned_volatile_read", "__tsan_vptr_read", NULL};
	const struct piece to = callee(i);

	return piece_begins_any(to, names) && piece_find(to, "read_write") == NULL;
}

/* mov %rsp, %rbp */
static bool makes_frame(const struct stage *s, const struct instruction *i)
{
	return piece_begins(i->mnemonic, "mov") && i->operands == 2 &&
	       piece_is(cc_register_name(i->operand[s->intel]), "rsp") &&
	       piece_is(cc_register_name(i->operand[!s->intel]), "rbp");
}

void cc_instruct(struct stage *s, const struct instruction *i)
{
	const char *const begin = NVW_OR(s->hold, i->whole.at);
	struct piece operand;
	char address[1024];

	meet_branch(s, i);
	if (s->device && callee(i).n > 0) {
		list_device_site(s, i);
	}
	if (s->device || (is_load_call(i) && s->loads)) {
		return;
	}
	if (is_load_call(i)) {
		cc_emit_to(s, i->whole.at);
		s->emitted = i->whole.at + i->whole.n;
		return;
	}
	if (piece_begins(i->mnemonic, "call") && i->operands == 1) {
		meet_call(s, i);
		list_site(s, i);
		return;
	}
	if (piece_is(i->mnemonic, "jmp") && i->operands == 1 && !s->inline_assembly) {
		list_site(s, i);
	}
	s->framed = s->framed || makes_frame(s, i);
	if (piece_is(i->mnemonic, "sfence") || piece_is(i->mnemonic, "mfence")) {
		cc_emit_to(s, begin);
		cc_emit_call(s, NULL, NVWAVE_CC_FENCE);
		return;
	}
	const unsigned what = what_of(s, i, &operand);

	if (what == 0) {
		s->unwatched = s->unwatched || cc_is_unwatchable(i);
		return;
	}
	if (!cc_address_of(s, operand, address, sizeof address)) {
		return;
	}
	cc_emit_to(s, begin);
	cc_emit_call(s, address, what);
}
