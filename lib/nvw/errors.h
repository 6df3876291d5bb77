/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Errors: every function that can fail returns 0 or a negative number, and sets a message for the user
 * (nvw_error_message).
 *
 * Three things are kept apart (see ARCHITECTURE.md, "Errors"):
 *   - a bug in this program fails an assertion;
 *   - bad input, a full disk or a damaged file gives a negative return value from the list below;
 *   - the state that recovery finds on a medium gives a verdict (nvw/recovery.h), not an error.
 *
 * The message names the file, the key or the offset, what was found there and what was expected. It is kept
 * per thread; functions that succeed leave it alone.
 */
#ifndef NVW_ERRORS_H
#define NVW_ERRORS_H

#include <stdarg.h>

/* X(name, number, meaning). The numbers are outside the range of -errno. */
#define NVW_ERRORS(X)                                                                        \
	X(USAGE, -10001, "the command line or an option is not understood")                  \
	X(CONFIG, -10002, "a machine file or a machine key is wrong")                        \
	X(INPUT, -10003, "an input file is malformed")                                       \
	X(NOT_A_POOL, -10004, "the file is not an nvwave pool")                              \
	X(VERSION, -10005, "the file was written by another version of the format")          \
	X(DAMAGED, -10006, "the file's content contradicts its checksums")                   \
	X(BUSY, -10007, "the pool is in use by another process")                             \
	X(FULL, -10008, "no space is left in the pool or on the disk")                       \
	X(SYSTEM, -10009, "a system call failed")                                            \
	X(KERNEL, -10010, "a kernel did what no kernel may")                                 \
	X(DEADLOCK, -10011, "work-items wait for ever")                                      \
	X(MODEL, -10012, "the emulated hardware broke the persistency model that it claims") \
	X(STOPPED, -10013, "the run was stopped on request")                                 \
	X(INCONSISTENT, -10014, "a persistent structure breaks its invariants")              \
	X(MEMORY, -10015, "the host is out of memory")

enum nvw_error {
	NVW_OK = 0,
#define X(name, number, meaning) NVW_E_##name = number,
	NVW_ERRORS(X)
#undef X
};

/* The general meaning of an error number (own or negative errno); never NULL. */
const char *nvw_strerror(int error);

/* The last message of this thread, "" if there was none. Valid until the next failure. */
const char *nvw_error_message(void);

/*
 * Sets this thread's message and returns error, so that a failure is one line:
 *	return nvw_fail(NVW_E_INPUT, "%s:%d: expected a key, found \"%s\"", path, line, word);
 */
__attribute__((format(printf, 2, 3))) int nvw_fail(int error, const char *format, ...);

/* Like nvw_fail(NVW_E_SYSTEM, ...), with ": " and the text of errno appended. */
__attribute__((format(printf, 1, 2))) int nvw_fail_errno(const char *format, ...);

/* Tells the compiler that errors are negative, so that it does not warn of variables that are unset after a
 * failure. */
static inline int nvw__failure(int error)
{
	if (error >= 0) {
		__builtin_unreachable();
	}
	return error;
}
#define nvw_fail(...)       nvw__failure(nvw_fail(__VA_ARGS__))
#define nvw_fail_errno(...) nvw__failure(nvw_fail_errno(__VA_ARGS__))

/* Returns from the calling function what the call returned, unless that is 0. For functions that have nothing
 * to clean up:
 *	NVW_TRY(check_range("l2.banks", c->l2_banks, 1, 1024));
 */
#define NVW_TRY(call)                       \
	do {                                \
		int nvw__result = (call);   \
		if (nvw__result != 0) {     \
			return nvw__result; \
		}                           \
	} while (0)

/* Fail as nvw_fail() and nvw_fail_errno() do, from the calling function, if the condition is true:
 *	NVW_FAIL_IF(banks > 1024, NVW_E_RANGE, "l2.banks is %u: expected at most 1024", banks);
 */
#define NVW_FAIL_IF(condition, ...)                   \
	do {                                          \
		if (condition) {                      \
			return nvw_fail(__VA_ARGS__); \
		}                                     \
	} while (0)
#define NVW_FAIL_ERRNO_IF(condition, ...)                   \
	do {                                                \
		if (condition) {                            \
			return nvw_fail_errno(__VA_ARGS__); \
		}                                           \
	} while (0)

/* Fails with NVW_E_MEMORY, from the calling function, if an allocation has returned NULL:
 *	NVW_ALLOCATED(copy, "no memory for a copy of %s", path);
 */
#define NVW_ALLOCATED(pointer, ...) NVW_FAIL_IF(!(pointer), NVW_E_MEMORY, __VA_ARGS__)

#endif
