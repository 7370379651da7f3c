"""The rules that deploy/rules/table.yaml describes, as the files that Prometheus and the reader get."""

import re

import yaml

import places

GROUPS = {"podgpu.recording": "records", "podgpu.alerts": "alerts", "podgpu.alerts.dcgm": "dcgm"}
NODE = "{{ or $labels.node $labels.instance }}"
TEXTS = [("GPU_INDEX", "{{ $labels.gpu }}"), ("NODE", NODE)]
RUNBOOK = "docs/operations.md#"
HEADER = "# Made from deploy/rules/table.yaml by tests/monitoring/rules_test.py with PODGPU_UPDATE_GOLDEN=1; change the table.\n"


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


def owner(inner):
    for label in ("namespace", "pod", "container"):
        inner = f'label_replace({inner}, "{label}", "$1", "exported_{label}", "(.+)")'
    return inner


def held(family):
    renamed = family + '{exported_pod!=""}'
    return f'({renamed} or ({family}{{pod!=""}} unless on () {renamed}))'


def expanded(expr):
    for name, replacement in (("held", held), ("owner", owner)):
        while parts := arguments_of(name, expr):
            before, inner, after = parts
            expr = before + replacement(inner) + after
    return expr


def threshold_in(rule, expr):
    return expr.replace("THRESHOLD", str(rule.get("threshold", "")))


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


def groups(only=tuple(GROUPS)):
    found = []
    for name in only:
        rules = []
        for rule in table()[GROUPS[name]]:
            if "record" in rule:
                rules.append({"record": rule["record"], "expr": expanded(rule["expr"])})
            else:
                made = alert(rule)
                made["expr"] = threshold_in(rule, made["expr"])
                rules.append(made)
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


def made_files():
    """Path below the source folder: its content. The chart has copies: Helm reads no file outside of it."""
    files = {
        "podgpu.rules.yaml": dump(groups(("podgpu.recording", "podgpu.alerts"))),
        "podgpu-dcgm.rules.yaml": dump(groups(("podgpu.alerts.dcgm",))),
    }
    return places.with_copies("rules", files) | {
        "docs/operations.md": places.between(
            places.text(places.SOURCE / "docs/operations.md"), "alerts", documented()
        ),
    }
