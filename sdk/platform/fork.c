/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fork generation.
 *
 * States of `page`: NULL (never asked in this process or its ancestors), a mapping that the kernel
 * wipes on fork, or `by_pid` where it would not. The generation in a wiped mapping is 0 in a new child:
 * the first who asks takes the next number and installs it by compare-and-swap; who loses takes the
 * winner's. `last` is raised before the number is installed, so that a child that is forked in between
 * cannot take the same one. Closing: none, the page stays for the life of the process.
 */
#include "sdk/platform/fork.h"

#include "sdk/platform/atomics.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct fork_page {
    _Atomic uint32_t generation; /* 0: wiped */
} fork_page;

static _Atomic(fork_page *) page;
static fork_page by_pid; /* its generation stays 0: every look takes the slow way */
static _Atomic uint32_t last = 1;
/* In by_pid mode: process id in the upper half, its generation in the lower. */
static _Atomic uint64_t pid_and_generation;

static bool kernel_wipes(void *memory, size_t size) {
#ifdef MADV_WIPEONFORK
    /* Emulators that ignore madvise() say yes to everything, to an advice that does not exist too. */
    return madvise(memory, size, -1) != 0 && madvise(memory, size, MADV_WIPEONFORK) == 0;
#else
    (void)memory;
    (void)size;
    return false;
#endif
}

static fork_page *page_make(void) {
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    fork_page *made = &by_pid;
    if (memory != MAP_FAILED) {
        if (kernel_wipes(memory, size)) {
            made = memory;
            sp_store_relaxed(&made->generation, 1);
        } else {
            munmap(memory, size);
        }
    }
    if (made == &by_pid) {
        uint64_t none = 0;
        sp_cas_acq_rel(&pid_and_generation, &none, ((uint64_t)getpid() << 32) | 1);
    }
    /* Release: publishes the generation in the page; pairs with the acquire in sp_fork_generation. */
    fork_page *present = NULL;
    if (!sp_cas_acq_rel(&page, &present, made)) {
        if (made != &by_pid) {
            munmap(memory, size);
        }
        made = present;
    }
    return made;
}

static uint32_t generation_by_pid(void) {
    uint64_t pid = (uint64_t)getpid();
    uint64_t known = sp_load_acquire(&pid_and_generation);
    while (known >> 32 != pid) {
        uint32_t next = sp_add_acq_rel(&last, 1) + 1;
        uint64_t wanted = (pid << 32) | next;
        if (sp_cas_acq_rel(&pid_and_generation, &known, wanted)) {
            return next;
        }
    }
    return (uint32_t)known;
}

static SP_COLD uint32_t generation_slowly(void) {
    int saved = errno;
    fork_page *present = sp_load_acquire(&page);
    if (!present) {
        present = page_make();
    }
    uint32_t generation = sp_load_acquire(&present->generation);
    if (present == &by_pid) {
        generation = generation_by_pid();
    } else if (generation == 0) {
        uint32_t next = sp_add_acq_rel(&last, 1) + 1;
        if (sp_cas_acq_rel(&present->generation, &generation, next)) {
            generation = next;
        }
    }
    errno = saved;
    return generation;
}

uint32_t sp_fork_generation(void) {
    fork_page *present = sp_load_acquire(&page);
    if (SP_LIKELY(present != NULL)) {
        /* Relaxed: the number alone matters, it publishes nothing. */
        uint32_t generation = sp_load_relaxed(&present->generation);
        if (SP_LIKELY(generation != 0)) {
            return generation;
        }
    }
    return generation_slowly();
}
