/* SPDX-License-Identifier: MIT */
/* Answers as bytes. */
#include "runtime/http/answer.h"

#include "runtime/http/head.h"

#include <stdio.h>
#include <string.h>
#include <uv.h>

/* RFC 9110, 15, and what gateways and engines use besides (529: Dynamo). A phrase is optional:
 * a status without one gets none. */
static const char *phrase_of(uint32_t status)
{
    switch (status) {
#define PHRASE(code, text)                                                               \
    case code:                                                                           \
        return text
        PHRASE(200, "OK");
        PHRASE(201, "Created");
        PHRASE(202, "Accepted");
        PHRASE(204, "No Content");
        PHRASE(301, "Moved Permanently");
        PHRASE(302, "Found");
        PHRASE(303, "See Other");
        PHRASE(304, "Not Modified");
        PHRASE(307, "Temporary Redirect");
        PHRASE(308, "Permanent Redirect");
        PHRASE(400, "Bad Request");
        PHRASE(401, "Unauthorized");
        PHRASE(403, "Forbidden");
        PHRASE(404, "Not Found");
        PHRASE(405, "Method Not Allowed");
        PHRASE(406, "Not Acceptable");
        PHRASE(408, "Request Timeout");
        PHRASE(409, "Conflict");
        PHRASE(411, "Length Required");
        PHRASE(413, "Content Too Large");
        PHRASE(414, "URI Too Long");
        PHRASE(415, "Unsupported Media Type");
        PHRASE(417, "Expectation Failed");
        PHRASE(422, "Unprocessable Content");
        PHRASE(429, "Too Many Requests");
        PHRASE(431, "Request Header Fields Too Large");
        PHRASE(500, "Internal Server Error");
        PHRASE(501, "Not Implemented");
        PHRASE(502, "Bad Gateway");
        PHRASE(503, "Service Unavailable");
        PHRASE(504, "Gateway Timeout");
        PHRASE(505, "HTTP Version Not Supported");
        PHRASE(529, "Site Is Overloaded");
#undef PHRASE
    default:
        return "";
    }
}

static bool has_control(const char *at, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (((unsigned char)at[i] < ' ' && at[i] != '\t') || at[i] == 0x7f)
            return true;
    return false;
}

/* What frames an answer is written here, and only here. */
static bool is_framing(struct adp_http_text name)
{
    static const char *const words[] = { "Connection", "Content-Length",
                                         "Transfer-Encoding" };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (adp_http_is_name(name, words[i]))
            return true;
    return false;
}

bool adp_http_is_bodiless(uint32_t status)
{
    return status == 204 || status == 304;
}

static bool sound(const struct adp_http_answer *answer)
{
    if (answer->status < 200 || answer->status > 599 ||
        (answer->type && has_control(answer->type, strlen(answer->type))))
        return false;
    for (size_t i = 0; i < answer->n_fields; i++) {
        const struct adp_http_field *field = &answer->fields[i];
        if (!adp_http_is_token(field->name.at, field->name.len) ||
            is_framing(field->name) || has_control(field->value.at, field->value.len))
            return false;
    }
    return true;
}

/* The cursor of what is written into room that is known to suffice. */
static char *put(char *at, const char *bytes, size_t len)
{
    if (len)
        memcpy(at, bytes, len);
    return at + len;
}

static char *put_word(char *at, const char *word)
{
    return put(at, word, strlen(word));
}

static char *put_number(char *at, uint64_t n)
{
    char digits[20];
    size_t i = sizeof digits;
    do {
        digits[--i] = (char)('0' + n % 10);
        n /= 10;
    } while (n);
    return put(at, digits + i, sizeof digits - i);
}

static size_t most_bytes(const struct adp_http_answer *answer)
{
    size_t n =
        320; /* more than the status line, three fields of ours and a chunk's frame */
    n += answer->type ? strlen(answer->type) : 0;
    for (size_t i = 0; i < answer->n_fields; i++)
        n += answer->fields[i].name.len + answer->fields[i].value.len + 4;
    return n + answer->body_len;
}

static char *put_chunk(char *at, const void *part, size_t len)
{
    at += snprintf(at, 20, "%zx\r\n", len);
    at = put(at, part, len);
    return put_word(at, "\r\n");
}

static char *put_fields(char *at, const struct adp_http_answer *answer)
{
    if (answer->type) {
        at = put_word(at, "Content-Type: ");
        at = put_word(at, answer->type);
        at = put_word(at, "\r\n");
    }
    for (size_t i = 0; i < answer->n_fields; i++) {
        const struct adp_http_field *field = &answer->fields[i];
        at = put(at, field->name.at, field->name.len);
        at = put(at, ": ", 2);
        at = put(at, field->value.at, field->value.len);
        at = put(at, "\r\n", 2);
    }
    return at;
}

static char *put_head(char *at, const struct adp_http_answer *answer,
                      const struct adp_http_manner *manner, bool bodiless)
{
    at = put_word(at, "HTTP/1.1 ");
    at = put_number(at, answer->status);
    at = put_word(at, " ");
    at = put_word(at, phrase_of(answer->status));
    if (manner->date[0]) {
        at = put_word(at, "\r\nDate: ");
        at = put_word(at, manner->date);
    }
    if (manner->stream && !bodiless && !manner->old) {
        at = put_word(at, "\r\nTransfer-Encoding: chunked");
    } else if (!manner->stream && !bodiless) {
        at = put_word(at, "\r\nContent-Length: ");
        at = put_number(at, answer->body_len);
    }
    if (manner->close)
        at = put_word(at, "\r\nConnection: close");
    else if (manner->old)
        at = put_word(at, "\r\nConnection: keep-alive");
    at = put_word(at, "\r\n");
    at = put_fields(at, answer);
    return put_word(at, "\r\n");
}

int adp_http_answer_append(struct adp_http_pool *pool, struct adp_http_buffer *to,
                           const struct adp_http_answer *answer,
                           const struct adp_http_manner *manner)
{
    if (!sound(answer))
        return UV_EINVAL;
    char *from = adp_http_buffer_room(pool, to, most_bytes(answer));
    if (!from)
        return UV_ENOMEM;
    bool bodiless = adp_http_is_bodiless(answer->status);
    char *at = put_head(from, answer, manner, bodiless);
    if (!bodiless && !manner->head && answer->body_len)
        at = manner->stream && !manner->old
                 ? put_chunk(at, answer->body, answer->body_len)
                 : put(at, answer->body, answer->body_len);
    to->len += (size_t)(at - from);
    return 0;
}

int adp_http_chunk_append(struct adp_http_pool *pool, struct adp_http_buffer *to,
                          const void *part, size_t len)
{
    if (!len)
        return adp_http_buffer_append(pool, to, "0\r\n\r\n", 5);
    char *from = adp_http_buffer_room(pool, to, len + 32);
    if (!from)
        return UV_ENOMEM;
    to->len += (size_t)(put_chunk(from, part, len) - from);
    return 0;
}

/* Days since 1970 into a date of the Gregorian calendar: Howard Hinnant, "chrono-Compatible
 * Low-Level Date Algorithms", civil_from_days, for days from 1970 on. */
void adp_http_date_write(char to[30], int64_t wall_s)
{
    static const char days[7][4] = { "Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed" };
    static const char months[12][4] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                        "Jul", "Aug", "Sep", "Oct", "Nov", "Dec" };
    const int64_t last_s = 253402300799; /* the end of the year 9999 */
    uint32_t second = (uint32_t)((wall_s < 0 || wall_s > last_s ? 0 : wall_s) % 86400);
    uint32_t day = (uint32_t)((wall_s < 0 || wall_s > last_s ? 0 : wall_s) / 86400);
    uint32_t z = day + 719468;
    uint32_t era = z / 146097, of_era = z % 146097;
    uint32_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    uint32_t of_year = of_era - (365 * year + year / 4 - year / 100);
    uint32_t m = (5 * of_year + 2) / 153; /* from March */
    uint32_t of_month = of_year - (153 * m + 2) / 5 + 1;
    uint32_t month = m < 10 ? m + 2 : m - 10; /* from January, 0 */
    year += era * 400 + (month < 2);
    snprintf(to, 30, "%.3s, %02u %.3s %04u %02u:%02u:%02u GMT", days[day % 7],
             of_month % 100, months[month % 12], year % 10000, second / 3600,
             second / 60 % 60, second % 60);
}
