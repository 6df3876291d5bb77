/* SPDX-License-Identifier: BSD-3-Clause */
/* See coverage.h. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <gelf.h>
#include <nvw/persist_log.h>
#include <nvw/random.h>

#include "cc/hooks.h"
#include "core/array.h"
#include "core/each.h"
#include "core/invariant.h"
#include "core/order.h"
#include "core/search.h"
#include "core/zeroed.h"
#include "coverage.h"
#include "source/place.h"

#define LAUNCH "__device_stub__" /* begins the names of what launches a CUDA kernel: the compiler's */

struct site {
	/* Offsets in the marks; UINT64_MAX: none. Of a branch: where it has jumped, gone on. */
	uint64_t executed, reached;
	unsigned statement;
	bool flushes, is_branch;
};

/* A function that has copies (nvw__place.is_copy), whose branches are others. There may be several of one
 * function; bsearch() finds the same one each time. */
struct form {
	const char *function;
	bool ran, copies_ran;
};

struct host_covered_object {
	struct host_marked is;
	struct site *site; /* by statement */
	struct host_statement *statement;
	struct form *form; /* by function */
	unsigned sites, statements, forms;
};

#define NO_MEMORY "no memory for the coverage of a program"

/* ---- Sites of an object ---------------------------------------------------------------------------- */

static Elf_Scn *find_section(Elf *elf, const char *wanted, GElf_Shdr *ret_header)
{
	size_t names;

	if (elf == NULL || elf_getshdrstrndx(elf, &names) != 0) {
		return NULL;
	}
	for (Elf_Scn *s = NULL; (s = elf_nextscn(elf, s)) != NULL;) {
		const char *name;

		if (gelf_getshdr(s, ret_header) && (name = elf_strptr(elf, names, ret_header->sh_name)) &&
			strcmp(name, wanted) == 0) {
			return s;
		}
	}
	return NULL;
}

static Elf_Data *find_sites(Elf *elf)
{
	GElf_Shdr header;
	Elf_Scn *const s = find_section(elf, NVWAVE_CC_SITES, &header);

	if (s == NULL || (header.sh_flags & SHF_COMPRESSED && elf_compress(s, 0, 0) < 0)) {
		return NULL;
	}
	return elf_rawdata(s, NULL);
}

bool host_coverage_is_counted(const char *program)
{
	const int fd = open(program, O_RDONLY | O_CLOEXEC);
	GElf_Shdr header;

	elf_version(EV_CURRENT);
	Elf *const elf = elf_begin(fd, ELF_C_READ, NULL);
	const bool is = find_section(elf, NVWAVE_CC_COUNTERS, &header) != NULL;

	elf_end(elf);
	close(fd);
	return is;
}

static uint64_t address_at(const uint8_t *at)
{
	uint64_t address;

	memcpy(&address, at, sizeof address);
	return address;
}

static bool is_code(const struct host_marked *m, uint64_t address)
{
	return address - m->code < m->bytes;
}

/* Where an address of the object has its mark. Of code that the linker has left out there is none. */
static uint64_t mark_of(const struct host_marked *m, uint64_t address)
{
	if (is_code(m, address)) {
		return address - m->code;
	}
	if (address - m->counters < m->counter_bytes) {
		return host_counters_in(m) + address - m->counters;
	}
	return UINT64_MAX;
}

/* A site with the place of its statement, before statements are joined. */
struct found {
	struct site site;
	struct host_statement at;
};

static int by_place(const void *a, const void *b)
{
	const struct found *const f = a, *const g = b;
	const struct host_statement *const x = &f->at, *const y = &g->at;
	const int files = strcmp(x->file, y->file), kinds = x->is_branch - y->is_branch;

	if (files != 0) {
		return files;
	}
	if (x->line != y->line) {
		return NVW_ORDER(x->line, y->line);
	}
	return NVW_OR(NVW_OR(kinds, strcmp(x->function, y->function)),
		NVW_ORDER(f->site.executed, g->site.executed));
}

/* Each branch is one by itself: what two copies of a line jump for is not known. */
static bool are_one(const struct host_statement *a, const struct host_statement *b)
{
	return !a->is_branch && !b->is_branch && strcmp(a->file, b->file) == 0 && a->line == b->line &&
	       strcmp(a->function, b->function) == 0;
}

/* False: it is no statement of the program's own source, or there is no memory for it. behind: it. */
static bool find_place(const struct nvw__functions *functions, uint64_t behind, struct found *f)
{
	const Dwarf_Addr address = behind - 1; /* of the call */
	struct nvw__place place;
	bool through_library;

	if (!nvw__own_place_in(functions, address, &place, &through_library) || place.line <= 0 ||
		(f->site.is_branch && through_library) ||
		strncmp(place.function, LAUNCH, strlen(LAUNCH)) == 0) {
		return false;
	}
	f->at = (struct host_statement){.file = strdup(place.file),
		.function = strdup(*place.function ? place.function : "?"),
		.line = (unsigned)place.line,
		.is_branch = f->site.is_branch,
		.is_copy = f->site.is_branch && place.is_copy};
	if (f->at.file == NULL || f->at.function == NULL) {
		free(f->at.file);
		free(f->at.function);
		return false;
	}
	return true;
}

static struct site site_of(const struct host_marked *m, uint64_t marked, uint64_t known, unsigned kind)
{
	struct site s = {.executed = mark_of(m, marked),
		.reached = UINT64_MAX,
		.flushes = kind == NVWAVE_CC_SITE_FLUSH,
		.is_branch = kind == NVWAVE_CC_SITE_BRANCH};

	if (s.is_branch && s.executed != UINT64_MAX) {
		s.reached = s.executed + 1;
	} else if (is_code(m, known)) {
		s.reached = m->bytes + mark_of(m, known);
	}
	return s;
}

/* The sites of an object, each with its place. */
static unsigned find_all(const struct nvw__functions *functions, const struct host_marked *m,
	const Elf_Data *data, struct found *all)
{
	const uint8_t *const bytes = data->d_buf;
	unsigned n = 0;

	for (size_t at = 0; at + NVWAVE_CC_SITE_BYTES <= data->d_size; at += NVWAVE_CC_SITE_BYTES) {
		const uint64_t marked = address_at(bytes + at), known = address_at(bytes + at + 8);
		struct found *const f = &all[n];

		f->site = site_of(m, marked, known, bytes[at + 16]);
		n += f->site.executed != UINT64_MAX &&
		     find_place(functions, is_code(m, marked) ? marked : known, f);
	}
	return n;
}

static int keep_all(struct host_covered_object *o, struct found *all, unsigned n)
{
	NVW_INVARIANT(o->sites == 0);
	o->site = calloc(n + 1, sizeof *o->site);
	o->statement = calloc(n + 1, sizeof *o->statement);
	NVW_ALLOCATED(o->site && o->statement, NO_MEMORY);
	qsort(all, n, sizeof *all, by_place);
	NVW_FOR(i, n) {
		if (i == 0 || !are_one(&all[i - 1].at, &all[i].at)) {
			o->statement[o->statements++] = all[i].at;
		} else {
			free(all[i].at.file);
			free(all[i].at.function);
			all[i].at = o->statement[o->statements - 1];
		}
		o->site[i] = all[i].site;
		o->site[i].statement = o->statements - 1;
		o->statement[o->statements - 1].flushes |= all[i].site.flushes;
	}
	o->sites = n;
	NVW_INVARIANT(o->statements <= n);
	return 0;
}

static int by_function(const void *a, const void *b)
{
	const struct form *const x = a, *const y = b;

	return strcmp(x->function, y->function);
}

/* Of a branch's function; NULL: it has no copies. */
static struct form *form_of(const struct host_covered_object *o, const struct host_statement *s)
{
	if (!s->is_branch) {
		return NULL;
	}
	return bsearch(
		&(struct form){.function = s->function}, o->form, o->forms, sizeof *o->form, by_function);
}

/* The functions that have copies. */
static int find_forms(struct host_covered_object *o)
{
	NVW_INVARIANT(o->form == NULL && o->forms == 0);
	o->form = calloc(o->statements + 1, sizeof *o->form);
	NVW_ALLOCATED(o->form, NO_MEMORY);
	NVW_EACH(statement, o->statement, o->statements) {
		if (statement->is_copy) {
			o->form[o->forms++].function = statement->function;
		}
	}
	qsort(o->form, o->forms, sizeof *o->form, by_function);
	return 0;
}

static int read_object(Dwfl *dwfl, struct host_covered_object *o)
{
	Dwfl_Module *const module = dwfl_addrmodule(dwfl, o->is.code);
	GElf_Addr bias;
	const Elf_Data *data;

	if (module == NULL || (data = find_sites(dwfl_module_getelf(module, &bias))) == NULL) {
		return 0; /* its debug information was stripped: nothing is known */
	}
	struct found *const all = calloc(data->d_size / NVWAVE_CC_SITE_BYTES + 1, sizeof *all);
	struct nvw__functions functions;

	if (all == NULL || !nvw__find_functions(module, &functions)) {
		free(all);
		return nvw_fail(NVW_E_MEMORY, NO_MEMORY);
	}
	int error = keep_all(o, all, find_all(&functions, &o->is, data, all));

	if (!error) {
		error = find_forms(o);
	}
	nvw__functions_free(&functions);
	free(all);
	return error;
}

/* The object, as it was found in an earlier run or is found now. */
static int object_of(
	struct host_coverage *c, const struct host_marked *m, struct host_covered_object **ret_object)
{
	NVW_EACH(object, c->object, c->objects) {
		if (object->is.bytes == m->bytes && strcmp(object->is.path, m->path) == 0) {
			*ret_object = object;
			return 0;
		}
	}
	NVW_GROWN(c->object, c->objects_room, c->objects + 1, NO_MEMORY);
	*ret_object = &c->object[c->objects++];
	**ret_object = (struct host_covered_object){.is = *m};
	Dwfl *const dwfl = host_object_open(m->path);

	NVW_ALLOCATED(dwfl, NO_MEMORY);
	const int error = read_object(dwfl, *ret_object);

	dwfl_end(dwfl);
	return error;
}

/* ---- Runs ------------------------------------------------------------------------------------------ */

static bool is_marked(const uint8_t *marks, uint64_t at)
{
	return at != UINT64_MAX && marks[at] != 0;
}

/* Counts statements and ways of branches that are new. */
static uint64_t add_marks(struct host_covered_object *o, const uint8_t *marks)
{
	uint64_t fresh = 0;

	NVW_EACH(s, o->site, o->sites) {
		NVW_INVARIANT(s->statement < o->statements);
		struct host_statement *const to = &o->statement[s->statement];
		const bool executes = is_marked(marks, s->executed), reaches = is_marked(marks, s->reached);

		fresh += (executes && !to->executed) + (reaches && !to->reached);
		to->now_executed |= executes;
		to->now_reached |= reaches;
	}
	return fresh;
}

static uint64_t end_of_marks(const struct host_control *c)
{
	uint64_t end = 0;

	NVW_EACH(marked, c->marked, c->marked_count) {
		end = nvw_max(end, marked->off + host_marked_bytes(marked));
	}
	return end;
}

/* Counts those that are new. */
static int add_all_marks(struct host_coverage *c, const struct host_session *s, uint64_t *fresh)
{
	const struct host_control *const control = s->control;
	const uint64_t bytes = end_of_marks(control);
	int error = 0;

	if (bytes == 0) {
		return 0;
	}
	const uint8_t *const marks = host_session_map(s, "marks", bytes);

	if (marks == NULL) {
		return NVW_E_SYSTEM;
	}
	for (uint32_t i = 0; i < control->marked_count && !error; i++) {
		struct host_covered_object *o;

		error = object_of(c, &control->marked[i], &o);
		if (!error) {
			*fresh += add_marks(o, marks + control->marked[i].off);
		}
	}
	nvw__unmap(marks, bytes);
	return error;
}

/* ---- Kernels on the machine ------------------------------------------------------------------------ */

/* Lines by the site of a log that has them: their first statements; NULL: the coverage has none. */
struct logged {
	struct host_statement **at;
	uint64_t room;
};

static bool is_at(const struct host_statement *s, const char *file, uint32_t line)
{
	return !s->is_branch && s->line == line && strcmp(s->file, file) == 0;
}

static struct host_statement *statement_at(struct host_coverage *c, const char *file, uint32_t line)
{
	NVW_EACH(o, c->object, c->objects) {
		NVW_EACH(statement, o->statement, o->statements) {
			if (is_at(statement, file, line)) {
				return statement;
			}
		}
	}
	return NULL;
}

static int meet_site(struct host_coverage *c, struct logged *l, const struct nvw_log_record *r)
{
	NVW_GROWN(l->at, l->room, (uint64_t)r->site.id + 1, NO_MEMORY);
	l->at[r->site.id] = statement_at(c, r->site.file, r->site.line);
	return 0;
}

/* A store to a file, whose line may be in several functions. */
static uint64_t meet_store(const struct logged *l, uint32_t site)
{
	uint64_t fresh = 0;

	if (site >= l->room || l->at[site] == NULL) {
		return 0;
	}
	const struct host_statement *const first = l->at[site];

	for (struct host_statement *s = l->at[site]; s->file != NULL && is_at(s, first->file, first->line);
		s++) {
		fresh += !s->reached && !s->now_reached;
		s->now_reached = true;
	}
	return fresh;
}

static int add_log(struct host_coverage *c, const char *path, uint64_t *fresh)
{
	struct logged l = {.at = NULL};
	struct nvw_log_reader *reader;
	struct nvw_log_record r;
	int error = nvw_log_open(path, &reader);

	if (error) {
		return error;
	}
	while (!error && nvw_log_next(reader, &r) == 1) { /* of a kernel that failed: as far as it goes */
		if (r.kind == NVW_LOG_SITE) {
			error = meet_site(c, &l, &r);
		} else if (r.kind == NVW_LOG_STORE) {
			*fresh += meet_store(&l, r.store.site);
		}
	}
	nvw_log_reader_close(reader);
	free(l.at);
	return error;
}

/* They do not say what goes to a file; the machine's logs do, whose NVRAM has files alone. */
static int add_kernels(struct host_coverage *c, const struct host_session *s, uint64_t *fresh)
{
	char path[300];

	for (unsigned number = 1;; number++) {
		snprintf(path, sizeof path, "%s/kernels-%u", s->folder.path, number);
		if (access(path, R_OK) != 0) {
			return 0;
		}
		NVW_TRY(add_log(c, path, fresh));
	}
}

/* ---- Places of a record ---------------------------------------------------------------------------- */

static uint64_t *slot_of(uint64_t *place, uint64_t room, uint64_t key)
{
	NVW_INVARIANT(room > 0 && (room & (room - 1)) == 0);

	return place + NVW_PROBE(i, key >> 1, room, place[i] == 0 || place[i] == key);
}

static int make_room(struct host_coverage *c)
{
	NVW_INVARIANT(c->places <= c->room);

	const uint64_t room = NVW_OR(2 * c->room, 1024);
	uint64_t *const more = calloc(room, sizeof *more);

	NVW_ALLOCATED(more, NO_MEMORY);
	NVW_EACH(place, c->place, c->room) {
		if (*place != 0) {
			*slot_of(more, room, *place) = *place;
		}
	}
	free(c->place);
	c->place = more;
	c->room = room;
	return 0;
}

static uint64_t key_of(const struct host_control *control, const struct host_site *s)
{
	uint64_t key = s->offset;
	const char *p = "";

	if (s->module > 0) {
		p = control->module[s->module - 1].path;
	}
	for (; *p != '\0'; p++) {
		key = nvw_mix64(key + (unsigned char)*p);
	}
	return nvw_mix64(key) | 1;
}

static int add_places(struct host_coverage *c, const struct host_control *control, uint64_t *fresh)
{
	NVW_EACH(site, control->site, control->site_count) {
		if (2 * (c->places + 1) > c->room) {
			NVW_TRY(make_room(c));
		}
		const uint64_t key = key_of(control, site);
		uint64_t *const slot = slot_of(c->place, c->room, key);

		c->places += *slot == 0;
		*fresh += *slot == 0;
		*slot = key;
	}
	return 0;
}

int host_coverage_add(struct host_coverage *c, const struct host_session *s, uint64_t *ret_new)
{
	uint64_t fresh = 0;

	NVW_TRY(add_all_marks(c, s, &fresh));
	NVW_TRY(add_kernels(c, s, &fresh));
	NVW_TRY(add_places(c, s->control, &fresh));
	if (ret_new != NULL) {
		*ret_new = s->control->marked_count == 0 ? 1 : fresh;
	}
	return 0;
}

static void settle(struct host_statement *s, bool kept)
{
	s->executed |= kept && s->now_executed;
	s->reached |= kept && s->now_reached;
	s->now_executed = s->now_reached = false;
}

void host_coverage_settle(struct host_coverage *c, bool kept)
{
	NVW_EACH(object, c->object, c->objects) {
		NVW_EACH(statement, object->statement, object->statements) {
			settle(statement, kept);
		}
	}
}

static bool has_run(const struct host_statement *s)
{
	return s->executed || s->reached;
}

static void see_forms(const struct host_covered_object *o)
{
	NVW_EACH(s, o->statement, o->statements) {
		struct form *f;

		if (has_run(s) && (f = form_of(o, s)) != NULL) {
			f->ran |= !s->is_copy;
			f->copies_ran |= s->is_copy;
		}
	}
}

/* A branch of the form of a kernel that no run has had: what has not run of the kernel is told by the
 * other form. */
static bool is_other_form(const struct host_covered_object *o, const struct host_statement *s)
{
	const struct form *const f = form_of(o, s);

	if (f == NULL) {
		return false;
	}
	if (s->is_copy) {
		return !f->copies_ran;
	}
	return f->copies_ran && !f->ran;
}

int host_coverage_each(const struct host_coverage *c,
	int (*meet)(void *context, const struct host_statement *statement), void *context)
{
	NVW_EACH(o, c->object, c->objects) {
		see_forms(o);
		NVW_EACH(statement, o->statement, o->statements) {
			if (!is_other_form(o, statement)) {
				NVW_TRY(meet(context, statement));
			}
		}
	}
	return 0;
}

void host_coverage_free(struct host_coverage *c)
{
	NVW_EACH(o, c->object, c->objects) {
		NVW_EACH(statement, o->statement, o->statements) {
			free(statement->file);
			free(statement->function);
		}
		free(o->statement);
		free(o->form);
		free(o->site);
	}
	free(c->object);
	free(c->place);
	*c = (struct host_coverage){0};
}
