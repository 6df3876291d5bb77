/* SPDX-License-Identifier: BSD-3-Clause */
/* The text of a program: its machine, its variables, and a line for each step. */

#include <observe/names.h>

#include "core/each.h"
#include "core/invariant.h"
#include "torture_program.h"

static void name_in_slot(const struct torture_program *p, unsigned variable, unsigned slot, char buffer[24])
{
	enum { TEXT = 24 };
	const struct {
		const char *name;
		unsigned variable;
	} of_slot[] = {{"lock", p->lock[slot]}, {"turn", p->turn[slot]}, {"ticket", p->ticket[slot]}};

	NVW_INVARIANT(slot < TORTURE_SLOTS);
	NVW_EACH_IN(one, of_slot) {
		if (variable == one->variable) {
			snprintf(buffer, TEXT, "%s%u", one->name, slot);
		}
	}
	NVW_FOR(group, p->groups) {
		if (variable == p->local_turn[slot][group]) {
			snprintf(buffer, TEXT, "turn%u.%u", slot, group);
		}
	}
}

const char *torture_variable_name(const struct torture_program *p, unsigned variable, char buffer[24])
{
	NVW_INVARIANT(variable < p->variable_count && p->data_count <= p->variable_count);
	snprintf(buffer, 24, "d%u", variable);
	for (unsigned slot = 0; variable >= p->data_count && slot < TORTURE_SLOTS; slot++) {
		name_in_slot(p, variable, slot, buffer);
	}
	return buffer;
}

static const char *const styles[] = {
#define X(name, text) text,
	TORTURE_STYLES(X)
#undef X
};

static void print_sync(
	const struct torture_program *p, const char *what, const struct torture_sync *sync, FILE *to)
{
	char name[24];

	if (sync->variable >= 0) {
		fprintf(to, " %s %s (%s, %s, %u);", what,
			torture_variable_name(p, (unsigned)sync->variable, name),
			emu_order_names[sync->order], emu_scope_names[sync->scope], sync->how);
	}
}

static void print_op(const struct torture_program *p, const struct torture_step *step,
	const struct torture_op *op, FILE *to)
{
	char name[24] = "its own";

	if (op->kind == NVW__P_BARRIER) {
		fprintf(to, " persist barrier;");
		return;
	}
	if (step->set < 0 || p->sets[step->set].style != TORTURE_TICKET) {
		torture_variable_name(p, op->variable, name);
	}
	fprintf(to, " %s%s %s", op->is_issued ? "issued " : "", emu_kind_names[op->kind], name);
	if (op->kind >= NVW__ATOMIC_LOAD) {
		fprintf(to, " (%s, %s)", emu_order_names[op->order], emu_scope_names[op->scope]);
	}
	putc(';', to);
}

static void print_meeting(const struct torture_step *step, FILE *to)
{
	fprintf(to, "%s of ", step->persist ? "persist barrier" : "barrier");
	if (step->group < 0) {
		fputs("the kernel", to);
	} else {
		fprintf(to, "work-group %d", step->group);
	}
}

static void print_subject(const struct torture_program *p, const struct torture_step *step, FILE *to)
{
	switch (step->kind) {
	case TORTURE_LAUNCH:
		fprintf(to, "launch: %u work-groups of %u", p->groups, p->group_size);
		break;
	case TORTURE_HOST:
		fputs("host:", to);
		break;
	case TORTURE_MEET:
		print_meeting(step, to);
		break;
	case TORTURE_ACCESS:
		fprintf(to, "work-item %u of group %u, %s:", step->work_item,
			torture_group_of(p, step->work_item), styles[p->sets[step->set].style]);
	}
}

static void print_step(const struct torture_program *p, const struct torture_step *step, FILE *to)
{
	NVW_INVARIANT(!step->removed);
	fprintf(to, "  %3u ", (unsigned)(step - p->steps));
	print_subject(p, step, to);
	print_sync(p, "acquire", &step->acquire, to);
	NVW_EACH(op, p->ops + step->first_op, step->op_count) {
		print_op(p, step, op, to);
	}
	print_sync(p, "release", &step->release, to);
	putc('\n', to);
}

static void print_line(const struct torture_program *p, unsigned line, FILE *to)
{
	char name[24];

	NVW_INVARIANT(line < p->line_count);
	fprintf(to, " %s %u", p->lines[line].is_nvram ? "NVRAM" : "DRAM", p->lines[line].number);
	NVW_FOR(i, p->variable_count) {
		const struct torture_variable *const v = &p->variables[i];

		if (v->line == line) {
			fprintf(to, " %s@%u:%u", torture_variable_name(p, i, name), v->offset, v->size);
		}
	}
}

static void print_settings(const char *const *setting, FILE *to)
{
	fputs("  but:", to);
	for (; *setting; setting++) {
		fprintf(to, " %s", *setting);
	}
	putc('\n', to);
}

void torture_print(const struct torture_program *p, FILE *to)
{
	fprintf(to, "  machine: %s, seed %llu, schedule %u\n", p->machine, (unsigned long long)p->config.seed,
		p->schedule);
	if (p->settings && *p->settings) {
		print_settings(p->settings, to);
	}
	fputs("  lines:", to);
	NVW_FOR(line, p->line_count) {
		fputs(line > 0 ? ";" : "", to);
		print_line(p, line, to);
	}
	putc('\n', to);
	NVW_EACH(step, p->steps, p->step_count) {
		if (!step->removed) {
			print_step(p, step, to);
		}
	}
}
