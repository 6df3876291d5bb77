/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nvwave-device: what nvwave-nvcc does to a device half, in LLVM's bitcode, before clang optimizes it and
 * makes calls of its loads and stores, and behind that.
 *
 *	nvwave-device before IN OUT [-G]		-G: a debugger finds the variables of kernels
 *	nvwave-device behind IN OUT HALF ARCH		HALF names the source file in the tables,
 *							ARCH is __CUDA_ARCH__ / 10
 *
 * Each LLVM reads its own bitcode only, so there is one program for each. Pointers have types in the first
 * ones.
 */

#include <llvm-c/BitReader.h>
#include <llvm-c/BitWriter.h>
#include <llvm/Config/llvm-config.h>

#include "device.h"

static bool read_module(struct device *d, const char *path)
{
	LLVMMemoryBufferRef buffer;
	char *message = NULL;

	if (LLVMCreateMemoryBufferWithContentsOfFile(path, &buffer, &message)) {
		fprintf(stderr, "nvwave-device: %s: %s\n", path, message);
		LLVMDisposeMessage(message);
		return false;
	}
	const bool is_read = !LLVMParseBitcodeInContext2(d->context, buffer, &d->module);

	LLVMDisposeMemoryBuffer(buffer);
#if LLVM_VERSION_MAJOR == 19
	/* Where variables are is said by calls, as in other LLVMs: records do not survive that blocks are
	 * divided. */
	if (is_read) {
		LLVMSetIsNewDbgInfoFormat(d->module, false);
	}
#endif
	return is_read;
}

static bool change(struct device *d, char **arguments)
{
	if (strcmp(arguments[0], "before") == 0) {
		const bool has_variables = arguments[3] != NULL;

		FOR_FUNCTIONS(f, d) {
			if (!has_variables) {
				forget_variables(f);
			}
		}
		place_variables(d);
		define_numbers(d);
		keep_calls_apart(d);
		return translate_ptx(d);
	}
	announce(d);
	make_coroutines(d);
	name_symbols(d, arguments[3], strtoul(arguments[4], NULL, 10));
	return true;
}

int main(int argc, char **argv)
{
	struct device d = {.context = LLVMContextCreate()};
	bool is_done = false;

	if (argc != 6 && (argc < 4 || argc > 5 || strcmp(argv[1], "before") != 0)) {
		fprintf(stderr, "usage: nvwave-device before IN OUT [-G], or behind IN OUT HALF ARCH\n");
		return 2;
	}
	d.builder = LLVMCreateBuilderInContext(d.context);
	d.i64 = LLVMInt64TypeInContext(d.context);
	d.bytes = LLVMPointerType(LLVMInt8TypeInContext(d.context), 0);
	if (read_module(&d, argv[2])) {
		is_done = change(&d, argv + 1) && LLVMWriteBitcodeToFile(d.module, argv[3]) == 0;
		LLVMDisposeModule(d.module);
	}
	LLVMDisposeBuilder(d.builder);
	LLVMContextDispose(d.context);
	return !is_done;
}
