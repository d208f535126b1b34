/* SPDX-License-Identifier: BSD-3-Clause */
/* annex.h: what is ours in a log stands behind its last region, where released tools do not
 * look: a word that says so, sections, each a row of compressed streams as regions are, a
 * directory of them, and a footer of fixed size that ends the file. docs/format/log.md tells the
 * bytes. */
#ifndef RAMA_LOGFILE_ANNEX_H
#define RAMA_LOGFILE_ANNEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RAMA_LOG_ANNEX_MAGIC "IORANNEX" /* first and last bytes of it */
#define RAMA_LOG_ANNEX_HEAD 8
#define RAMA_LOG_ANNEX_VERSION 1
#define RAMA_LOG_ANNEX_FOOTER 48 /* bytes */
#define RAMA_LOG_ANNEX_ENTRY 32	 /* bytes of the directory for one section */
#define RAMA_LOG_ANNEX_MOST 64	 /* sections; more are not believed */
#define RAMA_LOG_ANNEX_BYTES (RAMA_LOG_ANNEX_MOST * RAMA_LOG_ANNEX_ENTRY + RAMA_LOG_ANNEX_FOOTER)

#define RAMA_LOG_SECTION_INCOMPLETE \
	1u /* flag: something was dropped, as header flags of modules say it */

struct rama_log_section {
	uint32_t id, version, flags;
	uint32_t crc;	   /* of the stored bytes */
	uint64_t off, len; /* in the file, as stored */
};

struct rama_log_annex {
	struct rama_log_section section[RAMA_LOG_ANNEX_MOST]; /* as they lie in the file */
	unsigned n;
	uint64_t begin; /* where its first bytes are */
};

/* NULL: it has none of that id */
const struct rama_log_section *rama_log_annex_find(const struct rama_log_annex *a, uint32_t id);

/* No sections yet. The first bytes, which the caller writes there, are RAMA_LOG_ANNEX_MAGIC. */
void rama_log_annex_begin(struct rama_log_annex *a, uint64_t at);
/* a new section at the end, empty; NULL: there are too many */
struct rama_log_section *rama_log_annex_add(struct rama_log_annex *a, uint32_t id, uint32_t version,
					    uint64_t off);

/* Directory and footer as they stand at `at`, where the last section ends; an annex without
 * sections has none. Returns the bytes used. */
size_t rama_log_annex_encode(const struct rama_log_annex *a, uint64_t at,
			     unsigned char bytes[RAMA_LOG_ANNEX_BYTES]);

/* CRC-32 as zlib has it: of nothing it is 0, and it goes on from what was before. The one of a
 * whole comes from those of its two parts, so that many writers can make one section. */
uint32_t rama_log_crc(uint32_t before, const void *bytes, size_t n);
uint32_t rama_log_crc_join(uint32_t first, uint32_t second, uint64_t second_len);

/* internal to logfile: finds the annex of a log whose header, job and names were read. Whatever is
 * wrong with it is a note, and the log goes on without. */
struct rama_log;
void rama_log_annex_read(struct rama_log *log);

#endif
