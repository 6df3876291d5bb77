/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels without stacks (coroutines.c): a coroutine that is being made, and what builds its instructions. */
#ifndef HOST_CUDA_COMPILER_COROUTINES_H
#define HOST_CUDA_COMPILER_COROUTINES_H

#include "../runtime/short_way.h"
#include "device.h"

enum { WORD = 8 };
/* In a coroutine's frame, behind two functions. */
enum { WORK_ITEM = 2 * WORD };

/* The runtime's function for a lane's request. A coroutine that is finished calls it nowhere. */
#define REQUEST "nvw_cuda_lane_request"

struct coroutine {
	LLVMValueRef function, frame;
	LLVMBasicBlockRef end; /* gives way, for good or not */
	LLVMMetadataRef scope;
};

/* ---- Values (values.c) -------------------------------------------------------------------------- */

/* Integers of so many bits. */
LLVMTypeRef word(struct device *d, unsigned bits);
void mark_call(struct device *d, LLVMValueRef call, const char *attribute);
/* A variable of the runtime. */
LLVMValueRef variable(struct device *d, const char *name, LLVMTypeRef type);
/* The word that is so many bytes behind what such a variable points to. */
LLVMValueRef runtime_word(struct device *d, const char *name, uint64_t bytes);
/* The word that is so many bytes behind an address, which is a pointer or a number. */
LLVMValueRef field(struct device *d, LLVMValueRef address, uint64_t bytes);
LLVMValueRef load_field(struct device *d, LLVMValueRef address, uint64_t bytes);
void store_field(struct device *d, LLVMValueRef value, LLVMValueRef address, uint64_t bytes);
/* A value as a number of 64 bits. */
LLVMValueRef as_number(struct device *d, LLVMValueRef v);
LLVMValueRef without_casts(LLVMValueRef v);
/* Moves an instruction to a block's end; its place in the source is its own, not the builder's. */
void move_to_end(struct device *d, LLVMValueRef i, LLVMBasicBlockRef to);

/* ---- Division (divide.c) ------------------------------------------------------------------------ */

/* How a call is divided. NULL: it is not. */
typedef void divide(struct device *d, struct coroutine *c, LLVMValueRef call, LLVMValueRef cell);
divide *division_of(struct device *d, LLVMValueRef i);
/* A new block at the function's end. */
LLVMBasicBlockRef block(struct device *d, struct coroutine *c);
/* Suspends the coroutine; the builder goes on in a new block. */
void give_way(struct device *d, struct coroutine *c);
/* What is built next has this place in the source, without its line; NULL: the coroutine's own. */
void stand_aside(struct device *d, struct coroutine *c, LLVMMetadataRef at);

/* ---- Behind LLVM's passes (neighbours.c) -------------------------------------------------------- */

/* A copy whose coroutine LLVM has split goes on with the neighbouring lanes by itself. */
void finish_copy(struct device *d, LLVMValueRef copy);

#endif
