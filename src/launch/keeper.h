/* SPDX-License-Identifier: BSD-3-Clause */
/* keeper.h: a process in the background that waits for our end, to put in order what we would leave
 * behind if we were killed. */
#ifndef RAMA_LAUNCH_KEEPER_H
#define RAMA_LAUNCH_KEEPER_H

/* let_go is called there, if rama_launch_keeper_end() was not called before we ended. A descriptor,
 * which ends with us; 0: there is none. */
int rama_launch_keeper_start(void (*let_go)(void *arg), void *arg);
void rama_launch_keeper_end(int keeper);

#endif
