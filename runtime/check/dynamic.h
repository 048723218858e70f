/* SPDX-License-Identifier: MIT */
/* The dynamic section of an object that is mapped: what the dynamic linker goes by. */
#ifndef ADP_RUNTIME_CHECK_DYNAMIC_H
#define ADP_RUNTIME_CHECK_DYNAMIC_H

#include <link.h>
#include <stddef.h>

/* Up to its DT_NULL; NULL: it has none. */
static inline const ElfW(Dyn) * adp_dynamic_of(const struct dl_phdr_info *info)
{
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            return (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    return NULL;
}

/* Where an entry leads. glibc puts absolute addresses in place of most offsets there, but not
 * on every machine and not of every tag. */
static inline uintptr_t adp_dynamic_address(uintptr_t base, const ElfW(Dyn) * entry)
{
    uintptr_t at = entry->d_un.d_ptr;
    return at < base ? base + at : at;
}

#endif
