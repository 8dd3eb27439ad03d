#!/usr/bin/env bash
# Find a Python that this project can use, and run it with the given arguments.
#
#   bash scripts/python.sh scripts/run_tests.py
#
# Only this file has to work without a suitable Python; the other scripts are written for the one
# it finds. Nothing is installed outside the clone.
set -u

cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

# 3.12 first: it is the version for which every AstrBot of the supported range has all its wheels.
readonly NAMES="python3.12 python3.13 python3.14 python3 python"

# What a candidate must answer: its version is in range, and it can make environments. It prints
# the interpreter behind a virtual environment, since an environment cannot rebuild itself.
readonly PROBE='
import sys
if not (3, 12) <= sys.version_info[:2] < (3, 15):
    sys.exit(3)
try:
    import ensurepip, sqlite3, ssl, venv
except ImportError:
    sys.exit(4)
print(getattr(sys, "_base_executable", None) or sys.executable)
'

found=""
incomplete=""

# try CANDIDATE: set `found` if it is suitable. It is really run: version managers put shims on
# PATH that exist and fail.
try() {
  local answer status
  answer=$("$1" -I -c "$PROBE" 2>/dev/null </dev/null)
  status=$?
  if [ "$status" -eq 0 ] && [ -x "$answer" ]; then
    found=$answer
  elif [ "$status" -eq 4 ]; then
    incomplete=$1
  fi
  [ -n "$found" ]
}

search_path() {
  local name path
  for name in $NAMES; do
    # Every one on PATH, not only the first: a broken shim may hide a good one.
    while IFS= read -r path; do
      try "$path" && return 0
    done < <(type -aP "$name")
  done
  return 1
}

search_pyenv() {
  local root=${PYENV_ROOT:-${HOME:-}/.pyenv} version path
  for version in 3.12 3.13 3.14; do
    for path in "$root/versions/$version".*/bin/python; do
      [ -x "$path" ] && try "$path" && return 0
    done
  done
  return 1
}

# uv knows more places, and can fetch a Python; a fetched one stays inside the clone.
search_uv() {
  command -v uv >/dev/null 2>&1 || return 1
  try_uv_find && return 0
  export UV_PYTHON_INSTALL_DIR="$PWD/.uv/python" UV_PYTHON_INSTALL_BIN=0
  try_uv_find && return 0
  echo "no suitable Python here: uv fetches Python 3.12 into .uv/" >&2
  if ! uv python install --quiet 3.12 2>/dev/null; then
    echo "uv could not fetch it (no network?)" >&2
    return 1
  fi
  try_uv_find
}

try_uv_find() {
  local path
  path=$(uv python find --no-project '>=3.12,<3.15' 2>/dev/null) && try "$path"
}

complain() {
  if [ -n "$incomplete" ]; then
    echo "$incomplete is new enough but lacks venv, ensurepip, ssl or sqlite3."
    echo "On Debian and Ubuntu: apt-get install python3-venv (or python3.12-venv)."
  else
    echo "This project needs Python 3.12, 3.13 or 3.14, and none was found"
    echo "(looked for: $NAMES on PATH, pyenv's versions, uv)."
    echo "Install Python 3.12, for example:"
    echo "  Debian 13, Ubuntu 24.04:  apt-get install python3 python3-venv"
    echo "  macOS:                    brew install python@3.12"
    echo "  pyenv:                    pyenv install 3.12"
    echo "  anywhere:                 install uv (pip install uv), which fetches one by itself"
  fi >&2
}

if ! { search_path || search_pyenv || search_uv; }; then
  complain
  exit 1
fi
exec "$found" "$@"
