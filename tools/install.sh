#!/usr/bin/env bash
# Installs the Debian packages that the build needs, and with the argument `tests` those that only
# tests need; those that are missing only. Run by test.sh and quickstart.sh; does nothing on a machine
# that has them all.
set -euo pipefail

packages=(
  cmake g++ ninja-build ccache pkg-config
  llvm-22-dev lld-22 zlib1g-dev libzstd-dev libxml2-dev libsqlite3-dev
  libboost-graph-dev librange-v3-dev nlohmann-json3-dev libcli11-dev libfmt-dev libpcre2-dev
  libutf8proc-dev libminizip-dev libeigen3-dev
  libgtest-dev libgmock-dev
)
[ "${1:-}" = tests ] && packages+=(postgresql libpq5)

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

echo "installing: ${missing[*]}"
as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(sudo)
export DEBIAN_FRONTEND=noninteractive
"${as_root[@]}" apt-get update -q
"${as_root[@]}" apt-get install -y -q --no-install-recommends "${missing[@]}"
