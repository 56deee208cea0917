#!/usr/bin/env python3
"""Writes the table of docs/published.md, or checks that it still says what is predicted.

    published_page.py PROGRAM             writes the table that the program prints
    published_page.py --check PROGRAM     status 1 if the page says otherwise
"""

import difflib
import pathlib
import subprocess
import sys

PAGE = pathlib.Path(__file__).resolve().parents[1] / "docs" / "published.md"
FIRST_CELL = "| id |"


def with_table(page, table):
    """The page with the table in place of the one whose first column is the id."""
    lines = page.splitlines()
    starts = [i for i, line in enumerate(lines) if line.startswith(FIRST_CELL)]
    if len(starts) != 1:
        raise ValueError(f"{len(starts)} tables begin with '{FIRST_CELL}'; there must be one")
    end = starts[0]
    while end < len(lines) and lines[end].startswith("|"):
        end += 1
    return "\n".join(lines[: starts[0]] + table.splitlines() + lines[end:]) + "\n"


def main(arguments):
    check = arguments[:1] == ["--check"]
    (program,) = arguments[check:]
    table = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    page = PAGE.read_text(encoding="utf-8")
    shown = with_table(page, table)
    if not check:
        PAGE.write_text(shown, encoding="utf-8")
        return 0
    if page == shown:
        return 0
    sys.stdout.writelines(difflib.unified_diff(page.splitlines(True), shown.splitlines(True)))
    print("scripts/published_page.py writes the table of docs/published.md anew")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
