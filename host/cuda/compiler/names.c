/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Names of the device half, and its tables. Both halves define functions for both sides, of which the linker
 * would keep one: so everything that the device half defines gets the suffix .dev, and so does what it
 * expects of the device halves of other files. Kernels and plain variables are this file's own; for other
 * files' device halves a variable has another name, NAME.dev.
 *
 * A kernel, and a variable that the host knows, stands in a table with its name in the source file. The host
 * half announces its stubs and shadows by these names when the program begins (runtime/tables.c).
 */

#include <llvm-c/Comdat.h>
#include <llvm-c/DebugInfo.h>
#include <llvm-c/Target.h>

#include "device.h"

enum { WORDS_DIGITS = 20 };

static bool is_local(LLVMValueRef v)
{
	const LLVMLinkage linkage = LLVMGetLinkage(v);

	return linkage == LLVMInternalLinkage || linkage == LLVMPrivateLinkage;
}

/* To the linker. */
static bool is_known(LLVMValueRef v)
{
	return !is_local(v) && !begins(name_of(v), "llvm.");
}

static bool is_defined(LLVMValueRef v)
{
	return !LLVMIsDeclaration(v) && LLVMGetLinkage(v) != LLVMAvailableExternallyLinkage;
}

/* ---- Tables */

struct table {
	LLVMValueRef *row;
	unsigned rows;
	LLVMTypeRef type;
};

static void add_row(struct table *t, struct device *d, LLVMValueRef *columns, unsigned n)
{
	t->row = realloc(t->row, (t->rows + 1) * sizeof *t->row);
	t->row[t->rows++] = LLVMConstStructInContext(d->context, columns, n, false);
	t->type = LLVMTypeOf(t->row[0]);
	NVW_INVARIANT(LLVMTypeOf(t->row[t->rows - 1]) == t->type); /* rows of one table are of one type */
}

static void emit_table(struct table *t, struct device *d, const char *section)
{
	if (t->rows) {
		LLVMValueRef array = LLVMConstArray(t->type, t->row, t->rows);
		LLVMValueRef v = LLVMAddGlobal(d->module, LLVMTypeOf(array), "");

		LLVMSetInitializer(v, array);
		LLVMSetSection(v, section);
		LLVMSetAlignment(v, sizeof(uint64_t)); /* the next file's follows at once */
		LLVMSetLinkage(v, LLVMPrivateLinkage);
	}
	free(t->row);
}

static LLVMValueRef pointer_to(struct device *d, LLVMValueRef v)
{
	return LLVMConstPointerCast(v, d->bytes);
}

static LLVMValueRef text(struct device *d, const char *s)
{
	LLVMValueRef bytes = LLVMConstStringInContext(d->context, s, (unsigned)strlen(s), false);
	LLVMValueRef v = LLVMAddGlobal(d->module, LLVMTypeOf(bytes), "");

	LLVMSetInitializer(v, bytes);
	LLVMSetLinkage(v, LLVMPrivateLinkage);
	LLVMSetGlobalConstant(v, true);
	return pointer_to(d, v);
}

/* ---- Kernels */

static bool has(LLVMValueRef f, unsigned parameter, const char *attribute)
{
	return LLVMGetEnumAttributeAtIndex(f, parameter + 1, attribute_kind(attribute)) != NULL;
}

static char passed_number(LLVMValueRef f, unsigned parameter, unsigned bits)
{
	switch (bits) {
	case 128:
		return 'w';
	case 1:
		return 'b';
	case 8:
	case 16:
		if (has(f, parameter, "signext")) {
			return "cs"[bits / 16];
		}
		if (has(f, parameter, "zeroext")) {
			return "CS"[bits / 16];
		}
		return 'i';
	default:
		return 'i';
	}
}

/* How the compiler passes a parameter of a kernel: i in an integer register, c s b and C S likewise, but a
 * signed or (capital, b) unsigned number of 8, 16 or 1 bits that is extended; w a number of two words; f
 * in a floating register; m in memory, with the number of its words behind it; x a long double, in memory,
 * too. */
static char passed(LLVMValueRef f, unsigned parameter)
{
	NVW_INVARIANT(parameter < LLVMCountParams(f));
	const LLVMTypeRef type = LLVMTypeOf(LLVMGetParam(f, parameter));

	if (has(f, parameter, "byval")) {
		return 'm';
	}
	switch (LLVMGetTypeKind(type)) {
	case LLVMHalfTypeKind:
	case LLVMBFloatTypeKind:
	case LLVMFloatTypeKind:
	case LLVMDoubleTypeKind:
	case LLVMVectorTypeKind:
		return 'f';
	case LLVMX86_FP80TypeKind:
		return 'x';
	case LLVMIntegerTypeKind:
		return passed_number(f, parameter, LLVMGetIntTypeWidth(type));
	default:
		return 'i';
	}
}

static unsigned long long words_of(struct device *d, LLVMValueRef f, unsigned parameter)
{
	LLVMAttributeRef byval = LLVMGetEnumAttributeAtIndex(f, parameter + 1, attribute_kind("byval"));
	LLVMTargetDataRef layout = LLVMGetModuleDataLayout(d->module);

	return (LLVMABISizeOfType(layout, LLVMGetTypeAttributeValue(byval)) + 7) / 8;
}

static LLVMValueRef all_passed(struct device *d, LLVMValueRef f)
{
	const unsigned n = LLVMCountParams(f);
	char *const letters = calloc(n + 1, 1 + WORDS_DIGITS), *end = letters;

	NVW_FOR(i, n) {
		*end = passed(f, i);
		if (*end++ == 'm') {
			end += snprintf(end, 1 + WORDS_DIGITS, "%llu", words_of(d, f, i));
		}
	}
	LLVMValueRef result = text(d, letters);

	free(letters);
	return result;
}

static unsigned operands_of_node(LLVMValueRef node)
{
	if (!node) {
		return 0;
	}
	return LLVMGetMDNodeNumOperands(node);
}

static LLVMValueRef operand_of_node(LLVMValueRef node, unsigned i)
{
	LLVMValueRef operands[64] = {NULL};
	const unsigned n = operands_of_node(node);

	if (n <= i || n > NVW_COUNT(operands)) {
		return NULL;
	}
	LLVMGetMDNodeOperands(node, operands);
	return operands[i];
}

/* The debugger's description of a function has its type, and that a list: what it returns, then its
 * arguments. Empty structures, which are passed nowhere, are among them. */
static uint64_t count_arguments(struct device *d, LLVMValueRef f)
{
	enum { TYPE_OF_FUNCTION = 4, LIST_OF_TYPE = 3 };
	LLVMMetadataRef described = LLVMGetSubprogram(f);

	if (!described) {
		return 0;
	}
	LLVMValueRef type = operand_of_node(LLVMMetadataAsValue(d->context, described), TYPE_OF_FUNCTION);
	const unsigned n = operands_of_node(operand_of_node(type, LIST_OF_TYPE));

	return n - (n > 0);
}

/* A file's own: the host half's stubs say which kernels are one. */
static void make_own(LLVMValueRef v)
{
	LLVMSetLinkage(v, LLVMInternalLinkage);
	LLVMSetVisibility(v, LLVMDefaultVisibility);
	LLVMSetComdat(v, NULL);
}

static LLVMValueRef coroutine_of(struct device *d, LLVMValueRef f)
{
	char *const name = joined(name_of(f), LANES);
	LLVMValueRef coroutine = LLVMGetNamedFunction(d->module, name);

	free(name);
	if (!coroutine) {
		return LLVMConstNull(d->bytes);
	}
	return pointer_to(d, coroutine);
}

static void add_kernel(struct device *d, struct table *t, LLVMValueRef f, LLVMValueRef half, uint64_t arch)
{
	LLVMValueRef columns[] = {LLVMConstNull(d->bytes), pointer_to(d, f), coroutine_of(d, f),
		text(d, name_of(f)), all_passed(d, f), number(d, arch), number(d, count_arguments(d, f)),
		half};

	add_row(t, d, columns, NVW_COUNT(columns));
	make_own(f);
}

static LLVMValueRef without_casts(LLVMValueRef v)
{
	while (LLVMIsAConstantExpr(v)) {
		v = LLVMGetOperand(v, 0);
	}
	return v;
}

/* __global__ is an annotation, too (include/host_defines.h). */
static bool is_kernel(LLVMValueRef annotation)
{
	LLVMValueRef what = LLVMGetInitializer(without_casts(LLVMGetOperand(annotation, 1)));
	LLVMValueRef f = without_casts(LLVMGetOperand(annotation, 0));
	size_t length;

	return LLVMIsConstantString(what) && begins(LLVMGetAsString(what, &length), "nvw_kernel") &&
	       LLVMIsAFunction(f) && is_defined(f) && !is_local(f);
}

unsigned find_kernels(struct device *d, LLVMValueRef **ret_kernels)
{
	LLVMValueRef annotations = LLVMGetNamedGlobal(d->module, "llvm.global.annotations");
	LLVMValueRef list = NULL;
	int all = 0;
	unsigned n = 0;

	if (annotations) {
		list = LLVMGetInitializer(annotations);
		all = LLVMGetNumOperands(list);
	}

	*ret_kernels = calloc((size_t)all + 1, sizeof(LLVMValueRef));
	NVW_FOR(i, all) {
		LLVMValueRef annotation = LLVMGetOperand(list, (unsigned)i);

		if (is_kernel(annotation)) {
			(*ret_kernels)[n++] = without_casts(LLVMGetOperand(annotation, 0));
		}
	}
	return n;
}

static void list_kernels(struct device *d, LLVMValueRef half, uint64_t arch)
{
	LLVMValueRef *kernels;
	const unsigned n = find_kernels(d, &kernels);
	struct table t = {0};

	NVW_FOR(i, n) {
		add_kernel(d, &t, kernels[i], half, arch);
	}
	free(kernels);
	emit_table(&t, d, "nvw_kernels");
}

/* ---- Variables */

static void list_variables(struct device *d, LLVMValueRef half)
{
	LLVMTargetDataRef layout = LLVMGetModuleDataLayout(d->module);
	struct table t = {0};

	FOR_VARIABLES(v, d) {
		if (is_defined(v) && is_in(v, DEVICE_SECTION)) {
			LLVMValueRef columns[] = {LLVMConstNull(d->bytes), pointer_to(d, v),
				text(d, name_of(v)),
				number(d, LLVMABISizeOfType(layout, LLVMGlobalGetValueType(v))), half};

			add_row(&t, d, columns, NVW_COUNT(columns));
		}
	}
	emit_table(&t, d, "nvw_variables");
}

/* ---- Names */

static void rename_to(LLVMValueRef v, const char *name)
{
	LLVMSetValueName2(v, name, strlen(name));
}

static void rename_suffixed(struct device *d, LLVMValueRef v)
{
	char *const name = joined(name_of(v), ".dev");
	if (LLVMIsAGlobalObject(v) && is_defined(v) && LLVMGetComdat(v)) {
		LLVMSetComdat(v, LLVMGetOrInsertComdat(d->module, name));
	}
	rename_to(v, name);
	free(name);
}

/* Makes it this file's own, with a name by which the device halves of other files find it. Whatever else
 * defines that is preferred. */
static void make_own_but(struct device *d, LLVMValueRef v, const char *name)
{
	LLVMValueRef alias = LLVMAddAlias2(d->module, LLVMGlobalGetValueType(v), 0, v, name);

	LLVMSetLinkage(alias, LLVMWeakAnyLinkage);
	make_own(v);
}

/* Defined once, by this file: other kinds of symbols may be defined by several. */
static bool is_plain(LLVMValueRef v)
{
	return is_defined(v) && LLVMGetLinkage(v) == LLVMExternalLinkage && !LLVMGetComdat(v);
}

/* Names of C may be the compiler's, the C library's and the runtime's, so what is called by one is called
 * so everywhere. */
static void name_function(struct device *d, LLVMValueRef f)
{
	const char *const name = name_of(f);
	char *own;

	if (begins(name, "__tsan_")) { /* hooks beside those of host code */
		own = joined("nvw_", name + 2);
		rename_to(f, own);
	} else if (!begins(name, "_Z")) {
		own = joined(name, ".dev");
		if (is_defined(f)) {
			char *const public = joined(name, "");

			rename_to(f, own);
			make_own_but(d, f, public);
			free(public);
		}
	} else {
		own = joined(name, ".dev");
		if (is_plain(f)) {
			make_own_but(d, f, own);
		} else {
			rename_suffixed(d, f);
		}
	}
	free(own);
}

/* What no device half defines: the runtime's, and what the library knows of types. */
static bool is_elsewhere(const char *name)
{
	return begins(name, "nvw_") || begins(name, "_ZT") || begins(name, "__");
}

static void name_variable(struct device *d, LLVMValueRef v)
{
	if (is_in(v, MANAGED_SECTION)) {
		return; /* the host's */
	}
	if (is_plain(v) && is_in(v, SHARED_SECTION)) {
		make_own(v);
	} else if (is_plain(v)) {
		char *const public = joined(name_of(v), ".dev");

		make_own_but(d, v, public);
		free(public);
	} else if (is_defined(v) || !is_elsewhere(name_of(v))) {
		rename_suffixed(d, v);
	}
}

void name_symbols(struct device *d, const char *half, uint64_t arch)
{
	LLVMValueRef name = text(d, half);

	list_kernels(d, name, arch);
	list_variables(d, name);
	for (LLVMValueRef a = LLVMGetFirstGlobalAlias(d->module); a; a = LLVMGetNextGlobalAlias(a)) {
		rename_suffixed(d, a);
	}
	FOR_FUNCTIONS(f, d) {
		if (is_known(f)) {
			name_function(d, f);
		}
	}
	FOR_VARIABLES(v, d) {
		if (is_known(v)) {
			name_variable(d, v);
		}
	}
}
