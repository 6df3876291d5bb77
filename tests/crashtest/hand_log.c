/* SPDX-License-Identifier: BSD-3-Clause */
/* See hand_log.h. */
#include "hand_log.h"

#include <unistd.h>

nvw_off data_off(unsigned op)
{
	return 64 * (nvw_off)op;
}

nvw_off flag_off(unsigned op)
{
	return FLAGS + 64 * (nvw_off)op;
}

void log_name_site(struct memory_log *run, uint32_t id, uint32_t line)
{
	log_append(run, (struct nvw_log_record){.kind = NVW_LOG_SITE,
				.site = {.id = id, .line = line, .file = "queue.c", .function = "enqueue"}});
}

struct memory_log log_begin(unsigned atomicity)
{
	const struct nvw_log_info info = {
		.workload = "queue", .pool_bytes = POOL_BYTES, .atomicity = atomicity};
	struct memory_log run = begin_log_as(&info);

	log_name_site(&run, DATA_SITE, 10);
	log_name_site(&run, FLAG_SITE, 20);
	log_append(&run,
		(struct nvw_log_record){.kind = NVW_LOG_LAUNCH,
			.launch = {.kernel = 1, .group_size = 64, .work_items = 64, .name = "enqueue"}});
	return run;
}

void log_acknowledge(struct memory_log *run, unsigned op)
{
	log_append(run, (struct nvw_log_record){.kind = NVW_LOG_ACK, .ack = {.first = op, .count = 1}});
}

int log_of_queue(unsigned ops, bool barrier)
{
	struct memory_log run = log_begin(8);

	NVW_FOR(op, ops) {
		log_store(&run, DATA_SITE, op, 0, data_off(op), 100 + op);
		log_store(&run, FLAG_SITE, op, 0, flag_off(op), 1);
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
	return log_end(&run);
}

int judge_queue(void *context, struct ct_image *image, const struct nvw_acks *acks,
	struct nvw_findings *findings, volatile uint32_t *phase)
{
	int verdict = 0;

	*phase = CT_PHASE_CHECK;
	for (unsigned op = 0; op < FLAGS / 64; op++) {
		const uint64_t data = ct_image_word(image, data_off(op)),
			       flag = ct_image_word(image, flag_off(op));

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
	struct ct_exploration e = exploration_of(fd, POOL_BYTES, judge, model);

	e.options = (struct ct_options){
		.mode = CT_OBSERVED, .states = states, .seed = 1, .jobs = jobs, .timeout_ms = 200};
	const struct ct_result *const result = explored_by(&e);

	close(fd);
	return *result;
}

struct ct_result explored(int fd, ct_judge judge, uint64_t states, unsigned jobs)
{
	return explored_under(CT_MODEL_OBSERVED, fd, judge, states, jobs);
}
