# SPDX-License-Identifier: Apache-2.0
"""Compares two collections of records as multisets: each record must be on both sides, as often on
one as on the other, with every field equal.  Nothing is merged or deduplicated first.

Where both sides hold something with the same identity, the difference is told field by field;
otherwise as missing, unexpected, or as often as it came.
"""

from collections import Counter, defaultdict
import json

SHOWN = 10
BRIEF_LENGTH = 160


def identity(record):
    """What makes two records the same one, however much their contents differ."""
    if record["kind"] == "span":
        return ("span", record["trace_id"], record["span_id"])
    return (record["kind"], record["trace_id"], record["span_id"],
            record.get("time") or record.get("observed") or record.get("sequence"))


def brief(value):
    text = json.dumps(value, ensure_ascii=False, sort_keys=True)
    return text if len(text) <= BRIEF_LENGTH else text[:BRIEF_LENGTH] + "..."


def as_attributes(value):
    """A list of [key, [type, content]] with distinct keys as a dictionary, else what it was."""
    if not isinstance(value, list):
        return value
    result = {}
    for item in value:
        if not (isinstance(item, list) and len(item) == 2 and isinstance(item[0], str)
                and isinstance(item[1], list) and len(item[1]) == 2
                and isinstance(item[1][0], str)) or item[0] in result:
            return value
        result[item[0]] = item[1]
    return result


def field_differences(expected, actual, path=""):
    """Yields one line for each place where two contents differ."""
    if as_attributes(expected) is not expected and as_attributes(actual) is not actual:
        expected, actual = as_attributes(expected), as_attributes(actual)
    if isinstance(expected, dict) and isinstance(actual, dict):
        for key in sorted(expected.keys() | actual.keys()):
            place = f"{path}.{key}" if path else key
            if key not in expected:
                yield f"{place}: only received: {brief(actual[key])}"
            elif key not in actual:
                yield f"{place}: not received: {brief(expected[key])}"
            else:
                yield from field_differences(expected[key], actual[key], place)
    elif (isinstance(expected, list) and isinstance(actual, list)
          and len(expected) == len(actual)):
        for index, (left, right) in enumerate(zip(expected, actual)):
            yield from field_differences(left, right, f"{path}[{index}]")
    elif expected != actual or type(expected) is not type(actual):
        yield f"{path}: expected {brief(expected)}, received {brief(actual)}"


def freeze(record):
    return json.dumps(record, sort_keys=True)


def by_identity(frozen):
    groups = defaultdict(list)
    for text in frozen.elements():
        record = json.loads(text)
        groups[identity(record)].append(record)
    return groups


def differences(expected, actual):
    """Returns a list of texts, one for each record that is not on both sides alike."""
    wanted = Counter(freeze(record) for record in expected)
    found = Counter(freeze(record) for record in actual)
    if wanted == found:
        return []
    missing = by_identity(wanted - found)
    surplus = by_identity(found - wanted)
    wanted_times = Counter(identity(json.loads(text)) for text in wanted.elements())
    result = []
    for key in sorted(missing.keys() | surplus.keys(), key=repr):
        left, right = missing.get(key, []), surplus.get(key, [])
        for one, other in zip(left, right):
            lines = list(field_differences(one, other))
            text = "".join(f"\n      {line}" for line in lines[:SHOWN])
            rest = f"\n      ... and {len(lines) - SHOWN} more" if len(lines) > SHOWN else ""
            result.append(f"changed {key}:{text}{rest}")
        for one in left[len(right):]:
            result.append(f"missing {key}: {brief(one)}")
        for one in right[len(left):]:
            word = "once too often" if wanted_times[key] else "unexpected"
            result.append(f"{word} {key}: {brief(one)}")
    return result


def report(title, found):
    """Returns the text that a failed comparison prints: the number and the first differences."""
    shown = "".join(f"\n  - {text}" for text in found[:SHOWN])
    rest = f"\n  ... and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    return f"{title}: {len(found)} differences{shown}{rest}"
