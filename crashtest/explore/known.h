/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * States that explorations of other logs have tested: of a program that is run with many inputs. Two are the
 * same if their bytes are, and what the program had promised by then: the operations (nvw/ack.h) that were
 * acknowledged or in flight, by number and name. Where the judge compares with what these operations left
 * (judge/replay_oracle.h), they must also have stored the same, and so must the program before them.
 */
#ifndef CRASHTEST_KNOWN_H
#define CRASHTEST_KNOWN_H

#include "../judge/operations.h"

/* Shared with the workers. */
struct ct_known;

NVW_CHECKED int ct_known_create(struct ct_known **ret_known);
void ct_known_destroy(struct ct_known *known);

/* What was met so far is of other logs than what follows. */
void ct_known_begin_log(struct ct_known *known);

/* True if another log has left the state. Otherwise this one has, from now on; where there is no room any
 * more, the state is forgotten. */
bool ct_known_meets(struct ct_known *known, uint64_t key);

/* What else than bytes makes two states the same, of one log. Zero-initialise. */
struct ct_promises {
	uint64_t begin;      /* of the image before the log */
	uint64_t *operation; /* a key of each operation, in their order */
};

NVW_CHECKED int ct_promises_read(int log_fd, const void *image, uint64_t bytes,
	const struct ct_operations *operations, bool with_stores, struct ct_promises *ret_promises);
void ct_promises_free(struct ct_promises *promises);

uint64_t ct_promises_key(const struct ct_promises *promises, const struct ct_operations *operations,
	const struct nvw_acks *acks);

#endif
