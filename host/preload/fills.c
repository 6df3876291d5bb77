/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Functions of the C library that store to memory passed to them, or that end the recording: for programs
 * built by nvwave-cc.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "preload.h"

#undef stpcpy
#undef strncpy

/* at and n are evaluated only if to is in a mapping. */
#define COMES(to, at, n)                                          \
	do {                                                      \
		if (__builtin_expect(host_find(to) != NULL, 0)) { \
			host_copy_comes(at, n);                   \
		}                                                 \
	} while (0)

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

HOST_EXPORT void *mempcpy(void *restrict to, const void *restrict from, size_t n)
{
	COMES(to, to, n);
	return REAL(mempcpy)(to, from, n);
}

HOST_EXPORT char *strcpy(char *restrict to, const char *restrict from)
{
	COMES(to, to, strlen(from) + 1);
	return REAL(strcpy)(to, from);
}

HOST_EXPORT char *stpcpy(char *restrict to, const char *restrict from)
{
	COMES(to, to, strlen(from) + 1);
	return REAL(stpcpy)(to, from);
}

HOST_EXPORT char *strncpy(char *restrict to, const char *restrict from, size_t n)
{
	COMES(to, to, n);
	return REAL(strncpy)(to, from, n);
}

HOST_EXPORT char *strcat(char *restrict to, const char *restrict from)
{
	COMES(to, to + strlen(to), strlen(from) + 1);
	return REAL(strcat)(to, from);
}

/* Destructors are not run, so the last store would only be found by comparison. */
HOST_EXPORT __attribute__((noreturn)) void _exit(int status)
{
	host_settle_last();
	REAL(_exit)(status);
	__builtin_unreachable();
}

HOST_EXPORT __attribute__((noreturn)) void _Exit(int status)
{
	_exit(status);
}
