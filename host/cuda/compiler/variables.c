/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The variables of the device half. A __shared__ variable is the one kind that has no initial value (parts of
 * others, their padding, may have none). What else can be changed is a __device__ or __constant__ variable,
 * which the host may initialize.
 *
 * Each kind goes into a section of its own, and is no longer internal: an optimizer that knew all accesses
 * would move some across barriers, and would take what the host writes for what it was at first.
 * name_symbols() makes them internal again.
 *
 * A __managed__ variable is the host half's, and plain memory for both sides.
 */

#include "device.h"

enum { ALIGNED = 128 }; /* as in runtime/shared.c */

/* All arrays of dynamic shared memory begin at one address. */
static void join_dynamic(struct device *d, LLVMValueRef array)
{
	static const char name[] = "nvw_cuda_dynamic_shared";
	LLVMValueRef all = LLVMGetNamedGlobal(d->module, name);

	NVW_INVARIANT(LLVMIsDeclaration(array)); /* the runtime has the bytes */
	if (!all) {
		all = LLVMAddGlobal(d->module, LLVMArrayType(LLVMInt8TypeInContext(d->context), 0), name);
		LLVMSetAlignment(all, ALIGNED);
	}
	if (array != all) {
		LLVMReplaceAllUsesWith(array, LLVMConstPointerCast(all, LLVMTypeOf(array)));
	}
}

static void place(LLVMValueRef variable, const char *section)
{
	NVW_INVARIANT(!LLVMIsDeclaration(variable)); /* the section is that of the file that defines it */
	LLVMSetSection(variable, section);
	if (LLVMGetLinkage(variable) == LLVMInternalLinkage) {
		LLVMSetLinkage(variable, LLVMExternalLinkage);
	}
}

static bool is_array_without_size(LLVMValueRef variable)
{
	const LLVMTypeRef type = LLVMGlobalGetValueType(variable);

	return LLVMGetTypeKind(type) == LLVMArrayTypeKind && LLVMGetArrayLength(type) == 0;
}

/* The host half has the variable, under the same name. */
static void leave_to_host(LLVMValueRef variable)
{
	NVW_INVARIANT(is_in(variable, MANAGED_SECTION));
	if (!LLVMIsDeclaration(variable)) {
		LLVMSetLinkage(variable, LLVMAvailableExternallyLinkage);
	}
}

static void place_variable(struct device *d, LLVMValueRef variable)
{
	const bool changes = !LLVMIsGlobalConstant(variable);

	if (is_in(variable, MANAGED_SECTION)) {
		leave_to_host(variable);
	} else if (LLVMIsDeclaration(variable)) {
		if (is_array_without_size(variable)) {
			join_dynamic(d, variable);
		}
	} else if (changes && LLVMIsUndef(LLVMGetInitializer(variable))) {
		place(variable, SHARED_SECTION);
	} else if (changes || LLVMIsExternallyInitialized(variable)) {
		place(variable, DEVICE_SECTION);
	}
}

void place_variables(struct device *d)
{
	FOR_VARIABLES(v, d) {
		if (!begins(name_of(v), "llvm.")) {
			place_variable(d, v);
		}
	}
}
