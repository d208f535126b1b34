/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulate/engine/engine.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "emulate/engine/engines.h"
#include "emulate/own/own.h"

#define ENGINES_MOST 32

static const struct rama_emu_engine *engines[ENGINES_MOST] = {
	&rama_emu_engine_posix, &rama_emu_engine_vector, &rama_emu_engine_direct,
	&rama_emu_engine_mmap,	&rama_emu_engine_uring,	 &rama_emu_engine_null,
};

const struct rama_emu_engine *rama_emu_engine_at(unsigned i)
{
	return i < ENGINES_MOST ? engines[i] : NULL;
}

const struct rama_emu_engine *rama_emu_engine_find(const char *name)
{
	for (unsigned i = 0; rama_emu_engine_at(i) != NULL; i++)
		if (strcmp(engines[i]->name, name) == 0)
			return engines[i];
	return NULL;
}

int rama_emu_engine_fd(const struct rama_emu_handle *h, int flags, int more)
{
	int how = (flags & RAMA_EMU_OPEN_WRITE) == 0 ? O_RDONLY
		  : flags & RAMA_EMU_OPEN_READ	     ? O_RDWR
						     : O_WRONLY;

	how |= (flags & RAMA_EMU_OPEN_CREATE ? O_CREAT : 0) |
	       (flags & RAMA_EMU_OPEN_TRUNCATE ? O_TRUNC : 0) | O_CLOEXEC | more;
	return flags & RAMA_EMU_OPEN_WRITE ? rama_emu_own_open(h->own, h->path, how)
					   : open(h->path, how);
}

/* Libraries of MPI open files by name: whether it leads to a file of this run is looked at
 * before and after. */
int rama_emu_engine_open(struct rama_emu_handle *h, bool in_place, int flags, struct rama_err *e)
{
	bool write = h->engine->needs_mpi && flags & RAMA_EMU_OPEN_WRITE;
	bool makes = in_place && h->engine->container; /* some remove and make it anew */
	int rc = 0;

	if (write && !makes && rama_emu_own_look(h->own, h->path, false) != 0)
		return rama_err_set(e, RAMA_EIO, "%s: open: %s", h->path, strerror(errno));
	rc = h->engine->open(h, flags, e);
	if (rc == 0 && write &&
	    (makes ? rama_emu_own_adopt(h->own, h->path)
		   : rama_emu_own_look(h->own, h->path, true)) != 0) {
		rc = rama_err_set(e, RAMA_EIO, "%s: open: %s", h->path, strerror(errno));
		h->engine->close(h, NULL);
	}
	return rc;
}

void rama_emu_engine_add(const struct rama_emu_engine *engine)
{
	for (unsigned i = 0; i < ENGINES_MOST; i++) {
		if (engines[i] == NULL) {
			engines[i] = engine;
			return;
		}
	}
}
