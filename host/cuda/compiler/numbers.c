/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What C++ leaves open and GPUs define (PTX ISA, cvt, shl, shr): a number outside of an integer type becomes
 * its end, and a shift by the width or more takes all bits out. docs/cuda-hardware.md has what a GPU did.
 */

#include "device.h"

/* The nearest integer of these bits; of what is no number 0, but the topmost bit for double and for 64
 * bits. */
static LLVMValueRef saturated(struct device *d, LLVMValueRef x, unsigned bits, const char *name)
{
	LLVMTypeRef from = LLVMTypeOf(x), to = LLVMIntTypeInContext(d->context, bits), types[] = {to, from};
	LLVMValueRef integer = intrinsic(d, name, types, 2, &x, 1);

	NVW_INVARIANT(bits == 32 || bits == 64);
	if (bits < 64 && LLVMGetTypeKind(from) == LLVMFloatTypeKind) {
		return integer;
	}
	return LLVMBuildSelect(d->builder, LLVMBuildFCmp(d->builder, LLVMRealUNO, x, x, ""),
		LLVMConstInt(to, UINT64_C(1) << (bits - 1), 0), integer, "");
}

/* GPUs convert to 32 or 64 bits, and cut the narrower types out of 32. */
static LLVMValueRef converted(struct device *d, LLVMValueRef i, const char *name)
{
	LLVMValueRef x = LLVMGetOperand(i, 0);
	const LLVMTypeKind from = LLVMGetTypeKind(LLVMTypeOf(x));
	const bool is_known = (from == LLVMFloatTypeKind || from == LLVMDoubleTypeKind) &&
			      LLVMGetIntTypeWidth(LLVMTypeOf(i)) <= 64;

	if (!is_known) {
		return i;
	}
	const unsigned bits = LLVMGetIntTypeWidth(LLVMTypeOf(i)) > 32 ? 64 : 32;

	return LLVMBuildTrunc(d->builder, saturated(d, x, bits, name), LLVMTypeOf(i), "");
}

static LLVMValueRef shifted(struct device *d, LLVMValueRef i, LLVMOpcode shift)
{
	LLVMValueRef x = LLVMGetOperand(i, 0), by = LLVMGetOperand(i, 1);
	LLVMTypeRef type = LLVMTypeOf(i);

	if (LLVMGetTypeKind(type) != LLVMIntegerTypeKind || LLVMIsConstant(by)) {
		return i;
	}
	const unsigned width = LLVMGetIntTypeWidth(type);
	LLVMValueRef last = LLVMConstInt(type, width - 1, 0), out = LLVMConstNull(type);
	LLVMValueRef is_in = LLVMBuildICmp(d->builder, LLVMIntULE, by, last, "");

	if (shift == LLVMAShr) {
		out = LLVMBuildAShr(d->builder, x, last, "");
	}
	by = LLVMBuildSelect(d->builder, is_in, by, last, "");
	return LLVMBuildSelect(d->builder, is_in, LLVMBuildBinOp(d->builder, shift, x, by, ""), out, "");
}

static void define_instruction(struct device *d, LLVMValueRef i)
{
	LLVMValueRef defined = i;

	LLVMPositionBuilderBefore(d->builder, i);
	switch (LLVMGetInstructionOpcode(i)) {
	case LLVMFPToSI:
		defined = converted(d, i, "llvm.fptosi.sat");
		break;
	case LLVMFPToUI:
		defined = converted(d, i, "llvm.fptoui.sat");
		break;
	case LLVMShl:
	case LLVMLShr:
	case LLVMAShr:
		defined = shifted(d, i, LLVMGetInstructionOpcode(i));
		break;
	default:
		break;
	}
	if (defined != i) {
		LLVMReplaceAllUsesWith(i, defined);
		LLVMInstructionEraseFromParent(i);
	}
}

void define_numbers(struct device *d)
{
	FOR_FUNCTIONS(f, d) {
		FOR_INSTRUCTIONS(i, f) {
			define_instruction(d, i);
		}
	}
}
