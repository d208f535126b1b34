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

static bool is_library(const unsigned char *b, uint64_t n, Elf64_Ehdr *h)
{
	if (n < sizeof(*h))
		return false;
	memcpy(h, b, sizeof(*h));
	return memcmp(h->e_ident, ELFMAG, SELFMAG) == 0 && h->e_ident[EI_CLASS] == ELFCLASS64 &&
	       h->e_ident[EI_DATA] == ELFDATA2LSB && h->e_type == ET_DYN &&
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

int rama_attach_symbol_find(const unsigned char *bytes, uint64_t n, const char *name,
			    uint64_t *offset)
{
	Elf64_Shdr table, names;
	Elf64_Ehdr h;
	Elf64_Sym s;

	if (!is_library(bytes, n, &h))
		return -2;
	for (uint64_t i = 0; i < h.e_shnum; i++) {
		if (!section(bytes, n, &h, i, &table) || table.sh_type != SHT_DYNSYM ||
		    table.sh_entsize != sizeof(s) || !section(bytes, n, &h, table.sh_link, &names))
			continue;
		for (uint64_t k = 0; k < table.sh_size / sizeof(s); k++) {
			memcpy(&s, bytes + table.sh_offset + k * sizeof(s), sizeof(s));
			if (ELF64_ST_TYPE(s.st_info) == STT_FUNC && s.st_shndx != SHN_UNDEF &&
			    is_named(bytes, &names, s.st_name, name)) {
				*offset = s.st_value - base_of(bytes, n, &h);
				return 0;
			}
		}
	}
	return -1;
}

int rama_attach_symbol(const char *path, const char *name, uint64_t *offset, struct rama_err *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), rc;
	struct stat st;
	void *p;

	if (fd < 0 || fstat(fd, &st) != 0 || st.st_size <= 0) {
		rc = rama_err_set(e, RAMA_EIO, "%s: %s", path, strerror(errno));
		if (fd >= 0)
			close(fd);
		return rc;
	}
	p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (p == MAP_FAILED)
		return rama_err_set(e, RAMA_EIO, "%s: %s", path, strerror(errno));
	rc = rama_attach_symbol_find(p, (uint64_t)st.st_size, name, offset);
	munmap(p, (size_t)st.st_size);
	if (rc == -1)
		return rama_err_set(e, RAMA_EUSAGE, "%s has no function %s", path, name);
	return rc == 0 ? 0
		       : rama_err_set(e, RAMA_EUSAGE, "%s is no library for this machine", path);
}
