/* SPDX-License-Identifier: MIT */
/* Any bytes as a configuration: read whole or refused with a reason, in bounded time. */
#include "core/error.h"
#include "runtime/config/config.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len);

static void must(int holds)
{
    if (!holds)
        abort();
}

static uint32_t count_lines(const uint8_t *input, size_t len)
{
    uint32_t lines = 1;
    for (size_t i = 0; i < len; i++) /* more than YAML's own breaks: a bound */
        lines += input[i] == '\n' || input[i] == '\r' || input[i] >= 0x80;
    return lines;
}

static void check_errors(const struct adp_errors *errors, uint32_t lines)
{
    char text[1024];
    must(errors->n <= ADP_CONFIG_MAX_ERRORS + 1);
    for (uint32_t i = 0; i < errors->n; i++) {
        const adp_error *e = &errors->list[i], *before = i ? e - 1 : e;
        must(e->code < 0 && e->text[0]);
        must(e->line <= lines + 1);
        must(!e->line == !e->column);
        /* Sorted; without a place at the end. */
        must(!e->line || (before->line && before->line < e->line) ||
             (before->line == e->line && before->column <= e->column));
        must(adp_error_format(e, text, sizeof text) > 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len)
{
    struct adp_errors errors = { 0 };
    struct adp_config *config = NULL;
    int code = adp_config_read_text(&config, (const char *)input, len, "f", "/", &errors);
    check_errors(&errors, count_lines(input, len));
    must((code == 0) == (config != NULL));
    must((code == 0) == (errors.n == 0));
    if (config) {
        char path[ADP_CONFIG_MAX_PATH + 1];
        must(config->n_policies >= 1 && config->policies[0].use);
        adp_config_log_path(config, "policy", path, sizeof path, NULL);
    }
    adp_config_destroy(config);
    adp_errors_free(&errors);
    return 0;
}
