/* SPDX-License-Identifier: BSD-3-Clause */
#include "segs.h"

#include <fcntl.h>
#include <unistd.h>

#include "seg.h"
#include "unit.h"

static void write_file(const char *dir, const char *name, const void *bytes, size_t n)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_CREAT | O_EXCL | O_WRONLY, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, n), n);
	close(fd);
}

void segs_make(char *dir, size_t room, long bytes)
{
	static const char *const name[] = { "0.seg", "1.seg" };

	snprintf(dir, room, "/tmp/iorama-test-XXXXXX");
	assert_non_null(mkdtemp(dir));
	for (unsigned i = 0; i < 2; i++) {
		struct rama_core_posix_file *f;
		struct seg s;

		seg_make(&s, 6, 2, 2);
		s.id->pid = 100 + i;
		s.id->pid_start = 700 + i;
		s.id->clock.real0 += i;
		if (i == 1)
			s.state->phase = RAMA_SEG_RUNNING;
		f = seg_posix(&s, seg_name(&s, "/data/shared"));
		f->w[RAMA_TAB_POSIX_OPENS].i = 1;
		f->w[RAMA_TAB_POSIX_WRITES].i = 1;
		f->w[RAMA_TAB_POSIX_BYTES_WRITTEN].i = bytes;
		f->w[RAMA_TAB_POSIX_F_WRITE_TIME].u = SEG_SECOND;
		write_file(dir, name[i], s.bytes, s.size);
		seg_free(&s);
	}
}

void segs_spoil(const char *dir)
{
	write_file(dir, "2.seg", "nothing", 7);
}

void segs_remove(const char *dir)
{
	static const char *const name[] = { "0.seg", "1.seg", "2.seg" };
	char path[256];

	for (unsigned i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, name[i]);
		unlink(path);
	}
	assert_int_equal(rmdir(dir), 0); /* nothing else was left there */
}
