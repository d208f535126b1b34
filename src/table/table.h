/* SPDX-License-Identifier: BSD-3-Clause */
/* table.h: what is known of logs, compiled from the rows of the .def files. All of it is
 * constant. */
#ifndef RAMA_TABLE_TABLE_H
#define RAMA_TABLE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "table/index.h"

enum rama_tab_type {
	RAMA_TAB_I64,
	RAMA_TAB_U64,
	RAMA_TAB_F64,
	RAMA_TAB_U32,
	RAMA_TAB_TEXT,
	RAMA_TAB_UUID
};

/* COUNTER: printed in order; LAST: printed after the counters; HIDDEN: no counter;
 * DROPPED: in old versions only */
enum rama_tab_place { RAMA_TAB_COUNTER, RAMA_TAB_LAST, RAMA_TAB_HIDDEN, RAMA_TAB_DROPPED };

/* see fields.h */
enum rama_tab_reduce {
	RAMA_TAB_NONE,
	RAMA_TAB_SUM,
	RAMA_TAB_SUM_NEG,
	RAMA_TAB_MAX,
	RAMA_TAB_MIN_NZ,
	RAMA_TAB_KEEP,
	RAMA_TAB_ANY,
	RAMA_TAB_LEAD_READ,
	RAMA_TAB_WITH_READ,
	RAMA_TAB_LEAD_WRITE,
	RAMA_TAB_WITH_WRITE,
	RAMA_TAB_FAST_RANK,
	RAMA_TAB_FAST_BYTES,
	RAMA_TAB_FAST_TIME,
	RAMA_TAB_SLOW_RANK,
	RAMA_TAB_SLOW_BYTES,
	RAMA_TAB_SLOW_TIME,
	RAMA_TAB_VAR_TIME,
	RAMA_TAB_VAR_BYTES,
	RAMA_TAB_ACCESS_VALUE,
	RAMA_TAB_ACCESS_MORE,
	RAMA_TAB_ACCESS_COUNT,
	RAMA_TAB_STRIDE_VALUE,
	RAMA_TAB_STRIDE_COUNT,
	RAMA_TAB_REDUCE_KINDS
};

#define RAMA_TAB_NO_WORD 0xffff
#define RAMA_TAB_VERSION_ANY 255
#define RAMA_TAB_MODULES 64 /* slots in a log's header */
/* Modules and sections from here on are ours: no header names them, they stand in the annex. */
#define RAMA_TAB_OURS 48

/* one field of a record: a row of counters_*.def */
struct rama_tab_field {
	const char *name; /* with the module's prefix: POSIX_OPENS */
	const char *doc;
	uint16_t word; /* place in the newest version, RAMA_TAB_NO_WORD if it is not in there */
	uint8_t words;
	uint8_t type;
	uint8_t place;
	uint8_t since, until;
	uint8_t reduce;
};

/* elements that follow the fixed part of a record */
struct rama_tab_array {
	const char *name;
	uint16_t count_word; /* field that says how many */
	uint8_t words;	     /* of one element, newest version */
	uint8_t wide_since;  /* elements of older versions lack the last word */
	uint8_t raw_from;    /* words of an element from here on are bytes; `words`: none */
	uint8_t least;	     /* stored even if the count says fewer */
};

/* one kind of record */
struct rama_tab_schema {
	const struct rama_tab_field *fields;
	const unsigned *n_fields;
	uint16_t words; /* of the fixed part, newest version */
	uint8_t n_arrays;
	struct rama_tab_array array[2];
};

/* unsigned fields are counts that add up, or ids */
static inline bool rama_tab_field_is_id(const struct rama_tab_field *f)
{
	return f->type == RAMA_TAB_U64 && f->reduce == RAMA_TAB_KEEP;
}

/* a moment since the start of the process, which moves with it */
bool rama_tab_field_is_timestamp(const struct rama_tab_field *f);

enum {
	RAMA_TAB_TOTALS = 1,
	RAMA_TAB_CLAMP = 2,
	RAMA_TAB_OFFSETS = 4,
	RAMA_TAB_TRACE = 8,
	RAMA_TAB_PLAIN = 16,
	RAMA_TAB_LISTS = 32
};

struct rama_tab_module {
	uint8_t id;
	uint8_t newest, released;
	uint8_t flags;
	const char *name;
	const struct rama_tab_schema *record;
	const struct rama_tab_schema *header; /* of the first record, or NULL */
	const char *doc;
};

enum {
#define M(id, symbol, ...) RAMA_TAB_MOD_##symbol = id,
#include "table/modules.def"
	RAMA_TAB_MODULES_KNOWN /* above every id; not all ids below it have a module */
};

/* kinds of records that processes make: their numbers in segments are 0 and up */
enum {
#define M(...)
#define K(id, symbol, ...) RAMA_TAB_KIND_##symbol##__ROW,
#include "table/modules.def"
	RAMA_TAB_KINDS
};

/* NULL for an id that no module has */
const struct rama_tab_module *rama_tab_module_get(unsigned id);

/* by name, letter case ignored; NULL if there is none */
const struct rama_tab_module *rama_tab_module_find(const char *name);

/* do segments of this version say which thread it was? */
bool rama_tab_module_has_threads(const struct rama_tab_module *mod, unsigned version);

/* what an annex holds beside modules: a row of sections.def */
struct rama_tab_section {
	uint8_t id, newest, module;
	const char *name, *doc;
};

enum {
#define S(id, symbol, ...) RAMA_REPORT_TABLE_SECTION_##symbol = id,
#include "table/sections.def"
#undef S
};

/* NULL for an id that no section has; modules are none */
const struct rama_tab_section *rama_tab_section_get(unsigned id);
/* the section that has the thread ids of a module's segments, or NULL */
const struct rama_tab_section *rama_tab_section_threads(unsigned module);

/* field whose name, without the module's prefix, is `suffix` (BYTES_READ, F_META_TIME); or NULL */
const struct rama_tab_field *rama_tab_field_find(const struct rama_tab_module *mod,
						 const char *suffix);

/* Lines that darshan-parser prints about a module's counters; see legend.def. */
struct rama_tab_legend {
	uint8_t module;
	uint8_t from, to; /* versions of the records it is true of */
	const char *line;
};
extern const struct rama_tab_legend rama_tab_legends[];
extern const unsigned rama_tab_n_legends;

extern const struct rama_tab_schema rama_tab_schema_lustre_comp;

#endif
