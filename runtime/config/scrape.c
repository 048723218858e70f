/* SPDX-License-Identifier: MIT */
/* `scrape:`: the pages that metrics are taken from, and how often. */
#include "runtime/config/sections.h"

#include <string.h>
#include <strings.h>

#define DEFAULT_INTERVAL_NS 1000000000u
enum { MAX_URL = 2048 };

static void read_url(struct adp_doc *doc, const struct adp_key *key,
                     const struct adp_node *value, void *into)
{
    struct adp_scrape_setting *scrape = into;
    if (!adp_read_is(doc, key, value, ADP_NODE_SCALAR))
        return;
    const char *url = value->text, *host = NULL;
    if (strncasecmp(url, "http://", 7) == 0)
        host = url + 7;
    else if (strncasecmp(url, "https://", 8) == 0)
        host = url + 8;
    else if (strncmp(url, "unix:/", 6) == 0)
        host = url + 6;
    if (host && *host && *host != '/' && strlen(url) <= MAX_URL && !strchr(url, ' ') &&
        adp_text_is_printable(url))
        scrape->url = url;
    else
        adp_read_wrong(doc, key, value, "not an address");
}

static void read_flag(struct adp_doc *doc, const struct adp_key *key,
                      const struct adp_node *value, void *into)
{
    struct adp_scalar scalar = adp_node_scalar(value);
    if (scalar.kind == ADP_SCALAR_BOOL)
        *(bool *)(void *)((char *)into + key->at) = scalar.value != 0.0;
    else
        adp_read_wrong(doc, key, value, "not a yes or no");
}

#define FILE_KEY(field, about)                                                           \
    {                                                                                    \
        .word = #field, .read = adp_read_file,                                           \
        .at = offsetof(struct adp_scrape_setting, field),                                \
        .expected = "the path of " about                                                 \
    }

static const struct adp_key scrape_keys[] = {
    { .word = "name",
      .read = adp_read_name,
      .at = offsetof(struct adp_scrape_setting, name),
      .expected = "a name of at most 128 bytes without '/' or a leading '.'",
      .required = true },
    { .word = "url",
      .read = read_url,
      .expected = "an address such as http://127.0.0.1:8000/metrics",
      .required = true },
    { .word = "interval",
      .read = adp_read_duration,
      .at = offsetof(struct adp_scrape_setting, interval_ns),
      .lo = 50e6,
      .hi = 3600e9,
      .expected = "a duration from 50ms to 1h, such as 1s" },
    { .word = "timeout",
      .read = adp_read_duration,
      .at = offsetof(struct adp_scrape_setting, timeout_ns),
      .lo = 1e6,
      .hi = 3600e9,
      .expected = "a duration from 1ms to the interval, such as 500ms" },
    FILE_KEY(bearer_file, "a file with the token"),
    FILE_KEY(ca_file, "a file with the certificates that are trusted"),
    FILE_KEY(cert_file, "a file with a certificate of ours"),
    FILE_KEY(key_file, "a file with the key of cert_file"),
    { .word = "insecure",
      .read = read_flag,
      .at = offsetof(struct adp_scrape_setting, insecure),
      .expected = "true or false" },
    { 0 },
};

static void read_one(struct adp_doc *doc, const struct adp_node *value,
                     struct adp_scrape_setting *scrape)
{
    static const struct adp_key key = { .word = "scrape",
                                        .keys = scrape_keys,
                                        .expected = "a mapping with name and url" };
    scrape->place = value->at;
    scrape->interval_ns = DEFAULT_INTERVAL_NS;
    adp_read_mapping(doc, &key, value, scrape);
    const struct adp_item *timeout = adp_read_item(doc, scrape_keys, value, "timeout");
    if (timeout && scrape->timeout_ns > scrape->interval_ns)
        adp_doc_error(
            doc, ADP_EINVAL, timeout->value->at,
            "timeout is longer than the interval, found %s, expected at most %gs",
            adp_phrase_found(timeout->value).text, (double)scrape->interval_ns / 1e9);
    if (scrape->timeout_ns == 0)
        scrape->timeout_ns = scrape->interval_ns;
    const struct adp_item *cert = adp_read_item(doc, scrape_keys, value, "cert_file"),
                          *pair = adp_read_item(doc, scrape_keys, value, "key_file");
    if (!cert != !pair)
        adp_doc_error(doc, ADP_EINVAL, (cert ? cert : pair)->value->at,
                      "%s without %s, expected both or neither",
                      cert ? "cert_file" : "key_file", cert ? "key_file" : "cert_file");
}

static void check_name(struct adp_doc *doc, const struct adp_config *config,
                       const struct adp_node *value)
{
    const struct adp_scrape_setting *last = &config->scrape[config->n_scrape - 1];
    for (const struct adp_scrape_setting *s = config->scrape; s < last; s++)
        if (last->name && s->name && strcmp(s->name, last->name) == 0) {
            const struct adp_item *name = adp_read_item(doc, scrape_keys, value, "name");
            if (name)
                adp_doc_error(
                    doc, ADP_EINVAL, name->value->at,
                    "name is taken, found %s, expected one of its own (line %u)",
                    adp_phrase_found(name->value).text, s->place.line);
            return;
        }
}

void adp_section_scrape(struct adp_doc *doc, const struct adp_key *key,
                        const struct adp_node *value, void *into)
{
    struct adp_config *config = into;
    config->has_scrape = true;
    if (!adp_read_is(doc, key, value, ADP_NODE_LIST))
        return;
    if (value->n_items > ADP_CONFIG_MAX_SCRAPE) {
        adp_doc_error(doc, ADP_EFULL, value->at,
                      "too many entries in scrape, found %u, expected at most %u",
                      value->n_items, ADP_CONFIG_MAX_SCRAPE);
        return;
    }
    config->scrape = adp_doc_alloc(doc, value->n_items * sizeof *config->scrape);
    if (!config->scrape)
        return;
    for (const struct adp_item *item = value->items; item; item = item->next) {
        read_one(doc, item->value, &config->scrape[config->n_scrape++]);
        check_name(doc, config, item->value);
    }
}
