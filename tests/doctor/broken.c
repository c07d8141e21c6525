/* A file system that is broken on purpose, put before the real one with LD_PRELOAD: DIBS_BROKEN names the fault.
   Only paths of the doctor's own folder are met, or with DIBS_BROKEN_BELOW those that contain it. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name)) dlsym(RTLD_NEXT, #name))

static int faulty(const char *fault) {
    const char *chosen = getenv("DIBS_BROKEN");
    return chosen && !strcmp(chosen, fault);
}

static int ours(const char *path) {
    const char *below = getenv("DIBS_BROKEN_BELOW");
    return path && strstr(path, below ? below : "/.dibs-doctor-");
}

static int fd_ours(int fd) {
    char link[64], path[4096];
    strcpy(link, "/proc/self/fd/");
    char digits[16];
    int n = 0;
    do { digits[n++] = '0' + fd % 10; fd /= 10; } while (fd);
    char *end = link + strlen(link);
    while (n) *end++ = digits[--n];
    *end = 0;
    ssize_t size = readlink(link, path, sizeof path - 1);
    if (size < 0) return 0;
    path[size] = 0;
    return ours(path);
}

/* Now and then: one in `of`, differently in each process. */
static int chance(int of) {
    static unsigned seed;
    if (!seed) seed = getpid() * 2654435761u ^ (unsigned) time(NULL);
    return rand_r(&seed) % of == 0;
}

static int loosened(const char *path, int flags) {
    int exclusive = (flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL);
    return exclusive && faulty("create") && ours(path) && chance(25) ? flags & ~O_EXCL : flags;
}

/* As a disk whose inodes are used up. */
static int full(const char *path, int flags) {
    if (!faulty("full") || !(flags & O_CREAT) || !ours(path) || !strstr(path, "/create/")) return 0;
    errno = ENOSPC;
    return 1;
}

#define OPEN(name)                                                                        \
    int name(const char *path, int flags, ...) {                                          \
        va_list more;                                                                     \
        va_start(more, flags);                                                            \
        mode_t mode = va_arg(more, mode_t);                                               \
        va_end(more);                                                                     \
        return full(path, flags) ? -1 : REAL(name)(path, loosened(path, flags), mode);    \
    }
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                                                      \
    int name(int folder, const char *path, int flags, ...) {                              \
        va_list more;                                                                     \
        va_start(more, flags);                                                            \
        mode_t mode = va_arg(more, mode_t);                                               \
        va_end(more);                                                                     \
        return full(path, flags) ? -1 : REAL(name)(folder, path, loosened(path, flags), mode); \
    }
OPENAT(openat)
OPENAT(openat64)

int link(const char *old, const char *new) {
    if (faulty("link") && ours(new) && chance(25)) unlink(new);
    return REAL(link)(old, new);
}

int linkat(int a, const char *old, int b, const char *new, int flags) {
    if (faulty("link") && ours(new) && chance(25)) unlink(new);
    return REAL(linkat)(a, old, b, new, flags);
}

/* As some gateways to object storage rename: copy, then delete. */
static int copied(const char *old, const char *new) {
    char data[65536];
    int in = REAL(open)(old, O_RDONLY);
    if (in < 0) return -1;
    ssize_t size = read(in, data, sizeof data);
    close(in);
    int out = REAL(open)(new, O_CREAT | O_TRUNC | O_WRONLY, 0666);
    if (out < 0) return -1;
    struct timespec moment = {0, 1000000};
    (void) !write(out, data, size / 2);
    nanosleep(&moment, NULL);
    (void) !write(out, data + size / 2, size - size / 2);
    close(out);
    unlink(old);
    return 0;
}

/* When a name was last moved away, for all processes: a table in the file DIBS_BROKEN_TABLE, by the name's hash. */
#define NAMES 131072
static volatile uint64_t *moved_at(const char *path) {
    static volatile uint64_t *table;
    if (!table) {
        int fd = REAL(open)(getenv("DIBS_BROKEN_TABLE"), O_RDWR);
        void *found = mmap(NULL, NAMES * sizeof *table, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (found == MAP_FAILED) abort();
        close(fd);
        table = found;
    }
    uint64_t hash = 14695981039346656037u;
    while (*path) hash = (hash ^ (unsigned char) *path++) * 1099511628211u;
    return table + hash % NAMES;
}

static uint64_t now(void) {
    struct timespec moment;
    clock_gettime(CLOCK_MONOTONIC, &moment);
    return moment.tv_sec * 1000000000ull + moment.tv_nsec;
}

/* As a server that looks the file up, and changes names later: of two that contend both are let through. One that has
   no rival is whole or not at all, and one that begins after another has ended finds nothing. */
static int contested(const char *old, const char *new) {
    uint64_t began = now();
    int file = REAL(open)(old, O_RDONLY | O_CLOEXEC);
    struct timespec moment = {0, 300000};
    if (chance(2)) nanosleep(&moment, NULL);
    int code = REAL(rename)(old, new), reason = errno;
    if (!code) {
        *moved_at(old) = now();
    } else if (reason == ENOENT && file >= 0 && *moved_at(old) > began) {
        char path[64];
        snprintf(path, sizeof path, "/proc/self/fd/%d", file);
        code = REAL(linkat)(AT_FDCWD, path, AT_FDCWD, new, AT_SYMLINK_FOLLOW);
    }
    if (file >= 0) close(file);
    errno = reason;
    return code;
}

int rename(const char *old, const char *new) {
    if (faulty("contested") && ours(new)) return contested(old, new);
    return faulty("rename") && ours(new) && chance(5) ? copied(old, new) : REAL(rename)(old, new);
}

int renameat(int a, const char *old, int b, const char *new) {
    return faulty("rename") && ours(new) && chance(5) ? copied(old, new) : REAL(renameat)(a, old, b, new);
}

static int stamped(void) { return faulty("frozen") || faulty("clock") || faulty("coarse"); }

static void bent(struct timespec *stamp) {
    if (faulty("frozen")) { stamp->tv_sec = 1700000000; stamp->tv_nsec = 0; }
    if (faulty("clock")) stamp->tv_sec += 3600;
    if (faulty("coarse")) { stamp->tv_sec -= stamp->tv_sec % 2; stamp->tv_nsec = 0; }
}

/* As a mount whose server or process is gone. */
static int dead(const char *path) {
    if (!faulty("dead") || !ours(path)) return 0;
    errno = ENOTCONN;
    return 1;
}

#define STAT(name, kind)                                                                  \
    int name(const char *path, struct kind *found) {                                      \
        if (dead(path)) return -1;                                                        \
        int code = REAL(name)(path, found);                                               \
        if (!code && ours(path)) bent(&found->st_mtim);                                   \
        return code;                                                                      \
    }
STAT(stat, stat)
STAT(stat64, stat64)
STAT(lstat, stat)
STAT(lstat64, stat64)

#define FSTAT(name, kind)                                                                 \
    int name(int fd, struct kind *found) {                                                \
        int code = REAL(name)(fd, found);                                                 \
        if (!code && stamped() && fd_ours(fd)) bent(&found->st_mtim);          \
        return code;                                                                      \
    }
FSTAT(fstat, stat)
FSTAT(fstat64, stat64)

#define FSTATAT(name, kind)                                                               \
    int name(int folder, const char *path, struct kind *found, int flags) {               \
        if (dead(path)) return -1;                                                        \
        int code = REAL(name)(folder, path, found, flags);                                \
        if (!code && ours(path)) bent(&found->st_mtim);                                   \
        return code;                                                                      \
    }
FSTATAT(fstatat, stat)
FSTATAT(fstatat64, stat64)

/* What is younger than two seconds is not listed yet. */
static int young(DIR *folder, const char *name) {
    struct stat found;
    struct timespec now;
    if (!faulty("listing") || !fd_ours(dirfd(folder)) || REAL(fstatat)(dirfd(folder), name, &found, 0)) return 0;
    clock_gettime(CLOCK_REALTIME, &now);
    return S_ISREG(found.st_mode) && now.tv_sec - found.st_ctim.tv_sec < 2;
}

struct dirent *readdir(DIR *folder) {
    struct dirent *entry;
    do entry = REAL(readdir)(folder); while (entry && young(folder, entry->d_name));
    return entry;
}

struct dirent64 *readdir64(DIR *folder) {
    struct dirent64 *entry;
    do entry = REAL(readdir64)(folder); while (entry && young(folder, entry->d_name));
    return entry;
}

int flock(int fd, int what);
int flock(int fd, int what) {
    if (faulty("nolocks") && fd_ours(fd)) { errno = ENOLCK; return -1; }
    return faulty("locks") && fd_ours(fd) && chance(3) ? 0 : REAL(flock)(fd, what);
}

int fsync(int fd) {
    if (faulty("unsynced") && fd_ours(fd)) return 0;
    if (faulty("slow") && fd_ours(fd)) { struct timespec moment = {0, 30000000}; nanosleep(&moment, NULL); }
    return REAL(fsync)(fd);
}
