/* SPDX-License-Identifier: BSD-3-Clause */
/* A worker, from the inside. See worker.h. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <nvw/random.h>

#include "process.h"
#include "worker.h"

struct range {
	const struct ct_exploration *e;
	const struct ct_plan *plan;
	struct ct_medium *medium;
	struct ct_shared *shared;
	struct nvw_findings findings;
	struct ct_walk walk;
	unsigned *levels;
	unsigned level_capacity;
};

/* True if the state has not been tested before; notes it. */
static bool is_new(struct ct_shared *s, const struct ct_medium *m)
{
	const uint64_t key = nvw_mix64(ct_medium_key(m)) | 1;
	uint64_t i = (key >> 1) & (s->seen_capacity - 1);

	while (s->seen[i] != 0 && s->seen[i] != key) {
		i = (i + 1) & (s->seen_capacity - 1);
	}
	if (s->seen[i] == key) {
		return false;
	}
	s->seen[i] = key;
	return true;
}

/* Each shape counts once a state, however many keys are hit. */
static void note_findings(struct range *r)
{
	struct ct_shared *s = r->shared;
	char shapes[NVW__FINDINGS_MAX][CT_TEXT_BYTES];

	s->failing++;
	for (unsigned i = 0; i < r->findings.kept; i++) {
		const struct nvw__finding *v = &r->findings.finding[i];
		struct ct_finding f = {.off = v->off,
			.states = 1,
			.first_time_ps = r->medium->time_ps,
			.instant = s->instant,
			.draw = s->draw};
		bool again = false;

		ct_shape(v->text, shapes[i]);
		for (unsigned k = 0; k < i && !again; k++) {
			again = strcmp(shapes[k], shapes[i]) == 0;
		}
		if (!again) {
			snprintf(f.text, sizeof f.text, "%s", v->text);
			ct_groups_add(&s->groups, &f);
		}
	}
}

static void test_state(struct range *r, uint64_t draw)
{
	struct ct_medium *m = r->medium;
	struct ct_shared *s = r->shared;

	if (!ct_plan_draw(r->plan, m, draw, &r->walk, r->levels)) {
		return;
	}
	ct_medium_apply(m, r->levels);
	if (is_new(s, m)) {
		s->draw = draw;
		s->sequence++;
		s->distinct++;
		nvw__findings_clear(&r->findings);
		s->phase = CT_PHASE_OPEN;
		if (r->e->judge(r->e->context, &m->image, &m->acks, &r->findings, &s->phase)) {
			note_findings(r);
		}
		s->phase = CT_PHASE_IDLE;
	} else {
		s->equal++;
	}
	ct_medium_undo(m);
}

static int make_room(struct range *r)
{
	if (r->medium->cell_count <= r->level_capacity && r->levels != NULL) {
		return 0;
	}
	const unsigned n = 2 * r->medium->cell_count + 64;
	unsigned *levels = realloc(r->levels, n * sizeof *levels);

	if (levels == NULL) {
		return nvw_fail(NVW_E_MEMORY, "no memory for a crash state");
	}
	r->levels = levels;
	r->level_capacity = n;
	return 0;
}

/* Between two states what is shared is whole: the parent may write it down. */
static void wait_while_held(struct ct_shared *s)
{
	while (s->hold && !s->stop) {
		s->held = 1;
		usleep(200);
	}
	s->held = 0;
}

static int test_range(struct range *r, uint64_t draw, uint64_t last)
{
	struct ct_medium *m = r->medium;
	int error = 1;

	while (error == 1) {
		error = make_room(r);
		if (error) {
			return error;
		}
		r->shared->instant = m->instant;
		r->shared->next = draw;
		r->shared->time_ps = m->time_ps;
		const uint64_t draws = ct_plan_draws(r->plan, m);

		for (; draw < draws && !r->shared->stop; draw++) {
			test_state(r, draw);
			r->shared->next = draw + 1;
			wait_while_held(r->shared);
		}
		if (r->shared->stop) {
			return 0;
		}
		draw = 0;
		if (m->instant >= last) {
			return 0;
		}
		error = ct_medium_next(m);
	}
	return error;
}

/* The parent's image stays as it is: it is needed if this process dies. */
static int own_image(struct ct_medium *m)
{
	struct ct_image own;
	const int error = ct_image_create(m->image.rw, m->image.bytes, &own);

	if (error) {
		return error;
	}
	own.hash = m->image.hash;
	ct_image_destroy(&m->image);
	m->image = own;
	return 0;
}

void ct_worker_run(const struct ct_exploration *e, const struct ct_plan *plan, struct ct_medium *m,
	uint64_t first_draw, uint64_t last, struct ct_shared *shared)
{
	struct range r = {.e = e, .plan = plan, .medium = m, .shared = shared};

	ct_child_begin();
	signal(SIGINT, SIG_IGN); /* the parent decides */
	signal(SIGTERM, SIG_IGN);
	m->seen = NULL;
	int error = own_image(m);

	if (!error) {
		error = test_range(&r, first_draw, last);
	}
	if (error) {
		shared->error = error;
		snprintf(shared->message, sizeof shared->message, "%s", nvw_error_message());
	}
	shared->finished = !shared->stop;
	_exit(0);
}
