/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Graphs from files (graph.h). Every reader scans lines and fields of the whole content in memory. No memory
 * is allocated on the word of a header, except rows for its nodes, which are bounded.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <nvw/random.h>

#include "common/bytes.h"
#include "graph.h"

enum { SHOWN_CHARS = 40, EXPECTED_CHARS = 160 };

/* ---- Lines and fields ------------------------------------------------------------------------------ */

struct scanner {
	const char *path;
	const char *next, *end;           /* the lines still to be read */
	const char *line, *at, *line_end; /* the current line, and the cursor in it */
	uint64_t number;                  /* of this line, from 1 */
	uint64_t header;                  /* line with the number of nodes and edges */
};

static bool next_line(struct scanner *s)
{
	if (s->next == s->end) {
		return false;
	}
	s->line = s->at = s->next;
	s->line_end = memchr(s->line, '\n', (size_t)(s->end - s->line));
	if (s->line_end) {
		s->next = s->line_end + 1;
	} else {
		s->line_end = s->next = s->end;
	}
	s->number++;
	return true;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == ',';
}

static void skip_blanks(struct scanner *s)
{
	assert(s->at <= s->line_end);
	while (s->at < s->line_end && is_blank(*s->at)) {
		s->at++;
	}
}

/* Length of the next field after blanks, 0 at the end of the line. */
static size_t peek_field(struct scanner *s)
{
	size_t n = 0;

	skip_blanks(s);
	while (s->at + n < s->line_end && !is_blank(s->at[n])) {
		n++;
	}
	return n;
}

static bool at_line_end(struct scanner *s)
{
	return peek_field(s) == 0;
}

static bool take_word(struct scanner *s, const char *word)
{
	const size_t n = peek_field(s);

	if (n == 0 || n != strlen(word) || strncasecmp(s->at, word, n) != 0) {
		return false;
	}
	s->at += n;
	return true;
}

/* False if it is no digit, or the number becomes too large. */
static bool append_digit(uint64_t *number, unsigned digit)
{
	return digit <= 9 && !__builtin_mul_overflow(*number, 10, number) &&
	       !__builtin_add_overflow(*number, digit, number);
}

static bool take_number(struct scanner *s, uint64_t *ret_number)
{
	const size_t n = peek_field(s);
	uint64_t number = 0;

	assert(s->at <= s->line_end);
	NVW_FOR(i, n) {
		if (!append_digit(&number, (unsigned)s->at[i] - '0')) {
			return false;
		}
	}
	s->at += n;
	*ret_number = number;
	return n > 0;
}

/* A weight or value, which is not used: a number with sign, fraction and exponent. */
static bool take_value(struct scanner *s)
{
	const size_t n = peek_field(s);
	char *end;

	if (n == 0) {
		return false;
	}
	(void)strtod(s->at, &end);
	if (end != s->at + n) {
		return false;
	}
	s->at += n;
	return true;
}

/* The line as shown in messages: shortened, without control characters. */
__attribute__((format(printf, 2, 3))) static int malformed(const struct scanner *s, const char *format, ...)
{
	const size_t length = (size_t)(s->line_end - s->line);
	char expected[EXPECTED_CHARS], found[SHOWN_CHARS + 1];
	size_t n = 0;
	va_list args;

	va_start(args, format);
	vsnprintf(expected, sizeof(expected), format, args);
	va_end(args);
	for (; n < length && n < SHOWN_CHARS; n++) {
		found[n] = s->line[n] < ' ' ? ' ' : s->line[n];
	}
	found[n] = 0;
	return nvw_fail(NVW_E_INPUT, "%s:%" PRIu64 ": expected %s, found \"%s%s\"", s->path, s->number,
		expected, found, n < length ? "..." : "");
}

/* At the end of the file, its content does not match its header. */
static int miscounted(const struct scanner *s, const char *what, uint64_t expected, uint64_t found)
{
	return nvw_fail(NVW_E_INPUT, "%s: expected %" PRIu64 " %s, as line %" PRIu64 " says, found %" PRIu64,
		s->path, expected, what, s->header, found);
}

static int check_count(const struct scanner *s, const char *what, uint64_t expected, uint64_t found)
{
	return found == expected ? 0 : miscounted(s, what, expected, found);
}

/* The number of nodes, in a header. */
static int check_nodes(const struct scanner *s, uint64_t nodes)
{
	if (nodes < 1 || nodes > GRAPH_NODES_MAX) {
		return malformed(s, "1 to %d nodes", GRAPH_NODES_MAX);
	}
	return 0;
}

/* A node from 1 to nodes, returned counted from 0. */
static bool take_node(struct scanner *s, uint64_t nodes, uint32_t *ret_node)
{
	uint64_t number;

	if (!take_number(s, &number) || number < 1 || number > nodes) {
		return false;
	}
	*ret_node = (uint32_t)(number - 1);
	return true;
}

/* ---- DIMACS and PACE ------------------------------------------------------------------------------- */

/* The next line that is neither blank nor a comment. */
static bool next_dimacs_line(struct scanner *s)
{
	while (next_line(s)) {
		if (!at_line_end(s) && !take_word(s, "c")) {
			return true;
		}
	}
	return false;
}

static int read_dimacs_header(struct scanner *s, uint64_t *ret_nodes, uint64_t *ret_lines)
{
	NVW_FAIL_IF(!next_dimacs_line(s), NVW_E_INPUT,
		"%s: expected a line \"p WORD NODES EDGES\", found none", s->path);
	s->header = s->number;
	if (!take_word(s, "p") || at_line_end(s)) {
		return malformed(s, "\"p WORD NODES EDGES\"");
	}
	s->at += peek_field(s); /* tw, sp, edge, col: the graph's purpose */
	if (!take_number(s, ret_nodes) || !take_number(s, ret_lines) || !at_line_end(s)) {
		return malformed(s, "\"p WORD NODES EDGES\"");
	}
	return check_nodes(s, *ret_nodes);
}

static int read_dimacs(struct scanner *s, struct graph_edges *edges, uint64_t *ret_nodes)
{
	uint64_t expected = 0, found = 0;

	NVW_TRY(read_dimacs_header(s, ret_nodes, &expected));
	for (; next_dimacs_line(s); found++) {
		uint32_t u, v;

		if (!take_word(s, "a")) {
			(void)take_word(s, "e");
		}
		if (!take_node(s, *ret_nodes, &u) || !take_node(s, *ret_nodes, &v) ||
			(!at_line_end(s) && (!take_value(s) || !at_line_end(s)))) {
			return malformed(s,
				"\"u v\", \"e u v\" or \"a u v weight\" with nodes from 1 to %" PRIu64,
				*ret_nodes);
		}
		NVW_TRY(graph_add_edge(edges, u, v));
	}
	return check_count(s, "lines of edges", expected, found);
}

/* ---- METIS ----------------------------------------------------------------------------------------- */

/* Fields of a line besides neighbours: node size and weights before them, a weight after each. */
struct metis_layout {
	uint64_t nodes, edges;
	uint64_t before;
	bool has_edge_weights;
};

static bool next_metis_line(struct scanner *s)
{
	while (next_line(s)) {
		if (s->line == s->line_end || *s->line != '%') {
			return true;
		}
	}
	return false;
}

/* fmt is three binary digits, without leading zeroes: sizes, weights of nodes, weights of edges. */
static bool take_metis_format(struct scanner *s, struct metis_layout *layout)
{
	uint64_t format = 0, constraints = 1;

	if (!at_line_end(s) &&
		(!take_number(s, &format) || (!at_line_end(s) && !take_number(s, &constraints)))) {
		return false;
	}
	if (format > 111 || format % 10 > 1 || format / 10 % 10 > 1 || constraints > GRAPH_NODES_MAX) {
		return false;
	}
	layout->before = format / 100 + (format / 10 % 10 ? constraints : 0);
	layout->has_edge_weights = format % 10 == 1;
	return at_line_end(s);
}

static int read_metis_header(struct scanner *s, struct metis_layout *layout)
{
	do {
		NVW_FAIL_IF(!next_metis_line(s), NVW_E_INPUT,
			"%s: expected a line \"NODES EDGES [fmt [ncon]]\", found none", s->path);
	} while (at_line_end(s));
	s->header = s->number;
	if (!take_number(s, &layout->nodes) || !take_number(s, &layout->edges) ||
		!take_metis_format(s, layout)) {
		return malformed(s, "\"NODES EDGES [fmt [ncon]]\", fmt of three digits 0 or 1");
	}
	return check_nodes(s, layout->nodes);
}

static int read_metis_node(struct scanner *s, const struct metis_layout *layout, uint32_t v,
	struct graph_edges *edges, uint64_t *arcs)
{
	NVW_FOR(i, layout->before) {
		if (!take_value(s)) {
			return malformed(
				s, "%" PRIu64 " sizes and weights of node %" PRIu32, layout->before, v + 1);
		}
	}
	for (; !at_line_end(s); ++*arcs) {
		uint32_t u;

		if (!take_node(s, layout->nodes, &u) || (layout->has_edge_weights && !take_value(s))) {
			return malformed(s, "neighbours%s of node %" PRIu32 ", from 1 to %" PRIu64,
				layout->has_edge_weights ? " and weights" : "", v + 1, layout->nodes);
		}
		NVW_TRY(graph_add_edge(edges, v, u));
	}
	return 0;
}

static int read_metis(struct scanner *s, struct graph_edges *edges, uint64_t *ret_nodes)
{
	struct metis_layout layout = {0};
	uint64_t arcs = 0, v = 0;

	NVW_TRY(read_metis_header(s, &layout));
	while (next_metis_line(s)) {
		if (v < layout.nodes) {
			NVW_TRY(read_metis_node(s, &layout, (uint32_t)v++, edges, &arcs));
		} else if (!at_line_end(s)) {
			NVW_TRY(malformed(s, "nothing after the line of node %" PRIu64, layout.nodes));
		}
	}
	*ret_nodes = layout.nodes;
	NVW_TRY(check_count(s, "lines of nodes", layout.nodes, v));
	/* Each edge is listed by both of its nodes. */
	if (arcs % 2 != 0 || arcs / 2 != layout.edges) {
		return miscounted(s, "edges", layout.edges, arcs / 2);
	}
	return 0;
}

/* ---- Matrix Market --------------------------------------------------------------------------------- */

#define MATRIX_MARKET "%%MatrixMarket"

static bool take_one_of(struct scanner *s, const char *const *words, unsigned *ret_index)
{
	for (unsigned i = 0; words[i]; i++) {
		if (take_word(s, words[i])) {
			*ret_index = i;
			return true;
		}
	}
	return false;
}

static int read_matrix_type(struct scanner *s, unsigned *ret_values)
{
	static const char *const fields[] = {"pattern", "real", "integer", "double", "complex", NULL};
	static const char *const symmetries[] = {"general", "symmetric", "skew-symmetric", "hermitian", NULL};
	static const unsigned values[] = {0, 1, 1, 1, 2};
	unsigned field, symmetry;

	if (!next_line(s) || !take_word(s, MATRIX_MARKET) || !take_word(s, "matrix") ||
		!take_word(s, "coordinate") || !take_one_of(s, fields, &field) ||
		!take_one_of(s, symmetries, &symmetry) || !at_line_end(s)) {
		return malformed(s,
			"\"%s matrix coordinate\", pattern, real, integer or complex, general or a symmetry",
			MATRIX_MARKET);
	}
	*ret_values = values[field];
	return 0;
}

static bool next_matrix_line(struct scanner *s)
{
	while (next_line(s)) {
		if (!at_line_end(s) && *s->at != '%') {
			return true;
		}
	}
	return false;
}

static int read_matrix_size(struct scanner *s, uint64_t *ret_nodes, uint64_t *ret_entries)
{
	uint64_t columns;

	NVW_FAIL_IF(!next_matrix_line(s), NVW_E_INPUT,
		"%s: expected a line \"ROWS COLUMNS ENTRIES\", found none", s->path);
	s->header = s->number;
	if (!take_number(s, ret_nodes) || !take_number(s, &columns) || !take_number(s, ret_entries) ||
		!at_line_end(s) || columns != *ret_nodes) {
		return malformed(s, "\"ROWS COLUMNS ENTRIES\" of a square matrix");
	}
	return check_nodes(s, *ret_nodes);
}

static int read_matrix(struct scanner *s, struct graph_edges *edges, uint64_t *ret_nodes)
{
	uint64_t expected = 0, found = 0;
	unsigned values = 0;

	NVW_TRY(read_matrix_type(s, &values));
	NVW_TRY(read_matrix_size(s, ret_nodes, &expected));
	for (; next_matrix_line(s); found++) {
		uint32_t u, v;
		bool is_good = take_node(s, *ret_nodes, &u) && take_node(s, *ret_nodes, &v);

		NVW_FOR(i, values) {
			is_good = is_good && take_value(s);
		}
		if (!is_good || !at_line_end(s)) {
			return malformed(
				s, "row and column from 1 to %" PRIu64 " and %u values", *ret_nodes, values);
		}
		NVW_TRY(graph_add_edge(edges, u, v));
	}
	return check_count(s, "entries", expected, found);
}

/* ---- Edge lists ------------------------------------------------------------------------------------ */

/* Map from the numbers in the file to nodes: open addressing, at most half full. */
struct renumbering {
	struct {
		uint64_t id;
		uint32_t node; /* from 1; 0: free */
	} * slots;
	uint64_t room; /* a power of two */
	uint32_t nodes;
};

static uint64_t find_slot(const struct renumbering *r, uint64_t id)
{
	uint64_t i = nvw_mix64(id + 1) & (r->room - 1);

	assert((r->room & (r->room - 1)) == 0);
	while (r->slots[i].node != 0 && r->slots[i].id != id) {
		i = (i + 1) & (r->room - 1);
	}
	return i;
}

static int grow(struct renumbering *r)
{
	struct renumbering larger = {.room = r->room ? 2 * r->room : 1024, .nodes = r->nodes};

	larger.slots = calloc(larger.room, sizeof(*larger.slots));
	NVW_ALLOCATED(larger.slots, "graph: no memory for %" PRIu64 " nodes", larger.room / 2);
	NVW_FOR(i, r->room) {
		if (r->slots[i].node != 0) {
			larger.slots[find_slot(&larger, r->slots[i].id)] = r->slots[i];
		}
	}
	free(r->slots);
	*r = larger;
	return 0;
}

static int renumber(const struct scanner *s, struct renumbering *r, uint64_t id, uint32_t *ret_node)
{
	if (2 * (uint64_t)r->nodes >= r->room) {
		NVW_TRY(grow(r));
	}

	const uint64_t i = find_slot(r, id);

	if (r->slots[i].node == 0) {
		if (r->nodes == GRAPH_NODES_MAX) {
			return malformed(s, "at most %d different nodes", GRAPH_NODES_MAX);
		}
		r->slots[i].id = id;
		r->slots[i].node = ++r->nodes;
	}
	*ret_node = r->slots[i].node - 1;
	return 0;
}

static int read_edge(struct scanner *s, struct renumbering *r, struct graph_edges *edges)
{
	uint64_t from, to;
	uint32_t u = 0, v = 0;

	if (!take_number(s, &from) || !take_number(s, &to) ||
		(!at_line_end(s) && (!take_value(s) || !at_line_end(s)))) {
		return malformed(s, "an edge \"u v\" of two numbers");
	}
	NVW_TRY(renumber(s, r, from, &u));
	NVW_TRY(renumber(s, r, to, &v));
	return graph_add_edge(edges, u, v);
}

static int read_edge_list(struct scanner *s, struct graph_edges *edges, uint64_t *ret_nodes)
{
	struct renumbering r = {0};
	int error = 0;

	while (error == 0 && next_line(s)) {
		if (!at_line_end(s) && *s->at != '#' && *s->at != '%') {
			error = read_edge(s, &r, edges);
		}
	}
	free(r.slots);
	*ret_nodes = r.nodes;
	NVW_FAIL_IF(error == 0 && r.nodes == 0, NVW_E_INPUT,
		"%s: expected edges \"u v\", found none in %" PRIu64 " lines", s->path, s->number);
	return error;
}

/* ---- Choice of the reader ------------------------------------------------------------------------------ */

typedef int (*reader)(struct scanner *s, struct graph_edges *edges, uint64_t *ret_nodes);

static bool begins_with_p(struct scanner s)
{
	return next_dimacs_line(&s) && take_word(&s, "p");
}

/* Whether path ends in ending, optionally followed by the suffix of a compressor. */
static bool has_ending(const char *path, const char *ending)
{
	static const char *const compressed[] = {
		"", ".gz", ".xz", ".zst", ".bz2", ".lz4", ".lzma", ".Z", NULL};
	const size_t length = strlen(path), n = strlen(ending);

	for (unsigned i = 0; compressed[i]; i++) {
		const size_t c = strlen(compressed[i]);

		if (length >= n + c && strcmp(path + length - c, compressed[i]) == 0 &&
			strncmp(path + length - c - n, ending, n) == 0) {
			return true;
		}
	}
	return false;
}

static reader choose_reader(const struct scanner *s)
{
	if (strncmp(s->next, MATRIX_MARKET, strlen(MATRIX_MARKET)) == 0 || has_ending(s->path, ".mtx")) {
		return read_matrix;
	}
	if (has_ending(s->path, ".graph") || has_ending(s->path, ".metis")) {
		return read_metis;
	}
	return has_ending(s->path, ".gr") || begins_with_p(*s) ? read_dimacs : read_edge_list;
}

int graph_read(const char *path, struct graph *ret_graph)
{
	struct graph_edges edges = {0};
	uint64_t bytes, nodes = 0;
	char *content;
	int error;

	NVW_TRY(bytes_slurp(path, &content, &bytes));

	struct scanner s = {.path = path, .next = content, .end = content + bytes};

	error = choose_reader(&s)(&s, &edges, &nodes);
	free(content);
	if (error == 0) {
		error = graph_build(&edges, (uint32_t)nodes, ret_graph);
	}
	free(edges.pairs);
	return error;
}
