/* Ctrl-C at the worst moment, put before the real epoll_wait with LD_PRELOAD: after Python has looked for signals, and
   just before it waits without a limit. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <sys/epoll.h>
#include <unistd.h>

int epoll_wait(int fd, struct epoll_event *events, int room, int timeout)
{
    static int (*real)(int, struct epoll_event *, int, int);
    static int sent;
    if (!real)
        real = (int (*)(int, struct epoll_event *, int, int))dlsym(RTLD_NEXT, "epoll_wait");
    if (timeout == -1 && !sent) {
        sent = 1;
        kill(getpid(), SIGINT);
    }
    return real(fd, events, room, timeout);
}
