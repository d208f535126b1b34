/* SPDX-License-Identifier: BSD-3-Clause */
/* slots.c: copies of slots are whole, whatever their owner does meanwhile. */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"
#include "seg.h"
#include "segment/segment.h"
#include "unit.h"

static void torn_slots_are_told(void **st)
{
	static const uint32_t phases[] = { RAMA_SEG_RUNNING, RAMA_SEG_DONE };
	struct rama_seg *s = malloc(sizeof(*s));

	(void)st;
	for (size_t i = 0; i < LENGTH(phases); i++) {
		struct rama_core_posix_file copy;
		struct rama_source src;
		struct rama_err e;
		struct seg seg;
		struct rama_core_posix_file *f;

		seg_make(&seg, 4, 0, 0);
		f = seg_posix(&seg, seg_name(&seg, "/a"));
		f->w[RAMA_TAB_POSIX_OPENS].i = 17;
		f->seq = 8;
		seg.state->phase = phases[i];
		rama_source_memory(&src, seg.bytes, seg.size);
		assert_int_equal(rama_seg_open(s, &src, &e), 0);
		assert_int_equal(rama_seg_slot(s, RAMA_SEG_KIND_POSIX, 1, &copy, &e), 1);
		assert_int_equal(copy.w[RAMA_TAB_POSIX_OPENS].i, 17);
		f->seq = 9; /* its owner died in the middle of a change */
		assert_int_equal(rama_seg_slot(s, RAMA_SEG_KIND_POSIX, 1, &copy, &e), 0);
		assert_int_equal(copy.w[RAMA_TAB_POSIX_OPENS].i, 17);
		f->seq = 10; /* and another thread gave up on it */
		f->stuck = 1;
		assert_int_equal(rama_seg_slot(s, RAMA_SEG_KIND_POSIX, 1, &copy, &e), 0);
		seg_free(&seg);
	}
	free(s);
}

/* ---- a process that goes on ------------------------------------------------------------------ */

/* the segment as a file that one thread maps and another reads */
struct live {
	struct rama_core_posix_file *f;
	atomic_bool stop;
	uint64_t changes;
};

static uint32_t *seq_of(struct live *l)
{
	return &l->f->seq;
}

/* Every change sets all counters to the same number, in the way of the library. */
static void *change(void *arg)
{
	struct live *l = arg;

	while (!atomic_load(&l->stop)) {
		uint32_t seq = __atomic_load_n(seq_of(l), __ATOMIC_RELAXED);

		__atomic_store_n(seq_of(l), seq + 1, __ATOMIC_RELAXED);
		__sync_synchronize(); /* the thread sanitizer knows no lighter fence */
		l->changes++;
		for (unsigned i = RAMA_TAB_POSIX_OPENS; i < RAMA_TAB_POSIX__WORDS; i++)
			__atomic_store_n(&l->f->w[i].u, l->changes, __ATOMIC_RELAXED);
		__atomic_store_n(seq_of(l), seq + 2, __ATOMIC_RELEASE);
		for (unsigned i = 0; i < 200; i++)
			__asm__ volatile("");
	}
	return NULL;
}

static void copies_are_whole(void **st)
{
	char path[] = "/tmp/iorama-test-XXXXXX";
	int fd = mkstemp(path);
	struct live l = { 0 };
	struct rama_seg *s = malloc(sizeof(*s));
	uint64_t last = 0, good = 0;
	struct rama_file file;
	struct rama_err e;
	pthread_t thread;
	struct seg seg;
	void *map;

	(void)st;
	seg_make(&seg, 4, 0, 0);
	seg_posix(&seg, seg_name(&seg, "/a"));
	seg.state->phase = RAMA_SEG_RUNNING;
	assert_int_equal(write(fd, seg.bytes, seg.size), seg.size);
	map = mmap(NULL, seg.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(map != MAP_FAILED);
	l.f = (void *)((char *)map +
		       ((unsigned char *)seg_slot(&seg, RAMA_SEG_KIND_POSIX, 1) - seg.bytes));
	assert_int_equal(rama_file_open(&file, path, &e), 0);
	unlink(path);
	assert_int_equal(rama_seg_open(s, &file.src, &e), 0);
	assert_int_equal(pthread_create(&thread, NULL, change, &l), 0);
	for (unsigned n = 0; n < 20000; n++) {
		struct rama_core_posix_file copy;
		int rc = rama_seg_slot(s, RAMA_SEG_KIND_POSIX, 1, &copy, &e);

		assert_true(rc >= 0);
		if (rc == 0) /* allowed, but then it says so */
			continue;
		good++;
		assert_true(copy.seq % 2 == 0);
		assert_true(copy.w[RAMA_TAB_POSIX_OPENS].u >= last);
		last = copy.w[RAMA_TAB_POSIX_OPENS].u;
		for (unsigned i = RAMA_TAB_POSIX_OPENS; i < RAMA_TAB_POSIX__WORDS && last > 0; i++)
			assert_int_equal(copy.w[i].u, last);
	}
	atomic_store(&l.stop, true);
	pthread_join(thread, NULL);
	assert_true(good > 10000 && last > 0);
	munmap(map, seg.size);
	rama_file_close(&file);
	close(fd);
	seg_free(&seg);
	free(s);
}

UNIT_GROUP(slots, test(torn_slots_are_told), test(copies_are_whole))
