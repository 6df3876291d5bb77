/* SPDX-License-Identifier: BSD-3-Clause */
/* "Did you mean": Levenshtein distance, computed in the plain way because the words are short. Case is
 * ignored. */
#include "units.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "bounds.h"
#include "core/each.h"
#include "invariant.h"

enum { WORD_MAX = 64 };

static bool is_same(char a, char b)
{
	return tolower((unsigned char)a) == tolower((unsigned char)b);
}

static size_t distance(const char *a, const char *b)
{
	const size_t rows = strlen(a), columns = strlen(b);
	size_t row[WORD_MAX + 1];

	if (columns > WORD_MAX) {
		return columns;
	}
	NVW_DEEP_INVARIANT(columns < NVW_COUNT(row));
	for (size_t k = 0; k <= columns; k++) {
		row[k] = k;
	}
	for (size_t i = 1; i <= rows; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t k = 1; k <= columns; k++) {
			const size_t above = row[k];

			row[k] = nvw_min(
				nvw_min(above, row[k - 1]) + 1, diagonal + !is_same(a[i - 1], b[k - 1]));
			diagonal = above;
		}
	}
	return row[columns];
}

const char *nvw_nearest(const char *word, const char *const *names)
{
	const char *best = NULL;
	size_t best_distance = (strlen(word) + 2) / 3; /* a word with more than a third of its letters
	                                                * wrong does not match */

	for (; *names; names++) {
		/* A correct prefix counts as one wrong letter. */
		const bool begins = strlen(word) > 1 && !strncasecmp(word, *names, strlen(word));
		size_t d = distance(word, *names);

		if (begins) {
			d = nvw_min(d, 1);
		}
		if (d < best_distance || (d == best_distance && !best)) {
			best = *names;
			best_distance = d;
		}
	}
	return best;
}
