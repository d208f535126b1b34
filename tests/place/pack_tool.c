/* SPDX-License-Identifier: BSD-3-Clause */
/* pack_tool FROM TO [NAME AS]: packs all segments of the directory FROM into TO/ended.pack, as
 * `iorama run` does; NAME under the name AS. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "gather/pack.h"

int main(int argc, char **argv)
{
	struct rama_gather_pack pack;
	struct rama_gather_list list;
	struct rama_err e = { 0 };

	if (argc < 3 || rama_gather_find(&list, argv[1], &e) != 0 ||
	    rama_gather_pack_create(&pack, argv[2], &e) != 0)
		return fprintf(stderr, "%s\n", e.text), 1;
	for (size_t i = 0; i < list.n; i++) {
		const char *name = strrchr(list.path[i], '/') + 1;
		int fd = open(list.path[i], O_RDONLY);

		if (argc > 4 && strcmp(name, argv[3]) == 0)
			name = argv[4];
		if (fd < 0 || rama_gather_pack_add(&pack, fd, name, &e) != 0)
			return fprintf(stderr, "%s: %s\n", list.path[i], e.text), 1;
		close(fd);
	}
	rama_gather_list_fini(&list);
	rama_gather_pack_close(&pack);
	return 0;
}
