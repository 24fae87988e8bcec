/* Three threads store into a mapping of FILE and tell each other of it. Prints of which stores, by their offsets, the trace must
   know the order ("before A B"), of which only that there is one ("ordered A B"), and of which none ("apart A B"). */

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096, LINE = 64 };

/* Lines of the mapping. */
enum { CREATION, AFTER_GO, TOLD, AFTER_TELLING, HEARD, LOCKED, LOCKED_TOO, OVERWRITTEN, ALONE, JOINED, COPIED, PACKED, HEARD_PACKED, UNDER_KERNEL, AFTER_KERNEL };

static volatile char *pool;
static volatile _Alignas(64) int told;
static volatile _Alignas(64) int go;
static volatile _Alignas(64) int over;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static char kept[LINE];
/* Flags that share a word. */
static volatile _Alignas(64) struct { char told, other; } packed;
static volatile _Alignas(64) int packed_over;

static void store(int line, char value) { pool[line * LINE] = value; }

static void *teller(void *unused)
{
	store(TOLD, 1);
	/* The last store of a repeated instruction tells it. */
	store(COPIED, 1);
	__asm__ volatile("rep movsb" : : "S"((const char *)pool + COPIED * LINE), "D"(kept), "c"(LINE) : "memory");
	told = 1;
	store(AFTER_TELLING, 1);
	pthread_mutex_lock(&mutex);
	store(LOCKED, 1);
	pthread_mutex_unlock(&mutex);
	return NULL;
}

static void *hearer(void *unused)
{
	while (!told) sched_yield();
	store(HEARD, 1);
	store(OVERWRITTEN, kept[0]);
	store(TOLD, 2);
	pthread_mutex_lock(&mutex);
	store(LOCKED_TOO, 1);
	pthread_mutex_unlock(&mutex);
	return NULL;
}

static void *loner(void *unused)
{
	while (!go) sched_yield();
	for (int i = 0; i < 1000; i++) store(ALONE, (char)i);
	/* What a thread does at its end, others see when they begin. */
	while (!over) sched_yield();
	return NULL;
}

static void *packed_teller(void *unused)
{
	store(PACKED, 1);
	packed.told = 1;
	return NULL;
}

static void *blind(void *unused)
{
	while (!packed_over) {
		packed.other = 1;
		sched_yield();
	}
	return NULL;
}

static void *packed_hearer(void *unused)
{
	while (!packed.told) sched_yield();
	store(HEARD_PACKED, 1);
	packed_over = 1;
	return NULL;
}

/* Of what goes through a pipe nothing is known. */
static int pipe_ends[2], file;

static void *under(void *unused)
{
	store(UNDER_KERNEL, 1);
	write(pipe_ends[1], "x", 1);
	return NULL;
}

static void *over_by_kernel(void *unused)
{
	char read_from_pipe;
	read(pipe_ends[0], &read_from_pipe, 1);
	pread(file, (char *)pool + UNDER_KERNEL * LINE, 8, 0);
	store(AFTER_KERNEL, 1);
	return NULL;
}

int main(int count, char **arguments)
{
	if (count != 2) return 2;
	int fd = open(arguments[1], O_RDWR | O_CREAT, 0600);
	if (fd < 0 || ftruncate(fd, PAGE) != 0) return 1;
	pool = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (pool == MAP_FAILED) return 1;
	pthread_t threads[3];
	store(CREATION, 1);
	pthread_create(&threads[0], NULL, loner, NULL);
	pthread_create(&threads[1], NULL, hearer, NULL);
	pthread_create(&threads[2], NULL, teller, NULL);
	go = 1;
	store(AFTER_GO, 1);
	for (int i = 1; i < 3; i++) pthread_join(threads[i], NULL);
	over = 1;
	pthread_join(threads[0], NULL);
	store(JOINED, 1);
	void *(*const on_packed[])(void *) = { blind, packed_hearer, packed_teller };
	for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, on_packed[i], NULL);
	for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
	file = fd;
	if (pipe(pipe_ends) != 0) return 1;
	pthread_create(&threads[0], NULL, over_by_kernel, NULL);
	pthread_create(&threads[1], NULL, under, NULL);
	for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
	int before[][2] = { { CREATION, ALONE }, { CREATION, HEARD }, { TOLD, HEARD },
			    { COPIED, OVERWRITTEN }, { ALONE, JOINED }, { HEARD, JOINED }, { LOCKED, JOINED },
			    { LOCKED_TOO, JOINED }, { PACKED, HEARD_PACKED },
			    { UNDER_KERNEL, AFTER_KERNEL } };
	for (unsigned i = 0; i < sizeof before / sizeof *before; i++)
		printf("before %d %d\n", before[i][0] * LINE, before[i][1] * LINE);
	printf("ordered %d %d\n", LOCKED * LINE, LOCKED_TOO * LINE);
	int apart[][2] = { { AFTER_GO, ALONE }, { AFTER_TELLING, HEARD }, { ALONE, HEARD }, { ALONE, TOLD } };
	for (unsigned i = 0; i < sizeof apart / sizeof *apart; i++)
		printf("apart %d %d\n", apart[i][0] * LINE, apart[i][1] * LINE);
	return 0;
}
