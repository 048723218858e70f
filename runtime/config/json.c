/* SPDX-License-Identifier: MIT */
/* A part of the tree as JSON. */
#include "runtime/config/json.h"

#include "core/line.h"
#include "runtime/config/read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void write_string(struct adp_line *line, const char *text)
{
    adp_line_string(line, text, strlen(text));
}

/* An integer keeps all its digits where 64 bits hold them. */
static void write_integer(struct adp_line *line, const char *text, double value)
{
    errno = 0;
    long long exact = strtoll(text, NULL, 10);
    if (errno == 0)
        adp_line_i64(line, exact);
    else
        adp_line_number(line, value);
}

static void write_scalar(struct adp_doc *doc, struct adp_line *line,
                         const struct adp_node *node)
{
    struct adp_scalar scalar = adp_node_scalar(node);
    switch (scalar.kind) {
    case ADP_SCALAR_TEXT:
        write_string(line, node->text);
        break;
    case ADP_SCALAR_NOTHING:
        adp_line_puts(line, "null");
        break;
    case ADP_SCALAR_BOOL:
        adp_line_puts(line, scalar.value > 0.0 ? "true" : "false");
        break;
    case ADP_SCALAR_INTEGER:
        write_integer(line, node->text, scalar.value);
        break;
    case ADP_SCALAR_NUMBER:
        adp_line_number(line, scalar.value);
        break;
    case ADP_SCALAR_NOT_FINITE:
        adp_doc_error(doc, ADP_EINVAL, node->at,
                      "a number is not finite, found %s, expected one that JSON can hold",
                      adp_phrase_found(node).text);
        adp_line_puts(line, "null");
        break;
    }
}

/* Recursion ends with the tree's height, which is bounded. */
static void write_node(struct adp_doc *doc, struct adp_line *line,
                       const struct adp_node *node)
{
    if (node->kind == ADP_NODE_SCALAR) {
        write_scalar(doc, line, node);
        return;
    }
    if (node->kind == ADP_NODE_BROKEN) {
        adp_line_puts(line, "null");
        return;
    }
    bool mapping = node->kind == ADP_NODE_MAPPING;
    adp_line_puts(line, mapping ? "{" : "[");
    for (const struct adp_item *item = node->items; item; item = item->next) {
        if (item != node->items)
            adp_line_puts(line, ",");
        if (mapping) {
            write_string(line, item->key->text);
            adp_line_puts(line, ":");
        }
        write_node(doc, line, item->value);
    }
    adp_line_puts(line, mapping ? "}" : "]");
}

const char *adp_json_of(struct adp_doc *doc, const struct adp_node *node)
{
    struct adp_line line;
    adp_line_init(&line);
    write_node(doc, &line, node);
    const char *text = NULL;
    if (line.broken)
        doc->out_of_memory = true;
    else
        text = adp_doc_copy(doc, line.text, line.len);
    adp_line_finish(&line);
    return text;
}
