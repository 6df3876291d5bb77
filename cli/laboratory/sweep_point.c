/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A point's command line, and its key: a hash of everything that its result depends on.
 *
 *	this program | NVWAVE_* and PMEM* of the environment | the words | the effective machine | the content of
 *	every file that a word names
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <dirent.h>
#include <xxhash.h>

#include <nvw/input.h>

#include "sweep.h"

/* ---- Words --------------------------------------------------------------------------------- */

/* Options that write files, which points side by side would share, or that change the report's form. */
static const char *const refused[] = {"output-format", "help", "merge", "pool", "log", "dump-machine",
	"timeline", "series", "memory-trace", "html", "save", "patch", "resume", "record", "json", "engine",
	"sbatch", "array", "slice", NULL};

static bool is_among(const char *name, const char *const *names)
{
	while (*names && strcmp(*names, name)) {
		names++;
	}
	return *names != NULL;
}

static bool is_argument(const struct sweep *s, const char *name)
{
	return !strcmp(name, "workload") || (!strcmp(name, "tests") && !strcmp(s->command, "litmus"));
}

static int add(struct sweep_words *w, const char *format, const char *name, const char *value)
{
	if (w->count == SWEEP_WORDS_MAX) {
		return nvw_fail(NVW_E_USAGE, "a point has more than %d options", SWEEP_WORDS_MAX);
	}
	const int n = asprintf(&w->word[w->count], format, name, value);

	w->count += n >= 0;
	return n >= 0 ? 0 : nvw_fail(NVW_E_MEMORY, "no memory for a point");
}

static int add_option(const struct sweep *s, const char *name, const char *value, struct sweep_words *w)
{
	const bool is_flag = cli_is_flag(s->command, name);
	const bool is_model = !strcmp(name, "model") && !cli_has_option(s->command, name);

	if (!strcmp(value, "-") || (is_flag && !strcmp(value, "off"))) {
		return 0;
	}
	if (is_flag && strcmp(value, "on")) {
		return nvw_fail(
			NVW_E_USAGE, "%s: axis %s: expected on or off, found \"%s\"", s->where, name, value);
	}
	return is_flag           ? add(w, "--%s%s", name, "") :
	       is_model          ? add(w, "--set=persist.%s=%s", name, value) :
	       strchr(name, '.') ? add(w, "--set=%s=%s", name, value) :
				   add(w, "--%s=%s", name, value);
}

void sweep_words_end(struct sweep_words *w)
{
	for (int i = 0; i < w->count; i++) {
		free(w->word[i]);
	}
	w->count = 0;
}

static int add_setting(const struct sweep *s, const char *name, const char *value, struct sweep_words *w)
{
	if (is_among(name, refused)) {
		return nvw_fail(NVW_E_USAGE, "%s: --%s cannot be an axis: %s", s->where, name,
			strcmp(name, "help") ? "points would share its file or the report's form" :
					       "it runs nothing");
	}
	if (!is_argument(s, name)) {
		return add_option(s, name, value, w);
	}
	return *value == '-' ? nvw_fail(NVW_E_USAGE, "%s: axis %s: expected a name, found \"%s\"", s->where,
				       name, value) :
			       add(w, "%s%s", value, "");
}

/* All that a value stands for. */
static int add_bundle(const struct sweep *s, const struct sweep_bundle *b, struct sweep_words *w)
{
	int r = 0;

	for (unsigned i = 0; b && i < b->count && r == 0; i++) {
		char *const text = sweep_resolve(s, b->text[i]);

		r = text ? add_setting(s, b->name[i], text, w) :
			   nvw_fail(NVW_E_MEMORY, "no memory for a point");
		free(text);
	}
	return r;
}

int sweep_words(const struct sweep *s, const struct sweep_point *p, struct sweep_words *w)
{
	*w = (struct sweep_words){.count = 0};
	int r = add(w, "%s%s", s->command, "");

	for (unsigned i = 0; i < s->axis_count && r == 0; i++) {
		const char *const name = s->axis[i].name, *const value = sweep_value(s, p, i);

		r = sweep_is_bundle_axis(s, name) ? add_bundle(s, sweep_bundle_of(s, name, value), w) :
						    add_setting(s, name, value, w);
	}
	return r ? r : add(w, "%s%s", "--output-format=json", "");
}

/* ---- Content ------------------------------------------------------------------------------- */

struct content {
	char *path;
	XXH128_hash_t hash;
};

struct sweep_keys {
	struct content *known;
	unsigned known_count;
	XXH128_hash_t program;
};

static int hash_of_file(const char *path, XXH128_hash_t *ret)
{
	struct stat about;
	void *bytes = NULL;
	int fd, r = nvw_input_open(path, O_RDONLY, &fd);

	if (r < 0) {
		return r;
	}
	r = fstat(fd, &about) ? nvw_fail_errno("%s", path) : 0;
	if (r == 0 && about.st_size > 0) {
		bytes = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		r = bytes == MAP_FAILED ? nvw_fail_errno("%s", path) : 0;
	}
	if (r == 0) {
		*ret = XXH3_128bits(bytes, (size_t)about.st_size);
	}
	if (r == 0 && bytes) {
		munmap(bytes, (size_t)about.st_size);
	}
	close(fd);
	return r;
}

/* Of a file, read once for all points. */
static int hash_once(struct sweep_keys *c, const char *path, XXH128_hash_t *ret)
{
	for (unsigned i = 0; i < c->known_count; i++) {
		if (!strcmp(c->known[i].path, path)) {
			*ret = c->known[i].hash;
			return 0;
		}
	}
	const int r = hash_of_file(path, ret);
	struct content *const more = r ? NULL : realloc(c->known, (c->known_count + 1) * sizeof *more);

	if (more) {
		c->known = more;
		more[c->known_count] = (struct content){strdup(path), *ret};
		c->known_count += more[c->known_count].path != NULL;
	}
	return r;
}

static int add_path(struct sweep_keys *c, XXH3_state_t *state, const char *path);

static int is_visible(const struct dirent *e)
{
	return e->d_name[0] != '.';
}

static int add_folder(struct sweep_keys *c, XXH3_state_t *state, const char *path)
{
	struct dirent **entry;
	const int n = scandir(path, &entry, is_visible, alphasort);
	int r = n < 0 ? nvw_fail_errno("%s", path) : 0;

	for (int i = 0; i < n; i++) {
		char *inner = NULL;

		if (r == 0 && asprintf(&inner, "%s/%s", path, entry[i]->d_name) >= 0) {
			XXH3_128bits_update(state, inner, strlen(inner) + 1);
			r = add_path(c, state, inner);
			free(inner);
		}
		free(entry[i]);
	}
	if (n >= 0) {
		free(entry);
	}
	return r;
}

/* What is neither a regular file nor a folder has no content. */
static int add_path(struct sweep_keys *c, XXH3_state_t *state, const char *path)
{
	XXH128_hash_t hash;
	struct stat about;
	int r = 0;

	if (stat(path, &about)) {
		return 0;
	}
	if (S_ISDIR(about.st_mode)) {
		return add_folder(c, state, path);
	}
	if (S_ISREG(about.st_mode)) {
		r = hash_once(c, path, &hash);
		if (r == 0) {
			XXH3_128bits_update(state, &hash, sizeof hash);
		}
	}
	return r;
}

/* A word is a path, or has one behind "=" or, as text:PATH, behind a colon. Folders are inputs of litmus only. */
static int add_files(struct sweep_keys *c, XXH3_state_t *state, const char *word, bool is_litmus)
{
	int r = 0;

	for (const char *at = word; at && r == 0; at = strpbrk(at, "=:") ? strpbrk(at, "=:") + 1 : NULL) {
		struct stat about;

		if (stat(at, &about) == 0 && (S_ISREG(about.st_mode) || is_litmus)) {
			r = add_path(c, state, at);
		}
	}
	return r;
}

static void add_environment(XXH3_state_t *state)
{
	for (char **v = environ; *v; v++) {
		if (!strncmp(*v, "NVWAVE_", 7) || !strncmp(*v, "PMEM", 4)) {
			XXH3_128bits_update(state, *v, strlen(*v) + 1);
		}
	}
}

static int add_machine(XXH3_state_t *state, const struct emu_config *config)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *const f = open_memstream(&text, &bytes);
	int r = f ? emu_config_dump(config, f) : -1;

	if (!f || fclose(f) != 0 || r) {
		r = nvw_fail(NVW_E_MEMORY, "no memory for the machine's description");
	} else {
		XXH3_128bits_update(state, text, bytes);
	}
	free(text);
	return r;
}

/* ---- The key ------------------------------------------------------------------------------- */

int sweep_key(struct sweep_keys *c, const struct sweep_words *w, const struct emu_config *machine,
	char ret_key[SWEEP_KEY_BYTES])
{
	const bool is_litmus = !strcmp(w->word[0], "litmus");

	XXH3_state_t *const state = XXH3_createState();
	int r = state ? 0 : nvw_fail(NVW_E_MEMORY, "no memory for a point");

	if (r < 0) {
		return r;
	}
	XXH3_128bits_reset(state);
	XXH3_128bits_update(state, &c->program, sizeof c->program);
	add_environment(state);
	for (int i = 0; i < w->count && r == 0; i++) {
		XXH3_128bits_update(state, w->word[i], strlen(w->word[i]) + 1);
		r = i ? add_files(c, state, w->word[i], is_litmus) : 0;
	}
	r = r || !machine ? r : add_machine(state, machine);

	const XXH128_hash_t hash = XXH3_128bits_digest(state);

	snprintf(ret_key, SWEEP_KEY_BYTES, "%016" PRIx64 "%016" PRIx64, hash.high64, hash.low64);
	XXH3_freeState(state);
	return r;
}

struct sweep_keys *sweep_keys_begin(void)
{
	struct sweep_keys *const c = calloc(1, sizeof *c);

	if (!c) {
		nvw_fail(NVW_E_MEMORY, "no memory for the points");
	} else if (hash_of_file("/proc/self/exe", &c->program)) {
		free(c);
		return NULL;
	}
	return c;
}

void sweep_keys_end(struct sweep_keys *c)
{
	for (unsigned i = 0; c && i < c->known_count; i++) {
		free(c->known[i].path);
	}
	if (c) {
		free(c->known);
	}
	free(c);
}
