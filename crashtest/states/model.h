/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The possible crash states: the models, each a set of axioms. An axiom states for two events which must be
 * durable first, or what is durable at all; a state is permitted if it violates none. A model is a file in
 * models/ and a line in emu/persist/models.def.
 *
 * "Before" between stores is the order of visibility (coherence order on the same bytes). If a model does not
 * order two stores, they may persist in any order: a cache may evict a line early, or never.
 */
#ifndef CRASHTEST_MODEL_H
#define CRASHTEST_MODEL_H

#include <stdbool.h>
#include <stdint.h>

/* clang-format off */
#define CT_AXIOMS(X) \
	X(DEVICE, "device", \
		"what the NVRAM has completed is durable, what it was sent may be, in part; the rest is " \
		"lost") \
	X(WORD, "word", "stores to one failure-atomic unit persist in coherence order") \
	X(BYTES, "bytes", "stores to the same bytes persist in coherence order, each as a whole") \
	X(VISIBILITY, "visibility", "stores persist in the order in which they became visible") \
	X(AT_ONCE, "at once", "a store is durable as it becomes visible") \
	X(COMPLETION, "completion", \
		"what a barrier orders is durable before anything that comes after its completion") \
	X(WORK_ITEM, "equation 1", \
		"a work-item's stores before its barrier persist before its stores after it") \
	X(WORK_GROUP, "equation 2", \
		"likewise for all of a work-group, if the barrier has its scope or a wider one") \
	X(KERNEL, "equation 3", "likewise for all of a kernel, if the barrier has its scope") \
	X(TOLD, "acknowledgement", \
		"an operation is acknowledged when all that its work-item's barriers order is durable") \
	X(HOST, "host", \
		"what the host writes is durable at once; when it waits for durability, everything is") \
	X(DRAIN, "drain", \
		"a kernel's end and a write by the host wait until everything before them is durable") \
	X(LINE, "line", "stores to one cache line persist in program order") \
	X(FENCE, "fence", "what a thread has flushed is durable when its fence has completed") \
	X(ORDERED, "ordered flush", "what was flushed by clflush is durable before any later store") \
	X(SECTOR, "sector", \
		"stores to one sector persist in the order in which they were made, those of one call " \
		"together") \
	X(SYNC, "sync", "what was written before a sync of its file, or of its range, is durable when the " \
		"sync has returned") \
	X(SIZE, "size", \
		"a file's sizes persist in order, each after what was written to uncover it; a range's " \
		"sync covers them") \
	X(NAMES, "names", \
		"names persist in order, and after earlier cuts and before later sizes; a file that " \
		"replaces another " \
		"is whole; a sync of a file covers its last name, one of a folder all names (--fs)") \
	X(INTERVAL, "interval", "of the stores flushed before a fence any subset is durable, in any order; " \
	"no others")
/* clang-format on */

enum ct_axiom {
#define X(id, name, text) CT_AXIOM_##id,
	CT_AXIOMS(X)
#undef X
};
#define CT_A(id) (UINT32_C(1) << CT_AXIOM_##id)

enum ct_model {
#define MACHINE_MODEL(id, symbol, name) CT_MODEL_##id,
#define STATE_MODEL(id, symbol, name)   CT_MODEL_##id,
#include <persist/models.def>
#undef MACHINE_MODEL
#undef STATE_MODEL
	CT_MODEL_COUNT
};

/* The permitted combinations of levels of an instant's cells (states.h). */
enum ct_levels {
	CT_FREE,  /* all combinations */
	CT_CHAIN, /* the stores up to one of them */
	CT_GRAPH  /* downward-closed sets of the persist order; all stores kept; acknowledgements depend */
};

/* What a model is taken for where the user names none. */
enum ct_use {
	CT_USE_NONE,
	CT_USE_TIMING,      /* the run's own timing: mode observed */
	CT_USE_RUNS,        /* a workload's run, or a machine's kernels */
	CT_USE_PROGRAMS,    /* a host program; its logs have the model's name */
	CT_USE_KEPT_CACHES, /* a machine whose domain keeps the caches */
	CT_USE_FILES,       /* a host program whose files are on a disk */
};

struct ct_model_info {
	const char *name, *who;
	enum ct_use use;
	uint32_t axioms; /* set of enum ct_axiom */
	enum ct_levels levels;
	bool replays;           /* uses the log's own write-backs: mode observed */
	bool of_runs;           /* for a workload's runs */
	bool of_programs;       /* for a host program's store log */
	bool counts_work_items; /* states may be grouped by what each work-item's stores do: --symmetric */
	bool bounds_reads;      /* a tree over the words read by recovery and check covers an instant */
	bool narrows;           /* its barriers have scopes, which the matrix narrows */
	bool cuts_apart;        /* an acknowledgement makes all states new: work may be divided there */
};
const struct ct_model_info *ct_model_info(enum ct_model model);

/* The model of that name, or NULL. */
const struct ct_model_info *ct_model_find(const char *name, enum ct_model *ret_model);

/* The model of a use. */
enum ct_model ct_model_for(enum ct_use use);

/* The model that the options name, else the one of that use. */
enum ct_model ct_model_or(enum ct_model named, enum ct_use use);

/* Its logs have threads and fences, but no work-items and barriers. */
bool ct_model_has_threads(enum ct_model model);
/* So have logs with that name of a model. */
bool ct_model_names_threads(const char *name);

/* A power cut loses nothing that was visible. */
bool ct_model_keeps_caches(enum ct_model model);

/* Text of axiom number i (bit i), NULL beyond the last. */
const char *ct_axiom_text(unsigned i, const char **ret_name);

struct ct_limits;

/* What was taken for restored: ranges of transactions, stores to them that were not durable at an instant,
 * and the bytes that these changed. */
struct ct_trusted {
	uint64_t ranges, stores, bytes;
};

/* A model with the parameters of an exploration. */
struct ct_rules {
	enum ct_model model;
	unsigned unit_bytes; /* failure atomicity: 8 or 64, of files also 512 or 4096; 0: as in the log */
	bool trusts;         /* what transactions of a host program restore is not uncertain (trust.h) */
	/* the log has stores of host code and of kernels (mixed.h); model is that of the kernels */
	bool mixed;
	/* Barriers at this source line order as if their scope were narrower by this many steps (kernel,
	 * work-group, work-item, none). NULL: no barrier is narrowed. Only the last component of the file is
	 * compared. */
	const char *narrow_file;
	uint32_t narrow_line;
	unsigned narrow_by;
	struct ct_limits *limits; /* limits.h; NULL: none */
	const uint8_t *filled;    /* of the image before the log (core/filled.h); NULL: not known */
	uint64_t begin_ps; /* the log's time from which a result's times count: the end of the set-up */
};

#endif
