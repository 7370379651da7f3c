"""The fleet page in a real browser: fleet_page.py ROOT [PICTURE_FOLDER], for fleet_page_test.

The page serves the nodes that fleet_page_test starts: gpu-node-1 (scenario demo), gpu-node-2 (time-slicing) and
gpu-node-3 (mig-mixed).  What it must show is taken from the scenarios' facts and from /api/v1/fleet, read apart from
the page.  Every wait is for a condition.  With PICTURE_FOLDER the pictures of the documents are made there.
"""

import json
import sys
import unittest
import urllib.request

from selenium import webdriver
from selenium.common.exceptions import TimeoutException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait

ROOT = sys.argv[1]
PICTURES = sys.argv[2] if len(sys.argv) > 2 else None
PATIENCE_S = 60
# How the map lays out nodes that have names: fleet_map.js.
NAME_PX, CELL_PX, PITCH_PX = 230, 24, 27
SCHEMES = {"light": "rgb(255, 255, 255)", "dark": "rgb(16, 21, 27)"}


def start_browser():
    options = webdriver.ChromeOptions()
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--disable-background-networking",
        "--window-size=1280,760",
        "--force-device-scale-factor=1",
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)


def fleet_json():
    with urllib.request.urlopen(ROOT + "api/v1/fleet", timeout=PATIENCE_S) as answer:
        return json.load(answer)


def holders_of(fleet, node, gpu):
    """The pods of a GPU, as the JSON says, in its order."""
    at = fleet["nodes"]["node"].index(node)
    first = sum(fleet["nodes"]["devices"][:at])
    pods = [fleet["pods"][pod] for pod in fleet["devices"]["pods"][first + gpu]]
    return [f"{fleet['namespaces'][place]}/{name}" for place, name in pods]


def luminance(colour):
    channels = [int(part) / 255 for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


class FleetPage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.browser = start_browser()

    @classmethod
    def tearDownClass(cls):
        cls.browser.quit()

    # Every test starts on the whole fleet; it must end without console messages and without requests to other hosts.
    def setUp(self):
        self.browser.get_log("browser")
        self.browser.get_log("performance")
        self.open("")
        self.await_counts("3 nodes, 14 GPUs: 12 allocated, 1 of them idle, 2 free")

    def tearDown(self):
        self.assertEqual(self.browser.get_log("browser"), [])
        asked = set()
        for entry in self.browser.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] in ("Network.requestWillBeSent", "Network.webSocketCreated"):
                params = message["params"]
                asked.add(params["request"]["url"] if "request" in params else params["url"])
        self.assertIn(ROOT + "api/v1/fleet", asked)
        foreign = [url for url in asked if not url.startswith((ROOT, "data:"))]
        self.assertEqual(foreign, [])

    def open(self, query):
        self.browser.get(ROOT + query)

    def of(self, name):
        return self.browser.find_element(By.ID, name)

    def text_of(self, name):
        return self.of(name).get_attribute("textContent")

    def until(self, condition, message=""):
        return WebDriverWait(self.browser, PATIENCE_S, 0.05).until(lambda _: condition(), message)

    def await_counts(self, text):
        self.await_that("counts", text, lambda shown: shown == text)

    def await_text(self, name, part):
        self.await_that(name, part, lambda shown: part in shown)

    def await_that(self, name, expected, holds):
        try:
            self.until(lambda: holds(self.text_of(name)))
        except TimeoutException:
            self.fail(f"#{name} says {self.text_of(name)!r}, not {expected!r}")

    def press(self, *keys):
        ActionChains(self.browser).send_keys(*keys).perform()

    def focused(self):
        return self.browser.switch_to.active_element.get_attribute("id")

    def address(self):
        return self.browser.current_url.removeprefix(ROOT)

    def pixel(self, x, y):
        return self.browser.execute_script(
            "const p = document.getElementById('map').getContext('2d').getImageData(...arguments, 1, 1).data;"
            "return `rgb(${p[0]}, ${p[1]}, ${p[2]})`;",
            x,
            y,
        )

    def style(self, name):
        """A token of the style sheet as rgb(...)."""
        return self.browser.execute_script(
            "const probe = document.createElement('i'); document.body.append(probe);"
            "probe.style.color = `var(${arguments[0]})`; const colour = getComputedStyle(probe).color;"
            "probe.remove(); return colour;",
            name,
        )

    def emulate(self, **features):
        media = [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": media})

    def test_filter_narrows_by_namespace_state_and_words(self):
        self.of("filter").send_keys("ns:research")
        self.await_counts("2 nodes, 5 GPUs: 5 allocated, 1 of them idle, 0 free")
        self.assertEqual(self.address(), "?q=ns%3Aresearch")
        self.assertEqual(Select(self.of("namespace")).first_selected_option.text, "research")
        self.of("filter").send_keys(" -llama")
        self.await_counts("2 nodes, 3 GPUs: 3 allocated, 1 of them idle, 0 free")
        Select(self.of("namespace")).select_by_visible_text("serving")
        self.await_counts("1 node, 1 GPU: 1 allocated, 0 of them idle, 0 free")
        self.assertEqual(self.of("filter").get_attribute("value"), "ns:serving -llama")
        self.of("filter").clear()
        self.of("filter").send_keys("state:idle")
        self.await_counts("1 node, 1 GPU: 1 allocated, 1 of them idle, 0 free")
        self.of("filter").clear()
        self.of("filter").send_keys("idle>99d")
        self.await_counts("0 nodes, 0 GPUs: 0 allocated, 0 of them idle, 0 free")
        self.of("filter").clear()
        self.of("filter").send_keys("colour:red node:gpu-node-2")
        self.await_counts("1 node, 2 GPUs: 2 allocated, 0 of them idle, 0 free")
        self.assertIn("colour:red is not understood", self.text_of("filter-error"))

    def test_keys_reach_everything(self):
        for _ in range(20):
            if self.focused() == "map":
                break
            self.press(Keys.TAB)
        self.assertEqual(self.focused(), "map", "Tab leads to the map")
        self.assertEqual(self.of("map").value_of_css_property("outline-style"), "solid")
        fleet = fleet_json()
        self.press(Keys.ARROW_RIGHT)
        self.await_text("said", "gpu-node-1 GPU 0, " + ", ".join(holders_of(fleet, "gpu-node-1", 0)))
        self.press(*[Keys.ARROW_RIGHT] * 5)
        self.await_text("said", "gpu-node-1 GPU 5, " + ", ".join(holders_of(fleet, "gpu-node-1", 5)) + ", idle for ")
        self.press(Keys.END)
        self.await_text("said", "gpu-node-1 GPU 7, free")
        self.press(Keys.ARROW_DOWN)
        self.await_text("said", "gpu-node-2 GPU 1, ")
        self.press(Keys.PAGE_DOWN)
        self.await_text("said", "gpu-node-3 GPU 1, ")
        self.press(Keys.HOME)
        self.await_text("said", "gpu-node-3 GPU 0, " + ", ".join(holders_of(fleet, "gpu-node-3", 0)))
        self.press(Keys.ENTER)
        self.until(lambda: self.address() == "?node=gpu-node-3&gpu=0")
        self.browser.back()
        self.until(lambda: self.address() == "")
        self.of("map").send_keys("/")
        self.assertEqual(self.focused(), "filter")
        self.press(Keys.ESCAPE)
        self.assertEqual(self.focused(), "map")
        self.press("t")
        self.assertTrue(self.of("table").is_displayed())
        self.press(Keys.ESCAPE)
        self.assertFalse(self.of("table").is_displayed())
        self.press("i")
        # In one step, since each reading draws the ranking again.
        focused = self.browser.execute_script("return document.activeElement.textContent")
        self.assertEqual(focused, "research/notebook-ada")
        self.press(Keys.ENTER)
        self.await_counts("1 node, 1 GPU: 1 allocated, 1 of them idle, 0 free")

    def test_pointer_meets_what_the_json_says_in_the_colour_of_its_bin(self):
        fleet = fleet_json()
        shared = holders_of(fleet, "gpu-node-1", 4)
        self.assertGreater(len(shared), 1)
        canvas = self.of("map")
        left, middle = NAME_PX + 4 * PITCH_PX + CELL_PX // 2, CELL_PX // 2
        size = canvas.size
        ActionChains(self.browser).move_to_element_with_offset(
            canvas, left - size["width"] // 2, middle - size["height"] // 2
        ).perform()
        self.await_text("detail", ", ".join(shared))
        bins = [self.style(f"--bin{n}") for n in range(7)]

        # In one step, so both come from one reading.
        drawn, told = self.browser.execute_script(
            "const p = document.getElementById('map').getContext('2d').getImageData(...arguments, 1, 1).data;"
            "return [`rgb(${p[0]}, ${p[1]}, ${p[2]})`, document.getElementById('detail').textContent];",
            left,
            middle,
        )
        percent = int(told.split("Activity")[1].split(" %")[0])
        self.assertEqual(drawn, bins[sum(percent >= start for start in (1, 20, 40, 60, 80, 95))])
        self.assertEqual(self.pixel(NAME_PX + 7 * PITCH_PX + CELL_PX // 2, middle), self.style("--ground"), "free")

    def test_deep_link_leads_to_the_same_view(self):
        link = "?q=ns%3Avision&sort=name&node=gpu-node-1&gpu=6&view=table"
        self.open(link)
        self.until(lambda: self.of("table").find_elements(By.CSS_SELECTOR, "tbody tr"))
        self.assertEqual(self.of("filter").get_attribute("value"), "ns:vision")
        self.assertEqual(Select(self.of("sort")).first_selected_option.text, "name")
        self.assertEqual(self.address(), link)
        rows = self.browser.execute_script(
            "return [...document.querySelectorAll('#table tbody tr')].map((line) => "
            "[...line.querySelectorAll('th,td')].slice(0, 3).map((cell) => cell.textContent))"
        )
        fleet = fleet_json()
        expected = []
        for node, count in zip(fleet["nodes"]["node"], fleet["nodes"]["devices"]):
            for gpu in range(count):
                holders = holders_of(fleet, node, gpu)
                if any(name.startswith("vision/") for name in holders):
                    expected.append([node, str(gpu), ", ".join(holders)])
        self.assertGreater(len(expected), 1)
        self.assertEqual(rows, sorted(expected))
        self.press(Keys.ESCAPE)
        self.await_text("detail", "vision/vision-batch-0")
        self.assertTrue(self.of("map").is_displayed())

    def test_policy_lets_the_page_ask_nobody_else(self):
        refused = self.browser.execute_async_script(
            "const done = arguments[0]; fetch('http://localhost:9/').then(() => done(false), () => done(true));"
        )
        self.assertTrue(refused)
        said = [entry["message"] for entry in self.browser.get_log("browser")]
        self.assertTrue(any("Content Security Policy" in message for message in said), said)
        self.browser.get_log("performance")
        self.open("")
        self.await_counts("3 nodes, 14 GPUs: 12 allocated, 1 of them idle, 2 free")

    def test_every_state_has_its_word(self):
        """What the three nodes never do, told to the page's own model."""
        fleet = {
            "namespaces": ["ml"],
            "pods": [[0, "train-0"]],
            "models": ["H100"],
            "states": ["ok", "lost", "unresponsive", "degraded"],
            "nodes": {
                "node": ["a", "b", "c", ""],
                "address": ["a:1", "b:1", "c:1", "d:1"],
                "state": ["ok", "failing", "withdrawn", "starting"],
                "reason": ["", "timeout", "timeout", ""],
                "detail": ["", "", "not within 5 s", ""],
                "read_at_s": [1000, 1000, 900, None],
                "owners_known": [True, False, False, False],
                "devices": [5, 2, 1, 0],
            },
            "devices": {
                "gpu": [0, 1, 2, 3, 4, 0, 1, 0],
                "model": [0] * 8,
                "state": [0, 1, 3, 0, 0, 0, 0, 2],
                "activity_percent": [99, None, 0, None, 0, None, 3, None],
                "memory_used_mib": [1024] + [None] * 7,
                "memory_total_mib": [2048] + [None] * 7,
                "instances": [0] * 8,
                "pods": [[0], [0], [0], [], [], [], [0], []],
                "hidden_owners": [1, 0, 0, 0, 0, 0, 0, 0],
                "idle_since_s": [None, None, 400, None, None, None, None, None],
            },
        }
        told = self.browser.execute_async_script(
            """const [json, done] = arguments;
            Promise.all([import('./assets/fleet_model.js'), import('./assets/fleet_filter.js')]).then(([model, filter]) => {
              const fleet = model.decode(json, 1000, 300), young = model.decode(json, 1000, 900);
              const all = new Uint8Array(fleet.count).fill(1);
              const at = (text) => [...filter.matchAll(fleet, filter.parse(text).terms)].flatMap((yes, i) => yes ? [i] : []);
              done({
                kinds: [...fleet.kind].map((kind) => model.KIND_WORDS[kind]), bins: [...fleet.bin],
                young: model.KIND_WORDS[young.kind[2]],
                holders: [...all].map((_, i) => model.holders(fleet, i)),
                first: fleet.nodes.map((node) => node.first), said: model.sentence(fleet, 2),
                ranking: model.idleRanking(fleet, all).map((pod) => [pod.name, pod.gpus, pod.longest]),
                filters: ['state:lost', 'state:allocated', '-ns:ml', 'idle>9m', 'idle>10m', 'node:B', '"train-0" a'].map(at),
                spans: [59, 60, 3600 * 2 + 14 * 60, 86400 * 3].map(model.span),
              });
            }, (error) => done(String(error)));""",
            fleet,
        )
        self.assertEqual(
            told,
            {
                "kinds": ["allocated", "lost", "idle", "free", "free", "not known", "allocated", "unresponsive"],
                "bins": [6, 7, 0, 7, 0, 7, 1, 7],
                "young": "allocated",
                "holders": ["ml/train-0, 1 not shown", "ml/train-0", "ml/train-0", "free", "free", "not known"]
                + ["ml/train-0", "not known"],
                "first": [0, 5, 7, 8],
                "said": "a GPU 2, ml/train-0, degraded, idle for 10m",
                "ranking": [["ml/train-0", 1, 600]],
                "filters": [[1], [0, 2, 6], [3, 4, 5, 7], [2], [], [5, 6], [0, 1, 2, 6]],
                "spans": ["59s", "1m", "2h14m", "3d0h"],
            },
        )

    def test_says_when_the_cluster_role_is_gone_and_asks_nobody_while_paused(self):
        self.browser.execute_script(
            "window.asked = 0; window.answers = window.fetch;"
            "window.fetch = () => { ++window.asked; return Promise.reject(new Error('gone')); };"
        )
        self.until(lambda: self.of("notice").is_displayed())
        self.assertIn("does not answer since ", self.text_of("notice"))
        self.assertIn("old", self.browser.find_element(By.TAG_NAME, "body").get_attribute("class"))
        self.of("pause").click()
        asked = self.browser.execute_script(
            "window.asked = 0; document.dispatchEvent(new Event('visibilitychange')); return window.asked;"
        )
        self.assertEqual(asked, 0)
        self.browser.execute_script("window.fetch = window.answers;")
        self.of("pause").click()
        self.until(lambda: not self.of("notice").is_displayed())

    def test_screen_readers_find_a_name_for_each_control(self):
        tree = self.browser.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
        roles = ("button", "link", "textbox", "searchbox", "combobox", "application", "heading")
        found = [
            (node["role"]["value"], node.get("name", {}).get("value", ""))
            for node in tree
            if not node.get("ignored") and node.get("role", {}).get("value") in roles
        ]
        self.assertGreater(len(found), 12)
        self.assertEqual([entry for entry in found if entry[1] == ""], [])
        self.assertIn(("application", "Map of GPUs"), found)
        self.assertLess(self.browser.execute_script("return document.querySelectorAll('*').length"), 2000)

    def test_light_and_dark(self):
        for scheme, ground in SCHEMES.items():
            self.emulate(prefers_color_scheme=scheme)
            body = self.browser.find_element(By.TAG_NAME, "body")
            self.assertEqual(
                self.browser.execute_script("return getComputedStyle(arguments[0]).backgroundColor", body), ground
            )
            self.until(lambda: self.pixel(2, self.of("map").size["height"] - 2) == ground, f"a {scheme} map")
            for token in ("--text", "--muted", "--lost", "--degraded", "--link"):
                self.assertGreaterEqual(contrast(self.style(token), ground), 4.5, f"{token} in {scheme}")
            for token in ("--border", "--idle"):
                self.assertGreaterEqual(contrast(self.style(token), ground), 3, f"{token} in {scheme}")
            self.assertGreaterEqual(contrast(self.style("--idle"), self.style("--bin0")), 3)
            self.of("map").send_keys(Keys.HOME)
            self.await_text("detail", "gpu-node-1")
            if PICTURES:
                self.browser.save_screenshot(f"{PICTURES}/fleet-{scheme}.png")
        self.emulate(forced_colors="active")
        self.assertEqual(self.style("--border"), self.style("--text"))
        self.emulate(prefers_color_scheme="light")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
