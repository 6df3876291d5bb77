/* SPDX-License-Identifier: BSD-3-Clause */
/* nvwave-device: the stages between clang's runs over the device half. Each changes the module in place. */
#ifndef HOST_CUDA_COMPILER_DEVICE_H
#define HOST_CUDA_COMPILER_DEVICE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <llvm-c/Core.h>

#include "core/bounds.h"
#include "core/each.h"

struct device {
	LLVMContextRef context;
	LLVMModuleRef module;
	LLVMBuilderRef builder;
	LLVMTypeRef i64, bytes; /* bytes: a pointer to them */
};

/* The section of each kind of variable; the runtime finds them by it. */
#define SHARED_SECTION  "nvw_shared"
#define DEVICE_SECTION  "nvw_device"
#define MANAGED_SECTION "nvw_managed"

/* Before the optimizer: inline PTX becomes calls of the runtime. False, with messages, if some is not
 * supported. */
bool translate_ptx(struct device *d);
/* Before the optimizer: shared and device variables go into their sections, dynamic shared memory becomes
 * the runtime's. */
void place_variables(struct device *d);
/* Before it: conversions and shifts have the results that GPUs give. */
void define_numbers(struct device *d);
/* Before it: calls of the runtime stay as many as they are, each with its place in the source. */
void keep_calls_apart(struct device *d);
/* Behind it: announces what the thread sanitizer leaves out, and has functions ask for their stack. */
void announce(struct device *d);
/* Takes out where a function's variables are, which is most of what is said of it. */
void forget_variables(LLVMValueRef f);
/* Behind it: kernels have copies that need no stacks, with this suffix. */
void make_coroutines(struct device *d);
#define LANES ".lanes"
/* The kernels that the module defines, in an array to be freed. */
unsigned find_kernels(struct device *d, LLVMValueRef **ret_kernels);
/* Behind it: names that the host half does not have, and the tables of kernels and variables. */
void name_symbols(struct device *d, const char *half, uint64_t arch);

/* A function of the runtime; any: of any arguments behind the first. */
LLVMValueRef runtime_function(struct device *d, const char *name, LLVMTypeRef type);
unsigned attribute_kind(const char *name);
void mark(struct device *d, LLVMValueRef function, const char *attribute);
/* A name with a suffix, to be freed. */
char *joined(const char *name, const char *suffix);
LLVMValueRef number(const struct device *d, uint64_t n);
LLVMValueRef as_bytes(struct device *d, LLVMValueRef pointer);
const char *name_of(LLVMValueRef v);
bool begins(const char *text, const char *with);
/* Whether a variable is in a section. */
bool is_in(LLVMValueRef v, const char *section);
/* The function that an instruction calls by its name; NULL: it calls none. */
LLVMValueRef called_by(LLVMValueRef i);
/* Calls of the runtime and of LLVM's own functions, at the builder's place. */
LLVMValueRef call(
	struct device *d, const char *name, LLVMTypeRef result, LLVMValueRef *arguments, unsigned n);
LLVMValueRef intrinsic(struct device *d, const char *name, LLVMTypeRef *overloads, unsigned count,
	LLVMValueRef *arguments, unsigned n);

#define FOR_FUNCTIONS(f, d) \
	for (LLVMValueRef f = LLVMGetFirstFunction((d)->module); f; f = LLVMGetNextFunction(f))
#define FOR_VARIABLES(v, d) \
	for (LLVMValueRef v = LLVMGetFirstGlobal((d)->module); v; v = LLVMGetNextGlobal(v))

/* Of a function; the body may take i away. */
#define FOR_INSTRUCTIONS(i, f)                                                                     \
	for (LLVMBasicBlockRef b_ = LLVMGetFirstBasicBlock(f); b_; b_ = LLVMGetNextBasicBlock(b_)) \
		for (LLVMValueRef i = LLVMGetFirstInstruction(b_), next_;                          \
			i && (next_ = LLVMGetNextInstruction(i), true); i = next_)

#endif
