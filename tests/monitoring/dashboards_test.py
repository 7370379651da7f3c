"""Dashboards: the generated files, their structure, and rows for each query of each panel.

A real Prometheus has histories of podgpu's pages on a virtual clock, in both spellings of the workload's labels.
PODGPU_UPDATE_GOLDEN=1 writes the generated files and the table of docs/dashboards.md again.
"""

import json
import math
import re
import tempfile
import unittest

import yaml

import dashboards
import histories
import places
import renamed
from prometheus import Prometheus
from rules_test import promtool, seconds

# Labels as Prometheus may store them.
SPELLINGS = {
    "plain": {"nsl": "namespace", "podl": "pod", "hostl": "Hostname"},
    "exported": {"nsl": "exported_namespace", "podl": "exported_pod", "hostl": "hostname"},
}
NAMES = ("native", "dcgm")
PAGE = "docs/dashboards.md"
# Grafana's ids of units that the panels use.
UNITS = {"none", "percent", "percentunit", "watt", "bytes", "celsius", "h", "kwatth", "s", "dateTimeAsIso", "cps"}
APPORTIONED = re.compile(r'method!="exclusive"')
COMPATIBLE = yaml.safe_load(places.text(places.SOURCE / "tests/monitoring/compatible.yaml"))


# What the variables are in a dashboard that shows everything.
ALL = {"cluster": ".*", "job": "podgpu", "hostname": ".*", "model": ".*", "namespace": ".*"}


def scenario_of(panel, names):
    return "demo-devices" if names == "dcgm" and panel["in"] == "demo" else panel["in"]


def runnable(expr, minutes, spelling, chosen=ALL):
    values = {"1": "$1"} | chosen | {"__rate_interval": "2m", "__range": f"{minutes}m"} | SPELLINGS[spelling]
    return re.sub(r"\$\{?(\w+)\}?", lambda match: values[match[1]], expr)


def minutes_of(name):
    return next(row for row in histories.scenarios()["scenarios"] if row["name"] == name)["minutes"]


class Dashboards(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        wanted = {scenario_of(panel, names) for _, names, panel in cls.panels()}
        wanted |= {row[key] for row in COMPATIBLE["queries"] for key in ("in", "not_in") if key in row}
        cls.servers = {spelling: Prometheus(sorted(wanted), spelling) for spelling in SPELLINGS}

    @classmethod
    def tearDownClass(cls):
        for server in cls.servers.values():
            server.close()

    @staticmethod
    def panels():
        for row in dashboards.table():
            for names in NAMES:
                for panel in dashboards.panels_of(row, names):
                    yield row, names, panel

    def rows(self, panel, names, chosen=ALL):
        """The rows of each query of a panel, by spelling."""
        scenario = scenario_of(panel, names)
        for text in dashboards.queries(panel):
            yield {
                spelling: server.rows(scenario, runnable(text, minutes_of(scenario), spelling, chosen))
                for spelling, server in self.servers.items()
            }

    def counts(self, panel, names):
        """Rows of each query of a panel; the same in both spellings."""
        found = []
        for of_spelling in self.rows(panel, names):
            counts = {len(rows) for rows in of_spelling.values()}
            self.assertEqual(len(counts), 1, f"{panel['title']}, {names}: the spellings differ: {counts}")
            found.append(counts.pop())
        return found

    def test_each_panel_has_the_rows_that_its_page_tells(self):
        lines = ["| dashboard | panel | scenario | rows |", "|---|---|---|---|"]
        for row, names, panel in self.panels():
            counts = self.counts(panel, names)
            self.assertGreater(min(counts), 0, f"{row['name']}: {panel['title']}, {names}")
            dashboard = row["name"] + ("-dcgm" if names == "dcgm" else "")
            lines.append(f"| {dashboard} | {panel['title']} | `{scenario_of(panel, names)}` | {', '.join(map(str, counts))} |")
        page = places.between(places.text(places.SOURCE / PAGE), "panels", "\n".join(lines) + "\n")
        self.assertEqual(places.differing({PAGE: page}), [], "PODGPU_UPDATE_GOLDEN=1 makes it again")

    def test_each_variable_selects(self):
        for row, names, panel in self.panels():
            text = " ".join(dashboards.queries(panel))
            for name in ALL:
                if f"${name}" in text:
                    for of_spelling in self.rows(panel, names, ALL | {name: "another"}):
                        where = f"{row['name']}: {panel['title']}, {names}: ${name}"
                        self.assertEqual(list(of_spelling.values()), [[], []], where)

    def test_each_label_of_a_legend_is_in_a_row(self):
        for row, names, panel in self.panels():
            for legend, of_spelling in zip(dashboards.legends(panel), self.rows(panel, names), strict=True):
                for spelling, rows in of_spelling.items():
                    labels = {label for found in rows for label, value in found["metric"].items() if value}
                    wanted = set(re.findall(r"\{\{(\w+)\}\}", runnable(legend, 0, spelling)))
                    wanted |= {"hostname"} if panel["kind"] == "table" else set()  # The link to the node.
                    self.assertLessEqual(wanted, labels, f"{row['name']}: {panel['title']}, {names}")

    def test_the_spelling_of_labels_is_found(self):
        for names, found in (("native", ("nsl", "podl")), ("dcgm", ("nsl", "podl", "hostl"))):
            for variable in dashboards.variables(names, found, is_of_one_node=False)[1:]:
                inner = re.fullmatch(r"query_result\((.*)\)", variable["definition"]).group(1)
                for spelling, server in self.servers.items():
                    rows = server.at_end("demo-devices", runnable(inner, 0, spelling))
                    self.assertEqual([row["metric"]["v"] for row in rows], [SPELLINGS[spelling][variable["name"]]])

    def test_energy_by_method_adds_up(self):
        panel = next(panel for _, _, panel in self.panels() if panel["title"] == "Energy adds up to the devices")
        for spelling, server in self.servers.items():
            rows = server.at_end("demo", runnable(dashboards.queries(panel)[0], minutes_of("demo") - 2, spelling))
            self.assertAlmostEqual(float(rows[0]["value"][1]), 1.0, delta=0.01)

    def test_queries_of_the_guide_to_autoscaling_have_values(self):
        block = re.search(r"```promql\n(.*?)```", places.text(places.SOURCE / "docs/autoscaling.md"), re.S).group(1)
        for spelling, server in self.servers.items():
            words = {"namespace": SPELLINGS[spelling]["nsl"], "pod": SPELLINGS[spelling]["podl"]}
            found = []
            for query in block.split("\n\n"):
                rows = server.at_end("demo", re.sub(r"\b(namespace|pod)\b", lambda match: words[match.group()], query))
                found.append({row["metric"].get(words["pod"]) or row["metric"].get(words["namespace"]): float(row["value"][1]) for row in rows})
            used, free, idle, shared = found
            self.assertEqual(used["media"], 1)
            self.assertAlmostEqual(used["research"], 0.75, delta=0.01)  # Three of its four GPUs work.
            self.assertEqual(list(free.values()), [1])
            self.assertEqual(max(idle, key=idle.get), "notebook-ada")
            self.assertAlmostEqual(idle["notebook-ada"], minutes_of("demo") * 60, delta=2 * histories.STEP_S)
            self.assertEqual(len(shared), 4)
            self.assertTrue(all(0 <= value <= 1 for value in shared.values()) and any(shared.values()), shared)

    def test_known_queries_have_rows_untouched(self):
        for query in COMPATIBLE["queries"]:
            for spelling, server in self.servers.items():
                expr = re.sub(r"\$(instance|gpu|hostname)", ".*", query["expr"])
                where = f"{query['from']}, {spelling}: {expr}"
                self.assertTrue(server.rows(query["in"], expr), where)
                if "not_in" in query:
                    self.assertEqual(server.rows(query["not_in"], expr), [], where)


class ByHand(unittest.TestCase):
    def test_panels_hold_where_no_history_leads(self):
        panels = {(row["name"], panel["title"], names): panel for row, names, panel in Dashboards.panels()}
        tests = []
        for case in yaml.safe_load(places.text(places.SOURCE / "tests/monitoring/panels_by_hand.yaml")):
            query = dashboards.queries(panels[tuple(case["panel"])])[0]
            query = runnable(query, seconds(case["range"]) // 60, "plain")
            low, high = case["expected"]["between"]
            is_right = f"(({query}) >= bool {low}) * (({query}) <= bool {high})"
            expected = {"labels": case["expected"]["labels"], "value": 1}
            tests.append({key: case[key] for key in ("name", "interval", "input_series")} | {
                "promql_expr_test": [{"expr": is_right, "eval_time": case["eval_time"], "exp_samples": [expected]}]})
        with tempfile.TemporaryDirectory() as folder:
            status, output = promtool(tests, folder)
        self.assertEqual(status, 0, output)


class Crossing(unittest.TestCase):
    """One node has the old names, then both, then the new ones; another, with the same load, keeps the old ones.

    A history has no marks of series that ended, so queries look back for less than a step.
    """

    @classmethod
    def setUpClass(cls):
        options = [f"--query.lookback-delta={histories.STEP_S - 1}s"]
        cls.servers = {spelling: Prometheus(["demo-devices", "crossing"], spelling, options=options) for spelling in SPELLINGS}

    @classmethod
    def tearDownClass(cls):
        for server in cls.servers.values():
            server.close()

    @staticmethod
    def values(server, scenario, query):
        """The values of a query by labels and second of the history."""
        start, _ = server.times(scenario)
        rows = server.rows(scenario, query)
        return {(*sorted(row["metric"].items()), time - start): float(value) for row in rows for time, value in row["values"]}

    def test_leaves_no_gap_in_a_panel(self):
        for row, names, panel in Dashboards.panels():
            for query in dashboards.queries(panel) if names == "dcgm" and panel["in"] == "demo" else []:
                for spelling, server in self.servers.items():
                    where = f"{row['name']}: {panel['title']}, {spelling}"
                    text = runnable(query, minutes_of("crossing"), spelling)
                    crossed, stayed = (self.values(server, name, text) for name in ("crossing", "demo-devices"))
                    self.assertEqual(set(crossed), set(stayed), where)
                    if "[" not in text:  # In a range that contains the change, each name has a part of it.
                        differing = {key: (value, crossed[key]) for key, value in stayed.items() if not math.isclose(value, crossed[key], rel_tol=1e-6)}
                        self.assertEqual(differing, {}, where)

    def test_leaves_all_values_of_the_variables(self):
        for variable in dashboards.variables("dcgm", ("cluster", "job", "hostname", "model", "namespace"), is_of_one_node=False)[1:]:
            inner = re.fullmatch(r"query_result\((.*)\)", variable["definition"]).group(1)
            for spelling, server in self.servers.items():
                found = [
                    sorted(value for row in server.at_end(name, runnable(inner, 0, spelling)) for value in row["metric"].values())
                    for name in ("demo-devices", "crossing")
                ]
                self.assertEqual(*found, variable["name"])
                self.assertEqual(bool(found[0]), variable["name"] != "cluster", f"{variable['name']}: the histories have no cluster")

    def test_has_the_same_values_under_both_names(self):
        for old, (new, factor) in renamed.NEW.items():
            of_old, of_new = (self.values(self.servers["plain"], "crossing", query) for query in (f"1 * {old}", f"{factor or '1 * '}{new}"))
            both = of_old.keys() & of_new.keys()
            self.assertTrue(both or old in ("DCGM_FI_DEV_XID_ERRORS", "DCGM_FI_DEV_ROW_REMAP_FAILURE"), old)
            for key in both:
                self.assertAlmostEqual(of_old[key], of_new[key], delta=1000 if "ENERGY" in old else 1e-6, msg=f"{old}: {key}")


class Files(unittest.TestCase):
    def test_are_those_of_the_table(self):
        made = dashboards.made_files()
        self.assertEqual(places.differing(made), [], "PODGPU_UPDATE_GOLDEN=1 makes them again")
        self.assertEqual(places.strangers(made, ("deploy/dashboards", "deploy/helm/podgpu/files/dashboards")), [])

    def each(self):
        for name in dashboards.all_of_them():
            yield name, json.loads(places.text(places.SOURCE / "deploy/dashboards" / name))

    def test_has_unique_ids(self):
        uids = [content["uid"] for _, content in self.each()]
        self.assertEqual(len(set(uids)), len(uids))
        for name, content in self.each():
            self.assertLessEqual(len(content["uid"]), 40, name)
            ids = [panel["id"] for panel in content["panels"]]
            self.assertEqual(len(set(ids)), len(ids), name)

    def test_uses_only_variables_that_it_has(self):
        for name, content in self.each():
            known = {row["name"] for row in content["templating"]["list"]} | {"__rate_interval", "__range", "__field", "__value", "1"}
            used = set(re.findall(r"\$\{?(\w+)", json.dumps(content["panels"])))
            self.assertEqual(used - known, set(), name)

    def test_panels_have_datasource_unit_and_description(self):
        for name, content in self.each():
            for panel in content["panels"]:
                where = f"{name}: {panel['title']}"
                of_value = [row["properties"] for row in panel["fieldConfig"]["overrides"] if row["matcher"]["options"] == "Value"]
                units = [row["value"] for row in sum(of_value, []) if row["id"] == "unit"] or [panel["fieldConfig"]["defaults"].get("unit")]
                self.assertEqual(len(units), 1, where)
                self.assertIn(units[0], UNITS, where)
                self.assertEqual("unit" in panel["fieldConfig"]["defaults"], panel["type"] != "table", f"{where}: labels have no unit")
                self.assertRegex(panel["description"], r"^[A-Z].*\.$", where)
                for target in [panel] + panel["targets"]:
                    self.assertEqual(target["datasource"]["uid"], "${datasource}", where)

    def test_titles_of_apportioned_panels_have_a_tilde(self):
        for name, content in self.each():
            for panel in content["panels"]:
                is_apportioned = any(APPORTIONED.search(target["expr"]) for target in panel["targets"])
                self.assertEqual(panel["title"].startswith("~"), is_apportioned, f"{name}: {panel['title']}")

    def test_panels_do_not_overlap(self):
        for name, content in self.each():
            cells = [(p["gridPos"]["x"], p["gridPos"]["y"]) for p in content["panels"]]
            self.assertEqual(len(set(cells)), len(cells), name)


if __name__ == "__main__":
    unittest.main(verbosity=2)
