/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Going on after a crash: a recovered state that passes the check becomes the NVRAM of a new machine, whose
 * caches and DRAM are empty; the workload carries out operations that are not acknowledged
 * (nvw_workload.go_on); all is made durable, recovered and checked again. States with the same bytes and
 * acknowledgements after recovery are worked on once per process.
 *
 * If it crashes again, a state that passes is worked on a second time: the power is cut at an instant of the
 * operations that the state's bytes and acknowledgements decide, and what is left must pass as well.
 * A finding of that has no cause: a state that differs in a bit has its second crash elsewhere.
 */
#ifndef CRASHTEST_GO_ON_H
#define CRASHTEST_GO_ON_H

#include "core/folder.h"

#include "oracle.h"

struct emu_config;

enum { CT_GONE_ON_MAX = 1 << 12 };

/* How findings begin that only the second crash has shown. */
#define CT_TWICE "after recovery, going on and a second crash"
bool ct_comes_of_second_crash(const char *finding);

struct ct_go_on {
	struct ct_oracle oracle;
	const struct emu_config *config;
	uint64_t operations;           /* at most, in a state */
	bool crashes;                  /* again */
	struct nvw_folder folder;      /* of the files, those of a process with its number */
	uint64_t seen[CT_GONE_ON_MAX]; /* keys of states that passed, by their low bits */
};

/* NVW_E_USAGE if the oracle's workload has no operations to go on with. All stays the caller's; ends with
 * ct_go_on_end(). */
NVW_CHECKED int ct_go_on_make(const struct ct_oracle *oracle, const struct emu_config *config,
	uint64_t operations, bool crashes, struct ct_go_on *ret_go_on);
void ct_go_on_end(struct ct_go_on *go_on);

/* A ct_judge: that of the oracle, and of a state that passes once more after going on; context is a struct
 * ct_go_on. An image has the pools of the run one behind the other. */
int ct_go_on_judge(void *go_on, struct ct_image *image, const struct nvw_acks *acks,
	struct nvw_findings *findings, volatile uint32_t *phase);

#endif
