/* Part of Counterpoint. SPDX-License-Identifier: MIT OR Apache-2.0
   Inserts rows into a database of SQLite, each confirmed by a line; or checks one that a power failure left.

     sqlite FILE JOURNAL SYNCHRONOUS    a new database, with these pragmas
     sqlite FILE MARKS                  it is intact, and has each row that was confirmed, and at most one more */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static sqlite3 *database;

static int first(void *to, int columns, char **values, char **names)
{
    snprintf(to, 100, "%s", values[0]);
    return 1;   /* no more than one row */
}

static int run(const char *statement, char *found)
{
    int code = sqlite3_exec(database, statement, found ? first : NULL, found, NULL);
    return code == SQLITE_ABORT && found ? SQLITE_OK : code;
}

static int check(const char *marks)
{
    char found[100] = "", line[100];
    int confirmed = 0, rows;
    FILE *file = fopen(marks, "r");
    while (file && fgets(line, sizeof line, file)) confirmed++;
    if (run("pragma integrity_check", found) != SQLITE_OK || strcmp(found, "ok") != 0) return 3;
    if (run("select count(*) from t", found) != SQLITE_OK) return confirmed > 0 ? 4 : 0;
    rows = atoi(found);
    return rows == confirmed - 1 || rows == confirmed ? 0 : 5;
}

int main(int count, char **words)
{
    if (sqlite3_open(words[1], &database) != SQLITE_OK) return 2;
    if (count == 3) return check(words[2]);
    char statement[200];
    snprintf(statement, sizeof statement, "pragma journal_mode=%s; pragma synchronous=%s; create table t(a integer primary key, b)",
             words[2], words[3]);
    for (int row = 0; row <= 2; row++) {
        if (run(statement, NULL) != SQLITE_OK) return 1;
        fprintf(stderr, "done: %d\n", row);
        snprintf(statement, sizeof statement, "insert into t values(%d, zeroblob(300))", row + 1);
    }
    _exit(0);   /* not closed: there is something to recover */
}
