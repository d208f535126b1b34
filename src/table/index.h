/* SPDX-License-Identifier: BSD-3-Clause */
/* index.h: where each counter stands in its record, as a word index (one word = 8 bytes), made
 * from the rows. RAMA_TAB_POSIX_OPENS is the index of POSIX_OPENS; RAMA_TAB_POSIX__WORDS the
 * size of the record. Words 0 and 1 of every record are its id and its rank. */
#ifndef RAMA_TABLE_INDEX_H
#define RAMA_TABLE_INDEX_H

#include "table/fields.h"

enum { RAMA_TAB_ID, RAMA_TAB_RANK, RAMA_TAB_BASE_WORDS };

#define PAST(n, since, until)

#define FIELD(n, words, ...) \
	RAMA_TAB_POSIX_##n, RAMA_TAB_POSIX_##n##__LAST = RAMA_TAB_POSIX_##n + (words)-1,
enum {
	RAMA_TAB_POSIX__FIRST = RAMA_TAB_BASE_WORDS - 1,
#include "table/counters_posix.def"
	RAMA_TAB_POSIX__WORDS
};
#undef FIELD

#define FIELD(n, words, ...) \
	RAMA_TAB_MPIIO_##n, RAMA_TAB_MPIIO_##n##__LAST = RAMA_TAB_MPIIO_##n + (words)-1,
enum {
	RAMA_TAB_MPIIO__FIRST = RAMA_TAB_BASE_WORDS - 1,
#include "table/counters_mpiio.def"
	RAMA_TAB_MPIIO__WORDS
};
#undef FIELD

#define FIELD(n, words, ...) \
	RAMA_TAB_STDIO_##n, RAMA_TAB_STDIO_##n##__LAST = RAMA_TAB_STDIO_##n + (words)-1,
enum {
	RAMA_TAB_STDIO__FIRST = RAMA_TAB_BASE_WORDS - 1,
#include "table/counters_stdio.def"
	RAMA_TAB_STDIO__WORDS
};
#undef FIELD

#define FIELD(n, words, ...) \
	RAMA_TAB_H5F_##n, RAMA_TAB_H5F_##n##__LAST = RAMA_TAB_H5F_##n + (words)-1,
enum {
	RAMA_TAB_H5F__FIRST = RAMA_TAB_BASE_WORDS - 1,
#include "table/counters_h5f.def"
	RAMA_TAB_H5F__WORDS
};
#undef FIELD

#define FIELD(n, words, ...) \
	RAMA_TAB_H5D_##n, RAMA_TAB_H5D_##n##__LAST = RAMA_TAB_H5D_##n + (words)-1,
enum {
	RAMA_TAB_H5D__FIRST = RAMA_TAB_BASE_WORDS - 1,
#include "table/counters_h5d.def"
	RAMA_TAB_H5D__WORDS
};
#undef FIELD

#define FIELD(n, words, ...)       \
	RAMA_TAB_PNETCDF_FILE_##n, \
		RAMA_TAB_PNETCDF_FILE_##n##__LAST = RAMA_TAB_PNETCDF_FILE_##n + (words)-1,
enum {
	RAMA_TAB_PNETCDF_FILE__FIRST = RAMA_TAB_BASE_WORDS - 1,
#include "table/counters_pnetcdf_file.def"
	RAMA_TAB_PNETCDF_FILE__WORDS
};
#undef FIELD

#define FIELD(n, words, ...)      \
	RAMA_TAB_PNETCDF_VAR_##n, \
		RAMA_TAB_PNETCDF_VAR_##n##__LAST = RAMA_TAB_PNETCDF_VAR_##n + (words)-1,
enum {
	RAMA_TAB_PNETCDF_VAR__FIRST = RAMA_TAB_BASE_WORDS - 1,
#include "table/counters_pnetcdf_var.def"
	RAMA_TAB_PNETCDF_VAR__WORDS
};
#undef FIELD

#define FIELD(n, words, ...) \
	RAMA_TAB_BGQ_##n, RAMA_TAB_BGQ_##n##__LAST = RAMA_TAB_BGQ_##n + (words)-1,
enum {
	RAMA_TAB_BGQ__FIRST = RAMA_TAB_BASE_WORDS - 1,
#include "table/counters_bgq.def"
	RAMA_TAB_BGQ__WORDS
};
#undef FIELD

#define FIELD(n, words, ...) \
	RAMA_TAB_LUSTRE_##n, RAMA_TAB_LUSTRE_##n##__LAST = RAMA_TAB_LUSTRE_##n + (words)-1,
enum {
	RAMA_TAB_LUSTRE__FIRST = RAMA_TAB_BASE_WORDS - 1,
#include "table/counters_lustre.def"
	RAMA_TAB_LUSTRE__WORDS
};
#undef FIELD

#define FIELD(n, words, ...)      \
	RAMA_TAB_LUSTRE_COMP_##n, \
		RAMA_TAB_LUSTRE_COMP_##n##__LAST = RAMA_TAB_LUSTRE_COMP_##n + (words)-1,
enum {
	RAMA_TAB_LUSTRE_COMP__FIRST = 0 - 1,
#include "table/counters_lustre_comp.def"
	RAMA_TAB_LUSTRE_COMP__WORDS
};
#undef FIELD

#define FIELD(n, words, ...) \
	RAMA_TAB_DXT_##n, RAMA_TAB_DXT_##n##__LAST = RAMA_TAB_DXT_##n + (words)-1,
enum {
	RAMA_TAB_DXT__FIRST = RAMA_TAB_BASE_WORDS - 1,
#include "table/counters_dxt.def"
	RAMA_TAB_DXT__WORDS
};
#undef FIELD

#define FIELD(n, words, ...) \
	RAMA_TAB_MDHIM_##n, RAMA_TAB_MDHIM_##n##__LAST = RAMA_TAB_MDHIM_##n + (words)-1,
enum {
	RAMA_TAB_MDHIM__FIRST = RAMA_TAB_BASE_WORDS - 1,
#include "table/counters_mdhim.def"
	RAMA_TAB_MDHIM__WORDS
};
#undef FIELD

#define FIELD(n, words, ...)      \
	RAMA_TAB_APXC_HEADER_##n, \
		RAMA_TAB_APXC_HEADER_##n##__LAST = RAMA_TAB_APXC_HEADER_##n + (words)-1,
enum {
	RAMA_TAB_APXC_HEADER__FIRST = RAMA_TAB_BASE_WORDS - 1,
#include "table/counters_apxc_header.def"
	RAMA_TAB_APXC_HEADER__WORDS
};
#undef FIELD

#define FIELD(n, words, ...) \
	RAMA_TAB_APXC_##n, RAMA_TAB_APXC_##n##__LAST = RAMA_TAB_APXC_##n + (words)-1,
enum {
	RAMA_TAB_APXC__FIRST = RAMA_TAB_BASE_WORDS - 1,
#include "table/counters_apxc.def"
	RAMA_TAB_APXC__WORDS
};
#undef FIELD

#define FIELD(n, words, ...)       \
	RAMA_TAB_APMPI_HEADER_##n, \
		RAMA_TAB_APMPI_HEADER_##n##__LAST = RAMA_TAB_APMPI_HEADER_##n + (words)-1,
enum {
	RAMA_TAB_APMPI_HEADER__FIRST = RAMA_TAB_BASE_WORDS - 1,
#include "table/counters_apmpi_header.def"
	RAMA_TAB_APMPI_HEADER__WORDS
};
#undef FIELD

#define FIELD(n, words, ...) \
	RAMA_TAB_APMPI_##n, RAMA_TAB_APMPI_##n##__LAST = RAMA_TAB_APMPI_##n + (words)-1,
enum {
	RAMA_TAB_APMPI__FIRST = RAMA_TAB_BASE_WORDS - 1,
#include "table/counters_apmpi.def"
	RAMA_TAB_APMPI__WORDS
};
#undef FIELD

#define FIELD(n, words, ...) \
	RAMA_TAB_HEATMAP_##n, RAMA_TAB_HEATMAP_##n##__LAST = RAMA_TAB_HEATMAP_##n + (words)-1,
enum {
	RAMA_TAB_HEATMAP__FIRST = RAMA_TAB_BASE_WORDS - 1,
#include "table/counters_heatmap.def"
	RAMA_TAB_HEATMAP__WORDS
};
#undef FIELD

#define FIELD(n, words, ...) \
	RAMA_TAB_DFS_##n, RAMA_TAB_DFS_##n##__LAST = RAMA_TAB_DFS_##n + (words)-1,
enum {
	RAMA_TAB_DFS__FIRST = RAMA_TAB_BASE_WORDS - 1,
#include "table/counters_dfs.def"
	RAMA_TAB_DFS__WORDS
};
#undef FIELD

#define FIELD(n, words, ...) \
	RAMA_TAB_DAOS_##n, RAMA_TAB_DAOS_##n##__LAST = RAMA_TAB_DAOS_##n + (words)-1,
enum {
	RAMA_TAB_DAOS__FIRST = RAMA_TAB_BASE_WORDS - 1,
#include "table/counters_daos.def"
	RAMA_TAB_DAOS__WORDS
};
#undef FIELD

#define FIELD(n, words, ...) \
	RAMA_TAB_NULL_##n, RAMA_TAB_NULL_##n##__LAST = RAMA_TAB_NULL_##n + (words)-1,
enum {
	RAMA_TAB_NULL__FIRST = RAMA_TAB_BASE_WORDS - 1,
#include "table/counters_null.def"
	RAMA_TAB_NULL__WORDS
};
#undef FIELD

#define FIELD(n, words, ...) \
	RAMA_TAB_EXTRA_##n, RAMA_TAB_EXTRA_##n##__LAST = RAMA_TAB_EXTRA_##n + (words)-1,
enum {
	RAMA_TAB_EXTRA__FIRST = RAMA_TAB_BASE_WORDS - 1,
#include "table/counters_extra.def"
	RAMA_TAB_EXTRA__WORDS
};
#undef FIELD

#define FIELD(n, words, ...) \
	RAMA_TAB_PROCESS_##n, RAMA_TAB_PROCESS_##n##__LAST = RAMA_TAB_PROCESS_##n + (words)-1,
enum {
	RAMA_TAB_PROCESS__FIRST = RAMA_TAB_BASE_WORDS - 1,
#include "table/counters_process.def"
	RAMA_TAB_PROCESS__WORDS
};
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
