/* SPDX-License-Identifier: MIT */
/* embed: AdmitPerf in a program's own process, as short as it may be. Publishes one page of
 * metrics, asks for each request id given, and says what the gateway would answer.
 *
 *     embed CONFIG PAGE ID... */
#include <admitperf/runtime.h>

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static int fail(const adp_error *err)
{
    char text[1024];
    adp_error_print(err, text, sizeof text);
    fprintf(stderr, "embed: %s\n", text);
    return 1;
}

/* False: said on stderr. A page that could not be had is not an empty page: an empty one says
 * that nothing is there, and takes the place of the one before. */
static bool read_page(const char *path, char *to, size_t cap, size_t *ret_len)
{
    FILE *f = fopen(path, "r");
    size_t len = f ? fread(to, 1, cap, f) : 0;
    bool fine = f && !ferror(f);
    if (!fine)
        fprintf(stderr, "embed: %s: %s\n", path, strerror(errno));
    if (f)
        fclose(f);
    *ret_len = len;
    return fine;
}

static void ask(adp_lane *lane, const char *id)
{
    adp_facts facts = { .size = sizeof facts, .request_id = id };
    adp_result done = {
        .size = sizeof done,
        .end = ADP_DONE,
        .present = ADP_O_TTFT,
        .ok = 1, /* met its SLO; 0, also when left out: not; -1: not known */
        .ttft_ms = 180
    };
    adp_decision d;
    adp_lane_decide(lane, &facts, &d);
    printf("%s: %u %s\n", id, d.status, d.admitted ? "admitted" : d.reason);
    if (d.admitted) /* … forward it, and when its first token has come: */
        adp_lane_outcome(lane, d.id, NULL, &done);
}

int main(int argc, char **argv)
{
    static char page[1 << 20];
    adp_errors errors = { 0 };
    adp_error err = { 0 };
    adp_runtime *rt;
    adp_lane *lane;
    if (argc < 3) {
        fprintf(stderr, "usage: embed CONFIG PAGE ID...\n");
        return 2;
    }
    int opened = adp_runtime_open(&rt, argv[1], &errors);
    for (uint32_t i = 0; i < errors.n; i++) /* mistakes, or, when it opened, notes */
        fail(&errors.list[i]);
    adp_errors_free(&errors);
    if (opened < 0)
        return 1;
    if (adp_runtime_start(rt, &err) < 0 || adp_lane_open(&lane, rt, &err) < 0) {
        adp_runtime_close(rt, NULL);
        return fail(&err);
    }
    size_t len;
    if (!read_page(argv[2], page, sizeof page, &len)) {
        adp_lane_close(lane); /* a gateway would go on: what it published before ages */
        adp_runtime_close(rt, NULL);
        return 1;
    }
    if (adp_runtime_publish_text(rt, page, len, &err) != 0)
        fail(&err); /* an error, or a note: the policy sees what is absent */
    for (int i = 3; i < argc; i++)
        ask(lane, argv[i]);
    adp_lane_close(lane);
    return adp_runtime_close(rt, &err) < 0 ? fail(&err) : 0;
}
