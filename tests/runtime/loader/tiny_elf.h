/* SPDX-License-Identifier: MIT */
/* The smallest shared object that holds a policy's entry: one loaded segment, a dynamic
 * section, three symbols, both kinds of hash table. A test changes a field and writes the
 * struct out as the file. */
#ifndef ADP_TESTS_TINY_ELF_H
#define ADP_TESTS_TINY_ELF_H

#include <admitperf/policy.h>
#include <elf.h>
#include <stddef.h>
#include <string.h>

enum { TINY_LOAD, TINY_DYNAMIC };
enum { TINY_NULL, TINY_IMPORT, TINY_ENTRY };
enum { DYN_SYMTAB, DYN_SYMENT, DYN_STRTAB, DYN_STRSZ, DYN_HASH, DYN_GNU_HASH, DYN_NULL };

struct tiny {
    Elf64_Ehdr head;
    Elf64_Phdr segments[2];
    Elf64_Dyn dynamic[7];
    Elf64_Sym symbols[3];
    char names[64];
    uint32_t hash[6]; /* buckets 1, chains 3, bucket, chain[3] */
    /* buckets 1, first symbol 2, filter words 1, shift, filter (2), bucket, chain */
    uint32_t gnu_hash[8];
    adp_policy policy;
};

static inline void tiny_make(struct tiny *t)
{
#define AT(field) offsetof(struct tiny, field)
    *t = (struct tiny) {
        .head = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
                               ELFDATA2LSB, EV_CURRENT },
                  .e_type = ET_DYN,
#if defined __x86_64__
                  .e_machine = EM_X86_64,
#else
                  .e_machine = EM_AARCH64,
#endif
                  .e_version = EV_CURRENT,
                  .e_phoff = AT(segments),
                  .e_ehsize = sizeof(Elf64_Ehdr),
                  .e_phentsize = sizeof(Elf64_Phdr),
                  .e_phnum = 2 },
        .segments = { { .p_type = PT_LOAD,
                        .p_filesz = sizeof(struct tiny),
                        .p_memsz = sizeof(struct tiny) },
                      { .p_type = PT_DYNAMIC,
                        .p_offset = AT(dynamic),
                        .p_vaddr = AT(dynamic),
                        .p_filesz = sizeof t->dynamic,
                        .p_memsz = sizeof t->dynamic } },
        .dynamic = { [DYN_SYMTAB] = { DT_SYMTAB, { AT(symbols) } },
                     [DYN_SYMENT] = { DT_SYMENT, { sizeof(Elf64_Sym) } },
                     [DYN_STRTAB] = { DT_STRTAB, { AT(names) } },
                     [DYN_STRSZ] = { DT_STRSZ, { sizeof t->names } },
                     [DYN_HASH] = { DT_HASH, { AT(hash) } },
                     [DYN_GNU_HASH] = { DT_GNU_HASH, { AT(gnu_hash) } },
                     [DYN_NULL] = { DT_NULL, { 0 } } },
        .symbols = { [TINY_IMPORT] = { .st_name = 1,
                                       .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC) },
                     [TINY_ENTRY] = { .st_name = 8,
                                      .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT),
                                      .st_shndx = 1,
                                      .st_value = AT(policy),
                                      .st_size = sizeof(adp_policy) } },
        .names = "\0malloc\0" ADP_POLICY_SYMBOL,
        .hash = { 1, 3, 2, 0, 0, 0 },
        .gnu_hash = { 1, 2, 1, 6, ~0u, ~0u, 2, 0x1234567u | 1u },
        .policy = { ADP_HEAD },
    };
#undef AT
}

#endif
