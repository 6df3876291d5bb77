/* SPDX-License-Identifier: BSD-3-Clause */
/* Pieces of an assembler's text. See piece.h. */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "core/invariant.h"
#include "piece.h"

struct piece piece_trim(struct piece p)
{
	while (p.n > 0 && isspace((unsigned char)*p.at)) {
		p.at++;
		p.n--;
	}
	while (p.n > 0 && isspace((unsigned char)p.at[p.n - 1])) {
		p.n--;
	}
	return p;
}

struct piece piece_rest(struct piece p, size_t n)
{
	NVW_INVARIANT(n <= p.n);
	return piece_trim((struct piece){p.at + n, p.n - n});
}

bool piece_begins(struct piece p, const char *with)
{
	const size_t n = strlen(with);

	return p.n >= n && strncasecmp(p.at, with, n) == 0;
}

bool piece_is(struct piece p, const char *text)
{
	return p.n == strlen(text) && piece_begins(p, text);
}

bool piece_begins_any(struct piece p, const char *const *texts)
{
	while (*texts != NULL && !piece_begins(p, *texts)) {
		texts++;
	}
	return *texts != NULL;
}

bool piece_is_any(struct piece p, const char *const *texts)
{
	while (*texts != NULL && !piece_is(p, *texts)) {
		texts++;
	}
	return *texts != NULL;
}

const char *piece_find(struct piece p, const char *text)
{
	for (size_t i = 0; i + strlen(text) <= p.n; i++) {
		if (strncasecmp(p.at + i, text, strlen(text)) == 0) {
			return p.at + i;
		}
	}
	return NULL;
}

struct piece piece_before(struct piece p, const char *text)
{
	const char *const at = piece_find(p, text);

	if (at != NULL) {
		p.n = (size_t)(at - p.at);
	}
	return piece_trim(p);
}

struct piece piece_behind(struct piece p, const char *text)
{
	const char *const at = piece_find(p, text);

	if (at == NULL) {
		return p;
	}
	NVW_INVARIANT(strlen(text) <= p.n);
	return piece_rest(p, (size_t)(at - p.at) + strlen(text));
}

size_t piece_word(struct piece p)
{
	size_t n = 0;

	while (n < p.n && (isalnum((unsigned char)p.at[n]) || strchr("._$@", p.at[n]))) {
		n++;
	}
	return n;
}
