#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which rows of the specification are named by which tests.

Reads the list of rows beside it (spec_rows.tsv: id, feature, section, level), looks for their ids in the
tests, in both spellings (TA-04 in text, TA_04 in names), and makes docs/spec-coverage.md of it.

    spec_coverage.py --write    writes the page
    spec_coverage.py --check    compares the page; fails on a difference, and on an id in a header, a
                                source or a test that is in no row of the list
"""

import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
ROWS = os.path.join(HERE, "spec_rows.tsv")
PAGE = os.path.join(ROOT, "docs", "spec-coverage.md")

SOURCES = ("include", "sdk", "runtime", "processors", "exporters", "config", "tools", "examples",
           "tests")
ENDINGS = (".c", ".h", ".py", ".sh")

# An id stands alone, or inside the name of a test: TA-04, TA_04_what_it_does, BG_09_BG_10_both.
ID = re.compile(r"(?<![A-Za-z0-9-])(?<![A-Za-z0-9]_)([A-Z]{2})[-_]([0-9]{2})(?![A-Za-z0-9]|-[0-9])"
                r"|(?<=[0-9]_)([A-Z]{2})_([0-9]{2})(?![A-Za-z0-9])")
RANGE = re.compile(r"\b([A-Z]{2})-([0-9]{2}) to \1-([0-9]{2})\b")

GROUPS = (
    ("CM", "Values, attributes, scopes"),
    ("TA", "Trace API"),
    ("TS", "Trace SDK"),
    ("SA", "Sampling"),
    ("LI", "Limits"),
    ("ID", "Identifiers"),
    ("SP", "Processors"),
    ("SE", "Exporters"),
    ("LA", "Logs API"),
    ("LS", "Logs SDK"),
    ("CX", "Context"),
    ("BG", "Baggage"),
    ("PR", "Propagators"),
    ("RE", "Resources"),
    ("EV", "Environment variables"),
    ("DC", "Configuration files"),
    ("OX", "OTLP exporter"),
    ("OF", "OTLP in files"),
    ("CE", "Console, memory and Zipkin exporters"),
    ("SO", "Metrics about the SDK itself"),
    ("EH", "Errors and diagnostics"),
    ("CP", "Concurrency, performance, compatibility"),
    ("FS", "Fork, shutdown, exit"),
    ("PC", "Context for other processes"),
)

HEAD = """\
# Coverage of the specification

An id such as `TA-04`, in a header, a source or the name of a test (there `TA_04`), is a row of this page: one demand of the
OpenTelemetry specification (or of what it refers to) in our words, with the section that makes it.

**Tests** are those that name the row; *not yet* says that none does, not that the row is not kept. **Level** is the
specification's own word; (dev), (RC) and (dep) mark sections that are in development, candidates or deprecated; *schema* is
the configuration schema, *note* is text that demands nothing, *OTEP* is a proposal, *quality* is a demand of our own.
`./dev pages` makes this page from `tests/conformance/spec_rows.tsv` and the tests.
"""


def rows_read():
    rows = {}
    with open(ROWS, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            cells = line.rstrip("\n").split("\t")
            if len(cells) != 4 or not all(cells) or not re.fullmatch(r"[A-Z]{2}-[0-9]{2}", cells[0]):
                sys.exit("spec_coverage: %s:%d: not four cells" % (ROWS, number))
            if cells[0] in rows:
                sys.exit("spec_coverage: %s is there twice" % cells[0])
            rows[cells[0]] = cells[1:]
    unknown = {row[:2] for row in rows} - {group for group, _ in GROUPS}
    if unknown:
        sys.exit("spec_coverage: groups without a title: %s" % " ".join(sorted(unknown)))
    return rows


def ids_in(text):
    """Yields (id, offset) for each id that the text names; "PR-07 to PR-09" names three."""
    for found in ID.finditer(text):
        group, number = found.group(1) or found.group(3), found.group(2) or found.group(4)
        yield "%s-%s" % (group, number), found.start()
    for found in RANGE.finditer(text):
        for number in range(int(found.group(2)) + 1, int(found.group(3))):
            yield "%s-%02d" % (found.group(1), number), found.start()


def files_of(folder):
    for path, folders, names in os.walk(os.path.join(ROOT, folder)):
        folders.sort()
        for name in sorted(names):
            whole = os.path.join(path, name)
            if name.endswith(ENDINGS) and whole != os.path.abspath(__file__):
                yield os.path.relpath(whole, ROOT).replace(os.sep, "/")


def scan(rows):
    """The files under tests/ by id, and the complaints about ids that are in no row."""
    tests = {}
    complaints = []
    for folder in SOURCES:
        for name in files_of(folder):
            with open(os.path.join(ROOT, name), encoding="utf-8", errors="replace") as source:
                text = source.read()
            for row, offset in ids_in(text):
                if row not in rows:
                    line = text.count("\n", 0, offset) + 1
                    complaints.append("%s:%d: %s is no row of spec_rows.tsv" % (name, line, row))
                elif folder == "tests":
                    tests.setdefault(row, set()).add(name)
    return tests, complaints


def page_of(rows, tests):
    def cell(text):
        return text.replace("|", "\\|")

    lines = [HEAD]
    lines.append("%d rows, %d of them named by tests.\n" % (len(rows), len(tests)))
    for group, title in GROUPS:
        own = sorted(row for row in rows if row.startswith(group))
        if not own:
            continue
        lines.append("## %s: %s\n" % (group, title))
        lines.append("| Id | Feature | Section | Level | Tests |")
        lines.append("|---|---|---|---|---|")
        for row in own:
            named = " ".join("`%s`" % name[len("tests/"):] for name in sorted(tests.get(row, ())))
            lines.append("| %s | %s | %s | %s | %s |" % (
                (row,) + tuple(map(cell, rows[row])) + (named or "*not yet*",)))
        lines.append("")
    return "\n".join(lines)


def self_check():
    """The forms that must be found, and those that must not."""
    expected = {
        "Test(span, TA_12_a_parent)": ["TA-12"],
        "BG_09_BG_10_every_row": ["BG-09", "BG-10"],
        "PR_08_T62_every_row": ["PR-08"],
        "(LS-02).": ["LS-02"],
        "PR-07 to PR-09": ["PR-07", "PR-08", "PR-09"],
        "(SA-04, SA-27)": ["SA-04", "SA-27"],
        "SPOOL_TA_04 xTA-04 TA-041 UTF-16 00-AB-01-02": [],
    }
    for text, ids in expected.items():
        found = sorted(row for row, _ in ids_in(text))
        if found != ids:
            sys.exit("spec_coverage: '%s' gives %s, not %s" % (text, found, ids))
    return len(expected)


def main():
    if sys.argv[1:] not in (["--write"], ["--check"]):
        sys.exit(__doc__)
    passed = self_check()
    rows = rows_read()
    tests, complaints = scan(rows)
    page = page_of(rows, tests)
    if sys.argv[1] == "--write":
        with open(PAGE, "w", encoding="utf-8") as out:
            out.write(page)
    failed = len(complaints)
    for complaint in complaints:
        print(complaint)
    if not tests:
        print("spec_coverage: no test names a row")
        failed += 1
    try:
        with open(PAGE, encoding="utf-8") as there:
            same = there.read() == page
    except OSError:
        same = False
    if same:
        passed += 1
    else:
        print("spec_coverage: docs/spec-coverage.md is not what the tests say: ./dev pages")
        failed += 1
    print("spec_coverage: %d passed, %d failed" % (passed, failed))
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
