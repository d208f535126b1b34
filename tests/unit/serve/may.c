/* SPDX-License-Identifier: BSD-3-Clause */
/* who sees what, by groups that are made up; tokens, cookies, and how often one may ask */
#include "unit.h"

#include <grp.h>

#include "serve/may.h"
#include "serve/who.h"

/* in place of the system's */
int getgrnam_r(const char *name, struct group *to, char *room, size_t n, struct group **found)
{
	static char *physics[] = { "ada", "phil", NULL }, *staffers[] = { "eve", NULL };
	bool is_physics = strcmp(name, "physics") == 0;

	(void)room, (void)n;
	*found = NULL;
	if (!is_physics && strcmp(name, "staffers") != 0)
		return 0;
	*to = (struct group){ .gr_gid = 987654, .gr_mem = is_physics ? physics : staffers };
	*found = to;
	return 0;
}

static const char *const staff[] = { "@staffers", "root2", "@none" };
static const char *const projects[] = { "physics", "none" };
static struct rama_serve_options site = {
	.staff = staff, .n_staff = 3, .projects = projects, .n_projects = 2
};

static void sees(const char *name, bool master, enum rama_serve_role role, const char *whose)
{
	static const char *const all[] = { "ada", "bob", "phil", "eve", "" };
	struct rama_serve_viewer v;

	assert_int_equal(rama_serve_viewer_init(&v, &site, name, master), 0);
	assert_int_equal(v.role, role);
	for (size_t i = 0; i < LENGTH(all); i++) {
		bool want = strcmp(whose, "*") == 0 ||
			    (*all[i] != '\0' && strstr(whose, all[i]) != NULL);

		if (rama_serve_may_see(&v, all[i]) != want)
			fail_msg("%s and the jobs of '%s'", name != NULL ? name : "nobody", all[i]);
	}
	rama_serve_viewer_fini(&v);
}

static void roles(void **state)
{
	(void)state;
	sees(NULL, false, RAMA_SERVE_ROLE_nobody, "");
	sees("", false, RAMA_SERVE_ROLE_nobody, "");
	sees("bob", false, RAMA_SERVE_ROLE_user, "bob");
	sees("bob", true, RAMA_SERVE_ROLE_staff, "*");
	sees("ada", false, RAMA_SERVE_ROLE_project, "ada,phil");
	sees("phil", false, RAMA_SERVE_ROLE_project, "ada,phil");
	sees("eve", false, RAMA_SERVE_ROLE_staff, "*");
	sees("root2", false, RAMA_SERVE_ROLE_staff, "*");
	sees("@staffers", false, RAMA_SERVE_ROLE_user, "");
	site.open = true;
	sees(NULL, false, RAMA_SERVE_ROLE_public, "");
	site.open = false;
}

#define RIGHT "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void tokens(void **state)
{
	struct rama_serve_options o = { .token = RIGHT, .user = "me" };
	struct rama_serve_who_is *w = malloc(sizeof(*w));
	struct rama_serve_request r = { .method = RAMA_SERVE_GET };
	struct rama_serve_peer peer = { .address = "10.0.0.1" };
	char id[RAMA_SERVE_SECRET], cookie[128], name[RAMA_SERVE_NAME];
	struct rama_err e = { 0 };
	bool master;

	(void)state;
	assert_int_equal(rama_serve_who_init(w, &o, &e), 0);
	for (unsigned i = 0; i < 7; i++)
		assert_int_equal(rama_serve_who_login(w, &o, i % 2 ? RIGHT "0" : "", "a", id),
				 i < 5 ? 401 : 429);
	assert_int_equal(rama_serve_who_login(w, &o, "x", "b", id), 401);
	o.token = ""; /* no token at all is nobody's */
	assert_int_equal(rama_serve_who_login(w, &o, "", "c", id), 401);
	o.token = RIGHT;
	assert_int_equal(rama_serve_who_login(w, &o, RIGHT, "a", id), 0);
	snprintf(cookie, sizeof(cookie), "iorama_session=%s", id);
	r.header[RAMA_SERVE_COOKIE] = cookie;
	assert_int_equal(rama_serve_who_find(w, &o, &r, &peer, name, sizeof(name), &master), 0);
	assert_true(master);
	assert_string_equal(name, "me");
	rama_serve_who_logout(w, id);
	assert_int_equal(rama_serve_who_find(w, &o, &r, &peer, name, sizeof(name), &master), 0);
	assert_true(!master && name[0] == '\0');
	/* a session ends by itself */
	assert_int_equal(rama_serve_who_login(w, &o, RIGHT, "a", id), 0);
	snprintf(cookie, sizeof(cookie), "iorama_session=%s", id);
	assert_int_equal(rama_serve_who_find(w, &o, &r, &peer, name, sizeof(name), &master), 0);
	assert_true(master);
	w->session[0].until = 1;
	assert_int_equal(rama_serve_who_find(w, &o, &r, &peer, name, sizeof(name), &master), 0);
	assert_false(master);
	r.header[RAMA_SERVE_COOKIE] = "iorama_session="; /* that of a free place */
	rama_serve_who_find(w, &o, &r, &peer, name, sizeof(name), &master);
	assert_false(master);
	r.header[RAMA_SERVE_AUTHORIZATION] = "Bearer " RIGHT;
	rama_serve_who_find(w, &o, &r, &peer, name, sizeof(name), &master);
	assert_true(master);
	/* what a proxy says is believed at the socket, of who may say it */
	r.remote_user = "ada";
	assert_int_equal(rama_serve_who_find(w, &o, &r, &peer, name, sizeof(name), &master), 400);
	peer.local = true;
	peer.uid = w->own + 1;
	assert_int_equal(rama_serve_who_find(w, &o, &r, &peer, name, sizeof(name), &master), 400);
	peer.uid = w->own;
	assert_int_equal(rama_serve_who_find(w, &o, &r, &peer, name, sizeof(name), &master), 0);
	assert_true(!master && strcmp(name, "ada") == 0);
	rama_serve_who_fini(w);
	free(w);
}

static void rates(void **state)
{
	struct rama_serve_options o = { .token = RIGHT };
	struct rama_serve_who_is *w = malloc(sizeof(*w));
	struct rama_err e = { 0 };
	unsigned n = 0;

	(void)state;
	assert_int_equal(rama_serve_who_init(w, &o, &e), 0);
	while (n < 1000 && rama_serve_who_rate(w, "ada", 1))
		n++;
	assert_in_range(n, 2, 100); /* two, and what a slow machine's seconds bring */
	assert_true(rama_serve_who_rate(w, "bob", 1));
	for (n = 0; n < 1000; n++)
		assert_true(rama_serve_who_rate(w, "carl", 0));
	rama_serve_who_fini(w);
	free(w);
}

UNIT_GROUP(may, test(roles), test(tokens), test(rates))
