/* SPDX-License-Identifier: BSD-3-Clause */
/* See hand_log.h. */
#include "hand_log.h"
#include "memory_log.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

nvw_off data_off(unsigned op)
{
	return 64 * (nvw_off)op;
}

nvw_off flag_off(unsigned op)
{
	return FLAGS + 64 * (nvw_off)op;
}

void log_append(struct hand_log *run, struct nvw_log_record record)
{
	run->time_ps += 1000;
	record.time_ps = run->time_ps;
	assert_int_equal(nvw_log_append(run->w, &record), 0);
}

void log_name_site(struct hand_log *run, uint32_t id, uint32_t line)
{
	log_append(run, (struct nvw_log_record){.kind = NVW_LOG_SITE,
				.site = {.id = id, .line = line, .file = "queue.c", .function = "enqueue"}});
}

struct hand_log log_begin(unsigned atomicity)
{
	const struct nvw_log_info info = {
		.workload = "queue", .pool_bytes = POOL_BYTES, .atomicity = atomicity};
	struct hand_log run = {.fd = memfd_create("log", MFD_CLOEXEC)};

	assert_true(run.fd >= 0);
	assert_int_equal(nvw_log_create_fd(dup(run.fd), "test log", &info, &run.w), 0);
	log_name_site(&run, DATA_SITE, 10);
	log_name_site(&run, FLAG_SITE, 20);
	log_append(&run, launch_record(1, 64, 64, "enqueue"));
	return run;
}

void log_store(struct hand_log *run, uint32_t site, unsigned op, nvw_off off, uint64_t value)
{
	log_append(run, (struct nvw_log_record){.kind = NVW_LOG_STORE,
				.store = {.site = site,
					.kernel = 1,
					.work_item = op,
					.epoch_wi = 1,
					.bytes = 8,
					.off = off,
					.value = value}});
}

uint64_t log_issue(struct hand_log *run, nvw_off off, uint64_t value)
{
	uint64_t line[8] = {0};

	line[off % 64 / 8] = value;
	log_append(run, (struct nvw_log_record){.kind = NVW_LOG_ISSUE,
				.issue = {.write = ++run->write,
					.off = off & ~(nvw_off)63,
					.mask = (uint64_t)0xff << off % 64,
					.data = (const uint8_t *)line}});
	return run->write;
}

void log_done(struct hand_log *run, uint64_t write)
{
	log_append(run, (struct nvw_log_record){.kind = NVW_LOG_DONE, .done = {.write = write}});
}

void log_acknowledge(struct hand_log *run, unsigned op)
{
	log_append(run, (struct nvw_log_record){.kind = NVW_LOG_ACK, .ack = {.first = op, .count = 1}});
}

void log_end(struct hand_log *run)
{
	assert_int_equal(nvw_log_close(run->w, run->time_ps), 0);
}

int log_of_queue(unsigned ops, bool barrier)
{
	struct hand_log run = log_begin(8);

	NVW_FOR(op, ops) {
		log_store(&run, DATA_SITE, op, data_off(op), 100 + op);
		log_store(&run, FLAG_SITE, op, flag_off(op), 1);
		const uint64_t data = log_issue(&run, data_off(op), 100 + op);

		if (barrier) {
			log_done(&run, data);
		}
		const uint64_t flag = log_issue(&run, flag_off(op), 1);

		log_done(&run, flag);
		if (!barrier) {
			log_done(&run, data);
		}
		log_acknowledge(&run, op);
	}
	log_end(&run);
	return run.fd;
}

int judge_queue(void *context, struct ct_image *image, const struct nvw_acks *acks,
	struct nvw_findings *findings, volatile uint32_t *phase)
{
	int verdict = 0;

	*phase = CT_PHASE_CHECK;
	for (unsigned op = 0; op < FLAGS / 64; op++) {
		uint64_t data, flag;

		memcpy(&data, image->ro + data_off(op), 8);
		memcpy(&flag, image->ro + flag_off(op), 8);
		if (flag && data != 100 + op) {
			verdict = nvw_violation(
				findings, flag_off(op), "entry %u is published without its data", op);
		}
		if (!flag && nvw_acked(acks, op)) {
			verdict =
				nvw_violation(findings, flag_off(op), "acknowledged entry %u is missing", op);
		}
	}
	return verdict;
}

struct ct_result explored_under(enum ct_model model, int fd, ct_judge judge, uint64_t states, unsigned jobs)
{
	static const uint8_t zeroes[POOL_BYTES];
	const struct ct_exploration e = {
		.rules = {.model = model},
		.log_fd = fd,
		.initial = zeroes,
		.bytes = POOL_BYTES,
		.judge = judge,
		.options =
			{.mode = CT_OBSERVED, .states = states, .seed = 1, .jobs = jobs, .timeout_ms = 200},
	};
	static struct ct_result result; /* results are large */

	if (ct_explore(&e, NULL, &result)) {
		fail_msg("%s", nvw_error_message());
	}
	close(fd);
	ct_result_free(&result);
	return result;
}

struct ct_result explored(int fd, ct_judge judge, uint64_t states, unsigned jobs)
{
	return explored_under(CT_MODEL_OBSERVED, fd, judge, states, jobs);
}
