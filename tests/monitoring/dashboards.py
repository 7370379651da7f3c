"""The dashboards that deploy/dashboards/table.yaml describes, as the JSON that Grafana loads."""

import functools
import json
import re

import yaml

import places
import renamed

FACTS = 'podgpu_gpu_info{hostname=~"$hostname", model=~"$model"}'
FACTS_OF_RANGE = f"last_over_time({FACTS}[$r])"


def joined(facts):
    """Adds the host name and the index of the GPU. A GPU has one row, even while two rows of facts differ."""
    return f" * on (UUID) group_left (hostname, gpu) topk by (UUID) (1, max by (UUID, hostname, gpu) ({facts}))"


# The notation of the table: first what holds further families, then words.
JOINS = {
    r" J\b": joined(FACTS),
    r" JHAD\b": joined(FACTS_OF_RANGE),
    r" HERE\b": f" and on (UUID) {FACTS}",
    r" HAD\b": f" and on (UUID) {FACTS_OF_RANGE}",
    r" HELD\b": ' unless on (cluster, job, instance, NS, POD) last_over_time(up{cluster=~"$cluster", job=~"$job"}[15m])',
}
WORDS = {
    r"\bGPU\b": "UUID, $hostl, gpu",
    r"\bNS\b": "$nsl",
    r"\bPOD\b": "$podl",
    r"\$i\b": "$__rate_interval",
    r"\$r\b": "$__range",
}
SELECTOR = re.compile(r"\b((?:podgpu|DCGM|container|process)_\w+)(?:\{([^}]*)\})?")
OF_PODS = ("podgpu_pod_gpu_", "podgpu_allocation_info", "container_")
CHOSEN = 'cluster=~"$cluster", job=~"$job"'
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
SUFFIXES = {"native": "", "dcgm": "-dcgm"}
SCHEMA_VERSION = 38  # Grafana 10.
COLOURS = {"amber": "orange", "red": "red"}


@functools.cache
def table():
    return yaml.safe_load(places.text(places.SOURCE / "deploy/dashboards/table.yaml"))["dashboards"]


def panels_of(row, names):
    """The panels of a dashboard that these names can draw, each with its queries as `queries`."""
    for panel in row["panels"]:
        if names in panel:
            yield panel | (panel.get("with_dcgm", {}) if names == "dcgm" else {}) | {"queries": panel[names]}


def matchers(family, panel):
    """The matchers of the dashboard's variables that the labels of this family allow."""
    made = ['cluster=~"$cluster"']
    if not family.startswith("container_"):  # Their page is another job.
        made.append('job=~"$job"')
    if family.startswith("DCGM_"):
        made += ['$hostl=~"$hostname"', 'modelName=~"$model"']
    names_pods = family.startswith("DCGM_") and re.search(r"\b(NS|POD)\b", " ".join(panel["queries"]))
    if (family.startswith(OF_PODS) or names_pods) and not panel.get("all_namespaces"):
        made.append('NS=~"$namespace"')
    return made


def replaced(text, words):
    for word, replacement in words.items():
        text = re.sub(word, lambda _, by=replacement: by, text)
    return text


def with_hostname(text):
    """Rows of DCGM's names with the label that the links to the node need."""
    return f'label_replace({text}, "hostname", "$1", "Hostname", "(.+)")' if re.search(r"\bGPU\b", text) else text


def queries(panel):
    """The queries of a panel as Grafana gets them."""

    def selector(match):
        family, own = match.groups()
        return family + "{" + ", ".join(([own] if own else []) + matchers(family, panel)) + "}"

    selected = [SELECTOR.sub(selector, replaced(text, JOINS)) for text in panel["queries"]]
    return [replaced(with_hostname(renamed.with_new_names(text)), WORDS) for text in selected]


def legends(panel):
    """A legend per query."""
    found = panel["legend"] if isinstance(panel["legend"], list) else [panel["legend"]]
    return [legend.replace("NS", "${nsl}").replace("POD", "${podl}") for legend in found]


def spelling_query(family, spelling, otherwise):
    """Gives `spelling` as the value of the label v if rows of the family have that label."""
    rows = renamed.with_new_names(f'{family}{{{spelling}!="", {CHOSEN}}}')
    found = f'label_replace(count({rows}), "v", "{spelling}", "", "")'
    return f'query_result({found} or on() label_replace(vector(0), "v", "{otherwise}", "", ""))'


def variable(name, text, **more):
    # label_values() takes one family. This finds the values at the end of the range.
    if match := re.fullmatch(r"label_values\((DCGM_.*), (\S+)\)", text):
        text = f"query_result(count by ({match[2]}) ({renamed.with_new_names(match[1])}))"
        more = {"regex": '/="([^"]+)"/'} | more
    row = {
        "name": name,
        "type": "query",
        "datasource": DATASOURCE,
        "query": {"query": text, "refId": name},
        "definition": text,
        "refresh": 2,
        "regex": "",
        "sort": 1,
        "hide": 0,
        "multi": True,
        "includeAll": False,
        "options": [],
    }
    return row | more


def variables(names, used, is_of_one_node):
    """The variables that the queries use. All of `job` is the list of jobs: another value would select every program's CPU."""
    family = FAMILIES[names]
    host, model = ("hostname", "model") if names == "native" else ("$hostl", "modelName")
    facts = "podgpu_gpu_info" if names == "native" else family
    chosen = {"includeAll": True, "current": {"text": "All", "value": "$__all"}}
    all_of = chosen | {"allValue": ".*"}
    hidden = {"hide": 2, "multi": False, "regex": '/v="([^"]+)"/'}
    jobs = "podgpu_build_info" if names == "native" else family
    made = [
        variable("cluster", f"label_values({jobs}, cluster)", **all_of),
        variable("job", f"label_values({jobs}{{cluster=~\"$cluster\"}}, job)", **chosen),
        variable("hostl", spelling_query(family, "hostname", "Hostname"), **hidden),
        variable("hostname", f"label_values({facts}{{{CHOSEN}}}, {host})", **({} if is_of_one_node else all_of)),
        variable("model", f"label_values({facts}{{{CHOSEN}}}, {model})", **all_of),
        variable("nsl", spelling_query(family, "exported_namespace", "namespace"), **hidden),
        variable("podl", spelling_query(family, "exported_pod", "pod"), **hidden),
        variable("namespace", f"label_values({family}{{{CHOSEN}}}, $nsl)", **all_of),
    ]
    first = {"name": "datasource", "type": "datasource", "query": "prometheus", "hide": 0, "options": [], "refresh": 1, "regex": ""}
    return [first] + [row for row in made if row["name"] in used]


def thresholds(panel):
    """Grafana colours from the limit on, so "above 0" begins just above it."""
    limits = [(panel[colour], COLOURS[colour]) for colour in ("amber", "red") if panel.get(colour)]
    if limits and limits[0][0][0] == "outside":
        (_, low, high), colour = limits[0]
        return [{"color": colour, "value": None}, {"color": "green", "value": low}, {"color": colour, "value": high}]
    if limits and limits[0][0][0] == "below":  # The worst colour first, each step until its own limit.
        starts = [None] + sorted(limit for (_, limit), _ in limits)
        return [{"color": colour, "value": start} for start, colour in zip(starts, [c for _, c in reversed(limits)] + ["green"])]
    return [{"color": "green", "value": None}] + [{"color": colour, "value": limit or 1e-9} for (_, limit), colour in limits]


def targets(panel):
    return [
        {
            "refId": chr(ord("A") + index),
            "datasource": DATASOURCE,
            "expr": text,
            "legendFormat": legend or "__auto",
            "instant": panel["kind"] in INSTANT,
            "range": panel["kind"] not in INSTANT,
            "format": "table" if panel["kind"] == "table" else "time_series",
        }
        for index, (text, legend) in enumerate(zip(queries(panel), legends(panel), strict=True))
    ]


def node_link(suffix, hostname):
    """The address of the dashboard of one node. It has no "All", so a link must not pass the host names of the others."""
    chosen = "${datasource:queryparam}&${cluster:queryparam}&${job:queryparam}"
    return f"/d/podgpu-node{suffix}?{chosen}" + (f"&var-hostname={hostname}" if hostname else "")


def override(name, properties):
    """Settings of the field with this name alone."""
    return {"matcher": {"id": "byName", "options": name}, "properties": [{"id": key, "value": value} for key, value in properties.items()]}


def look(panel, suffix):
    """What makes a kind of panel readable: its options, the settings of its fields, and what differs for single fields."""
    kind = panel["kind"]
    steps = {"mode": "absolute", "steps": thresholds(panel)}
    defaults = {"unit": panel["unit"], "noValue": "no rows: see docs/dashboards.md", "custom": {}, "thresholds": steps}
    links = lambda hostname: [{"title": "Node", "url": node_link(suffix, hostname)}]
    overrides = [
        override(name, {"thresholds": {"mode": "absolute", "steps": [{"color": "green", "value": None}, {"color": colour, "value": 1}]}})
        for name, colour in panel.get("colours", {}).items()
    ]
    options = {}
    if kind in ("lines", "stacked"):
        defaults["custom"] = {"thresholdsStyle": {"mode": "dashed" if len(steps["steps"]) > 1 else "off"}}
        if "hostname" in str(panel["legend"]):
            defaults["links"] = links("${__field.labels.hostname}")
    if kind == "stacked":
        defaults["custom"] |= {"stacking": {"mode": "normal"}, "fillOpacity": 20}
    if kind == "bars":
        options = {"orientation": "horizontal"}
    if kind == "timeline":
        options = {"showValue": "never"}
        defaults["color"] = {"mode": "fixed", "fixedColor": "blue"}
    if kind == "table":  # A unit of all fields would be that of labels, too: GPU 3 would be "3 s".
        del defaults["unit"]
        value = {"unit": panel["unit"], "thresholds": steps, "custom.cellOptions": {"type": "color-text"}}
        overrides += [override("Value", value), *(override(name, {"custom.hidden": True}) for name in ("Time", "Hostname")), override("hostname", {"links": links("${__value.raw}")})]
    return {"options": options, "fieldConfig": {"defaults": defaults, "overrides": overrides}}


def panel_json(panel, names, index):
    suffix = SUFFIXES[names]
    return {
        "id": index + 1,
        "type": TYPES[panel["kind"]],
        "title": panel["title"],
        "description": panel["says"],
        "datasource": DATASOURCE,
        "gridPos": {"h": HEIGHT, "w": WIDTH, "x": WIDTH * (index % 2), "y": HEIGHT * (index // 2)},
        "targets": targets(panel),
    } | look(panel, suffix)


def link(other, suffix):
    """A link to another dashboard, with all fields that Grafana's types require."""
    return {
        "title": other,
        "type": "link",
        "icon": "dashboard",
        "tooltip": "",
        "url": node_link(suffix, "") if other == "node" else f"/d/podgpu-{other}{suffix}",
        "tags": [],
        "asDropdown": False,
        "targetBlank": False,
        "includeVars": other != "node",
        "keepTime": True,
    }


def dashboard(row, names):
    suffix = SUFFIXES[names]
    panels = [panel_json(panel, names, index) for index, panel in enumerate(panels_of(row, names))]
    used = set(re.findall(r"\$\{?(\w+)", json.dumps(panels))) | {"cluster", "job"}
    others = [other["name"] for other in table() if other["name"] != row["name"] and any(panels_of(other, names))]
    return {
        "uid": f"podgpu-{row['name']}{suffix}",
        "title": row["title"] + ("" if names == "native" else " (DCGM names)"),
        "description": row["question"],
        "tags": ["podgpu"],
        "schemaVersion": SCHEMA_VERSION,
        "version": 1,
        "editable": True,
        "refresh": row.get("refresh", "30s"),
        "time": {"from": "now-3h", "to": "now"},
        "timezone": "",
        "templating": {"list": variables(names, used, is_of_one_node=row["name"] == "node")},
        "annotations": {"list": []},
        "links": [link(other, suffix) for other in others],
        "panels": panels,
    }


def all_of_them():
    """File name: the dashboard."""
    made = {}
    for names, suffix in SUFFIXES.items():
        made |= {f"{row['name']}{suffix}.json": dashboard(row, names) for row in table() if any(panels_of(row, names))}
    return made


def made_files():
    """Path below the source folder: its content. The chart has copies: Helm reads no file outside of it."""
    texts = {name: json.dumps(content, indent=1, ensure_ascii=False) + "\n" for name, content in all_of_them().items()}
    folders = ("deploy/dashboards", "deploy/helm/podgpu/files/dashboards")
    return {f"{folder}/{name}": text for folder in folders for name, text in texts.items()}
