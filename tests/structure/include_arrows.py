#!/usr/bin/env python3
"""Finds includes that point the wrong way.

    include, contract <- kernels, tiering <- src/{device, comm, model} <- src/train <- src/cli

src/report and src/hardware see only include/; only src/cli, src/measure and src/plan see
src/hardware, and only src/cli sees src/{measure, plan, profile, tune, doctor}. kernels and
tiering do not know each other, and neither do the folders between braces. Public headers include none of CUDA, liburing, MPI or NCCL.
"""

import pathlib
import re
import sys

CONTRACT = {"include", "contract"}
MIDDLE = CONTRACT | {"kernels", "tiering"}
# Folder -> the other folders that it may include from.
ALLOWED = {
    "include": set(),
    "contract": CONTRACT,
    "kernels": CONTRACT,
    "tiering": CONTRACT,
    "src/device": MIDDLE,
    "src/comm": MIDDLE,
    "src/model": MIDDLE,
    "src/hardware": CONTRACT,
    "src/measure": MIDDLE | {"src/device", "src/hardware"},
    "src/report": CONTRACT,
    "src/doctor": MIDDLE | {"src/report"},
    "src/train": MIDDLE | {"src/device", "src/comm", "src/model", "src/report"},
    "src/plan": CONTRACT | {"src/hardware", "src/model", "src/report", "src/train"},
    "src/profile": CONTRACT | {"src/model", "src/report", "src/train"},
    "src/tune": CONTRACT | {"src/model", "src/report", "src/train"},
    "src/cli": MIDDLE
    | {
        "src/device",
        "src/comm",
        "src/doctor",
        "src/hardware",
        "src/measure",
        "src/model",
        "src/plan",
        "src/profile",
        "src/report",
        "src/train",
        "src/tune",
    },
}
SOURCES = {".hpp", ".cpp", ".cuh", ".cu", ".h", ".inc"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
# Headers that would tie an embedding program to a part that it may not have.
HEAVY = re.compile(r"^(cuda|cublas|cudnn|nccl|nvtx|liburing|mpi)[\w/.]*$", re.IGNORECASE)


def folder_of(path):
    """'src/train/loop.hpp' -> 'src/train'; None for a file that has no place in the order."""
    parts = path.parts
    for length in (2, 1):
        name = "/".join(parts[:length])
        if len(parts) > length and name in ALLOWED:
            return name
    return None


def resolve(root, source, bracket, name):
    """The file of ours that an include names, relative to the root, or None."""
    places = [root, root / "include"]
    if bracket == '"':
        places.insert(0, (root / source).parent)
    for place in places:
        target = (place / name).resolve()
        if target.is_file() and target.is_relative_to(root):
            return target.relative_to(root)
    return None


def fault_of(root, source, bracket, name):
    """What is wrong with one include, or None."""
    folder = folder_of(source)
    if folder == "include" and HEAVY.match(name):
        return "is no header for a public header"
    target = resolve(root, source, bracket, name)
    if target is None:
        return None
    target_folder = folder_of(target)
    if target_folder == folder or target_folder in ALLOWED[folder]:
        return None
    return f"points from {folder} to {target_folder or target.parent}"


def check_tree(root):
    """Returns (number of includes read, faults)."""
    root = pathlib.Path(root).resolve()
    faults, includes = [], 0
    for top in sorted({name.split("/")[0] for name in ALLOWED}):
        for path in sorted((root / top).rglob("*")):
            source = path.relative_to(root)
            if path.suffix not in SOURCES or not path.is_file():
                continue
            if folder_of(source) is None:
                faults.append(f"{source}: its folder has no place in the order")
                continue
            lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
            for number, line in enumerate(lines, 1):
                match = INCLUDE.match(line)
                if not match:
                    continue
                includes += 1
                fault = fault_of(root, source, *match.groups())
                if fault:
                    faults.append(f"{source}:{number}: {match.group(2)} {fault}")
    return includes, faults


def main(root):
    includes, faults = check_tree(root)
    for fault in faults:
        print(fault)
    print(f"{includes} includes read, {len(faults)} faults")
    return 0 if includes and not faults else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
