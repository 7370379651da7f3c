"""Histories of simulated nodes: the pages of podgpu over time, as series or as text for promtool."""

import functools
import re
import subprocess
import tempfile

import yaml

import places

STEP_S = 30
START_S = 1772366400  # The epoch of the scenarios, 2026-03-01T12:00:00Z.
TARGET = {"instance": "10.0.0.1:9400", "job": "podgpu", "node": "gpu-node-0"}
# The labels of the target's pod. Without honor_labels Prometheus renames those of the series; with it, only series without them get these.
POD_OF_PODGPU = {"namespace": "gpu", "pod": "podgpu-x7k2p", "container": "podgpu"}
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


@functools.cache
def scenarios():
    return yaml.safe_load(places.text(places.SOURCE / "tests/monitoring/scenarios.yaml"))


def scenario_text(scenario):
    if "shipped" in scenario:
        text = places.text(places.SOURCE / f"sim/scenarios/{scenario['shipped']}.yaml")
        return text + "\nepoch: 2026-03-01T12:00:00Z\n"
    text = scenarios()["node"]
    if scenario.get("orphan"):
        text += "orphans:\n  - {pid: 4200, gpu: 3, load: notebook, memory: 12GiB}\n"
    text = text.replace("NOTEBOOK", scenario.get("notebook", "notebook"))
    if scenario.get("faults"):
        text += "faults:\n" + "".join(f"  - {fault}\n" for fault in scenario["faults"])
    return text


@functools.cache
def pages(name):
    """The OpenMetrics text of a scenario."""
    scenario = next(row for row in scenarios()["scenarios"] if row["name"] == name)
    if "page" in scenario:
        return repeated(places.text(places.SOURCE / "tests/golden" / scenario["page"]), scenario["minutes"])
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(scenario_text(scenario))
        file.flush()
        counters = places.SOURCE / "tests/monitoring/counters.csv"
        words = [places.BINARY / "bin/history_at", file.name, str(scenario["minutes"] * 60), counters]
        made = subprocess.run(words + scenario.get("events", []), stdout=subprocess.PIPE, check=True)
    return made.stdout.decode()


def repeated(page, minutes):
    """The gauges of one page in the text form, as a history of that page."""
    lines = [line for line in page.splitlines() if not line.startswith("#")]
    stamps = [START_S + 60 * minute for minute in range(minutes + 1)]
    made = []
    for family in sorted({line[: line.index("{")] for line in lines if "{" in line}):
        if family.endswith("_total"):
            continue
        made.append(f"# TYPE {family} gauge")
        for line in (line for line in lines if line.startswith(family + "{")):
            made += [f"{line} {stamp}.000" for stamp in stamps]
    return "\n".join(made) + "\n# EOF\n"


def renamed(labels):
    """The labels of a series as Prometheus stores them without honor_labels, of an exporter that writes "hostname" in DCGM's rows."""
    exported = {key: "exported_" + key for key in POD_OF_PODGPU} | {"Hostname": "hostname"}
    return {exported.get(key, key): value for key, value in labels.items()} | POD_OF_PODGPU


def written(name, labels):
    return name + "{" + ",".join(f'{key}="{value}"' for key, value in sorted(labels.items())) + "}"


UP = written("up", TARGET | POD_OF_PODGPU)


def with_target(text, spelling, shift_s=0):
    """The text with the labels of the target on each series, in this spelling of the workload's labels, and later; and `up`."""
    lines = []
    seen = {}
    stamps = sorted({float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if line and not line.startswith("#")})
    for line in text.splitlines():
        if line == "# EOF":
            lines += ["# TYPE up gauge"] + [f"{UP} 1 {stamp + shift_s:.3f}" for stamp in stamps]
        if not line or line.startswith("#"):
            lines.append(line)
            continue
        series, rest = split(line)
        if series not in seen:
            name, _, inside = series.partition("{")
            labels = dict(LABEL.findall(inside))
            labels = renamed(labels) if spelling == "exported" else POD_OF_PODGPU | labels
            seen[series] = written(name, labels | TARGET)
        if shift_s:
            value, stamp = rest.split(" ")
            if "_timestamp_seconds{" in line:
                value = repr(float(value) + shift_s)
            rest = f"{value} {float(stamp) + shift_s:.3f}"
        lines.append(seen[series] + " " + rest)
    return "\n".join(lines) + "\n"


def split(line):
    end = line.index("} ") + 1 if "{" in line else line.index(" ")
    return line[:end], line[end + 1 :]


def series(name, spelling, families):
    """The samples of the families by series: a list with one entry per scrape, None without a sample."""
    scenario = next(row for row in scenarios()["scenarios"] if row["name"] == name)
    count = scenario["minutes"] * 60 // STEP_S + 1
    killed = scenario.get("killed", count * STEP_S) // STEP_S
    found = {}
    for line in with_target(pages(name), spelling).splitlines():
        if line.startswith("#") or line[: line.index("{")] not in families:
            continue
        key, rest = split(line)
        value, stamp = rest.split(" ")
        index = round((float(stamp) - START_S) / STEP_S)
        if index < killed:
            if "_timestamp_seconds{" in key:  # promtool's clock begins at 0.
                value = repr(float(value) - START_S)
            found.setdefault(key, [None] * count)[index] = value
    found[UP] = ["1" if index < killed else "0" for index in range(count)]
    return found


def as_values(samples):
    """The samples in promtool's notation; a series that ends is stale, as after a scrape without it."""
    words = []
    for before, sample in zip([None] + samples, samples):
        words.append(sample if sample is not None else "stale" if before is not None else "_")
    return " ".join(words)
