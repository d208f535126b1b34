/* SPDX-License-Identifier: BSD-3-Clause */
/* gluster_names.c: what translators and clients of GlusterFS are called, and numbers that requests
 * take along. Names are asked for with each request, and there are few: they are remembered by
 * where they lie in memory. */
#include "capture/hooks/hooks.h"
#include "core/foreign/gluster.h"

static uint32_t remember(struct rama_cap_thread *t, struct rama_cap_gluster_known *k, uintptr_t of,
			 uintptr_t check, const char *text, size_t len)
{
	int saved = errno;
	struct rama_seg_name *n = len > 0 ? rama_cap_name(t, text, len, true) : NULL;
	uint32_t name = n ? rama_cap_name_number(n) : 0;

	/* first it is nobody's, then everything but the name, which whoever looks reads first */
	__atomic_store_n(&k->of, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&k->name, name, __ATOMIC_RELEASE);
	k->check = check;
	k->generation = rama_cap_run.generation;
	__atomic_store_n(&k->of, of, __ATOMIC_RELEASE);
	errno = saved;
	return name;
}

uint32_t rama_cap_gluster_name(struct rama_cap_thread *t, struct rama_cap_gluster_known *k,
			       uintptr_t self, const char *text)
{
	char copy[RAMA_CORE_GLUSTER_IDENTITY];
	size_t n = rama_core_gluster_text_at(rama_cap_hooks_read, (uintptr_t)text, copy);

	return remember(t, k, self, (uintptr_t)text, copy, n < RAMA_CORE_GLUSTER_NAME_MOST ? n : 0);
}

/* What lies there is read with care: it is not sure that it is an identity. */
uint32_t rama_cap_gluster_client(struct rama_cap_thread *t, struct rama_cap_gluster_known *k,
				 uintptr_t client, const char *id)
{
	char whole[RAMA_CORE_GLUSTER_IDENTITY], text[RAMA_CORE_GLUSTER_IDENTITY];
	size_t n = rama_core_gluster_text_at(rama_cap_hooks_read, (uintptr_t)id, whole);

	return remember(t, k, client, (uintptr_t)id, text,
			n > 0 ? rama_core_gluster_identity(text, sizeof(text), whole) : 0);
}

/* ---- numbers that are sent along: for tests, since it costs ---------------------------------- */

#ifndef RAMA_STATIC_WRAP
#include <dlfcn.h>

typedef void any(void);
static struct {
	void *(*make)(void), *(*copy)(void *, void *);
	void (*unref)(void *);
	int (*set)(void *, char *, uint64_t), (*get)(void *, char *, uint64_t *);
	_Atomic uint64_t last;
} dict;
static char mark_key[] = "iorama.path.id";

bool rama_cap_gluster_marks(void)
{
	const char *on = rama_cap_variable("IORAMA_PATH_ID");
	union {
		void *p;
		any *f;
	} u[5] = { { dlsym(RTLD_DEFAULT, "dict_new") },
		   { dlsym(RTLD_DEFAULT, "dict_copy_with_ref") },
		   { dlsym(RTLD_DEFAULT, "dict_unref") },
		   { dlsym(RTLD_DEFAULT, "dict_set_uint64") },
		   { dlsym(RTLD_DEFAULT, "dict_get_uint64") } };

	memcpy(&dict.make, &u[0], sizeof(u[0]));
	memcpy(&dict.copy, &u[1], sizeof(u[0]));
	memcpy(&dict.unref, &u[2], sizeof(u[0]));
	memcpy(&dict.set, &u[3], sizeof(u[0]));
	memcpy(&dict.get, &u[4], sizeof(u[0]));
	return on && strcmp(on, "1") == 0 && u[0].p && u[1].p && u[2].p && u[3].p && u[4].p;
}

void *rama_cap_gluster_marked(void *had, uint64_t *mark)
{
	void *d = had ? dict.copy(had, NULL) : dict.make();
	uint64_t n = (uint64_t)rama_cap_run.pid << 40 | (atomic_fetch_add(&dict.last, 1) + 1);

	if (d && dict.set(d, mark_key, n) == 0)
		*mark = n;
	return d;
}

void rama_cap_gluster_let_go(void *d)
{
	dict.unref(d);
}

uint64_t rama_cap_gluster_mark(void *d)
{
	uint64_t mark = 0;

	return dict.get(d, mark_key, &mark) == 0 ? mark : 0;
}
#endif
