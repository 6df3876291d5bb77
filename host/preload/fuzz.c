/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Preloaded, alone, into a program that nvwave-cc has built and that AFL++ runs (cli/programs/fuzz.c): the
 * counts of its executed stores, flushes and fences are AFL's map, and it is AFL's fork server. Nothing is
 * recorded.
 *
 * It answers what the program asks the recording library (../cc/hooks.h). The server begins with the first
 * constructor of the executable; before each run the program's file is again what the image is.
 */
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../cc/hooks.h"

#define EXPORT __attribute__((visibility("default")))

enum { FROM_AFL = 198, TO_AFL = 199 };

/* ---- Hooks that have no effect, so that places are marked ------------------------------------------- */

static const uintptr_t nowhere;

static void store(void *address, size_t n, void *place)
{
}

static bool begin(void *address, size_t n, bool fences, void *place)
{
	return false;
}

static void end(void)
{
}

static void fence(void *place)
{
}

/* It must keep all registers but the general ones. */
void host_fuzz_instruction(unsigned what, void *address, void *place, size_t times);
__asm__(".pushsection .text\n"
	".hidden host_fuzz_instruction\n"
	".type host_fuzz_instruction, @function\n"
	"host_fuzz_instruction:\n"
	"	ret\n"
	".size host_fuzz_instruction, . - host_fuzz_instruction\n"
	".popsection\n");

EXPORT nvwave_cc_find_hooks nvwave_cc_hooks_3;

EXPORT const struct nvwave_cc_hooks *nvwave_cc_hooks_3(const void *code, bool watched)
{
	static const struct nvwave_cc_hooks hooks = {.store = store,
		.lowest = &nowhere,
		.highest = &nowhere,
		.begin = begin,
		.end = end,
		.fence = fence,
		.instruction = host_fuzz_instruction};

	return &hooks;
}

/* ---- The server ------------------------------------------------------------------------------------- */

static void copy_bytes(int from, int to)
{
	char bytes[1 << 16];
	ssize_t n;

	while ((n = read(from, bytes, sizeof bytes)) > 0 && write(to, bytes, (size_t)n) == n) {
	}
}

/* The file is a copy of the image, or there is none. */
static void renew_file(void)
{
	const char *const image = getenv("NVWAVE_FUZZ_IMAGE"), *const file = getenv("NVWAVE_FUZZ_FILE");

	if (image == NULL || file == NULL) {
		return;
	}
	unlink(file);
	const int from = open(image, O_RDONLY | O_CLOEXEC);
	const int to = from < 0 ? -1 : open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (to >= 0) {
		copy_bytes(from, to);
		close(to);
	}
	if (from >= 0) {
		close(from);
	}
}

/* Returns in each child, which is a run of the program; and at once if nobody asks for runs. */
static void serve(void)
{
	uint32_t word = 0;
	int status;

	if (write(TO_AFL, &word, sizeof word) != sizeof word) {
		return;
	}
	for (;;) {
		if (read(FROM_AFL, &word, sizeof word) != sizeof word) {
			_exit(0);
		}
		renew_file();
		const pid_t pid = fork();

		if (pid == 0) {
			close(FROM_AFL);
			close(TO_AFL);
			return;
		}
		if (pid < 0 || write(TO_AFL, &pid, sizeof pid) != sizeof pid ||
			waitpid(pid, &status, 0) < 0 ||
			write(TO_AFL, &status, sizeof status) != sizeof status) {
			_exit(1);
		}
	}
}

/* ---- The map ---------------------------------------------------------------------------------------- */

struct code {
	uintptr_t at, start, bytes;
};

/* The executable, which comes first, and has no name. */
static int meet_object(struct dl_phdr_info *object, size_t size, void *to)
{
	struct code *const c = to;

	for (unsigned i = 0; i < object->dlpi_phnum && *object->dlpi_name == '\0'; i++) {
		const ElfW(Phdr) *const p = &object->dlpi_phdr[i];
		const uintptr_t start = object->dlpi_addr + p->p_vaddr;

		if (p->p_type == PT_LOAD && (p->p_flags & PF_X) && c->at - start < p->p_memsz) {
			c->start = start;
			c->bytes = p->p_memsz;
		}
	}
	return 1;
}

EXPORT nvwave_cc_find_marks nvwave_cc_marks_2;

/* Shared objects have no map. */
EXPORT uintptr_t nvwave_cc_marks_2(const void *address, void *counters, size_t bytes)
{
	const char *const id = getenv("__AFL_SHM_ID");
	struct code code = {.at = (uintptr_t)address};
	struct shmid_ds map;

	dl_iterate_phdr(meet_object, &code);
	if (id == NULL || code.bytes == 0 || shmctl(atoi(id), IPC_STAT, &map) != 0) {
		return 0;
	}
	if (map.shm_segsz < code.bytes) {
		dprintf(STDERR_FILENO, "nvwave: the program has more code than AFL's map has room for\n");
		return 0;
	}
	char *const at = shmat(atoi(id), NULL, 0);

	if (at == (char *)-1) {
		return 0;
	}
	serve();
	return (uintptr_t)at - code.start;
}
