/* SPDX-License-Identifier: BSD-3-Clause */
/* Answers that hold for other states. See same_reads.h. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/array.h"
#include "core/invariant.h"

#include "fork_server.h"
#include "same_reads.h"

enum { OBSERVED = 1, CHANGED = 2 }; /* a page; changed: since the command was told something else */

enum {
	PAGES_MAX = 512,     /* observed; of more, all is forgotten, and they are observed by and by */
	NODES_MAX = 1 << 23, /* 24 bytes each */
	ANSWERS_MAX = 1 << 16,
	TEXT_MAX = 1 << 12, /* of an answer's output */
	TRIALS = 64,        /* observed runs, by which it is seen whether it pays: */
	PAYS = 4,           /* one state in so many has the answer of another; */
	PAUSE = 256,        /* else it is not tried for so many states */
	REFUSALS_MAX = 3
};

/* A word, and its value in some states. Nodes that differ in the value alone are a chain. An answer ends a
 * path: its word is END. */
struct ct_same_node {
	uint64_t value; /* or the number of the answer */
	uint32_t word, next, child;
};

#define END UINT32_MAX

struct ct_same_answer {
	struct ct_answer answer;
	char *text;
};

static void forget(struct ct_same_reads *s)
{
	NVW_EACH(answer, s->answer, s->answers) {
		free(answer->text);
	}
	s->answers = 0;
	s->nodes = 1; /* 0 is none; its child is the first */
	if (s->node) {
		s->node[0].child = 0;
	}
}

static size_t size_of_set(uint64_t pages)
{
	return sizeof(struct ct_read_set) + (size_t)pages * (CT_READ_BITS * sizeof(uint64_t) + 2);
}

static void remove_set(struct ct_same_reads *s)
{
	if (s->set) {
		munmap(s->set, size_of_set(s->set->pages));
		close(s->fd);
		s->set = NULL;
	}
}

/* A fork of this process's server shares it. */
static bool make_set(struct ct_same_reads *s, uint64_t bytes)
{
	const uint64_t pages = (bytes + CT_READ_PAGE - 1) / CT_READ_PAGE;
	const size_t size = size_of_set(pages);

	NVW_INVARIANT(bytes > 0);
	s->fd = memfd_create("reads", MFD_CLOEXEC);
	if (s->fd < 0) {
		return false;
	}
	void *const map = ftruncate(s->fd, (off_t)size) ?
				  MAP_FAILED :
				  mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, 0);

	if (map == MAP_FAILED) {
		close(s->fd);
		return false;
	}
	s->set = map;
	s->set->pages = pages;
	return true;
}

/* Words of a page that vary from now on: true if there are any that did not. */
static bool observe_page(struct ct_same_reads *s, const struct ct_image *image, uint64_t page, uint8_t state)
{
	const uint64_t *const from = &image->varies[page * CT_PAGE_BITS];
	uint8_t *const observed = &ct_read_pages(s->set)[page];
	const bool more =
		*observed == 0 || memcmp(s->set->varies[page], from, sizeof s->set->varies[page]) != 0;

	NVW_INVARIANT(page < s->set->pages);
	if (more) {
		memcpy(s->set->varies[page], from, sizeof s->set->varies[page]);
	}
	s->pages += *observed == 0;
	*observed = state;
	return more;
}

static bool does_vary(const struct ct_image *image, uint64_t page)
{
	uint64_t any = 0;

	NVW_FOR(i, CT_PAGE_BITS) {
		any |= image->varies[page * CT_PAGE_BITS + i];
	}
	return any != 0;
}

/* All pages that vary, if they are not too many. */
static void observe_all(struct ct_same_reads *s, const struct ct_image *image)
{
	s->pages = 0;
	s->by_and_by = false;
	memset(ct_read_pages(s->set), 0, s->set->pages);
	for (uint64_t i = 0; i < s->set->pages && s->pages <= PAGES_MAX; i++) {
		if (does_vary(image, i)) {
			observe_page(s, image, i, OBSERVED);
		}
	}
	if (s->pages > PAGES_MAX) {
		s->pages = 0;
		s->by_and_by = true;
		memset(ct_read_pages(s->set), 0, s->set->pages);
	}
}

/* In a new process, or with a new image. */
static void begin_anew(struct ct_same_reads *s, const struct ct_image *image, uint64_t bytes)
{
	const uint64_t pages = (bytes + CT_READ_PAGE - 1) / CT_READ_PAGE;

	if (s->pid != getpid() || !s->set || s->set->pages != pages) {
		ct_fork_server_end(); /* it shares the set before */
		remove_set(s);
		s->useless = !make_set(s, bytes);
	}
	s->pid = getpid();
	s->serial = image->serial;
	s->bytes = bytes;
	if (s->set) {
		observe_all(s, image);
	}
	forget(s);
}

/* Pages that have changed since the last file: their words may differ from now on. */
static void observe_more(struct ct_same_reads *s, const struct ct_image *image)
{
	bool more = false;

	NVW_FOR(i, s->set->pages) {
		if (image->touched[i]) {
			more = observe_page(s, image, i, CHANGED) || more;
		}
	}
	if (more) {
		forget(s);
	}
}

/* The acknowledged operations are others. Where pages are observed by and by, those that have not changed
 * while they were the last ones are not observed until they change again. */
static void observe_less(struct ct_same_reads *s, uint64_t told)
{
	uint8_t *const observed = ct_read_pages(s->set);

	s->told = told;
	forget(s);
	for (uint64_t i = 0; i < s->set->pages && s->by_and_by; i++) {
		s->pages -= observed[i] == OBSERVED;
		observed[i] = observed[i] == CHANGED ? OBSERVED : 0;
	}
}

bool ct_same_reads_begin(struct ct_same_reads *s, const struct ct_image *image, uint64_t bytes, uint64_t told)
{
	if (!image->touched || image->serial == 0 || (s->pid == getpid() && s->useless)) {
		return false;
	}
	if (s->pid == getpid() && s->pause > 0) {
		s->serial = 0;
		s->pause--;
		return false;
	}
	if (s->pid != getpid() || s->serial != image->serial || s->pages > PAGES_MAX || s->bytes != bytes) {
		begin_anew(s, image, bytes);
		s->told = told;
		return false; /* this file is what later ones are compared with */
	}
	if (s->told != told) {
		observe_less(s, told);
	}
	observe_more(s, image);
	return true;
}

bool ct_same_reads_all(struct ct_same_reads *s, const struct ct_image *image, uint64_t bytes,
	const uint64_t (*words)[CT_READ_BITS])
{
	static const uint64_t none[CT_READ_BITS];

	if (s->pid != getpid() || !s->set || s->bytes != bytes) {
		begin_anew(s, image, bytes);
	}
	for (uint64_t i = 0; s->set && i < s->set->pages; i++) {
		memcpy(s->set->varies[i], words[i], sizeof none);
		ct_read_pages(s->set)[i] = memcmp(words[i], none, sizeof none) != 0;
		ct_read_haste(s->set)[i] = CT_EXACT;
	}
	return s->set;
}

static uint64_t value_in(const struct ct_image *image, uint32_t word)
{
	return ct_image_word(image, 8 * (uint64_t)word);
}

/* The node of a chain that has the value; 0: none. */
static uint32_t node_with(const struct ct_same_reads *s, uint32_t first, uint64_t value)
{
	uint32_t i = first;

	while (i != 0 && s->node[i].value != value) {
		i = s->node[i].next;
	}
	return i;
}

bool ct_same_reads_find(struct ct_same_reads *s, const struct ct_image *image, struct ct_answer *ret)
{
	uint32_t at = s->node ? s->node[0].child : 0;

	while (at != 0 && s->node[at].word != END) {
		const uint32_t same = node_with(s, at, value_in(image, s->node[at].word));

		at = same != 0 ? s->node[same].child : 0;
	}
	if (at == 0) {
		return false;
	}
	const struct ct_same_answer *const a = &s->answer[s->node[at].value];

	*ret = a->answer;
	ret->whole.text = a->text;
	s->found++;
	return true;
}

/* ---- Learning ------------------------------------------------------------------------------------------ */

static bool make_room(struct ct_same_reads *s, uint32_t nodes)
{
	if (s->nodes + nodes + 1 > NODES_MAX || s->answers == ANSWERS_MAX) {
		forget(s);
	}
	if (!s->answer) {
		s->answer = malloc(ANSWERS_MAX * sizeof *s->answer);
	}
	return s->answer && NVW_ROOM(s->node, s->capacity, s->nodes + nodes + 1);
}

static uint32_t add_node(struct ct_same_reads *s, uint32_t word, uint64_t value, uint32_t next)
{
	s->node[s->nodes] = (struct ct_same_node){.word = word, .value = value, .next = next};
	return s->nodes++;
}

/* False: the text of it cannot be kept. */
static bool add_answer(struct ct_same_reads *s, const struct ct_answer *a)
{
	struct ct_same_answer *const to = &s->answer[s->answers];

	if (a->whole.kept > TEXT_MAX) {
		return false;
	}
	to->answer = *a;
	to->text = malloc(a->whole.kept + 1);
	if (!to->text) {
		return false;
	}
	if (a->whole.kept > 0) {
		memcpy(to->text, a->whole.text, a->whole.kept);
	}
	s->answers++;
	return true;
}

/* False: a command that reads the same goes on to read something else, so it depends on more. */
static bool add_path(struct ct_same_reads *s, const struct ct_image *image)
{
	const uint32_t count = s->set->count;
	uint32_t above = 0;

	NVW_FOR(i, count) {
		const uint32_t word = s->set->word[i], first = s->node[above].child;
		const uint64_t value = value_in(image, word);

		if (first != 0 && s->node[first].word != word) {
			return false;
		}
		uint32_t at = node_with(s, first, value);

		if (at == 0) {
			at = add_node(s, word, value, first);
			s->node[above].child = at;
		}
		above = at;
	}
	if (s->node[above].child != 0) {
		return false;
	}
	s->node[above].child = add_node(s, END, s->answers - 1, 0);
	return true;
}

/* Whether it pays, after some trials. */
static void weigh(struct ct_same_reads *s)
{
	const uint64_t observed = s->observed - s->last;

	if (observed < TRIALS) {
		return;
	}
	s->pause = (s->found - s->most) * PAYS < observed ? PAUSE : 0;
	s->last = s->observed;
	s->most = s->found;
}

/* Pages that were opened late: true if there are some. */
static bool become_hasty(struct ct_same_reads *s)
{
	uint8_t *const haste = ct_read_haste(s->set), *const end = haste + s->set->pages;
	uint8_t *late = haste;
	bool some = false;

	while ((late = memchr(late, CT_WAS_LATE, (size_t)(end - late)))) {
		*late = CT_HASTY;
		some = true;
	}
	return some;
}

void ct_same_reads_expect(struct ct_same_reads *s, uint64_t device, uint64_t inode)
{
	s->set->device = device;
	s->set->inode = inode;
	s->set->began = s->set->gave_up = s->set->call = s->set->count = 0;
}

static void note_given_up(struct ct_same_reads *s)
{
	s->gave_up++;
	if (become_hasty(s)) {
		forget(s);
	}
	s->useless = s->gave_up >= REFUSALS_MAX;
}

bool ct_same_reads_learn(struct ct_same_reads *s, const struct ct_image *image, const struct ct_answer *a)
{
	const bool whole = s->set->began && !s->set->gave_up && a->in_time && WIFEXITED(a->status);

	NVW_INVARIANT(s->set);
	s->observed++;
	if (!whole) {
		note_given_up(s);
		return false;
	}
	weigh(s);
	if (become_hasty(s)) {
		forget(s); /* other forks note their words in another order */
		return true;
	}
	if (!make_room(s, s->set->count + 1)) {
		return true;
	}
	if (add_answer(s, a) && !add_path(s, image)) {
		s->useless = true;
	}
	return true;
}
