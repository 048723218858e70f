/* SPDX-License-Identifier: MIT */
/* Reading ELF files that nobody vouches for. */
#include "runtime/loader/elf.h"
#include "runtime/loader/entry.h"

#include "tests/runtime/loader/scratch.h"
#include "tests/runtime/loader/tiny_elf.h"

#include <check.h>
#include <stdlib.h>

/* Examines an exact copy, so that a read past the end is seen by ASan. */
static int examine(const void *bytes, size_t len, struct adp_error *err)
{
    uint64_t room = 0;
    unsigned char *exact = malloc(len ? len : 1);
    ck_assert_ptr_nonnull(exact);
    memcpy(exact, bytes, len);
    int r = adp_entry_examine(exact, len, "/p.so", &room, err);
    if (r == 0)
        ck_assert_uint_ge(room, 152);
    free(exact);
    return r;
}

START_TEST(the_exported_names_are_read)
{
    struct tiny t;
    struct adp_elf elf;
    struct adp_elf_symbol s;
    tiny_make(&t);
    ck_assert_int_eq(adp_elf_open(&elf, (const uint8_t *)&t, sizeof t, "/p.so", NULL), 0);
    ck_assert_uint_eq(elf.n_symbols, 3);
    ck_assert(!adp_elf_symbol(&elf, TINY_NULL, &s));
    ck_assert(adp_elf_symbol(&elf, TINY_IMPORT, &s));
    ck_assert_str_eq(s.name, "malloc");
    ck_assert(!s.defined && s.function && !s.object);
    ck_assert(adp_elf_symbol(&elf, TINY_ENTRY, &s));
    ck_assert_str_eq(s.name, "admitperf_policy_v1");
    ck_assert(s.defined && s.object && !s.function);
    ck_assert_uint_eq(s.size, 152);
    ck_assert(!adp_elf_symbol(&elf, 3, &s));

    adp_policy head;
    ck_assert(adp_elf_read(&elf, s.address, &head, sizeof head));
    ck_assert_uint_eq(head.magic, ADP_MAGIC);
    ck_assert(!adp_elf_read(&elf, s.address + 1, &head, sizeof head));
    ck_assert(!adp_elf_read(&elf, UINT64_MAX, &head, 1));
}
END_TEST

START_TEST(entries_of_the_dynamic_section_are_read_in_order)
{
    struct tiny t;
    struct adp_elf elf;
    uint64_t value = 0;
    tiny_make(&t);
    t.dynamic[DYN_HASH] = (Elf64_Dyn) { DT_NEEDED, { 1 } };
    ck_assert_int_eq(adp_elf_open(&elf, (const uint8_t *)&t, sizeof t, "/p.so", NULL), 0);
    ck_assert(adp_elf_dynamic(&elf, DT_NEEDED, 0, &value));
    ck_assert_str_eq(adp_elf_text(&elf, value), "malloc");
    ck_assert(!adp_elf_dynamic(&elf, DT_NEEDED, 1, &value));
    ck_assert(!adp_elf_dynamic(&elf, DT_RUNPATH, 0, &value));
    ck_assert_ptr_null(adp_elf_text(&elf, sizeof t.names));
    ck_assert_ptr_null(adp_elf_text(&elf, UINT64_MAX));
    memset(t.names + 60, 'x', 4);
    ck_assert_ptr_null(adp_elf_text(&elf, 60));
}
END_TEST

START_TEST(a_stack_is_executable_unless_the_file_says_otherwise)
{
    struct tiny t;
    struct adp_elf elf;
    struct adp_elf_symbol s;
    tiny_make(&t);
    ck_assert_int_eq(adp_elf_open(&elf, (const uint8_t *)&t, sizeof t, "/p.so", NULL), 0);
    ck_assert(adp_elf_wants_executable_stack(&elf));
    t.segments[TINY_DYNAMIC].p_type = PT_GNU_STACK;
    t.segments[TINY_DYNAMIC].p_flags = PF_R | PF_W;
    ck_assert(!adp_elf_wants_executable_stack(&elf));
    t.segments[TINY_DYNAMIC].p_flags |= PF_X;
    ck_assert(adp_elf_wants_executable_stack(&elf));

    ck_assert(adp_elf_symbol(&elf, TINY_ENTRY, &s) && !s.unique);
    t.symbols[TINY_ENTRY].st_info = ELF64_ST_INFO(STB_GNU_UNIQUE, STT_OBJECT);
    ck_assert(adp_elf_symbol(&elf, TINY_ENTRY, &s) && s.unique);
}
END_TEST

START_TEST(either_hash_table_alone_suffices)
{
    struct tiny t;
    tiny_make(&t);
    ck_assert_int_eq(examine(&t, sizeof t, NULL), 0);
    t.dynamic[DYN_HASH].d_tag = DT_DEBUG;
    ck_assert_int_eq(examine(&t, sizeof t, NULL), 0);
    tiny_make(&t);
    t.dynamic[DYN_GNU_HASH].d_tag = DT_DEBUG;
    ck_assert_int_eq(examine(&t, sizeof t, NULL), 0);
}
END_TEST

#define CHANGE(name, ...)                                                                \
    static void name(struct tiny *t)                                                     \
    {                                                                                    \
        __VA_ARGS__;                                                                     \
    }
CHANGE(no_dynamic, t->segments[TINY_DYNAMIC].p_type = PT_NOTE)
CHANGE(dynamic_elsewhere, t->segments[TINY_DYNAMIC].p_vaddr = 1u << 20)
CHANGE(no_symbols, t->dynamic[DYN_SYMTAB].d_tag = DT_DEBUG)
CHANGE(no_names, t->dynamic[DYN_STRTAB].d_tag = DT_DEBUG)
CHANGE(no_hash, t->dynamic[DYN_HASH].d_tag = t->dynamic[DYN_GNU_HASH].d_tag = DT_DEBUG)
CHANGE(dynamic_ends_early, t->dynamic[0].d_tag = DT_NULL)
CHANGE(symbols_elsewhere, t->dynamic[DYN_SYMTAB].d_un.d_ptr = sizeof *t)
CHANGE(symbols_huge_address, t->dynamic[DYN_SYMTAB].d_un.d_ptr = UINT64_MAX)
CHANGE(names_elsewhere, t->dynamic[DYN_STRTAB].d_un.d_ptr = sizeof *t)
CHANGE(names_too_long, t->dynamic[DYN_STRSZ].d_un.d_val = sizeof *t)
CHANGE(symbol_size, t->dynamic[DYN_SYMENT].d_un.d_val = 16)
CHANGE(gnu_elsewhere, t->dynamic[DYN_GNU_HASH].d_un.d_ptr = sizeof *t - 8)
CHANGE(gnu_buckets, t->gnu_hash[0] = UINT32_MAX)
CHANGE(gnu_filter, t->gnu_hash[2] = UINT32_MAX)
CHANGE(gnu_nothing_exported, t->gnu_hash[6] = 0)
CHANGE(gnu_bucket_low, t->gnu_hash[6] = 1)
CHANGE(gnu_bucket_high, t->gnu_hash[6] = UINT32_MAX)
/* The run goes on into the policy behind it: its magic ends it, as symbol 3. */
CHANGE(gnu_endless, t->gnu_hash[7] = 2; memset(&t->policy, 0, sizeof t->policy))
CHANGE(hash_count, t->dynamic[DYN_GNU_HASH].d_tag = DT_DEBUG; t->hash[1] = UINT32_MAX)
CHANGE(hash_elsewhere, t->dynamic[DYN_GNU_HASH].d_tag = DT_DEBUG;
       t->dynamic[DYN_HASH].d_un.d_ptr = sizeof *t - 4)
CHANGE(load_past_end, t->segments[TINY_LOAD].p_filesz++)
CHANGE(load_wraps, t->segments[TINY_LOAD].p_offset = UINT64_MAX - 8)
CHANGE(headers_past_end, t->head.e_phoff = sizeof *t - 8)
CHANGE(headers_wrap, t->head.e_phoff = UINT64_MAX - 8)
CHANGE(headers_many, t->head.e_phnum = 257)
CHANGE(headers_size, t->head.e_phentsize = 32)
CHANGE(entry_local, t->symbols[TINY_ENTRY].st_info = ELF64_ST_INFO(STB_LOCAL, STT_OBJECT))
CHANGE(entry_undefined, t->symbols[TINY_ENTRY].st_shndx = SHN_UNDEF)
CHANGE(entry_function,
       t->symbols[TINY_ENTRY].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC))
CHANGE(entry_tls, t->symbols[TINY_ENTRY].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_TLS))
CHANGE(entry_misnamed, t->names[8] = 'b')
CHANGE(entry_v0, t->names[26] = '0')
CHANGE(entry_name_past_end, t->symbols[TINY_ENTRY].st_name = 64)
CHANGE(entry_name_endless, memset(t->names + 8, 'a', sizeof t->names - 8))
CHANGE(entry_elsewhere, t->symbols[TINY_ENTRY].st_value = sizeof *t - 8)
CHANGE(entry_small, t->symbols[TINY_ENTRY].st_size = 151)
CHANGE(entry_empty, t->symbols[TINY_ENTRY].st_size = 0)
CHANGE(head_magic, t->policy.magic = 0)
CHANGE(head_size, t->policy.size = 158)
CHANGE(head_minor, t->policy.min_host_minor = 1)
CHANGE(head_minors, t->policy.min_host_minor = 0; t->policy.signal_size = 25)

static const struct {
    void (*make)(struct tiny *t);
    const char *text;
} refused[] = {
    { no_dynamic, "exports nothing: it has no dynamic symbol table" },
    { dynamic_elsewhere, "exports nothing: it has no dynamic symbol table" },
    { no_symbols, "exports nothing: it has no dynamic symbol table" },
    { no_names, "exports nothing: it has no dynamic symbol table" },
    { no_hash, "exports nothing: it has no dynamic symbol table" },
    { dynamic_ends_early, "exports nothing: it has no dynamic symbol table" },
    { symbols_elsewhere, "has a damaged dynamic symbol table" },
    { symbols_huge_address, "has a damaged dynamic symbol table" },
    { names_elsewhere, "has a damaged dynamic symbol table" },
    { names_too_long, "has a damaged dynamic symbol table" },
    { symbol_size, "has a damaged dynamic symbol table" },
    { gnu_elsewhere, "has a damaged dynamic symbol table" },
    { gnu_buckets, "has a damaged dynamic symbol table" },
    { gnu_filter, "has a damaged dynamic symbol table" },
    { gnu_nothing_exported,
      "exports no object admitperf_policy_v1, nor a name like it among its 0" },
    { gnu_bucket_low, "has a damaged dynamic symbol table" },
    { gnu_bucket_high, "has a damaged dynamic symbol table" },
    { gnu_endless, "has a damaged dynamic symbol table" },
    { hash_count, "has a damaged dynamic symbol table" },
    { hash_elsewhere, "has a damaged dynamic symbol table" },
    { load_past_end, "is cut short: segment 0 ends past its 632 bytes" },
    { load_wraps, "is cut short: segment 0 ends past its 632 bytes" },
    { headers_past_end, "is cut short: its program headers end past its 632 bytes" },
    { headers_wrap, "is cut short: its program headers end past its 632 bytes" },
    { headers_many, "has 257 program headers of 56 bytes, expected 1 to 256 of 56" },
    { headers_size, "has 2 program headers of 32 bytes, expected 1 to 256 of 56" },
    { entry_local,
      "exports no object admitperf_policy_v1, nor a name like it among its 0" },
    { entry_undefined, "uses admitperf_policy_v1 but does not define it" },
    { entry_function, "exports admitperf_policy_v1 as a function, expected a constant "
                      "object of type adp_policy" },
    { entry_tls, "exports admitperf_policy_v1 as neither data nor code, expected a "
                 "constant object of type adp_policy" },
    { entry_misnamed,
      "exports no object admitperf_policy_v1; nearest is bdmitperf_policy_v1" },
    { entry_v0, "is written for major 0 of the policy ABI, this host speaks major 1" },
    { entry_name_past_end,
      "exports no object admitperf_policy_v1, nor a name like it among its 0" },
    { entry_name_endless,
      "exports no object admitperf_policy_v1, nor a name like it among its 0" },
    { entry_elsewhere,
      "has no initial value for admitperf_policy_v1, expected a constant object" },
    { entry_small,
      "has the wrong size: adp_policy says 152 bytes, its symbol holds 151" },
    { entry_empty, "has the wrong magic 0x00000000, expected 0x31504441 (\"ADP1\")" },
    { head_magic, "has the wrong magic 0x00000000, expected 0x31504441 (\"ADP1\")" },
    { head_size, "has the wrong size: adp_policy is 158 bytes, expected at least 152 and "
                 "a multiple of 8" },
    { head_minor,
      "needs a newer host: one of minor 1 of major 1 or later, this host speaks minor 0; "
      "compile it with -DADP_ABI_MINOR=0 to run here" },
    { head_minors, "has the wrong size: adp_signal is 25 bytes, expected at least 24 and "
                   "a multiple of 8" },
};

START_TEST(a_damaged_file_is_refused_by_its_damage)
{
    struct tiny t;
    struct adp_error err = { 0 };
    ck_assert_uint_eq(sizeof t, 632);
    tiny_make(&t);
    refused[_i].make(&t);
    ck_assert_int_eq(examine(&t, sizeof t, &err), ADP_EABI);
    ck_assert_str_eq(err.text, refused[_i].text);
    ck_assert_str_eq(err.file, "/p.so");
}
END_TEST

START_TEST(no_truncation_of_a_file_passes)
{
    struct tiny t;
    tiny_make(&t);
    for (size_t len = 0; len < sizeof t; len++)
        ck_assert_int_eq(examine(&t, len, NULL), ADP_EABI);
}
END_TEST

START_TEST(no_changed_byte_leads_out_of_the_file)
{
    static const unsigned char masks[] = { 0x01, 0x80, 0x7f, 0xff };
    struct tiny t;
    unsigned passed = 0;
    tiny_make(&t);
    for (size_t at = 0; at < sizeof t; at++)
        for (size_t m = 0; m < sizeof masks; m++) {
            ((unsigned char *)&t)[at] ^= masks[m];
            passed += examine(&t, sizeof t, NULL) == 0;
            ((unsigned char *)&t)[at] ^= masks[m];
        }
    /* Most bytes matter; those that do not are e.g. addresses of no interest here. */
    ck_assert_uint_gt(passed, 0);
    ck_assert_uint_lt(passed, 4 * sizeof t);
}
END_TEST

/* Where the last byte that is ever mapped lies; behind it are sections for tools. */
static size_t loaded_end(const unsigned char *bytes)
{
    Elf64_Ehdr head;
    Elf64_Phdr p;
    size_t end = 0;
    memcpy(&head, bytes, sizeof head);
    for (unsigned i = 0; i < head.e_phnum; i++) {
        memcpy(&p, bytes + head.e_phoff + i * sizeof p, sizeof p);
        if (p.p_type == PT_LOAD && p.p_offset + p.p_filesz > end)
            end = (size_t)(p.p_offset + p.p_filesz);
    }
    return end;
}

START_TEST(a_real_policy_is_read_when_all_that_is_mapped_is_there)
{
    size_t len;
    unsigned char *bytes = scratch_read(PLUGINS "/kv_threshold.so", &len);
    size_t end = loaded_end(bytes);
    ck_assert_int_eq(examine(bytes, len, NULL), 0);
    ck_assert_int_eq(examine(bytes, end, NULL), 0);
    for (size_t part = end - 1; part >= 97; part -= 97)
        ck_assert_int_eq(examine(bytes, part, NULL), ADP_EABI);
    free(bytes);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("elf");
    TCase *t = tcase_create("elf");
    tcase_add_test(t, the_exported_names_are_read);
    tcase_add_test(t, entries_of_the_dynamic_section_are_read_in_order);
    tcase_add_test(t, a_stack_is_executable_unless_the_file_says_otherwise);
    tcase_add_test(t, either_hash_table_alone_suffices);
    tcase_add_loop_test(t, a_damaged_file_is_refused_by_its_damage, 0,
                        sizeof refused / sizeof refused[0]);
    tcase_add_test(t, no_truncation_of_a_file_passes);
    tcase_add_test(t, no_changed_byte_leads_out_of_the_file);
    tcase_add_test(t, a_real_policy_is_read_when_all_that_is_mapped_is_there);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
