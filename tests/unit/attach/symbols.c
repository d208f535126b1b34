/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include "attach/symbols.h"

static void functions_of_the_c_library_are_where_they_are(void **state)
{
	static const char *const names[] = { "dlopen", "malloc", "pwrite", "qsort" };
	struct link_map *map;
	Dl_info info;

	(void)state;
	for (size_t i = 0; i < LENGTH(names); i++) {
		void *f = dlsym(RTLD_DEFAULT, names[i]);
		struct rama_err e = { 0 };
		uint64_t offset = 0;

		assert_non_null(f);
		assert_true(dladdr1(f, &info, (void **)&map, RTLD_DL_LINKMAP) != 0);
		if (strstr(info.dli_fname, "libc.so") == NULL)
			continue; /* a sanitizer's */
		assert_int_equal(rama_attach_symbol(info.dli_fname, names[i], &offset, &e), 0);
		assert_int_equal((uintptr_t)info.dli_fbase + offset, (uintptr_t)f);
	}
}

/* header, a segment, two sections: names and symbols */
struct library {
	Elf64_Ehdr head;
	Elf64_Phdr segment;
	Elf64_Shdr section[3];
	Elf64_Sym symbol[3];
	char names[32];
};

static struct library made(void)
{
	struct library l = { .names = "\0first\0second" };

	memcpy(l.head.e_ident, ELFMAG "\2\1\1", 7);
	l.head.e_type = ET_DYN;
	l.head.e_phoff = offsetof(struct library, segment);
	l.head.e_phnum = 1;
	l.head.e_phentsize = sizeof(Elf64_Phdr);
	l.head.e_shoff = offsetof(struct library, section);
	l.head.e_shnum = 3;
	l.head.e_shentsize = sizeof(Elf64_Shdr);
	l.segment = (Elf64_Phdr){ .p_type = PT_LOAD, .p_vaddr = 0x400123 };
	l.section[1] = (Elf64_Shdr){ .sh_type = SHT_STRTAB,
				     .sh_offset = offsetof(struct library, names),
				     .sh_size = sizeof(l.names) };
	l.section[2] = (Elf64_Shdr){ .sh_type = SHT_DYNSYM,
				     .sh_link = 1,
				     .sh_entsize = sizeof(Elf64_Sym),
				     .sh_offset = offsetof(struct library, symbol),
				     .sh_size = sizeof(l.symbol) };
	l.symbol[1] = (Elf64_Sym){ .st_name = 1, .st_info = STT_FUNC, .st_value = 0x400500 };
	l.symbol[2] = (Elf64_Sym){
		.st_name = 7, .st_info = STT_FUNC, .st_shndx = 5, .st_value = 0x401000
	};
	return l;
}

static int look(const struct library *l, const char *name, uint64_t *offset)
{
	return rama_attach_symbol_find((const unsigned char *)l, sizeof(*l), name, offset);
}

static void only_functions_that_are_there_are_found(void **state)
{
	struct library l = made();
	uint64_t offset = 0;

	(void)state;
	assert_int_equal(look(&l, "second", &offset), 0);
	assert_int_equal(offset, 0x1000);
	assert_int_equal(look(&l, "first", &offset), -1); /* wanted, not defined */
	assert_int_equal(look(&l, "secon", &offset), -1);
	assert_int_equal(look(&l, "second2", &offset), -1);
	l.symbol[2].st_info = STT_OBJECT;
	assert_int_equal(look(&l, "second", &offset), -1);
}

/* which of them is meant nobody knows */
static void functions_of_one_name_are_counted(void **state)
{
	struct rama_attach_function f;
	struct library l = made();

	(void)state;
	l.symbol[1] = l.symbol[2];
	assert_int_equal(rama_attach_symbol_own((const unsigned char *)&l, sizeof(l), "second", &f),
			 0);
	assert_int_equal(f.found, 2);
}

static void what_lies_outside_is_not_read(void **state)
{
	struct library l = made();
	uint64_t offset = 0;

	(void)state;
	l.symbol[2].st_name = sizeof(l.names) - 3; /* a name that would go on behind the end */
	memcpy(l.names + sizeof(l.names) - 3, "sec", 3);
	assert_int_equal(look(&l, "second", &offset), -1);
	l = made();
	l.section[2].sh_size = sizeof(l) + 1;
	assert_int_equal(look(&l, "second", &offset), -1);
	l = made();
	l.section[2].sh_link = 3;
	assert_int_equal(look(&l, "second", &offset), -1);
	l = made();
	l.head.e_shoff = sizeof(l) - 1;
	assert_int_equal(look(&l, "second", &offset), -2);
	l = made();
	l.head.e_ident[EI_CLASS] = ELFCLASS32;
	assert_int_equal(look(&l, "second", &offset), -2);
	assert_int_equal(rama_attach_symbol_find((const unsigned char *)&l, 10, "a", &offset), -2);
}

UNIT_GROUP(symbols, test(functions_of_the_c_library_are_where_they_are),
	   test(only_functions_that_are_there_are_found), test(functions_of_one_name_are_counted),
	   test(what_lies_outside_is_not_read))
