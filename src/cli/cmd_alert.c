/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_alert.c: iorama alert */
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "alert/alert.h"
#include "base/form/rows.h"
#include "base/when.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "cli/open_store.h"
#include "query/cell.h"
#include "store/notice.h"

#define LIST 1000

struct command {
	struct rama_cli_opts o;
	struct rama_alert_site site;
	struct rama_store *store;
	bool quiet;
};

static int failed(const char *about, const struct rama_err *e)
{
	rama_cli_complain(about, "%s", e->text);
	return rama_err_status(e->code);
}

static void tell(void *ctx, const char *line)
{
	(void)ctx;
	rama_cli_complain("alert", "%s", line);
}

static int64_t moment(const struct command *c)
{
	const char *text = rama_cli_opts_value(&c->o, RAMA_TAB_OPT_alert_at);
	int64_t now = rama_store_now(c->store), ns;

	if (text == NULL)
		return now;
	if (!rama_when(text, now, 0, &ns) || ns < 0)
		rama_cli_opts_usage(&c->o,
				    "--at is a moment such as '2026-11-16 09:20' or -7d, not '%s'",
				    text);
	return ns;
}

/* ---- what each of the words does ------------------------------------------------------------- */

static int run(struct command *c)
{
	bool dry = rama_cli_opts_has(&c->o, RAMA_TAB_OPT_alert_dryrun);
	struct rama_alert_round r = { .site = &c->site, .told = tell };
	struct rama_err e = { 0 };
	struct rama_out out;
	int rc, status = rama_cli_store_here(&c->store, &c->o, RAMA_TAB_OPT_alert_store,
					     dry ? RAMA_STORE_READ : RAMA_STORE_WRITE);

	if (status != 0)
		return status;
	rama_out_init(&out, NULL, NULL);
	r.store = c->store;
	r.now = moment(c);
	r.dry = dry ? &out : NULL;
	rc = rama_alert_round(&r, &e);
	if (dry && out.used > 0)
		fwrite(out.buf, 1, out.used, stdout);
	rama_out_fini(&out);
	if (rc != 0)
		return failed("alert", &e);
	if (!c->quiet && r.sent + r.failed + r.unsure > 0)
		fprintf(stderr, "iorama alert: %u %s, %u failed, %u not known to have arrived\n",
			r.sent, dry ? "would be sent" : "sent", r.failed, r.unsure);
	return r.failed + r.unsure > 0 ? 4 : 0;
}

static int put_row(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	(void)e;
	return rama_query_rows_add(ctx, row->cell);
}

static int list(struct command *c)
{
	struct rama_err e = { 0 };
	struct rama_out out;
	struct rama_rows rows = { .out = &out, .form = RAMA_ROWS_CSV };
	int rc, status = rama_cli_store_here(&c->store, &c->o, RAMA_TAB_OPT_alert_store,
					     RAMA_STORE_READ);

	if (status != 0)
		return status;
	if (rama_cli_opts_has(&c->o, RAMA_TAB_OPT_alert_json))
		rows.form = RAMA_ROWS_JSON;
	rama_out_init(&out, NULL, NULL);
	rc = rama_rows_begin(&rows, rama_query_notices_columns.n, rama_query_notices_columns.name,
			     rama_query_notices_columns.unit);
	if (rc == 0)
		rc = rama_query_notices_list(c->store, NULL, false, LIST, put_row, &rows, &e);
	rama_rows_end(&rows);
	if (rc == 0 && out.used > 0)
		fwrite(out.buf, 1, out.used, stdout);
	rama_out_fini(&out);
	return rc < 0 ? failed("alert", &e) : 0;
}

/* --off NAME, --on NAME: of the user who says so */
static int want(struct command *c, const char *name, bool off)
{
	const struct passwd *me = getpwuid(geteuid());
	struct rama_err e = { 0 };
	int status;

	if (strcmp(name, "all") != 0 && rama_alert_rule_find(&c->site, name) == NULL)
		rama_cli_opts_usage(&c->o, "no alert is called '%s'; --rules lists them, or all",
				    name);
	if (me == NULL) {
		rama_cli_complain("alert", "nobody knows your name");
		return 4;
	}
	status = rama_cli_store_here(&c->store, &c->o, RAMA_TAB_OPT_alert_store, RAMA_STORE_WRITE);
	if (status != 0)
		return status;
	if (rama_store_notice_off(c->store, me->pw_name, strcmp(name, "all") == 0 ? "*" : name, off,
				  &e) != 0)
		return failed("alert", &e);
	return 0;
}

static int rules(const struct command *c)
{
	for (unsigned i = 0; i < c->site.n; i++) {
		const struct rama_alert_rule *r = &c->site.rule[i];

		printf("%s%s\n    to %s, once a %s\n    where %s\n    %s\n", r->name,
		       r->on ? "" : " (off)", r->staff ? "staff" : "the user of the job",
		       r->day ? "day" : "week", r->where, r->title);
	}
	return 0;
}

int rama_cli_cmd_alert(int argc, char **argv)
{
	struct command c = { .store = NULL };
	struct rama_err e = { 0 };
	const char *file, *off, *on;
	int status = 0;

	rama_cli_opts_parse(&c.o, RAMA_TAB_CMD_alert, argc, argv);
	if (c.o.n_args > 0)
		rama_cli_opts_usage(&c.o, "it takes no arguments, such as '%s'", c.o.args[0]);
	c.quiet = rama_cli_opts_has(&c.o, RAMA_TAB_OPT_alert_quiet);
	file = rama_cli_opts_value(&c.o, RAMA_TAB_OPT_alert_alerts);
	off = rama_cli_opts_value(&c.o, RAMA_TAB_OPT_alert_off);
	on = rama_cli_opts_value(&c.o, RAMA_TAB_OPT_alert_on);
	if (rama_alert_site_init(&c.site, &e) != 0 ||
	    (file != NULL && rama_alert_site_load(&c.site, file, &e) != 0))
		status = failed("alert", &e);
	else if (rama_cli_opts_has(&c.o, RAMA_TAB_OPT_alert_rules))
		status = rules(&c);
	else if (rama_cli_opts_has(&c.o, RAMA_TAB_OPT_alert_list))
		status = list(&c);
	else if (off != NULL || on != NULL)
		status = want(&c, off != NULL ? off : on, off != NULL);
	else
		status = run(&c);
	rama_store_close(c.store);
	rama_alert_site_fini(&c.site);
	rama_cli_opts_fini(&c.o);
	return status;
}
