/* SPDX-License-Identifier: BSD-3-Clause */
/* hdf5_rows.c: compares src/table/fn_hdf5.def, and the numbers that capture uses, with the
 * hdf5.h it is compiled with. A wrong prototype or number does not compile. What this version of
 * HDF5 lacks is declared here. */
#include <hdf5.h>
#include <stdint.h>
#include <stdio.h>

#include "table/map.h"

typedef int64_t rama_cap_hid;
typedef int rama_cap_h5_auto(rama_cap_hid stack, void *data);
struct rama_cap_h5_token {
	uint8_t byte[16];
};

#if !H5_VERSION_GE(1, 12, 0)
typedef struct {
	uint8_t __data[16];
} H5O_token_t;
extern hid_t H5Oopen_by_token(hid_t loc, H5O_token_t token);
#endif
#ifndef H5_HAVE_PARALLEL
extern herr_t H5Pget_dxpl_mpio(hid_t dxpl, H5FD_mpio_xfer_t *mode);
#endif

/* the role of an argument or a result gives its type in the header */
#define TYPE_NONE(t) t
#define TYPE_HID(t) hid_t
#define TYPE_SCOPE(t) H5F_scope_t
#define TYPE_ADDR(t) haddr_t
#define TYPE_SIZE(t) hsize_t
#define TYPE_SSIZE(t) hssize_t
#define TYPE_SIZES(t) hsize_t *
#define TYPE_DIMS(t) const hsize_t *
#define TYPE_INDEX(t) H5_index_t
#define TYPE_ORDER(t) H5_iter_order_t
#define TYPE_TOKEN(t) H5O_token_t
#define TYPE_AUTO(t) H5E_auto2_t
#define TYPE_AUTOS(t) H5E_auto2_t *
#define TYPE_IDTYPE(t) H5I_type_t
#define TYPE_SELTYPE(t) H5S_sel_type
#define TYPE_LAYOUT(t) H5D_layout_t
#define TYPE_XFER(t) H5FD_mpio_xfer_t *

#define TYPE_(type, name, role) TYPE_##role(type)
#define TYPE(t) TYPE_ t
#define SIZE_(type, name, role)                                   \
	_Static_assert(sizeof(type) == sizeof(TYPE_##role(type)), \
		       #type " " #name " has another size");
#define SIZE(t) SIZE_ t

#define CHECK(name, ret, rrole, ...)                                                               \
	_Static_assert(                                                                            \
		__builtin_types_compatible_p(__typeof__(name),                                     \
					     TYPE_##rrole(ret)(RAMA_TAB_LIST(TYPE, __VA_ARGS__))), \
		#name " has another prototype");                                                   \
	_Static_assert(sizeof(ret) == sizeof(TYPE_##rrole(ret)), #name " returns another size");   \
	RAMA_TAB_EACH(SIZE, __VA_ARGS__)
#define FN_HAND(name, ret, rrole, op, ...) CHECK(name, ret, rrole, __VA_ARGS__)
#define FN FN_HAND
#define NEED(name, ret, rrole, ...) CHECK(name, ret, rrole, __VA_ARGS__)
#include "table/fn_hdf5.def"
#undef FN_HAND
#undef FN
#undef NEED

_Static_assert(H5P_DEFAULT == 0 && H5S_ALL == 0 && H5E_DEFAULT == 0, "");
_Static_assert(H5S_SEL_POINTS == 1 && H5S_SEL_HYPERSLABS == 2, "");
_Static_assert(H5D_CHUNKED == 2 && H5I_DATASET == 5 && H5FD_MPIO_COLLECTIVE == 1, "");
_Static_assert(H5S_MAX_RANK == 32, "");

int main(void)
{
	int rows = 0;

#define FN_HAND(...) rows++;
#define NEED FN_HAND
#define FN FN_HAND
#include "table/fn_hdf5.def"
	printf("%d rows\n", rows);
	return rows == 0;
}
