#!/usr/bin/env python3
"""Opens reports in a headless Chromium: no complaint in the console, nothing asked of a network,
nothing wider than the screen, and figures that are those of the program's JSON.

    test_page.py EBBTIDE_PROGRAM
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import browser

SKIPPED = 77  # to meson
PROGRAM = None
PLAN = ["--model", "demo", "--seq-len", "2K", "--dtype", "bf16", "--hardware", "rtx4090",
        "--chunk-tokens", "64", "--device-memory", "24MiB", "--host-memory", "48MiB",
        "--activations", "offload"]
TRAIN = ["--model", "demo", "--seq-len", "512", "--steps", "3", "--chunk-tokens", "128",
         "--device-memory", "12MiB", "--host-memory", "96MiB"]
SCREENS = [(width, height, scheme, touch) for width, height, touch in
           ((1280, 900, False), (390, 844, True), (360, 740, True)) for scheme in ("light", "dark")]


def ebbtide(*arguments, status=0):
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, check=False)
    if done.returncode != status:
        raise AssertionError(f"ended with {done.returncode}: {done.stderr}")
    return done.stdout


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        folder = pathlib.Path(cls.folder.name)
        cls.pages = {name: folder / f"{name}.html" for name in ("plan", "train", "misfit")}
        cls.planned = json.loads(
            ebbtide("plan", *PLAN, "--json", "--report", str(cls.pages["plan"])))
        ebbtide("train", *TRAIN, "--report", str(cls.pages["train"]))
        ebbtide("plan", *PLAN[:-6], "--device-memory", "64KiB", "--report",
                str(cls.pages["misfit"]), status=2)
        cls.browser = browser.Browser(browser.find())

    @classmethod
    def tearDownClass(cls):
        cls.browser.__exit__()
        cls.folder.cleanup()

    def open(self, name, screen=SCREENS[0]):
        self.browser.show(*screen)
        self.browser.open(self.pages[name].as_uri())

    def text(self, selector):
        return self.browser.evaluate(f"document.querySelector('{selector}').innerText")

    def shown(self, selector):
        return self.browser.evaluate(f"document.querySelector('{selector}').offsetHeight") > 0

    def test_opens_without_complaint_or_request(self):
        for name in self.pages:
            for screen in SCREENS:
                with self.subTest(page=name, screen=screen):
                    self.open(name, screen)
                    self.assertEqual(self.browser.complaints(), [])
                    self.assertEqual(self.browser.requests(), [])
                    self.assertLessEqual(
                        self.browser.evaluate("document.documentElement.scrollWidth"), screen[0])

    def test_tells_a_console_error_and_a_request(self):
        """What the test above looks for would be seen."""
        faulty = self.pages["plan"].with_name("faulty.html")
        faulty.write_text("<script>console.error('seen'); fetch('http://localhost:9/').catch("
                          "() => 0)</script>", encoding="utf-8")
        self.browser.open(faulty.as_uri())
        self.assertTrue(self.browser.complaints())
        self.assertEqual(self.browser.requests(), ["http://localhost:9/"])

    def test_shows_what_the_plan_says(self):
        self.open("plan")
        figures = self.text("#figures")
        self.assertIn(f"{round(self.planned['tokens_per_second']):,}", figures)
        self.assertIn(f"{100 * self.planned['mfu']:.1f} %", figures)
        exposed = self.browser.evaluate(
            "JSON.parse(document.getElementById('data').textContent).predicted.lanes"
            ".map(lane => [lane.lane, lane.exposed_seconds])")
        for lane, seconds in exposed:
            if lane != "compute":
                self.assertAlmostEqual(seconds, self.planned["exposed_seconds"][lane], places=9)
        self.assertFalse(self.shown("#comparison"))

    def test_shows_a_run_beside_its_prediction(self):
        self.open("train")
        self.assertIn("Predicted against measured", self.text("#comparison"))
        self.assertEqual(self.browser.evaluate("document.querySelectorAll('canvas').length"), 2)
        self.assertEqual(
            self.browser.evaluate("document.querySelectorAll('#curves svg').length"), 2)
        self.assertIn("--chunk-tokens", self.text("#settings"))

    def test_says_why_a_run_does_not_fit(self):
        self.open("misfit")
        self.assertIn("Does not fit", self.text("#verdict"))
        self.assertFalse(self.shown("#timeline"))

    def test_zooms_and_moves_by_keys(self):
        self.open("plan")
        seen = "document.getElementById('window').textContent"
        press = ("document.querySelector('canvas').dispatchEvent(new KeyboardEvent('keydown', "
                 "{key: '%s'})); new Promise(done => setTimeout(() => done(%s), 100))")
        self.assertEqual(self.browser.evaluate(seen), "")
        near = self.browser.evaluate(press % ("+", seen))
        self.assertNotEqual(near, "")
        self.assertNotEqual(self.browser.evaluate(press % ("ArrowRight", seen)), near)
        self.assertEqual(self.browser.evaluate(press % ("0", seen)), "")
        before = self.text("#detail")
        self.browser.evaluate(press % ("ArrowDown", seen))
        self.assertNotEqual(self.text("#detail"), before)

    def test_tells_of_the_block_under_the_pointer(self):
        self.open("plan")
        self.browser.evaluate("document.querySelector('canvas').scrollIntoView()")
        box = self.browser.evaluate(
            "(({x, y, width}) => [x, y, width])(document.querySelector('canvas')"
            ".getBoundingClientRect())")
        self.browser.call("Input.dispatchMouseEvent", type="mouseMoved",
                          x=box[0] + 0.6 * box[2], y=box[1] + 10)
        self.browser.evaluate("new Promise(done => setTimeout(done, 100))")
        self.assertRegex(self.text("#detail"), r"compute: .*\n.*from .* at work|compute: .*\n.*s · ")

    def test_prints(self):
        self.open("train", (1280, 900, "dark", False))
        self.assertGreater(len(self.browser.pdf()), 10000)
        self.assertEqual(self.browser.complaints(), [])


if __name__ == "__main__":
    if browser.find() is None:
        print("skipped: no Chromium is installed (Debian's package is 'chromium')")
        sys.exit(SKIPPED)
    PROGRAM = sys.argv.pop()
    unittest.main(verbosity=2)
