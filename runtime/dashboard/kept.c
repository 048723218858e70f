/* SPDX-License-Identifier: MIT */
/* Answers that were made (kept.h). */
#include "runtime/dashboard/kept.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { KEPT = 16 };

struct answer {
    char *asked; /* owned; NULL: free */
    uint64_t print;
    char *body; /* owned */
    size_t len;
};

struct adp_kept {
    pthread_mutex_t mutex; /* everything below */
    struct answer answers[KEPT];
    unsigned next; /* which is given up */
};

struct adp_kept *adp_kept_create(void)
{
    struct adp_kept *kept = calloc(1, sizeof *kept);
    if (kept)
        pthread_mutex_init(&kept->mutex, NULL);
    return kept;
}

static void drop(struct answer *answer)
{
    free(answer->asked);
    free(answer->body);
    *answer = (struct answer) { 0 };
}

void adp_kept_destroy(struct adp_kept *kept)
{
    if (!kept)
        return;
    for (int i = 0; i < KEPT; i++)
        drop(&kept->answers[i]);
    pthread_mutex_destroy(&kept->mutex);
    free(kept);
}

static struct answer *find(struct adp_kept *kept, const char *asked)
{
    for (int i = 0; i < KEPT; i++)
        if (kept->answers[i].asked && strcmp(kept->answers[i].asked, asked) == 0)
            return &kept->answers[i];
    return NULL;
}

static char *copy_of(const char *body, size_t len)
{
    char *copy = malloc(len + 1);
    if (copy)
        memcpy(copy, body, len);
    return copy;
}

bool adp_kept_find(struct adp_kept *kept, const char *asked, uint64_t print, char **ret,
                   size_t *ret_len)
{
    char *copy = NULL;
    pthread_mutex_lock(&kept->mutex);
    const struct answer *answer = find(kept, asked);
    if (answer && answer->print == print && (copy = copy_of(answer->body, answer->len))) {
        *ret = copy;
        *ret_len = answer->len;
    }
    pthread_mutex_unlock(&kept->mutex);
    return copy;
}

void adp_kept_add(struct adp_kept *kept, const char *asked, uint64_t print,
                  const char *body, size_t len)
{
    struct answer made = { strdup(asked), print, copy_of(body, len), len };
    if (!made.asked || !made.body) {
        drop(&made);
        return;
    }
    pthread_mutex_lock(&kept->mutex);
    struct answer *answer = find(kept, asked);
    if (!answer)
        answer = &kept->answers[kept->next++ % KEPT];
    drop(answer);
    *answer = made;
    pthread_mutex_unlock(&kept->mutex);
}
