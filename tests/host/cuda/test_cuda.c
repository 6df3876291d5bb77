/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CUDA sources through nvwave-nvcc: programs that check themselves (semantics.cu), mistakes (bad.cu),
 * options. Without clang every test says that it is left out.
 */
#include "nvcc.h"

/*
 * ---- What CUDA programs rely on
 * ----------------------------------------------------------------------------
 */

static void assert_all_hold(void)
{
	const int status = run("./semantics");

	assert_output_has("all hold");
	assert_output_has("lane 1 of block 0 says  0.50");
	assert_int_equal(status, 0);
}

static void cuda_programs_do_what_cuda_says_without_optimization(void **state)
{
	NEEDS_CLANG();
	build("-O0 -g -G -std=c++14", "semantics", SOURCE("semantics.cu") " " SOURCE("parts.cu"));
	assert_all_hold();
}

static void files_are_compiled_one_by_one_as_makefiles_do(void **state)
{
	NEEDS_CLANG();
	skip_if_sanitized();
	build("-O3 -std=c++20 -rdc=true -gencode arch=compute_70,code=sm_70 "
	      "-gencode=arch=compute_60,code=sm_60 -Xcompiler -Wall,-O2 "
	      "-Xptxas -v --expt-relaxed-constexpr -lineinfo -DNAME='\"a b\"' -dc",
		"semantics.o", SOURCE("semantics.cu"));
	build("-O3 --use_fast_math -maxrregcount=32 -x cu -I. -c", "parts.o", SOURCE("parts.cu"));
	build("-rdc=true", "semantics", "semantics.o parts.o -lcudart -lcuda -lm -L/usr/lib");
	assert_all_hold();
}

/* Those of GPM's makefiles control hardware; nvcc has options in the environment, too. */
static void options_of_makefiles_are_taken(void **state)
{
	NEEDS_CLANG();
	assert_int_equal(
		run("printf '#include \"own.h\"\nint main() { return OWN + BEFORE + BEHIND; }\n' >env.cu; "
		    "mkdir -p own_first own_second; echo '#define OWN 1' >own_first/own.h; echo '#define "
		    "OWN 100' >own_second/own.h; "
		    "NVCC_PREPEND_FLAGS=\"-Iown_first -DBEFORE='1 * 2'\" NVCC_APPEND_FLAGS=-DBEHIND=4 " NVCC
		    " -Iown_second -w -o env env.cu -lnvidia-ml -lpci -lpthread && ./env"),
		7);
	assert_string_equal(output, "");
	assert_int_equal(
		run("echo 'int twice(x) int x; { int *class = &x; return 2 * *class; }' >old.c; "
		    "echo 'extern \"C\" int twice(int); int main() { return twice(4); }' >new.cu; " NVCC
		    " -w -o old new.cu old.c && ./old"),
		8);
}

/*
 * ---- Inline PTX
 * ---------------------------------------------------------------------------------------------------
 */

static void inline_ptx_does_what_it_says(void **state)
{
	NEEDS_CLANG();
	skip_if_sanitized();
	build("-O1", "ptx", SOURCE("ptx.cu"));
	assert_int_equal(run("./ptx"), 0);
	assert_string_equal(output, "all hold\n");
#ifndef __SANITIZE_ADDRESS__
	assert_int_equal(run("%s exec --protocol=gh --check=races --report=report -- ./ptx", nvwave), 0);
	assert_output_has("all hold\n");
	assert_int_equal(run("cat report"), 0);
	assert_output_has("no races");
#endif
}

static void inline_ptx_that_is_not_supported_is_named_with_its_line(void **state)
{
	NEEDS_CLANG();
	assert_int_equal(run(NVCC " -c %s", SOURCE("refused_ptx.cu")), 1);
	assert_output_has(
		"refused_ptx.cu:7:2: error: inline PTX: nvwave does not support tex.2d.v4.f32.f32\n");
	assert_output_has("refused_ptx.cu:8:2: error: inline PTX: nvwave does not support "
			  "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32\n");
	assert_output_has(
		"refused_ptx.cu:9:2: error: inline PTX: nvwave does not support branches backwards: bra L\n");
	assert_output_has("refused_ptx.cu:10:2: error: inline PTX: the register %pm0 is not supported\n");
	assert_output_has(
		"refused_ptx.cu:11:2: error: inline PTX: nvwave does not support fence.proxy.async\n");
	assert_output_has(
		"refused_ptx.cu:12:2: error: inline PTX: a branch to AWAY, which is not in this asm "
		"statement\n");
	assert_output_has("refused_ptx.cu:13:2: error: inline PTX: nvwave does not support bar.sync of other "
			  "barriers than 0, or of a part of the block\n");
	assert_output_has(
		"refused_ptx.cu:14:2: error: inline PTX: nvwave does not support redux.sync.add.b32\n");
}

/*
 * ---- Libraries and compilers
 * -------------------------------------------------------------------------------------
 */

static void atomics_of_libcuxx_functions_of_cub_and_numbers_of_curand_are_right(void **state)
{
	NEEDS_CLANG();
	skip_if_sanitized();
	if (access("/usr/include/cuda/atomic", R_OK) || access("/usr/include/cub/cub.cuh", R_OK) ||
		access("/usr/include/thrust/version.h", R_OK)) { /* which cub includes */
		skip_test("there is no libcu++ or no cub (libcu++-dev, libcub-dev, libthrust-dev)");
	}
	build("-O1 -arch=sm_70", "libraries", SOURCE("libraries.cu"));
	assert_int_equal(run("./libraries"), 0);
	assert_string_equal(output, "right\n");
	assert_int_equal(
		run("%s exec --protocol=gh --check=races --report=report -- ./libraries && cat report",
			nvwave),
		0);
	assert_output_has("right\n");
	assert_output_has("no races");
}

static void algorithms_of_thrust_are_right(void **state)
{
	NEEDS_CLANG();
	skip_if_sanitized();
	if (access("/usr/include/thrust/device_vector.h", R_OK)) {
		skip_test("there is no thrust (libthrust-dev)");
	}
	build("-O1", "thrust", SOURCE("thrust.cu"));
	assert_int_equal(run("./thrust"), 0);
	assert_string_equal(output, "9900 39204 1313400\n");
}

static void other_compilers_do_the_same(void **state)
{
	static const char *const compilers[] = {"clang++-16", "clang++-19"};
	unsigned found = 0;

	NEEDS_CLANG();
	skip_if_sanitized();
	for (unsigned i = 0; i < sizeof compilers / sizeof *compilers; i++) {
		if (run("command -v %s", compilers[i]) == 0) {
			found++;
			assert_int_equal(run("NVWAVE_CLANG=%s " NVCC
					     " -O2 -std=c++20 -o by_other " SOURCE("ptx.cu") " && ./by_other",
						 compilers[i]),
				0);
			assert_output_has("all hold\n");
		}
	}
	if (!found) {
		skip_test("there is neither clang++-16 nor clang++-19");
	}
}

/*
 * ---- HIP
 * ----------------------------------------------------------------------------------------------------------
 */

static void hip_programs_are_compiled_and_right(void **state)
{
	static const char *const names[] = {"vector_add", "reduction", "histogram"};

	NEEDS_CLANG();
	skip_if_sanitized();
	for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
		if (run(HIPCC " -O2 --offload-arch=gfx90a -o hip_%s " CUDA_EXAMPLES
			      "/hip/%s.cpp -lamdhip64 && ./hip_%s",
			    names[i], names[i], names[i])) {
			print_error("%s\n", output);
			fail();
		}
		assert_string_equal(output, "right\n");
	}
}

static void hip_s_atomics_sleep_and_tiles_are_there(void **state)
{
	NEEDS_CLANG();
	if (run(HIPCC " -O2 -o amd %s && ./amd", SOURCE("amd.cpp"))) {
		print_error("%s\n", output);
		fail();
	}
	assert_string_equal(output, "right\n");
}

static void what_hip_has_and_we_do_not_is_named(void **state)
{
	NEEDS_CLANG();
	assert_int_equal(
		run("printf '#include <hip/hip_runtime.h>\nint main() {\nhipModuleLoad(0, \"k\"); }\n' "
		    ">m.cpp; " HIPCC " -c m.cpp"),
		1);
	assert_output_has("m.cpp:3:1: error: 'hipModuleLoad");
	assert_output_has("nvwave does not support modules that are loaded");
	assert_int_equal(run(HIPCC " -mwavefrontsize64 -c m.cpp"), 2);
	assert_output_has("nvwave-hipcc: -mwavefrontsize64: not supported: warps have 32 lanes");
	assert_int_equal(run(HIPCC " -c m.cpp -lrocblas"), 2);
	assert_output_has("nvwave-hipcc: -lrocblas: this library of the SDK is not supported");
}

/*
 * ---- The language
 * -------------------------------------------------------------------------------------------------
 */

static void programs_have_the_language_and_the_host_s_functions(void **state)
{
	NEEDS_CLANG();
	skip_if_sanitized();
	build("-O2 -std=c++17 --extended-lambda", "language", SOURCE("language.cu"));
	assert_int_equal(run("./language"), 0);
	assert_string_equal(output, "nvwave with 16 multiprocessors\nall hold\n");
}

static void the_device_is_the_machine(void **state)
{
	NEEDS_MACHINE();
	build_once("-O2 -std=c++17 --extended-lambda", "language", SOURCE("language.cu"));
	assert_int_equal(
		run("%s exec --machine=gope18 --set gpu.cus=12 --protocol=hlrc --report=report -- ./language",
			nvwave),
		0);
	assert_string_equal(output, "nvwave gope18 with 12 multiprocessors\nall hold\n");
}

/*
 * ---- The two halves
 * --------------------------------------------------------------------------------------------
 */

static void functions_for_both_sides_are_two_functions(void **state)
{
	NEEDS_CLANG();
	build("-O0", "weak", SOURCE("weak.cu"));
	assert_int_equal(run("./weak"), 0);
	assert_string_equal(output, "device 1000 host 2\n");
}

/* The same with a wrapper that gives both the same names: the test above would notice. */
static void a_build_that_merges_them_is_noticed(void **state)
{
	NEEDS_CLANG();
	assert_int_equal(run("mkdir -p planted cc && cp -rL " NVCC " $(dirname " NVCC
			     ")/[dsbfl]*.[saw]* $(dirname " NVCC ")/include planted && cp $(dirname " NVCC
			     ")/../cc/as $(dirname " NVCC ")/../cc/libnvwave-cc.a cc"),
		0);
	assert_int_equal(run("sed -i 's/: \"\\.dev\")/: \"\")/' planted/symbols.awk && grep -q ': \"\")' "
			     "planted/symbols.awk"),
		0);
	assert_int_equal(run("planted/nvwave-nvcc -O0 -o merged " SOURCE("weak.cu") " && ./merged"), 0);
	assert_string_not_equal(output, "device 1000 host 2\n");
}

/*
 * ---- Mistakes
 * -----------------------------------------------------------------------------------------------------
 */

static void assert_mistake(const char *mode, const char *message, const char *error)
{
	assert_int_equal(run("./bad %s", mode), 0);
	assert_output_has(message);
	assert_output_has(error);
}

static void mistakes_in_kernels_are_told_with_their_lines(void **state)
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
	assert_mistake("shared", "accesses byte 67 of its dynamic shared memory; the launch gave it 64 bytes",
		"cudaErrorIllegalAddress");
	assert_int_equal(run("strip -o stripped bad && ./stripped wild"), 0);
	assert_output_has("nvwave: kernel behind, block (0,0,0), thread (0,0,0): writes to ");
	assert_output_has("(no line is known: the program has no debug information here)");
	assert_mistake("none", "cudaSuccess\ncudaSuccess\n", "");
}

static void a_mistake_is_told_right_while_another_thread_allocates(void **state)
{
	NEEDS_CLANG();
	build_once("-O1", "memory", SOURCE("memory.cu"));
	assert_int_equal(run("./memory beside 2>told; grep -c 'memory.cu:14 (store): kernel store' told"), 0);
	assert_string_equal(output, "20\n");
	assert_int_equal(
		run("grep -v ': 0 bytes behind the end of the allocation of 256 bytes at ' told"), 1);
}

static void host_code_that_reads_device_memory_is_told(void **state)
{
	NEEDS_CLANG();
	build_once("-O1", "bad", SOURCE("bad.cu"));
	assert_int_not_equal(run("./bad host"), 0);
	assert_output_has("bad.cu:74 (main): host code reads from device memory at ");
	assert_output_has("(byte 0 of the allocation of 400 bytes");
	assert_int_not_equal(run("./bad copy"), 0);
	assert_output_has("bad.cu:76 (main): host code writes to device memory at ");
}

static void what_is_not_supported_is_named(void **state)
{
	NEEDS_CLANG();
	assert_int_equal(run(NVCC " -c %s", SOURCE("refused.cu")), 1);
	assert_output_has("refused.cu:5:40: error:");
	assert_output_has("nvwave does not support textures");
	assert_output_has(
		"refused.cu:7:11: error: 'cudaGraphicsResource' is unavailable: nvwave does not support "
		"graphics");
	assert_output_has("'shared_by_both' is unavailable: nvwave does not support __managed__ variables");
	assert_output_has(
		"refused.cu:8:11: error: 'cudaGraph_t' is unavailable: nvwave does not support graphs");
	assert_output_has(
		"refused.cu:3:19: error: 'texture' is unavailable: nvwave does not support textures");
	assert_output_has(
		"refused.cu:13:55: error: 'fragment' is unavailable: nvwave does not support tensor cores");
	assert_output_has("refused.cu:15:8: error: 'load_matrix_sync<");
	assert_output_has("refused.cu:16:9: error: 'tex1Dfetch<");
	assert_output_has("refused.cu:17:2: error: 'tex2D<");
	assert_output_has("refused.cu:18:2: error: 'surf2Dwrite<");
	assert_int_equal(run(NVCC " -c %s", SOURCE("refused_launch.cu")), 1);
	assert_output_has(
		"refused_launch.cu:6:2: error: reference to __global__ function 'child' in __global__ "
		"function: "
		"nvwave does not support dynamic parallelism\n");
	assert_int_equal(run(NVCC " -ptx %s", SOURCE("weak.cu")), 2);
	assert_output_has("nvwave-nvcc: -ptx: not supported");
	assert_int_equal(run(NVCC " -lcublas %s", SOURCE("weak.cu")), 2);
	assert_output_has("nvwave-nvcc: -lcublas: this library of the SDK is not supported");
	assert_int_equal(run(NVCC " --nonsense %s", SOURCE("weak.cu")), 2);
	assert_output_has("nvwave-nvcc: --nonsense: this option is not known");
	assert_int_equal(run(NVCC " missing.cu"), 2);
	assert_output_has("nvwave-nvcc: missing.cu: there is no such file");
	assert_int_equal(run("echo 'int x = y;' >wrong.cu; " NVCC " -c wrong.cu"), 1);
	assert_output_has("wrong.cu:1:9: error:");
}

static void what_cannot_be_compiled_or_written_is_told_before(void **state)
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
	for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		assert_int_equal(run(NVCC " %s", wrong[i].arguments), 2);
		assert_output_has(wrong[i].message);
	}
	assert_int_equal(run("TMPDIR=/nonexistent " NVCC " -c weak.cu"), 2);
	assert_output_has("/nonexistent: no folder for temporary files can be made here (TMPDIR)");
	run("rmdir folder.cu");
}

static void what_is_no_architecture_is_refused(void **state)
{
	static const char *const right[] = {NVCC " -arch=sm_90a", NVCC " -arch compute_80",
		NVCC " -arch=native", NVCC " -arch=all-major", NVCC " -arch=lto_80", NVCC " -arch=sm_37",
		NVCC " -gencode code=sm_75,arch=compute_75", NVCC " -arch=compute_70 -code=sm_70,compute_70",
		NVCC " -gencode 'arch=compute_70,code=[sm_70,compute_70]'",
		NVCC " -gencode=arch=compute_120f,code=\\\"sm_120f,lto_120\\\"",
		HIPCC " --offload-arch=gfx90a:xnack-", HIPCC " --offload-arch=gfx906:sramecc+:xnack+,gfx1030",
		HIPCC " --offload-arch=gfx9-4-generic", HIPCC " --amdgpu-target=native",
		HIPCC " --offload-arch=sm_70"};
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
	for (unsigned i = 0; i < sizeof right / sizeof *right; i++) {
		assert_int_equal(run("%s -M empty.cu", right[i]), 0);
	}
	for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		assert_int_equal(run("%s -M empty.cu", wrong[i].command), 2);
		assert_output_has(wrong[i].message);
	}
}

/* Also when the compiler that runs beside the script lives on. */
static void an_interrupted_compilation_leaves_nothing(void **state)
{
	NEEDS_CLANG();
	assert_int_equal(run("mkdir left; { TMPDIR=$PWD/left " NVCC
			     " -c %s & } ; sleep 0.4; kill -TERM $!; wait $!; s=$?; ls left; rmdir left; "
			     "exit $s",
				 SOURCE("semantics.cu")),
		143);
	assert_string_equal(output, "");
}

static void a_missing_clang_is_told(void **state)
{
	assert_int_equal(run("NVWAVE_CLANG=/nonexistent/clang++ " NVCC " %s", SOURCE("weak.cu")), 2);
	assert_string_equal(
		output, "nvwave-nvcc: NVWAVE_CLANG=/nonexistent/clang++: there is no such program\n");
	assert_int_equal(run("NVWAVE_CLANG=true " NVCC " %s", SOURCE("weak.cu")), 2);
	assert_string_equal(output, "nvwave-nvcc: NVWAVE_CLANG=true: expected clang++\n");
}

/*
 * ---- On the machine
 * ---------------------------------------------------------------------------------------------------
 */

/* Without the lanes that spin on a lock: the machine's lockstep takes 20 s for them. */
static void kernels_on_the_machine_do_the_same(void **state)
{
	NEEDS_MACHINE();
	build_once("-O1", "semantics", SOURCE("semantics.cu") " " SOURCE("parts.cu"));
	assert_int_equal(run("%s exec --protocol=vi --report=report -- ./semantics -locks", nvwave), 0);
	assert_output_has("all hold");
	assert_int_equal(run("%s exec --protocol=hlrc --report=report -- ./semantics -locks", nvwave), 0);
	assert_output_has("all hold");
}

static void looking_a_line_up_leaves_the_stacks_of_other_work_items_alone(void **state)
{
	NEEDS_MACHINE();
	build("-rdc=true -O1", "aside", SOURCE("aside.cu") " " SOURCE("parts.cu"));
	assert_int_equal(run("%s exec --protocol=vi --report=report -- ./aside", nvwave), 0);
	assert_string_equal(output, "0 words of frames are wrong: cudaSuccess\n");
}

static void build_machine(void)
{
	build_once("-O1", "machine", SOURCE("machine.cu"));
}

static void a_load_on_the_machine_finds_what_a_store_left_there(void **state)
{
	NEEDS_MACHINE();
	build_machine();
	assert_int_equal(
		run("timeout 60 %s exec --protocol=vi --report=report -- ./machine loads", nvwave), 0);
	assert_string_equal(output, "0 wrong\n");
}

static void values_come_from_the_caches(void **state)
{
	NEEDS_MACHINE();
	build_machine();
	assert_int_equal(
		run("./machine no-fences && %s exec --protocol=gh --report=report -- ./machine fences",
			nvwave),
		0);
	assert_string_equal(output, "42 42\n42 42\n");
	assert_int_equal(run("%s exec --protocol=gh --report=report -- ./machine no-fences", nvwave), 0);
	assert_string_equal(output, "42 0\n"); /* stale: nothing has invalidated the L1's copy */
	assert_int_equal(run("%s exec --protocol=gh --report=report -- ./machine sums", nvwave), 0);
	assert_string_equal(output, "832 0\n");
}

static void races_are_told_with_their_lines(void **state)
{
	NEEDS_MACHINE();
	build_machine();
	assert_int_equal(run("%s exec --check=races --protocol=gh -- ./machine fences", nvwave), 0);
	assert_output_has("no races");
	assert_int_equal(run("%s exec --check=races --protocol=gh -- ./machine no-fences", nvwave), 1);
	assert_output_has("race in kernel hand_over_without_fences: ");
	assert_output_has("machine.cu:28 and load at ");
	assert_output_has("machine.cu:31, ");
}

/* Of any scope, of however many work-items. */
static void a_fence_races_with_nothing_and_orders_nothing_by_itself(void **state)
{
	static const char *const models[] = {"races", "races:hrf", "races:drf"};

	NEEDS_MACHINE();
	build_machine();
	for (unsigned i = 0; i < sizeof models / sizeof *models; i++) {
		assert_int_equal(
			run("%s exec --check=%s --protocol=gh -- ./machine many-fences", nvwave, models[i]),
			0);
		assert_output_has("no races");
		assert_int_equal(
			run("%s exec --check=%s --protocol=gh -- ./machine fences-alone", nvwave, models[i]),
			1);
		assert_output_has("machine.cu:201 and load at ");
		assert_output_has("machine.cu:207, ");
	}
}

/* Statistics of the kernels in a report. */
static long long statistic(const char *name)
{
	const char *const at = strstr(output, name);

	return at ? atoll(at + strlen(name) + 2) : -1;
}

static void each_kernel_has_its_time_and_statistics(void **state)
{
	NEEDS_MACHINE();
	build_machine();
	assert_int_equal(
		run("%s exec --protocol=dd --output-format=json --report=report -- ./machine sums >sums && "
		    "cat report",
			nvwave),
		0);
	assert_int_equal(statistic("\"launches\""), 2);
	assert_int_equal(statistic("\"work_items\""), 320);
	assert_int_equal(statistic("\"gpu.work_item_ops\""), 832);
	assert_true(statistic("\"sim_time_ps\"") > 0);
	assert_int_equal(run("sed '/seconds/d; /made_by/,$d' report >first; %s exec --protocol=dd "
			     "--output-format=json --report=report -- "
			     "./machine sums >sums && sed '/seconds/d; /made_by/,$d' report | diff first -",
				 nvwave),
		0);
}

static void registered_files_are_nvram(void **state)
{
	NEEDS_MACHINE();
	build_machine();
	assert_int_equal(
		run("%s exec --protocol=vi --output-format=json --report=report -- ./machine persist1 && "
		    "cat report",
			nvwave),
		0);
	assert_output_has("7 64 1\n");
	assert_int_equal(statistic("\"persist.barriers_wi\""), 2);
	assert_true(statistic("\"nvram.words\"") >= 64);
	assert_int_equal(
		run("%s exec --protocol=vi --output-format=json --report=report -- ./machine persist2 && "
		    "cat report",
			nvwave),
		0);
	assert_int_equal(statistic("\"persist.barriers_wg\""), 2);
	assert_int_equal(run("od -An -td8 -j64 -N16 pool"), 0);
	assert_output_has("                    1                    1\n");
}

/* Stores without any barrier: what a machine of GPM's loses of them, one with eADR keeps. */
static void what_a_kernel_has_stored_is_durable_under_eadr(void **state)
{
	static const char *const command =
		"rm -f pool; %s crash --exec='./machine persist0 pool' --image=pool --check='./machine "
		"check' --states=100 --model=%s --machine=%s";

	NEEDS_MACHINE();
	build_machine();
	assert_int_equal(run(command, nvwave, "epoch", "gpm22"), 1);
	assert_output_has("INCONSISTENT");
	assert_int_equal(run(command, nvwave, "eadr", "gpm22-eadr"), 0);
	assert_output_has("NO FAILURE FOUND in 100 of ");
	assert_int_equal(run(command, nvwave, "epoch", "gpm22-eadr"), 2);
	assert_output_has(
		"crash: --model=epoch: the caches are lost in it, and nvram.domain=eadr keeps them: "
		"expected --model=eadr\n");
}

static void a_fence_of_the_system_persists_where_the_machine_says_so(void **state)
{
	NEEDS_MACHINE();
	build_machine();
	assert_int_equal(
		run("%s exec --protocol=vi --output-format=json --report=report -- ./machine persist3 && "
		    "cat report",
			nvwave),
		0);
	assert_int_equal(statistic("\"persist.barriers_wi\""), 0);
	assert_int_equal(run("%s exec --protocol=vi --set host.fence_system=durable --output-format=json "
			     "--report=report -- ./machine persist3 && "
			     "cat report",
				 nvwave),
		0);
	assert_int_equal(statistic("\"persist.barriers_wi\""), 2);
}

/* oFence and pRel of SBRP (sbrp23 5) are PTX's fence and store. */
static void instructions_of_sbrp_persist_as_the_machine_says(void **state)
{
	static const struct {
		const char *set;
		long long barriers;
	} machines[] = {{"", 0}, {"--set host.sbrp=barriers", 4}};

	NEEDS_MACHINE();
	build_machine();
	for (unsigned i = 0; i < sizeof machines / sizeof *machines; i++) {
		assert_int_equal(
			run("%s exec --protocol=vi %s --output-format=json --report=report -- ./machine "
			    "persist4 && cat report",
				nvwave, machines[i].set),
			0);
		assert_int_equal(statistic("\"persist.barriers_wi\""), machines[i].barriers);
	}
	assert_int_equal(run("%s exec --set host.sbrp=refused -- ./machine persist4 2>&1", nvwave), 1);
	assert_output_has(
		"machine.cu:57 (appends): kernel appends, block (0,0,0), thread (0,0,0): oFence of scope "
		"device: "
		"inline PTX that is SBRP's is refused (host.sbrp=refused)\n");
	assert_int_equal(
		run("rm -f pool; %s crash --exec='./machine persist4 pool' --image=pool --check='./machine "
		    "check' --states=200",
			nvwave),
		1);
	assert_output_has("is marked and not there");
	assert_output_has("machine.cu:58 (appends)  store of 8 bytes at 0x");
	assert_int_equal(
		run("rm -f pool; %s crash --exec='./machine persist4 pool' --image=pool --check='./machine "
		    "check' --states=200 --set host.sbrp=barriers",
			nvwave),
		0);
}

/* Programs that check their own results. */
static void shipped_programs_are_right_and_have_no_races(void **state)
{
	static const char *const names[] = {"vector_add", "reduction", "scan", "matmul", "histogram"},
				 *const sizes[] = {"1000", "1000", "1000", "32", "1000"};

	NEEDS_MACHINE();
	for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
		char source[4096];

		snprintf(source, sizeof source, CUDA_EXAMPLES "/%s.cu", names[i]);
		build("-O2 -arch=sm_70", names[i], source);
		assert_int_equal(run("./%s", names[i]), 0);
		assert_string_equal(output, "right\n");
		assert_int_equal(
			run("%s exec --check=races --protocol=dd -- ./%s %s", nvwave, names[i], sizes[i]), 0);
		assert_output_has("right\n");
		assert_output_has("no races");
	}
}

static void all_work_items_of_a_cooperative_launch_have_a_stack(void **state)
{
	NEEDS_CLANG();
	build("-O1", "many", SOURCE("many.cu"));
	assert_int_equal(run("./many"), 0);
	assert_string_equal(output, "0 cudaSuccess\n");
}

static void accesses_of_odd_and_large_sizes_have_the_right_values(void **state)
{
	NEEDS_MACHINE();
	for (unsigned i = 0; i < 2; i++) {
		build(i ? "-O2" : "-O0", "wide", SOURCE("wide.cu"));
		assert_int_equal(run("./wide"), 0);
		assert_string_equal(output, "wrong: 0\n");
		assert_int_equal(
			run("%s exec --check=races --report=report -- ./wide && cat report", nvwave), 0);
		assert_output_has("wrong: 0\n");
		assert_output_has("no races");
	}
}

static void kernels_see_what_the_host_has_changed_in_between(void **state)
{
	static const char *const protocols[] = {"vi", "hlrc", "dd"};

	NEEDS_MACHINE();
	build("-O1", "changes", SOURCE("changes.cu"));
	assert_int_equal(run("./changes"), 0);
	assert_string_equal(output, "wrong: 0, cudaSuccess\n");
	for (unsigned i = 0; i < sizeof protocols / sizeof *protocols; i++) {
		assert_int_equal(
			run("%s exec --protocol=%s --report=report -- ./changes", nvwave, protocols[i]), 0);
		assert_output_has("wrong: 0, cudaSuccess\n");
		assert_output_has("a new machine, with cold caches");
	}
}

static void a_stack_that_becomes_too_deep_between_two_accesses_is_told(void **state)
{
	static const struct {
		const char *mode, *where;
		unsigned fits; /* by themselves more */
	} modes[] = {{"recursion", "deep.cu:14 (descend): kernel recursion", 300},
		{"allocation", "deep.cu:18 (variable): kernel allocation", 90000},
		{"frame", "(frame): kernel frame, block (0,0,0), thread (0,0,0)", 0}};

	NEEDS_MACHINE();
	for (unsigned i = 0; i < 2 * sizeof modes / sizeof *modes; i++) {
		const unsigned mode = i / 2, fits = modes[mode].fits;

		build(i % 2 ? "-O0" : "-O2", "deep", SOURCE("deep.cu"));
		if (fits) {
			assert_int_equal(run("./deep %s %u", modes[mode].mode, 2 * fits), 0);
			assert_string_equal(output, "cudaSuccess 1\n");
			assert_int_equal(run("%s exec --protocol=vi --report=report -- ./deep %s %u", nvwave,
						 modes[mode].mode, fits),
				0);
			assert_string_equal(output, "cudaSuccess 1\n");
			assert_int_equal(
				run("%s exec --protocol=vi --set host.stack=1M --report=report -- ./deep %s "
				    "%u",
					nvwave, modes[mode].mode, 5 * fits),
				0);
			assert_string_equal(output, "cudaSuccess 1\n");
		}
		assert_int_equal(run("./deep %s %u", modes[mode].mode, 5 * fits), 0);
		assert_output_has(modes[mode].where);
		assert_output_has("its stack of 262144 bytes has overflowed\ncudaErrorLaunchFailure 0\n");
		assert_int_equal(run("%s exec --protocol=vi --report=report -- ./deep %s %u", nvwave,
					 modes[mode].mode, 2 * fits),
			0);
		assert_output_has(modes[mode].where);
		assert_output_has(
			"its stack of 131072 bytes has overflowed; use less stack, or --set host.stack=");
	}
}

static void mistakes_on_the_machine_are_told_too(void **state)
{
	NEEDS_MACHINE();
	build_once("-O1", "bad", SOURCE("bad.cu"));
	assert_int_equal(run("%s exec --protocol=vi --report=report -- ./bad wild", nvwave), 0);
	assert_output_has("bad.cu:8 (behind): kernel behind, block (0,0,0), thread (0,0,0): writes to ");
	assert_output_has(": a null pointer");
	assert_output_has("cudaErrorIllegalAddress\n");
	assert_int_equal(run("%s exec --protocol=vi --report=report -- ./bad far", nvwave), 0);
	assert_output_has(": no allocation is within 1 MiB of it\n");
	assert_int_equal(run("%s exec --protocol=vi --report=report -- ./bad behind", nvwave), 0);
	assert_output_has("112 bytes behind the end of the allocation of 400 bytes");
	assert_int_equal(run("%s exec --protocol=vi --report=report -- ./bad deep", nvwave), 0);
	assert_output_has(
		"(recurse): kernel deep, block (0,0,0), thread (0,0,0): its stack of 131072 bytes has "
		"overflowed; use less stack, or --set host.stack=");
	assert_int_equal(run("%s exec --protocol=vi --report=report -- ./bad endless", nvwave), 0);
	assert_output_has("(call): kernel endless, block (0,0,0), thread (0,0,0): its stack of 131072 bytes");
	assert_output_has("cudaErrorLaunchFailure");
	assert_int_equal(run("%s exec --protocol=vi --report=report -- ./bad divide", nvwave), 0);
	assert_output_has("kernel divide, block (0,0,0), thread (0,0,0): divides by zero");
	assert_int_equal(run("%s exec --protocol=vi --report=report -- ./bad mask", nvwave), 0);
	assert_output_has("lane 4 is not in its own mask 0xf");
	assert_int_equal(run("%s exec --protocol=vi -- true", nvwave), 2);
	assert_output_has("--protocol: the program ran no kernels on the machine");
	assert_int_equal(run("%s exec --protocol=vi --report=report -- ./bad host", nvwave), 1);
	assert_output_has("bad.cu:74 (main): host code reads from device memory");
	assert_output_has("note: no report on kernels: ./bad ended by signal 11");
	assert_true(strstr(output, "ran no kernels") == NULL);
}

static void a_kernel_without_memory_for_a_block_fails_with_a_message(void **state)
{
	NEEDS_MACHINE();
	build_machine();
	assert_int_equal(run("%s exec --protocol=vi --report=report -- ./machine memory", nvwave), 0);
	assert_output_has("nvwave: kernel sums_up: no memory for a block of 32 work-items\n");
	assert_output_has("cudaErrorMemoryAllocation\n");
}

/*
 * ---- Kernels that wait
 * --------------------------------------------------------------------------------------------
 */

/* Runs it until it says that it waits, or ends. */
static void run_until_told(const char *command)
{
	build_once("-O1", "waits", SOURCE("waits.cu"));
	(void)run("rm -f said; %s >said 2>&1 & p=$!; i=0; while ! grep -q waits: said && kill -0 $p "
		  "2>/dev/null && [ $i -lt 600 ]; do sleep 0.1; i=$((i + 1)); done; "
		  "kill $p 2>/dev/null; wait $p; cat said",
		command);
}

static void a_kernel_that_waits_for_a_later_store_of_the_host_is_told(void **state)
{
	NEEDS_CLANG();
	run_until_told("exec ./waits late");
	assert_output_has("waits.cu:13 (wait)");
	assert_output_has("kernel wait, block (0,0,0), thread (");
	assert_output_has("a store that it makes there comes too late");
	assert_int_equal(run("./waits thread"), 0);
	assert_string_equal(output, "0\n");
}

static void likewise_on_the_machine(void **state)
{
	char command[512];

	NEEDS_MACHINE();
	snprintf(command, sizeof command, "exec %s exec --protocol=vi -- ./waits late", nvwave);
	run_until_told(command);
	assert_output_has("waits.cu:13 (wait)");
	assert_output_has("on the machine no store of the host comes before that");
}

static void work_items_that_wait_for_each_other_by_shared_variables_go_on(void **state)
{
	static const char *const protocols[] = {"vi", "dd"};

	NEEDS_MACHINE();
	build_once("-O1", "waits", SOURCE("waits.cu"));
	assert_int_equal(run("timeout 20 ./waits shared"), 0);
	assert_string_equal(output, "no error\n95\n");
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(run("timeout 20 %s exec --protocol=%s --report=report -- ./waits shared",
					 nvwave, protocols[i]),
			0);
		assert_string_equal(output, "no error\n95\n");
	}
}

/*
 * ---- Memory
 * -------------------------------------------------------------------------------------------------------
 */

/* It took a system call for each allocation. */
static void a_copy_does_not_take_longer_with_many_allocations(void **state)
{
	NEEDS_CLANG();
	build_once("-O1", "memory", SOURCE("memory.cu"));
	assert_int_equal(run("ulimit -t 5; ./memory copies"), 0);
	assert_string_equal(output, "0 wrong\n");
}

static void pitched_memory_is_a_file_if_that_is_asked_for(void **state)
{
	NEEDS_CLANG();
	build_once("-O1", "memory", SOURCE("memory.cu"));
	assert_int_equal(run("./memory pitched && NVWAVE_PITCH_POOL=pitched ./memory pitched"), 0);
	assert_string_equal(output, "64\n64\n");
	assert_int_equal(run("./memory check pitched && od -An -td4 -j4096 -N4 pitched; rm pitched"), 0);
	assert_string_equal(output, "           1\n");
	assert_int_equal(
		run("%s crash --exec='env NVWAVE_PITCH_POOL=pitched ./memory pitched' --image=pitched "
		    "--check='./memory check' --states=100",
			nvwave),
		1);
	assert_output_has("it is marked, and value ");
	assert_output_has("memory.cu:17 (store)  store of 4 bytes at 0x1000   durable");
	assert_output_has("memory.cu:14 (store)  store of 4 bytes at 0x");
	assert_int_equal(run("NVWAVE_PITCH_POOL=/nonexistent/pool ./memory pitched"), 1);
	assert_string_equal(output,
		"nvwave: NVWAVE_PITCH_POOL=/nonexistent/pool: No such file or directory\nout of memory\n");
}

static void sleeping_takes_simulated_time(void **state)
{
	const char *at;

	NEEDS_MACHINE();
	build_once("-O1", "waits", SOURCE("waits.cu"));
	assert_int_equal(
		run("%s exec --protocol=vi --output-format=json --report=report -- ./waits sleep && cat "
		    "report",
			nvwave),
		0);
	at = strstr(output, "\"sim_time_ps\"");
	assert_non_null(at);
	assert_in_range(atoll(at + 15), 5000000, 6000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cuda_programs_do_what_cuda_says_without_optimization),
		cmocka_unit_test(files_are_compiled_one_by_one_as_makefiles_do),
		cmocka_unit_test(instructions_of_sbrp_persist_as_the_machine_says),
		cmocka_unit_test(inline_ptx_does_what_it_says),
		cmocka_unit_test(inline_ptx_that_is_not_supported_is_named_with_its_line),
		cmocka_unit_test(atomics_of_libcuxx_functions_of_cub_and_numbers_of_curand_are_right),
		cmocka_unit_test(algorithms_of_thrust_are_right),
		cmocka_unit_test(other_compilers_do_the_same),
		cmocka_unit_test(hip_programs_are_compiled_and_right),
		cmocka_unit_test(hip_s_atomics_sleep_and_tiles_are_there),
		cmocka_unit_test(what_hip_has_and_we_do_not_is_named),
		cmocka_unit_test(programs_have_the_language_and_the_host_s_functions),
		cmocka_unit_test(the_device_is_the_machine),
		cmocka_unit_test(functions_for_both_sides_are_two_functions),
		cmocka_unit_test(a_build_that_merges_them_is_noticed),
		cmocka_unit_test(a_kernel_that_waits_for_a_later_store_of_the_host_is_told),
		cmocka_unit_test(likewise_on_the_machine),
		cmocka_unit_test(sleeping_takes_simulated_time),
		cmocka_unit_test(work_items_that_wait_for_each_other_by_shared_variables_go_on),
		cmocka_unit_test(a_copy_does_not_take_longer_with_many_allocations),
		cmocka_unit_test(pitched_memory_is_a_file_if_that_is_asked_for),
		cmocka_unit_test(options_of_makefiles_are_taken),
		cmocka_unit_test(mistakes_in_kernels_are_told_with_their_lines),
		cmocka_unit_test(a_mistake_is_told_right_while_another_thread_allocates),
		cmocka_unit_test(host_code_that_reads_device_memory_is_told),
		cmocka_unit_test(what_is_not_supported_is_named),
		cmocka_unit_test(what_cannot_be_compiled_or_written_is_told_before),
		cmocka_unit_test(what_is_no_architecture_is_refused),
		cmocka_unit_test(an_interrupted_compilation_leaves_nothing),
		cmocka_unit_test(a_missing_clang_is_told),
		cmocka_unit_test(kernels_on_the_machine_do_the_same),
		cmocka_unit_test(looking_a_line_up_leaves_the_stacks_of_other_work_items_alone),
		cmocka_unit_test(a_load_on_the_machine_finds_what_a_store_left_there),
		cmocka_unit_test(values_come_from_the_caches),
		cmocka_unit_test(races_are_told_with_their_lines),
		cmocka_unit_test(a_fence_races_with_nothing_and_orders_nothing_by_itself),
		cmocka_unit_test(each_kernel_has_its_time_and_statistics),
		cmocka_unit_test(registered_files_are_nvram),
		cmocka_unit_test(what_a_kernel_has_stored_is_durable_under_eadr),
		cmocka_unit_test(a_fence_of_the_system_persists_where_the_machine_says_so),
		cmocka_unit_test(shipped_programs_are_right_and_have_no_races),
		cmocka_unit_test(all_work_items_of_a_cooperative_launch_have_a_stack),
		cmocka_unit_test(accesses_of_odd_and_large_sizes_have_the_right_values),
		cmocka_unit_test(kernels_see_what_the_host_has_changed_in_between),
		cmocka_unit_test(a_stack_that_becomes_too_deep_between_two_accesses_is_told),
		cmocka_unit_test(mistakes_on_the_machine_are_told_too),
		cmocka_unit_test(a_kernel_without_memory_for_a_block_fails_with_a_message),
	};

	return run_all(tests, sizeof tests / sizeof *tests);
}
