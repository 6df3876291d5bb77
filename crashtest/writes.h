/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a block device owes after a power cut: every acknowledged write is there, or a later one in its place. Judged by
 * the log that the device's run left (docs/fio-engine.md).
 *
 * Such a log is one of a machine whose work-groups each carry out one write at most: write number n is the nth
 * work-group that stored to NVRAM, in the order of kernels and of groups in them, and has been acknowledged as operation n. Of
 * a word, its versions are the stores to it in the log's order. A state is right if each word has a version that is no
 * older than its last acknowledged one; what was never acknowledged may be lost, word by word.
 */
#ifndef CRASHTEST_WRITES_H
#define CRASHTEST_WRITES_H

#include "crash.h"

/* The workload that logs of block devices name. */
#define CT_BLOCK_LOG "block-device"

struct ct_writes;

/*
 * Reads the log once. initial: the pool before its first record, stays the caller's. NVW_E_INPUT for a log that is
 * not of a block device: stores of less than a word, writes by the host, stores outside bytes.
 */
NVW_CHECKED int ct_writes_create(
	int log_fd, const void *initial, uint64_t bytes, struct ct_writes **ret_writes);
/* NULL is fine. */
void ct_writes_destroy(struct ct_writes *writes);
uint64_t ct_writes_count(const struct ct_writes *writes);

/* A ct_judge; context is a struct ct_writes. */
int ct_writes_judge(void *writes, struct ct_image *image, const struct nvw_acks *acks,
	struct nvw_findings *findings, volatile uint32_t *phase);

#endif
