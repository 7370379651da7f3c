#!/usr/bin/env bash
# podgpu serves the socket that systemd hands over, with the values of a simulated node.
. "$(dirname "$0")/lib.sh"
command -v systemd-socket-activate >/dev/null || skip "systemd-socket-activate is not here"

unpack_packages
start_node demo
socket="$work/metrics.sock"
# Takes the place of its shell, so that the end of the test ends podgpu.
activate() {
  exec systemd-socket-activate -l "$socket" -E PODGPU_SIM_DIR="$work/node" "$work/unpacked/usr/bin/podgpu" \
    --libnvidia-ml="$work/node/lib/libnvidia-ml.so.1" --sysfs-root="$work/node/sys" -c 1000 "$@"
}
start "$work/podgpu.log" activate --web-systemd-socket
page() { curl -s --max-time 10 --unix-socket "$socket" http://podgpu/metrics; }
ready() { page | grep -q '^podgpu_ready 1$'; }
await "the socket" test -S "$socket"
await "a ready page" ready
expect "GPUs on the page" "$(page | sed -n 's/^DCGM_FI_DEV_GPU_TEMP{gpu="\([0-9]*\)".*/\1/p' | sort -nu | paste -sd' ')" "0 1 2 3 4 5 6 7"
grep -q 'address="the socket of systemd"' "$work/podgpu.log" || fail "podgpu does not say that it serves systemd's socket"

# Without a socket the flag is refused, in one line with the remedy.
code=0
said=$("$work/unpacked/usr/bin/podgpu" --web-systemd-socket 2>&1) || code=$?
expect "exit code without a socket" "$code" 2
[[ $said == *"systemd has passed no socket. Start podgpu from a .socket unit"* && $(wc -l <<<"$said") == 1 ]] ||
  fail "without a socket podgpu says: $said"
