# Shared by the tests of the packages: NAME.sh SOURCE_DIR BINARY_DIR.  A test that fails prints one line and ends with 1;
# one that this machine cannot run prints why and ends with 77.
set -euo pipefail
source_dir=$1
binary_dir=$2
packages="$binary_dir/packages"
work=$(mktemp -d)
children=()

end_test() {
  for child in ${children[@]+"${children[@]}"}; do
    kill "$child" 2>/dev/null && wait "$child" 2>/dev/null || true
  done
  rm -rf "$work"
}
trap end_test EXIT

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

skip() {
  echo "skipped: $*" >&2
  exit 77
}

# expect WHAT FOUND EXPECTED
expect() { [[ $2 == "$3" ]] || fail "$1: found \"$2\", expected \"$3\""; }

# The file of a package: deb podgpu
deb() {
  local found=("$packages/$1"_*.deb)
  [[ -f ${found[0]} && ${#found[@]} == 1 ]] || fail "$packages has not exactly one package $1; run ./dev package"
  echo "${found[0]}"
}

# await WHAT COMMAND...: repeats the command until it succeeds; gives up after a minute.
await() {
  local what=$1 tries
  shift
  for ((tries = 0; tries < 600; ++tries)); do
    if "$@" >/dev/null 2>&1; then return 0; fi
    read -rt 0.1 <> <(:) || true
  done
  fail "$what: not within a minute"
}

# start LOG COMMAND...: a background process that ends with the test.
start() {
  local log=$1
  shift
  "$@" >"$log" 2>&1 &
  children+=("$!")
}

# Unpacks both packages to $work/unpacked; nothing of them runs as an installed program.
unpack_packages() {
  mkdir "$work/unpacked"
  dpkg-deb -x "$(deb podgpu)" "$work/unpacked"
  dpkg-deb -x "$(deb podgpu-sim)" "$work/unpacked"
}

# Starts the simulated node of SCENARIO in $work/node from the unpacked packages.
start_node() {
  start "$work/node.log" "$work/unpacked/usr/bin/podgpu-sim" run "$1" --dir "$work/node" --engine-tcp 127.0.0.1:0
  await "the simulated node" grep -q '^ready' "$work/node.log"
}

needs_root() { [[ $(id -u) == 0 ]] || skip "it needs root, for $1"; }

# A copy of the root file system that root.sh made, in $work/root.
copy_root() {
  needs_root "a root file system"
  [[ -e $binary_dir/package/root/ready ]] || skip "there is no root file system; the test package.root says why"
  cp -a "$binary_dir/package/root/tree" "$work/root"
}
