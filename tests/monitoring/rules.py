"""The rules that deploy/rules/table.yaml describes, as the files that Prometheus and the reader get."""

import functools
import re

import yaml

import histories
import places
import renamed

GROUPS = {"podgpu.recording": "records", "podgpu.alerts": "alerts", "podgpu.alerts.dcgm": "dcgm"}
NODE = "{{ or $labels.node $labels.instance }}"
TEXTS = [("GPU_INDEX", "{{ $labels.gpu }}"), ("NODE", NODE)]
RUNBOOK = "docs/operations.md#"
HEADER = "# Made from deploy/rules/table.yaml by tests/monitoring/rules_test.py with PODGPU_UPDATE_GOLDEN=1; change the table.\n"


@functools.cache
def table():
    return yaml.safe_load(places.text(places.SOURCE / "deploy/rules/table.yaml"))


def arguments_of(name, text):
    """Splits text at the first call of `name`: before, argument, after; None without a call."""
    start = re.search(r"\b" + name + r"\(", text)
    if not start:
        return None
    depth = 1
    at = start.end()
    while depth > 0:
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        at += 1
    return text[: start.start()], text[start.end() : at - 1], text[at:]


def owned(inner):
    """Renames the rows that the inner aggregation leaves: to rename each series took most of the time of all rules.

    The labels of podgpu's own pod stay in target_namespace and target_pod until the last aggregation: of two rows that became equal
    by the renaming, Prometheus would refuse the whole rule.
    """
    assert "by (LABELS)" in inner, inner
    operation, labels, rows = re.fullmatch(r"(\w+) by \(([^)]*)\) of (.*)", inner).groups()
    of_pods = [label for label in ("namespace", "pod") if label in labels.split(", ")]
    made = rows.replace("LABELS", ", ".join([labels] + ["exported_" + label for label in of_pods]))
    for label in of_pods:
        kept = f'label_replace({made}, "target_{label}", "$1", "{label}", "(.+)")'
        made = f'label_replace({kept}, "{label}", "$1", "exported_{label}", "(.+)")'
    return f"{operation} by ({labels}) ({made})"


def held(family):
    """The rows of allocated GPUs. A row of a free GPU has the labels of its target, which `up` has too."""
    target = "on (cluster, job, instance, namespace, pod) up"
    return f'({family}{{exported_pod!=""}} or ({family}{{pod!="", exported_pod=""}} unless {target}))'


def expanded(expr):
    for name, replacement in (("held", held), ("owned", owned)):
        while parts := arguments_of(name, expr):
            before, inner, after = parts
            expr = before + replacement(inner) + after
    return renamed.with_new_names(expr)


def annotation(text):
    for word, replacement in TEXTS:
        text = text.replace(word, replacement)
    return text


def anchor(rule):
    return rule["alert"].lower()


def alert(rule):
    return {
        "alert": rule["alert"],
        "expr": expanded(rule["expr"]),
        "for": rule["for"],
        "labels": {"severity": rule["severity"], "component": "podgpu"},
        "annotations": {
            "summary": annotation(rule["summary"]),
            "description": rule["meaning"],
            "runbook_url": RUNBOOK + anchor(rule),
        },
    }


def dump(data):
    return HEADER + yaml.safe_dump(data, sort_keys=False, width=10000)


def with_threshold(rule):
    made = alert(rule)
    return made | {"expr": made["expr"].replace("THRESHOLD", str(rule.get("threshold")))}


def for_chart(rule):
    """The rule with its threshold beside it, which the chart's values can change; the chart knows the job."""
    made = alert(rule | {"expr": rule.get("chart_expr", rule["expr"])})
    return made | ({"threshold": rule["threshold"]} if "threshold" in rule else {})


def groups(only=tuple(GROUPS), alert_of=with_threshold):
    found = []
    for name in only:
        rules = [
            alert_of(rule) if "alert" in rule else {"record": rule["record"], "expr": expanded(rule["expr"])}
            for rule in table()[GROUPS[name]]
        ]
        found.append({"name": name, "rules": rules})
    return {"groups": found}


def documented():
    """The sections of docs/operations.md about alerts."""
    lines = []
    for row in table()["alerts"] + table()["dcgm"]:
        lines += [
            f"#### {row['alert']}",
            f"{row['severity'].capitalize()}, after {row['for']}. {row['meaning']}",
            f"First look: {row['look']}" + ("" if row["look"].endswith((".", "?")) else "."),
            f"Remedy: {row['remedy']}",
            "",
        ]
    return "\n".join(lines)


def families(expr):
    return set(re.findall(r"\b(?:podgpu|DCGM|process)_\w+|\bup\b", expr))


def needed(rule):
    """The views that an alert needs besides the default ones, by the table of docs/metrics.md."""
    rows = re.findall(r"^\| `(podgpu_\w+)` \| ((?:`\w+` ?)+)\|", places.text(places.SOURCE / "docs/metrics.md"), re.M)
    views = dict(rows)
    lacking = {views[family] for family in families(rule["expr"]) if "`core`" not in views.get(family, "`core`")}
    if any("`process`" in of_family for of_family in lacking):
        return "`native`, `--process-metrics=on`"
    return "`native`" if lacking else "-"


def alert_table():
    """Which alert fires in which scenario, and when."""
    lines = ["| alert | severity | fires in | its condition is seen after | and fires after | needs |", "|---|---|---|---|---|---|"]
    for row in table()["alerts"] + table()["dcgm"]:
        found = [(scenario["name"], scenario["fires"][row["alert"]]) for scenario in histories.scenarios()["scenarios"] if row["alert"] in scenario["fires"]]
        names, seen = (", ".join(map(str, column)) for column in zip(*((f"`{name}`", f"{after} s") for name, after in found)))
        lines.append(f"| `{row['alert']}` | {row['severity']} | {names} | {seen} | {row['for']} | {needed(row)} |")
    return "\n".join(lines) + "\n"


def made_files():
    """Path below the source folder: its content."""
    files = {"podgpu.rules.yaml": ("podgpu.recording", "podgpu.alerts"), "podgpu-dcgm.rules.yaml": ("podgpu.alerts.dcgm",)}
    made = {f"deploy/rules/{name}": dump(groups(only)) for name, only in files.items()}
    made |= {f"deploy/helm/podgpu/files/rules/{name}": dump(groups(only, for_chart)) for name, only in files.items()}
    return made | {
        "docs/operations.md": places.between(
            places.text(places.SOURCE / "docs/operations.md"), "alerts", documented()
        ),
        "docs/dashboards.md": places.between(
            places.text(places.SOURCE / "docs/dashboards.md"), "scenarios", alert_table()
        ),
    }
