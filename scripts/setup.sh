#!/usr/bin/env bash
# Installs what is missing to build Ebbtide; does nothing, and needs no network, where nothing is.
#
#   scripts/setup.sh          to build the program
#   scripts/setup.sh --test   and its tests
#   scripts/setup.sh --dev    and clang-format and clang-tidy
#
# For Debian from 12 on and Ubuntu from 24.04 on; as root, or with sudo. The names are those of
# Debian 12 and 13; Ubuntu's are taken to be the same, but could not be tried.
set -euo pipefail

build_packages=(g++ meson ninja-build pkg-config python3
  libdnnl-dev libfmt-dev libhwloc-dev liburing-dev libcli11-dev libtomlplusplus-dev
  libxxhash-dev nlohmann-json3-dev)
# Clp links zlib and bzip2, which its package does not bring along.
test_packages=(libgtest-dev coinor-libclp-dev zlib1g-dev libbz2-dev)
dev_packages=(clang-format-14 clang-tidy-14)

fail() {
  echo "setup: $*" >&2
  exit 1
}

case "${1:-}" in
  '') packages=("${build_packages[@]}") ;;
  --test) packages=("${build_packages[@]}" "${test_packages[@]}") ;;
  --dev) packages=("${build_packages[@]}" "${test_packages[@]}" "${dev_packages[@]}") ;;
  *) fail "unknown argument '$1'; it takes none, --test or --dev" ;;
esac

# Ends the script on a distribution whose package names we do not know.
require_known_distribution() {
  local id='' version='' name=''
  if [ -r /etc/os-release ]; then
    # shellcheck disable=SC1091  # the file belongs to the machine
    read -r id version name < <(. /etc/os-release &&
      echo "${ID:-unknown} ${VERSION_ID:-0} ${PRETTY_NAME:-}")
  fi
  case "$id" in
    debian) dpkg --compare-versions "$version" ge 12 && return ;;
    ubuntu) dpkg --compare-versions "$version" ge 24.04 && return ;;
  esac
  fail "this is ${name:-an unknown system};" \
    "only Debian and Ubuntu from versions 12 and 24.04 are known here." \
    "Install what these Debian packages hold and build with meson: ${packages[*]}"
}

missing_packages() {
  local package
  for package in "${packages[@]}"; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] ||
      echo "$package"
  done
}

# Prints those that are no dev packages or that the distribution has.
known_packages() {
  local package
  for package in "$@"; do
    [[ " ${dev_packages[*]} " != *" $package "* ]] ||
      apt-cache show "$package" >/dev/null 2>&1 || continue
    echo "$package"
  done
}

# Runs a command as root; the end of its output is shown only if it fails.
as_root_quietly() {
  local sudo=() log
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || fail "run as root, or install sudo; missing: ${missing[*]}"
    sudo=(sudo)
  fi
  log=$(mktemp)
  if ! "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive "$@" >"$log" 2>&1 </dev/null; then
    tail -n 20 "$log" >&2
    rm -f "$log"
    fail "failed: $*"
  fi
  rm -f "$log"
}

require_known_distribution
mapfile -t missing < <(missing_packages)
[ "${#missing[@]}" -gt 0 ] || exit 0
echo "setup: installing ${missing[*]}"
apt=(apt-get -q -y -o DPkg::Lock::Timeout=300)
as_root_quietly "${apt[@]}" update
# Newer releases have other versions of clang-format and clang-tidy, of which the checks that need
# them say that they did not run.
mapfile -t missing < <(known_packages "${missing[@]}")
[ "${#missing[@]}" -gt 0 ] || exit 0
as_root_quietly "${apt[@]}" install --no-install-recommends "${missing[@]}"
