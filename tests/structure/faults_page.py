"""docs/faults.md has every entry, each with a test, and names only tests that exist.

    faults_page.py ROOT
"""

import pathlib
import re
import sys

# Known faults of systems like this one that have a counterpart in what is built.
ENTRIES = (
    "A1 A2 A4 A5 B1 B3 B4 C1 C2 C4 D1 D2 D4 D5 F1 F2 F3 F5 F6 F7 F8 F10 F11 G1 G2 G3 H1 "
    "I1 I2 I3 I5 J1 K1 K2 K4 K5"
).split()
ROW = re.compile(r"^\| ([A-K][0-9]+) (.*?) \| (.*?) \| (.*) \|$")
CITED = re.compile(r"`(\w+\.\w+)`")
TEST = re.compile(r"^TEST(?:_[FP])?\(\s*(\w+),\s*(\w+)\s*\)", re.MULTILINE)


def tests_in(folder):
    """Returns the names, "Suite.Name", of all tests in the sources below a folder."""
    names = set()
    for path in sorted(folder.rglob("*")):
        if path.suffix in (".cpp", ".hpp"):
            text = path.read_text(encoding="utf-8")
            names.update(f"{suite}.{name}" for suite, name in TEST.findall(text))
    return names


def faults_of(page, tests, entries):
    """Returns what is wrong with the page."""
    faults, found = [], []
    for line in page.splitlines():
        row = ROW.match(line)
        if not row:
            continue
        entry, cited = row.group(1), CITED.findall(row.group(4))
        found.append(entry)
        if not cited:
            faults.append(f"{entry} names no test")
        faults += [f"{entry}: there is no test {name}" for name in cited if name not in tests]
    faults += [f"{entry} is missing" for entry in entries if entry not in found]
    faults += [f"{entry} is there twice" for entry in sorted(set(found)) if found.count(entry) > 1]
    return faults


def main(root):
    root = pathlib.Path(root)
    page = (root / "docs" / "faults.md").read_text(encoding="utf-8")
    tests = tests_in(root / "tests")
    faults = faults_of(page, tests, ENTRIES)
    for fault in faults:
        print(fault)
    print(f"{len(ENTRIES)} entries, {len(tests)} tests, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
