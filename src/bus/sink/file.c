/* SPDX-License-Identifier: BSD-3-Clause */
/* file.c: messages become lines of a file. Exactly once, whatever kills the agent:
 * PATH.state says which messages the file holds and how long it was then; what stands behind
 * that is cut off at the next opening, and comes again. Text that finds no room on the disk
 * waits in memory, and further messages in the spool. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/now.h"
#include "bus/sink/text.h"

#define KNOWN "format dialect events rotate "
#define FULL (4u << 20) /* bytes that wait in memory, at most (and the text of one message) */
#define LEAST_PAUSE 200 /* ms between two commits, at least */
#define SHARE 20	/* of the time may be spent on them: one of so many parts */

struct rama_bus_sink {
	struct rama_bus_sink_options o;
	struct rama_bus_sink_spec spec;
	char state_path[4160];
	int fd;
	uint64_t rotate; /* 0: never */
	struct rama_bus_encoder *encoder;
	struct rama_out out; /* text that is not written yet, from `written` on */
	size_t written;
	uint64_t at; /* length of the file */
	struct rama_bus_text_state st;
	struct rama_arena arena;
	uint64_t taken, first; /* first: number that came first */
	bool troubled, told_left_out;
	int64_t not_before; /* ms: of the next commit */
	struct rama_bus_sink_totals done, batch;
	/* what the encoder had counted at the last commit */
	struct rama_bus_encoder_totals counted;
};

static const char *file_path(const struct rama_bus_sink *s)
{
	return s->spec.place;
}

/* ---- opening --------------------------------------------------------------------------------- */

static int open_file(struct rama_bus_sink *s, struct rama_err *e)
{
	struct stat st;

	s->fd = open(file_path(s), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
	if (s->fd < 0 || fstat(s->fd, &st) != 0)
		return rama_err_set(e, RAMA_EIO, "%s: %s", file_path(s), strerror(errno));
	if (!S_ISREG(st.st_mode))
		return rama_err_set(e, RAMA_EUSAGE, "%s: is no ordinary file", file_path(s));
	if (flock(s->fd, LOCK_EX | LOCK_NB) != 0)
		return rama_err_set(e, RAMA_EIO, "%s: another process writes it", file_path(s));
	s->at = (uint64_t)st.st_size;
	return 0;
}

static int cut(struct rama_bus_sink *s, uint64_t length, struct rama_err *e)
{
	if (ftruncate(s->fd, (off_t)length) != 0)
		return rama_err_set(e, RAMA_EIO, "%s: cannot be cut: %s", file_path(s),
				    strerror(errno));
	s->at = length;
	return 0;
}

static void name_piece(const struct rama_bus_sink *s, char *to, size_t room)
{
	snprintf(to, room, "%s.%llu", file_path(s), (unsigned long long)s->st.piece);
}

/* the state of an earlier agent: the file is what that says */
static int take_up(struct rama_bus_sink *s, struct rama_err *e)
{
	char piece[4160];
	int rc = 0;

	name_piece(s, piece, sizeof piece);
	if (access(piece, F_OK) == 0) { /* it was put aside, and the state not written any more */
		rc = cut(s, 0, e);
		s->st.length = 0;
		s->st.piece++;
	} else if (s->at < s->st.length) {
		rama_bus_sink_tell(&s->o, "%s: somebody has shortened it; it goes on at its end",
				   file_path(s));
		s->st.length = s->at;
	} else if (s->at > s->st.length) {
		rc = cut(s, s->st.length, e);
	}
	if (strcmp(s->st.agent, s->o.agent) != 0)
		s->st.number = 0; /* another spool: its numbers mean other messages */
	return rc;
}

static int open_state(struct rama_bus_sink *s, struct rama_err *e)
{
	char piece[4160];
	int rc = rama_bus_text_load(s->state_path, &s->st, s->encoder, e);

	if (rc == RAMA_EIO)
		return rc;
	if (rc == 0) {
		rc = take_up(s, e);
	} else {
		if (rc == RAMA_ECORRUPT)
			rama_bus_sink_tell(&s->o, "%s; the file goes on at its end", e->text);
		memset(&s->st, 0, sizeof s->st);
		s->st.piece = 1;
		for (name_piece(s, piece, sizeof piece); access(piece, F_OK) == 0;
		     name_piece(s, piece, sizeof piece))
			s->st.piece++;
		s->st.length = s->at;
		rc = 0;
	}
	snprintf(s->st.agent, sizeof s->st.agent, "%s", s->o.agent);
	s->taken = s->st.number;
	rama_bus_encoder_totals(s->encoder, &s->counted);
	if (rc == 0 && s->at == 0)
		rama_bus_encoder_header(s->encoder, &s->out);
	return rc;
}

static void file_close(struct rama_bus_sink *s);

static int file_open(struct rama_bus_sink **to, const struct rama_bus_sink_options *o,
		     struct rama_err *e)
{
	struct rama_bus_sink *s = calloc(1, sizeof *s);
	struct rama_bus_encoder_options eo;
	int rc;

	if (s == NULL)
		return rama_err_no_memory(e);
	s->o = *o;
	s->fd = -1;
	rama_out_init(&s->out, NULL, NULL);
	rc = rama_bus_sink_split(&s->spec, o->where, KNOWN, e);
	if (rc == 0)
		rc = rama_bus_text_options(&eo, o, &s->spec, "json", e);
	if (rc == 0)
		rc = rama_bus_sink_number(&s->spec, "rotate", &s->rotate, e);
	snprintf(s->state_path, sizeof s->state_path, "%s.state", s->spec.place);
	if (rc == 0)
		rc = open_file(s, e);
	if (rc == 0)
		rc = rama_bus_encoder_create(&s->encoder, &eo, e);
	if (rc == 0)
		rc = open_state(s, e);
	if (rc != 0) {
		file_close(s);
		return rc;
	}
	*to = s;
	return 0;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* as much as the disk takes; 0: all of it */
static int write_text(struct rama_bus_sink *s, struct rama_err *e)
{
	while (s->written < s->out.used) {
		ssize_t n = pwrite(s->fd, s->out.buf + s->written, s->out.used - s->written,
				   (off_t)s->at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			rama_err_set(e, RAMA_EIO, "%s: %s", file_path(s),
				     strerror(n < 0 ? errno : ENOSPC));
			if (!s->troubled)
				rama_bus_sink_tell(&s->o, "%s; events wait in the spool", e->text);
			s->troubled = true;
			return RAMA_EIO;
		}
		s->written += (size_t)n;
		s->at += (uint64_t)n;
	}
	s->written = s->out.used = 0;
	if (s->troubled)
		rama_bus_sink_tell(&s->o, "%s: it can be written again", file_path(s));
	s->troubled = false;
	return 0;
}

static int64_t file_put(struct rama_bus_sink *s, const struct rama_bus_parcel *p, size_t n,
			struct rama_err *e)
{
	size_t i = 0;

	for (; i < n && s->out.used < FULL; i++) {
		struct rama_wire_message m = { 0 };
		int rc;

		if (p[i].number <= s->taken)
			continue; /* it is in the file */
		rc = rama_wire_message_decode(&m, p[i].bytes, p[i].len, &s->arena, e);
		if (rc == 0)
			rc = rama_bus_encoder_put(s->encoder, &m, &s->out, e);
		if (rc == RAMA_EMEMORY || s->out.error != 0)
			return rama_err_no_memory(e);
		if (rc != 0) {
			rama_bus_sink_tell(&s->o, "message %llu: %s; left out",
					   (unsigned long long)p[i].number, e->text);
			s->batch.refused++;
			s->batch.refused_events += m.kind != 0 ? rama_wire_message_events(&m) : 0;
		} else {
			s->batch.messages++;
		}
		s->taken = p[i].number;
		rama_arena_fini(&s->arena);
	}
	if (s->out.used >= FULL && write_text(s, e) != 0 && i == 0)
		return RAMA_EIO;
	return (int64_t)i;
}

/* ---- committing ------------------------------------------------------------------------------ */

/* what the encoder has written since the last commit */
static void count_events(struct rama_bus_sink *s)
{
	struct rama_bus_encoder_totals t;

	rama_bus_encoder_totals(s->encoder, &t);
	s->done.messages += s->batch.messages;
	s->done.events += t.written - s->counted.written;
	s->done.repeated += t.repeated - s->counted.repeated;
	s->done.refused += s->batch.refused;
	s->done.refused_events += s->batch.refused_events + t.left_out - s->counted.left_out;
	if (t.left_out > s->counted.left_out && !s->told_left_out) {
		rama_bus_sink_tell(&s->o,
				   "%s: events that the dialect has no word for are left out",
				   file_path(s));
		s->told_left_out = true;
	}
	s->counted = t;
	memset(&s->batch, 0, sizeof s->batch);
}

/* The file gets another name and a new one begins; the state is written in between, see
 * take_up(). */
static int put_aside(struct rama_bus_sink *s, struct rama_err *e)
{
	char piece[4160];
	int rc;

	name_piece(s, piece, sizeof piece);
	if (rename(file_path(s), piece) != 0)
		return rama_err_set(e, RAMA_EIO, "%s: %s", piece, strerror(errno));
	close(s->fd);
	rc = open_file(s, e);
	if (rc == 0)
		rc = cut(s, 0, e);
	if (rc != 0)
		return rc;
	s->st.piece++;
	s->st.length = 0;
	rama_bus_encoder_header(s->encoder, &s->out);
	return rama_bus_text_save(s->state_path, &s->st, s->encoder, e);
}

static int commit(struct rama_bus_sink *s, struct rama_err *e)
{
	int64_t began = rama_now_ms(), took;
	struct rama_bus_text_state st = s->st;
	int rc = write_text(s, e);

	if (rc == 0 && fdatasync(s->fd) != 0)
		rc = rama_err_set(e, RAMA_EIO, "%s: %s", file_path(s), strerror(errno));
	if (rc == 0) {
		st.number = s->taken;
		st.length = s->at;
		rc = rama_bus_text_save(s->state_path, &st, s->encoder, e);
	}
	if (rc != 0)
		return rc;
	s->st = st;
	count_events(s);
	if (s->rotate > 0 && s->at >= s->rotate && put_aside(s, e) != 0)
		rama_bus_sink_tell(&s->o, "%s; the file stays one", e->text);
	took = (rama_now_ms() - began) * SHARE;
	s->not_before = rama_now_ms() + (took > LEAST_PAUSE ? took : LEAST_PAUSE);
	return 0;
}

static int file_sync(struct rama_bus_sink *s, int wait_ms, uint64_t *committed, uint64_t *again,
		     struct rama_err *e)
{
	int64_t now = rama_now_ms();

	*again = UINT64_MAX;
	if (s->taken > s->st.number && now + wait_ms >= s->not_before) {
		if (now < s->not_before)
			usleep((useconds_t)(s->not_before - now) * 1000);
		if (commit(s, e) != 0 && !s->troubled) {
			rama_bus_sink_tell(&s->o, "%s; events wait in the spool", e->text);
			s->troubled = true;
		}
	} else if (wait_ms > 0 && s->taken > s->st.number) {
		usleep((useconds_t)wait_ms * 1000);
	}
	*committed = s->st.number;
	return 0;
}

static void file_totals(const struct rama_bus_sink *s, struct rama_bus_sink_totals *t)
{
	*t = s->done;
}

static void file_close(struct rama_bus_sink *s)
{
	if (s == NULL)
		return;
	if (s->fd >= 0)
		close(s->fd);
	rama_bus_encoder_destroy(s->encoder);
	rama_out_fini(&s->out);
	rama_arena_fini(&s->arena);
	free(s);
}

const struct rama_bus_sink_ops rama_bus_sink_file = { "file",	 file_open,   file_put,
						      file_sync, file_totals, file_close };
