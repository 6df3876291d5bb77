/* SPDX-License-Identifier: BSD-3-Clause */
/* kv: a persistent hash table, as a workload. Options and hooks. */
#include "../common/keys.h"
#include "plan.h"

const char *const kv_scopes[] = {
	[KV_SCOPE_WORKITEM] = "workitem",
	[KV_SCOPE_WORKGROUP] = "workgroup",
	[KV_SCOPE_KERNEL] = "kernel",
	NULL,
};

const char *const kv_writer_names[] = {
	[KV_WRITERS_OWN] = "own",
	[KV_WRITERS_GROUP] = "group",
	NULL,
};

static const char *const operations[] = {
	[KV_OPERATION_GET] = "get",
	[KV_OPERATION_PUT] = "put",
	[KV_OPERATION_DELETE] = "delete",
	[KV_OPERATION_SCAN] = "scan",
	[KV_OPERATION_READ_MODIFY_WRITE] = "read_modify_write",
	NULL,
};

const struct nvw_option kv_options[] = {
	{"count", NVW_OPTION_COUNT, "10000", NULL, "operations [all keys of a key file]"},
	{"preload", NVW_OPTION_COUNT, "0", NULL, "keys put before the measured operations"},
	{"keys", NVW_OPTION_STRING, "uniform", NULL, KEYS_HELP},
	{"key-column", NVW_OPTION_COUNT, "0", NULL, KEYS_COLUMN_HELP},
	{"records", NVW_OPTION_COUNT, "0", NULL,
		"records that generated keys select from [preload, or count]"},
	{"mix", NVW_OPTION_STRING, "put", NULL, "put, get, delete, or like put=50,get=40,delete=10"},
	{"ycsb", NVW_OPTION_STRING, "", NULL,
		"YCSB mix: a to f, load, or a property file; --keys=uniform, zipfian or latest changes its "
		"requests"},
	{"value-size", NVW_OPTION_BYTES, "64B", NULL, "of every value, 1B to 4KiB"},
	{"scope", NVW_OPTION_CHOICE, "workitem", kv_scopes, "of the persist barriers"},
	{"writers", NVW_OPTION_CHOICE, "own", kv_writer_names,
		"of an entry: its own work-item, or its work-group (not with --scope=workitem)"},
	{"batch", NVW_OPTION_COUNT, "8192", NULL, "operations per kernel launch"},
	{"group-size", NVW_OPTION_COUNT, "256", NULL, "work-items per work-group"},
	{"slots", NVW_OPTION_COUNT, "256", NULL, "of the first table, rounded up to a power of two"},
	{NULL, NVW_OPTION_COUNT, NULL, NULL, NULL},
};

extern const struct nvw_workload nvw_workload_kv;

const struct nvw_workload nvw_workload_kv = {
	.name = "kv",
	.summary = "hash table: put, get and delete of 64-bit keys and values of 1 byte to 4 KiB",
	.options = kv_options,
	.mutations = kv_mutations,
	.lacks = kv_lacks,
	.trial = "count=600 batch=128 slots=64; count=600 batch=128 slots=64 mix=put=80,delete=20 "
		 "records=200; "
		 "count=600 batch=128 slots=64 scope=workgroup writers=group; "
		 "count=600 batch=128 slots=64 group-size=64 scope=kernel writers=group; "
		 "count=600 batch=128 slots=64 group-size=64 scope=workgroup writers=own",
	.prepare = kv_prepare,
	.dispose = kv_dispose,
	.pool = kv_pool,
	.setup = kv_setup,
	.run = kv_run,
	.go_on = kv_go_on,
	.recover = kv_recover,
	.check = kv_check,
	.parts = &kv_parts,
	.inspect = kv_inspect,
	.report = kv_report,
	.serving = &kv_serving,
	.operations = operations,
	.unguarded = kv_unguarded,
};
