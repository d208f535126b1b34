/* SPDX-License-Identifier: BSD-3-Clause */
/* pack.c: what is packed comes out as it went in; what is cut or damaged is left out, and nothing
 * else. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gather/pack.h"
#include "unit.h"

enum { FILES = 5, SIZE = 300000 };

static char dir[64];

static unsigned char *make_file(int i, int *fd)
{
	static const size_t at[] = { 0, 4095, 8192, 100000, 100063, 131072, SIZE - 1 };
	unsigned char *bytes = calloc(1, SIZE);
	char name[] = "/tmp/iorama-unit-XXXXXX";

	for (size_t k = 0; k < LENGTH(at); k++)
		bytes[at[k]] = (unsigned char)(i + 1 + (int)k);
	*fd = mkstemp(name);
	assert_true(*fd >= 0);
	unlink(name);
	assert_int_equal(ftruncate(*fd, SIZE), 0);
	for (size_t k = 0; k < LENGTH(at); k++) /* with holes between */
		assert_int_equal(pwrite(*fd, bytes + at[k], 1, (off_t)at[k]), 1);
	return bytes;
}

static void make_pack(unsigned char *bytes[FILES])
{
	struct rama_gather_pack p;
	struct rama_err e = { 0 };

	memcpy(dir, "/tmp/iorama-unit-XXXXXX", 24);
	assert_non_null(mkdtemp(dir));
	assert_int_equal(rama_gather_pack_create(&p, dir, &e), 0);
	for (int i = 0; i < FILES; i++) {
		char name[16];
		int fd;

		bytes[i] = make_file(i, &fd);
		snprintf(name, sizeof(name), "h.%d.0.seg", i);
		assert_int_equal(rama_gather_pack_add(&p, fd, name, &e), 0);
		close(fd);
	}
	rama_gather_pack_close(&p);
}

static size_t listed(struct rama_gather_list *list)
{
	struct rama_err e = { 0 };

	assert_int_equal(rama_gather_find(list, dir, &e), 0);
	return list->n;
}

static void remove_pack(unsigned char *bytes[FILES])
{
	char path[96];

	for (int i = 0; i < FILES; i++)
		free(bytes[i]);
	snprintf(path, sizeof(path), "%s/" RAMA_GATHER_PACK, dir);
	unlink(path);
	assert_int_equal(rmdir(dir), 0);
}

/* in pieces of odd sizes */
static void same_bytes(const char *path, const unsigned char *bytes)
{
	struct rama_gather_segment_file f;
	struct rama_err e = { 0 };
	unsigned char buf[70001];

	assert_true(rama_gather_is_packed(path));
	assert_int_equal(rama_gather_file_open(&f, path, &e), 0);
	assert_int_equal(f.src.size, SIZE);
	for (size_t step = 1; step <= sizeof(buf); step = step * 7 + 1)
		for (size_t at = 0; at < SIZE; at += step < 64 ? 997 : step) {
			size_t n = step < SIZE - at ? step : SIZE - at;

			assert_int_equal(f.src.read(f.src.ctx, at, buf, n, &e), 0);
			assert_memory_equal(buf, bytes + at, n);
		}
	rama_gather_file_close(&f);
}

static void comes_out_as_it_went_in(void **st)
{
	unsigned char *bytes[FILES];
	struct rama_gather_list list;

	(void)st;
	make_pack(bytes);
	assert_int_equal(listed(&list), FILES);
	for (int i = 0; i < FILES; i++)
		same_bytes(list.path[i], bytes[i]);
	rama_gather_list_fini(&list);
	remove_pack(bytes);
}

/* the file was found, and was packed before it was opened */
static void found_where_it_went(void **st)
{
	unsigned char *bytes[FILES];
	struct rama_gather_segment_file f;
	struct rama_err e = { 0 };
	unsigned char got[SIZE];
	char path[96];

	(void)st;
	make_pack(bytes);
	for (int i = 0; i < FILES; i++) {
		snprintf(path, sizeof(path), "%s/h.%d.0.seg", dir, i);
		assert_int_equal(rama_gather_file_open(&f, path, &e), 0);
		assert_int_equal(f.src.read(f.src.ctx, 0, got, SIZE, &e), 0);
		assert_memory_equal(got, bytes[i], SIZE);
		rama_gather_file_close(&f);
	}
	snprintf(path, sizeof(path), "%s/h.%d.0.seg", dir, FILES);
	assert_int_equal(rama_gather_file_open(&f, path, &e), RAMA_EMISSING);
	remove_pack(bytes);
}

static unsigned char *read_pack(size_t *n)
{
	unsigned char *all = malloc(1 << 20);
	char path[96];
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "%s/" RAMA_GATHER_PACK, dir);
	fd = open(path, O_RDONLY);
	got = read(fd, all, 1 << 20);
	close(fd);
	assert_true(got > 0 && got < 1 << 20);
	*n = (size_t)got;
	return all;
}

/* at every length, and with every byte changed */
static void cut_and_damaged(void **st)
{
	unsigned char *bytes[FILES], *all;
	size_t n;
	int before = 0;

	(void)st;
	make_pack(bytes);
	all = read_pack(&n);
	for (size_t len = 0; len <= n; len++) {
		int good = rama_gather_pack_check(all, len);

		assert_true(good >= before && good <= FILES);
		before = good;
	}
	assert_int_equal(before, FILES);
	for (size_t i = 0; i < n; i++) {
		all[i] ^= 0x41;
		assert_true(rama_gather_pack_check(all, n) <= FILES);
		all[i] ^= 0x41;
	}
	all[n - 1] ^= 1; /* within the last one */
	assert_int_equal(rama_gather_pack_check(all, n), FILES - 1);
	free(all);
	remove_pack(bytes);
}

static void large_ones_stay(void **st)
{
	struct rama_gather_pack p;
	struct rama_err e = { 0 };
	char name[] = "/tmp/iorama-unit-XXXXXX", *page = malloc(1 << 20);
	int fd = mkstemp(name);

	(void)st;
	unlink(name);
	memset(page, 1, 1 << 20);
	for (int i = 0; i < 17; i++)
		assert_int_equal(write(fd, page, 1 << 20), 1 << 20);
	memcpy(dir, "/tmp/iorama-unit-XXXXXX", 24);
	assert_non_null(mkdtemp(dir));
	assert_int_equal(rama_gather_pack_create(&p, dir, &e), 0);
	assert_int_equal(rama_gather_pack_add(&p, fd, "h.1.0.seg", &e), RAMA_ELIMIT);
	rama_gather_pack_close(&p);
	close(fd);
	free(page);
	remove_pack((unsigned char *[FILES]){ NULL });
}

static void names(void **st)
{
	(void)st;
	assert_true(rama_gather_is_packed("/dev/shm/x/ended.pack/17/h.1.0.seg"));
	assert_false(rama_gather_is_packed("/dev/shm/x/h.1.0.seg"));
	assert_false(rama_gather_is_packed("/dev/shm/x/17/h.1.0.seg"));
	assert_false(rama_gather_is_packed("/dev/shm/xended.pack/17/h.1.0.seg"));
	assert_false(rama_gather_is_packed("17/h.1.0.seg"));
	assert_false(rama_gather_is_packed("h.1.0.seg"));
}

UNIT_GROUP(pack, test(comes_out_as_it_went_in), test(found_where_it_went), test(cut_and_damaged),
	   test(large_ones_stay), test(names))
