/* SPDX-License-Identifier: BSD-3-Clause */
/* See exec_kernels.h. */
#include "exec_kernels.h"

#include <string.h>
#include <unistd.h>

#include "core/member.h"

#include "../../host/kernels.h"
#include "../report/words.h"

int exec_kernels_load(const struct host_session *s, const char *option, json_t **ret_report)
{
	char path[512];
	json_error_t wrong;

	host_kernels_report(s, path, sizeof path);
	if (access(path, F_OK) != 0 && WIFSIGNALED(s->status)) {
		fprintf(stderr, "nvwave: note: no report on kernels: %s ended by signal %d (%s)\n",
			s->program, WTERMSIG(s->status), strsignal(WTERMSIG(s->status)));
		return 0;
	}
	NVW_FAIL_IF(access(path, F_OK) != 0, NVW_E_USAGE,
		"--%s: the program ran no kernels on the machine, or ended before it could report on "
		"them; nvwave-nvcc builds programs whose kernels run there",
		option);
	*ret_report = json_load_file(path, 0, &wrong);
	NVW_FAIL_IF(!*ret_report, NVW_E_INPUT, "%s: %s", path, wrong.text);
	return 0;
}

static double statistic(json_t *kernel, const char *name)
{
	return (double)member_number(json_object_get(kernel, "statistics"), name);
}

static void print_kernel(json_t *k, FILE *to)
{
	const double hits = statistic(k, "l1.load_hits"), loads = hits + statistic(k, "l1.load_misses");

	fprintf(to, "  %-24s %9lld %12lld %14.3f %14.0f %10.1f\n", member_string(k, "kernel"),
		member_number(k, "launches"), member_number(k, "work_items"),
		1e-6 * (double)member_number(k, "sim_time_ps"), statistic(k, "gpu.work_item_ops"),
		loads > 0 ? 100 * hits / loads : 0);
}

static void print_access(const char *before, json_t *access, FILE *to)
{
	fprintf(to, "%s%s at %s:%lld", before, member_string(access, "kind"), member_string(access, "file"),
		member_number(access, "line"));
}

static void print_races(const json_t *races, FILE *to)
{
	if (races && json_array_size(races) == 0) {
		fprintf(to, "no races\n");
	}
	JSON_EACH(race, races) {
		fprintf(to, "race in kernel %s:", member_string(race, "kernel"));
		print_access(" ", json_object_get(race, "first"), to);
		print_access(" and ", json_object_get(race, "second"), to);
		fprintf(to, ", %lld times%s\n", member_number(race, "times"),
			words_if(member_flag(race, "scope_mismatch"), ", scope mismatch"));
	}
}

static void print_kernels_head(const json_t *report, FILE *to)
{
	fprintf(to, "kernels on %s, protocol %s:\n", member_string(report, "machine"),
		member_string(report, "protocol"));
	fprintf(to, "  %-24s %9s %12s %14s %14s %10s\n", "kernel", "launches", "work-items", "sim. time (us)",
		"operations", "L1 hits %");
}

void exec_kernels_text(const json_t *report, FILE *to)
{
	if (!report) {
		return;
	}
	print_kernels_head(report, to);
	JSON_EACH(kernel, json_object_get(report, "kernels")) {
		print_kernel(kernel, to);
	}
	print_races(json_object_get(report, "races"), to);
}

bool exec_kernels_race(const json_t *report)
{
	return json_array_size(json_object_get(report, "races")) > 0;
}
