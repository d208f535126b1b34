/* SPDX-License-Identifier: BSD-3-Clause */
/* save.c: files beside the result: charts, and a profile of each rank. Complete or not
 * there at all. */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "emulate/format/formats.h"
#include "emulate/output/output.h"

#define PROFILE_HEAD "WAIT:"

static int save(const char *path, const struct rama_out *out, struct rama_err *e)
{
	struct rama_newfile f = { .fd = -1 };
	int rc = out->error != 0 ? rama_err_set(e, out->error, "%s", rama_err_text(out->error))
				 : rama_newfile_open(&f, path, e);

	if (rc == 0)
		rc = rama_newfile_write(&f, 0, out->buf, out->used, e);
	if (rc == 0)
		rc = rama_newfile_commit(&f, e);
	rama_newfile_abort(&f);
	return rc != 0 ? rama_err_prefix(e, "%s", path) : 0;
}

static int save_chart(const struct rama_emu_result *r, const struct rama_emu_emulation *m,
		      struct rama_err *e)
{
	const char *path = rama_emu_config_text(m->cfg, RAMA_EMU_P_svg);
	struct rama_out out;
	int rc;

	if (path[0] == '\0')
		return 0;
	rama_out_init(&out, NULL, NULL);
	rama_emu_result_svg(r, m, &out);
	rc = save(path, &out, e);
	rama_out_fini(&out);
	return rc;
}

static int save_graph(const struct rama_emu_emulation *m, struct rama_err *e)
{
	const char *path = rama_emu_config_text(m->cfg, RAMA_EMU_P_graph_svg);
	struct rama_out out;
	int rc;

	if (path[0] == '\0' || m->graph == NULL)
		return 0;
	rama_out_init(&out, NULL, NULL);
	rc = rama_emu_write_svg(m->graph, &out, e);
	if (rc == 0)
		rc = save(path, &out, e);
	rama_out_fini(&out);
	return rc;
}

/* ---- profiles ------------------------------------------------------------------------------- */

static bool is_wait(uint8_t what)
{
	return what == RAMA_EMU_DO_WAIT || what == RAMA_EMU_DO_BARRIER || what == RAMA_EMU_DO_CALL;
}

/* "start,end;" of all spans of a rank that are of one kind, in seconds since the run began */
static void put_times(struct rama_out *out, const struct rama_emu_result *r, uint32_t rank,
		      int what)
{
	for (size_t i = 0; i < r->n_spans; i++) {
		const struct rama_emu_span *s = &r->spans[i];

		if (s->rank == rank &&
		    (what == RAMA_EMU_DO_WAIT ? is_wait(s->what) : s->what == what))
			rama_out_fmt(out, "%.9f,%.9f;", fmax(s->start - r->total.first, 0),
				     fmax(s->end - r->total.first, 0));
	}
	rama_out_char(out, '\n');
}

static const char *profile_prefix(const struct rama_emu_config *c)
{
	const char *prefix = rama_emu_config_text(c, RAMA_EMU_P_profile_out);

	if (prefix[0] != '\0')
		return prefix;
	return rama_emu_config_flag(c, RAMA_EMU_P_profiler) ? "profiler.out" : NULL;
}

static int profile_path(const char *prefix, uint32_t rank, char to[4096], struct rama_err *e)
{
	int n = snprintf(to, 4096, "%s.%u", prefix, rank);

	if (n < 0 || n >= 4096)
		return rama_err_set(e, RAMA_EUSAGE, "%.100s...: name too long", prefix);
	return 0;
}

/* Their names are made up here: what the user has under one of them is not replaced, unless it
 * is a profile too. */
int rama_emu_result_check(const struct rama_emu_emulation *m, struct rama_err *e)
{
	const char *prefix = profile_prefix(m->cfg);
	char path[4096], head[sizeof(PROFILE_HEAD)] = "";
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && prefix != NULL && i < (uint32_t)m->team->size; i++) {
		struct stat st;
		int fd;

		rc = profile_path(prefix, i, path, e);
		if (rc != 0 || lstat(path, &st) != 0)
			continue;
		fd = S_ISREG(st.st_mode) ? open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC) : -1;
		if (fd < 0 || read(fd, head, sizeof(head) - 1) != (ssize_t)sizeof(head) - 1 ||
		    memcmp(head, PROFILE_HEAD, sizeof(head) - 1) != 0)
			rc = rama_err_set(
				e, RAMA_EIO,
				"%.300s: there is something that is no profile of emulate; "
				"nothing was touched",
				path);
		if (fd >= 0)
			close(fd);
	}
	return rc;
}

static int save_profiles(const struct rama_emu_result *r, const struct rama_emu_emulation *m,
			 struct rama_err *e)
{
	const char *prefix = profile_prefix(m->cfg);
	char path[4096];
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && prefix != NULL && i < r->n_ranks; i++) {
		struct rama_out out;

		rc = profile_path(prefix, i, path, e);
		if (rc != 0)
			return rc;
		rama_out_init(&out, NULL, NULL);
		rama_out_text(&out, PROFILE_HEAD);
		put_times(&out, r, i, RAMA_EMU_DO_WAIT);
		rama_out_text(&out, "READ:");
		put_times(&out, r, i, RAMA_EMU_DO_READ);
		rama_out_text(&out, "WRITE:");
		put_times(&out, r, i, RAMA_EMU_DO_WRITE);
		rama_out_fmt(&out, "BYTES:%llu,%llu\n", (unsigned long long)r->rank[i].bytes_read,
			     (unsigned long long)r->rank[i].bytes_written);
		rc = save(path, &out, e);
		rama_out_fini(&out);
	}
	return rc;
}

int rama_emu_result_save(const struct rama_emu_result *r, const struct rama_emu_emulation *m,
			 struct rama_err *e)
{
	int rc = save_chart(r, m, e);

	if (rc == 0)
		rc = save_graph(m, e);
	return rc != 0 ? rc : save_profiles(r, m, e);
}
