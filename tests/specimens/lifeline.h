// Support for the C specimens, no specimen itself: the same promises as lifeline.py.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

static inline void lifeline(void)
{
    pid_t parent = getppid();
    const char *life_s = getenv("DEA_SPECIMEN_LIFE_S");

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) // it died before we asked
        _exit(1);
    alarm(life_s ? (unsigned)atoi(life_s) : 120);
}

static inline void ready(void)
{
    const char *given = getenv("DEA_READY_FD");
    int fd = given ? atoi(given) : STDOUT_FILENO;

    dprintf(fd, "ready pid=%d\n", (int)getpid());
    if (given)
        close(fd);
}

static inline void sleep_ms(long ms)
{
    struct timespec wait = {ms / 1000, ms % 1000 * 1000000L};
    nanosleep(&wait, NULL);
}
