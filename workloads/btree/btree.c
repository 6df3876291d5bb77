/* SPDX-License-Identifier: BSD-3-Clause */
/* The B+tree as a workload: options, figures. docs/btree.md explains the structure. */
#include <stdio.h>

#include "common/figures.h"
#include "common/keys.h"
#include "plan.h"

static const char *const ops[] = {"insert", "update", "delete", "lookup", "scan", NULL};
static const char *const operations[] = {
	"insert", "update", "delete", "lookup", "scan", "read_modify_write", NULL};
static const char *const scopes[] = {"kernel", "workgroup", NULL};
static const char *const barriers[] = {"safe", "paper", NULL};

static const struct nvw_option options[] = {
	{"count", NVW_OPTION_COUNT, "10000", NULL, "operations [all keys of a key file]"},
	{"preload", NVW_OPTION_COUNT, "0", NULL, "keys bulk loaded before the measured operations"},
	{"op", NVW_OPTION_CHOICE, "insert", ops, "kind of operation"},
	{"ycsb", NVW_OPTION_STRING, "", NULL,
		"YCSB mix in place of --op: a to f, load, or a property file; --keys changes its requests"},
	{"order", NVW_OPTION_COUNT, "4", NULL,
		"most keys per node, 4 to 14; gope18's Table 3 implies about 4"},
	{"keys", NVW_OPTION_STRING, "uniform", NULL, KEYS_HELP},
	{"key-column", NVW_OPTION_COUNT, "0", NULL, KEYS_COLUMN_HELP},
	{"scope", NVW_OPTION_CHOICE, "workgroup", scopes,
		"of the persist barriers: gope18's Algorithm 1 (kernel) or 2 (workgroup)"},
	{"persist", NVW_OPTION_BOOL, "on", NULL, "off: the DRAM-only baseline"},
	{"undo", NVW_OPTION_BOOL, "on", NULL,
		"undo logging of splits; off measures only the barriers, and a crash may break the tree"},
	{"barriers", NVW_OPTION_CHOICE, "safe", barriers,
		"per level of an insertion: those that a crash needs, or the paper's one, a measurement that "
		"crash refuses"},
	{"batch", NVW_OPTION_COUNT, "8192", NULL, "operations per kernel launch"},
	{"group-size", NVW_OPTION_COUNT, "256", NULL, "work-items per work-group"},
	{"scan-length", NVW_OPTION_COUNT, "50", NULL, "pairs read per scan"},
	{NULL, NVW_OPTION_COUNT, NULL, NULL, NULL},
};

/* Number of levels whose writes are reported, from the leaves upwards. */
static int report_levels(const struct btree_plan *p, struct nvw_description *d)
{
	char name[64], suffix[16] = "";

	for (unsigned level = 0; level < p->height; level++) {
		double a_scope = 0;

		if (level > 0) {
			snprintf(suffix, sizeof suffix, "-%u", level);
		}
		if (p->steps[level]) {
			a_scope = (double)p->writes[level] / (double)p->steps[level];
		}
		snprintf(name, sizeof name, "btree.nv_writes.leaf%s", suffix);
		NVW_TRY(nvw_describe_u64(d, name, p->writes[level], "count",
			"stores to NVRAM on this level, of the whole run"));
		snprintf(name, sizeof name, "btree.nv_writes_a_scope.leaf%s", suffix);
		NVW_TRY(nvw_describe_real(d, name, a_scope, "count",
			"of these, between a scope's persist barriers (gope18 Table 3)"));
	}
	return 0;
}

static int report(void *plan, struct nvw_machine *machine, struct nvw_description *d)
{
	const struct btree_plan *const p = plan;
	const struct figure rows[] = {
		{"btree.operations", p->count, "count", "measured operations"},
		{"btree.height", p->height, "levels", "levels at the end"},
		{"btree.nodes", p->node_count, "count", "nodes at the end"},
		{"btree.bytes", p->node_count * btree_node_bytes(p->slots), "bytes",
			"size of the tree at the end"},
		{"btree.splits", p->splits, "count", "nodes that were split"},
		{"btree.groups", p->groups, "count", "work-groups that inserted"},
		{"btree.found", p->found, "count", "keys that updates, deletes and lookups found"},
		{"btree.absent", p->absent, "count", "keys that they did not find"},
		{"btree.scanned", p->scanned, "count", "pairs that scans read"},
	};

	NVW_TRY(FIGURES_DESCRIBE(d, rows));
	return report_levels(p, d);
}

static void dispose(void *plan)
{
	struct btree_plan *const p = plan;

	if (p) {
		btree_end_run(p);
		btree_serve_dispose(p);
		btree_free_plan(p);
	}
}

extern const struct nvw_workload nvw_workload_btree;

const struct nvw_workload nvw_workload_btree = {
	.name = "btree",
	.summary =
		"B+tree: batched parallel insertion by gope18's Algorithms 1 and 2, update, delete, lookup, "
		"scan",
	.options = options,
	.mutations = btree_mutations,
	.lacks = btree_lacks,
	.trial = "count=600 preload=300 batch=200 group-size=64; count=600 preload=300 batch=200 "
		 "group-size=64 scope=kernel; "
		 "count=300 preload=300 batch=100 op=update; count=300 preload=300 batch=100 op=delete; "
		 "order=14 count=600 preload=300 batch=200 group-size=64",
	.prepare = btree_prepare,
	.dispose = dispose,
	.pool = btree_pool,
	.unfit = btree_unfit,
	.setup = btree_setup,
	.run = btree_run,
	.go_on = btree_go_on,
	.check = btree_check,
	.parts = &btree_parts,
	.inspect = btree_inspect,
	.report = report,
	.serving = &btree_serving,
	.operations = operations,
	.unguarded = btree_unguarded,
};
