# What the scripts of this folder share: steps with their times, what was skipped, and programs that a step needs.
# shellcheck shell=bash

cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit

# Nothing of the user's cache is read, and nothing goes there.
export PERFLINE_CACHE_DIR=

# Lines of seconds and name; of "skipped", name and reason; of "FAILED" and name. The script that was started first prints
# them at its end.
if [[ -z ${PERFLINE_STEPS:-} ]]; then
  PERFLINE_STEPS=$(mktemp)
  export PERFLINE_STEPS
  is_first=1
fi
current=
started=$SECONDS

# step NAME: what comes after it, up to the next step or the end, is the step of that name.
step() {
  end_step
  current=$1
  started=$SECONDS
  printf '\n== %s\n' "$current"
}

end_step() {
  [[ -z $current ]] || printf '%s\t%s\n' "$((SECONDS - started))" "$current" >>"$PERFLINE_STEPS"
  current=
}

# skip NAME REASON: says, now and at the end, that a step was left out.
skip() {
  end_step
  printf '\n== %s: skipped, %s\n' "$1" "$2"
  printf 'skipped\t%s\t%s\n' "$1" "$2" >>"$PERFLINE_STEPS"
}

at_end() {
  local status=$? what name reason
  if ((status != 0)) && [[ -n $current ]]; then
    printf 'FAILED\t%s\n' "$current" >>"$PERFLINE_STEPS"
  else
    end_step
  fi
  if [[ -n ${is_first:-} ]]; then
    [[ ! -s $PERFLINE_STEPS ]] || printf '\n== summary\n'
    while IFS=$'\t' read -r what name reason; do
      [[ $what =~ ^[0-9]+$ ]] && what+=' s'
      printf '%7s  %s\n' "$what" "$name${reason:+: $reason}"
    done <"$PERFLINE_STEPS"
    rm -f "$PERFLINE_STEPS"
  fi
  exit "$status"
}
trap at_end EXIT

# as_root COMMAND...: fails where this user is not root and cannot be without a password.
as_root() {
  if ((EUID == 0)); then
    "$@"
  else
    command -v sudo >/dev/null && sudo --non-interactive "$@"
  fi
}

# install PACKAGE...: installs Debian packages. Fails where that is not possible: no apt, or not root.
install() {
  command -v apt-get >/dev/null && as_root true 2>/dev/null || return 1
  local get=(env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "$@")
  # The lists of packages may be missing, or older than the archive.
  as_root "${get[@]}" >/dev/null 2>&1 || { as_root apt-get update -qq && as_root "${get[@]}" >/dev/null; }
}

# has PROGRAM PACKAGE: whether the program is there, after an attempt to install the Debian package that has it.
has() {
  command -v "$1" >/dev/null || { install "$2" && command -v "$1" >/dev/null; }
}

# npm_packages FOLDER: what the lock file in it names, installed again only if that has changed.
npm_packages() {
  local installed=$1/node_modules/.installed
  cmp -s "$1/package-lock.json" "$installed" && return
  npm ci --prefix "$1" --no-fund --no-audit --no-update-notifier
  cp "$1/package-lock.json" "$installed"
}
