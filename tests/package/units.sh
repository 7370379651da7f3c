#!/usr/bin/env bash
# systemd accepts the units, and its own measure of exposure is at most 2.0.
. "$(dirname "$0")/lib.sh"
command -v systemd-analyze >/dev/null || skip "systemd-analyze is not here"

unpack_packages
units="$work/unpacked/lib/systemd/system"
# verify looks for the program where the unit says; the man page is looked up in this machine's own folders.
mkdir "$work/verified"
for unit in podgpu.service podgpu.socket; do
  sed -e "s|=/usr/bin/podgpu|=$work/unpacked/usr/bin/podgpu|" -e '/^Documentation=/d' "$units/$unit" >"$work/verified/$unit"
done
found=$(systemd-analyze verify --man=no "$work/verified/podgpu.service" "$work/verified/podgpu.socket" 2>&1) ||
  fail "systemd-analyze verify: $found"
expect "systemd-analyze verify" "$found" ""
sed 's/^ProtectSystem=strict$/ProtectSystm=strict/' "$units/podgpu.service" >"$work/verified/wrong.service"
[[ $(systemd-analyze verify --man=no "$work/verified/wrong.service" 2>&1) == *ProtectSystm* ]] ||
  fail "systemd-analyze verify accepts an unknown key"

systemd-analyze security --offline=true --no-pager --threshold=20 "$units/podgpu.service" >"$work/security" ||
  { cat "$work/security"; fail "systemd-analyze security: more exposed than 2.0"; }
score=$(sed -n 's/.*exposure level for podgpu.service: \([0-9.]*\).*/\1/p' "$work/security")
grep -q "gives it $score of 10" "$source_dir/docs/install-bare-metal.md" ||
  fail "the score is $score; docs/install-bare-metal.md says another one"
if systemd-analyze security --offline=true --no-pager --threshold=10 "$units/podgpu.service" >/dev/null; then
  fail "systemd-analyze security does not obey its threshold"
fi
