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

enum rama_worker_there rama_worker_look(const struct rama_emu_handle *h)
{
	MPI_Comm comm = rama_worker_comm(h);
	int rank, there = RAMA_WORKER_NOTHING;
	struct stat st;

	MPI_Comm_rank(comm, &rank);
	if (rank == 0 && stat(h->path, &st) == 0)
		there = st.st_size > 0 ? RAMA_WORKER_FILE : RAMA_WORKER_EMPTY;
	MPI_Bcast(&there, 1, MPI_INT, 0, comm);
	return (enum rama_worker_there)there;
}
