/* SPDX-License-Identifier: BSD-3-Clause */
/* map.c: files mapped into memory. */
#include "truth.h"

#include <sys/mman.h>

int main(void)
{
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
