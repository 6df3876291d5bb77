/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mistakes in CUDA programs are told with their lines, of kernels (bad.cu) with and without the machine;
 * what is not supported and what cannot be compiled is named. Without clang every test says that it is left
 * out.
 */
#include "nvcc.h"

/* ---- In kernels ---------------------------------------------------------------------------------- */

static void assert_mistake(const char *mode, const char *message, const char *error)
{
	succeeds("./bad %s", mode);
	assert_output_has(message, error);
}

TEST(mistakes_in_kernels_are_told_with_their_lines)
{
	NEEDS_CLANG();
	build_once("-O1", "bad", SOURCE("bad.cu"));
	assert_mistake("behind",
		"bad.cu:8 (behind): kernel behind, block (0,0,0), thread (28,0,0): writes to ",
		"cudaErrorIllegalAddress\ncudaErrorIllegalAddress\n");
	assert_output_has("112 bytes behind the end of the allocation of 400 bytes");
	assert_mistake("wild", "bad.cu:8 (behind): kernel behind, block (0,0,0), thread (0,0,0): writes to ",
		": a null pointer\ncudaErrorIllegalAddress");
	assert_mistake("far", ": no allocation is within 1 MiB of it\n", "cudaErrorIllegalAddress");
	assert_mistake("null", "bad.cu:48 (null): kernel null, block (0,0,0), thread (0,0,0): writes to ",
		": a null pointer\ncudaErrorIllegalAddress");
	assert_mistake("frame", "its stack of 262144 bytes has overflowed", "cudaErrorLaunchFailure");
	assert_mistake("deep",
		"(recurse): kernel deep, block (0,0,0), thread (0,0,0): its stack of 262144 bytes has "
		"overflowed",
		"cudaErrorLaunchFailure");
	assert_mistake("asserts",
		"bad.cu:17: void asserts(int *): block: [0,0,0], thread: [0,0,0] Assertion `*p == 1` failed.",
		"cudaErrorAssert");
	assert_mistake("stuck", "bad.cu:22",
		"waits for the barrier of its block, which never come: the kernel is stuck");
	assert_mistake("mask", "lane 4 is not in its own mask 0xf", "cudaErrorLaunchFailure");
	assert_mistake("endless",
		"(call): kernel endless, block (0,0,0), thread (0,0,0): its stack of 262144 bytes",
		"cudaErrorLaunchFailure");
	assert_mistake("divide",
		"bad.cu:47 (divide): kernel divide, block (0,0,0), thread (0,0,0): divides by zero",
		"cudaErrorLaunchFailure");
	assert_mistake("misaligned",
		"bad.cu:8 (behind): kernel behind, block (0,0,0), thread (0,0,0): accesses 0x",
		"which is not aligned to the size of the access\ncudaErrorMisalignedAddress");
	assert_mistake("shared", "accesses byte 67 of its dynamic shared memory; the launch gave it 64 bytes",
		"cudaErrorIllegalAddress");
	succeeds("strip -o stripped bad && ./stripped wild");
	assert_output_has("nvwave: kernel behind, block (0,0,0), thread (0,0,0): writes to ",
		"(no line is known: the program has no debug information here)");
	assert_mistake("none", "cudaSuccess\ncudaSuccess\n", "");
}

TEST(mistakes_on_the_machine_are_told_too)
{
	NEEDS_MACHINE();
	build_once("-O1", "bad", SOURCE("bad.cu"));
	succeeds("$NVWAVE exec --protocol=vi --report=report -- ./bad wild");
	assert_output_has("bad.cu:8 (behind): kernel behind, block (0,0,0), thread (0,0,0): writes to ",
		": a null pointer", "cudaErrorIllegalAddress\n");
	succeeds("$NVWAVE exec --protocol=vi --report=report -- ./bad far");
	assert_output_has(": no allocation is within 1 MiB of it\n");
	succeeds("$NVWAVE exec --protocol=vi --report=report -- ./bad behind");
	assert_output_has("112 bytes behind the end of the allocation of 400 bytes");
	succeeds("$NVWAVE exec --protocol=vi --report=report -- ./bad deep");
	assert_output_has(
		"(recurse): kernel deep, block (0,0,0), thread (0,0,0): its stack of 131072 bytes has "
		"overflowed; use less stack, or --set host.stack=");
	succeeds("$NVWAVE exec --protocol=vi --report=report -- ./bad endless");
	assert_output_has("(call): kernel endless, block (0,0,0), thread (0,0,0): its stack of 131072 bytes",
		"cudaErrorLaunchFailure");
	succeeds("$NVWAVE exec --protocol=vi --report=report -- ./bad divide");
	assert_output_has("kernel divide, block (0,0,0), thread (0,0,0): divides by zero");
	succeeds("$NVWAVE exec --protocol=vi --report=report -- ./bad mask");
	assert_output_has("lane 4 is not in its own mask 0xf");
	exits(2, "$NVWAVE exec --protocol=vi -- true");
	assert_output_has("--protocol: the program ran no kernels on the machine");
	assert_output_lacks("pmem."); /* nothing was counted, so no line of zeros */
	exits(1, "$NVWAVE exec --protocol=vi --report=report -- ./bad host");
	assert_output_has("bad.cu:74 (main): host code reads from device memory",
		"note: no report on kernels: ./bad ended by signal 11");
	assert_true(strstr(output, "ran no kernels") == NULL);
}

TEST(a_stack_that_becomes_too_deep_between_two_accesses_is_told)
{
	static const struct {
		const char *mode, *where;
		unsigned fits; /* by themselves more */
	} modes[] = {{"recursion", "deep.cu:14 (descend): kernel recursion", 300},
		{"allocation", "deep.cu:18 (variable): kernel allocation", 90000},
		{"frame", "(frame): kernel frame, block (0,0,0), thread (0,0,0)", 0}};

	NEEDS_MACHINE();
	NVW_FOR(i, 2 * sizeof modes / sizeof *modes) {
		const unsigned mode = i % (sizeof modes / sizeof *modes), fits = modes[mode].fits;

		if (mode == 0) {
			build(i ? "-O0" : "-O2", "deep", SOURCE("deep.cu"));
		}
		if (fits) {
			succeeds("./deep %s %u", modes[mode].mode, 2 * fits);
			assert_string_equal(output, "cudaSuccess 1\n");
			succeeds("$NVWAVE exec --protocol=vi --report=report -- ./deep %s %u",
				modes[mode].mode, fits);
			assert_string_equal(output, "cudaSuccess 1\n");
			succeeds(
				"$NVWAVE exec --protocol=vi --set host.stack=1M --report=report -- ./deep %s "
				"%u",
				modes[mode].mode, 5 * fits);
			assert_string_equal(output, "cudaSuccess 1\n");
		}
		succeeds("./deep %s %u", modes[mode].mode, 5 * fits);
		assert_output_has(modes[mode].where,
			"its stack of 262144 bytes has overflowed\ncudaErrorLaunchFailure 0\n");
		succeeds("$NVWAVE exec --protocol=vi --report=report -- ./deep %s %u", modes[mode].mode,
			2 * fits);
		assert_output_has(modes[mode].where,
			"its stack of 131072 bytes has overflowed; use less stack, or --set host.stack=");
	}
}

TEST(a_mistake_is_told_right_while_another_thread_allocates)
{
	NEEDS_CLANG();
	build_once("-O1", "memory", SOURCE("memory.cu"));
	succeeds("./memory beside 2>told; grep -c 'memory.cu:14 (store): kernel store' told");
	assert_string_equal(output, "20\n");
	exits(1, "grep -v ': 0 bytes behind the end of the allocation of 256 bytes at ' told");
}

TEST(host_code_that_reads_device_memory_is_told)
{
	NEEDS_CLANG();
	build_once("-O1", "bad", SOURCE("bad.cu"));
	assert_int_not_equal(run("./bad host"), 0);
	assert_output_has("bad.cu:74 (main): host code reads from device memory at ",
		"(byte 0 of the allocation of 400 bytes");
	assert_int_not_equal(run("./bad copy"), 0);
	assert_output_has("bad.cu:76 (main): host code writes to device memory at ");
}

/* ---- To the compilers ---------------------------------------------------------------------------- */

TEST(what_is_not_supported_is_named)
{
	NEEDS_CLANG();
	exits(1, NVCC " -c %s", SOURCE("refused.cu"));
	assert_output_has(("refused.cu:5:40: error: use of undeclared identifier 'tex2D': nvwave does not "
			   "support textures\n"),
		("refused.cu:7:11: error: unknown type name 'cudaGraphicsResource': nvwave does not support "
		 "graphics\n"),
		"refused.cu:8:11: error: unknown type name 'cudaGraph_t': nvwave does not support graphs\n",
		"refused.cu:3:1: error: no template named 'texture': nvwave does not support textures\n",
		"refused.cu:13:55: error: 'fragment' is unavailable: nvwave does not support tensor cores",
		"refused.cu:15:8: error: 'load_matrix_sync<",
		("refused.cu:16:9: error: use of undeclared identifier 'tex1Dfetch': nvwave does not "
		 "support textures\n"),
		("refused.cu:18:2: error: use of undeclared identifier 'surf2Dwrite': nvwave does "
		 "not support surfaces\n"),
		("refused.cu:20:13: error: unknown type name 'CUmodule': nvwave does not support the "
		 "driver interface\n"),
		"refused.cu:21:10: error: unknown type name 'CUstomers'\n", /* nor is it the driver's */
		"error: unknown type name 'CUdeviceless'\n");
	exits(1, "echo 'int f() { return cuInit(0); }' >driver.cpp; " NVCC " -c driver.cpp");
	assert_output_has(
		"driver.cpp:1:18: error: use of undeclared identifier 'cuInit': nvwave does not support "
		"the driver interface\n");
	exits(1, "printf '#if __CUDA_ARCH__ == 520\n#error an old one\n#endif\n"
		 "__global__ void k(float *p) { asm(\"neg.f32 %%%%0, %%%%0;\" : \"+f\"(*p)); }\n' "
		 ">old.cu; " NVCC " -c old.cu");
	assert_output_has(
		"old.cu:2:2: error: an old one"); /* also where registers are renamed for this processor */
	exits(1, "printf 'int x = y;\\n#include <cublas_v2.h>\\n' >library.cu; " NVCC " -c library.cu");
	assert_output_has("library.cu:1:9: error:",
		"'cublas_v2.h' file not found: nvwave does not support the libraries of the SDK\n");
	exits(1, NVCC " -c %s", SOURCE("refused_launch.cu"));
	assert_output_has(
		"refused_launch.cu:6:2: error: reference to __global__ function 'child' in __global__ "
		"function: "
		"nvwave does not support dynamic parallelism\n");
	exits(2, NVCC " -ptx %s", SOURCE("weak.cu"));
	assert_output_has("nvwave-nvcc: -ptx: not supported");
	exits(2, NVCC " -lcublas %s", SOURCE("weak.cu"));
	assert_output_has("nvwave-nvcc: -lcublas: this library of the SDK is not supported");
	exits(2, NVCC " --nonsense %s", SOURCE("weak.cu"));
	assert_output_has("nvwave-nvcc: --nonsense: this option is not known");
	exits(2, NVCC " missing.cu");
	assert_output_has("nvwave-nvcc: missing.cu: there is no such file");
}

TEST(inline_ptx_that_is_not_supported_is_named_with_its_line)
{
	NEEDS_CLANG();
	exits(1, NVCC " -c %s", SOURCE("refused_ptx.cu"));
	assert_output_has(
		"refused_ptx.cu:7:2: error: inline PTX: nvwave does not support tex.2d.v4.f32.f32\n",
		("refused_ptx.cu:8:2: error: inline PTX: nvwave does not support "
		 "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32\n"),
		"refused_ptx.cu:9:2: error: inline PTX: nvwave does not support branches backwards: bra L\n",
		"refused_ptx.cu:10:2: error: inline PTX: the register %pm0 is not supported\n",
		"refused_ptx.cu:11:2: error: inline PTX: nvwave does not support fence.proxy.async\n",
		("refused_ptx.cu:12:2: error: inline PTX: a branch to AWAY, which is not in this asm "
		 "statement\n"),
		("refused_ptx.cu:13:2: error: inline PTX: nvwave does not support bar.sync of other "
		 "barriers than 0, or of a part of the block\n"),
		"refused_ptx.cu:14:2: error: inline PTX: nvwave does not support redux.sync.add.b32\n");
}

TEST(what_hip_has_and_we_do_not_is_named)
{
	NEEDS_CLANG();
	exits(1, "printf '#include <hip/hip_runtime.h>\nint main() {\nhipModuleLoad(0, \"k\"); }\n' "
		 ">m.cpp; " HIPCC " -c m.cpp");
	assert_output_has(
		"m.cpp:3:1: error: use of undeclared identifier 'hipModuleLoad': nvwave does not support "
		"modules that are loaded\n");
	exits(2, HIPCC " -mwavefrontsize64 -c m.cpp");
	assert_output_has("nvwave-hipcc: -mwavefrontsize64: not supported: warps have 32 lanes");
	exits(2, HIPCC " -c m.cpp -lrocblas");
	assert_output_has("nvwave-hipcc: -lrocblas: this library of the SDK is not supported");
}

TEST(what_cannot_be_compiled_or_written_is_told_before)
{
	static const struct {
		const char *arguments, *message;
	} wrong[] = {{"-o none/x weak.cu", "-o none/x: there is no folder none"},
		{"-c -o none/x.o weak.cu", "-o none/x.o: there is no folder none"},
		{"-o . weak.cu", "-o .: this is a folder"},
		{"weak.cu weak.cu", "weak.cu: this source is given twice"},
		{"folder.cu", "folder.cu: expected a file, found a folder"},
		{"-O9 weak.cu", "-O9: expected -O0 to -O3"},
		{"-x java weak.cu", "-x java: expected cu, hip, c++ or c"},
		{"weak.cu -I", "-I: expected a value behind it"},
		{"weak.cu -o", "-o: expected a value behind it"}};

	NEEDS_CLANG();
	run("mkdir -p folder.cu; cp %s .", SOURCE("weak.cu"));
	for_each(one, wrong) {
		exits(2, NVCC " %s", one->arguments);
		assert_output_has(one->message);
	}
	exits(2, "TMPDIR=/nonexistent " NVCC " -c weak.cu");
	assert_output_has("/nonexistent: no folder for temporary files can be made here (TMPDIR)");
	run("rmdir folder.cu");
}

TEST(what_is_no_architecture_is_refused)
{
	static const char *const right[] = {NVCC
		" -arch=sm_90a -arch compute_80 -arch=native -arch=all-major -arch=lto_80 -arch=sm_37 "
		"-gencode code=sm_75,arch=compute_75 -arch=compute_70 -code=sm_70,compute_70 "
		"-gencode 'arch=compute_70,code=[sm_70,compute_70]' "
		"-gencode=arch=compute_120f,code=\\\"sm_120f,lto_120\\\"",
		HIPCC " --offload-arch=gfx90a:xnack- --offload-arch=gfx906:sramecc+:xnack+,gfx1030 "
		      "--offload-arch=gfx9-4-generic --amdgpu-target=native --offload-arch=sm_70"};
	static const struct {
		const char *command, *message;
	} wrong[] = {{NVCC " -arch=kepler", "-arch=kepler: expected sm_NN, compute_NN, lto_NN, native, "},
		{NVCC " -arch sm_700", "-arch=sm_700: there is no architecture of this number"},
		{NVCC " -arch=xsm_70", "found xsm_70"}, {NVCC " -code=sm_70,sm_7", "found sm_7\n"},
		{NVCC " -gencode arch=compute_70,code=all_of_them", "found all_of_them"},
		{NVCC " -gencode=arch=volta,code=sm_70", "found volta"},
		{NVCC " -gencode code=sm_70", "-gencode=code=sm_70: expected arch=compute_NN,code=sm_NN"},
		{NVCC " --generate-code=sm_70", "found no arch="},
		{NVCC " -arch=sm_71", "-arch=sm_71: there is no architecture sm_71"},
		{NVCC " -gencode arch=compute_70,code=sm_70a", "there is no architecture sm_70a"},
		{HIPCC " --offload-arch=foo", "--offload-arch=foo: expected an architecture (gfx90a, "},
		{HIPCC " --offload-arch=gfx906,gfx9", "found gfx9\n"},
		{HIPCC " --offload-arch=gfx90a:fast+", "found gfx90a:fast+"},
		{HIPCC " --amdgpu-target=", "--amdgpu-target=: expected an architecture"}};

	NEEDS_CLANG();
	run("echo 'int main() { return 0; }' >empty.cu");
	for_each(row, right) {
		succeeds("%s -M empty.cu", *row);
	}
	for_each(one, wrong) {
		exits(2, "%s -M empty.cu", one->command);
		assert_output_has(one->message);
	}
}

/* Also when the compiler that runs beside the script lives on. */
TEST(an_interrupted_compilation_leaves_nothing)
{
	NEEDS_CLANG();
	exits(143,
		"mkdir left; { TMPDIR=$PWD/left " NVCC
		" -c %s & } ; sleep 0.4; kill -TERM $!; wait $!; s=$?; ls left; rmdir left; "
		"exit $s",
		SOURCE("semantics.cu"));
	assert_string_equal(output, "");
}

TEST(a_missing_clang_is_told)
{
	exits(2, "NVWAVE_CLANG=/nonexistent/clang++ " NVCC " %s", SOURCE("weak.cu"));
	assert_string_equal(
		output, "nvwave-nvcc: NVWAVE_CLANG=/nonexistent/clang++: there is no such program\n");
	exits(2, "NVWAVE_CLANG=true " NVCC " %s", SOURCE("weak.cu"));
	assert_string_equal(output, "nvwave-nvcc: NVWAVE_CLANG=true: expected clang++\n");
	exits(2,
		"printf '#!/bin/sh\necho 99.0 clang\n' >clang99; chmod +x clang99; "
		"NVWAVE_CLANG=./clang99 " NVCC " %s",
		SOURCE("weak.cu"));
	assert_string_equal(output,
		"nvwave-nvcc: ./clang99 is clang 99, and nvwave was built without LLVM 99: install "
		"llvm-99-dev and build nvwave again, or name another clang in NVWAVE_CLANG\n");
}
