# What the scripts share. Sourced, not run; leaves the shell in the project's
# root.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# say TEXT...: for people, so to stderr: stdout is for results.
say() { printf '%s\n' "$*" >&2; }

# die TEXT...
die() {
  say "${0##*/}: $*"
  exit 1
}

# quietly NAME COMMAND...: the output goes to build/log/NAME.log and is shown
# only if the command fails.
quietly() {
  local log="build/log/$1.log"
  shift
  mkdir -p build/log
  if ! "$@" >"$log" 2>&1; then
    cat "$log" >&2
    die "failed: $* (log: $log)"
  fi
}

# build PRESET [TARGET...] [-DOPTION=VALUE...]: configure and compile.
build() {
  local preset="$1" argument targets=() options=()
  shift
  for argument in "$@"; do
    if [[ $argument == -D* ]]; then
      options+=("$argument")
    else
      targets+=("$argument")
    fi
  done
  quietly "$preset-configure" cmake --preset "$preset" "${options[@]}"
  quietly "$preset-build" cmake --build --preset "$preset" --target "${targets[@]:-all}"
}

# build_fuzz TARGET: a program of fuzz/, by clang with its sanitizers.
build_fuzz() {
  quietly fuzz-configure cmake -S . -B build/fuzz -G Ninja \
    -DCMAKE_CXX_COMPILER=clang++ -DCMAKE_BUILD_TYPE=RelWithDebInfo \
    -DHEADWISE_SANITIZE=fuzzer-no-link,address,undefined -DHEADWISE_FUZZ=ON \
    -DHEADWISE_APPS=OFF -DHEADWISE_TESTS=OFF -DHEADWISE_INSTALL=OFF
  quietly fuzz-build cmake --build build/fuzz --target "$1"
}

# environment FOLDER REQUIREMENTS [OPTION...]: the Python packages of that list in
# an environment of their own, installed with these options; made anew when the
# list changes. Fails, with what pip said, where they cannot be had.
environment() {
  local folder="$1" requirements="$2"
  local log="${folder//\//-}"
  shift 2
  if cmp -s "$requirements" "$folder/requirements.txt"; then
    return
  fi
  say "Installing $requirements in $folder, once"
  rm -rf "$folder"
  (quietly "$log-venv" python3 -m venv "$folder") &&
    (packages_by_uv "$folder" "$@" -r "$requirements" >"build/log/$log-uv.log" 2>&1 ||
      quietly "$log-pip" "$folder/bin/pip" install "$@" -r "$requirements") &&
    cp "$requirements" "$folder/requirements.txt"
}

# packages_by_uv FOLDER ARGUMENT...: uv unpacks gigabytes on all cores, but knows
# nothing of pip's settings, such as an index of one's own.
packages_by_uv() {
  "$1/bin/pip" install uv==0.13.9 &&
    "$1/bin/uv" pip install --python "$1/bin/python" "${@:2}"
}
