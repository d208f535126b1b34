/* SPDX-License-Identifier: BSD-3-Clause */
/* pnetcdf_rows.c: compares src/table/fn_pnetcdf.def with the pnetcdf.h and mpi.h it is compiled
 * with. A wrong prototype does not compile. It prints the names of the rows. */
#include <pnetcdf.h>
#include <stdint.h>
#include <stdio.h>

#include "table/map.h"

typedef uintptr_t rama_cap_handle;

/* the role of an argument gives its type in the header */
#define TYPE_NONE(t) t
#define TYPE_PATH(t) t
#define TYPE_NCID(t) int
#define TYPE_VARID(t) int
#define TYPE_PARTS(t) int
#define TYPE_COMM(t) MPI_Comm
#define TYPE_INFO(t) MPI_Info
#define TYPE_TYPE(t) MPI_Datatype
#define TYPE_MEMTYPE(t) MPI_Datatype
#define TYPE_ROOM(t) MPI_Offset
#define TYPE_OFFS(t) MPI_Offset *
#define TYPE_START(t) const MPI_Offset *
#define TYPE_EDGES(t) const MPI_Offset *
#define TYPE_STRIDE(t) const MPI_Offset *
#define TYPE_STARTS(t) MPI_Offset *const *
#define TYPE_EDGELISTS(t) MPI_Offset *const *

#define TYPE_(type, name, role) TYPE_##role(type)
#define TYPE(t) TYPE_ t

/* Handles may be narrower than the word that carries them; all else has its own size. */
#define IS_WORD(type) _Generic((type)0, rama_cap_handle : 1, default : 0)
#define SIZE_(type, name, role)                                                   \
	_Static_assert(sizeof(type) == sizeof(TYPE_##role(type)) ||               \
			       (IS_WORD(type) && sizeof(TYPE_##role(type)) == 4), \
		       #type " " #name " has another size");
#define SIZE(t) SIZE_ t

_Static_assert(sizeof(MPI_Offset) == sizeof(int64_t), "an offset has another size");
_Static_assert(NC_NOERR == 0 && NC_EINVAL == -36 && NC_MAX_NAME < 1024, "constants");
_Static_assert(NC_BYTE == 1 && NC_CHAR == 2 && NC_SHORT == 3 && NC_INT == 4 && NC_FLOAT == 5 &&
		       NC_DOUBLE == 6 && NC_UBYTE == 7 && NC_USHORT == 8 && NC_UINT == 9 &&
		       NC_INT64 == 10 && NC_UINT64 == 11,
	       "numbers of the types");

#define CHECK(name, ...)                                                                    \
	_Static_assert(__builtin_types_compatible_p(__typeof__(name),                       \
						    int(RAMA_TAB_LIST(TYPE, __VA_ARGS__))), \
		       #name " has another prototype");                                     \
	RAMA_TAB_EACH(SIZE, __VA_ARGS__)
#define FN_NC(name, op, how, form, ...) CHECK(name, __VA_ARGS__)
#define FN_NCF(name, op, how, ...) CHECK(name, __VA_ARGS__)
#define FN_NCH CHECK
#define NEED CHECK
#include "table/fn_pnetcdf.def"

#undef FN_NC
#undef FN_NCF
#undef FN_NCH
#undef NEED
#define FN_NC(name, ...) puts(#name);
#define FN_NCF FN_NC
#define FN_NCH FN_NC
#define NEED(...)

int main(void)
{
#include "table/fn_pnetcdf.def"
	return 0;
}
