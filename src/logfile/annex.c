/* SPDX-License-Identifier: BSD-3-Clause */
/* annex.c: the annex as writers make it; inside applications too. */
#include "logfile/annex.h"

#include <libdeflate.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "logfile/log.h"
#include "logfile/region.h"

const struct rama_log_section *rama_log_annex_find(const struct rama_log_annex *a, uint32_t id)
{
	for (unsigned i = 0; i < a->n; i++)
		if (a->section[i].id == id)
			return &a->section[i];
	return NULL;
}

void rama_log_annex_begin(struct rama_log_annex *a, uint64_t at)
{
	a->n = 0;
	a->begin = at;
}

struct rama_log_section *rama_log_annex_add(struct rama_log_annex *a, uint32_t id, uint32_t version,
					    uint64_t off)
{
	if (a->n == RAMA_LOG_ANNEX_MOST)
		return NULL;
	a->section[a->n] = (struct rama_log_section){ .id = id, .version = version, .off = off };
	return &a->section[a->n++];
}

static unsigned char *put(unsigned char *to, const void *v, size_t n)
{
	memcpy(to, v, n);
	return to + n;
}

size_t rama_log_annex_encode(const struct rama_log_annex *a, uint64_t at,
			     unsigned char bytes[RAMA_LOG_ANNEX_BYTES])
{
	uint64_t size = (uint64_t)a->n * RAMA_LOG_ANNEX_ENTRY,
		 end = at + size + RAMA_LOG_ANNEX_FOOTER;
	uint32_t version = RAMA_LOG_ANNEX_VERSION, crc;
	unsigned char *p = bytes;

	if (a->n == 0)
		return 0;
	for (unsigned i = 0; i < a->n; i++) {
		const struct rama_log_section *s = &a->section[i];

		p = put(p, &s->id, 4);
		p = put(p, &s->version, 4);
		p = put(p, &s->flags, 4);
		p = put(p, &s->crc, 4);
		p = put(p, &s->off, 8);
		p = put(p, &s->len, 8);
	}
	p = put(p, &a->begin, 8);
	p = put(p, &at, 8);
	p = put(p, &size, 8);
	p = put(p, &end, 8);
	p = put(p, &version, 4);
	crc = rama_log_crc(0, bytes, (size_t)(p - bytes));
	p = put(p, &crc, 4);
	p = put(p, RAMA_LOG_ANNEX_MAGIC, 8);
	return (size_t)(p - bytes);
}

/* ---- checksums ------------------------------------------------------------------------------ */

uint32_t rama_log_crc(uint32_t before, const void *bytes, size_t n)
{
	return n > 0 ? libdeflate_crc32(before, bytes, n) : before;
}

/* Product of two polynomials over the field of two elements, modulo that of CRC-32; the highest
 * bit is the constant term. */
static uint32_t times(uint32_t a, uint32_t b)
{
	uint32_t product = 0;

	for (uint32_t bit = 1u << 31; bit != 0; bit >>= 1) {
		if (a & bit)
			product ^= b;
		b = b & 1 ? b >> 1 ^ 0xedb88320u : b >> 1;
	}
	return product;
}

/* A byte more multiplies a checksum by x to the eighth, so n of them by the n-th power of that. */
uint32_t rama_log_crc_join(uint32_t first, uint32_t second, uint64_t second_len)
{
	uint32_t power = 1u << 31, square = 1u << (31 - 8);

	for (; second_len > 0; second_len >>= 1) {
		if (second_len & 1)
			power = times(power, square);
		square = times(square, square);
	}
	return times(power, first) ^ second;
}

/* ---- annex read ----------------------------------------------------------------------------- */
/* Finds the annex at the end of a log and puts its modules where those of a header
 * are. No number in it is believed; what does not fit is one note, and nothing else of the log
 * is lost. */

#define CHUNK (64u << 10) /* bytes read at once for a checksum */

struct footer {
	uint64_t begin, dir, dir_len, size;
	uint32_t version, crc;
};

/* a note, and for those who need all of the log an error */
static void __attribute__((format(printf, 2, 3)))
tell_lost(struct rama_log *log, const char *fmt, ...)
{
	char line[sizeof(log->annex_lost.text)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	rama_err_set(&log->annex_lost, RAMA_ECORRUPT, "%s", line);
	rama_log_note(log, "%s", line);
}

int rama_log_annex_check(const struct rama_log *log, struct rama_err *e)
{
	if (log->annex_lost.code != 0)
		return rama_err_set(e, log->annex_lost.code, "%s", log->annex_lost.text);
	return log->unfit == 0 ? 0
			       : rama_err_set(e, RAMA_ECORRUPT,
					      "thread ids in the annex do not fit its records");
}

/* where the last region of the header ends, as far as it is there */
static uint64_t end_of_part(const struct rama_log_part *p)
{
	return p->len > 0 ? p->off + p->len : 0;
}

static uint64_t end_of_regions(const struct rama_log *log)
{
	uint64_t end = log->header_size, job = end_of_part(&log->job_part),
		 names = end_of_part(&log->name_part);

	end = job > end ? job : end;
	end = names > end ? names : end;
	for (unsigned i = 0; i < RAMA_TAB_MODULES; i++) {
		uint64_t here = end_of_part(&log->part[i]);

		end = here > end ? here : end;
	}
	return end;
}

static bool cut_off(const struct rama_log *log)
{
	bool cut = log->name_part.len < log->name_part.stored_len ||
		   log->job_part.len < log->job_part.stored_len;

	for (unsigned i = 0; i < RAMA_TAB_MODULES; i++)
		cut = cut || log->part[i].len < log->part[i].stored_len;
	return cut;
}

/* does an annex begin there, as far as there are bytes? */
static bool begins_at(struct rama_log *log, uint64_t at)
{
	uint64_t rest = log->src->size - at;
	size_t n = rest < RAMA_LOG_ANNEX_HEAD ? (size_t)rest : RAMA_LOG_ANNEX_HEAD;
	char head[RAMA_LOG_ANNEX_HEAD];
	struct rama_err e;

	return log->src->read(log->src->ctx, at, head, n, &e) == 0 &&
	       memcmp(head, RAMA_LOG_ANNEX_MAGIC, n) == 0;
}

/* Bytes behind the last region that are no annex: one that was cut off, or bytes that somebody
 * appended. Logs that a process left in memory end with room that it did not use. */
static void tell_rest(struct rama_log *log, uint64_t end)
{
	bool ours = end < log->src->size && begins_at(log, end);
	char line[200];

	if (end >= log->src->size || cut_off(log) ||
	    (log->compression == RAMA_LOG_PLAIN_BYTES && !ours))
		return;
	snprintf(line, sizeof(line),
		 "%llu bytes behind its last region are no annex that can be read: it was cut off, "
		 "or others have appended them; left out",
		 (unsigned long long)(log->src->size - end));
	if (ours)
		tell_lost(log, "%s", line);
	else
		rama_log_note(log, "%s", line);
}

static void take_footer(const struct rama_log *log, const unsigned char *b, struct footer *f)
{
	*f = (struct footer){ .begin = rama_log_u64(log, b),
			      .dir = rama_log_u64(log, b + 8),
			      .dir_len = rama_log_u64(log, b + 16),
			      .size = rama_log_u64(log, b + 24),
			      .version = rama_log_u32(log, b + 32),
			      .crc = rama_log_u32(log, b + 36) };
}

/* NULL: directory and footer are where they say, and fit the file */
static const char *misplaced(const struct rama_log *log, const struct footer *f, uint64_t end)
{
	if (f->size != log->src->size)
		return "the file is not as long as it says";
	if (f->dir_len % RAMA_LOG_ANNEX_ENTRY != 0 ||
	    f->dir_len > RAMA_LOG_ANNEX_MOST * RAMA_LOG_ANNEX_ENTRY)
		return "its directory has no such size";
	if (f->dir > f->size - RAMA_LOG_ANNEX_FOOTER ||
	    f->dir_len != f->size - RAMA_LOG_ANNEX_FOOTER - f->dir)
		return "its directory is not in front of its footer";
	if (f->begin < end || f->begin > f->dir || f->dir - f->begin < RAMA_LOG_ANNEX_HEAD)
		return "it overlaps the regions";
	return NULL;
}

static void take_entry(const struct rama_log *log, const unsigned char *b,
		       struct rama_log_section *s)
{
	*s = (struct rama_log_section){ .id = rama_log_u32(log, b),
					.version = rama_log_u32(log, b + 4),
					.flags = rama_log_u32(log, b + 8),
					.crc = rama_log_u32(log, b + 12),
					.off = rama_log_u64(log, b + 16),
					.len = rama_log_u64(log, b + 24) };
}

/* NULL: all sections lie behind each other between the regions and the directory */
static const char *take_directory(struct rama_log *log, const struct footer *f,
				  const unsigned char *bytes, struct rama_log_annex *to)
{
	uint64_t at = f->begin + RAMA_LOG_ANNEX_HEAD;

	rama_log_annex_begin(to, f->begin);
	for (uint64_t i = 0; i < f->dir_len / RAMA_LOG_ANNEX_ENTRY; i++) {
		struct rama_log_section s;

		take_entry(log, bytes + i * RAMA_LOG_ANNEX_ENTRY, &s);
		if (s.off < at || s.off > f->dir || s.len > f->dir - s.off)
			return "a section of it is outside";
		if (s.id < RAMA_TAB_OURS || rama_log_annex_find(to, s.id) != NULL)
			return "a section of it has a number that it cannot have";
		at = s.off + s.len;
		to->section[to->n++] = s;
	}
	return NULL;
}

/* do the stored bytes have the checksum that the directory says? */
static bool is_whole(struct rama_log *log, const struct rama_log_section *s, unsigned char *chunk)
{
	struct rama_err e;
	uint32_t crc = 0;

	for (uint64_t done = 0; done < s->len;) {
		size_t n = s->len - done < CHUNK ? (size_t)(s->len - done) : CHUNK;

		if (log->src->read(log->src->ctx, s->off + done, chunk, n, &e) != 0)
			return false;
		crc = rama_log_crc(crc, chunk, n);
		done += n;
	}
	return crc == s->crc;
}

static const char *name_of(uint32_t id)
{
	const struct rama_tab_module *m = rama_tab_module_get(id);
	const struct rama_tab_section *s = rama_tab_section_get(id);

	return m != NULL ? m->name : s != NULL ? s->name : "a section that is not known";
}

static void tell_newer(struct rama_log *log, const struct rama_log_section *s)
{
	tell_lost(log, "%s: version %u of the annex is not known; not read", name_of(s->id),
		  s->version);
}

/* A module from the annex is one like any other from here on, unless it is of a later time than
 * we are. */
static void give_module(struct rama_log *log, const struct rama_log_section *s)
{
	const struct rama_tab_module *m = rama_tab_module_get(s->id);
	const struct rama_tab_section *known = rama_tab_section_get(s->id);

	if (known != NULL && s->version != known->newest)
		tell_newer(log, s);
	if (m == NULL)
		return;
	if (s->version == 0 || s->version > m->newest) {
		tell_newer(log, s);
		return;
	}
	log->part[s->id] = (struct rama_log_part){
		.off = s->off, .len = s->len, .stored_len = s->len, .version = s->version
	};
	if (s->flags & RAMA_LOG_SECTION_INCOMPLETE)
		log->partial |= 1ull << s->id;
	else
		log->partial &= ~(1ull << s->id);
}

bool rama_log_section_known(const struct rama_log *log, const struct rama_log_section *s)
{
	const struct rama_tab_section *known = rama_tab_section_get(s->id);

	if (rama_tab_module_get(s->id) != NULL) /* not if it was too new */
		return log->part[s->id].version == s->version;
	return known != NULL && known->newest == s->version;
}

void rama_log_note_section(struct rama_log *log, const struct rama_log_section *s, const char *then)
{
	if (rama_tab_module_get(s->id) != NULL || rama_tab_section_get(s->id) != NULL)
		return; /* that it is too new was told when the log was opened */
	rama_log_note(log, "section %u (version %u, %llu bytes) of its annex is not known; %s",
		      s->id, s->version, (unsigned long long)s->len, then);
}

/* sections that are whole; the others are left out, which is said once */
static void take_sections(struct rama_log *log, const struct rama_log_annex *all,
			  unsigned char *chunk)
{
	const char *first = NULL;
	unsigned bad = 0;

	for (unsigned i = 0; i < all->n; i++) {
		const struct rama_log_section *s = &all->section[i];
		bool twice = s->id < RAMA_TAB_MODULES && log->part[s->id].version > 0;

		if (twice || !is_whole(log, s, chunk)) {
			first = first != NULL ? first : name_of(s->id);
			bad++;
			continue;
		}
		log->annex.section[log->annex.n++] = *s;
		give_module(log, s);
	}
	if (bad > 1)
		tell_lost(log, "%u sections of its annex are damaged, the first is %s; left out",
			  bad, first);
	else if (bad > 0)
		tell_lost(log, "its annex is damaged in %s, which is left out", first);
}

void rama_log_annex_read(struct rama_log *log)
{
	uint64_t size = log->src->size, end = end_of_regions(log);
	unsigned char foot[RAMA_LOG_ANNEX_FOOTER], *work;
	struct rama_log_annex all;
	const char *wrong = "it cannot be read";
	struct rama_err e;
	struct footer f;

	if (log->minor < 41 || size < log->header_size + sizeof(foot))
		return;
	if (log->src->read(log->src->ctx, size - sizeof(foot), foot, sizeof(foot), &e) != 0 ||
	    memcmp(foot + 40, RAMA_LOG_ANNEX_MAGIC, 8) != 0) {
		tell_rest(log, end);
		return;
	}
	take_footer(log, foot, &f);
	if (f.version != RAMA_LOG_ANNEX_VERSION) {
		tell_lost(log, "its annex is of version %u, which is not known; left out",
			  f.version);
		return;
	}
	wrong = misplaced(log, &f, end);
	work = wrong == NULL ? malloc(CHUNK) : NULL;
	if (wrong == NULL && work == NULL)
		wrong = "out of memory";
	if (wrong == NULL &&
	    (log->src->read(log->src->ctx, f.dir, work, (size_t)f.dir_len, &e) != 0 ||
	     rama_log_crc(rama_log_crc(0, work, (size_t)f.dir_len), foot, 36) != f.crc))
		wrong = "its directory is damaged";
	if (wrong == NULL)
		wrong = take_directory(log, &f, work, &all);
	if (wrong == NULL)
		take_sections(log, &all, work);
	else
		tell_lost(log, "its annex is left out: %s", wrong);
	free(work);
}
