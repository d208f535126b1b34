/* SPDX-License-Identifier: BSD-3-Clause */
/* pnetcdf.c: reads and writes of variables, and calls on open files. There is no code per
 * function: see table/fn_pnetcdf.def. */
#include "capture/events.h"
#include "capture/pnetcdf.h"
#include "capture/record.h"

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

/* ---- the door -------------------------------------------------------------------------------- */

/* see mpi.c */
static RAMA_CAP_TLS const char *outermost;
static RAMA_CAP_TLS struct rama_cap_nest nest;	/* of the call that is at work; id 0: none */
static RAMA_CAP_TLS struct rama_cap_span since; /* when it began */

bool rama_cap_nc_enter(struct rama_cap_nc_call *c)
{
	const char *here = __builtin_frame_address(0);

	if (outermost && here < outermost)
		return false;
	outermost = here;
	c->on = rama_cap_begin(&c->span, c->fn, -1);
	if (c->on) {
		since = c->span;
		rama_cap_nest_begin(&nest, c->cfa);
	}
	return true;
}

void rama_cap_nc_leave(void)
{
	if (nest.id) {
		rama_cap_idle(&since);
		rama_cap_nest_end(&nest);
	}
	nest.id = 0;
	outermost = NULL;
}

void rama_cap_nc_begin_again(struct rama_cap_nc_call *c)
{
	rama_cap_begin_again(&c->span);
	since = c->span;
}

struct rama_core_op rama_cap_nc_op(const struct rama_cap_nc_call *c, bool ok)
{
	struct rama_core_op op = { .fn = c->fn, .kind = c->kind, .how = c->how, .ok = ok };

	rama_cap_times(&c->span, &op);
	return op;
}

bool rama_cap_nc_visit(struct rama_cap_visit *v)
{
	if (!rama_cap_enter(v))
		return false;
	v->t->nest = &nest;
	return true;
}

void rama_cap_nc_unvisit(struct rama_cap_visit *v)
{
	v->t->nest = NULL;
	rama_cap_leave(v);
}

/* ---- variables ------------------------------------------------------------------------------- */

/* "file:variable"; the catch-all if the file's name is that */
static struct rama_seg_name *name_of(struct rama_cap_thread *t, uint32_t file, const char *var)
{
	struct rama_seg_name *n = rama_cap_name_at(file);
	char *to = t->scratch; /* room for two paths */
	size_t len = strlen(var);

	if (file == 1 || n->len + 1 + len >= 2 * 4096)
		return rama_cap_name_at(1);
	memcpy(to, n->text, n->len);
	to[n->len] = ':';
	memcpy(to + n->len + 1, var, len);
	return rama_cap_name(t, to, n->len + 1 + len, true);
}

static void record_met(struct rama_cap_thread *t, struct rama_core_pnetcdf_file *f,
		       struct rama_cap_nc_entry *var, struct rama_core_op *op, const char *name)
{
	struct rama_seg_name *n = name_of(t, f->name, name);

	if (n)
		var->record = rama_cap_slot_with(t, n, RAMA_SEG_KIND_PNETCDF_VAR,
						 (int64_t)rama_cap_name_at(f->name)->id);
	if (var->record)
		rama_cap_do_pnetcdf_var(t, var->record, op, &var->shape, NULL);
}

struct rama_cap_nc_entry *rama_cap_nc_var_meet(const struct rama_cap_nc_call *c,
					       struct rama_core_op *op, const char *name)
{
	struct rama_cap_nc_entry var = { .record = NULL }, *made = NULL;
	struct rama_cap_nc_entry *file = rama_cap_nc_file_get(c->ncid);
	char asked[RAMA_CAP_NC_NAME];
	struct rama_cap_visit v;

	if (!file || !rama_cap_nc_ask_shape(c->ncid, c->varid, &var))
		return NULL;
	if (!name && rama_cap_nc_ask_name(c->ncid, c->varid, asked))
		name = asked;
	if (!name || !rama_cap_nc_visit(&v))
		return NULL;
	record_met(v.t, file->record, &var, op, name);
	if (var.record) {
		made = rama_cap_nc_var_add(v.t, c->ncid, c->varid, &var);
		if (!made)
			v.t->lane->missed++;
	}
	rama_cap_nc_unvisit(&v);
	return made;
}

/* ---- reads and writes ------------------------------------------------------------------------ */

static int64_t times(int64_t a, int64_t b)
{
	int64_t r;

	return __builtin_mul_overflow(a, b, &r) ? INT64_MAX : r;
}

/* of all parts together: what shape each has is not told */
static int64_t values_of_parts(const struct rama_cap_nc_call *c, unsigned ndims)
{
	struct rama_core_pnetcdf_access one = { .form = RAMA_CORE_NC_VARN };
	int64_t sum = 0;

	for (int i = 0; i < c->parts; i++) {
		const int64_t *edges = c->lists ? c->lists[i] : NULL; /* none: one value */
		int64_t n = edges ? rama_core_pnetcdf_select(&one, ndims, edges, NULL) : 1;

		if (__builtin_add_overflow(sum, n, &sum))
			sum = INT64_MAX;
	}
	return sum;
}

/* A variable that grows has as many records as there are by now. */
static int64_t values_of_all(const struct rama_cap_nc_call *c, const struct rama_cap_nc_entry *var)
{
	return var->shape.is_record
		       ? times(var->shape.npoints, rama_cap_nc_ask_records(c->ncid, var->unlimited))
		       : var->shape.npoints;
}

static int64_t bytes_of_type(rama_cap_handle type)
{
	int size = 0;

	if (!rama_cap_mpi_begin() || rama_cap_mpi_handle(type) == RAMA_CAP_MPI(DATATYPE_NULL))
		return 0;
	return rama_cap_mpi.call.Type_size(type, &size) == 0 && size > 0 ? size : 0;
}

static int64_t bytes_of(const struct rama_cap_nc_call *c, const struct rama_cap_nc_entry *var,
			struct rama_core_pnetcdf_access *part)
{
	unsigned ndims = (unsigned)var->shape.ndims;
	int64_t n = 1;

	switch (part->form) {
	case RAMA_CORE_NC_VAR:
		n = values_of_all(c, var);
		break;
	case RAMA_CORE_NC_VAR1:
		break;
	case RAMA_CORE_NC_VARN:
		n = values_of_parts(c, ndims);
		break;
	case RAMA_CORE_NC_VARD:
		return bytes_of_type(c->type);
	default:
		if (c->edges || ndims == 0)
			n = rama_core_pnetcdf_select(part, ndims, c->edges, c->stride);
	}
	return times(n, var->shape.type_size);
}

/* The variable may be known by its number from another time the file was open. */
static struct rama_cap_nc_entry *var_of(const struct rama_cap_nc_call *c)
{
	struct rama_cap_nc_entry *var = rama_cap_nc_var_get(c->ncid, c->varid);
	struct rama_core_op none = { .kind = RAMA_TAB_OP_NOTHING, .ok = true };

	return var ? var : rama_cap_nc_var_meet(c, &none, NULL);
}

static void record_access(const struct rama_cap_nc_call *c, bool ok)
{
	struct rama_core_op op = rama_cap_nc_op(c, ok);
	struct rama_core_pnetcdf_access part = { .form = c->form };
	struct rama_cap_nc_entry *var = ok ? var_of(c) : rama_cap_nc_var_get(c->ncid, c->varid);
	struct rama_cap_visit v;

	if (!var)
		return;
	op.bytes = ok ? bytes_of(c, var, &part) : 0;
	if (rama_cap_nc_visit(&v)) {
		rama_cap_do_pnetcdf_var(v.t, var->record, &op, NULL, &part);
		rama_cap_nc_unvisit(&v);
	}
}

static int after_access(struct rama_cap_nc_call *c, int r)
{
	int saved = errno;

	if (c->on && (r == 0 || rama_cap_live_on(RAMA_SEG_LAYER_PNETCDF)))
		record_access(c, r == 0);
	rama_cap_nc_leave();
	errno = saved;
	return r;
}

/* ---- open files ------------------------------------------------------------------------------ */

static int after_file(struct rama_cap_nc_call *c, int r)
{
	struct rama_cap_nc_entry *file = c->on ? rama_cap_nc_file_get(c->ncid) : NULL;
	struct rama_cap_visit v;

	if (file) {
		struct rama_core_op op = rama_cap_nc_op(c, r == 0);

		if (rama_cap_nc_visit(&v)) {
			rama_cap_do_kind(v.t, RAMA_SEG_KIND_PNETCDF_FILE, file->record, &op,
					 RAMA_SEG_LAYER_PNETCDF);
			rama_cap_nc_unvisit(&v);
		}
	}
	rama_cap_nc_leave();
	return r;
}

/* ---- the wrappers ---------------------------------------------------------------------------- */

#define WRAPPER(name, after, kind_, how_, form_, ...)                                    \
	RAMA_CAP_EXPORT int name(RAMA_TAB_LIST(RAMA_CAP_PARAM, __VA_ARGS__))             \
	{                                                                                \
		__typeof__(rama_cap_nc_real.name) real = RAMA_CAP_NC_REAL(name);         \
		struct rama_cap_nc_call c = { .fn = RAMA_TAB_FN_##name,                  \
					      .kind = RAMA_TAB_OP_##kind_,               \
					      .how = RAMA_CORE_NC_HOW_##how_,            \
					      .form = form_,                             \
					      .cfa = RAMA_CAP_CFA,                       \
					      RAMA_TAB_EACH(RAMA_CAP_IN, __VA_ARGS__) }; \
		bool outer = rama_cap_nc_enter(&c);                                      \
		int r = real(RAMA_TAB_LIST(RAMA_CAP_ARG, __VA_ARGS__));                  \
		return outer ? after(&c, r) : r;                                         \
	}

#define FN_NC(name, kind, how, form, ...) \
	WRAPPER(name, after_access, kind, how, RAMA_CORE_NC_##form, __VA_ARGS__)
#define FN_NCF(name, kind, how, ...) WRAPPER(name, after_file, kind, how, 0, __VA_ARGS__)
#define FN_NCH(...)
#define NEED(...)
#include RAMA_CAP_ROWS_PNETCDF
