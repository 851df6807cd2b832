# SPDX-License-Identifier: Apache-2.0
"""Turns what bench/run.sh collected into a table, gates, JSON, and docs/performance.md.

    report.py <results folder> [<page to write>]

The page is written only if every workload has at least 11 runs of each side; the JSON
(summary.json in the results folder) always is.
"""

import datetime
import glob
import json
import os
import platform
import re
import subprocess
import sys

MOST_RATIO = 0.5
RUNS_FOR_PAGE = 11


def quantile(values, at):
    values = sorted(values)
    place = at * (len(values) - 1)
    low = int(place)
    high = min(low + 1, len(values) - 1)
    return values[low] + (values[high] - values[low]) * (place - low)


class Results:
    """Figures by case name: lists of one number a run."""

    def __init__(self, folder):
        self.cases = {}
        self.context = {}
        self.figures = []
        self.folder = folder
        for path in glob.glob(os.path.join(folder, "ours*.json")):
            if os.path.getsize(path):
                self.read_ours(path)
        self.read_peers(os.path.join(folder, "peer.lines"))
        for path in sorted(glob.glob(os.path.join(folder, "*.figures"))):
            with open(path, encoding="utf-8") as lines:
                program = os.path.basename(path)[: -len(".figures")]
                for line in lines:
                    words = line.split(None, 2)
                    self.figures.append((program, words[0], float(words[1]), words[2].strip()))

    def add(self, name, **numbers):
        case = self.cases.setdefault(name, {})
        for key, value in numbers.items():
            case.setdefault(key, []).append(value)

    def read_ours(self, path):
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
        self.context = data["context"]
        for run in data["benchmarks"]:
            if run.get("run_type") != "iteration":
                continue
            self.add(
                run["name"].split("/iterations:")[0],
                ns=run["real_time"],
                cpu_ns=run["cpu_ns"],
                wall_ns=run["wall_ns"],
                mallocs=run["mallocs"],
                figure=run.get("until_repeat", 0.0),
            )

    def read_peers(self, path):
        if not os.path.exists(path):
            return
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                run = json.loads(line)
                self.add(run.pop("name"), **run)

    def has(self, name):
        return name in self.cases

    def median(self, name, key="ns"):
        return quantile(self.cases[name][key], 0.5)

    def most(self, name, key):
        return max(self.cases[name][key])

    def runs(self, name):
        return len(self.cases[name]["ns"])


# ---- gates: (row, what, function of the results -> (figure text, passed) or None without data) ----


def text(value):
    if value >= 1000:
        return f"{value:,.0f}"
    if value >= 100:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def at_most(name, limit, key="ns", unit="ns"):
    def gate(r):
        if not r.has(name):
            return None
        value = r.median(name, key)
        return f"{text(value)} {unit}", value <= limit

    return gate


def ratio(name, other, limit, key="ns"):
    def gate(r):
        if not r.has(name) or not r.has(other):
            return None
        value = r.median(name, key) / r.median(other, key)
        return f"{value:.2f}x", value <= limit

    return gate


def difference(name, other, limit, count=1, key="ns"):
    def gate(r):
        if not r.has(name) or not r.has(other):
            return None
        value = (r.median(name, key) - r.median(other, key)) / count
        return f"{value:.1f} ns", value <= limit

    return gate


def no_mallocs(*names):
    def gate(r):
        if not all(r.has(name) for name in names):
            return None
        value = max(r.most(name, "mallocs") for name in names)
        return f"{value:g}", value == 0

    return gate


def scaling(prefix):
    """Throughput of as many threads as processors (2 or 4), over one thread's, a processor."""

    def gate(r):
        threads = 4 if (os.cpu_count() or 1) >= 4 else 2
        one, many = f"{prefix}/t1/spool", f"{prefix}/t{threads}/spool"
        if not r.has(one) or not r.has(many):
            return None
        value = r.median(one, "wall_ns") / (r.median(many, "wall_ns") * threads)
        return f"{value:.2f}x with {threads} threads", value >= 0.9

    return gate


def never(name):
    def gate(r):
        if not r.has(name):
            return None
        value = r.most(name, "figure")
        return ("never" if value == 0 else f"after {value:,.0f}"), value == 0

    return gate


def figure(program, name, limit):
    def gate(r):
        for of, what, value, unit in r.figures:
            if of == program and what == name:
                return f"{text(value)} {unit}", value <= limit
        return None

    return gate


ROOT, IN_SPAN = "01/event_root", "02/event_in_span"
GATES = (
    [("1", f"{n}: at most half of tracing", ratio(f"{ROOT}/{n}/spool", f"{ROOT}/{n}/tracing", MOST_RATIO))
     for n in ("n1", "n10", "n50")]
    + [("1", "allocations, warm: 0", no_mallocs(f"{ROOT}/n1/spool", f"{ROOT}/n50/spool"))]
    + [("2", f"{n}: at most half of tracing",
        ratio(f"{IN_SPAN}/{n}/spool", f"{IN_SPAN}/{n}/tracing", MOST_RATIO)) for n in ("n1", "n10", "n50")]
    + [
        ("2", "over row 1: at most 30 ns", difference(f"{IN_SPAN}/n1/spool", f"{ROOT}/n1/spool", 30)),
        ("2", "allocations, warm: 0", no_mallocs(f"{IN_SPAN}/n1/spool")),
        ("3", "throughput a processor: at least 0.9 of one thread's", scaling("03/event_root_threads")),
        ("4", "throughput a processor: at least 0.9 of one thread's", scaling("04/event_own_parent")),
        ("5", "4 threads: processor time within 10 % of row 4",
         ratio("05/event_shared_parent/t4/spool", "04/event_own_parent/t4/spool", 1.1, "cpu_ns")),
        ("5", "2 threads: processor time within 10 % of row 4",
         ratio("05/event_shared_parent/t2/spool", "04/event_own_parent/t2/spool", 1.1, "cpu_ns")),
        ("6", "1,000 spans in a chain: a span at most 1.2x of one in a chain of 10",
         ratio("06/live_chain/n1000/spool", "06/live_chain/n10/spool", 1.2)),
        ("6", "10,000 spans in a chain: the same",
         ratio("06/live_chain/n10000/spool", "06/live_chain/n10/spool", 1.2)),
        ("6", "allocations, warm: 0", no_mallocs("06/span_chain/n10_t4/spool", "06/live_chain/n1000/spool")),
        ("7", "allocations, warm, 0 to 3 types: 0",
         no_mallocs(*[f"07/new_span/ext{n}/spool" for n in range(4)], "07/new_span/ext3/spool_take")),
        ("7", "an extension: at most 4 ns",
         difference("07/new_span/ext3/spool_coarse", "07/new_span/ext0/spool_coarse", 4, 3)),
        ("8", "an identifier comes again: never", never("08/id_repeat/one_thread/spool")),
        ("9", "disabled statement, no SDK: at most 1 ns", at_most("09/disabled_event/no_sdk/spool", 1)),
        ("9", "disabled statement, by severity: at most 1 ns",
         at_most("09/disabled_event/severity/spool", 1)),
        ("9", "filtered out for its processor: at most 5 ns", at_most("09/layer_filter/directive/spool", 5)),
        ("10", "enter and exit: at most 10 ns", at_most("10/enter_exit/enabled/spool", 10)),
        ("10", "three deep: at most 10 ns each", at_most("10/enter_many/depth3/spool", 10)),
        ("11", "at most 0.75 of the Rust slab", ratio("11/slab_list/10k/spool", "11/slab_list/10k/tracing", 0.75)),
        ("12", "pool: at most 1.15x of row 11", ratio("12/counted_list/pool/spool", "11/slab_list/10k/spool", 1.15)),
        ("12", "pool: not slower than malloc", ratio("12/counted_list/pool/spool", "12/counted_list/heap/spool", 1.0)),
        ("13", "1,024: below 5.5 us (7.3 with the source's new form)",
         at_most("13/fill_drain/1024/spool", 5505)),
        ("13", "2,048: below 10.5 us (21.3 with the source's new form)",
         at_most("13/fill_drain/2048/spool", 10460)),
        ("13", "churn is flat: 4,096 at most 1.5x of 256", ratio("13/churn/4096/spool", "13/churn/256/spool", 1.5)),
        ("25", "empty poll: at most 1 ns", at_most("25/empty_poll/ring/spool", 1)),
        ("25", "empty poll of remote frees: at most 1 ns", at_most("25/empty_poll/remote_frees/spool", 1)),
        ("registry", "create and close on the owner thread: at most 15 ns",
         at_most("registry/create_close/one/spool", 15)),
        ("memory", "resident a thread with one live span: under 100 KiB",
         figure("thread_memory", "resident_per_thread", 100 * 1024)),
        ("memory", "1,000,000 live spans: later rounds raise the peak by under 1 %",
         figure("live_spans", "peak_rise", 1)),
    ]
)

# ---- output ----


def table(r):
    yield ("workload", "arm", "median", "p10", "p90", "cpu", "allocs", "vs tracing")
    for name in sorted(r.cases):
        workload, arm = name.rsplit("/", 1)
        case = r.cases[name]
        peer = f"{workload}/tracing"
        beside = ""
        if r.has(peer) and arm not in ("tracing", "control"):
            beside = f"{r.median(name) / r.median(peer):.2f}x"
        note = ""
        if max(case["figure"]):
            note = f" (an id came again after {quantile(case['figure'], 0.5):,.0f})"
        yield (workload, arm + note, text(r.median(name)), text(quantile(case["ns"], 0.1)),
               text(quantile(case["ns"], 0.9)), text(r.median(name, "cpu_ns")),
               f"{r.median(name, 'mallocs'):.4g}", beside)


def print_columns(rows):
    rows = list(rows)
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(width) if i < 2 else cell.rjust(width)
                        for i, (cell, width) in enumerate(zip(row, widths))).rstrip())


def page_table(rows):
    rows = list(rows)
    yield "| " + " | ".join(rows[0]) + " |"
    yield "|" + "---|" * len(rows[0])
    for row in rows[1:]:
        yield "| " + " | ".join(row) + " |"


def first_line(path):
    try:
        with open(path, encoding="utf-8") as file:
            return file.read().strip()
    except OSError:
        return ""


def processor():
    match = re.search(r"model name\s*:\s*(.*)", first_line("/proc/cpuinfo"))
    return match.group(1) if match else platform.machine()


def machine(r):
    memory = re.search(r"MemTotal:\s*(\d+)", first_line("/proc/meminfo"))
    hypervisor = "a virtual machine" if "hypervisor" in first_line("/proc/cpuinfo") else "not virtual"
    versions = [line for line in first_line(os.path.join(r.folder, "peer.version")).splitlines() if line]
    flags = [line for line in first_line(os.path.join(r.folder, "peer.flags")).splitlines()[1:] if line]
    load = ", ".join(f"{x:.2f}" for x in r.context.get("load_avg", []))
    facts = [
        ("date", datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC")),
        ("processor", f"{processor()}, {os.cpu_count()} of them, {hypervisor}"),
        ("memory", f"{int(memory.group(1)) // 1024:,} MiB" if memory else "unknown"),
        ("kernel", f"{platform.system()} {platform.release()}"),
        ("load average before the last run", load),
        ("C compiler", f"gcc {r.context.get('compiler', '?')}, -O2 -g -DNDEBUG, checks off"),
        ("clock", r.context.get("clock", "?")),
        ("clock source of the kernel",
         first_line("/sys/devices/system/clocksource/clocksource0/current_clocksource")),
    ]
    if versions:
        facts.append(("Rust", "; ".join(versions)))
        facts.append(("Rust flags", "cargo --release: " + ", ".join(flags)))
    return facts


def commit():
    try:
        return subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True,
                              check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


INTRODUCTION = """# Performance

This page is generated by `./dev bench peers` (bench/report.py); it is never edited. What each row
measures, what is alike between the sides and what is not: `bench/README.md`.

Figures are nanoseconds an operation: the median of the runs with the 10th and 90th percentile, taken
inside the threads, and the processor time of the same. `allocs` are calls of malloc and its kin an
operation. Arms: `spool` (with the precise clock, unless it says `coarse`), `naive`, `control` (the
loop with nothing in it), `tracing` (the same workload in Rust). For rows 11 to 13 an operation is a
whole round. A difference below twice the spread of the control is noise.
"""


def write_page(path, r, verdicts):
    lines = [INTRODUCTION]
    if commit():
        lines += [f"Measured at commit {commit()}.", ""]
    lines += page_table([("machine", "")] + machine(r))
    lines += ["", "## Gates", ""]
    lines += page_table([("row", "gate", "measured", "")] + verdicts)
    missed = sum(1 for verdict in verdicts if verdict[3] != "pass")
    lines += ["", f"{len(verdicts) - missed} of {len(verdicts)} pass.", "", "## All figures", ""]
    lines += page_table(table(r))
    if r.figures:
        lines += ["", "## Memory and long chains", ""]
        lines += page_table([("program", "figure", "value", "unit")]
                            + [(p, n, text(v), u) for p, n, v, u in r.figures])
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


def write_summary(r, verdicts):
    summary = {
        "machine": dict(machine(r)),
        "gates": [dict(zip(("row", "gate", "measured", "verdict"), verdict)) for verdict in verdicts],
        "cases": {
            name: {"runs": r.runs(name),
                   **{key: {"median": quantile(values, 0.5), "p10": quantile(values, 0.1),
                            "p90": quantile(values, 0.9), "all": values}
                      for key, values in case.items()}}
            for name, case in r.cases.items()
        },
        "figures": [dict(zip(("program", "figure", "value", "unit"), f)) for f in r.figures],
    }
    with open(os.path.join(r.folder, "summary.json"), "w", encoding="utf-8") as file:
        json.dump(summary, file, indent=1)


def main():
    r = Results(sys.argv[1])
    if not r.cases:
        sys.exit("bench: no results")
    verdicts = []
    for row, what, gate in GATES:
        outcome = gate(r)
        if outcome:
            verdicts.append((row, what, outcome[0], "pass" if outcome[1] else "MISS"))
    for fact in machine(r):
        print(f"{fact[0]}: {fact[1]}")
    print()
    print_columns(table(r))
    print()
    for program, name, value, unit in r.figures:
        print(f"{program}: {name} {text(value)} {unit}")
    print_columns([("row", "gate", "measured", "")] + verdicts)
    write_summary(r, verdicts)
    print(f"\nbench: {os.path.join(r.folder, 'summary.json')}")
    if len(sys.argv) > 2:
        fewest = min(r.runs(name) for name in r.cases)
        if fewest < RUNS_FOR_PAGE or os.environ.get("BENCH_ONLY"):
            print(f"bench: {sys.argv[2]} is left as it is: that takes all cases, {RUNS_FOR_PAGE} runs each")
        else:
            write_page(sys.argv[2], r, verdicts)
            print(f"bench: {sys.argv[2]} is new")


main()
