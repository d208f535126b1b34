/* SPDX-License-Identifier: BSD-3-Clause */
/* hook.c: a webhook by libcurl: signed, three tries, no redirects, and nothing inside of the site
 * unless that is allowed. It is the address that a connection is made to that counts, not the name:
 * names may point anywhere. */
#include "alert/inside.h"

#ifndef RAMA_WITHOUT_LIBCURL

#include <arpa/inet.h>
#include <curl/curl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/sha256.h"

#define TRIES 3
#define PATIENCE_S 20L

static bool is_inside_4(uint32_t a)
{
	static const uint32_t net[][2] = { { 0x00000000, 8 },  { 0x0a000000, 8 },
					   { 0x64400000, 10 }, { 0x7f000000, 8 },
					   { 0xa9fe0000, 16 }, { 0xac100000, 12 },
					   { 0xc0000000, 24 }, { 0xc0a80000, 16 },
					   { 0xc6120000, 15 }, { 0xe0000000, 3 } };

	for (size_t i = 0; i < sizeof(net) / sizeof(net[0]); i++)
		if ((a ^ net[i][0]) >> (32 - net[i][1]) == 0)
			return true;
	return false;
}

static bool is_inside_6(const struct in6_addr *a)
{
	const unsigned char *b = a->s6_addr;
	uint32_t low = (uint32_t)b[12] << 24 | (uint32_t)b[13] << 16 | (uint32_t)b[14] << 8 | b[15];

	/* what holds an address of the other family is judged by that */
	if (IN6_IS_ADDR_V4MAPPED(a) || IN6_IS_ADDR_V4COMPAT(a) ||
	    memcmp(b, "\x00\x64\xff\x9b\0\0\0\0\0\0\0\0", 12) == 0)
		return is_inside_4(low);
	if (b[0] == 0x20 && b[1] == 0x02)
		return is_inside_4((uint32_t)b[2] << 24 | (uint32_t)b[3] << 16 |
				   (uint32_t)b[4] << 8 | b[5]);
	return (b[0] & 0xe0) != 0x20; /* all that is not global unicast */
}

static bool is_inside(const struct sockaddr *a)
{
	if (a->sa_family == AF_INET)
		return is_inside_4(
			ntohl(((const struct sockaddr_in *)(const void *)a)->sin_addr.s_addr));
	if (a->sa_family == AF_INET6)
		return is_inside_6(&((const struct sockaddr_in6 *)(const void *)a)->sin6_addr);
	return true;
}

struct sending {
	const struct rama_alert_site *site;
	bool refused; /* an address inside */
};

static curl_socket_t open_socket(void *ctx, curlsocktype what, struct curl_sockaddr *a)
{
	struct sending *s = ctx;

	(void)what;
	if (!s->site->inside && is_inside(&a->addr)) {
		s->refused = true;
		return CURL_SOCKET_BAD;
	}
	return socket(a->family, a->socktype | SOCK_CLOEXEC, a->protocol);
}

static size_t drop(char *p, size_t size, size_t n, void *ctx)
{
	(void)p, (void)ctx;
	return size * n;
}

static struct curl_slist *headers(const struct rama_alert_site *site, const char *delivery,
				  const char *text, size_t n)
{
	struct curl_slist *list = curl_slist_append(NULL, "Content-Type: application/json");
	char line[256], hex[2 * RAMA_SHA256 + 1];
	unsigned char digest[RAMA_SHA256];

	snprintf(line, sizeof(line), "X-Iorama-Delivery: %s", delivery);
	list = curl_slist_append(list, line);
	list = curl_slist_append(list, "Expect:");
	if (*site->secret == '\0')
		return list;
	rama_sha256_hmac(site->secret, strlen(site->secret), text, n, digest);
	rama_sha256_text(digest, hex);
	snprintf(line, sizeof(line), "X-Iorama-Signature: sha256=%s", hex);
	return curl_slist_append(list, line);
}

static void prepare(CURL *c, struct sending *s, struct curl_slist *list, const char *text, size_t n)
{
	curl_easy_setopt(c, CURLOPT_URL, s->site->hook);
	curl_easy_setopt(c, CURLOPT_HTTPHEADER, list);
	curl_easy_setopt(c, CURLOPT_POST, 1L);
	curl_easy_setopt(c, CURLOPT_POSTFIELDS, text);
	curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE, (long)n);
	curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 0L);
#if LIBCURL_VERSION_NUM >= 0x075500
	curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
#else
	curl_easy_setopt(c, CURLOPT_PROTOCOLS, CURLPROTO_HTTP | CURLPROTO_HTTPS);
#endif
	curl_easy_setopt(c, CURLOPT_PROXY, ""); /* it would be asked for any address */
	curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(c, CURLOPT_TIMEOUT, PATIENCE_S);
	curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, drop);
	curl_easy_setopt(c, CURLOPT_OPENSOCKETFUNCTION, open_socket);
	curl_easy_setopt(c, CURLOPT_OPENSOCKETDATA, s);
	curl_easy_setopt(c, CURLOPT_USERAGENT, "iorama/" IORAMA_BUILD_VERSION);
}

/* 0: it is there; 1: not, and it may be tried again; -1: not, and never will be */
static int try_once(CURL *c, const struct sending *s, struct rama_err *why)
{
	CURLcode rc = curl_easy_perform(c);
	long status = 0;

	curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &status);
	if (s->refused) {
		rama_err_set(why, RAMA_EUSAGE,
			     "webhook: an address inside of the site, which is not allowed");
		return -1;
	}
	if (rc != CURLE_OK) {
		rama_err_set(why, RAMA_EIO, "webhook: %s", curl_easy_strerror(rc));
		return rc == CURLE_UNSUPPORTED_PROTOCOL || rc == CURLE_URL_MALFORMAT ? -1 : 1;
	}
	if (status >= 200 && status < 300)
		return 0;
	rama_err_set(why, RAMA_EIO, "webhook: status %ld", status);
	return status >= 500 || status == 429 || status == 408 ? 1 : -1;
}

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void begin(void)
{
	curl_global_init(CURL_GLOBAL_DEFAULT);
}

enum rama_alert_fate rama_alert_hook_send(const struct rama_alert_site *site, const char *delivery,
					  const char *text, size_t n, struct rama_err *why)
{
	struct sending s = { .site = site };
	struct curl_slist *list;
	CURL *c;
	int rc = 1;

	pthread_once(&once, begin);
	c = curl_easy_init();
	list = headers(site, delivery, text, n);
	if (c == NULL || list == NULL) {
		rama_err_no_memory(why);
		curl_slist_free_all(list);
		curl_easy_cleanup(c);
		return RAMA_ALERT_FAILED;
	}
	prepare(c, &s, list, text, n);
	for (unsigned i = 0; rc == 1 && i < TRIES; i++) {
		if (i > 0)
			nanosleep(&(struct timespec){ .tv_sec = i }, NULL);
		rc = try_once(c, &s, why);
	}
	curl_slist_free_all(list);
	curl_easy_cleanup(c);
	return rc == 0 ? RAMA_ALERT_SENT : RAMA_ALERT_FAILED;
}

#else

enum rama_alert_fate rama_alert_hook_send(const struct rama_alert_site *site, const char *delivery,
					  const char *text, size_t n, struct rama_err *why)
{
	(void)site, (void)delivery, (void)text, (void)n;
	rama_err_set(why, RAMA_EUSAGE, "webhook: this iorama was built without libcurl");
	return RAMA_ALERT_FAILED;
}

#endif
