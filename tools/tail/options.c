/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the command line and asks the terminal what it can show. */
#include "tools/tail/options.h"

#include <errno.h>
#include <getopt.h>
#include <langinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { WIDTH_DEFAULT = 120, WIDTH_MIN = 60, WIDTH_MAX = 240 };

const char sp_tail_usage[] =
    "usage: spool-tail [options]\n"
    "Receives OTLP/HTTP traces and logs on 127.0.0.1 and prints each finished trace\n"
    "as a tree. It prints what it received and nothing else.\n"
    "\n"
    "  --port N             port to listen on; 0 = the kernel chooses (default 4318)\n"
    "  --quiet-ms N         a trace with a root is finished when nothing came for\n"
    "                       N ms (default 500)\n"
    "  --color WHEN         auto, always or never (default auto)\n"
    "  --ascii              no characters beyond ASCII\n"
    "  --width N            columns of a line (default: the terminal's, else 120)\n"
    "  --attributes         show the spans' attributes\n"
    "  --json               one JSON line per span and log record, as they come\n"
    "  --max-traces N       unfinished traces held at most (default 1000)\n"
    "  --max-bytes N        bytes held at most (default 67108864); past either the\n"
    "                       oldest trace is printed early, marked\n"
    "  --once-idle-exit MS  exit when nothing came for MS ms after the first request\n"
    "  --help               this text\n";

static bool number_parse(const char *option, const char *text, uint64_t least, uint64_t most,
                         uint64_t *out_value) {
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || value < least ||
        value > most) {
        fprintf(stderr, "spool-tail: --%s wants a number from %llu to %llu\n", option,
                (unsigned long long)least, (unsigned long long)most);
        return false;
    }
    *out_value = value;
    return true;
}

static unsigned width_find(void) {
    struct winsize size;
    const char *columns = getenv("COLUMNS");
    unsigned width = WIDTH_DEFAULT;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
        width = size.ws_col;
    } else if (columns != NULL && strtoul(columns, NULL, 10) > 0) {
        width = (unsigned)strtoul(columns, NULL, 10);
    }
    return width < WIDTH_MIN ? WIDTH_MIN : width > WIDTH_MAX ? WIDTH_MAX : width;
}

static bool color_wanted(void) {
    const char *no_color = getenv("NO_COLOR");
    const char *term = getenv("TERM");
    return isatty(STDOUT_FILENO) && (no_color == NULL || no_color[0] == '\0') && term != NULL &&
           strcmp(term, "dumb") != 0;
}

static bool color_parse(const char *text, bool *out_color) {
    if (strcmp(text, "always") == 0) {
        *out_color = true;
    } else if (strcmp(text, "never") == 0) {
        *out_color = false;
    } else if (strcmp(text, "auto") == 0) {
        *out_color = color_wanted();
    } else {
        fputs("spool-tail: --color wants auto, always or never\n", stderr);
        return false;
    }
    return true;
}

static bool option_take(int option, const char *name, const char *value, sp_tail_options *options) {
    uint64_t number = 0;
    bool ok = true;
    switch (option) {
    case 'p':
        ok = number_parse(name, value, 0, 65535, &number);
        options->port = (uint16_t)number;
        break;
    case 'q':
        ok = number_parse(name, value, 1, 3600000, &options->quiet_ms);
        break;
    case 'e':
        ok = number_parse(name, value, 1, 3600000, &options->idle_exit_ms);
        break;
    case 't':
        ok = number_parse(name, value, 1, 1000000, &number);
        options->max_traces = (size_t)number;
        break;
    case 'b':
        ok = number_parse(name, value, 4096, SIZE_MAX / 2, &number);
        options->max_bytes = (size_t)number;
        break;
    case 'w':
        ok = number_parse(name, value, WIDTH_MIN, WIDTH_MAX, &number);
        options->style.width = (unsigned)number;
        break;
    case 'c':
        return color_parse(value, &options->style.color);
    case 'a':
        options->style.utf8 = false;
        break;
    case 'A':
        options->attributes = true;
        break;
    case 'j':
        options->json = true;
        break;
    case 'h':
        options->help = true;
        break;
    default:
        return false;
    }
    return ok;
}

bool sp_tail_options_parse(int argc, char **argv, sp_tail_options *out_options) {
    static const struct option known[] = {
        {"port", required_argument, NULL, 'p'},
        {"quiet-ms", required_argument, NULL, 'q'},
        {"once-idle-exit", required_argument, NULL, 'e'},
        {"max-traces", required_argument, NULL, 't'},
        {"max-bytes", required_argument, NULL, 'b'},
        {"width", required_argument, NULL, 'w'},
        {"color", required_argument, NULL, 'c'},
        {"ascii", no_argument, NULL, 'a'},
        {"attributes", no_argument, NULL, 'A'},
        {"json", no_argument, NULL, 'j'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    sp_tail_options options = {
        .port = 4318,
        .quiet_ms = 500,
        .max_traces = 1000,
        .max_bytes = (size_t)64 * 1024 * 1024,
        .style = {strcmp(nl_langinfo(CODESET), "UTF-8") == 0, color_wanted(), width_find()},
    };
    int option;
    int index = 0;
    while ((option = getopt_long(argc, argv, "", known, &index)) != -1) {
        if (!option_take(option, option == '?' ? "" : known[index].name, optarg, &options)) {
            return false;
        }
    }
    if (optind < argc) {
        fprintf(stderr, "spool-tail: what is '%s'? See --help\n", argv[optind]);
        return false;
    }
    *out_options = options;
    return true;
}
