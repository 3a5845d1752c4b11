#!/usr/bin/env bash
# From a clean clone on a fresh Debian 12 to the demonstration: installs what is missing, builds the
# command line tool, and runs its demo, which needs nothing from outside.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

tools/install.sh

cmake --preset release -DTILEWRIGHT_BUILD_TESTS=OFF -DTILEWRIGHT_BUILD_SHARED=OFF
cmake --build --preset release -j "$(nproc)" --target tilewright_tool

exec build/release/tilewright demo "$@"
