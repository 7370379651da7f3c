"""The fleet page in a real browser: fleet_page.py ROOT [PICTURE_FOLDER], for fleet_page_test.

The page serves the nodes that fleet_page_test starts: gpu-node-1 (scenario demo), gpu-node-2 (time-slicing) and
gpu-node-3 (mig-mixed).  What it must show is taken from the scenarios' facts and from /api/v1/fleet, read apart from
the page.  Every wait is for a condition.  With PICTURE_FOLDER the pictures of the documents are made there.
"""

import json
import re
import sys
import unittest
import urllib.request

from selenium.common.exceptions import TimeoutException
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

from browser import COLOURS, PATIENCE_S, SCHEMES, PageTest, contrast, start_browser

ROOT = sys.argv[1]
PICTURES = sys.argv[2] if len(sys.argv) > 2 else None
# How the map lays out nodes that have names: fleet_map.js.
NAME_PX, CELL_PX, PITCH_PX = 230, 24, 27


def fleet_json(parameters=""):
    with urllib.request.urlopen(ROOT + "api/v1/fleet" + parameters, timeout=PATIENCE_S) as answer:
        return json.load(answer)


def whole_and_delta():
    """An answer and the delta of the same tables, or None when the tables changed between the two requests."""
    whole = fleet_json()
    delta = fleet_json(f"?epoch={whole['epoch']}")
    return (whole, delta) if delta["epoch"] == whole["epoch"] else None


def first_of(fleet, node):
    """The place of the first GPU of a node."""
    return sum(fleet["nodes"]["devices"][: fleet["nodes"]["node"].index(node)])


def holders_of(fleet, node, gpu):
    """The pods of a GPU, as the JSON says, in its order."""
    pods = [fleet["pods"][pod] for pod in fleet["devices"]["pods"][first_of(fleet, node) + gpu]]
    return [f"{fleet['namespaces'][place]}/{name}" for place, name in pods]


def group_line(fleet, name):
    """The line of a group of the label pool, computed apart from the page."""
    pool = next(group for group in fleet["groups"] if group["label"] == "pool")
    nodes = gpus = allocated = idle = 0
    for node, place in enumerate(pool["node"]):
        if place is None or pool["names"][place] != name:
            continue
        nodes += 1
        first = sum(fleet["nodes"]["devices"][:node])
        for i in range(first, first + fleet["nodes"]["devices"][node]):
            gpus += 1
            allocated += 1 if fleet["devices"]["pods"][i] else 0
            idle += 1 if fleet["devices"]["idle_since_s"][i] is not None else 0
    return (
        f"{name}: {nodes} node{'' if nodes == 1 else 's'}, {gpus} GPUs, "
        f"{int(100 * allocated / gpus + 0.5)} % allocated, {int(100 * idle / gpus + 0.5)} % idle"
    )


# 5,000 nodes with 8 GPUs each, of which the seventh is idle and the eighth free, in four pools.  It answers each request
# of the page for the fleet.
LARGE_FLEET = """
(() => {
  const nodes = 5000, count = nodes * 8, at = (of) => Array.from({length: count}, (_, i) => of(i % 8, i >> 3));
  const pods = at((gpu, node) => [node % 200, `train-${String.fromCharCode(97 + gpu)}-${node}`]);
  const seconds = Math.floor(Date.now() / 1000), each = (of) => Array.from({length: nodes}, (_, node) => of(node));
  const text = JSON.stringify({schema: 1, epoch: '0123456789abcdef', ready: true, verdict: 'ready', states: ['ok'],
    namespaces: Array.from({length: 200}, (_, i) => `team-${i}`), pods, models: ['NVIDIA H100 80GB HBM3'],
    groups: [{label: 'pool', names: ['a', 'b', 'c', 'd'], node: each((node) => node % 4)}],
    nodes: {node: each((node) => `gpu-node-${node}`), address: each((node) => `10.0.0.1:${node}`), state: each(() => 'ok'),
      reason: each(() => ''), detail: each(() => 'ready'), read_at_s: each(() => seconds), owners_known: each(() => true),
      devices: each(() => 8)},
    devices: {gpu: at((gpu) => gpu), model: at(() => 0), state: at(() => 0), activity_percent: at((gpu) => gpu < 6 ? gpu * 17 + 5 : 0),
      memory_used_mib: at(() => 4096), memory_total_mib: at(() => 81559), instances: at(() => 0),
      pods: at((gpu, node) => gpu < 7 ? [node * 8 + gpu] : []), hidden_owners: at(() => 0),
      idle_since_s: at((gpu) => gpu === 6 ? seconds - 600 : null)}});
  window.fetch = async () => new Response(text);
})();
"""
# Answers for the Prometheus that this cluster role does not have; everything else comes from the server.
HISTORIES = """
const server = window.fetch;
window.histories = [];
window.fetch = async (url, options) => {
  if (url.startsWith('api/v1/history')) {
    window.histories.push(url);
    const values = Array.from({length: 289}, (_, at) => [null, 10, 20, null, 30][at] ?? null);
    return new Response(JSON.stringify(url.includes('gpu-node-2') ? {absent: 'Prometheus does not answer: timeout', activity_percent: []} :
      {begin_s: 0, step_s: 300, activity_percent: values}));
  }
  const answer = await server(url, options);
  if (answer.status !== 200) return answer;
  const json = await answer.json();
  return new Response(JSON.stringify(json.delta ? json : {...json, history: true}), {headers: {ETag: answer.headers.get('ETag')}});
};
"""
LARGE_FILTERS = {
    "train-a": "5000 nodes, 5000 GPUs: 5000 allocated, 0 of them idle, 0 free",
    "train-a ns:team-7": "25 nodes, 25 GPUs: 25 allocated, 0 of them idle, 0 free",
    "node:gpu-node-49 -train-b": "111 nodes, 777 GPUs: 666 allocated, 111 of them idle, 111 free",
    "state:idle group:b": "1250 nodes, 1250 GPUs: 1250 allocated, 1250 of them idle, 0 free",
    "idle>9m gpu-node-1 team-1": "666 nodes, 666 GPUs: 666 allocated, 666 of them idle, 0 free",
}
# Types words and returns the milliseconds in which the page answers: everything that it does before the next frame.
TIMED_FILTER = """
const [words, done] = arguments, filter = document.getElementById('filter');
let from = 0;
requestAnimationFrame(() => { from = performance.now(); });
filter.value = words;
filter.dispatchEvent(new Event('input'));
requestAnimationFrame(() => done(performance.now() - from));
"""


class FleetPage(PageTest):
    # Every test starts on the whole fleet; it must end without console messages and without requests to other hosts.
    def setUp(self):
        self.browser.get_log("browser")
        self.browser.get_log("performance")
        self.open("")
        self.await_counts("3 nodes, 14 GPUs: 12 allocated, 1 of them idle, 2 free")

    def tearDown(self):
        self.assertEqual(self.browser.get_log("browser"), [])
        asked = self.asked()
        self.assertIn(ROOT + "api/v1/fleet", asked)
        foreign = [url for url in asked if not url.startswith((ROOT, "data:"))]
        self.assertEqual(foreign, [])

    def open(self, query):
        self.browser.get(ROOT + query)

    def await_counts(self, text):
        self.await_that("counts", text, lambda shown: shown == text)

    def await_text(self, name, part):
        self.await_that(name, part, lambda shown: part in shown)

    def await_that(self, name, expected, holds):
        try:
            self.until(lambda: holds(self.text_of(name)))
        except TimeoutException:
            self.fail(f"#{name} says {self.text_of(name)!r}, not {expected!r}")

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

    def test_links_lead_to_the_pages_of_the_node(self):
        self.open("?node=gpu-node-2&gpu=1")
        self.await_text("detail", "Node page")
        links = dict(
            self.browser.execute_script(
                "return [...document.querySelectorAll('#detail a')].map((link) => [link.innerText, link.href])"
            )
        )
        fleet = fleet_json()
        uuid = fleet["devices"]["uuid"][first_of(fleet, "gpu-node-2") + 1]
        self.assertTrue(uuid.startswith("GPU-"), uuid)
        self.assertEqual(
            links,
            {
                "Node page": "http://gpu-node-2:9400/",
                "Dashboard": f"https://grafana.example/d/gpu?var-node=gpu-node-2&var-gpu=1&var-uuid={uuid}",
            },
        )
        drawn = self.browser.execute_async_script(
            """const done = arguments[0];
            import('./assets/fleet_model.js').then((model) => {
              const fleet = (json, name) => ({node: [0], json: {...json, nodes: {node: [name]}}});
              done([model.links(fleet({}, 'a'), 0), model.links(fleet({node_url: 'http://{node}/{node}'}, 'a/b'), 0),
                model.links(fleet({node_url: 'http://{node}/'}, ''), 0),
                model.links(fleet({dashboard_url: 'http://d/?{uuid}&{gpu}', devices: {gpu: [3], uuid: ['G&=']}}, 'a'), 0)]);
            }, (error) => done(String(error)));"""
        )
        self.assertEqual(
            drawn, [[], [["Node page", "http://a%2Fb/a%2Fb"]], [], [["Dashboard", "http://d/?G%26%3D&3"]]]
        )

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
                "state": ["ok", "degraded", "unresponsive", "starting"],
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
                ranking: model.idleRanking(fleet, all, 20).first.map((pod) => [pod.name, pod.gpus, pod.longest]),
                filters: ['state:lost', 'state:allocated', 'allocated', 'idle', 'free', 'lost', '-ns:ml', 'idle>9m', 'idle>10m', 'node:B', '"train-0" a'].map(at),
                histories: [[5, 97], [5, 97, null, null, null], [null, 7, null]]
                  .map((activity_percent) => model.historyLine({activity_percent, step_s: 300})),
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
                "filters": [[1], [0, 2, 6], [0, 2, 6], [2], [3, 4], [1], [3, 4, 5, 7], [2], [], [5, 6], [0, 1, 2, 6]],
                "histories": [
                    ["M0 95h.5L1 3h.5", "from 5 to 97 %, last 97 %"],
                    ["M0 95h.5L1 3h.5", "from 5 to 97 %, last 97 % 15m ago"],
                    ["M1 93h.5", "from 7 to 7 %, last 7 % 5m ago"],
                ],
                "spans": ["59s", "1m", "2h14m", "3d0h"],
            },
        )

    def test_groups_have_a_line_each_and_are_in_the_address(self):
        Select(self.of("group")).select_by_visible_text("pool")
        self.assertEqual(self.address(), "?group=pool")
        self.of("map").send_keys(Keys.HOME)
        self.await_text("said", "gpu-node-2 GPU 0, ")  # "inference" is before "training".
        self.await_text("said", ", pool inference")
        self.press(Keys.PAGE_DOWN)
        self.await_text("said", "gpu-node-1 GPU 0, ")
        self.await_text("said", ", pool training")
        self.press(Keys.ARROW_DOWN)
        self.await_text("said", "gpu-node-3 GPU 0, ")
        self.press(Keys.ARROW_UP, Keys.ARROW_UP)
        self.await_text("said", "gpu-node-2 GPU 0, ")
        self.press(Keys.PAGE_DOWN, Keys.PAGE_DOWN, Keys.PAGE_DOWN)
        self.await_text("said", "gpu-node-3 GPU 0, ")
        self.press(Keys.PAGE_UP)
        self.await_text("said", "gpu-node-1 GPU 0, ")
        # A cell below a group's line: the second group begins at 26 px of its line, below the 26 + 33 px of the first.
        under = self.browser.execute_script(
            "const box = document.getElementById('map').getBoundingClientRect();"
            "const at = (y) => { document.getElementById('map').dispatchEvent(new PointerEvent('pointermove',"
            "  {clientX: box.x + 240, clientY: box.y + y})); return document.getElementById('detail').textContent; };"
            "return [at(26 + 5), at(26 + 30 + 26 + 12)];"
        )
        self.assertIn("gpu-node-2", under[0])
        self.assertIn("gpu-node-1", under[1])
        self.open("?group=pool&view=table&sort=name&q=-node:gpu-node-3")
        self.until(lambda: self.of("table").find_elements(By.CSS_SELECTOR, "th[scope=rowgroup]"))
        heads = self.texts("#table th[scope=rowgroup]")
        fleet = fleet_json()
        self.assertEqual(heads, [group_line(fleet, "inference"), group_line(fleet, "training")])
        self.assertEqual(Select(self.of("group")).first_selected_option.text, "pool")
        self.open("?q=group%3Atraining")
        self.await_counts("1 node, 8 GPUs: 7 allocated, 1 of them idle, 1 free")
        self.open("?group=zone")  # The labels that were not asked for make no groups.
        self.await_counts("3 nodes, 14 GPUs: 12 allocated, 1 of them idle, 2 free")
        self.assertEqual(Select(self.of("group")).first_selected_option.text, "none")

    def test_asks_only_for_values_once_it_has_the_tables(self):
        with_epoch = re.compile(re.escape(ROOT) + r"api/v1/fleet\?epoch=[0-9a-f]{16}$")
        self.until(lambda: any(with_epoch.match(url) for url in self.asked()))
        # The scenarios start pods and end them, so the tables can change between two requests.
        whole, delta = self.until(whole_and_delta)
        self.assertNotIn("pods", delta)
        merged = self.browser.execute_async_script(
            "const [whole, delta, done] = arguments;"
            "import('./assets/fleet_model.js').then((model) => done(model.merged(whole, delta)));",
            whole,
            delta,
        )
        del merged["delta"]
        for part in ("nodes", "devices"):
            self.assertEqual(set(merged[part]), set(whole[part]))
            for key in set(whole[part]) - set(delta[part]):
                self.assertEqual(merged[part][key], whole[part][key])
            for key in delta[part]:
                self.assertEqual(merged[part][key], delta[part][key])
        refused = self.browser.execute_async_script(
            "const [whole, delta, done] = arguments; import('./assets/fleet_model.js').then((model) => {"
            "  try { model.merged({...whole, epoch: 'other'}, delta); done(false); } catch { done(true); } });",
            whole,
            delta,
        )
        self.assertTrue(refused, "a delta of other tables")
        self.open("")  # tearDown expects the first request of a page in the log.
        self.await_counts("3 nodes, 14 GPUs: 12 allocated, 1 of them idle, 2 free")

    def test_address_shows_the_same_in_a_second_browser(self):
        self.of("filter").send_keys("ns:research")
        self.await_counts("2 nodes, 5 GPUs: 5 allocated, 1 of them idle, 0 free")
        Select(self.of("group")).select_by_visible_text("pool")
        Select(self.of("sort")).select_by_visible_text("name")
        self.of("map").send_keys(Keys.HOME, Keys.ENTER)
        self.until(lambda: "gpu=" in self.address())
        seen = (
            "return ['counts', 'detail'].map((id) => document.getElementById(id).textContent)"
            ".concat(['filter', 'group', 'sort', 'namespace'].map((id) => document.getElementById(id).value))"
            ".concat(document.getElementById('table').hidden)"
        )
        # Without what changes with time: the activity and the memory.
        own = [part.split("Activity")[0] if isinstance(part, str) else part for part in self.browser.execute_script(seen)]
        other = start_browser()
        try:
            other.get(self.browser.current_url)
            same = lambda: [
                part.split("Activity")[0] if isinstance(part, str) else part for part in other.execute_script(seen)
            ]
            self.until(lambda: same() == own, f"{own}")
        finally:
            other.quit()
        self.browser.back()
        self.until(lambda: "gpu=" not in self.address())
        self.assertEqual(self.of("group").get_attribute("value"), "pool", "Back undoes the selection alone")

    def test_ranking_is_that_of_the_json(self):
        fleet = fleet_json()
        expected = set()
        for i, since in enumerate(fleet["devices"]["idle_since_s"]):
            if since is not None:
                expected |= {
                    f"{fleet['namespaces'][place]}/{name}"
                    for place, name in (fleet["pods"][pod] for pod in fleet["devices"]["pods"][i])
                }
        self.assertEqual(set(self.texts("#ranking tbody th")), expected)
        ranked = self.browser.execute_async_script(
            """const done = arguments[0];
            import('./assets/fleet_model.js').then((model) => {
              // Hours, then names; a shared GPU counts in parts; a GPU that is not known to be idle does not count.
              const json = {namespaces: ['n'], pods: [[0, 'b'], [0, 'a'], [0, 'c'], [0, 'busy']], models: [], states: ['ok'],
                nodes: {node: ['x'], address: ['x'], state: ['ok'], reason: [''], detail: [''], read_at_s: [9000],
                  owners_known: [true], devices: [5]},
                devices: {gpu: [0, 1, 2, 3, 4], model: [0, 0, 0, 0, 0], state: [0, 0, 0, 0, 0],
                  activity_percent: [0, 0, 0, 0, null], memory_used_mib: [1024, 2048, null, 0, 0],
                  memory_total_mib: [null, null, null, null, null], instances: [0, 0, 0, 0, 0],
                  pods: [[0], [1], [2, 1], [2], [3]], hidden_owners: [0, 0, 0, 0, 0],
                  idle_since_s: [1800, 1800, 1800, 5400, null]}};
              const fleet = model.decode(json, 9000, 0), all = new Uint8Array(5).fill(1);
              const show = (pod) => [pod.name, pod.gpus, pod.longest, pod.hours, pod.memoryMib, pod.shared];
              done([model.idleRanking(fleet, all, 20).first.map(show), model.idleRanking(fleet, all, 2).first.map(show),
                model.idleRanking(fleet, all, 2).count]);
            }, (error) => done(String(error)));"""
        )
        rows = [
            ["n/a", 2, 7200, 3, 2048, True],
            ["n/b", 1, 7200, 2, 1024, False],
            ["n/c", 2, 7200, 2, 0, True],
        ]
        self.assertEqual(ranked, [rows, rows[:2], 3])

    def test_forty_thousand_gpus_are_few_elements_and_found_by_words(self):
        """Statement 27 on a made-up fleet, which the page gets in place of the server's."""
        script = self.browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": LARGE_FLEET})
        try:
            self.open("?group=pool")
            self.await_counts("5000 nodes, 40000 GPUs: 35000 allocated, 5000 of them idle, 5000 free")
            self.assertLess(self.browser.execute_script("return document.querySelectorAll('*').length"), 2000)
            times = {}
            for words, counts in LARGE_FILTERS.items():
                times[words] = self.browser.execute_async_script(TIMED_FILTER, words)
                self.await_counts(counts)
            times["redraw"] = self.browser.execute_script(
                "const from = performance.now(); document.getElementById('scroller').dispatchEvent(new Event('scroll'));"
                "return performance.now() - from;"
            )
            print("ms at 40,000 GPUs:", {name: round(ms, 1) for name, ms in times.items()})
        finally:
            self.browser.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", script)
        self.open("")
        self.await_counts("3 nodes, 14 GPUs: 12 allocated, 1 of them idle, 2 free")

    def test_history_has_a_line_for_the_selected_gpu_and_for_each_group(self):
        self.assertFalse(self.of("histories").is_displayed(), "without a Prometheus there is no history")
        script = self.browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": HISTORIES})
        try:
            self.open("?group=pool&node=gpu-node-1&gpu=0")
            words = "from 10 to 30 %, last 30 % 23h40m ago"
            self.await_text("history", f"gpu-node-1 GPU 0{words}inference{words}training{words}")
            self.assertEqual(
                self.browser.execute_script("return window.histories"),
                [
                    "api/v1/history?node=gpu-node-1&gpu=0",
                    "api/v1/history?group=pool&value=inference",
                    "api/v1/history?group=pool&value=training",
                ],
            )
            line = self.of("history").find_element(By.TAG_NAME, "path").get_attribute("d")
            self.assertEqual(line, "M1 90h.5L2 80h.5M4 70h.5", "a gap where there is no value")
            plot = self.of("history").find_element(By.TAG_NAME, "svg")
            self.assertEqual(plot.get_attribute("aria-label"), f"gpu-node-1 GPU 0: {words}")
            self.open("?node=gpu-node-2&gpu=1")
            self.await_text("history", "gpu-node-2 GPU 1Prometheus does not answer: timeoutall GPUs" + words)
        finally:
            self.browser.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", script)

    def test_silent_node_is_hatched_and_has_no_values(self):
        """Statement 31, on the page's own drawing."""
        drawn = self.browser.execute_async_script(
            """const done = arguments[0];
            Promise.all([import('./assets/fleet_model.js'), import('./assets/fleet_map.js')]).then(([model, map]) => {
              const palette = new map.FleetMap(document.createElement('canvas'), document.createElement('div'),
                document.createElement('div')).palette;
              const colours = (kind, bin) => new Set(Array.from(new Uint32Array(map.swatch(palette, kind, bin)
                .getContext('2d').getImageData(0, 0, 16, 16).data.buffer))).size;
              const same = (a, b) => map.swatch(palette, model.SILENT, a).toDataURL() === map.swatch(palette, model.SILENT, b).toDataURL();
              done([colours(model.SILENT, 7), same(7, 0) && same(7, 6), colours(model.USED, 7)]);
            }, (error) => done(String(error)));"""
        )
        self.assertEqual(drawn, [2, True, 2], "ground and hatch in the same way whatever the value was")

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

    def test_axe_finds_no_violation(self):
        for view in ("?node=gpu-node-1&gpu=6", "?view=table&group=pool"):
            for colours in COLOURS:
                self.emulate(**colours)
                self.open(view)
                self.await_counts("3 nodes, 14 GPUs: 12 allocated, 1 of them idle, 2 free")
                with self.subTest(view, **colours):
                    self.assertEqual(self.violations(), [])
        self.emulate(prefers_color_scheme="light")

    def test_has_few_elements(self):
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
