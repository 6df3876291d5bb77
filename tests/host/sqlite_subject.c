/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A driver of SQLite. "sqlite_subject make FOLDER MODE" makes a database in a folder; with "run FOLDER COUNT
 * MODE" it commits COUNT transactions, each acknowledged, in a mode like "delete-full" or "wal-normal-mmap";
 * with "check FOLDER MODE" it opens it, checks its integrity and walks through the rows; with "print FOLDER
 * MODE" it prints them.
 */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <nvw/ack.h>

#include "acknowledged.h"

enum { VALUE = 300 };

static void fail(sqlite3 *db, const char *what)
{
	printf("%s: %s\n", what, sqlite3_errmsg(db));
	exit(1);
}

static void execute(sqlite3 *db, const char *sql)
{
	if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK) {
		fail(db, sql);
	}
}

/* The words of a mode, as pragmas. */
static void configure(sqlite3 *db, const char *mode)
{
	char words[64], sql[128], *rest = words;

	snprintf(words, sizeof words, "%s", mode);
	snprintf(sql, sizeof sql, "PRAGMA journal_mode=%s", strsep(&rest, "-"));
	execute(db, sql);
	snprintf(sql, sizeof sql, "PRAGMA synchronous=%s", rest ? strsep(&rest, "-") : "full");
	execute(db, sql);
	if (rest != NULL && strcmp(rest, "mmap") == 0) {
		execute(db, "PRAGMA mmap_size=1048576");
	}
}

static sqlite3 *open_database(const char *folder, const char *mode)
{
	char path[4096];
	sqlite3 *db;

	snprintf(path, sizeof path, "%s/db", folder);
	if (sqlite3_open(path, &db) != SQLITE_OK) {
		fail(db, "sqlite3_open");
	}
	if (mode != NULL) {
		configure(db, mode);
	}
	return db;
}

static int make(const char *folder, const char *mode)
{
	sqlite3 *const db = open_database(folder, mode);

	execute(db, "PRAGMA page_size=1024; CREATE TABLE t (k INTEGER PRIMARY KEY, v TEXT)");
	return sqlite3_close(db) != SQLITE_OK;
}

/* Inserts a row; each third transaction deletes the row before. */
static void transact(sqlite3 *db, unsigned number)
{
	char sql[512], value[VALUE + 1];

	memset(value, 'a' + (int)(number % 26), VALUE);
	value[VALUE] = '\0';
	execute(db, "BEGIN");
	snprintf(sql, sizeof sql, "INSERT INTO t VALUES (%u, '%s')", number, value);
	execute(db, sql);
	if (number % 3 == 2) {
		snprintf(sql, sizeof sql, "DELETE FROM t WHERE k = %u", number - 1);
		execute(db, sql);
	}
	execute(db, "COMMIT");
}

static int run(const char *folder, unsigned count, const char *mode)
{
	sqlite3 *const db = open_database(folder, mode);

	for (unsigned i = 0; i < count; i++) {
		nvw_operation_begins(i, "put");
		transact(db, i);
		nvw_operation_is_durable(i);
	}
	_exit(0); /* the last connection to a database would write its log back */
}

static void check_integrity(sqlite3 *db)
{
	sqlite3_stmt *s;

	if (sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &s, NULL) != SQLITE_OK ||
		sqlite3_step(s) != SQLITE_ROW) {
		fail(db, "integrity_check");
	}
	if (strcmp((const char *)sqlite3_column_text(s, 0), "ok") != 0) {
		printf("integrity_check: %s\n", sqlite3_column_text(s, 0));
		exit(1);
	}
	sqlite3_finalize(s);
}

/* The number of transactions that the database has. */
static unsigned walk(sqlite3 *db, int prints)
{
	unsigned have = 0;
	sqlite3_stmt *s;
	int status;

	if (sqlite3_prepare_v2(db, "SELECT k, v FROM t ORDER BY k", -1, &s, NULL) != SQLITE_OK) {
		fail(db, "the table is gone");
	}
	while ((status = sqlite3_step(s)) == SQLITE_ROW) {
		const unsigned number = (unsigned)sqlite3_column_int(s, 0);
		const char *const value = (const char *)sqlite3_column_text(s, 1);

		if (value == NULL || strlen(value) != VALUE || value[0] != 'a' + (int)(number % 26) ||
			value[VALUE - 1] != value[0] || number < have) {
			printf("a row is wrong\n");
			exit(1);
		}
		if (prints) {
			printf("%u\n", number);
		}
		have = number + 1;
	}
	if (status != SQLITE_DONE) {
		fail(db, "a walk");
	}
	sqlite3_finalize(s);
	return have;
}

static int check(const char *folder)
{
	sqlite3 *const db = open_database(folder, NULL);

	check_integrity(db);
	return lost_transactions(walk(db, 0));
}

static int print(const char *folder)
{
	sqlite3 *const db = open_database(folder, NULL);

	check_integrity(db);
	walk(db, 1);
	return 0;
}

int main(int argc, char **argv)
{
	const char *const what = argc > 2 ? argv[1] : "";

	if (argc > 3 && strcmp(what, "make") == 0) {
		return make(argv[2], argv[3]);
	}
	if (argc > 4 && strcmp(what, "run") == 0) {
		return run(argv[2], (unsigned)atoi(argv[3]), argv[4]);
	}
	if (strcmp(what, "check") == 0) {
		return check(argv[2]);
	}
	if (strcmp(what, "print") == 0) {
		return print(argv[2]);
	}
	fprintf(stderr, "sqlite_subject make|run|check|print FOLDER ...\n");
	return 2;
}
