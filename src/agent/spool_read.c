/* SPDX-License-Identifier: BSD-3-Clause */
/* spool_read.c: the reader's side of a spool: a cursor that mostly goes on from where it was. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/grow.h"
#include "agent/spool_parts.h"

#define READ_ABOUT (4u << 20)

void rama_agent_spool_file_name(char to[40], uint64_t first)
{
	snprintf(to, 40, "%020llu" RAMA_AGENT_SPOOL_SUFFIX, (unsigned long long)first);
}

/* The file that has this number, or the first after it; a copy, since the list changes. */
static bool file_of(struct rama_agent_spool *s, uint64_t number, struct rama_agent_spool_file *f)
{
	bool found = false;

	pthread_mutex_lock(&s->mutex);
	for (size_t i = 0; i < s->n && !found; i++)
		if (s->file[i].next > number && s->file[i].next > s->file[i].first) {
			*f = s->file[i];
			found = true;
		}
	pthread_mutex_unlock(&s->mutex);
	return found;
}

static int read_record(struct rama_agent_spool *s, const struct rama_agent_spool_file *f,
		       struct rama_agent_spool_record *r, struct rama_err *e)
{
	struct rama_agent_spool_cursor *c = &s->cursor;

	if (c->at + RAMA_AGENT_SPOOL_RECORD_SIZE > f->size ||
	    pread(c->fd, r, RAMA_AGENT_SPOOL_RECORD_SIZE, (off_t)c->at) !=
		    (ssize_t)RAMA_AGENT_SPOOL_RECORD_SIZE ||
	    !rama_agent_spool_record_good(r, f->size - c->at - RAMA_AGENT_SPOOL_RECORD_SIZE) ||
	    r->number != c->number)
		return rama_err_set(e, RAMA_ECORRUPT, "%s: message %llu is damaged", s->path,
				    (unsigned long long)c->number);
	return 0;
}

/* moves the cursor to that message of the file */
static int seek(struct rama_agent_spool *s, const struct rama_agent_spool_file *f, uint64_t number,
		struct rama_err *e)
{
	struct rama_agent_spool_cursor *c = &s->cursor;
	char name[40];

	if (number < f->first)
		number = f->first;
	if (c->fd < 0 || c->file != f->first) {
		if (c->fd >= 0)
			close(c->fd);
		rama_agent_spool_file_name(name, f->first);
		c->fd = openat(s->dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
		if (c->fd < 0)
			return rama_err_set(e, RAMA_EIO, "%s/%s: %s", s->path, name,
					    strerror(errno));
		c->file = f->first;
		c->number = f->first;
		c->at = RAMA_AGENT_SPOOL_HEAD_SIZE;
	}
	if (number < c->number) {
		c->number = f->first;
		c->at = RAMA_AGENT_SPOOL_HEAD_SIZE;
	}
	while (c->number < number) {
		struct rama_agent_spool_record r = { 0 };

		if (read_record(s, f, &r, e) != 0)
			return RAMA_ECORRUPT;
		c->at += RAMA_AGENT_SPOOL_RECORD_SIZE + rama_agent_spool_padded(r.len);
		c->number++;
	}
	return 0;
}

/* messages of one file from the cursor on, one behind the other into the buffer */
static int read_some(struct rama_agent_spool *s, const struct rama_agent_spool_file *f,
		     struct rama_bus_parcel *p, unsigned most, struct rama_err *e)
{
	struct rama_agent_spool_cursor *c = &s->cursor;
	size_t used = 0;
	unsigned n = 0;

	if (!RAMA_GROW(s->buf, s->buf_room, READ_ABOUT))
		return rama_err_no_memory(e);
	for (; n < most && c->number < f->next; n++) {
		struct rama_agent_spool_record r = { 0 };

		if (read_record(s, f, &r, e) != 0)
			return RAMA_ECORRUPT;
		if (n > 0 && used + r.len > s->buf_room)
			break; /* the rest comes with the next call */
		if (!RAMA_GROW(s->buf, s->buf_room, r.len))
			return rama_err_no_memory(e);
		if (pread(c->fd, s->buf + used, r.len,
			  (off_t)(c->at + RAMA_AGENT_SPOOL_RECORD_SIZE)) != (ssize_t)r.len)
			return rama_err_set(e, RAMA_EIO, "%s: %s", s->path, strerror(errno));
		p[n] = (struct rama_bus_parcel){ .number = r.number,
						 .bytes = s->buf + used,
						 .len = r.len };
		used += r.len;
		c->at += RAMA_AGENT_SPOOL_RECORD_SIZE + rama_agent_spool_padded(r.len);
		c->number++;
	}
	return (int)n;
}

int rama_agent_spool_read(struct rama_agent_spool *s, uint64_t from, struct rama_bus_parcel *p,
			  unsigned most, struct rama_err *e)
{
	struct rama_agent_spool_file f;
	int rc;

	if (most == 0 || !file_of(s, from, &f))
		return 0;
	rc = seek(s, &f, from, e);
	if (rc == 0)
		rc = read_some(s, &f, p, most, e);
	if (rc < 0 && s->cursor.fd >= 0) {
		close(s->cursor.fd);
		s->cursor.fd = -1;
	}
	return rc;
}
