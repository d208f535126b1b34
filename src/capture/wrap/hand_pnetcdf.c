/* SPDX-License-Identifier: BSD-3-Clause */
/* hand_pnetcdf.c: PnetCDF calls that need a body of their own (FN_NCH in fn_pnetcdf.def). */
#include "capture/events.h"
#include "capture/pnetcdf.h"
#include "capture/record.h"
#include "config/path.h"

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

#define CALL(fn_name, kind_, ...)                                                              \
	{                                                                                      \
		.fn = RAMA_TAB_FN_##fn_name, .kind = RAMA_TAB_OP_##kind_, .cfa = RAMA_CAP_CFA, \
		__VA_ARGS__                                                                    \
	}

/* ---- files ----------------------------------------------------------------------------------- */

static void opened(const struct rama_cap_nc_call *c, const char *path)
{
	struct rama_core_op op = rama_cap_nc_op(c, true);
	struct rama_cap_visit v;
	size_t len;

	if (!rama_cap_nc_visit(&v))
		return;
	const char *text =
		rama_cap_clean(v.t, AT_FDCWD, rama_config_path_without_prefix(path), &len);
	struct rama_seg_name *n = text ? rama_cap_name(v.t, text, len, true) : NULL;
	struct rama_core_pnetcdf_file *f =
		n ? rama_cap_slot_of(v.t, n, RAMA_SEG_KIND_PNETCDF_FILE) : NULL;
	if (f) {
		rama_cap_do_kind(v.t, RAMA_SEG_KIND_PNETCDF_FILE, f, &op, RAMA_SEG_LAYER_PNETCDF);
		if (!rama_cap_nc_file_add(v.t, c->ncid, f))
			v.t->lane->missed++;
	} else {
		rama_cap_nc_file_forget(v.t, c->ncid);
	}
	rama_cap_nc_unvisit(&v);
}

/* an event only */
static void not_opened(const struct rama_cap_nc_call *c, const char *path)
{
	struct rama_core_op op = rama_cap_nc_op(c, false);
	struct rama_cap_visit v;
	size_t len;

	if (!path || !rama_cap_live_on(RAMA_SEG_LAYER_PNETCDF) || !rama_cap_nc_visit(&v))
		return;
	const char *text =
		rama_cap_clean(v.t, AT_FDCWD, rama_config_path_without_prefix(path), &len);
	if (text)
		rama_cap_live_path(v.t, RAMA_SEG_LAYER_PNETCDF, text, len, &op);
	rama_cap_nc_unvisit(&v);
}

static int after_open(struct rama_cap_nc_call *c, const char *path, int *made, int r)
{
	int saved = errno;

	if (c->on && r == 0 && made) {
		c->ncid = *made;
		opened(c, path);
	} else if (c->on && r != 0) {
		not_opened(c, path);
	}
	rama_cap_nc_leave();
	errno = saved;
	return r;
}

#define OPEN_BODY(name, kind)                                            \
	__typeof__(rama_cap_nc_real.name) real = RAMA_CAP_NC_REAL(name); \
	struct rama_cap_nc_call c = CALL(name, kind, .ncid = -1);        \
	if (!rama_cap_nc_enter(&c))                                      \
		return real(comm, path, mode, info, made);               \
	return after_open(&c, path, made, real(comm, path, mode, info, made));

RAMA_CAP_EXPORT int ncmpi_create(rama_cap_handle comm, const char *path, int mode,
				 rama_cap_handle info, int *made){ OPEN_BODY(ncmpi_create, CREATE) }

RAMA_CAP_EXPORT int ncmpi_open(rama_cap_handle comm, const char *path, int mode,
			       rama_cap_handle info, int *made)
{
	OPEN_BODY(ncmpi_open, OPEN)
}

/* The id is given up before the call: after it another thread may be given the same. How much
 * was read and written can only be asked before, too. */
static struct rama_core_pnetcdf_file *before_close(struct rama_cap_nc_call *c,
						   struct rama_core_op *sizes)
{
	struct rama_cap_nc_entry *e = c->on ? rama_cap_nc_file_get(c->ncid) : NULL;
	struct rama_core_pnetcdf_file *f = e ? e->record : NULL;
	struct rama_cap_visit v;
	int saved = errno;

	if (!f)
		return NULL;
	rama_cap_nc_ask_bytes(c->ncid, &sizes->off, &sizes->bytes);
	errno = saved;
	if (!rama_cap_enter(&v))
		return NULL;
	rama_cap_nc_file_forget(v.t, c->ncid);
	rama_cap_leave(&v);
	rama_cap_nc_begin_again(c);
	return f;
}

static int after_close(const struct rama_cap_nc_call *c, const struct rama_core_op *sizes,
		       struct rama_core_pnetcdf_file *f, int r)
{
	struct rama_cap_visit v;

	if (f) {
		struct rama_core_op op = rama_cap_nc_op(c, r == 0);

		op.off = sizes->off;
		op.bytes = sizes->bytes;
		if (rama_cap_nc_visit(&v)) {
			rama_cap_do_kind(v.t, RAMA_SEG_KIND_PNETCDF_FILE, f, &op,
					 RAMA_SEG_LAYER_PNETCDF);
			rama_cap_nc_unvisit(&v);
		}
	}
	rama_cap_nc_leave();
	return r;
}

#define CLOSE_BODY(name)                                                 \
	__typeof__(rama_cap_nc_real.name) real = RAMA_CAP_NC_REAL(name); \
	struct rama_cap_nc_call c = CALL(name, CLOSE, .ncid = ncid);     \
	if (!rama_cap_nc_enter(&c))                                      \
		return real(ncid);                                       \
	struct rama_core_op sizes = { .off = -1, .bytes = -1 };          \
	struct rama_core_pnetcdf_file *f = before_close(&c, &sizes);     \
	return after_close(&c, &sizes, f, real(ncid));

RAMA_CAP_EXPORT int ncmpi_close(int ncid){ CLOSE_BODY(ncmpi_close) }

/* closes the file too, without its latest definitions */
RAMA_CAP_EXPORT int ncmpi_abort(int ncid)
{
	CLOSE_BODY(ncmpi_abort)
}

/* ---- variables ------------------------------------------------------------------------------- */

static int after_var(struct rama_cap_nc_call *c, const char *name, const int *varid, int r)
{
	int saved = errno;

	if (c->on && r == 0 && name && varid) {
		struct rama_core_op op = rama_cap_nc_op(c, true);

		c->varid = *varid;
		rama_cap_nc_var_meet(c, &op, name);
	}
	rama_cap_nc_leave();
	errno = saved;
	return r;
}

RAMA_CAP_EXPORT int ncmpi_def_var(int ncid, const char *name, int type, int ndims, const int *dims,
				  int *varid)
{
	__typeof__(rama_cap_nc_real.ncmpi_def_var) real = RAMA_CAP_NC_REAL(ncmpi_def_var);
	struct rama_cap_nc_call c = CALL(ncmpi_def_var, OPEN, .ncid = ncid);

	if (!rama_cap_nc_enter(&c))
		return real(ncid, name, type, ndims, dims, varid);
	return after_var(&c, name, varid, real(ncid, name, type, ndims, dims, varid));
}

RAMA_CAP_EXPORT int ncmpi_inq_varid(int ncid, const char *name, int *varid)
{
	__typeof__(rama_cap_nc_real.ncmpi_inq_varid) real = RAMA_CAP_NC_REAL(ncmpi_inq_varid);
	struct rama_cap_nc_call c = CALL(ncmpi_inq_varid, OPEN, .ncid = ncid);

	if (!rama_cap_nc_enter(&c))
		return real(ncid, name, varid);
	return after_var(&c, name, varid, real(ncid, name, varid));
}

/* ---- they are what the rows say -------------------------------------------------------------- */

#define FN_NC(...)
#define FN_NCF(...)
#define FN_NCH(name, ...)                                                                          \
	_Static_assert(                                                                            \
		__builtin_types_compatible_p(__typeof__(&name),                                    \
					     int (*)(RAMA_TAB_LIST(RAMA_CAP_PARAM, __VA_ARGS__))), \
		#name " differs from its row");
#define NEED(...)
#include RAMA_CAP_ROWS_PNETCDF
