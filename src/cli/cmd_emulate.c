/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_emulate.c: iorama emulate. Without a launcher this program does the work, with local
 * processes; under one it becomes the worker program that was built for that MPI. */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/source.h"
#include "cli/commands.h"
#include "cli/emulate/keep.h"
#include "cli/input.h"
#include "cli/terminal.h"
#include "emulate/emulate.h"
#include "emulate/help.h"

#define PLACE "command line"
#define RANKS_MOST 4096
#define FILE_MOST ((uint64_t)16 << 20) /* of parameters */

/* ---- under a launcher ----------------------------------------------------------------------- */

struct launcher {
	const char *variable, *family, *name;
};
static const struct launcher launchers[] = {
#define W(variable, family, name) { variable, family, name },
#include "table/workers.def"
#undef W
};

static const struct launcher *find_launcher(void)
{
	for (size_t i = 0; i < sizeof(launchers) / sizeof(launchers[0]); i++)
		if (getenv(launchers[i].variable) != NULL)
			return &launchers[i];
	return NULL;
}

/* One of the ranks speaks, not all of them. */
static bool speaks(const struct launcher *l)
{
	const char *rank = l != NULL ? getenv(l->variable) : NULL;

	return rank == NULL || strcmp(rank, "0") == 0;
}

/* beside the program, or where it was installed */
static bool find_worker(const char *family, char path[PATH_MAX])
{
	static const char *const beside[] = { "", "../libexec/iorama/",
					      "../" IORAMA_LIBDIR "/iorama/" };
	char here[PATH_MAX / 2];
	ssize_t n = readlink("/proc/self/exe", here, sizeof(here) - 1);

	here[n > 0 ? n : 0] = '\0';
	if (strrchr(here, '/') != NULL)
		strrchr(here, '/')[1] = '\0';
	for (size_t i = 0; i < sizeof(beside) / sizeof(beside[0]); i++) {
		snprintf(path, PATH_MAX, "%s%siorama-worker-%s", here, beside[i], family);
		if (access(path, X_OK) == 0)
			return true;
	}
	return false;
}

/* iorama-worker-FAMILY MODE [WORD] name=value… -- words of the mode; word: one that main.c of the
 * worker knows, or NULL */
static int become_worker(const struct rama_emu_config *c, const struct launcher *l, char *word)
{
	char path[PATH_MAX], **argv = calloc(RAMA_EMU_PARAMS + c->n_args + 5, sizeof(*argv));
	size_t n = 0;

	if (!find_worker(l->family, path)) {
		if (speaks(l))
			fprintf(stderr,
				"iorama emulate: started by %s, but this iorama was built without "
				"it: "
				"iorama-worker-%s is missing\n",
				l->name, l->family);
		return 4;
	}
	if (argv == NULL)
		return 4;
	argv[n++] = path;
	argv[n++] = (char *)c->mode;
	if (word != NULL)
		argv[n++] = word;
	for (int i = 0; i < RAMA_EMU_PARAMS; i++)
		if (c->value[i] != NULL &&
		    asprintf(&argv[n++], "%s=%s", rama_emu_param_info[i].name, c->value[i]) < 0)
			return 4;
	argv[n++] = "--";
	for (size_t i = 0; i < c->n_args; i++)
		argv[n++] = c->args[i];
	signal(SIGPIPE, SIG_DFL);
	execv(path, argv);
	fprintf(stderr, "iorama emulate: %s: %s\n", path, strerror(errno));
	return 4;
}

/* ---- words of the command line -------------------------------------------------------------- */

struct words {
	int argc, at;
	char **argv;
	bool only_args; /* after -- */
	bool help;
};

static int add_arg(struct rama_emu_config *c, const char *word, struct rama_err *e)
{
	char **args = reallocarray(c->args, c->n_args + 1, sizeof(*args));

	if (args == NULL)
		return rama_err_set(e, RAMA_EMEMORY, "no memory");
	c->args = args;
	args[c->n_args] = strdup(word);
	if (args[c->n_args] == NULL)
		return rama_err_set(e, RAMA_EMEMORY, "no memory");
	c->n_args++;
	return 0;
}

/* --name value, --name=value, --flag */
static int take_parameter(struct rama_emu_config *c, struct words *w, const char *word,
			  struct rama_err *e)
{
	const char *equal = strchr(word, '='), *value = equal != NULL ? equal + 1 : NULL;
	size_t n = equal != NULL ? (size_t)(equal - word) : strlen(word);
	int p = rama_emu_config_find(word, n);
	char name[128];

	snprintf(name, sizeof(name), "%.*s", (int)(n < 127 ? n : 127), word);
	if (p >= 0 && rama_emu_param_info[p].arg != NULL && value == NULL) {
		if (w->at == w->argc)
			return rama_err_set(e, RAMA_EUSAGE, "--%s needs %s", name,
					    rama_emu_param_info[p].arg);
		value = w->argv[w->at++];
	}
	return rama_emu_config_set(c, name, value, PLACE, e);
}

static int take_word(struct rama_emu_config *c, struct words *w, struct rama_err *e)
{
	const char *word = w->argv[w->at++];

	if (w->only_args || word[0] != '-' || word[1] == '\0')
		return add_arg(c, word, e);
	if (strcmp(word, "--") == 0) {
		w->only_args = true;
		return 0;
	}
	if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "-?") == 0) {
		w->help = true;
		return 0;
	}
	if (strncmp(word, "--", 2) == 0)
		return take_parameter(c, w, word + 2, e);
	if (strcmp(word, "-o") == 0)
		return take_parameter(c, w, "output", e);
	if (strcmp(word, "-q") == 0)
		return take_parameter(c, w, "quiet", e);
	return rama_err_set(e, RAMA_EUSAGE, "there is no option %s", word);
}

static int read_file(struct rama_emu_config *c, struct rama_err *e)
{
	const char *path = rama_emu_config_text(c, RAMA_EMU_P_config_file);
	struct rama_file f;
	char *bytes;
	int rc;

	if (path[0] == '\0')
		return 0;
	rc = rama_file_open(&f, path, e);
	if (rc != 0)
		return rama_err_set(e, RAMA_EMISSING, "%s: %s", path, e->text);
	bytes = f.src.size <= FILE_MOST ? malloc((size_t)f.src.size + 1) : NULL;
	if (bytes == NULL)
		rc = rama_err_set(e, RAMA_ELIMIT, "%s: too large for a file of parameters", path);
	if (rc == 0)
		rc = f.src.read(f.src.ctx, 0, bytes, (size_t)f.src.size, e);
	if (rc == 0)
		rc = rama_emu_config_read(c, bytes, (size_t)f.src.size, path, e);
	free(bytes);
	rama_file_close(&f);
	return rc;
}

/* the mode: the first word that is no parameter, else --subtype */
static int find_mode(struct rama_emu_config *c, struct rama_err *e)
{
	const char *subtype = rama_emu_config_text(c, RAMA_EMU_P_subtype);

	if (subtype[0] != '\0' && (c->n_args == 0 || rama_emu_mode_find(c->args[0]) == NULL)) {
		c->mode = subtype;
	} else if (c->n_args > 0) {
		static char mode[64];

		snprintf(mode, sizeof(mode), "%s", c->args[0]);
		c->mode = mode;
		free(c->args[0]);
		memmove(c->args, c->args + 1, --c->n_args * sizeof(*c->args));
	}
	if (c->mode[0] != '\0' && rama_emu_mode_find(c->mode) == NULL)
		return rama_emu_mode_unknown(c->mode, e);
	return 0;
}

static int read_command_line(struct rama_emu_config *c, struct words *w, struct rama_err *e)
{
	int rc = 0;

	while (rc == 0 && w->at < w->argc)
		rc = take_word(c, w, e);
	if (rc == 0)
		rc = read_file(c, e);
	if (rc == 0)
		rc = find_mode(c, e);
	return rc == 0 && !w->help ? rama_emu_config_check(c, e) : rc;
}

/* ---- local processes ------------------------------------------------------------------------ */

static int run_here(struct rama_emu_config *c)
{
	int64_t ranks = rama_emu_config_size(c, RAMA_EMU_P_ranks);
	struct rama_err e = { 0 };
	struct rama_emu_team team;
	int rc, status, worst = 0;

	if (ranks < 1 || ranks > RANKS_MOST) {
		fprintf(stderr, "iorama emulate: ranks: from 1 to %d\n", RANKS_MOST);
		return 2;
	}
	rama_emu_team_on_signals();
	rc = rama_emu_team_local(&team, (int)ranks, &e);
	if (rc == 0)
		rc = rama_emu_session_run(c, &team, &e);
	status = rc == 0 ? 0 : rama_err_status(rc);
	if (rc != 0 && team.rank == 0)
		fprintf(stderr, "iorama emulate: %s\n", e.text);
	if (team.state != NULL)
		rama_emu_team_end(&team, status, &worst, &e);
	if (status == 0 && worst > 0)
		fprintf(stderr, "iorama emulate: a rank ended with status %d\n", worst);
	return status != 0 ? status : worst >= 128 ? 4 : worst;
}

struct beside {
	const struct rama_emu_config *c;
	const struct launcher *l;
};

static int worker_for_keep(void *ctx, char *word)
{
	const struct beside *b = ctx;

	return become_worker(b->c, b->l, word);
}

/* keep: what is tried goes into a store; NULL: it does not, or another rank does it */
static int run(struct rama_emu_config *c, const struct launcher *l,
	       struct rama_cli_emulate_keep *keep)
{
	if (speaks(l) && !rama_emu_config_flag(c, RAMA_EMU_P_quiet))
		for (size_t i = 0; i < c->n_warnings; i++)
			fprintf(stderr, "iorama emulate: %s\n", c->warnings[i]);
	if (l == NULL)
		return run_here(c);
	if (rama_emu_config_given(c, RAMA_EMU_P_ranks) && speaks(l) &&
	    !rama_emu_config_flag(c, RAMA_EMU_P_quiet))
		fprintf(stderr, "iorama emulate: --ranks means nothing under %s\n", l->name);
	return keep != NULL ? rama_cli_emulate_keep_beside(keep, worker_for_keep,
							   &(struct beside){ c, l })
			    : become_worker(c, l, NULL);
}

static int failed(const struct rama_err *e)
{
	fprintf(stderr, "iorama emulate: %s\n", e->text);
	return rama_err_status(e->code);
}

/* Under a launcher the other ranks have begun already: the worker says why, and ends them all. */
static int refuse(struct rama_emu_config *c, const struct launcher *l, const struct rama_err *e)
{
	char word[sizeof(e->text) + 32];

	if (l == NULL)
		return failed(e);
	snprintf(word, sizeof(word), "refused:%d:%s", e->code, e->text);
	return become_worker(c, l, word);
}

static int run_and_keep(struct rama_emu_config *c, const struct launcher *l)
{
	struct rama_cli_emulate_keep keep;
	struct rama_err e = { 0 };
	int status;

	if (strcmp(c->mode, "try") != 0 || !rama_emu_config_given(c, RAMA_EMU_P_store) ||
	    !speaks(l))
		return run(c, l, NULL);
	if (rama_cli_emulate_keep_begin(&keep, c, &e) != 0)
		return refuse(c, l, &e);
	status = run(c, l, &keep);
	if (status == 0 && rama_cli_emulate_keep_end(&keep, c, &e) != 0)
		status = failed(&e);
	return status;
}

int rama_cli_cmd_emulate(int argc, char **argv)
{
	const struct launcher *l = find_launcher();
	struct words w = { .argc = argc, .at = 1, .argv = argv };
	struct rama_err e = { 0 };
	struct rama_emu_config c;
	int rc, status;

	rama_emu_config_init(&c);
	rc = read_command_line(&c, &w, &e);
	if (rc != 0) {
		status = rama_err_status(rc);
		if (speaks(l))
			fprintf(stderr, "iorama emulate: %s\n%s", e.text,
				status == 2 ? "Try `iorama help emulate`.\n" : "");
	} else if (w.help) {
		rama_cli_terminal_print(stdout, rama_emu_help, c.mode[0] != '\0' ? c.mode : NULL);
		status = 0;
	} else if (c.mode[0] == '\0') {
		fputs("iorama emulate: which mode?\n", stderr);
		rama_emu_help_modes(stderr);
		fputs("Try `iorama emulate MODE --help`.\n", stderr);
		status = 2;
	} else {
		status = run_and_keep(&c, l);
	}
	rama_emu_config_fini(&c);
	return status;
}
