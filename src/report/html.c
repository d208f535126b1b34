/* SPDX-License-Identifier: BSD-3-Clause */
/* html.c: the report as one page that needs nothing else: the built page of web/ with the JSON
 * document inside it, packed, and the picture for readers without scripts. */
#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>

#include "base/form/xml.h"
#include "report/form.h"

#define PACK_LEVEL 9 /* of 12: within a percent of the best, in a third of its time */
#define ROOM 3072    /* bytes of base64 written at once, a multiple of 4 */

/* web/dist/report.html: cmake/web.cmake */
extern const char rama_report_page[], rama_report_page_end[];

static void put_title(struct rama_out *o, const struct rama_report *r)
{
	rama_xml_text(o, r->view->name, RAMA_XML_ASK);
	rama_out_text(o, " – I/O report");
}

static void put_picture(struct rama_out *o, const struct rama_report *r)
{
	rama_out_text(o, "<p>With scripts allowed, this page shows more.</p>\n");
	rama_report_svg(o, r);
}

static void put_base64(struct rama_out *o, const unsigned char *bytes, size_t n)
{
	static const char digit[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char text[ROOM];
	size_t used = 0;

	for (size_t i = 0; i < n; i += 3) {
		size_t left = n - i;
		uint32_t three = (uint32_t)bytes[i] << 16 |
				 (left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) |
				 (left > 2 ? (uint32_t)bytes[i + 2] : 0);

		text[used++] = digit[three >> 18];
		text[used++] = digit[three >> 12 & 63];
		text[used++] = left > 1 ? digit[three >> 6 & 63] : '=';
		text[used++] = left > 2 ? digit[three & 63] : '=';
		if (used == ROOM) {
			rama_out_bytes(o, text, used);
			used = 0;
		}
	}
	rama_out_bytes(o, text, used);
}

static int put_packed(struct rama_out *o, const char *bytes, size_t n)
{
	struct libdeflate_compressor *packer = libdeflate_alloc_compressor(PACK_LEVEL);
	size_t room = packer != NULL ? libdeflate_gzip_compress_bound(packer, n) : 0;
	unsigned char *packed = room > 0 ? malloc(room) : NULL;
	int rc = RAMA_EMEMORY;

	if (packed != NULL) {
		size_t size = libdeflate_gzip_compress(packer, bytes, n, packed, room);

		put_base64(o, packed, size);
		rc = size > 0 ? 0 : RAMA_EMEMORY;
	}
	free(packed);
	libdeflate_free_compressor(packer);
	return rc;
}

static void put_data(struct rama_out *o, const struct rama_report *r)
{
	struct rama_out json;
	int rc;

	rama_out_init(&json, NULL, NULL);
	rama_report_json(&json, r);
	rc = json.error != 0 ? json.error : put_packed(o, json.buf, json.used);
	rama_out_fini(&json);
	if (rc != 0 && o->error == 0)
		o->error = rc;
}

/* places in the page, in their order */
static const struct {
	const char *mark;
	void (*put)(struct rama_out *o, const struct rama_report *r);
} places[] = {
	{ "@@iorama:title@@", put_title },
	{ "@@iorama:picture@@", put_picture },
	{ "@@iorama:data@@", put_data },
};

static void html(struct rama_out *o, const struct rama_report *r, const struct rama_report_ask *a)
{
	const char *at = rama_report_page;

	(void)a;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		size_t length = strlen(places[i].mark);
		const char *mark =
			memmem(at, (size_t)(rama_report_page_end - at), places[i].mark, length);

		if (mark == NULL) /* not with the page of this release: a test sees to it */
			break;
		rama_out_bytes(o, at, (size_t)(mark - at));
		places[i].put(o, r);
		at = mark + length;
	}
	rama_out_bytes(o, at, (size_t)(rama_report_page_end - at));
}

const struct rama_report_form rama_report_form_html = { .suffix = ".html",
							.file = true,
							.detail = true,
							.report = html,
							.paper = rama_report_paper_html };
