"""Plants good and bad includes in a small tree, to see that the check finds the bad ones."""

import pathlib
import tempfile
import unittest

import include_arrows

FILES = [
    "include/ebbtide/plan.hpp",
    "contract/names.hpp",
    "kernels/kernels.hpp",
    "tiering/plan/planner.hpp",
    "src/device/cpu/arena.hpp",
    "src/hardware/machine.hpp",
    "src/measure/fit.hpp",
    "src/model/llama.hpp",
    "src/plan/target.hpp",
    "src/report/bill.hpp",
    "src/train/loop.hpp",
    "src/cli/flags.hpp",
]


class IncludeArrows(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for name in FILES:
            self.write(name, "#pragma once\n")

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def faults(self, name, include):
        self.write(name, f"#pragma once\n#include {include}\n")
        includes, faults = include_arrows.check_tree(self.root)
        self.assertEqual(includes, 1)
        return faults

    def test_an_arrow_down_is_accepted(self):
        for name, include in [
            ("kernels/cpu/norm.cpp", '"kernels/kernels.hpp"'),
            ("tiering/plan/planner.hpp", '"ebbtide/plan.hpp"'),
            ("tiering/plan/planner.hpp", "<ebbtide/plan.hpp>"),
            ("src/device/cpu/arena.hpp", '"tiering/plan/planner.hpp"'),
            ("src/train/loop.hpp", '"src/model/llama.hpp"'),
            ("src/cli/main.cpp", '"src/train/loop.hpp"'),
            ("src/cli/main.cpp", '"src/hardware/machine.hpp"'),
            ("src/cli/main.cpp", '"src/measure/fit.hpp"'),
            ("src/cli/main.cpp", '"src/plan/target.hpp"'),
            ("src/plan/target.hpp", '"src/train/loop.hpp"'),
            ("src/plan/target.hpp", '"src/hardware/machine.hpp"'),
            ("src/plan/target.hpp", '"src/report/bill.hpp"'),
            ("src/measure/fit.hpp", '"src/hardware/machine.hpp"'),
            ("src/measure/fit.hpp", '"kernels/kernels.hpp"'),
            ("src/cli/main.cpp", '"flags.hpp"'),
            ("src/report/bill.hpp", '"ebbtide/plan.hpp"'),
            ("include/ebbtide/plan.hpp", "<vector>"),
        ]:
            with self.subTest(name=name, include=include):
                self.assertEqual(self.faults(name, include), [])
                self.write(name, "#pragma once\n")

    def test_an_arrow_up_or_sideways_is_a_fault(self):
        for name, include in [
            ("include/ebbtide/plan.hpp", '"tiering/plan/planner.hpp"'),
            ("contract/names.hpp", '"kernels/kernels.hpp"'),
            ("tiering/plan/planner.hpp", '"kernels/kernels.hpp"'),
            ("kernels/kernels.hpp", '"tiering/plan/planner.hpp"'),
            ("kernels/cpu/norm.cpp", '"src/model/llama.hpp"'),
            ("tiering/plan/planner.hpp", '"../../src/train/loop.hpp"'),
            ("src/model/llama.hpp", '"src/device/cpu/arena.hpp"'),
            ("src/model/llama.hpp", '"src/train/loop.hpp"'),
            ("src/report/bill.hpp", '"tiering/plan/planner.hpp"'),
            ("src/hardware/machine.hpp", '"src/model/llama.hpp"'),
            ("src/hardware/machine.hpp", '"tiering/plan/planner.hpp"'),
            ("src/train/loop.hpp", '"src/hardware/machine.hpp"'),
            ("src/train/loop.hpp", '"src/measure/fit.hpp"'),
            ("src/hardware/machine.hpp", '"src/measure/fit.hpp"'),
            ("src/measure/fit.hpp", '"src/model/llama.hpp"'),
            ("src/train/loop.hpp", '"src/cli/flags.hpp"'),
            ("src/train/loop.hpp", '"src/plan/target.hpp"'),
            ("src/report/bill.hpp", '"src/plan/target.hpp"'),
            ("src/plan/target.hpp", '"tiering/plan/planner.hpp"'),
            ("src/plan/target.hpp", '"src/measure/fit.hpp"'),
            ("src/plan/target.hpp", '"src/cli/flags.hpp"'),
        ]:
            with self.subTest(name=name, include=include):
                self.assertEqual(len(self.faults(name, include)), 1)
                self.write(name, "#pragma once\n")

    def test_a_public_header_of_a_heavy_part_is_a_fault(self):
        for include in ["<liburing.h>", "<cuda_runtime.h>", "<cuda.h>", '"nccl.h"', "<mpi.h>"]:
            with self.subTest(include=include):
                self.assertEqual(len(self.faults("include/ebbtide/device.hpp", include)), 1)

    def test_a_folder_outside_the_order_is_a_fault(self):
        self.write("src/misplaced/thing.cpp", "#include <vector>\n")
        self.assertEqual(len(include_arrows.check_tree(self.root)[1]), 1)

    def test_a_tree_without_includes_does_not_pass(self):
        self.assertEqual(include_arrows.main(self.root), 1)


if __name__ == "__main__":
    unittest.main()
