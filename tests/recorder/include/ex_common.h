/* What the examples of PMDK include and Debian's package of them leaves out: our own, of the same names. */
#ifndef EX_COMMON_H
#define EX_COMMON_H

#include <stdint.h>
#include <sys/param.h>
#include <sys/stat.h>
#include <unistd.h>

#define CREATE_MODE_RW (S_IWUSR | S_IRUSR)

static inline int file_exists(char const *file) { return access(file, F_OK); }

static inline int find_last_set_64(uint64_t value) { return 64 - __builtin_clzll(value) - 1; }

#endif
