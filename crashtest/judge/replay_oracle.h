/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The oracle that needs no checker (--oracle=replay): a command prints the content of a file, recovering it
 * first if necessary. In a crash state its output must equal its output after the acknowledged operations of
 * the run (nvw/ack.h), together with any of those in flight: output equivalence. The standard output and the
 * exit status are compared.
 *
 * A *reference* is the output of the command without a crash. For a set of operations its file is the initial
 * image with every store of the log before the next operation begins, except the stores of operations outside
 * the set. A store belongs to the operation that its thread has begun last and that is not acknowledged yet.
 * With one thread this is the run's own file after the last operation of the set.
 *
 * With several threads, the stores of an operation in flight are left out of the recorded interleaving. If
 * operations share changed data, the result may be an image that no run produces; then the command fails on
 * it and there is no reference, or it accepts one state too many. If more than CT_IN_FLIGHT_MAX operations
 * are in flight, only subsets of those acknowledged first are tried.
 */
#ifndef CRASHTEST_REPLAY_ORACLE_H
#define CRASHTEST_REPLAY_ORACLE_H

#include "ask.h"

enum { CT_IN_FLIGHT_MAX = 6 };

struct ct_reference {
	uint64_t key; /* of the set of operations */
	bool useful;  /* the command ended with status 0 */
	uint64_t bytes, hash;
	char *text; /* the beginning of its output */
	size_t kept;
};

struct ct_replay_oracle {
	struct ct_asked asked;
	const struct ct_operations *operations;
	const uint8_t *initial, *filled;
	struct ct_logged_store *store; /* of the log, in its order */
	uint64_t store_count, store_capacity;
	struct ct_reference *reference; /* found so far, by this process */
	uint64_t reference_count, reference_capacity;
	bool only_those; /* of a saved finding: there is no log from which to make others */
};

/* initial: the file before the run; filled: its map (core/filled.h). Both stay the caller's. NVW_E_USAGE if
 * there are no operations. */
NVW_CHECKED int ct_replay_oracle_create(const struct ct_asked_is *is, int log_fd, const uint8_t *initial,
	const uint8_t *filled, struct ct_replay_oracle *ret_oracle);
void ct_replay_oracle_destroy(struct ct_replay_oracle *oracle);

/* A ct_judge; context is a struct ct_replay_oracle. */
int ct_replay_oracle_judge(void *oracle, struct ct_image *image, const struct nvw_acks *acks,
	struct nvw_findings *findings, volatile uint32_t *phase);

/* NVW_E_INPUT unless the command prints the same for the same image twice, and ends with status 0. */
NVW_CHECKED int ct_replay_oracle_try(struct ct_replay_oracle *oracle, const struct nvw_acks *acks);

/* Adds to a saved finding what its state may print; and makes an oracle of that. */
void ct_replay_oracle_save(void *oracle, const struct nvw_acks *acks, json_t *finding);
NVW_CHECKED int ct_replay_oracle_load(
	const struct ct_asked_is *is, const json_t *finding, struct ct_replay_oracle *ret_oracle);

#endif
