/* Four threads store into a mapping of FILE, each into pages of its own and by atomic operations into one that they
   share. Prints what the trace must hold, as stress.c does. */

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { THREADS = 4, ROUNDS = 2000, PAGE = 4096 };

static char *pool;

static void *work(void *argument)
{
	long number = (long)argument;
	volatile char *own = pool + (1 + number) * 4 * PAGE;
	for (long i = 0; i < ROUNDS; i++) {
		own[i * 3] = (char)(i * 7 + number);
		__asm__ volatile("lock incq (%0)" : : "r"(pool) : "memory", "cc");
		__asm__ volatile("clwb (%0)\n sfence" : : "r"(own + i * 3) : "memory");
	}
	return NULL;
}

int main(int count, char **arguments)
{
	if (count != 2) return 2;
	int fd = open(arguments[1], O_RDWR | O_CREAT, 0600);
	if (fd < 0 || ftruncate(fd, 32 * PAGE) != 0) return 1;
	pool = mmap(NULL, 32 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (pool == MAP_FAILED) return 1;
	pthread_t threads[THREADS];
	for (long i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, work, (void *)i);
	for (long i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
	long total = THREADS * ROUNDS;
	printf("count STORE %ld\ncount ATOMIC %ld\ncount CLWB %ld\ncount SFENCE %ld\n", total, total, total, total);
	return 0;
}
