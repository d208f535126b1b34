/* SPDX-License-Identifier: BSD-3-Clause */
/* index.h: where each counter stands in its record, as a word index (one word = 8 bytes), made
 * from the rows. RAMA_TAB_POSIX_OPENS is the index of POSIX_OPENS; RAMA_TAB_POSIX__WORDS the
 * size of the record. Words 0 and 1 of every record are its id and its rank. */
#ifndef RAMA_TABLE_INDEX_H
#define RAMA_TABLE_INDEX_H

#include "table/fields.h"

/* counters_posix.def of the set posix; it stands beside the file that includes it */
#define RAMA_TAB_ROWS(set) RAMA_TAB_ROWS_(set)
#define RAMA_TAB_ROWS_(set) RAMA_TAB_ROWS_FILE(counters_##set.def)
#define RAMA_TAB_ROWS_FILE(path) #path

enum { RAMA_TAB_ID, RAMA_TAB_RANK, RAMA_TAB_BASE_WORDS };

#define PAST(n, since, until)
#define FIELD(n, words, ...) REC(_##n), REC(_##n##__LAST) = REC(_##n) + (words)-1,
#define RAMA_TAB_EACH_RECORD "table/index_one.def"
#include "table/modules.def"
#undef FIELD

/* one traced access, whatever the version it was read from */
enum {
	RAMA_TAB_SEG_OFFSET,
	RAMA_TAB_SEG_LENGTH,
	RAMA_TAB_SEG_START,
	RAMA_TAB_SEG_END,
	RAMA_TAB_SEG_THREAD,
	RAMA_TAB_SEG_WORDS
};

#undef PAST
#include "table/fields_end.h"
#endif
