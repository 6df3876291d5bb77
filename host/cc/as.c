/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The assembler of programs that are built by nvwave-cc. Compilers find it by its name, "as": it inserts a
 * call before every instruction that persists something, and then executes the real assembler on the result.
 *
 *	clwb 8(%rsp)	->	lea -128(%rsp), %rsp; push %rax; lea 136+8(%rsp), %rax; push $WHAT;
 *				call __nvwave_cc_instruction; ...; clwb 8(%rsp)
 *
 * All code passes through this stage: compiled code, inline assembly, assembly files. Inserted code stays on
 * its line and belongs to its source line, so messages and debug information are correct. It skips the red
 * zone and changes neither flags nor registers (thunk.S). AT&T and Intel syntax are understood; bodies of
 * .macro are left unchanged, with a message.
 *
 * The compiler announces plain stores, but not all: gcc omits bit-fields, values returned through memory, and
 * small copies of its own; no compiler announces inline assembly. So a store without an announcement since
 * the last call gets a call here, unless it goes to the stack or to a variable. Calls that announce loads are
 * removed, unless loads are asked for (nvwave-cc --loads).
 *
 * A debug section lists the places of all stores, flushes and fences, so that those which no run has executed
 * are known, too (host/coverage.c). The functions that are called there mark the place; a call of memcpy() or
 * of libpmem gets a call before it that does. A jump to any of them, as the last call of a function, becomes
 * a call and a return: else its place would be that of the function's caller.
 *
 * Every conditional jump of compiled code marks which way it goes, with plain stores of a byte, which change
 * no flags: jne L becomes je 1f; movb $1, JUMPED; jmp L; 1: movb $1, WENT_ON. Only the jumps that compilers
 * add of themselves, to check the stack, are left as they are.
 *
 * Kernels of CUDA programs have announcements of their own (NVWAVE_CC_DEVICE). Nothing is inserted there but
 * the marks: their sites have counters, as branches have.
 *
 * Each object file says whether all of its stores are announced; the linker stage (ld.in) reads that. Some
 * cannot be: system calls, scattered vectors, saved processor states, bodies of .macro.
 *
 * During the inserted code the stack pointer is lower than the unwind information assumes: unwinding from a
 * signal handler there, for example by a profiler, may go wrong.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/bounds.h"
#include "stage.h"

/* ---- Files ---------------------------------------------------------------------------------------- */

static void die(const char *what)
{
	fprintf(stderr, "nvwave-cc: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* All of a file, or of the standard input. */
static char *read_all(const char *path, size_t *ret_n)
{
	FILE *const from = path ? fopen(path, "r") : stdin;
	size_t n = 0, capacity = 1 << 16, got;
	char *text = malloc(capacity);

	if (from == NULL) {
		die(path);
	}
	while (text != NULL && (got = fread(text + n, 1, capacity - n, from)) > 0) {
		n += got;
		if (n == capacity) {
			capacity *= 2;
			char *const more = realloc(text, capacity);

			if (more == NULL) {
				free(text);
			}
			text = more;
		}
	}
	if (text == NULL || ferror(from)) {
		die(NVW_OR(path, "standard input"));
	}
	if (path != NULL) {
		fclose(from);
	}
	*ret_n = n;
	return text;
}

/* The name under which the real assembler reads the text; in messages it uses that of the file. */
static char *rewrite(const char *path)
{
	const char *const name = NVW_OR(path, "{standard input}");
	struct stage s = {.file = name,
		.loads = getenv("NVWAVE_CC_LOADS") != NULL,
		.device = getenv("NVWAVE_CC_DEVICE") != NULL};
	size_t n;
	char *const text = read_all(path, &n), *result = NULL;
	const char *const end = text + n;
	const int fd = memfd_create("nvwave-cc", 0); /* inherited by the assembler */

	if (fd < 0 || (s.to = fdopen(dup(fd), "w")) == NULL) {
		die("a file in memory");
	}
	s.emitted = text;
	s.unwatched = memmem(text, n, "dlsym", 5) != NULL; /* whatever function that finds */
	if (n < 7 || strncmp(text, "#NO_APP", 7) != 0) {   /* which matters only on the first line */
		fprintf(s.to, "# 1 \"%s\"\n", name);
	}
	for (const char *at = text; at < end;) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));

		if (stop == NULL) {
			stop = end;
		}
		s.line++;
		cc_line(&s, at, stop);
		at = stop + (stop < end);
	}
	NVW_INVARIANT(s.emitted <= end);
	cc_emit_to(&s, end);
	fprintf(s.to, "\n\t.pushsection .nvwave_cc,\"\",@progbits\n\t.asciz \"%s\"\n\t.popsection\n",
		s.unwatched ? NVWAVE_CC_UNWATCHED : NVWAVE_CC_WATCHED);
	if (fclose(s.to) || asprintf(&result, "/proc/self/fd/%d", fd) < 0) {
		die("a file in memory");
	}
	free(text);
	return result;
}

/* ---- The real assembler --------------------------------------------------------------------------- */

static bool is_self(const char *path)
{
	struct stat a, b;

	return stat(path, &a) == 0 && stat("/proc/self/exe", &b) == 0 && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
}

/* Executes the compiler's assembler, as found by nvwave-cc; otherwise the first one in PATH that is not this
 * program. */
static void become(char *argv[])
{
	const char *const named = getenv("NVWAVE_CC_AS");
	const char *at = getenv("PATH");

	if (named != NULL && strchr(named, '/') != NULL && !is_self(named)) {
		execv(named, argv);
		die(named);
	}
	for (size_t n; at != NULL && *at != '\0'; at += n + (at[n] == ':')) {
		char path[4096];

		n = strcspn(at, ":");
		snprintf(path, sizeof path, "%.*s/as", (int)n, at);
		if (access(path, X_OK) == 0 && !is_self(path)) {
			execv(path, argv);
		}
	}
	errno = ENOENT;
	die("as");
}

static bool is_any(const char *option, const char *const *options)
{
	while (*options != NULL && strcmp(option, *options) != 0) {
		options++;
	}
	return *options != NULL;
}

int main(int argc, char *argv[])
{
	static const char *const asks[] = {"--version", "--help", "--target-help", NULL};
	static const char *const narrow[] = {"--32", "--x32", NULL};
	/* Their value is a separate argument. */
	static const char *const valued[] = {
		"-o", "-I", "-D", "--defsym", "--MD", "-MD", "--debug-prefix-map", NULL};
	char **const to = calloc((size_t)argc + 2, sizeof *to);
	unsigned files = 0;
	int n = 1;

	if (to == NULL) {
		die("memory");
	}
	for (int i = 1; i < argc; i++) {
		if (is_any(argv[i], asks)) {
			become(argv);
		}
		if (is_any(argv[i], narrow)) {
			fprintf(stderr, "nvwave-cc: %s: programs of 64 bits alone are watched\n", argv[i]);
			return 1;
		}
	}
	to[0] = argv[0];
	for (int i = 1; i < argc; i++) {
		const bool is_file = argv[i][0] != '-' || argv[i][1] == '\0';

		files += is_file;
		to[n] = argv[i];
		if (is_file) {
			to[n] = rewrite(argv[i][0] == '-' ? NULL : argv[i]);
		}
		n++;
		if (is_any(argv[i], valued) && i + 1 < argc) {
			to[n++] = argv[++i];
		}
	}
	if (files == 0) {
		to[n++] = rewrite(NULL);
	}
	NVW_INVARIANT(n <= argc + 1 && to[n] == NULL);
	become(to);
}
