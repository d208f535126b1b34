/* SPDX-License-Identifier: BSD-3-Clause */
/* fn.c: names of the functions we observe. */
#include "table/fn.h"

#define FN(name, ...) [RAMA_TAB_FN_##name] = { #name, TABLE },
#include "table/fn_words.h"

const struct rama_tab_fn_info rama_tab_fn_info[RAMA_TAB_FNS] = {
#define TABLE "posix"
#include "table/fn_posix.def"
#undef TABLE
#define TABLE "stdio"
#include "table/fn_stdio.def"
#undef TABLE
#define TABLE "libaio"
#include "table/fn_libaio.def"
#undef TABLE
#define TABLE "process"
#include "table/fn_process.def"
#undef TABLE
#define TABLE "mpi"
#include "table/fn_mpi.def"
#undef TABLE
#define TABLE "hdf5"
#include "table/fn_hdf5.def"
#undef TABLE
#define TABLE "pnetcdf"
#include "table/fn_pnetcdf.def"
#undef TABLE
};
