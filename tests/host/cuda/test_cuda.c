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

/* Sums, products, quotients, fused ones and conversions. */
static void numbers_of_sixteen_bits_are_rounded_once(void **state)
{
	NEEDS_CLANG();
	skip_if_sanitized();
	build("-O1", "narrow", SOURCE("narrow.cu"));
	assert_int_equal(run("./narrow"), 0);
	assert_string_equal(output, "128 64 64 64 256 128\n"
				    "half: 0 wrong, 0 others, cudaSuccess\n"
				    "bfloat16: 0 wrong, 0 others, cudaSuccess\n");
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

static void all_work_items_of_a_cooperative_launch_have_a_stack(void **state)
{
	NEEDS_CLANG();
	build("-O1", "many", SOURCE("many.cu"));
	assert_int_equal(run("./many"), 0);
	assert_string_equal(output, "0 cudaSuccess\n");
}

static void intrinsics_round_and_divide_words_as_cuda_says(void **state)
{
	NEEDS_CLANG();
	skip_if_sanitized();
	build("-O1", "intrinsics", SOURCE("intrinsics.cu"));
	assert_int_equal(run("./intrinsics"), 0);
	assert_string_equal(output, "all are right\n");
}

/* ---- Inline PTX ---------------------------------------------------------------------------------- */

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

/* ---- Libraries and compilers --------------------------------------------------------------------- */

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

/* ---- HIP ----------------------------------------------------------------------------------------- */

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

/* ---- The language -------------------------------------------------------------------------------- */

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

/* ---- The two halves ------------------------------------------------------------------------------ */

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
			     ")/nvwave-device-*[0-9] $(dirname " NVCC ")/libnvwave-cuda.a $(dirname " NVCC
			     ")/include planted && cp $(dirname " NVCC ")/../cc/as $(dirname " NVCC
			     ")/../cc/libnvwave-cc.a cc"),
		0);
	assert_int_equal(run("sed -i 's/objcopy .own/objcopy --redefine-sym=_Z4sidePi.dev=_Z4sidePi $own/' "
			     "planted/nvwave-nvcc && grep -q Pi.dev=_Z4sidePi planted/nvwave-nvcc"),
		0);
	assert_int_equal(run("planted/nvwave-nvcc -O0 -o merged " SOURCE("weak.cu") " && ./merged"), 0);
	assert_string_not_equal(output, "device 1000 host 2\n");
}

static void names_of_files_and_types_are_kept_apart(void **state)
{
	NEEDS_CLANG();
	build("-O2", "names", SOURCE("names.cu") " " SOURCE("names_there.cu"));
	assert_int_equal(run("./names"), 0);
	assert_string_equal(output, "all hold\n");
}

/* ---- Memory -------------------------------------------------------------------------------------- */

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
	assert_output_has(
		"memory.cu:17 (store)  stores *mark (int, 4 bytes)   durable\n        4 bytes at pool offset 0x1000\n");
	assert_output_has("memory.cu:14 (store)  stores values[threadIdx.x] (int, 4 bytes)   ");
	assert_int_equal(run("NVWAVE_PITCH_POOL=/nonexistent/pool ./memory pitched"), 1);
	assert_string_equal(output,
		"nvwave: NVWAVE_PITCH_POOL=/nonexistent/pool: No such file or directory\nout of memory\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_of_sixteen_bits_are_rounded_once),
		cmocka_unit_test(cuda_programs_do_what_cuda_says_without_optimization),
		cmocka_unit_test(files_are_compiled_one_by_one_as_makefiles_do),
		cmocka_unit_test(intrinsics_round_and_divide_words_as_cuda_says),
		cmocka_unit_test(inline_ptx_does_what_it_says),
		cmocka_unit_test(atomics_of_libcuxx_functions_of_cub_and_numbers_of_curand_are_right),
		cmocka_unit_test(algorithms_of_thrust_are_right),
		cmocka_unit_test(other_compilers_do_the_same),
		cmocka_unit_test(hip_programs_are_compiled_and_right),
		cmocka_unit_test(hip_s_atomics_sleep_and_tiles_are_there),
		cmocka_unit_test(programs_have_the_language_and_the_host_s_functions),
		cmocka_unit_test(the_device_is_the_machine),
		cmocka_unit_test(functions_for_both_sides_are_two_functions),
		cmocka_unit_test(a_build_that_merges_them_is_noticed),
		cmocka_unit_test(names_of_files_and_types_are_kept_apart),
		cmocka_unit_test(a_copy_does_not_take_longer_with_many_allocations),
		cmocka_unit_test(pitched_memory_is_a_file_if_that_is_asked_for),
		cmocka_unit_test(options_of_makefiles_are_taken),
		cmocka_unit_test(kernels_on_the_machine_do_the_same),
		cmocka_unit_test(all_work_items_of_a_cooperative_launch_have_a_stack),
	};

	return run_all(tests, sizeof tests / sizeof *tests);
}
