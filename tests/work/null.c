/* SPDX-License-Identifier: BSD-3-Clause */
/* null.c RESULTS [SURVIVED]: calls every function that we have a wrapper for with NULL, and with
 * addresses that nothing is at, in every combination of its pointers. The functions come from the
 * rows of src/table, so none can be forgotten.
 *
 * Alone: each call in a child of its own; RESULTS says what each child came to. With SURVIVED, a
 * file of 'y' and 'n' per call: those that survived, all calls of a function in one child, so
 * that RESULTS can be compared with those of another way to run it. A line per call: NAME
 * VARIANT RESULT ERRNO, or "died". */
#include <aio.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "table/map.h"

#define TEXT_(type, name, role) #type ";"
#define TEXT(t) TEXT_ t

/* ---- the rows: name, what it returns, types of its arguments --------------------------------- */

static const struct row {
	const char *name, *returns, *types;
} rows[] = {
#define FN(name, ret, rrole, opk, ...) { #name, #ret, RAMA_TAB_EACH(TEXT, __VA_ARGS__) },
#define FN_MODE FN
#define FN_HAND FN
#define FN_HAND0(name, ret, rrole, opk) { #name, #ret, "" },
#define FN_FMT(name, vname, ...) { #name, "int", RAMA_TAB_EACH(TEXT, __VA_ARGS__) },
#define FN_SCAN(name, vname) { #name, "int", "FILE *;const char *;" },
#define FN_SCAN0(name, vname) { #name, "int", "const char *;" },
#define FN_EXECL(name, vname) { #name, "int", "const char *;const char *;" },
#define FN_JUMP(name) /* a jump to nowhere is survived by nobody */
#define FN_ASM(name)  /* has no arguments */
#include "table/fn_libaio.def"
#include "table/fn_posix.def"
#include "table/fn_process.def"
#include "table/fn_stdio.def"
};
enum { ROWS = sizeof(rows) / sizeof(rows[0]), ARGS = 10 };

/* by their addresses as the program's own calls would reach them, whichever headers know them */
#undef getc
#undef putc
#undef getc_unlocked
#undef putc_unlocked
#include "table/fn_words_end.h"
#define FN(name, ...) extern char fn_##name[] __asm__(#name) __attribute__((weak));
#include "table/fn_words.h"
#include "table/fn_libaio.def"
#include "table/fn_posix.def"
#include "table/fn_process.def"
#include "table/fn_stdio.def"
#undef FN
#define FN(name, ...) fn_##name,
#undef FN_JUMP
#undef FN_ASM
#define FN_JUMP(name)
#define FN_ASM(name)
static void *const address[] = {
#include "table/fn_libaio.def"
#include "table/fn_posix.def"
#include "table/fn_process.def"
#include "table/fn_stdio.def"
};

/* ---- results: in memory that outlives children and closed descriptors ------------------------ */

enum { MOST = 1 << 17 };
struct result {
	char state; /* 0: not made; 'n': died; 'y': came back */
	int error;
	long value;
};
static struct result *results;

static long raw(long n, long a, long b, long c, long d)
{
	long r;
	register long r10 __asm__("r10") = d;

	__asm__ volatile("syscall"
			 : "=a"(r)
			 : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10)
			 : "rcx", "r11", "memory");
	return r;
}

/* ---- one call -------------------------------------------------------------------------------- */

static FILE *stream;
static DIR *dir;
static char zeros[65536];

/* Those that never come back are no question. What posix_spawn() writes, a process number, is
 * read as attributes by the next call: no two runs agree, with or without anybody watching. */
static bool is_asked(unsigned row)
{
	return address[row] && strcmp(rows[row].name, "_exit") != 0 &&
	       strcmp(rows[row].name, "_Exit") != 0 &&
	       strncmp(rows[row].name, "posix_spawn", 11) != 0;
}

/* Number of variants: each pointer may be good, NULL or bad; descriptors are good or bad. */
static unsigned pointers(const char *types)
{
	unsigned n = 0;

	for (const char *t = types; *t; t = strchr(t, ';') + 1)
		n += memchr(t, '*', (size_t)(strchr(t, ';') - t)) != NULL ||
		     strncmp(t, "va_list", 7) == 0 || strncmp(t, "io_context_t", 12) == 0;
	return n;
}

static unsigned variants(unsigned row)
{
	unsigned n = 2;

	for (unsigned i = pointers(rows[row].types); i > 0; i--)
		n *= 3;
	return is_asked(row) ? n : 0;
}

/* Programs are started that are there, so that it is their lists of words that fail. */
static long good(const char *type, bool starts, bool odd)
{
	static char text[ARGS][64], *astray[] = { text[0], (char *)16, NULL };
	static unsigned next;

	if (strncmp(type, "FILE *", 6) == 0)
		return (long)stream;
	if (strncmp(type, "DIR *", 5) == 0)
		return (long)dir;
	if (strncmp(type, "const char *", 12) == 0 || strncmp(type, "char *", 6) == 0) {
		next = (next + 1) % ARGS;
		memcpy(text[next], starts ? "/bin/true" : "nullfile\0", 10);
		return (long)text[next];
	}
	if (strncmp(type, "char *const *", 13) == 0 && odd)
		return (long)astray;
	return (long)zeros;
}

static void fill(long *a, const char *types, unsigned variant, bool starts)
{
	unsigned v = variant / 2;

	for (const char *t = types; *t; t = strchr(t, ';') + 1, a++) {
		size_t n = (size_t)(strchr(t, ';') - t);

		if (memchr(t, '*', n) || strncmp(t, "va_list", 7) == 0 ||
		    strncmp(t, "io_context_t", 12) == 0) {
			bool handle = strncmp(t, "FILE *", 6) == 0 || strncmp(t, "DIR *", 5) == 0;

			/* what is no stream at all is nobody's to tell */
			*a = v % 3 == 0		     ? 0
			     : v % 3 == 1 && !handle ? 16
						     : good(t, starts, variant & 1);
			v /= 3;
		} else if (strncmp(t, "int;", 4) == 0 && (variant & 1)) {
			*a = 99;
		} else if (strncmp(t, "int;", 4) == 0) {
			*a = -1;
		} else {
			*a = 8;
		}
	}
}

/* A good descriptor, whatever the call before did to it; not through anybody's wrappers. */
static void prepare(void)
{
	long fd = raw(SYS_openat, AT_FDCWD, (long)"nullfile", O_RDWR | O_CREAT, 0600);

	raw(SYS_dup2, fd, 99, 0, 0);
	if (fd != 99)
		raw(SYS_close, fd, 0, 0, 0);
}

static void make_call(unsigned row, unsigned variant, struct result *to)
{
	long a[ARGS] = { 0 };
	long (*f)(long, ...) = (long (*)(long, ...))address[row];

	fill(a, rows[row].types, variant, strncmp(rows[row].name, "exec", 4) == 0);
	prepare();
	to->state = 'n';
	errno = 0;
	long r = f(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9]);
	to->error = errno;
	to->value = strchr(rows[row].returns, '*')	     ? (r != 0)
		    : strcmp(rows[row].returns, "void") == 0 ? 0
							     : (int)r;
	to->state = 'y';
}

/* calls [from, to) of a row in a child; `at`: their results */
static void in_child(unsigned row, unsigned from, unsigned to, struct result *at,
		     const char *wanted)
{
	pid_t pid = fork();

	if (pid == 0) {
		for (unsigned v = from; v < to; v++)
			if (!wanted || wanted[v] == 'y')
				make_call(row, v, &at[v]);
		raw(SYS_exit_group, 0, 0, 0, 0);
	}
	waitpid(pid, NULL, 0);
}

static int tell(const char *path)
{
	FILE *out = fopen(path, "w");
	struct result *at = results;

	for (unsigned i = 0; i < ROWS; i++) {
		for (unsigned v = 0; v < variants(i); v++, at++)
			if (at->state == 'y')
				fprintf(out, "%s %u %ld %d\n", rows[i].name, v, at->value,
					at->error);
			else
				fprintf(out, "%s %u %s\n", rows[i].name, v,
					at->state ? "died" : "-");
		if (!address[i])
			fprintf(out, "%s absent\n", rows[i].name);
	}
	return fclose(out) != 0;
}

int main(int argc, char **argv)
{
	static char wanted[MOST];
	FILE *list = argc > 2 ? fopen(argv[2], "r") : NULL;
	size_t known = list ? fread(wanted, 1, MOST, list) : 0;

	struct result *at = results = mmap(NULL, MOST * sizeof(*results), PROT_READ | PROT_WRITE,
					   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (list)
		fclose(list);
	close(open("nullfile", O_RDWR | O_CREAT, 0600));
	stream = fopen("nullstream", "w+");
	dir = opendir(".");
	for (unsigned i = 0; i < ROWS; i++) {
		unsigned n = variants(i);

		if (at + n > results + MOST || (list && (size_t)(at - results) + n > known))
			return 2;
		for (unsigned v = 0; !list && v < n; v++)
			in_child(i, v, v + 1, at, NULL);
		if (list && n > 0)
			in_child(i, 0, n, at, wanted + (at - results));
		at += n;
	}
	return tell(argv[1]);
}
