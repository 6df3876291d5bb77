/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A driver of LevelDB. "leveldb_subject make FOLDER" makes a database in a folder; with "run FOLDER COUNT
 * MODE" it puts COUNT records, each acknowledged, in the mode "sync" or "async"; with "print FOLDER" it
 * opens the database, which recovers it, and prints what it holds.
 */
#include <leveldb/c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <nvw/ack.h>

enum { VALUE = 200 };

static void must(char *error, const char *what)
{
	if (error != NULL) {
		printf("%s: %s\n", what, error);
		exit(1);
	}
}

static leveldb_t *open_database(const char *folder)
{
	leveldb_options_t *const o = leveldb_options_create();
	char *error = NULL;

	leveldb_options_set_create_if_missing(o, 1);
	leveldb_options_set_paranoid_checks(o, 1);
	leveldb_options_set_compression(o, leveldb_no_compression);
	leveldb_t *const db = leveldb_open(o, folder, &error);

	must(error, "leveldb_open");
	return db;
}

/* Each third one deletes the record before. */
static void put(leveldb_t *db, unsigned number, int syncs)
{
	leveldb_writeoptions_t *const w = leveldb_writeoptions_create();
	leveldb_writebatch_t *const b = leveldb_writebatch_create();
	char key[16], value[VALUE], *error = NULL;

	leveldb_writeoptions_set_sync(w, (unsigned char)syncs);
	memset(value, 'a' + (int)(number % 26), sizeof value);
	snprintf(key, sizeof key, "k%04u", number);
	leveldb_writebatch_put(b, key, strlen(key), value, sizeof value);
	if (number % 3 == 2) {
		snprintf(key, sizeof key, "k%04u", number - 1);
		leveldb_writebatch_delete(b, key, strlen(key));
	}
	leveldb_write(db, w, b, &error);
	must(error, "leveldb_write");
}

static int run(const char *folder, unsigned count, const char *mode)
{
	leveldb_t *const db = open_database(folder);

	for (unsigned i = 0; i < count; i++) {
		nvw_operation_begins(i, "put");
		put(db, i, strcmp(mode, "sync") == 0);
		nvw_operation_is_durable(i);
	}
	_exit(0);
}

static int print(const char *folder)
{
	leveldb_t *const db = open_database(folder);
	leveldb_readoptions_t *const r = leveldb_readoptions_create();
	char *error = NULL;
	size_t n, bytes;

	leveldb_readoptions_set_verify_checksums(r, 1);
	leveldb_iterator_t *const at = leveldb_create_iterator(db, r);

	for (leveldb_iter_seek_to_first(at); leveldb_iter_valid(at); leveldb_iter_next(at)) {
		const char *const key = leveldb_iter_key(at, &n), *const value =
									  leveldb_iter_value(at, &bytes);

		printf("%.*s %zu %c%c\n", (int)n, key, bytes, value[0], value[bytes - 1]);
	}
	leveldb_iter_get_error(at, &error);
	must(error, "a walk");
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 2 && strcmp(argv[1], "make") == 0) {
		leveldb_close(open_database(argv[2]));
		return 0;
	}
	if (argc > 4 && strcmp(argv[1], "run") == 0) {
		return run(argv[2], (unsigned)atoi(argv[3]), argv[4]);
	}
	if (argc > 2 && strcmp(argv[1], "print") == 0) {
		return print(argv[2]);
	}
	fprintf(stderr, "leveldb_subject make|run|print FOLDER ...\n");
	return 2;
}
