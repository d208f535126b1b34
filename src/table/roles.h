/* SPDX-License-Identifier: BSD-3-Clause */
/* roles.h: what an argument or a returned value means, and which field of struct rama_cap_call
 * (capture/wrap/wrap.h) it becomes. Roles of MPI calls end in S where a number is handed back,
 * and begin with NEW where a handle lies in memory. */
#ifndef RAMA_TABLE_ROLES_H
#define RAMA_TABLE_ROLES_H

/* argument -> initialiser of a field; the comma at the end is on purpose */
#define RAMA_TAB_IN_NONE(v)
#define RAMA_TAB_IN_FD(v) .fd = (v),
#define RAMA_TAB_IN_DIRFD(v) .dirfd = (v),
#define RAMA_TAB_IN_DIRP(v) .fd = dirfd(v),
#define RAMA_TAB_IN_PATH(v) .path = (v),
#define RAMA_TAB_IN_FLAGS(v)
#define RAMA_TAB_IN_MODE(v) .op.mode = (int32_t)(v),
#define RAMA_TAB_IN_MEM(v) .mem = (uintptr_t)(v),
#define RAMA_TAB_IN_IOV(v) .mem = r >= 0 ? rama_cap_iov_mem((v), cnt) : 0,
#define RAMA_TAB_IN_OFF(v) .op.off = (v), .op.has_off = true,
#define RAMA_TAB_IN_OFF_OR_TRACKED(v) .op.off = (v), .op.has_off = (v) != -1,
#define RAMA_TAB_IN_STATBUF(v) .file_mode = r == 0 ? (v)->st_mode : 0,
#define RAMA_TAB_IN_STATXBUF(v) .file_mode = r == 0 ? (v)->stx_mode : 0,
#define RAMA_TAB_IN_STREAM(v) .stream = (v),
#define RAMA_TAB_IN_STDOUT(v) .stream = stdout,
/* MPI: fields of struct rama_cap_mpi_call (capture/mpi/mpi.h); the other roles of MPI are for
 * wrappers by hand */
#define RAMA_TAB_IN_FH(v) .fh = (v),
#define RAMA_TAB_IN_TYPE(v) .type = (v),
#define RAMA_TAB_IN_COUNT(v) .count = (v),
#define RAMA_TAB_IN_STATUS(v)
#define RAMA_TAB_IN_REQUEST(v) .request = (v),
/* PnetCDF: fields of struct rama_cap_nc_call (capture/pnetcdf.h) */
#define RAMA_TAB_IN_NCID(v) .ncid = (v),
#define RAMA_TAB_IN_VARID(v) .varid = (v),
#define RAMA_TAB_IN_START(v)
#define RAMA_TAB_IN_STARTS(v)
#define RAMA_TAB_IN_EDGES(v) .edges = (v),
#define RAMA_TAB_IN_EDGELISTS(v) .lists = (v),
#define RAMA_TAB_IN_STRIDE(v) .stride = (v),
#define RAMA_TAB_IN_PARTS(v) .parts = (v),
#define RAMA_TAB_IN_ROOM(v)
#define RAMA_TAB_IN_MEMTYPE(v)

/* argument -> statement: `at` becomes the descriptor that the call works on, before it is made */
#define RAMA_TAB_AT_NONE(v)
#define RAMA_TAB_AT_FD(v) at = (v);
#define RAMA_TAB_AT_DIRFD(v)
#define RAMA_TAB_AT_DIRP(v)
#define RAMA_TAB_AT_PATH(v)
#define RAMA_TAB_AT_FLAGS(v)
#define RAMA_TAB_AT_MODE(v)
#define RAMA_TAB_AT_MEM(v)
#define RAMA_TAB_AT_IOV(v)
#define RAMA_TAB_AT_OFF(v)
#define RAMA_TAB_AT_OFF_OR_TRACKED(v)
#define RAMA_TAB_AT_STATBUF(v)
#define RAMA_TAB_AT_STATXBUF(v)
#define RAMA_TAB_AT_STREAM(v) at = rama_cap_stream_fd(v);
#define RAMA_TAB_AT_STDOUT(v) at = 1;

/* returned value -> initialisers */
#define RAMA_TAB_OUT_NONE(r)
#define RAMA_TAB_OUT_ANY(r) .op.ok = true,
#define RAMA_TAB_OUT_ZERO(r) .op.ok = (r) == 0,
#define RAMA_TAB_OUT_POINTER(r) .op.ok = (r) != NULL,
#define RAMA_TAB_OUT_BYTES(r) .op.ok = (r) >= 0, .op.bytes = (r),
#define RAMA_TAB_OUT_NEWFD(r) .op.ok = (r) >= 0, .fd = (r),
#define RAMA_TAB_OUT_OTHERFD(r) .op.ok = (r) >= 0, .fd = (r),
#define RAMA_TAB_OUT_OFFSET(r) .op.ok = (r) >= 0, .op.off = (r), .op.has_off = true,
/* streams: calls that moved nothing are not counted */
#define RAMA_TAB_OUT_ITEMS(r) .op.ok = (r) > 0, .op.bytes = (int64_t)((r)*size),
#define RAMA_TAB_OUT_CHAR(r) .op.ok = (r) != EOF, .op.bytes = 1,
#define RAMA_TAB_OUT_WORD(r) .op.ok = !ferror(stream) && !feof(stream), .op.bytes = sizeof(int),
#define RAMA_TAB_OUT_LINE(r) .op.ok = (r) != NULL, .op.bytes = (r) ? (int64_t)strlen(r) : 0,
#define RAMA_TAB_OUT_COUNT(r) .op.ok = (r) > 0, .op.bytes = (r),
#define RAMA_TAB_OUT_TEXT(r) .op.ok = (r) > 0, .op.bytes = (int64_t)strlen(text),
#define RAMA_TAB_OUT_TEXTLINE(r) .op.ok = (r) > 0, .op.bytes = (int64_t)strlen(text) + 1,

#endif
