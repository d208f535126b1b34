/* SPDX-License-Identifier: BSD-3-Clause */
/* pack.c: what this rank has to write becomes pieces: rows of compressed streams, one
 * row for each region of the log. */
#include <stdlib.h>
#include <string.h>

#include "shutdown/rank.h"

#define PIECE (1u << 20)       /* bytes that become one stream */
#define HOLE_MOST (256u << 20) /* better no log than one that is mostly holes */

/* ---- pieces ---------------------------------------------------------------------------------- */

static int append(struct rama_shutdown_shut *s, struct rama_shutdown_shut_piece *p,
		  const void *bytes, size_t n)
{
	if (n > p->room - p->n) {
		size_t room = p->n + n > 2 * p->room ? p->n + n : 2 * p->room;
		unsigned char *more = realloc(p->bytes, room);

		if (more == NULL)
			return rama_shutdown_shut_no_memory(s);
		p->bytes = more;
		p->room = room;
	}
	memcpy(p->bytes + p->n, bytes, n);
	p->n += n;
	return 0;
}

static int flush(struct rama_shutdown_shut *s)
{
	const unsigned char *packed;
	size_t n = s->plain_n, packed_n;
	int rc;

	if (n == 0)
		return 0;
	s->plain_n = 0;
	rc = rama_log_pack(&s->packer, s->plain, n, &packed, &packed_n, s->e);
	return rc == 0 ? append(s, &s->piece[s->region], packed, packed_n) : rc;
}

static int start_packing(struct rama_shutdown_shut *s)
{
	int rc = rama_log_packer_init(&s->packer, RAMA_LOG_ZLIB, s->opt.level, s->e);

	s->packing = rc == 0;
	s->plain = malloc(PIECE);
	return s->plain == NULL ? rama_shutdown_shut_no_memory(s) : rc;
}

int rama_shutdown_shut_add(struct rama_shutdown_shut *s, unsigned region, const void *bytes,
			   size_t n)
{
	const char *p = bytes;
	int rc = s->packing ? 0 : start_packing(s);

	if (rc == 0 && region != s->region)
		rc = flush(s);
	s->region = region;
	while (n > 0 && rc == 0) {
		size_t part = n < PIECE - s->plain_n ? n : PIECE - s->plain_n;

		memcpy(s->plain + s->plain_n, p, part);
		s->plain_n += part;
		p += part;
		n -= part;
		if (s->plain_n == PIECE)
			rc = flush(s);
	}
	return rc;
}

/* ---- what goes into them --------------------------------------------------------------------- */

static int pack_names(struct rama_shutdown_shut *s)
{
	const unsigned char *name;
	size_t n;
	int rc = 0;

	for (size_t at = 0; rc == 0 && (n = rama_shutdown_own_next_name(s->own, &at, &name)) > 0;) {
		uint64_t id;

		memcpy(&id, name, sizeof(id));
		if (!rama_shutdown_ids_has(&s->not_mine, id))
			rc = rama_shutdown_shut_add(s, RAMA_LOG_REGION_NAMES, name, n);
	}
	return rc;
}

/* is the last word of its segments one that goes into the annex? */
static bool is_split(const struct rama_tab_module *mod)
{
	return mod->newest != mod->released && rama_tab_section_threads(mod->id) != NULL;
}

/* a trace as released tools know it: segments without the word that says which thread it was */
static int pack_trace(struct rama_shutdown_shut *s, const struct rama_tab_module *mod)
{
	unsigned region = RAMA_LOG_REGION_MODULE + mod->id, words = mod->record->words;
	union rama_core_word *w;
	size_t n;
	int rc = 0;

	for (size_t at = 0;
	     rc == 0 && (n = rama_shutdown_own_next(s->own, mod->id, &at, &w)) > 0;) {
		rc = rama_shutdown_shut_add(s, region, w, words * sizeof(*w));
		for (size_t i = words; i < n / sizeof(*w) && rc == 0; i += RAMA_TAB_SEG_WORDS)
			rc = rama_shutdown_shut_add(s, region, w + i,
						    RAMA_TAB_SEG_THREAD * sizeof(*w));
	}
	return rc;
}

/* Its threads, as logfile/cursor.c reads them. Every rank writes them for every record that it
 * writes, so that both stay in step. */
static int pack_threads(struct rama_shutdown_shut *s, const struct rama_tab_module *mod)
{
	unsigned region = RAMA_LOG_REGION_MODULE + rama_tab_section_threads(mod->id)->id;
	union rama_core_word *w;
	size_t n;
	int rc = 0;

	for (size_t at = 0;
	     rc == 0 && (n = rama_shutdown_own_next(s->own, mod->id, &at, &w)) > 0;) {
		union rama_core_word *seg = w + mod->record->words, *end = w + n / sizeof(*w);
		const uint64_t head[] = { w[RAMA_TAB_ID].u, w[RAMA_TAB_RANK].u,
					  (uint64_t)(end - seg) / RAMA_TAB_SEG_WORDS };

		rc = rama_shutdown_shut_add(s, region, head, sizeof(head));
		while (seg < end && rc == 0) {
			uint64_t run[] = { seg[RAMA_TAB_SEG_THREAD].u, 0 };

			for (; seg < end && seg[RAMA_TAB_SEG_THREAD].u == run[0];
			     seg += RAMA_TAB_SEG_WORDS)
				run[1]++;
			rc = rama_shutdown_shut_add(s, region, run, sizeof(run));
		}
	}
	return rc;
}

/* Records of shared files are at rank 0 already; layouts are the same everywhere, and rank 0
 * writes its. */
static int pack_module(struct rama_shutdown_shut *s, const struct rama_tab_module *mod)
{
	union rama_core_word *w;
	size_t n;
	int rc = 0;

	if (mod->id == RAMA_TAB_MOD_HEATMAP)
		return rama_shutdown_shut_heat_pack(s);
	if (is_split(mod))
		return pack_trace(s, mod);
	for (size_t at = 0;
	     rc == 0 && (n = rama_shutdown_own_next(s->own, mod->id, &at, &w)) > 0;) {
		bool shared = rama_shutdown_ids_has(&s->shared[mod->id], w[RAMA_TAB_ID].u);

		if (shared && (s->index > 0 || rama_shutdown_shut_reduces(mod)))
			continue;
		if (shared)
			w[RAMA_TAB_RANK].i = -1;
		rc = rama_shutdown_shut_add(s, RAMA_LOG_REGION_MODULE + mod->id, w, n);
	}
	return rc;
}

int rama_shutdown_shut_pack(struct rama_shutdown_shut *s)
{
	int rc = pack_names(s);

	for (unsigned id = 0; id < RAMA_TAB_MODULES_KNOWN && rc == 0; id++) {
		const struct rama_tab_module *mod = rama_tab_module_get(id);

		if (mod != NULL && s->own->part[RAMA_LOG_REGION_MODULE + id].version > 0)
			rc = pack_module(s, mod);
	}
	for (unsigned id = 0; id < RAMA_TAB_MODULES_KNOWN && rc == 0; id++) {
		const struct rama_tab_module *mod = rama_tab_module_get(id);

		if (mod != NULL && s->own->part[RAMA_LOG_REGION_MODULE + id].version > 0 &&
		    is_split(mod))
			rc = pack_threads(s, mod);
	}
	if (rc == 0)
		rc = flush(s);
	if (rc == 0 && s->index == 0)
		rc = rama_shutdown_shut_job(s);
	for (unsigned i = 0; i < RAMA_LOG_REGIONS; i++)
		s->result->own_bytes += s->piece[i].n;
	free(s->plain);
	s->plain = NULL;
	if (s->packing)
		rama_log_packer_fini(&s->packer);
	s->packing = false;
	return rc;
}

/* ---- the job --------------------------------------------------------------------------------- */

static void say_missing(const struct rama_shutdown_shut *s, char *metadata)
{
	static const char key[] = RAMA_LOG_META_MISSING;
	size_t have = strnlen(metadata, RAMA_LOG_META_SIZE - 1),
	       room = RAMA_LOG_META_SIZE - 1 - have;

	if (s->missing.n == 0 || room < sizeof(key) + 64)
		return;
	memcpy(metadata + have, key, sizeof(key) - 1);
	have += sizeof(key) - 1;
	rama_ranges_text(&s->missing, metadata + have, room - sizeof(key) - 1);
	have += strlen(metadata + have);
	memcpy(metadata + have, "\n", 2);
}

/* Stored, not compressed: its size does not change if ranks fall silent after places were given. */
int rama_shutdown_shut_job(struct rama_shutdown_shut *s)
{
	size_t n = (size_t)s->own->part[RAMA_LOG_REGION_JOB].len, packed_n;
	unsigned char job[RAMA_LOG_JOB_REGION];
	const unsigned char *packed;
	struct rama_log_packer p;
	int rc;

	if (n > sizeof(job))
		return rama_err_set(s->e, RAMA_ELIMIT, "the job is described at too great length");
	memcpy(job, rama_shutdown_own_region(s->own, RAMA_LOG_REGION_JOB), n);
	memcpy(job + 8, s->start, 16);
	memcpy(job + 24, s->end, 16);
	memcpy(job + 40, &s->comm->size, 8);
	job[56 + RAMA_LOG_META_SIZE - 1] = '\0';
	rama_log_unseen_replace(&s->unseen, (char *)job + 56, RAMA_LOG_META_SIZE - 1);
	say_missing(s, (char *)job + 56);
	rc = rama_log_packer_init(&p, RAMA_LOG_ZLIB, 0, s->e);
	if (rc == 0)
		rc = rama_log_pack(&p, job, n, &packed, &packed_n, s->e);
	s->piece[RAMA_LOG_REGION_JOB].n = 0;
	if (rc == 0)
		rc = append(s, &s->piece[RAMA_LOG_REGION_JOB], packed, packed_n);
	rama_log_packer_fini(&p);
	return rc;
}

/* ---- holes ----------------------------------------------------------------------------------- */

/* Blocks of a deflate stream that hold nothing: some of the fixed code, of 10 bits each, then
 * one that is stored and ends at a whole byte. By the number of bytes. */
static const unsigned char empty5[] = { 0, 0, 0, 255, 255 };
static const unsigned char empty6[] = { 2, 0, 0, 0, 255, 255 };
static const unsigned char empty7[] = { 2, 8, 0, 0, 0, 255, 255 };
static const unsigned char empty9[] = { 2, 8, 32, 0, 0, 0, 0, 255, 255 };
static const unsigned char head[] = { 0x78, 1 }, tail[] = { 1, 0, 0, 255, 255, 0, 0, 0, 1 };

struct filler {
	struct rama_shutdown_shut *s;
	uint64_t off;
	unsigned char bytes[4096];
	size_t n;
	uint32_t crc; /* of all that was written */
	int rc;
};

static void emit(struct filler *f, const void *bytes, size_t n)
{
	const struct rama_shutdown_file *file = &f->s->opt.file;

	if (f->rc == 0 && (f->n + n > sizeof(f->bytes) || bytes == NULL)) {
		f->rc = file->write(file->ctx, f->off, f->bytes, f->n, f->s->e);
		f->crc = rama_log_crc(f->crc, f->bytes, f->n);
		f->off += f->n;
		f->n = 0;
	}
	if (f->rc == 0 && bytes != NULL) {
		memcpy(f->bytes + f->n, bytes, n);
		f->n += n;
	}
}

int rama_shutdown_shut_fill(struct rama_shutdown_shut *s, uint64_t off, uint64_t n, uint32_t *crc)
{
	static const uint8_t least[] = { 0, 6, 7, 13, 9 }; /* by what is left after blocks of 5 */
	struct filler f = { .s = s, .off = off, .crc = *crc };
	uint64_t left = n - sizeof(head) - sizeof(tail);
	unsigned odd;

	if (n == 0)
		return 0;
	odd = (unsigned)(left % 5);
	if (n < sizeof(head) + sizeof(tail) || left < least[odd] || n > HOLE_MOST)
		return rama_err_set(s->e, RAMA_EIO, "a hole of %llu bytes cannot be filled",
				    (unsigned long long)n);
	emit(&f, head, sizeof(head));
	if (odd == 1 || odd == 3)
		emit(&f, empty6, sizeof(empty6));
	if (odd == 2 || odd == 3)
		emit(&f, empty7, sizeof(empty7));
	if (odd == 4)
		emit(&f, empty9, sizeof(empty9));
	for (left = (left - least[odd]) / 5; left > 0 && f.rc == 0; left--)
		emit(&f, empty5, sizeof(empty5));
	emit(&f, tail, sizeof(tail));
	emit(&f, NULL, 0);
	*crc = f.crc;
	return f.rc;
}
