/* SPDX-License-Identifier: MIT */
/* A shared object that is no policy at all. */
__attribute__((visibility("default"))) int hello(void);

int hello(void)
{
    return 0;
}
