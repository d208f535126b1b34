/* SPDX-License-Identifier: BSD-3-Clause */
#include "logfile/writer.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

/* ---- thread ids ----------------------------------------------------------------------------- */
/* Thread ids of a trace as they come, kept until the annex is written: see cursor.c for their
 * form. Mostly one thread does many accesses in a row, so that they take little room. */

#define RUNS (128u << 10) /* words that become one compressed stream */

static int runs_pack(struct rama_log_writer *w, struct rama_log_runs *r)
{
	const unsigned char *packed;
	size_t n;

	if (w->err.code != 0 || r->plain_n == 0)
		return w->err.code;
	if (rama_log_pack(&w->packer, r->plain, r->plain_n * sizeof(*r->plain), &packed, &n,
			  &w->err) != 0)
		return w->err.code;
	if (!RAMA_GROW(r->packed, r->packed_room, r->packed_n + n))
		return rama_err_no_memory(&w->err);
	memcpy(r->packed + r->packed_n, packed, n);
	r->packed_n += n;
	r->plain_n = 0;
	return 0;
}

static int put(struct rama_log_writer *w, const uint64_t *words, size_t n)
{
	struct rama_log_runs *r = w->tracing;

	if (w->err.code == 0 && r->plain_n + n > RUNS)
		runs_pack(w, r);
	if (w->err.code != 0)
		return w->err.code;
	if (!RAMA_GROW(r->plain, r->plain_room, r->plain_n + n))
		return rama_err_no_memory(&w->err);
	memcpy(r->plain + r->plain_n, words, n * sizeof(*words));
	r->plain_n += n;
	return 0;
}

static int put_run(struct rama_log_writer *w)
{
	const uint64_t run[] = { w->tracing->thread, w->tracing->run };

	w->tracing->run = 0;
	return run[1] > 0 ? put(w, run, 2) : w->err.code;
}

static int runs_begin(struct rama_log_writer *w, unsigned module)
{
	const struct rama_tab_section *s = rama_tab_section_threads(module);

	if (s == NULL)
		return 0;
	w->tracing = &w->runs[w->runs[0].section != 0];
	w->tracing->section = s->id;
	return 0;
}

static int runs_record(struct rama_log_writer *w, const union rama_core_word *record)
{
	const uint64_t head[] = { record[RAMA_TAB_ID].u, record[RAMA_TAB_RANK].u,
				  record[RAMA_TAB_DXT_WRITE_COUNT].u +
					  record[RAMA_TAB_DXT_READ_COUNT].u };

	return put_run(w) == 0 ? put(w, head, 3) : w->err.code;
}

static int runs_segments(struct rama_log_writer *w, union rama_core_word (*seg)[RAMA_TAB_SEG_WORDS],
			 size_t n)
{
	struct rama_log_runs *r = w->tracing;

	for (size_t i = 0; i < n; i++) {
		if (r->run > 0 && seg[i][RAMA_TAB_SEG_THREAD].u != r->thread && put_run(w) != 0)
			return w->err.code;
		r->thread = seg[i][RAMA_TAB_SEG_THREAD].u;
		r->run++;
		r->any = r->any || r->thread != 0;
	}
	return 0;
}

static int runs_end(struct rama_log_writer *w)
{
	struct rama_log_runs *r = w->tracing;

	if (r == NULL)
		return w->err.code;
	if (put_run(w) == 0)
		runs_pack(w, r);
	w->tracing = NULL;
	free(r->plain);
	r->plain = NULL;
	r->plain_room = r->plain_n = 0;
	return w->err.code;
}

static void runs_fini(struct rama_log_writer *w)
{
	for (unsigned i = 0; i < 2; i++) {
		free(w->runs[i].plain);
		free(w->runs[i].packed);
		w->runs[i] = (struct rama_log_runs){ 0 };
	}
	w->tracing = NULL;
}

/* ---- the writer ----------------------------------------------------------------------------- */

#define PIECE (4u << 20) /* bytes that become one compressed stream */

int rama_log_writer_init(struct rama_log_writer *w, const struct rama_log_sink *sink,
			 uint8_t compression, int level)
{
	*w = (struct rama_log_writer){ .sink = *sink,
				       .at = RAMA_LOG_HEADER_NEW,
				       .region = RAMA_LOG_REGIONS };
	w->header.compression = compression;
	w->pending = malloc(PIECE);
	if (w->pending == NULL)
		return rama_err_no_memory(&w->err);
	return rama_log_packer_init(&w->packer, compression, level, &w->err);
}

void rama_log_writer_fini(struct rama_log_writer *w)
{
	rama_log_packer_fini(&w->packer);
	runs_fini(w);
	free(w->pending);
	w->pending = NULL;
}

/* stored bytes of the region or section being filled */
static int store(struct rama_log_writer *w, const unsigned char *packed, size_t n)
{
	if (w->sink.write(w->sink.ctx, w->at, packed, n, &w->err) != 0)
		return w->err.code;
	w->at += n;
	if (w->section != NULL) {
		w->section->crc = rama_log_crc(w->section->crc, packed, n);
		w->section->len += n;
	}
	return 0;
}

static int flush(struct rama_log_writer *w)
{
	const unsigned char *packed;
	size_t n;

	if (w->err.code != 0 || w->pending_n == 0)
		return w->err.code;
	if (rama_log_pack(&w->packer, w->pending, w->pending_n, &packed, &n, &w->err) != 0 ||
	    store(w, packed, n) != 0)
		return w->err.code;
	w->header.part[w->region].len += n;
	w->pending_n = 0;
	return 0;
}

static int add(struct rama_log_writer *w, const void *bytes, size_t n)
{
	const char *p = bytes;

	while (n > 0 && w->err.code == 0) {
		size_t part = n < PIECE - w->pending_n ? n : PIECE - w->pending_n;

		memcpy(w->pending + w->pending_n, p, part);
		w->pending_n += part;
		p += part;
		n -= part;
		if (w->pending_n == PIECE)
			flush(w);
	}
	return w->err.code;
}

/* the next section of the annex, which begins here */
static int begin_section(struct rama_log_writer *w, uint32_t id, uint32_t version)
{
	if (w->annex.n == 0) {
		rama_log_annex_begin(&w->annex, w->at);
		if (w->sink.write(w->sink.ctx, w->at, RAMA_LOG_ANNEX_MAGIC, RAMA_LOG_ANNEX_HEAD,
				  &w->err) != 0)
			return w->err.code;
		w->at += RAMA_LOG_ANNEX_HEAD;
	}
	w->section = rama_log_annex_add(&w->annex, id, version, w->at);
	return w->section != NULL
		       ? 0
		       : rama_err_set(&w->err, RAMA_ELIMIT, "the annex has too many sections");
}

static int begin(struct rama_log_writer *w, unsigned region, unsigned version)
{
	if (flush(w) != 0)
		return w->err.code;
	if (w->region != RAMA_LOG_REGIONS && region <= w->region)
		return rama_err_set(&w->err, RAMA_EUSAGE,
				    "a log is written in the order job, names, modules by number");
	/* readers find the end of the job data by the start of the names, even if there are none */
	if (w->region < RAMA_LOG_REGION_NAMES && region > RAMA_LOG_REGION_NAMES)
		w->header.part[RAMA_LOG_REGION_NAMES].off = w->at;
	w->region = region;
	if (region >= RAMA_LOG_REGION_MODULE + RAMA_TAB_OURS && !w->inner &&
	    begin_section(w, region - RAMA_LOG_REGION_MODULE, version) != 0)
		return w->err.code;
	w->header.part[region].off = w->at;
	w->header.part[region].version = version;
	return 0;
}

int rama_log_writer_job(struct rama_log_writer *w, const struct rama_log_job *job,
			const struct rama_log_mount *mounts, size_t n_mounts)
{
	unsigned char bytes[RAMA_LOG_JOB_REGION];
	size_t n = rama_log_job_encode(job, mounts, n_mounts, bytes);

	if (begin(w, RAMA_LOG_REGION_JOB, 0) != 0)
		return w->err.code;
	return add(w, bytes, n);
}

int rama_log_writer_name(struct rama_log_writer *w, uint64_t id, const char *text, size_t len)
{
	if (w->region != RAMA_LOG_REGION_NAMES && begin(w, RAMA_LOG_REGION_NAMES, 0) != 0)
		return w->err.code;
	add(w, &id, sizeof(id));
	add(w, text, len);
	return add(w, "", 1);
}

int rama_log_writer_module(struct rama_log_writer *w, unsigned id, unsigned version)
{
	const struct rama_tab_module *m = rama_tab_module_get(id);

	if (m == NULL || (version != m->newest && version != m->released))
		return rama_err_set(&w->err, RAMA_EUSAGE, "module %u, version %u cannot be written",
				    id, version);
	if (runs_end(w) != 0)
		return w->err.code;
	if (!w->inner && version != m->released && runs_begin(w, id) != 0)
		return w->err.code;
	return begin(w, RAMA_LOG_REGION_MODULE + id, w->inner ? version : m->released);
}

int rama_log_writer_record(struct rama_log_writer *w, const struct rama_core_record *r)
{
	const struct rama_tab_schema *s = r->schema;

	if (w->region != RAMA_LOG_REGION_MODULE + (unsigned)r->mod->id)
		return rama_err_set(&w->err, RAMA_EUSAGE, "a record of %s outside its module",
				    r->mod->name);
	if (w->tracing != NULL)
		runs_record(w, r->w);
	add(w, r->w, s->words * sizeof(*r->w));
	for (unsigned k = 0; k < s->n_arrays && !(r->mod->flags & RAMA_TAB_TRACE); k++) {
		static const union rama_core_word none = { .u = 0 };
		uint64_t n = r->count[k];

		add(w, r->array[k], n * s->array[k].words * sizeof(*r->w));
		for (; n < s->array[k].least; n++)
			add(w, &none, sizeof(none));
	}
	return w->err.code;
}

int rama_log_writer_segments(struct rama_log_writer *w,
			     union rama_core_word (*seg)[RAMA_TAB_SEG_WORDS], size_t n)
{
	unsigned id = w->region - RAMA_LOG_REGION_MODULE;
	const struct rama_tab_module *m = rama_tab_module_get(id);
	size_t words =
		m != NULL && rama_tab_module_has_threads(m, w->header.part[w->region].version)
			? RAMA_TAB_SEG_WORDS
			: RAMA_TAB_SEG_WORDS - 1;

	if (w->tracing != NULL)
		runs_segments(w, seg, n);
	for (size_t i = 0; i < n && w->err.code == 0; i++)
		add(w, seg[i], words * sizeof(seg[i][0]));
	return w->err.code;
}

bool rama_log_writer_has(const struct rama_log_writer *w, uint32_t section)
{
	for (unsigned i = 0; i < 2; i++)
		if (w->runs[i].any && w->runs[i].section == section)
			return true;
	return rama_log_annex_find(&w->annex, section) != NULL;
}

int rama_log_writer_section(struct rama_log_writer *w, const struct rama_log_section *like)
{
	if (w->region < RAMA_LOG_REGION_NAMES && begin(w, RAMA_LOG_REGION_NAMES, 0) != 0)
		return w->err.code;
	if (runs_end(w) != 0 || flush(w) != 0)
		return w->err.code;
	w->region = RAMA_LOG_REGIONS - 1; /* no module comes after it */
	if (begin_section(w, like->id, like->version) == 0)
		w->section->flags = like->flags;
	return w->err.code;
}

int rama_log_writer_bytes(struct rama_log_writer *w, const void *bytes, size_t n)
{
	return add(w, bytes, n);
}

/* thread ids of both traces, after all that came before */
static int write_runs(struct rama_log_writer *w)
{
	for (unsigned i = 0; i < 2; i++) {
		struct rama_log_runs *r = &w->runs[i];

		if (!r->any)
			continue;
		if (begin_section(w, r->section, rama_tab_section_get(r->section)->newest) != 0 ||
		    store(w, r->packed, r->packed_n) != 0)
			return w->err.code;
	}
	return 0;
}

static int write_annex(struct rama_log_writer *w, uint64_t partial)
{
	unsigned char bytes[RAMA_LOG_ANNEX_BYTES];
	size_t n;

	if (write_runs(w) != 0)
		return w->err.code;
	for (unsigned i = 0; i < w->annex.n; i++) {
		struct rama_log_section *s = &w->annex.section[i];

		if (s->id < RAMA_TAB_MODULES && partial >> s->id & 1)
			s->flags |= RAMA_LOG_SECTION_INCOMPLETE;
	}
	n = rama_log_annex_encode(&w->annex, w->at, bytes);
	return n > 0 ? w->sink.write(w->sink.ctx, w->at, bytes, n, &w->err) : 0;
}

int rama_log_writer_finish(struct rama_log_writer *w, uint64_t partial)
{
	unsigned char bytes[RAMA_LOG_HEADER_NEW];

	if (w->region < RAMA_LOG_REGION_NAMES && begin(w, RAMA_LOG_REGION_NAMES, 0) != 0)
		return w->err.code;
	if (runs_end(w) != 0 || flush(w) != 0 || write_annex(w, partial) != 0)
		return w->err.code;
	w->header.partial = partial;
	w->header.inner = w->inner;
	rama_log_header_encode(&w->header, bytes);
	return w->sink.write(w->sink.ctx, 0, bytes, sizeof(bytes), &w->err);
}
