/* SPDX-License-Identifier: BSD-3-Clause */
/* Common code of the commands on pools. See pool_command.h. */
#include "../report/json_report.h"
#include "pool_command.h"

#include <string.h>

#include "check/check.h"
#include "core/invariant.h"
#include "core/describe.h"
#include "core/member.h"
#include "core/print.h"
#include "../registry.h"
#include "../session.h"
#include "../report/words.h"

int pool_command_named(const struct cli_options *given)
{
	NVW_FAIL_IF(given->argument_count == 0, NVW_E_USAGE, "%s: expected a pool file, or a folder of pools",
		given->command);
	return cli_options_at_most(given, 1);
}

int pool_command_check(struct nvw_pool *pool, json_t *report)
{
	NVW_INVARIANT(json_is_object(report));

	const struct nvw_workload *const w = nvw_workload_find(nvw_pool_geometry(pool)->layout);
	struct nvw_findings findings = {0};
	int r;

	if (!w || !w->check) {
		member_set_text(report, "structure", "unknown layout, not checked");
		return 0;
	}
	r = w->check(NULL, pool, NULL, &findings);
	if (r != 0 && r != NVW_E_INCONSISTENT) {
		return r;
	}
	member_set_text(report, "structure", r ? "inconsistent" : "consistent");
	json_object_set_new(report, "findings",
		JSON_LIST(finding, findings.finding, findings.kept, json_string(finding->text)));
	return r;
}

void pool_command_describe(json_t *object, const struct nvw_description *d)
{
	NVW_INVARIANT(json_is_object(object));
	NVW_EACH(value, d->values, d->count) {
		json_object_set_new(object, value->name, cli_value_json(value));
	}
}

static void print_value(const char *prefix, const char *name, const json_t *value)
{
	size_t i = 0;

	if (json_is_object(value)) {
		JSON_EACH_MEMBER(key, member, (json_t *)(uintptr_t)value) {
			char path[256];

			NVW_PRINT(path, "%s%s%s", prefix, words_if(*prefix, "."), key);
			print_value(path, key, member);
		}
		return;
	}
	if (json_is_array(value)) {
		JSON_EACH(member, value) {
			char path[256];

			NVW_PRINT(path, "%s[%zu]", prefix, i++);
			print_value(path, name, member);
		}
		return;
	}
	printf("%-28s ", prefix);
	if (json_is_string(value)) {
		puts(json_string_value(value));
	} else if (json_is_real(value)) {
		printf("%g\n", json_real_value(value));
	} else {
		printf("%lld\n", (long long)json_integer_value(value));
	}
}

void pool_command_print_findings(const json_t *report)
{
	JSON_EACH(finding, json_object_get(report, "findings")) {
		printf("  %s\n", json_string_value(finding));
	}
}

int pool_command_print(const json_t *report, bool json)
{
	NVW_INVARIANT(json_is_object(report));
	if (!json) {
		print_value("", "", report);
	} else if (cli_print_json(json_incref((json_t *)(uintptr_t)report), stdout)) {
		return NVW_E_SYSTEM;
	}
	return cli_flush();
}
