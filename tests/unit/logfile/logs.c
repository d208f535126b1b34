/* SPDX-License-Identifier: BSD-3-Clause */
#include "logs.h"

/* ---- a file in memory ----------------------------------------------------------------------- */

static int write_memory(void *ctx, uint64_t off, const void *bytes, size_t n, struct rama_err *e)
{
	struct memfile *f = ctx;

	(void)e;
	if (off + n > f->room) {
		f->room = 2 * (off + n);
		f->bytes = realloc(f->bytes, f->room);
		assert_non_null(f->bytes);
	}
	if (off > f->n)
		memset(f->bytes + f->n, 0, off - f->n);
	memcpy(f->bytes + off, bytes, n);
	f->n = off + n > f->n ? off + n : f->n;
	return 0;
}

struct rama_log_sink memfile_sink(struct memfile *f)
{
	return (struct rama_log_sink){ .write = write_memory, .ctx = f };
}

void memfile_append(struct memfile *f, const void *bytes, size_t n)
{
	write_memory(f, f->n, bytes, n, NULL);
}

void memfile_free(struct memfile *f)
{
	free(f->bytes);
	*f = (struct memfile){ 0 };
}

/* ---- records with random content ------------------------------------------------------------ */

static void random_words(struct rng *r, union rama_core_word *w, size_t n)
{
	for (size_t i = 0; i < n; i++)
		w[i].u = rng_u64(r);
}

static void set_array(struct sample *s, unsigned k, uint64_t count)
{
	s->r.array[k] = s->array[k];
	s->r.count[k] = count;
	s->w[s->r.schema->array[k].count_word].u = count;
}

static void make_layout(struct sample *s, struct rng *r)
{
	uint64_t comps = rng_below(r, 5), stripes = 0;

	for (uint64_t i = 0; i < comps; i++) {
		union rama_core_word *c = &s->array[0][i * RAMA_TAB_LUSTRE_COMP__WORDS];

		c[RAMA_TAB_LUSTRE_COMP_STRIPE_SIZE].i = 65536;
		c[RAMA_TAB_LUSTRE_COMP_STRIPE_COUNT].u = rng_below(r, 8);
		stripes += c[RAMA_TAB_LUSTRE_COMP_STRIPE_COUNT].u;
	}
	set_array(s, 0, comps);
	set_array(s, 1, stripes);
}

void sample_make(struct sample *s, unsigned module, struct rng *r, unsigned index)
{
	const struct rama_tab_module *m = rama_tab_module_get(module);

	s->r = (struct rama_core_record){ .mod = m, .schema = m->record, .w = s->w };
	if (m->header != NULL && index == 0)
		s->r.schema = m->header;
	assert_true(s->r.schema->words <= SAMPLE_WORDS);
	random_words(r, s->w, SAMPLE_WORDS);
	random_words(r, s->array[0], 2 * SAMPLE_ARRAY);
	random_words(r, &s->seg[0][0][0], 2 * SAMPLE_SEGMENTS * RAMA_TAB_SEG_WORDS);
	s->w[RAMA_TAB_RANK].i = (int64_t)rng_below(r, 1000) - 1;
	if (s->r.schema == m->header)
		s->w[RAMA_TAB_BASE_WORDS].i =
			module == RAMA_TAB_MOD_APMPI ? 280520118345 : 0x4155544f50455246;
	else if (module == RAMA_TAB_MOD_LUSTRE)
		make_layout(s, r);
	else if (module == RAMA_TAB_MOD_HEATMAP)
		set_array(s, 0, 20), set_array(s, 1, 20);
	else if (module == RAMA_TAB_MOD_MDHIM || module == RAMA_TAB_MOD_PROCESS ||
		 module == RAMA_TAB_MOD_PHASE || module == RAMA_TAB_MOD_SITES)
		set_array(s, 0, rng_below(r, 9));
	else if (module == RAMA_TAB_MOD_CALLS)
		set_array(s, 0, rng_below(r, 9)), set_array(s, 1, rng_below(r, 9));
	for (unsigned k = 0; k < 2 && (m->flags & RAMA_TAB_TRACE); k++)
		set_array(s, k, rng_below(r, SAMPLE_SEGMENTS + 1));
}

void sample_write(struct rama_log_writer *w, struct sample *s)
{
	assert_int_equal(rama_log_writer_record(w, &s->r), 0);
	for (unsigned k = 0; k < 2 && (s->r.mod->flags & RAMA_TAB_TRACE); k++)
		assert_int_equal(rama_log_writer_segments(w, s->seg[k], s->r.count[k]), 0);
}

static void check_segments(struct rama_log_cursor *c, const struct sample *s, bool threads)
{
	union rama_core_word seg[7][RAMA_TAB_SEG_WORDS];
	uint64_t done[2] = { 0, 0 };
	unsigned kind;
	int n;

	while ((n = rama_log_cursor_segments(c, seg, 7, &kind)) > 0) {
		assert_true(kind == 1 || done[1] == 0); /* writes first */
		for (int i = 0; i < n; i++) {
			const union rama_core_word *want = s->seg[kind][done[kind]++];

			assert_memory_equal(seg[i], want, RAMA_TAB_SEG_THREAD * sizeof(*want));
			assert_true(seg[i][RAMA_TAB_SEG_THREAD].u ==
				    (threads ? want[RAMA_TAB_SEG_THREAD].u : 0));
		}
	}
	assert_int_equal(n, 0);
	assert_int_equal(done[0], s->r.count[0]);
	assert_int_equal(done[1], s->r.count[1]);
}

void sample_check(struct rama_log_cursor *c, const struct rama_core_record *r,
		  const struct sample *s, bool threads)
{
	assert_ptr_equal(r->mod, s->r.mod);
	assert_ptr_equal(r->schema, s->r.schema);
	assert_memory_equal(r->w, s->w, r->schema->words * sizeof(*r->w));
	if (r->mod->flags & RAMA_TAB_TRACE) {
		check_segments(c, s, threads);
		return;
	}
	for (unsigned k = 0; k < r->schema->n_arrays; k++) {
		assert_int_equal(r->count[k], s->r.count[k]);
		if (r->count[k] > 0)
			assert_memory_equal(r->array[k], s->r.array[k],
					    r->count[k] * r->schema->array[k].words * 8);
	}
}

/* ---- writing -------------------------------------------------------------------------------- */

const struct rama_log_job plain_job = { .uid = 1000,
					.start_sec = 1700000000,
					.start_nsec = 250000000,
					.end_sec = 1700000100,
					.end_nsec = 750000000,
					.nprocs = 8,
					.jobid = 4242,
					.metadata = "lib_ver=3.5.0\nh=romio_no_indep_rw=true\n",
					.exe = "/opt/bin/app --steps 10" };
const struct rama_log_mount plain_mounts[2] = { { "/home", "nfs", 5, 0 },
						{ "/scratch", "lustre", 8, 1 } };

void writer_start(struct rama_log_writer *w, struct memfile *f, uint8_t compression)
{
	struct rama_log_sink sink = memfile_sink(f);

	assert_int_equal(rama_log_writer_init(w, &sink, compression, 6), 0);
	assert_int_equal(rama_log_writer_job(w, &plain_job, plain_mounts, 2), 0);
}

void writer_end(struct rama_log_writer *w, uint64_t partial)
{
	assert_int_equal(rama_log_writer_finish(w, partial), 0);
	rama_log_writer_fini(w);
}

void empty_log(struct memfile *f)
{
	struct rama_log_writer w;

	writer_start(&w, f, RAMA_LOG_ZLIB);
	writer_end(&w, 0);
}

/* ---- logs byte by byte ---------------------------------------------------------------------- */

void raw_u64(const struct raw *raw, struct memfile *to, uint64_t v)
{
	v = raw->swap ? __builtin_bswap64(v) : v;
	memfile_append(to, &v, sizeof(v));
}

void raw_f64(const struct raw *raw, struct memfile *to, double v)
{
	raw_u64(raw, to, (union rama_core_word){ .f = v }.u);
}

void raw_u32(const struct raw *raw, struct memfile *to, uint32_t v)
{
	v = raw->swap ? __builtin_bswap32(v) : v;
	memfile_append(to, &v, sizeof(v));
}

static void append_packed(const struct raw *raw, struct memfile *to, const struct memfile *data)
{
	struct rama_log_packer p;
	struct rama_err e = { 0 };
	const unsigned char *packed;
	size_t n;

	if (data->n == 0)
		return;
	assert_int_equal(rama_log_packer_init(&p, raw->compression, 6, &e), 0);
	assert_int_equal(rama_log_pack(&p, data->bytes, data->n, &packed, &n, &e), 0);
	memfile_append(to, packed, n);
	rama_log_packer_fini(&p);
}

static void append_job(const struct raw *raw, struct memfile *to, bool old)
{
	static const char metadata[1024] = "lib_ver=3.1.4\n",
			  text[] = "/opt/bin/app\nnfs\t/home\nlustre\t/scratch";
	struct memfile job = { 0 };

	raw_u64(raw, &job, 1000);
	raw_u64(raw, &job, 1700000000);
	if (!old)
		raw_u64(raw, &job, 0);
	raw_u64(raw, &job, 1700000100);
	if (!old)
		raw_u64(raw, &job, 500000000);
	raw_u64(raw, &job, 4);
	raw_u64(raw, &job, 4242);
	memfile_append(&job, metadata, sizeof(metadata));
	memfile_append(&job, text, sizeof(text));
	append_packed(raw, to, &job);
	memfile_free(&job);
}

void raw_build(struct raw *raw, struct memfile *to)
{
	bool old = strcmp(raw->version, "3.41") != 0;
	unsigned slots = old ? 16 : 64;
	struct memfile head = { 0 }, maps = { 0 }, versions = { 0 }, body = { 0 };
	size_t header = old ? 360 : 1328, names;
	char start[8] = "";

	append_job(raw, &body, old);
	names = body.n;
	append_packed(raw, &body, &raw->names);
	raw_u64(raw, &maps, header + names);
	raw_u64(raw, &maps, body.n - names);
	for (unsigned i = 0; i < slots; i++) {
		size_t at = body.n;

		append_packed(raw, &body, &raw->slot[i].data);
		raw_u64(raw, &maps, raw->slot[i].version > 0 ? header + at : 0);
		raw_u64(raw, &maps, body.n - at);
		raw_u32(raw, &versions, raw->slot[i].version);
		memfile_free(&raw->slot[i].data);
	}
	memcpy(start, raw->version, 4);
	memfile_append(&head, start, 8);
	raw_u64(raw, &head, RAMA_LOG_MAGIC);
	memfile_append(&head, (const char[8]){ (char)raw->compression }, old ? 4 : 8);
	if (old)
		raw_u32(raw, &head, (uint32_t)raw->partial);
	else
		raw_u64(raw, &head, raw->partial);
	memfile_append(&head, maps.bytes, maps.n);
	memfile_append(&head, versions.bytes, versions.n);
	assert_int_equal(head.n, header);
	memfile_append(to, head.bytes, head.n);
	memfile_append(to, body.bytes, body.n);
	memfile_free(&head);
	memfile_free(&maps);
	memfile_free(&versions);
	memfile_free(&body);
	memfile_free(&raw->names);
}

/* ---- reading -------------------------------------------------------------------------------- */

static void remember(void *ctx, const char *line)
{
	struct reading *in = ctx;

	in->lines++;
	snprintf(in->last, sizeof(in->last), "%s", line);
}

int reading_try(struct reading *in, const void *bytes, size_t n, bool strict)
{
	struct rama_log_options opt = {
		.strict = strict, .problem = remember, .note = remember, .ctx = in
	};

	*in = (struct reading){ 0 };
	rama_source_memory(&in->src, bytes, n);
	return rama_log_open(&in->log, &in->src, &opt, &in->err);
}

void reading_open(struct reading *in, const struct memfile *f)
{
	if (reading_try(in, f->bytes, f->n, false) != 0)
		fail_msg("cannot be opened: %s", in->err.text);
	if (in->lines > 0)
		fail_msg("opened, but: %s", in->last);
}

void reading_close(struct reading *in)
{
	rama_log_close(&in->log);
}

int reading_walk(struct reading *in)
{
	union rama_core_word seg[16][RAMA_TAB_SEG_WORDS];
	int rc = 0;

	for (unsigned id = 0; id < RAMA_TAB_MODULES && rc >= 0; id++) {
		struct rama_log_cursor c;
		struct rama_core_record *r;
		unsigned kind;
		int n = 0;

		rc = rama_log_cursor_open(&c, &in->log, id);
		while (rc > 0 && (rc = rama_log_cursor_next(&c, &r)) > 0) {
			while ((r->mod->flags & RAMA_TAB_TRACE) &&
			       (n = rama_log_cursor_segments(&c, seg, 16, &kind)) > 0)
				continue;
			rc = n < 0 ? n : rc;
		}
		rama_log_cursor_close(&c);
	}
	return rc;
}

static struct found *copy(struct rama_log_cursor *c, const struct rama_core_record *r)
{
	struct found *f = calloc(1, sizeof(*f));
	union rama_core_word seg[1][RAMA_TAB_SEG_WORDS];
	uint64_t done[2] = { 0, 0 };
	unsigned kind;

	f->w = calloc(r->schema->words, sizeof(*f->w));
	memcpy(f->w, r->w, r->schema->words * sizeof(*f->w));
	for (unsigned k = 0; k < r->schema->n_arrays; k++) {
		size_t words = r->count[k] * r->schema->array[k].words;

		f->count[k] = r->count[k];
		f->array[k] = calloc(words + 1, sizeof(*f->w));
		if (r->array[k] != NULL)
			memcpy(f->array[k], r->array[k], words * sizeof(*f->w));
	}
	while ((r->mod->flags & RAMA_TAB_TRACE) && rama_log_cursor_segments(c, seg, 1, &kind) > 0)
		memcpy(f->seg[kind][done[kind]++], seg[0], sizeof(seg[0]));
	return f;
}

struct found *reading_find(struct reading *in, unsigned module, uint64_t id, int64_t rank)
{
	struct found *f = NULL;
	struct rama_log_cursor c;
	struct rama_core_record *r;
	int rc = rama_log_cursor_open(&c, &in->log, module);

	while (rc > 0 && (rc = rama_log_cursor_next(&c, &r)) > 0)
		if (f == NULL && r->schema == r->mod->record && r->w[RAMA_TAB_ID].u == id &&
		    r->w[RAMA_TAB_RANK].i == rank)
			f = copy(&c, r);
	rama_log_cursor_close(&c);
	assert_int_equal(rc, 0);
	if (f == NULL)
		fail_msg("%s has no record of file %llu, rank %lld",
			 rama_tab_module_get(module)->name, (unsigned long long)id,
			 (long long)rank);
	return f;
}

void found_free(struct found *f)
{
	free(f->w);
	free(f->array[0]);
	free(f->array[1]);
	free(f);
}

unsigned reading_count(struct reading *in, unsigned module)
{
	struct rama_log_cursor c;
	struct rama_core_record *r;
	unsigned n = 0;
	int rc = rama_log_cursor_open(&c, &in->log, module);

	while (rc > 0 && (rc = rama_log_cursor_next(&c, &r)) > 0)
		n++;
	rama_log_cursor_close(&c);
	assert_int_equal(rc, 0);
	return n;
}
