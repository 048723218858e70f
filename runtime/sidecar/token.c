/* SPDX-License-Identifier: MIT */
/* Tokens (token.h). */
#include "runtime/sidecar/token.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { LEAST = 8, MOST = ADP_TOKEN_MAX };

struct adp_token_text {
    struct adp_token_text *before;
    size_t len;
    char text[MOST];
};

static int check(const char *path, char *line, size_t *ret_len, struct adp_error *err)
{
    size_t len = strcspn(line, "\r\n");
    if (len < LEAST || len > MOST)
        return adp_error_at(err, ADP_EINVAL, path, 1, 1,
                            "a token of %zu bytes, expected %d to %d", len, LEAST, MOST);
    for (size_t i = 0; i < len; i++)
        if (line[i] <= ' ' || line[i] > '~')
            return adp_error_at(err, ADP_EINVAL, path, 1, (uint32_t)i + 1,
                                "a blank, or no ASCII, in the token");
    *ret_len = len;
    return 0;
}

static int put(struct adp_token *token, const char *text, size_t len,
               struct adp_error *err)
{
    struct adp_token_text *next = calloc(1, sizeof *next);
    if (!next)
        return adp_error_set(err, ADP_ENOMEM, "out of memory");
    memcpy(next->text, text, len);
    next->len = len;
    next->before = atomic_load_explicit(&token->now, memory_order_relaxed);
    /* release: its bytes are there before it is found. */
    atomic_store_explicit(&token->now, next, memory_order_release);
    return 0;
}

int adp_token_read(struct adp_token *token, const char *path, struct adp_error *err)
{
    char line[MOST + 16], empty[1] = "";
    size_t len = 0;
    if (!path)
        return 0;
    /* O_NONBLOCK: in a FIFO that nobody writes to there is none, and it is not waited for. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
    if (!f) {
        int number = errno;
        if (fd >= 0)
            close(fd);
        return adp_error_at(err, ADP_EIO, path, 0, 0, "the token cannot be read: %s",
                            strerror(number));
    }
    char *got = fgets(line, sizeof line, f);
    fclose(f);
    int code = check(path, got ? line : empty, &len, err);
    if (code == 0)
        code = put(token, line, len, err);
    explicit_bzero(line, sizeof line);
    return code;
}

int adp_token_set(struct adp_token *token, const char *text, struct adp_error *err)
{
    size_t len = strlen(text);
    return len < LEAST || len > MOST
               ? adp_error_set(err, ADP_EINVAL, "a token of %zu bytes", len)
               : put(token, text, len, err);
}

bool adp_token_text(const struct adp_token *token, char *to, size_t cap)
{
    const struct adp_token_text *text =
        atomic_load_explicit(&token->now, memory_order_relaxed);
    if (!text || text->len >= cap)
        return false;
    memcpy(to, text->text, text->len);
    to[text->len] = '\0';
    return true;
}

void adp_token_finish(struct adp_token *token)
{
    struct adp_token_text *text = atomic_load(&token->now);
    while (text) {
        struct adp_token_text *before = text->before;
        explicit_bzero(text, sizeof *text);
        free(text);
        text = before;
    }
    atomic_store(&token->now, NULL);
}

/* As long as `given` is, whatever is right about it. */
static bool is_same(const struct adp_token_text *token, const char *given, size_t len)
{
    size_t differ = len ^ token->len;
    for (size_t i = 0; i < len; i++)
        differ |= (unsigned char)(given[i] ^ token->text[i % token->len]);
    return differ == 0;
}

bool adp_token_allows(const struct adp_token *token,
                      const struct adp_http_request *request)
{
    const struct adp_token_text *text =
        atomic_load_explicit(&token->now, memory_order_acquire);
    if (!text)
        return true;
    const struct adp_http_text *own = adp_http_field_find(request, "x-admit-token");
    if (own)
        return is_same(text, own->at, own->len);
    const struct adp_http_text *given = adp_http_field_find(request, "authorization");
    return given && given->len > 7 && strncasecmp(given->at, "Bearer ", 7) == 0 &&
           is_same(text, given->at + 7, given->len - 7);
}
