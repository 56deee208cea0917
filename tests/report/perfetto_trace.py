#!/usr/bin/env python3
"""Loads the trace of a real run in Perfetto's trace processor.

    perfetto_trace.py EBBTIDE     status 77 (skipped) where the trace processor cannot be had

Needs the PyPI package `perfetto`, which brings its own trace processor, or finds the one that
EBBTIDE_TRACE_PROCESSOR names. What can be checked without it is in trace_test.cpp.
"""

import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SKIPPED = 77
STEPS = 4
FIRST_TRACED = 2
LANES = ["compute", "d2h", "h2d", "nvme_write", "nvme_read", "host_compute"]


def run_traced(program, directory):
    """Trains a little with every lane at work; the paths of its trace and its log."""
    swap = directory / "swap"
    swap.mkdir()
    text = directory / "text.txt"
    text.write_text("".join(f"the words of line {i * i}\n" for i in range(400)))
    trace, log = directory / "trace.json", directory / "log.jsonl"
    flags = {
        "--data": text, "--seq-len": "1K", "--chunk-tokens": "256", "--steps": STEPS,
        "--device-memory": "12MiB", "--host-memory": "32MiB", "--nvme-path": swap,
        "--activations": "offload", "--activation-tier": "nvme", "--link-bandwidth": "200MiB/s",
        "--trace": trace, "--log-json": log,
    }
    words = [str(word) for flag in flags.items() for word in flag]
    subprocess.run([program, "train", *words], check=True, stdout=subprocess.DEVNULL)
    return trace, log


def open_processor(trace):
    """A trace processor that has loaded the trace; ends the test as skipped where there is none."""
    try:
        from perfetto.trace_processor import TraceProcessor, TraceProcessorConfig
    except ImportError:
        print("skipped: the PyPI package perfetto is not installed")
        sys.exit(SKIPPED)
    binary = os.environ.get("EBBTIDE_TRACE_PROCESSOR")
    if binary is None:
        from perfetto.trace_processor.platform import PlatformDelegate

        try:
            binary = PlatformDelegate().get_shell_path(None)
        except Exception as error:  # the package raises whatever its download does
            print(f"skipped: perfetto has no trace processor here: {error}")
            sys.exit(SKIPPED)
    return TraceProcessor(trace=str(trace), config=TraceProcessorConfig(bin_path=binary))


class PerfettoTrace(unittest.TestCase):
    processor = None
    events = []
    log = []

    def rows(self, sql):
        return list(self.processor.query(sql))

    def test_loads_without_an_error(self):
        faults = self.rows("select name, value from stats where severity = 'error' and value > 0")
        self.assertEqual([(row.name, row.value) for row in faults], [])

    def test_has_as_many_slices_a_lane_as_the_file(self):
        written = collections.Counter(e["cat"] for e in self.events if e["ph"] == "X")
        read = {row.cat: row.n for row in self.rows(
            "select cat, count(*) as n from slice group by cat")}
        self.assertEqual(read, dict(written))
        for lane in LANES:
            self.assertGreater(read[lane], 0, lane)

    def test_has_no_slice_of_a_lane_inside_another(self):
        nested = self.rows("select count(*) as n from slice where depth > 0")
        self.assertEqual(nested[0].n, 0)

    def test_has_every_arrow(self):
        written = sum(1 for event in self.events if event["ph"] == "s")
        self.assertEqual(self.rows("select count(*) as n from flow")[0].n, written)
        backwards = self.rows(
            "select count(*) as n from flow f join slice a on f.slice_out = a.id "
            "join slice b on f.slice_in = b.id where a.ts + a.dur > b.ts"
        )
        self.assertEqual(backwards[0].n, 0)

    def test_gives_the_exposed_seconds_of_the_log(self):
        # Each length is rounded to an eighth of a microsecond.
        for lane in LANES[1:]:
            found = self.rows(
                "select count(*) as n, ifnull(sum(dur), 0) / 1e9 as seconds from slice "
                f"where cat = 'compute waits' and extract_arg(arg_set_id, 'args.lane') = '{lane}'"
            )[0]
            logged = sum(step["exposed_seconds"][lane] for step in self.log[FIRST_TRACED - 1 :])
            self.assertAlmostEqual(found.seconds, logged, delta=1e-9 + 0.125e-6 * found.n, msg=lane)

    def test_gives_the_causes_of_each_wait(self):
        # The README's query; each wait's causes add up to its length.
        causes = self.rows(
            "select sum(coalesce(real_value, int_value)) as seconds from slice "
            "join args using (arg_set_id) where cat = 'compute waits' and key glob 'args.causes.*'"
        )[0]
        waits = self.rows("select sum(dur) / 1e9 as seconds, count(*) as n from slice "
                          "where cat = 'compute waits'")[0]
        self.assertAlmostEqual(causes.seconds, waits.seconds, delta=1e-9 + 0.125e-6 * waits.n)


def main(program):
    with tempfile.TemporaryDirectory() as name:
        trace, log = run_traced(program, pathlib.Path(name))
        PerfettoTrace.events = json.loads(trace.read_text())
        PerfettoTrace.log = [json.loads(line) for line in log.read_text().splitlines()]
        PerfettoTrace.processor = open_processor(trace)
        result = unittest.TextTestRunner().run(
            unittest.defaultTestLoader.loadTestsFromTestCase(PerfettoTrace)
        )
        PerfettoTrace.processor.close()
        return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
