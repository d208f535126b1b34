/* SPDX-License-Identifier: BSD-3-Clause */
/* site.c: the rows of table/alerts.def and what a site makes of them. Files are INI, read by
 * libinih; what is wrong in one is told with its line. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alert/inside.h"
#include "base/ini.h"
#include "base/without.h"

static const struct rama_alert_rule rules[] = {
#define USER false
#define STAFF true
#define WEEK false
#define DAY true
#define ALERT(name, who, every, where, value, rule, title, advice) \
	{ #name, where, value, rule, title, advice, who, every, true },
#include "table/alerts.def"
#undef ALERT
#undef USER
#undef STAFF
#undef WEEK
#undef DAY
};

int rama_alert_site_init(struct rama_alert_site *site, struct rama_err *e)
{
	(void)e;
	*site = (struct rama_alert_site){
		.n = sizeof(rules) / sizeof(rules[0]),
		.sendmail = "/usr/sbin/sendmail",
		.from = "iorama",
		.to = "%u",
		.staff = "",
		.portal = "",
		.hook = "",
		.secret = "",
		.day_last = 6,
		.hour_last = 24,
	};
	memcpy(site->rule, rules, sizeof(rules));
	return 0;
}

void rama_alert_site_fini(struct rama_alert_site *site)
{
	rama_arena_fini(&site->text);
	*site = (struct rama_alert_site){ 0 };
}

const struct rama_alert_rule *rama_alert_rule_find(const struct rama_alert_site *site,
						   const char *name)
{
	for (unsigned i = 0; i < site->n; i++)
		if (strcmp(site->rule[i].name, name) == 0)
			return &site->rule[i];
	return NULL;
}

#ifdef RAMA_WITHOUT_INIH
int rama_alert_site_read(struct rama_alert_site *site, FILE *f, const char *name,
			 struct rama_err *e)
{
	(void)site, (void)f, (void)name;
	return rama_err_without(e, "a reader of files of alerts (inih)");
}
#else
/* ---- values ---------------------------------------------------------------------------------- */

struct reading {
	struct rama_ini ini;
	struct rama_alert_site *site;
};

static int bad(struct reading *r, const char *what, const char *value)
{
	r->ini.rc = rama_err_set(r->ini.e, RAMA_EFORMAT, "%s: line %d: %s, not '%.80s'",
				 r->ini.name, r->ini.line, what, value);
	return r->ini.rc;
}

static int keep(struct reading *r, const char **to, const char *value)
{
	char *text = rama_arena_text(&r->site->text, value, strlen(value));

	if (text == NULL)
		return r->ini.rc = rama_err_no_memory(r->ini.e);
	*to = text;
	return 0;
}

/* what may stand in a header: no control characters, and no letters that need a code */
static bool is_plain(const char *s)
{
	if (strlen(s) > 200)
		return false;
	for (; *s != '\0'; s++)
		if (*s < 0x20 || *s > 0x7e)
			return false;
	return true;
}

/* an address, or a name that the machine knows; several with commas between them */
static bool is_address(const char *s, bool several)
{
	return is_plain(s) && *s != '\0' && *s != '-' &&
	       strspn(s, several ? "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				   ".!#$%&*+-/=?^_{|}~@, "
				 : "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				   ".!#$%&*+-/=?^_{|}~@") == strlen(s);
}

static bool is_web(const char *s)
{
	return is_plain(s) && strpbrk(s, " <>\"") == NULL &&
	       (strncmp(s, "http://", 7) == 0 || strncmp(s, "https://", 8) == 0);
}

static int set_flag(struct reading *r, bool *to, const char *value)
{
	if (strcmp(value, "yes") != 0 && strcmp(value, "no") != 0)
		return bad(r, "yes or no is asked for", value);
	*to = strcmp(value, "yes") == 0;
	return 0;
}

static int day_of(const char *s, size_t n)
{
	static const char *const day[] = { "mon", "tue", "wed", "thu", "fri", "sat", "sun" };

	for (int i = 0; i < 7; i++)
		if (n == 3 && strncmp(s, day[i], 3) == 0)
			return i;
	return -1;
}

/* "mon-fri 8-18" */
static int set_hours(struct reading *r, const char *value)
{
	struct rama_alert_site *site = r->site;
	const char *dash = strchr(value, '-'), *blank = strchr(value, ' ');
	int first, last, at = -1;
	unsigned from, to;

	first = dash != NULL ? day_of(value, (size_t)(dash - value)) : -1;
	last = dash != NULL && blank != NULL && blank > dash
		       ? day_of(dash + 1, (size_t)(blank - dash - 1))
		       : -1;
	if (first < 0 || last < first || sscanf(blank + 1, "%2u-%2u%n", &from, &to, &at) != 2 ||
	    blank[1 + at] != '\0' || from >= to || to > 24)
		return bad(r, "days and hours are such as mon-fri 8-18", value);
	site->day_first = (unsigned)first, site->day_last = (unsigned)last;
	site->hour_first = from, site->hour_last = to;
	return 0;
}

/* only its owner may read it */
static int set_secret(struct reading *r, const char *path)
{
	char text[257];
	struct stat st;
	ssize_t n;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return r->ini.rc = rama_err_set(r->ini.e, RAMA_EIO, "%s: line %d: %.200s: %s",
						r->ini.name, r->ini.line, path, strerror(errno));
	n = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? read(fd, text, sizeof(text) - 1) : -1;
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	text[strcspn(text, "\r\n")] = '\0';
	if (n < 0 || (st.st_mode & 077) != 0 || strlen(text) < 8)
		return bad(r, "a file of at least 8 characters that only its owner can read", path);
	return keep(r, &r->site->secret, text);
}

/* ---- lines ----------------------------------------------------------------------------------- */

static int set_mail(struct reading *r, const char *name, const char *value)
{
	struct rama_alert_site *site = r->site;

	if (strcmp(name, "hours") == 0)
		return set_hours(r, value);
	if (strcmp(name, "sendmail") == 0)
		return *value == '/' ? keep(r, &site->sendmail, value)
				     : bad(r, "a path that begins with /", value);
	if (strcmp(name, "portal") == 0)
		return is_web(value) ? keep(r, &site->portal, value)
				     : bad(r, "an address that begins with https://", value);
	if (strcmp(name, "from") == 0)
		return is_address(value, false) ? keep(r, &site->from, value)
						: bad(r, "an address of mail", value);
	if (strcmp(name, "to") == 0)
		return is_address(value, false) && strstr(value, "%u") != NULL
			       ? keep(r, &site->to, value)
			       : bad(r, "an address with %u for the user", value);
	if (strcmp(name, "staff") == 0)
		return is_address(value, true) ? keep(r, &site->staff, value)
					       : bad(r, "addresses of mail", value);
	return bad(r, "[mail] has sendmail, from, to, staff, portal and hours", name);
}

static int set_hook(struct reading *r, const char *name, const char *value)
{
	if (strcmp(name, "url") == 0)
		return is_web(value) ? keep(r, &r->site->hook, value)
				     : bad(r, "an address that begins with https://", value);
	if (strcmp(name, "secret") == 0)
		return set_secret(r, value);
	if (strcmp(name, "inside") == 0)
		return set_flag(r, &r->site->inside, value);
	return bad(r, "[webhook] has url, secret and inside", name);
}

/* a new one is one of staff, until it says otherwise */
static struct rama_alert_rule *rule_of(struct reading *r, const char *name)
{
	struct rama_alert_site *site = r->site;
	struct rama_alert_rule *rule =
		(struct rama_alert_rule *)(uintptr_t)rama_alert_rule_find(site, name);
	size_t n = strlen(name);

	if (rule != NULL)
		return rule;
	if (site->n == RAMA_ALERT_RULES || n == 0 || n > 40 ||
	    strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") != n) {
		bad(r, "the name of an alert has small letters, digits and _", name);
		return NULL;
	}
	rule = &site->rule[site->n];
	*rule = (struct rama_alert_rule){
		.where = "finding high",
		.value = "node_cost",
		.rule = "",
		.title = "jobs that the site looks for",
		.advice = "iorama report shows what is slow, and what to change.",
		.staff = true,
		.on = true
	};
	if (keep(r, &rule->name, name) != 0)
		return NULL;
	site->n++;
	return rule;
}

static int set_alert(struct reading *r, const char *alert, const char *name, const char *value)
{
	struct rama_alert_rule *rule = rule_of(r, alert);
	struct rama_query_alert q;
	struct rama_err why = { 0 };
	int rc = 0;

	if (rule == NULL)
		return r->ini.rc;
	if (strcmp(name, "on") == 0)
		return set_flag(r, &rule->on, value);
	if (strcmp(name, "who") == 0) {
		rule->staff = strcmp(value, "staff") == 0;
		return rule->staff || strcmp(value, "user") == 0 ? 0
								 : bad(r, "user or staff", value);
	}
	if (strcmp(name, "every") == 0) {
		rule->day = strcmp(value, "day") == 0;
		return rule->day || strcmp(value, "week") == 0 ? 0 : bad(r, "week or day", value);
	}
	if (strcmp(name, "title") == 0 || strcmp(name, "advice") == 0)
		return is_plain(value) ? keep(r, *name == 't' ? &rule->title : &rule->advice, value)
				       : bad(r, "plain text of at most 200 letters", value);
	if (strcmp(name, "rule") == 0)
		return keep(r, &rule->rule, value);
	if (strcmp(name, "where") != 0 && strcmp(name, "figure") != 0)
		return bad(r, "alerts have on, who, every, where, figure, rule, title and advice",
			   name);
	rc = keep(r, *name == 'w' ? &rule->where : &rule->value, value);
	q = (struct rama_query_alert){ .where = rule->where, .value = rule->value };
	if (rc == 0 && rama_query_alert_check(&q, &why) != 0)
		r->ini.rc = rama_err_set(r->ini.e, RAMA_EFORMAT, "%s: line %d: %.300s", r->ini.name,
					 r->ini.line, why.text);
	return r->ini.rc;
}

/* libinih: 0 is an error */
static int on_value(void *ctx, const char *section, const char *name, const char *value)
{
	struct reading *r = ctx;

	if (r->ini.rc != 0)
		return 1;
	if (strcmp(section, "mail") == 0)
		set_mail(r, name, value);
	else if (strcmp(section, "webhook") == 0)
		set_hook(r, name, value);
	else if (strncmp(section, "alert ", 6) == 0)
		set_alert(r, section + 6, name, value);
	else
		bad(r, "sections are [mail], [webhook] and [alert NAME]", section);
	return 1;
}

int rama_alert_site_read(struct rama_alert_site *site, FILE *f, const char *name,
			 struct rama_err *e)
{
	struct reading r = { .ini = { .name = name, .e = e, .file = f }, .site = site };

	return rama_ini_read(&r.ini, on_value, "[section]");
}
#endif

int rama_alert_site_load(struct rama_alert_site *site, const char *path, struct rama_err *e)
{
	FILE *f = fopen(path, "re");
	int rc;

	if (f == NULL)
		return rama_err_set(e, RAMA_EMISSING, "%.300s: %s", path, strerror(errno));
	rc = rama_alert_site_read(site, f, path, e);
	fclose(f);
	return rc;
}
