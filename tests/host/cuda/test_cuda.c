/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CUDA and HIP sources through nvwave-nvcc and nvwave-hipcc: programs that check themselves (semantics.cu),
 * inline PTX, libraries, options of makefiles. Without clang every test says that it is left out.
 */
#include "nvcc.h"

/* ---- What CUDA programs rely on ------------------------------------------------------------------ */

static void assert_all_hold(void)
{
	const int status = run("./semantics");

	assert_output_has("all hold", "lane 1 of block 0 says  0.50");
	assert_int_equal(status, 0);
}

TEST(cuda_programs_do_what_cuda_says_without_optimization)
{
	NEEDS_CLANG();
	build("-O0 -g -G -std=c++14", "semantics", SOURCE("semantics.cu") " " SOURCE("parts.cu"));
	assert_all_hold();
}

TEST(files_are_compiled_one_by_one_as_makefiles_do)
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

/* Without the lanes that spin on a lock: the machine's lockstep takes 20 s for them. */
TEST(kernels_on_the_machine_do_the_same)
{
	NEEDS_MACHINE();
	build_once("-O1", "semantics", SOURCE("semantics.cu") " " SOURCE("parts.cu"));
	succeeds("$NVWAVE exec --protocol=vi --report=report -- ./semantics -locks");
	assert_output_has("all hold");
	succeeds("$NVWAVE exec --protocol=hlrc --report=report -- ./semantics -locks");
	assert_output_has("all hold");
}

static void build_small(void)
{
	build_together("-O1 -Xcompiler -O0", SOURCE("memory.cu"), SOURCE("narrow.cu") " " SOURCE("many.cu"));
}

/* Sums, products, quotients, fused ones and conversions. */
TEST(numbers_of_sixteen_bits_are_rounded_once)
{
	NEEDS_CLANG();
	skip_if_sanitized();
	build_small();
	succeeds("./narrow");
	assert_string_equal(output, "128 64 64 64 256 128\n"
				    "half: 0 wrong, 0 others, cudaSuccess\n"
				    "bfloat16: 0 wrong, 0 others, cudaSuccess\n");
}

/* As with nvcc, where -g is for host code. Most of a large kernel's debugging information are these. */
TEST(a_debugger_finds_the_variables_of_kernels_if_they_are_asked_for)
{
	NEEDS_CLANG();
	succeeds("echo '__global__ void k(int *p) { int own_value = *p * 3; p[1] = own_value; }' "
		 ">variable.cu; "
		 "found() { " NVCC " -O1 $1 -c -o variable.o variable.cu && "
		 "readelf --debug-dump=info variable.o | grep -c DW_AT_location; }; "
		 "[ $(found -g) -lt $(found -G) ]");
}

/* Those of GPM's makefiles control hardware; nvcc has options in the environment, too. */
TEST(options_of_makefiles_are_taken)
{
	NEEDS_CLANG();
	exits(7, "printf '#include \"own.h\"\nint main() { return OWN + BEFORE + BEHIND; }\n' >env.cu; "
		 "mkdir -p own_first own_second; echo '#define OWN 1' >own_first/own.h; echo '#define "
		 "OWN 100' >own_second/own.h; "
		 "NVCC_PREPEND_FLAGS=\"-Iown_first -DBEFORE='1 * 2'\" NVCC_APPEND_FLAGS=-DBEHIND=4 " NVCC
		 " -Iown_second -w -o env env.cu -lnvidia-ml -lpci -lpthread && ./env");
	assert_string_equal(output, "");
	exits(8, "echo 'int twice(x) int x; { int *class = &x; return 2 * *class; }' >cuda_old.h; "
		 "echo '#include \"cuda_old.h\"' >old.c; "
		 "echo 'extern \"C\" int twice(int); int main() { return twice(4); }' >new.cu; " NVCC
		 " -w -o old new.cu old.c && ./old");
}

TEST(all_work_items_of_a_cooperative_launch_have_a_stack)
{
	NEEDS_CLANG();
	build_small();
	succeeds("./many");
	assert_string_equal(output, "0 cudaSuccess\n");
}

TEST(intrinsics_round_and_divide_words_as_cuda_says)
{
	NEEDS_CLANG();
	skip_if_sanitized();
	build("-O1 -Xcompiler -O0", "intrinsics", SOURCE("intrinsics.cu"));
	succeeds("./intrinsics");
	assert_string_equal(output, "all are right\n");
}

/* ---- Inline PTX ---------------------------------------------------------------------------------- */

TEST(inline_ptx_does_what_it_says)
{
	NEEDS_CLANG();
	skip_if_sanitized();
	build("-O1 -Xcompiler -O0", "ptx", SOURCE("ptx.cu"));
	succeeds("./ptx");
	assert_string_equal(output, "all hold\n");
#ifndef __SANITIZE_ADDRESS__
	succeeds("$NVWAVE exec --protocol=gh --check=races --report=report -- ./ptx");
	assert_output_has("all hold\n");
	succeeds("cat report");
	assert_output_has("no races");
#endif
}

/* ---- Libraries and compilers --------------------------------------------------------------------- */

TEST(atomics_of_libcuxx_functions_of_cub_and_numbers_of_curand_are_right)
{
	NEEDS_CLANG();
	skip_if_sanitized();
	if (access("/usr/include/cuda/atomic", R_OK) || access("/usr/include/cub/cub.cuh", R_OK) ||
		access("/usr/include/thrust/version.h", R_OK)) { /* which cub includes */
		skip_test("there is no libcu++ or no cub (libcu++-dev, libcub-dev, libthrust-dev)");
	}
	build("-O1 -arch=sm_70 -Xcompiler -O0", "libraries", SOURCE("libraries.cu"));
	succeeds("./libraries");
	assert_string_equal(output, "right\n");
	succeeds("$NVWAVE exec --protocol=gh --check=races --report=report -- ./libraries && cat report");
	assert_output_has("right\n", "no races");
}

TEST(algorithms_of_thrust_are_right)
{
	NEEDS_CLANG();
	skip_if_sanitized();
	if (access("/usr/include/thrust/device_vector.h", R_OK)) {
		skip_test("there is no thrust (libthrust-dev)");
	}
	build("-O1 -Xcompiler -O0", "thrust", SOURCE("thrust.cu"));
	succeeds("./thrust");
	assert_string_equal(output, "9900 39204 1313400\n");
}

/* By default, each compiler compiles one of the programs; clang 19 compiles the inline PTX. */
TEST(other_compilers_do_the_same)
{
	static const char *const compilers[] = {"clang++-16", "clang++-19"};
	static const struct {
		const char *source, *output;
	} programs[] = {{SOURCE("wide.cu"), "wrong: 0\n"}, {SOURCE("ptx.cu"), "all hold\n"}};
	unsigned found = 0;

	NEEDS_CLANG();
	skip_if_sanitized();
	NVW_FOR(i, NVW_COUNT(compilers)) {
		if (run("command -v %s", compilers[i])) {
			continue;
		}
		found++;
		for (unsigned k = i % one_in(2); k < NVW_COUNT(programs); k += one_in(2)) {
			succeeds("NVWAVE_CLANG=%s " NVCC
				 " -O2 -std=c++20 -Xcompiler -O0 -o by_other %s && ./by_other",
				compilers[i], programs[k].source);
			assert_output_has(programs[k].output);
		}
	}
	if (!found) {
		skip_test("there is neither clang++-16 nor clang++-19");
	}
}

/* ---- HIP ----------------------------------------------------------------------------------------- */

TEST(hip_programs_are_compiled_and_right)
{
	static const char *const names[] = {"vector_add", "reduction", "histogram"};

	NEEDS_CLANG();
	skip_if_sanitized();
	succeeds("mkdir hip && cd hip && " CUDA_TESTS "/together.sh '" HIPCC
		 " -O2 --offload-arch=gfx90a -lamdhip64' " CUDA_EXAMPLES "/hip/*.cpp");
	for_each(name, names) {
		succeeds("hip/%s", *name);
		assert_string_equal(output, "right\n");
	}
}

TEST(hip_s_atomics_sleep_and_tiles_are_there)
{
	NEEDS_CLANG();
	if (run(HIPCC " -O2 -o amd %s && ./amd", SOURCE("amd.cpp"))) {
		print_error("%s\n", output);
		fail();
	}
	assert_string_equal(output, "right\n");
}

/* ---- The language -------------------------------------------------------------------------------- */

TEST(programs_have_the_language_and_the_host_s_functions)
{
	NEEDS_CLANG();
	skip_if_sanitized();
	build("-O2 -std=c++17 --extended-lambda -Xcompiler -O0", "language", SOURCE("language.cu"));
	succeeds("./language");
	assert_string_equal(output, "nvwave with 16 multiprocessors\nall hold\n");
}

TEST(the_device_is_the_machine)
{
	NEEDS_MACHINE();
	build_once("-O2 -std=c++17 --extended-lambda -Xcompiler -O0", "language", SOURCE("language.cu"));
	succeeds("$NVWAVE exec --machine=gope18 --set gpu.cus=12 --protocol=hlrc --report=report -- "
		 "./language");
	assert_string_equal(output, "nvwave gope18 with 12 multiprocessors\nall hold\n");
}

/* ---- The two halves ------------------------------------------------------------------------------ */

TEST(functions_for_both_sides_are_two_functions)
{
	NEEDS_CLANG();
	build("-O0", "weak", SOURCE("weak.cu"));
	succeeds("./weak");
	assert_string_equal(output, "device 1000 host 2\n");
}

/* The same with a wrapper that gives both the same names: the test above would notice. */
TEST(a_build_that_merges_them_is_noticed)
{
	NEEDS_CLANG();
	succeeds("mkdir -p planted cc && cp -rL " NVCC " $(dirname " NVCC
		 ")/nvwave-device-*[0-9] $(dirname " NVCC ")/libnvwave-cuda.a $(dirname " NVCC
		 ")/include planted && cp -r $(dirname " NVCC ")/../cc/stages $(dirname " NVCC
		 ")/../cc/libnvwave-cc.a cc");
	succeeds("sed -i 's/objcopy .own/objcopy --redefine-sym=_Z4sidePi.dev=_Z4sidePi $own/' "
		 "planted/nvwave-nvcc && grep -q Pi.dev=_Z4sidePi planted/nvwave-nvcc");
	succeeds("planted/nvwave-nvcc -O0 -o merged " SOURCE("weak.cu") " && ./merged");
	assert_string_not_equal(output, "device 1000 host 2\n");
}

TEST(names_of_files_and_types_are_kept_apart)
{
	NEEDS_CLANG();
	build("-O2", "names", SOURCE("names.cu") " " SOURCE("names_there.cu"));
	succeeds("./names");
	assert_string_equal(output, "all hold\n");
}

/* ---- Memory -------------------------------------------------------------------------------------- */

/* It took a system call for each allocation. */
TEST(a_copy_does_not_take_longer_with_many_allocations)
{
	NEEDS_CLANG();
	build_small();
	succeeds("ulimit -t 5; ./memory copies");
	assert_string_equal(output, "0 wrong\n");
}

TEST(device_memory_needs_no_terabyte_of_addresses)
{
	NEEDS_CLANG();
	skip_if_sanitized();
	build_small();
	succeeds("ulimit -v 8000000; ./memory copies");
	assert_string_equal(output, "0 wrong\n");
}

TEST(pitched_memory_is_a_file_if_that_is_asked_for)
{
	NEEDS_CLANG();
	build_small();
	succeeds("./memory pitched && NVWAVE_PITCH_POOL=pitched ./memory pitched");
	assert_string_equal(output, "64\n64\n");
	succeeds("./memory check pitched && od -An -td4 -j4096 -N4 pitched; rm pitched");
	assert_string_equal(output, "           1\n");
	exits(1, "$NVWAVE crash --exec='env NVWAVE_PITCH_POOL=pitched ./memory pitched' --image=pitched "
		 "--check='./memory check' --states=100");
	assert_output_has("it is marked, and value ",
		("memory.cu:17 (store)  stores *mark (int, 4 bytes)   durable\n        4 bytes at pool "
		 "offset 0x1000\n"),
		"memory.cu:14 (store)  stores values[threadIdx.x] (int, 4 bytes)   ");
	exits(1, "NVWAVE_PITCH_POOL=/nonexistent/pool ./memory pitched");
	assert_string_equal(output,
		"nvwave: NVWAVE_PITCH_POOL=/nonexistent/pool: No such file or directory\nout of memory\n");
}
