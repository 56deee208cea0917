#!/usr/bin/env python3
"""Writes docs/flags.md from the help of each subcommand, or checks that it still says the same.

    flags_page.py EBBTIDE             writes docs/flags.md
    flags_page.py --check EBBTIDE     status 1 if flags, their order or a default differ

The check leaves the layout alone, which depends on the version of the CLI library.
"""

import pathlib
import re
import subprocess
import sys

PAGE = pathlib.Path(__file__).resolve().parents[1] / "docs" / "flags.md"
SUBCOMMANDS = ["train", "plan", "profile", "tune", "bench", "doctor"]
HEAD = """# Flags

Made by `scripts/flags_page.py` from the help of each subcommand. Sizes take KiB, MiB and GiB, and
are bytes without; counts take K and M, of 1024.
"""
SECTION = """
## `ebbtide {name}`

```
{help}
```
"""


def help_text(program, name):
    shown = subprocess.run([program, name, "--help"], check=True, capture_output=True, text=True)
    return "\n".join(line.rstrip() for line in shown.stdout.strip().splitlines())


def page_text(program):
    sections = [SECTION.format(name=name, help=help_text(program, name)) for name in SUBCOMMANDS]
    return HEAD + "".join(sections)


def facts(text):
    """The flags and defaults in their order, whatever the layout."""
    return re.findall(r"--[a-z][a-z0-9-]*|\(default: [^)]*\)", " ".join(text.split()))


def differences(page, shown):
    in_page, in_help = facts(page), facts(shown)
    if in_page == in_help:
        return []
    only_page = [fact for fact in in_page if fact not in in_help]
    only_help = [fact for fact in in_help if fact not in in_page]
    return [f"only in the page: {only_page}", f"only in the help: {only_help}"]


def main(arguments):
    check = arguments[:1] == ["--check"]
    (program,) = arguments[check:]
    shown = page_text(program)
    if not check:
        PAGE.write_text(shown)
        return 0
    found = differences(PAGE.read_text(), shown)
    for line in found:
        print(line)
    if found:
        print("scripts/flags_page.py writes docs/flags.md anew")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
