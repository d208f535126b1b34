/* SPDX-License-Identifier: BSD-3-Clause */
/* probe.c: the side of who changes the code. The library in the process (capture/probe.c) gives
 * memory near the function; into it go a few instructions that lead to the library, and the
 * beginning of the function. Nobody runs there yet. Then all threads stand still, those that are
 * in the beginning are moved, and five bytes are written: a jump. */
#include "attach/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attach/attach.h"
#include "attach/mapped.h"
#include "attach/move.h"
#include "attach/stop.h"
#include "attach/symbols.h"
#include "table/fn.h"

#define LANDING 0	   /* in the room: what the jump leads to */
#define MOVED 64	   /* ... and the beginning of the function */
#define LARGEST (1u << 18) /* bytes of a function that is looked at */

/* ---- what is asked for ----------------------------------------------------------------------- */

static const struct row {
	const char *program, *function;
	uint32_t fn;
	uint8_t when;
	int8_t handle, off, len, context;
} rows[] = {
#define PROBE(program, function, op, when, handle, off, len, context) \
	{ program, function, RAMA_TAB_FN_##op, RAMA_PROBE_##when, handle, off, len, context },
#include "table/probes.def"
};

static const struct {
	uint32_t fn;
	uint8_t kind;
} kinds[] = {
#define PROBE_OP(symbol, name, kind) { RAMA_TAB_FN_##symbol, RAMA_TAB_OP_##kind },
#include "table/probes.def"
};

static uint8_t kind_of(uint32_t fn)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (kinds[i].fn == fn)
			return kinds[i].kind;
	return RAMA_TAB_OP_NOTHING;
}

size_t rama_attach_probe_rows(const char *program, struct rama_probe_ask *to, size_t room)
{
	size_t n = 0;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]) && n < room; i++) {
		const struct row *r = &rows[i];

		if (strcmp(r->program, program) != 0)
			continue;
		to[n] = (struct rama_probe_ask){ .fn = r->fn,
						 .kind = kind_of(r->fn),
						 .when = r->when,
						 .fd = -1,
						 .handle = r->handle,
						 .off = r->off,
						 .len = r->len,
						 .context = r->context };
		snprintf(to[n++].name, RAMA_PROBE_NAME, "%s", r->function);
	}
	return n;
}

static int bad_word(const char *word, struct rama_err *e)
{
	return rama_err_set(
		e, RAMA_EUSAGE,
		"'%s' is nothing that a probe can be told: read, write, fd=N, handle=N, "
		"off=N, len=N, begin=N, end=N, where N is an argument, the first 0",
		word);
}

static int take_word(struct rama_probe_ask *ask, const char *word, struct rama_err *e)
{
	const struct {
		const char *name;
		int8_t *to;
		uint8_t when;
	} names[] = { { "fd=", &ask->fd, ask->when },
		      { "handle=", &ask->handle, ask->when },
		      { "off=", &ask->off, ask->when },
		      { "len=", &ask->len, ask->when },
		      { "begin=", &ask->context, RAMA_PROBE_BEGIN },
		      { "end=", &ask->context, RAMA_PROBE_END } };

	if (strcmp(word, "read") == 0 || strcmp(word, "write") == 0) {
		ask->fn = *word == 'r' ? RAMA_TAB_FN_probe_read : RAMA_TAB_FN_probe_write;
		return 0;
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		size_t n = strlen(names[i].name);
		char *end;
		long v;

		if (strncmp(word, names[i].name, n) != 0)
			continue;
		v = strtol(word + n, &end, 10);
		if (word[n] < '0' || word[n] > '9' || *end != '\0' || v >= RAMA_PROBE_ARGS)
			break;
		*names[i].to = (int8_t)v;
		ask->when = names[i].when;
		return 0;
	}
	return bad_word(word, e);
}

int rama_attach_probe_parse(const char *text, struct rama_probe_ask *ask, struct rama_err *e)
{
	size_t n = strcspn(text, ":");
	char word[32];
	int rc = 0;

	*ask = (struct rama_probe_ask){ .fn = RAMA_TAB_FN_probe_other,
					.fd = -1,
					.handle = -1,
					.off = -1,
					.len = -1,
					.context = -1 };
	if (n == 0 || n >= RAMA_PROBE_NAME)
		return rama_err_set(e, RAMA_EUSAGE, "'%s' is no name of a function", text);
	memcpy(ask->name, text, n);
	while (rc == 0 && text[n] == ':') {
		size_t len = strcspn(text + n + 1, ":");

		snprintf(word, sizeof(word), "%.*s", (int)(len < 31 ? len : 31), text + n + 1);
		rc = take_word(ask, word, e);
		n += len + 1;
	}
	ask->kind = kind_of(ask->fn);
	return rc;
}

/* ---- the function ---------------------------------------------------------------------------- */

struct place {
	uint64_t at, size;
};

/* Was there a file of it that could not be read? Then the function may be in that. */
static int no_function(pid_t pid, const char *name, const struct rama_err *unread,
		       struct rama_err *e)
{
	if (unread->code != 0)
		return rama_err_set(e, RAMA_EUSAGE,
				    "process %d has no function %s in what can be read of it (%s)",
				    (int)pid, name, unread->text);
	return rama_err_set(e, RAMA_EUSAGE,
			    "process %d has no function %s (its table of symbols may have been "
			    "stripped)",
			    (int)pid, name);
}

/* The program comes first in the list, then its libraries. */
static int find_function(pid_t pid, const char *name, struct place *to, struct rama_err *e)
{
	char file[RAMA_ATTACH_MAPPED_PATH], maps[64], *line = NULL;
	struct rama_attach_function f = { 0 };
	struct rama_attach_mapped mapped;
	struct rama_err unread = { 0 };
	size_t room = 0;
	FILE *m;

	snprintf(maps, sizeof(maps), "/proc/%d/maps", (int)pid);
	m = fopen(maps, "re");
	if (m == NULL)
		return rama_err_set(e, RAMA_EUSAGE, "process %d: %s", (int)pid, strerror(errno));
	while (f.found == 0 && getline(&line, &room, m) > 0) {
		if (!rama_attach_mapped_read(&mapped, line) ||
		    strstr(mapped.path, "/libiorama") != NULL)
			continue;
		rama_attach_mapped_path(&mapped, pid, file);
		if (rama_attach_symbol_in(file, name, &f, &unread) == 0 && f.found > 0)
			*to = (struct place){ mapped.from + f.offset, f.size };
	}
	free(line);
	fclose(m);
	if (f.found == 0)
		return no_function(pid, name, &unread, e);
	if (f.found > 1)
		return rama_err_set(e, RAMA_EUSAGE, "process %d has %u functions %s", (int)pid,
				    f.found, name);
	return to->size > 0 && to->size <= LARGEST
		       ? 0
		       : rama_err_set(e, RAMA_EUSAGE, "process %d: %s: its length is not known",
				      (int)pid, name);
}

/* ---- its memory ------------------------------------------------------------------------------ */

struct memory {
	pid_t pid;
	int fd;
};

static int open_memory(struct memory *m, pid_t pid, struct rama_err *e)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	m->pid = pid;
	m->fd = open(path, O_RDWR | O_CLOEXEC);
	return m->fd >= 0
		       ? 0
		       : rama_err_set(e, RAMA_EUSAGE, "process %d: %s", (int)pid, strerror(errno));
}

static int get(const struct memory *m, uint64_t at, void *to, size_t n, struct rama_err *e)
{
	return pread(m->fd, to, n, (off_t)at) == (ssize_t)n
		       ? 0
		       : rama_err_set(e, RAMA_EIO, "process %d: its memory cannot be read",
				      (int)m->pid);
}

static int put(const struct memory *m, uint64_t at, const void *from, size_t n, struct rama_err *e)
{
	return pwrite(m->fd, from, n, (off_t)at) == (ssize_t)n
		       ? 0
		       : rama_err_set(
				 e, RAMA_EUSAGE,
				 "process %d: the system does not let its code be changed (%s)",
				 (int)m->pid, strerror(errno));
}

#define PUT_FIELD(m, at, p, field, e) \
	put(m, (at) + offsetof(struct rama_probe, field), &(p)->field, sizeof((p)->field), e)

static void jump_to(unsigned char to[RAMA_PROBE_JUMP], uint64_t from, uint64_t where)
{
	int32_t d = (int32_t)(where - (from + RAMA_PROBE_JUMP));

	to[0] = 0xe9;
	memcpy(to + 1, &d, sizeof(d));
}

/* push $index; jmp *stub */
static void make_landing(unsigned char to[19], const struct rama_probe *p)
{
	static const unsigned char jump[] = { 0xff, 0x25, 0, 0, 0, 0 };
	int32_t index = (int32_t)p->index;

	to[0] = 0x68;
	memcpy(to + 1, &index, sizeof(index));
	memcpy(to + 5, jump, sizeof(jump));
	memcpy(to + 11, &p->stub, sizeof(p->stub));
}

/* ---- arming ---------------------------------------------------------------------------------- */

struct work {
	struct memory m;
	struct rama_probe p;
	struct rama_attach_moved moved;
	uint64_t at; /* of the probe in the process */
	unsigned char was[LARGEST];
};

/* what is in no thread's way yet */
static int prepare(struct work *w, const struct place *f, struct rama_err *e)
{
	unsigned char landing[19];
	enum rama_attach_move why;
	int rc = get(&w->m, f->at, w->was, f->size, e);

	if (rc != 0)
		return rc;
	why = rama_attach_move(&w->moved, w->was, f->size, f->at, w->p.room + MOVED);
	if (why != RAMA_ATTACH_MOVE_DONE)
		return rama_err_set(e, RAMA_EUSAGE, "process %d: %s: %s", (int)w->m.pid,
				    w->p.ask.name, rama_attach_move_why(why));
	make_landing(landing, &w->p);
	w->p.original = w->p.room + MOVED;
	memcpy(w->p.saved, w->was, RAMA_PROBE_JUMP);
	rc = put(&w->m, w->p.room + LANDING, landing, sizeof(landing), e);
	if (rc == 0)
		rc = put(&w->m, w->p.original, w->moved.code, w->moved.n, e);
	if (rc == 0)
		rc = PUT_FIELD(&w->m, w->at, &w->p, original, e);
	return rc == 0 ? PUT_FIELD(&w->m, w->at, &w->p, saved, e) : rc;
}

static int change(struct work *w, const struct place *f, struct rama_attach_probe_done *done,
		  struct rama_err *e)
{
	struct rama_attach_stopped s;
	unsigned char now[RAMA_PROBE_JUMP], jump[RAMA_PROBE_JUMP];
	int rc = rama_attach_stop(&s, w->m.pid, e);

	if (rc != 0)
		return rc;
	jump_to(jump, f->at, w->p.room + LANDING);
	rc = get(&w->m, f->at, now, sizeof(now), e);
	if (rc == 0 && memcmp(now, w->was, sizeof(now)) != 0)
		rc = rama_err_set(e, RAMA_EUSAGE, "process %d: %s: somebody else is changing it",
				  (int)w->m.pid, w->p.ask.name);
	w->p.armed = 1;
	if (rc == 0)
		rc = PUT_FIELD(&w->m, w->at, &w->p, armed, e);
	if (rc == 0)
		rc = put(&w->m, f->at, jump, sizeof(jump), e);
	if (rc == 0)
		rama_attach_stop_move(&s, f->at, w->p.original, &w->moved);
	done->threads = (unsigned)s.n;
	done->stood = rama_attach_stop_end(&s);
	return rc;
}

static int refused(pid_t pid, uint64_t why, struct rama_err *e)
{
	static const char *const text[] = {
		[RAMA_PROBE_NOT_HERE] = "the library there does not know probes, or is not at work",
		[RAMA_PROBE_MANY] = "it has as many probes as there can be",
		[RAMA_PROBE_NO_ROOM] = "there is no free memory near the function"
	};

	return rama_err_set(e, RAMA_EUSAGE, "process %d: %s", (int)pid,
			    why <= RAMA_PROBE_NO_ROOM && text[why] != NULL ? text[why]
									   : "no probe");
}

/* Where the probe of the function is. One that was there before needs no thread. */
static int find_probe(struct work *w, const struct rama_probe_ask *ask, unsigned patience,
		      struct rama_err *e)
{
	uint64_t table = 0;
	int rc = rama_attach_data(w->m.pid, "iorama_probes", &table, e);

	for (unsigned i = 0; rc == 0 && i < RAMA_PROBES; i++) {
		w->at = table + i * sizeof(w->p);
		rc = get(&w->m, w->at, &w->p, sizeof(w->p), e);
		if (rc != 0 || w->p.room == 0 || w->p.ask.at != ask->at)
			continue;
		w->p.ask = *ask;
		return w->p.armed != 0 ? 0 : put(&w->m, w->at, ask, sizeof(*ask), e);
	}
	if (rc == 0)
		rc = rama_attach_call(w->m.pid, patience, "iorama_probe", ask, sizeof(*ask), &w->at,
				      e);
	if (rc == 0 && w->at <= RAMA_PROBE_NO_ROOM)
		rc = refused(w->m.pid, w->at, e);
	return rc == 0 ? get(&w->m, w->at, &w->p, sizeof(w->p), e) : rc;
}

static int arm(struct work *w, const struct place *f, struct rama_attach_probe_done *done,
	       const struct rama_probe_ask *ask, unsigned patience, struct rama_err *e)
{
	int rc = open_memory(&w->m, w->m.pid, e);

	if (rc != 0)
		return rc;
	rc = find_probe(w, ask, patience, e);
	if (rc == 0 && w->p.armed != 0)
		rc = rama_err_set(e, RAMA_EUSAGE, "process %d: %s is observed already",
				  (int)w->m.pid, w->p.ask.name);
	if (rc == 0)
		rc = prepare(w, f, e);
	if (rc == 0)
		rc = change(w, f, done, e);
	close(w->m.fd);
	return rc;
}

int rama_attach_probe_arm(pid_t pid, const struct rama_probe_ask *ask, unsigned patience,
			  struct rama_attach_probe_done *done, struct rama_err *e)
{
	struct rama_probe_ask with = *ask;
	struct work *w = calloc(1, sizeof(*w));
	struct place f = { 0 };
	int rc = w == NULL ? rama_err_no_memory(e) : find_function(pid, ask->name, &f, e);

	memset(done, 0, sizeof(*done));
	snprintf(done->function, sizeof(done->function), "%s", ask->name);
	if (rc == 0 && rama_attach_move(&w->moved, NULL, 0, 0, 0) == RAMA_ATTACH_MOVE_NOT_HERE)
		rc = rama_err_set(e, RAMA_EUSAGE, "process %d: %s: %s", (int)pid, ask->name,
				  rama_attach_move_why(RAMA_ATTACH_MOVE_NOT_HERE));
	if (rc == 0) {
		with.at = f.at;
		w->m.pid = pid;
		rc = arm(w, &f, done, &with, patience, e);
	}
	free(w);
	return rc;
}

/* ---- disarming ------------------------------------------------------------------------------- */

/* Its jump goes, unless somebody has put another over it, who would come back to nothing. */
static int take_back(const struct memory *m, uint64_t at, struct rama_probe *p, struct rama_err *e)
{
	unsigned char now[RAMA_PROBE_JUMP], jump[RAMA_PROBE_JUMP];
	int rc = get(m, p->ask.at, now, sizeof(now), e);

	jump_to(jump, p->ask.at, p->room + LANDING);
	if (rc == 0 && memcmp(now, jump, sizeof(now)) != 0)
		return rama_err_set(e, RAMA_EUSAGE,
				    "process %d: %s: somebody else has changed it since",
				    (int)m->pid, p->ask.name);
	if (rc == 0)
		rc = put(m, p->ask.at, p->saved, RAMA_PROBE_JUMP, e);
	p->armed = 0;
	return rc == 0 ? PUT_FIELD(m, at, p, armed, e) : rc;
}

static int disarm(const struct memory *m, uint64_t table, struct rama_probe *all,
		  struct rama_attach_probe_done *done, struct rama_err *e)
{
	int rc = get(m, table, all, RAMA_PROBES * sizeof(*all), e), n = 0, any = 0;
	struct rama_attach_stopped s;
	double stood;

	for (unsigned i = 0; rc == 0 && i < RAMA_PROBES; i++)
		any += all[i].armed != 0;
	if (rc != 0 || any == 0)
		return rc;
	rc = rama_attach_stop(&s, m->pid, e);
	if (rc != 0)
		return rc;
	any = (int)s.n;
	rc = get(m, table, all, RAMA_PROBES * sizeof(*all), e);
	for (unsigned i = 0; rc == 0 && i < RAMA_PROBES; i++) {
		if (all[i].armed == 0)
			continue;
		rc = take_back(m, table + i * sizeof(*all), &all[i], e);
		if (done != NULL) {
			done[n] = (struct rama_attach_probe_done){ .calls = all[i].calls,
								   .ns = all[i].ns,
								   .threads = (unsigned)any,
								   .unmatched = all[i].unmatched };
			all[i].ask.name[RAMA_PROBE_NAME - 1] = '\0';
			memcpy(done[n].function, all[i].ask.name, RAMA_PROBE_NAME);
		}
		n++;
	}
	stood = rama_attach_stop_end(&s);
	for (int i = 0; done != NULL && i < n; i++)
		done[i].stood = stood;
	return rc == 0 ? n : rc;
}

int rama_attach_probe_disarm(pid_t pid, struct rama_attach_probe_done *done, struct rama_err *e)
{
	struct rama_probe *all = calloc(RAMA_PROBES, sizeof(*all));
	uint64_t table = 0;
	struct memory m;
	int rc = all == NULL ? rama_err_no_memory(e)
			     : rama_attach_data(pid, "iorama_probes", &table, e);

	if (rc == 0)
		rc = open_memory(&m, pid, e);
	if (rc == 0) {
		rc = disarm(&m, table, all, done, e);
		close(m.fd);
	}
	free(all);
	return rc;
}
