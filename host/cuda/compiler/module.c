/* SPDX-License-Identifier: BSD-3-Clause */
/* What each stage asks of the module. */
#include <stdlib.h>
#include <string.h>

#include "device.h"

LLVMValueRef runtime_function(struct device *d, const char *name, LLVMTypeRef type)
{
	LLVMValueRef f = LLVMGetNamedFunction(d->module, name);

	return f ? f : LLVMAddFunction(d->module, name, type);
}

unsigned attribute_kind(const char *name)
{
	return LLVMGetEnumAttributeKindForName(name, strlen(name));
}

LLVMValueRef as_bytes(struct device *d, LLVMValueRef pointer)
{
	return LLVMBuildPointerCast(d->builder, pointer, d->bytes, "");
}

char *joined(const char *name, const char *suffix)
{
	char *const both = malloc(strlen(name) + strlen(suffix) + 1);

	strcpy(both, name);
	return strcat(both, suffix);
}

static void for_block(struct device *d, LLVMBasicBlockRef block,
	void (*visit)(struct device *, LLVMValueRef, void *), void *with)
{
	LLVMValueRef next;

	for (LLVMValueRef i = LLVMGetFirstInstruction(block); i; i = next) {
		next = LLVMGetNextInstruction(i);
		visit(d, i, with);
	}
}

void for_instructions(struct device *d, void (*visit)(struct device *, LLVMValueRef, void *), void *with)
{
	FOR_FUNCTIONS(f, d) {
		for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b)) {
			for_block(d, b, visit, with);
		}
	}
}
