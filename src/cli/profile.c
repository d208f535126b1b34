/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/profile.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/input.h"

#define SITE_PROFILE "/etc/iorama/profile.ini"

/* A file that somebody named has to be there; the usual places may be empty. */
static int read_file(struct rama_diag_profile *p, const char *path, bool named)
{
	struct rama_err e = { 0 };
	FILE *f = fopen(path, "re");
	int rc;

	if (f == NULL && !named && (errno == ENOENT || errno == ENOTDIR || errno == EACCES))
		return 0;
	if (f == NULL) {
		rama_cli_complain(path, "cannot be opened: %s", strerror(errno));
		return rama_err_status(RAMA_EMISSING);
	}
	rc = rama_diag_profile_read(p, f, path, &e);
	fclose(f);
	if (rc == 0)
		return 0;
	fprintf(stderr, "iorama: %s\n", e.text); /* names file and line itself */
	return rama_err_status(rc);
}

static int read_user(struct rama_diag_profile *p)
{
	const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	char path[PATH_MAX];
	int n;

	if (config != NULL && *config == '/')
		n = snprintf(path, sizeof(path), "%s/iorama/profile.ini", config);
	else if (home != NULL && *home == '/')
		n = snprintf(path, sizeof(path), "%s/.config/iorama/profile.ini", home);
	else
		return 0;
	return n > 0 && n < (int)sizeof(path) ? read_file(p, path, false) : 0;
}

int rama_cli_profile_load(struct rama_diag_profile *p, const struct rama_cli_opts *o,
			  enum rama_tab_option_id option)
{
	const char *path = rama_cli_opts_setting(RAMA_TAB_SET_PROFILE);
	int status;

	if (rama_diag_profile_init(p) != 0) {
		rama_cli_complain("profile", "%s", rama_err_text(RAMA_EMEMORY));
		return rama_err_status(RAMA_EMEMORY);
	}
	status = read_file(p, SITE_PROFILE, false);
	if (status == 0)
		status = read_user(p);
	if (status == 0 && *path != '\0')
		status = read_file(p, path, true);
	for (size_t at = 0; status == 0 && (path = rama_cli_opts_next(o, option, &at)) != NULL;)
		status = read_file(p, path, true);
	if (status != 0)
		rama_diag_profile_fini(p);
	return status;
}
