"""A real Prometheus with histories, each at its own time; it scrapes nothing."""

import json
import math
import pathlib
import socket
import subprocess
import tempfile
import urllib.parse
import urllib.request

import histories
import places

APART_S = 86400  # So no query sees two histories.


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Prometheus:
    def __init__(self, names=(), spelling="plain", config="global: {}\n", options=()):
        self.shifts = {name: index * APART_S for index, name in enumerate(names)}
        self.folder = tempfile.TemporaryDirectory()
        root = pathlib.Path(self.folder.name)
        for name, shift in self.shifts.items():
            text = histories.with_target(histories.pages(name), spelling, shift)
            (root / "history.om").write_text(text, encoding="utf-8")
            words = ["tsdb", "create-blocks-from", "openmetrics", root / "history.om", root / "data"]
            done = subprocess.run([places.PROMETHEUS / "promtool"] + words, capture_output=True, check=False)
            assert done.returncode == 0, done.stderr.decode()
        (root / "prometheus.yml").write_text(config, encoding="utf-8")
        self.address = f"127.0.0.1:{free_port()}"
        self.process = subprocess.Popen(
            [places.PROMETHEUS / "prometheus", f"--config.file={root}/prometheus.yml", f"--storage.tsdb.path={root}/data",
             "--storage.tsdb.retention.time=100y", f"--web.listen-address={self.address}", *options],
            stderr=subprocess.PIPE)
        for line in self.process.stderr:
            if b"Server is ready" in line:
                break
        assert self.process.poll() is None

    def close(self):
        self.process.kill()
        self.process.communicate()
        self.folder.cleanup()

    def data(self, path, **arguments):
        url = f"http://{self.address}/api/v1/{path}?{urllib.parse.urlencode(arguments)}"
        try:
            with urllib.request.urlopen(url) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{arguments}: {error.read().decode()}") from error

    def ask(self, path, **arguments):
        return self.data(path, **arguments)["result"]

    def times(self, name):
        scenario = next(row for row in histories.scenarios()["scenarios"] if row["name"] == name)
        start = histories.START_S + self.shifts[name]
        return start, start + scenario["minutes"] * 60

    def rows(self, name, expr):
        """The series with a number at any time of the history."""
        start, end = self.times(name)
        found = self.ask("query_range", query=expr, start=start, end=end, step=histories.STEP_S)
        return [row for row in found if any(math.isfinite(float(value)) for _, value in row["values"])]

    def at_end(self, name, expr):
        return self.ask("query", query=expr, time=self.times(name)[1])
