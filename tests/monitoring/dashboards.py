"""The dashboards that deploy/dashboards/table.yaml describes, as the JSON that Grafana loads."""

import json
import re

import yaml

import places

J = ' * on (UUID) group_left (hostname, gpu) max by (UUID, hostname, gpu) (podgpu_gpu_info{hostname=~"$hostname", model=~"$model"})'
DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
TYPES = {
    "bars": "bargauge",
    "lines": "timeseries",
    "stacked": "timeseries",
    "stat": "stat",
    "table": "table",
    "timeline": "state-timeline",
}
INSTANT = ("bars", "stat", "table")
WIDTH, HEIGHT = 12, 8
FAMILIES = {"native": "podgpu_allocation_info", "dcgm": "DCGM_FI_DEV_GPU_TEMP"}
SCHEMA_VERSION = 38  # Grafana 10.


def table():
    return yaml.safe_load(places.text(places.SOURCE / "deploy/dashboards/table.yaml"))["dashboards"]


def query(text):
    text = re.sub(r"\bPOD\b", "$podl", re.sub(r"\bNS\b", "$nsl", text))
    return text.replace("$i", "$__rate_interval").replace("$r]", "$__range]").replace(" J", J)


def spelling_query(label, family):
    """Gives the label's name in the spelling that this Prometheus stores, as the value of the label v."""
    renamed = f'label_replace(count({family}{{exported_{label}!=""}}), "v", "exported_{label}", "", "")'
    return f'query_result({renamed} or on() label_replace(count({family}), "v", "{label}", "", ""))'


def variable(name, text, hidden=False, multi=True, regex=""):
    row = {
        "name": name,
        "type": "query",
        "datasource": DATASOURCE,
        "query": {"query": text, "refId": name},
        "definition": text,
        "refresh": 2,
        "regex": regex,
        "sort": 1,
        "hide": 2 if hidden else 0,
        "multi": multi,
        "includeAll": multi,
        "options": [],
    }
    if multi:
        row |= {"allValue": ".*", "current": {"text": "All", "value": "$__all"}}
    return row


def variables(names):
    family = FAMILIES[names]
    host, model = ("hostname", "model") if names == "native" else ("Hostname", "modelName")
    facts = "podgpu_gpu_info" if names == "native" else family
    first = {"name": "datasource", "type": "datasource", "query": "prometheus", "hide": 0, "options": [], "refresh": 1, "regex": ""}
    return [
        first,
        variable("hostname", f"label_values({facts}, {host})"),
        variable("model", f"label_values({facts}, {model})"),
        variable("job", f"label_values({facts}, job)"),
        variable("nsl", spelling_query("namespace", family), hidden=True, multi=False, regex='/v="([^"]+)"/'),
        variable("podl", spelling_query("pod", family), hidden=True, multi=False, regex='/v="([^"]+)"/'),
    ]


def thresholds(panel):
    limits = [(panel[colour][1], colour, panel[colour][0]) for colour in ("amber", "red") if colour in panel]
    shown = {"amber": "orange", "red": "red"}
    if limits and limits[0][2] == "below":  # The worst colour first, each step until its own limit.
        steps = [{"color": "red" if "red" in panel else "orange", "value": None}]
        if "red" in panel and "amber" in panel:
            steps.append({"color": "orange", "value": panel["red"][1]})
        return steps + [{"color": "green", "value": max(limit for limit, _, _ in limits)}]
    return [{"color": "green", "value": None}] + [{"color": shown[colour], "value": limit} for limit, colour, _ in sorted(limits)]


def targets(panel, queries):
    legend = panel.get("legend", "").replace("NS", "$nsl").replace("POD", "$podl")
    return [
        {
            "refId": chr(ord("A") + index),
            "datasource": DATASOURCE,
            "expr": query(text),
            "legendFormat": legend.replace("$nsl", "${nsl}").replace("$podl", "${podl}") or "__auto",
            "instant": panel["kind"] in INSTANT,
            "range": panel["kind"] not in INSTANT,
            "format": "table" if panel["kind"] == "table" else "time_series",
        }
        for index, text in enumerate(queries)
    ]


def panel_json(panel, queries, index):
    custom = {"stacking": {"mode": "normal"}, "fillOpacity": 20} if panel["kind"] == "stacked" else {}
    return {
        "id": index + 1,
        "type": TYPES[panel["kind"]],
        "title": panel["title"],
        "description": panel["says"],
        "datasource": DATASOURCE,
        "gridPos": {"h": HEIGHT, "w": WIDTH, "x": WIDTH * (index % 2), "y": HEIGHT * (index // 2)},
        "fieldConfig": {
            "defaults": {
                "unit": panel["unit"],
                "noValue": "no rows: see docs/dashboards.md",
                "custom": custom,
                "thresholds": {"mode": "absolute", "steps": thresholds(panel)},
            },
            "overrides": [],
        },
        "options": {},
        "targets": targets(panel, queries),
    }


def link(other):
    """A link to another dashboard, with all fields that Grafana's types require."""
    return {
        "title": other,
        "type": "link",
        "icon": "dashboard",
        "tooltip": "",
        "url": f"/d/podgpu-{other}",
        "tags": [],
        "asDropdown": False,
        "targetBlank": False,
        "includeVars": True,
        "keepTime": True,
    }


def dashboard(row, names):
    panels = [panel for panel in row["panels"] if names in panel]
    suffix = "" if names == "native" else "-dcgm"
    others = [other["name"] for other in table() if other["name"] != row["name"]]
    return {
        "uid": f"podgpu-{row['name']}{suffix}",
        "title": row["title"] + ("" if names == "native" else " (DCGM names)"),
        "description": row["question"],
        "tags": ["podgpu"],
        "schemaVersion": SCHEMA_VERSION,
        "version": 1,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-3h", "to": "now"},
        "timezone": "",
        "templating": {"list": variables(names)},
        "annotations": {"list": []},
        "links": [link(other) for other in (others if names == "native" else [])],
        "panels": [panel_json(panel, panel[names], index) for index, panel in enumerate(panels)],
    }


def has_dcgm(row):
    return any("dcgm" in panel for panel in row["panels"])


def all_of_them():
    """File name: the dashboard."""
    made = {f"{row['name']}.json": dashboard(row, "native") for row in table()}
    return made | {f"{row['name']}-dcgm.json": dashboard(row, "dcgm") for row in table() if has_dcgm(row)}


def made_files(documented):
    texts = {name: json.dumps(content, indent=1, ensure_ascii=False) + "\n" for name, content in all_of_them().items()}
    made = places.with_copies("dashboards", texts)
    if documented is not None:
        page = places.text(places.SOURCE / "docs/dashboards.md")
        made["docs/dashboards.md"] = places.between(page, "panels", documented)
    return made
