/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/mounts.h"

#include <string.h>

#include "config/text.h"

#define LINE_MOST 256 /* bytes of a mount's line in the log, with its newline */

static bool never_named(struct rama_config_piece type)
{
	static const char *const types[] = {
#define T(type) type,
#include "table/fstypes.def"
#undef T
	};

	for (unsigned i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (rama_config_piece_is(type, types[i]))
			return true;
	return false;
}

static struct rama_config_piece field(struct rama_config_piece *line)
{
	struct rama_config_piece w;

	while (line->n > 0 && (*line->p == ' ' || *line->p == '\t'))
		line->p++, line->n--;
	w = (struct rama_config_piece){ line->p, 0 };
	while (w.n < line->n && line->p[w.n] != ' ' && line->p[w.n] != '\t')
		w.n++;
	line->p += w.n;
	line->n -= w.n;
	return w;
}

static bool octal(const char *p)
{
	return p[0] >= '0' && p[0] <= '3' && p[1] >= '0' && p[1] <= '7' && p[2] >= '0' &&
	       p[2] <= '7';
}

/* a path in which \040 and its like stand for the bytes that would end the field; false: no room */
static bool unescape(struct rama_config_mounts *m, struct rama_config_piece w)
{
	for (size_t i = 0; i < w.n && m->used < RAMA_CONFIG_MOUNTS_TEXT; i++) {
		char c = w.p[i];

		if (c == '\\' && i + 3 < w.n && octal(w.p + i + 1)) {
			c = (char)((w.p[i + 1] - '0') << 6 | (w.p[i + 2] - '0') << 3 |
				   (w.p[i + 3] - '0'));
			i += 3;
		}
		m->text[m->used++] = c;
	}
	if (m->used == RAMA_CONFIG_MOUNTS_TEXT)
		return false;
	m->text[m->used++] = '\0';
	return true;
}

static bool known(const struct rama_config_mounts *m, const struct rama_config_mount_point *new)
{
	for (unsigned i = 0; i < m->n; i++)
		if (strcmp(rama_config_mount_path(m, i), m->text + new->path) == 0 &&
		    strcmp(rama_config_mount_type(m, i), m->text + new->type) == 0)
			return true;
	return false;
}

static void add(struct rama_config_mounts *m, struct rama_config_piece path,
		struct rama_config_piece type)
{
	unsigned used = m->used;
	struct rama_config_mount_point new = { .path = (uint16_t)used };

	if (m->n == RAMA_CONFIG_MOUNTS)
		return;
	if (unescape(m, path)) {
		new.path_len = (uint16_t)(m->used - used - 1);
		new.type = (uint16_t)m->used;
		if (unescape(m, type) && !known(m, &new)) {
			m->mount[m->n++] = new;
			return;
		}
	}
	m->used = used;
}

void rama_config_mounts_parse(struct rama_config_mounts *m, const char *text, size_t len)
{
	m->n = m->used = 0;
	/* nfs comes last, so that it is what falls off a full table */
	for (int nfs = 0; nfs < 2; nfs++) {
		struct rama_config_piece rest = { text, len }, line;

		while (rama_config_piece_next(&rest, '\n', &line)) {
			struct rama_config_piece path, type;

			field(&line); /* the device */
			path = field(&line);
			type = field(&line);
			if (type.n > 0 && rama_config_piece_is(type, "nfs") == (nfs == 1) &&
			    !never_named(type))
				add(m, path, type);
		}
	}
}

/* does the path lie in it? /home holds /home/a but not /homework */
static bool holds(const char *mount, size_t n, const char *path, size_t len)
{
	if (n > len || memcmp(mount, path, n) != 0)
		return false;
	return n == len || path[n] == '/' || (n > 0 && mount[n - 1] == '/');
}

int rama_config_mounts_find(const struct rama_config_mounts *m, const char *path, size_t len)
{
	int best = -1;

	for (unsigned i = 0; i < m->n; i++)
		if (holds(rama_config_mount_path(m, i), m->mount[i].path_len, path, len) &&
		    (best < 0 || m->mount[i].path_len > m->mount[best].path_len))
			best = (int)i;
	return best;
}

bool rama_config_mounts_is_on(const struct rama_config_mounts *m, const char *path, size_t len,
			      const char *type)
{
	if (path) {
		int i = rama_config_mounts_find(m, path, len);

		return i >= 0 && strcmp(rama_config_mount_type(m, (unsigned)i), type) == 0;
	}
	for (unsigned i = 0; i < m->n; i++)
		if (strcmp(rama_config_mount_type(m, i), type) == 0)
			return true;
	return false;
}

size_t rama_config_mounts_encode(const struct rama_config_mounts *m, char *to, size_t room)
{
	struct rama_config_text t;

	if (room == 0)
		return 0;
	rama_config_text_init(&t, to, room);
	for (unsigned i = 0; i < m->n; i++) {
		const char *path = rama_config_mount_path(m, i),
			   *type = rama_config_mount_type(m, i);
		size_t type_len = strlen(type), len = m->mount[i].path_len + type_len + 2;

		if (len >= LINE_MOST || len >= t.room - t.len || strpbrk(path, "\t\n") != NULL)
			continue;
		rama_config_text_put(&t, path, m->mount[i].path_len);
		rama_config_text_put(&t, "\t", 1);
		rama_config_text_put(&t, type, type_len);
		rama_config_text_put(&t, "\n", 1);
	}
	return t.len;
}
