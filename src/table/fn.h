/* SPDX-License-Identifier: BSD-3-Clause */
/* fn.h: the functions we observe as data: their ids, names and what their arguments mean. The rows are in
 * fn_posix.def, fn_stdio.def, fn_libaio.def, fn_process.def, fn_mpi.def,
 * fn_hdf5.def and fn_pnetcdf.def. */
#ifndef RAMA_TABLE_FN_H
#define RAMA_TABLE_FN_H

#include <stdint.h>

enum rama_opkind {
#define OP(kind, counter) RAMA_OP_##kind,
#include "table/ops.def"
#undef OP
	RAMA_OPS
};

#define FN(name, ...) RAMA_FN_##name,
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
enum rama_fn {
	RAMA_FN_NONE,
#include "table/fn_posix.def"
#include "table/fn_stdio.def"
#include "table/fn_libaio.def"
#include "table/fn_process.def"
#include "table/fn_mpi.def"
#include "table/fn_hdf5.def"
#include "table/fn_pnetcdf.def"
	RAMA_FNS
};
#undef FN
#undef FN_MODE
#undef FN_HAND
#undef FN_HAND0
#undef FN_FMT
#undef FN_SCAN
#undef FN_SCAN0
#undef FN_EXECL
#undef FN_JUMP
#undef FN_ASM
#undef FN_MPI
#undef FN_MPI4
#undef FN_MPIP
#undef FN_MPIH
#undef FN_MPI0
#undef FN_NC
#undef FN_NCF
#undef FN_NCH
#undef NEED

struct rama_fn_info {
	const char *name;
	const char *table; /* posix, stdio, libaio, process, mpi, hdf5, pnetcdf */
};
extern const struct rama_fn_info rama_fn_info[RAMA_FNS];

#endif
