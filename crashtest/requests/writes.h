/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The guarantee of a block device after a power cut: every acknowledged write is present, or a later one in
 * its place. Checked with the log of the device's run (docs/fio-engine.md).
 *
 * In such a log each work-group executes at most one write: write number n is the nth work-group that stored
 * to NVRAM, in the order of kernels and of groups in them, and is acknowledged as operation n. The versions
 * of a word are the stores to it in log order. A state is correct if each word has a version that is no older
 * than its last acknowledged one; unacknowledged writes may be lost, word by word.
 */
#ifndef CRASHTEST_WRITES_H
#define CRASHTEST_WRITES_H

#include "../crash.h"

/* The workload name in logs of block devices. */
#define CT_BLOCK_LOG "block-device"

struct ct_writes;

/*
 * Reads the log once. initial is the pool before its first record; the caller owns it. NVW_E_INPUT for a log
 * that is not of a block device: stores of less than a word, writes by the host, stores outside bytes.
 */
NVW_CHECKED int ct_writes_create(
	int log_fd, const void *initial, uint64_t bytes, struct ct_writes **ret_writes);
/* NULL is allowed. */
void ct_writes_destroy(struct ct_writes *writes);
uint64_t ct_writes_count(const struct ct_writes *writes);

/* A ct_judge; context is a struct ct_writes. */
int ct_writes_judge(void *writes, struct ct_image *image, const struct nvw_acks *acks,
	struct nvw_findings *findings, volatile uint32_t *phase);

#endif
