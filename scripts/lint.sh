#!/usr/bin/env bash
# Checks how the sources are written: width, words that mark unfinished work, file names that say
# nothing, paths of somebody's machine; and the format, where clang-format 14 is installed (other
# versions format otherwise). Prints each fault; the status is 1 if there was one.
#
#   scripts/lint.sh          checks
#   scripts/lint.sh --fix    writes the format first
set -euo pipefail
cd "$(dirname "$0")/.."

status=0
fault() {
  echo "lint: $1" >&2
  sed 's/^/  /' >&2
  status=1
}

# Prints the files whose names match one of the patterns, build folders left out.
sources() {
  local names=() pattern
  for pattern in "$@"; do names+=(-o -name "$pattern"); done
  find . \( -path './build*' -o -path './.*' -o -name __pycache__ \) -prune -o \
    -type f \( "${names[@]:1}" \) -print | sort
}

# Runs grep over the files; prints what it finds as a fault.
refuse() {
  local what=$1 pattern=$2 found
  shift 2
  found=$(grep -nE "$pattern" "$@" || true)
  [ -z "$found" ] || fault "$what" <<<"$found"
}

mapfile -t cpp < <(sources '*.hpp' '*.cpp' '*.cu' '*.cuh')
mapfile -t all < <(sources '*.hpp' '*.cpp' '*.cu' '*.cuh' '*.py' '*.sh' '*.md' '*.build' '*.svg')

refuse 'wider than 100 columns' '.{101}' "${cpp[@]}"
# The words are put together here, so that this file does not hold them.
refuse 'unfinished work' "\bTO""DO\b|\bFIX""ME\b|\bX""XX\b|not imple""mented" "${all[@]}"
refuse 'a path of one machine' '/(home|root|work|Users)/[a-z]' "${all[@]}"
vague=$(sources '*util*.[hc]*' '*helper*.[hc]*' 'common.*' 'misc.*')
[ -z "$vague" ] || fault 'a file name that says nothing' <<<"$vague"

if command -v clang-format-14 >/dev/null; then
  [ "${1:-}" != --fix ] || clang-format-14 -i "${cpp[@]}"
  unformatted=$(clang-format-14 --dry-run -Werror "${cpp[@]}" 2>&1 | grep 'error:' | cut -d: -f1 |
    uniq -c || true)
  [ -z "$unformatted" ] || fault 'not as clang-format 14 writes it; lines of each file, which
  "scripts/lint.sh --fix" mends' <<<"$unformatted"
else
  echo 'lint: clang-format 14 is not installed; the format was not checked'
fi
exit "$status"
