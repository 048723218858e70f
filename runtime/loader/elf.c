/* SPDX-License-Identifier: MIT */
/* Reading a shared object's exported names from its bytes. */
#include "runtime/loader/elf.h"

#include <elf.h>
#include <string.h>

#if defined __x86_64__
#define HOST_MACHINE EM_X86_64
#elif defined __aarch64__
#define HOST_MACHINE EM_AARCH64
#else
#error "name this machine in elf.c"
#endif

#define MAX_SEGMENTS 256u /* of program headers; real objects have about ten */

static const struct {
    uint16_t machine;
    const char *word;
} machines[] = {
    { EM_X86_64, "x86_64" }, { EM_AARCH64, "aarch64" }, { EM_386, "i386" },
    { EM_ARM, "arm" },       { EM_RISCV, "riscv" },     { EM_PPC64, "ppc64" },
    { EM_S390, "s390" },     { EM_MIPS, "mips" },       { EM_SPARCV9, "sparc64" },
    { EM_IA_64, "ia64" },
};

static const char *machine_word(uint16_t machine)
{
    for (size_t i = 0; i < sizeof machines / sizeof machines[0]; i++)
        if (machines[i].machine == machine)
            return machines[i].word;
    return "unknown";
}

/* Structs are copied out: nothing says that a hostile file aligns them. */
static bool copy_out(const struct adp_elf *elf, size_t at, void *to, size_t size)
{
    if (at > elf->len || size > elf->len - at)
        return false;
    memcpy(to, elf->bytes + at, size);
    return true;
}

static bool segment(const struct adp_elf *elf, uint32_t i, Elf64_Phdr *ret)
{
    return copy_out(elf, elf->segments + (size_t)i * sizeof *ret, ret, sizeof *ret);
}

/* Where an address lies in the file, and how many bytes of its segment follow there. */
static bool locate(const struct adp_elf *elf, uint64_t address, size_t *ret_at,
                   size_t *ret_left)
{
    Elf64_Phdr p;
    for (uint32_t i = 0; i < elf->n_segments && segment(elf, i, &p); i++) {
        if (p.p_type != PT_LOAD || address < p.p_vaddr ||
            address - p.p_vaddr >= p.p_filesz)
            continue;
        *ret_at = (size_t)(p.p_offset + (address - p.p_vaddr));
        *ret_left = (size_t)(p.p_filesz - (address - p.p_vaddr));
        return true;
    }
    return false;
}

static int check_head(const uint8_t *bytes, size_t len, Elf64_Ehdr *ret, const char *path,
                      struct adp_error *err)
{
    if (len < SELFMAG || memcmp(bytes, ELFMAG, SELFMAG) != 0)
        return adp_error_at(err, ADP_EABI, path, 0, 0,
                            "is not an ELF file, expected a shared object");
    if (len < sizeof *ret)
        return adp_error_at(err, ADP_EABI, path, 0, 0,
                            "is cut short: %zu bytes, an ELF head has %zu", len,
                            sizeof *ret);
    memcpy(ret, bytes, sizeof *ret);
    if (ret->e_ident[EI_CLASS] != ELFCLASS64 || ret->e_ident[EI_DATA] != ELFDATA2LSB)
        return adp_error_at(err, ADP_EABI, path, 0, 0,
                            "is a %s-bit %s-endian object, expected 64-bit little-endian",
                            ret->e_ident[EI_CLASS] == ELFCLASS64 ? "64" : "32",
                            ret->e_ident[EI_DATA] == ELFDATA2LSB ? "little" : "big");
    if (ret->e_machine != HOST_MACHINE)
        return adp_error_at(err, ADP_EABI, path, 0, 0,
                            "is built for %s (machine %u), this host is %s (%u)",
                            machine_word(ret->e_machine), ret->e_machine,
                            machine_word(HOST_MACHINE), (unsigned)HOST_MACHINE);
    if (ret->e_type != ET_DYN)
        return adp_error_at(err, ADP_EABI, path, 0, 0,
                            "is an ELF file of type %u, expected a shared object (%u)",
                            ret->e_type, (unsigned)ET_DYN);
    return 0;
}

static int check_segments(struct adp_elf *elf, const Elf64_Ehdr *head, const char *path,
                          struct adp_error *err)
{
    if (head->e_phentsize != sizeof(Elf64_Phdr) || head->e_phnum == 0 ||
        head->e_phnum > MAX_SEGMENTS)
        return adp_error_at(err, ADP_EABI, path, 0, 0,
                            "has %u program headers of %u bytes, expected 1 to %u of %zu",
                            head->e_phnum, head->e_phentsize, MAX_SEGMENTS,
                            sizeof(Elf64_Phdr));
    if (head->e_phoff > elf->len ||
        head->e_phnum * sizeof(Elf64_Phdr) > elf->len - head->e_phoff)
        return adp_error_at(err, ADP_EABI, path, 0, 0,
                            "is cut short: its program headers end past its %zu bytes",
                            elf->len);
    elf->segments = (size_t)head->e_phoff;
    elf->n_segments = head->e_phnum;
    Elf64_Phdr p;
    for (uint32_t i = 0; segment(elf, i, &p) && i < elf->n_segments; i++)
        if (p.p_type == PT_LOAD &&
            (p.p_offset > elf->len || p.p_filesz > elf->len - p.p_offset))
            return adp_error_at(err, ADP_EABI, path, 0, 0,
                                "is cut short: segment %u ends past its %zu bytes", i,
                                elf->len);
    return 0;
}

/* The entries of the dynamic section that lead to the exported names; 0: not there. */
struct dynamic {
    uint64_t symbols, symbol_size, names, names_len, hash, gnu_hash;
};

static void find_dynamic(struct adp_elf *elf)
{
    Elf64_Phdr p;
    for (uint32_t i = 0; i < elf->n_segments && segment(elf, i, &p); i++)
        if (p.p_type == PT_DYNAMIC &&
            locate(elf, p.p_vaddr, &elf->dynamic, &elf->dynamic_len))
            return;
}

/* Entry i; false behind the last. */
static bool dynamic_entry(const struct adp_elf *elf, size_t i, Elf64_Dyn *ret)
{
    return i < elf->dynamic_len / sizeof *ret &&
           copy_out(elf, elf->dynamic + i * sizeof *ret, ret, sizeof *ret) &&
           ret->d_tag != DT_NULL;
}

static void read_dynamic(const struct adp_elf *elf, struct dynamic *ret)
{
    Elf64_Dyn d;
    for (size_t i = 0; dynamic_entry(elf, i, &d); i++)
        switch (d.d_tag) {
        case DT_SYMTAB:
            ret->symbols = d.d_un.d_ptr;
            break;
        case DT_SYMENT:
            ret->symbol_size = d.d_un.d_val;
            break;
        case DT_STRTAB:
            ret->names = d.d_un.d_ptr;
            break;
        case DT_STRSZ:
            ret->names_len = d.d_un.d_val;
            break;
        case DT_HASH:
            ret->hash = d.d_un.d_ptr;
            break;
        case DT_GNU_HASH:
            ret->gnu_hash = d.d_un.d_ptr;
            break;
        }
}

/* How many symbols there are is written nowhere but in the hash tables. The older one
 * says it outright. */
static bool count_by_hash(const struct adp_elf *elf, uint64_t address, uint64_t *ret)
{
    size_t at, left;
    uint32_t head[2]; /* buckets, chains: a chain entry per symbol */
    if (!locate(elf, address, &at, &left) || left < sizeof head ||
        !copy_out(elf, at, head, sizeof head))
        return false;
    *ret = head[1];
    return true;
}

/* The newer one holds the exported symbols last in the table, in runs that end with a set
 * low bit: the last symbol is the end of the run that begins highest. */
static bool count_by_gnu_hash(const struct adp_elf *elf, uint64_t address, uint64_t *ret)
{
    size_t at, left;
    uint32_t head[4]; /* buckets, first symbol, 8-byte words of the filter, its shift */
    if (!locate(elf, address, &at, &left) || left < sizeof head ||
        !copy_out(elf, at, head, sizeof head))
        return false;
    uint64_t skip = sizeof head + 8ull * head[2], buckets = 4ull * head[0];
    if (skip > left || buckets > left - skip)
        return false;
    uint32_t last = 0, word;
    for (uint32_t i = 0; i < head[0]; i++)
        if (copy_out(elf, at + (size_t)skip + 4ull * i, &word, sizeof word) &&
            word > last)
            last = word;
    if (last < head[1]) {
        *ret = head[1];
        return last == 0;
    }
    skip += buckets;
    do {
        uint64_t chain = skip + 4ull * (last - head[1]);
        if (chain > left || left - chain < 4 ||
            !copy_out(elf, at + (size_t)chain, &word, sizeof word))
            return false;
        last++;
    } while (!(word & 1u));
    *ret = last;
    return true;
}

int adp_elf_open(struct adp_elf *ret, const uint8_t *bytes, size_t len, const char *path,
                 struct adp_error *err)
{
    struct adp_elf elf = { .bytes = bytes, .len = len };
    Elf64_Ehdr head;
    int r = check_head(bytes, len, &head, path, err);
    if (r == 0)
        r = check_segments(&elf, &head, path, err);
    if (r < 0)
        return r;

    struct dynamic d = { 0 };
    uint64_t n = 0;
    size_t left;
    find_dynamic(&elf);
    read_dynamic(&elf, &d);
    if (!d.symbols || !d.names || (!d.hash && !d.gnu_hash))
        return adp_error_at(err, ADP_EABI, path, 0, 0,
                            "exports nothing: it has no dynamic symbol table");
    bool sound = d.gnu_hash ? count_by_gnu_hash(&elf, d.gnu_hash, &n)
                            : count_by_hash(&elf, d.hash, &n);
    sound = sound && d.symbol_size == sizeof(Elf64_Sym) &&
            locate(&elf, d.symbols, &elf.symbols, &left) &&
            n <= left / sizeof(Elf64_Sym) && locate(&elf, d.names, &elf.names, &left) &&
            d.names_len <= left;
    if (!sound)
        return adp_error_at(err, ADP_EABI, path, 0, 0,
                            "has a damaged dynamic symbol table");
    elf.n_symbols = (size_t)n;
    elf.names_len = (size_t)d.names_len;
    *ret = elf;
    return 0;
}

bool adp_elf_symbol(const struct adp_elf *elf, size_t i, struct adp_elf_symbol *ret)
{
    Elf64_Sym s;
    if (i >= elf->n_symbols ||
        !copy_out(elf, elf->symbols + i * sizeof s, &s, sizeof s) ||
        ELF64_ST_BIND(s.st_info) == STB_LOCAL || s.st_name == 0 ||
        s.st_name >= elf->names_len)
        return false;
    const char *name = (const char *)elf->bytes + elf->names + s.st_name;
    size_t cap = elf->names_len - s.st_name;
    if (cap > ADP_ELF_NAME + 1)
        cap = ADP_ELF_NAME + 1;
    if (!memchr(name, '\0', cap))
        return false;
    *ret = (struct adp_elf_symbol) {
        .name = name,
        .address = s.st_value,
        .size = s.st_size,
        .defined = s.st_shndx != SHN_UNDEF,
        .object = ELF64_ST_TYPE(s.st_info) == STT_OBJECT,
        .function = ELF64_ST_TYPE(s.st_info) == STT_FUNC,
        .unique = ELF64_ST_BIND(s.st_info) == STB_GNU_UNIQUE,
    };
    return true;
}

bool adp_elf_read(const struct adp_elf *elf, uint64_t address, void *to, size_t size)
{
    size_t at, left;
    return locate(elf, address, &at, &left) && size <= left &&
           copy_out(elf, at, to, size);
}

bool adp_elf_dynamic(const struct adp_elf *elf, int64_t tag, size_t nth, uint64_t *ret)
{
    Elf64_Dyn d;
    for (size_t i = 0; dynamic_entry(elf, i, &d); i++)
        if (d.d_tag == tag && nth-- == 0) {
            *ret = d.d_un.d_val;
            return true;
        }
    return false;
}

const char *adp_elf_text(const struct adp_elf *elf, uint64_t value)
{
    if (value >= elf->names_len)
        return NULL;
    const char *text = (const char *)elf->bytes + elf->names + value;
    return memchr(text, '\0', elf->names_len - (size_t)value) ? text : NULL;
}

bool adp_elf_wants_executable_stack(const struct adp_elf *elf)
{
    Elf64_Phdr p;
    for (uint32_t i = 0; i < elf->n_segments && segment(elf, i, &p); i++)
        if (p.p_type == PT_GNU_STACK)
            return p.p_flags & PF_X;
    return true;
}
