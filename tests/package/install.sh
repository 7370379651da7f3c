#!/usr/bin/env bash
# Installation, a second installation over it, removal and purge in a root file system without a running systemd.
. "$(dirname "$0")/lib.sh"
copy_root

root="$work/root"
inside() { unshare --mount --pid --fork --mount-proc="$root/proc" chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive LC_ALL=C "$@"; }
# All files but dpkg's own records.
files() {
  (cd "$root" && find . \( -path ./proc -o -path ./sys -o -path ./dev -o -path ./var/lib/dpkg -o -path ./var/log -o -path ./var/cache \
    -o -path ./tmp \) -prune -o -print | LC_ALL=C sort)
}
links() { (cd "$root/etc/systemd/system" && find . -name 'podgpu*' | LC_ALL=C sort | paste -sd' '); }

printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d" # No service starts here.
chmod +x "$root/usr/sbin/policy-rc.d"
cp "$(deb podgpu)" "$(deb podgpu-sim)" "$root/tmp/"
files >"$work/before"

inside sh -c 'dpkg -i /tmp/podgpu_*.deb /tmp/podgpu-sim_*.deb' >"$work/log" 2>&1 || { cat "$work/log"; fail "dpkg -i"; }
expect "podgpu --version" "$(inside podgpu --version)" "podgpu version $(dpkg-deb -f "$(deb podgpu)" Version | sed 's/-1$//')"
inside podgpu --validate >"$work/log" || { cat "$work/log"; fail "podgpu --validate"; }
inside podgpu-sim compile demo >"$work/log" || { cat "$work/log"; fail "podgpu-sim does not find its scenarios"; }
inside man podgpu 2>/dev/null | grep -q -- '--hpc-job-mapping-dir' || fail "man podgpu lacks a flag"
expect "enabled units" "$(links)" \
  "./multi-user.target.wants/podgpu.service ./sockets.target.wants/podgpu.socket"
[[ -d $root/run/podgpu-jobs ]] || fail "/run/podgpu-jobs is not there"
expect "completion of bash" "$(inside bash -c '. /usr/share/bash-completion/completions/podgpu; COMP_WORDS=(podgpu --hpc);
  COMP_CWORD=1; _podgpu; echo "${COMPREPLY[*]}"')" "--hpc-job-mapping-dir"

# A setting and a choice of the administrator survive the next installation.
echo 'DCGM_EXPORTER_INTERVAL=5000' >>"$root/etc/default/podgpu"
inside systemctl disable podgpu.service >/dev/null 2>&1
inside dpkg -i --force-confdef "/tmp/$(basename "$(deb podgpu)")" >"$work/log" 2>&1 || { cat "$work/log"; fail "the second dpkg -i"; }
grep -q '^DCGM_EXPORTER_INTERVAL=5000$' "$root/etc/default/podgpu" || fail "a changed setting was lost"
[[ $(links) != *multi-user* ]] || fail "a disabled unit was enabled again"

inside dpkg -r podgpu podgpu-sim >"$work/log" 2>&1 || { cat "$work/log"; fail "dpkg -r"; }
[[ -f $root/etc/default/podgpu ]] || fail "a removal without purge deleted /etc/default/podgpu"
[[ ! -e $root/usr/bin/podgpu ]] || fail "the program is still there"
inside dpkg -P podgpu podgpu-sim >"$work/log" 2>&1 || { cat "$work/log"; fail "dpkg -P"; }
files | diff "$work/before" - || fail "a purge leaves files"
