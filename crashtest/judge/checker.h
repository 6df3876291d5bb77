/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checkers from elsewhere: a command that is given the path of a file (exit status 0: consistent; ask.h), or
 * a shared object
 * (nvw/checker.h), which sees the state itself, read-only. Each is a ct_judge.
 */
#ifndef CRASHTEST_CHECKER_H
#define CRASHTEST_CHECKER_H

#include <nvw/checker.h>

#include "ask.h"
#include "../parts/parts.h"

struct ct_checker {
	struct ct_asked asked; /* for a library only bytes */
	void *library;         /* of dlopen(); NULL: the command */
	int (*check)(struct nvw_check *check);
	/* The check in parts; NULL: there is none. */
	uint64_t (*parts)(const struct nvw_check *check);
	int (*part)(struct nvw_check *check, uint64_t part);
	void (*part_name)(uint64_t part, char *name, size_t bytes);
	struct ct_plain_parts in_parts;
	const struct ct_operations *operations;
};

/* The command, or, if that is NULL, the library, of which nothing works on the state (next). NVW_E_USAGE if
 * there is no such command, or the object is not a checker. It must be destroyed, also after an error. */
NVW_CHECKED int ct_checker_create(
	const struct ct_asked_is *is, const char *library, struct ct_checker *ret_checker);
void ct_checker_destroy(struct ct_checker *checker);

/* The library's parts, as long as the checker; NULL: it has none. */
const struct ct_plain_parts *ct_checker_parts(const struct ct_checker *checker);

/* A ct_judge; context is a struct ct_checker. */
int ct_checker_judge(void *checker, struct ct_image *image, const struct nvw_acks *acks,
	struct nvw_findings *findings, volatile uint32_t *phase);

#endif
