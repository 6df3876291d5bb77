/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A driver of LMDB: "lmdb_subject run FILE COUNT MODE" commits COUNT transactions, each acknowledged, in a
 * mode like "default" or "writemap-mapasync"; "lmdb_subject check FILE" walks through the database.
 */
#include <lmdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nvw/ack.h>

#include "acknowledged.h"

enum { MAP = 1 << 18, VALUE = 400 };

/* Ends the program where a call fails. */
static void must(int error, const char *what)
{
	if (error) {
		printf("%s: %s\n", what, mdb_strerror(error));
		exit(1);
	}
}

static unsigned flags_of(const char *mode)
{
	static const struct {
		const char *name;
		unsigned flags;
	} modes[] = {
		{"default", 0},
		{"writemap", MDB_WRITEMAP},
		{"nometasync", MDB_NOMETASYNC},
		{"nosync", MDB_NOSYNC},
		{"writemap-mapasync", MDB_WRITEMAP | MDB_MAPASYNC},
	};

	for (unsigned i = 0; i < sizeof modes / sizeof *modes; i++) {
		if (strcmp(mode, modes[i].name) == 0) {
			return modes[i].flags;
		}
	}
	fprintf(stderr, "no mode %s\n", mode);
	exit(2);
}

static MDB_env *open_env(const char *path, unsigned flags)
{
	MDB_env *env;

	must(mdb_env_create(&env), "mdb_env_create");
	must(mdb_env_set_mapsize(env, MAP), "mdb_env_set_mapsize");
	must(mdb_env_open(env, path, MDB_NOSUBDIR | flags, 0600), "mdb_env_open");
	return env;
}

static MDB_val key_of(unsigned number, char room[16])
{
	const int n = snprintf(room, 16, "k%04u", number);

	return (MDB_val){(size_t)n, room};
}

/* Puts a value; each third transaction deletes the one before it. */
static void transact(MDB_env *env, unsigned number)
{
	char name[16], content[VALUE];
	MDB_val key = key_of(number, name), value = {VALUE, content};
	MDB_txn *txn;
	MDB_dbi dbi;

	memset(content, 'a' + (int)(number % 26), sizeof content);
	must(mdb_txn_begin(env, NULL, 0, &txn), "mdb_txn_begin");
	must(mdb_dbi_open(txn, NULL, MDB_CREATE, &dbi), "mdb_dbi_open");
	must(mdb_put(txn, dbi, &key, &value, 0), "mdb_put");
	if (number % 3 == 2) {
		key = key_of(number - 1, name);
		must(mdb_del(txn, dbi, &key, NULL), "mdb_del");
	}
	must(mdb_txn_commit(txn), "mdb_txn_commit");
}

static int run(const char *path, unsigned count, const char *mode)
{
	MDB_env *const env = open_env(path, flags_of(mode));

	for (unsigned i = 0; i < count; i++) {
		nvw_operation_begins(i, "put");
		transact(env, i);
		nvw_operation_is_durable(i);
	}
	return 0;
}

/* The number of transactions that the database has; the last key names the last. */
static unsigned walk(MDB_txn *txn, MDB_dbi dbi)
{
	MDB_cursor *cursor;
	MDB_val key, value;
	unsigned have = 0;
	int error;

	must(mdb_cursor_open(txn, dbi, &cursor), "mdb_cursor_open");
	while ((error = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) == 0) {
		const unsigned number = (unsigned)atoi((const char *)key.mv_data + 1);
		const char *const content = value.mv_data;

		if (value.mv_size != VALUE || content[0] != 'a' + (int)(number % 26) ||
			content[VALUE - 1] != content[0] || number < have) {
			printf("a value is wrong\n");
			exit(1);
		}
		have = number + 1;
	}
	if (error != MDB_NOTFOUND) {
		must(error, "mdb_cursor_get");
	}
	return have;
}

static int check(const char *path)
{
	MDB_env *const env = open_env(path, MDB_NOLOCK);
	unsigned have = 0;
	MDB_txn *txn;
	MDB_dbi dbi;

	must(mdb_txn_begin(env, NULL, MDB_RDONLY, &txn), "mdb_txn_begin");
	const int error = mdb_dbi_open(txn, NULL, 0, &dbi);

	if (error == 0) {
		have = walk(txn, dbi);
	} else if (error != MDB_NOTFOUND) {
		must(error, "mdb_dbi_open");
	}
	return lost_transactions(have);
}

int main(int argc, char **argv)
{
	if (argc > 4 && strcmp(argv[1], "run") == 0) {
		return run(argv[2], (unsigned)atoi(argv[3]), argv[4]);
	}
	if (argc > 2 && strcmp(argv[1], "check") == 0) {
		return check(argv[2]);
	}
	fprintf(stderr, "lmdb_subject run FILE COUNT MODE, or check FILE\n");
	return 2;
}
