"""Dashboards: the generated files, their structure, and rows for each query of each panel.

A real Prometheus has histories of podgpu's pages on a virtual clock, in both spellings of the workload's labels.
PODGPU_UPDATE_GOLDEN=1 writes the generated files and the table of docs/dashboards.md again.
"""

import json
import re
import unittest

import yaml

import dashboards
import histories
import places
from prometheus import Prometheus

SPELLINGS = {"plain": ("namespace", "pod"), "exported": ("exported_namespace", "exported_pod")}
NAMES = ("native", "dcgm")
# Grafana's ids of units that the panels use.
UNITS = {"none", "percent", "percentunit", "watt", "bytes", "celsius", "h", "kwatth", "s", "dateTimeAsIso", "cps"}
APPORTIONED = re.compile(r'method!="exclusive"')
COMPATIBLE = yaml.safe_load(places.text(places.SOURCE / "tests/monitoring/compatible.yaml"))


def scenario_of(panel, names):
    name = panel.get(f"{names}_in", panel["in"])
    return "demo-devices" if names == "dcgm" and name == "demo" else name


def runnable(expr, minutes, spelling):
    namespace, pod = SPELLINGS[spelling]
    values = {
        "$__rate_interval": "2m",
        "$__range": f"{minutes}m",
        "$nsl": namespace,
        "$podl": pod,
        "$hostname": ".*",
        "$model": ".*",
        "$job": ".*",
    }
    for name, value in values.items():
        expr = expr.replace(name, value)
    return expr


def minutes_of(name):
    return next(row for row in histories.scenarios()["scenarios"] if row["name"] == name)["minutes"]


class Dashboards(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        wanted = {scenario_of(panel, names) for row in dashboards.table() for panel in row["panels"] for names in NAMES}
        wanted |= {row["in"] for row in COMPATIBLE["queries"]}
        cls.servers = {spelling: Prometheus(sorted(wanted), spelling) for spelling in SPELLINGS}

    @classmethod
    def tearDownClass(cls):
        for server in cls.servers.values():
            server.close()

    def counts(self, panel, names):
        """Rows of each query of a panel; the same in both spellings."""
        found = []
        scenario = scenario_of(panel, names)
        for text in panel[names]:
            counts = set()
            for spelling, server in self.servers.items():
                expr = runnable(dashboards.query(text), minutes_of(scenario), spelling)
                counts.add(len(server.rows(scenario, expr)))
            self.assertEqual(len(counts), 1, f"{panel['title']}, {names}: the spellings differ: {counts}")
            found.append(counts.pop())
        return found

    def test_each_panel_has_rows_and_files_are_those_of_the_table(self):
        lines = ["| dashboard | panel | scenario | rows | rows with DCGM's names |", "|---|---|---|---|---|"]
        for row in dashboards.table():
            for panel in row["panels"]:
                counted = {names: self.counts(panel, names) for names in NAMES if names in panel}
                for names, counts in counted.items():
                    self.assertGreater(min(counts), 0, f"{row['name']}: {panel['title']}, {names}")
                words = [", ".join(map(str, counted.get(names, ["-"]))) for names in NAMES]
                lines.append(f"| {row['name']} | {panel['title']} | `{panel['in']}` | {words[0]} | {words[1]} |")
        made = dashboards.made_files("\n".join(lines) + "\n")
        self.assertEqual(places.differing(made), [], "PODGPU_UPDATE_GOLDEN=1 makes them again")
        self.assertEqual(places.strangers(made, ("deploy/dashboards", "deploy/helm/podgpu/files/dashboards")), [])

    def test_the_spelling_of_labels_is_found(self):
        for spelling, server in self.servers.items():
            for label, expected in zip(("namespace", "pod"), SPELLINGS[spelling]):
                for family in dashboards.FAMILIES.values():
                    inner = re.fullmatch(r"query_result\((.*)\)", dashboards.spelling_query(label, family)).group(1)
                    rows = server.at_end("demo-devices", inner)
                    self.assertEqual([row["metric"]["v"] for row in rows], [expected])

    def test_energy_by_method_adds_up(self):
        panel = next(p for row in dashboards.table() for p in row["panels"] if p["title"] == "Energy adds up to the devices")
        for spelling, server in self.servers.items():
            rows = server.at_end("demo", runnable(dashboards.query(panel["native"][0]), minutes_of("demo") - 2, spelling))
            self.assertAlmostEqual(float(rows[0]["value"][1]), 1.0, delta=0.01)

    def test_queries_of_the_guide_to_autoscaling_have_values(self):
        block = re.search(r"```promql\n(.*?)```", places.text(places.SOURCE / "docs/autoscaling.md"), re.S).group(1)
        for spelling, server in self.servers.items():
            words = dict(zip(SPELLINGS["plain"], SPELLINGS[spelling]))
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
                self.assertTrue(server.rows(query["in"], expr), f"{query['from']}, {spelling}: {expr}")


class Json(unittest.TestCase):
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
            known = {row["name"] for row in content["templating"]["list"]} | {"__rate_interval", "__range"}
            used = set(re.findall(r"\$\{?(\w+)", json.dumps(content["panels"])))
            self.assertEqual(used - known, set(), name)

    def test_panels_have_datasource_unit_and_description(self):
        for name, content in self.each():
            for panel in content["panels"]:
                where = f"{name}: {panel['title']}"
                self.assertIn(panel["fieldConfig"]["defaults"]["unit"], UNITS, where)
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
