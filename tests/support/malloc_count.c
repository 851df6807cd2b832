/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The counting allocator of tests. It takes libc's place by defining the same names in the program and
 * passes every call on: to glibc's __libc_ entry points, elsewhere to the next definition (dlsym). The
 * thread's counter is in the program's own TLS, which needs no allocation to reach.
 *
 * With SPT_MALLOC_COUNT_THREADS_ONLY the totals of the process stay zero: a benchmark that counts would
 * otherwise charge an atomic addition to each allocation.
 *
 * A sanitizer's allocator must not be replaced, or it would see no memory at all; there its own
 * malloc hook counts.
 */
#include "tests/support/malloc_count.h"

#include "tests/support/spt.h"

#include <stdatomic.h>
#include <stddef.h>

static _Thread_local uint64_t mallocs_of_thread;
static _Thread_local uint64_t mmaps_of_thread;
static _Atomic uint64_t mallocs_of_process;
static _Atomic uint64_t mmaps_of_process;

static void count_malloc(void) {
    mallocs_of_thread++;
#ifndef SPT_MALLOC_COUNT_THREADS_ONLY
    /* Relaxed: a count that is read at quiet points; nothing is published by it. */
    atomic_fetch_add_explicit(&mallocs_of_process, 1, memory_order_relaxed);
#endif
}

uint64_t spt_mallocs_of_thread(void) {
    return mallocs_of_thread;
}

uint64_t spt_mallocs_of_process(void) {
    return atomic_load_explicit(&mallocs_of_process, memory_order_relaxed);
}

uint64_t spt_mmaps_of_thread(void) {
    return mmaps_of_thread;
}

uint64_t spt_mmaps_of_process(void) {
    return atomic_load_explicit(&mmaps_of_process, memory_order_relaxed);
}

#if SPT_ASAN || SPT_TSAN

/* The runtime of both compilers has it; gcc 12 installs no header that declares it. */
int __sanitizer_install_malloc_and_free_hooks(void (*malloc_hook)(const volatile void *, size_t),
                                              void (*free_hook)(const volatile void *));

static void on_malloc(const volatile void *memory, size_t size) {
    (void)memory;
    (void)size;
    count_malloc();
}

static void on_free(const volatile void *memory) {
    (void)memory;
}

__attribute__((constructor)) static void install_hooks(void) {
    __sanitizer_install_malloc_and_free_hooks(on_malloc, on_free);
}

#else

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef __GLIBC__

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *memory);
#define next_malloc __libc_malloc
#define next_calloc __libc_calloc
#define next_realloc __libc_realloc
#define next_memalign __libc_memalign
#define next_free __libc_free

#else

#include <dlfcn.h>

/* dlsym of a libc without these entry points does not allocate, so the look-up may happen at first use. */
#define NEXT(name) ((__typeof__(&(name)))dlsym(RTLD_NEXT, #name))
void *memalign(size_t alignment, size_t size);
void *malloc(size_t size);
void *calloc(size_t count, size_t size);
void *realloc(void *memory, size_t size);
void *aligned_alloc(size_t alignment, size_t size);
void free(void *memory);
#define next_malloc NEXT(malloc)
#define next_calloc NEXT(calloc)
#define next_realloc NEXT(realloc)
#define next_memalign NEXT(aligned_alloc)
#define next_free NEXT(free)

#endif

void *malloc(size_t size);
void *calloc(size_t count, size_t size);
void *realloc(void *memory, size_t size);
void *memalign(size_t alignment, size_t size);
void *aligned_alloc(size_t alignment, size_t size);
int posix_memalign(void **out_memory, size_t alignment, size_t size);
void free(void *memory);

void *malloc(size_t size) {
    count_malloc();
    return next_malloc(size);
}

void *calloc(size_t count, size_t size) {
    count_malloc();
    return next_calloc(count, size);
}

void *realloc(void *memory, size_t size) {
    count_malloc();
    return next_realloc(memory, size);
}

void *memalign(size_t alignment, size_t size) {
    count_malloc();
    return next_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    count_malloc();
    return next_memalign(alignment, size);
}

int posix_memalign(void **out_memory, size_t alignment, size_t size) {
    count_malloc();
    if (alignment % sizeof(void *) != 0 || (alignment & (alignment - 1)) != 0 || alignment == 0) {
        return EINVAL;
    }
    void *memory = next_memalign(alignment, size);
    if (!memory) {
        return ENOMEM;
    }
    *out_memory = memory;
    return 0;
}

void free(void *memory) {
    next_free(memory);
}

void *mmap(void *address, size_t length, int protection, int flags, int descriptor, off_t offset) {
    mmaps_of_thread++;
    atomic_fetch_add_explicit(&mmaps_of_process, 1, memory_order_relaxed);
    return (void *)syscall(SYS_mmap, address, length, protection, flags, descriptor, offset);
}

#endif
