/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Functions of the C library that store to memory passed to them, or that end the recording: for programs
 * built by nvwave-cc.
 */
#undef _FILE_OFFSET_BITS /* otherwise stat() is another name of stat64() */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "preload.h"

#undef snprintf
#undef stpcpy
#undef vsnprintf
#undef strncpy

/* at and n are evaluated only if to is in a mapping. */
#define COMES(to, at, n)                                          \
	do {                                                      \
		if (__builtin_expect(host_find(to) != NULL, 0)) { \
			host_copy_comes(at, n);                   \
		}                                                 \
	} while (0)

/* A function that fills `to`, as its row declares it. */
#define FILLS(type, name, declared, arguments, at, n) \
	HOST_EXPORT type name declared                \
	{                                             \
		COMES(to, at, n);                     \
		return REAL(name) arguments;          \
	}

static __typeof__(&memset) real_memset;

__attribute__((constructor(101))) static void find_fills(void)
{
	*(void **)&real_memset = host_real("memset");
}

HOST_EXPORT void *memset(void *to, int c, size_t n)
{
	if (real_memset != NULL) {
		COMES(to, to, n);
		return real_memset(to, c, n);
	}
	for (size_t i = 0; i < n; i++) {
		((uint8_t *)to)[i] = (uint8_t)c;
		__asm__ volatile("" ::: "memory"); /* otherwise it becomes a call of memset() */
	}
	return to;
}

HOST_EXPORT void bzero(void *to, size_t n)
{
	COMES(to, to, n);
	REAL(bzero)(to, n);
}

FILLS(void *, mempcpy, (void *restrict to, const void *restrict from, size_t n), (to, from, n), to, n)
FILLS(char *, strcpy, (char *restrict to, const char *restrict from), (to, from), to, strlen(from) + 1)
FILLS(char *, stpcpy, (char *restrict to, const char *restrict from), (to, from), to, strlen(from) + 1)
FILLS(char *, strncpy, (char *restrict to, const char *restrict from, size_t n), (to, from, n), to, n)
FILLS(char *, strcat, (char *restrict to, const char *restrict from), (to, from), to + strlen(to),
	strlen(from) + 1)

HOST_EXPORT int snprintf(char *restrict to, size_t n, const char *restrict format, ...)
{
	va_list list;

	COMES(to, to, n);
	va_start(list, format);
	const int length = REAL(vsnprintf)(to, n, format, list);
	va_end(list);
	return length;
}

FILLS(int, vsnprintf, (char *restrict to, size_t n, const char *restrict format, va_list list),
	(to, n, format, list), to, n)
FILLS(char *, fgets, (char *restrict to, int n, FILE *restrict from), (to, n, from), to,
	n > 0 ? (size_t)n : 0)

/* They tell where the number ended. The second names are those of newer headers for the same functions. */
#define NUMBERS(type, name)                                                                        \
	type __isoc23_##name(const char *restrict from, char **restrict end, int base);            \
	HOST_EXPORT type name(const char *restrict from, char **restrict end, int base)            \
	{                                                                                          \
		COMES(end, end, sizeof *end);                                                      \
		return REAL(name)(from, end, base);                                                \
	}                                                                                          \
	HOST_EXPORT type __isoc23_##name(const char *restrict from, char **restrict end, int base) \
	{                                                                                          \
		COMES(end, end, sizeof *end);                                                      \
		return REAL(__isoc23_##name)(from, end, base);                                     \
	}

NUMBERS(long, strtol)
NUMBERS(unsigned long, strtoul)
NUMBERS(long long, strtoll)
NUMBERS(unsigned long long, strtoull)

HOST_EXPORT double strtod(const char *restrict from, char **restrict end)
{
	COMES(end, end, sizeof *end);
	return REAL(strtod)(from, end);
}

FILLS(int, clock_gettime, (clockid_t clock, struct timespec *to), (clock, to), to, sizeof *to)
FILLS(int, stat, (const char *restrict path, struct stat *restrict to), (path, to), to, sizeof *to)
FILLS(int, stat64, (const char *restrict path, struct stat64 *restrict to), (path, to), to, sizeof *to)
FILLS(int, fstat, (int fd, struct stat *to), (fd, to), to, sizeof *to)
FILLS(int, fstat64, (int fd, struct stat64 *to), (fd, to), to, sizeof *to)

/* Destructors are not run, so the last store would only be found by comparison. */
HOST_EXPORT __attribute__((noreturn)) void _exit(int status)
{
	host_settle_last();
	REAL(_exit)(status);
	__builtin_unreachable();
}

HOST_ALIAS(_Exit, _exit);
