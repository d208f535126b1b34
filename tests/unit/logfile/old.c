/* SPDX-License-Identifier: BSD-3-Clause */
/* old.c: formats and record versions of the past, in both byte orders. */
#include "logs.h"

/* ---- numbers of modules --------------------------------------------------------------------- */

static const struct {
	const char *version;
	unsigned n;
	unsigned id[16]; /* today's number of each slot */
} numbering[] = {
	{ "3.00", 11, { 0, 1, 2, 3, 5, 7, 8, 9, 10, 11, 12 } },
	{ "3.10", 11, { 0, 1, 2, 3, 5, 7, 8, 9, 10, 11, 12 } },
	{ "3.20", 15, { 0, 1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15 } },
	{ "3.21", 15, { 0, 1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15 } },
};

static void modules_move_to_their_number_of_today(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2 * LENGTH(numbering); i++) {
		struct raw raw = { .version = numbering[i / 2].version, .swap = i % 2 };
		struct memfile f = { 0 };
		struct reading in;
		uint64_t used = 0;

		for (unsigned slot = 0; slot < numbering[i / 2].n; slot++) {
			raw.slot[slot].version = 100 + slot;
			used |= 1ull << numbering[i / 2].id[slot];
		}
		raw_build(&raw, &f);
		reading_open(&in, &f);
		for (unsigned slot = 0; slot < numbering[i / 2].n; slot++)
			assert_int_equal(in.log.part[numbering[i / 2].id[slot]].version,
					 100 + slot);
		for (unsigned id = 0; id < RAMA_TAB_MODULES; id++)
			assert_int_equal(in.log.part[id].version > 0, used >> id & 1);
		reading_close(&in);
		memfile_free(&f);
	}
}

static void flags_of_incomplete_modules_move_along(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2 * LENGTH(numbering); i++) {
		for (unsigned slot = 0; slot < numbering[i / 2].n; slot++) {
			struct raw raw = { .version = numbering[i / 2].version,
					   .swap = i % 2,
					   .partial = 1u << slot };
			struct memfile f = { 0 };
			struct reading in;

			raw_build(&raw, &f);
			reading_open(&in, &f);
			assert_true(in.log.partial == 1ull << numbering[i / 2].id[slot]);
			reading_close(&in);
			memfile_free(&f);
		}
	}
}

static void numbers_and_flags_of_today_stay(void **state)
{
	(void)state;
	for (unsigned id = 0; id < 2 * RAMA_TAB_MODULES; id++) {
		struct raw raw = { .version = "3.41", .swap = id % 2, .partial = 1ull << id / 2 };
		struct memfile f = { 0 };
		struct reading in;

		raw.slot[id / 2].version = 3;
		raw_build(&raw, &f);
		reading_open(&in, &f);
		assert_true(in.log.partial == 1ull << id / 2);
		assert_int_equal(in.log.part[id / 2].version, 3);
		reading_close(&in);
		memfile_free(&f);
	}
}

/* ---- old records ---------------------------------------------------------------------------- */

static bool in_version(const struct rama_tab_field *f, unsigned version)
{
	return f->since <= version && version <= f->until;
}

/* words that steer the reader; all others are random */
static bool steering(const struct rama_tab_schema *s, const struct rama_tab_field *f,
		     uint64_t *value)
{
	*value = 0;
	for (unsigned k = 0; k < s->n_arrays; k++)
		if (f->word == s->array[k].count_word)
			return true;
	return strcmp(f->name, "FOPENS") == 0 || strcmp(f->name, "STRIPE_WIDTH") == 0;
}

static void append_field(const struct raw *raw, struct memfile *to, const struct rama_tab_field *f,
			 const union rama_core_word *w)
{
	if (f->type == RAMA_TAB_TEXT || f->type == RAMA_TAB_UUID) {
		memfile_append(to, w, f->words * 8u);
	} else if (f->type == RAMA_TAB_U32) {
		raw_u32(raw, to, (uint32_t)w->u);
		memfile_append(to, "\0\0\0", 4);
	} else {
		raw_u64(raw, to, w->u);
	}
}

/* one stored record of a version; w[i][] are the words of its field i */
static void append_record(const struct raw *raw, struct memfile *to,
			  const struct rama_tab_schema *s, unsigned version,
			  union rama_core_word (*w)[16])
{
	raw_u64(raw, to, 0x0102030405060708);
	raw_u64(raw, to, (uint64_t)-1);
	for (unsigned i = 0; i < *s->n_fields; i++)
		if (in_version(&s->fields[i], version))
			append_field(raw, to, &s->fields[i], w[i]);
}

/* fields that are made of others in old versions: tested by themselves */
static bool made_up(const struct rama_tab_module *m, const struct rama_tab_field *f,
		    unsigned version)
{
	return (m->id == RAMA_TAB_MOD_PNETCDF_FILE && version < 3 &&
		f->word == RAMA_TAB_PNETCDF_FILE_OPENS) ||
	       (m->id == RAMA_TAB_MOD_LUSTRE && version == 1);
}

static void check_field(const struct rama_tab_field *f, const union rama_core_word *have,
			const union rama_core_word *stored, bool there)
{
	union rama_core_word missing = { .u = 0 };

	if (f->type == RAMA_TAB_I64)
		missing.i = -1;
	else if (f->type == RAMA_TAB_F64)
		missing.f = -1.0;
	if (!there && have->u != missing.u)
		fail_msg("%s is not filled in", f->name);
	if (there && f->type == RAMA_TAB_U32)
		assert_memory_equal(have->b, &(uint32_t){ (uint32_t)stored->u }, 4);
	else if (there && memcmp(have, stored, f->words * 8u) != 0)
		fail_msg("%s is not what was stored", f->name);
}

static void one_version(const struct rama_tab_module *m, unsigned version, bool swap, struct rng *r)
{
	static union rama_core_word w[700][16];
	const struct rama_tab_schema *s = m->record;
	struct raw raw = { .version = "3.41", .swap = swap };
	struct memfile f = { 0 }, *data = &raw.slot[m->id].data;
	struct reading in;
	struct found *got;

	for (unsigned i = 0; i < *s->n_fields; i++) {
		uint64_t fixed;

		for (unsigned k = 0; k < 16; k++)
			w[i][k].u = rng_u64(r);
		if (steering(s, &s->fields[i], &fixed))
			w[i][0].u = fixed;
	}
	if (m->header != NULL) {
		static union rama_core_word none[16][16];

		none[0][0].i = m->id == RAMA_TAB_MOD_APMPI ? 280520118345 : 0x4155544f50455246;
		append_record(&raw, data, m->header, version, none);
	}
	append_record(&raw, data, s, version, w);
	if (m->id == RAMA_TAB_MOD_MDHIM)
		raw_u64(&raw, data, 0);
	raw.slot[m->id].version = version;
	raw_build(&raw, &f);
	reading_open(&in, &f);
	got = reading_find(&in, m->id, 0x0102030405060708, -1);
	for (unsigned i = 0; i < *s->n_fields; i++)
		if (s->fields[i].word != RAMA_TAB_NO_WORD && !made_up(m, &s->fields[i], version))
			check_field(&s->fields[i], &got->w[s->fields[i].word], w[i],
				    in_version(&s->fields[i], version));
	assert_int_equal(in.lines, 0);
	found_free(got);
	reading_close(&in);
	memfile_free(&f);
}

static void every_version_keeps_what_it_had(void **state)
{
	struct rng r = { 15 };

	(void)state;
	for (unsigned id = 0; id < RAMA_TAB_MODULES_KNOWN; id++) {
		const struct rama_tab_module *m = rama_tab_module_get(id);

		for (unsigned version = 1; m != NULL && version <= m->newest; version++)
			for (unsigned swap = 0; swap < 2; swap++)
				one_version(m, version, swap, &r);
	}
}

/* a log of one module whose data was appended to raw->slot[id].data */
static void build_and_read(struct raw *raw, unsigned id, unsigned version, struct memfile *f,
			   struct reading *in)
{
	raw->slot[id].version = version;
	raw_build(raw, f);
	reading_open(in, f);
}

static void posix_1_records_of_streams_are_left_out(void **state)
{
	(void)state;
	for (unsigned swap = 0; swap < 2; swap++) {
		struct raw raw = { .version = "3.41", .swap = swap };
		struct memfile f = { 0 };
		struct reading in;

		for (uint64_t id = 1; id <= 3; id++) {
			raw_u64(&raw, &raw.slot[1].data, id);
			raw_u64(&raw, &raw.slot[1].data, 0);
			for (unsigned k = 0; k < 68 + 15; k++) /* FOPENS is counter 6 */
				raw_u64(&raw, &raw.slot[1].data, k == 6 && id == 2 ? 1 : 0);
		}
		build_and_read(&raw, RAMA_TAB_MOD_POSIX, 1, &f, &in);
		assert_int_equal(reading_count(&in, RAMA_TAB_MOD_POSIX), 2);
		assert_int_equal(in.lines, 1); /* said, but no damage */
		assert_int_equal(in.log.problems, 0);
		found_free(reading_find(&in, RAMA_TAB_MOD_POSIX, 3, 0));
		reading_close(&in);
		memfile_free(&f);
	}
}

static void pnetcdf_opens_are_added_up(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		struct raw raw = { .version = "3.41", .swap = i % 2 };
		struct memfile f = { 0 };
		struct reading in;
		struct found *got;
		unsigned version = 1 + i / 2;

		raw_u64(&raw, &raw.slot[5].data, 1);
		raw_u64(&raw, &raw.slot[5].data, 0);
		raw_u64(&raw, &raw.slot[5].data, 0x00ff00ff); /* carries when not swapped first */
		raw_u64(&raw, &raw.slot[5].data, 0x00010001);
		for (unsigned k = 0; k < (version == 1 ? 2 : 4); k++)
			raw_f64(&raw, &raw.slot[5].data, 1.0 + k);
		build_and_read(&raw, RAMA_TAB_MOD_PNETCDF_FILE, version, &f, &in);
		got = reading_find(&in, RAMA_TAB_MOD_PNETCDF_FILE, 1, 0);
		assert_int_equal(got->w[RAMA_TAB_PNETCDF_FILE_OPENS].i, 0x01000100);
		assert_true(got->w[RAMA_TAB_PNETCDF_FILE_F_OPEN_START_TIMESTAMP].f == 1.0);
		assert_true(got->w[RAMA_TAB_PNETCDF_FILE_F_CLOSE_END_TIMESTAMP].f ==
			    (version == 1 ? 2.0 : 4.0));
		found_free(got);
		reading_close(&in);
		memfile_free(&f);
	}
}

static void lustre_1_has_one_component(void **state)
{
	(void)state;
	for (unsigned swap = 0; swap < 2; swap++) {
		/* id, rank, OSTs, MDTs, offset, stripe size, width, then OST ids */
		static const uint64_t stored[] = { 9, 3, 50, 2, 0, 1048576, 3, 7, 8, 40 };
		struct raw raw = { .version = "3.41", .swap = swap };
		struct memfile f = { 0 };
		struct reading in;
		struct found *got;

		for (size_t k = 0; k < LENGTH(stored); k++)
			raw_u64(&raw, &raw.slot[8].data, stored[k]);
		build_and_read(&raw, RAMA_TAB_MOD_LUSTRE, 1, &f, &in);
		got = reading_find(&in, RAMA_TAB_MOD_LUSTRE, 9, 3);
		assert_int_equal(got->count[0], 1);
		assert_int_equal(got->count[1], 3);
		assert_int_equal(got->w[RAMA_TAB_LUSTRE_NUM_COMPONENTS].i, 1);
		assert_int_equal(got->w[RAMA_TAB_LUSTRE_NUM_STRIPES].i, 3);
		assert_memory_equal(got->array[0],
				    ((const int64_t[]){ 1048576, 3, -1, -1, 0, -1, -1, 0, 0 }), 72);
		assert_memory_equal(got->array[1], ((const int64_t[]){ 7, 8, 40 }), 24);
		found_free(got);
		reading_close(&in);
		memfile_free(&f);
	}
}

static void lustre_ends_at_the_first_unused_component(void **state)
{
	static const int64_t stored[] = { 9,	 -1, 3, 6, /* 3 components, 6 stripes */
					  65536, 2,  0, 0, 0, 99, 1,  0x706f6f6c, 0,  -1, 3,
					  7,	 7,  7, 7, 7, 0,  0,  65536,	  1,  0,  0,
					  0,	 -1, 1, 0, 0, 11, 12, 13,	  14, 15, 16 };
	struct raw raw = { .version = "3.41" };
	struct memfile f = { 0 };
	struct reading in;
	struct found *got;

	(void)state;
	memfile_append(&raw.slot[8].data, stored, sizeof(stored));
	build_and_read(&raw, RAMA_TAB_MOD_LUSTRE, 2, &f, &in);
	got = reading_find(&in, RAMA_TAB_MOD_LUSTRE, 9, -1);
	assert_int_equal(got->w[RAMA_TAB_LUSTRE_NUM_COMPONENTS].i, 1);
	assert_int_equal(got->w[RAMA_TAB_LUSTRE_NUM_STRIPES].i, 2);
	assert_int_equal(got->count[0], 1);
	assert_int_equal(got->count[1], 2);
	assert_memory_equal(got->array[1], ((const int64_t[]){ 11, 12 }), 16);
	found_free(got);
	reading_close(&in);
	memfile_free(&f);
}

/* write bins 1, 2, 3, ..., read bins 101, 102, ... */
static void append_heatmap(struct raw *raw, int64_t rank, double width, uint64_t bins)
{
	struct memfile *to = &raw->slot[15].data;

	raw_u64(raw, to, 1);
	raw_u64(raw, to, (uint64_t)rank);
	raw_f64(raw, to, width);
	raw_u64(raw, to, bins);
	raw_u64(raw, to, 0xdead);
	raw_u64(raw, to, 0xdead);
	for (uint64_t i = 0; i < 2 * bins; i++)
		raw_u64(raw, to, i < bins ? 1 + i : 101 + i - bins);
}

static void heat_maps_have_as_many_bins_as_the_first(void **state)
{
	static const struct {
		double width;
		uint64_t stored, want;
	} maps[] = { { 0.1, 7, 7 }, { 0.1, 8, 7 }, { 0.1, 6, 7 }, { 0.1, 9, 9 },
		     { 0.2, 8, 8 }, { 0.2, 6, 6 }, { 0.1, 5, 5 } };
	struct raw raw = { .version = "3.41", .swap = true };
	struct memfile f = { 0 };
	struct reading in;

	(void)state;
	for (size_t i = 0; i < LENGTH(maps); i++)
		append_heatmap(&raw, (int64_t)i, maps[i].width, maps[i].stored);
	build_and_read(&raw, RAMA_TAB_MOD_HEATMAP, 1, &f, &in);
	for (size_t i = 0; i < LENGTH(maps); i++) {
		struct found *got = reading_find(&in, RAMA_TAB_MOD_HEATMAP, 1, (int64_t)i);

		assert_int_equal(got->w[RAMA_TAB_HEATMAP_NBINS].u, maps[i].want);
		assert_int_equal(got->count[0], maps[i].want);
		assert_int_equal(got->count[1], maps[i].want);
		for (uint64_t k = 0; k < maps[i].want; k++) {
			assert_int_equal(got->array[0][k].i, k < maps[i].stored ? 1 + k : 0);
			assert_int_equal(got->array[1][k].i, k < maps[i].stored ? 101 + k : 0);
		}
		found_free(got);
	}
	reading_close(&in);
	memfile_free(&f);
}

static void append_trace(struct raw *raw, unsigned slot, bool threads)
{
	struct memfile *to = &raw->slot[slot].data;
	char host[64] = "node17";

	raw_u64(raw, to, 1);
	raw_u64(raw, to, 5);
	raw_u64(raw, to, 0);
	memfile_append(to, host, sizeof(host));
	raw_u64(raw, to, 1);
	raw_u64(raw, to, 2);
	for (uint64_t i = 0; i < 3; i++) {
		raw_u64(raw, to, 4096 * i);
		raw_u64(raw, to, 100 + i);
		raw_f64(raw, to, 0.5 + (double)i);
		raw_f64(raw, to, 0.75 + (double)i);
		if (threads)
			raw_u64(raw, to, 0x7fff00001111 + i);
	}
}

static void check_trace(const struct found *got, bool offsets, bool threads)
{
	assert_string_equal(got->w[RAMA_TAB_DXT_HOSTNAME].b, "node17");
	assert_int_equal(got->w[RAMA_TAB_DXT_WRITE_COUNT].i, 1);
	assert_int_equal(got->w[RAMA_TAB_DXT_READ_COUNT].i, 2);
	for (int64_t i = 0; i < 3; i++) {
		const union rama_core_word *s = i == 0 ? got->seg[0][0] : got->seg[1][i - 1];

		assert_int_equal(s[RAMA_TAB_SEG_OFFSET].i, offsets ? 4096 * i : -1);
		assert_int_equal(s[RAMA_TAB_SEG_LENGTH].i, 100 + i);
		assert_true(s[RAMA_TAB_SEG_START].f == 0.5 + (double)i);
		assert_true(s[RAMA_TAB_SEG_END].f == 0.75 + (double)i);
		assert_true(s[RAMA_TAB_SEG_THREAD].u ==
			    (threads ? 0x7fff00001111u + (uint64_t)i : 0));
	}
}

static void traces_of_every_version_are_read(void **state)
{
	static const struct {
		unsigned id, version;
		bool offsets, threads;
	} golden[] = { { RAMA_TAB_MOD_DXT_POSIX, 1, true, false },
		       { RAMA_TAB_MOD_DXT_POSIX, 2, true, true },
		       { RAMA_TAB_MOD_DXT_MPIIO, 1, false, false },
		       { RAMA_TAB_MOD_DXT_MPIIO, 2, true, false },
		       { RAMA_TAB_MOD_DXT_MPIIO, 3, true, true } };

	(void)state;
	for (size_t i = 0; i < 2 * LENGTH(golden); i++) {
		struct raw raw = { .version = "3.41", .swap = i % 2 };
		struct memfile f = { 0 };
		struct reading in;
		struct found *got;

		append_trace(&raw, golden[i / 2].id, golden[i / 2].threads);
		build_and_read(&raw, golden[i / 2].id, golden[i / 2].version, &f, &in);
		got = reading_find(&in, golden[i / 2].id, 1, 5);
		check_trace(got, golden[i / 2].offsets, golden[i / 2].threads);
		found_free(got);
		reading_close(&in);
		memfile_free(&f);
	}
}

/* ---- what cannot be read -------------------------------------------------------------------- */

/* the module gives `records` records and one problem */
static void one_problem(struct raw *raw, unsigned id, unsigned version, unsigned records)
{
	struct memfile f = { 0 };
	struct reading in;

	build_and_read(raw, id, version, &f, &in);
	assert_int_equal(reading_count(&in, id), records);
	assert_int_equal(in.lines, 1);
	assert_int_equal(in.log.problems, 1);
	assert_non_null(strstr(in.last, rama_tab_module_get(id)->name));
	reading_close(&in);
	assert_int_equal(reading_try(&in, f.bytes, f.n, true), 0);
	assert_true(reading_walk(&in) < 0);
	assert_true(in.log.err.code < 0 && in.log.err.text[0] != '\0');
	reading_close(&in);
	memfile_free(&f);
}

static void versions_from_the_future_are_left_out(void **state)
{
	(void)state;
	for (unsigned id = 0; id < RAMA_TAB_MODULES_KNOWN; id++) {
		struct raw raw = { .version = "3.41" };

		if (rama_tab_module_get(id) == NULL)
			continue;
		raw_u64(&raw, &raw.slot[id].data, 1);
		one_problem(&raw, id, rama_tab_module_get(id)->newest + 1u, 0);
	}
}

static void data_without_a_version_is_left_out(void **state)
{
	struct raw raw = { .version = "3.41" };
	struct memfile f = { 0 };
	struct reading in;

	(void)state;
	raw_u64(&raw, &raw.slot[1].data, 1);
	raw.slot[1].version = 4;
	raw_build(&raw, &f);
	memset(f.bytes + 1072 + 4, 0, 4);
	reading_open(&in, &f);
	assert_int_equal(reading_count(&in, RAMA_TAB_MOD_POSIX), 0);
	assert_int_equal(in.log.problems, 1);
	reading_close(&in);
	memfile_free(&f);
}

static void modules_nobody_knows_are_mentioned(void **state)
{
	struct raw raw = { .version = "3.41" };
	struct memfile f = { 0 };
	struct reading in;

	(void)state;
	raw_u64(&raw, &raw.slot[18].data, 1);
	build_and_read(&raw, 18, 1, &f, &in);
	assert_int_equal(reading_walk(&in), 0);
	assert_int_equal(in.lines, 1);
	assert_int_equal(in.log.problems, 0); /* no damage */
	reading_close(&in);
	memfile_free(&f);
}

static void absurd_counts_are_refused(void **state)
{
	static const int64_t absurd[] = { -1, INT64_MIN, INT64_MAX, 1ll << 61, 1ll << 40 };

	(void)state;
	for (size_t i = 0; i < LENGTH(absurd); i++) {
		struct raw raw = { .version = "3.41" };

		append_heatmap(&raw, 0, 0.1, 2);
		append_heatmap(&raw, 1, 0.1, 2);
		memcpy(raw.slot[15].data.bytes + 80 + 24, &absurd[i], 8);
		one_problem(&raw, RAMA_TAB_MOD_HEATMAP, 1, 1);
		append_trace(&raw, 10, true);
		append_trace(&raw, 10, true);
		memcpy(raw.slot[10].data.bytes + 104 + 120 + 96, &absurd[i], 8);
		if (absurd[i] < 0) /* a large count is a trace that ends early */
			one_problem(&raw, RAMA_TAB_MOD_DXT_POSIX, 2, 1);
		else
			one_problem(&raw, RAMA_TAB_MOD_DXT_POSIX, 2, 2);
	}
}

static void autoperf_begins_with_its_header(void **state)
{
	struct raw raw = { .version = "3.41" };

	(void)state;
	for (unsigned i = 0; i < 48 / 8; i++)
		raw_u64(&raw, &raw.slot[14].data, 5);
	one_problem(&raw, RAMA_TAB_MOD_APMPI, 1, 0);
}

UNIT_GROUP(old, test(modules_move_to_their_number_of_today),
	   test(flags_of_incomplete_modules_move_along), test(numbers_and_flags_of_today_stay),
	   test(every_version_keeps_what_it_had), test(posix_1_records_of_streams_are_left_out),
	   test(pnetcdf_opens_are_added_up), test(lustre_1_has_one_component),
	   test(lustre_ends_at_the_first_unused_component),
	   test(heat_maps_have_as_many_bins_as_the_first), test(traces_of_every_version_are_read),
	   test(versions_from_the_future_are_left_out), test(data_without_a_version_is_left_out),
	   test(modules_nobody_knows_are_mentioned), test(absurd_counts_are_refused),
	   test(autoperf_begins_with_its_header))
