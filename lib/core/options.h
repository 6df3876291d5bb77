/* SPDX-License-Identifier: BSD-3-Clause */
/* The values behind struct nvw_options (nvw/workload.h): parsed and checked by the command line. Not
 * thread-safe. */
#ifndef NVW_CORE_OPTIONS_H
#define NVW_CORE_OPTIONS_H

#include <nvw/workload.h>

/* The defaults of a table (NULL: an empty one). Freed by nvw__options_free(). */
NVW_CHECKED int nvw__options_create(const struct nvw_option *table, struct nvw_options **ret_options);
void nvw__options_free(struct nvw_options *options);

/* Sets an option from its text. NVW_E_USAGE names the option, the value, the expected values and the nearest
 * name. */
NVW_CHECKED int nvw__options_set(struct nvw_options *options, const char *name, const char *value);

/* "name=value ..." for the options given by the user, in the table's order; freed by the caller; NULL without
 * memory. */
char *nvw__options_text(const struct nvw_options *options);

/* Option number i of those that stand at another value than their default and were not given. */
bool nvw__options_moved(
	const struct nvw_options *options, unsigned i, const char **ret_name, const char **ret_text);

/* Option number i of those given by the user; false if there are not that many. */
bool nvw__options_given(
	const struct nvw_options *options, unsigned i, const char **ret_name, const char **ret_text);

#endif
