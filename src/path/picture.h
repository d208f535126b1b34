/* SPDX-License-Identifier: BSD-3-Clause */
/* picture.h: pictures of calls, for pages and by themselves: bars of layers, throughput, gaps,
 * servers over time. Internal to picture.c and page.c. */
#ifndef RAMA_PATH_PICTURE_H
#define RAMA_PATH_PICTURE_H

#include "path/print.h"

/* colours of pictures and pages, light and dark, as the rules of a style sheet */
extern const char rama_path_picture_style[], rama_path_picture_dark[];

/* One picture each, an <svg> of its own without style; nothing if there is nothing to show. */
struct rama_path_picture {
	const char *id, *title, *note;
	/* its height below `y`; 0: nothing was drawn */
	double (*draw)(const struct rama_path *p, const struct rama_path_ask *ask, double y,
		       struct rama_out *o);
};
#define RAMA_PATH_PICTURES 4
extern const struct rama_path_picture rama_path_pictures[RAMA_PATH_PICTURES];
#define RAMA_PATH_PICTURE_WIDTH 1000

#endif
