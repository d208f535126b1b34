/* SPDX-License-Identifier: BSD-3-Clause */
/* ask_hdf5.c: what HDF5 knows of files, datasets and selections. It is asked after a call that
 * succeeded only: after one that failed the application may want to read the errors, which every
 * further call forgets. */
#include "capture/hdf5.h"

/* numbers of the HDF5 headers */
enum { DEFAULT = 0, SPACE_ALL = 0, SPACE_BY_PLIST = 2 };
enum { SELECT_POINTS = 1, SELECT_HYPERSLABS = 2 };
enum { LAYOUT_CHUNKED = 2 };
enum { XFER_COLLECTIVE = 1 };

/* calls of a function that the library may lack; then the result is -1 */
#define ASK(h, name, ...)                                             \
	__extension__({                                               \
		__typeof__((h)->fn.name) ask_ = RAMA_CAP_H5(h, name); \
		ask_ ? ask_(__VA_ARGS__) : -1;                        \
	})

/* ---- errors of ours are not printed ---------------------------------------------------------- */

struct quiet {
	rama_cap_h5_auto *function;
	void *data;
};

static void be_quiet(struct rama_cap_h5 *h, struct quiet *q)
{
	unsigned is = 0;

	q->function = NULL;
	if (ASK(h, H5Eauto_is_v2, DEFAULT, &is) < 0 || !is ||
	    ASK(h, H5Eget_auto2, DEFAULT, &q->function, &q->data) < 0)
		q->function = NULL;
	if (q->function)
		ASK(h, H5Eset_auto2, DEFAULT, NULL, NULL);
}

static void be_loud(struct rama_cap_h5 *h, const struct quiet *q)
{
	if (q->function)
		ASK(h, H5Eset_auto2, DEFAULT, q->function, q->data);
}

/* ---- files ----------------------------------------------------------------------------------- */

typedef rama_cap_hid init_driver(void);
typedef rama_cap_hid perform_init(init_driver *init);

/* What the header calls H5FD_MPIO: how it is come by has changed several times. 0: there is
 * none. */
static rama_cap_hid mpio_driver(struct rama_cap_h5 *h)
{
	const rama_cap_hid *variable = rama_cap_h5_symbol(h, "H5FD_MPIO_id_g");
	init_driver *init;
	perform_init *perform;

	if (variable)
		return *variable;
	*(void **)&init = rama_cap_h5_symbol(h, "H5FD_mpio_init");
	if (!init)
		return 0;
	*(void **)&perform = rama_cap_h5_symbol(h, "H5FDperform_init");
	return rama_cap_h5_hid(h, perform ? perform(init) : init());
}

bool rama_cap_h5_uses_mpiio(struct rama_cap_h5 *h, rama_cap_hid fapl)
{
	if (rama_cap_h5_hid(h, fapl) == DEFAULT)
		return false;
	rama_cap_hid driver = mpio_driver(h);

	return driver > 0 && rama_cap_h5_hid(h, ASK(h, H5Pget_driver, fapl)) == driver;
}

static void take_name(ssize_t (*ask)(rama_cap_hid, char *, size_t), rama_cap_hid object, char *to,
		      size_t room)
{
	if (!ask || ask(object, to, room) < 0)
		to[0] = '\0';
	to[room - 1] = '\0';
}

void rama_cap_h5_ask_place(struct rama_cap_h5 *h, rama_cap_hid object, struct rama_cap_h5_place *p)
{
	struct quiet q;

	be_quiet(h, &q);
	take_name(RAMA_CAP_H5(h, H5Fget_name), object, p->file, sizeof(p->file));
	take_name(RAMA_CAP_H5(h, H5Iget_name), object, p->object, sizeof(p->object));
	be_loud(h, &q);
}

/* ---- datasets -------------------------------------------------------------------------------- */

static bool cannot_grow(struct rama_cap_h5 *h, rama_cap_hid space)
{
	uint64_t dims[RAMA_CAP_H5_DIMS], most[RAMA_CAP_H5_DIMS];
	int n = ASK(h, H5Sget_simple_extent_ndims, space);

	if (n < 0 || n > RAMA_CAP_H5_DIMS ||
	    ASK(h, H5Sget_simple_extent_dims, space, dims, most) < 0)
		return false;
	return memcmp(dims, most, (size_t)n * sizeof(dims[0])) == 0;
}

static bool ask_space(struct rama_cap_h5 *h, rama_cap_hid dset, struct rama_core_h5d_shape *s,
		      bool *fixed)
{
	rama_cap_hid space = ASK(h, H5Dget_space, dset);

	if (rama_cap_h5_hid(h, space) < 0)
		return false;
	s->ndims = ASK(h, H5Sget_simple_extent_ndims, space);
	s->npoints = ASK(h, H5Sget_simple_extent_npoints, space);
	*fixed = cannot_grow(h, space);
	ASK(h, H5Sclose, space);
	return s->ndims >= 0 && s->npoints >= 0;
}

static bool ask_type(struct rama_cap_h5 *h, rama_cap_hid dset, struct rama_core_h5d_shape *s)
{
	rama_cap_hid type = ASK(h, H5Dget_type, dset);

	if (rama_cap_h5_hid(h, type) < 0)
		return false;
	s->type_size = RAMA_CAP_H5(h, H5Tget_size) ? (int64_t)RAMA_CAP_H5(h, H5Tget_size)(type) : 0;
	ASK(h, H5Tclose, type);
	return s->type_size > 0;
}

static void ask_chunk(struct rama_cap_h5 *h, rama_cap_hid dset, struct rama_core_h5d_shape *s)
{
	uint64_t dims[RAMA_CAP_H5_DIMS];
	rama_cap_hid dcpl = ASK(h, H5Dget_create_plist, dset);

	if (rama_cap_h5_hid(h, dcpl) < 0)
		return;
	if (ASK(h, H5Pget_layout, dcpl) == LAYOUT_CHUNKED) {
		int n = ASK(h, H5Pget_chunk, dcpl, RAMA_CAP_H5_DIMS, dims);

		if (n > 0 && n <= RAMA_CAP_H5_DIMS)
			rama_core_h5d_chunk(s, (unsigned)n, dims);
	}
	ASK(h, H5Pclose, dcpl);
}

bool rama_cap_h5_shape(struct rama_cap_h5 *h, rama_cap_hid dset, struct rama_core_h5d_shape *s,
		       bool *fixed)
{
	struct quiet q;

	be_quiet(h, &q);
	bool ok = ask_space(h, dset, s, fixed) && ask_type(h, dset, s);
	if (ok)
		ask_chunk(h, dset, s);
	be_loud(h, &q);
	return ok;
}

/* ---- accesses -------------------------------------------------------------------------------- */

static int64_t all_points(struct rama_cap_h5 *h, const struct rama_cap_h5_open *o)
{
	rama_cap_hid space = o->fixed ? -1 : ASK(h, H5Dget_space, o->id);
	int64_t n = -1;

	if (rama_cap_h5_hid(h, space) > 0) {
		n = ASK(h, H5Sget_simple_extent_npoints, space);
		ASK(h, H5Sclose, space);
	}
	return n >= 0 ? n : o->npoints;
}

/* Returns the number of elements; -1: it has to be asked for. No dimension has blocks of nothing,
 * so those that are written to tell how many there are. */
static int64_t ask_hyperslab(struct rama_cap_h5 *h, rama_cap_hid space,
			     struct rama_core_h5d_access *a)
{
	uint64_t start[RAMA_CAP_H5_DIMS], stride[RAMA_CAP_H5_DIMS], count[RAMA_CAP_H5_DIMS],
		block[RAMA_CAP_H5_DIMS];
	bool endless = false; /* that it is without end only the library can tell */
	int64_t all = 1;
	unsigned n = 0;

	a->select = RAMA_CORE_H5D_IRREGULAR;
	if (ASK(h, H5Sis_regular_hyperslab, space) <= 0)
		return -1;
	for (unsigned i = 0; i < RAMA_CAP_H5_DIMS; i++)
		block[i] = 0;
	if (ASK(h, H5Sget_regular_hyperslab, space, start, stride, count, block) < 0)
		return -1;
	for (; n < RAMA_CAP_H5_DIMS && block[n] > 0; n++)
		endless = endless || __builtin_mul_overflow(all, block[n], &all) ||
			  __builtin_mul_overflow(all, count[n], &all);
	if (n == 0)
		return -1;
	a->select = RAMA_CORE_H5D_REGULAR;
	rama_core_h5d_hyperslab(a, n, stride, count, block);
	return endless ? -1 : all;
}

int64_t rama_cap_h5_access(struct rama_cap_h5 *h, const struct rama_cap_h5_open *o,
			   const rama_cap_hid space[2], struct rama_core_h5d_access *a)
{
	rama_cap_hid mem = rama_cap_h5_hid(h, space[0]), file = rama_cap_h5_hid(h, space[1]);
	int64_t n;

	if (file == SPACE_BY_PLIST && mem > SPACE_BY_PLIST) /* the two have the same size */
		file = mem;
	else if (file <= SPACE_BY_PLIST)
		return all_points(h, o);
	n = -1;
	if (rama_cap_h5_hid(h, space[1]) == file) {
		int type = ASK(h, H5Sget_select_type, file);

		if (type == SELECT_POINTS)
			a->select = RAMA_CORE_H5D_POINTS;
		else if (type == SELECT_HYPERSLABS)
			n = ask_hyperslab(h, file, a);
	}
	if (n < 0)
		n = ASK(h, H5Sget_select_npoints, file);
	return n > 0 ? n : 0;
}

bool rama_cap_h5_collective(struct rama_cap_h5 *h, rama_cap_hid dxpl)
{
	int mode = 0;

	return rama_cap_h5_hid(h, dxpl) != DEFAULT && ASK(h, H5Pget_dxpl_mpio, dxpl, &mode) >= 0 &&
	       mode == XFER_COLLECTIVE;
}
