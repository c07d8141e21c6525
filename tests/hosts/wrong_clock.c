/* A host whose wall clock is wrong, put before the C library with LD_PRELOAD: by DIBS_WRONG_SECONDS. What the kernel
   keeps time with (leases, time stamps of files) stays as it is: no namespace has a wall clock of its own. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

#define REAL(name) ((__typeof__(&name)) dlsym(RTLD_NEXT, #name))

static long wrong(void) {
    const char *seconds = getenv("DIBS_WRONG_SECONDS");
    return seconds ? atol(seconds) : 0;
}

int clock_gettime(clockid_t which, struct timespec *at) {
    int failed = REAL(clock_gettime)(which, at);
    if (!failed && (which == CLOCK_REALTIME || which == CLOCK_REALTIME_COARSE)) at->tv_sec += wrong();
    return failed;
}

int gettimeofday(struct timeval *restrict at, void *restrict zone) {
    int failed = REAL(gettimeofday)(at, zone);
    if (!failed && at) at->tv_sec += wrong();
    return failed;
}

time_t time(time_t *at) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (at) *at = now.tv_sec;
    return now.tv_sec;
}
