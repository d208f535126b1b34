/* SPDX-License-Identifier: BSD-3-Clause */
/* mapped.c: segments in files: what is mapped and what is refused, who may read, switches, and
 * files that shrink. */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ringwriter.h"
#include "unit.h"

static char folder[64], path[96];

static void write_file(const char *name, const void *bytes, size_t n)
{
	FILE *f = fopen(name, "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
}

/* a segment in a file, and that file in memory as its process has it */
static void begin(struct seg *s)
{
	int fd;

	strcpy(folder, "/tmp/iorama-unit-XXXXXX"); /* NOLINT: it fits */
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/a.seg", folder);
	seg_make_sized(s, &(struct seg_sizes){ 2, 2, 1, 4096, 0 });
	seg_lane(s, 1);
	write_file(path, s->bytes, s->size);
	free(s->bytes);
	fd = open(path, O_RDWR);
	s->bytes = mmap(NULL, s->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(s->bytes != MAP_FAILED);
	close(fd);
	s->head = (void *)s->bytes;
	s->id = seg_area(s, RAMA_SEG_AREA_IDENTITY);
	s->state = seg_area(s, RAMA_SEG_AREA_STATE);
	s->control = seg_area(s, RAMA_SEG_AREA_CONTROL);
}

static void end(struct seg *s)
{
	munmap(s->bytes, s->size);
	unlink(path);
	assert_int_equal(rmdir(folder), 0);
}

static void reading_takes_turns(void **st)
{
	struct rama_seg_mapped one, two;
	struct rama_seg_event to[8];
	struct rama_err e = { 0 };
	struct seg s;
	uint32_t tid;

	(void)st;
	begin(&s);
	for (unsigned i = 0; i < 5; i++)
		assert_true(ring_put(&s, 0));
	assert_int_equal(rama_seg_mapped_open(&one, path, (uint32_t)getuid(), true, &e), 0);
	assert_int_equal(rama_seg_ring_read(&one, 0, 0, to, 8, &tid), 5);
	assert_true(ring_put(&s, 0));
	assert_int_equal(rama_seg_ring_read(&one, 0, 0, to, 8, &tid), 6);
	one.control->reader = 4711;
	rama_seg_ring_give_back(&one, 0, 6);
	assert_int_equal(s.control->taken[0], 6);
	assert_int_equal(rama_seg_mapped_open(&two, path, UINT32_MAX, true, &e), RAMA_EIO);
	assert_non_null(strstr(e.text, "process 4711"));
	assert_int_equal(rama_seg_mapped_open(&two, path, UINT32_MAX, false, &e),
			 0); /* looking is free */
	assert_int_equal(two.fd, -1);
	assert_null(two.control);
	rama_seg_ring_give_back(&two, 0, 7);
	assert_int_equal(s.control->taken[0], 6);
	rama_seg_mapped_close(&two);
	rama_seg_mapped_close(&one);
	assert_int_equal(rama_seg_mapped_open(&two, path, UINT32_MAX, true, &e), 0);
	rama_seg_mapped_close(&two);
	end(&s);
}

static void switches_need_no_lock(void **st)
{
	struct rama_seg_switch was;
	struct rama_seg_mapped m;
	struct rama_err e = { 0 };
	struct seg s;

	(void)st;
	begin(&s);
	s.control->trace = 3;
	assert_int_equal(rama_seg_mapped_open(&m, path, UINT32_MAX, true, &e), 0);
	assert_int_equal(
		rama_seg_mapped_switch(path, UINT32_MAX,
				       &(struct rama_seg_switch){ .set_live = true, .live = 5 },
				       &was, &e),
		0);
	assert_int_equal(was.live, 0);
	assert_int_equal(was.trace, 3);
	assert_int_equal(s.control->live, 5);
	assert_int_equal(s.control->trace, 3);
	/* lent: until then; switched once more, for good */
	{
		struct rama_seg_switch to = { .set_live = true, .live = 5, .live_until = 77 };

		assert_int_equal(rama_seg_mapped_switch(path, UINT32_MAX, &to, &was, &e), 0);
		assert_int_equal(s.control->live_until, 77);
		to.live_until = 0;
		assert_int_equal(rama_seg_mapped_switch(path, UINT32_MAX, &to, &was, &e), 0);
		assert_int_equal(was.live_until, 77);
		assert_int_equal(s.control->live_until, 0);
	}
	assert_int_equal(
		rama_seg_mapped_switch(path, UINT32_MAX,
				       &(struct rama_seg_switch){ .set_trace = true, .trace = 0 },
				       NULL, &e),
		0);
	assert_int_equal(s.control->trace, 0);
	assert_int_equal(rama_seg_mapped_switch(path, UINT32_MAX, &(struct rama_seg_switch){ 0 },
						&was, NULL),
			 0);
	assert_int_equal(was.live, 5);
	assert_int_equal(rama_seg_mapped_switch("/nowhere/x", 0, &(struct rama_seg_switch){ 0 },
						&was, &e),
			 RAMA_EMISSING);
	rama_seg_mapped_close(&m);
	end(&s);
}

static void refuse(const char *name, uint32_t uid, int code, const char *word)
{
	struct rama_seg_mapped m;
	struct rama_err e = { 0 };

	for (int to_read = 0; to_read < 2; to_read++) {
		assert_int_equal(rama_seg_mapped_open(&m, name, uid, to_read, &e), code);
		assert_non_null(strstr(e.text, word));
		assert_non_null(strstr(e.text, name));
		assert_null(m.base);
	}
	assert_int_equal(rama_seg_mapped_switch(name, uid,
						&(struct rama_seg_switch){ .set_live = true }, NULL,
						&e),
			 code);
}

static void what_is_no_segment_is_refused(void **st)
{
	char other[160], text[sizeof(struct rama_seg_header) + 100];
	struct seg s;

	(void)st;
	begin(&s);
	snprintf(other, sizeof(other), "%s/other", folder);
	refuse(other, UINT32_MAX, RAMA_EMISSING, "No such file");
	assert_int_equal(symlink(path, other), 0);
	refuse(other, UINT32_MAX, RAMA_EIO, "is a link");
	unlink(other);
	assert_int_equal(mkfifo(other, 0600), 0);
	refuse(other, UINT32_MAX, RAMA_EFORMAT, "is no file");
	unlink(other);
	refuse(path, (uint32_t)getuid() + 1, RAMA_EFORMAT, "belongs to user");
	write_file(other, text, 10);
	refuse(other, UINT32_MAX, RAMA_ETRUNC, "ends within");
	memset(text, 'x', sizeof(text));
	write_file(other, text, sizeof(text));
	refuse(other, UINT32_MAX, RAMA_EFORMAT, "not a segment");
	write_file(other, s.bytes, RAMA_SEG_PAGE + 10);
	refuse(other, UINT32_MAX, RAMA_ETRUNC, "ends before");
	unlink(other);
	end(&s);
}

/* in a child: a handler for SIGBUS is not for the other tests */
static int read_shrunk(struct seg *s)
{
	struct rama_seg_mapped m, whole;
	struct rama_seg_ring_state state;
	struct rama_seg_event to[8];
	struct rama_err e = { 0 };
	uint32_t tid;

	if (rama_seg_mapped_guard() != 0 || rama_seg_mapped_guard() != 0 ||
	    rama_seg_mapped_open(&m, path, UINT32_MAX, true, &e) != 0 || rama_seg_mapped_gone(&m))
		return 1;
	if (truncate(path, RAMA_SEG_PAGE) != 0)
		return 2;
	rama_seg_ring_read(&m, 0, 0, to, 8, &tid);
	rama_seg_ring_state(&m, 0, &state);
	rama_seg_ring_give_back(&m, 0, 3); /* the other mapping */
	if (!rama_seg_mapped_gone(&m) || rama_seg_refresh(&m.seg, &e) != RAMA_ETRUNC)
		return 3;
	rama_seg_mapped_close(&m);
	/* its place serves another one, which is whole, if empty */
	if (truncate(path, (off_t)s->size) != 0 ||
	    rama_seg_mapped_open(&whole, path, UINT32_MAX, true, &e) != 0 ||
	    rama_seg_mapped_gone(&whole))
		return 4;
	rama_seg_mapped_close(&whole);
	return 0;
}

static void a_file_that_shrinks_does_no_harm(void **st)
{
	struct seg s;
	int status = 0;
	pid_t child;

	(void)st;
	begin(&s);
	assert_true(ring_put(&s, 0));
	fflush(NULL);
	child = fork();
	if (child == 0)
		_exit(read_shrunk(&s));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	end(&s);
}

UNIT_GROUP(mapped, test(reading_takes_turns), test(switches_need_no_lock),
	   test(what_is_no_segment_is_refused), test(a_file_that_shrinks_does_no_harm))
