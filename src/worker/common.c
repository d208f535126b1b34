/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "emulate/format/lines.h"
#include "worker/worker.h"

int rama_worker_info(const char *hints, MPI_Info *info, struct rama_err *e)
{
	struct rama_config_piece all = { hints, hints != NULL ? strlen(hints) : 0 }, item;
	char key[MPI_MAX_INFO_KEY + 1], value[1024];

	*info = MPI_INFO_NULL;
	while (rama_config_piece_next(&all, ';', &item)) {
		const char *equal = memchr(item.p, '=', item.n);
		size_t n = equal != NULL ? (size_t)(equal - item.p) : 0;

		if (n == 0 || n >= sizeof(key) || item.n - n >= sizeof(value)) {
			rama_worker_no_info(info);
			return rama_err_set(e, RAMA_EUSAGE, "hints: \"%.*s\" is not key=value",
					    RAMA_EMU_PIECE(item));
		}
		snprintf(key, sizeof(key), "%.*s", (int)n, item.p);
		snprintf(value, sizeof(value), "%.*s", (int)(item.n - n - 1), equal + 1);
		if (*info == MPI_INFO_NULL)
			MPI_Info_create(info);
		MPI_Info_set(*info, key, value);
	}
	return 0;
}

void rama_worker_no_info(MPI_Info *info)
{
	if (*info != MPI_INFO_NULL)
		MPI_Info_free(info);
}

int rama_worker_exists(const struct rama_emu_handle *h)
{
	MPI_Comm comm = rama_worker_comm(h);
	struct stat st;
	int rank, there = 0;

	MPI_Comm_rank(comm, &rank);
	if (rank == 0)
		/* an empty one has no format yet */
		there = stat(h->path, &st) == 0 && st.st_size > 0;
	MPI_Bcast(&there, 1, MPI_INT, 0, comm);
	return there;
}
