/* SPDX-License-Identifier: MIT */
/* load_policy FILE: loads a policy through the loader and prints its name, or why not.
 * For example.test. */
#include "runtime/loader/loader.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    struct adp_loaded *loaded;
    struct adp_error err = { 0 };
    char text[1024];
    if (argc != 2)
        return EXIT_FAILURE;
    if (adp_loader_load(&loaded, argv[1], NULL, &err) < 0) {
        adp_error_format(&err, text, sizeof text);
        fprintf(stderr, "%s\n", text);
        return EXIT_FAILURE;
    }
    printf("%s\n", loaded->policy.name);
    adp_loaded_destroy(loaded);
    return EXIT_SUCCESS;
}
