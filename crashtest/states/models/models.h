/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The models of crash states, one file each: the axioms (model.h), the effect of the log's records on stores,
 * and the model's uses. A new model is such a file and a line in emu/persist/models.def.
 *
 * The permitted combinations of levels (enum ct_levels), the width of a cell and the acknowledgements that a
 * state may undo follow from the axioms; a file has only what they do not determine.
 */
#ifndef CRASHTEST_MODELS_H
#define CRASHTEST_MODELS_H

#include "../medium.h"

typedef int ct_apply(struct ct_medium *medium, const struct nvw_log_record *record);

struct ct_model_rules {
	struct ct_model_info info;
	uint32_t completing;            /* kinds of records that are preceded by instants */
	ct_apply *apply[NVW_LOG_KINDS]; /* effect of a record; NULL: none */
	int (*at_instant)(
		struct ct_medium *medium); /* called before the states of an instant are used; may be NULL */
};

#define CT_KIND(kind) (UINT32_C(1) << NVW_LOG_##kind)

/* What the records of runs do that machines' models have in common. */
#define CT_RECORDS_OF_RUNS                                                                         \
	[NVW_LOG_LAUNCH] = ct_on_launch, [NVW_LOG_STORE] = ct_on_store,                            \
	[NVW_LOG_PERSISTED] = ct_on_persisted, [NVW_LOG_DRAINED] = ct_on_drained,                  \
	[NVW_LOG_HOST] = ct_on_host, [NVW_LOG_FLUSH] = ct_on_flush, [NVW_LOG_FENCE] = ct_on_fence, \
	[NVW_LOG_ACK] = ct_on_ack

#define MACHINE_MODEL(id, symbol, name) extern const struct ct_model_rules ct_model_##symbol;
#define STATE_MODEL(id, symbol, name)   extern const struct ct_model_rules ct_model_##symbol;
#include <persist/models.def>
#undef MACHINE_MODEL
#undef STATE_MODEL

static inline const struct ct_model_rules *ct_model_of(const struct ct_medium *m)
{
	return (const struct ct_model_rules *)(const void *)ct_model_info(m->rules.model);
}

static inline bool ct_has(const struct ct_medium *m, uint32_t axioms)
{
	return ct_model_info(m->rules.model)->axioms & axioms;
}

/* ---- shared.c: records of every log -------------------------------------------------------------------- */

ct_apply ct_on_host, ct_on_ack, ct_on_store;

/* ---- flushes.c: flushes and fences of host code -------------------------------------------------------- */

ct_apply ct_on_flush, ct_on_fence;
/* What was flushed in order (clflush) is durable. */
void ct_complete_ordered(struct ct_medium *medium);

/* ---- members.c: work-items, work-groups and kernels at barriers ---------------------------------------- */

ct_apply ct_on_launch, ct_on_persisted, ct_on_finish, ct_on_drained;
int ct_members_check(const struct ct_medium *medium, uint32_t kernel, uint64_t item, uint64_t group);
/* Before the record, something becomes certain that a narrowed barrier left uncertain. */
bool ct_members_owe(const struct ct_medium *medium, const struct nvw_log_record *record);
void ct_members_settle(struct ct_medium *medium, const struct nvw_log_record *record);
/* Narrowed: subtracts the epochs begun by removed barriers. */
void ct_lower_epochs(const struct ct_medium *medium, struct ct_stamp *stamp);

#endif
