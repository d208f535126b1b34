/* SPDX-License-Identifier: BSD-3-Clause */
/* A program is put together byte by byte, and told apart by one thing each time. */
#include "unit.h"

#include <elf.h>

#include "base/code/elf.h"
#include "base/code/program.h"

enum { INTERP = 0x400, DYNAMIC = 0x500, TEXTS = 0x800, NOTES = 0xc00, SIZE = 0x1000 };
#define BASE 0x10000u /* where it is mapped */

struct file {
	unsigned char bytes[SIZE];
	size_t n;
	unsigned reads;
};

static long read_file(void *ctx, uint64_t off, void *buf, size_t n)
{
	struct file *f = ctx;

	f->reads++;
	if (off >= f->n)
		return 0;
	if (n > f->n - off)
		n = (size_t)(f->n - off);
	memcpy(buf, f->bytes + off, n);
	return (long)n;
}

static struct rama_elf look_named(struct file *f, const char *name)
{
	struct rama_elf_bytes from = { read_file, f };
	struct rama_elf e;

	f->reads = 0;
	rama_elf_look(&e, &from, name);
	return e;
}

static enum rama_unseen look(struct file *f)
{
	return look_named(f, "prog").why;
}

static Elf64_Ehdr *head(struct file *f)
{
	return (Elf64_Ehdr *)(void *)f->bytes;
}

static Elf64_Phdr *part(struct file *f, unsigned i)
{
	return (Elf64_Phdr *)(void *)(f->bytes + sizeof(Elf64_Ehdr)) + i;
}

static Elf64_Dyn *entry(struct file *f, unsigned i)
{
	return (Elf64_Dyn *)(void *)(f->bytes + DYNAMIC) + i;
}

static void set_interp(struct file *f, const char *path)
{
	memset(f->bytes + INTERP, 0, 256);
	memcpy(f->bytes + INTERP, path, strlen(path));
	part(f, 1)->p_filesz = strlen(path) + 1;
}

/* libraries that it needs, one after the other */
static void set_needs(struct file *f, const char *const *names, unsigned n)
{
	uint64_t at = 1;

	memset(f->bytes + DYNAMIC, 0, TEXTS - DYNAMIC);
	for (unsigned i = 0; i < n; i++) {
		*entry(f, i) = (Elf64_Dyn){ .d_tag = DT_NEEDED, .d_un.d_val = at };
		memcpy(f->bytes + TEXTS + at, names[i], strlen(names[i]) + 1);
		at += strlen(names[i]) + 1;
	}
	*entry(f, n) = (Elf64_Dyn){ .d_tag = DT_STRTAB, .d_un.d_ptr = BASE + TEXTS };
	part(f, 2)->p_filesz = (n + 2) * sizeof(Elf64_Dyn);
}

static struct file *make(struct file *f)
{
	static const char *const libc[] = { "libm.so.6", "libc.so.6" };
	Elf64_Ehdr *h = head(f);

	memset(f, 0, sizeof(*f));
	f->n = SIZE;
	memcpy(h->e_ident, ELFMAG, SELFMAG);
	h->e_ident[EI_CLASS] = ELFCLASS64;
	h->e_ident[EI_DATA] = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
	h->e_type = ET_DYN;
#if defined(__aarch64__)
	h->e_machine = EM_AARCH64;
#else
	h->e_machine = EM_X86_64;
#endif
	h->e_phoff = sizeof(*h);
	h->e_phentsize = sizeof(Elf64_Phdr);
	h->e_phnum = 4;
	*part(f, 0) = (Elf64_Phdr){ .p_type = PT_LOAD, .p_vaddr = BASE, .p_filesz = SIZE };
	*part(f, 1) = (Elf64_Phdr){ .p_type = PT_INTERP, .p_offset = INTERP };
	*part(f, 2) = (Elf64_Phdr){ .p_type = PT_DYNAMIC, .p_offset = DYNAMIC };
	*part(f, 3) = (Elf64_Phdr){ .p_type = PT_NOTE, .p_offset = NOTES };
	set_interp(f, "/lib64/ld-linux-x86-64.so.2");
	set_needs(f, libc, 2);
	return f;
}

static void kinds_are_told_apart(void **state)
{
	struct file f;

	(void)state;
	assert_int_equal(look(make(&f)), RAMA_UNSEEN_NOT);
	assert_true(look_named(&f, "prog").is);
	part(make(&f), 1)->p_type = PT_NULL;
	assert_int_equal(look(&f), RAMA_UNSEEN_STATIC);
	head(make(&f))->e_ident[EI_CLASS] = ELFCLASS32;
	assert_int_equal(look(&f), RAMA_UNSEEN_BITS);
	head(make(&f))->e_ident[EI_DATA] ^= 3;
	assert_int_equal(look(&f), RAMA_UNSEEN_MACHINE);
	head(make(&f))->e_machine = EM_S390;
	assert_int_equal(look(&f), RAMA_UNSEEN_MACHINE);
	set_interp(make(&f), "/lib/ld-musl-x86_64.so.1");
	assert_int_equal(look(&f), RAMA_UNSEEN_LIBC);
	set_interp(make(&f), "/opt/x/linker64");
	assert_int_equal(look(&f), RAMA_UNSEEN_LIBC);
	make(&f)->bytes[0] = 'X';
	assert_false(look_named(&f, "prog").is);
	assert_int_equal(look(&f), RAMA_UNSEEN_NOT);
}

/* a loader that nobody knows: what the program needs tells */
static void unknown_loaders(void **state)
{
	static const char *const other[] = { "libc.so", "libm.so.6" };
	struct file f;

	(void)state;
	set_interp(make(&f), "/opt/new/loader");
	assert_int_equal(look(&f), RAMA_UNSEEN_NOT);
	set_needs(&f, other, 2);
	assert_int_equal(look(&f), RAMA_UNSEEN_LIBC);
	/* started as a program, a loader loads another one */
	part(make(&f), 1)->p_type = PT_NULL;
	assert_int_equal(look_named(&f, "/lib64/ld-linux-x86-64.so.2").why, RAMA_UNSEEN_NOT);
	assert_int_equal(look_named(&f, "/lib/ld-musl-x86_64.so.1").why, RAMA_UNSEEN_LIBC);
	assert_int_equal(look_named(&f, NULL).why, RAMA_UNSEEN_STATIC);
}

static void put_note(struct file *f, unsigned at, const char *owner, unsigned text)
{
	Elf64_Nhdr h = { .n_namesz = (Elf64_Word)strlen(owner) + 1, .n_descsz = text, .n_type = 1 };

	memcpy(f->bytes + NOTES + at, &h, sizeof(h));
	memcpy(f->bytes + NOTES + at + sizeof(h), owner, strlen(owner) + 1);
}

static void static_with_our_library(void **state)
{
	struct file f;

	(void)state;
	part(make(&f), 1)->p_type = PT_NULL;
	put_note(&f, 0, "GNU", 5);
	put_note(&f, 24, RAMA_ELF_NOTE, 0);
	part(&f, 3)->p_filesz = 44;
	assert_int_equal(look(&f), RAMA_UNSEEN_NOT);
	part(&f, 3)->p_filesz = 24; /* behind the end */
	assert_int_equal(look(&f), RAMA_UNSEEN_STATIC);
	part(&f, 3)->p_filesz = 44;
	f.bytes[NOTES + 24 + 12] = 'X';
	assert_int_equal(look(&f), RAMA_UNSEEN_STATIC);
}

static void what_comes_first(void **state)
{
	static const char *const asan[] = { "libm.so.6", "libasan.so.8", "libasan.so.6",
					    "libc.so.6" };
	static const char *const odd[] = { "libasan.so:x", "libc.so.6" };
	static const char *const tsan[] = { "libtsan.so.2", "libc.so.6" };
	struct file f;

	(void)state;
	assert_string_equal(look_named(make(&f), "prog").first, "");
	set_needs(&f, asan, 4);
	assert_string_equal(look_named(&f, "prog").first, "libasan.so.8");
	set_interp(&f, "/lib/ld-musl-x86_64.so.1");
	assert_string_equal(look_named(&f, "prog").first, "");
	set_needs(make(&f), odd, 2); /* no entry of a list */
	assert_string_equal(look_named(&f, "prog").first, "");
	set_needs(&f, tsan, 2);
	assert_string_equal(look_named(&f, "prog").first, "");
	assert_true(rama_elf_first("/usr/lib/libclang_rt.asan-x86_64.so", 35));
	assert_false(rama_elf_first("/libasan.so/x", 13));
}

/* numbers that point anywhere, and files that end anywhere: nothing is read that is not there,
 * and not for long */
static void nothing_is_trusted(void **state)
{
	static const uint64_t odd[] = { 0, 1, SIZE - 1, SIZE, UINT32_MAX, INT64_MAX, UINT64_MAX };
	struct rng r = { 7 };
	struct file f;

	(void)state;
	for (size_t n = 0; n <= SIZE; n += n < 600 ? 1 : 97) {
		make(&f)->n = n;
		look(&f);
	}
	for (unsigned at = 16; at < 64 + 4 * 56; at += 8)
		for (size_t i = 0; i < LENGTH(odd); i++) {
			memcpy(make(&f)->bytes + at, &odd[i], 8);
			look(&f);
			assert_true(f.reads < 5000);
		}
	for (unsigned i = 0; i < 20000; i++) {
		make(&f);
		for (unsigned k = 0; k < 4; k++)
			f.bytes[rng_u64(&r) % (i % 2 ? 320 : SIZE)] = (unsigned char)rng_u64(&r);
		look(&f);
		assert_true(f.reads < 5000);
	}
}

static void scripts_name_their_interpreter(void **state)
{
	char to[32];

	(void)state;
#define SCRIPT(text) rama_program_script(text, strlen(text), to, sizeof(to))
	assert_true(SCRIPT("#!/bin/sh\n"));
	assert_string_equal(to, "/bin/sh");
	assert_true(SCRIPT("#! \t/usr/bin/env python3\n"));
	assert_string_equal(to, "/usr/bin/env");
	assert_true(SCRIPT("#!/bin/sh -e\r\n"));
	assert_string_equal(to, "/bin/sh");
	assert_false(SCRIPT("#!/bin/sh")); /* cut off */
	assert_false(SCRIPT("#!\n"));
	assert_false(SCRIPT("#! \n"));
	assert_false(SCRIPT("#"));
	assert_false(SCRIPT("/bin/sh\n"));
	assert_false(SCRIPT("#!/0123456789/0123456789/0123456789\n"));
}

static void programs_are_found(void **state)
{
	char buf[RAMA_PROGRAM_PATH];
	const char *path;

	(void)state;
	assert_true(rama_program_find("sh", "/nonexistent::/etc:/bin", buf, &path));
	assert_string_equal(path, "/bin/sh");
	assert_true(rama_program_find("sh", NULL, buf, &path));
	assert_false(rama_program_find("passwd", "/etc", buf, &path)); /* no program */
	assert_false(rama_program_find("bin", "/usr", buf, &path));    /* a directory */
	assert_false(rama_program_find("", "/bin", buf, &path));
	assert_true(rama_program_find("./any", "/bin", buf, &path));
	assert_string_equal(path, "./any");
}

UNIT_GROUP(elf, test(kinds_are_told_apart), test(unknown_loaders), test(static_with_our_library),
	   test(what_comes_first), test(nothing_is_trusted), test(scripts_name_their_interpreter),
	   test(programs_are_found))
