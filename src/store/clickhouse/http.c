/* SPDX-License-Identifier: BSD-3-Clause */
/* http.c: questions to servers of ClickHouse, by libcurl. No redirects, no proxy, only
 * HTTP; answers have a limit; passwords come from ~/.netrc. */
#include <curl/curl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/now.h"
#include "store/clickhouse/clickhouse.h"

#define ANSWER_MOST (256u << 20)
#define CONNECT_MS 3000L

struct rama_store_ch_http {
	struct rama_store_ch_url url;
	CURL *curl;
	struct rama_out answer;
	bool too_long;
	unsigned first[RAMA_STORE_CH_HOSTS]; /* host that answered last, of each shard */
};

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void begin(void)
{
	curl_global_init(CURL_GLOBAL_DEFAULT);
}

int rama_store_ch_http_open(struct rama_store_ch_http **to, const struct rama_store_ch_url *u,
			    struct rama_err *e)
{
	struct rama_store_ch_http *h = calloc(1, sizeof(*h));

	pthread_once(&once, begin);
	if (h != NULL)
		h->curl = curl_easy_init();
	if (h == NULL || h->curl == NULL) {
		free(h);
		return rama_err_no_memory(e);
	}
	h->url = *u;
	rama_out_init(&h->answer, NULL, NULL);
	for (unsigned i = u->n_hosts; i > 0; i--)
		h->first[u->host[i - 1].shard] = i - 1;
	*to = h;
	return 0;
}

void rama_store_ch_http_close(struct rama_store_ch_http *h)
{
	if (h == NULL)
		return;
	curl_easy_cleanup(h->curl);
	rama_out_fini(&h->answer);
	free(h);
}

const unsigned char *rama_store_ch_answer(const struct rama_store_ch_http *h, size_t *n)
{
	*n = h->answer.used;
	return (const unsigned char *)h->answer.buf;
}

static size_t take(char *p, size_t size, size_t n, void *ctx)
{
	struct rama_store_ch_http *h = ctx;

	h->too_long = h->too_long || size * n > ANSWER_MOST - h->answer.used;
	if (h->too_long)
		return 0;
	rama_out_bytes(&h->answer, p, size * n);
	return h->answer.error == 0 ? size * n : 0;
}

/* ---- one question ---------------------------------------------------------------------------- */

/* Where the statement is the body, or its data are. */
static int set_url(struct rama_store_ch_http *h, const struct rama_store_ch_host *host,
		   const struct rama_store_ch_question *q, struct rama_err *e)
{
	char *sql = q->data != NULL ? curl_easy_escape(h->curl, q->sql, 0) : NULL;
	struct rama_out url;
	int rc;

	rama_out_init(&url, NULL, NULL);
	/* a user who is set by an option is not looked for in ~/.netrc */
	rama_out_fmt(&url, "%s://%s%s%s:%u/?wait_end_of_query=1%s", h->url.tls ? "https" : "http",
		     h->url.user, h->url.user[0] != '\0' ? "@" : "", host->name, host->port,
		     q->settings);
	if (sql != NULL)
		rama_out_fmt(&url, "&query=%s", sql);
	rama_out_char(&url, '\0');
	rc = url.error != 0 || (q->data != NULL && sql == NULL) ? rama_err_no_memory(e) : 0;
	if (rc == 0)
		curl_easy_setopt(h->curl, CURLOPT_URL, url.buf);
	rama_out_fini(&url);
	curl_free(sql);
	return rc;
}

static void prepare(struct rama_store_ch_http *h, const struct rama_store_ch_question *q,
		    struct curl_slist *headers)
{
	CURL *c = h->curl;

	curl_easy_setopt(c, CURLOPT_POST, 1L);
	curl_easy_setopt(c, CURLOPT_POSTFIELDS, q->data != NULL ? q->data : q->sql);
	curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE_LARGE,
			 (curl_off_t)(q->data != NULL ? q->n : strlen(q->sql)));
	curl_easy_setopt(c, CURLOPT_HTTPHEADER, headers);
	curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 0L);
#if LIBCURL_VERSION_NUM >= 0x075500
	curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
#else
	curl_easy_setopt(c, CURLOPT_PROTOCOLS, CURLPROTO_HTTP | CURLPROTO_HTTPS);
#endif
	curl_easy_setopt(c, CURLOPT_PROXY, "");
	curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS);
	curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, (long)q->patience_ms);
	curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, take);
	curl_easy_setopt(c, CURLOPT_WRITEDATA, h);
	curl_easy_setopt(c, CURLOPT_USERAGENT, "iorama/" IORAMA_BUILD_VERSION);
	curl_easy_setopt(c, CURLOPT_NETRC, (long)CURL_NETRC_OPTIONAL);
}

/* errors by which the same question fails for ever: syntax, names, rights */
static bool is_final(long code)
{
	static const short final[] = { 6,   16,	 36,  47,  53,	60,  62,  81,  82, 115,
				       164, 192, 193, 194, 195, 241, 291, 497, 516 };

	for (size_t i = 0; i < sizeof(final) / sizeof(final[0]); i++)
		if (code == final[i])
			return true;
	return false;
}

/* the first line of what a server says, without what a terminal would act on */
static int refused(struct rama_store_ch_http *h, const struct rama_store_ch_host *host, long status,
		   struct rama_err *e)
{
	char line[240];
	size_t n = h->answer.used < sizeof(line) - 1 ? h->answer.used : sizeof(line) - 1;
	long code = 0;

	memcpy(line, h->answer.buf != NULL ? h->answer.buf : "", n);
	line[n] = '\0';
	line[strcspn(line, "\n")] = '\0';
	for (char *p = line; *p != '\0'; p++)
		if ((unsigned char)*p < ' ' || (unsigned char)*p > '~')
			*p = '?';
	if (strncmp(line, "Code: ", 6) == 0)
		code = strtol(line + 6, NULL, 10);
	return rama_err_set(
		e, is_final(code) || status == 401 || status == 403 ? RAMA_EUSAGE : RAMA_EIO,
		"clickhouse %s:%u: %s%s", host->name, host->port,
		*line != '\0' ? line : "it refuses, without a word",
		code == 60 || code == 81 ? " (iorama store upgrade --events makes tables)" : "");
}

int rama_store_ch_ask_host(struct rama_store_ch_http *h, unsigned i,
			   const struct rama_store_ch_question *q, struct rama_err *e)
{
	const struct rama_store_ch_host *host = &h->url.host[i];
	/* no wait for permission to send */
	struct curl_slist *headers = curl_slist_append(NULL, "Expect:");
	long status = 0;
	CURLcode code;
	int rc;

	rama_out_fini(&h->answer);
	rama_out_init(&h->answer, NULL, NULL);
	h->too_long = false;
	rc = headers != NULL ? set_url(h, host, q, e) : rama_err_no_memory(e);
	if (rc != 0) {
		curl_slist_free_all(headers);
		return rc;
	}
	prepare(h, q, headers);
	code = curl_easy_perform(h->curl);
	curl_easy_setopt(h->curl, CURLOPT_HTTPHEADER, NULL);
	curl_slist_free_all(headers);
	curl_easy_getinfo(h->curl, CURLINFO_RESPONSE_CODE, &status);
	if (h->too_long)
		return rama_err_set(e, RAMA_ECORRUPT,
				    "clickhouse %s:%u: an answer of more than %u MiB", host->name,
				    host->port, ANSWER_MOST >> 20);
	if (code != CURLE_OK)
		return rama_err_set(e, RAMA_EIO, "clickhouse %s:%u: %s", host->name, host->port,
				    curl_easy_strerror(code));
	return status == 200 ? 0 : refused(h, host, status, e);
}

/* each once */
static int ask_all(struct rama_store_ch_http *h, unsigned shard,
		   const struct rama_store_ch_question *q, struct rama_err *e)
{
	unsigned begin_at = h->first[shard], i = begin_at;
	struct rama_err first = { 0 };
	int rc;

	do {
		rc = rama_store_ch_ask_host(h, i, q, e);
		if (rc == 0)
			h->first[shard] = i;
		if (rc != RAMA_EIO)
			return rc;
		if (first.code == 0)
			first = *e;
		do
			i = (i + 1) % h->url.n_hosts;
		while (h->url.host[i].shard != shard);
	} while (i != begin_at);
	if (e != NULL)
		*e = first; /* what the one said that should have answered */
	return rc;
}

int rama_store_ch_ask(struct rama_store_ch_http *h, unsigned shard,
		      const struct rama_store_ch_question *q, struct rama_err *e)
{
	int64_t end = rama_now_ms() + q->again_ms;
	int rc;

	for (;;) {
		rc = ask_all(h, shard, q, e);
		/* where there are copies, some of them find each other again soon */
		if (rc != RAMA_EIO || rama_now_ms() > end ||
		    rama_store_ch_copies(&h->url, shard) < 2)
			return rc;
		nanosleep(&(struct timespec){ .tv_nsec = 250000000 }, NULL);
	}
}
