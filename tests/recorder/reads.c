/* Reads a file of 64 KiB in every way that the recorder's second tool notes, and prints what it must note, in order.
   Usage: reads FILE [holes | other-process | wait]. */

#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIZE = 65536, PAGE = 4096 };

static volatile uint64_t sum;
static char *shared, *private;
static int file;

static void expect(long offset, long length) { printf("read 0 %ld %ld\n", offset, length); }

static void load(const char *base, long offset) { sum += *(volatile uint64_t *)(base + offset); }
static void load_byte(const char *base, long offset) { sum += *(volatile uint8_t *)(base + offset); }
static void load_half(const char *base, long offset) { sum += *(volatile uint32_t *)(base + offset); }
static void store(char *base, long offset) { *(volatile uint64_t *)(base + offset) = 7; }
static void store_half(char *base, long offset) { *(volatile uint32_t *)(base + offset) = 7; }

static void loads(void)
{
    load(shared, 64), expect(64, 8);
    load(shared, 64);
    load_byte(shared, 129), expect(128, 8);
    load(shared, 252), expect(248, 16);
    load(private, 64), load(private, 320), expect(320, 8);
    for (long at = 512; at < 640; at += 8) load(shared, at);
    expect(512, 128);
    __sync_fetch_and_add((uint64_t *)(shared + 704), 1), expect(704, 8);
}

static void after_stores(void)
{
    store(shared, PAGE), load(shared, PAGE);
    store_half(shared, PAGE + 8), load_half(shared, PAGE + 8);
    load(shared, PAGE + 8), expect(PAGE + 8, 8);
    load(shared, PAGE + 24), expect(PAGE + 24, 8);
    store(shared, PAGE + 24), load(shared, PAGE + 24);
    /* What is stored to a private mapping is not in the file. */
    store(private, PAGE + 40), load(private, PAGE + 40), expect(PAGE + 40, 8);
}

static void calls(const char *path)
{
    char bytes[64];
    int null = open("/dev/null", O_WRONLY), ends[2];
    char copy[4096];
    snprintf(copy, sizeof copy, "%s.copy", path);
    int other = open(copy, O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (pread(file, bytes, 16, 2 * PAGE) == 16) expect(2 * PAGE, 16);
    lseek(file, 2 * PAGE + 100, SEEK_SET);
    if (read(file, bytes, 10) == 10) expect(2 * PAGE + 96, 16);
    struct iovec two[2] = { { bytes, 8 }, { bytes + 8, 8 } };
    lseek(file, 2 * PAGE + 256, SEEK_SET);
    if (readv(file, two, 2) == 16) expect(2 * PAGE + 256, 16);
    if (preadv(file, two, 2, 2 * PAGE + 512) == 16) expect(2 * PAGE + 512, 16);
    loff_t from = 3 * PAGE;
    if (copy_file_range(file, &from, other, NULL, 24, 0) == 24) expect(3 * PAGE, 24);
    off_t at = 3 * PAGE + 256;
    if (sendfile(other, file, &at, 8) == 8) expect(3 * PAGE + 256, 8);
    if (pipe(ends)) exit(1);
    loff_t piece = 3 * PAGE + 512;
    if (splice(file, &piece, ends[1], NULL, 8, 0) == 8) expect(3 * PAGE + 512, 8);
    if (read(ends[0], bytes, 8) != 8) exit(1);
    if (write(null, shared + 4 * PAGE, 16) == 16) expect(4 * PAGE, 16);
    /* What the kernel writes into the mapping, the program has written. */
    if (write(ends[1], "12345678", 8) != 8 || read(ends[0], shared + 5 * PAGE, 8) != 8) exit(1);
    load(shared, 5 * PAGE);
    lseek(file, 0, SEEK_END);
    if (read(file, bytes, 8) != 0) exit(1);
}

static void remapped(const char *path)
{
    char *two = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 8 * PAGE);
    load(two, PAGE), expect(9 * PAGE, 8);
    munmap(two, PAGE);
    load(two, PAGE + 64), expect(9 * PAGE + 64, 8);
    two = mmap(two, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    load(two, 0), load(two, PAGE + 128);
    char *moved = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, file, 10 * PAGE);
    moved = mremap(moved, PAGE, 3 * PAGE, MREMAP_MAYMOVE);
    load(moved, 2 * PAGE), expect(12 * PAGE, 8);
    /* Another name is the same file, whatever is there under the old one. */
    char linked[4096];
    snprintf(linked, sizeof linked, "%s.link", path);
    if (link(path, linked)) exit(1);
    int again = open(linked, O_RDONLY);
    char byte;
    if (pread(again, &byte, 1, 13 * PAGE) == 1) expect(13 * PAGE, 8);
    unlink(linked);
}

static void children(void)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        load(shared, 64), load(shared, 14 * PAGE), expect(14 * PAGE, 8);
        exit(sum == 1);
    }
    waitpid(child, NULL, 0);
    load(shared, 14 * PAGE + 64), expect(14 * PAGE + 64, 8);
}

int main(int argc, char **argv)
{
    file = open(argv[1], O_RDWR);
    if (argc > 2 && strcmp(argv[2], "holes") == 0) {
        expect(0, SIZE);
        return lseek(file, 0, SEEK_DATA) == 1;
    }
    if (argc > 2 && strcmp(argv[2], "other-process") == 0) {
        char byte;
        struct iovec mine = { &byte, 1 }, of = { &byte, 1 };
        printf("unknown process_vm_readv\n");
        return process_vm_readv(getpid(), &mine, 1, &of, 1, 0) != 1;
    }
    if (argc > 2 && strcmp(argv[2], "wait") == 0) return pause();
    shared = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    private = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
    if (file < 0 || shared == MAP_FAILED || private == MAP_FAILED) return 1;
    loads();
    after_stores();
    calls(argv[1]);
    remapped(argv[1]);
    children();
    return sum == 1;
}
