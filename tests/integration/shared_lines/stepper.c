/* SPDX-License-Identifier: Apache-2.0 */
/* See stepper.h. The child stops itself before and after the work; in between the parent steps it. */
#include "tests/integration/shared_lines/stepper.h"

#include "tests/support/spt.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

bool stepper_works(void) {
#if defined(__x86_64__) && !SPT_ASAN && !SPT_TSAN
    return true;
#else
    return false;
#endif
}

#ifdef __x86_64__

enum { MOST_INSTRUCTIONS = 20000000, INSTRUCTION_BYTES = 15 };

static bool is_prefix(uint8_t byte) {
    return byte == 0x66 || byte == 0x67 || byte == 0xf2 || byte == 0xf3 || byte == 0x2e ||
           byte == 0x36 || byte == 0x3e || byte == 0x26 || byte == 0x64 || byte == 0x65;
}

/* A lock prefix, or xchg with a memory operand, which locks without one. */
static bool is_read_modify_write(const uint8_t *code) {
    unsigned at = 0;
    while (at < INSTRUCTION_BYTES - 2 && is_prefix(code[at])) {
        at++;
    }
    if (code[at] == 0xf0) {
        return true;
    }
    if ((code[at] & 0xf0) == 0x40) {
        at++; /* REX */
    }
    return (code[at] == 0x86 || code[at] == 0x87) && code[at + 1] >> 6 != 3;
}

static bool stopped(pid_t child, int *out_signal) {
    int status;
    if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) {
        return false;
    }
    *out_signal = WSTOPSIG(status);
    return true;
}

static bool look(pid_t child, stepper_counts *counts) {
    struct user_regs_struct registers;
    uint8_t code[INSTRUCTION_BYTES] = {0};
    struct iovec here = {code, sizeof code};
    if (ptrace(PTRACE_GETREGS, child, NULL, &registers) != 0) {
        return false;
    }
    struct iovec there = {(void *)(uintptr_t)registers.rip, sizeof code};
    if (process_vm_readv(child, &here, 1, &there, 1, 0) <= 0) {
        /* The vdso's last bytes, or a page that ends: the first bytes are what counts. */
        errno = 0;
        long word = ptrace(PTRACE_PEEKTEXT, child, (void *)(uintptr_t)registers.rip, NULL);
        if (errno != 0) {
            return false;
        }
        memcpy(code, &word, sizeof word);
    }
    counts->instructions++;
    counts->read_modify_writes += is_read_modify_write(code);
    return true;
}

static _Noreturn void run_child(void (*prepare)(void *arg), void (*work)(void *arg), void *arg) {
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0) {
        _exit(1);
    }
    prepare(arg);
    __asm__ volatile("int3" : : : "memory");
    work(arg);
    __asm__ volatile("int3" : : : "memory");
    _exit(0);
}

/* From the first stop to the second, which is not the end of a step but an int3 of its own. */
static bool step_through(pid_t child, stepper_counts *counts) {
    int signal_number;
    if (!stopped(child, &signal_number) || signal_number != SIGTRAP) {
        return false;
    }
    while (counts->instructions < MOST_INSTRUCTIONS) {
        if (!look(child, counts) || ptrace(PTRACE_SINGLESTEP, child, NULL, NULL) != 0 ||
            !stopped(child, &signal_number) || signal_number != SIGTRAP) {
            return false;
        }
        siginfo_t info;
        if (ptrace(PTRACE_GETSIGINFO, child, NULL, &info) != 0) {
            return false;
        }
        if (info.si_code == SI_KERNEL) {
            return true;
        }
    }
    return false;
}

bool stepper_count(void (*prepare)(void *arg), void (*work)(void *arg), void *arg,
                   stepper_counts *out_counts) {
    memset(out_counts, 0, sizeof *out_counts);
    pid_t child = fork();
    if (child == 0) {
        run_child(prepare, work, arg);
    }
    if (child < 0) {
        return false;
    }
    bool counted = step_through(child, out_counts);
    (void)kill(child, SIGKILL);
    (void)waitpid(child, NULL, 0);
    return counted;
}

#else

bool stepper_count(void (*prepare)(void *arg), void (*work)(void *arg), void *arg,
                   stepper_counts *out_counts) {
    (void)prepare;
    (void)work;
    (void)arg;
    (void)out_counts;
    return false;
}

#endif
