/* SPDX-License-Identifier: BSD-3-Clause */
/* random.c SEED STEPS: calls in an order that nobody thought of. */
#include "truth.h"

enum { FILES = 6, FDS = 12, STREAMS = 5 };

static char buf[200000] __attribute__((aligned(16)));
static int fds[FDS];
static FILE *streams[STREAMS];
static uint64_t state;

static unsigned any(unsigned below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (unsigned)(state >> 33) % below;
}

static const char *name(const char *kind)
{
	static char text[40];
	static const char *const form[] = { "%s%u", "./%s%u", ".//%s%u", "%s%u" };
	snprintf(text, sizeof text, form[any(4)], kind, any(FILES));
	return text;
}

static size_t size(void)
{
	static const unsigned limit[] = { 10, 100, 1000, 20000, 200000 - 16 };
	return any(limit[any(5)]);
}

static void on_descriptor(int *slot)
{
	int fd = *slot, off = (int)any(8);
	struct stat st;
	switch (any(13)) {
	case 0:
		t_close(fd);
		*slot = -1;
		break;
	case 1:
	case 2:
		(void)!t_read(fd, buf + off, size());
		break;
	case 3:
	case 4:
		(void)!t_write(fd, buf + off, size());
		break;
	case 5:
		(void)!t_pread(fd, buf, size(), any(1 << 20));
		break;
	case 6:
	case 7:
		(void)!t_pwrite(fd, buf, size(), any(1 << 20));
		break;
	case 8:
		t_lseek(fd, (off_t)any(1 << 20) - 1000, any(2) ? SEEK_SET : SEEK_CUR);
		break;
	case 9:
		m_fstat(fd, S_IFREG, fstat(fd, &st));
		break;
	case 10:
		m_fextra(fd, "TRUNCATES", ftruncate(fd, any(1 << 20)));
		break;
	case 11:
		m_sync(fd, "FDSYNCS", fdatasync(fd));
		break;
	default:
		for (int i = 0; i < FDS; i++)
			if (fds[i] < 0) {
				fds[i] = m_dup(fd, dup(fd));
				break;
			}
	}
}

static void on_stream(FILE **slot)
{
	FILE *f = *slot;
	long at;
	switch (any(8)) {
	case 0:
		t_fclose(f);
		*slot = NULL;
		break;
	case 1:
	case 2:
		t_fwrite(buf, 1 + any(5), any(3000), f);
		break;
	case 3:
		m_sio(f, 'w', fprintf(f, "%d and more", any(1000)));
		break;
	case 4:
		at = any(5000);
		m_sseek(f, at, fseek(f, at, SEEK_SET));
		break;
	case 5:
		m_flush(f, fflush(f));
		break;
	case 6:
		rewind(f);
		m_sseek(f, 0, 0);
		break;
	default: /* after a move one may read */
		rewind(f);
		m_sseek(f, 0, 0);
		t_fread(buf, 1 + any(5), any(3000), f);
		rewind(f);
		m_sseek(f, 0, 0);
	}
}

static void step(void)
{
	struct stat st;
	int i = (int)any(FDS), k = (int)any(STREAMS), mode = 0600 + (int)any(64);
	const char *path;
	switch (any(10)) {
	case 0:
		path = name("file");
		m_stat(AT_FDCWD, path, S_IFREG, stat(path, &st));
		break;
	case 1:
	case 2:
		if (!streams[k])
			streams[k] = t_fopen(name("stream"), any(2) ? "w+" : "a+");
		else
			on_stream(&streams[k]);
		break;
	default:
		if (fds[i] < 0)
			fds[i] = t_open(name("file"), O_RDWR | O_CREAT, mode);
		else
			on_descriptor(&fds[i]);
	}
}

int main(int argc, char **argv)
{
	long steps = argc > 2 ? strtol(argv[2], NULL, 10) : 1000;
	state = 88172645463325252u + (argc > 1 ? strtoul(argv[1], NULL, 10) : 1) * 7919;
	for (int i = 0; i < FDS; i++)
		fds[i] = -1;
	for (long i = 0; i < steps; i++)
		step();
	t_done();
	return 0;
}
