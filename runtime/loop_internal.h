/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The libuv side of the runtime, for the files of this folder that watch descriptors themselves. Loop
 * thread alone: a uv_loop_t belongs to the thread that runs it.
 *
 * A handle that is put on the loop must be closed (uv_close) before the last use of the runtime is
 * released: the stop closes what is left over, and does not free it.
 */
#ifndef SPOOL_RUNTIME_LOOP_INTERNAL_H
#define SPOOL_RUNTIME_LOOP_INTERNAL_H

#include "runtime/loop.h"

#include <uv.h>

/* The loop; valid as long as the caller holds a use of the runtime. */
uv_loop_t *sp_runtime_uv(sp_runtime *runtime);

#endif /* SPOOL_RUNTIME_LOOP_INTERNAL_H */
