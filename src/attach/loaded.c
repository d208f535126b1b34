/* SPDX-License-Identifier: BSD-3-Clause */
/* loaded.c: as the loader itself finds a name: program headers, the dynamic section, its hash table
 * of names (DT_GNU_HASH). */
#include "attach/loaded.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PAGE 4096
#define HEADERS 128	 /* more has no object */
#define ENTRIES 512	 /* of its dynamic section */
#define CHAIN (1u << 16) /* names that share a place of the table */
#define NAME 256

struct object {
	const struct rama_attach_loaded *l;
	uint64_t bias; /* what is added to its own addresses */
	uint64_t dynamic, entries;
	uint64_t symbols, names, hash;
};

static bool get(const struct object *o, uint64_t at, void *to, size_t n)
{
	return o->l->read(o->l->ctx, at, to, n);
}

static bool read_headers(struct object *o)
{
	uint64_t least = UINT64_MAX;
	Elf64_Ehdr h;
	Elf64_Phdr p;

	if (!get(o, o->l->base, &h, sizeof(h)) || memcmp(h.e_ident, ELFMAG, SELFMAG) != 0 ||
	    h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_ident[EI_DATA] != ELFDATA2LSB ||
	    h.e_phentsize != sizeof(p) || h.e_phnum > HEADERS)
		return false;
	for (unsigned i = 0; i < h.e_phnum; i++) {
		if (!get(o, o->l->base + h.e_phoff + i * sizeof(p), &p, sizeof(p)))
			return false;
		if (p.p_type == PT_LOAD && p.p_vaddr < least)
			least = p.p_vaddr;
		if (p.p_type == PT_DYNAMIC) {
			o->dynamic = p.p_vaddr;
			o->entries = p.p_memsz / sizeof(Elf64_Dyn);
		}
	}
	if (least == UINT64_MAX || o->entries == 0)
		return false;
	o->bias = o->l->base - least / PAGE * PAGE;
	return true;
}

/* The loader makes addresses of these where it may write. */
static uint64_t address(const struct object *o, uint64_t value)
{
	return value < o->l->base ? o->bias + value : value;
}

static bool read_dynamic(struct object *o)
{
	Elf64_Dyn d = { .d_tag = 1 };

	for (uint64_t i = 0; i < o->entries && i < ENTRIES && d.d_tag != DT_NULL; i++) {
		if (!get(o, o->bias + o->dynamic + i * sizeof(d), &d, sizeof(d)))
			return false;
		if (d.d_tag == DT_SYMTAB)
			o->symbols = address(o, d.d_un.d_ptr);
		else if (d.d_tag == DT_STRTAB)
			o->names = address(o, d.d_un.d_ptr);
		else if (d.d_tag == DT_GNU_HASH)
			o->hash = address(o, d.d_un.d_ptr);
	}
	return o->symbols != 0 && o->names != 0 && o->hash != 0;
}

static uint32_t hash_of(const char *name)
{
	uint32_t h = 5381;

	for (; *name != '\0'; name++)
		h = h * 33 + (unsigned char)*name;
	return h;
}

static bool is_it(const struct object *o, uint32_t index, const char *name, size_t n,
		  uint64_t *offset)
{
	unsigned char type;
	char text[NAME];
	Elf64_Sym s;

	if (!get(o, o->symbols + index * sizeof(s), &s, sizeof(s)) || s.st_shndx == SHN_UNDEF)
		return false;
	type = ELF64_ST_TYPE(s.st_info);
	if ((type != STT_FUNC && type != STT_OBJECT) || !get(o, o->names + s.st_name, text, n) ||
	    memcmp(text, name, n) != 0)
		return false;
	*offset = o->bias + s.st_value - o->l->base;
	return true;
}

/* head, a filter that is not needed, first name of each place, hashes: the lowest bit ends a
 * place */
static int look(const struct object *o, const char *name, uint64_t *offset)
{
	struct {
		uint32_t places, first, filter, shift;
	} head;
	uint32_t h = hash_of(name), index, here = 0;
	size_t n = strlen(name) + 1;
	uint64_t place, hashes;

	if (!get(o, o->hash, &head, sizeof(head)) || head.places == 0)
		return -2;
	place = o->hash + sizeof(head) + 8 * (uint64_t)head.filter;
	hashes = place + 4 * (uint64_t)head.places;
	if (!get(o, place + 4 * (uint64_t)(h % head.places), &index, sizeof(index)))
		return -2;
	for (uint32_t i = 0; index >= head.first && i < CHAIN && (here & 1) == 0; i++, index++) {
		if (!get(o, hashes + 4 * (uint64_t)(index - head.first), &here, sizeof(here)))
			return -2;
		if ((here | 1) == (h | 1) && is_it(o, index, name, n, offset))
			return 0;
	}
	return -1;
}

int rama_attach_loaded_find(const struct rama_attach_loaded *l, const char *name, uint64_t *offset)
{
	struct object o = { .l = l };

	if (strlen(name) >= NAME)
		return -1;
	return read_headers(&o) && read_dynamic(&o) ? look(&o, name, offset) : -2;
}

static bool read_process(void *fd, uint64_t at, void *to, size_t n)
{
	return pread(*(int *)fd, to, n, (off_t)at) == (ssize_t)n;
}

int rama_attach_loaded_symbol(pid_t pid, uint64_t base, const char *name, uint64_t *offset,
			      struct rama_err *e)
{
	struct rama_attach_loaded l = { .read = read_process, .base = base };
	char path[64];
	int fd, rc;

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return rama_err_set(e, RAMA_EIO, "%s: %s", path, strerror(errno));
	l.ctx = &fd;
	rc = rama_attach_loaded_find(&l, name, offset);
	close(fd);
	return rc == 0 ? 0
		       : rama_err_set(e, RAMA_EUSAGE, "process %d: no %s is where it was loaded",
				      (int)pid, name);
}
