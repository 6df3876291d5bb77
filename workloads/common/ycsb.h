/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * YCSB core workloads (Cooper, Silberstein, Tam, Ramakrishnan, Sears, "Benchmarking Cloud Serving Systems
 * with YCSB", SoCC 2010): the six mixes and the load phase by name, and any mix from a YCSB property
 * file.
 *
 * Properties used (others are ignored, as in YCSB):
 *   readproportion updateproportion insertproportion scanproportion readmodifywriteproportion
 *                           shares of the operations; their sum is scaled to 1
 *   requestdistribution     zipfian, uniform or latest
 *   recordcount operationcount fieldcount fieldlength
 *   minscanlength maxscanlength scanlengthdistribution (uniform or zipfian)
 * Defaults are those of YCSB: reads 0.95, updates 0.05, requests uniform, 10 fields of 100 bytes, scans of 1
 * to 1000 records. A line is "name=value" or "name: value"; lines that begin with # or ! are comments. Lines
 * that end in a backslash (Java's continuation) are refused.
 *
 * Records are numbered from 0; a structure maps them to keys (keys_of_record).
 */
#ifndef WORKLOADS_COMMON_YCSB_H
#define WORKLOADS_COMMON_YCSB_H

#include <stdio.h>

#include "zipf.h"

#include <nvw/workload.h>

enum ycsb_op { YCSB_READ, YCSB_UPDATE, YCSB_INSERT, YCSB_SCAN, YCSB_READ_MODIFY_WRITE, YCSB_OPS };
enum ycsb_distribution { YCSB_UNIFORM, YCSB_ZIPFIAN, YCSB_LATEST };

struct ycsb {
	double share[YCSB_OPS]; /* of the operations; the sum is 1 */
	uint64_t request;       /* enum ycsb_distribution */
	uint64_t records, operations;
	uint64_t field_count, field_length; /* bytes */
	uint64_t scan_min, scan_max;        /* records */
	uint64_t scan_distribution;         /* enum ycsb_distribution; uniform or zipfian */
};

/*
 * A mix by name ("a" to "f"; "load": inserts into an empty structure) or from a property file. NVW_E_INPUT
 * with file and line for a value that is not a number, a share below 0, no share above 0, an unknown
 * distribution; NVW_E_MEMORY.
 */
NVW_CHECKED int ycsb_load(const char *name_or_path, struct ycsb *ret_ycsb);

/* The mix of a workload's options --ycsb and --keys: the latter replaces the distribution of its requests.
 * NVW_E_USAGE if it is none of YCSB's. */
NVW_CHECKED int ycsb_of_options(const struct nvw_options *options, struct ycsb *ret_ycsb);

/* A generator of the requests of a mix. */
struct ycsb_requests {
	struct ycsb mix;
	struct nvw_random random;
	struct zipf zipf, scan_zipf;
	uint64_t records;  /* currently present: the loaded ones and the inserts so far */
	uint64_t expected; /* records over which the zipfian distribution is spread */
};

struct ycsb_request {
	enum ycsb_op op;
	uint64_t record;      /* of an insert: the next new one; of a scan: the first */
	uint64_t scan_length; /* records, 0 unless op is YCSB_SCAN */
};

/* records are loaded, more than 0 unless all requests are inserts, and operations requests are expected (they
 * may differ from the mix's own). */
void ycsb_requests_init(struct ycsb_requests *r, const struct ycsb *mix, uint64_t records,
	uint64_t operations, uint64_t seed);
struct ycsb_request ycsb_requests_next(struct ycsb_requests *r);

#endif
