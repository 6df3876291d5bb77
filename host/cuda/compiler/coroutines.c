/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Kernels whose work-items have no stacks. Each kernel K that allows it has a copy, K.lanes, which is a
 * coroutine: it gives way behind the request of an access, with what it still needs in a frame, and goes on
 * when the machine has served it (emu/wavefront/resumable.c).
 *
 *	call __tsan_read4(p); v = load p   ->   if (p is the machine's and the source line known) {
 *	                                                fill in the request; give way; q = its value;
 *	                                        } else {
 *	                                                q = nvw_cuda_lane_read(p, &site, 4, 4);
 *	                                        }
 *	                                        v = load q
 *
 * The function of the runtime says where the access finds its bytes (runtime/lanes.c). LLVM's own passes
 * split the coroutine, in a time that grows with the square of its blocks. An access of what seems a shared
 * variable is not divided. CUDA's atomics and __syncthreads() are divided as accesses are. Whatever else
 * makes a request is a call, which keeps the stack that it is on.
 *
 * A copy is what inlining the kernel into a function with its parameters leaves. That function is marked as
 * the compiler's own, and its instructions have line 0, so reports do not name it.
 */

#include <llvm-c/DebugInfo.h>
#include <llvm-c/Target.h>
#include <llvm-c/Transforms/PassBuilder.h>

#include <llvm/Config/llvm-config.h>

#include "coroutines.h"

/* The first LLVMs prepare a coroutine in one round, and split it in the next; they mark it by another
 * attribute. */
#if LLVM_VERSION_MAJOR < 15
#define SPLIT                                                       \
	"function(coro-early),cgscc(coro-split),cgscc(coro-split)," \
	"function(coro-cleanup,early-cse,jump-threading,simplifycfg)"
#else
#define SPLIT "coro-early,cgscc(coro-split),coro-cleanup,function(early-cse,jump-threading,simplifycfg)"
#endif

enum { LARGE = 1024 /* bytes */ };

/* ---- Coroutines --------------------------------------------------------------------------------- */

/* Those of one place, in a call of the kernel, too: how it is called depends on them. */
static void copy_attributes_at(LLVMValueRef from, LLVMValueRef to, LLVMValueRef call, LLVMAttributeIndex at)
{
	const unsigned n = LLVMGetAttributeCountAtIndex(from, at);
	LLVMAttributeRef *const all = calloc(n + 1, sizeof(LLVMAttributeRef));

	LLVMGetAttributesAtIndex(from, at, all);
	NVW_FOR(i, n) {
		LLVMAddAttributeAtIndex(to, at, all[i]);
		if (call) {
			LLVMAddCallSiteAttribute(call, at, all[i]);
		}
	}
	free(all);
}

static void copy_attributes(LLVMValueRef from, LLVMValueRef to, LLVMValueRef call)
{
	NVW_INVARIANT(LLVMCountParams(from) == LLVMCountParams(to));
	NVW_FOR(i, LLVMCountParams(from)) {
		copy_attributes_at(from, to, call, i + 1);
	}
	copy_attributes_at(from, to, NULL, LLVMAttributeFunctionIndex);
}

static void build_end(struct device *d, struct coroutine *c)
{
	LLVMValueRef arguments[] = {c->frame, LLVMConstNull(word(d, 1)), NULL};
	const unsigned id = LLVMLookupIntrinsicID("llvm.coro.end", strlen("llvm.coro.end"));
	const unsigned n = LLVMCountParamTypes(LLVMIntrinsicGetType(d->context, id, NULL, 0));

	NVW_INVARIANT(n <= NVW_COUNT(arguments)); /* an LLVM that nobody has tried may have more */
	arguments[2] = LLVMConstNull(LLVMTokenTypeInContext(d->context)); /* in later LLVMs */
	LLVMPositionBuilderAtEnd(d->builder, c->end);
	intrinsic(d, "llvm.coro.end", NULL, 0, arguments, n);
	LLVMBuildRetVoid(d->builder);
}

static void mark_coroutine(struct device *d, LLVMValueRef f)
{
	static const char first[] = "coroutine.presplit";

	if (LLVM_VERSION_MAJOR >= 15) {
		mark(d, f, "presplitcoroutine");
		return;
	}
	LLVMAddAttributeAtIndex(f, LLVMAttributeFunctionIndex,
		LLVMCreateStringAttribute(d->context, first, sizeof first - 1, "0", 1));
}

/* Asked without a frame, it says how large that is. The work-item is what LLVM calls a promise: it stands at
 * the frame's beginning. */
static void build_begin(struct device *d, struct coroutine *c)
{
	LLVMValueRef nothing = LLVMConstNull(d->bytes), size;
	LLVMBasicBlockRef asked, begins;

	NVW_INVARIANT(LLVMIsDeclaration(c->function)); /* what begins it is its first block */
	LLVMPositionBuilderAtEnd(d->builder, block(d, c));
	asked = block(d, c);
	begins = block(d, c);
	LLVMValueRef me = LLVMBuildAlloca(d->builder, d->bytes, "");
	LLVMValueRef id_arguments[] = {
		LLVMConstInt(word(d, 32), 16, false), as_bytes(d, me), nothing, nothing};
	LLVMValueRef id = intrinsic(d, "llvm.coro.id", NULL, 0, id_arguments, 4);
	LLVMValueRef memory =
		LLVMBuildLoad2(d->builder, d->bytes, variable(d, "nvw_cuda_lane_frame", d->bytes), "");

	size = intrinsic(d, "llvm.coro.size", &d->i64, 1, NULL, 0);
	LLVMBuildCondBr(d->builder, LLVMBuildIsNull(d->builder, memory, ""), asked, begins);
	LLVMPositionBuilderAtEnd(d->builder, asked);
	LLVMBuildStore(d->builder, size, variable(d, "nvw_cuda_lane_frame_bytes", d->i64));
	LLVMBuildRetVoid(d->builder);
	LLVMPositionBuilderAtEnd(d->builder, begins);
	c->frame = intrinsic(d, "llvm.coro.begin", NULL, 0, (LLVMValueRef[]){id, memory}, 2);
	c->end = block(d, c);
	LLVMBuildStore(d->builder,
		LLVMBuildLoad2(d->builder, d->bytes, variable(d, "nvw_cuda_now", d->bytes), ""), me);
	give_way(d, c);
}

static LLVMMetadataRef describe(LLVMDIBuilderRef describer, LLVMMetadataRef file, LLVMValueRef f)
{
	const char *const name = name_of(f);
	LLVMMetadataRef type = LLVMDIBuilderCreateSubroutineType(describer, file, NULL, 0, LLVMDIFlagZero);
	LLVMMetadataRef scope = LLVMDIBuilderCreateFunction(describer, file, name, strlen(name), "", 0, file,
		0, type, true, true, 0, LLVMDIFlagArtificial, true);

	LLVMSetSubprogram(f, scope);
	return scope;
}

/* Structures that are passed by value go to the frame word by word, for which large ones are too slow to
 * compile. */
static bool passes_large(struct device *d, LLVMValueRef kernel)
{
	LLVMTargetDataRef layout = LLVMGetModuleDataLayout(d->module);

	NVW_FOR(i, LLVMCountParams(kernel)) {
		LLVMAttributeRef byval = LLVMGetEnumAttributeAtIndex(kernel, i + 1, attribute_kind("byval"));

		if (byval && LLVMABISizeOfType(layout, LLVMGetTypeAttributeValue(byval)) > LARGE) {
			return true;
		}
	}
	return false;
}

/* Arrays of variable size are nothing that a frame can have. */
static bool has_arrays(LLVMValueRef kernel)
{
	FOR_INSTRUCTIONS(i, kernel) {
		if (LLVMIsAAllocaInst(i) && !LLVMIsConstant(LLVMGetOperand(i, 0))) {
			return true;
		}
	}
	return false;
}

static struct coroutine copy_of(
	struct device *d, LLVMValueRef kernel, LLVMDIBuilderRef describer, LLVMMetadataRef file)
{
	char *const name = joined(name_of(kernel), LANES);
	LLVMTypeRef type = LLVMGlobalGetValueType(kernel);
	struct coroutine c = {.function = LLVMAddFunction(d->module, name, type)};

	free(name);
	NVW_INVARIANT(!LLVMIsDeclaration(kernel)); /* its body is inlined */
	c.scope = describe(describer, file, c.function);
	stand_aside(d, &c, NULL);
	build_begin(d, &c);

	const unsigned n = LLVMCountParams(kernel);
	LLVMValueRef *const arguments = calloc(n + 1, sizeof(LLVMValueRef));

	LLVMGetParams(c.function, arguments);
	LLVMValueRef body = LLVMBuildCall2(d->builder, type, kernel, arguments, n, "");

	free(arguments);
	copy_attributes(kernel, c.function, body);
	mark_coroutine(d, c.function);
	mark_call(d, body, "alwaysinline");
	call(d, "nvw_cuda_lane_returns", LLVMVoidTypeInContext(d->context), NULL, 0);
	LLVMBuildBr(d->builder, c.end);
	build_end(d, &c);
	return c;
}

/* ---- The module --------------------------------------------------------------------------------- */

/* A call is one place: the passes do not make two of it. */
static void keep_single(struct device *d)
{
	FOR_FUNCTIONS(f, d) {
		if (LLVMIsDeclaration(f) && !LLVMGetIntrinsicID(f)) {
			mark(d, f, "convergent");
		}
	}
}

static void run_passes(struct device *d, const char *passes)
{
	LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
	LLVMErrorRef error = LLVMRunPasses(d->module, passes, NULL, options);

	if (error) {
		fprintf(stderr, "nvwave-device: %s: %s\n", passes, LLVMGetErrorMessage(error));
		exit(1);
	}
	LLVMDisposePassBuilderOptions(options);
}

/* Without attributes that keep a kernel of an unoptimized program from being inlined. */
static void allow_copies(LLVMValueRef kernel)
{
	static const char *const kept[] = {"noinline", "optnone"};

	NVW_FOR(i, NVW_COUNT(kept)) {
		LLVMRemoveEnumAttributeAtIndex(kernel, LLVMAttributeFunctionIndex, attribute_kind(kept[i]));
	}
}

/* A unit of its own, since LLVM's C interface knows no other way to describe a function. */
static LLVMMetadataRef begin_unit(LLVMDIBuilderRef describer, LLVMValueRef kernel)
{
	LLVMMetadataRef described = LLVMGetSubprogram(kernel), file;

	if (described) {
		file = LLVMDIScopeGetFile(described);
	} else {
		file = LLVMDIBuilderCreateFile(describer, "?", 1, "", 0);
	}
	LLVMDIBuilderCreateCompileUnit(describer, LLVMDWARFSourceLanguageC99, file, "nvwave", 6, true, "", 0,
		0, "", 0, LLVMDWARFEmissionFull, 0, false, false, "", 0, "", 0);
	return file;
}

static unsigned copy_kernels(
	struct device *d, LLVMValueRef *kernels, unsigned count, struct coroutine *ret_copies)
{
	LLVMDIBuilderRef describer = LLVMCreateDIBuilder(d->module);
	LLVMMetadataRef file = begin_unit(describer, kernels[0]);
	unsigned copies = 0;

	NVW_FOR(i, count) {
		if (!passes_large(d, kernels[i]) && !has_arrays(kernels[i])) {
			allow_copies(kernels[i]);
			ret_copies[copies++] = copy_of(d, kernels[i], describer, file);
		}
	}
	LLVMDIBuilderFinalize(describer);
	LLVMDisposeDIBuilder(describer);
	run_passes(d, "always-inline");
	return copies;
}

void forget_variables(LLVMValueRef f)
{
	FOR_INSTRUCTIONS(i, f) {
		if (called_by(i) && begins(name_of(called_by(i)), "llvm.dbg.")) {
			LLVMInstructionEraseFromParent(i);
		}
	}
}

static unsigned find_divided(struct device *d, LLVMValueRef f, LLVMValueRef *ret_calls)
{
	unsigned n = 0;

	FOR_INSTRUCTIONS(i, f) {
		if (division_of(d, i)) {
			if (ret_calls) {
				ret_calls[n] = i;
			}
			n++;
		}
	}
	return n;
}

/* Each call has a word of its own for its source line. */
static void divide_calls(struct device *d, struct coroutine *c)
{
	const unsigned n = find_divided(d, c->function, NULL);
	LLVMValueRef *const calls = calloc(n + 1, sizeof(LLVMValueRef));
	LLVMTypeRef cells = LLVMArrayType(d->bytes, n);
	LLVMValueRef sites = LLVMAddGlobal(d->module, cells, "");

	LLVMSetInitializer(sites, LLVMConstNull(cells));
	LLVMSetLinkage(sites, LLVMPrivateLinkage);
	const unsigned found = find_divided(d, c->function, calls);

	NVW_INVARIANT(found == n);
	NVW_FOR(i, n) {
		LLVMValueRef at[] = {number(d, 0), number(d, i)};

		division_of(d, calls[i])(d, c, calls[i], LLVMConstInBoundsGEP2(cells, sites, at, 2));
	}
	free(calls);
}

void make_coroutines(struct device *d)
{
	LLVMValueRef *kernels;
	const unsigned count = find_kernels(d, &kernels);

	if (count) {
		struct coroutine *const copies = calloc(count, sizeof *copies);
		const unsigned made = copy_kernels(d, kernels, count, copies);

		NVW_FOR(i, made) {
			forget_variables(copies[i].function);
			divide_calls(d, &copies[i]);
		}
		keep_single(d);
		run_passes(d, SPLIT);
		NVW_FOR(i, made) {
			finish_copy(d, copies[i].function);
		}
		free(copies);
	}
	free(kernels);
}
