/* SPDX-License-Identifier: MIT */
/* YAML as a tree: libyaml's events into nodes, with a stack of the collections that are
 * open. The stack's height is the bound on depth, looked at before an event is acted on,
 * so that a file of nothing but '[' ends at the first one too many. */
#include "runtime/config/tree.h"

#include "core/veil.h"

#include <string.h>
#include <yaml.h>

/* A collection that is being filled. */
struct frame {
    struct adp_node *node;
    struct adp_item **tail;
    const struct adp_node
        *key; /* mapping: waits for its value; NULL: the next is a key */
};

struct anchor {
    const char *name;
    const struct adp_node *node;
};

struct builder {
    struct adp_doc *doc;
    const char *text;
    size_t len;
    yaml_parser_t parser;
    struct frame frames[ADP_CONFIG_MAX_DEPTH];
    uint32_t depth;
    struct anchor anchors[ADP_TREE_MAX_ANCHORS];
    uint32_t n_anchors;
    uint32_t nodes;
    bool has_document;
    const struct adp_node *root;
};

/* What each step of the building answers. */
enum step { STEP_ON, STEP_END, STEP_FAILED };

static struct adp_place place_of(yaml_mark_t mark)
{
    return (struct adp_place) { (uint32_t)mark.line + 1, (uint32_t)mark.column + 1 };
}

/* UTF-8 characters in text[0..len). */
static size_t characters(const char *text, size_t len)
{
    size_t n = 0;
    for (size_t i = 0; i < len; i++)
        n += ((unsigned char)text[i] & 0xc0) != 0x80;
    return n;
}

/* The place of text[offset] in the whole file. */
static struct adp_place place_of_offset(const char *text, size_t offset)
{
    struct adp_place at = { 1, 1 };
    size_t begin = 0;
    for (size_t i = 0; i < offset; i++) {
        if (text[i] == '\n') {
            at.line++;
            begin = i + 1;
        }
    }
    at.column += (uint32_t)characters(text + begin, offset - begin);
    return at;
}

/* ---- nodes ---- */

static struct adp_node *node_create(struct builder *b, enum adp_node_kind kind,
                                    yaml_mark_t mark)
{
    if (b->nodes >= ADP_TREE_MAX_NODES) {
        adp_doc_error(b->doc, ADP_EFULL, place_of(mark),
                      "too many values, expected at most %u in one file",
                      ADP_TREE_MAX_NODES);
        return NULL;
    }
    struct adp_node *node = adp_doc_alloc(b->doc, sizeof *node);
    if (!node)
        return NULL;
    b->nodes++;
    node->kind = kind;
    node->at = place_of(mark);
    node->nodes = 1;
    return node;
}

static const struct adp_item *find_item(const struct adp_item *item, const char *key)
{
    while (item && strcmp(item->key->text, key) != 0)
        item = item->next;
    return item;
}

static enum step append(struct builder *b, struct frame *frame,
                        const struct adp_node *key, const struct adp_node *value)
{
    struct adp_item *item = adp_doc_alloc(b->doc, sizeof *item);
    if (!item)
        return STEP_FAILED;
    item->key = key;
    item->value = value;
    *frame->tail = item;
    frame->tail = &item->next;
    frame->node->n_items++;
    return STEP_ON;
}

/* A key and its value are whole: keeps them, unless the key cannot be one. */
static enum step append_pair(struct builder *b, struct frame *frame,
                             const struct adp_node *value)
{
    const struct adp_node *key = frame->key;
    frame->key = NULL;
    if (key->kind == ADP_NODE_BROKEN)
        return STEP_ON;
    if (key->kind != ADP_NODE_SCALAR) {
        adp_doc_error(b->doc, ADP_EINVAL, key->at,
                      "a key is not text, found a %s, expected a word",
                      key->kind == ADP_NODE_LIST ? "list" : "mapping");
        return STEP_ON;
    }
    if (key->plain && strcmp(key->text, "<<") == 0) {
        adp_doc_error(b->doc, ADP_EINVAL, key->at,
                      "merge keys are not supported, found \"<<\", expected the keys "
                      "themselves");
        return STEP_ON;
    }
    const struct adp_item *before = find_item(frame->node->items, key->text);
    if (before) {
        char shown[65];
        adp_veil(key->text, shown, sizeof shown);
        adp_doc_error(b->doc, ADP_EINVAL, key->at,
                      "duplicate key, found \"%s\" again, expected it once (line %u)",
                      shown, before->key->at.line);
        return STEP_ON;
    }
    return append(b, frame, key, value);
}

/* Hangs a finished node into the collection that is open. */
static enum step attach(struct builder *b, const struct adp_node *node)
{
    if (b->depth == 0) {
        b->root = node;
        return STEP_ON;
    }
    struct frame *frame = &b->frames[b->depth - 1];
    frame->node->nodes += node->nodes;
    if (frame->node->height <= node->height)
        frame->node->height = node->height + 1;
    if (frame->node->kind == ADP_NODE_LIST)
        return append(b, frame, NULL, node);
    if (frame->key)
        return append_pair(b, frame, node);
    frame->key = node;
    return STEP_ON;
}

/* Hangs in what an error left unfinished, so that it can be checked all the same. */
static void attach_open(struct builder *b)
{
    while (b->depth > 0) {
        struct adp_node *node = b->frames[--b->depth].node;
        attach(b, node);
    }
}

/* ---- events ---- */

/* Marks count lines from 0, and characters in them. */
static bool is_tab(const struct builder *b, yaml_mark_t mark)
{
    size_t i = 0, line = 0, column = 0;
    for (; i < b->len && line < mark.line; i++)
        line += b->text[i] == '\n';
    for (; i < b->len && column < mark.column; i++)
        column += ((unsigned char)b->text[i] & 0xc0) != 0x80;
    return i < b->len && b->text[i] == '\t';
}

static enum step fail_syntax(struct builder *b)
{
    const yaml_parser_t *parser = &b->parser;
    if (parser->error == YAML_MEMORY_ERROR) {
        b->doc->out_of_memory = true;
        return STEP_FAILED;
    }
    const char *problem = parser->problem ? parser->problem : "it cannot be read";
    if (is_tab(b, parser->problem_mark)) {
        adp_doc_error(b->doc, ADP_ESYNTAX, place_of(parser->problem_mark),
                      "not YAML, found a tab, expected blanks: tabs do not indent");
        return STEP_FAILED;
    }
    if (parser->error == YAML_READER_ERROR) {
        size_t offset = parser->problem_offset < b->len ? parser->problem_offset : b->len;
        adp_doc_error(b->doc, ADP_ESYNTAX, place_of_offset(b->text, offset),
                      "not YAML, %s", problem);
        return STEP_FAILED;
    }
    if (parser->context)
        adp_doc_error(b->doc, ADP_ESYNTAX, place_of(parser->problem_mark),
                      "not YAML, %s %s (from line %u)", problem, parser->context,
                      place_of(parser->context_mark).line);
    else
        adp_doc_error(b->doc, ADP_ESYNTAX, place_of(parser->problem_mark), "not YAML, %s",
                      problem);
    return STEP_FAILED;
}

static void refuse_tag(struct builder *b, const yaml_char_t *tag, yaml_mark_t mark)
{
    if (tag)
        adp_doc_error(b->doc, ADP_EINVAL, place_of(mark),
                      "tags are not supported, found \"%.64s\", expected none",
                      (const char *)tag);
}

static enum step keep_anchor(struct builder *b, const yaml_char_t *name,
                             const struct adp_node *node)
{
    if (!name)
        return STEP_ON;
    if (b->n_anchors == ADP_TREE_MAX_ANCHORS) {
        adp_doc_error(b->doc, ADP_EFULL, node->at,
                      "too many anchors, expected at most %u in one file",
                      ADP_TREE_MAX_ANCHORS);
        return STEP_FAILED;
    }
    const char *text = (const char *)name;
    const char *copy = adp_doc_copy(b->doc, text, strlen(text));
    if (!copy)
        return STEP_FAILED;
    b->anchors[b->n_anchors++] = (struct anchor) { copy, node };
    return STEP_ON;
}

/* The last anchor of that name: YAML lets a name be used again. */
static const struct adp_node *find_anchor(const struct builder *b, const char *name)
{
    for (uint32_t i = b->n_anchors; i > 0; i--)
        if (strcmp(b->anchors[i - 1].name, name) == 0)
            return b->anchors[i - 1].node;
    return NULL;
}

static enum step on_alias(struct builder *b, const yaml_event_t *event)
{
    const char *name = (const char *)event->data.alias.anchor;
    struct adp_place at = place_of(event->start_mark);
    const struct adp_node *node = find_anchor(b, name);
    if (node && !node->open && b->depth + node->height <= ADP_CONFIG_MAX_DEPTH) {
        if (node->nodes <= ADP_TREE_MAX_NODES - b->nodes) {
            b->nodes += node->nodes;
            return attach(b, node);
        }
        adp_doc_error(b->doc, ADP_EFULL, at,
                      "too many values, found %u more behind \"*%.64s\", expected at "
                      "most %u in one file",
                      node->nodes, name, ADP_TREE_MAX_NODES);
        return STEP_FAILED;
    }
    if (!node)
        adp_doc_error(b->doc, ADP_EINVAL, at,
                      "unknown alias, found \"*%.64s\", expected an anchor \"&%.64s\" "
                      "before it",
                      name, name);
    else if (node->open)
        adp_doc_error(b->doc, ADP_EINVAL, at,
                      "an alias stands inside what it names, found \"*%.64s\"", name);
    else
        adp_doc_error(b->doc, ADP_EFULL, at,
                      "nested too deep, found \"*%.64s\", expected at most %u levels",
                      name, ADP_CONFIG_MAX_DEPTH);
    struct adp_node *broken = node_create(b, ADP_NODE_BROKEN, event->start_mark);
    return broken ? attach(b, broken) : STEP_FAILED;
}

static enum step on_scalar(struct builder *b, const yaml_event_t *event)
{
    struct adp_node *node = node_create(b, ADP_NODE_SCALAR, event->start_mark);
    if (!node)
        return STEP_FAILED;
    const char *text = (const char *)event->data.scalar.value;
    size_t len = event->data.scalar.length;
    node->text = adp_doc_copy(b->doc, text, len);
    if (!node->text)
        return STEP_FAILED;
    if (memchr(text, '\0', len)) {
        adp_doc_error(b->doc, ADP_EINVAL, node->at,
                      "a NUL byte in a text, found \"\\0\"");
        node->kind = ADP_NODE_BROKEN;
    }
    node->plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    /* Escapes and folds always take more characters in the file than in the text. */
    size_t quotes = node->plain ? 0 : 1;
    yaml_mark_t begin = event->start_mark, end = event->end_mark;
    if (begin.line == end.line &&
        end.column - begin.column == characters(text, len) + 2 * quotes)
        node->text_column = node->at.column + (uint32_t)quotes;
    refuse_tag(b, event->data.scalar.tag, event->start_mark);
    if (keep_anchor(b, event->data.scalar.anchor, node) != STEP_ON)
        return STEP_FAILED;
    return attach(b, node);
}

static enum step begin(struct builder *b, enum adp_node_kind kind, yaml_mark_t mark,
                       const yaml_char_t *anchor, const yaml_char_t *tag)
{
    if (b->depth == ADP_CONFIG_MAX_DEPTH) {
        adp_doc_error(b->doc, ADP_EFULL, place_of(mark),
                      "nested too deep, expected at most %u levels",
                      ADP_CONFIG_MAX_DEPTH);
        return STEP_FAILED;
    }
    struct adp_node *node = node_create(b, kind, mark);
    if (!node)
        return STEP_FAILED;
    node->open = true;
    node->height = 1;
    refuse_tag(b, tag, mark);
    b->frames[b->depth++] = (struct frame) { .node = node, .tail = &node->items };
    return keep_anchor(b, anchor, node);
}

static enum step on_end(struct builder *b)
{
    struct adp_node *node = b->frames[--b->depth].node;
    node->open = false;
    return attach(b, node);
}

static enum step on_document(struct builder *b, yaml_mark_t mark)
{
    if (b->has_document) {
        adp_doc_error(b->doc, ADP_EINVAL, place_of(mark),
                      "a second document, expected one in a file");
        return STEP_FAILED;
    }
    b->has_document = true;
    return STEP_ON;
}

static enum step on_event(struct builder *b, const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        return on_document(b, event->start_mark);
    case YAML_ALIAS_EVENT:
        return on_alias(b, event);
    case YAML_SCALAR_EVENT:
        return on_scalar(b, event);
    case YAML_SEQUENCE_START_EVENT:
        return begin(b, ADP_NODE_LIST, event->start_mark,
                     event->data.sequence_start.anchor, event->data.sequence_start.tag);
    case YAML_MAPPING_START_EVENT:
        return begin(b, ADP_NODE_MAPPING, event->start_mark,
                     event->data.mapping_start.anchor, event->data.mapping_start.tag);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        return on_end(b);
    case YAML_STREAM_END_EVENT:
        return STEP_END;
    default:
        return STEP_ON;
    }
}

static enum step step(struct builder *b)
{
    yaml_event_t event;
    if (!yaml_parser_parse(&b->parser, &event))
        return fail_syntax(b);
    enum step next = on_event(b, &event);
    yaml_event_delete(&event);
    return next;
}

/* True when text[i] is the first byte of a line, by the line breaks of YAML 1.1: LF, CR,
 * NEL, LS, PS. */
static bool begins_line(const char *text, size_t i)
{
    if (i == 0 || text[i - 1] == '\n' || text[i - 1] == '\r')
        return true;
    if (i >= 2 && memcmp(text + i - 2, "\xc2\x85", 2) == 0)
        return true;
    return i >= 3 && (memcmp(text + i - 3, "\xe2\x80\xa8", 3) == 0 ||
                      memcmp(text + i - 3, "\xe2\x80\xa9", 3) == 0);
}

/* Directives are refused before libyaml sees them: it compares each %TAG with all before
 * it, which takes ten seconds for a file of them. */
static bool refuse_directives(struct builder *b)
{
    for (size_t i = 0; i < b->len; i++) {
        if (b->text[i] != '%' || !begins_line(b->text, i))
            continue;
        adp_doc_error(b->doc, ADP_EINVAL, place_of_offset(b->text, i),
                      "directives are not supported, found \"%%\" at the beginning of a "
                      "line");
        return true;
    }
    return false;
}

bool adp_tree_read(const struct adp_node **ret, const char *text, size_t len,
                   struct adp_doc *doc)
{
    struct builder b = { .doc = doc, .text = text, .len = len };
    if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        b.text += 3;
        b.len -= 3;
    }
    if (refuse_directives(&b))
        return false;
    if (!yaml_parser_initialize(&b.parser)) {
        doc->out_of_memory = true;
        return false;
    }
    /* Not left to be guessed: a file in UTF-16 is a mistake here. */
    yaml_parser_set_encoding(&b.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&b.parser, (const unsigned char *)b.text, b.len);
    enum step next;
    do
        next = step(&b);
    while (next == STEP_ON);
    yaml_parser_delete(&b.parser);

    if (next == STEP_FAILED)
        attach_open(&b);
    if (doc->out_of_memory || (next == STEP_FAILED && !b.root))
        return false;
    *ret = b.root;
    return true;
}

/* ---- looking at a tree ---- */

const struct adp_item *adp_node_item(const struct adp_node *node, const char *key)
{
    return node->kind == ADP_NODE_MAPPING ? find_item(node->items, key) : NULL;
}

const struct adp_node *adp_node_find(const struct adp_node *node, const char *key)
{
    const struct adp_item *item = adp_node_item(node, key);
    return item ? item->value : NULL;
}

bool adp_node_is_nothing(const struct adp_node *node)
{
    static const char *const words[] = { "", "~", "null", "Null", "NULL" };
    if (node->kind != ADP_NODE_SCALAR || !node->plain)
        return false;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp(node->text, words[i]) == 0)
            return true;
    return false;
}

struct adp_place adp_node_place_in(const struct adp_node *scalar, size_t offset)
{
    struct adp_place at = scalar->at;
    if (scalar->text_column)
        at.column = scalar->text_column + (uint32_t)characters(scalar->text, offset);
    return at;
}
