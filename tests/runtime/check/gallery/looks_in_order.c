/* SPDX-License-Identifier: MIT */
/* Nothing is wrong with it, though it looks at much of the process it is in, makes one key for
 * all of its lives, and in create has files, a lock on its memory and a buffer of its own, which
 * it gives back. */
#include "gallery.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;

static void make_key(void)
{
    if (pthread_key_create(&key, NULL) != 0)
        abort();
}

static void look(void)
{
    struct rlimit r;
    struct itimerval t;
    stack_t s;
    cpu_set_t set;
    char name[32];
    getrlimit(RLIMIT_NOFILE, &r);
    getitimer(ITIMER_REAL, &t);
    sigaltstack(NULL, &s);
    sched_getaffinity(0, sizeof set, &set);
    getpriority(PRIO_PROCESS, 0);
    prctl(PR_GET_NAME, name);
}

/* Files of its own, gone again. */
static int use_files(void)
{
    int fd = memfd_create("table", MFD_CLOEXEC);
    if (fd < 0)
        return -1;
    int other = dup(fd);
    fcntl(other, F_SETFL, O_NONBLOCK);
    close(other);
    close(fd);
    return 0;
}

enum { ROOM = 4096 };

static void *create(const adp_setup *setup)
{
    char text[64];
    char *self = malloc(ROOM);
    if (!self)
        return adp_cannot(setup, "out of memory");
    pthread_once(&once, make_key);
    look();
    if (use_files() != 0) {
        free(self);
        return adp_cannot(setup, "no files are to be had");
    }
    if (mlock(self, ROOM) == 0)
        munlock(self, ROOM);
    snprintf(text, sizeof text, "%g", setup->param[THRESHOLD]);
    self[0] = text[0];
    return self;
}

GALLERY = { GALLERY_HEAD, GALLERY_SERIAL, .create = create, .destroy = free,
            .decide = usual_decide };
