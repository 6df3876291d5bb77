/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nvwave-pibench: drives an index that was built for PiBench (Lersch, Hao, Oukid, Wang, Willhalm, "Evaluating
 * Persistent Memory Range Indexes", VLDB 2019) by a YCSB mix, for nvwave exec. Each operation of the mix is
 * announced and acknowledged (nvw/ack.h), and each result is compared with what it has to be.
 *
 * PiBench's interface is a C++ class, tree_api, and a function, create_tree(). Below is how the Itanium C++
 * ABI, that of gcc and clang, lays both out, so that no C++ is needed: a pointer to a table of the virtual
 * functions in the order of their declarations, the destructor being two of them, and libstdc++'s
 * std::string.
 *
 * A wrong result is counted, and the run goes on: PiBench compares nothing, and published wrappers have such
 * results.
 */
#include <dlfcn.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <common/keys.h>
#include <common/ycsb.h>
#include <nvw/ack.h>

#include "core/each.h"
#include "core/invariant.h"
#include "core/units.h"

enum { WORD = 8, STATUS_WRONG = 1, STATUS_USAGE = 2 };

/* ---- PiBench's interface ------------------------------------------------------------------- */

struct tree;

typedef bool write_key(
	struct tree *tree, const char *key, size_t key_bytes, const char *value, size_t value_bytes);

/* Those that every version has. Some versions declare bulk_load() before them. */
struct tree_functions {
	bool (*find)(struct tree *tree, const char *key, size_t key_bytes, char *ret_value);
	write_key *insert, *update;
	bool (*remove)(struct tree *tree, const char *key, size_t key_bytes);
	int (*scan)(struct tree *tree, const char *key, size_t key_bytes, int records, char **ret_values);
};

struct tree {
	void (*const *table)(void);
};

enum { DELETING_DESTRUCTOR = 1, FIRST = 2 };

/* std::string of libstdc++; the text is not its own. */
struct text {
	const char *at;
	size_t bytes;
	char local[16];
};

struct tree_options {
	size_t key_bytes, value_bytes;
	struct text pool_path;
	size_t pool_bytes, threads;
};

typedef struct tree *create_tree(const struct tree_options *options);

/* ---- The run ------------------------------------------------------------------------------- */

struct run {
	const char *library, *mix_name, *pool_path;
	uint64_t records, operations, pool_bytes, seed;
	bool has_bulk_load; /* the user says so */
	struct ycsb mix;
	struct tree *tree;
	const struct tree_functions *call;
	uint64_t *value; /* of each record, 0: none */
	uint64_t count[YCSB_OPS];
	uint64_t wrong, unseen; /* results; scans whose records the library hands to nobody */
	char first_wrong[160];
};

static const char *const names[YCSB_OPS] = {[YCSB_READ] = "read",
	[YCSB_UPDATE] = "update",
	[YCSB_INSERT] = "insert",
	[YCSB_SCAN] = "scan",
	[YCSB_READ_MODIFY_WRITE] = "read-modify-write"};

static int fail(void)
{
	fprintf(stderr, "nvwave-pibench: %s\n", nvw_error_message());
	return STATUS_USAGE;
}

static void expect(struct run *r, bool is_right, const char *what, uint64_t record)
{
	if (!is_right && r->wrong++ == 0) {
		snprintf(r->first_wrong, sizeof r->first_wrong, "%s record %" PRIu64, what, record);
	}
}

static void find(struct run *r, uint64_t record)
{
	const uint64_t key = keys_of_record(record);
	uint64_t value = 0;
	const bool found = r->call->find(r->tree, (const char *)&key, WORD, (char *)&value);

	NVW_INVARIANT(record < r->records + r->operations);
	expect(r, found, "a look-up did not find", record);
	expect(r, !found || value == r->value[record], "a look-up found another value of", record);
}

static void write_record(struct run *r, write_key *call, uint64_t record, uint64_t value, const char *failure)
{
	const uint64_t key = keys_of_record(record);

	NVW_INVARIANT(record < r->records + r->operations);
	r->value[record] = value;
	expect(r, call(r->tree, (const char *)&key, WORD, (const char *)&value, WORD), failure, record);
}

static void insert(struct run *r, uint64_t record, uint64_t value)
{
	write_record(r, r->call->insert, record, value, "an insertion refused");
}

static void update(struct run *r, uint64_t record, uint64_t value)
{
	write_record(r, r->call->update, record, value, "an update did not find");
}

/* The first record of a scan is the one that it begins with, if the scan has its key. */
static void scan(struct run *r, uint64_t record, uint64_t length)
{
	const uint64_t key = keys_of_record(record);
	char *values = NULL;
	const int found = r->call->scan(r->tree, (const char *)&key, WORD, (int)length, &values);

	NVW_INVARIANT(record < r->records + r->operations);
	expect(r, found >= 1 && found <= (int)length, "a scan had too few or too many from", record);
	if (!values) {
		r->unseen++;
	} else if (found >= 1) {
		expect(r, !memcmp(values, &key, WORD) && !memcmp(values + WORD, &r->value[record], WORD),
			"a scan did not begin with", record);
	}
}

/* A value tells which operation has written it; 0 is none. */
static void carry_out(struct run *r, uint64_t i, const struct ycsb_request *q)
{
	const uint64_t value = r->records + i + 1;

	switch (q->op) {
	case YCSB_READ:
		find(r, q->record);
		break;
	case YCSB_UPDATE:
		update(r, q->record, value);
		break;
	case YCSB_INSERT:
		insert(r, q->record, value);
		break;
	case YCSB_SCAN:
		scan(r, q->record, q->scan_length);
		break;
	default:
		find(r, q->record);
		update(r, q->record, value);
	}
}

static void run_operations(struct run *r)
{
	struct ycsb_requests requests;

	ycsb_requests_init(&requests, &r->mix, r->records, r->operations, r->seed);
	NVW_FOR(i, r->operations) {
		const struct ycsb_request q = ycsb_requests_next(&requests);

		nvw_operation_begins(i, names[q.op]);
		carry_out(r, i, &q);
		nvw_operation_is_durable(i);
		r->count[q.op]++;
	}
}

/* Everything that was written is there in the end. */
static void check_all(struct run *r)
{
	NVW_FOR(i, r->records + r->operations) {
		if (r->value[i]) {
			find(r, i);
		}
	}
}

static void load(struct run *r)
{
	NVW_FOR(i, r->records) {
		insert(r, i, i + 1);
	}
}

/* PiBench's own interface has it not, some forks have; the names of an index's functions tell, unless they
 * are hidden. */
static bool has_bulk_load(const struct run *r)
{
	const union {
		void (*function)(void);
		const void *object;
	} first = {.function = r->tree->table[FIRST]};
	Dl_info found;

	if (r->has_bulk_load) {
		return true;
	}
	return dladdr(first.object, &found) && found.dli_saddr == first.object && found.dli_sname &&
	       strstr(found.dli_sname, "bulk_load");
}

static int open_tree(struct run *r)
{
	const struct tree_options options = {.key_bytes = WORD,
		.value_bytes = WORD,
		.pool_path = {.at = r->pool_path, .bytes = strlen(r->pool_path)},
		.pool_bytes = r->pool_bytes,
		.threads = 1};
	void *const library = dlopen(r->library, RTLD_NOW | RTLD_LOCAL);

	NVW_FAIL_IF(!library, NVW_E_USAGE, "%s", dlerror());
	union {
		void *object;
		create_tree *function;
	} create = {.object = dlsym(library, "create_tree")};

	NVW_FAIL_IF(!create.object, NVW_E_USAGE, "%s exports no create_tree(): it was not built for PiBench",
		r->library);
	r->tree = create.function(&options);
	r->value = calloc(r->records + r->operations, sizeof *r->value);
	NVW_FAIL_IF(!r->tree || !r->value, NVW_E_INPUT, "%s: create_tree() has made no tree", r->library);
	r->call = (const struct tree_functions *)(const void *)(r->tree->table + FIRST + has_bulk_load(r));
	return 0;
}

static void close_tree(struct run *r)
{
	if (r->tree) {
		((void (*)(struct tree *))r->tree->table[DELETING_DESTRUCTOR])(r->tree);
	}
	free(r->value);
}

static void print(const struct run *r)
{
	printf("%s: %" PRIu64 " operations of mix %s on %" PRIu64 " records:", r->library, r->operations,
		r->mix_name, r->records);
	NVW_FOR(i, YCSB_OPS) {
		if (r->count[i]) {
			printf(" %s=%" PRIu64, names[i], r->count[i]);
		}
	}
	if (r->wrong == 0) {
		fputs("; every result was right", stdout);
	}
	if (r->unseen) {
		printf("; records of %" PRIu64 " scans were not handed over, only their number was compared",
			r->unseen);
	}
	putchar('\n');
}

static int run(struct run *r)
{
	NVW_TRY(ycsb_load(r->mix_name, &r->mix));
	if (r->mix.share[YCSB_INSERT] == 1) {
		r->records = 0;
	} else if (r->records == 0) {
		return nvw_fail(NVW_E_USAGE, "expected at least one record to load, found 0");
	}
	NVW_TRY(open_tree(r));
	load(r);
	run_operations(r);
	check_all(r);
	return 0;
}

/* ---- The command line ---------------------------------------------------------------------- */

static const char help[] =
	"nvwave exec [options] -- nvwave-pibench LIBRARY.so [options]\n\n"
	"Runs a YCSB mix on an index that was built for PiBench (tree_api, create_tree), with keys and "
	"values of 8 bytes.\n\n"
	"  --mix=a..f|load|FILE   YCSB mix, or its property file [a]\n"
	"  --records=N            records inserted before the mix [1000]\n"
	"  --operations=N         operations of the mix [10000]\n"
	"  --pool=PATH            pool_path of the index\n"
	"  --pool-size=SIZE       its pool_size [0]\n"
	"  --seed=N               seed of the requests [1]\n"
	"  --bulk-load            tree_api begins with bulk_load(), and the library hides its functions' "
	"names\n\n"
	"Exit status: 0; 1 if a result was wrong; 2 if the library cannot be driven.\n";

enum { MIX = 1, RECORDS, OPERATIONS, POOL, POOL_SIZE, SEED, BULK_LOAD, HELP };

static int take(struct run *r, int option)
{
	switch (option) {
	case MIX:
		r->mix_name = optarg;
		return 0;
	case RECORDS:
		return nvw_parse_count(optarg, &r->records);
	case OPERATIONS:
		return nvw_parse_count(optarg, &r->operations);
	case POOL:
		r->pool_path = optarg;
		return 0;
	case POOL_SIZE:
		return nvw_parse_bytes(optarg, &r->pool_bytes);
	case SEED:
		return nvw_parse_count(optarg, &r->seed);
	case BULK_LOAD:
		r->has_bulk_load = true;
		return 0;
	default:
		return nvw_fail(NVW_E_USAGE, "see nvwave-pibench --help");
	}
}

static int take_words(struct run *r, int argc, char **argv)
{
	static const struct option options[] = {{"mix", 1, NULL, MIX}, {"records", 1, NULL, RECORDS},
		{"operations", 1, NULL, OPERATIONS}, {"pool", 1, NULL, POOL},
		{"pool-size", 1, NULL, POOL_SIZE}, {"seed", 1, NULL, SEED}, {"bulk-load", 0, NULL, BULK_LOAD},
		{"help", 0, NULL, HELP}, {0}};
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == HELP) {
			fputs(help, stdout);
			exit(0);
		}
		NVW_TRY(take(r, option));
	}
	NVW_FAIL_IF(optind + 1 != argc, NVW_E_USAGE, "expected one library, see nvwave-pibench --help");
	NVW_FAIL_IF(r->operations == 0 || r->operations >= 1 << 30, NVW_E_USAGE,
		"expected 1 to 2^30 - 1 operations");
	r->library = argv[optind];
	return 0;
}

int main(int argc, char **argv)
{
	struct run r = {.mix_name = "a", .pool_path = "", .records = 1000, .operations = 10000, .seed = 1};

	if (take_words(&r, argc, argv)) {
		return fail();
	}
	if (run(&r)) {
		return fail();
	}
	print(&r);
	close_tree(&r);
	if (r.wrong) {
		fprintf(stderr, "nvwave-pibench: %" PRIu64 " results were wrong, the first: %s\n", r.wrong,
			r.first_wrong);
		return STATUS_WRONG;
	}
	return 0;
}
