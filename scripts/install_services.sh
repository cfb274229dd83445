#!/usr/bin/env bash
# Install Redis, which tests of stores use (Debian's package).
set -euo pipefail

if command -v redis-server valkey-server >/dev/null; then
    exit 0
fi
sudo=$(test "$(id -u)" = 0 || echo sudo)
export DEBIAN_FRONTEND=noninteractive RUNLEVEL=1
timeout 300 $sudo apt-get update -q
timeout 600 $sudo apt-get install -y -q --no-install-recommends redis-server
