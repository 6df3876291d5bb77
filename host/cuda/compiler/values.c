/* SPDX-License-Identifier: BSD-3-Clause */
/* Values that coroutines are built from. */

#include <llvm-c/Target.h>

#include "coroutines.h"

LLVMTypeRef word(struct device *d, unsigned bits)
{
	NVW_INVARIANT(bits > 0 && bits <= 64);
	return LLVMIntTypeInContext(d->context, bits);
}

void mark_call(struct device *d, LLVMValueRef call, const char *attribute)
{
	LLVMAddCallSiteAttribute(call, LLVMAttributeFunctionIndex,
		LLVMCreateEnumAttribute(d->context, attribute_kind(attribute), 0));
}

LLVMValueRef variable(struct device *d, const char *name, LLVMTypeRef type)
{
	LLVMValueRef v = LLVMGetNamedGlobal(d->module, name);

	v = NVW_OR(v, LLVMAddGlobal(d->module, type, name));
	LLVMSetVisibility(v, LLVMHiddenVisibility); /* of this program: it needs no look-up */
	return LLVMConstPointerCast(v, LLVMPointerType(type, 0));
}

LLVMValueRef field(struct device *d, LLVMValueRef address, uint64_t bytes)
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

LLVMValueRef load_field(struct device *d, LLVMValueRef address, uint64_t bytes)
{
	return LLVMBuildLoad2(d->builder, d->i64, field(d, address, bytes), "");
}

void store_field(struct device *d, LLVMValueRef value, LLVMValueRef address, uint64_t bytes)
{
	LLVMBuildStore(d->builder, value, field(d, address, bytes));
}

LLVMValueRef runtime_word(struct device *d, const char *name, uint64_t bytes)
{
	return load_field(d, variable(d, name, d->bytes), bytes);
}

LLVMValueRef as_number(struct device *d, LLVMValueRef v)
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

LLVMValueRef without_casts(LLVMValueRef v)
{
	while (LLVMIsABitCastInst(v) || (LLVMIsAConstantExpr(v) && LLVMGetConstOpcode(v) == LLVMBitCast)) {
		v = LLVMGetOperand(v, 0);
	}
	return v;
}

void move_to_end(struct device *d, LLVMValueRef i, LLVMBasicBlockRef to)
{
	LLVMSetCurrentDebugLocation2(d->builder, NULL);
	LLVMInstructionRemoveFromParent(i);
	LLVMPositionBuilderAtEnd(d->builder, to);
	LLVMInsertIntoBuilder(d->builder, i);
}
