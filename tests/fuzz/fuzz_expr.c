/* SPDX-License-Identifier: MIT */
/* Input: the text of a source. Compiled in both forms and evaluated over a small page in
 * every aggregation, as it is and of two targets apart; what comes out must be sane or have a
 * reason. */
#include "core/expr.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { ENGINES = 3, SERIES = 4 };

struct fixture {
    struct adp_metrics *now, *before;
    struct adp_scratch *scratch;
};

static struct adp_str str(const char *text)
{
    return (struct adp_str) { .p = text, .n = strlen(text) };
}

static void add(struct adp_metrics *to, const char *name, const char *engine,
                double value)
{
    struct adp_label labels[] = { { str("engine"), str(engine) },
                                  { str("target"), str("t") } };
    uint32_t n = *engine == '1' ? 2 : *engine ? 1 : 0; /* engine 1 is another target's */
    if (adp_metrics_add(to, str(name), labels, n, value, value == 4, 2.5, NULL))
        abort();
}

/* A bucket of the histogram h, told by a rank. */
static void add_bucket(struct adp_metrics *to, const char *le, const char *rank,
                       double value)
{
    struct adp_label labels[] = { { str("le"), str(le) }, { str("pid"), str(rank) } };
    if (adp_metrics_add(to, str("h_bucket"), labels, 2, value, false, 0, NULL))
        abort();
}

/* Names are single letters, so that they are soon found: a and b per engine, b with a
 * zero, a NaN and a timestamp (4), c alone, d more than the scratch holds; h, a histogram
 * told twice. */
static struct fixture *open_fixture(void)
{
    static const char *const engines[] = { "0", "1", "2", "3", "4" };
    static const double b[ENGINES] = { 0, NAN, 4 };
    struct fixture *f = calloc(1, sizeof *f);
    if (!f || adp_metrics_create(&f->now) || adp_metrics_create(&f->before) ||
        adp_scratch_create(&f->scratch, SERIES))
        abort();
    for (int i = 0; i < ENGINES; i++) {
        add(f->now, "a", engines[i], 10 * (i + 1));
        add(f->before, "a", engines[i], 15);
        add(f->now, "b", engines[i], b[i]);
    }
    add(f->now, "c", "", 1e300);
    add(f->before, "c", "", 1);
    for (int i = 0; i <= SERIES; i++)
        add(f->now, "d", engines[i], i);
    for (int i = 0; i < 2; i++) {
        add_bucket(f->now, "1", engines[i], 7);
        add_bucket(f->before, "1", engines[i], i);
        add_bucket(f->now, "+Inf", engines[i], 9);
        add_bucket(f->before, "+Inf", engines[i], i);
    }
    return f;
}

static void close_fixture(struct fixture *f)
{
    adp_metrics_destroy(f->now);
    adp_metrics_destroy(f->before);
    adp_scratch_destroy(f->scratch);
    free(f);
}

static void require(int holds)
{
    if (!holds)
        abort();
}

static void evaluate(const struct fixture *f, const struct adp_expr *expr, bool apart)
{
    static const struct adp_str targets[] = { { "", 0 }, { "t", 1 } };
    static const struct adp_rename renames[] = { { "x", "a" }, { "y", "c" } };
    struct adp_moment moment = { .now = f->now,
                                 .before = f->before,
                                 .elapsed_s = 0.5,
                                 .renames = renames,
                                 .n_renames = 2,
                                 .replicas = targets,
                                 .n_replicas = apart ? 2 : 0,
                                 .apart = apart };
    for (int how = ADP_AGG_NONE; how <= ADP_AGG_ONLY; how++) {
        struct adp_value v;
        enum adp_why why = adp_expr_evaluate(expr, &moment, (enum adp_aggregate)how, -100,
                                             1e308, f->scratch, &v);
        require(strlen(v.differ) < sizeof v.differ);
        require((why == ADP_WHY_AMBIGUOUS) == (v.differ[0] != '\0'));
        require((v.skipped == 0) == (v.skipped_why == ADP_WHY_PRESENT));
        if (why == ADP_WHY_PRESENT)
            require(isfinite(v.value) && v.value >= -100 && v.value <= 1e308 && v.taken &&
                    v.weight);
        else
            require(v.taken == 0 && why < ADP_WHY_COUNT && why != ADP_WHY_NO_SNAPSHOT);
    }
}

static void run(const struct fixture *f, const char *text, struct adp_expr *expr, int rc,
                const struct adp_error *err)
{
    if (rc) {
        require(expr == NULL && err->code == rc && err->text[0] && err->line == 1);
        require(err->column >= 1 && err->column <= strlen(text) + 1);
        return;
    }
    require(err->code == 0 && strcmp(adp_expr_text(expr), text) == 0);
    require(adp_expr_metric(expr, 0) != NULL);
    evaluate(f, expr, false);
    evaluate(f, expr, true);
    adp_expr_destroy(expr);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len);
int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len)
{
    char *text = malloc(len + 1);
    struct fixture *f = open_fixture();
    if (!text)
        abort();
    memcpy(text, input, len);
    text[len] = '\0';
    for (int form = 0; form < 2; form++) {
        struct adp_expr *expr = NULL;
        struct adp_error err = { 0 };
        int rc = form ? adp_expr_compile(&expr, text, "f", 1, 1, &err)
                      : adp_expr_compile_metric(&expr, text, "f", 1, 1, &err);
        run(f, text, expr, rc, &err);
    }
    close_fixture(f);
    free(text);
    return 0;
}
