/* SPDX-License-Identifier: BSD-3-Clause */
/* map.c: files mapped into memory. */
#include "truth.h"

#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>

static long faults(void)
{
	struct rusage used;

	MUST(getrusage(RUSAGE_SELF, &used) == 0);
	return used.ru_majflt;
}

/* pages that are on disk only, where the file system lets them go: a fault for each */
static void touch(void)
{
	char *a, text[32];
	long before, sum = 0;
	int fd = t_open("pages", O_RDWR | O_CREAT | O_TRUNC, 0644);
	static char page[4096];

	for (int i = 0; i < 64; i++)
		t_write(fd, page, sizeof(page));
	MUST(m_sync(fd, "FSYNCS", fsync(fd)) == 0);
	MUST(m_fextra(fd, "ADVISES", posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED)) == 0);
	a = mmap(NULL, 64 * sizeof(page), PROT_READ, MAP_SHARED, fd, 0);
	MUST(a != MAP_FAILED && madvise(a, 64 * sizeof(page), MADV_RANDOM) == 0);
	m_mmap(fd, 64 * sizeof(page));
	before = faults();
	for (int i = 0; i < 64; i++)
		sum += ((volatile char *)a)[i * sizeof(page)];
	MUST(sum == 0);
	snprintf(text, sizeof(text), "%ld", faults() - before);
	t_note("faults", text);
	t_close(fd);
}

int main(void)
{
	touch();
	int fd = t_open("mapped", O_RDWR | O_CREAT | O_TRUNC, 0644);
	MUST(m_fextra(fd, "TRUNCATES", ftruncate(fd, 65536)) == 0);
	char *a = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	MUST(a != MAP_FAILED);
	m_mmap(fd, 65536);
	char *b = mmap64(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 8192);
	MUST(b != MAP_FAILED);
	m_mmap(fd, 4096);
	memset(a, 1, 4096);
	/* belongs to the file whose mapping it is, even when its descriptor is gone */
	MUST(m_fextra(fd, "MSYNCS", msync(a, 65536, MS_SYNC)) == 0);
	MUST(m_fextra(fd, "MSYNCS", msync(a + 4096, 4096, MS_ASYNC)) == 0);
	t_close(fd);
	MUST(munmap(a, 65536) == 0 && munmap(b, 4096) == 0);
	/* no file */
	a = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	MUST(a != MAP_FAILED && munmap(a, 65536) == 0);
	MUST(mmap(NULL, 4096, PROT_READ, MAP_SHARED, 999, 0) == MAP_FAILED && errno == EBADF);
	t_done();
	return 0;
}
