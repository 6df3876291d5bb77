/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * YCSB core workloads (ycsb.h). Requests are drawn as YCSB's CoreWorkload draws them: the zipfian
 * distribution is spread over the loaded records and twice the expected inserts, and a draw that hits a
 * record not yet inserted is repeated.
 */
#include <assert.h>
#include "ycsb.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "bytes.h"

/* ---- The mixes -------------------------------------------------------------------------------- */

#define COMMON                                                                                      \
	.records = 1000, .operations = 1000, .field_count = 10, .field_length = 100, .scan_min = 1, \
	.scan_max = 1000

static const struct {
	const char *name;
	struct ycsb mix;
} core[] = {
	{"a", {COMMON, .share = {[YCSB_READ] = 0.5, [YCSB_UPDATE] = 0.5}, .request = YCSB_ZIPFIAN}},
	{"b", {COMMON, .share = {[YCSB_READ] = 0.95, [YCSB_UPDATE] = 0.05}, .request = YCSB_ZIPFIAN}},
	{"c", {COMMON, .share = {[YCSB_READ] = 1}, .request = YCSB_ZIPFIAN}},
	{"d", {COMMON, .share = {[YCSB_READ] = 0.95, [YCSB_INSERT] = 0.05}, .request = YCSB_LATEST}},
	{"e", {.records = 1000,
		      .operations = 1000,
		      .field_count = 10,
		      .field_length = 100,
		      .scan_min = 1,
		      .scan_max = 100,
		      .share = {[YCSB_SCAN] = 0.95, [YCSB_INSERT] = 0.05},
		      .request = YCSB_ZIPFIAN}},
	{"f", {COMMON, .share = {[YCSB_READ] = 0.5, [YCSB_READ_MODIFY_WRITE] = 0.5},
		      .request = YCSB_ZIPFIAN}},
	{"load", {.operations = 1000,
			 .field_count = 10,
			 .field_length = 100,
			 .scan_min = 1,
			 .scan_max = 1,
			 .share = {[YCSB_INSERT] = 1}}},
};

/* ---- Property files ------------------------------------------------------------------------------- */

static const char *const distributions[] = {
	[YCSB_UNIFORM] = "uniform",
	[YCSB_ZIPFIAN] = "zipfian",
	[YCSB_LATEST] = "latest",
};

enum property_type { PROPERTY_SHARE, PROPERTY_COUNT, PROPERTY_DISTRIBUTION };

static const struct property {
	const char *name;
	enum property_type type;
	size_t at;
	uint64_t limit; /* the largest count, or the number of distributions */
} properties[] = {
	{"readproportion", PROPERTY_SHARE, offsetof(struct ycsb, share[YCSB_READ]), 0},
	{"updateproportion", PROPERTY_SHARE, offsetof(struct ycsb, share[YCSB_UPDATE]), 0},
	{"insertproportion", PROPERTY_SHARE, offsetof(struct ycsb, share[YCSB_INSERT]), 0},
	{"scanproportion", PROPERTY_SHARE, offsetof(struct ycsb, share[YCSB_SCAN]), 0},
	{"readmodifywriteproportion", PROPERTY_SHARE, offsetof(struct ycsb, share[YCSB_READ_MODIFY_WRITE]),
		0},
	{"requestdistribution", PROPERTY_DISTRIBUTION, offsetof(struct ycsb, request), 3},
	{"recordcount", PROPERTY_COUNT, offsetof(struct ycsb, records), UINT64_C(1) << 40},
	{"operationcount", PROPERTY_COUNT, offsetof(struct ycsb, operations), UINT64_C(1) << 40},
	{"fieldcount", PROPERTY_COUNT, offsetof(struct ycsb, field_count), 1 << 20},
	{"fieldlength", PROPERTY_COUNT, offsetof(struct ycsb, field_length), 1 << 20},
	{"minscanlength", PROPERTY_COUNT, offsetof(struct ycsb, scan_min), 1 << 20},
	{"maxscanlength", PROPERTY_COUNT, offsetof(struct ycsb, scan_max), 1 << 20},
	{"scanlengthdistribution", PROPERTY_DISTRIBUTION, offsetof(struct ycsb, scan_distribution), 2},
};

struct place {
	const char *path;
	uint64_t line;
};

static int bad_value(const struct place *place, const char *name, const char *expected, const char *value)
{
	return nvw_fail(NVW_E_INPUT, "%s:%" PRIu64 ": %s: expected %s, found \"%.40s\"", place->path,
		place->line, name, expected, value);
}

static int set_share(const struct property *p, const char *value, void *to, const struct place *place)
{
	char *end;
	const double share = strtod(value, &end);

	if (end == value || *end != 0 || !(share >= 0) || share > 1e9) {
		return bad_value(place, p->name, "a share of at least 0", value);
	}
	*(double *)to = share;
	return 0;
}

static int set_count(const struct property *p, const char *value, void *to, const struct place *place)
{
	char *end;

	errno = 0;

	const unsigned long long count = strtoull(value, &end, 10);

	if (*value < '0' || *value > '9' || *end != 0 || errno != 0 || count > p->limit) {
		return bad_value(place, p->name, "a number within bounds", value);
	}
	*(uint64_t *)to = count;
	return 0;
}

static int set_distribution(const struct property *p, const char *value, void *to, const struct place *place)
{
	assert(p->limit <= sizeof(distributions) / sizeof(*distributions));
	NVW_FOR(i, p->limit) {
		if (strcmp(value, distributions[i]) == 0) {
			*(uint64_t *)to = i;
			return 0;
		}
	}
	return bad_value(
		place, p->name, p->limit == 3 ? "uniform, zipfian or latest" : "uniform or zipfian", value);
}

static int (*const setters[])(const struct property *, const char *, void *, const struct place *) = {
	[PROPERTY_SHARE] = set_share,
	[PROPERTY_COUNT] = set_count,
	[PROPERTY_DISTRIBUTION] = set_distribution,
};

static char *trim(char *text)
{
	char *end = text + strlen(text);

	while (end > text && strchr(" \t\r\f", end[-1])) {
		end--;
	}
	*end = 0;
	return text + strspn(text, " \t\f");
}

/* Parses one line in place. */
static int parse_line(char *line, struct ycsb *y, const struct place *place)
{
	char *const name = trim(line);

	if (*name == 0 || *name == '#' || *name == '!') {
		return 0;
	}
	NVW_FAIL_IF(name[strlen(name) - 1] == '\\', NVW_E_INPUT,
		"%s:%" PRIu64 ": lines continued by \"\\\" are not supported", place->path, place->line);

	char *const separator = strpbrk(name, "=:");

	NVW_FAIL_IF(!separator, NVW_E_INPUT, "%s:%" PRIu64 ": expected name=value, found \"%.40s\"",
		place->path, place->line, name);
	*separator = 0;
	trim(name);
	NVW_FOR(i, sizeof(properties) / sizeof(*properties)) {
		const struct property *const p = &properties[i];

		if (strcmp(name, p->name) == 0) {
			return setters[p->type](p, trim(separator + 1), (char *)y + p->at, place);
		}
	}
	return 0;
}

static int parse_lines(const char *path, char *content, struct ycsb *y)
{
	struct place place = {path, 0};
	char *next;

	for (char *line = content; line; line = next) {
		next = strchr(line, '\n');
		if (next) {
			*next++ = 0;
		}
		place.line++;
		NVW_TRY(parse_line(line, y, &place));
	}
	return 0;
}

/* Turns shares into fractions; refuses values that make a run impossible. */
static int normalise(const char *path, struct ycsb *y)
{
	double sum = 0;

	NVW_FOR(i, YCSB_OPS) {
		sum += y->share[i];
	}
	NVW_FAIL_IF(sum <= 0, NVW_E_INPUT, "%s: expected at least one proportion above 0", path);
	NVW_FOR(i, YCSB_OPS) {
		y->share[i] /= sum;
	}
	NVW_FAIL_IF(y->scan_min == 0 || y->scan_min > y->scan_max, NVW_E_INPUT,
		"%s: expected scans of 1 to maxscanlength records, found %" PRIu64 " to %" PRIu64, path,
		y->scan_min, y->scan_max);
	return 0;
}

int ycsb_load(const char *name_or_path, struct ycsb *ret_ycsb)
{
	NVW_FOR(i, sizeof(core) / sizeof(*core)) {
		if (strcmp(name_or_path, core[i].name) == 0) {
			*ret_ycsb = core[i].mix;
			return 0;
		}
	}

	struct ycsb y = {COMMON, .share = {[YCSB_READ] = 0.95, [YCSB_UPDATE] = 0.05}};
	uint64_t bytes;
	char *content;
	int error;

	NVW_TRY(bytes_slurp(name_or_path, &content, &bytes));
	error = strlen(content) != bytes ?
			nvw_fail(NVW_E_INPUT, "%s: expected a property file, found binary data",
				name_or_path) :
			parse_lines(name_or_path, content, &y);
	free(content);
	if (error == 0) {
		error = normalise(name_or_path, &y);
	}
	if (error == 0) {
		*ret_ycsb = y;
	}
	return error;
}

int ycsb_of_options(const struct nvw_options *options, struct ycsb *ret_ycsb)
{
	const char *const keys = nvw_option_string(options, "keys");
	uint64_t request = 0;

	NVW_TRY(ycsb_load(nvw_option_string(options, "ycsb"), ret_ycsb));
	nvw_option_stands(options, "keys", "%s", distributions[ret_ycsb->request]);
	if (!nvw_option_given(options, "keys")) {
		return 0;
	}
	while (request <= YCSB_LATEST && strcmp(keys, distributions[request]) != 0) {
		request++;
	}
	NVW_FAIL_IF(request > YCSB_LATEST, NVW_E_USAGE,
		"--ycsb makes the keys: with it, expected --keys=uniform, zipfian or latest, found "
		"\"%s\"",
		keys);
	NVW_FAIL_IF(ret_ycsb->share[YCSB_INSERT] == 1, NVW_E_USAGE,
		"--ycsb: of a mix that only inserts --keys changes nothing");
	ret_ycsb->request = request;
	return 0;
}

/* ---- Requests ------------------------------------------------------------------------------------- */

void ycsb_requests_init(
	struct ycsb_requests *r, const struct ycsb *mix, uint64_t records, uint64_t operations, uint64_t seed)
{
	assert(mix->scan_min <= mix->scan_max);
	*r = (struct ycsb_requests){.mix = *mix, .random = {seed}, .records = records};
	r->expected = records + (uint64_t)(2 * mix->share[YCSB_INSERT] * (double)operations);
	if (mix->request == YCSB_LATEST) {
		zipf_init(&r->zipf, records, ZIPF_YCSB_THETA);
	} else {
		zipf_init(&r->zipf, ZIPF_YCSB_ITEMS, ZIPF_YCSB_THETA);
	}
	zipf_init(&r->scan_zipf, mix->scan_max - mix->scan_min + 1, ZIPF_YCSB_THETA);
}

static enum ycsb_op choose_op(struct ycsb_requests *r)
{
	double left = nvw_random_real(&r->random);
	enum ycsb_op last = YCSB_READ;

	NVW_FOR(op, YCSB_OPS) {
		if (r->mix.share[op] > 0) {
			last = (enum ycsb_op)op;
			left -= r->mix.share[op];
			if (left < 0) {
				break;
			}
		}
	}
	assert(r->mix.share[last] > 0);
	return last;
}

static uint64_t choose_record(struct ycsb_requests *r)
{
	assert(r->records > 0);
	if (r->mix.request == YCSB_UNIFORM) {
		return nvw_random_below(&r->random, r->records);
	}
	if (r->mix.request == YCSB_LATEST) {
		zipf_grow(&r->zipf, r->records);
		return zipf_latest(&r->zipf, &r->random);
	}

	uint64_t record;

	do {
		record = zipf_scrambled(&r->zipf, r->expected, &r->random);
	} while (record >= r->records);
	return record;
}

static uint64_t choose_scan_length(struct ycsb_requests *r)
{
	const uint64_t lengths = r->mix.scan_max - r->mix.scan_min + 1;

	assert(r->mix.scan_min > 0);
	return r->mix.scan_min + (r->mix.scan_distribution == YCSB_ZIPFIAN ?
						 zipf_next(&r->scan_zipf, &r->random) :
						 nvw_random_below(&r->random, lengths));
}

struct ycsb_request ycsb_requests_next(struct ycsb_requests *r)
{
	struct ycsb_request request = {.op = choose_op(r)};

	if (request.op == YCSB_INSERT) {
		request.record = r->records++;
	} else {
		request.record = choose_record(r);
	}
	if (request.op == YCSB_SCAN) {
		request.scan_length = choose_scan_length(r);
	}
	assert(request.record < r->records && request.scan_length <= r->mix.scan_max);
	return request;
}
