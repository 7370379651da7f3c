#!/usr/bin/env bash
# Debian's own checker finds no error and no warning; what it may not report is in deploy/package/*.lintian-overrides.
. "$(dirname "$0")/lib.sh"

lintian --no-cfg --allow-root --tag-display-limit 0 --fail-on error,warning "$(deb podgpu)" "$(deb podgpu-sim)" ||
  fail "lintian has complaints"
# An override that hides nothing is dropped.
unused=$(lintian --no-cfg --allow-root -I --tags unused-override "$(deb podgpu)" "$(deb podgpu-sim)")
expect "unused overrides" "$unused" ""
