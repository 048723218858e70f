/* SPDX-License-Identifier: MIT */
/* Runs a fuzz target over its corpus, so that every find stays found in `make check`.
 * The corpus is the folder corpus/<target> beside this file; <target> is the program's
 * name without "fuzz_". With --enable-fuzzing libFuzzer's own main takes this one's
 * place. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len);

static int run_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f) {
        perror(path);
        return -1;
    }
    size_t cap = 1 << 20, len = 0;
    uint8_t *input = malloc(cap);
    if (input)
        len = fread(input, 1, cap, f);
    /* An exact copy, so that a read one past the end is seen by ASan. */
    uint8_t *exact = input ? malloc(len ? len : 1) : NULL;
    if (exact) {
        memcpy(exact, input, len);
        LLVMFuzzerTestOneInput(exact, len);
    }
    int failed = exact ? 0 : -1;
    free(exact);
    free(input);
    fclose(f);
    return failed;
}

int main(int argc, char **argv)
{
    const char *name = argc > 0 ? strstr(argv[0], "fuzz_") : NULL;
    const char *source = getenv("srcdir");
    char folder[1024], path[2048];
    if (!name)
        return EXIT_FAILURE;
    snprintf(folder, sizeof folder, "%s/tests/fuzz/corpus/%s", source ? source : ".",
             name + 5);
    DIR *d = opendir(folder);
    if (!d) {
        perror(folder);
        return EXIT_FAILURE;
    }
    unsigned ran = 0;
    int failed = 0;
    for (struct dirent *e = readdir(d); e; e = readdir(d)) {
        if (e->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        failed |= run_file(path);
        ran++;
    }
    closedir(d);
    printf("%s: %u inputs\n", name, ran);
    return failed || !ran ? EXIT_FAILURE : EXIT_SUCCESS;
}
