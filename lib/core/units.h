/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Numbers as users write them: 16KiB, 250ns, 4cycles, 1GHz, 12.8GB/s, 10k, 0x40.
 *
 * Each function reads the whole of text and returns 0, or NVW_E_USAGE with a message that quotes text and
 * what was expected (callers prepend the name of the key or option to nvw_error_message()). A number that
 * could have two units needs one. Negative numbers, overflow and anything after the unit are refused.
 * Thread-safe.
 */
#ifndef NVW_CORE_UNITS_H
#define NVW_CORE_UNITS_H

#include <stdbool.h>
#include <stdint.h>

#include <nvw/pool.h>

NVW_CHECKED int nvw_parse_count(const char *text, uint64_t *ret); /* 12, 12k, 3M, 1G (1000s), 0x40 */
NVW_CHECKED int nvw_parse_bytes(const char *text, uint64_t *ret); /* 64B, 16KiB, 1MiB, 2GiB, 1kB (1000) */
NVW_CHECKED int nvw_parse_real(const char *text, double *ret);
NVW_CHECKED int nvw_parse_frequency(const char *text, uint64_t *ret); /* Hz: 800MHz, 1GHz */
NVW_CHECKED int nvw_parse_rate(const char *text, uint64_t *ret);      /* bytes per second: 12.8GB/s, 1GiB/s */
NVW_CHECKED int nvw_parse_energy(const char *text, uint64_t *ret);    /* fJ: 1265pJ, 16nJ */
NVW_CHECKED int nvw_parse_bool(const char *text, bool *ret); /* on, off, yes, no, true, false, 1, 0 */
/* Which of the words it is: its place in the NULL-terminated list. */
NVW_CHECKED int nvw_parse_word(const char *text, const char *const *words, uint64_t *ret);

/* A time: ps for 25ns, 1us, 2.5ns; a whole number of cycles for 4cycles (*ret_cycles says which). */
NVW_CHECKED int nvw_parse_time(const char *text, uint64_t *ret, bool *ret_cycles);

/* Writes to buffer the shortest form that the parsers read back as the same value. */
enum { NVW_UNIT_TEXT = 48 };
const char *nvw_format_bytes(uint64_t bytes, char buffer[NVW_UNIT_TEXT]);
const char *nvw_format_time(uint64_t ps, char buffer[NVW_UNIT_TEXT]);
const char *nvw_format_frequency(uint64_t hz, char buffer[NVW_UNIT_TEXT]);
const char *nvw_format_rate(uint64_t bytes_a_second, char buffer[NVW_UNIT_TEXT]);
const char *nvw_format_energy(uint64_t fj, char buffer[NVW_UNIT_TEXT]);

/* 1234567 as 1,234,567, for readers: the parsers do not take it. */
const char *nvw_format_grouped(uint64_t n, char buffer[NVW_UNIT_TEXT]);
/* 5551000 ps as 5.551 us, rounded to so many digits, for readers. */
const char *nvw_format_rounded_time(uint64_t ps, unsigned digits, char buffer[NVW_UNIT_TEXT]);
/* A part of a whole as " (12.5 %)"; of nothing there is no share: "". */
const char *nvw_format_share(double part, double whole, char buffer[NVW_UNIT_TEXT]);

/* The most likely intended name in a NULL-terminated list, by edit distance; NULL if none is near. */
const char *nvw_nearest(const char *word, const char *const *names);

#endif
