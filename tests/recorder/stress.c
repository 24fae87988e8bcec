/* Executes every kind of instruction and system call that the recorder has to see, on FILE and FILE.moves, and prints
   what the trace must therefore hold, one fact a line:

     count TAG N        this many records of the tag, outside of the parts between the marks "free" and "counted"
     between OFFSET N   the first operation at this offset of FILE comes N instructions after the operation before it
     memory ADDRESS     registered memory; FILE.memory holds what it held in the end */

#define _GNU_SOURCE
#include <cpuid.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <valgrind/valgrind.h>

enum { KIB = 1024, POOL = 1024 * KIB, PAGE = 4096 };
enum { REGISTER = VG_USERREQ_TOOL_BASE('P', 'C'), REMOVE = REGISTER + 2, IS_PMEM = REGISTER + 3, SET_CLEAN = REGISTER + 17,
       START_TX = REGISTER + 18, END_TX = REGISTER + 20, EMIT_LOG = REGISTER + 30 };

static long loads, stores, nt_stores, atomics, clwbs, clflushopts, clflushes, sfences, mfences, locked;
static char *pool;
static struct { long offset, between; } expected[16];
static int expected_count;

static void request(uintptr_t number, uintptr_t a, uintptr_t b)
{
	VALGRIND_DO_CLIENT_REQUEST_STMT(number, a, b, 0, 0, 0);
}

static void mark(const char *text) { request(EMIT_LOG, (uintptr_t)text, 0); }

static void must(int holds, const char *what)
{
	if (holds) return;
	perror(what);
	exit(1);
}

#define ON(p, text, ...) __asm__ volatile(text : : "r"(p), ##__VA_ARGS__ : "memory", "cc", "rax", "rbx", "rcx", "rdx", \
	"xmm0", "xmm1", "mm0")

/* Plain loads and stores of every width, at every offset to a line that a vector can have. */
static void plain(char *p)
{
	for (int i = 0; i < 64; i++) {
		ON(p + i, "movb $0x11, (%0)\n movw $0x2222, 100(%0)\n movl $0x33333333, 200(%0)\n movq $0x44444444, 300(%0)");
		stores += 4;
		ON(p + i, "movb (%0), %%al\n movzwl 100(%0), %%ebx\n movl 200(%0), %%ecx\n movq 300(%0), %%rdx\n"
			  "addb %%al, %%bl\n addl %%ebx, %%ecx\n addq %%rcx, %%rdx\n testq %%rdx, %%rdx");
		loads += 4;
	}
	ON(p, "incl 1000(%0)\n addq $5, 1008(%0)\n notb 1016(%0)\n shll $3, 1000(%0)");
	loads += 4;
	stores += 4;
	ON(p, "movl $7, %%eax\n cmpxchgl %%ecx, 1024(%0)");   /* not locked */
	loads++;
	stores++;
	ON(p, "fld1\n fstpl 1032(%0)\n movq $0x55, %%rax\n movq %%rax, %%mm0\n movq %%mm0, 1040(%0)\n emms");
	stores += 2;
	ON(p, "pcmpeqb %%xmm0, %%xmm0\n movd %%xmm0, 1048(%0)\n movq %%xmm0, 1056(%0)\n movaps %%xmm0, 1072(%0)");
	stores += 3;
}

static void vectors(char *p, int avx)
{
	mark("free");   /* Valgrind may split these */
	for (int i = 0; i < 64; i++) {
		ON(p + i, "pcmpeqb %%xmm0, %%xmm0\n movups %%xmm0, (%0)\n movdqu 100(%0), %%xmm1\n paddb %%xmm0, %%xmm1\n"
			  "movdqu %%xmm1, 200(%0)");
		if (avx)
			ON(p + i, "vpcmpeqb %%xmm0, %%xmm0, %%xmm0\n vinsertf128 $1, %%xmm0, %%ymm0, %%ymm0\n"
				  "vmovups %%ymm0, 300(%0)\n vmovdqu 400(%0), %%ymm1\n vmovdqu %%ymm1, 500(%0)\n"
				  "vmaskmovps %%ymm0, %%ymm1, 600(%0)\n vzeroupper");
	}
	ON(p, "fld1\n fldpi\n fstpt 1001(%0)\n fstpl 1021(%0)\n fldt 1001(%0)\n fstp %%st(0)\n fnstenv 1040(%0)");
	ON(p, "fxsave 1088(%0)\n fxrstor 1088(%0)\n fnstcw 1700(%0)\n stmxcsr 1704(%0)");
	__asm__ volatile("pcmpeqb %%xmm0, %%xmm0\n movdqa %%xmm0, %%xmm1\n pslldq $5, %%xmm1\n maskmovdqu %%xmm1, %%xmm0"
			 : : "D"(p + 1801) : "xmm0", "xmm1", "memory");
	mark("counted");
}

static void non_temporal(char *p, int avx)
{
	for (int i = 0; i < 4; i++, p += 256) {
		ON(p, "movl $0x66, %%eax\n movntil %%eax, (%0)\n movntiq %%rax, 8(%0)\n movq %%rax, %%mm0\n movntq %%mm0, 16(%0)\n"
		      "pcmpeqb %%xmm0, %%xmm0\n movntdq %%xmm0, 32(%0)\n movntps %%xmm0, 48(%0)\n movntpd %%xmm0, 64(%0)\n emms");
		nt_stores += 6;
		if (avx) {
			ON(p, "vpcmpeqb %%xmm0, %%xmm0, %%xmm0\n vmovntdq %%xmm0, 80(%0)\n vmovntps %%xmm0, 96(%0)\n"
			      "vinsertf128 $1, %%xmm0, %%ymm0, %%ymm0\n vmovntdq %%ymm0, 128(%0)\n vmovntps %%ymm0, 160(%0)\n"
			      "vmovntpd %%ymm0, 192(%0)\n vzeroupper");
			nt_stores += 5;
		}
	}
}

static void atomic(char *p)
{
	long here = 0;
	ON(p, "lock incb (%0)\n lock addw $2, 8(%0)\n lock orl $4, 16(%0)\n lock subq $1, 24(%0)\n lock notl 32(%0)\n"
	      "lock negq 40(%0)\n lock btsl $3, 48(%0)\n lock xorb $9, 50(%0)");
	atomics += 8;
	ON(p, "movl $77, %%eax\n xchgl %%eax, 56(%0)\n movl $3, %%eax\n xchgb %%al, 60(%0)\n"
	      "movl $3, %%eax\n lock xaddl %%eax, 64(%0)");
	atomics += 3;
	ON(p, "xorl %%eax, %%eax\n movl $5, %%ecx\n lock cmpxchgl %%ecx, 72(%0)\n"   /* takes place */
	      "movl $9, %%eax\n lock cmpxchgl %%ecx, 72(%0)");                       /* does not */
	atomics += 2;
	ON(p, "movl 80(%0), %%eax\n movl 84(%0), %%edx\n movl $1, %%ebx\n movl $2, %%ecx\n lock cmpxchg8b 80(%0)");
	loads += 2;
	atomics++;
	ON(p, "movq 96(%0), %%rax\n movq 104(%0), %%rdx\n movl $3, %%ebx\n movl $4, %%ecx\n lock cmpxchg16b 96(%0)");
	loads += 2;
	atomics++;
	ON(&here, "lock incl (%0)\n xchgl %%eax, (%0)");
	locked += 2;
}

static void flushes_and_fences(char *p)
{
	for (long i = 0; i < 20; i++) {
		ON(p + 64 * i, "clwb (%0)\n clflushopt 64(%0)\n clflush 128(%0)\n sfence\n mfence\n lfence");
		__asm__ volatile("movq %0, %%r12\n movq %1, %%r13\n clwb 3(%%r12,%%r13,8)\n clflushopt (%%r12,%%r13,4)\n"
				 "clflush -64(%%r12,%%r13)\n clwb (%%r13,%%r12)\n clwb 1000(%%r12)"
				 : : "r"(p), "r"(i) : "r12", "r13", "memory");
		clwbs += 4;
		clflushopts += 2;
		clflushes += 2;
		sfences++;
		mfences++;
	}
	static char elsewhere[64];
	ON(elsewhere, "clwb (%0)\n clflush (%0)\n clflushopt (%0)");   /* not persistent: recorded all the same */
	clwbs++;
	clflushes++;
	clflushopts++;
}

static void expect(const char *p, long between)
{
	expected[expected_count].offset = p - pool;
	expected[expected_count++].between = between;
}

/* Known distances. Each first store is at an offset of its own. */
static void distances(char *p)
{
	ON(p, "movb $1, (%0)\n .rept 37\n nop\n .endr\n movb $2, 64(%0)");
	expect(p + 64, 37);
	ON(p, "movb $1, 128(%0)\n movl $5, %%ecx\n 1: loop 1b\n movb $2, 192(%0)");
	expect(p + 192, 6);
	ON(p, "movb $1, 256(%0)\n lock incl 320(%0)\n incl 384(%0)\n clwb 448(%0)\n sfence\n movb $3, 512(%0)");
	for (int offset = 320; offset <= 512; offset += 64) expect(p + offset, 0);
	stores += 7;
	loads++;
	atomics++;
	clwbs++;
	sfences++;
	mark("free");
	__asm__ volatile("movq %0, %%r8\n leaq 640(%%r8), %%rdi\n movl $0x5a, %%eax\n movb $1, 576(%%r8)\n"
			 "movl $100, %%ecx\n rep stosb\n movb $2, 768(%%r8)\n"
			 "rep stosb\n nop\n movb $2, 832(%%r8)\n"              /* no step: rcx is 0 */
			 "leaq 640(%%r8), %%rdi\n leaq 640(%%r8), %%rsi\n movl $40, %%ecx\n"
			 "repe cmpsb\n movb $2, 896(%%r8)"
			 : : "r"(p) : "r8", "rax", "rcx", "rdi", "rsi", "memory", "cc");
	mark("counted");
	expect(p + 640, 1);
	expect(p + 768, 0);
	expect(p + 832, 2);
	expect(p + 896, 0);
}

#define REPEAT(name, text) \
	static void name(char *to, const char *from, long count) \
	{ \
		__asm__ volatile(text : "+D"(to), "+S"(from), "+c"(count) : "a"(0x0807060504030201) : "memory", "cc"); \
	}
REPEAT(stosb, "rep stosb")
REPEAT(stosw, "rep stosw")
REPEAT(stosl, "rep stosl")
REPEAT(stosq, "rep stosq")
REPEAT(movsb, "rep movsb")
REPEAT(movsw, "rep movsw")
REPEAT(movsl, "rep movsl")
REPEAT(movsq, "rep movsq")
REPEAT(movsb_down, "std\n rep movsb\n cld")
REPEAT(scasb, "repne scasb")
REPEAT(lodsb, "rep lodsb")

static char elsewhere_bytes[256];

static void strings(char *p)
{
	static void (*const kinds[])(char *, const char *, long) = { stosb, stosw, stosl, stosq, movsb, movsw, movsl, movsq };
	mark("free");
	for (int i = 0; i < 8; i++)
		for (int length = 0; length < 40; length += 13)
			for (int at = 0; at < 64; at += 7) {
				kinds[i](p + at, p + 3001 + 3 * at, length);   /* both ends persistent */
				kinds[i](p + 1000 + at, elsewhere_bytes + at, length);
			}
	stosb(p + 4000, NULL, 5000);
	movsb(p + 9001, p + 9000, 300);                         /* overlapping: fills */
	movsb_down(p + 10300, p + 10200, 250);
	scasb(p + 4000, NULL, 100);
	lodsb(NULL, p + 4000, 100);
	mark("counted");
}

static void writes_and_reads(int fd, const char *other)
{
	char buffer[3 * PAGE];
	for (unsigned i = 0; i < sizeof buffer; i++) buffer[i] = i * 31 + 7;
	int source = open(other, O_RDWR | O_CREAT | O_TRUNC, 0600);
	must(source >= 0 && write(source, buffer, sizeof buffer) == sizeof buffer, other);

	mark("kernel");
	char *p = pool + 512 * KIB;
	must(pread(source, p + 13, 5000, 17) == 5000, "pread");
	must(lseek(source, 100, SEEK_SET) == 100 && read(source, p + 6000, 3000) == 3000, "read");
	struct iovec parts[2] = { { p + 10000, 77 }, { p + 10100, 99 } };
	must(preadv(source, parts, 2, 5) == 176, "preadv");
	must(syscall(SYS_clock_gettime, CLOCK_MONOTONIC, p + 11000) == 0, "clock_gettime");

	must(pwrite(fd, buffer, 5000, 600 * KIB + 1) == 5000, "pwrite");
	must(lseek(fd, 620 * KIB, SEEK_SET) > 0 && write(fd, buffer, 999) == 999, "write");
	struct iovec from[2] = { { buffer, 50 }, { buffer + 60, 60 } };
	must(pwritev(fd, from, 2, 640 * KIB + 3) == 110, "pwritev");
	must(lseek(fd, 650 * KIB, SEEK_SET) > 0 && sendfile(fd, source, &(off_t){ 9 }, 2000) == 2000, "sendfile");
	must(copy_file_range(source, &(loff_t){ 0 }, fd, &(loff_t){ 660 * KIB }, 4000, 0) == 4000, "copy_file_range");
	must(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 600 * KIB, 3000) == 0, "fallocate");
	mark("counted");
	close(source);
}

/* Mappings that move, shrink, overlap and go; content that changes while nothing is mapped. */
static void moves(const char *path)
{
	char text[100];
	memset(text, 'x', sizeof text);
	mark("free");
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	must(fd >= 0 && ftruncate(fd, 64 * PAGE) == 0, path);
	must(pwrite(fd, "before any mapping", 18, 3 * PAGE + 100) == 18, "pwrite");

	char *a = mmap(NULL, 16 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	must(a != MAP_FAILED, "mmap");
	memset(a + 10, 'a', 3 * PAGE);
	char *b = mremap(a, 16 * PAGE, 32 * PAGE, MREMAP_MAYMOVE);
	must(b != MAP_FAILED, "mremap");
	memset(b + 20 * PAGE, 'b', 50);
	must(mremap(b, 32 * PAGE, 24 * PAGE, 0) == b, "mremap");

	/* Another part of the file, then anonymous memory, over pages in the middle. */
	must(mmap(b + 4 * PAGE, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 40 * PAGE) != MAP_FAILED, "mmap");
	strcpy(b + 4 * PAGE + 8, "at page 40");
	must(mmap(b + 8 * PAGE, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED, "mmap");
	strcpy(b + 8 * PAGE, "nowhere");
	ON(b + 9 * PAGE - 4, "movq $0x77, (%0)");   /* half of it in the file */

	munmap(b + 10 * PAGE, 2 * PAGE);
	must(pwrite(fd, text, sizeof text, 11 * PAGE - 50) == sizeof text, "pwrite");   /* seen when it is mapped again */
	char *c = mmap(NULL, 12 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);     /* a second mapping of the same */
	must(c != MAP_FAILED, "mmap");
	strcpy(c + 2 * PAGE, "through the second");
	char *d = mmap(NULL, 4 * PAGE, PROT_READ, MAP_SHARED, fd, 50 * PAGE);
	must(d != MAP_FAILED && mprotect(d, 4 * PAGE, PROT_READ | PROT_WRITE) == 0, "mprotect");
	strcpy(d, "made writable later");

	char *secret = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	strcpy(secret, "private");

	must(ftruncate(fd, 50 * PAGE + 5) == 0 && ftruncate(fd, 64 * PAGE) == 0, "ftruncate");
	int appending = open(path, O_WRONLY | O_APPEND);
	must(write(appending, text, 60) == 60, "write");
	close(appending);
	must(madvise(c + PAGE, PAGE, MADV_REMOVE) == 0, "madvise");
	must(mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 64 * PAGE) != MAP_FAILED, "mmap");
	mark("counted");
	close(fd);

	mark("msync");
	b[100] = 1;
	must(msync(b, 2 * PAGE, MS_SYNC) == 0 && msync(b, 2 * PAGE, MS_SYNC) == 0, "msync");
	mark("counted");
}

static void requests(const char *path)
{
	char *memory = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	strcpy(memory + 50, "there before");
	mark("free");
	request(REGISTER, (uintptr_t)memory, 4 * PAGE);
	request(START_TX, 0, 0);
	strcpy(memory + 5000, "registered");
	request(END_TX, 0, 0);
	uintptr_t is = VALGRIND_DO_CLIENT_REQUEST_EXPR(9, IS_PMEM, memory, 4 * PAGE, 0, 0, 0);
	uintptr_t is_not = VALGRIND_DO_CLIENT_REQUEST_EXPR(9, IS_PMEM, memory, 5 * PAGE, 0, 0, 0);
	request(REMOVE, (uintptr_t)memory, 4 * PAGE);
	request(REMOVE, (uintptr_t)pool, PAGE);   /* of a file: kept */
	request(SET_CLEAN, (uintptr_t)pool + PAGE, 64);
	must(RUNNING_ON_VALGRIND == 0 || (is == 1 && is_not == 0), "is it persistent?");
	printf("memory %p\n", memory);
	char name[4096];
	snprintf(name, sizeof name, "%s.memory", path);
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	must(fd >= 0 && write(fd, memory, 4 * PAGE) == 4 * PAGE, name);
	close(fd);
	strcpy(memory + 5000, "no more");
	mark("counted");
}

static void offered(void)
{
	unsigned a, b = 0, c, d;
	__cpuid_count(7, 0, a, b, c, d);
	must((b >> 23 & 3) == 3, "CPUID offers no CLFLUSHOPT and CLWB");
}

int main(int count, char **arguments)
{
	must(count == 2, "usage: stress FILE");
	const char *path = arguments[1];
	int avx = __builtin_cpu_supports("avx2");
	char other[4096];
	offered();

	int fd = open(path, O_RDWR | O_CREAT, 0600);
	must(fd >= 0 && ftruncate(fd, POOL) == 0, path);
	must(pwrite(fd, "image", 5, 700 * KIB) == 5, path);
	mark("free");
	pool = mmap(NULL, POOL, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	must(pool != MAP_FAILED, "mmap");
	mark("counted");

	plain(pool);
	vectors(pool + 4096, avx);
	non_temporal(pool + 8192, avx);
	atomic(pool + 12288);
	flushes_and_fences(pool + 16384);
	distances(pool + 20480);
	strings(pool + 32768);

	fflush(stdout);
	mark("free");
	pid_t child = fork();
	if (child == 0) {
		ON(pool + 28672, "movb (%0), %%al\n sfence\n clwb (%0)");
		_exit(0);
	}
	int status;
	must(waitpid(child, &status, 0) == child && status == 0, "fork");
	mark("counted");

	snprintf(other, sizeof other, "%s.source", path);
	writes_and_reads(fd, other);
	snprintf(other, sizeof other, "%s.moves", path);
	moves(other);
	requests(path);

	for (int i = 0; i < expected_count; i++) printf("between %ld %ld\n", expected[i].offset, expected[i].between);
	printf("count LOAD %ld\ncount STORE %ld\ncount NT_STORE %ld\ncount ATOMIC %ld\n", loads, stores, nt_stores, atomics);
	printf("count CLWB %ld\ncount CLFLUSHOPT %ld\ncount CLFLUSH %ld\n", clwbs, clflushopts, clflushes);
	printf("count SFENCE %ld\ncount MFENCE %ld\ncount LOCKED %ld\n", sfences, mfences, locked);
	return 7;
}
