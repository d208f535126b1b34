/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulate/team/wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

void rama_emu_mail_init(struct rama_emu_mail *m)
{
	m->first = NULL;
	m->last = &m->first;
}

void rama_emu_mail_put(struct rama_emu_mail *m, struct rama_emu_letter *l)
{
	l->next = NULL;
	*m->last = l;
	m->last = &l->next;
}

struct rama_emu_letter *rama_emu_mail_pick(struct rama_emu_mail *m, struct rama_emu_letter **at)
{
	struct rama_emu_letter *l = *at;

	*at = l->next;
	if (l->next == NULL)
		m->last = at;
	return l;
}

struct rama_emu_letter *rama_emu_mail_take(struct rama_emu_mail *m)
{
	return m->first != NULL ? rama_emu_mail_pick(m, &m->first) : NULL;
}

void rama_emu_mail_fini(struct rama_emu_mail *m)
{
	struct rama_emu_letter *l;

	while ((l = rama_emu_mail_take(m)) != NULL)
		free(l);
}

struct rama_emu_letter *rama_emu_letter_new(const struct rama_emu_frame *f, const void *bytes)
{
	struct rama_emu_letter *l = malloc(sizeof(*l) + f->n + 1);

	if (l == NULL)
		return NULL;
	l->frame = *f;
	l->frame.magic = RAMA_EMU_FRAME_MAGIC;
	if (bytes != NULL && f->n > 0)
		memcpy(l->bytes, bytes, f->n);
	l->bytes[f->n] = '\0';
	return l;
}

/* ---- one socket ----------------------------------------------------------------------------- */

void rama_emu_wire_init(struct rama_emu_wire *w, int fd)
{
	*w = (struct rama_emu_wire){ .fd = fd };
	rama_emu_mail_init(&w->out);
}

void rama_emu_wire_fini(struct rama_emu_wire *w)
{
	if (w->fd >= 0)
		close(w->fd);
	free(w->coming);
	rama_emu_mail_fini(&w->out);
	rama_emu_wire_init(w, -1);
}

/* bytes that came; 0: none are there; negative: the other side has gone */
static ssize_t take(struct rama_emu_wire *w, void *to, size_t n)
{
	ssize_t got;

	do
		got = recv(w->fd, to, n, MSG_DONTWAIT);
	while (got < 0 && errno == EINTR);
	if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
		return 0;
	return got == 0 ? -1 : got;
}

static int begin(struct rama_emu_wire *w)
{
	ssize_t got = take(w, (char *)&w->head + w->head_got, sizeof(w->head) - w->head_got);

	if (got <= 0)
		return (int)got;
	w->head_got += (size_t)got;
	if (w->head_got < sizeof(w->head))
		return 0;
	if (w->head.magic != RAMA_EMU_FRAME_MAGIC || w->head.n > RAMA_EMU_FRAME_MOST)
		return -1;
	w->coming = rama_emu_letter_new(&w->head, NULL);
	w->got = 0;
	return w->coming != NULL ? 1 : -1;
}

int rama_emu_wire_read(struct rama_emu_wire *w, struct rama_emu_letter **l)
{
	int rc;

	if (w->coming == NULL) {
		rc = begin(w);
		if (rc <= 0)
			return rc;
	}
	while (w->got < w->head.n) {
		ssize_t got = take(w, w->coming->bytes + w->got, w->head.n - w->got);

		if (got <= 0)
			return (int)got;
		w->got += (size_t)got;
	}
	*l = w->coming;
	w->coming = NULL;
	w->head_got = 0;
	return 1;
}

int rama_emu_wire_write(struct rama_emu_wire *w)
{
	while (w->out.first != NULL) {
		struct rama_emu_letter *l = w->out.first;
		size_t head = sizeof(l->frame), all = head + l->frame.n;

		while (w->out_done < all) {
			bool in_head = w->out_done < head;
			const char *from = in_head ? (char *)&l->frame + w->out_done
						   : l->bytes + (w->out_done - head);
			ssize_t n = send(w->fd, from, (in_head ? head : all) - w->out_done,
					 MSG_DONTWAIT | MSG_NOSIGNAL |
						 (in_head && l->frame.n > 0 ? MSG_MORE : 0));

			if (n < 0 && errno == EINTR)
				continue;
			if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
				return 0;
			if (n < 0)
				return -1;
			w->out_done += (size_t)n;
		}
		free(rama_emu_mail_take(&w->out));
		w->out_done = 0;
	}
	return 1;
}
