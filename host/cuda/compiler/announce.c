/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the thread sanitizer does not announce. A structure that is passed by value is copied by the call
 * itself, and the optimizer may have it copied straight out of device memory. So a call that announces it is
 * put before each such call: one for all structures of the call, since others may run while one of them is
 * announced.
 *
 * Likewise loads and stores of a size that the sanitizer leaves out: 3, 5, 6, 7 or 12 bytes, which the
 * optimizer makes of small structures, and more than 16, which it makes of several values that are added up.
 */

#include <llvm-c/Target.h>

#include "device.h"

enum { STRUCTURES_MAX = 256 };

static void announce_range(struct device *d, const char *name, LLVMValueRef *range)
{
	NVW_INVARIANT(LLVMTypeOf(range[0]) == d->bytes && LLVMTypeOf(range[1]) == d->i64);
	call(d, name, LLVMVoidTypeInContext(d->context), range, 2);
}

static void announce_structures(struct device *d, LLVMValueRef *list, unsigned structures)
{
	LLVMTypeRef i32 = LLVMInt32TypeInContext(d->context);

	NVW_INVARIANT(structures <= STRUCTURES_MAX);
	if (structures == 1) {
		announce_range(d, "nvw_cuda_before_copy", list + 1);
	} else if (structures) {
		list[0] = LLVMConstInt(i32, structures, 0);
		LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(d->context), &i32, 1, true);

		LLVMBuildCall2(d->builder, type, runtime_function(d, "nvw_cuda_before_copies", type), list,
			1 + 2 * structures, "");
	}
}

static void announce_by_value(struct device *d, LLVMValueRef caller)
{
	const unsigned byval = attribute_kind("byval");
	LLVMTargetDataRef layout = LLVMGetModuleDataLayout(d->module);
	LLVMValueRef list[1 + 2 * STRUCTURES_MAX];
	unsigned structures = 0;

	for (unsigned i = 0; i < LLVMGetNumArgOperands(caller) && structures < STRUCTURES_MAX; i++) {
		LLVMAttributeRef attribute = LLVMGetCallSiteEnumAttribute(caller, i + 1, byval);

		if (attribute) {
			const unsigned long long bytes =
				LLVMABISizeOfType(layout, LLVMGetTypeAttributeValue(attribute));
			list[1 + 2 * structures] = as_bytes(d, LLVMGetOperand(caller, i));
			list[2 + 2 * structures++] = LLVMConstInt(d->i64, bytes, 0);
		}
	}
	announce_structures(d, list, structures);
}

/* Bytes of a type as it is stored; 0: one that the sanitizer knows. */
static unsigned long long odd_bytes(struct device *d, LLVMTypeRef type)
{
	const LLVMTypeKind kind = LLVMGetTypeKind(type);

	if (kind != LLVMIntegerTypeKind && kind != LLVMX86_FP80TypeKind && kind != LLVMVectorTypeKind) {
		return 0;
	}
	const unsigned long long bits = LLVMSizeOfTypeInBits(LLVMGetModuleDataLayout(d->module), type);
	const bool is_power_of_two = (bits & (bits - 1)) == 0;

	if (is_power_of_two && bits <= 128 && (bits == 1 || bits >= 8)) {
		return 0;
	}
	return (bits + 7) / 8;
}

static void announce_odd(
	struct device *d, const char *name, LLVMTypeRef type, LLVMValueRef access, unsigned pointer)
{
	const unsigned long long bytes = odd_bytes(d, type);

	if (bytes) {
		announce_range(d, name,
			(LLVMValueRef[]){as_bytes(d, LLVMGetOperand(access, pointer)),
				LLVMConstInt(d->i64, bytes, 0)});
	}
}

/* Where a function of the runtime returns to is the place that reports name: in the function that calls
 * it. */
static void keep_place(LLVMValueRef caller)
{
	LLVMValueRef f = called_by(caller);

	if (f && LLVMIsDeclaration(f) && !LLVMGetIntrinsicID(f)) {
		LLVMSetTailCall(caller, false);
	}
}

static void announce_instruction(struct device *d, LLVMValueRef i)
{
	LLVMPositionBuilderBefore(d->builder, i); /* and at its place in the source */
	switch (LLVMGetInstructionOpcode(i)) {
	case LLVMCall:
		keep_place(i);
		announce_by_value(d, i);
		break;
	case LLVMInvoke:
		announce_by_value(d, i);
		break;
	case LLVMLoad:
		announce_odd(d, "nvw_cuda_before_copy", LLVMTypeOf(i), i, 0);
		break;
	case LLVMStore:
		announce_odd(d, "nvw_cuda_before_store", LLVMTypeOf(LLVMGetOperand(i, 0)), i, 1);
		break;
	default:
		break;
	}
}

/* Functions ask before they make a frame whether there is room for it (runtime/overflow.S); the compiler
 * cannot do that for variadic ones. */
static void ask_for_stack(LLVMValueRef f)
{
	if (!LLVMIsDeclaration(f) && !LLVMIsFunctionVarArg(LLVMGlobalGetValueType(f))) {
		LLVMAddTargetDependentFunctionAttr(f, "split-stack", "");
	}
}

/* Two calls in the branches of a function are two places. */
void keep_calls_apart(struct device *d)
{
	FOR_FUNCTIONS(f, d) {
		if (LLVMIsDeclaration(f) && begins(name_of(f), "nvw_cuda_")) {
			mark(d, f, "nomerge");
		}
	}
}

void announce(struct device *d)
{
	FOR_FUNCTIONS(f, d) {
		FOR_INSTRUCTIONS(i, f) {
			announce_instruction(d, i);
		}
		ask_for_stack(f);
	}
}
