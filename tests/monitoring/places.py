"""Folders and programs of the tests of rules and dashboards."""

import os
import pathlib
import re

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BINARY = pathlib.Path(os.environ.get("PODGPU_BINARY_DIR", SOURCE / "build/test"))
PROMETHEUS = SOURCE / "build/tools/prometheus/usr/bin"
UPDATES = "PODGPU_UPDATE_GOLDEN" in os.environ


def text(path):
    return pathlib.Path(path).read_text(encoding="utf-8")


def between(document, name, content):
    """The document with new content between the marks of this name."""
    begin, end = f"<!-- {name}: made by a test -->\n", f"<!-- end of {name} -->\n"
    assert begin in document and end in document, name
    return re.sub(re.escape(begin) + ".*?" + re.escape(end), lambda _: begin + content + end, document, flags=re.S)


def strangers(made, folders):
    """The files of these folders that are not made, such as those of a dashboard that was removed; tables are by hand."""
    found = [file.relative_to(SOURCE).as_posix() for folder in folders for file in (SOURCE / folder).iterdir()]
    return sorted(set(found) - set(made) - {f"{folder}/table.yaml" for folder in folders})


def differing(made):
    """Compares made files with those of the tree, or writes them; returns the paths that differ."""
    wrong = []
    for path, content in made.items():
        file = SOURCE / path
        if UPDATES:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content, encoding="utf-8")
        elif not file.exists() or text(file) != content:
            wrong.append(path)
    return wrong
