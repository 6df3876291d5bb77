/* SPDX-License-Identifier: BSD-3-Clause */
/* What each stage asks of the module. */

#include "device.h"

LLVMValueRef runtime_function(struct device *d, const char *name, LLVMTypeRef type)
{
	return NVW_OR(LLVMGetNamedFunction(d->module, name), LLVMAddFunction(d->module, name, type));
}

unsigned attribute_kind(const char *name)
{
	const unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));

	NVW_INVARIANT(kind); /* this LLVM knows the name */
	return kind;
}

void mark(struct device *d, LLVMValueRef function, const char *attribute)
{
	LLVMAddAttributeAtIndex(function, LLVMAttributeFunctionIndex,
		LLVMCreateEnumAttribute(d->context, attribute_kind(attribute), 0));
}

LLVMValueRef number(const struct device *d, uint64_t n)
{
	return LLVMConstInt(d->i64, n, false);
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

const char *name_of(LLVMValueRef v)
{
	size_t length;

	return LLVMGetValueName2(v, &length);
}

bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

bool is_in(LLVMValueRef v, const char *section)
{
	return LLVMGetSection(v) && strcmp(LLVMGetSection(v), section) == 0;
}

LLVMValueRef called_by(LLVMValueRef i)
{
	if (!LLVMIsACallInst(i)) {
		return NULL;
	}
	return LLVMIsAFunction(LLVMGetCalledValue(i));
}

LLVMValueRef call(struct device *d, const char *name, LLVMTypeRef result, LLVMValueRef *arguments, unsigned n)
{
	LLVMTypeRef types[8];

	NVW_INVARIANT(n <= NVW_COUNT(types));
	NVW_FOR(i, n) {
		types[i] = LLVMTypeOf(arguments[i]);
	}
	LLVMTypeRef type = LLVMFunctionType(result, types, n, false);

	return LLVMBuildCall2(d->builder, type, runtime_function(d, name, type), arguments, n, "");
}

LLVMValueRef intrinsic(struct device *d, const char *name, LLVMTypeRef *overloads, unsigned count,
	LLVMValueRef *arguments, unsigned n)
{
	const unsigned id = LLVMLookupIntrinsicID(name, strlen(name));

	NVW_INVARIANT(id); /* this LLVM knows the name */
	return LLVMBuildCall2(d->builder, LLVMIntrinsicGetType(d->context, id, overloads, count),
		LLVMGetIntrinsicDeclaration(d->module, id, overloads, count), arguments, n, "");
}
