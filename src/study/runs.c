/* SPDX-License-Identifier: BSD-3-Clause */
#include "study/runs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "study/paths.h"

static bool is_directory(const char *path)
{
	struct stat st;

	return strcmp(path, "-") != 0 && stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

bool rama_study_runs_are(const char *path)
{
	struct rama_study_paths p = { 0 };
	bool any = false;

	if (is_directory(path))
		any = rama_study_paths_add(&p, path, NULL) == 0 && p.n > 0;
	rama_study_paths_fini(&p);
	return any;
}

/* the error that ends a program with the higher status */
static int worse(int a, int b)
{
	return rama_err_status(b) > rama_err_status(a) ? b : a;
}

static int read_one(struct rama_report_group *g, const char *path,
		    const struct rama_study_options *opt)
{
	struct rama_study_source from = { .path = path };
	struct rama_study s;
	int rc = rama_study_open(&s, &from, 1, opt);

	if (s.reported && rama_report_group_add(g, &s.view, path) != 0) {
		rama_study_problem(&opt->told, path, rama_err_text(RAMA_EMEMORY));
		rc = RAMA_EMEMORY;
	}
	rama_study_close(&s);
	return rc;
}

int rama_study_runs_read(struct rama_report_group *g, const char *path,
			 const struct rama_study_options *opt)
{
	struct rama_study_paths p = { .told = opt->told };
	struct rama_err e = { 0 };
	int rc = 0;

	*g = (struct rama_report_group){ .path = path };
	if (!is_directory(path))
		return read_one(g, path, opt);
	rc = rama_study_paths_add(&p, path, &e);
	rama_study_paths_sort(&p);
	for (size_t i = 0; i < p.n; i++)
		rc = worse(rc, read_one(g, p.path[i], opt));
	rama_study_paths_fini(&p);
	return rc;
}

int rama_study_runs_place(const char *dir, struct rama_err *e)
{
	if (mkdir(dir, 0777) == 0 || (errno == EEXIST && is_directory(dir)))
		return 0;
	return rama_err_set(e, RAMA_EIO, "%s: logs of several runs need a directory: %s", dir,
			    strerror(errno));
}

void rama_study_runs_tell(const char *dir, char *to, size_t room)
{
	struct rama_diag_profile profile;
	struct rama_study_options opt = { .profile = &profile, .no_trace = true };
	char run[RAMA_REPORT_TIMES], io[RAMA_REPORT_TIMES];
	struct rama_report_group g;

	if (rama_diag_profile_init(&profile) != 0) {
		snprintf(to, room, "%s", rama_err_text(RAMA_EMEMORY));
		return;
	}
	rama_study_runs_read(&g, dir, &opt);
	snprintf(to, room, "%s: %zu runs, run time %s, in I/O %s", dir, g.n,
		 rama_report_group_time(run, &g, RAMA_REPORT_METRIC_run_time),
		 rama_report_group_time(io, &g, RAMA_REPORT_METRIC_io_time));
	rama_report_group_fini(&g);
	rama_diag_profile_fini(&profile);
}

int rama_study_runs_compare(struct rama_report_spread *s, const struct rama_report_group g[2],
			    double tolerance, struct rama_err *e)
{
	for (unsigned i = 0; i < 2; i++)
		if (g[i].n == 0)
			return rama_err_set(e, RAMA_EMISSING, "%s: no run can be read", g[i].path);
	if (g[0].n + g[1].n < 3)
		return rama_err_set(e, RAMA_EUSAGE,
				    "how far runs differ takes two runs of %s or %s at least; each "
				    "has one log",
				    g[0].path, g[1].path);
	return rama_report_spread_make(s, &g[0], &g[1], tolerance, e);
}
