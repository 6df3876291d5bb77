/* SPDX-License-Identifier: BSD-3-Clause */
/* Inline PTX: the numbers of types, operations and registers, for the compiler
 * (compiler/ptx_instructions.c) and the runtime. */
#ifndef HOST_CUDA_PTX_H
#define HOST_CUDA_PTX_H

#include <stdint.h>

/* A type: log2 of its bytes, and its kind. */
enum ptx_kind { PTX_BITS, PTX_UNSIGNED, PTX_SIGNED, PTX_FLOAT };
#define PTX_BYTES(type) (1u << ((type)&3))
#define PTX_KIND(type)  ((enum ptx_kind)((type) >> 2 & 3))

/* A value as in a register: signed ones are extended by their sign. */
static inline uint64_t ptx_extended(uint64_t value, unsigned type)
{
	const unsigned unused = 64 - 8 * PTX_BYTES(type);

	if (PTX_KIND(type) == PTX_SIGNED) {
		return (uint64_t)((int64_t)(value << unused) >> unused);
	}
	return value << unused >> unused;
}

/* Operations on registers: their names, as the PTX manual writes them, and how many operands they have. */
#define PTX_OPERATIONS(X)          \
	X(ADD, "add", 3)           \
	X(SUB, "sub", 3)           \
	X(MUL_LO, "mul.lo", 3)     \
	X(MUL_HI, "mul.hi", 3)     \
	X(MUL_WIDE, "mul.wide", 3) \
	X(MAD_LO, "mad.lo", 4)     \
	X(MAD_HI, "mad.hi", 4)     \
	X(MAD_WIDE, "mad.wide", 4) \
	X(FMA, "fma", 4)           \
	X(DIV, "div", 3)           \
	X(REM, "rem", 3)           \
	X(MIN, "min", 3)           \
	X(MAX, "max", 3)           \
	X(ABS, "abs", 2)           \
	X(NEG, "neg", 2)           \
	X(AND, "and", 3)           \
	X(OR, "or", 3)             \
	X(XOR, "xor", 3)           \
	X(NOT, "not", 2)           \
	X(SHL, "shl", 3)           \
	X(SHR, "shr", 3)           \
	X(POPC, "popc", 2)         \
	X(CLZ, "clz", 2)           \
	X(BREV, "brev", 2)         \
	X(BFE, "bfe", 4)           \
	X(BFI, "bfi", 5)           \
	X(LOP3, "lop3", 5)         \
	X(PRMT, "prmt", 4)         \
	X(SELP, "selp", 4)         \
	X(SQRT, "sqrt", 2)         \
	X(RCP, "rcp", 2)           \
	X(RSQRT, "rsqrt", 2)       \
	X(EX2, "ex2", 2)           \
	X(LG2, "lg2", 2)           \
	X(SIN, "sin", 2)           \
	X(COS, "cos", 2)
enum ptx_operation {
#define X(operation, name, operands) PTX_##operation,
	PTX_OPERATIONS(X)
#undef X
		PTX_MOV,
	PTX_CVT,
	PTX_SETP
};

enum ptx_comparison { PTX_EQ, PTX_NE, PTX_LT, PTX_LE, PTX_GT, PTX_GE, PTX_LO, PTX_LS, PTX_HI, PTX_HS };

enum ptx_register {
	PTX_TID_X,
	PTX_NTID_X = PTX_TID_X + 3,
	PTX_CTAID_X = PTX_NTID_X + 3,
	PTX_NCTAID_X = PTX_CTAID_X + 3,
	PTX_LANEID = PTX_NCTAID_X + 3,
	PTX_WARPID,
	PTX_NWARPID,
	PTX_SMID,
	PTX_NSMID,
	PTX_GRIDID,
	PTX_CLOCK,
	PTX_CLOCK_HI,
	PTX_CLOCK64,
	PTX_GLOBALTIMER,
	PTX_GLOBALTIMER_LO,
	PTX_GLOBALTIMER_HI,
	PTX_LANEMASK_EQ,
	PTX_LANEMASK_LT,
	PTX_LANEMASK_LE,
	PTX_LANEMASK_GT,
	PTX_LANEMASK_GE,
	PTX_DYNAMIC_SMEM_SIZE
};

#endif
