"""Runs scripts/compare_runs.py over logs that agree and logs with one fault each."""

import contextlib
import io
import json
import pathlib
import tempfile
import unittest

from load_script import load_script

compare_runs = load_script("compare_runs")
MIB = 2**20


def run(device_mib, nvme_mib, losses=(5.5, 4.25, 3.125)):
    return [
        {
            "step": number,
            "loss": loss,
            "grad_norm": 1.5,
            "weights_xxh3": f"{number:016x}",
            "device_peak_bytes": device_mib * MIB,
            "host_peak_bytes": MIB,
            "nvme_peak_bytes": nvme_mib * MIB,
            "nvme_bytes_written": nvme_mib * MIB,
            "nvme_bytes_read": 2 * nvme_mib * MIB,
            "step_seconds": 0.5,
        }
        for number, loss in enumerate(losses, 1)
    ]


class CompareRuns(unittest.TestCase):
    def setUp(self):
        self.resident, self.tiered = run(800, 0), run(100, 300)

    def compare(self):
        with tempfile.TemporaryDirectory() as folder:
            paths = []
            for name, steps in (("resident", self.resident), ("tiered", self.tiered)):
                path = pathlib.Path(folder) / name
                path.write_text("".join(json.dumps(step) + "\n" for step in steps))
                paths.append(str(path))
            out, err = io.StringIO(), io.StringIO()
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                status = compare_runs.main(paths)
        return status, out.getvalue() + err.getvalue()

    def assert_fault(self, words):
        status, output = self.compare()
        self.assertEqual(status, 1)
        self.assertIn(words, output)
        self.assertNotIn("bit for bit", output)

    def test_equal_runs_pass_and_show_peaks_and_bytes(self):
        status, output = self.compare()
        self.assertEqual(status, 0)
        for words in ("800.0 MiB", "100.0 MiB", "900.0 MiB", "1800.0 MiB", "8.0 times smaller",
                      "Loss from 5.5000 to 3.1250", "each of 3 steps"):
            self.assertIn(words, output)

    def test_other_weights_at_one_step_are_a_fault(self):
        self.tiered[1]["weights_xxh3"] = "f" * 16
        self.assert_fault("step 2: weights_xxh3")

    def test_the_last_bit_of_a_loss_or_norm_is_compared(self):
        for name in ("loss", "grad_norm"):
            with self.subTest(name=name):
                self.resident, self.tiered = run(800, 0), run(100, 300)
                self.tiered[2][name] += 2**-50
                self.assert_fault(f"step 3: {name}")

    def test_a_missing_step_is_a_fault(self):
        self.tiered.pop()
        self.assert_fault("3 steps against 2")

    def test_a_loss_that_does_not_fall_is_a_fault(self):
        self.resident, self.tiered = run(800, 0, (3, 2, 3)), run(100, 300, (3, 2, 3))
        self.assert_fault("the loss did not fall")

    def test_a_loss_that_is_no_number_is_a_fault(self):
        nan = float("nan")
        self.resident, self.tiered = run(800, 0, (3, nan)), run(100, 300, (3, nan))
        self.assert_fault("the loss did not fall")

    def test_a_run_that_moved_nothing_is_a_fault(self):
        for step in self.tiered:
            step["nvme_bytes_read"] = 0
        self.assert_fault("nvme_bytes_read is 0")

    def test_a_device_peak_that_is_too_near_is_a_fault(self):
        self.tiered[0]["device_peak_bytes"] += 1
        self.assert_fault("less than 8 times below")

    def test_a_log_without_checksums_or_steps_is_a_fault(self):
        del self.tiered[0]["weights_xxh3"]
        self.assert_fault("line 1 lacks weights_xxh3")
        self.tiered = []
        self.assert_fault("no step")


if __name__ == "__main__":
    unittest.main()
