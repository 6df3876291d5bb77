/* SPDX-License-Identifier: BSD-3-Clause */
/* The operations of a program's log (nvw/ack.h): when and by which thread each begins and is acknowledged,
 * and its name. */
#ifndef CRASHTEST_OPERATIONS_H
#define CRASHTEST_OPERATIONS_H

#include <jansson.h>

#include <check/check.h>

struct ct_operation {
	uint64_t number;         /* comes first: nvw_by_u64() orders by it */
	uint64_t begin, durable; /* numbers of their records, from 1; 0: none */
	uint64_t thread;
	char name[96]; /* "": none */
};

/* In the order of their numbers. Zero-initialise. */
struct ct_operations {
	uint64_t count, capacity;
	struct ct_operation *at;
};

/* A log without operations gives none. Freed by ct_operations_free(), also after an error. */
NVW_CHECKED int ct_operations_read(int log_fd, struct ct_operations *ret_operations);
void ct_operations_free(struct ct_operations *operations);

/* Its number, and its name in parentheses if it has one. */
void ct_operations_name(const struct ct_operations *operations, uint64_t number, char *ret_text, size_t room);

/* NULL if there is no operation with that number. */
const struct ct_operation *ct_operations_find(const struct ct_operations *operations, uint64_t number);

/* Its place among them, from 1; 0: there is none. */
uint64_t ct_operations_place(const struct ct_operations *operations, uint64_t number);

/* The places of the operations that threads are within while a log is read. Zero-initialise; at is to be
 * freed. */
struct ct_within {
	struct ct_in_thread {
		uint64_t thread, place;
	} * at;
	uint64_t count, capacity;
};
NVW_CHECKED int ct_within_of(struct ct_within *within, uint64_t thread, uint64_t **ret_place);

/* All of them acknowledged, or begun: the obligations at the end of the run. */
NVW_CHECKED int ct_operations_owe(const struct ct_operations *operations, struct nvw_acks *acks);

/* Operations as JSON for saved findings, [[number, name], ...], and back. */
json_t *ct_operations_json(const struct ct_operations *operations);
NVW_CHECKED int ct_operations_from_json(const json_t *json, struct ct_operations *ret_operations);

#endif
