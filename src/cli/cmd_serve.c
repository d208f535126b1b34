/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_serve.c: iorama serve */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alert/alert.h"
#include "base/home.h"
#include "launch/browser.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "cli/open_store.h"
#include "serve/serve.h"
#include "store/shown.h"

#define PORT 8417
#define NAMES 64
#define TOKEN 64

struct serve {
	struct rama_cli_opts o;
	struct rama_serve_options to;
	char url[256], page[PATH_MAX + 8]; /* that a browser is sent to, and by which file */
	char store[PATH_MAX], address[64], token[TOKEN + 2], token_path[PATH_MAX], user[128];
	const char *host[NAMES], *staff[NAMES], *project[NAMES];
	struct rama_alert_site alerts;
	bool quiet;
};

/* ---- the token ------------------------------------------------------------------------------- */

static bool token_place(struct serve *s)
{
	const char *given = rama_cli_opts_value(&s->o, RAMA_TAB_OPT_serve_token);
	const char *run = getenv("XDG_RUNTIME_DIR");
	char home[PATH_MAX - 64];
	int n;

	if (given != NULL)
		n = snprintf(s->token_path, sizeof(s->token_path), "%s", given);
	else if (run != NULL && *run == '/')
		n = snprintf(s->token_path, sizeof(s->token_path), "%s/iorama/serve.token", run);
	else if (rama_home(home, sizeof(home)))
		n = snprintf(s->token_path, sizeof(s->token_path),
			     "%s/.local/state/iorama/serve.token", home);
	else
		return false;
	return n > 0 && (size_t)n < sizeof(s->token_path);
}

static void make_folders(char *path)
{
	for (char *p = path + 1; *p != '\0'; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		mkdir(path, 0700);
		*p = '/';
	}
}

/* One that is there is used again, so that addresses stay good; others must not be able to read
 * it. */
static bool read_token(struct serve *s, int fd)
{
	struct stat st;
	ssize_t n;

	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
	    (st.st_mode & 077) != 0) {
		rama_cli_complain(s->token_path, "others can read or write it, or it is not yours: "
						 "remove it, and a new one is made");
		return false;
	}
	n = read(fd, s->token, TOKEN + 1);
	s->token[n > 0 ? n : 0] = '\0';
	s->token[strcspn(s->token, "\n")] = '\0';
	if (strlen(s->token) == TOKEN && strspn(s->token, "0123456789abcdef") == strlen(s->token))
		return true;
	rama_cli_complain(s->token_path, "not a token: remove it, and a new one is made");
	return false;
}

static bool make_token(struct serve *s, int fd)
{
	unsigned char b[TOKEN / 2];

	if (getrandom(b, sizeof(b), 0) != (ssize_t)sizeof(b))
		return false;
	for (size_t i = 0; i < sizeof(b); i++)
		snprintf(s->token + 2 * i, 3, "%02x", b[i]);
	return write(fd, s->token, TOKEN) == TOKEN && write(fd, "\n", 1) == 1;
}

static bool take_token(struct serve *s)
{
	bool ok = false;
	int fd;

	if (!token_place(s)) {
		rama_cli_complain("serve", "no place for its token: --token FILE names one");
		return false;
	}
	fd = open(s->token_path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0) {
		ok = read_token(s, fd);
	} else {
		make_folders(s->token_path);
		fd = open(s->token_path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			  0600);
		ok = fd >= 0 && make_token(s, fd);
		if (!ok)
			rama_cli_complain(s->token_path, "%s", strerror(errno));
	}
	if (fd >= 0)
		close(fd);
	return ok;
}

/* ---- what is asked for ----------------------------------------------------------------------- */

/* ADDRESS:PORT, PORT, or none */
static void find_address(struct serve *s)
{
	const char *text = rama_cli_opts_value(&s->o, RAMA_TAB_OPT_serve_listen), *colon;
	unsigned long port = PORT;
	char *end;

	snprintf(s->address, sizeof(s->address), "127.0.0.1");
	s->to.address = s->address;
	if (text != NULL && strcmp(text, "none") == 0)
		s->to.address = NULL;
	if (text != NULL && s->to.address != NULL) {
		colon = strrchr(text, ':');
		port = strtoul(colon != NULL ? colon + 1 : text, &end, 10);
		if (*end != '\0' || end == (colon != NULL ? colon + 1 : text) || port > 65535 ||
		    (colon != NULL && (size_t)(colon - text) >= sizeof(s->address)))
			rama_cli_opts_usage(
				&s->o, "--listen takes ADDRESS:PORT, PORT or none, not '%s'", text);
		if (colon != NULL)
			snprintf(s->address, sizeof(s->address), "%.*s",
				 (int)(colon - text - (text[0] == '[' ? 2 : 0)),
				 text + (text[0] == '['));
	}
	s->to.port = (unsigned)port;
}

static size_t names(struct serve *s, enum rama_tab_option_id option, const char *to[NAMES])
{
	size_t at = 0, n = 0;
	const char *text;

	while ((text = rama_cli_opts_next(&s->o, option, &at)) != NULL) {
		if (n == NAMES || *text == '\0')
			rama_cli_opts_usage(&s->o, "too many names, or one that is none");
		to[n++] = text;
	}
	return n;
}

static void find_all(struct serve *s)
{
	struct rama_serve_options *to = &s->to;
	const struct passwd *me = getpwuid(geteuid());

	find_address(s);
	snprintf(s->user, sizeof(s->user), "%s", me != NULL ? me->pw_name : "owner");
	to->user = s->user;
	to->socket = rama_cli_opts_value(&s->o, RAMA_TAB_OPT_serve_socket);
	to->tls_cert = rama_cli_opts_value(&s->o, RAMA_TAB_OPT_serve_cert);
	to->tls_key = rama_cli_opts_value(&s->o, RAMA_TAB_OPT_serve_key);
	to->trust_header = rama_cli_opts_value(&s->o, RAMA_TAB_OPT_serve_trustheader);
	to->proxy = rama_cli_opts_value(&s->o, RAMA_TAB_OPT_serve_proxy);
	to->dir = rama_cli_opts_setting(RAMA_TAB_SET_DIR);
	to->hosts = s->host;
	to->n_hosts = names(s, RAMA_TAB_OPT_serve_host, s->host);
	to->staff = s->staff;
	to->n_staff = names(s, RAMA_TAB_OPT_serve_staff, s->staff);
	to->projects = s->project;
	to->n_projects = names(s, RAMA_TAB_OPT_serve_project, s->project);
	to->open = rama_cli_opts_has(&s->o, RAMA_TAB_OPT_serve_open);
	to->connections = (unsigned)rama_cli_opts_number(&s->o, RAMA_TAB_OPT_serve_connections, 0,
							 60000, 2048);
	to->rate = (unsigned)rama_cli_opts_number(&s->o, RAMA_TAB_OPT_serve_rate, 0, 1000000, 20);
	to->workers = 4;
	s->quiet = rama_cli_opts_has(&s->o, RAMA_TAB_OPT_serve_quiet);
	if ((to->tls_cert != NULL) != (to->tls_key != NULL))
		rama_cli_opts_usage(&s->o, "--tls-cert and --tls-key go together");
	if (to->tls_cert != NULL && to->address == NULL)
		rama_cli_opts_usage(&s->o, "TLS is for an address, not for a socket alone");
	if (to->trust_header != NULL && to->socket == NULL)
		rama_cli_opts_usage(&s->o, "--trust-header holds for --socket only: at an address "
					   "anybody could send it");
	if (to->address == NULL && to->socket == NULL)
		rama_cli_opts_usage(&s->o, "--listen none needs a --socket");
}

/* ---- until it is told to end ----------------------------------------------------------------- */

static void say_where(struct serve *s, const struct rama_serve *at)
{
	bool six = strchr(s->address, ':') != NULL;

	snprintf(s->url, sizeof(s->url), "http%s://%s%s%s:%u/#token=%s",
		 s->to.tls_cert != NULL ? "s" : "", six ? "[" : "", s->address, six ? "]" : "",
		 rama_serve_port(at), s->token);
	if (s->to.address != NULL) {
		printf("%s\n", s->url);
		fflush(stdout);
	}
	if (!s->quiet && s->to.socket != NULL)
		fprintf(stderr, "iorama serve: at %s\n", s->to.socket);
	if (!s->quiet && s->to.address != NULL)
		fprintf(stderr,
			"iorama serve: the address above lets in whoever has it; "
			"its token is in %s. Ctrl-C ends it.\n",
			s->token_path);
}

static void open_page(struct serve *s)
{
	if (s->to.address == NULL || s->quiet ||
	    rama_cli_opts_has(&s->o, RAMA_TAB_OPT_serve_nobrowser) || !rama_launch_browser_there())
		return;
	snprintf(s->page, sizeof(s->page), "%s.html", s->token_path);
	if (!rama_launch_browser_open(s->page, s->url))
		rama_cli_complain("serve", "no browser could be started: open the address above");
}

static int work(struct serve *s)
{
	struct rama_serve *at = NULL;
	struct rama_err e = { 0 };
	char shown[PATH_MAX];
	sigset_t set;
	int got, rc;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &set, NULL); /* of the threads to come, too */
	signal(SIGPIPE, SIG_IGN);
#ifdef M_ARENA_MAX
	mallopt(M_ARENA_MAX, 2); /* threads would keep a heap each for what only one needed */
#endif
	rc = rama_serve_open(&at, &s->to, &e);
	if (rc != 0) {
		rama_cli_complain(rama_store_shown(s->store, shown), "%s", e.text);
		return rama_err_status(rc);
	}
	say_where(s, at);
	open_page(s);
	sigwait(&set, &got);
	if (s->page[0] != '\0')
		unlink(s->page);
	rama_serve_close(at);
	return 0;
}

/* of which jobs somebody is told; false: the file is wrong */
static bool find_alerts(struct serve *s)
{
	const char *file = rama_cli_opts_value(&s->o, RAMA_TAB_OPT_serve_alerts);
	struct rama_err e = { 0 };

	if (file == NULL)
		return true;
	s->to.alerts = &s->alerts;
	if (rama_alert_site_init(&s->alerts, &e) == 0 &&
	    rama_alert_site_load(&s->alerts, file, &e) == 0)
		return true;
	rama_cli_complain("serve", "%s", e.text);
	return false;
}

static void tell(void *ctx, const char *line)
{
	(void)ctx;
	rama_cli_complain("serve", "%s", line);
}

int rama_cli_cmd_serve(int argc, char **argv)
{
	struct serve s = { .quiet = false };
	int status = 4;

	rama_cli_opts_parse(&s.o, RAMA_TAB_CMD_serve, argc, argv);
	if (s.o.n_args > 0)
		rama_cli_opts_usage(&s.o, "it takes no arguments, such as '%s'", s.o.args[0]);
	find_all(&s);
	s.to.told = tell;
	if (!find_alerts(&s)) {
		status = 3;
	} else if (rama_cli_store_place(&s.o, RAMA_TAB_OPT_serve_store, s.store)) {
		s.to.store = s.store;
		s.to.token = s.token;
		status = take_token(&s) ? work(&s) : 4;
	}
	rama_alert_site_fini(&s.alerts);
	rama_cli_opts_fini(&s.o);
	return status;
}
