"""What bench/prediction_bench.py and bench/search_bench.py make of plans and logs."""

import contextlib
import io
import json
import pathlib
import unittest

from load_script import load_script

real_runs = load_script("real_runs", "bench")
prediction_bench = load_script("prediction_bench", "bench")
search_bench = load_script("search_bench", "bench")


def line(seconds, device=4096):
    return json.dumps({"step_seconds": seconds, "exposed_seconds": {"h2d": 0.25, "d2h": 0.5},
                       "device_peak_bytes": device, "host_peak_bytes": 8192,
                       "nvme_peak_bytes": 0, "loss": 5.5})


def outcome(predicted_s, measured_s, wrong_peaks=()):
    return prediction_bench.Outcome(prediction_bench.CASES[0], predicted_s, measured_s,
                                    list(wrong_peaks))


def within_limits(outcomes):
    with contextlib.redirect_stdout(io.StringIO()):
        return prediction_bench.summary(outcomes)


class Log(unittest.TestCase):
    def test_the_first_step_warms_up_and_is_not_counted(self):
        run = real_runs.measured("\n".join([line(9), line(1), line(3), line(2, device=5000)]))
        self.assertEqual((run["seconds"], run["least"], run["most"]), (2, 1, 3))
        self.assertEqual(run["exposed"], 0.75)
        self.assertEqual(run["peaks"], {"device": 5000, "host": 8192, "nvme": 0})


class Limits(unittest.TestCase):
    def test_the_error_is_signed_and_of_the_measured_time(self):
        self.assertAlmostEqual(outcome(0.9, 1.2).error, -0.25)

    def test_predictions_near_enough_are_within_them(self):
        self.assertTrue(within_limits([outcome(1.09, 1), outcome(0.92, 1), outcome(1.24, 1)]))

    def test_a_median_past_a_tenth_is_not(self):
        self.assertFalse(within_limits([outcome(1.11, 1), outcome(0.88, 1), outcome(1, 1)]))

    def test_one_past_a_quarter_is_not(self):
        self.assertFalse(within_limits([outcome(1, 1)] * 9 + [outcome(0.74, 1)]))

    def test_a_peak_that_was_not_planned_is_not(self):
        self.assertFalse(within_limits([outcome(1, 1), outcome(1, 1, ["host peak"])]))


class Flags(unittest.TestCase):
    def test_a_case_that_gives_its_own_gets_the_common_one_left_out(self):
        runner = real_runs.Runner("ebbtide", pathlib.Path("/x"),
                                  ["--device-memory", "2GiB", "--host-memory", "1GiB"])
        self.assertEqual(runner.flags("wide", ["--device-memory", "48MiB"]),
                         ["--model", "/x/wide", "--host-memory", "1GiB",
                          "--device-memory", "48MiB"])
        self.assertEqual(runner.flags("demo", [])[:2], ["--model", "demo"])

    def test_the_grid_has_no_setting_twice(self):
        settings = [tuple(setting) for setting in search_bench.grid()]
        self.assertEqual(len(settings), len(set(settings)))
        self.assertGreater(len(settings), 100)

    def test_there_are_as_many_cases_as_the_limits_ask_for(self):
        self.assertGreaterEqual(len({case.name for case in prediction_bench.CASES}), 20)
        self.assertGreaterEqual(len({case.name for case in search_bench.CASES}), 5)
        self.assertTrue(any(case.keeps for case in search_bench.CASES))


if __name__ == "__main__":
    unittest.main()
