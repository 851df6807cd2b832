# SPDX-License-Identifier: Apache-2.0
"""The comparison must see what it is there to see: each test takes a pair that agrees and breaks it
in one way.  A comparison that always agrees would fail all of them."""

import copy
import json
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import comparison  # noqa: E402  (needs the path above)
import records  # noqa: E402

TRACE = "5b8efff798038103d269b633813fc60c"
SPAN = "eee19b7ec3c1b174"
PARENT = "00f067aa0ba902b7"

OTLP_SPANS = {"resourceSpans": [{
    "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "shop"}}]},
    "scopeSpans": [{
        "scope": {"name": "front", "version": "1"},
        "schemaUrl": "https://example.org/schema",
        "spans": [{
            "traceId": TRACE, "spanId": SPAN, "parentSpanId": PARENT, "traceState": "a=b",
            "flags": 257, "name": "GET \u2028 /", "kind": 2, "startTimeUnixNano": "10",
            "endTimeUnixNano": "20",
            "attributes": [
                {"key": "int", "value": {"intValue": "-9223372036854775808"}},
                {"key": "zero", "value": {"doubleValue": -0.0}},
                {"key": "tenth", "value": {"doubleValue": 0.1}},
                {"key": "whole", "value": {"doubleValue": 3}},
                {"key": "yes", "value": {"boolValue": True}},
                {"key": "nothing", "value": {}},
                {"key": "raw", "value": {"bytesValue": "AAE="}},
                {"key": "list", "value": {"arrayValue": {"values": [{}, {"stringValue": "x"}]}}},
                {"key": "map", "value": {"kvlistValue": {"values": [
                    {"key": "b", "value": {"intValue": "1"}},
                    {"key": "a", "value": {"doubleValue": "NaN"}}]}}}],
            "droppedAttributesCount": 2,
            "events": [{"timeUnixNano": "11", "name": "first"},
                       {"timeUnixNano": "12", "name": "second", "droppedAttributesCount": 1,
                        "attributes": [{"key": "k", "value": {"stringValue": "v"}}]}],
            "droppedEventsCount": 3,
            "links": [{"traceId": TRACE, "spanId": PARENT, "traceState": "c=d", "flags": 1}],
            "droppedLinksCount": 4,
            "status": {"code": 2, "message": "out of stock"}}]}]}]}
OTLP_LOGS = {"resourceLogs": [{
    "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "shop"}}]},
    "scopeLogs": [{
        "scope": {"name": "front"},
        "logRecords": [{
            "timeUnixNano": "11", "observedTimeUnixNano": "12", "severityNumber": 9,
            "severityText": "INFO", "body": {"stringValue": "sold"}, "flags": 1,
            "traceId": TRACE, "spanId": SPAN, "eventName": "sale",
            "attributes": [{"key": "n", "value": {"intValue": "1"}}],
            "droppedAttributesCount": 5}]}]}]}

RESOURCE = [{"key": "service.name", "type": "string", "value": "shop"}]
OWN_SPAN = {
    "kind": "span", "trace_id": TRACE, "span_id": SPAN, "parent_span_id": PARENT,
    "name": "GET \u2028 /", "span_kind": 2, "flags": 257, "trace_state": "a=b", "start": "10",
    "end": "20", "status": {"code": 2, "message": "out of stock"},
    "attributes": [
        {"key": "yes", "type": "bool", "value": True},
        {"key": "int", "type": "int", "value": "-9223372036854775808"},
        {"key": "zero", "type": "double", "value": "-0x0p+0"},
        {"key": "tenth", "type": "double", "value": "0.1"},
        {"key": "whole", "type": "double", "value": "3"},
        {"key": "nothing", "type": "empty", "value": None},
        {"key": "raw", "type": "bytes", "value": "AAE="},
        {"key": "list", "type": "array", "value": [
            {"type": "empty"}, {"type": "string", "value": "x"}]},
        {"key": "map", "type": "map", "value": [
            {"key": "a", "type": "double", "value": "nan"},
            {"key": "b", "type": "int", "value": "1"}]}],
    "dropped_attributes": 2,
    "events": [
        {"name": "first", "time": "11", "attributes": [], "dropped_attributes": 0},
        {"name": "second", "time": "12", "dropped_attributes": 1,
         "attributes": [{"key": "k", "type": "string", "value": "v"}]}],
    "dropped_events": 3,
    "links": [{"trace_id": TRACE, "span_id": PARENT, "trace_state": "c=d", "flags": 1,
               "attributes": [], "dropped_attributes": 0}],
    "dropped_links": 4,
    "scope": {"name": "front", "version": "1", "schema_url": "https://example.org/schema",
              "attributes": []},
    "resource": RESOURCE}
OWN_LOG = {
    "kind": "log", "trace_id": TRACE, "span_id": SPAN, "flags": 1, "time": "11", "observed": "12",
    "severity_number": 9, "severity_text": "INFO", "event_name": "sale",
    "body": {"type": "string", "value": "sold"},
    "attributes": [{"key": "n", "type": "int", "value": "1"}], "dropped_attributes": 5,
    "scope": {"name": "front", "version": "", "schema_url": ""}, "resource": RESOURCE}


def read(reader, lines):
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", suffix=".jsonl") as file:
        file.writelines(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        file.flush()
        return list(reader(file.name))


def leaves(value, path=()):
    """Yields the path of each number, text and truth value inside a record."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, path + (key,))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from leaves(item, path + (index,))
    else:
        yield path


class ComparisonTest(unittest.TestCase):
    def setUp(self):
        self.expected = read(records.own_records, [OWN_SPAN, OWN_LOG])
        self.actual = read(records.otlp_records, [OTLP_SPANS, OTLP_LOGS])

    def only_difference(self):
        found = comparison.differences(self.expected, self.actual)
        self.assertEqual(len(found), 1, found)
        return found[0]

    def test_equal_records_of_both_sources_agree(self):
        self.assertEqual(comparison.differences(self.expected, self.actual), [])

    def test_order_of_records_does_not_matter(self):
        self.actual.reverse()
        self.assertEqual(comparison.differences(self.expected, self.actual), [])

    def test_span_received_twice_is_found(self):
        self.actual.append(copy.deepcopy(self.actual[0]))
        self.assertIn("once too often ('span'", self.only_difference())

    def test_log_received_twice_is_found(self):
        self.actual.append(copy.deepcopy(self.actual[1]))
        self.assertIn("once too often ('log'", self.only_difference())

    def test_log_sent_twice_and_received_once_is_found(self):
        self.expected.append(copy.deepcopy(self.expected[1]))
        self.assertIn("missing ('log'", self.only_difference())

    def test_missing_span_is_found(self):
        del self.actual[0]
        self.assertIn("missing ('span'", self.only_difference())

    def test_missing_log_is_found(self):
        del self.actual[1]
        self.assertIn("missing ('log'", self.only_difference())

    def test_span_that_nobody_sent_is_found(self):
        other = copy.deepcopy(self.actual[0])
        other["span_id"] = "1111111111111111"
        self.actual.append(other)
        self.assertIn("unexpected ('span'", self.only_difference())

    def test_one_lost_and_another_doubled_are_two_differences(self):
        self.actual[1] = copy.deepcopy(self.actual[0])
        self.assertEqual(len(comparison.differences(self.expected, self.actual)), 2)

    def test_changed_type_of_attribute_is_found(self):
        for kind, value in (("string", "1"), ("double", "0x1.0000000000000p+0"), ("bool", True)):
            with self.subTest(kind):
                self.actual[1]["attributes"] = [["n", [kind, value]]]
                self.assertIn("attributes.n[0]: expected \"int\"", self.only_difference())

    def test_attribute_that_came_twice_is_found(self):
        self.actual[1]["attributes"] *= 2
        self.assertIn("attributes", self.only_difference())

    def test_sign_of_zero_is_found(self):
        attributes = self.actual[0]["attributes"]
        place = [key for key, _ in attributes].index("zero")
        attributes[place][1] = ["double", records.double_text(0.0)]
        self.assertIn("attributes.zero[1]: expected \"-0x0", self.only_difference())

    def test_attribute_that_is_missing_or_too_much_is_named(self):
        self.actual[1]["attributes"] = [["other", ["int", 1]]]
        found = self.only_difference()
        self.assertIn("attributes.n: not received: [\"int\", 1]", found)
        self.assertIn("attributes.other: only received: [\"int\", 1]", found)

    def test_order_of_events_is_found(self):
        self.actual[0]["events"].reverse()
        self.assertIn("events[0].name: expected \"first\"", self.only_difference())

    def test_change_of_any_single_field_is_found(self):
        for number, record in enumerate(self.actual):
            for path in leaves(record):
                if path == ("kind",):
                    continue
                with self.subTest(path=path):
                    changed = copy.deepcopy(self.actual)
                    place = changed[number]
                    for step in path[:-1]:
                        place = place[step]
                    place[path[-1]] = "something else"
                    self.assertNotEqual(comparison.differences(self.expected, changed), [])

    def test_report_shows_the_first_ten_and_counts_the_rest(self):
        spans = [dict(self.expected[0], span_id=f"{number:016x}") for number in range(1, 26)]
        text = comparison.report("shop", comparison.differences(spans, []))
        self.assertEqual(text.count("\n  - missing"), 10)
        self.assertIn("shop: 25 differences", text)
        self.assertIn("... and 15 more", text)


class OwnRecordTest(unittest.TestCase):
    def assert_refused(self, line):
        with self.assertRaises(records.FormatError):
            read(records.own_records, [line])

    def test_each_missing_field_is_refused(self):
        for line in (OWN_SPAN, OWN_LOG):
            for field in line:
                with self.subTest(field):
                    self.assert_refused({k: v for k, v in line.items() if k != field})

    def test_unknown_field_is_refused(self):
        self.assert_refused(dict(OWN_SPAN, colour="red"))

    def test_value_that_does_not_fit_its_type_is_refused(self):
        for kind, value in (("int", 1), ("string", 1), ("bool", "true"), ("double", 1.0),
                            ("bytes", "?"), ("array", {}), ("number", "1")):
            with self.subTest(kind):
                self.assert_refused(dict(OWN_LOG, body={"type": kind, "value": value}))


def main():
    result = unittest.main(exit=False).result
    failed = len(result.failures) + len(result.errors)
    print(f"comparison_test: {result.testsRun - failed} passed, {failed} failed")
    return 0 if result.wasSuccessful() and result.testsRun > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
