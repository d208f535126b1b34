/* SPDX-License-Identifier: BSD-3-Clause */
/* text.h: characters of texts that come from outside. */
#ifndef RAMA_BASE_FORM_TEXT_H
#define RAMA_BASE_FORM_TEXT_H

#define RAMA_TEXT_MARK "\xef\xbf\xbd" /* U+FFFD: stands for what may not be shown */

/* Length of the UTF-8 character at s; 0: it is none, or one that controls terminals, turns text
 * around or is not allowed in XML. */
unsigned rama_text_sound(const char *s);
unsigned rama_text_width(const char *s); /* characters, not bytes */
/* what stands for the character of n bytes at s where there is no UTF-8 */
const char *rama_text_ascii(const char *s, unsigned n);
/* In place: what is not sound becomes '?'. Ends of lines and tabs stay. */
void rama_text_tame(char *s);

#endif
