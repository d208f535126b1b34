/* SPDX-License-Identifier: BSD-3-Clause */
/* stream2.c: stream functions that are easily forgotten: characters, lines, unlocked forms. */
#include "truth.h"

static char buf[1000];
static volatile int hundred = 100; /* no constant, for fortified builds */
#define W(f, n, call) ((call), m_sio(f, 'w', n))
#define R(f, n, call) ((call), m_sio(f, 'r', n))

static void characters(void)
{
	FILE *f = t_fopen("chars", "w+");
	int c = 'c';
	W(f, 1, c = putc(c, f));
	W(f, 1, c = fputc(c, f));
	W(f, 1, c = putc_unlocked(c, f));
	W(f, 1, c = fputc_unlocked(c, f));
	MUST(c == 'c');
	W(f, 6, MUST(fputs("abcde\n", f) >= 0));
	W(f, 4, MUST(fputs_unlocked("fgh\n", f) >= 0));
	W(f, 20, MUST(fwrite_unlocked("01234567890123456789", 4, 5, f) == 5));
	MUST(fputs("", f) >= 0); /* a write of nothing; fwrite of nothing is none */
	m_empty(f);
	MUST(fwrite(buf, 0, 5, f) == 0);
	rewind(f);
	m_sseek(f, 0, 0);
	R(f, 1, MUST(getc(f) == 'c'));
	R(f, 1, MUST(fgetc(f) == 'c'));
	R(f, 1, MUST(getc_unlocked(f) == 'c'));
	R(f, 1, MUST(fgetc_unlocked(f) == 'c'));
	MUST(fgets(buf, hundred, f));
	m_sio(f, 'r', 6);
	MUST(fgets_unlocked(buf, hundred, f));
	m_sio(f, 'r', 4);
	R(f, 18, MUST(fread_unlocked(buf, 3, (size_t)hundred - 94, f) == 6));
	R(f, 1, MUST(getc(f) == '8'));
	MUST(ungetc('8', f) == '8');
	R(f, 1, MUST(getc(f) == '8'));
	R(f, 1, MUST(getc(f) == '9'));
	MUST(getc(f) == EOF && fgetc_unlocked(f) == EOF && fgets(buf, 10, f) == NULL);
	MUST(fread(buf, 1, 1, f) == 0);
	t_fclose(f);
}

static void lines(void)
{
	FILE *f = t_fopen("lines", "w+");
	char *line = NULL;
	size_t room = 0;
	W(f, 18, fprintf(f, "first\nsecond;third"));
	rewind(f);
	m_sseek(f, 0, 0);
	R(f, 6, MUST(getline(&line, &room, f) == 6));
	R(f, 7, MUST(getdelim(&line, &room, ';', f) == 7));
	R(f, 5, MUST(__getdelim(&line, &room, ';', f) == 5));
	MUST(getline(&line, &room, f) == -1);
	free(line);
	t_fclose(f);
}

static void standard(void)
{
	W(stdout, 6, puts("hello"));
	W(stdout, 1, putchar('x'));
	W(stdout, 1, putchar_unlocked('\n'));
	W(stdout, 4, printf("%d\n", hundred));
	W(stderr, 4, fputs("err\n", stderr));
	int a = 0;
	R(stdin, 2, MUST(scanf("%d", &a) == 1 && a == 12));
	R(stdin, 1, MUST(getchar() == '\n'));
	R(stdin, 1, MUST(getchar_unlocked() == 'z'));
	R(stdin, 1, MUST(fgetc(stdin) == '\n'));
	/* standard input is a file: the id of the name <STDIN> */
	t_want("EXTRA", "input", "STREAM", (int64_t)14734109647742566553u);
	MUST(getchar() == EOF);
}

/* streams that are no files */
static void ignored(void)
{
	char *text = NULL;
	size_t size = 0;
	FILE *f = fmemopen(buf, sizeof buf, "w+");
	MUST(f && fprintf(f, "hello") == 5 && fclose(f) == 0);
	f = open_memstream(&text, &size);
	MUST(f && fputs("hello", f) >= 0 && fclose(f) == 0 && size == 5);
	free(text);
	int pipes[2];
	MUST(pipe(pipes) == 0);
	f = fdopen(pipes[1], "w");
	MUST(f && fputs("hello", f) >= 0 && fclose(f) == 0);
	close(pipes[0]);
	f = fopen("/dev/null", "w");
	MUST(f && fputs("hello", f) >= 0 && fclose(f) == 0);
	/* the address of a closed stream is used again by one that is not observed */
	f = t_fopen("short", "w");
	W(f, 2, fputs("ab", f));
	t_fclose(f);
	f = fopen("/dev/null", "w");
	MUST(f && fputs("hello", f) >= 0 && fclose(f) == 0);
}

/* standard output goes elsewhere by its own name */
static void redirected(void)
{
	MUST(m_fopen("redirected", freopen("redirected", "w", stdout)) == stdout);
	W(stdout, 4, printf("%d\n", hundred));
	W(stdout, 3, puts("hi"));
}

int main(void)
{
	characters();
	lines();
	standard();
	ignored();
	redirected();
	t_done();
	return 0;
}
