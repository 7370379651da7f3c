"""Rules: the generated files, promtool's checks, a firing and a silent case per alert, and every scenario.

Each scenario is a history of podgpu's pages on a virtual clock; promtool runs the rules over it with Prometheus's own
engine, at the interval of the scrapes.  PODGPU_UPDATE_GOLDEN=1 writes the generated files and fired_alerts.yaml again.
"""

import pathlib
import re
import subprocess
import tempfile
import unittest

import yaml

import histories
import places
import rules

FIRED = places.SOURCE / "tests/monitoring/fired_alerts.yaml"
FIRED_HEADER = "# The alerts that fire in each scenario, as promtool rendered them. PODGPU_UPDATE_GOLDEN=1 with rules_test makes it again.\n"
MOST_SUMMARY_LENGTH = 120
SPELLINGS = ("plain", "exported")
ALERTS = {row["alert"]: row for key in ("alerts", "dcgm") for row in rules.table()[key]}
LEVEL = "count by (alertname) (max_over_time(ALERTS{alertstate=\"firing\"}[3h])) > bool 0"


def seconds(text):
    number, unit = re.fullmatch(r"(\d+)([smh])", text).groups()
    return int(number) * {"s": 1, "m": 60, "h": 3600}[unit]


def families():
    return set().union(*(rules.families(rule["expr"]) for group in rules.groups()["groups"] for rule in group["rules"]))


def promtool(tests, folder):
    """Runs promtool's unit tests; returns its exit status and output."""
    files = [str(places.SOURCE / "deploy/rules" / name) for name in ("podgpu.rules.yaml", "podgpu-dcgm.rules.yaml")]
    path = pathlib.Path(folder) / "tests.yaml"
    path.write_text(
        yaml.safe_dump({"rule_files": files, "evaluation_interval": f"{histories.STEP_S}s", "tests": tests}, width=10**9),
        encoding="utf-8",
    )
    done = subprocess.run(
        [places.PROMETHEUS / "promtool", "test", "rules", path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    return done.returncode, done.stdout.decode()


def deadline(scenario, alert):
    """When the alert must fire: its condition, its `for`, and two scrapes."""
    start = scenario.get("from", histories.scenarios()["from"])
    return start + scenario["fires"][alert] + seconds(ALERTS[alert]["for"]) + 2 * histories.STEP_S


def scenario_test(scenario, spelling, fired):
    data = histories.series(scenario["name"], spelling, families())
    expected = [{"labels": f'{{alertname="{alert}"}}', "value": 1} for alert in scenario["fires"]]
    return {
        "name": f"{scenario['name']}, {spelling} labels",
        "interval": f"{histories.STEP_S}s",
        "input_series": [{"series": key, "values": histories.as_values(samples)} for key, samples in data.items()],
        "promql_expr_test": [{"expr": LEVEL, "eval_time": f"{scenario['minutes']}m", "exp_samples": expected}],
        "alert_rule_test": [
            {
                "eval_time": f"{deadline(scenario, alert)}s",
                "alertname": alert,
                "exp_alerts": [
                    {"exp_labels": labels_of(row["labels"], spelling, alert), "exp_annotations": annotations_of(alert, row["summary"])}
                    for row in fired.get(scenario["name"], {}).get(alert, [])
                ],
            }
            for alert in scenario["fires"]
        ],
    }


# The labels that an aggregation leaves are the same in both spellings.
AGGREGATED = ("PodGPUAllocatedIdle", "PodGPUClusterNodesSilent", "PodGPUDcgmAllocatedIdle", "PodGPUDcgmRowRemapFailed", "PodGPUDcgmXid")


def labels_of(labels, spelling, alert):
    labels = {key: value for key, value in labels.items() if key not in ("severity", "component", "alertname")}
    if spelling == "exported" and alert not in AGGREGATED:
        labels = histories.renamed({key: value for key, value in labels.items() if histories.POD_OF_PODGPU.get(key) != value})
    return labels | {"severity": ALERTS[alert]["severity"], "component": "podgpu"}


def annotations_of(alert, summary):
    made = rules.alert(ALERTS[alert])["annotations"]
    return made | {"summary": summary}


def parsed_alerts(output):
    """The alerts that promtool got, from its complaints about those that were expected."""
    found = {}
    name = None
    for line in output.splitlines():
        if match := re.match(r"\s*name: (.*), plain labels,", line):
            name = match.group(1)
        if "alertname: " in line:
            alert = re.search(r"alertname: (\w+),", line).group(1)
            got = False
        got = got if "got:" not in line and name else "got:" in line
        if name and got and (match := re.search(r"Labels:(\{.*\})\s*$", line)):
            labels = dict(histories.LABEL.findall(match.group(1)))
            found.setdefault(name, {}).setdefault(alert, []).append({"labels": labels})
        if name and got and (match := re.search(r'summary="((?:[^"\\]|\\.)*)"', line)):
            found[name][alert][-1]["summary"] = match.group(1)
    return found


class Files(unittest.TestCase):
    def test_are_those_of_the_table(self):
        made = rules.made_files()
        self.assertEqual(places.differing(made), [], "PODGPU_UPDATE_GOLDEN=1 makes them again")
        self.assertEqual(places.strangers(made, ("deploy/rules", "deploy/helm/podgpu/files/rules")), [])

    def test_have_an_anchor_for_each_runbook(self):
        headings = re.findall(r"^#+ (.*)$", places.text(places.SOURCE / "docs/operations.md"), re.M)
        anchors = {re.sub(r"[^\w-]", "", heading.lower().replace(" ", "-")) for heading in headings}
        for row in ALERTS.values():
            self.assertIn(rules.anchor(row), anchors)


class Scenarios(unittest.TestCase):
    def test_pass_promtool(self):
        for name in ("podgpu.rules.yaml", "podgpu-dcgm.rules.yaml"):
            done = subprocess.run(
                [places.PROMETHEUS / "promtool", "check", "rules", places.SOURCE / "deploy/rules" / name],
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
            self.assertEqual(done.returncode, 0, done.stdout.decode())
            self.assertNotIn("duplicate", done.stdout.decode())

    def test_each_alert_fires_in_one(self):
        fires = {alert for row in histories.scenarios()["scenarios"] for alert in row["fires"]}
        self.assertEqual(set(ALERTS) - fires, set(), "alerts without a scenario")
        self.assertEqual(fires - set(ALERTS), set(), "scenarios with unknown alerts")

    def test_fire_their_alerts_in_time_and_no_others(self):
        rows = [row for row in histories.scenarios()["scenarios"] if row.get("rules", True)]
        with tempfile.TemporaryDirectory() as folder:
            if places.UPDATES:
                output = promtool([scenario_test(row, "plain", {}) for row in rows], folder)[1]
                FIRED.write_text(FIRED_HEADER + yaml.safe_dump(parsed_alerts(output), width=10**9), encoding="utf-8")
            fired = yaml.safe_load(places.text(FIRED))
            status, output = promtool([scenario_test(row, spelling, fired) for row in rows for spelling in SPELLINGS], folder)
        self.assertEqual(status, 0, output)
        for row in rows:
            self.assertEqual(set(fired.get(row["name"], {})), set(row["fires"]), row["name"])

    def test_hold_where_no_history_leads(self):
        tests = yaml.safe_load(places.text(places.SOURCE / "tests/monitoring/by_hand.yaml"))
        with tempfile.TemporaryDirectory() as folder:
            status, output = promtool(tests, folder)
        self.assertEqual(status, 0, output)

    def test_have_summaries_with_place_and_device(self):
        for scenario, alerts in yaml.safe_load(places.text(FIRED)).items():
            for alert, rows in alerts.items():
                for row in rows:
                    summary = row["summary"]
                    where = f"{scenario}: {alert}: {summary}"
                    self.assertLessEqual(len(summary), MOST_SUMMARY_LENGTH, where)
                    self.assertNotIn("no value", summary, where)
                    self.assertIn("gpu-node-0", summary, where)
                    if "gpu" in row["labels"]:
                        self.assertIn("GPU " + row["labels"]["gpu"] + " ", summary, where)


if __name__ == "__main__":
    unittest.main(verbosity=2)
