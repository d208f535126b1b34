/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/foreign/gluster.h"

#include <string.h>

#define PAGE 4096
#define DEPTH 64 /* frames above each other; no real stack of translators has half as many */

static const struct rama_core_gluster_layout layouts[] = {
#define POINTER RAMA_CORE_GLUSTER_POINTER
#define TEXT RAMA_CORE_GLUSTER_TEXT
#define GLUSTER_LAYOUT(...) { __VA_ARGS__ },
#include "table/hooks.def"
};

static const uint8_t op_at[] = {
#define GLUSTER_OP(symbol, name, kind, op, at, ...) at,
#include "table/hooks.def"
};

size_t rama_core_gluster_at(unsigned op)
{
	return op_at[op];
}

const struct rama_core_gluster_layout *rama_core_gluster_layout_of(
	const char *path, char version[RAMA_CORE_GLUSTER_VERSION])
{
	const char *x = strstr(path, "/xlator/"), *v = x;
	unsigned major = 0;
	size_t n;

	version[0] = '\0';
	if (x == NULL)
		return NULL;
	while (v > path && v[-1] != '/')
		v--;
	n = (size_t)(x - v) < RAMA_CORE_GLUSTER_VERSION - 1 ? (size_t)(x - v)
							    : RAMA_CORE_GLUSTER_VERSION - 1;
	memcpy(version, v, n);
	version[n] = '\0';
	for (; *v >= '0' && *v <= '9' && major < 1000; v++)
		major = 10 * major + (unsigned)(*v - '0');
	for (unsigned i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
		if (major >= layouts[i].from && major <= layouts[i].to && *v == '.')
			return &layouts[i];
	return NULL;
}

static bool read_word(rama_core_gluster_read *read, uintptr_t at, unsigned off, uintptr_t *to)
{
	return at <= UINTPTR_MAX - off && read(to, at + off, sizeof(*to));
}

/* ---- tables ---------------------------------------------------------------------------------- */

uintptr_t rama_core_gluster_table(const struct rama_core_gluster_layout *is,
				  rama_core_gluster_read *read, uintptr_t api,
				  const struct rama_core_gluster_object *o,
				  const uintptr_t own[RAMA_CORE_GLUSTER_OPS])
{
	uintptr_t table, f;

	if (!read_word(read, api, is->table, &table) || table % sizeof(table) != 0)
		return 0;
	for (unsigned i = 0; i < RAMA_CORE_GLUSTER_OPS; i++) {
		if (table > UINTPTR_MAX - op_at[i] - sizeof(f) || table + op_at[i] < o->data ||
		    table + op_at[i] + sizeof(f) > o->data_to ||
		    !read_word(read, table, op_at[i], &f))
			return 0;
		if (f != own[i] && (f < o->text || f >= o->text_to))
			return 0;
	}
	return table;
}

/* ---- frames ---------------------------------------------------------------------------------- */

static bool is_named(rama_core_gluster_read *read, uintptr_t self)
{
	char text[RAMA_CORE_GLUSTER_IDENTITY];
	uintptr_t name;

	return read_word(read, self, RAMA_CORE_GLUSTER_NAME, &name) &&
	       rama_core_gluster_text_at(read, name, text) > 0;
}

bool rama_core_gluster_frame(const struct rama_core_gluster_layout *is,
			     rama_core_gluster_read *read, uintptr_t frame, uintptr_t self)
{
	unsigned char all[RAMA_CORE_GLUSTER_STACK_END];
	uintptr_t stack, parent, is_self, of, ret, cookie;

	if (!read_word(read, frame, is->self, &is_self) || is_self != self ||
	    !read_word(read, frame, is->ret, &ret) || ret == 0 ||
	    !read_word(read, frame, is->cookie, &cookie) ||
	    !read_word(read, frame, RAMA_CORE_GLUSTER_FRAME_STACK, &stack) || stack == 0 ||
	    !read(all, stack, sizeof(all)) ||
	    !read_word(read, frame, RAMA_CORE_GLUSTER_FRAME_PARENT, &parent) || parent == 0)
		return false;
	for (unsigned n = 0; parent != 0; n++)
		if (n == DEPTH || parent == frame ||
		    !read_word(read, parent, RAMA_CORE_GLUSTER_FRAME_STACK, &of) || of != stack ||
		    !read_word(read, parent, is->ret, &ret) ||
		    !read_word(read, parent, is->cookie, &cookie) ||
		    !read_word(read, parent, RAMA_CORE_GLUSTER_FRAME_PARENT, &parent))
			return false;
	return is_named(read, self);
}

/* ---- texts ----------------------------------------------------------------------------------- */

size_t rama_core_gluster_text(const char *s, size_t most)
{
	size_t n = 0;

	if (s == NULL)
		return 0;
	while (n < most && s[n] > ' ' && s[n] < 127)
		n++;
	return n < most && s[n] == '\0' ? n : 0;
}

size_t rama_core_gluster_text_at(rama_core_gluster_read *read, uintptr_t at,
				 char to[RAMA_CORE_GLUSTER_IDENTITY])
{
	/* up to the end of its page, if there is no more */
	size_t n = RAMA_CORE_GLUSTER_IDENTITY, rest = PAGE - (at & (PAGE - 1));

	if (at == 0)
		return 0;
	if (!read(to, at, n)) {
		n = rest;
		if (n >= RAMA_CORE_GLUSTER_IDENTITY || !read(to, at, n))
			return 0;
	}
	return rama_core_gluster_text(to, n);
}

bool rama_core_gluster_is_id(const unsigned char id[16])
{
	static const unsigned char root[16] = { [15] = 1 };

	return memcmp(id, root, sizeof(root)) == 0 || (id[6] >> 4 == 4 && id[8] >> 6 == 2);
}

/* the value that stands behind `key` in a client's identity, up to the next of its words */
static size_t part(const char *id, const char *key, const char *end, const char **at)
{
	const char *s = strstr(id, key), *e = s != NULL ? strstr(s + strlen(key), end) : NULL;

	*at = s != NULL ? s + strlen(key) : "";
	return e != NULL ? (size_t)(e - *at) : 0;
}

static bool put(char *to, size_t room, size_t *n, const char *s, size_t len)
{
	if (len >= room - *n)
		return false;
	memcpy(to + *n, s, len);
	*n += len;
	to[*n] = '\0';
	return true;
}

size_t rama_core_gluster_identity(char *to, size_t room, const char *id)
{
	const char *host, *pid, *name;
	size_t n_host, n_pid, n_name, n = 0;

	if (room == 0 || strncmp(id, "CTX_ID:", 7) != 0)
		return 0;
	to[0] = '\0';
	n_host = part(id, "-HOST:", "-PC_NAME:", &host);
	n_pid = part(id, "-PID:", "-HOST:", &pid);
	n_name = part(id, "-PC_NAME:", "-RECON_NO:", &name);
	if (n_host == 0 || n_pid == 0 || n_name == 0)
		return put(to, room, &n, id, strlen(id)) ? n : 0;
	return put(to, room, &n, host, n_host) && put(to, room, &n, ":", 1) &&
			       put(to, room, &n, pid, n_pid) && put(to, room, &n, ":", 1) &&
			       put(to, room, &n, name, n_name)
		       ? n
		       : 0;
}
