/* SPDX-License-Identifier: BSD-3-Clause */
/* Inline PTX: the numbers of types, operations and registers, for the compiler
 * (compiler/ptx_instructions.c) and the runtime. */
#ifndef HOST_CUDA_PTX_H
#define HOST_CUDA_PTX_H

/* A type: log2 of its bytes, and its kind. */
enum ptx_kind { PTX_BITS, PTX_UNSIGNED, PTX_SIGNED, PTX_FLOAT };
#define PTX_BYTES(type) (1u << ((type)&3))
#define PTX_KIND(type)  ((enum ptx_kind)((type) >> 2 & 3))

enum ptx_operation {
	PTX_MOV,
	PTX_ADD,
	PTX_SUB,
	PTX_MUL_LO,
	PTX_MUL_HI,
	PTX_MUL_WIDE,
	PTX_MAD_LO,
	PTX_MAD_HI,
	PTX_MAD_WIDE,
	PTX_FMA,
	PTX_DIV,
	PTX_REM,
	PTX_MIN,
	PTX_MAX,
	PTX_ABS,
	PTX_NEG,
	PTX_AND,
	PTX_OR,
	PTX_XOR,
	PTX_NOT,
	PTX_SHL,
	PTX_SHR,
	PTX_POPC,
	PTX_CLZ,
	PTX_BREV,
	PTX_BFE,
	PTX_BFI,
	PTX_PRMT,
	PTX_SELP,
	PTX_SQRT,
	PTX_RCP,
	PTX_RSQRT,
	PTX_EX2,
	PTX_LG2,
	PTX_SIN,
	PTX_COS,
	PTX_CVT,
	PTX_SETP,
	PTX_LOP3
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
