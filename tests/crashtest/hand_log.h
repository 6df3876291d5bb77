/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Logs written by hand, of a structure with a data word and a flag an operation: the flag must not be durable
 * before the data. Tests plant the faults.
 */
#ifndef TESTS_CRASHTEST_HAND_LOG_H
#define TESTS_CRASHTEST_HAND_LOG_H

#include "explored.h"
#include "memory_log.h"

#include <crashtest/states/image.h>

enum { POOL_BYTES = 65536, FLAGS = 32768, DATA_SITE = 1, FLAG_SITE = 2 };

nvw_off data_off(unsigned op);
nvw_off flag_off(unsigned op);

struct memory_log log_begin(unsigned atomicity);
void log_name_site(struct memory_log *run, uint32_t id, uint32_t line);
void log_acknowledge(struct memory_log *run, unsigned op);

/* Data, a persist barrier, flag: the correct order; without the barrier both are in flight at once. */
int log_of_queue(unsigned ops, bool barrier);

int judge_queue(void *context, struct ct_image *image, const struct nvw_acks *acks,
	struct nvw_findings *findings, volatile uint32_t *phase);

struct ct_result explored_under(enum ct_model model, int fd, ct_judge judge, uint64_t states, unsigned jobs);
struct ct_result explored(int fd, ct_judge judge, uint64_t states, unsigned jobs);

#endif
