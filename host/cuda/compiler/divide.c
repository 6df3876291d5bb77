/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An access, an atomic or a barrier of a coroutine is divided: its request is filled in, the coroutine gives
 * way, and what follows begins with the answer. How it looks, coroutines.c says.
 */

#include <llvm-c/DebugInfo.h>
#include <llvm-c/Target.h>

#include "coroutines.h"

enum {
	STEPS_MAX = 8 /* to where an address comes from */,
	/* beside the bytes of an access */
	WRITES = 1 << 8,
	UNALIGNED = 1 << 9
};

static LLVMValueRef add(struct device *d, LLVMValueRef a, uint64_t n)
{
	return LLVMBuildAdd(d->builder, a, number(d, n), "");
}

LLVMBasicBlockRef block(struct device *d, struct coroutine *c)
{
	return LLVMAppendBasicBlockInContext(d->context, c->function, "");
}

void give_way(struct device *d, struct coroutine *c)
{
	LLVMValueRef arguments[] = {
		LLVMConstNull(LLVMTokenTypeInContext(d->context)), LLVMConstNull(word(d, 1))};
	LLVMValueRef how = intrinsic(d, "llvm.coro.suspend", NULL, 0, arguments, 2);
	LLVMBasicBlockRef on = block(d, c);

	NVW_INVARIANT(c->end && c->end != LLVMGetInsertBlock(d->builder));
	LLVMValueRef ways = LLVMBuildSwitch(d->builder, how, c->end, 1);

	LLVMAddCase(ways, LLVMConstNull(word(d, 8)), on);
	LLVMPositionBuilderAtEnd(d->builder, on);
}

void stand_aside(struct device *d, struct coroutine *c, LLVMMetadataRef at)
{
	LLVMMetadataRef scope = c->scope, inlined = NULL;

	if (at) {
		scope = LLVMDILocationGetScope(at);
		inlined = LLVMDILocationGetInlinedAt(at);
	}
	LLVMSetCurrentDebugLocation2(
		d->builder, LLVMDIBuilderCreateDebugLocation(d->context, 0, 0, scope, inlined));
}

/* ---- Accesses ----------------------------------------------------------------------------------- */

#define HOOK           "__tsan_"
#define UNALIGNED_HOOK HOOK "unaligned_"

/* What a hook announces: bytes, WRITES, UNALIGNED. 0: no plain access of 1, 2, 4 or 8 bytes. */
static unsigned announced_by(LLVMValueRef f)
{
	char what[8];
	unsigned bytes;
	const bool is_unaligned = begins(name_of(f), UNALIGNED_HOOK);
	const char *const rest = name_of(f) + strlen(is_unaligned ? UNALIGNED_HOOK : HOOK);

	if (!begins(name_of(f), HOOK) || sscanf(rest, "%5[a-z]%u", what, &bytes) != 2 || bytes > WORD) {
		return 0;
	}
	if (strcmp(what, "write") == 0) {
		bytes |= WRITES;
	} else if (strcmp(what, "read") != 0) {
		return 0;
	}
	return bytes | is_unaligned * UNALIGNED;
}

/* The plain access behind its announcement. NULL: it is another one. */
static LLVMValueRef access_behind(struct device *d, LLVMValueRef hook, unsigned what)
{
	LLVMValueRef i = LLVMGetNextInstruction(hook), value = i;
	const bool is_store = what & WRITES;

	if (!i || LLVMGetInstructionOpcode(i) != (is_store ? LLVMStore : LLVMLoad) || LLVMGetVolatile(i) ||
		LLVMGetOrdering(i) != LLVMAtomicOrderingNotAtomic) {
		return NULL;
	}
	if (is_store) {
		value = LLVMGetOperand(i, 0);
	}
	LLVMTypeRef type = LLVMTypeOf(value);
	LLVMValueRef pointer = LLVMGetOperand(i, is_store);
	const LLVMTypeKind kind = LLVMGetTypeKind(type);
	const unsigned long long bits = LLVMSizeOfTypeInBits(LLVMGetModuleDataLayout(d->module), type);

	if (without_casts(pointer) != without_casts(LLVMGetOperand(hook, 0)) || kind == LLVMStructTypeKind ||
		kind == LLVMArrayTypeKind || (bits != 8 * (what & 0xff) && bits != 1)) {
		return NULL;
	}
	return i;
}

/* A join that comes from another block now. */
static void rename_incoming(struct device *d, LLVMValueRef phi, LLVMBasicBlockRef from, LLVMBasicBlockRef to)
{
	NVW_INVARIANT(from != to && LLVMCountIncoming(phi) > 0);
	LLVMPositionBuilderBefore(d->builder, phi);
	LLVMSetCurrentDebugLocation2(d->builder, LLVMInstructionGetDebugLoc(phi));
	LLVMValueRef renamed = LLVMBuildPhi(d->builder, LLVMTypeOf(phi), "");

	NVW_FOR(i, LLVMCountIncoming(phi)) {
		LLVMValueRef value = LLVMGetIncomingValue(phi, i);
		LLVMBasicBlockRef of = LLVMGetIncomingBlock(phi, i);

		if (of == from) {
			of = to;
		}
		LLVMAddIncoming(renamed, &value, &of, 1);
	}
	LLVMReplaceAllUsesWith(phi, renamed);
	LLVMInstructionEraseFromParent(phi);
}

/* What follows an instruction goes to a new block. */
static LLVMBasicBlockRef split_behind(struct device *d, struct coroutine *c, LLVMValueRef i)
{
	LLVMBasicBlockRef from = LLVMGetInstructionParent(i), rest = block(d, c);
	LLVMValueRef last = LLVMGetBasicBlockTerminator(from), next;

	NVW_INVARIANT(last && last != i);
	NVW_FOR(s, LLVMGetNumSuccessors(last)) {
		LLVMValueRef at = LLVMGetFirstInstruction(LLVMGetSuccessor(last, s));

		for (; LLVMIsAPHINode(at); at = next) {
			next = LLVMGetNextInstruction(at);
			rename_incoming(d, at, from, rest);
		}
	}
	for (LLVMValueRef at = LLVMGetNextInstruction(i); at; at = next) {
		next = LLVMGetNextInstruction(at);
		move_to_end(d, at, rest);
	}
	return rest;
}

static bool is_of_block(LLVMValueRef v)
{
	return is_in(v, SHARED_SECTION) || strcmp(name_of(v), "nvw_cuda_dynamic_shared") == 0;
}

/* An address that is not one of a shared variable, or is one that this does not see, goes the long way. */
static bool seems_shared(LLVMValueRef v)
{
	NVW_FOR(steps, STEPS_MAX) {
		v = without_casts(v);
		if (LLVMIsAGlobalVariable(v)) {
			return is_of_block(v);
		}
		if (LLVMIsAPHINode(v)) {
			v = LLVMGetIncomingValue(v, 0);
		} else if (LLVMIsAGetElementPtrInst(v) ||
			   (LLVMIsAConstantExpr(v) && LLVMGetConstOpcode(v) == LLVMGetElementPtr)) {
			v = LLVMGetOperand(v, 0);
		} else {
			return false;
		}
	}
	return false;
}

/* The lane's request: a call that the divided coroutine has none of (go_on_with_neighbours()). */
static LLVMValueRef request(struct device *d)
{
	return call(d, REQUEST, d->bytes, NULL, 0);
}

/* The call that says where the bytes of an access are: in its place in the source. */
static LLVMValueRef ask_place(struct device *d, LLVMValueRef pointer, unsigned what, LLVMValueRef cell)
{
	const unsigned bytes = what & 0xff, aligned = what & UNALIGNED ? 1 : bytes;
	const char *const name = what & WRITES ? "nvw_cuda_lane_write" : "nvw_cuda_lane_read";
	LLVMValueRef arguments[] = {pointer, cell, number(d, aligned), number(d, bytes)};
	LLVMValueRef place = call(d, name, d->bytes, arguments, 4);

	mark_call(d, place, "nomerge"); /* two calls are two places */
	return place;
}

static void access_at(struct device *d, LLVMValueRef is, LLVMValueRef place)
{
	const bool pointer = LLVMIsAStoreInst(is); /* behind a store's value */

	NVW_INVARIANT(pointer || LLVMIsALoadInst(is));
	LLVMSetOperand(is, pointer,
		LLVMBuildPointerCast(d->builder, place, LLVMTypeOf(LLVMGetOperand(is, pointer)), ""));
}

/* An access that may go the short way (as in hooks.S) does so in ways[0]: it fills in the request. value: of
 * a store, which leaves poison in the window: nobody may read that but by a hook. */
static void build_post(struct device *d, LLVMValueRef pointer, unsigned bytes, LLVMValueRef cell,
	LLVMValueRef value, LLVMBasicBlockRef *ways)
{
	LLVMBuilderRef b = d->builder;

	NVW_INVARIANT(bytes <= WORD && !(bytes & (bytes - 1)));
	LLVMValueRef address = LLVMBuildPtrToInt(b, pointer, d->i64, ""),
		     page = LLVMBuildLShr(b, address, number(d, NVW_CUDA_SPAN_SHIFT), ""),
		     span = LLVMBuildAdd(b, runtime_word(d, "nvw_cuda_lanes", NVW_CUDA_LANES_SPAN),
			     LLVMBuildAnd(b, page, number(d, NVW_CUDA_SPAN_MASK), ""), ""),
		     offset = LLVMBuildSub(b, address, load_field(d, span, NVW_CUDA_SPAN_START), ""),
		     at = LLVMBuildAdd(b, load_field(d, span, NVW_CUDA_SPAN_AT), offset, ""),
		     site = load_field(d, cell, 0),
		     hinders = LLVMBuildOr(b, LLVMBuildAnd(b, at, number(d, bytes - 1), ""),
			     runtime_word(d, "nvw_cuda_pending", NVW_CUDA_PENDING_N), ""),
		     fits = LLVMBuildICmp(b, LLVMIntULT, add(d, offset, bytes - 1),
			     load_field(d, span, NVW_CUDA_SPAN_BYTES), "");

	fits = LLVMBuildAnd(b, fits, LLVMBuildIsNotNull(b, site, ""), "");
	LLVMBuildCondBr(b, LLVMBuildAnd(b, fits, LLVMBuildIsNull(b, hinders, ""), ""), ways[0], ways[1]);
	LLVMPositionBuilderAtEnd(b, ways[0]);
	LLVMValueRef its = request(d), line = LLVMBuildLShr(b, offset, number(d, NVW_CUDA_LINE_SHIFT), ""),
		     touched = LLVMBuildAdd(b, load_field(d, span, NVW_CUDA_SPAN_TOUCHED), line, "");

	LLVMBuildStore(b, LLVMConstInt(word(d, 8), 1, false), LLVMBuildIntToPtr(b, touched, d->bytes, ""));
	if (value) {
		LLVMTypeRef type = word(d, 8 * bytes);

		LLVMBuildStore(b, LLVMConstInt(type, NVW_CUDA_POISON_WORD >> (64 - 8 * bytes), false),
			LLVMBuildPointerCast(b, pointer, LLVMPointerType(type, 0), ""));
		store_field(d, number(d, 0), variable(d, "nvw_cuda_looks", d->bytes), 0);
		store_field(d, as_number(d, value), its, NVW_CUDA_REQUEST_VALUE);
	}
	store_field(d, at, its, NVW_CUDA_REQUEST_ADDRESS);
	store_field(d, number(d, 0), its, NVW_CUDA_REQUEST_COMPARE);
	store_field(d, site, its, NVW_CUDA_REQUEST_SITE);
	const unsigned operation = value ? NVW_CUDA_OP_STORE : NVW_CUDA_OP_LOAD;

	store_field(d, number(d, operation | __builtin_ctz(bytes) << 8), its, NVW_CUDA_REQUEST_OP);
}

/* The short way: others run, and the machine has done it; its answer is where a load finds its value. The
 * long one: a call says where the access finds its bytes. */
static void divide_plain(struct device *d, struct coroutine *c, LLVMValueRef hook, unsigned what,
	LLVMValueRef is, LLVMValueRef cell)
{
	LLVMValueRef pointer = LLVMGetOperand(hook, 0), places[2], value = NULL, last = hook;
	LLVMMetadataRef at = LLVMInstructionGetDebugLoc(hook);

	NVW_INVARIANT(LLVMGetNextInstruction(hook) == is); /* nothing comes between them that could be lost */
	if (what & WRITES) {
		value = LLVMGetOperand(is, 0);
		last = is;
	}
	LLVMBasicBlockRef here = LLVMGetInstructionParent(hook), rest = split_behind(d, c, last),
			  ways[] = {block(d, c), block(d, c)};

	stand_aside(d, c, at);
	LLVMPositionBuilderAtEnd(d->builder, here);
	build_post(d, pointer, what & 0xff, cell, value, ways);
	give_way(d, c);
	ways[0] = LLVMGetInsertBlock(d->builder);
	places[0] = as_bytes(d, field(d, request(d), NVW_CUDA_REQUEST_VALUE));
	LLVMBuildBr(d->builder, rest);
	LLVMPositionBuilderAtEnd(d->builder, ways[1]);
	LLVMSetCurrentDebugLocation2(d->builder, at);
	places[1] = ask_place(d, pointer, what, cell);
	if (value) {
		access_at(d, is, places[1]);
		move_to_end(d, is, ways[1]);
	}
	stand_aside(d, c, at);
	LLVMBuildBr(d->builder, rest);
	if (!value) {
		LLVMPositionBuilderBefore(d->builder, is);
		LLVMValueRef found = LLVMBuildPhi(d->builder, d->bytes, "");

		LLVMAddIncoming(found, places, ways, 2);
		access_at(d, is, found);
	}
}

static void divide_access(struct device *d, struct coroutine *c, LLVMValueRef hook, LLVMValueRef cell)
{
	const unsigned what = announced_by(LLVMGetCalledValue(hook));
	LLVMValueRef is = access_behind(d, hook, what), pointer = LLVMGetOperand(hook, 0);

	NVW_INVARIANT(is); /* division_of() has found it */
	if (seems_shared(pointer)) {
		LLVMPositionBuilderBefore(d->builder, hook);
		access_at(d, is, ask_place(d, pointer, what, cell));
	} else {
		divide_plain(d, c, hook, what, is, cell);
	}
	LLVMInstructionEraseFromParent(hook);
}

/* ---- Atomics and barriers ----------------------------------------------------------------------- */

static LLVMValueRef call_here(struct device *d, const char *name, LLVMTypeRef result, LLVMValueRef *arguments,
	unsigned n, LLVMMetadataRef at)
{
	LLVMSetCurrentDebugLocation2(d->builder, at);
	LLVMValueRef made = call(d, name, result, arguments, n);

	mark_call(d, made, "nomerge");
	return made;
}

static void divide_atomic(struct device *d, struct coroutine *c, LLVMValueRef is, LLVMValueRef cell)
{
	LLVMValueRef arguments[5], results[2];
	LLVMMetadataRef at = LLVMInstructionGetDebugLoc(is);
	LLVMBasicBlockRef here = LLVMGetInstructionParent(is), rest = split_behind(d, c, is),
			  asked = block(d, c), ways[] = {block(d, c), NULL};

	NVW_INVARIANT(LLVMGetNumArgOperands(is) == 4); /* include/nvw_cuda_atomics.h */
	NVW_FOR(i, 4) {
		arguments[i] = LLVMGetOperand(is, i);
	}
	arguments[4] = cell;
	LLVMPositionBuilderAtEnd(d->builder, here);
	LLVMBuildCondBr(d->builder, call_here(d, "nvw_cuda_lane_atomic", word(d, 1), arguments, 5, at), asked,
		ways[0]);
	LLVMPositionBuilderAtEnd(d->builder, ways[0]);
	results[0] = call_here(d, "nvw_cuda_lane_result", d->i64, NULL, 0, at);
	LLVMBuildBr(d->builder, rest);
	LLVMPositionBuilderAtEnd(d->builder, asked);
	give_way(d, c);
	results[1] = call_here(d, "nvw_cuda_lane_answer", d->i64, arguments, 4, at);
	ways[1] = LLVMGetInsertBlock(d->builder);
	LLVMBuildBr(d->builder, rest);
	LLVMPositionBuilderBefore(d->builder, LLVMGetFirstInstruction(rest));
	LLVMValueRef result = LLVMBuildPhi(d->builder, d->i64, "");

	LLVMAddIncoming(result, results, ways, 2);
	LLVMReplaceAllUsesWith(is, result);
	LLVMInstructionEraseFromParent(is);
}

static void divide_barrier(struct device *d, struct coroutine *c, LLVMValueRef is, LLVMValueRef cell)
{
	LLVMBasicBlockRef here = LLVMGetInstructionParent(is), rest = split_behind(d, c, is);

	NVW_INVARIANT(LLVMGetNumArgOperands(is) == 0 && LLVMGetNextInstruction(is) == NULL);
	LLVMPositionBuilderAtEnd(d->builder, here);
	call_here(d, "nvw_cuda_lane_barrier", LLVMVoidTypeInContext(d->context), &cell, 1,
		LLVMInstructionGetDebugLoc(is));
	LLVMInstructionEraseFromParent(is);
	give_way(d, c);
	LLVMBuildBr(d->builder, rest);
}

divide *division_of(struct device *d, LLVMValueRef i)
{
	LLVMValueRef called = called_by(i);

	if (!called) {
		return NULL;
	}
	const char *const name = name_of(called);
	const unsigned what = announced_by(called);

	if (what && access_behind(d, i, what)) {
		return divide_access;
	}
	if (strcmp(name, "nvw_cuda_atomic") == 0) {
		return divide_atomic;
	}
	if (strcmp(name, "nvw_cuda_sync_threads") == 0) {
		return divide_barrier;
	}
	return NULL;
}
