/* SPDX-License-Identifier: BSD-3-Clause */
/* browser.h: a page opened for whoever sits in front of this machine. */
#ifndef RAMA_LAUNCH_BROWSER_H
#define RAMA_LAUNCH_BROWSER_H

#include <stdbool.h>

/* Is this a session with a screen that we were started in by hand, and is there a browser? */
bool rama_launch_browser_there(void);
/* Opens an address that nobody else may see, by way of the file `path`, which only its owner can
 * read: what a command is started with all users can. false: it could not be. */
bool rama_launch_browser_open(const char *path, const char *address);

#endif
