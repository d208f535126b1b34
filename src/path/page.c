/* SPDX-License-Identifier: BSD-3-Clause */
/* page.c: all that is known of calls as one page that needs nothing else: pictures, what was waited
 * for, servers, the slowest calls. */
#include <stdlib.h>
#include <string.h>

#include "base/form/grid.h"
#include "base/form/xml.h"
#include "base/human.h"
#include "path/join.h"
#include "path/picture.h"
#include "path/server.h"

static const char style[] =
	"body{font:15px/1.45 system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif;"
	"max-width:1040px;margin:0 auto;padding:16px;background:#fff;color:#1a202c}\n"
	"h1{font-size:22px;margin:.2em 0}h2{font-size:17px;margin:1.6em 0 .2em}"
	"p{margin:.3em 0;color:#5a6473}.wide{overflow-x:auto}"
	".wide svg{min-width:760px;width:100%;height:auto;display:block}\n"
	"table{border-collapse:collapse;font-size:13px;font-variant-numeric:tabular-nums}"
	"th,td{padding:3px 10px 3px 0;text-align:left;border-bottom:1px solid #dfe4ea;"
	"white-space:nowrap}th{color:#5a6473;font-weight:600}.n{text-align:right}\n"
	"pre{font:12.5px/1.5 ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;"
	"background:#f6f8fa;padding:12px;border-radius:8px;overflow-x:auto}\n";
static const char dark[] = "body{background:#12161d;color:#e4e8ee}p,th{color:#9aa5b4}"
			   "th,td{border-color:#2d3642}pre{background:#1a2029}\n";

static const char *seconds(char to[RAMA_HUMAN], double ns)
{
	return rama_human_seconds(to, ns * 1e-9);
}

/* ---- tables --------------------------------------------------------------------------------- */

/* a number for people and for scripts; the text lives in the arena */
static struct rama_grid_cell number(struct rama_arena *a, const char *unit, double v)
{
	char text[RAMA_HUMAN];

	rama_human_value(text, unit, v);
	return (struct rama_grid_cell){ .text = rama_arena_text(a, text, strlen(text)),
					.value = v };
}

static int servers_table(const struct rama_path *p, struct rama_arena *a, struct rama_out *o)
{
	static const struct rama_grid_column columns[] = {
		{ .key = "server", .header = "server" },
		{ .key = "requests", .header = "requests", .unit = "count" },
		{ .key = "bytes", .header = "bytes", .unit = "bytes" },
		{ .key = "busy", .header = "busy", .unit = "s" },
		{ .key = "mean", .header = "answer, mean", .unit = "s" },
		{ .key = "last", .header = "last", .unit = "count" },
		{ .key = "of", .header = "of", .unit = "count" },
		{ .key = "behind", .header = "behind", .unit = "s" },
		{ .key = "way", .header = "way", .unit = "s" },
		{ .key = "queue", .header = "queue", .unit = "s" },
		{ .key = "disk", .header = "disk", .unit = "s" },
		{ .key = "disk_accesses", .header = "disk accesses", .unit = "count" },
		{ .key = "others", .header = "requests of others", .unit = "count" },
	};
	struct rama_grid g = { .columns = columns,
			       .n_columns = sizeof(columns) / sizeof(*columns) };
	struct rama_path_servers s;
	int rc = rama_path_servers(p, RAMA_PATH_NONE, &s);

	for (size_t i = 0; i < s.n && rc == 0; i++) {
		const struct rama_path_server *v = &s.server[i];
		struct rama_grid_cell *c = rama_grid_row(&g);

		if (c == NULL) {
			rc = RAMA_EMEMORY;
			break;
		}
		*c++ = rama_grid_text_cell(v->name);
		*c++ = number(a, "count", (double)v->requests);
		*c++ = number(a, "bytes", (double)v->bytes);
		*c++ = number(a, "s", (double)v->busy * 1e-9);
		*c++ = number(a, "s",
			      v->requests > 0 ? (double)v->time * 1e-9 / (double)v->requests : 0);
		*c++ = number(a, "count", (double)v->last);
		*c++ = number(a, "count", (double)v->shared);
		*c++ = number(a, "s", (double)v->behind * 1e-9);
		*c++ = number(a, "s", (double)(v->known - v->inside) * 1e-9);
		*c++ = number(a, "s", (double)(v->inside - v->disk) * 1e-9);
		*c++ = number(a, "s", (double)v->disk * 1e-9);
		*c++ = number(a, "count", (double)v->disks);
		*c++ = number(a, "count", (double)v->load);
	}
	if (rc == 0 && g.n_rows > 0) {
		rama_out_text(o,
			      "<h2>Servers</h2>\n<p>behind: what was waited for the server after "
			      "all others had answered; way, queue and disk are parts of its "
			      "answers</p>\n<div class=\"wide\">");
		rama_grid_html(o, &g);
		rama_out_text(o, "</div>\n");
	}
	rama_grid_fini(&g);
	rama_path_servers_fini(&s);
	return rc;
}

/* pieces of the critical path, added up for each layer and server */
struct waited {
	uint8_t layer; /* RAMA_PATH_LAYERS: no call */
	const char *server;
	int64_t time;
};

static int longest_first(const void *a, const void *b)
{
	const struct waited *x = a, *y = b;

	return x->time > y->time ? -1 : x->time < y->time;
}

static size_t add_pieces(const struct rama_path *p, const struct rama_path_pieces *k,
			 struct waited *to, size_t most)
{
	size_t n = 0;

	for (size_t i = 0; i < k->n; i++) {
		size_t call = k->piece[i].call, at = 0;
		uint8_t layer = call == RAMA_PATH_NONE ? RAMA_PATH_LAYERS : p->call[call].layer;
		const char *server = call == RAMA_PATH_NONE ? "" : rama_path_server_of(p, call);

		while (at < n && (to[at].layer != layer || strcmp(to[at].server, server) != 0))
			at++;
		if (at == most)
			continue;
		if (at == n)
			to[n++] = (struct waited){ .layer = layer, .server = server };
		to[at].time += k->piece[i].to - k->piece[i].from;
	}
	return n;
}

static int critical_table(const struct rama_path *p, const struct rama_path_ask *ask,
			  struct rama_arena *a, struct rama_out *o)
{
	static const struct rama_grid_column columns[] = {
		{ .key = "layer", .header = "layer" },
		{ .key = "server", .header = "server" },
		{ .key = "time", .header = "time", .unit = "s" },
		{ .key = "share", .header = "share", .unit = "share" },
	};
	enum { MOST = 64 };
	struct rama_grid g = { .columns = columns, .n_columns = 4 };
	struct waited w[MOST];
	struct rama_path_pieces k;
	int rc = rama_path_critical(p, ask->call, &k);
	int64_t from = k.n > 0 ? k.piece[0].from : 0, to = k.n > 0 ? k.piece[k.n - 1].to : 1;
	size_t n = rc == 0 ? add_pieces(p, &k, w, MOST) : 0;

	qsort(w, n, sizeof(*w), longest_first);
	for (size_t i = 0; i < n && rc == 0; i++) {
		struct rama_grid_cell *c = rama_grid_row(&g);

		if (c == NULL) {
			rc = RAMA_EMEMORY;
			break;
		}
		c[0] = rama_grid_text_cell(w[i].layer == RAMA_PATH_LAYERS
						   ? "no call"
						   : rama_path_layer_name(w[i].layer));
		c[1] = rama_grid_text_cell(w[i].server);
		c[2] = number(a, "s", (double)w[i].time * 1e-9);
		c[3] = number(a, "share", to > from ? (double)w[i].time / (double)(to - from) : 0);
	}
	if (rc == 0) {
		rama_out_text(o,
			      "<h2>The critical path</h2>\n<p>what was waited for, looked at from "
			      "the end; it adds up to the whole time</p>\n<div class=\"wide\">");
		rama_grid_html(o, &g);
		rama_out_text(o, "</div>\n");
	}
	rama_grid_fini(&g);
	rama_path_pieces_fini(&k);
	return rc;
}

/* ---- the page ------------------------------------------------------------------------------- */

static int pictures(const struct rama_path *p, const struct rama_path_ask *ask, struct rama_out *o)
{
	int rc = 0;

	for (unsigned i = 0; i < RAMA_PATH_PICTURES && rc == 0; i++) {
		const struct rama_path_picture *k = &rama_path_pictures[i];
		struct rama_out one;
		double height;

		rama_out_init(&one, NULL, NULL);
		height = k->draw(p, ask, 0, &one);
		rc = one.error;
		if (height > 0 && rc == 0) {
			rama_out_fmt(o,
				     "<h2 id=\"%s\">%s</h2>\n<p>%s</p>\n<div class=\"wide\"><svg "
				     "xmlns=\"http://www.w3.org/2000/svg\" class=\"ip\" "
				     "viewBox=\"0 0 %d %.0f\" role=\"img\" aria-label=\"%s\">\n",
				     k->id, k->title, k->note, RAMA_PATH_PICTURE_WIDTH, height,
				     k->title);
			rama_out_bytes(o, one.buf, one.used);
			rama_out_text(o, "</svg></div>\n");
		}
		rama_out_fini(&one);
	}
	return rc;
}

/* the longest call, in a sentence */
static void verdict(const struct rama_path *p, struct rama_out *o)
{
	size_t longest = RAMA_PATH_NONE, n = 0;
	char time[RAMA_HUMAN], all[RAMA_HUMAN], count[RAMA_HUMAN];

	for (size_t i = 0; i < p->n_roots; i++) {
		const struct rama_path_call *c = &p->call[p->root[i]];

		if (c->role != RAMA_PATH_ROLE_APPLICATION)
			continue;
		n++;
		if (longest == RAMA_PATH_NONE ||
		    c->end - c->start > p->call[longest].end - p->call[longest].start)
			longest = p->root[i];
	}
	rama_out_fmt(o, "<p>%s calls in %s", rama_human_count(count, (int64_t)n),
		     seconds(all, (double)p->end));
	if (longest != RAMA_PATH_NONE) {
		const struct rama_path_call *c = &p->call[longest];

		rama_out_fmt(o, "; the longest took %s: call %zu, rank %lld, ",
			     seconds(time, (double)(c->end - c->start)), longest + 1,
			     (long long)c->rank);
		rama_xml_text(o, c->op, RAMA_XML_MARK);
		rama_out_text(o, " of ");
		rama_xml_text(o, c->file, RAMA_XML_MARK);
	}
	rama_out_text(o, "</p>\n");
}

int rama_path_print_html(const struct rama_path *p, const struct rama_path_ask *ask,
			 struct rama_out *out)
{
	struct rama_arena arena = { 0 };
	struct rama_out tree;
	int rc;

	rama_out_text(out,
		      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
		      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
		      "<title>iorama path</title>\n<style>\n");
	rama_out_fmt(out, "%s%s@media(prefers-color-scheme:dark){%s%s}\n</style></head>\n<body>\n",
		     style, rama_path_picture_style, dark, rama_path_picture_dark);
	rama_out_text(out, "<h1>Where the time of calls went</h1>\n");
	verdict(p, out);
	rc = pictures(p, ask, out);
	if (rc == 0)
		rc = critical_table(p, ask, &arena, out);
	if (rc == 0)
		rc = servers_table(p, &arena, out);
	rama_out_init(&tree, NULL, NULL);
	if (rc == 0)
		rc = rama_path_print_tree(p, ask, &tree);
	rama_out_char(&tree, '\0');
	if (rc == 0 && tree.error == 0) {
		rama_out_text(out, "<h2>The slowest calls</h2>\n<pre>");
		rama_xml_text(out, tree.buf, RAMA_XML_KEEP);
		rama_out_text(out, "</pre>\n");
	}
	rama_out_fini(&tree);
	rama_arena_fini(&arena);
	rama_out_text(out, "<p>iorama " IORAMA_BUILD_VERSION "</p>\n</body></html>\n");
	return rc;
}
