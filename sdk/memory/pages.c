/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pages from the kernel. LeakSanitizer follows no pointer out of a mapping unless it is told to;
 * the library keeps heap pointers in its mappings, so each is announced to it.
 */
#include "sdk/memory/pages.h"

#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#define WITH_LEAK_CHECKS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WITH_LEAK_CHECKS 1
#endif
#endif
#ifndef WITH_LEAK_CHECKS
#define WITH_LEAK_CHECKS 0
#endif
#if WITH_LEAK_CHECKS
#include <sanitizer/lsan_interface.h>
#endif

/* Smaller mappings are kept out of transparent huge pages: neighbours are merged by the kernel, and
 * one touched byte would then cost 2 MiB. */
#define HUGE_PAGE_BYTES ((size_t)2 << 20)

static size_t page_bytes(void) {
    return (size_t)sysconf(_SC_PAGESIZE);
}

static void announce(void *pages, size_t bytes) {
#if WITH_LEAK_CHECKS
    __lsan_register_root_region(pages, bytes);
#endif
    (void)pages;
    (void)bytes;
}

static void retract(void *pages, size_t bytes) {
#if WITH_LEAK_CHECKS
    __lsan_unregister_root_region(pages, bytes);
#endif
    (void)pages;
    (void)bytes;
}

static void *map_raw(size_t bytes) {
    void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return pages == MAP_FAILED ? NULL : pages;
}

size_t sp_pages_round(size_t bytes) {
    size_t page = page_bytes();
    return (bytes + page - 1) & ~(page - 1);
}

void *sp_pages_map(size_t bytes) {
    return sp_pages_map_aligned(bytes, page_bytes());
}

void *sp_pages_map_aligned(size_t bytes, size_t align) {
    int saved_errno = errno;
    size_t page = page_bytes();
    size_t wanted = sp_pages_round(bytes);
    size_t extra = align > page ? align - page : 0;
    uint8_t *raw = wanted >= bytes && wanted + extra >= wanted ? map_raw(wanted + extra) : NULL;
    if (raw == NULL) {
        errno = saved_errno;
        return NULL;
    }
    size_t before = (size_t)(-(uintptr_t)raw & (align - 1));
    if (before != 0) {
        (void)munmap(raw, before);
    }
    if (extra != before) {
        (void)munmap(raw + before + wanted, extra - before);
    }
    uint8_t *pages = raw + before;
#ifdef MADV_NOHUGEPAGE
    if (wanted < HUGE_PAGE_BYTES) {
        (void)madvise(pages, wanted, MADV_NOHUGEPAGE);
    }
#endif
    announce(pages, wanted);
    errno = saved_errno;
    return pages;
}

void sp_pages_unmap(void *pages, size_t bytes) {
    int saved_errno = errno;
    size_t wanted = sp_pages_round(bytes);
    retract(pages, wanted);
    (void)munmap(pages, wanted);
    errno = saved_errno;
}

void sp_pages_drop(void *pages, size_t bytes) {
    int saved_errno = errno;
    (void)madvise(pages, sp_pages_round(bytes), MADV_DONTNEED);
    errno = saved_errno;
}
