#!/usr/bin/env bash
# Run the tests on every installed Python from 3.11 on (PATH and pyenv), each in an environment of its own.
set -uo pipefail
cd "$(dirname "$0")/.."

found="" failed=""
for version in 3.11 3.12 3.13 3.14; do
    for python in "python$version" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/"$version".*/bin/python; do
        "$python" -c '' 2>/dev/null || continue
        echo "== Python $version: $python"
        found="$found $version"
        make --no-print-directory quick slow fresh PYTHON="$python" VENV=".venv-$version" || failed="$failed $version"
        break
    done
done
echo "== found:${found:- none}; failed:${failed:- none}"
test -n "$found" && test -z "$failed"
