/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Other orders of a workload's wavefronts. Schedule 0 is the order of the machine's times; the others are
 * drawn from the seed: those with an odd number by PCT, the others at random (emu/time/order.c says what is
 * drawn). With every order they are the orders of conflicting accesses, numbered from 1
 * (explore/every_order.h).
 */
#ifndef CRASHTEST_SCHEDULES_H
#define CRASHTEST_SCHEDULES_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

struct emu_order;

enum { CT_SCHEDULE_TEXT = 400, CT_SCHEDULE_FINDINGS = 16, CT_SCHEDULES_MAX = 1 << 24 };

/* What is wrong under a schedule without any crash. */
#define CT_SCHEDULE_KINDS(X)       \
	X(RACE, "race")            \
	X(WRONG, "wrong result")   \
	X(ENDLESS, "does not end") \
	X(ERROR, "error of the kernel")
#define X(name, text) CT_SCHEDULE_##name,
enum ct_schedule_kind { CT_SCHEDULE_KINDS(X) };
#undef X
const char *ct_schedule_kind_name(enum ct_schedule_kind kind);

struct ct_schedule_finding {
	enum ct_schedule_kind kind;
	char text[CT_SCHEDULE_TEXT];
	uint64_t schedules; /* different ones that have it */
	uint64_t first;     /* the first schedule's number */
	char saved[256];    /* path of its file; "": not saved */
};

struct ct_schedules {
	uint64_t asked; /* 0: the order by time was the only one */
	unsigned depth; /* of PCT */
	uint64_t seed;
	uint64_t run, different;
	uint64_t failing;        /* different ones with a finding of any kind */
	uint64_t choices;        /* the most of one schedule; with every order, steps */
	bool every;              /* order was asked for */
	bool exhausted;          /* and there is no other; then there are none that were cut off */
	uint64_t redundant, cut; /* runs that ended early: they repeated an order; they were too long */
	double seconds;
	uint64_t unlisted; /* findings without a crash that are not below */
	unsigned finding_count;
	struct ct_schedule_finding finding[CT_SCHEDULE_FINDINGS];
};

/* The order of a schedule, but for by_time. */
void ct_schedule_order(uint64_t number, unsigned depth, uint64_t seed, struct emu_order *ret_order);
/* Its name: "by time", "PCT" or "random"; with every order "one of all". */
const char *ct_schedule_way(uint64_t number, bool every);

/* What a saved finding has of its schedule. */
struct ct_schedule_named {
	uint64_t number, seed;
	unsigned depth;
	const char *turns; /* with every order: whose steps they are; else NULL. Another's */
};
json_t *ct_schedule_json(const struct ct_schedule_named *named);
/* False: there is none. */
bool ct_schedule_from_json(const json_t *object, struct ct_schedule_named *ret_named);

#endif
