/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A point's command line, and its key: a hash of everything that its result depends on.
 *
 *	this program | NVWAVE_* and PMEM* of the environment | the words | the effective machine | the
 *	content of every file that a word names
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <dirent.h>
#include <xxhash.h>

#include <nvw/input.h>

#include "core/array.h"
#include "core/folder.h"
#include "core/invariant.h"
#include "../report/provenance.h"
#include "../report/words.h"
#include "sweep.h"

/* ---- Words --------------------------------------------------------------------------------------- */

/* Options that write files, which points side by side would share, or that change the report's form. */
static const char *const refused[] = {"output-format", "help", "merge", "pool", "log", "dump-machine",
	"timeline", "series", "memory-trace", "html", "save", "patch", "resume", "record", "json", "engine",
	"sbatch", "array", "slice", NULL};

bool sweep_can_vary(const char *option)
{
	return !is_among(option, refused);
}

static bool is_argument(const struct sweep *s, const char *name)
{
	return !strcmp(name, "workload") || (!strcmp(name, "tests") && !strcmp(s->command, "litmus"));
}

int sweep_words_add(struct sweep_words *w, const char *format, ...)
{
	va_list values;

	NVW_FAIL_IF(w->count == SWEEP_WORDS_MAX, NVW_E_USAGE, "%s has more than %d %s",
		words_or(w->whose, "a part of a job array"), SWEEP_WORDS_MAX, words_or(w->are, "words"));
	va_start(values, format);
	const bool good = vasprintf(&w->word[w->count], format, values) >= 0;

	va_end(values);
	NVW_FAIL_IF(!good, NVW_E_MEMORY, "no memory for the words of a command");
	w->count++;
	return 0;
}

static int add_option(const struct sweep *s, const char *name, const char *value, struct sweep_words *w)
{
	if (!strcmp(value, "-")) {
		return 0;
	}
	if (cli_is_flag(s->command, name)) {
		if (!strcmp(value, "off")) {
			return 0;
		}
		if (!strcmp(value, "on")) {
			return sweep_words_add(w, "--%s", name);
		}
		return nvw_fail(
			NVW_E_USAGE, "%s: axis %s: expected on or off, found \"%s\"", s->where, name, value);
	}
	if (!strcmp(name, "model") && !cli_has_option(s->command, name)) {
		return sweep_words_add(w, "--set=persist.%s=%s", name, value);
	}
	return sweep_words_add(w, strchr(name, '.') ? "--set=%s=%s" : "--%s=%s", name, value);
}

void sweep_words_end(struct sweep_words *w)
{
	NVW_INVARIANT(w->count >= 0 && w->count <= SWEEP_WORDS_MAX);
	NVW_EACH(word, w->word, w->count) {
		free(*word);
	}
	w->count = 0;
}

static int add_setting(const struct sweep *s, const char *name, const char *value, struct sweep_words *w)
{
	NVW_FAIL_IF(is_among(name, refused), NVW_E_USAGE, "%s: --%s cannot be an axis: %s", s->where, name,
		strcmp(name, "help") ? "points would share its file or the report's form" :
				       "it runs nothing");
	if (!is_argument(s, name)) {
		return add_option(s, name, value, w);
	}
	NVW_FAIL_IF(*value == '-', NVW_E_USAGE, "%s: axis %s: expected a name, found \"%s\"", s->where, name,
		value);
	return sweep_words_add(w, "%s", value);
}

/* All that a value stands for. */
static int add_resolved(const struct sweep *s, const char *name, const char *value, struct sweep_words *w)
{
	char *const text = sweep_resolve(s, value);

	NVW_ALLOCATED(text, "no memory for a point");
	const int r = add_setting(s, name, text, w);

	free(text);
	return r;
}

static int add_bundle(const struct sweep *s, const struct sweep_bundle *b, struct sweep_words *w)
{
	NVW_FOR(i, b->count) {
		NVW_TRY(add_resolved(s, b->name[i], b->text[i], w));
	}
	return 0;
}

static int add_value(const struct sweep *s, const char *axis, const char *value, struct sweep_words *w)
{
	const struct sweep_bundle *const bundle = sweep_bundle_of(s, axis, value);

	if (bundle) {
		return add_bundle(s, bundle, w);
	}
	/* "-" of an axis whose other values are sections */
	if (sweep_is_bundle_axis(s, axis)) {
		return 0;
	}
	return add_setting(s, axis, value, w);
}

int sweep_words(const struct sweep *s, const struct sweep_point *p, struct sweep_words *w)
{
	*w = (struct sweep_words){.whose = "a point", .are = "options"};
	NVW_TRY(sweep_words_add(w, "%s", s->command));
	NVW_FOR(i, s->axis_count) {
		NVW_TRY(add_value(s, s->axis[i].name, sweep_value(s, p, i), w));
	}
	return sweep_words_add(w, "--output-format=json");
}

/* ---- Content ------------------------------------------------------------------------------------- */

struct content {
	char *path;
	XXH128_hash_t hash;
};

struct sweep_keys {
	struct content *known;
	unsigned known_count, room;
	XXH128_hash_t program;
	XXH3_state_t *state; /* of the key that is being made */
};

/* With its end. */
static void add_text(struct sweep_keys *c, const char *text)
{
	XXH3_128bits_update(c->state, text, strlen(text) + 1);
}

static int hash_of_bytes(const char *path, int fd, XXH128_hash_t *ret)
{
	struct stat about;

	NVW_FAIL_ERRNO_IF(fstat(fd, &about), "%s", path);
	if (about.st_size == 0) {
		*ret = XXH3_128bits(NULL, 0);
		return 0;
	}
	void *const bytes = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, fd, 0);

	NVW_FAIL_ERRNO_IF(bytes == MAP_FAILED, "%s", path);
	*ret = XXH3_128bits(bytes, (size_t)about.st_size);
	munmap(bytes, (size_t)about.st_size);
	return 0;
}

static int hash_of_file(const char *path, XXH128_hash_t *ret)
{
	int fd;

	NVW_TRY(nvw_input_open(path, O_RDONLY, &fd));
	const int r = hash_of_bytes(path, fd, ret);

	close(fd);
	return r;
}

/* Reads a file once for all points. */
static int hash_once(struct sweep_keys *c, const char *path, XXH128_hash_t *ret)
{
	NVW_EACH(known, c->known, c->known_count) {
		if (!strcmp(known->path, path)) {
			*ret = known->hash;
			return 0;
		}
	}
	NVW_TRY(hash_of_file(path, ret));
	if (NVW_ROOM(c->known, c->room, c->known_count + 1)) {
		struct content *const new = &c->known[c->known_count];

		*new = (struct content){strdup(path), *ret};
		c->known_count += new->path != NULL;
	}
	return 0;
}

static int add_path(struct sweep_keys *c, const char *path);

static int is_visible(const struct dirent *e)
{
	return e->d_name[0] != '.';
}

struct inside {
	struct sweep_keys *keys;
	const char *folder;
};

static int add_inner(void *context, const char *name)
{
	const struct inside *const in = context;
	char *const path = text_made("%s/%s", in->folder, name);

	NVW_ALLOCATED(path, "no memory for a file name");
	add_text(in->keys, path);
	const int r = add_path(in->keys, path);

	free(path);
	return r;
}

/* What is neither a regular file nor a folder has no content. */
static int add_file(struct sweep_keys *c, const char *path)
{
	XXH128_hash_t hash;

	NVW_TRY(hash_once(c, path, &hash));
	XXH3_128bits_update(c->state, &hash, sizeof hash);
	return 0;
}

static int add_path(struct sweep_keys *c, const char *path)
{
	struct stat about;

	if (stat(path, &about)) {
		return 0;
	}
	if (S_ISDIR(about.st_mode)) {
		return nvw_each_entry(path, is_visible, add_inner, &(struct inside){c, path});
	}
	if (S_ISREG(about.st_mode)) {
		return add_file(c, path);
	}
	return 0;
}

/* A word is a path, or has one behind "=" or, as text:PATH, behind a colon. Folders are inputs of litmus
 * only. */
static int add_files(struct sweep_keys *c, const char *word, bool is_litmus)
{
	struct stat about;

	for (const char *at = word; at; at = sweep_behind(at, "=:")) {
		if (stat(at, &about) == 0 && (S_ISREG(about.st_mode) || is_litmus)) {
			NVW_TRY(add_path(c, at));
		}
	}
	return 0;
}

static void add_environment(struct sweep_keys *c)
{
	for (char **v = environ; *v; v++) {
		if (!strncmp(*v, "NVWAVE_", 7) || !strncmp(*v, "PMEM", 4)) {
			add_text(c, *v);
		}
	}
}

static int add_machine(struct sweep_keys *c, const struct emu_config *config)
{
	char *const text = cli_machine_text(config);

	NVW_ALLOCATED(text, "no memory for the machine's description");
	XXH3_128bits_update(c->state, text, strlen(text));
	free(text);
	return 0;
}

/* ---- The key ------------------------------------------------------------------------------------- */

static int add_all(struct sweep_keys *c, const struct sweep_words *w, const struct emu_config *machine)
{
	const bool is_litmus = !strcmp(w->word[0], "litmus");

	XXH3_128bits_reset(c->state);
	XXH3_128bits_update(c->state, &c->program, sizeof c->program);
	add_environment(c);
	NVW_FOR(i, w->count) {
		add_text(c, w->word[i]);
		if (i > 0) {
			NVW_TRY(add_files(c, w->word[i], is_litmus));
		}
	}
	if (machine) {
		NVW_TRY(add_machine(c, machine));
	}
	return 0;
}

int sweep_key(struct sweep_keys *c, const struct sweep_words *w, const struct emu_config *machine,
	char ret_key[SWEEP_KEY_BYTES])
{
	NVW_INVARIANT(w->count > 0);
	const int r = add_all(c, w, machine);
	const XXH128_hash_t hash = XXH3_128bits_digest(c->state);

	snprintf(ret_key, SWEEP_KEY_BYTES, "%016" PRIx64 "%016" PRIx64, hash.high64, hash.low64);
	return r;
}

struct sweep_keys *sweep_keys_begin(void)
{
	struct sweep_keys *const c = calloc(1, sizeof *c);

	if (c) {
		c->state = XXH3_createState();
	}
	if (!c || !c->state) {
		nvw_fail(NVW_E_MEMORY, "no memory for the points");
	} else if (hash_of_file("/proc/self/exe", &c->program) == 0) {
		return c;
	}
	sweep_keys_end(c);
	return NULL;
}

void sweep_keys_end(struct sweep_keys *c)
{
	if (!c) {
		return;
	}
	NVW_EACH(known, c->known, c->known_count) {
		free(known->path);
	}
	free(c->known);
	XXH3_freeState(c->state);
	free(c);
}
