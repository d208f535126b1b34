/* SPDX-License-Identifier: BSD-3-Clause */
/* fields.c: the rows as arrays, one per kind of record. */
#include "table/table.h"

#include "table/fields.h"
#define PAST(n, since, until)                                                      \
	{                                                                          \
		#n,    "",    RAMA_TAB_NO_WORD, 1, RAMA_TAB_I64, RAMA_TAB_DROPPED, \
		since, until, RAMA_TAB_NONE                                        \
	},
#define ROW(name, word, words, type, place, since, red, doc) \
	{ name,                                              \
	  doc,                                               \
	  word,                                              \
	  words,                                             \
	  RAMA_TAB_##type,                                   \
	  RAMA_TAB_##place,                                  \
	  since,                                             \
	  RAMA_TAB_VERSION_ANY,                              \
	  RAMA_TAB_##red },

#define FIELD(n, ...) ROW("POSIX_" #n, RAMA_TAB_POSIX_##n, __VA_ARGS__)
const struct rama_tab_field rama_tab_fields_posix[] = {
#include "table/counters_posix.def"
};
const unsigned rama_tab_n_fields_posix =
	sizeof(rama_tab_fields_posix) / sizeof(rama_tab_fields_posix[0]);
#undef FIELD

#define FIELD(n, ...) ROW("MPIIO_" #n, RAMA_TAB_MPIIO_##n, __VA_ARGS__)
const struct rama_tab_field rama_tab_fields_mpiio[] = {
#include "table/counters_mpiio.def"
};
const unsigned rama_tab_n_fields_mpiio =
	sizeof(rama_tab_fields_mpiio) / sizeof(rama_tab_fields_mpiio[0]);
#undef FIELD

#define FIELD(n, ...) ROW("STDIO_" #n, RAMA_TAB_STDIO_##n, __VA_ARGS__)
const struct rama_tab_field rama_tab_fields_stdio[] = {
#include "table/counters_stdio.def"
};
const unsigned rama_tab_n_fields_stdio =
	sizeof(rama_tab_fields_stdio) / sizeof(rama_tab_fields_stdio[0]);
#undef FIELD

#define FIELD(n, ...) ROW("H5F_" #n, RAMA_TAB_H5F_##n, __VA_ARGS__)
const struct rama_tab_field rama_tab_fields_h5f[] = {
#include "table/counters_h5f.def"
};
const unsigned rama_tab_n_fields_h5f = sizeof(rama_tab_fields_h5f) / sizeof(rama_tab_fields_h5f[0]);
#undef FIELD

#define FIELD(n, ...) ROW("H5D_" #n, RAMA_TAB_H5D_##n, __VA_ARGS__)
const struct rama_tab_field rama_tab_fields_h5d[] = {
#include "table/counters_h5d.def"
};
const unsigned rama_tab_n_fields_h5d = sizeof(rama_tab_fields_h5d) / sizeof(rama_tab_fields_h5d[0]);
#undef FIELD

#define FIELD(n, ...) ROW("PNETCDF_FILE_" #n, RAMA_TAB_PNETCDF_FILE_##n, __VA_ARGS__)
const struct rama_tab_field rama_tab_fields_pnetcdf_file[] = {
#include "table/counters_pnetcdf_file.def"
};
const unsigned rama_tab_n_fields_pnetcdf_file =
	sizeof(rama_tab_fields_pnetcdf_file) / sizeof(rama_tab_fields_pnetcdf_file[0]);
#undef FIELD

#define FIELD(n, ...) ROW("PNETCDF_VAR_" #n, RAMA_TAB_PNETCDF_VAR_##n, __VA_ARGS__)
const struct rama_tab_field rama_tab_fields_pnetcdf_var[] = {
#include "table/counters_pnetcdf_var.def"
};
const unsigned rama_tab_n_fields_pnetcdf_var =
	sizeof(rama_tab_fields_pnetcdf_var) / sizeof(rama_tab_fields_pnetcdf_var[0]);
#undef FIELD

#define FIELD(n, ...) ROW("BGQ_" #n, RAMA_TAB_BGQ_##n, __VA_ARGS__)
const struct rama_tab_field rama_tab_fields_bgq[] = {
#include "table/counters_bgq.def"
};
const unsigned rama_tab_n_fields_bgq = sizeof(rama_tab_fields_bgq) / sizeof(rama_tab_fields_bgq[0]);
#undef FIELD

#define FIELD(n, ...) ROW("LUSTRE_" #n, RAMA_TAB_LUSTRE_##n, __VA_ARGS__)
const struct rama_tab_field rama_tab_fields_lustre[] = {
#include "table/counters_lustre.def"
};
const unsigned rama_tab_n_fields_lustre =
	sizeof(rama_tab_fields_lustre) / sizeof(rama_tab_fields_lustre[0]);
#undef FIELD

#define FIELD(n, ...) ROW("LUSTRE_COMP_" #n, RAMA_TAB_LUSTRE_COMP_##n, __VA_ARGS__)
const struct rama_tab_field rama_tab_fields_lustre_comp[] = {
#include "table/counters_lustre_comp.def"
};
const unsigned rama_tab_n_fields_lustre_comp =
	sizeof(rama_tab_fields_lustre_comp) / sizeof(rama_tab_fields_lustre_comp[0]);
#undef FIELD

#define FIELD(n, ...) ROW("DXT_" #n, RAMA_TAB_DXT_##n, __VA_ARGS__)
const struct rama_tab_field rama_tab_fields_dxt[] = {
#include "table/counters_dxt.def"
};
const unsigned rama_tab_n_fields_dxt = sizeof(rama_tab_fields_dxt) / sizeof(rama_tab_fields_dxt[0]);
#undef FIELD

#define FIELD(n, ...) ROW("MDHIM_" #n, RAMA_TAB_MDHIM_##n, __VA_ARGS__)
const struct rama_tab_field rama_tab_fields_mdhim[] = {
#include "table/counters_mdhim.def"
};
const unsigned rama_tab_n_fields_mdhim =
	sizeof(rama_tab_fields_mdhim) / sizeof(rama_tab_fields_mdhim[0]);
#undef FIELD

#define FIELD(n, ...) ROW("APXC_" #n, RAMA_TAB_APXC_HEADER_##n, __VA_ARGS__)
const struct rama_tab_field rama_tab_fields_apxc_header[] = {
#include "table/counters_apxc_header.def"
};
const unsigned rama_tab_n_fields_apxc_header =
	sizeof(rama_tab_fields_apxc_header) / sizeof(rama_tab_fields_apxc_header[0]);
#undef FIELD

#define FIELD(n, ...) ROW("APXC_" #n, RAMA_TAB_APXC_##n, __VA_ARGS__)
const struct rama_tab_field rama_tab_fields_apxc[] = {
#include "table/counters_apxc.def"
};
const unsigned rama_tab_n_fields_apxc =
	sizeof(rama_tab_fields_apxc) / sizeof(rama_tab_fields_apxc[0]);
#undef FIELD

#define FIELD(n, ...) ROW("MPI_" #n, RAMA_TAB_APMPI_HEADER_##n, __VA_ARGS__)
const struct rama_tab_field rama_tab_fields_apmpi_header[] = {
#include "table/counters_apmpi_header.def"
};
const unsigned rama_tab_n_fields_apmpi_header =
	sizeof(rama_tab_fields_apmpi_header) / sizeof(rama_tab_fields_apmpi_header[0]);
#undef FIELD

#define FIELD(n, ...) ROW("MPI_" #n, RAMA_TAB_APMPI_##n, __VA_ARGS__)
const struct rama_tab_field rama_tab_fields_apmpi[] = {
#include "table/counters_apmpi.def"
};
const unsigned rama_tab_n_fields_apmpi =
	sizeof(rama_tab_fields_apmpi) / sizeof(rama_tab_fields_apmpi[0]);
#undef FIELD

#define FIELD(n, ...) ROW("HEATMAP_" #n, RAMA_TAB_HEATMAP_##n, __VA_ARGS__)
const struct rama_tab_field rama_tab_fields_heatmap[] = {
#include "table/counters_heatmap.def"
};
const unsigned rama_tab_n_fields_heatmap =
	sizeof(rama_tab_fields_heatmap) / sizeof(rama_tab_fields_heatmap[0]);
#undef FIELD

#define FIELD(n, ...) ROW("DFS_" #n, RAMA_TAB_DFS_##n, __VA_ARGS__)
const struct rama_tab_field rama_tab_fields_dfs[] = {
#include "table/counters_dfs.def"
};
const unsigned rama_tab_n_fields_dfs = sizeof(rama_tab_fields_dfs) / sizeof(rama_tab_fields_dfs[0]);
#undef FIELD

#define FIELD(n, ...) ROW("DAOS_" #n, RAMA_TAB_DAOS_##n, __VA_ARGS__)
const struct rama_tab_field rama_tab_fields_daos[] = {
#include "table/counters_daos.def"
};
const unsigned rama_tab_n_fields_daos =
	sizeof(rama_tab_fields_daos) / sizeof(rama_tab_fields_daos[0]);
#undef FIELD

#define FIELD(n, ...) ROW("NULL_" #n, RAMA_TAB_NULL_##n, __VA_ARGS__)
const struct rama_tab_field rama_tab_fields_null[] = {
#include "table/counters_null.def"
};
const unsigned rama_tab_n_fields_null =
	sizeof(rama_tab_fields_null) / sizeof(rama_tab_fields_null[0]);
#undef FIELD

#define FIELD(n, ...) ROW("EXTRA_" #n, RAMA_TAB_EXTRA_##n, __VA_ARGS__)
const struct rama_tab_field rama_tab_fields_extra[] = {
#include "table/counters_extra.def"
};
const unsigned rama_tab_n_fields_extra =
	sizeof(rama_tab_fields_extra) / sizeof(rama_tab_fields_extra[0]);
#undef FIELD

#define FIELD(n, ...) ROW("PROCESS_" #n, RAMA_TAB_PROCESS_##n, __VA_ARGS__)
const struct rama_tab_field rama_tab_fields_process[] = {
#include "table/counters_process.def"
};
const unsigned rama_tab_n_fields_process =
	sizeof(rama_tab_fields_process) / sizeof(rama_tab_fields_process[0]);
#undef FIELD
