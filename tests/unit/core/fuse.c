/* SPDX-License-Identifier: BSD-3-Clause */
/* fuse.c: messages as the kernel's own header lays them out are understood. */
#include "core/foreign/fuse.h"

#include <linux/fuse.h>

#include "table/fn.h"
#include "unit.h"

static void rows_have_the_numbers_of_the_kernel(void **state)
{
	static const struct {
		uint32_t opcode;
		uint16_t fn;
	} is[] = { { FUSE_LOOKUP, RAMA_TAB_FN_fuse_lookup },
		   { FUSE_GETATTR, RAMA_TAB_FN_fuse_getattr },
		   { FUSE_SETATTR, RAMA_TAB_FN_fuse_setattr },
		   { FUSE_MKDIR, RAMA_TAB_FN_fuse_mkdir },
		   { FUSE_UNLINK, RAMA_TAB_FN_fuse_unlink },
		   { FUSE_RENAME, RAMA_TAB_FN_fuse_rename },
		   { FUSE_OPEN, RAMA_TAB_FN_fuse_open },
		   { FUSE_READ, RAMA_TAB_FN_fuse_read },
		   { FUSE_WRITE, RAMA_TAB_FN_fuse_write },
		   { FUSE_STATFS, RAMA_TAB_FN_fuse_statfs },
		   { FUSE_RELEASE, RAMA_TAB_FN_fuse_release },
		   { FUSE_FSYNC, RAMA_TAB_FN_fuse_fsync },
		   { FUSE_SETXATTR, RAMA_TAB_FN_fuse_setxattr },
		   { FUSE_GETXATTR, RAMA_TAB_FN_fuse_getxattr },
		   { FUSE_FLUSH, RAMA_TAB_FN_fuse_flush },
		   { FUSE_OPENDIR, RAMA_TAB_FN_fuse_opendir },
		   { FUSE_READDIR, RAMA_TAB_FN_fuse_readdir },
		   { FUSE_GETLK, RAMA_TAB_FN_fuse_getlk },
		   { FUSE_SETLK, RAMA_TAB_FN_fuse_setlk },
		   { FUSE_SETLKW, RAMA_TAB_FN_fuse_setlkw },
		   { FUSE_ACCESS, RAMA_TAB_FN_fuse_access },
		   { FUSE_CREATE, RAMA_TAB_FN_fuse_create },
		   { FUSE_FALLOCATE, RAMA_TAB_FN_fuse_fallocate },
		   { FUSE_READDIRPLUS, RAMA_TAB_FN_fuse_readdirplus },
		   { FUSE_LSEEK, RAMA_TAB_FN_fuse_lseek },
		   { FUSE_COPY_FILE_RANGE, RAMA_TAB_FN_fuse_copy_file_range },
		   { FUSE_FORGET, RAMA_TAB_FN_NONE },
		   { FUSE_INTERRUPT, RAMA_TAB_FN_NONE },
		   { FUSE_BATCH_FORGET, RAMA_TAB_FN_NONE } };

	(void)state;
	for (size_t i = 0; i < LENGTH(is); i++) {
		struct fuse_in_header h = { .len = sizeof(h), .opcode = is[i].opcode, .unique = 2 };
		struct rama_core_fuse_request r;

		assert_true(rama_core_fuse_request(&r, (const void *)&h, sizeof(h), sizeof(h)));
		assert_int_equal(r.fn, is[i].fn);
	}
}

struct write {
	struct fuse_in_header h;
	struct fuse_write_in w;
};

static void requests_are_read(void **state)
{
	struct write m = { .h = { .len = sizeof(m) + 4096,
				  .opcode = FUSE_WRITE,
				  .unique = 88,
				  .nodeid = 5,
				  .pid = 4711 },
			   .w = { .offset = 1 << 20, .size = 4096 } };
	struct rama_core_fuse_request r;

	(void)state;
	assert_true(sizeof(m) >= RAMA_CORE_FUSE_IN);
	assert_true(
		rama_core_fuse_request(&r, (const void *)&m, RAMA_CORE_FUSE_IN, sizeof(m) + 4096));
	assert_true(r.unique == 88 && r.node == 5 && r.tid == 4711);
	assert_true(r.off == 1 << 20 && r.bytes == 4096);
	assert_int_equal(r.kind, RAMA_TAB_OP_WRITE);
	/* not as long as it says; cut; nobody's */
	assert_false(rama_core_fuse_request(&r, (const void *)&m, RAMA_CORE_FUSE_IN, sizeof(m)));
	assert_false(rama_core_fuse_request(&r, (const void *)&m, 39, sizeof(m) + 4096));
	m.h.unique = 0;
	assert_false(
		rama_core_fuse_request(&r, (const void *)&m, RAMA_CORE_FUSE_IN, sizeof(m) + 4096));
}

static void answers_are_read(void **state)
{
	struct {
		struct fuse_out_header h;
		struct fuse_write_out w;
	} m = { .h = { .len = sizeof(m), .unique = 88 }, .w = { .size = 77 } };
	struct rama_core_fuse_answer a;
	const unsigned char *p = (const void *)&m;

	(void)state;
	assert_true(rama_core_fuse_answer(&a, RAMA_TAB_OP_WRITE, p, sizeof(m), sizeof(m)));
	assert_true(a.ok && a.unique == 88 && a.bytes == 77);
	m.h.len = 16 + 4096;
	assert_true(rama_core_fuse_answer(&a, RAMA_TAB_OP_READ, p, sizeof(m), 16 + 4096));
	assert_int_equal(a.bytes, 4096);
	m.h.error = -5;
	assert_true(rama_core_fuse_answer(&a, RAMA_TAB_OP_READ, p, sizeof(m), 16 + 4096));
	assert_true(!a.ok && a.bytes == 0);
	assert_false(rama_core_fuse_answer(&a, RAMA_TAB_OP_READ, p, 15, 15));
}

UNIT_GROUP(fuse, test(rows_have_the_numbers_of_the_kernel), test(requests_are_read),
	   test(answers_are_read))
