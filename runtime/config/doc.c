/* SPDX-License-Identifier: MIT */
/* The file being read: its memory and its mistakes. */
#include "runtime/config/doc.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void adp_doc_error(struct adp_doc *doc, int code, struct adp_place at, const char *format,
                   ...)
{
    char text[sizeof doc->errors->list->text];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    doc->failed = true;
    adp_errors_add(doc->errors, code, doc->file, at, "%s", text);
}

bool adp_doc_is_full(const struct adp_doc *doc)
{
    return doc->errors->n > ADP_CONFIG_MAX_ERRORS;
}

bool adp_doc_passes(struct adp_doc *doc, int code, struct adp_place at,
                    const struct adp_error *err)
{
    if (code == ADP_ENOMEM)
        doc->out_of_memory = true;
    else if (code < 0)
        adp_doc_error(doc, code, at, "%s", err->text);
    return code >= 0;
}

void *adp_doc_alloc(struct adp_doc *doc, size_t size)
{
    void *piece = adp_arena_alloc(doc->arena, size);
    if (!piece)
        doc->out_of_memory = true;
    return piece;
}

char *adp_doc_copy(struct adp_doc *doc, const char *text, size_t len)
{
    char *copy = adp_doc_alloc(doc, len + 1);
    if (copy)
        memcpy(copy, text, len);
    return copy;
}

char *adp_doc_print(struct adp_doc *doc, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *text = len < 0 ? NULL : adp_doc_alloc(doc, (size_t)len + 1);
    if (text)
        vsnprintf(text, (size_t)len + 1, format, again);
    va_end(again);
    return text;
}
