"""Plants faults in a page, to see that the check finds them."""

import pathlib
import tempfile
import unittest

import faults_page

ROW = "| A1 [it#1](address): a fault | a reason | {} |"


class FaultsPage(unittest.TestCase):
    def faults(self, *rows, entries=("A1",)):
        return faults_page.faults_of("\n".join(rows), {"Suite.Test", "Suite.Other"}, entries)

    def test_a_row_with_tests_is_accepted(self):
        self.assertEqual(self.faults(ROW.format("`Suite.Test`, `Suite.Other`")), [])

    def test_a_test_that_does_not_exist_is_a_fault(self):
        found = self.faults(ROW.format("`Suite.Test`, `Suite.Gone`"))
        self.assertEqual(found, ["A1: there is no test Suite.Gone"])

    def test_a_row_without_a_test_is_a_fault(self):
        self.assertEqual(self.faults(ROW.format("see the code")), ["A1 names no test"])

    def test_a_missing_and_a_doubled_entry_are_faults(self):
        row = ROW.format("`Suite.Test`")
        self.assertEqual(self.faults(row, entries=("A1", "A2")), ["A2 is missing"])
        self.assertEqual(self.faults(row, row), ["A1 is there twice"])

    def test_tests_of_every_kind_are_found(self):
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder) / "deep" / "some_test.cpp"
            source.parent.mkdir()
            source.write_text(
                "TEST(A, One) {}\nTEST_F(B, Two) {}\nTEST_P(C,\n       Three) {}\n// TEST(D, Four)\n"
            )
            self.assertEqual(
                faults_page.tests_in(pathlib.Path(folder)), {"A.One", "B.Two", "C.Three"}
            )


if __name__ == "__main__":
    unittest.main()
