/* Counts the calls that change files, and makes one of them fail or kill the process. Loaded by LD_PRELOAD.
 *
 * crash_arm(at, mode) starts to count from 1 on; the call number `at` is the one that goes wrong:
 *   0 nothing goes wrong    1 the process is killed before it     2 half of a write is written, then killed
 *   3 ENOSPC                4 EIO                                 5 every write is short, whatever its number
 * A full disk stays full: after ENOSPC all later writes fail, too.
 * crash_calls() returns how many there were, crash_is_write(n) whether one of them was a write. Writes to pipes and sockets do not count.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

static long armed, at_call, calls;
static int how;
static char is_write[100000];

void crash_arm(long at, int mode)
{
    memset(is_write, 0, sizeof is_write);
    armed = 1; at_call = at; how = mode; calls = 0;
}
long crash_calls(void) { armed = 0; return calls; }
int crash_is_write(long call) { return is_write[call]; }

static void *real(const char *name) { return dlsym(RTLD_NEXT, name); }
static void killed(void) { kill(getpid(), SIGKILL); for (;;) pause(); }

/* Returns whether the call that is about to be made fails. */
static int fails(void)
{
    if (!armed || ++calls != at_call) return 0;
    if (how == 1 || how == 2) killed();
    if (how == 3) { errno = ENOSPC; return 1; }
    if (how == 4) { errno = EIO; return 1; }
    return 0;
}

static int is_file(int fd)
{
    struct stat found;
    return armed && fstat(fd, &found) == 0 && S_ISREG(found.st_mode);
}

#define WRAP(type, name, parameters, arguments) \
    type name parameters { return fails() ? -1 : ((type(*) parameters)real(#name)) arguments; }

WRAP(int, rename, (const char *a, const char *b), (a, b))
WRAP(int, renameat, (int f, const char *a, int g, const char *b), (f, a, g, b))
WRAP(int, renameat2, (int f, const char *a, int g, const char *b, unsigned flags), (f, a, g, b, flags))
WRAP(int, fsync, (int fd), (fd))
WRAP(int, fdatasync, (int fd), (fd))
WRAP(int, unlink, (const char *a), (a))
WRAP(int, unlinkat, (int f, const char *a, int flags), (f, a, flags))
WRAP(int, rmdir, (const char *a), (a))
WRAP(int, mkdir, (const char *a, mode_t mode), (a, mode))
WRAP(int, mkdirat, (int f, const char *a, mode_t mode), (f, a, mode))
WRAP(int, ftruncate, (int fd, off_t length), (fd, length))
WRAP(int, ftruncate64, (int fd, off64_t length), (fd, length))
WRAP(int, symlink, (const char *a, const char *b), (a, b))
WRAP(int, link, (const char *a, const char *b), (a, b))

#define WRAP_WRITE(name, parameters, whole, half) \
    ssize_t name parameters { \
        ssize_t (*act) parameters = (ssize_t(*) parameters)real(#name); \
        if (is_file(fd)) { \
            is_write[calls + 1] = 1; \
            if (how == 2 && calls + 1 == at_call) { (void)!act half; killed(); } \
            if (fails()) return -1; \
            if (how == 3 && calls > at_call && at_call > 0) { errno = ENOSPC; return -1; } \
            if (how == 5 && size > 1) return act half; \
        } \
        return act whole; \
    }

WRAP_WRITE(write, (int fd, const void *data, size_t size), (fd, data, size), (fd, data, size / 2))
WRAP_WRITE(pwrite, (int fd, const void *data, size_t size, off_t place), (fd, data, size, place),
           (fd, data, size / 2, place))
WRAP_WRITE(pwrite64, (int fd, const void *data, size_t size, off64_t place), (fd, data, size, place),
           (fd, data, size / 2, place))

#define WRAP_OPEN(name, first, given, last) \
    int name(first const char *path, int flags, ...) { \
        va_list rest; \
        va_start(rest, flags); \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0; \
        va_end(rest); \
        if (flags & (O_CREAT | O_TRUNC) && fails()) return -1; \
        return ((int (*)(last const char *, int, ...))real(#name))(given path, flags, mode); \
    }

#define NOTHING
#define COMMA ,
WRAP_OPEN(open, NOTHING, NOTHING, NOTHING)
WRAP_OPEN(open64, NOTHING, NOTHING, NOTHING)
WRAP_OPEN(openat, int folder COMMA, folder COMMA, int COMMA)
WRAP_OPEN(openat64, int folder COMMA, folder COMMA, int COMMA)
