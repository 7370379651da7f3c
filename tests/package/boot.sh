#!/usr/bin/env bash
# Boots Debian with systemd in a container without a network of the host, on which a simulated node runs, and follows
# docs/install-bare-metal.md and docs/install-slurm.md there: every command, and the output that they promise.
. "$(dirname "$0")/lib.sh"
command -v systemd-nspawn >/dev/null || skip "systemd-nspawn is not here"
copy_root

here=$(dirname "$0")
root="$work/root"
nspawn() { systemd-nspawn --quiet --register=no --keep-unit --private-network --machine="podgpu-$$" -D "$root" "$@"; }
nspawn /bin/true >"$work/log" 2>&1 || { cat "$work/log"; skip "systemd-nspawn cannot start a container here"; }

# -- the simulated node, as the driver of this machine
dpkg -i --root="$root" "$(deb podgpu-sim)" >"$work/log" 2>&1 || { cat "$work/log"; fail "podgpu-sim cannot be installed"; }
echo /usr/lib/podgpu-sim >"$root/etc/ld.so.conf.d/simulated.conf"
chroot "$root" /sbin/ldconfig
mkdir -p "$root/etc/systemd/system/podgpu.service.d" "$root/root/documents"
cp "$here/guest/simulated-node.service" "$here/guest/test.service" "$root/etc/systemd/system/"
cp "$here/guest/simulated.conf" "$root/etc/systemd/system/podgpu.service.d/"
cp "$here/guest/follow.sh" "$root/root/"
chroot "$root" systemctl --quiet enable test.service
cp "$(deb podgpu)" "$root/root/"
printf '127.0.0.1 localhost\n::1 localhost\n' >"$root/etc/hosts"

# -- the documents, as numbered commands and expected outputs
for document in install-bare-metal install-slurm; do
  folder="$root/root/documents/$document"
  mkdir -p "$folder"
  awk -v folder="$folder" '
    /^```sh$/ { ++count; file = sprintf("%s/%02d.sh", folder, count); next }
    /^```text$/ { file = sprintf("%s/%02d.expected", folder, count); next }
    /^```/ { file = ""; next }
    file != "" { print >file }' "$source_dir/docs/$document.md"
  [[ -e $folder/01.sh ]] || fail "docs/$document.md has no command"
done

code=0
nspawn -b >"$work/console" 2>&1 </dev/null || code=$?
cat "$root/root/result" 2>/dev/null || tail -n 30 "$work/console"
expect "exit code of the container" "$code" 0
grep -q '^all documents followed$' "$root/root/result" || fail "the container ended early"
