/* SPDX-License-Identifier: BSD-3-Clause */
/* The output of "nvwave crash": the verdict first, then the amount of testing, then the findings. */
#ifndef CLI_CRASH_REPORT_H
#define CLI_CRASH_REPORT_H

#include <jansson.h>

#include <crashtest/crash.h>

/* The subject of the test, in words; the caller owns all strings. */
struct crash_heading {
	const char *workload, *machine, *protocol, *model;
	const char *mutation; /* "" for none */
	const char *command;  /* command that repeats this test */
	json_t *made_by;      /* provenance.h */
	unsigned atomicity;
	uint64_t seed;
	bool intervals;     /* list all intervals, in text */
	bool names_machine; /* the user has chosen it, or compares some */
	bool verbose;       /* also what says how the tester came to its verdict, and which machine it was */
};

void crash_matrix_text(const struct crash_heading *heading, const struct ct_matrix *matrix, FILE *to);
NVW_CHECKED int crash_matrix_json(
	const struct crash_heading *heading, const struct ct_matrix *matrix, FILE *to);

/* The atomicity that the test had; if there was no test, the machine's. */
static inline unsigned crash_atomicity(const struct crash_heading *h, const struct ct_result *r)
{
	return r->atomicity > 0 ? r->atomicity : h->atomicity;
}

/* What a tested state is called: "kill" or "state". */
const char *crash_state_name(const struct ct_result *result);

/* Whether the machine and its protocol matter to a reader: they are not those of every test that names
 * none. */
bool crash_names_machine(const struct crash_heading *heading, const struct ct_result *result);

/* The persistency model that judged, in permitted mode; else the machine's. */
const char *crash_model_name(const struct crash_heading *heading, const struct ct_result *result);

/* What the verdict does not cover, whatever was tested; "": nothing. */
const char *crash_caution(const struct ct_result *result);

/* The verdict, and what it is said of: the first words of a report. */
void crash_report_headline(const struct ct_result *result, FILE *to);

enum { CRASH_SAMPLED_MAX = 5, CRASH_SAMPLED_BYTES = 2 * CT_TEXT_BYTES };
/* Why instants were sampled although the check has parts: mistakes of the parts and, if asked for, limits of
 * the tester. How many reasons there are. */
unsigned crash_report_sampled(
	const struct ct_result *result, bool limits, char ret_line[CRASH_SAMPLED_MAX][CRASH_SAMPLED_BYTES]);

/* Whether assumption i excludes no state of any instant. */
bool crash_assumed_idle(const struct ct_result *result, unsigned i);

void crash_report_text(const struct crash_heading *heading, const struct ct_result *result, FILE *to);
/* What an index of reports has of it (report_index.h): some members of its JSON. NULL without memory. */
json_t *crash_report_brief(const struct crash_heading *heading, const struct ct_result *result);
/* NVW_E_MEMORY, or NVW_E_SYSTEM if it could not be written. */
NVW_CHECKED int crash_report_json(
	const struct crash_heading *heading, const struct ct_result *result, FILE *to);
/* What a report says that is not one number: parts, recovery and trust. */
void crash_records_read(const json_t *report, struct ct_result *ret_result);

#endif
