// Built by the tests: functions of known names, that wait until they are ended.
#include <unistd.h>

namespace iocause {
template <typename T> __attribute__((noinline)) int wait_here(T n)
{
	for (;;)
		n += pause();
	return n;
}
} // namespace iocause

static __attribute__((noinline)) int hidden_helper(int n)
{
	return iocause::wait_here<long>(n) + 1;
}

int main(int argc, char **)
{
	return hidden_helper(argc) + 1;
}
