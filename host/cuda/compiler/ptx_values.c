/* SPDX-License-Identifier: BSD-3-Clause */
/* Values of inline PTX: all have 64 bits. And what is said where one is not supported. */
#include <ctype.h>
#include <stdarg.h>

#include <llvm-c/DebugInfo.h>

#include "../runtime/ptx.h"
#include "ptx.h"

enum { ARGUMENTS_MAX = 6 };

LLVMValueRef ptx_number(const struct ptx *p, uint64_t n)
{
	return number(p->d, n);
}

static void print_place(LLVMValueRef statement)
{
	LLVMMetadataRef at = LLVMInstructionGetDebugLoc(statement);
	unsigned length = 0;

	if (at) {
		LLVMMetadataRef file = LLVMDIScopeGetFile(LLVMDILocationGetScope(at));
		const char *const name = LLVMDIFileGetFilename(file, &length);

		fprintf(stderr, "%.*s:%u:%u: ", (int)length, name, LLVMDILocationGetLine(at),
			LLVMDILocationGetColumn(at));
	}
}

LLVMValueRef ptx_refuse(struct ptx *p, const char *format, ...)
{
	va_list arguments;

	NVW_INVARIANT(LLVMIsACallInst(p->statement)); /* its place is told */
	print_place(p->statement);
	fprintf(stderr, "error: inline PTX: ");
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	*p->failed = true;
	return ptx_number(p, 0);
}

char *ptx_trimmed(char *text)
{
	size_t n;

	text += strspn(text, " ");
	for (n = strlen(text); n && text[n - 1] == ' '; n--) {
	}
	text[n] = '\0';
	return text;
}

/* Lanes meet in these functions, each call a place of its own. */
LLVMValueRef ptx_ask(struct ptx *p, const char *function, unsigned n, ...)
{
	LLVMValueRef arguments[ARGUMENTS_MAX];
	LLVMTypeRef types[ARGUMENTS_MAX];
	va_list list;

	NVW_INVARIANT(n <= ARGUMENTS_MAX);
	va_start(list, n);
	NVW_FOR(i, n) {
		arguments[i] = va_arg(list, LLVMValueRef);
		types[i] = p->d->i64;
		NVW_INVARIANT(LLVMTypeOf(arguments[i]) == p->d->i64);
	}
	va_end(list);
	const LLVMTypeRef type = LLVMFunctionType(p->d->i64, types, n, false);
	LLVMValueRef f = runtime_function(p->d, function, type);

	mark(p->d, f, "convergent");
	mark(p->d, f, "nomerge");
	return LLVMBuildCall2(p->d->builder, type, f, arguments, n, "");
}

/* ---- Registers */

struct ptx_named *ptx_find_register(struct ptx *p, const char *name)
{
	return NVW_FIND(r, p->registers, p->register_count, strcmp(r->name, name) == 0);
}

void ptx_declare(struct ptx *p, const char *name, LLVMValueRef value)
{
	struct ptx_named *r = ptx_find_register(p, name);

	if (!r) {
		p->registers = realloc(p->registers, (p->register_count + 1) * sizeof *p->registers);
		r = &p->registers[p->register_count++];
		r->value = NULL;
		snprintf(r->name, sizeof r->name, "%s", name);
	}
	if (value) {
		r->value = value;
	}
}

LLVMValueRef ptx_negated(struct ptx *p, LLVMValueRef bit, bool is_negated)
{
	NVW_INVARIANT(LLVMTypeOf(bit) == p->d->i64);
	if (!is_negated) {
		return bit;
	}
	return LLVMBuildXor(p->d->builder, bit, ptx_number(p, 1), "");
}

LLVMValueRef ptx_condition(struct ptx *p)
{
	LLVMValueRef bit;

	if (!p->guard) {
		return ptx_number(p, 1);
	}
	bit = LLVMBuildAnd(p->d->builder, p->guard, ptx_number(p, 1), "");
	return ptx_negated(p, bit, p->negated);
}

static LLVMValueRef kept_unless_executed(struct ptx *p, struct ptx_named *r, LLVMValueRef value)
{
	const unsigned select = PTX_SELP + 256 * (3 + 4 * PTX_BITS);

	if (!r->value && !p->active) {
		return ptx_refuse(p, "%s: written under a predicate before it has a value", r->name);
	}
	/* Another branch writes it, or nobody reads it. */
	LLVMValueRef old = NVW_OR(r->value, ptx_number(p, 0));
	LLVMValueRef ways[] = {old, value};

	return ptx_ask(p, "nvw_ptx_compute", 4, ptx_number(p, select), ways[!p->negated], ways[p->negated],
		p->guard);
}

void ptx_set(struct ptx *p, const char *operand, LLVMValueRef value)
{
	struct ptx_named *const r = ptx_find_register(p, operand);

	if (strcmp(operand, "_") == 0) {
		return;
	}
	if (!r) {
		ptx_refuse(p, "the destination %s is not supported", operand);
		return;
	}
	if (p->guard) {
		value = kept_unless_executed(p, r, value);
	}
	NVW_INVARIANT(LLVMTypeOf(value) == p->d->i64);
	r->value = value;
}

/* ---- Operands */

/* In the order of enum ptx_register. */
static const char special_registers[] =
	"%tid.x %tid.y %tid.z %ntid.x %ntid.y %ntid.z "
	"%ctaid.x %ctaid.y %ctaid.z %nctaid.x %nctaid.y %nctaid.z "
	"%laneid %warpid %nwarpid %smid %nsmid %gridid %clock %clock_hi %clock64 "
	"%globaltimer %globaltimer_lo %globaltimer_hi "
	"%lanemask_eq %lanemask_lt %lanemask_le %lanemask_gt %lanemask_ge %dynamic_smem_size";

int ptx_place_in(const char *list, const char *word)
{
	const size_t length = strlen(word);
	int place = 0;

	for (const char *at = list; *at; place++) {
		const size_t n = strcspn(at, " ");
		const bool is_any = n && at[n - 1] == '*'; /* "L1::*" */

		if ((is_any || n == length) && strncmp(at, word, n - is_any) == 0) {
			return place;
		}
		at += n + strspn(at + n, " ");
	}
	return -1;
}

static bool is_of(const char *text, const char *characters)
{
	return *text && text[strspn(text, characters)] == '\0';
}

/* "12", "-1U", "0x1f", and the bits of a floating number, "0f3f800000". */
static bool is_number(const char *operand, uint64_t *ret)
{
	static const char hexadecimal[] = "0123456789abcdefABCDEF";
	const bool is_negative = *operand == '-';
	const char *const digits = operand + is_negative;
	char text[40];

	snprintf(text, sizeof text, "%s", digits);
	const size_t n = strlen(text);

	if (n && text[n - 1] == 'U') {
		text[n - 1] = '\0';
	}
	if (text[0] == '0' && text[1] && strchr("xXfFdD", text[1]) && is_of(text + 2, hexadecimal)) {
		*ret = strtoull(text + 2, NULL, 16);
		return !is_negative;
	}
	*ret = strtoull(text, NULL, 10);
	if (is_negative) {
		*ret = -*ret;
	}
	return is_of(text, "0123456789");
}

static bool is_octal(const char *operand)
{
	return operand[0] == '0' && isdigit((unsigned char)operand[1]);
}

LLVMValueRef ptx_value(struct ptx *p, const char *operand)
{
	const struct ptx_named *const r = ptx_find_register(p, operand);
	const int special = ptx_place_in(special_registers, operand);
	uint64_t n;

	if (r) {
		return NVW_OR(r->value, ptx_refuse(p, "%s: read before it is written", operand));
	}
	if (is_number(operand, &n) && is_octal(operand)) {
		return ptx_refuse(p, "the number %s is octal: not supported", operand);
	}
	if (is_number(operand, &n)) {
		return ptx_number(p, n);
	}
	if (strcmp(operand, "WARP_SZ") == 0) {
		return ptx_number(p, 32);
	}
	if (special >= 0) {
		return ptx_ask(p, "nvw_ptx_special", 1, ptx_number(p, (uint64_t)special));
	}
	return ptx_refuse(p, "the %s %s is not supported", *operand == '%' ? "register" : "operand", operand);
}

/* "[$1+8]", "[r]" */
LLVMValueRef ptx_address(struct ptx *p, char *operand)
{
	const size_t n = strlen(operand);
	LLVMValueRef base;
	char *offset;

	if (n < 2 || operand[0] != '[' || operand[n - 1] != ']') {
		return ptx_refuse(p, "expected an address, found %s", operand);
	}
	operand[n - 1] = '\0';
	offset = strchr(operand, '+');
	if (offset) {
		*offset++ = '\0';
	}
	base = ptx_value(p, ptx_trimmed(operand + 1));
	if (!offset) {
		return base;
	}
	offset = ptx_trimmed(offset);
	if (!is_of(offset + (*offset == '-'), "0123456789")) {
		return ptx_refuse(p, "the offset %s is not supported", offset);
	}
	return LLVMBuildAdd(p->d->builder, base, ptx_number(p, (uint64_t)strtoll(offset, NULL, 10)), "");
}

/* ---- Operands of the asm statement, which have types */

static const char *name_of_type(LLVMTypeRef type)
{
	static char name[64];
	char *const printed = LLVMPrintTypeToString(type);

	snprintf(name, sizeof name, "%s", printed);
	LLVMDisposeMessage(printed);
	return name;
}

LLVMValueRef ptx_widened(struct ptx *p, LLVMValueRef value)
{
	const LLVMTypeRef type = LLVMTypeOf(value);
	LLVMBuilderRef b = p->d->builder;

	switch (LLVMGetTypeKind(type)) {
	case LLVMPointerTypeKind:
		return LLVMBuildPtrToInt(b, value, p->d->i64, "");
	case LLVMDoubleTypeKind:
		return LLVMBuildBitCast(b, value, p->d->i64, "");
	case LLVMFloatTypeKind:
		value = LLVMBuildBitCast(b, value, LLVMInt32TypeInContext(p->d->context), "");
		return LLVMBuildZExt(b, value, p->d->i64, "");
	case LLVMIntegerTypeKind:
		if (LLVMGetIntTypeWidth(type) <= 64) {
			return LLVMBuildZExtOrBitCast(b, value, p->d->i64, "");
		}
		break;
	default:
		break;
	}
	return ptx_refuse(p, "an operand of type %s is not supported", name_of_type(type));
}

LLVMValueRef ptx_narrowed(struct ptx *p, LLVMValueRef value, LLVMTypeRef type)
{
	LLVMBuilderRef b = p->d->builder;

	switch (LLVMGetTypeKind(type)) {
	case LLVMPointerTypeKind:
		return LLVMBuildIntToPtr(b, value, type, "");
	case LLVMDoubleTypeKind:
		return LLVMBuildBitCast(b, value, type, "");
	case LLVMFloatTypeKind:
		value = LLVMBuildTrunc(b, value, LLVMInt32TypeInContext(p->d->context), "");
		return LLVMBuildBitCast(b, value, type, "");
	case LLVMIntegerTypeKind:
		if (LLVMGetIntTypeWidth(type) <= 64) {
			return LLVMBuildTruncOrBitCast(b, value, type, "");
		}
		break;
	default:
		break;
	}
	ptx_refuse(p, "a result of type %s is not supported", name_of_type(type));
	return LLVMGetUndef(type);
}
