/* SPDX-License-Identifier: BSD-3-Clause */
/* pieces.c: many writers, each with pieces of its own, make one log. */
#include "logs.h"

#include <pthread.h>

#define WRITERS 5
#define RECORDS 7

static const unsigned modules[] = { RAMA_TAB_MOD_POSIX,	  RAMA_TAB_MOD_LUSTRE,
				    RAMA_TAB_MOD_STDIO,	  RAMA_TAB_MOD_DXT_POSIX,
				    RAMA_TAB_MOD_HEATMAP, RAMA_TAB_MOD_EXTRA };

/* a trace as it is stored: its segments without their threads, or the threads alone */
static void trace_bytes(const struct sample *s, bool threads, struct memfile *to)
{
	if (threads) {
		memfile_append(to, s->w, 16);
		memfile_append(to, &(uint64_t){ s->r.count[0] + s->r.count[1] }, 8);
	} else {
		memfile_append(to, s->w, s->r.schema->words * 8);
	}
	for (unsigned k = 0; k < 2; k++) {
		for (uint64_t i = 0; i < s->r.count[k]; i++) {
			if (!threads) {
				memfile_append(to, s->seg[k][i], RAMA_TAB_SEG_THREAD * 8);
				continue;
			}
			memfile_append(to, &s->seg[k][i][RAMA_TAB_SEG_THREAD], 8);
			memfile_append(to, &(uint64_t){ 1 }, 8);
		}
	}
}

/* what writer number `n` has to say of a region, as bytes */
static void region_bytes(unsigned n, unsigned region, struct memfile *to)
{
	bool threads = region == RAMA_LOG_REGION_MODULE + RAMA_REPORT_TABLE_SECTION_THREADS_POSIX;
	struct rng r = { n * 1000 + region };
	struct sample s;

	if (threads)
		region = RAMA_LOG_REGION_MODULE + RAMA_TAB_MOD_DXT_POSIX,
		r.state = n * 1000 + region;
	if (region == RAMA_LOG_REGION_JOB && n == 0) {
		unsigned char job[RAMA_LOG_JOB_REGION];

		memfile_append(to, job, rama_log_job_encode(&plain_job, plain_mounts, 2, job));
	}
	for (unsigned i = 0; i < RECORDS && region == RAMA_LOG_REGION_NAMES; i++) {
		char name[64];

		memfile_append(to, &(uint64_t){ n * 100 + i }, 8);
		memfile_append(to, name,
			       (size_t)snprintf(name, sizeof(name), "/f/%u/%u", n, i) + 1);
	}
	for (unsigned i = 0; i < LENGTH(modules) * RECORDS; i++) {
		unsigned id = modules[i / RECORDS];

		if (region != RAMA_LOG_REGION_MODULE + id || (n == 2 && id == RAMA_TAB_MOD_STDIO))
			continue; /* writer 2 has nothing there */
		sample_make(&s, id, &r, i);
		if (id == RAMA_TAB_MOD_DXT_POSIX) {
			trace_bytes(&s, threads, to);
			continue;
		}
		memfile_append(to, s.w, s.r.schema->words * 8);
		for (unsigned k = 0; k < s.r.schema->n_arrays; k++)
			memfile_append(to, s.array[k],
				       s.r.count[k] * s.r.schema->array[k].words * 8);
	}
}

/* one writer: packs its pieces, learns where they go, puts them there */
struct writer {
	unsigned n;
	uint64_t *size, *off; /* of all writers */
	uint32_t crc[RAMA_LOG_REGIONS];
	unsigned char *file;
	pthread_barrier_t *packed, *placed;
};

static void *write_pieces(void *arg)
{
	struct writer *w = arg;
	struct memfile piece[RAMA_LOG_REGIONS] = { 0 };
	struct rama_log_packer p;
	struct rama_err e = { 0 };

	rama_log_packer_init(&p, RAMA_LOG_ZLIB, 1 + (int)w->n, &e);
	for (unsigned i = 0; i < RAMA_LOG_REGIONS; i++) {
		struct memfile bytes = { 0 };
		const unsigned char *packed;
		size_t n;

		region_bytes(w->n, i, &bytes);
		if (bytes.n > 0 && rama_log_pack(&p, bytes.bytes, bytes.n, &packed, &n, &e) == 0)
			memfile_append(&piece[i], packed, n);
		w->size[w->n * RAMA_LOG_REGIONS + i] = piece[i].n;
		w->crc[i] = rama_log_crc(0, piece[i].bytes, piece[i].n);
		memfile_free(&bytes);
	}
	rama_log_packer_fini(&p);
	pthread_barrier_wait(w->packed);
	pthread_barrier_wait(w->placed);
	for (unsigned i = 0; i < RAMA_LOG_REGIONS; i++) {
		if (piece[i].n > 0)
			memcpy(w->file + w->off[w->n * RAMA_LOG_REGIONS + i], piece[i].bytes,
			       piece[i].n);
		memfile_free(&piece[i]);
	}
	return NULL;
}

#define LOG_MAX (1 << 20)

static void write_together(struct memfile *f)
{
	static uint64_t size[WRITERS * RAMA_LOG_REGIONS], off[WRITERS * RAMA_LOG_REGIONS];
	struct rama_log_header header = { .compression = RAMA_LOG_ZLIB,
					  .partial = 1 << RAMA_TAB_MOD_STDIO };
	uint32_t crc[RAMA_TAB_MODULES] = { 0 };
	struct rama_log_annex annex;
	pthread_barrier_t packed, placed;
	pthread_t thread[WRITERS];
	struct writer w[WRITERS];

	f->bytes = calloc(1, LOG_MAX);
	pthread_barrier_init(&packed, NULL, WRITERS + 1);
	pthread_barrier_init(&placed, NULL, WRITERS + 1);
	for (unsigned i = 0; i < WRITERS; i++) {
		w[i] = (struct writer){ .n = i,
					.size = size,
					.off = off,
					.file = f->bytes,
					.packed = &packed,
					.placed = &placed };
		assert_int_equal(pthread_create(&thread[i], NULL, write_pieces, &w[i]), 0);
	}
	pthread_barrier_wait(&packed);
	f->n = rama_log_place(size, WRITERS, off, &header);
	assert_true(f->n + RAMA_LOG_ANNEX_BYTES <= LOG_MAX);
	for (size_t i = 0; i < LENGTH(modules); i++)
		header.part[RAMA_LOG_REGION_MODULE + modules[i]].version =
			rama_tab_module_get(modules[i])->released;
	rama_log_header_encode(&header, f->bytes);
	for (unsigned id = RAMA_TAB_OURS; id < RAMA_TAB_MODULES; id++)
		for (unsigned i = 0; i < WRITERS; i++)
			crc[id] = rama_log_crc_join(
				crc[id], w[i].crc[RAMA_LOG_REGION_MODULE + id],
				size[i * RAMA_LOG_REGIONS + RAMA_LOG_REGION_MODULE + id]);
	rama_log_annex_of(&header, crc, &annex);
	memcpy(f->bytes + annex.begin, RAMA_LOG_ANNEX_MAGIC, RAMA_LOG_ANNEX_HEAD);
	f->n += rama_log_annex_encode(&annex, f->n, f->bytes + f->n);
	pthread_barrier_wait(&placed);
	for (unsigned i = 0; i < WRITERS; i++)
		pthread_join(thread[i], NULL);
	pthread_barrier_destroy(&packed);
	pthread_barrier_destroy(&placed);
}

static void write_alone(struct memfile *f)
{
	struct rama_log_writer w;
	struct sample s;

	writer_start(&w, f, RAMA_LOG_ZLIB);
	for (unsigned n = 0; n < WRITERS * RECORDS; n++) {
		char name[64];
		int len = snprintf(name, sizeof(name), "/f/%u/%u", n / RECORDS, n % RECORDS);

		rama_log_writer_name(&w, n / RECORDS * 100 + n % RECORDS, name, (size_t)len);
	}
	for (size_t k = 0; k < LENGTH(modules); k++) {
		rama_log_writer_module(&w, modules[k], rama_tab_module_get(modules[k])->newest);
		for (unsigned n = 0; n < WRITERS; n++) {
			struct rng r = { n * 1000 + RAMA_LOG_REGION_MODULE + modules[k] };

			for (unsigned i = 0; i < RECORDS; i++) {
				if (n == 2 && modules[k] == RAMA_TAB_MOD_STDIO)
					break;
				sample_make(&s, modules[k], &r, i);
				sample_write(&w, &s);
			}
		}
	}
	writer_end(&w, 1 << RAMA_TAB_MOD_STDIO);
}

/* both logs say the same threads for the same segments */
static void same_threads(struct reading *a, struct reading *b)
{
	union rama_core_word x[1][RAMA_TAB_SEG_WORDS], y[1][RAMA_TAB_SEG_WORDS];
	struct rama_log_cursor i, k;
	struct rama_core_record *r;
	unsigned kind, n = 0;
	int more;

	assert_int_equal(rama_log_cursor_open(&i, &a->log, RAMA_TAB_MOD_DXT_POSIX), 1);
	assert_int_equal(rama_log_cursor_open(&k, &b->log, RAMA_TAB_MOD_DXT_POSIX), 1);
	while (rama_log_cursor_next(&i, &r) > 0) {
		assert_int_equal(rama_log_cursor_next(&k, &r), 1);
		while ((more = rama_log_cursor_segments(&i, x, 1, &kind)) > 0) {
			assert_int_equal(rama_log_cursor_segments(&k, y, 1, &kind), 1);
			assert_memory_equal(x, y, sizeof(x));
			n += x[0][RAMA_TAB_SEG_THREAD].u != 0;
		}
	}
	assert_true(rama_log_cursor_has_threads(&i) && rama_log_cursor_has_threads(&k) &&
		    n > RECORDS);
	rama_log_cursor_close(&i);
	rama_log_cursor_close(&k);
}

/* both logs hold the same bytes in the region, however they are packed */
static void same_region(struct reading *a, struct reading *b, const struct rama_log_part *pa,
			const struct rama_log_part *pb)
{
	static unsigned char have[2][LOG_MAX];
	struct rama_log_region r;
	size_t n[2];

	assert_int_equal(rama_log_region_open(&r, &a->src, pa->off, pa->len, RAMA_LOG_ZLIB), 0);
	n[0] = rama_log_region_read(&r, have[0], LOG_MAX);
	assert_int_equal(r.err.code, 0);
	rama_log_region_close(&r);
	assert_int_equal(rama_log_region_open(&r, &b->src, pb->off, pb->len, RAMA_LOG_ZLIB), 0);
	n[1] = rama_log_region_read(&r, have[1], LOG_MAX);
	rama_log_region_close(&r);
	assert_int_equal(n[0], n[1]);
	assert_memory_equal(have[0], have[1], n[0]);
}

static void pieces_of_many_writers_are_one_log(void **state)
{
	struct memfile together = { 0 }, alone = { 0 };
	struct reading a, b;

	(void)state;
	write_together(&together);
	write_alone(&alone);
	reading_open(&a, &together);
	reading_open(&b, &alone);
	assert_int_equal(a.log.partial, b.log.partial);
	same_region(&a, &b, &a.log.job_part, &b.log.job_part);
	same_region(&a, &b, &a.log.name_part, &b.log.name_part);
	for (unsigned id = 0; id < RAMA_TAB_MODULES; id++) {
		assert_int_equal(a.log.part[id].version, b.log.part[id].version);
		same_region(&a, &b, &a.log.part[id], &b.log.part[id]);
	}
	assert_int_equal(a.log.annex.n, 2);
	same_threads(&a, &b);
	assert_int_equal(reading_walk(&a), 0);
	assert_int_equal(a.lines, 0);
	assert_int_equal(a.log.n_names, WRITERS * RECORDS);
	reading_close(&a);
	reading_close(&b);
	memfile_free(&together);
	memfile_free(&alone);
}

static void pieces_lie_by_region_then_by_writer(void **state)
{
	static uint64_t size[2 * RAMA_LOG_REGIONS], off[2 * RAMA_LOG_REGIONS];
	struct rama_log_header h = { 0 };
	const unsigned posix = RAMA_LOG_REGION_MODULE + RAMA_TAB_MOD_POSIX;

	(void)state;
	size[RAMA_LOG_REGION_JOB] = 100;
	size[RAMA_LOG_REGION_NAMES] = 10;
	size[RAMA_LOG_REGIONS + RAMA_LOG_REGION_NAMES] = 20;
	size[posix] = 5;
	size[RAMA_LOG_REGIONS + posix] = 7;
	assert_int_equal(rama_log_place(size, 2, off, &h), 1328 + 100 + 30 + 12 + 8);
	assert_int_equal(off[RAMA_LOG_REGION_JOB], 1328);
	assert_int_equal(off[RAMA_LOG_REGION_NAMES], 1428);
	assert_int_equal(off[RAMA_LOG_REGIONS + RAMA_LOG_REGION_NAMES], 1438);
	assert_int_equal(off[posix], 1458);
	assert_int_equal(off[RAMA_LOG_REGIONS + posix], 1463);
	assert_int_equal(h.part[RAMA_LOG_REGION_NAMES].off, 1428);
	assert_int_equal(h.part[RAMA_LOG_REGION_NAMES].len, 30);
	assert_int_equal(h.part[posix].len, 12);
}

UNIT_GROUP(pieces, test(pieces_of_many_writers_are_one_log),
	   test(pieces_lie_by_region_then_by_writer))
