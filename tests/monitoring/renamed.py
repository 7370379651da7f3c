"""Families of dcgm-exporter that have another name since 4.9: queries that find both, so that a crossing leaves no gap.

A node may have the old name, the new one, or both (--both-names); then both have the same labels.  Each selector has one exact name:
Google's Managed Service for Prometheus refuses a pattern.
"""

import re

# Old name: the new one, and what the new values are multiplied with to have the old unit.
NEW = {
    "DCGM_FI_DEV_FB_USED": ("DCGM_FI_DEV_FB_USED_BYTES", f"{2.0**-20!r} * "),
    "DCGM_FI_DEV_GPU_TEMP": ("DCGM_FI_DEV_GPU_TEMP_CELSIUS", ""),
    "DCGM_FI_DEV_GPU_UTIL": ("DCGM_FI_DEV_GPU_UTIL_RATIO", "100 * "),
    "DCGM_FI_DEV_POWER_USAGE": ("DCGM_FI_DEV_BOARD_POWER_WATTS", ""),
    "DCGM_FI_DEV_ROW_REMAP_FAILURE": ("DCGM_FI_DEV_ROW_REMAP_FAILED", ""),
    "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION": ("DCGM_FI_DEV_GPU_ENERGY_JOULES_TOTAL", "1000 * "),
    "DCGM_FI_DEV_XID_ERRORS": ("DCGM_FI_DEV_XID_ERROR", ""),
    "DCGM_FI_PROF_DRAM_ACTIVE": ("DCGM_FI_PROF_DRAM_UTIL_RATIO", ""),
    "DCGM_FI_PROF_GR_ENGINE_ACTIVE": ("DCGM_FI_PROF_GR_ENGINE_UTIL_RATIO", ""),
    "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE": ("DCGM_FI_PROF_TENSOR_UTIL_RATIO", ""),
}
SELECTOR = r"\b(DCGM_\w+)(?:\{([^}]*)\})?"
# A function of a range, such as rate(), or a selector.
TERM = re.compile(rf"\b(\w+)\({SELECTOR}(\[[^\]]*\](?: offset \w+)?)\)|{SELECTOR}( offset \w+)?")


def named(family, matchers):
    return family + (f"{{{matchers}}}" if matchers else "")


def with_new_names(expr):
    """The expression with the values of both names, in the old unit.

    A function of a range takes no expression, so it gets each name on its own.
    """

    def term(match):
        function, ranged, of_range, time_range, family, matchers, offset = match.groups()
        old = ranged or family
        if old not in NEW:
            return match.group()
        new, factor = NEW[old]
        if function:
            one, other = (f"{function}({named(name, of_range)}{time_range})" for name in (old, new))
        else:
            one, other = (named(name, matchers) + (offset or "") for name in (old, new))
        is_in_brackets = expr[: match.start()].endswith("(") and expr[match.end() :].startswith(")")
        return f"{one} or {factor}{other}" if is_in_brackets else f"({one} or {factor}{other})"

    return TERM.sub(term, expr)
