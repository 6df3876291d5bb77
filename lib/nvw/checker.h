/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A checker in a shared object, for nvwave crash --check-lib=FILE.so: judges the file that a crash left, many
 * thousand times a second, in a process that it may not harm (a checker that dies or hangs is a finding).
 *
 * The object exports
 *
 *	int nvw_check(struct nvw_check *check);
 */
#ifndef NVW_CHECKER_H
#define NVW_CHECKER_H

#include <stddef.h>
#include <stdint.h>

struct nvw_check {
	const void *image; /* the file's bytes; read-only: a store to them ends the process */
	uint64_t bytes;
	/*
	 * Writes n bytes at an offset of the image, for a checker that recovers first. Seen through image at once,
	 * taken back before the next state. 0, or negative outside the image.
	 */
	int (*write)(void *context, uint64_t off, const void *from, size_t n);
	void *context;
	/* What is wrong, in the structure's own words; findings with equal texts, numbers aside, are one. */
	char *message;
	size_t message_bytes;
};

/* 0 if the image is consistent. Must depend on the image alone. */
int nvw_check(struct nvw_check *check);

#endif
