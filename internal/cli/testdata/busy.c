/* Built by the tests without frame pointers: computes below functions of known
 * names, and now and then reads below the same. Standard input ends it. */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static int zero;
static char page[4096];

__attribute__((noinline)) unsigned innermost_loop(unsigned n)
{
	for (volatile int i = 0; i < 1 << 20; i++)
		n = n * 31 + i;
	return n;
}

__attribute__((noinline)) unsigned innermost_read(unsigned n)
{
	for (int i = 0; i < 1 << 10; i++)
		n += (unsigned)read(zero, page, sizeof(page));
	return n + 1;
}

__attribute__((noinline)) unsigned middle_function(unsigned n)
{
	return (innermost_loop(n) ^ innermost_read(n)) * 2 + 1;
}

__attribute__((noinline)) unsigned outer_function(unsigned n)
{
	return middle_function(n) * 3 + 1;
}

static void *work(void *unused)
{
	volatile unsigned n = 1;

	for (;;)
		n = outer_function(n);
	return unused;
}

int main(void)
{
	pthread_t t;
	char c;

	zero = open("/dev/zero", O_RDONLY);
	if (zero < 0 || pthread_create(&t, 0, work, 0))
		return 1;
	exit(read(0, &c, 1) < 0);
}
