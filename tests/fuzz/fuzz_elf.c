/* SPDX-License-Identifier: MIT */
/* The reader of shared objects, on bytes from anywhere: every exported name is looked at,
 * as are the entry and its head. */
#include "runtime/loader/elf.h"
#include "runtime/loader/entry.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len)
{
    struct adp_error err = { 0 };
    uint64_t room = 0;
    int r = adp_entry_examine(input, len, "/fuzz.so", &room, &err);
    if ((r == 0) != (err.code == 0) || (r == 0 && room < 152))
        abort(); /* a refusal without a word, or a pass without a head */

    struct adp_elf elf;
    if (adp_elf_open(&elf, input, len, "/fuzz.so", NULL) < 0)
        return 0;
    for (size_t i = 0; i < elf.n_symbols; i++) {
        struct adp_elf_symbol s;
        char first;
        if (!adp_elf_symbol(&elf, i, &s))
            continue;
        if (strlen(s.name) > ADP_ELF_NAME)
            abort();
        adp_elf_read(&elf, s.address, &first, sizeof first);
    }
    uint64_t value;
    for (size_t i = 0; adp_elf_dynamic(&elf, DT_NEEDED, i, &value); i++) {
        const char *text = adp_elf_text(&elf, value);
        if (text && strlen(text) > elf.names_len)
            abort();
    }
    adp_elf_wants_executable_stack(&elf);
    return 0;
}
