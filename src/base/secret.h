/* SPDX-License-Identifier: BSD-3-Clause */
/* secret.h: passwords in words of a command line, which everybody on a machine can read. */
#ifndef RAMA_BASE_SECRET_H
#define RAMA_BASE_SECRET_H

/* Writes over what is secret in the URLs of a text: user:PASSWORD@ and password=PASSWORD. */
void rama_secret_hide(char *text);
/* Words are copied, and what is secret in the old ones is written over. */
void rama_secret_hide_words(int n, char **words);

#endif
