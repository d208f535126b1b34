/* SPDX-License-Identifier: BSD-3-Clause */
/* python.c: which line of Python a thread is at. The interpreter is not asked: the thread may have
 * given up its lock for the call that is being recorded. But nobody else changes the frames of a
 * thread that is inside a call, and each of them holds its code: they are read as they lie in
 * memory (table/python_layouts.def). Only two functions are called, which read and nothing more:
 * the state of this very thread, and the line of a place in code. */
#include "capture/sites.h"

#if defined(__x86_64__) && !defined(RAMA_STATIC_WRAP)
#include <string.h>

#include "base/code/site.h"

enum {
	HASHED = 16, /* frames that tell one place from another */
	FRAMES_MOST = 64,
	TEXT_MOST = 400, /* bytes of a name of a file or function */
	UNITS_MOST = 1 << 24,
	FILES_MET = 256
};

enum at { BYTES, UNITS, PLACE };

struct layout {
	uint8_t minor, at_is;
	int16_t frame, hop, back, code, at, text, chars, wide, file, name, first;
};

static const struct layout layouts[] = {
#define PYTHON(minor, frame, hop, back, code, at, AT, text, chars, wide, file, name, first) \
	{ minor, AT, frame, hop, back, code, at, text, chars, wide, file, name, first },
#include "table/python_layouts.def"
#undef PYTHON
};

static struct {
	const struct layout *is; /* NULL: there is no Python, or none that is known */
	void *(*state)(void);
	int (*line)(void *code, int at);
	uint64_t code_type, text_type;
	uint64_t turn;		   /* when the interpreter was seen last */
	bool sure;		   /* a frame was seen that is as the row says */
	uint64_t users[FILES_MET]; /* marks of names of files that are the user's */
} python;

static bool get(uint64_t at, void *to, size_t n)
{
	return rama_cap_module_read(NULL, at, to, n);
}

static uint64_t word(uint64_t at)
{
	uint64_t v;

	return at != 0 && get(at, &v, sizeof(v)) ? v : 0;
}

/* ---- the interpreter ------------------------------------------------------------------------- */

/* 3.11 and later say it; before, the name of the file does: python3.9, libpython3.10.so.1.0 */
static unsigned minor_of(const struct rama_cap_module *m)
{
	uint64_t at = rama_cap_module_symbol(m, "Py_Version");
	const char *p = strrchr(m->path, '/');
	uint32_t version = 0;
	unsigned minor = 0;

	if (at != 0 && get(at, &version, sizeof(version)))
		return version >> 24 == 3 ? version >> 16 & 255 : 0;
	p = strstr(p ? p : m->path, "python3.");
	for (p = p ? p + 8 : ""; *p >= '0' && *p <= '9' && minor < 100; p++)
		minor = 10 * minor + (unsigned)(*p - '0');
	return minor;
}

void rama_cap_python_forget(void)
{
	python.is = NULL;
}

bool rama_cap_python_met(const struct rama_cap_module *m)
{
	uint64_t state = rama_cap_module_symbol(m, "PyGILState_GetThisThreadState");
	uint64_t line = rama_cap_module_symbol(m, "PyCode_Addr2Line");
	unsigned minor = state != 0 && line != 0 ? minor_of(m) : 0;

	if (state == 0 || line == 0)
		return false;
	python.is = NULL;
	python.sure = false;
	python.turn = rama_cap_run.site_turn;
	python.code_type = rama_cap_module_symbol(m, "PyCode_Type");
	python.text_type = rama_cap_module_symbol(m, "PyUnicode_Type");
	memcpy(&python.state, &state, sizeof(state));
	memcpy(&python.line, &line, sizeof(line));
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
		if (layouts[i].minor == minor && python.code_type != 0 && python.text_type != 0)
			python.is = &layouts[i];
	return true;
}

/* A library has gone since: it may have been this one. */
static bool is_there(void)
{
	const struct rama_cap_module *m;

	if (python.turn == rama_cap_run.site_turn)
		return true;
	m = rama_cap_module_of((uintptr_t)python.state);
	if (!m || !m->python) {
		python.is = NULL;
		return false;
	}
	python.turn = rama_cap_run.site_turn;
	return true;
}

static uint64_t state_now(void)
{
	return python.is && is_there() ? (uintptr_t)python.state() : 0;
}

/* ---- whose turn it is ------------------------------------------------------------------------ */

/* frames and code that have been seen to be as the row says: loads, as it is done for each call */
static uint64_t load(uint64_t at)
{
	return at > RAMA_SEG_PAGE && at % sizeof(uint64_t) == 0 ? *(const uint64_t *)(uintptr_t)at
								: 0;
}

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15ull;
	return h ^ h >> 29;
}

/* What tells one name of a file from another: its length and its end; what lies before the text is
 * the object's, too. Where it lies is not enough: it can go, and another one come to lie there. */
static uint64_t mark_of(const struct layout *l, uint64_t text)
{
	uint64_t n = load(text + 16), bits = load(text + 32), end, h, v;

	if (load(text + 8) != python.text_type || !(bits & 1u << 5) || n == 0 || n > TEXT_MOST)
		return 0;
	end = text + (uint64_t)l->chars + (bits & 1u << 6 ? 0 : (uint64_t)l->wide) +
	      n * (bits >> 2 & 7);
	h = mix(text, n);
	for (unsigned i = 1; i <= 3; i++) {
		memcpy(&v, (const void *)(uintptr_t)(end - i * sizeof(v)), sizeof(v));
		h = mix(h, v);
	}
	return h;
}

static uint64_t *user_place(uint64_t mark)
{
	return &python.users[mark >> 56];
}

/* The same holds for code. Who called a place does not matter: the first frame that is the user's
 * is the last one. */
static uint64_t mix_frame(uint64_t h, const struct layout *l, uint64_t f, bool *users)
{
	uint64_t code = load(f + (uint64_t)l->code) & ~7ull, mark;

	h = mix(h, l->at_is == PLACE ? load(f + (uint64_t)l->at)
				     : load((f + (uint64_t)l->at) & ~7ull));
	if (load(code + 8) != python.code_type)
		return h;
	mark = mark_of(l, load(code + (uint64_t)l->file));
	*users = mark != 0 && *user_place(mark) == mark;
	return mix(h, mark ^ load(code + (uint64_t)l->name) << 7 ^
			      load((code + (uint64_t)l->first) & ~7ull) << 17);
}

uint64_t rama_cap_python_key(void)
{
	const struct layout *l = python.is;
	uint64_t h = 1, f;
	bool users = false;

	if (!l)
		return 0;
	f = python.sure ? load(state_now() + (uint64_t)l->frame) : 0;
	if (l->hop >= 0 && f != 0)
		f = load(f + (uint64_t)l->hop);
	for (unsigned i = 0; i < HASHED && f != 0 && !users; i++) {
		h = mix_frame(h, l, f, &users);
		f = load(f + (uint64_t)l->back);
	}
	return h | 1;
}

/* ---- their names ----------------------------------------------------------------------------- */

static size_t put_letter(char *to, uint32_t c)
{
	if (c < 0x80) {
		to[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		to[0] = (char)(0xc0 | c >> 6);
		to[1] = (char)(0x80 | (c & 63));
		return 2;
	}
	if (c < 0x10000) {
		to[0] = (char)(0xe0 | c >> 12);
		to[1] = (char)(0x80 | (c >> 6 & 63));
		to[2] = (char)(0x80 | (c & 63));
		return 3;
	}
	to[0] = (char)(0xf0 | (c >> 18 & 7));
	to[1] = (char)(0x80 | (c >> 12 & 63));
	to[2] = (char)(0x80 | (c >> 6 & 63));
	to[3] = (char)(0x80 | (c & 63));
	return 4;
}

/* an object of the type str as UTF-8; false: it is none, or too long */
static bool get_text(uint64_t at, char *to)
{
	unsigned char bytes[4 * TEXT_MOST];
	uint64_t n = word(at + 16), from;
	uint32_t bits = 0, c;
	unsigned size;
	size_t have = 0;

	if (word(at + 8) != python.text_type || n == 0 || n >= TEXT_MOST ||
	    !get(at + 32, &bits, sizeof(bits)) || !(bits & 1u << 5)) /* compact */
		return false;
	size = bits >> 2 & 7;
	if (size != 1 && size != 2 && size != 4)
		return false;
	from = at + (uint64_t)python.is->chars + (bits & 1u << 6 ? 0 : (uint64_t)python.is->wide);
	if (!get(from, bytes, n * size))
		return false;
	for (uint64_t i = 0; i < n && have + 4 < TEXT_MOST; i++) {
		c = 0;
		memcpy(&c, bytes + i * size,
		       size); /* of these processors the low end comes first */
		if (c < ' ')
			return false;
		have += put_letter(to + have, c);
	}
	to[have] = '\0';
	return have + 4 < TEXT_MOST;
}

/* What comes with Python, and what was installed, is not the user's. */
static bool is_library(const char *file)
{
	return strstr(file, "/lib/python3") || strstr(file, "/lib64/python3") ||
	       strstr(file, "/site-packages/") || strstr(file, "/dist-packages/");
}

struct frame {
	char file[TEXT_MOST], name[TEXT_MOST];
	uint64_t text; /* the object that is the name of the file */
	int line;
};

/* where in its code, in bytes; -1: nowhere that makes sense */
static int place_in(const struct layout *l, uint64_t f, uint64_t code)
{
	uint64_t at = word(f + (uint64_t)l->at), begin = code + (uint64_t)l->text;
	int32_t n = 0;

	if (l->at_is == PLACE)
		return at >= begin && at - begin < 2 * word(code + 16) ? (int)(at - begin) : -1;
	if (!get(f + (uint64_t)l->at, &n, sizeof(n)) || n < 0 || n > UNITS_MOST)
		return -1;
	return l->at_is == UNITS ? 2 * n : n;
}

/* false: it is none of Python, or one of the interpreter's own */
static bool see_frame(const struct layout *l, uint64_t f, struct frame *to)
{
	uint64_t code = word(f + (uint64_t)l->code) & ~7ull;
	int at;

	to->text = code != 0 ? word(code + (uint64_t)l->file) : 0;
	if (to->text == 0 || word(code + 8) != python.code_type || !get_text(to->text, to->file) ||
	    !get_text(word(code + (uint64_t)l->name), to->name))
		return false;
	python.sure = true;
	at = place_in(l, f, code);
	if (at < 0 || strncmp(to->file, "<frozen", 7) == 0)
		return false;
	to->line = python.line((void *)(uintptr_t)code, at);
	return to->line > 0;
}

/* frames that are the user's, or, if `any`, all; how many were put */
static unsigned put_frames(struct rama_site_pen *p, unsigned most, bool any)
{
	const struct layout *l = python.is;
	uint64_t f = l ? word(state_now() + (uint64_t)l->frame) : 0;
	unsigned n = 0;
	static struct frame is; /* under the lock of places: it is large */

	if (f != 0 && l->hop >= 0)
		f = word(f + (uint64_t)l->hop);
	for (unsigned i = 0; i < FRAMES_MOST && f != 0 && n < most; i++) {
		bool seen = see_frame(l, f, &is), users = seen && !is_library(is.file);

		uint64_t mark = users ? mark_of(l, is.text) : 0;

		if (mark != 0)
			*user_place(mark) = mark;
		if (users || (seen && any))
			n += rama_site_add_line(p, is.file, is.name, (unsigned)is.line);
		f = word(f + (uint64_t)l->back);
	}
	return n;
}

unsigned rama_cap_python_put(struct rama_site_pen *p, unsigned most)
{
	unsigned n = put_frames(p, most, false);

	return n > 0 || p->len > 0 ? n : put_frames(p, 1, true);
}
#endif
