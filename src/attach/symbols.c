/* SPDX-License-Identifier: BSD-3-Clause */
#include "attach/symbols.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static bool inside(uint64_t n, uint64_t off, uint64_t len)
{
	return off <= n && len <= n - off;
}

static bool is_object(const unsigned char *b, uint64_t n, Elf64_Ehdr *h)
{
	if (n < sizeof(*h))
		return false;
	memcpy(h, b, sizeof(*h));
	return memcmp(h->e_ident, ELFMAG, SELFMAG) == 0 && h->e_ident[EI_CLASS] == ELFCLASS64 &&
	       h->e_ident[EI_DATA] == ELFDATA2LSB &&
	       (h->e_type == ET_DYN || h->e_type == ET_EXEC) &&
	       h->e_shentsize == sizeof(Elf64_Shdr) &&
	       inside(n, h->e_shoff, (uint64_t)h->e_shnum * sizeof(Elf64_Shdr));
}

static bool section(const unsigned char *b, uint64_t n, const Elf64_Ehdr *h, uint64_t i,
		    Elf64_Shdr *to)
{
	if (i >= h->e_shnum)
		return false;
	memcpy(to, b + h->e_shoff + i * sizeof(*to), sizeof(*to));
	return inside(n, to->sh_offset, to->sh_size);
}

/* addresses of a library begin where its first segment does */
static uint64_t base_of(const unsigned char *b, uint64_t n, const Elf64_Ehdr *h)
{
	uint64_t least = UINT64_MAX;
	Elf64_Phdr p;

	if (h->e_phentsize != sizeof(p) || !inside(n, h->e_phoff, (uint64_t)h->e_phnum * sizeof(p)))
		return 0;
	for (unsigned i = 0; i < h->e_phnum; i++) {
		memcpy(&p, b + h->e_phoff + i * sizeof(p), sizeof(p));
		if (p.p_type == PT_LOAD && p.p_vaddr < least)
			least = p.p_vaddr;
	}
	return least == UINT64_MAX ? 0 : least & ~(uint64_t)4095;
}

static bool is_named(const unsigned char *b, const Elf64_Shdr *names, uint64_t at, const char *name)
{
	size_t n = strlen(name) + 1;

	return at < names->sh_size && n <= names->sh_size - at &&
	       memcmp(b + names->sh_offset + at, name, n) == 0;
}

/* what is looked for */
struct wanted {
	const char *name;
	uint32_t table; /* SHT_... */
	unsigned char type;
};

/* one table of symbols: how many of that name it has, the last of them in *f */
static unsigned look(const unsigned char *bytes, const Elf64_Shdr *table, const Elf64_Shdr *names,
		     const struct wanted *w, Elf64_Sym *f)
{
	unsigned found = 0;
	Elf64_Sym s;

	for (uint64_t k = 0; k < table->sh_size / sizeof(s); k++) {
		memcpy(&s, bytes + table->sh_offset + k * sizeof(s), sizeof(s));
		if (ELF64_ST_TYPE(s.st_info) != w->type || s.st_shndx == SHN_UNDEF ||
		    !is_named(bytes, names, s.st_name, w->name))
			continue;
		*f = s;
		found++;
	}
	return found;
}

static int find(const unsigned char *bytes, uint64_t n, const struct wanted *w,
		struct rama_attach_function *to)
{
	Elf64_Shdr table, names;
	Elf64_Sym s = { 0 };
	Elf64_Ehdr h;

	*to = (struct rama_attach_function){ 0 };
	if (!is_object(bytes, n, &h))
		return -2;
	for (uint64_t i = 0; i < h.e_shnum && to->found == 0; i++) {
		if (!section(bytes, n, &h, i, &table) || table.sh_type != w->table ||
		    table.sh_entsize != sizeof(s) || !section(bytes, n, &h, table.sh_link, &names))
			continue;
		to->found = look(bytes, &table, &names, w, &s);
		to->offset = s.st_value - base_of(bytes, n, &h);
		to->size = s.st_size;
	}
	return to->found > 0 ? 0 : -1;
}

int rama_attach_symbol_find(const unsigned char *bytes, uint64_t n, const char *name,
			    uint64_t *offset)
{
	struct rama_attach_function f;
	int rc = find(bytes, n, &(struct wanted){ name, SHT_DYNSYM, STT_FUNC }, &f);

	if (rc == 0)
		*offset = f.offset;
	return rc;
}

int rama_attach_symbol_own(const unsigned char *bytes, uint64_t n, const char *name,
			   struct rama_attach_function *f)
{
	struct wanted w = { name, SHT_SYMTAB, STT_FUNC };
	int rc = find(bytes, n, &w, f);

	w.table = SHT_DYNSYM;
	return rc == -1 ? find(bytes, n, &w, f) : rc;
}

struct image {
	void *bytes;
	uint64_t n;
};

static int open_image(const char *path, struct image *i, struct rama_err *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), rc;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) != 0 || st.st_size <= 0) {
		rc = rama_err_set(e, RAMA_EIO, "%s: %s", path, strerror(errno));
		if (fd >= 0)
			close(fd);
		return rc;
	}
	i->n = (uint64_t)st.st_size;
	i->bytes = mmap(NULL, i->n, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	return i->bytes != MAP_FAILED ? 0
				      : rama_err_set(e, RAMA_EIO, "%s: %s", path, strerror(errno));
}

int rama_attach_symbol_in(const char *path, const char *name, struct rama_attach_function *f,
			  struct rama_err *e)
{
	struct image i;
	int rc = open_image(path, &i, e);

	*f = (struct rama_attach_function){ 0 };
	if (rc != 0)
		return rc;
	rama_attach_symbol_own(i.bytes, i.n, name, f);
	munmap(i.bytes, i.n);
	return 0;
}

int rama_attach_symbol(const char *path, const char *name, uint64_t *offset, struct rama_err *e)
{
	struct image i;
	int rc = open_image(path, &i, e);

	if (rc != 0)
		return rc;
	rc = rama_attach_symbol_find(i.bytes, i.n, name, offset);
	munmap(i.bytes, i.n);
	if (rc == -1)
		return rama_err_set(e, RAMA_EUSAGE, "%s has no function %s", path, name);
	return rc == 0 ? 0
		       : rama_err_set(e, RAMA_EUSAGE, "%s is no library for this machine", path);
}

int rama_attach_symbol_data(const char *path, const char *name, uint64_t *offset,
			    struct rama_err *e)
{
	struct rama_attach_function f;
	struct image i;
	int rc = open_image(path, &i, e);

	if (rc != 0)
		return rc;
	rc = find(i.bytes, i.n, &(struct wanted){ name, SHT_DYNSYM, STT_OBJECT }, &f);
	munmap(i.bytes, i.n);
	*offset = f.offset;
	return rc == 0 ? 0 : rama_err_set(e, RAMA_EUSAGE, "%s has no %s", path, name);
}
