/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Kernels whose work-items have no stacks. Each kernel K that allows it has a copy, K.lanes, which is a
 * coroutine: it gives way behind the request of an access, with what it still needs in a frame, and goes on
 * when the machine has served it (emu/wavefront/resumable.c).
 *
 *	call __tsan_read4(p); v = load p   ->   if (p is the machine's and the source line known) {
 *	                                                fill in the request; give way; q = its value;
 *	                                        } else {
 *	                                                q = nvw_cuda_lane_read(p, &site, 4, 4);
 *	                                        }
 *	                                        v = load q
 *
 * The function of the runtime says where the access finds its bytes (runtime/lanes.c). LLVM's own passes
 * split the coroutine, in a time that grows with the square of its blocks. An access of what seems a shared
 * variable is not divided. CUDA's atomics and __syncthreads() are divided as accesses are. Whatever else
 * makes a request is a call, which keeps the stack that it is on.
 *
 * A copy is what inlining the kernel into a function with its parameters leaves. That function is marked as
 * the compiler's own, and its instructions have line 0, so reports do not name it.
 */

#include <llvm-c/DebugInfo.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>

#include <llvm/Config/llvm-config.h>

#include "../runtime/short_way.h"
#include "device.h"

/* The first LLVMs prepare a coroutine in one round, and split it in the next; they mark it by another
 * attribute. */
#if LLVM_VERSION_MAJOR < 15
#define SPLIT                                                       \
	"function(coro-early),cgscc(coro-split),cgscc(coro-split)," \
	"function(coro-cleanup,early-cse,jump-threading,simplifycfg)"
#else
#define SPLIT "coro-early,cgscc(coro-split),coro-cleanup,function(early-cse,jump-threading,simplifycfg)"
#endif

enum {
	LARGE = 1024 /* bytes */,
	STEPS_MAX = 8 /* to where an address comes from */,
	WORD = 8,
	AHEAD = 5 /* lanes, whose frame is fetched */,
	LOCAL = 3 /* it stays in all caches */,
	WRITES = 1 << 8,
	UNALIGNED = 1 << 9
}; /* beside the bytes of an access */

/* A coroutine that is being made. */
struct coroutine {
	LLVMValueRef function, frame;
	LLVMBasicBlockRef end; /* gives way, for good or not */
	LLVMMetadataRef scope;
};

/* ---- Values ------------------------------------------------------------------------------------- */

static LLVMTypeRef word(struct device *d, unsigned bits)
{
	NVW_INVARIANT(bits > 0 && bits <= 64);
	return LLVMIntTypeInContext(d->context, bits);
}

static void mark_call(struct device *d, LLVMValueRef call, const char *attribute)
{
	LLVMAddCallSiteAttribute(call, LLVMAttributeFunctionIndex,
		LLVMCreateEnumAttribute(d->context, attribute_kind(attribute), 0));
}

/* A variable of the runtime. */
static LLVMValueRef variable(struct device *d, const char *name, LLVMTypeRef type)
{
	LLVMValueRef v = LLVMGetNamedGlobal(d->module, name);

	v = NVW_OR(v, LLVMAddGlobal(d->module, type, name));
	LLVMSetVisibility(v, LLVMHiddenVisibility); /* of this program: it needs no look-up */
	return LLVMConstPointerCast(v, LLVMPointerType(type, 0));
}

static LLVMValueRef add(struct device *d, LLVMValueRef a, uint64_t n)
{
	return LLVMBuildAdd(d->builder, a, number(d, n), "");
}

/* The word that is so many bytes behind an address, which is a pointer or a number. */
static LLVMValueRef field(struct device *d, LLVMValueRef address, uint64_t bytes)
{
	LLVMTypeRef words = LLVMPointerType(d->i64, 0);
	LLVMValueRef at = number(d, bytes / WORD);

	NVW_INVARIANT(bytes % WORD == 0);
	if (LLVMTypeOf(address) == d->i64) {
		address = LLVMBuildIntToPtr(d->builder, address, words, "");
	} else {
		address = LLVMBuildPointerCast(d->builder, address, words, "");
	}
	return LLVMBuildGEP2(d->builder, d->i64, address, &at, 1, "");
}

static LLVMValueRef load_field(struct device *d, LLVMValueRef address, uint64_t bytes)
{
	return LLVMBuildLoad2(d->builder, d->i64, field(d, address, bytes), "");
}

static void store_field(struct device *d, LLVMValueRef value, LLVMValueRef address, uint64_t bytes)
{
	LLVMBuildStore(d->builder, value, field(d, address, bytes));
}

static LLVMBasicBlockRef block(struct device *d, struct coroutine *c)
{
	return LLVMAppendBasicBlockInContext(d->context, c->function, "");
}

/* ---- Giving way --------------------------------------------------------------------------------- */

/* Goes on in a new block. */
static void give_way(struct device *d, struct coroutine *c)
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

static void build_end(struct device *d, struct coroutine *c)
{
	LLVMValueRef arguments[] = {c->frame, LLVMConstNull(word(d, 1)), NULL};
	const unsigned id = LLVMLookupIntrinsicID("llvm.coro.end", strlen("llvm.coro.end"));
	const unsigned n = LLVMCountParamTypes(LLVMIntrinsicGetType(d->context, id, NULL, 0));

	NVW_INVARIANT(
		n <= sizeof arguments / sizeof *arguments); /* an LLVM that nobody has tried may have more */
	arguments[2] = LLVMConstNull(LLVMTokenTypeInContext(d->context)); /* in later LLVMs */
	LLVMPositionBuilderAtEnd(d->builder, c->end);
	intrinsic(d, "llvm.coro.end", NULL, 0, arguments, n);
	LLVMBuildRetVoid(d->builder);
}

/* ---- Accesses ----------------------------------------------------------------------------------- */

static LLVMValueRef without_casts(LLVMValueRef v)
{
	while (LLVMIsABitCastInst(v) || (LLVMIsAConstantExpr(v) && LLVMGetConstOpcode(v) == LLVMBitCast)) {
		v = LLVMGetOperand(v, 0);
	}
	return v;
}

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

/* A value as a number of 64 bits. */
static LLVMValueRef as_number(struct device *d, LLVMValueRef v)
{
	const unsigned bits =
		(unsigned)LLVMSizeOfTypeInBits(LLVMGetModuleDataLayout(d->module), LLVMTypeOf(v));

	NVW_INVARIANT(bits <= 64);
	if (LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMPointerTypeKind) {
		return LLVMBuildPtrToInt(d->builder, v, d->i64, "");
	}
	return LLVMBuildZExtOrBitCast(
		d->builder, LLVMBuildBitCast(d->builder, v, word(d, bits), ""), d->i64, "");
}

/* The access's place in the source, without its line. */
static void stand_aside(struct device *d, struct coroutine *c, LLVMMetadataRef at)
{
	LLVMMetadataRef scope = c->scope, inlined = NULL;

	if (at) {
		scope = LLVMDILocationGetScope(at);
		inlined = LLVMDILocationGetInlinedAt(at);
	}
	LLVMSetCurrentDebugLocation2(
		d->builder, LLVMDIBuilderCreateDebugLocation(d->context, 0, 0, scope, inlined));
}

/* Its place in the source is its own, not the builder's. */
static void move_to_end(struct device *d, LLVMValueRef i, LLVMBasicBlockRef to)
{
	LLVMSetCurrentDebugLocation2(d->builder, NULL);
	LLVMInstructionRemoveFromParent(i);
	LLVMPositionBuilderAtEnd(d->builder, to);
	LLVMInsertIntoBuilder(d->builder, i);
}

/* A join that comes from another block now. */
static void rename_incoming(struct device *d, LLVMValueRef phi, LLVMBasicBlockRef from, LLVMBasicBlockRef to)
{
	NVW_INVARIANT(from != to && LLVMCountIncoming(phi) > 0);
	LLVMPositionBuilderBefore(d->builder, phi);
	LLVMSetCurrentDebugLocation2(d->builder, LLVMInstructionGetDebugLoc(phi));
	LLVMValueRef renamed = LLVMBuildPhi(d->builder, LLVMTypeOf(phi), "");

	for (unsigned i = 0; i < LLVMCountIncoming(phi); i++) {
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
	for (unsigned s = 0; s < LLVMGetNumSuccessors(last); s++) {
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
	for (unsigned steps = 0; steps < STEPS_MAX; steps++) {
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

#define REQUEST "nvw_cuda_lane_request"

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

static LLVMValueRef runtime_word(struct device *d, const char *name, uint64_t bytes)
{
	return load_field(d, variable(d, name, d->bytes), bytes);
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
	for (unsigned i = 0; i < 4; i++) {
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

/* How a call is divided. NULL: it is not. */
typedef void divide(struct device *d, struct coroutine *c, LLVMValueRef call, LLVMValueRef cell);

static divide *division_of(struct device *d, LLVMValueRef i)
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

/* ---- Coroutines --------------------------------------------------------------------------------- */

/* Those of one place, in a call of the kernel, too: how it is called depends on them. */
static void copy_attributes_at(LLVMValueRef from, LLVMValueRef to, LLVMValueRef call, LLVMAttributeIndex at)
{
	const unsigned n = LLVMGetAttributeCountAtIndex(from, at);
	LLVMAttributeRef *const all = calloc(n + 1, sizeof(LLVMAttributeRef));

	LLVMGetAttributesAtIndex(from, at, all);
	for (unsigned i = 0; i < n; i++) {
		LLVMAddAttributeAtIndex(to, at, all[i]);
		if (call) {
			LLVMAddCallSiteAttribute(call, at, all[i]);
		}
	}
	free(all);
}

static void copy_attributes(LLVMValueRef from, LLVMValueRef to, LLVMValueRef call)
{
	NVW_INVARIANT(LLVMCountParams(from) == LLVMCountParams(to));
	for (unsigned i = 0; i < LLVMCountParams(from); i++) {
		copy_attributes_at(from, to, call, i + 1);
	}
	copy_attributes_at(from, to, NULL, LLVMAttributeFunctionIndex);
}

static void mark_coroutine(struct device *d, LLVMValueRef f)
{
	static const char first[] = "coroutine.presplit";

	if (LLVM_VERSION_MAJOR >= 15) {
		mark(d, f, "presplitcoroutine");
		return;
	}
	LLVMAddAttributeAtIndex(f, LLVMAttributeFunctionIndex,
		LLVMCreateStringAttribute(d->context, first, sizeof first - 1, "0", 1));
}

/* In a coroutine's frame, behind two functions. */
enum { WORK_ITEM = 2 * WORD };

/* Asked without a frame, it says how large that is. The work-item is what LLVM calls a promise: it stands at
 * the frame's beginning. */
static void build_begin(struct device *d, struct coroutine *c)
{
	LLVMValueRef nothing = LLVMConstNull(d->bytes), size;
	LLVMBasicBlockRef asked, begins;

	NVW_INVARIANT(LLVMIsDeclaration(c->function)); /* what begins it is its first block */
	LLVMPositionBuilderAtEnd(d->builder, block(d, c));
	asked = block(d, c);
	begins = block(d, c);
	LLVMValueRef me = LLVMBuildAlloca(d->builder, d->bytes, "");
	LLVMValueRef id_arguments[] = {
		LLVMConstInt(word(d, 32), 16, false), as_bytes(d, me), nothing, nothing};
	LLVMValueRef id = intrinsic(d, "llvm.coro.id", NULL, 0, id_arguments, 4);
	LLVMValueRef memory =
		LLVMBuildLoad2(d->builder, d->bytes, variable(d, "nvw_cuda_lane_frame", d->bytes), "");

	size = intrinsic(d, "llvm.coro.size", &d->i64, 1, NULL, 0);
	LLVMBuildCondBr(d->builder, LLVMBuildIsNull(d->builder, memory, ""), asked, begins);
	LLVMPositionBuilderAtEnd(d->builder, asked);
	LLVMBuildStore(d->builder, size, variable(d, "nvw_cuda_lane_frame_bytes", d->i64));
	LLVMBuildRetVoid(d->builder);
	LLVMPositionBuilderAtEnd(d->builder, begins);
	c->frame = intrinsic(d, "llvm.coro.begin", NULL, 0, (LLVMValueRef[]){id, memory}, 2);
	c->end = block(d, c);
	LLVMBuildStore(d->builder,
		LLVMBuildLoad2(d->builder, d->bytes, variable(d, "nvw_cuda_now", d->bytes), ""), me);
	give_way(d, c);
}

static LLVMMetadataRef describe(LLVMDIBuilderRef describer, LLVMMetadataRef file, LLVMValueRef f)
{
	const char *const name = name_of(f);
	LLVMMetadataRef type = LLVMDIBuilderCreateSubroutineType(describer, file, NULL, 0, LLVMDIFlagZero);
	LLVMMetadataRef scope = LLVMDIBuilderCreateFunction(describer, file, name, strlen(name), "", 0, file,
		0, type, true, true, 0, LLVMDIFlagArtificial, true);

	LLVMSetSubprogram(f, scope);
	return scope;
}

/* Structures that are passed by value go to the frame word by word, for which large ones are too slow to
 * compile. */
static bool passes_large(struct device *d, LLVMValueRef kernel)
{
	LLVMTargetDataRef layout = LLVMGetModuleDataLayout(d->module);

	for (unsigned i = 0; i < LLVMCountParams(kernel); i++) {
		LLVMAttributeRef byval = LLVMGetEnumAttributeAtIndex(kernel, i + 1, attribute_kind("byval"));

		if (byval && LLVMABISizeOfType(layout, LLVMGetTypeAttributeValue(byval)) > LARGE) {
			return true;
		}
	}
	return false;
}

/* Arrays of variable size are nothing that a frame can have. */
static bool has_arrays(LLVMValueRef kernel)
{
	FOR_INSTRUCTIONS(i, kernel) {
		if (LLVMIsAAllocaInst(i) && !LLVMIsConstant(LLVMGetOperand(i, 0))) {
			return true;
		}
	}
	return false;
}

static struct coroutine copy_of(
	struct device *d, LLVMValueRef kernel, LLVMDIBuilderRef describer, LLVMMetadataRef file)
{
	char *const name = joined(name_of(kernel), LANES);
	LLVMTypeRef type = LLVMGlobalGetValueType(kernel);
	struct coroutine c = {.function = LLVMAddFunction(d->module, name, type)};

	free(name);
	NVW_INVARIANT(!LLVMIsDeclaration(kernel)); /* its body is inlined */
	c.scope = describe(describer, file, c.function);
	stand_aside(d, &c, NULL);
	build_begin(d, &c);

	const unsigned n = LLVMCountParams(kernel);
	LLVMValueRef *const arguments = calloc(n + 1, sizeof(LLVMValueRef));

	LLVMGetParams(c.function, arguments);
	LLVMValueRef body = LLVMBuildCall2(d->builder, type, kernel, arguments, n, "");

	free(arguments);
	copy_attributes(kernel, c.function, body);
	mark_coroutine(d, c.function);
	mark_call(d, body, "alwaysinline");
	call(d, "nvw_cuda_lane_returns", LLVMVoidTypeInContext(d->context), NULL, 0);
	LLVMBuildBr(d->builder, c.end);
	build_end(d, &c);
	return c;
}

/* ---- The module --------------------------------------------------------------------------------- */

/* A call is one place: the passes do not make two of it. */
static void keep_single(struct device *d)
{
	FOR_FUNCTIONS(f, d) {
		if (LLVMIsDeclaration(f) && !LLVMGetIntrinsicID(f)) {
			mark(d, f, "convergent");
		}
	}
}

static void run_passes(struct device *d, const char *passes)
{
	LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
	LLVMErrorRef error = LLVMRunPasses(d->module, passes, NULL, options);

	if (error) {
		fprintf(stderr, "nvwave-device: %s: %s\n", passes, LLVMGetErrorMessage(error));
		exit(1);
	}
	LLVMDisposePassBuilderOptions(options);
}

/* Without attributes that keep a kernel of an unoptimized program from being inlined. */
static void allow_copies(LLVMValueRef kernel)
{
	static const char *const kept[] = {"noinline", "optnone"};

	for (unsigned i = 0; i < sizeof kept / sizeof *kept; i++) {
		LLVMRemoveEnumAttributeAtIndex(kernel, LLVMAttributeFunctionIndex, attribute_kind(kept[i]));
	}
}

/* A unit of its own, since LLVM's C interface knows no other way to describe a function. */
static LLVMMetadataRef begin_unit(LLVMDIBuilderRef describer, LLVMValueRef kernel)
{
	LLVMMetadataRef described = LLVMGetSubprogram(kernel), file;

	if (described) {
		file = LLVMDIScopeGetFile(described);
	} else {
		file = LLVMDIBuilderCreateFile(describer, "?", 1, "", 0);
	}
	LLVMDIBuilderCreateCompileUnit(describer, LLVMDWARFSourceLanguageC99, file, "nvwave", 6, true, "", 0,
		0, "", 0, LLVMDWARFEmissionFull, 0, false, false, "", 0, "", 0);
	return file;
}

static unsigned copy_kernels(
	struct device *d, LLVMValueRef *kernels, unsigned count, struct coroutine *ret_copies)
{
	LLVMDIBuilderRef describer = LLVMCreateDIBuilder(d->module);
	LLVMMetadataRef file = begin_unit(describer, kernels[0]);
	unsigned copies = 0;

	for (unsigned i = 0; i < count; i++) {
		if (!passes_large(d, kernels[i]) && !has_arrays(kernels[i])) {
			allow_copies(kernels[i]);
			ret_copies[copies++] = copy_of(d, kernels[i], describer, file);
		}
	}
	LLVMDIBuilderFinalize(describer);
	LLVMDisposeDIBuilder(describer);
	run_passes(d, "always-inline");
	return copies;
}

void forget_variables(LLVMValueRef f)
{
	FOR_INSTRUCTIONS(i, f) {
		if (called_by(i) && begins(name_of(called_by(i)), "llvm.dbg.")) {
			LLVMInstructionEraseFromParent(i);
		}
	}
}

static unsigned find_divided(struct device *d, LLVMValueRef f, LLVMValueRef *ret_calls)
{
	unsigned n = 0;

	FOR_INSTRUCTIONS(i, f) {
		if (division_of(d, i)) {
			if (ret_calls) {
				ret_calls[n] = i;
			}
			n++;
		}
	}
	return n;
}

/* Each call has a word of its own for its source line. */
static void divide_calls(struct device *d, struct coroutine *c)
{
	const unsigned n = find_divided(d, c->function, NULL);
	LLVMValueRef *const calls = calloc(n + 1, sizeof(LLVMValueRef));
	LLVMTypeRef cells = LLVMArrayType(d->bytes, n);
	LLVMValueRef sites = LLVMAddGlobal(d->module, cells, "");

	LLVMSetInitializer(sites, LLVMConstNull(cells));
	LLVMSetLinkage(sites, LLVMPrivateLinkage);
	const unsigned found = find_divided(d, c->function, calls);

	NVW_INVARIANT(found == n);
	for (unsigned i = 0; i < n; i++) {
		LLVMValueRef at[] = {number(d, 0), number(d, i)};

		division_of(d, calls[i])(d, c, calls[i], LLVMConstInBoundsGEP2(cells, sites, at, 2));
	}
	free(calls);
}

/* A function that a coroutine has been split into. */
static LLVMValueRef part_of(struct device *d, LLVMValueRef copy, const char *suffix)
{
	char *const name = joined(name_of(copy), suffix);
	LLVMValueRef part = LLVMGetNamedFunction(d->module, name);

	free(name);
	return part;
}

/* What the frame has of it is another address. */
static void forget_part(LLVMValueRef part, LLVMValueRef address)
{
	if (part) {
		LLVMReplaceAllUsesWith(part, LLVMConstIntToPtr(address, LLVMTypeOf(part)));
		LLVMDeleteFunction(part);
	}
}

/* What stays the same while a kernel runs. */
struct known {
	LLVMValueRef self, turn;
};

/* In the block before the lanes, which a register may keep: they need not ask again. */
static struct known ask_once(struct device *d, LLVMValueRef resume)
{
	LLVMValueRef lanes = variable(d, "nvw_cuda_lanes", d->bytes),
		     spans = load_field(d, lanes, NVW_CUDA_LANES_SPAN);

	FOR_INSTRUCTIONS(i, resume) {
		if (i != spans && LLVMIsALoadInst(i) &&
			without_casts(LLVMGetOperand(i, 0)) == without_casts(lanes)) {
			LLVMReplaceAllUsesWith(i, spans);
			LLVMInstructionEraseFromParent(i);
		}
	}
	return (struct known){.self = runtime_word(d, "nvw_cuda_lane_self", 0),
		.turn = load_field(d, lanes, NVW_CUDA_LANES_TURN)};
}

static void replace_requests(LLVMValueRef f, LLVMValueRef by)
{
	FOR_INSTRUCTIONS(i, f) {
		if (called_by(i) && strcmp(name_of(called_by(i)), REQUEST) == 0) {
			LLVMReplaceAllUsesWith(i, by);
			LLVMInstructionEraseFromParent(i);
		}
	}
}

static LLVMValueRef behind(struct device *d, LLVMValueRef address, LLVMValueRef bytes)
{
	NVW_INVARIANT(LLVMTypeOf(bytes) == d->i64);
	return LLVMBuildGEP2(d->builder, word(d, 8), as_bytes(d, address), &bytes, 1, "");
}

/* The next lane's frame: body goes on with it, unless this was the last of the neighbours. */
static LLVMValueRef build_next(struct device *d, LLVMValueRef turn, LLVMValueRef frame,
	LLVMValueRef next_request, LLVMBasicBlockRef end, LLVMBasicBlockRef body)
{
	LLVMValueRef bytes = load_field(d, turn, NVW_CUDA_TURN_FRAME_BYTES),
		     behind_last = load_field(d, turn, NVW_CUDA_TURN_END),
		     next = LLVMBuildPointerCast(d->builder, behind(d, frame, bytes), LLVMTypeOf(frame), "");
	LLVMTypeRef i32 = word(d, 32);
	LLVMValueRef how[] = {behind(d, frame, LLVMBuildMul(d->builder, bytes, number(d, AHEAD), "")),
		LLVMConstNull(i32), LLVMConstInt(i32, LOCAL, false), LLVMConstInt(i32, 1, false)};

	intrinsic(d, "llvm.prefetch", &d->bytes, 1, how, 4);
	LLVMBuildCondBr(d->builder,
		LLVMBuildICmp(d->builder, LLVMIntEQ, as_number(d, next_request), behind_last, ""), end, body);
	return next;
}

/* The successor of a switch for a number. */
static LLVMBasicBlockRef way_of(LLVMValueRef ways, LLVMValueRef number)
{
	NVW_INVARIANT(LLVMTypeOf(number) == LLVMTypeOf(LLVMGetOperand(ways, 0)));
	for (unsigned s = 1; s < LLVMGetNumSuccessors(ways); s++) {
		if (LLVMGetOperand(ways, 2 * s) == number) {
			return LLVMGetSuccessor(ways, s);
		}
	}
	return LLVMGetSuccessor(ways, 0);
}

static LLVMValueRef address_of(struct device *d, LLVMValueRef f, LLVMBasicBlockRef b)
{
	return LLVMConstPtrToInt(LLVMBlockAddress(f, b), d->i64);
}

/* Whether where the coroutine goes on is said by this switch, and by numbers that it stores itself. */
static bool goes_on_by(LLVMValueRef resume, LLVMValueRef ways)
{
	if (!LLVMIsASwitchInst(ways) || !LLVMIsALoadInst(LLVMGetOperand(ways, 0))) {
		return false;
	}
	LLVMValueRef index = LLVMGetOperand(ways, 0), at = LLVMGetOperand(index, 0);

	FOR_INSTRUCTIONS(i, resume) {
		if (LLVMIsAStoreInst(i) && LLVMGetOperand(i, 1) == at &&
			!LLVMIsAConstantInt(LLVMGetOperand(i, 0))) {
			return false;
		}
	}
	return !LLVMGetNextUse(LLVMGetFirstUse(index));
}

/* The frame has the address of the block instead of a number, which saves a table: in the word of the
 * function that would take the coroutine away. Returns the one where it begins; 0: numbers stay. */
static LLVMValueRef jump_by_address(
	struct device *d, LLVMValueRef resume, LLVMBasicBlockRef body, LLVMValueRef frame)
{
	LLVMValueRef ways = LLVMGetBasicBlockTerminator(body);

	if (!goes_on_by(resume, ways)) {
		return number(d, 0);
	}
	LLVMValueRef index = LLVMGetOperand(ways, 0), at = LLVMGetOperand(index, 0);
	LLVMValueRef first = address_of(d, resume, way_of(ways, LLVMConstNull(LLVMTypeOf(index))));
	const unsigned all = LLVMGetNumSuccessors(ways);

	FOR_INSTRUCTIONS(i, resume) {
		if (LLVMIsAStoreInst(i) && LLVMGetOperand(i, 1) == at) {
			LLVMPositionBuilderBefore(d->builder, i);
			store_field(
				d, address_of(d, resume, way_of(ways, LLVMGetOperand(i, 0))), frame, WORD);
			LLVMInstructionEraseFromParent(i);
		}
	}
	LLVMPositionBuilderBefore(d->builder, ways);
	LLVMValueRef to = LLVMBuildIntToPtr(d->builder, load_field(d, frame, WORD), d->bytes, "");
	LLVMValueRef jump = LLVMBuildIndirectBr(d->builder, to, all);

	for (unsigned s = 0; s < all; s++) {
		LLVMBasicBlockRef way = LLVMGetSuccessor(ways, s);

		if (!LLVMIsAUnreachableInst(LLVMGetFirstInstruction(way))) {
			LLVMAddDestination(jump, way);
		}
	}
	LLVMInstructionEraseFromParent(ways);
	LLVMInstructionEraseFromParent(index);
	return first;
}

/* Where it returns, it goes on with the neighbour, whose request is the next. Variables of the stack stay at
 * its beginning. Returns where it begins. */
static LLVMValueRef go_on_with_neighbours(struct device *d, LLVMValueRef resume)
{
	LLVMBasicBlockRef body = LLVMGetEntryBasicBlock(resume),
			  begins = LLVMInsertBasicBlockInContext(d->context, body, "");
	LLVMValueRef frame = LLVMGetParam(resume, 0), next;

	NVW_INVARIANT(LLVMCountParams(resume) == 1);
	for (LLVMValueRef i = LLVMGetFirstInstruction(body); i; i = next) {
		next = LLVMGetNextInstruction(i);
		if (LLVMIsAAllocaInst(i)) {
			move_to_end(d, i, begins);
		}
	}
	LLVMSetCurrentDebugLocation2(d->builder, NULL);
	LLVMPositionBuilderAtEnd(d->builder, begins);
	const struct known known = ask_once(d, resume);
	LLVMValueRef first = LLVMBuildIntToPtr(d->builder, load_field(d, known.self, 0), d->bytes, "");

	LLVMBuildBr(d->builder, body);
	LLVMPositionBuilderBefore(d->builder, LLVMGetFirstInstruction(body));
	LLVMValueRef its = LLVMBuildPhi(d->builder, LLVMTypeOf(frame), ""),
		     own = LLVMBuildPhi(d->builder, d->bytes, "");

	replace_requests(resume, own);
	LLVMReplaceAllUsesWith(frame, its);
	LLVMAddIncoming(its, &frame, &begins, 1);
	store_field(d, load_field(d, its, WORK_ITEM), variable(d, "nvw_cuda_now", d->bytes), 0);
	store_field(d, as_number(d, own), known.self, 0);
	LLVMAddIncoming(own, &first, &begins, 1);
	for (LLVMBasicBlockRef b = body; b; b = LLVMGetNextBasicBlock(b)) {
		LLVMValueRef last = LLVMGetBasicBlockTerminator(b);

		if (LLVMIsAReturnInst(last)) {
			LLVMBasicBlockRef end = LLVMInsertBasicBlockInContext(d->context, begins, "");

			LLVMMoveBasicBlockAfter(end, b);
			LLVMInstructionEraseFromParent(last);
			LLVMPositionBuilderAtEnd(d->builder, b);
			LLVMValueRef next_request = as_bytes(d, field(d, own, WORD)),
				     neighbour = build_next(d, known.turn, its, next_request, end, body);

			LLVMAddIncoming(its, &neighbour, &b, 1);
			LLVMAddIncoming(own, &next_request, &b, 1);
			LLVMPositionBuilderAtEnd(d->builder, end);
			LLVMBuildRetVoid(d->builder);
			b = end;
		}
	}
	return jump_by_address(d, resume, body, its);
}

/* Nobody takes a coroutine away, so the functions for that are not kept. */
static void finish_copy(struct device *d, LLVMValueRef copy)
{
	LLVMValueRef resume = part_of(d, copy, ".resume"), begins = number(d, 0);

	LLVMSetLinkage(copy, LLVMInternalLinkage);
	if (resume) {
		begins = go_on_with_neighbours(d, resume);
		LLVMSetLinkage(resume, LLVMInternalLinkage);
	}
	forget_part(part_of(d, copy, ".destroy"), begins);
	forget_part(part_of(d, copy, ".cleanup"), begins);
}

void make_coroutines(struct device *d)
{
	LLVMValueRef *kernels;
	const unsigned count = find_kernels(d, &kernels);

	if (count) {
		struct coroutine *const copies = calloc(count, sizeof *copies);
		const unsigned made = copy_kernels(d, kernels, count, copies);

		for (unsigned i = 0; i < made; i++) {
			forget_variables(copies[i].function);
			divide_calls(d, &copies[i]);
		}
		keep_single(d);
		run_passes(d, SPLIT);
		for (unsigned i = 0; i < made; i++) {
			finish_copy(d, copies[i].function);
		}
		free(copies);
	}
	free(kernels);
}
