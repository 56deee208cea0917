"""Loads a program of scripts/ or bench/ as a module, to call its functions."""

import importlib.util
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def load_script(name, folder="scripts"):
    sys.dont_write_bytecode = True
    where = ROOT / folder
    if str(where) not in sys.path:
        sys.path.append(str(where))  # what it imports of its own folder
    spec = importlib.util.spec_from_file_location(name, where / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module
