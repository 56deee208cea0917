"""Runs scripts/count_tests.py over records as Meson writes them."""

import contextlib
import io
import json
import pathlib
import tempfile
import unittest

from load_script import load_script

count_tests = load_script("count_tests")
GTEST = "[==========] Running tests\n"


def program(name, result="OK", returncode=0, **more):
    return dict(name=name, result=result, returncode=returncode, **more)


def suite(name, *cases):
    return f'<testsuite name="{name}">{"".join(cases)}</testsuite>'


def case(name, inside="", status="run"):
    return f'<testcase name="{name}" classname="Unit" status="{status}">{inside}</testcase>'


class CountTests(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folders = [pathlib.Path(folder.name) / name for name in ("one", "two")]

    def record(self, programs, suites, folder=0):
        logs = self.folders[folder] / "meson-logs"
        logs.mkdir(parents=True)
        (logs / "testlog.json").write_text("".join(json.dumps(p) + "\n" for p in programs))
        (logs / "testlog.junit.xml").write_text(f"<testsuites>{''.join(suites)}</testsuites>")

    def run_main(self, folders=1):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            status = count_tests.main([str(f) for f in self.folders[:folders]])
        lines = out.getvalue().splitlines()
        return status, lines[-1], lines[:-1]

    def test_cases_are_counted_and_not_programs(self):
        self.record(
            [program("ebbtide:tiers / tiers", stdout=GTEST), program("ebbtide:structure / arrows")],
            [
                suite("ebbtide.ebbtide:tiers / tiers.HostArena", case("A"), case("B")),
                suite("ebbtide.ebbtide:tiers / tiers.IoQueue", case("C")),
                suite("ebbtide", '<testcase name="arrows" classname="ebbtide"/>'),
            ],
        )
        self.assertEqual(self.run_main(), (0, "4 passed, 0 failed, 0 skipped", []))

    def test_a_failed_case_fails_the_run_and_shows_its_message(self):
        self.record(
            [program("ebbtide:s / tiers", "FAIL", 1, stdout=GTEST)],
            [
                suite(
                    "ebbtide.ebbtide:s / tiers.U",
                    case("A"),
                    case("B", '<failure message="1 is not 2"/>'),
                )
            ],
        )
        status, last, lines = self.run_main()
        self.assertEqual((status, last), (1, "1 passed, 1 failed, 0 skipped"))
        self.assertEqual(lines, ["FAILED Unit.B: 1 is not 2"])

    def test_a_skip_shows_its_reason(self):
        self.record(
            [program("ebbtide:s / tiers", stdout=GTEST)],
            [
                suite(
                    "ebbtide.ebbtide:s / tiers.U",
                    case("A"),
                    case("B", '<skipped message="no io_uring here"/>'),
                    case("DISABLED_C", status="notrun"),
                )
            ],
        )
        status, last, lines = self.run_main()
        self.assertEqual((status, last), (0, "1 passed, 0 failed, 2 skipped"))
        self.assertEqual(lines[0], "SKIPPED Unit.B: no io_uring here")

    def test_a_crash_without_a_record_of_cases_is_a_failure(self):
        self.record(
            [program("ebbtide:s / good"), program("ebbtide:s / t", "FAIL", -11, stderr="x\nboom")],
            [suite("ebbtide", case("good"), case("t", "<failure/>"))],
        )
        status, last, lines = self.run_main()
        self.assertEqual((status, last), (1, "1 passed, 1 failed, 0 skipped"))
        self.assertEqual(lines, ["FAILED ebbtide:s / t: FAIL, status -11: boom"])

    def test_a_program_that_fails_after_its_cases_passed_is_a_failure(self):
        self.record(
            [program("ebbtide:s / t", "FAIL", 66, stdout=GTEST)],
            [suite("ebbtide.ebbtide:s / t.U", case("A"), case("B"))],
        )
        self.assertEqual(self.run_main()[:2], (1, "2 passed, 1 failed, 0 skipped"))

    def test_a_timeout_is_a_failure(self):
        self.record([program("ebbtide:s / t", "TIMEOUT", -9)], [suite("ebbtide", case("t"))])
        self.assertEqual(self.run_main()[:2], (1, "0 passed, 1 failed, 0 skipped"))

    def test_no_test_is_no_success(self):
        self.record([program("ebbtide:s / t", stdout=GTEST)], [])
        self.assertEqual(self.run_main()[:2], (1, "0 passed, 0 failed, 0 skipped"))

    def test_a_missing_or_broken_record_is_a_failure(self):
        self.assertEqual(self.run_main()[:2], (1, "0 passed, 1 failed, 0 skipped"))
        self.record([program("ebbtide:s / t")], ["<testsuite"], folder=1)
        self.assertEqual(self.run_main(2)[:2], (1, "0 passed, 2 failed, 0 skipped"))

    def test_control_characters_in_an_output_do_no_harm(self):
        self.record(
            [program("ebbtide:s / t")],
            [suite("ebbtide", case("t", "<system-out>\x1b[31mred\x00</system-out>"))],
        )
        self.assertEqual(self.run_main()[:2], (0, "1 passed, 0 failed, 0 skipped"))

    def test_folders_are_added_up(self):
        for folder in (0, 1):
            self.record(
                [program("ebbtide:s / t", stdout=GTEST)],
                [suite("ebbtide.ebbtide:s / t.U", case("A"), case("B"))],
                folder,
            )
        self.assertEqual(self.run_main(2)[:2], (0, "4 passed, 0 failed, 0 skipped"))

    def test_two_programs_of_one_name_are_a_failure(self):
        self.record(
            [program("ebbtide:a / t", stdout=GTEST), program("ebbtide:b / t", stdout=GTEST)],
            [suite("ebbtide.ebbtide:a / t.U", case("A"))],
        )
        self.assertEqual(self.run_main()[:2], (1, "1 passed, 1 failed, 0 skipped"))

    def test_the_only_suite_of_a_project_goes_unnamed(self):
        self.record([program("t", stdout=GTEST)], [suite("ebbtide.t.U", case("A"), case("B"))])
        self.assertEqual(self.run_main()[:2], (0, "2 passed, 0 failed, 0 skipped"))

    def test_a_name_that_begins_another_takes_none_of_its_cases(self):
        self.record(
            [
                program("ebbtide:s / plan", stdout=GTEST),
                program("ebbtide:s / plan.big", "FAIL", 1, stdout=GTEST),
            ],
            [
                suite("ebbtide.ebbtide:s / plan.U", case("A")),
                suite("ebbtide.ebbtide:s / plan.big.U", case("B", '<failure message="m"/>')),
            ],
        )
        self.assertEqual(self.run_main()[:2], (1, "1 passed, 1 failed, 0 skipped"))


if __name__ == "__main__":
    unittest.main()
