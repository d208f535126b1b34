/* SPDX-License-Identifier: BSD-3-Clause */
/* stream.c: every function on streams that Darshan knows of, and the bridges to descriptors. */
#include "truth.h"

#include <stdarg.h>

static char buf[100000];
static volatile size_t seven = 7;

static int vout(FILE *f, const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	int n = f ? vfprintf(f, format, ap) : vprintf(format, ap);
	va_end(ap);
	m_sio(f ? f : stdout, 'w', n);
	return n;
}

static int vin(FILE *f, long bytes, const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	int n = vfscanf(f, format, ap);
	va_end(ap);
	m_sio(f, 'r', bytes);
	return n;
}

static void written(void)
{
	FILE *f = t_fopen("stream", "w+");
	fpos_t at;
	size_t n = seven;
	for (int i = 0; i < 100; i++)
		MUST(t_fwrite(buf, 10, n, f) == 7);
	MUST(fprintf(f, "hello %d\n", 42) == 9);
	m_sio(f, 'w', 9);
	MUST(fputs("line\n", f) >= 0 && fputc('x', f) == 'x' && putw(5, f) == 0);
	m_sio(f, 'w', 5), m_sio(f, 'w', 1), m_sio(f, 'w', 4);
	MUST(vout(f, "%s", "abc") == 3);
	MUST(m_flush(f, fflush(f)) == 0 && fgetpos(f, &at) == 0);
	MUST(m_sseek(f, 0, fseek(f, 0, SEEK_SET)) == 0);
	for (int i = 0; i < 50; i++)
		MUST(t_fread(buf, 1, 100, f) == 100);
	MUST(t_fread(buf, 4, 700, f) == 505); /* the last 2 of 2022 bytes are no whole item */
	MUST(t_fread(buf, 1, 10, f) == 0);
	rewind(f);
	m_sseek(f, 0, 0);
	MUST(m_sseek(f, 10, fseeko(f, 10, SEEK_CUR)) == 0 && fgetc(f) == 0);
	m_sio(f, 'r', 1);
	MUST(m_sseek(f, 7000, fseeko64(f, 7000, SEEK_SET)) == 0);
	MUST(fgets(buf, 50, f) == buf);
	m_sio(f, 'r', 9);
	MUST(m_sseek(f, 7022, fsetpos(f, &at)) == 0);
	fpos64_t at64;
	MUST(fgetpos64(f, &at64) == 0 && m_sseek(f, 7022, fsetpos64(f, &at64)) == 0);
	MUST(m_sseek(f, 7015, fseek(f, 7015, SEEK_SET)) == 0);
	MUST(getw(f) == 5);
	m_sio(f, 'r', 4);
	MUST(fseek(f, -1, SEEK_SET) < 0 && errno == EINVAL);
	t_any("EXTRA", "stream", "CALLS_FAILED");
	t_fclose(f);
}

static void scanned(void)
{
	FILE *f = t_fopen("scan", "w+");
	int a, b, c, n;
	MUST((n = fprintf(f, "1 2 3\n45 67\n")) == 12);
	m_sio(f, 'w', n);
	rewind(f);
	m_sseek(f, 0, 0);
	MUST(fscanf(f, "%d %d %d", &a, &b, &c) == 3);
	m_sio(f, 'r', 5);
	MUST(vin(f, 3, "%d", &a) == 1 && a == 45); /* newline and digits; the blank is put back */
	t_fclose(f);
}

static void bridges(void)
{
	int fd = t_open("fd", O_RDWR | O_CREAT | O_TRUNC, 0644);
	FILE *f = m_fdopen(fd, fdopen(fd, "w"));
	MUST(t_fwrite(buf, 1, 12345, f) == 12345);
	m_forget(fd);
	t_fclose(f);
	f = t_fopen("number", "w");
	fd = m_fileno(f, fileno(f));
	MUST(t_write(fd, buf, 10) == 10);
	m_forget(fd);
	t_fclose(f);
	f = t_fopen("again", "w");
	MUST(t_fwrite(buf, 1, 11, f) == 11);
	m_fclose(f);
	f = m_fopen("again2", freopen("again2", "w", f));
	MUST(t_fwrite(buf, 1, 12, f) == 12);
	m_fclose(f);
	f = m_fopen("again3", freopen64("again3", "w", f));
	MUST(t_fwrite(buf, 1, 13, f) == 13);
	t_fclose(f);
	f = m_fopen("by64", fopen64("by64", "a"));
	MUST(t_fwrite(buf, 1, 14, f) == 14);
	t_fclose(f);
	MUST(t_fopen("none", "r") == NULL && errno == ENOENT);
	MUST(t_fopen("/etc/passwd", "r") != NULL);
}

int main(void)
{
	written();
	scanned();
	bridges();
	MUST(printf("to stdout %d\n", (int)seven) == 12);
	m_sio(stdout, 'w', 12);
	MUST(vout(NULL, "%d", 1234) == 4);
	MUST(fprintf(stderr, "to stderr\n") == 10);
	m_sio(stderr, 'w', 10);
	m_flush(stdout, fflush(stdout));
	m_flush(NULL, fflush(NULL));
	t_done();
	return 0;
}
