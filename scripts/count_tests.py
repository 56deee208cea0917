#!/usr/bin/env python3
"""Counts the test cases of one or more Meson build folders.

Reads meson-logs/testlog.json (one line a test program) and testlog.junit.xml (the cases of each
program). Prints every failed and every skipped case with its reason, then, as the last line,
"N passed, N failed, N skipped". A program that crashed, timed out or failed without a failed case
counts as one failure. The status is 0 only if something passed and nothing failed.
"""

import json
import os
import re
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field

# Characters that XML 1.0 cannot hold; Meson copies a program's output into the file as it is.
NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass
class Count:
    passed: int = 0
    failed: list = field(default_factory=list)  # "case: reason"
    skipped: list = field(default_factory=list)  # "case: reason"


def one_line(text, limit=300):
    return " ".join(NOT_XML.sub("?", text or "").split())[:limit]


def read_suites(path):
    """Returns the cases of each <testsuite> by the suite's name."""
    with open(path, encoding="utf-8", errors="replace") as file:
        root = ElementTree.fromstring(NOT_XML.sub("?", file.read()).encode())
    suites = {}
    for suite in root.iter("testsuite"):
        suites.setdefault(suite.get("name", ""), []).extend(suite.findall("testcase"))
    return suites


def read_programs(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return [json.loads(line) for line in file if line.strip()]


def file_name_of(name):
    """'project:suite / test', or 'test' where there is one suite only -> 'test'."""
    return name.rpartition(" / ")[2]


def reason_of(program):
    result = program["result"]
    lines = (program.get("stderr") or program.get("stdout") or "").strip().splitlines()
    last = f": {one_line(lines[-1])}" if lines else ""
    return f"{result}, status {program.get('returncode')}{last}"


def count_case(count, name, case):
    trouble = case.find("failure")
    trouble = case.find("error") if trouble is None else trouble
    skip = case.find("skipped")
    if trouble is not None:
        count.failed.append(f"{name}: {one_line(trouble.get('message') or trouble.text)}")
    elif skip is not None:
        reason = one_line(skip.get("message") or skip.text or case.findtext("system-out"))
        count.skipped.append(f"{name}: {reason or 'no reason given'}")
    elif case.get("status") == "notrun":
        count.skipped.append(f"{name}: disabled")
    else:
        count.passed += 1


def owner_of(suite, programs):
    """The program that reported 'project.program.suite': the one with the longest such name."""
    reporter = suite.partition(".")[2] + "."
    owners = [name for name in programs if reporter.startswith(name + ".")]
    return max(owners, key=len, default=None)


def count_program(count, program, name, cases):
    failed_before = len(count.failed)
    for case in cases:
        count_case(count, f"{case.get('classname')}.{case.get('name')}", case)
    result = program["result"]
    if result in ("OK", "EXPECTEDFAIL"):
        if not cases and not is_gtest(program):
            count.passed += 1
    elif result == "SKIP":
        if not cases:
            count.skipped.append(f"{name}: {reason_of(program)}")
    elif len(count.failed) == failed_before:
        count.failed.append(f"{name}: {reason_of(program)}")


def is_gtest(program):
    return "[==========]" in (program.get("stdout") or "")


def count_folder(count, build_dir):
    logs = os.path.join(build_dir, "meson-logs")
    try:
        programs = read_programs(os.path.join(logs, "testlog.json"))
        suites = read_suites(os.path.join(logs, "testlog.junit.xml"))
    except (OSError, ValueError, ElementTree.ParseError) as error:
        count.failed.append(f"{build_dir}: no readable record of its tests: {error}")
        return
    files = [file_name_of(program["name"]) for program in programs]
    for file in sorted({file for file in files if files.count(file) > 1}):
        # Both would write FILE.xml, and one would pass for the other.
        count.failed.append(f"{file}: the name of more than one test program")
    programs = {program["name"]: program for program in programs}
    cases = {name: [] for name in programs}
    for suite, members in suites.items():
        owner = owner_of(suite, programs)
        if owner is not None:
            cases[owner] += members
    for name, program in programs.items():
        count_program(count, program, name, cases[name])


def main(build_dirs):
    count = Count()
    for build_dir in build_dirs:
        count_folder(count, build_dir)
    for line in count.skipped:
        print("SKIPPED", line)
    for line in count.failed:
        print("FAILED", line)
    print(f"{count.passed} passed, {len(count.failed)} failed, {len(count.skipped)} skipped")
    return 0 if count.passed and not count.failed else 1


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: count_tests.py BUILD_DIR...")
    sys.exit(main(sys.argv[1:]))
