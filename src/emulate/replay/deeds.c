/* SPDX-License-Identifier: BSD-3-Clause */
/* deeds.c: the calls of calls.c, done again with the files of a replay. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "emulate/replay/replay.h"

/* ---- before the run ------------------------------------------------------------------------- */

/* Who else uses a file must find it: names are changed and given up only by whoever is alone with
 * it, and not beside other operations of its own. */
int rama_emu_replay_calls_settle(struct rama_emu_replay *r, struct rama_err *e)
{
	int32_t *owner = calloc((size_t)r->n_files + 1, sizeof(*owner)); /* rank + 1; -1: several */
	size_t n = 0;

	if (owner == NULL)
		return rama_err_set(e, RAMA_EMEMORY, "no memory");
	for (size_t i = 0; i < r->n + r->n_calls; i++) {
		uint32_t file = i < r->n ? r->ops[i].file : r->calls[i - r->n].file;
		int32_t rank = i < r->n ? r->ops[i].rank : r->calls[i - r->n].rank;

		owner[file] = owner[file] == 0 || owner[file] == rank + 1 ? rank + 1 : -1;
		if (i < r->n && r->ops[i].hand > 0)
			owner[file] = -1;
	}
	for (size_t i = 0; i < r->n_calls; i++)
		r->files[r->calls[i].file].folder |= r->calls[i].deed == RAMA_EMU_DEED_MKDIR;
	for (size_t i = 0; i < r->n_calls; i++) {
		const struct rama_emu_replay_call *c = &r->calls[i];
		struct rama_emu_replay_file *f = &r->files[c->file];
		bool name = c->deed == RAMA_EMU_DEED_UNLINK || c->deed == RAMA_EMU_DEED_RENAME;

		if ((name && owner[c->file] == -1) ||
		    (f->folder && rama_emu_replay_deed_opens(c->deed))) {
			r->left[c->row]++;
			continue;
		}
		f->renamed |= c->deed == RAMA_EMU_DEED_RENAME;
		r->calls[n++] = *c;
	}
	r->n_calls = n;
	free(owner);
	return 0;
}

/* needs the file open; the others go by its name */
bool rama_emu_replay_deed_opens(enum rama_emu_replay_deed deed)
{
	return deed == RAMA_EMU_DEED_READ || deed == RAMA_EMU_DEED_WRITE ||
	       deed == RAMA_EMU_DEED_SYNC || deed == RAMA_EMU_DEED_DATASYNC ||
	       deed == RAMA_EMU_DEED_FLUSH || deed == RAMA_EMU_DEED_OPEN;
}

static const char *new_name(const struct rama_emu_unit *u, char *to, size_t room)
{
	snprintf(to, room, "%.4400s.renamed", u->path);
	return to;
}

/* ---- the run -------------------------------------------------------------------------------- */

static int with_descriptor(const struct rama_emu_unit *u, enum rama_emu_replay_deed deed)
{
	int fd = u->handle->engine->fd(u->handle);
	char byte;

	if (deed == RAMA_EMU_DEED_FLUSH) /* whoever asks for the descriptor has it flushed */
		return 0;
	if (deed == RAMA_EMU_DEED_DATASYNC)
		return fdatasync(fd);
	if (deed == RAMA_EMU_DEED_WRITE)
		return pwrite(fd, &byte, 0, 0) == 0 ? 0 : -1;
	/* behind all that anybody writes */
	return pread(fd, &byte, 1, u->size) >= 0 ? 0 : -1;
}

int rama_emu_replay_deed_do(void *ctx, struct rama_emu_step *s, struct rama_err *e)
{
	struct rama_emu_own *own = ctx;
	const struct rama_emu_unit *u = s->unit;
	enum rama_emu_replay_deed deed = (enum rama_emu_replay_deed)s->flags;
	char to[RAMA_EMU_OWN_PATH];
	struct stat st;
	int rc = 0;

	switch (deed) {
	case RAMA_EMU_DEED_STAT:
		rc = stat(u->path, &st) == 0 || errno == ENOENT ? 0 : -1;
		break;
	case RAMA_EMU_DEED_ACCESS:
		rc = access(u->path, F_OK) == 0 || errno == ENOENT ? 0 : -1;
		break;
	case RAMA_EMU_DEED_MKDIR:
		rc = rama_emu_own_folder(own, u->path, e);
		return rc < 0 ? rc : 0;
	case RAMA_EMU_DEED_RENAME:
		rc = rama_emu_own_rename(own, u->path, new_name(u, to, sizeof(to)));
		break;
	case RAMA_EMU_DEED_UNLINK:
		if (s->strict)
			rama_emu_own_folder_remove(own, u->path);
		else
			rc = rama_emu_own_unlink(own, u->path);
		break;
	default:
		rc = with_descriptor(u, deed);
	}
	return rc == 0 ? 0 : rama_err_set(e, RAMA_EIO, "%.300s: %s", u->path, strerror(errno));
}

/* ---- after it ------------------------------------------------------------------------------- */

void rama_emu_replay_deeds_undo(const struct rama_emu_replay *r,
				const struct rama_emu_replay_file *f)
{
	char to[RAMA_EMU_OWN_PATH];

	if (f->folder)
		rama_emu_own_folder_remove(r->m->opt.own, f->unit->path);
	if (f->renamed)
		rama_emu_own_remove(r->m->opt.own, new_name(f->unit, to, sizeof(to)));
}

/* "left out: 400 seeks, 3 locks"; false: nothing was */
bool rama_emu_replay_left_put(const struct rama_emu_replay *r, struct rama_out *out, bool json)
{
	const char *name;
	bool any = false;

	for (unsigned i = 0; (name = rama_emu_replay_left_name(i)) != NULL; i++) {
		uint64_t n = r->left[i];

		/* rows of one name stand for one thing: told where the first is */
		for (unsigned k = 0; k < RAMA_EMU_REPLAY_ROWS; k++) {
			const char *other = rama_emu_replay_left_name(k);

			if (other == NULL || k == i || strcmp(other, name) != 0)
				continue;
			n = k < i ? 0 : n + r->left[k];
			if (k < i)
				break;
		}
		if (n == 0)
			continue;
		rama_out_fmt(out, json ? "%s\"%s\":%llu" : "%s%.0s%llu",
			     any ? (json ? "," : ", ") : "", name, (unsigned long long)n);
		if (!json)
			rama_out_fmt(out, " %s", name);
		any = true;
	}
	return any;
}
