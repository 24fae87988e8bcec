/* Part of Counterpoint. SPDX-License-Identifier: MIT OR Apache-2.0
   Puts records into an environment of LMDB, each confirmed by a line; or checks one that a power failure left.

     lmdb FILE create     a new environment
     lmdb FILE put
     lmdb FILE MARKS      it has each record that was confirmed, and at most one more, whole */
#include <lmdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BYTES = 300 };

static void must(int code) { if (code != MDB_SUCCESS) { fprintf(stderr, "%s\n", mdb_strerror(code)); _exit(3); } }

static MDB_val key(int number)
{
    static char text[20];
    snprintf(text, sizeof text, "k%04d", number);
    return (MDB_val){ strlen(text), text };
}

int main(int count, char **words)
{
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi table;
    must(mdb_env_create(&env));
    must(mdb_env_open(env, words[1], MDB_NOSUBDIR, 0600));
    if (strcmp(words[2], "create") == 0) return 0;
    if (strcmp(words[2], "put") == 0) {
        for (int number = 1; number <= 2; number++) {
            char bytes[BYTES];
            memset(bytes, 'a' + number, BYTES);
            MDB_val k = key(number), value = { BYTES, bytes };
            must(mdb_txn_begin(env, NULL, 0, &txn));
            must(mdb_dbi_open(txn, NULL, 0, &table));
            must(mdb_put(txn, table, &k, &value, 0));
            must(mdb_txn_commit(txn));
            fprintf(stderr, "done: %d\n", number);
        }
        _exit(0);
    }
    char line[100];
    size_t confirmed = 0;
    FILE *marks = fopen(words[2], "r");
    while (marks && fgets(line, sizeof line, marks)) confirmed++;
    MDB_stat stat;
    must(mdb_txn_begin(env, NULL, MDB_RDONLY, &txn));
    must(mdb_dbi_open(txn, NULL, 0, &table));
    must(mdb_stat(txn, table, &stat));
    if (stat.ms_entries != confirmed && stat.ms_entries != confirmed + 1) return 5;
    for (size_t number = 1; number <= stat.ms_entries; number++) {
        MDB_val k = key(number), value;
        must(mdb_get(txn, table, &k, &value));
        if (value.mv_size != BYTES || ((char *)value.mv_data)[BYTES - 1] != (char)('a' + number)) return 6;
    }
    return 0;
}
