# SPDX-License-Identifier: Apache-2.0
"""What the Collector must have received from fields.c, written down by hand from the OTLP
specification and from the promises of the public headers; in the form of records.py."""

import sys

import records

TRACE_ID = "5b8efff798038103d269b633813fc60c"
PARENT_ID = "eee19b7ec3c1b174"
TRACE_STATE = "vendor=opaque,other=1"
TIME_0 = 1700000000000000000
LIMIT = 128
OVER = 2

# OTLP: the low byte is the W3C flags; 0x100 says that bit 0x200, "is remote", is known.
SAMPLED = 0x01
REMOTE_KNOWN = 0x100
IS_REMOTE = 0x200

SCOPE = {
    "name": "fields.c",
    "version": "1.2.3",
    "schema_url": "https://example.org/schema/1",
    "attributes": [["part", ["int", 7]]],
}

# What the environment gives (see collector_test.py) and what every SDK must add.
RESOURCE_PARTS = [
    ["service.name", ["string", "fields"]],
    ["deployment.environment.name", ["string", "te,st"]],
    ["telemetry.sdk.language", ["string", "c"]],
    ["telemetry.sdk.name", ["string", "spool"]],
]


def double(number):
    return ["double", records.double_text(number)]


def attributes(*pairs):
    return records.sorted_pairs([key, value] for key, value in pairs)


VALUES = attributes(
    ("string", ["string", "naïve ☃ \U0001F600 \u2028 \"\\\n\t"]),
    ("string.empty", ["string", ""]),
    ("string.null", ["empty", None]),
    ("bool.true", ["bool", True]),
    ("bool.false", ["bool", False]),
    ("int.min", ["int", -2**63]),
    ("int.max", ["int", 2**63 - 1]),
    ("int.zero", ["int", 0]),
    ("uint.max", ["string", str(2**64 - 1)]),
    ("double.tenth", double(0.1)),
    ("double.zero", double(0.0)),
    ("double.minus_zero", double(-0.0)),
    ("double.least", double(5e-324)),
    ("double.most", double(sys.float_info.max)),
    ("double.infinity", double(float("inf"))),
    ("double.minus_infinity", double(float("-inf"))),
    ("double.nan", double(float("nan"))),
    ("bytes", ["bytes", "AAH/"]),
    ("bytes.empty", ["bytes", ""]),
    ("array", ["array", [["int", 1], ["string", "a"], double(0.5),
                         ["array", [["bool", True], ["empty", None]]]]]),
    ("array.empty", ["array", []]),
    ("map", ["map", attributes(("map", ["map", attributes(("deep", double(1.5)))]),
                               ("text", ["string", "t"]))]),
    ("map.empty", ["map", []]),
)


def numbers(count):
    return attributes(*((f"k{number}", ["int", number]) for number in range(count)))


def event(name, offset, pairs=(), dropped=0):
    return {"name": name, "time": TIME_0 + offset, "attributes": list(pairs),
            "dropped_attributes": dropped}


def link(trace_id, span_id, flags, trace_state="", pairs=(), dropped=0):
    return {"trace_id": trace_id, "span_id": span_id, "trace_state": trace_state, "flags": flags,
            "attributes": list(pairs), "dropped_attributes": dropped}


def span(span_id, name, **fields):
    result = {
        "kind": "span", "trace_id": TRACE_ID, "span_id": span_id, "parent_span_id": PARENT_ID,
        "name": name, "span_kind": 1, "flags": SAMPLED | REMOTE_KNOWN | IS_REMOTE,
        "trace_state": TRACE_STATE, "start": TIME_0, "end": TIME_0 + 1000,
        "status": {"code": 0, "message": ""}, "attributes": [], "dropped_attributes": 0,
        "events": [], "dropped_events": 0, "links": [], "dropped_links": 0, "scope": SCOPE,
    }
    result.update(fields)
    return result


def log(offset, observed, **fields):
    result = {
        "kind": "log", "trace_id": TRACE_ID, "span_id": PARENT_ID, "flags": SAMPLED,
        "time": TIME_0 + offset, "observed": TIME_0 + observed, "severity_number": 0,
        "severity_text": "", "event_name": "", "body": ["empty", None], "attributes": [],
        "dropped_attributes": 0, "scope": SCOPE,
    }
    result.update(fields)
    return result


def expected_spans(ids):
    """ids: the span id by the name that fields.c printed."""
    first_links = [link("1002030405060708090a0b0c0d0e0f10", "2102030405060708",
                        SAMPLED | REMOTE_KNOWN | IS_REMOTE, "far=away",
                        attributes(("n", ["int", 1]), ("s", ["string", "x"]))),
                   link("1102030405060708090a0b0c0d0e0f10", "2202030405060708", REMOTE_KNOWN)]
    one_link = ("01" * 16, "01" * 8, SAMPLED | REMOTE_KNOWN)
    too_many = attributes(("k0", ["int", -1]), *numbers(LIMIT)[1:])
    exception = event("exception", 0, attributes(
        ("exception.message", ["string", "nothing left"]),
        ("exception.type", ["string", "shop.stock"])))
    exception["time"] = 0  # taken from the clock; looked at by the test
    spans = [
        span(ids["values at start"], "values at start", attributes=VALUES),
        span(ids["values one by one"], "values one by one", attributes=VALUES,
             events=[event("event", 5, VALUES)]),
        span(ids["failed"], "failed", status={"code": 2, "message": "out of stock"},
             events=[exception, event("bare", 7)]),
        span(ids["fine"], "fine", status={"code": 1, "message": ""}),
        span(ids["renamed"], "renamed later", attributes=attributes(
            ("key", ["string", "last write"]), ("other", ["string", "stays"]))),
        span(ids["linked"], "linked", links=first_links),
        span(ids["repaired"], "cut \uFFFD", status={"code": 2, "message": "\uFFFD"},
             attributes=attributes(("value", ["string", "bad \uFFFD byte"]),
                                   ("key \uFFFD", ["string", "overlong"])),
             events=[event("surrogate \uFFFD\uFFFD\uFFFD", 3)]),
        # One more dropped: the attribute without a key.
        span(ids["too many attributes"], "too many attributes", attributes=too_many,
             dropped_attributes=OVER + 1, events=[event("event", 4, numbers(LIMIT), OVER)],
             links=[link(*one_link, pairs=numbers(LIMIT), dropped=OVER)]),
        span(ids["too many events and links"], "too many events and links",
             events=[event("event", number) for number in range(LIMIT)], dropped_events=OVER,
             links=[link(*one_link)] * LIMIT, dropped_links=OVER + 1),
    ]
    kinds = ("internal", "server", "client", "producer", "consumer")
    spans.extend(span(ids[name], name, span_kind=number) for number, name in enumerate(kinds, 1))
    return spans


def expected_logs():
    logs = [
        log(1, 2, severity_number=9, attributes=VALUES, body=["map", VALUES]),
        log(3, 3, severity_text="\uFFFD", event_name="\uFFFDevent", body=["string", "body \uFFFD"]),
        log(4, 4, attributes=numbers(LIMIT), dropped_attributes=OVER),
        log(300, 300, trace_id="", span_id="", flags=0, body=["string", "outside of any span"]),
    ]
    logs.extend(log(100 + severity, 200, severity_number=severity,
                    severity_text="odd" if severity % 2 else "",
                    event_name="" if severity % 3 else "third",
                    body=["int", severity] if severity % 4 else ["empty", None])
                for severity in range(25))
    return logs
