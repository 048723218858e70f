/* SPDX-License-Identifier: MIT */
/* `serve:`: where the sidecar listens, within which bounds, and where requests and outcomes
 * say what it asks about.
 *
 * What is reachable from elsewhere has to be written out, and answers only who has the
 * token. SPOP and datagrams cannot carry one, so they stay on this machine. */
#include "runtime/config/sections.h"

#include <ctype.h>
#include <string.h>

enum { MAX_SOCKET = 107, MAX_HEADER = 128, MAX_FIELD = 128 };

/* --- addresses --- */

static bool is_port(const char *text)
{
    uint32_t port = 0;
    if (!*text || strlen(text) > 5)
        return false;
    for (; *text; text++) {
        if (*text < '0' || *text > '9')
            return false;
        port = port * 10 + (uint32_t)(*text - '0');
    }
    return port <= 65535;
}

/* Four numbers, as the kernel itself would write them: nothing that merely begins with 127. */
static bool is_loopback_v4(const char *host, size_t len)
{
    size_t at = 0;
    for (int part = 0; part < 4; part++) {
        uint32_t value = 0, digits = 0;
        for (; at < len && host[at] >= '0' && host[at] <= '9'; at++, digits++)
            value = value * 10 + (uint32_t)(host[at] - '0');
        if (!digits || digits > 3 || value > 255 || (part == 0 && value != 127))
            return false;
        if (part < 3 && (at == len || host[at++] != '.'))
            return false;
    }
    return at == len;
}

static bool is_local(const char *host, size_t len)
{
    return (len == 5 && memcmp(host, "[::1]", 5) == 0) ||
           (len == 9 && strncasecmp(host, "localhost", 9) == 0) ||
           is_loopback_v4(host, len);
}

/* What is wrong with an address, or NULL; `local` is set when nothing is. */
static const char *address_fault(const char *address, bool *local)
{
    if (strncmp(address, "unix:", 5) == 0) {
        *local = true;
        return address[5] != '/'                     ? "not an absolute path"
               : strlen(address + 5) > MAX_SOCKET    ? "too long a path"
               : !adp_text_is_printable(address)     ? "not a path"
               : address[strlen(address) - 1] == '/' ? "a folder"
                                                     : NULL;
    }
    const char *colon = strrchr(address, ':');
    if (!colon || colon == address || !is_port(colon + 1) || strlen(address) > 255 ||
        !adp_text_is_printable(address) || strpbrk(address, " /"))
        return "not an address";
    size_t len = (size_t)(colon - address);
    bool bracketed = address[0] == '[' && colon[-1] == ']';
    if (!bracketed && memchr(address, ':', len))
        return "not an address";
    *local = is_local(address, len);
    return NULL;
}

static void read_address(struct adp_doc *doc, const struct adp_key *key,
                         const struct adp_node *value, void *into)
{
    struct adp_listen_setting *listen = into;
    if (!adp_read_is(doc, key, value, ADP_NODE_SCALAR))
        return;
    bool local = false;
    const char *fault = address_fault(value->text, &local);
    if (fault) {
        adp_read_wrong(doc, key, value, fault);
        return;
    }
    listen->address = value->text;
    listen->local = local;
}

static void read_path(struct adp_doc *doc, const struct adp_key *key,
                      const struct adp_node *value, void *into)
{
    struct adp_listen_setting *listen = into;
    if (!adp_read_is(doc, key, value, ADP_NODE_SCALAR))
        return;
    const char *address = adp_doc_print(doc, "unix:%s", value->text);
    bool local = true;
    const char *fault = address ? address_fault(address, &local) : NULL;
    if (fault) {
        adp_read_wrong(doc, key, value, fault);
        return;
    }
    listen->address = address;
    listen->local = true;
}

/* Octal, as chmod has it. */
static void read_mode(struct adp_doc *doc, const struct adp_key *key,
                      const struct adp_node *value, void *into)
{
    uint32_t mode = 0;
    if (!adp_read_is(doc, key, value, ADP_NODE_SCALAR))
        return;
    size_t len = strlen(value->text);
    bool octal = len >= 3 && len <= 4 && strspn(value->text, "01234567") == len;
    for (const char *c = value->text; octal && *c; c++)
        mode = mode * 8 + (uint32_t)(*c - '0');
    if (!octal || !mode || mode > 0777)
        adp_read_wrong(doc, key, value, "not a mode");
    else
        ((struct adp_listen_setting *)into)->mode = mode;
}

static const struct adp_key listen_keys[] = {
    { .word = "unix",
      .read = read_path,
      .expected = "the absolute path of a socket, at most 107 bytes",
      .required = true },
    { .word = "mode",
      .read = read_mode,
      .expected = "the socket's mode in octal, such as 0660" },
    { .word = "group",
      .read = adp_read_text,
      .at = offsetof(struct adp_listen_setting, group),
      .hi = 64,
      .expected = "the socket's group" },
    { 0 },
};

static void read_listen(struct adp_doc *doc, const struct adp_key *key,
                        const struct adp_node *value, struct adp_listen_settings *to)
{
    struct adp_listen_setting *listen = &to->list[to->n];
    struct adp_key mapping = *key;
    mapping.keys = listen_keys;
    listen->place = value->at;
    if (value->kind == ADP_NODE_MAPPING)
        adp_read_mapping(doc, &mapping, value, listen);
    else
        read_address(doc, key, value, listen);
    if (!listen->address)
        return;
    for (uint32_t i = 0; i < to->n; i++)
        if (strcmp(to->list[i].address, listen->address) == 0)
            adp_read_wrong(doc, key, value, "given twice");
    to->n++;
}

/* One address, or a list of them. */
static void read_listens(struct adp_doc *doc, const struct adp_key *key,
                         const struct adp_node *value, void *into)
{
    struct adp_listen_settings *to =
        (struct adp_listen_settings *)(void *)((char *)into + key->at);
    bool list = value->kind == ADP_NODE_LIST;
    uint32_t n = list ? value->n_items : 1;
    if (n == 0 || n > ADP_CONFIG_MAX_LISTEN) {
        adp_read_wrong(doc, key, value, n ? "too long a list" : "an empty list");
        return;
    }
    to->list = adp_doc_alloc(doc, n * sizeof *to->list);
    if (!to->list)
        return;
    if (!list)
        read_listen(doc, key, value, to);
    for (const struct adp_item *item = list ? value->items : NULL; item;
         item = item->next)
        if (item->value->kind != ADP_NODE_BROKEN)
            read_listen(doc, key, item->value, to);
}

/* --- names of headers and fields --- */

static bool is_header(const char *name)
{
    if (!*name || strlen(name) > MAX_HEADER)
        return false;
    for (; *name; name++)
        if (!isalnum((unsigned char)*name) && !strchr("!#$%&'*+-.^_`|~", *name))
            return false;
    return true;
}

static bool is_field(const char *name)
{
    size_t len = strlen(name);
    return len && len <= MAX_FIELD && name[0] != '.' && name[len - 1] != '.' &&
           !strstr(name, "..") && adp_text_is_printable(name);
}

static void add_name(struct adp_doc *doc, const struct adp_key *key,
                     const struct adp_node *value, bool header,
                     struct adp_names_setting *to)
{
    if (!adp_read_is(doc, key, value, ADP_NODE_SCALAR))
        return;
    if (!(header ? is_header : is_field)(value->text)) {
        adp_read_wrong(doc, key, value, header ? "not a header's name" : "not a field");
        return;
    }
    char *name = adp_doc_copy(doc, value->text, strlen(value->text));
    if (!name)
        return;
    for (char *c = name; header && *c; c++)
        *c = (char)tolower((unsigned char)*c);
    to->name[to->n++] = name;
}

static void read_names(struct adp_doc *doc, const struct adp_key *key,
                       const struct adp_node *value, bool header, void *into)
{
    struct adp_names_setting *to =
        (struct adp_names_setting *)(void *)((char *)into + key->at);
    if (value->kind != ADP_NODE_LIST) {
        add_name(doc, key, value, header, to);
        return;
    }
    if (!value->n_items || value->n_items > ADP_CONFIG_MAX_NAMES) {
        adp_read_wrong(doc, key, value,
                       value->n_items ? "too long a list" : "an empty list");
        return;
    }
    for (const struct adp_item *item = value->items; item; item = item->next)
        if (item->value->kind != ADP_NODE_BROKEN)
            add_name(doc, key, item->value, header, to);
}

static void read_headers(struct adp_doc *doc, const struct adp_key *key,
                         const struct adp_node *value, void *into)
{
    read_names(doc, key, value, true, into);
}

static void read_fields(struct adp_doc *doc, const struct adp_key *key,
                        const struct adp_node *value, void *into)
{
    read_names(doc, key, value, false, into);
}

#define HEADER(name, which)                                                              \
    {                                                                                    \
        .word = name, .read = read_headers,                                              \
        .at = offsetof(struct adp_serve_setting, header) +                               \
              (which) * sizeof(struct adp_names_setting),                                \
        .expected = "a header's name, or a list of at most 8"                            \
    }

static const struct adp_key header_keys[] = {
    HEADER("request_id", ADP_HEADER_REQUEST_ID),
    HEADER("tenant", ADP_HEADER_TENANT),
    HEADER("session", ADP_HEADER_SESSION),
    HEADER("slo_class", ADP_HEADER_SLO_CLASS),
    HEADER("priority", ADP_HEADER_PRIORITY),
    HEADER("prompt_tokens", ADP_HEADER_PROMPT_TOKENS),
    HEADER("prompt_bytes", ADP_HEADER_PROMPT_BYTES),
    HEADER("max_output_tokens", ADP_HEADER_MAX_OUTPUT_TOKENS),
    HEADER("ttft_deadline_ms", ADP_HEADER_TTFT_DEADLINE_MS),
    { 0 },
};

#define FIELD(name, which)                                                               \
    {                                                                                    \
        .word = name, .read = read_fields,                                               \
        .at = offsetof(struct adp_serve_setting, field) +                                \
              (which) * sizeof(struct adp_names_setting),                                \
        .expected = "a field such as resp_headers.X-Admit-Id, or a list of at most 8"    \
    }

static const struct adp_key field_keys[] = {
    FIELD("id", ADP_FIELD_ID),
    FIELD("request_id", ADP_FIELD_REQUEST_ID),
    FIELD("verdict", ADP_FIELD_VERDICT),
    FIELD("status", ADP_FIELD_STATUS),
    FIELD("ok", ADP_FIELD_OK),
    FIELD("end", ADP_FIELD_END),
    FIELD("ttft_ms", ADP_FIELD_TTFT_MS),
    FIELD("ttft_us", ADP_FIELD_TTFT_US),
    FIELD("ttft_s", ADP_FIELD_TTFT_S),
    FIELD("total_ms", ADP_FIELD_TOTAL_MS),
    FIELD("total_us", ADP_FIELD_TOTAL_US),
    FIELD("total_s", ADP_FIELD_TOTAL_S),
    FIELD("prompt_tokens", ADP_FIELD_PROMPT_TOKENS),
    FIELD("output_tokens", ADP_FIELD_OUTPUT_TOKENS),
    FIELD("extra", ADP_FIELD_EXTRA),
    { 0 },
};

static const struct adp_key outcome_keys[] = {
    { .word = "listen",
      .read = read_listens,
      .at = offsetof(struct adp_serve_setting, outcomes),
      .expected = "an address such as 127.0.0.1:9401, or unix: and a path" },
    { .word = "fields",
      .read = adp_read_mapping,
      .expected = "a mapping such as { ttft_ms: NAME }",
      .keys = field_keys },
    { 0 },
};

/* --- bounds --- */

#define SIZE(name, field, low, high, example)                                            \
    {                                                                                    \
        .word = name, .read = adp_read_size,                                             \
        .at = offsetof(struct adp_serve_setting, field), .lo = (low), .hi = (high),      \
        .expected = "a size from " example                                               \
    }
#define TIME(name, field, low, high, example)                                            \
    {                                                                                    \
        .word = name, .read = adp_read_duration,                                         \
        .at = offsetof(struct adp_serve_setting, field), .lo = (low), .hi = (high),      \
        .expected = "a duration from " example                                           \
    }

static const struct adp_key limit_keys[] = {
    SIZE("head", head_bytes, 1024.0, 1048576.0, "1KiB to 1MiB, such as 16KiB"),
    SIZE("body", body_bytes, 1024.0, 1073741824.0, "1KiB to 1GiB, such as 1MiB"),
    { .word = "connections",
      .read = adp_read_integer,
      .at = offsetof(struct adp_serve_setting, connections),
      .lo = 1.0,
      .hi = 65000.0,
      .expected = "a whole number from 1 to 65000" },
    TIME("head_time", head_ns, 10e6, 3600e9, "10ms to 1h, such as 10s"),
    TIME("body_time", body_ns, 10e6, 3600e9, "10ms to 1h, such as 30s"),
    TIME("idle", idle_ns, 10e6, 86400e9, "10ms to 24h, such as 60s"),
    TIME("write", write_ns, 10e6, 3600e9, "10ms to 1h, such as 30s"),
    TIME("drain", drain_ns, 1e6, 3600e9, "1ms to 1h, such as 10s"),
    TIME("policy", policy_ns, 20e6, 60e9, "20ms to 1m, such as 500ms"),
    SIZE("memory", memory_bytes, 16777216.0, 1099511627776.0,
         "16MiB to 1024GiB, such as 1GiB"),
    { 0 },
};

/* --- the whole --- */

/* The field is what it is not: nothing stated is to be true. */
static void read_supervise(struct adp_doc *doc, const struct adp_key *key,
                           const struct adp_node *value, void *into)
{
    struct adp_scalar scalar = adp_node_scalar(value);
    if (scalar.kind == ADP_SCALAR_BOOL)
        ((struct adp_serve_setting *)into)->alone = scalar.value == 0.0;
    else
        adp_read_wrong(doc, key, value, "not a yes or no");
}

static const struct adp_key serve_keys[] = {
    { .word = "listen",
      .read = read_listens,
      .at = offsetof(struct adp_serve_setting, listen),
      .expected = "an address such as 127.0.0.1:9400, unix:/run/admitperf.sock, or a "
                  "list of at most 16" },
    { .word = "token_file",
      .read = adp_read_file,
      .at = offsetof(struct adp_serve_setting, token_file),
      .expected = "the path of a file with the token" },
    { .word = "supervise", .read = read_supervise, .expected = "true or false" },
    { .word = "threads",
      .read = adp_read_integer,
      .at = offsetof(struct adp_serve_setting, threads),
      .lo = 1.0,
      .hi = 12.0,
      .expected = "a whole number from 1 to 12" },
    { .word = "limits",
      .read = adp_read_mapping,
      .expected = "a mapping such as { body: 1MiB }",
      .keys = limit_keys },
    { .word = "headers",
      .read = adp_read_mapping,
      .expected = "a mapping such as { tenant: X-Tenant }",
      .keys = header_keys },
    { .word = "bytes_per_token",
      .read = adp_read_number,
      .at = offsetof(struct adp_serve_setting, bytes_per_token),
      .lo = 0.1,
      .hi = 1000.0,
      .expected = "a number from 0.1 to 1000, such as 4" },
    { .word = "outcomes",
      .read = adp_read_mapping,
      .expected = "a mapping such as { listen: 127.0.0.1:9401 }",
      .keys = outcome_keys },
    { .word = "spop",
      .read = read_listens,
      .at = offsetof(struct adp_serve_setting, spop),
      .expected = "an address such as 127.0.0.1:9402, or unix: and a path" },
    { 0 },
};

static void check_reach(struct adp_doc *doc, const struct adp_serve_setting *serve)
{
    const struct adp_listen_settings *closed[] = { &serve->outcomes, &serve->spop };
    for (uint32_t i = 0; !serve->token_file && i < serve->listen.n; i++)
        if (!serve->listen.list[i].local)
            adp_doc_error(doc, ADP_EINVAL, serve->listen.list[i].place,
                          "%s can be reached from other machines, expected token_file "
                          "too, or an address of this one",
                          serve->listen.list[i].address);
    for (uint32_t k = 0; k < 2; k++)
        for (uint32_t i = 0; i < closed[k]->n; i++)
            if (!closed[k]->list[i].local)
                adp_doc_error(
                    doc, ADP_EINVAL, closed[k]->list[i].place,
                    "%s can be reached from other machines, and %s cannot carry "
                    "a token, expected 127.0.0.1 or unix:",
                    closed[k]->list[i].address, k ? "SPOP" : "a datagram");
}

void adp_section_serve(struct adp_doc *doc, const struct adp_key *key,
                       const struct adp_node *value, void *into)
{
    struct adp_config *config = into;
    struct adp_key mapping = *key;
    config->has_serve = true;
    mapping.keys = serve_keys;
    adp_read_mapping(doc, &mapping, value, &config->serve);
    check_reach(doc, &config->serve);
}
