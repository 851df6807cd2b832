# SPDX-License-Identifier: Apache-2.0
"""Spool against a real OpenTelemetry Collector.

    collector_test.py shop  SHOP_FRONT SHOP_STOCK FOLDER
    collector_test.py fields FIELDS FOLDER
    collector_test.py flood FLOOD FOLDER

shop   the two services of examples/shop under some hundred concurrent requests; what the Collector
       wrote must equal what each service recorded about itself, every span and log exactly once.
fields one record for each thing that a span or a log record can hold, edge values included; what
       the Collector wrote must equal what fields_expected.py says.
flood  100,000 spans and 100,000 logs from four threads with back-pressure: all of them arrive once,
       and the sender's own balance is exact (the program itself fails when it is not).

Exit status: 0 passed, 1 failed, 77 skipped because this machine cannot build the Collector (with
SPOOL_REQUIRE_COLLECTOR=1 that is a failure).  FOLDER is emptied first and kept afterwards, so that
a failure can be looked at.
"""

from collections import Counter
import http.client
import json
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import collector  # noqa: E402  (needs the path above)
import comparison  # noqa: E402
import fields_expected  # noqa: E402
import records  # noqa: E402
import service  # noqa: E402

LOAD_SECONDS = 120
END_SECONDS = 30
FLOOD_SECONDS = 300
FLOOD_THREADS = 4
FLOOD_EACH = 100_000

# Method, path, number of requests, how many at a time.  The stocktaking locks the database, so that
# some of the others fail; the orders empty shelves and start the restocking job, whose spans link
# to the orders that caused it.
SHOP_LOAD = (
    ("POST", "/stocktaking?hold_ms=1500", 2, 1),
    ("GET", "/articles/1", 120, 12),
    ("POST", "/orders?article=1&quantity=1", 100, 8),
    ("POST", "/orders?article=2&quantity=4", 40, 4),
    ("POST", "/orders?article=4&quantity=3", 20, 2),
    ("GET", "/articles/no-such-article", 60, 4),
    ("GET", "/no/such/page", 30, 2),
    ("POST", "/orders", 20, 2),
)
# Sent when all of that is over and the database is free, so that on a machine of any speed some orders
# are placed and the shelf that they empty is filled again.
SHOP_QUIET_LOAD = (
    ("POST", "/orders?article=3&quantity=2", 12, 1),
)
REMOTE_PATH = "/articles/3"
REMOTE_CALLS = 20
REMOTE_TRACE_STATE = "vendor=opaque,other=1"

# OTLP numbers.
KIND_SERVER = 2
KIND_CLIENT = 3
STATUS_ERROR = 2
SEVERITY_ERROR = 17


class TestFailure(Exception):
    """What was received is not what was sent."""


def check(condition, text):
    """The first that does not hold ends the test."""
    if not condition:
        raise TestFailure(text)


def compare(title, expected, actual):
    found = comparison.differences(expected, actual)
    check(not found, comparison.report(title, found))


def received_records(running):
    return (list(records.otlp_records(running.traces)), list(records.otlp_records(running.logs)))


def attribute(record, key):
    """The [type, value] of an attribute, or None."""
    for name, value in record["attributes"]:
        if name == key:
            return value
    return None


def service_name(record):
    return dict((key, value[1]) for key, value in record["resource"]).get("service.name")


def run_program(arguments, settings, seconds):
    """Runs a program to its end; it must succeed.  Returns what it printed."""
    result = subprocess.run(arguments, env=service.environment(**settings),
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                            check=False, timeout=seconds)
    name = pathlib.Path(arguments[0]).name
    check(result.returncode == 0, f"{name} ended with status {result.returncode}")
    return result.stdout


def run_fields(program, folder):
    settings = {
        "OTEL_SERVICE_NAME": "fields",
        "OTEL_RESOURCE_ATTRIBUTES": "deployment.environment.name=te%2Cst,service.name=overridden",
    }
    with collector.Collector(collector.build(), folder / "collector") as running:
        settings["OTEL_EXPORTER_OTLP_ENDPOINT"] = f"http://{running.http}"
        begin = time.time_ns()
        printed = run_program([program], settings, END_SECONDS)
        end = time.time_ns()
    spans, logs = received_records(running)
    ids = dict(line.rsplit(" ", 1) for line in printed.splitlines())
    check(len(set(ids.values())) == len(ids), f"span ids are not distinct: {ids}")
    check_resource(spans + logs, fields_expected.RESOURCE_PARTS)
    for record in spans + logs:
        del record["resource"]
    for event in (event for span in spans for event in span["events"]):
        if event["name"] == "exception":
            check(begin <= event["time"] <= end, f"time of the exception: {event}")
            event["time"] = 0
    compare("fields", fields_expected.expected_spans(ids) + fields_expected.expected_logs(),
            spans + logs)
    print(f"fields: {len(spans)} spans and {len(logs)} logs, every field equal")


def check_resource(received, parts):
    """All records must be of one resource, which holds `parts`."""
    resources = {comparison.freeze(record["resource"]) for record in received}
    check(len(resources) == 1, f"{len(resources)} resources, not one: {resources}")
    resource = json.loads(resources.pop())
    for part in parts:
        check(part in resource, f"{part} is not in the resource {resource}")
    keys = [key for key, _ in resource]
    check(len(set(keys)) == len(keys), f"a key is twice in the resource {resource}")


def run_flood(program, folder):
    lists = folder / "lists"
    lists.mkdir()
    with collector.Collector(collector.build(), folder / "collector") as running:
        begin = time.monotonic()
        run_program([program, f"http://{running.http}", str(FLOOD_THREADS),
                     str(FLOOD_EACH // FLOOD_THREADS), str(lists)], {}, FLOOD_SECONDS)
        elapsed = time.monotonic() - begin
    spans, logs = received_records(running)
    sent = []
    for path in sorted(lists.iterdir()):
        sent.extend(json.loads(line) for line in records.lines_of(path))
    kinds = Counter(record["kind"] for record in sent)
    check(kinds == {"span": FLOOD_EACH, "log": FLOOD_EACH}, f"flood wrote {dict(kinds)}")
    compare("flood", sent, [flood_form(record) for record in spans + logs])
    print(f"flood: {len(spans)} spans and {len(logs)} logs, each once, sent in {elapsed:.1f} s")


def flood_form(record):
    """A received record in the form of flood's own lists."""
    fields = ("kind", "trace_id", "span_id", "parent_span_id")
    result = {field: record[field] for field in fields if field in record}
    for key in ("thread", "sequence"):
        kind, value = attribute(record, key) or ["nothing", None]
        check(kind == "int", f"{key} is {kind}: {comparison.brief(record)}")
        result[key] = value
    return result


# --- shop ---------------------------------------------------------------------------------------


def load(address, method, path, count, concurrency):
    """Starts ab, which makes exactly `count` requests, `concurrency` at a time."""
    body = ["-p", "/dev/null"] if method == "POST" else []
    return subprocess.Popen(
        ["ab", "-q", "-l", "-s", str(LOAD_SECONDS), "-n", str(count), "-c", str(concurrency),
         *body, f"http://{address}{path}"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def finish_load(process, path, count):
    text, _ = process.communicate(timeout=LOAD_SECONDS)
    complete = re.search(r"^Complete requests:\s+(\d+)$", text, re.MULTILINE)
    check(process.returncode == 0 and complete and int(complete[1]) == count,
          f"ab {path} ended with status {process.returncode}:\n{text}")


def call_from_remote_span(address, path, number):
    """One request that carries a trace of its own; returns its ids."""
    trace_id, span_id = f"{number:032x}", f"{number:016x}"
    connection = http.client.HTTPConnection(address, timeout=LOAD_SECONDS)
    connection.request("GET", path, headers={
        "traceparent": f"00-{trace_id}-{span_id}-01", "tracestate": REMOTE_TRACE_STATE})
    connection.getresponse().read()
    connection.close()
    return trace_id, span_id


def drive_shop(address):
    """A few hundred concurrent requests of all kinds; returns the ids of the remote parents."""
    running = [(load(address, method, path, count, concurrency), path, count)
               for method, path, count, concurrency in SHOP_LOAD]
    try:
        remote = [call_from_remote_span(address, REMOTE_PATH, number)
                  for number in range(1, REMOTE_CALLS + 1)]
        for process, path, count in running:
            finish_load(process, path, count)
        for method, path, count, concurrency in SHOP_QUIET_LOAD:
            running.append((load(address, method, path, count, concurrency), path, count))
            finish_load(*running[-1])
    finally:
        for process, _, _ in running:
            if process.poll() is None:
                process.kill()
            process.communicate()
    return dict(remote)


def shop_environment(endpoint, record_file):
    return {
        "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://{endpoint}",
        "OTEL_RESOURCE_ATTRIBUTES": "service.namespace=market,deployment.environment.name=test",
        # Nothing may be dropped here: room for everything that this load makes.
        "OTEL_BSP_MAX_QUEUE_SIZE": "65536",
        "OTEL_BLRP_MAX_QUEUE_SIZE": "65536",
        "SHOP_RECORD_FILE": str(record_file),
    }


def run_shop(front_program, stock_program, folder):
    lists = [folder / "front.jsonl", folder / "stock.jsonl"]
    services = []
    with collector.Collector(collector.build(), folder / "collector") as running:
        try:
            stock = service.Service(
                [stock_program, "--port", "0", "--database", str(folder / "stock.sqlite")],
                shop_environment(running.http, lists[1]), folder / "stock.log")
            services.append(stock)
            front = service.Service(
                [front_program, "--port", "0", "--stock", f"http://{stock.address}"],
                shop_environment(running.http, lists[0]), folder / "front.log")
            services.append(front)
            remote = drive_shop(front.address)
            front.end(END_SECONDS)
            stock.end(END_SECONDS)
        finally:
            for each in services:
                each.kill()
    spans, logs = received_records(running)
    own = [record for path in lists for record in records.own_records(path)]
    compare("shop", own, spans + logs)
    check_requests(spans, remote)
    check_parents(spans, logs, remote)
    check_variety(spans, logs)
    print(f"shop: {len(spans)} spans and {len(logs)} logs of 2 processes, each once and equal")


def check_requests(spans, remote):
    """One server span of the front for each request that was made."""
    made = len(remote) + sum(count for _, _, count, _ in SHOP_LOAD + SHOP_QUIET_LOAD)
    fronts = [span for span in spans if service_name(span) == "shop-front"]
    served = sum(span["span_kind"] == KIND_SERVER for span in fronts)
    check(served == made, f"{made} requests, {served} server spans of shop-front")


def check_parents(spans, logs, remote):
    """Each parent was received too, in the same trace, or is one that this test gave."""
    by_id = {(span["trace_id"], span["span_id"]): span for span in spans}
    crossings = 0
    for span in spans:
        if not span["parent_span_id"]:
            continue
        parent = by_id.get((span["trace_id"], span["parent_span_id"]))
        if parent is None:
            check(remote.get(span["trace_id"]) == span["parent_span_id"],
                  f"unknown parent: {comparison.brief(span)}")
        elif service_name(parent) != service_name(span):
            check(span["span_kind"] == KIND_SERVER and parent["span_kind"] == KIND_CLIENT,
                  f"not a call between the services: {comparison.brief([parent, span])}")
            crossings += 1
        given = REMOTE_TRACE_STATE if span["trace_id"] in remote else ""
        check(span["trace_state"] == given, f"trace state: {comparison.brief(span)}")
    check(crossings >= len(remote), f"only {crossings} spans have a parent in the other process")
    for trace_id in remote:
        names = {service_name(span) for span in spans if span["trace_id"] == trace_id}
        check(names == {"shop-front", "shop-stock"}, f"trace {trace_id} holds {names}")
    for log in logs:
        if log["trace_id"]:
            check((log["trace_id"], log["span_id"]) in by_id,
                  f"log outside of every received span: {comparison.brief(log)}")


def check_variety(spans, logs):
    """A comparison of records that hold nothing proves little: the shop must have used these."""
    events = [event for span in spans for event in span["events"]]
    types = {value[0] for record in spans + logs for _, value in record["attributes"]}
    check(any(span["status"]["code"] == STATUS_ERROR for span in spans), "no span with an error")
    check(events, "no event")
    check({"string", "int", "bool", "double", "array"} <= types, f"only types {types}")
    check(any(log["severity_number"] >= SEVERITY_ERROR for log in logs), "no log of an error")
    check(any(log["trace_id"] for log in logs), "no log inside of a span")
    check(any(log["event_name"] for log in logs), "no log with an event name")
    check(any(span["links"] for span in spans), "no link")
    check(any(span["trace_state"] for span in spans), "no trace state")
    for name in ("shop-front", "shop-stock"):
        for signal_name, received in (("spans", spans), ("logs", logs)):
            check(any(service_name(record) == name for record in received),
                  f"no {signal_name} of {name}")


def prepared(folder):
    folder = pathlib.Path(folder).resolve()
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    return folder


def main(arguments):
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        if len(arguments) == 4 and arguments[0] == "shop":
            run_shop(arguments[1], arguments[2], prepared(arguments[3]))
        elif len(arguments) == 3 and arguments[0] == "fields":
            run_fields(arguments[1], prepared(arguments[2]))
        elif len(arguments) == 3 and arguments[0] == "flood":
            run_flood(arguments[1], prepared(arguments[2]))
        else:
            print(__doc__, file=sys.stderr)
            return 1
    except collector.CollectorUnavailable as reason:
        print(f"skipped: {reason}")
        return collector.SKIP_STATUS
    except (TestFailure, collector.CollectorError, service.ServiceError,
            records.FormatError, subprocess.TimeoutExpired, OSError) as error:
        print(f"FAILED: {error}")
        print("collector_test: 0 passed, 1 failed")
        return 1
    print("collector_test: 1 passed, 0 failed")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
