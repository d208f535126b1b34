/* SPDX-License-Identifier: BSD-3-Clause */
/* libaio.c: asynchronous I/O of the kernel by libaio: counted when its event is taken. */
#include "truth.h"

#include <libaio.h>

static char buf[8][4096];
static struct iovec v[2] = { { buf[6], 4096 }, { buf[7], 100 } };

int main(void)
{
	io_context_t ctx = NULL;
	struct iocb cb[6], *list[6];
	struct io_event event[6];
	int fd = t_open("libaio", O_RDWR | O_CREAT | O_TRUNC, 0644);
	MUST(t_pwrite(fd, buf, sizeof buf, 0) == sizeof buf);
	if (io_setup(8, &ctx) != 0)
		return 77;
	io_prep_pwrite(&cb[0], fd, buf[0], 4000, 100);
	io_prep_pread(&cb[1], fd, buf[1], 3000, 200);
	io_prep_pwritev(&cb[2], fd, v, 2, 8192);
	io_prep_preadv(&cb[3], fd, v, 1, 0);
	io_prep_fdsync(&cb[4], fd);
	for (int i = 0; i < 4; i++)
		list[i] = &cb[i];
	MUST(io_submit(ctx, 2, list) == 2 && io_submit(ctx, 2, list + 2) == 2);
	for (int got = 0; got < 4;) {
		int n = io_getevents(ctx, 1, 4, event, NULL);
		MUST(n > 0);
		for (int i = 0; i < n; i++) {
			int k = (int)(event[i].obj - cb);
			m_rw(fd, k % 2 ? 'r' : 'w', (off_t[]){ 100, 200, 8192, 0 }[k],
			     (ssize_t)event[i].res, NULL, T_AIO);
		}
		got += n;
	}
	t_any_order("libaio"); /* the kernel may finish them in any order */
	MUST(io_destroy(ctx) == 0);
	t_close(fd);
	t_done();
	return 0;
}
