/* SPDX-License-Identifier: BSD-3-Clause */
/* status.h: what an agent says of itself, once a second, in the file status.json of its spool. */
#ifndef RAMA_AGENT_STATUS_H
#define RAMA_AGENT_STATUS_H

#define RAMA_AGENT_STATUS_FILE "status.json"

#endif
