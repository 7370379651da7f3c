"""The node page in a real browser: node_page.py PICTURE_FOLDER NAME=ROOT..., for node_page_test.

Each NAME is a simulated node in one state, which node_page_test starts.  A ROOT that is a folder has what an exporter answered in
a state that passes within seconds; it is served here, with the files of the first node beside it.  What the page must show is taken from
/api/v1/status, read apart from the page, and from the scenarios' facts.  Every wait is for a condition.  Pictures of
each state, light and dark, go to PICTURE_FOLDER.
"""

import html.parser
import http.server
import json
import os
import pathlib
import sys
import threading
import urllib.error
import urllib.request
import unittest

from selenium.common.exceptions import TimeoutException
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from browser import COLOURS, PATIENCE_S, SCHEMES, PageTest, contrast

PICTURES = sys.argv[1]
ROOTS = dict(argument.split("=", 1) for argument in sys.argv[2:])
STATES = {
    # The state: words that its page shows.
    "demo": ["8 ok", "research/llama-train-0", "4 owners, shared", "apportioned by SM time", "~", "unattributed", "MIG 9, 1g.10gb"],
    "lost": ["1 lost, 7 ok", "GPU 1 is lost since", "XID 79"],
    "degraded": ["processes degraded", "have no namespace, pod and container"],
    "folded": ["1 lost, 3 ok", "GPU 3 is lost since", "dev/slice-a", "dev/slice-b", "MIG 9, 1g.10gb"],
    "unresponsive": ["1 unresponsive", "driver unresponsive", "no GPU gives a fresh value"],
    "kubelet": ["not known: the kubelet", "kubelet degraded"],
    "waiting": ["driver waiting", "/nowhere/libnvidia-ml.so.1 cannot be opened", "No GPU to show"],
    "empty": ["No GPU to show"],
    "laptop": ["1 ok; config degraded", "Utilization, 5 min", "NVML, the library of the driver, has them from Hopper on"],
    "starting": ["1 recovering", "not ready: waiting for the first value of GPU 0"],
    "recovering": ["4 recovering", "not ready: GPU 0 and 3 more gave no value at the newest reading"],
}
FULL_PLOT_S = 300
TEXT_TOKENS = ("--text", "--muted", "--ok", "--degraded", "--lost", "--idle", "--link")


def fetch(url, accept="*/*"):
    request = urllib.request.Request(url, headers={"Accept": accept})
    with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
        return answer.read().decode()


def serve(folder):
    """Serves the answers in a folder for the whole run; returns the root."""

    class Answers(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            wants_html = "text/html" in self.headers.get("Accept", "")
            if self.path == "/":
                kind, body = ("text/html", "page.html") if wants_html else ("text/plain", "page.txt")
                body = (folder / body).read_bytes()
            elif self.path.startswith("/api/v1/status"):
                kind, body = "application/json", (folder / "status.json").read_bytes()
            else:
                with urllib.request.urlopen(ROOTS["demo"] + self.path[1:], timeout=PATIENCE_S) as answer:
                    kind, body = answer.headers["Content-Type"], answer.read()
            self.send_response(200)
            self.send_header("Content-Type", kind + ("" if ";" in kind else "; charset=utf-8"))
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}/"


def status_of(name, parts=""):
    return json.loads(fetch(ROOTS[name] + "api/v1/status" + parts))


def absent_words(name):
    """What the status of a node has and its page, as HTML or as text, lacks."""
    shown = {"HTML": Words(fetch(ROOTS[name], "text/html")).text, "text": " ".join(fetch(ROOTS[name]).split())}
    status = status_of(name)
    expected = []
    for gpu in status["devices"]:
        expected += [gpu["uuid"], gpu["model"], gpu["pci_bus_id"], gpu["state"], gpu["owners"]]
        holders = gpu.get("holders", []) + [
            holder for instance in gpu.get("instances", []) for holder in instance.get("holders", [])
        ]
        expected += [f"{one['namespace']}/{one['pod']}" for one in holders]
    expected += [part["state"] for part in status["parts"]] + [part["part"] for part in status["parts"]]
    expected += [missing["what"] for missing in status.get("missing", [])]
    told = [fault["text"] for fault in status.get("faults", [])]
    expected += [missing["reason"] for missing in status.get("missing", []) if missing["reason"] not in told]
    expected += [process["name"] for process in status_of(name, "?processes=1").get("processes", []) if "name" in process]
    return [(form, words) for form, page in shown.items() for words in expected if words not in page]


for state, root in ROOTS.items():
    if root.startswith("/"):
        ROOTS[state] = serve(pathlib.Path(root))


class Words(html.parser.HTMLParser):
    """The text of a page, as a text browser shows it."""

    def __init__(self, page):
        super().__init__()
        self.text = ""
        self.feed(page)

    def handle_data(self, data):
        self.text += data


class NodePage(PageTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if "PODGPU_UPDATE_GOLDEN" in os.environ:  # The pictures of the documents have full plots.
            wait = WebDriverWait(cls.browser, 2 * FULL_PLOT_S, 1)
            wait.until(lambda _: len(status_of("demo", "?history=1")["history"][0]["sm"]) == FULL_PLOT_S)

    # Every test must end without console messages and without requests to other hosts.
    def setUp(self):
        self.browser.get_log("browser")
        self.asked()
        self.browser.set_window_size(1280, 900)

    def tearDown(self):
        self.assertEqual(self.browser.get_log("browser"), [])
        foreign = [url for url in self.asked() if not url.startswith((*ROOTS.values(), "data:"))]
        self.assertEqual(foreign, [])

    def open(self, name="demo", is_live=True):
        self.browser.get(ROOTS[name])
        if is_live:
            self.until(lambda: self.of("pause").is_displayed(), "the script runs")

    def body(self):
        return self.browser.find_element(By.TAG_NAME, "body").get_attribute("textContent")

    def overflow(self):
        return self.browser.execute_script(
            "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )

    def test_statement_18_everything_is_there_without_scripts(self):
        for name in ROOTS:
            # A state can change between the three requests; words that are never there stay missing.
            try:
                self.until(lambda: not absent_words(name))
            except TimeoutException:
                self.fail(f"{name} lacks {absent_words(name)}")

    def test_statement_18_page_with_scripts_off_equals_it(self):
        self.browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
        try:
            self.open("empty", is_live=False)
            self.assertFalse(self.of("pause").is_displayed())
            served = Words(fetch(ROOTS["empty"], "text/html")).text
            self.assertIn(self.text_of("counts"), served)
            for cell in self.browser.find_elements(By.CSS_SELECTOR, "#parts th, #parts td:nth-child(2)"):
                self.assertIn(cell.text, served)
        finally:
            self.browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})

    def test_script_writes_the_same_words_as_the_server(self):
        """The numbers of an answer in both forms: the page's own, and those of node_words.js."""
        self.open("demo")
        status = status_of("demo")
        told = self.browser.execute_async_script(
            """const [status, done] = arguments;
            import('./assets/node_words.js').then((words) => {
              const full = words.complete(status);
              done({
                gpus: full.devices.map((gpu) => [
                  words.memory(gpu.memory_used_bytes, gpu.memory_total_bytes), words.temperature(20.5)]),
                numbers: [words.percent(0.125), words.percent(null), words.memory(1610612736), words.power(651.5, 700),
                  words.usePower({power_watts: 151, apportioned: true}), words.energy({energy_joules: 1512, apportioned: true}),
                  words.energy({energy_joules: 25344000}), words.span(49 * 3600000), words.idle(0, true, 840000),
                  words.plotPath([5, 6, -1, -1], 1000), words.plotPath([5, -1, 7, 8], 1000), words.plotPath(Array(400).fill(50), 1000),
                  words.plotPath(Array(10).fill(50), 30000), words.plotPath([1, 2, 3], 1500), words.plotWords('Power', [-1, 3, 9], 60000),
                  words.self({resident_bytes: 1048576, cpu_ratio: 0.0012, series: 3214000, slowest_scrape_seconds: 0.0034}),
                  words.age(1000, 1400)],
                same: words.shape(full) === words.shape(words.complete(JSON.parse(JSON.stringify(status)))),
                changes: words.changes(full, {...full, parts: [], devices: [{...full.devices[0], state: 'lost'}]}),
              });
            }, (error) => done(String(error)));""",
            status,
        )
        # As status_words_test has them.
        self.assertEqual(
            told["numbers"],
            ["13 %", "-", "1.5 GiB", "652 of 700 W", "~151 W", "~0.4 Wh", "7.0 kWh", "2d1h", "idle >14m",
             "M296 95L297 94M298 0V100", "M296 95h1M298 93L299 92", "M0 50L299 50",
             "M0 50L270 50", "M295.5 99L297 98L298.5 97", "Power, 3 minutes: 3 to 9, now 9 percent",
             "1.0 MiB, 0.12 % of a core, 3,214,000 series, slowest scrape 3.4 ms", "sample 0.4 s old"],
        )  # fmt: skip
        self.assertEqual(told["gpus"][0][1], "21 °C")
        self.assertTrue(told["same"])
        self.assertEqual(told["changes"], ["GPU 0 is lost"])
        shown = Words(fetch(ROOTS["demo"], "text/html")).text
        for gpu in told["gpus"]:
            self.assertIn(gpu[0].split(" of ")[1], shown)

    def test_numbers_change_in_place(self):
        self.open("demo")

        def row_stays():
            self.browser.execute_script("window.row = document.getElementById('gpu-0');")
            first = self.of("gpu-0").text
            self.until(lambda: self.of("gpu-0").text != first, "numbers change")
            return self.browser.execute_script("return window.row.isConnected")

        # A state that changes at the same time makes new rows: on a loaded machine, values can be late.
        self.assertTrue(any(row_stays() for _ in range(10)), "the row stays")
        self.until(lambda: self.browser.find_element(By.CSS_SELECTOR, "#gpu-0 path").get_attribute("d"), "a plot")
        label = self.browser.find_element(By.CSS_SELECTOR, "#gpu-0 svg").get_attribute("aria-label")
        line = r"\d minutes?: \d+ to \d+, now \d+ percent"
        self.assertRegex(label, f"^SM activity, {line}; Utilization, {line}$")
        self.assertEqual(self.text_of("said"), "", "numbers are not read out")

    # The policy that forbids other origins is in force; tearDown looks at the console and all requests.
    def test_statement_19_policy_lets_the_page_ask_nobody_else(self):
        self.open("demo")
        refused = self.browser.execute_async_script(
            "const done = arguments[0]; fetch('http://localhost:9/').then(() => done(false), () => done(true));"
        )
        self.assertTrue(refused)
        said = [entry["message"] for entry in self.browser.get_log("browser")]
        self.assertTrue(any("Content Security Policy" in message for message in said), said)
        self.asked()

    def test_statement_21_axe_finds_no_violation(self):
        for name in ROOTS:
            for colours in COLOURS:
                self.emulate(**colours)
                self.open(name)
                with self.subTest(name, **colours):
                    self.assertEqual(self.violations(), [])
        self.emulate(prefers_color_scheme="light")

    def test_statement_21_each_link_says_what_it_explains(self):
        self.open("demo")
        links = self.browser.find_elements(By.CSS_SELECTOR, "a[href*=explain]")
        names = [link.accessible_name for link in links]
        self.assertGreater(len(names), 1)
        self.assertEqual(len(names), len(set(names)), names)

    def test_statement_21_colours_have_contrast(self):
        for scheme, ground in SCHEMES.items():
            self.emulate(prefers_color_scheme=scheme)
            self.open("demo")
            for token in TEXT_TOKENS:
                self.assertGreaterEqual(contrast(self.style(token), ground), 4.5, f"{token} in {scheme}")
            self.assertGreaterEqual(contrast(self.style("--border"), ground), 3, scheme)
        self.emulate(forced_colors="active")
        self.assertEqual(self.style("--border"), self.style("--text"))
        self.emulate(prefers_color_scheme="light")

    def test_statement_22_keys_reach_everything(self):
        self.open("demo")
        # Paused without moving the focus, so that no reading makes new rows meanwhile.
        self.browser.execute_script("document.getElementById('pause').click()")
        count = "return document.querySelectorAll('a, button, summary').length"
        wanted = self.browser.execute_script(
            "return [...document.querySelectorAll('a, button, summary')].filter((one) => one.checkVisibility()).length"
        )
        self.assertGreater(self.browser.execute_script(count), 10)
        seen = 0
        for _ in range(wanted):
            self.press(Keys.TAB)
            outline = self.browser.execute_script(
                "return document.activeElement === document.body ? '' : getComputedStyle(document.activeElement).outlineStyle"
            )
            self.assertEqual(outline, "solid", "the focus is visible")
            seen += 1
        self.assertEqual(seen, wanted)
        self.browser.execute_script("document.querySelector('#below-4 summary').focus()")
        self.press(Keys.ESCAPE)
        self.assertIsNone(self.of("below-4").get_attribute("open"))
        self.press(Keys.ENTER)
        self.assertIsNotNone(self.of("below-4").get_attribute("open"))

    def test_statement_23_sends_nothing_while_hidden_or_paused(self):
        self.open("demo")
        self.browser.execute_script(
            "window.count = 0; window.answers = window.fetch;"
            "window.fetch = (...all) => { ++window.count; return window.answers(...all); };"
        )
        self.until(lambda: self.browser.execute_script("return window.count") > 0)
        self.of("pause").click()
        hidden = (
            "window.count = 0; Object.defineProperty(document, 'hidden', {configurable: true, get: () => arguments[0]});"
            "document.dispatchEvent(new Event('visibilitychange')); return window.count;"
        )
        self.assertEqual(self.browser.execute_script(hidden, False), 0, "paused")
        self.browser.execute_script("Object.defineProperty(document, 'hidden', {configurable: true, get: () => true});")
        self.browser.execute_script("window.count = 0")
        self.of("pause").click()
        self.assertEqual(self.browser.execute_script("return window.count"), 0, "hidden")
        self.browser.execute_script(
            "delete document.hidden; document.dispatchEvent(new Event('visibilitychange'));"
        )
        self.until(lambda: self.browser.execute_script("return window.count") > 0)

    def test_statement_23_unchanged_status_costs_a_304(self):
        """The same tag until the next reading: asked twice at once."""

        def twice():
            first = urllib.request.urlopen(ROOTS["empty"] + "api/v1/status", timeout=PATIENCE_S)
            again = urllib.request.Request(
                ROOTS["empty"] + "api/v1/status", headers={"If-None-Match": first.headers["ETag"]}
            )
            try:
                return urllib.request.urlopen(again, timeout=PATIENCE_S).status == 304
            except urllib.error.HTTPError as answer:
                return answer.code == 304

        self.until(twice)

    def test_statement_24_says_when_the_exporter_is_gone(self):
        self.open("demo")
        self.browser.execute_script(
            "window.answers = window.fetch; window.fetch = () => Promise.reject(new Error('gone'));"
        )
        self.until(lambda: self.of("notice").is_displayed())
        self.assertRegex(self.text_of("notice"), r"^not updated since \d\d:\d\d:\d\d: gone$")
        self.assertIn("old", self.browser.find_element(By.TAG_NAME, "body").get_attribute("class"))
        self.picture("gone")
        self.browser.execute_script("window.fetch = window.answers;")
        self.until(lambda: not self.of("notice").is_displayed())

    def picture(self, name):
        self.size(1120, 100)
        # The documents show the GPUs alone.
        bottom = self.browser.execute_script(
            "return Math.ceil(arguments[0] ? document.getElementById('gpus').getBoundingClientRect().bottom + 12 :"
            "  document.documentElement.scrollHeight)", name == "demo"
        )
        self.size(1120, bottom)
        for scheme, ground in SCHEMES.items():
            self.emulate(prefers_color_scheme=scheme)
            shown = "return getComputedStyle(document.body).backgroundColor"
            self.until(lambda: self.browser.execute_script(shown) == ground)
            self.browser.save_screenshot(f"{PICTURES}/node-{name}-{scheme}.png")
        self.emulate(prefers_color_scheme="light")
        self.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})

    def size(self, width, height):
        self.browser.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False},
        )
        self.browser.execute_cdp_cmd("Emulation.setScrollbarsHidden", {"hidden": True})

    def test_statement_24_every_state_has_its_words(self):
        for name, words in STATES.items():
            self.open(name)
            for word in words:
                with self.subTest(name):
                    self.until(lambda: word in self.body(), f"{name} says {word!r}: {self.body()}")
            if name in ("waiting", "empty"):
                self.assertEqual(self.browser.find_elements(By.ID, "gpus"), [], "no table of dashes")
            if name == "folded":
                opened = {
                    details.get_attribute("id"): details.get_attribute("open") is not None
                    for details in self.browser.find_elements(By.CSS_SELECTOR, "#gpus details")
                }
                # 21 instances are folded by GPU; the GPU with a problem is open.
                self.assertEqual(opened, {"below-0": False, "below-1": False, "below-2": False, "below-3": True})
            if name == "kubelet":
                owners = [one.text for one in self.browser.find_elements(By.CSS_SELECTOR, "[data-v=owners]")]
                self.assertEqual([owner for owner in owners if "free" in owner], [])
            self.assertFalse(self.of("notice").is_displayed(), f"{name} is live: {self.text_of('notice')}")
            self.picture(name)

    def test_processes_are_read_while_they_are_shown(self):
        self.open("demo")
        self.asked()
        summary = self.browser.find_element(By.CSS_SELECTOR, "#processes summary")
        self.browser.execute_script("arguments[0].click()", summary)
        self.until(lambda: any("processes=1" in url for url in self.asked()))
        one = status_of("demo", "?processes=1")["processes"][0]
        row = f"process-{one['gpu']}-{one['pid']}"
        self.until(lambda: one["name"] in self.of(row).text)
        first = self.of(row).text
        self.until(lambda: self.of(row).text != first, "numbers change")
        self.browser.execute_script("document.querySelector('#processes').open = false")
        self.asked()
        self.until(lambda: any(url.endswith("status?") for url in self.asked()))

    def test_needs_no_sideways_scroll(self):
        for name in ROOTS:
            for width in (640, 360):  # 1280 at 200 %, and a phone.
                self.size(width, 780)
                self.open(name)
                self.assertLessEqual(self.overflow(), 0, f"{name} at {width} px")
                # A table's head that only screen readers see: as wide as the window, it sometimes made the page scroll.
                heads = self.browser.execute_script(
                    "return [...document.querySelectorAll('#gpus thead th')].map((one) => one.offsetWidth)"
                )
                self.assertEqual([head for head in heads if head > 1], [], f"{name} at {width} px")
                if name == "demo" and width == 360:
                    self.browser.save_screenshot(f"{PICTURES}/node-demo-phone.png")
        self.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
