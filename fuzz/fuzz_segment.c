/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_segment.c: a segment with the input's changes in it is read and becomes a log; nothing
 * may be wrong with that log. Flags: 1 the rest of the input is the whole segment; 2 the file is
 * cut, the length in units of 16 bytes follows (2 bytes); 4 its process did not end. Then
 * changes, any number: area (255: the header; 32 and up: a chunk of the records), place in it (2
 * bytes), length, bytes. */
#include <stdlib.h>
#include <string.h>

#include "core/h5d.h"
#include "core/h5f.h"
#include "fuzz.h"
#include "gather/gather.h"
#include "seg.h"

#define CHUNKS 32

/* a slot of each of the other kinds */
static void higher_layers(struct seg *s, uint32_t name)
{
	static const unsigned kinds[] = { RAMA_SEG_KIND_MPIIO,	     RAMA_SEG_KIND_H5F,
					  RAMA_SEG_KIND_H5D,	     RAMA_SEG_KIND_PNETCDF_FILE,
					  RAMA_SEG_KIND_PNETCDF_VAR, RAMA_SEG_KIND_LUSTRE };
	struct rama_core_slot *slot[RAMA_SEG_KINDS];

	for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		slot[kinds[i]] = seg_slot_take(s, kinds[i]);
	rama_core_mpiio_init((void *)slot[RAMA_SEG_KIND_MPIIO], 1);
	rama_core_h5f_init((void *)slot[RAMA_SEG_KIND_H5F], 1);
	rama_core_h5d_init((void *)slot[RAMA_SEG_KIND_H5D], 1, 1, 0);
	rama_core_pnetcdf_file_init((void *)slot[RAMA_SEG_KIND_PNETCDF_FILE], 1);
	rama_core_pnetcdf_var_init((void *)slot[RAMA_SEG_KIND_PNETCDF_VAR], 1, 1);
	rama_core_lustre_init((void *)slot[RAMA_SEG_KIND_LUSTRE], 1);
	for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		slot[kinds[i]]->name = name;
}

static const struct seg *base_segment(void)
{
	static struct seg s;
	struct rama_core_op op = {
		.kind = RAMA_TAB_OP_WRITE, .ok = true, .bytes = 4096, .t0 = 1000, .t1 = 2000
	};
	struct rama_seg_chunk *c;
	uint32_t a, b;

	if (s.bytes != NULL)
		return &s;
	seg_make_sized(&s, &(struct seg_sizes){ 5, 2, 2, 0, RAMA_SEG_POOL_LEAST });
	a = seg_name(&s, "/data/a");
	b = seg_name(&s, "/data/b");
	seg_stdio(&s, seg_name(&s, "<STDOUT>"), true);
	rama_core_posix_apply(seg_posix(&s, a), &op);
	rama_core_posix_apply(seg_posix(&s, b), &op);
	rama_core_stdio_apply(seg_stdio(&s, b, false), &op);
	seg_extra(&s, a)->w[RAMA_TAB_EXTRA_STATS].i = 1;
	higher_layers(&s, a);
	rama_core_heat_add(&seg_lane(&s, 1)->heat[0], 0, 4096, 1000, 2000);
	rama_core_heat_add(&seg_lane(&s, 2)->heat[1], 1, 4096, SEG_SECOND, 2 * SEG_SECOND);
	for (unsigned k = 0; k < 2; k++) {
		c = seg_chunk(&s, 1 + k);
		for (unsigned i = 0; i < 6; i++)
			seg_event(c, (struct rama_seg_event){ .start = 100 * (i + 1) + k,
							      .length = 7,
							      .off = 10 * i,
							      .bytes = 10,
							      .name = i % 2 ? a : b,
							      .layer = i % 3 == 2,
							      .kind = i % 2 ? RAMA_TAB_OP_READ
									    : RAMA_TAB_OP_WRITE });
	}
	return &s;
}

static size_t place_of(const struct seg *s, uint8_t a)
{
	const struct rama_seg_area_get *records = &s->head->area[RAMA_SEG_AREA_RECORDS];

	if (a >= CHUNKS && a < 255)
		return (size_t)records->off + (size_t)(a - CHUNKS) * records->item;
	return a < RAMA_SEG_AREAS ? (size_t)s->head->area[a].off : 0;
}

static void change(unsigned char *bytes, const struct seg *s, struct fuzz_input *in)
{
	while (in->n > 0) {
		uint8_t a = fuzz_take_byte(in);
		size_t at = fuzz_take_u16(in) + place_of(s, a);
		struct fuzz_input with = fuzz_take(in, fuzz_take_byte(in));

		if (with.n > 0 && at < s->size)
			memcpy(bytes + at, with.p, with.n < s->size - at ? with.n : s->size - at);
	}
}

static void read_all(struct rama_seg *s)
{
	static union {
		unsigned char slot[RAMA_CORE_SLOT_MOST];
		struct rama_seg_lane lane;
		struct rama_seg_chunk chunk;
		struct rama_seg_name_get name;
	} u;
	struct rama_err e = { 0 };
	uint64_t at = 0, before = 0;
	int rc;

	while ((rc = rama_seg_name_next(s, &at, &u.name, &e)) > 0)
		CHECK(u.name.len == strlen(u.name.text) && at <= s->state.names_used &&
		      at > before &&
		      rama_seg_name_place(s, u.name.number) == (uint64_t)(u.name.number - 1) * 8 &&
		      (before = at) > 0);
	CHECK(rc == 0 || e.text[0] != '\0');
	for (unsigned k = 0; k < RAMA_SEG_KINDS; k++) {
		enum rama_seg_kind kind = (enum rama_seg_kind)k;

		for (uint32_t i = 0; i < rama_seg_slots(s, kind); i++) {
			uint64_t place = rama_seg_slot_place(s, kind, i);

			CHECK(place > 0 && place + rama_seg_slot_size(kind) <= s->src->size);
			CHECK(rama_seg_slot(s, kind, i, &u, &e) >= 0);
		}
	}
	for (uint32_t i = 0; i < rama_seg_lanes(s); i++)
		CHECK(rama_seg_lane_get(s, i, &u.lane, &e) == 0);
	for (uint64_t i = 0; i < rama_seg_chunks(s); i++) {
		CHECK(rama_seg_chunk_get(s, i, &u.chunk, &e) == 0);
		CHECK(u.chunk.used <= RAMA_SEG_CHUNK_EVENTS);
	}
	CHECK(s->tick > 0 && s->tick < 1);
}

static void make_log(struct rama_seg *s, bool incomplete)
{
	struct rama_gather_process p = {
		.parent_rank = -1, .nprocs = 1, .images = 1, .ended = 1, .incomplete = incomplete
	};
	struct fuzz_bytes written = { 0 };
	struct rama_log_sink sink = fuzz_bytes_sink(&written);
	struct rama_err e = { 0 };
	struct rama_source src;
	struct rama_log_writer w;
	struct rama_log own;
	uint64_t partial, digest;

	CHECK(rama_log_writer_init(&w, &sink, RAMA_LOG_PLAIN_BYTES, 0) == 0);
	CHECK(rama_gather_one(s, &p, &w, &partial, &e) == 0);
	CHECK(rama_log_writer_finish(&w, partial) == 0);
	CHECK(!incomplete || partial != 0);
	rama_log_writer_fini(&w);
	fuzz_open_own(&own, &src, &written);
	CHECK(fuzz_walk(&own, &digest) == 0);
	rama_log_close(&own);
	fuzz_bytes_fini(&written);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct rama_seg s;
	struct fuzz_input in = { data, size };
	uint8_t flags = fuzz_take_byte(&in);
	const struct seg *base = base_segment();
	size_t n = flags & 1 ? in.n : base->size,
	       cut = flags & 2 ? 16 * (size_t)fuzz_take_u16(&in) : n;
	unsigned char *bytes = malloc(n > 0 ? n : 1), *kept;
	struct rama_source src;
	struct rama_err e = { 0 };
	int rc;

	CHECK(bytes != NULL);
	if (flags & 1) {
		n = in.n < n ? in.n : n;
		memcpy(bytes, in.p, n);
	} else {
		memcpy(bytes, base->bytes, n);
		change(bytes, base, &in);
	}
	n = cut < n ? cut : n;
	kept = realloc(bytes, n > 0 ? n : 1); /* what is cut is not to be touched */
	rama_source_memory(&src, kept, n);
	rc = rama_seg_open(&s, &src, &e);
	CHECK(rc == e.code && (rc == 0 || e.text[0] != '\0'));
	if (rc == 0) {
		read_all(&s);
		make_log(&s, flags & 4);
	}
	free(kept);
	return 0;
}
