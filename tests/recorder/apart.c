/* Four threads that begin together, and each of which then stores into pages of its own of FILE alone. */

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

enum { THREADS = 4, ROUNDS = 2000, PAGE = 4096, LINE = 64 };

static char *pool;
static pthread_barrier_t barrier;

static void *work(void *argument)
{
	volatile char *own = pool + (long)argument * 4 * PAGE;
	pthread_barrier_wait(&barrier);
	for (long i = 0; i < ROUNDS; i++) {
		volatile char *at = own + i * LINE % (4 * PAGE);
		*at = (char)i;
		__asm__ volatile("clwb (%0)\n sfence" : : "r"(at) : "memory");
	}
	return NULL;
}

int main(int count, char **arguments)
{
	if (count != 2) return 2;
	int fd = open(arguments[1], O_RDWR | O_CREAT, 0600);
	if (fd < 0 || ftruncate(fd, THREADS * 4 * PAGE) != 0) return 1;
	pool = mmap(NULL, THREADS * 4 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (pool == MAP_FAILED) return 1;
	pthread_t threads[THREADS];
	pthread_barrier_init(&barrier, NULL, THREADS);
	for (long i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, work, (void *)i);
	for (long i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
	return 0;
}
