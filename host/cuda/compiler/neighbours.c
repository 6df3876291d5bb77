/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Behind LLVM's passes. A coroutine's function goes on with one lane and returns. Here it gets a loop over
 * the neighbouring lanes, whose frames and requests are one behind the other, so that not each needs a call.
 */

#include "coroutines.h"

enum { AHEAD = 5 /* lanes, whose frame is fetched */, LOCAL = 3 /* it stays in all caches */ };

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

	NVW_FOR(s, all) {
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
void finish_copy(struct device *d, LLVMValueRef copy)
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
