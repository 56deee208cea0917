#!/usr/bin/env python3
"""Puts the report's page together and writes it as a C++ source.

    embed_page.py OUTPUT.cpp page.html FILE...

In page.html "{{NAME}}" stands for the file of that name, and "{{data}}" for what the program puts
there.
"""

import pathlib
import re
import sys

SOURCE = """// Made of src/report/page/ by the build.
#include "src/report/page_frame.hpp"

namespace ebbtide::report {{
namespace {{

constexpr std::string_view kBeforeData = {before};

constexpr std::string_view kAfterData = {after};

}}  // namespace

PageFrame page_frame() {{
  return {{kBeforeData, kAfterData}};
}}

}}  // namespace ebbtide::report
"""
DELIMITER = "page"
PLACE = re.compile(r"\{\{([\w.]+)\}\}")


def raw_string(text):
    if f"){DELIMITER}\"" in text:
        sys.exit("the page holds the end of a raw string")
    return f'R"{DELIMITER}({text}){DELIMITER}"'


def put_together(page, files):
    """The page before and after its data."""
    unused = dict(files)

    def content(match):
        name = match.group(1)
        if name == "data":
            return match.group(0)
        if name not in files:
            sys.exit(f"page.html names {name}, which is not among the files")
        unused.pop(name, None)
        return files[name].strip()

    whole = PLACE.sub(content, page)
    if unused:
        sys.exit(f"page.html does not name {', '.join(unused)}")
    if whole.count("{{data}}") != 1:
        sys.exit("page.html has no one place for the data")
    return whole.split("{{data}}")


def main(output, page, names):
    texts = {path.name: path.read_text(encoding="utf-8") for path in map(pathlib.Path, names)}
    before, after = put_together(pathlib.Path(page).read_text(encoding="utf-8"), texts)
    source = SOURCE.format(before=raw_string(before), after=raw_string(after))
    pathlib.Path(output).write_text(source, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
