/* SPDX-License-Identifier: MIT */
/* Those who read logs (work.h). */
#include "runtime/dashboard/work.h"

#include "core/error.h"
#include "runtime/dashboard/kept.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { WORKERS = 2, MOST_WAITING = 64 };

struct adp_work {
    struct adp_kept *kept;
    int fd;
    pthread_t thread[WORKERS];
    unsigned n_threads;
    pthread_mutex_t mutex; /* what is below */
    pthread_cond_t more;
    bool over;
    struct adp_question *waiting[MOST_WAITING]; /* owned, the oldest first */
    size_t n_waiting;
    struct adp_worked done[MOST_WAITING]; /* the oldest first */
    size_t n_done, n_begun; /* those that wait, are at work and done have all a place */
};

/* ---- answering ------------------------------------------------------------------------
 */

static void make(const struct adp_question *question, struct adp_worked *ret)
{
    FILE *to = open_memstream(&ret->body, &ret->len);
    ret->code = to ? adp_question_write(question, to, &ret->err)
                   : adp_error_set(&ret->err, ADP_ENOMEM, "out of memory");
    if (to && fclose(to) && !ret->code)
        ret->code = adp_error_set(&ret->err, ADP_ENOMEM, "out of memory");
}

static void answer(struct adp_kept *kept, const struct adp_question *question,
                   struct adp_worked *ret)
{
    if (!question->asked) {
        make(question, ret);
        return;
    }
    /* Before it is read: a log that grows meanwhile is read again the next time. */
    uint64_t print = adp_question_print(question);
    if (adp_kept_find(kept, question->asked, print, &ret->body, &ret->len))
        return;
    make(question, ret);
    if (!ret->code)
        adp_kept_add(kept, question->asked, print, ret->body, ret->len);
}

static struct adp_question *take_waiting(struct adp_work *work)
{
    while (!work->over && !work->n_waiting)
        pthread_cond_wait(&work->more, &work->mutex);
    if (work->over)
        return NULL;
    struct adp_question *question = work->waiting[0];
    memmove(work->waiting, work->waiting + 1, --work->n_waiting * sizeof *work->waiting);
    work->n_begun++;
    return question;
}

static void *run(void *of)
{
    struct adp_work *work = of;
    const uint64_t one = 1;
    pthread_mutex_lock(&work->mutex);
    for (struct adp_question *question; (question = take_waiting(work));) {
        struct adp_worked worked = { .exchange = question->exchange };
        pthread_mutex_unlock(&work->mutex);
        answer(work->kept, question, &worked);
        adp_question_destroy(question);
        pthread_mutex_lock(&work->mutex);
        work->n_begun--;
        work->done[work->n_done++] = worked;
        /* It only fails when it is at its greatest, and then it can be read. */
        ssize_t n = write(work->fd, &one, sizeof one);
        (void)n;
    }
    pthread_mutex_unlock(&work->mutex);
    return NULL;
}

/* ---- its life -------------------------------------------------------------------------
 */

static int start(struct adp_work *work, struct adp_error *err)
{
    sigset_t all, before;
    int e = 0;
    sigfillset(&all); /* signals are the loop's thread's */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (!e && work->n_threads < WORKERS)
        if (!(e = pthread_create(&work->thread[work->n_threads], NULL, run, work)))
            work->n_threads++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return e ? adp_error_set(err, ADP_EIO, "no thread: %s", strerror(e)) : 0;
}

int adp_work_create(struct adp_work **ret, struct adp_error *err)
{
    struct adp_work *work = calloc(1, sizeof *work);
    if (!work)
        return adp_error_set(err, ADP_ENOMEM, "out of memory");
    pthread_mutex_init(&work->mutex, NULL);
    pthread_cond_init(&work->more, NULL);
    work->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    work->kept = adp_kept_create();
    int e = work->fd < 0  ? adp_error_set(err, ADP_EIO, "no eventfd: %s", strerror(errno))
            : !work->kept ? adp_error_set(err, ADP_ENOMEM, "out of memory")
                          : start(work, err);
    if (e) {
        adp_work_destroy(work);
        return e;
    }
    *ret = work;
    return 0;
}

void adp_work_destroy(struct adp_work *work)
{
    if (!work)
        return;
    pthread_mutex_lock(&work->mutex);
    work->over = true;
    pthread_cond_broadcast(&work->more);
    pthread_mutex_unlock(&work->mutex);
    for (unsigned i = 0; i < work->n_threads; i++)
        pthread_join(work->thread[i], NULL);
    for (size_t i = 0; i < work->n_waiting; i++)
        adp_question_destroy(work->waiting[i]);
    for (size_t i = 0; i < work->n_done; i++)
        free(work->done[i].body);
    if (work->fd >= 0)
        close(work->fd);
    adp_kept_destroy(work->kept);
    pthread_cond_destroy(&work->more);
    pthread_mutex_destroy(&work->mutex);
    free(work);
}

int adp_work_fd(const struct adp_work *work)
{
    return work->fd;
}

int adp_work_add_take(struct adp_work *work, struct adp_question *question)
{
    pthread_mutex_lock(&work->mutex);
    bool room = work->n_waiting + work->n_begun + work->n_done < MOST_WAITING;
    if (room) {
        work->waiting[work->n_waiting++] = question;
        pthread_cond_signal(&work->more);
    }
    pthread_mutex_unlock(&work->mutex);
    if (!room)
        adp_question_destroy(question);
    return room ? 0 : ADP_EFULL;
}

bool adp_work_next(struct adp_work *work, struct adp_worked *ret)
{
    uint64_t n;
    ssize_t got = read(work->fd, &n, sizeof n);
    (void)got; /* how often it was written says nothing that the list does not */
    pthread_mutex_lock(&work->mutex);
    bool some = work->n_done;
    if (some) {
        *ret = work->done[0];
        memmove(work->done, work->done + 1, --work->n_done * sizeof *work->done);
    }
    pthread_mutex_unlock(&work->mutex);
    return some;
}

void adp_work_forget(struct adp_work *work, uint64_t exchange)
{
    struct adp_question *gone = NULL;
    pthread_mutex_lock(&work->mutex);
    for (size_t i = 0; !gone && i < work->n_waiting; i++)
        if (work->waiting[i]->exchange == exchange) {
            gone = work->waiting[i];
            memmove(work->waiting + i, work->waiting + i + 1,
                    (--work->n_waiting - i) * sizeof *work->waiting);
        }
    pthread_mutex_unlock(&work->mutex);
    adp_question_destroy(gone);
}
