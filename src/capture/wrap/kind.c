/* SPDX-License-Identifier: BSD-3-Clause */
/* kind.c: wrappers of libraries whose calls say all in their arguments: rows FN_KIND of
 * table/modules.def, list 3. There is no code per function. For preloading only: a program that
 * is linked statically need not have the library. */
#include "capture/record.h"
#include "capture/runtime.h"

#ifndef RAMA_STATIC_WRAP
#pragma GCC diagnostic ignored "-Woverride-init"
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

/* one typed slot per row, filled by the first call: the library may come late, by dlopen */
#define FN_KIND(kind, name, ret, rrole, opk, ...) \
	ret (*name)(RAMA_TAB_LIST(RAMA_CAP_PARAM, __VA_ARGS__));
static struct {
#include "table/modules.def"
	rama_cap_anyfn *none; /* no struct is empty */
} real __attribute__((unused));
#undef FN_KIND

#define REAL(name)                                                                         \
	((__typeof__(real.name))(__atomic_load_n(&real.name, __ATOMIC_RELAXED)             \
					 ? (rama_cap_anyfn *)real.name                     \
					 : rama_cap_resolve((rama_cap_anyfn **)&real.name, \
							    #name)))

/* The record is that of the path. A call that failed makes none: names that do not exist may be
 * many. */
static __attribute__((unused)) void end(const struct rama_cap_span *sp, enum rama_seg_kind kind,
					struct rama_cap_call *c)
{
	struct rama_cap_visit v;

	rama_cap_idle(sp);
	rama_cap_times(sp, &c->op);
	if (!c->path || !rama_cap_enter(&v))
		return;
	if (c->op.ok || rama_cap_path_was_read(c->path, v.saved_errno)) {
		size_t len;
		const char *path = rama_cap_clean(v.t, c->dirfd, c->path, &len);
		struct rama_seg_name *n = path ? rama_cap_name(v.t, path, len, c->op.ok) : NULL;
		void *slot =
			n && (c->op.ok || n->slot[kind]) ? rama_cap_slot_of(v.t, n, kind) : NULL;

		if (slot)
			rama_cap_do_kind(v.t, kind, slot, &c->op, RAMA_SEG_EVENT_LAYERS);
	}
	rama_cap_leave(&v);
}

#define FN_KIND(symbol, name, ret, rrole, opk, ...)                                         \
	RAMA_CAP_EXPORT ret name(RAMA_TAB_LIST(RAMA_CAP_PARAM, __VA_ARGS__))                \
	{                                                                                   \
		struct rama_cap_span sp;                                                    \
		bool on = rama_cap_begin(&sp, RAMA_TAB_FN_##name, -1);                      \
		ret r = REAL(name)(RAMA_TAB_LIST(RAMA_CAP_ARG, __VA_ARGS__));               \
		if (on)                                                                     \
			end(&sp, RAMA_SEG_KIND_##symbol,                                    \
			    &(struct rama_cap_call){ .op.fn = RAMA_TAB_FN_##name,           \
						     .op.kind = RAMA_TAB_OP_##opk,          \
						     .fd = -1,                              \
						     .dirfd = AT_FDCWD,                     \
						     RAMA_TAB_OUT_##rrole(r) RAMA_TAB_EACH( \
							     RAMA_CAP_IN, __VA_ARGS__) });  \
		return r;                                                                   \
	}
#include "table/modules.def"
#undef FN_KIND
#endif
