/* SPDX-License-Identifier: MIT */
/* adp_sidecar_check: everything create would refuse but what only listening shows, and in
 * words what would be served. */
#include "core/error.h"
#include "core/veil.h"
#include "runtime/scrape/address.h"
#include "runtime/sidecar/state.h"

#include <inttypes.h>

static void say_listens(FILE *to, const char *what, const struct adp_listen_settings *l,
                        const char *without)
{
    if (!l->n && without)
        fprintf(to, "%-9s %s\n", what, without);
    for (uint32_t i = 0; i < l->n; i++) {
        const struct adp_listen_setting *s = &l->list[i];
        fprintf(to, "%-9s %s", i ? "" : what, s->address);
        if (s->mode)
            fprintf(to, ", mode %04o", s->mode);
        if (s->group)
            fprintf(to, ", group %s", s->group);
        fprintf(to, "%s\n", s->local ? "" : ", from other machines too");
    }
}

static void say_policies(FILE *to, const adp_runtime *rt)
{
    const struct adp_config *c = adp_host_config(rt);
    for (uint32_t i = 0; i < c->n_policies; i++) {
        const char *name = adp_host_policy(rt, i)->policy.name;
        if (i == 0)
            fprintf(to, "policy    %s, enforced on %g %% of requests, on_error %s\n",
                    name, c->policies[0].enforce * 100.0,
                    c->policies[0].on_error == ADP_ON_ERROR_REJECT ? "reject" : "admit");
        else
            fprintf(to, "%-9s %s\n", i == 1 ? "shadow" : "", name);
    }
}

static int say_scrapes(FILE *to, const struct adp_config *c, adp_error *err)
{
    if (!c->n_scrape)
        fprintf(to, "scrape    nothing: metrics come with requests, or not at all\n");
    for (uint32_t i = 0; i < c->n_scrape; i++) {
        struct adp_address at;
        char name[ADP_ADDRESS_MAX];
        int code = adp_address_read(c->scrape[i].url, &at, err);
        if (code < 0)
            return code;
        adp_veil(c->scrape[i].name, name, sizeof name);
        fprintf(to, "%-9s %s, %s, each %g s\n", i ? "" : "scrape", name, at.shown,
                (double)c->scrape[i].interval_ns * 1e-9);
    }
    return 0;
}

static int check(const adp_runtime *rt, FILE *to, adp_error *err)
{
    const struct adp_config *c = adp_host_config(rt);
    struct adp_token token = { NULL };
    int code = adp_token_read(&token, c->serve.token_file, err);
    adp_token_finish(&token);
    if (code < 0)
        return code;
    say_listens(to, "http", &c->serve.listen, ADP_DEFAULT_LISTEN);
    fprintf(to, "          /v1/auth /v1/decide /v1/outcome /v1/reload /metrics /healthz "
                "/readyz\n");
    say_listens(to, "spop", &c->serve.spop, NULL);
    say_listens(to, "outcomes", &c->serve.outcomes, NULL);
    if (c->serve.token_file)
        fprintf(to, "token     %s\n", c->serve.token_file);
    fprintf(to, "processes %s\n",
            c->serve.alone ? "one, which a policy may end"
                           : "a supervisor, and a worker that may end and is followed");
    say_policies(to, rt);
    code = say_scrapes(to, c, err);
    fprintf(to, "log       %s\n", adp_host_log_path(rt) ? adp_host_log_path(rt) : "none");
    return code;
}

/* What create looks at besides. */
static int look(const adp_runtime *rt, char *ret_log, adp_error *err)
{
    const struct adp_config *c = adp_host_config(rt);
    const char *log = adp_host_log_path(rt);
    struct adp_token token = { NULL };
    int code = adp_token_read(&token, c->serve.token_file, err);
    adp_token_finish(&token);
    snprintf(ret_log, PATH_MAX, "%s", log ? log : "");
    return code;
}

int adp_sidecar_look(const char *config, char *ret_log, adp_errors *errors,
                     adp_error *err)
{
    const struct adp_host_options host = { .serving = true };
    adp_runtime *rt = NULL;
    int code = adp_host_open(&rt, config, &host, errors);
    if (code == 0)
        code = look(rt, ret_log, err);
    adp_runtime_close(rt, NULL);
    return code;
}

int adp_sidecar_check(const char *config, FILE *to, adp_errors *errors, adp_error *err)
{
    const struct adp_host_options host = { .serving = true };
    adp_runtime *rt = NULL;
    int code = adp_host_open(&rt, config, &host, errors);
    if (code == 0)
        code = check(rt, to, err);
    adp_runtime_close(rt, NULL);
    return code;
}
