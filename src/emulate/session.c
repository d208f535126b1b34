/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulate/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "base/out.h"
#include "emulate/emulate.h"
#include "table/settings.h"

static int to_stdout(void *ctx, const char *bytes, size_t n)
{
	(void)ctx;
	return rama_fd_write(STDOUT_FILENO, bytes, n);
}

static int to_file(const char *path, const struct rama_out *text, struct rama_err *e)
{
	struct rama_newfile f = { .fd = -1 };
	int rc = rama_newfile_open(&f, path, e);

	if (rc == 0)
		rc = rama_newfile_write(&f, 0, text->buf, text->used, e);
	if (rc == 0)
		rc = rama_newfile_commit(&f, e);
	rama_newfile_abort(&f);
	return rc != 0 ? rama_err_prefix(e, "%s", path) : 0;
}

/* ---- how far it is, on a terminal ----------------------------------------------------------- */

struct line {
	double began, delay;
	bool drawn;
};

static void draw(void *ctx, const char *text)
{
	struct line *l = ctx;

	if (rama_emu_team_now() - l->began < l->delay)
		return;
	l->drawn = true;
	dprintf(STDERR_FILENO, "\r\033[K%s", text);
}

static void watch(struct rama_emu_config *cfg, const struct rama_emu_team *team, struct line *l)
{
	const char *delay = getenv(rama_tab_settings[RAMA_TAB_SET_PROGRESS].variable);

	*l = (struct line){ .began = rama_emu_team_now() };
	l->delay = strtod(delay != NULL ? delay : rama_tab_settings[RAMA_TAB_SET_PROGRESS].preset,
			  NULL);
	if (team->rank != 0 || rama_emu_config_flag(cfg, RAMA_EMU_P_quiet) ||
	    !isatty(STDERR_FILENO))
		return;
	cfg->progress = draw;
	cfg->progress_ctx = l;
}

/* ---- the run -------------------------------------------------------------------------------- */

int rama_emu_session_run(struct rama_emu_config *cfg, struct rama_emu_team *team,
			 struct rama_err *e)
{
	const char *path = rama_emu_config_text(cfg, RAMA_EMU_P_output);
	struct line line;
	struct rama_err lost = { 0 };
	struct rama_out out;
	int rc, shown = 0;

	rama_out_init(&out, NULL, NULL);
	watch(cfg, team, &line);
	rc = rama_emu(cfg, team, &out, e);
	if (line.drawn)
		dprintf(STDERR_FILENO, "\r\033[K");
	/* also after an error: what there is of a result says more than none */
	if (team->rank == 0 && out.used > 0 && out.error == 0)
		shown = path[0] != '\0' && path[0] != '-' ? to_file(path, &out, &lost)
							  : to_stdout(NULL, out.buf, out.used);
	if (rc == 0 && out.error != 0)
		rc = rama_err_set(e, out.error, "the result: %s", rama_err_text(out.error));
	if (rc == 0 && shown != 0)
		rc = rama_err_set(e, shown, "%s",
				  lost.code != 0 ? lost.text : "standard output cannot be written");
	rama_out_fini(&out);
	return rc;
}
