/* SPDX-License-Identifier: BSD-3-Clause */
/* fn.c: names of the functions we observe. */
#include "table/fn.h"

#define FN(name, ...) [RAMA_FN_##name] = { #name, TABLE },
#define FN_MODE FN
#define FN_HAND FN
#define FN_HAND0 FN
#define FN_FMT FN
#define FN_SCAN FN
#define FN_SCAN0 FN
#define FN_EXECL FN
#define FN_JUMP(name) FN(name, )
#define FN_ASM(name) FN(name, )
#define FN_MPI FN
#define FN_MPI4 FN
#define FN_MPIP FN
#define FN_MPIH FN
#define FN_MPI0(name) FN(name, )
#define FN_NC FN
#define FN_NCF FN
#define FN_NCH FN
#define NEED(...)

const struct rama_fn_info rama_fn_info[RAMA_FNS] = {
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
