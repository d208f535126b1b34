/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/find.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/value.h"

#ifndef IORAMA_LIBDIR
#define IORAMA_LIBDIR "lib"
#endif
#define HEAD 4096	      /* bytes of a file that tell what it is */
#define SCRIPTS 4	      /* an interpreter may be a script again */
#define FAMILY_SCAN (4 << 20) /* bytes of an mpirun that are searched */

/* ---- our own files -------------------------------------------------------------------------- */

int rama_launch_find_file(const char *name, char buf[PATH_MAX], struct rama_err *e)
{
	static const char *const beside[] = { "lib", IORAMA_LIBDIR, "lib64" };
	char exe[PATH_MAX / 2], path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	char *slash;

	exe[n > 0 ? n : 0] = '\0';
	for (int up = 0; up < 2; up++) {
		slash = strrchr(exe, '/');
		if (slash != NULL)
			*slash = '\0';
	}
	for (size_t i = 0; i < sizeof(beside) / sizeof(beside[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s/%s", exe, beside[i], name);
		if (access(path, R_OK) == 0 && realpath(path, buf) != NULL)
			return 0;
	}
	return rama_err_set(e, RAMA_EMISSING, "%s is not in %s/lib or %s/%s", name, exe, exe,
			    IORAMA_LIBDIR);
}

int rama_launch_find_library(const char *chosen, char buf[PATH_MAX], struct rama_err *e)
{
	const char *from = chosen != NULL ? "--library" : "IORAMA_LIB";

	if (chosen == NULL)
		chosen = rama_config_value(RAMA_TAB_SET_LIB);
	if (chosen == NULL || *chosen == '\0') {
		struct rama_err why = { 0 };

		if (rama_launch_find_file("libiorama.so", buf, &why) != 0)
			return rama_err_set(e, RAMA_EIO, "%s; --library or IORAMA_LIB name it",
					    why.text);
	} else if (realpath(chosen, buf) == NULL || access(buf, R_OK) != 0) {
		return rama_err_set(e, RAMA_EIO, "%s %s: %s", from, chosen, strerror(errno));
	}
	if (strpbrk(buf, " \t:") != NULL)
		return rama_err_set(e, RAMA_EIO,
				    "%s: LD_PRELOAD cannot hold a path with blanks or colons; name "
				    "a copy of it with --library",
				    buf);
	return 0;
}

/* ---- programs ------------------------------------------------------------------------------- */

static bool runs(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

bool rama_launch_find_program(const char *word, char buf[PATH_MAX])
{
	const char *path = getenv("PATH");

	if (strchr(word, '/') != NULL)
		return (size_t)snprintf(buf, PATH_MAX, "%s", word) < PATH_MAX &&
		       access(buf, F_OK) == 0;
	for (const char *p = path != NULL ? path : "/bin:/usr/bin";; p++) {
		size_t n = strcspn(p, ":");

		if (n + strlen(word) + 2 < PATH_MAX) {
			snprintf(buf, PATH_MAX, "%.*s%s%s", (int)n, p, n > 0 ? "/" : "", word);
			if (runs(buf))
				return true;
		}
		p += n;
		if (*p == '\0')
			return false;
	}
}

enum rama_launch_kind rama_launch_find_family(void *ctx, const char *program)
{
	static const struct {
		const char *text;
		enum rama_launch_kind kind;
	} signs[] = {
		{ "orterun", RAMA_LAUNCH_OPENMPI },  { "mpirun.openmpi", RAMA_LAUNCH_OPENMPI },
		{ "prterun", RAMA_LAUNCH_OPENMPI },  { "hydra", RAMA_LAUNCH_HYDRA },
		{ "HYDRA", RAMA_LAUNCH_HYDRA },	     { "mpich", RAMA_LAUNCH_HYDRA },
		{ "Open MPI", RAMA_LAUNCH_OPENMPI }, { "OpenRTE", RAMA_LAUNCH_OPENMPI }
	};
	enum rama_launch_kind kind = RAMA_LAUNCH_MPI;
	char path[PATH_MAX], real[PATH_MAX];
	struct stat st;
	void *map;
	int fd;

	(void)ctx;
	if (!rama_launch_find_program(program, path) || realpath(path, real) == NULL)
		return kind;
	for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++)
		if (strstr(strrchr(real, '/'), signs[i].text) != NULL)
			return signs[i].kind;
	fd = open(real, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return kind;
	if (fstat(fd, &st) == 0 && st.st_size > 0) {
		size_t n = st.st_size < FAMILY_SCAN ? (size_t)st.st_size : FAMILY_SCAN;

		map = mmap(NULL, n, PROT_READ, MAP_PRIVATE, fd, 0);
		for (size_t i = 0; map != MAP_FAILED && kind == RAMA_LAUNCH_MPI &&
				   i < sizeof(signs) / sizeof(signs[0]);
		     i++)
			if (memmem(map, n, signs[i].text, strlen(signs[i].text)) != NULL)
				kind = signs[i].kind;
		if (map != MAP_FAILED)
			munmap(map, n);
	}
	close(fd);
	return kind;
}

/* the next word at *p, ended with a NUL; NULL: no more */
static char *next_word(char **p)
{
	char *word = *p + strspn(*p, " \t\r"), *end = word + strcspn(word, " \t\r");

	*p = *end != '\0' ? end + 1 : end;
	*end = '\0';
	return *word != '\0' ? word : NULL;
}

/* The interpreter of a script, into buf; "#!/usr/bin/env python3" means python3. */
static bool interpreter(const char *head, size_t n, char buf[PATH_MAX])
{
	char line[HEAD + 1], *word, *next, *base, *rest = line + 2;
	size_t len = 0;

	while (len < n && head[len] != '\n' && head[len] != '\0')
		len++;
	memcpy(line, head, len);
	line[len] = '\0';
	word = next_word(&rest);
	if (word == NULL)
		return false;
	next = next_word(&rest);
	if (next != NULL && strcmp(next, "-S") == 0)
		next = next_word(&rest);
	base = strrchr(word, '/');
	if (base != NULL && strcmp(base, "/env") == 0 && next != NULL)
		word = next;
	return rama_launch_find_program(word, buf);
}

void rama_launch_find_kind(char buf[PATH_MAX], struct rama_program *kind)
{
	for (int i = 0; i < SCRIPTS; i++) {
		char head[HEAD];
		int fd = open(buf, O_RDONLY | O_CLOEXEC);
		ssize_t n = fd >= 0 ? read(fd, head, sizeof(head)) : -1;

		if (fd >= 0)
			close(fd);
		if (n <= 2 || memcmp(head, "#!", 2) != 0 || !interpreter(head, (size_t)n, buf))
			break;
	}
	rama_program_look(kind, AT_FDCWD, buf);
}

void rama_launch_find_rank_program(const char *const *words, struct rama_program *kind)
{
	char path[PATH_MAX];

	for (; *words != NULL && !kind->there; words++)
		if (**words != '-' && rama_launch_find_program(*words, path))
			rama_program_look(kind, AT_FDCWD, path);
}

/* ---- what a library defines ----------------------------------------------------------------- */

#if __SIZEOF_POINTER__ == 8
#define OUR_CLASS ELFCLASS64
typedef Elf64_Ehdr ehdr;
typedef Elf64_Shdr shdr;
typedef Elf64_Sym sym;
#define SYM_BIND ELF64_ST_BIND
#define SYM_TYPE ELF64_ST_TYPE
#else
#define OUR_CLASS ELFCLASS32
typedef Elf32_Ehdr ehdr;
typedef Elf32_Shdr shdr;
typedef Elf32_Sym sym;
#define SYM_BIND ELF32_ST_BIND
#define SYM_TYPE ELF32_ST_TYPE
#endif

/* item i of size n at off; NULL if it is not in the file */
static const void *at(const unsigned char *map, size_t size, uint64_t off, size_t n)
{
	return off <= size && size - off >= n ? map + off : NULL;
}

static void tell_symbols(const unsigned char *map, size_t size, const shdr *syms, const shdr *names,
			 void (*tell)(void *, const char *), void *ctx)
{
	for (uint64_t i = 1; i < syms->sh_size / sizeof(sym); i++) {
		const sym *s = at(map, size, syms->sh_offset + i * sizeof(*s), sizeof(*s));
		const char *name;

		if (s == NULL)
			return;
		if (s->st_shndx == SHN_UNDEF || s->st_name >= names->sh_size ||
		    (SYM_BIND(s->st_info) != STB_GLOBAL && SYM_BIND(s->st_info) != STB_WEAK) ||
		    (SYM_TYPE(s->st_info) != STT_FUNC && SYM_TYPE(s->st_info) != STT_GNU_IFUNC))
			continue;
		name = at(map, size, names->sh_offset + s->st_name, 1);
		if (name != NULL &&
		    memchr(name, '\0', size - (size_t)((const unsigned char *)name - map)) != NULL)
			tell(ctx, name);
	}
}

static int walk_sections(const unsigned char *map, size_t size, void (*tell)(void *, const char *),
			 void *ctx, struct rama_err *e)
{
	const ehdr *h = at(map, size, 0, sizeof(*h));

	if (h == NULL || memcmp(map, ELFMAG, SELFMAG) != 0 || h->e_ident[EI_CLASS] != OUR_CLASS)
		return rama_err_set(e, RAMA_EFORMAT, "is no library for this machine");
	for (unsigned i = 0; i < h->e_shnum; i++) {
		const shdr *s = at(map, size, h->e_shoff + i * sizeof(*s), sizeof(*s));
		const shdr *names;

		if (s == NULL || s->sh_type != SHT_DYNSYM || s->sh_link >= h->e_shnum)
			continue;
		names = at(map, size, h->e_shoff + s->sh_link * sizeof(*s), sizeof(*s));
		if (names != NULL)
			tell_symbols(map, size, s, names, tell, ctx);
		return 0;
	}
	return rama_err_set(e, RAMA_ECORRUPT, "has no table of symbols");
}

int rama_launch_elf_symbols(const char *path, void (*tell)(void *ctx, const char *name), void *ctx,
			    struct rama_err *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), rc;
	struct stat st;
	void *map = MAP_FAILED;

	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size > 0)
		map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (fd >= 0)
		close(fd);
	if (map == MAP_FAILED)
		return rama_err_set(e, RAMA_EIO, "cannot be read: %s", strerror(errno));
	rc = walk_sections(map, (size_t)st.st_size, tell, ctx, e);
	munmap(map, (size_t)st.st_size);
	return rc;
}
