/* SPDX-License-Identifier: BSD-3-Clause */
/* loaded.c: names of libraries in memory: those of this process are where the loader found them,
 * and damaged tables lead nowhere. */
#include "unit.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <unistd.h>

#include "attach/loaded.h"

static void names_are_where_the_loader_finds_them(void **state)
{
	static const char *const names[] = { "dlopen", "pwrite", "qsort", "environ", "stdout" };
	unsigned compared = 0;
	Dl_info info;

	(void)state;
	for (size_t i = 0; i < LENGTH(names); i++) {
		void *at = dlsym(RTLD_DEFAULT, names[i]);
		struct rama_err e = { 0 };
		uint64_t offset = 0;

		assert_non_null(at);
		assert_true(dladdr(at, &info) != 0);
		if (strstr(info.dli_fname, "libc.so") == NULL)
			continue; /* a sanitizer's, or a copy that the program has */
		assert_int_equal(rama_attach_loaded_symbol(getpid(), (uintptr_t)info.dli_fbase,
							   names[i], &offset, &e),
				 0);
		assert_int_equal((uintptr_t)info.dli_fbase + offset, (uintptr_t)at);
		assert_int_equal(rama_attach_loaded_symbol(getpid(), (uintptr_t)info.dli_fbase,
							   "no such name", &offset, &e),
				 RAMA_EUSAGE);
		compared++;
	}
	assert_true(compared > 0);
}

static void what_is_no_object_is_told(void **state)
{
	static const char text[8192] = "no program";
	struct rama_err e = { 0 };
	uint64_t offset = 0;

	(void)state;
	assert_int_equal(rama_attach_loaded_symbol(getpid(), (uintptr_t)text, "dlopen", &offset,
						   &e),
			 RAMA_EUSAGE);
	assert_int_equal(rama_attach_loaded_symbol(getpid(), 16, "dlopen", &offset, &e),
			 RAMA_EUSAGE);
	assert_int_equal(rama_attach_loaded_symbol(0x7ffffff0, 16, "dlopen", &offset, &e),
			 RAMA_EIO);
	assert_int_equal(offset, 0);
}

/* ---- one of our own ------------------------------------------------------------------------- */

enum { BASE = 0x10000, VADDR = 0x400000 };

struct object {
	Elf64_Ehdr head;
	Elf64_Phdr segment[2];
	Elf64_Dyn dynamic[4];
	uint32_t hash[4], filter[2], place[1], hashes[2];
	Elf64_Sym symbol[3];
	char names[32];
};

static uint32_t gnu_hash(const char *s)
{
	uint32_t h = 5381;

	while (*s != '\0')
		h = h * 33 + (unsigned char)*s++;
	return h;
}

static struct object made(void)
{
	struct object o = { .names = "\0first\0second" };

	memcpy(o.head.e_ident, ELFMAG "\2\1\1", 7);
	o.head.e_phoff = offsetof(struct object, segment);
	o.head.e_phnum = 2;
	o.head.e_phentsize = sizeof(Elf64_Phdr);
	o.segment[0] = (Elf64_Phdr){ .p_type = PT_LOAD, .p_vaddr = VADDR };
	o.segment[1] = (Elf64_Phdr){ .p_type = PT_DYNAMIC,
				     .p_vaddr = VADDR + offsetof(struct object, dynamic),
				     .p_memsz = sizeof(o.dynamic) };
	o.dynamic[0].d_tag = DT_SYMTAB;
	o.dynamic[0].d_un.d_ptr = BASE + offsetof(struct object, symbol); /* by the loader */
	o.dynamic[1].d_tag = DT_STRTAB;
	o.dynamic[1].d_un.d_ptr = BASE + offsetof(struct object, names);
	o.dynamic[2].d_tag = DT_GNU_HASH;
	o.dynamic[2].d_un.d_ptr = BASE + offsetof(struct object, hash);
	o.hash[0] = 1; /* places */
	o.hash[1] = 1; /* the first that has a hash */
	o.hash[2] = 1; /* words of the filter */
	o.place[0] = 1;
	o.hashes[0] = gnu_hash("first") & ~1u;
	o.hashes[1] = gnu_hash("second") | 1;
	o.symbol[1] = (Elf64_Sym){ .st_name = 1, .st_info = STT_FUNC, .st_value = VADDR + 9 };
	o.symbol[2] = (Elf64_Sym){
		.st_name = 7, .st_info = STT_OBJECT, .st_shndx = 5, .st_value = VADDR + 0x1000
	};
	return o;
}

static bool read_made(void *ctx, uint64_t at, void *to, size_t n)
{
	if (at < BASE || at - BASE > sizeof(struct object) ||
	    n > sizeof(struct object) - (at - BASE))
		return false;
	memcpy(to, (const char *)ctx + (at - BASE), n);
	return true;
}

static int look(struct object *o, const char *name, uint64_t *offset)
{
	const struct rama_attach_loaded l = { .read = read_made, .ctx = o, .base = BASE };

	*offset = 0;
	return rama_attach_loaded_find(&l, name, offset);
}

static void only_what_is_exported_is_found(void **state)
{
	struct object o = made();
	char longer[300];
	uint64_t offset;

	(void)state;
	assert_int_equal(look(&o, "second", &offset), 0);
	assert_int_equal(offset, 0x1000);
	assert_int_equal(look(&o, "first", &offset), -1); /* wanted, not defined */
	assert_int_equal(look(&o, "secon", &offset), -1);
	memset(longer, 'x', sizeof(longer));
	longer[sizeof(longer) - 1] = '\0';
	assert_int_equal(look(&o, longer, &offset), -1);
	o.symbol[2].st_info = STT_SECTION;
	assert_int_equal(look(&o, "second", &offset), -1);
	o = made();
	memcpy(o.names, "\0first\0sEcond", 13); /* the hash alone is not enough */
	assert_int_equal(look(&o, "second", &offset), -1);
}

static void damage_leads_nowhere(void **state)
{
	struct object o = made();
	uint64_t offset;

	(void)state;
	o.head.e_ident[EI_CLASS] = ELFCLASS32;
	assert_int_equal(look(&o, "second", &offset), -2);
	o = made();
	o.head.e_phnum = 60000;
	assert_int_equal(look(&o, "second", &offset), -2);
	o = made();
	o.head.e_phoff = UINT64_MAX - 5;
	assert_int_equal(look(&o, "second", &offset), -2);
	o = made();
	o.segment[1].p_type = PT_NOTE;
	assert_int_equal(look(&o, "second", &offset), -2);
	o = made();
	o.dynamic[2].d_tag = DT_HASH;
	assert_int_equal(look(&o, "second", &offset), -2);
	o = made();
	o.hash[0] = 0; /* nothing is divided by it */
	assert_int_equal(look(&o, "second", &offset), -2);
	o = made();
	o.hashes[1] &= ~1u; /* an end that never comes */
	o.hashes[1] ^= 2;
	assert_int_equal(look(&o, "second", &offset), -1);
	o = made();
	o.place[0] = 1000000;
	assert_int_equal(look(&o, "second", &offset), -2);
	o = made();
	o.symbol[2].st_name = sizeof(o.names) - 3;
	assert_int_equal(look(&o, "second", &offset), -1);
}

UNIT_GROUP(loaded, test(names_are_where_the_loader_finds_them), test(what_is_no_object_is_told),
	   test(only_what_is_exported_is_found), test(damage_leads_nowhere))
