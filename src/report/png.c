/* SPDX-License-Identifier: BSD-3-Clause */
/* png.c: a picture of ours as PNG. Letters are the system's: cairo draws them, a library that is
 * loaded when somebody asks for such a file and is needed for nothing else, so that it belongs to
 * no build. Two dots are a pixel of the picture. */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/svg.h"

#define DOTS 2
#define LIBRARY "libcairo.so.2"

/* as its header has them; they are the same in every version since 1.0 */
struct surface;
struct context;
struct extents {
	double x_bearing, y_bearing, width, height, x_advance, y_advance;
};
enum { FORMAT_RGB24 = 1, ANTIALIAS_DEFAULT = 0, ANTIALIAS_NONE = 1, WRITE_ERROR = 11 };

#define FUNCTIONS(F)                                                                               \
	F(struct surface *, image_surface_create, (int format, int width, int height))             \
	F(int, surface_write_to_png_stream,                                                        \
	  (struct surface * s, int (*write)(void *, const unsigned char *, unsigned), void *to))   \
	F(void, surface_destroy, (struct surface * s))                                             \
	F(struct context *, create, (struct surface * s))                                          \
	F(void, destroy, (struct context * c))                                                     \
	F(void, scale, (struct context * c, double x, double y))                                   \
	F(void, paint, (struct context * c))                                                       \
	F(void, set_antialias, (struct context * c, int how))                                      \
	F(void, set_source_rgba, (struct context * c, double r, double g, double b, double a))     \
	F(void, set_line_width, (struct context * c, double width))                                \
	F(void, rectangle, (struct context * c, double x, double y, double w, double h))           \
	F(void, move_to, (struct context * c, double x, double y))                                 \
	F(void, line_to, (struct context * c, double x, double y))                                 \
	F(void, fill, (struct context * c))                                                        \
	F(void, stroke, (struct context * c))                                                      \
	F(void, select_font_face, (struct context * c, const char *family, int slant, int weight)) \
	F(void, set_font_size, (struct context * c, double size))                                  \
	F(void, show_text, (struct context * c, const char *text))                                 \
	F(void, text_extents, (struct context * c, const char *text, struct extents *to))

struct cairo {
	void *library;
#define F(type, name, args) type(*name) args;
	FUNCTIONS(F)
#undef F
};

/* false: it is not there, or lacks something. It stays until the program ends: what it has taken
 * along (fonts) does not expect to go. */
static bool load(struct cairo *k)
{
	bool all = true;

	*k = (struct cairo){ .library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL) };
	if (k->library == NULL)
		return false;
		/* dlsym gives a pointer to data; functions go through memory */
#define F(type, name, args)                                      \
	{                                                        \
		void *found = dlsym(k->library, "cairo_" #name); \
                                                                 \
		all = all && found != NULL;                      \
		memcpy(&k->name, &found, sizeof(found));         \
	}
	FUNCTIONS(F)
#undef F
	return all;
}

int rama_report_png_possible(struct rama_err *e)
{
	struct cairo k;

	if (!load(&k))
		return rama_err_set(e, RAMA_EIO,
				    "PNG needs " LIBRARY " (Debian: libcairo2), which is not here; "
				    ".svg and .pdf need nothing");
	return 0;
}

struct drawing {
	struct cairo k;
	struct context *c;
};

static void use_colour(struct drawing *d, const struct rama_report_svg_look *l)
{
	d->k.set_source_rgba(d->c, (l->colour >> 16 & 255) / 255.0, (l->colour >> 8 & 255) / 255.0,
			     (l->colour & 255) / 255.0, l->faint ? 0.12 : 1);
}

/* edges on dots: neighbours in a heat map have no seam */
static void put_rect(void *to, const struct rama_report_svg_look *l, double x, double y, double w,
		     double h)
{
	struct drawing *d = to;

	use_colour(d, l);
	d->k.set_antialias(d->c, ANTIALIAS_NONE);
	d->k.rectangle(d->c, x, y, w, fmax(h, 1.0 / DOTS));
	d->k.fill(d->c);
	d->k.set_antialias(d->c, ANTIALIAS_DEFAULT);
}

static void begin_path(void *to, const struct rama_report_svg_look *l)
{
	use_colour(to, l);
}

static void put_point(void *to, double x, double y, bool first)
{
	struct drawing *d = to;

	if (first)
		d->k.move_to(d->c, x, y);
	else
		d->k.line_to(d->c, x, y);
}

static void end_path(void *to, const struct rama_report_svg_look *l)
{
	struct drawing *d = to;

	if (l->stroke)
		d->k.stroke(d->c);
	else
		d->k.fill(d->c);
}

/* what XML has other words for */
static void plain_text(char *to, size_t room, const char *at, const char *end)
{
	static const struct {
		const char *text;
		char is;
	} known[] = { { "&amp;", '&' },
		      { "&lt;", '<' },
		      { "&gt;", '>' },
		      { "&quot;", '"' },
		      { "&#39;", '\'' } };
	size_t n = 0;

	while (at < end && n + 1 < room) {
		size_t step = 1;

		to[n] = *at;
		for (unsigned i = 0; i < sizeof(known) / sizeof(*known); i++) {
			size_t len = strlen(known[i].text);

			if ((size_t)(end - at) >= len && memcmp(at, known[i].text, len) == 0) {
				to[n] = known[i].is;
				step = len;
			}
		}
		at += step;
		n++;
	}
	to[n] = '\0';
}

static void put_text(void *to, const struct rama_report_svg_look *l, double x, double y,
		     double before, const char *at, const char *end)
{
	struct drawing *d = to;
	struct extents size;
	char text[1000];

	plain_text(text, sizeof(text), at, end);
	use_colour(d, l);
	d->k.select_font_face(d->c, "sans-serif", 0, l->bold);
	d->k.set_font_size(d->c, l->size);
	d->k.text_extents(d->c, text, &size);
	d->k.move_to(d->c, x - before * size.x_advance, y);
	d->k.show_text(d->c, text);
}

static int write_some(void *to, const unsigned char *bytes, unsigned n)
{
	struct rama_out *o = to;

	rama_out_bytes(o, (const char *)bytes, n);
	return o->error != 0 ? WRITE_ERROR : 0;
}

void rama_report_png(struct rama_out *o, const char *body, size_t n, double width, double height)
{
	struct drawing d;
	const struct rama_report_canvas c = { put_rect, begin_path, put_point,
					      end_path, put_text,   &d };
	struct surface *s;

	if (!load(&d.k)) {
		o->error = RAMA_EIO;
		return;
	}
	s = d.k.image_surface_create(FORMAT_RGB24, (int)(DOTS * width), (int)(DOTS * ceil(height)));
	d.c = d.k.create(s);
	d.k.scale(d.c, DOTS, DOTS);
	d.k.set_source_rgba(d.c, 1, 1, 1, 1);
	d.k.paint(d.c);
	d.k.set_line_width(d.c, 1);
	rama_report_drawn(&c, body, n);
	if (d.k.surface_write_to_png_stream(s, write_some, o) != 0 && o->error == 0)
		o->error = RAMA_EMEMORY;
	d.k.destroy(d.c);
	d.k.surface_destroy(s);
}
