#!/usr/bin/env bash
# Makes the root file system for the tests that install the packages: Debian 12 with systemd and what the packages depend
# on.  It is kept until that list changes.
. "$(dirname "$0")/lib.sh"
needs_root "debootstrap"

root="$binary_dir/package/root"
depends=$(for package in podgpu podgpu-sim; do dpkg-deb -f "$(deb $package)" Depends; done |
  sed 's/([^)]*)//g' | tr -d ' ' | tr ',' '\n' | sort -u | paste -sd,)
wanted="bookworm systemd,systemd-sysv,curl,iproute2,man-db,$depends"
if [[ -e $root/ready && $(cat "$root/ready") == "$wanted" ]]; then
  exit 0
fi
rm -rf "$root"
mkdir -p "$root"
mirror=$(sed -n -e 's/^URIs: *//p' -e 's/^deb \(\[[^]]*\] \)\{0,1\}\([^ ]*\) .*/\2/p' /etc/apt/sources.list \
  /etc/apt/sources.list.d/* 2>/dev/null | grep -v security | head -n 1) || true
if ! debootstrap --variant=minbase --include="${wanted#* }" bookworm "$root/tree" ${mirror:+"$mirror"} >"$root/log" 2>&1; then
  tail -n 5 "$root/log"
  skip "debootstrap cannot fetch Debian 12; the output is in $root/log"
fi
rm -rf "$root/tree/var/cache/apt/archives"/*.deb
echo "$wanted" >"$root/ready"
