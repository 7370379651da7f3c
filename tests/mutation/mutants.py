"""Makes mutants of C++ sources: copies with one small defect each.

A mutant changes one line by one rule.  The rules read the house format: an operator with two operands has a blank on both
sides, and a template's brackets have none.  Comments, literals, the preprocessor and checks of invariants stay as they are.
"""

import hashlib
import re
from dataclasses import dataclass

REPLACED = [
    (" < ", [" <= ", " >= "]),
    (" <= ", [" < ", " > "]),
    (" > ", [" >= ", " <= "]),
    (" >= ", [" > ", " < "]),
    (" == ", [" != "]),
    (" != ", [" == "]),
    (" + ", [" - "]),
    (" - ", [" + "]),
    (" * ", [" / "]),
    (" / ", [" * "]),
    (" % ", [" / "]),
    (" += ", [" -= ", " = "]),
    (" -= ", [" += "]),
    (" && ", [" || "]),
    (" || ", [" && "]),
    (" & ", [" | "]),
    (" | ", [" & "]),
]
NUMBER = re.compile(r"(?<![\w.'])(\d+)(?![\w.'])")
TRUTH = re.compile(r"\b(true|false)\b")
NEGATION = re.compile(r"(?<=[(\s])!(?=[\w(*])")
CONDITION = re.compile(r"^(\s*(?:\} else )?if \()([^;]*)(\) \{)$")
VALUE = re.compile(r"^(\s*return )([^;{}]+)(;)$")
STATEMENT = re.compile(r"^\s*(?:[\w:]+(?:\.|->|\())[^=]*;$|^\s*[*\w.>\[\]()-]+ [-+|&*/]?= [^;]*;$|^\s*(?:\+\+|--)[^;]*;$|"
                       r"^\s*(?:break|continue);$")
# An assertion states what cannot happen, and a reservation changes only the number of allocations.
# The length of a constant array is checked by the compiler, or the array has a row that no one looks up.
KEPT = re.compile(r"PODGPU_CHECK|static_assert|\breserve\(|std::array<|^\s*using |^\s*template|\boperator\b|NOLINT")
MASK = "\x00"


@dataclass(frozen=True)
class Mutant:
    """One changed line of one file; `index` counts lines from 0."""

    path: str
    index: int
    old: str
    new: str

    def rank(self, seed):
        """The place in the sample.  It depends on this line alone, so that other lines may change."""
        text = "\n".join([seed, self.path, self.old.strip(), self.new.strip()])
        return hashlib.sha256(text.encode()).hexdigest()


def masked(lines):
    """The lines with the bytes of comments, literals and the preprocessor replaced by MASK."""
    result = []
    in_comment = False
    in_raw = False
    in_directive = False
    for line in lines:
        out = list(line)
        at = 0
        if not in_comment and not in_raw and (in_directive or line.lstrip().startswith("#")):
            in_directive = line.endswith("\\")
            result.append(MASK * len(line))
            continue
        in_directive = False
        while at < len(line):
            end = at + 1
            if in_comment or line.startswith("/*", at):
                close = line.find("*/", at)
                end = len(line) if close < 0 else close + 2
                in_comment = close < 0
            elif in_raw or line.startswith('R"(', at):
                close = line.find(')"', at)
                end = len(line) if close < 0 else close + 2
                in_raw = close < 0
            elif line.startswith("//", at):
                end = len(line)
            elif line[at] in "\"'" and not (line[at] == "'" and at > 0 and line[at - 1].isdigit()):
                while end < len(line) and line[end] != line[at]:
                    end += 2 if line[end] == "\\" else 1
                end = min(end + 1, len(line))
            else:
                at = end
                continue
            out[at:end] = MASK * (end - at)
            at = end
        result.append("".join(out))
    return result


def _replacements(line, code):
    """Yields the mutants of one line; `code` is the same line, masked."""
    def put(begin, end, text):
        return line[:begin] + text + line[end:]

    for old, news in REPLACED:
        for found in re.finditer(re.escape(old), code):
            for new in news:
                yield put(found.start(), found.end(), new)
    for found in NUMBER.finditer(code):
        number = int(found[1])
        yield put(found.start(), found.end(), str(number + 1))
        if number > 0:
            yield put(found.start(), found.end(), str(number - 1))
    for found in TRUTH.finditer(code):
        yield put(found.start(), found.end(), "false" if found[1] == "true" else "true")
    for found in NEGATION.finditer(code):
        yield put(found.start(), found.end(), "")
    found = CONDITION.match(code)
    if found:
        yield put(found.start(2), found.end(2), f"!({line[found.start(2):found.end(2)]})")
    found = VALUE.match(code)
    if found and code[found.start(2):found.end(2)] not in ("true", "false"):
        yield put(found.start(2), found.end(2), "{}")
        if re.search(r" [<>=!]=? | && | \|\| ", found[2]):
            yield put(found.start(2), found.end(2), f"!({line[found.start(2):found.end(2)]})")


def mutants_of(path, text):
    """All mutants of a file."""
    lines = text.split("\n")
    codes = masked(lines)
    before = "{"
    result = []
    for index, (line, code) in enumerate(zip(lines, codes)):
        stripped = code.rstrip(MASK + " ")
        if not stripped:
            continue
        if not KEPT.search(stripped):
            # The line without a comment at its end, which the expressions for whole lines expect.
            news = list(_replacements(line[:len(stripped)], stripped))
            if before in "{};:" and STATEMENT.match(stripped) and stripped.count("(") == stripped.count(")"):
                news.append(re.match(r"\s*", line)[0] + ";")
            result += [Mutant(path, index, line, new) for new in dict.fromkeys(news)]
        before = stripped[-1]
    return result
