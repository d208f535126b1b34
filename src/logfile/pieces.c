/* SPDX-License-Identifier: BSD-3-Clause */
/* pieces.c: the parts of a log that any number of writers can make on their own. */
#ifndef RAMA_WITHOUT_BZIP2 /* capture carries one compressor, not two */
#include <bzlib.h>
#endif
#include <libdeflate.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/without.h"
#include "logfile/writer.h"

#define BZIP2_BLOCK 9
#define BZIP2_WORK 30

int rama_log_packer_init(struct rama_log_packer *p, uint8_t kind, int level, struct rama_err *e)
{
	*p = (struct rama_log_packer){ .kind = kind, .level = level };
#ifdef RAMA_WITHOUT_BZIP2
	if (kind == RAMA_LOG_BZIP2)
		return rama_err_without(e, "bzip2");
#endif
	if (kind == RAMA_LOG_ZLIB && (p->deflate = libdeflate_alloc_compressor(level)) == NULL)
		return rama_err_no_memory(e);
	return 0;
}

void rama_log_packer_fini(struct rama_log_packer *p)
{
	if (p->deflate != NULL)
		libdeflate_free_compressor(p->deflate);
	free(p->packed);
	*p = (struct rama_log_packer){ 0 };
}

static int make_room(struct rama_log_packer *p, size_t n, struct rama_err *e)
{
	unsigned char *more;

	if (n <= p->room)
		return 0;
	more = realloc(p->packed, n);
	if (more == NULL)
		return rama_err_no_memory(e);
	p->packed = more;
	p->room = n;
	return 0;
}

/* bytes of the result, 0: it failed */
static size_t bzip2(struct rama_log_packer *p, const void *bytes, size_t n)
{
#ifdef RAMA_WITHOUT_BZIP2
	(void)p, (void)bytes, (void)n;
	return 0;
#else
	unsigned out = (unsigned)p->room;
	int rc = BZ2_bzBuffToBuffCompress((char *)p->packed, &out, (char *)(uintptr_t)bytes,
					  (unsigned)n, BZIP2_BLOCK, 0, BZIP2_WORK);

	return rc == BZ_OK ? out : 0;
#endif
}

int rama_log_pack(struct rama_log_packer *p, const void *bytes, size_t n,
		  const unsigned char **packed, size_t *packed_n, struct rama_err *e)
{
	int rc;

	if (p->kind == RAMA_LOG_PLAIN_BYTES) {
		*packed = bytes;
		*packed_n = n;
		return 0;
	}
	rc = make_room(p,
		       p->kind == RAMA_LOG_ZLIB ? libdeflate_zlib_compress_bound(p->deflate, n)
						: n + n / 100 + 600,
		       e);
	if (rc != 0)
		return rc;
	*packed_n = p->kind == RAMA_LOG_ZLIB
			    ? libdeflate_zlib_compress(p->deflate, bytes, n, p->packed, p->room)
			    : bzip2(p, bytes, n);
	*packed = p->packed;
	return *packed_n > 0 ? 0 : rama_err_set(e, RAMA_EMEMORY, "compression failed");
}

uint64_t rama_log_place(const uint64_t *size, size_t writers, uint64_t *off,
			struct rama_log_header *header)
{
	uint64_t at = RAMA_LOG_HEADER_NEW;

	for (unsigned region = 0; region < RAMA_LOG_REGIONS; region++) {
		if (region == RAMA_LOG_REGION_MODULE + RAMA_TAB_OURS)
			at += RAMA_LOG_ANNEX_HEAD;
		header->part[region].off = at;
		for (size_t w = 0; w < writers; w++) {
			off[w * RAMA_LOG_REGIONS + region] = at;
			at += size[w * RAMA_LOG_REGIONS + region];
		}
		header->part[region].len = at - header->part[region].off;
	}
	return at;
}

static void put(unsigned char *to, const void *v, size_t n)
{
	memcpy(to, v, n);
}

void rama_log_header_encode(const struct rama_log_header *h, unsigned char b[RAMA_LOG_HEADER_NEW])
{
	uint64_t partial = h->inner ? h->partial : h->partial & ((1ull << RAMA_TAB_OURS) - 1);
	int64_t magic = RAMA_LOG_MAGIC;
	const struct rama_log_part *names = &h->part[RAMA_LOG_REGION_NAMES];

	memset(b, 0, RAMA_LOG_HEADER_NEW);
	put(b, "3.41", 4);
	put(b + 8, &magic, 8);
	b[16] = h->compression;
	put(b + 24, &partial, 8);
	put(b + 32, &names->off, 8);
	put(b + 40, &names->len, 8);
	for (unsigned i = 0; i < RAMA_TAB_MODULES; i++) {
		const struct rama_log_part *p = &h->part[RAMA_LOG_REGION_MODULE + i];

		if (p->version == 0 || (i >= RAMA_TAB_OURS && !h->inner))
			/* a module nobody used has no entry at all, and ours never have */
			continue;
		put(b + 48 + 16 * i, &p->off, 8);
		put(b + 56 + 16 * i, &p->len, 8);
		put(b + 1072 + 4 * i, &p->version, 4);
	}
}

void rama_log_annex_of(const struct rama_log_header *h, const uint32_t crc[RAMA_TAB_MODULES],
		       struct rama_log_annex *to)
{
	rama_log_annex_begin(to, h->part[RAMA_LOG_REGION_MODULE + RAMA_TAB_OURS].off -
					 RAMA_LOG_ANNEX_HEAD);
	for (unsigned id = RAMA_TAB_OURS; id < RAMA_TAB_MODULES; id++) {
		const struct rama_log_part *p = &h->part[RAMA_LOG_REGION_MODULE + id];
		const struct rama_tab_section *known = rama_tab_section_get(id);
		uint32_t version = known != NULL && p->len > 0 ? known->newest : p->version;
		struct rama_log_section *s;

		if (version == 0 || (s = rama_log_annex_add(to, id, version, p->off)) == NULL)
			continue;
		s->len = p->len;
		s->crc = crc[id];
		if (h->partial >> id & 1)
			s->flags |= RAMA_LOG_SECTION_INCOMPLETE;
	}
}

size_t rama_log_job_encode(const struct rama_log_job *job, const struct rama_log_mount *mounts,
			   size_t n_mounts, unsigned char b[RAMA_LOG_JOB_REGION])
{
	static const char cut[] = "<TRUNCATED>";
	const int64_t numbers[] = { job->uid,	   job->start_sec, job->start_nsec, job->end_sec,
				    job->end_nsec, job->nprocs,	   job->jobid };
	/* of the text, without its NUL */
	const size_t room = RAMA_LOG_JOB_REGION - RAMA_LOG_JOB_NEW - 1;
	char *text = (char *)b + RAMA_LOG_JOB_NEW;
	size_t n = strlen(job->exe);

	memset(b, 0, RAMA_LOG_JOB_REGION);
	memcpy(b, numbers, sizeof(numbers));
	memcpy(b + sizeof(numbers), job->metadata, strnlen(job->metadata, RAMA_LOG_META_SIZE - 1));
	if (n > room) {
		memcpy(text, job->exe, room);
		memcpy(text + room - strlen(cut), cut, strlen(cut));
		return RAMA_LOG_JOB_REGION;
	}
	memcpy(text, job->exe, n);
	for (size_t i = 0; i < n_mounts; i++) {
		size_t want = strlen(mounts[i].type) + mounts[i].path_len + 2;

		if (n + want <= room) {
			snprintf(text + n, want + 1, "\n%s\t%s", mounts[i].type, mounts[i].path);
			n += want;
		}
	}
	return RAMA_LOG_JOB_NEW + n + 1;
}
