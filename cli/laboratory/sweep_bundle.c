/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sections [AXIS VALUE] of a sweep's file: what the value stands for, options and keys of the machine. See
 * sweep.h.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/array.h"
#include "core/invariant.h"
#include "sweep.h"

const struct sweep_bundle *sweep_bundle_of(const struct sweep *s, const char *axis, const char *value)
{
	return NVW_FIND(bundle, s->bundle, s->bundle_count,
		!strcmp(bundle->axis, axis) && !strcmp(bundle->value, value));
}

bool sweep_is_bundle_axis(const struct sweep *s, const char *axis)
{
	return NVW_ANY(bundle, s->bundle, s->bundle_count, !strcmp(bundle->axis, axis));
}

/* "AXIS VALUE" -> a bundle, a new one if there is none. */
static struct sweep_bundle *bundle_named(struct sweep *s, const char *section)
{
	NVW_INVARIANT(strchr(section, ' ') != NULL);

	const size_t n = strcspn(section, " ");
	const char *const value = section + n + strspn(section + n, " ");
	struct sweep_bundle new = {.axis = strndup(section, n), .value = strdup(value)};
	struct sweep_bundle *found = NULL;

	if (new.axis &&new.value) {
		found = (struct sweep_bundle *)sweep_bundle_of(s, new.axis, value);
		if (!found && NVW_ROOM(s->bundle, s->bundle_room, s->bundle_count + 1)) {
			s->bundle[s->bundle_count] = new;
			return &s->bundle[s->bundle_count++];
		}
	}
	free(new.axis);
	free(new.value);
	return found;
}

int sweep_bundle_add(struct sweep *s, const char *section, const char *name, const char *text)
{
	struct sweep_bundle *const b = bundle_named(s, section);

	NVW_ALLOCATED(b, SWEEP_NO_MEMORY);
	NVW_FAIL_IF(b->count == SWEEP_BUNDLE_MAX, NVW_E_USAGE, "%s: [%s] has more than %d settings", s->where,
		section, SWEEP_BUNDLE_MAX);
	NVW_FAIL_IF(!*text, NVW_E_USAGE, "%s: [%s]: %s has no value; - leaves the option out", s->where,
		section, name);
	NVW_FAIL_IF(
		!strcmp(name, "seed"), NVW_E_USAGE, "%s: [%s]: seed has to be an axis", s->where, section);
	b->name[b->count] = strdup(name);
	b->text[b->count] = strdup(text);
	if (!b->name[b->count] || !b->text[b->count]) {
		free(b->name[b->count]);
		free(b->text[b->count]);
		return nvw_fail(NVW_E_MEMORY, SWEEP_NO_MEMORY);
	}
	b->count++;
	return 0;
}

/* Each value has a section, if the axis has sections at all. */
static int check_values(const struct sweep *s, const struct sweep_axis *a)
{
	for (unsigned k = 0; sweep_is_bundle_axis(s, a->name) && k < a->count; k++) {
		NVW_FAIL_IF(strcmp(a->value[k], "-") != 0 && !sweep_bundle_of(s, a->name, a->value[k]),
			NVW_E_USAGE, "%s: axis %s: the value %s has no section [%s %s]", s->where, a->name,
			a->value[k], a->name, a->value[k]);
	}
	return 0;
}

int sweep_bundle_check(const struct sweep *s)
{
	NVW_EACH(bundle, s->bundle, s->bundle_count) {
		NVW_FAIL_IF(sweep_axis_named(s, bundle->axis) < 0, NVW_E_USAGE,
			"%s: there is no section [%s %s]: expected [sweep], [axes], or [AXIS VALUE] "
			"of an axis",
			s->where, bundle->axis, bundle->value);
	}
	NVW_EACH(axis, s->axis, s->axis_count) {
		NVW_TRY(check_values(s, axis));
	}
	return 0;
}

/* "data:FILE|OTHER": the file, if the folder of data has it, else the other. Freed by the caller. */
char *sweep_resolve(const struct sweep *s, const char *text)
{
	const char *const bar = strchr(text, '|');
	char *path = NULL;

	if (strncmp(text, "data:", 5) || !bar) {
		return strdup(text);
	}
	if (s->data && asprintf(&path, "%s/%.*s", s->data, (int)(bar - text - 5), text + 5) < 0) {
		return NULL;
	}
	if (path && access(path, R_OK) == 0) {
		return path;
	}
	free(path);
	return strdup(bar + 1);
}

static void bundle_end(struct sweep_bundle *b)
{
	NVW_INVARIANT(b->count <= SWEEP_BUNDLE_MAX);
	NVW_FOR(k, b->count) {
		free(b->name[k]);
		free(b->text[k]);
	}
	free(b->axis);
	free(b->value);
}

void sweep_bundles_end(struct sweep *s)
{
	NVW_EACH(bundle, s->bundle, s->bundle_count) {
		bundle_end(bundle);
	}
	free(s->bundle);
}
