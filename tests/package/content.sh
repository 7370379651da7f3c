#!/usr/bin/env bash
# What the packages contain, what they say about themselves, and that two builds of one commit are equal.
. "$(dirname "$0")/lib.sh"

here=$(dirname "$0")
for package in podgpu podgpu-sim; do
  dpkg-deb -c "$(deb $package)" | awk '$1 !~ /^d/ {print $1, $6}' | LC_ALL=C sort -k 2 >"$work/$package.files"
  if [[ ${PODGPU_UPDATE_GOLDEN:-} == 1 ]]; then
    cp "$work/$package.files" "$here/$package.files"
  fi
  diff -u "$here/$package.files" "$work/$package.files" ||
    fail "$package has other files than tests/package/$package.files; PODGPU_UPDATE_GOLDEN=1 accepts them"
  expect "maintainer" "$(dpkg-deb -f "$(deb $package)" Maintainer)" "podgpu maintainers <maintainers@podgpu.invalid>"
  expect "version" "$(dpkg-deb -f "$(deb $package)" Version)" "$(sed -n 's/^project(podgpu VERSION \([^ ]*\) .*/\1/p' \
    "$source_dir/CMakeLists.txt")-1"
done

# dpkg asks before it replaces a changed setting, and only that file.
expect "conffiles" "$(dpkg-deb --ctrl-tarfile "$(deb podgpu)" | tar -xO ./conffiles)" "/etc/default/podgpu"

# podgpu's dependencies are the libraries that the program names, and OpenSSL, which it loads when it needs TLS.
unpack_packages
multiarch=$(dpkg-architecture -qDEB_HOST_MULTIARCH)
needed=$(readelf -d "$work/unpacked/usr/bin/podgpu" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
depends=$(dpkg-deb -f "$(deb podgpu)" Depends)
for library in $needed libssl.so.3; do
  case $library in
    libc.so.* | libm.so.* | ld-linux*) package=libc6 ;;
    libgcc_s.so.1) package=libgcc-s1 ;;
    *) package=$(dpkg -S "*/$multiarch/$library" | sed -n "1s/:.*//p") ;;
  esac
  [[ ", $depends" == *", $package "* || ", $depends" == *", $package,"* ]] || fail "Depends lacks $package, for $library"
done

# The second build has a new clock and new folders.
cp "$binary_dir/CPackConfig.cmake" "$work/config.cmake"
SOURCE_DATE_EPOCH=$(cat "$packages/date") cpack --config "$work/config.cmake" -B "$work/again" >"$work/cpack.log" 2>&1 ||
  { cat "$work/cpack.log"; fail "cpack ends with an error"; }
for package in podgpu podgpu-sim; do
  cmp "$(deb $package)" "$work/again/$(basename "$(deb $package)")" || fail "two builds of $package differ"
done
