/* SPDX-License-Identifier: MIT */
/* Connections: duplicates of what the worker accepted, and what of them the next one gets. */
#include "runtime/supervise/inner.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* --- messages --- */

union any_message {
    struct adp_message head;
    struct adp_policies_message policies;
    struct adp_log_message log;
};

/* The first descriptor that came along, the others closed; -1: none did. */
static int take_descriptors(struct msghdr *m)
{
    int taken = -1;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < n; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
            if (taken < 0)
                taken = fd;
            else
                close(fd);
        }
    }
    return taken;
}

static void let_go(struct adp_kept *k)
{
    if (k->fd >= 0)
        close(k->fd);
    k->fd = -1;
}

/* Descriptors are inherited by the next worker: not close-on-exec. */
static void keep(struct adp_supervisor *s, const struct adp_message *m, int fd)
{
    if (m->slot >= s->block.shape.connections || fd < 0) {
        if (fd >= 0)
            close(fd);
        s->counts.unheld++; /* out of descriptors, most likely */
        return;
    }
    let_go(&s->kept[m->slot]);
    s->kept[m->slot] = (struct adp_kept) { fd, m->use };
    if (m->number && m->number <= s->n_left && s->left[m->number - 1] >= 0) {
        close(s->left[m->number - 1]);
        s->left[m->number - 1] = -1;
    }
}

static void drop(struct adp_supervisor *s, const struct adp_message *m)
{
    if (m->slot < s->block.shape.connections && s->kept[m->slot].use == m->use)
        let_go(&s->kept[m->slot]);
}

static void note_ready(struct adp_supervisor *s)
{
    uint64_t now = adp_supervise_now();
    if (s->ready)
        return;
    s->ready = true;
    adp_supervise_close_left(s); /* what it did not adopt */
    uint64_t since = s->died_ns ? s->died_ns : s->spawned_ns;
    if (s->died_ns) {
        s->counts.restart_ns = now - since;
        if (s->counts.restart_worst_ns < s->counts.restart_ns)
            s->counts.restart_worst_ns = s->counts.restart_ns;
    }
    adp_supervise_tell(s, &(struct adp_news) { .what = ADP_WORKER_READY,
                                               .pid = s->pid,
                                               .ms = (now - since) / 1000000u });
}

static void note_policies(struct adp_supervisor *s, const struct adp_policies_message *m)
{
    if (!m->head.number || m->n > ADP_MAX_POLICIES)
        return;
    for (uint32_t i = 0; i < m->n; i++)
        if (!adp_block_name_is_sound(m->name[i]))
            return;
    s->policies[m->head.number % ADP_GENERATIONS] = *m;
    s->newest = m->head.number;
}

/* Where the log goes from now on. What the worker says is a path at most: it is opened as any
 * file is, appended to, and everything it held before was written first. */
static void note_log(struct adp_supervisor *s, const struct adp_log_message *m)
{
    struct adp_error err = { 0 };
    struct adp_block_head *head = s->block.head;
    struct adp_log_options to = s->log_options;
    to.path = m->path;
    to.rotate_bytes = m->rotate_bytes;
    to.keep = m->head.number;
    if (!memchr(m->path, 0, sizeof m->path))
        adp_error_set(&err, ADP_EINVAL, "no path");
    else if (!s->log)
        adp_error_set(&err, ADP_ESTATE, "there is no log");
    else if (m->only_try)
        adp_log_try(&to, &err);
    else
        adp_log_move(s->log, &to, &err);
    memset(head->log_why, 0, sizeof head->log_why);
    memcpy(head->log_why, err.text, strnlen(err.text, sizeof head->log_why - 1));
    /* Release: whoever sees the number sees the answer. */
    atomic_store_explicit(&head->log_answered, m->head.use, memory_order_release);
}

static void note_reload(struct adp_supervisor *s, enum adp_message_kind kind)
{
    bool begins = kind == ADP_MESSAGE_RELOADING;
    if (begins)
        s->reload_due = false;
    if (kind == ADP_MESSAGE_RELOADED)
        adp_suspect_clear(s);
    adp_supervise_tell(s,
                       &(struct adp_news) { .what = begins ? ADP_RELOADING : ADP_RELOADED,
                                            .pid = s->pid });
}

static void take(struct adp_supervisor *s, const union any_message *m, size_t len, int fd)
{
    if (len < sizeof m->head)
        goto out;
    switch (m->head.kind) {
    case ADP_MESSAGE_KEEP:
        keep(s, &m->head, fd);
        return;
    case ADP_MESSAGE_DROP:
        drop(s, &m->head);
        break;
    case ADP_MESSAGE_READY:
        note_ready(s);
        break;
    case ADP_MESSAGE_POLICIES:
        if (len == sizeof m->policies)
            note_policies(s, &m->policies);
        break;
    case ADP_MESSAGE_RELOADING:
    case ADP_MESSAGE_RELOADED:
    case ADP_MESSAGE_UNRELOADED:
        note_reload(s, (enum adp_message_kind)m->head.kind);
        break;
    case ADP_MESSAGE_LOG:
        if (len == sizeof m->log)
            note_log(s, &m->log);
        break;
    default:
        break;
    }
out:
    if (fd >= 0)
        close(fd);
}

void adp_supervise_read(struct adp_supervisor *s)
{
    while (s->control >= 0) {
        union any_message m;
        union {
            struct cmsghdr head;
            char bytes[CMSG_SPACE(4 * sizeof(int))];
        } control;
        struct iovec io = { &m, sizeof m };
        struct msghdr h = { .msg_iov = &io,
                            .msg_iovlen = 1,
                            .msg_control = control.bytes,
                            .msg_controllen = sizeof control.bytes };
        ssize_t n = recvmsg(s->control, &h, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n <= 0) { /* its end: it is dying, or has closed it */
            close(s->control);
            s->control = -1;
            return;
        }
        take(s, &m, (size_t)n, take_descriptors(&h));
    }
}

/* --- keeping and leaving --- */

void adp_supervise_sweep(struct adp_supervisor *s)
{
    for (uint32_t i = 0; i < s->block.shape.connections; i++) {
        const struct adp_place *p = &s->block.places[i];
        struct adp_kept *k = &s->kept[i];
        if (k->fd < 0)
            continue;
        /* A use that is ahead of ours: its message is on the way, and closes this one. */
        if (atomic_load_explicit(&p->use, memory_order_acquire) == k->use &&
            !(atomic_load_explicit(&p->word, memory_order_relaxed) & ADP_PLACE_HELD))
            let_go(k);
    }
}

void adp_supervise_close_left(struct adp_supervisor *s)
{
    for (uint32_t i = 0; i < s->n_left; i++)
        if (s->left[i] >= 0)
            close(s->left[i]);
    s->n_left = 0;
}

void adp_supervise_close_kept(struct adp_supervisor *s)
{
    for (uint32_t i = 0; i < s->block.shape.connections; i++)
        let_go(&s->kept[i]);
}

/* Brings what was read and is no request yet to the front of another place's bytes; 0: nothing. */
static void move_unread(struct adp_place *to, uint8_t *to_bytes,
                        const struct adp_place *from, const uint8_t *from_bytes)
{
    uint64_t unread = atomic_load_explicit(&from->unread, memory_order_relaxed);
    uint32_t begin = (uint32_t)unread, end = (uint32_t)(unread >> 32);
    uint32_t len = begin <= end && end <= ADP_UNREAD_MAX ? end - begin : 0;
    if (len)
        memmove(to_bytes, from_bytes + begin, len);
    atomic_store_explicit(&to->unread, (uint64_t)len << 32, memory_order_relaxed);
}

/* Those that the dead worker was left and had not placed stay in front. */
static uint64_t compact(struct adp_supervisor *s)
{
    uint32_t n = 0;
    uint64_t owed = 0;
    for (uint32_t i = 0; i < s->n_left; i++) {
        if (s->left[i] < 0)
            continue;
        struct adp_place *to = &s->block.left[n];
        if (n != i) {
            memcpy(to, &s->block.left[i], sizeof *to);
            move_unread(to, adp_block_left_unread(&s->block, n), &s->block.left[i],
                        adp_block_left_unread(&s->block, i));
        }
        to->fd = s->left[i];
        s->left[n++] = s->left[i];
        owed += (atomic_load_explicit(&to->word, memory_order_relaxed) >> 8) & 0xff;
    }
    s->n_left = n;
    return owed;
}

/* Returns the answers owed on it. */
static uint64_t leave_one(struct adp_supervisor *s, uint32_t slot)
{
    struct adp_kept *k = &s->kept[slot];
    const struct adp_place *p = &s->block.places[slot];
    uint64_t word = atomic_load_explicit(&p->word, memory_order_acquire);
    uint64_t use = atomic_load_explicit(&p->use, memory_order_relaxed);
    uint64_t owed = (word >> 8) & 0xff;
    bool sound = use == k->use && (word & ADP_PLACE_HELD) && owed <= ADP_OWED_MAX;
    bool partly = word & (ADP_PLACE_READING | ADP_PLACE_WRITING);
    if (!sound || partly || s->n_left == s->block.shape.connections) {
        if (sound && partly) {
            s->counts.partly_read += !(word & ADP_PLACE_WRITING);
            s->counts.partly_written += (word & ADP_PLACE_WRITING) != 0;
        } else if (sound) {
            s->counts.unheld++;
        }
        let_go(k);
        return 0;
    }
    struct adp_place *to = &s->block.left[s->n_left];
    memcpy(to, p, sizeof *to);
    move_unread(to, adp_block_left_unread(&s->block, s->n_left), p,
                adp_block_unread(&s->block, slot));
    to->fd = k->fd;
    s->left[s->n_left++] = k->fd;
    k->fd = -1;
    s->counts.inherited++;
    return owed;
}

uint64_t adp_supervise_leave(struct adp_supervisor *s)
{
    uint64_t owed = compact(s);
    for (uint32_t i = 0; i < s->block.shape.connections; i++) {
        if (s->kept[i].fd >= 0)
            owed += leave_one(s, i);
        /* Nothing is said of it until somebody is here again. */
        atomic_store_explicit(&s->block.places[i].word, 0, memory_order_relaxed);
    }
    return owed;
}
