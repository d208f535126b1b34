/* SPDX-License-Identifier: BSD-3-Clause */
/* aio.c: asynchronous I/O of POSIX: counted when its result is taken. */
#include "truth.h"

#include <aio.h>
#include <signal.h>

static char buf[8][4096];

static struct aiocb block(int fd, int i, off_t off, size_t n, int op)
{
	struct aiocb cb = { .aio_fildes = fd,
			    .aio_buf = buf[i],
			    .aio_offset = off,
			    .aio_nbytes = n,
			    .aio_lio_opcode = op };
	cb.aio_sigevent.sigev_notify = SIGEV_NONE;
	return cb;
}

static ssize_t take(struct aiocb *cb, char kind)
{
	const struct aiocb *list[1] = { cb };
	while (aio_error(cb) == EINPROGRESS)
		aio_suspend(list, 1, NULL);
	return m_rw(cb->aio_fildes, kind, cb->aio_offset, aio_return(cb), (const void *)cb->aio_buf,
		    T_AIO);
}

static void lists(int fd)
{
	struct aiocb cb[4], *list[4];
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 4; i++) {
			cb[i] = block(fd, i, i * 4096, 1000 + (size_t)i,
				      i % 2 ? LIO_READ : LIO_WRITE);
			list[i] = &cb[i];
		}
		MUST(lio_listio(round ? LIO_NOWAIT : LIO_WAIT, list, 4, NULL) == 0);
		for (int i = 0; i < 4; i++)
			MUST(take(&cb[i], i % 2 ? 'r' : 'w') > 0);
	}
}

/* more at one time than any table has places */
static void flood(int fd)
{
	enum { MANY = 700 };
	static struct aiocb cb[MANY];
	for (int i = 0; i < MANY; i++) {
		cb[i] = block(fd, i % 8, i * 4096, 512, 0);
		MUST(aio_write(&cb[i]) == 0);
	}
	for (int i = 0; i < MANY; i++)
		MUST(take(&cb[i], 'w') == 512);
}

int main(void)
{
	int fd = t_open("aio", O_RDWR | O_CREAT | O_TRUNC, 0644);
	MUST(t_pwrite(fd, buf, sizeof buf, 0) == sizeof buf);
	struct aiocb w = block(fd, 0, 100, 4000, 0), r = block(fd, 1, 200, 3000, 0);
	MUST(aio_write(&w) == 0 && take(&w, 'w') == 4000);
	MUST(aio_read(&r) == 0 && take(&r, 'r') == 3000);
	struct aiocb64 w64 = { .aio_fildes = fd,
			       .aio_buf = buf[2],
			       .aio_offset = 50,
			       .aio_nbytes = 10,
			       .aio_sigevent.sigev_notify = SIGEV_NONE };
	MUST(aio_write64(&w64) == 0);
	while (aio_error64(&w64) == EINPROGRESS)
		usleep(100);
	MUST(m_rw(fd, 'w', 50, aio_return64(&w64), buf[2], T_AIO) == 10);
	lists(fd);
	flood(fd);
	/* a failing one */
	struct aiocb bad = block(fd, 0, -5, 10, 0);
	if (aio_read(&bad) == 0)
		MUST(take(&bad, 'r') < 0);
	else
		m_fextra(fd, "READS_FAILED", 0);
	t_close(fd);
	t_done();
	return 0;
}
