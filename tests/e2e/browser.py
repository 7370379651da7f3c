"""What the tests of our pages in a real browser share: a browser with its log, waits, colours, contrast and axe-core.

A test class sets ROOT, the address of its page with a slash at the end.  Every wait is for a condition.
"""

import json
import pathlib
import unittest

from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

PATIENCE_S = 60
SCHEMES = {"light": "rgb(255, 255, 255)", "dark": "rgb(16, 21, 27)"}
COLOURS = ({"prefers_color_scheme": "light"}, {"prefers_color_scheme": "dark"}, {"forced_colors": "active"})
AXE = pathlib.Path("build/tools/axe-core/node_modules/axe-core/axe.min.js")


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


def luminance(colour):
    channels = [int(part) / 255 for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


class PageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.browser = start_browser()

    @classmethod
    def tearDownClass(cls):
        cls.browser.quit()

    def of(self, name):
        return self.browser.find_element(By.ID, name)

    def text_of(self, name):
        return self.of(name).get_attribute("textContent")

    def texts(self, selector):
        """The texts of all elements that match, as seen; read at once, because the page may redraw them."""
        return self.browser.execute_script(
            "return [...document.querySelectorAll(arguments[0])].map((one) => one.innerText.trim())", selector
        )

    def until(self, condition, message=""):
        wait = WebDriverWait(self.browser, PATIENCE_S, 0.05, ignored_exceptions=[StaleElementReferenceException])
        return wait.until(lambda _: condition(), message)

    def press(self, *keys):
        ActionChains(self.browser).send_keys(*keys).perform()

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

    def violations(self):
        """What axe-core finds wrong with the page: a rule and an element each."""
        if not AXE.exists():
            self.fail(f"{AXE} is missing; `tools/setup \"\" check` fetches it with npm")
        self.browser.execute_script(AXE.read_text())
        passes, found = self.browser.execute_async_script(
            """const done = arguments[0];
            axe.run({rules: {'target-size': {enabled: true}}}).then(
              (result) => done([
                result.passes.length,
                result.violations.flatMap((rule) => rule.nodes.map((node) => `${rule.id}: ${node.html}`))]),
              (error) => done([0, [String(error)]]));"""
        )
        self.assertGreater(passes + len(found), 10, "axe-core has looked at the page")
        return found

    def asked(self):
        """The addresses that the page requested since the last call."""
        asked = set()
        for entry in self.browser.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] in ("Network.requestWillBeSent", "Network.webSocketCreated"):
                params = message["params"]
                asked.add(params["request"]["url"] if "request" in params else params["url"])
        return asked
