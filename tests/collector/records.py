# SPDX-License-Identifier: Apache-2.0
"""Spans and log records in one comparable form, read from the Collector's files (lines of OTLP
JSON) and from what the services wrote about themselves (one line for each record).

The form is a plain dictionary.  A value is a [type, value] pair, so that 1, "1" and 1.0 differ;
doubles are hexadecimal text, so that each bit counts.  The order of attributes and of the keys of a
map means nothing in OTLP, so they are sorted; a key that is there twice stays there twice.  The
order of events, links and array elements is kept.

A service's line must name every field, and no other: a recorder that forgets a field must fail
rather than agree with a sender that forgets it too.
"""

import base64
import json
import math


class FormatError(Exception):
    """A line is not what its writer promised."""


SPAN_FIELDS = frozenset((
    "kind", "trace_id", "span_id", "parent_span_id", "name", "span_kind", "flags", "trace_state",
    "start", "end", "status", "attributes", "dropped_attributes", "events", "dropped_events",
    "links", "dropped_links", "scope", "resource"))
LOG_FIELDS = frozenset((
    "kind", "trace_id", "span_id", "flags", "time", "observed", "severity_number",
    "severity_text", "event_name", "body", "attributes", "dropped_attributes", "scope",
    "resource"))
EVENT_FIELDS = frozenset(("name", "time", "attributes", "dropped_attributes"))
LINK_FIELDS = frozenset((
    "trace_id", "span_id", "trace_state", "flags", "attributes", "dropped_attributes"))
SCOPE_FIELDS = frozenset(("name", "version", "schema_url", "attributes"))
STATUS_FIELDS = frozenset(("code", "message"))


def double_text(value):
    """One text for each double; all not-a-numbers are one."""
    if isinstance(value, str):
        value = float.fromhex(value) if "x" in value.lower() else float(value)
    value = float(value)
    return "nan" if math.isnan(value) else value.hex()


def bytes_text(value):
    return base64.b64encode(base64.b64decode(value, validate=True)).decode("ascii")


def sorted_pairs(pairs):
    return sorted(pairs, key=json.dumps)


def parse_line(line):
    """JSON with one care: the number -0 is a double, and keeps its sign."""
    return json.loads(line, parse_int=lambda text: -0.0 if text == "-0" else int(text))


def lines_of(path):
    # Not splitlines(): U+2028 may stand in a JSON string as it is.
    with open(path, encoding="utf-8", newline="\n") as file:
        for line in file:
            if line.strip():
                yield line


# --- The Collector's files ---------------------------------------------------------------------


def otlp_value(value):
    if not value:
        return ["empty", None]
    if len(value) != 1:
        raise FormatError(f"a value of several types: {value}")
    (name, content), = value.items()
    if name == "stringValue":
        return ["string", content]
    if name == "boolValue":
        return ["bool", content]
    if name == "intValue":
        return ["int", int(content)]
    if name == "doubleValue":
        return ["double", double_text(content)]
    if name == "bytesValue":
        return ["bytes", bytes_text(content)]
    if name == "arrayValue":
        return ["array", [otlp_value(item) for item in content.get("values", [])]]
    if name == "kvlistValue":
        return ["map", otlp_attributes(content.get("values", []))]
    raise FormatError(f"a value of unknown type: {value}")


def otlp_attributes(attributes):
    return sorted_pairs([item.get("key", ""), otlp_value(item.get("value", {}))]
                        for item in attributes)


def otlp_event(event):
    return {
        "name": event.get("name", ""),
        "time": int(event.get("timeUnixNano", 0)),
        "attributes": otlp_attributes(event.get("attributes", [])),
        "dropped_attributes": event.get("droppedAttributesCount", 0),
    }


def otlp_link(link):
    return {
        "trace_id": link.get("traceId", ""),
        "span_id": link.get("spanId", ""),
        "trace_state": link.get("traceState", ""),
        "flags": link.get("flags", 0),
        "attributes": otlp_attributes(link.get("attributes", [])),
        "dropped_attributes": link.get("droppedAttributesCount", 0),
    }


def otlp_span(span, scope, resource):
    status = span.get("status", {})
    return {
        "kind": "span",
        "trace_id": span.get("traceId", ""),
        "span_id": span.get("spanId", ""),
        "parent_span_id": span.get("parentSpanId", ""),
        "name": span.get("name", ""),
        "span_kind": span.get("kind", 0),
        "flags": span.get("flags", 0),
        "trace_state": span.get("traceState", ""),
        "start": int(span.get("startTimeUnixNano", 0)),
        "end": int(span.get("endTimeUnixNano", 0)),
        "status": {"code": status.get("code", 0), "message": status.get("message", "")},
        "attributes": otlp_attributes(span.get("attributes", [])),
        "dropped_attributes": span.get("droppedAttributesCount", 0),
        "events": [otlp_event(event) for event in span.get("events", [])],
        "dropped_events": span.get("droppedEventsCount", 0),
        "links": [otlp_link(link) for link in span.get("links", [])],
        "dropped_links": span.get("droppedLinksCount", 0),
        "scope": scope,
        "resource": resource,
    }


def otlp_log(log, scope, resource):
    return {
        "kind": "log",
        "trace_id": log.get("traceId", ""),
        "span_id": log.get("spanId", ""),
        "flags": log.get("flags", 0),
        "time": int(log.get("timeUnixNano", 0)),
        "observed": int(log.get("observedTimeUnixNano", 0)),
        "severity_number": log.get("severityNumber", 0),
        "severity_text": log.get("severityText", ""),
        "event_name": log.get("eventName", ""),
        "body": otlp_value(log.get("body", {})),
        "attributes": otlp_attributes(log.get("attributes", [])),
        "dropped_attributes": log.get("droppedAttributesCount", 0),
        "scope": scope,
        "resource": resource,
    }


def otlp_scope(group):
    scope = group.get("scope", {})
    return {
        "name": scope.get("name", ""),
        "version": scope.get("version", ""),
        "schema_url": group.get("schemaUrl", ""),
        "attributes": otlp_attributes(scope.get("attributes", [])),
    }


def otlp_records(path):
    """Yields each span and log record of one of the Collector's files."""
    for line in lines_of(path):
        request = parse_line(line)
        for top, middle, bottom, read in (
                ("resourceSpans", "scopeSpans", "spans", otlp_span),
                ("resourceLogs", "scopeLogs", "logRecords", otlp_log)):
            for whole in request.get(top, []):
                resource = otlp_attributes(whole.get("resource", {}).get("attributes", []))
                for group in whole.get(middle, []):
                    scope = otlp_scope(group)
                    for item in group.get(bottom, []):
                        yield read(item, scope, resource)


# --- What the services wrote about themselves --------------------------------------------------


def demand(item, fields, what):
    found = frozenset(item)
    if found != fields:
        raise FormatError(f"{what}: missing {sorted(fields - found)}, "
                          f"unknown {sorted(found - fields)}")
    return item


def own_value(item):
    kind = item["type"]
    value = item.get("value")
    if kind == "empty":
        return ["empty", None]
    if kind == "string" and isinstance(value, str):
        return ["string", value]
    if kind == "bool" and isinstance(value, bool):
        return ["bool", value]
    if kind == "int" and isinstance(value, str):
        return ["int", int(value)]
    if kind == "double" and isinstance(value, str):
        return ["double", double_text(value)]
    if kind == "bytes" and isinstance(value, str):
        return ["bytes", bytes_text(value)]
    if kind == "array" and isinstance(value, list):
        return ["array", [own_value(element) for element in value]]
    if kind == "map" and isinstance(value, list):
        return ["map", own_attributes(value)]
    raise FormatError(f"a value that does not fit its type: {item}")


def own_attributes(attributes):
    return sorted_pairs([item["key"], own_value(item)] for item in attributes)


def own_children(children, fields, what):
    result = []
    for child in children:
        child = dict(demand(child, fields, what))
        child["attributes"] = own_attributes(child["attributes"])
        if "time" in child:
            child["time"] = int(child["time"])
        result.append(child)
    return result


def own_scope(scope):
    scope = dict(scope)
    scope.setdefault("attributes", [])
    demand(scope, SCOPE_FIELDS, "scope")
    scope["attributes"] = own_attributes(scope["attributes"])
    return scope


def own_record(item):
    kind = item.get("kind")
    if kind == "span":
        record = dict(demand(item, SPAN_FIELDS, "span"))
        record["start"] = int(record["start"])
        record["end"] = int(record["end"])
        record["status"] = dict(demand(record["status"], STATUS_FIELDS, "status"))
        record["events"] = own_children(record["events"], EVENT_FIELDS, "event")
        record["links"] = own_children(record["links"], LINK_FIELDS, "link")
    elif kind == "log":
        record = dict(demand(item, LOG_FIELDS, "log"))
        record["time"] = int(record["time"])
        record["observed"] = int(record["observed"])
        record["body"] = own_value(record["body"])
    else:
        raise FormatError(f"neither span nor log: {kind}")
    record["attributes"] = own_attributes(record["attributes"])
    record["scope"] = own_scope(record["scope"])
    record["resource"] = own_attributes(record["resource"])
    return record


def own_records(path):
    """Yields each span and log record of one service's own list."""
    for number, line in enumerate(lines_of(path), 1):
        try:
            yield own_record(parse_line(line))
        except (FormatError, KeyError, TypeError, ValueError) as error:
            raise FormatError(f"{path}:{number}: {error!r}: {line[:400]}") from error
