/* SPDX-License-Identifier: MIT */
/* What a page supplies (supply.h). */
#include "runtime/dashboard/supply.h"

#include "core/error.h"
#include "core/history.h"
#include "core/promtext.h"
#include "runtime/scrape/ending.h"
#include "runtime/scrape/left.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_BYTES = 16 << 20 };

struct adp_supply {
    struct adp_signals *set;
    struct adp_history *history;
    struct adp_scratch *scratch;
    struct adp_account account;
};

int adp_supply_create(struct adp_supply **ret, struct adp_error *err)
{
    struct adp_supply *supply = calloc(1, sizeof *supply);
    int e = supply ? adp_signals_create(&supply->set, err) : ADP_ENOMEM;
    if (!e)
        e = adp_history_create(&supply->history, ADP_WINDOW_NS);
    if (!e)
        e = adp_scratch_create(&supply->scratch, ADP_PAGE_SERIES);
    if (e) {
        adp_supply_destroy(supply);
        return adp_error_set(err, e, "out of memory");
    }
    supply->account.set = supply->set;
    *ret = supply;
    return 0;
}

void adp_supply_destroy(struct adp_supply *supply)
{
    if (!supply)
        return;
    adp_scratch_destroy(supply->scratch);
    adp_history_destroy(supply->history);
    adp_signals_destroy(supply->set);
    free(supply);
}

int adp_supply_read(struct adp_supply *supply, const char *text, size_t len,
                    enum adp_promtext_format format, uint64_t now_ns, double wall_s,
                    struct adp_error *err)
{
    struct adp_metrics *page = adp_history_next(supply->history);
    struct adp_account *account = &supply->account;
    struct adp_moment moment;
    struct adp_promtext_found found = { 0 };
    int e = adp_promtext_read_as(page, format, text, len, &found, err);
    if (e)
        return e;
    account->bad_lines = found.bad_lines;
    account->duplicates = adp_metrics_duplicates(page);
    if (wall_s == 0 && !adp_metrics_newest(page, &wall_s))
        wall_s = 0;
    adp_history_look(supply->history, page, now_ns, &moment);
    adp_signals_read(supply->set, &moment, now_ns, wall_s, supply->scratch,
                     account->reading);
    account->page = page;
    account->twice = moment.before != NULL;
    adp_history_keep(supply->history, now_ns);
    return 0;
}

struct adp_account *adp_supply_account(struct adp_supply *supply)
{
    return &supply->account;
}

/* --- a file */

static int read_whole(int fd, const char *path, char *to, size_t *ret_len,
                      struct adp_error *err)
{
    size_t len = 0;
    ssize_t n = 1;
    while (n && len <= MOST_BYTES) {
        n = read(fd, to + len, MOST_BYTES + 1 - len);
        if (n < 0 && errno != EINTR)
            return adp_error_set(err, ADP_EIO, "%s: %s", path, strerror(errno));
        len += n > 0 ? (size_t)n : 0;
    }
    *ret_len = len;
    return len > MOST_BYTES
               ? adp_error_set(err, ADP_EFULL, "%s: more than %d bytes", path, MOST_BYTES)
               : 0;
}

/* *ret is the caller's to free, also on failure. */
static int read_file(const char *path, char **ret, size_t *ret_len, struct adp_error *err)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), e;
    if (fd < 0)
        return adp_error_set(err, errno == ENOENT ? ADP_ENOENT : ADP_EIO, "%s: %s", path,
                             strerror(errno));
    if (fstat(fd, &st) || !S_ISREG(st.st_mode))
        e = adp_error_set(err, ADP_ENOENT, "%s: not a file", path);
    else if (!(*ret = malloc(MOST_BYTES + 1)))
        e = adp_error_set(err, ADP_ENOMEM, "out of memory");
    else
        e = read_whole(fd, path, *ret, ret_len, err);
    close(fd);
    return e;
}

int adp_supply_file_json(const char *path, FILE *to, struct adp_error *err)
{
    const uint64_t first_ns = 1000000000; /* on a clock of our own: there is one page */
    struct adp_supply *supply = NULL;
    struct adp_error wrong = { 0 };
    char *text = NULL;
    size_t len = 0;
    uint32_t cut = 0;
    int e = read_file(path, &text, &len, err);
    size_t read = e || !len ? len : adp_page_ending(text, len, &cut);
    bool none = len && !read; /* it was cut, or it is no page at all */
    if (none)
        read = adp_page_ended(text, len);
    if (!e)
        e = adp_supply_create(&supply, err);
    if (!e && (e = adp_supply_read(supply, text, read, ADP_PROMTEXT_UNSAID, first_ns, 0,
                                   &wrong)) < 0)
        adp_error_set(err, e, "%s:%u:%u: %s", path, wrong.line, wrong.column, wrong.text);
    if (!e && none)
        e = adp_error_set(err, ADP_ESYNTAX, "%s: " ADP_LEFT_NOTHING, path);
    if (!e) {
        supply->account.name = path;
        supply->account.cut_lines = cut;
        if ((e = adp_account_json(&supply->account, to)) < 0)
            adp_error_set(err, e, "out of memory");
    }
    adp_supply_destroy(supply);
    free(text);
    return e;
}
