/* SPDX-License-Identifier: BSD-3-Clause */
/* hand_hdf5.c: the wrappers of HDF5 calls (table/fn_hdf5.def). Whatever else is asked of HDF5 is
 * asked after the time of the call has been taken. */
#include "capture/events.h"
#include "capture/hdf5.h"
#include "capture/record.h"
#include "config/path.h"

#include <linux/limits.h>

#include "core/recordid.h"

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

/* ---- the door -------------------------------------------------------------------------------- */

struct call {
	struct rama_core_op op;
	struct rama_cap_h5 *h;
	struct rama_cap_span span;
	struct rama_cap_nest nest;
	uintptr_t cfa; /* RAMA_CAP_CFA of the wrapper */
	bool on;       /* we are awake */
	int saved_errno;
};

/* Where on the stack the first of our wrappers stands that is at work in this thread: what comes
 * from further down is called by it. One from further up says that the first was left by a jump. */
static RAMA_CAP_TLS const char *outermost;

/* false: the call is part of another one that is being observed: pass it on and do nothing else */
static __attribute__((noinline)) bool enter(struct call *c)
{
	const char *here = __builtin_frame_address(0);

	if (outermost && here < outermost)
		return false;
	outermost = here;
	c->on = rama_cap_begin(&c->span, c->op.fn, -1);
	if (c->on)
		rama_cap_nest_begin(&c->nest, c->cfa);
	return true;
}

/* after the real call; true: there is something to record */
static bool done(struct call *c, bool ok)
{
	c->saved_errno = errno;
	if (!c->on)
		return false;
	rama_cap_idle(&c->span);
	rama_cap_times(&c->span, &c->op);
	c->op.ok = ok;
	return ok || c->op.kind == RAMA_TAB_OP_CLOSE;
}

/* enters, for something that belongs to this call */
static bool visit(struct rama_cap_visit *v, const struct call *c)
{
	if (!rama_cap_enter(v))
		return false;
	v->t->nest = &c->nest;
	return true;
}

static void unvisit(struct rama_cap_visit *v)
{
	v->t->nest = NULL;
	rama_cap_leave(v);
}

static void leave(struct call *c)
{
	if (c->on)
		rama_cap_nest_end(&c->nest);
	outermost = NULL;
	errno = c->saved_errno;
}

static bool get(struct call *c, rama_cap_hid id, struct rama_cap_h5_open *o)
{
	struct rama_cap_visit v;
	bool there = false;

	if (c->on && rama_cap_enter(&v)) {
		there = rama_cap_h5_get(v.t, c->h, id, o);
		rama_cap_leave(&v);
	}
	return there;
}

#define CALL(fn_name, kind_)                                                       \
	struct call c = { .op.fn = RAMA_TAB_FN_##fn_name,                          \
			  .op.kind = RAMA_TAB_OP_##kind_,                          \
			  .cfa = RAMA_CAP_CFA,                                     \
			  .h = rama_cap_h5_of(__builtin_return_address(0)) };      \
	__typeof__(c.h->fn.fn_name) real = c.h ? RAMA_CAP_H5(c.h, fn_name) : NULL; \
	if (!real)                                                                 \
		return -1;                                                         \
	if (!enter(&c))

/* ---- files ----------------------------------------------------------------------------------- */

static uint32_t opened; /* files, so far */

static void file_opened(struct call *c, const char *path, rama_cap_hid fapl, rama_cap_hid id)
{
	struct rama_cap_visit v;
	size_t len;

	__atomic_fetch_add(&opened, 1, __ATOMIC_RELAXED);
	c->op.how = rama_cap_h5_uses_mpiio(c->h, fapl) ? RAMA_CORE_H5F_MPIIO : RAMA_CORE_H5F_OTHER;
	if (!visit(&v, c))
		return;
	const char *text =
		rama_cap_clean(v.t, AT_FDCWD, rama_config_path_without_prefix(path), &len);
	struct rama_seg_name *n = text ? rama_cap_name(v.t, text, len, true) : NULL;
	struct rama_core_h5f_file *f = n ? rama_cap_slot_of(v.t, n, RAMA_SEG_KIND_H5F) : NULL;
	if (f) {
		rama_cap_h5_add(v.t,
				&(struct rama_cap_h5_open){ .id = rama_cap_h5_hid(c->h, id),
							    .library = c->h->number,
							    .generation = rama_cap_run.generation,
							    .name = rama_cap_name_number(n),
							    .record = f });
		rama_cap_do_kind(v.t, RAMA_SEG_KIND_H5F, f, &c->op, RAMA_SEG_LAYER_H5F);
	}
	unvisit(&v);
}

/* an event only */
static void file_not_opened(struct call *c, const char *path)
{
	struct rama_cap_visit v;
	size_t len;

	if (!path || !rama_cap_live_on(RAMA_SEG_LAYER_H5F) || !visit(&v, c))
		return;
	const char *text =
		rama_cap_clean(v.t, AT_FDCWD, rama_config_path_without_prefix(path), &len);
	if (text)
		rama_cap_live_path(v.t, RAMA_SEG_LAYER_H5F, text, len, &c->op);
	unvisit(&v);
}

static rama_cap_hid end_file_open(struct call *c, const char *path, rama_cap_hid fapl,
				  rama_cap_hid id)
{
	if (done(c, rama_cap_h5_hid(c->h, id) >= 0))
		file_opened(c, path, fapl, id);
	else if (c->on)
		file_not_opened(c, path);
	leave(c);
	return id;
}

RAMA_CAP_EXPORT rama_cap_hid H5Fcreate(const char *path, unsigned flags, rama_cap_hid fcpl,
				       rama_cap_hid fapl)
{
	CALL(H5Fcreate, OPEN)
	return real(path, flags, fcpl, fapl);
	return end_file_open(&c, path, fapl, real(path, flags, fcpl, fapl));
}

RAMA_CAP_EXPORT rama_cap_hid H5Fopen(const char *path, unsigned flags, rama_cap_hid fapl)
{
	CALL(H5Fopen, OPEN)
	return real(path, flags, fapl);
	return end_file_open(&c, path, fapl, real(path, flags, fapl));
}

/* of the file that an object is in, if it was seen being opened */
static struct rama_core_h5f_file *file_by_name(struct rama_cap_thread *t, const char *path)
{
	size_t len;
	const char *text = rama_cap_clean(t, AT_FDCWD, rama_config_path_without_prefix(path), &len);
	struct rama_seg_name *n = text && text[0] ? rama_cap_name(t, text, len, false) : NULL;

	return n && n->slot[RAMA_SEG_KIND_H5F] ? rama_cap_slot_of(t, n, RAMA_SEG_KIND_H5F) : NULL;
}

static __attribute__((noinline)) void flush_by_object(struct call *c, rama_cap_hid object)
{
	struct rama_cap_h5_place p;
	struct rama_cap_visit v;

	rama_cap_h5_ask_place(c->h, object, &p);
	if (!visit(&v, c))
		return;
	struct rama_core_h5f_file *f = file_by_name(v.t, p.file);
	if (f)
		rama_cap_do_kind(v.t, RAMA_SEG_KIND_H5F, f, &c->op, RAMA_SEG_LAYER_H5F);
	unvisit(&v);
}

/* one operation on something open; `a`: of a read or write */
static void record(struct call *c, const struct rama_cap_h5_open *o,
		   const struct rama_core_h5d_access *a)
{
	struct rama_cap_visit v;

	if (!visit(&v, c))
		return;
	if (o->generation != rama_cap_run.generation)
		v.t->lane->missed++; /* forked in between */
	else if (o->is_dataset)
		rama_cap_do_h5d(v.t, o->record, &c->op, NULL, a);
	else
		rama_cap_do_kind(v.t, RAMA_SEG_KIND_H5F, o->record, &c->op, RAMA_SEG_LAYER_H5F);
	unvisit(&v);
}

RAMA_CAP_EXPORT int H5Fflush(rama_cap_hid object, int reach)
{
	struct rama_cap_h5_open o;

	CALL(H5Fflush, FLUSH)
	return real(object, reach);
	int r = real(object, reach);
	if (done(&c, r >= 0)) {
		if (get(&c, object, &o) && !o.is_dataset)
			record(&c, &o, NULL);
		else
			flush_by_object(&c, object);
	}
	leave(&c);
	return r;
}

/* ---- closing --------------------------------------------------------------------------------- */

static void forget(struct call *c, rama_cap_hid id)
{
	struct rama_cap_visit v;

	if (!rama_cap_enter(&v))
		return;
	rama_cap_h5_forget(v.t, c->h, id);
	rama_cap_leave(&v);
}

/* An identifier may be in use more than once: it is forgotten when the last one is done. */
static int end_close(struct call *c, rama_cap_hid id, int r, bool last)
{
	struct rama_cap_h5_open o;

	if (done(c, r >= 0) && get(c, id, &o)) {
		int (*is_valid)(rama_cap_hid) = RAMA_CAP_H5(c->h, H5Iis_valid);

		record(c, &o, NULL);
		if (last || (r >= 0 && is_valid && is_valid(id) == 0))
			forget(c, id);
	}
	leave(c);
	return r;
}

RAMA_CAP_EXPORT int H5Fclose(rama_cap_hid file)
{
	CALL(H5Fclose, CLOSE)
	return real(file);
	return end_close(&c, file, real(file), false);
}

RAMA_CAP_EXPORT int H5Dclose(rama_cap_hid dset)
{
	CALL(H5Dclose, CLOSE)
	return real(dset);
	return end_close(&c, dset, real(dset), false);
}

RAMA_CAP_EXPORT int H5Oclose(rama_cap_hid object)
{
	CALL(H5Oclose, CLOSE)
	return real(object);
	return end_close(&c, object, real(object), false);
}

/* it closes what nobody holds any more */
RAMA_CAP_EXPORT int H5Idec_ref(rama_cap_hid object)
{
	CALL(H5Idec_ref, CLOSE)
	return real(object);
	int r = real(object);
	if (r == 0)
		return end_close(&c, object, r, true);
	done(&c, false);
	leave(&c);
	return r;
}

/* ---- datasets -------------------------------------------------------------------------------- */

/* what is known of a dataset when it has been opened */
struct dataset {
	rama_cap_hid id, loc;
	const char *name; /* as it was given; NULL: it was found in another way */
	bool deprecated;
};

/* "file:location" and the name after it, as the log format has it: without anything in between */
static size_t dataset_name(char *to, const char *file, const char *location, const char *name)
{
	const char *part[] = { file, ":", location, name };
	size_t used = 0;

	for (unsigned i = 0; i < 4; i++) {
		size_t n = strnlen(part[i], PATH_MAX - 1 - used);

		memcpy(to + used, part[i], n);
		used += n;
	}
	to[used] = '\0';
	return used;
}

/* the entry without its record; false: not to be observed */
static bool name_dataset(struct rama_cap_thread *t, const char *file,
			 const struct rama_cap_h5_place *p, const char *name,
			 struct rama_cap_h5_open *o)
{
	char *text = t->scratch + 2 * PATH_MAX;
	size_t file_len = strlen(file);
	size_t len = dataset_name(text, file, p->object, name ? name : "");
	struct rama_seg_name *n;

	if (strcmp(file, RAMA_SEG_CATCHALL) == 0)
		len = file_len;
	o->file_id = rama_core_record_id(file, file_len);
	n = rama_cap_name(t, text, len, true);
	o->name = n ? rama_cap_name_number(n) : 0;
	o->record = n ? rama_cap_slot_with(t, n, RAMA_SEG_KIND_H5D, (int64_t)o->file_id) : NULL;
	return o->record != NULL;
}

static __attribute__((noinline)) void dataset_opened(struct call *c, const struct dataset *d)
{
	struct rama_cap_h5_open at, o = { .id = rama_cap_h5_hid(c->h, d->id),
					  .library = c->h->number,
					  .is_dataset = 1 };
	struct rama_core_h5d_shape shape = { .deprecated = d->deprecated };
	struct rama_cap_h5_place place;
	struct rama_cap_visit v;
	bool fixed = false;

	bool in_file = get(c, d->loc, &at) && !at.is_dataset;
	rama_cap_h5_ask_place(c->h, d->name ? d->loc : d->id, &place);
	if (!rama_cap_h5_shape(c->h, d->id, &shape, &fixed) || !visit(&v, c))
		return;
	size_t len;
	const char *file =
		in_file && at.generation == rama_cap_run.generation
			? rama_cap_name_at(at.name)->text
			: rama_cap_clean(v.t, AT_FDCWD, rama_config_path_without_prefix(place.file),
					 &len);
	o.generation = rama_cap_run.generation;
	o.fixed = fixed;
	o.npoints = shape.npoints;
	o.type_size = shape.type_size;
	rama_cap_run.h5d_lacks = c->h->lacks;
	if (file && file[0] && name_dataset(v.t, file, &place, d->name, &o)) {
		rama_cap_h5_add(v.t, &o);
		rama_cap_do_h5d(v.t, o.record, &c->op, &shape, NULL);
	}
	unvisit(&v);
}

static rama_cap_hid end_dataset_open(struct call *c, const struct dataset *d)
{
	if (done(c, rama_cap_h5_hid(c->h, d->id) >= 0))
		dataset_opened(c, d);
	leave(c);
	return d->id;
}

RAMA_CAP_EXPORT rama_cap_hid H5Dcreate1(rama_cap_hid loc, const char *name, rama_cap_hid type,
					rama_cap_hid space, rama_cap_hid dcpl)
{
	CALL(H5Dcreate1, OPEN)
	return real(loc, name, type, space, dcpl);
	rama_cap_hid r = real(loc, name, type, space, dcpl);
	return end_dataset_open(&c, &(struct dataset){ r, loc, name, true });
}

RAMA_CAP_EXPORT rama_cap_hid H5Dcreate2(rama_cap_hid loc, const char *name, rama_cap_hid type,
					rama_cap_hid space, rama_cap_hid lcpl, rama_cap_hid dcpl,
					rama_cap_hid dapl)
{
	CALL(H5Dcreate2, OPEN)
	return real(loc, name, type, space, lcpl, dcpl, dapl);
	rama_cap_hid r = real(loc, name, type, space, lcpl, dcpl, dapl);
	return end_dataset_open(&c, &(struct dataset){ r, loc, name, false });
}

RAMA_CAP_EXPORT rama_cap_hid H5Dopen1(rama_cap_hid loc, const char *name)
{
	CALL(H5Dopen1, OPEN)
	return real(loc, name);
	return end_dataset_open(&c, &(struct dataset){ real(loc, name), loc, name, true });
}

RAMA_CAP_EXPORT rama_cap_hid H5Dopen2(rama_cap_hid loc, const char *name, rama_cap_hid dapl)
{
	CALL(H5Dopen2, OPEN)
	return real(loc, name, dapl);
	return end_dataset_open(&c, &(struct dataset){ real(loc, name, dapl), loc, name, false });
}

RAMA_CAP_EXPORT int H5Dflush(rama_cap_hid dset)
{
	struct rama_cap_h5_open o;

	CALL(H5Dflush, FLUSH)
	return real(dset);
	int r = real(dset);
	if (done(&c, r >= 0) && get(&c, dset, &o) && o.is_dataset)
		record(&c, &o, NULL);
	leave(&c);
	return r;
}

/* ---- objects --------------------------------------------------------------------------------- */

static rama_cap_hid end_object_open(struct call *c, const struct dataset *d)
{
	int (*type_of)(rama_cap_hid) = RAMA_CAP_H5(c->h, H5Iget_type);

	if (done(c, rama_cap_h5_hid(c->h, d->id) >= 0) && type_of &&
	    type_of(d->id) == RAMA_CAP_H5_DATASET)
		dataset_opened(c, d);
	leave(c);
	return d->id;
}

RAMA_CAP_EXPORT rama_cap_hid H5Oopen(rama_cap_hid loc, const char *name, rama_cap_hid lapl)
{
	CALL(H5Oopen, OPEN)
	return real(loc, name, lapl);
	return end_object_open(&c, &(struct dataset){ real(loc, name, lapl), loc, name, false });
}

RAMA_CAP_EXPORT rama_cap_hid H5Oopen_by_addr(rama_cap_hid loc, uint64_t addr)
{
	CALL(H5Oopen_by_addr, OPEN)
	return real(loc, addr);
	return end_object_open(&c, &(struct dataset){ real(loc, addr), loc, NULL, false });
}

RAMA_CAP_EXPORT rama_cap_hid H5Oopen_by_idx(rama_cap_hid loc, const char *group, int index,
					    int order, uint64_t n, rama_cap_hid lapl)
{
	CALL(H5Oopen_by_idx, OPEN)
	return real(loc, group, index, order, n, lapl);
	rama_cap_hid r = real(loc, group, index, order, n, lapl);
	return end_object_open(&c, &(struct dataset){ r, loc, NULL, false });
}

RAMA_CAP_EXPORT rama_cap_hid H5Oopen_by_token(rama_cap_hid loc, struct rama_cap_h5_token token)
{
	CALL(H5Oopen_by_token, OPEN)
	return real(loc, token);
	return end_object_open(&c, &(struct dataset){ real(loc, token), loc, NULL, false });
}

/* ---- metadata of all kinds ------------------------------------------------------------------ */

/* The file that an object is in is asked for once in a row of calls: numbers are not used again
 * before all of HDF5 is closed. */
static RAMA_CAP_TLS struct {
	rama_cap_hid id;
	uint32_t library, generation, opened;
	struct rama_core_h5f_file *file;
} met;

static void meta_by_object(struct call *c, rama_cap_hid loc)
{
	struct rama_cap_h5_place p = { .file = "" };
	rama_cap_hid id = rama_cap_h5_hid(c->h, loc);
	struct rama_cap_visit v;
	bool known = met.id == id && met.library == c->h->number &&
		     met.generation == rama_cap_run.generation &&
		     met.opened == __atomic_load_n(&opened, __ATOMIC_RELAXED);

	if (!known)
		rama_cap_h5_ask_place(c->h, loc, &p);
	if (!visit(&v, c))
		return;
	if (!known) {
		met.file = file_by_name(v.t, p.file);
		met.id = id;
		met.library = c->h->number;
		met.generation = rama_cap_run.generation;
		met.opened = __atomic_load_n(&opened, __ATOMIC_RELAXED);
	}
	if (met.file)
		rama_cap_do_kind(v.t, RAMA_SEG_KIND_H5F, met.file, &c->op, RAMA_SEG_LAYER_H5F);
	unvisit(&v);
}

static void end_meta(struct call *c, rama_cap_hid loc, bool ok)
{
	struct rama_cap_h5_open o;

	if (done(c, ok)) {
		if (get(c, loc, &o))
			record(c, &o, NULL);
		else
			meta_by_object(c, loc);
	}
	leave(c);
}

#define META_OK_NONE(r) ((r) >= 0)
#define META_OK_HID(r) (rama_cap_h5_hid(c.h, r) >= 0)
#define FN_HAND(...)
#define NEED(...)
#define FN(name_, ret, rrole, opk, ...)                                       \
	RAMA_CAP_EXPORT ret name_(RAMA_TAB_LIST(RAMA_CAP_PARAM, __VA_ARGS__)) \
	{                                                                     \
		CALL(name_, opk)                                              \
		return real(RAMA_TAB_LIST(RAMA_CAP_ARG, __VA_ARGS__));        \
		ret r = real(RAMA_TAB_LIST(RAMA_CAP_ARG, __VA_ARGS__));       \
		end_meta(&c, loc, META_OK_##rrole(r));                        \
		return r;                                                     \
	}
#include RAMA_CAP_ROWS_HDF5
#undef FN_HAND
#undef NEED
#undef FN

/* ---- reading and writing --------------------------------------------------------------------- */

static int end_access(struct call *c, rama_cap_hid dset, const rama_cap_hid space[2],
		      rama_cap_hid dxpl, int r)
{
	struct rama_core_h5d_access a = { .select = RAMA_CORE_H5D_ALL };
	struct rama_cap_h5_open o;

	if (done(c, r >= 0) && get(c, dset, &o) && o.is_dataset) {
		c->op.bytes = rama_cap_h5_access(c->h, &o, space, &a) * o.type_size;
		a.collective = rama_cap_h5_collective(c->h, dxpl);
		record(c, &o, &a);
	} else if (c->on && r < 0 && rama_cap_live_on(RAMA_SEG_LAYER_H5D) && get(c, dset, &o) &&
		   o.is_dataset) {
		record(c, &o, &a);
	}
	leave(c);
	return r;
}

RAMA_CAP_EXPORT int H5Dread(rama_cap_hid dset, rama_cap_hid mem_type, rama_cap_hid mem_space,
			    rama_cap_hid file_space, rama_cap_hid dxpl, void *buf)
{
	CALL(H5Dread, READ)
	return real(dset, mem_type, mem_space, file_space, dxpl, buf);
	int r = real(dset, mem_type, mem_space, file_space, dxpl, buf);
	return end_access(&c, dset, (rama_cap_hid[]){ mem_space, file_space }, dxpl, r);
}

RAMA_CAP_EXPORT int H5Dwrite(rama_cap_hid dset, rama_cap_hid mem_type, rama_cap_hid mem_space,
			     rama_cap_hid file_space, rama_cap_hid dxpl, const void *buf)
{
	CALL(H5Dwrite, WRITE)
	return real(dset, mem_type, mem_space, file_space, dxpl, buf);
	int r = real(dset, mem_type, mem_space, file_space, dxpl, buf);
	return end_access(&c, dset, (rama_cap_hid[]){ mem_space, file_space }, dxpl, r);
}
