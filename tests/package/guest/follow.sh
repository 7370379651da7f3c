# Follows the documents in the container: runs each block of commands, and compares its output with the block "text" after
# it, where "..." stands for any text.  A block with an expected output is repeated until it has it.
set -uo pipefail

fail() {
  echo "FAILED: $1"
  cat /root/output
  systemctl --no-pager status podgpu.socket podgpu.service 2>&1 | head -40
  journalctl --no-pager -b -u podgpu.service -n 20 2>&1
  exit 1
}

# Whether every expected line is in the output.
has_all() {
  local line pattern
  while IFS= read -r line; do
    pattern=$(sed -e 's/[][\.*^$]/\\&/g' -e 's/\\\.\\\.\\\./.*/g' <<<"$line")
    grep -qx -- "$pattern" /root/output || return 1
  done <"$1"
}

follow() {
  local commands=$1 expected=${1%.sh}.expected tries
  for ((tries = 0; tries < 300; ++tries)); do
    if [ ! -e "$expected" ]; then
      bash -e "$commands" >/root/output 2>&1 </dev/null || fail "$commands ends with an error"
      return
    fi
    bash "$commands" >/root/output 2>&1 </dev/null
    if has_all "$expected"; then return; fi
    read -rt 0.2 <> <(:)
  done
  fail "$commands does not show what the document promises"
}

until [ -S /run/gpu-node/kubelet/kubelet.sock ]; do read -rt 0.1 <> <(:); done
for document in /root/documents/*; do
  count=0
  for commands in "$document"/*.sh; do
    follow "$commands"
    count=$((count + 1))
  done
  echo "$(basename "$document"): $count blocks of commands"
done
echo "all documents followed"
