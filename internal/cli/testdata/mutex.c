/* Built by the tests without frame pointers: a thread that waits 37 times for
 * a mutex, below functions of known names. Standard input ends it. */
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t step;

static void nap(long ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000 };
	nanosleep(&t, 0);
}

__attribute__((noinline)) int innermost_holder(int n)
{
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	return n + 1;
}

__attribute__((noinline)) int middle_function(int n)
{
	return innermost_holder(n) * 2 + 1;
}

__attribute__((noinline)) int outer_function(int n)
{
	return middle_function(n) * 3 + 1;
}

static void *waiter(void *unused)
{
	volatile int sum = 0;

	for (int i = 0; i < 37; i++) {
		pthread_barrier_wait(&step);
		sum += outer_function(i);
		pthread_barrier_wait(&step);
	}
	return unused;
}

int main(void)
{
	pthread_t t;
	char c;

	pthread_barrier_init(&step, 0, 2);
	printf("ready\n");
	fflush(stdout);
	if (read(0, &c, 1) != 1)
		return 1;
	pthread_create(&t, 0, waiter, 0);
	for (int i = 0; i < 37; i++) {
		pthread_mutex_lock(&lock);
		pthread_barrier_wait(&step);
		while (*(volatile int *)&lock.__data.__lock != 2) /* until the other is about to sleep */
			nap(1);
		nap(6);
		pthread_mutex_unlock(&lock);
		pthread_barrier_wait(&step);
	}
	pthread_join(t, 0);
	printf("done\n");
	fflush(stdout);
	return read(0, &c, 1) < 0;
}
