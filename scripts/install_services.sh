#!/usr/bin/env bash
# Install Redis and Postgres, which tests of stores and of the service use (Debian's packages).
set -euo pipefail

if { command -v redis-server || command -v valkey-server; } >/dev/null && ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1; then
    exit 0
fi
sudo=$(test "$(id -u)" = 0 || echo sudo)
export DEBIAN_FRONTEND=noninteractive RUNLEVEL=1
timeout 300 $sudo apt-get update -q
timeout 600 $sudo apt-get install -y -q --no-install-recommends redis-server postgresql
