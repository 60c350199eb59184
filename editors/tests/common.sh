# What the scripts of this folder share: a project to work in, a terminal to look at, and what was seen.
# shellcheck shell=bash

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
repository=$(cd "$here/../.." && pwd)
perfline=$(realpath -- "${PERFLINE:?PERFLINE is to name the program}")
patience=${PERFLINE_PATIENCE:-20000} # ms that anything may take

work=$(mktemp -d)
project=$work/project
t() { env -u TMUX tmux -S "$work/tmux" -f /dev/null "$@"; }
trap 't kill-server 2>/dev/null || true; rm -rf "$work"' EXIT

# A home of its own and a project with a recording: nothing of the machine's settings is read or changed.
mkdir -p "$work"/{home,run,bin} "$project"
chmod 700 "$work/run"
cp "$repository"/fixtures/workloads/*.py "$project/"
cp "$repository/fixtures/simulated_cuda/torch2.15.0/slow_model.json.gz" "$project/"
touch "$project/pyproject.toml"
# The server's process id goes to a file: editors are left, and then it has to be gone.
cat >"$work/bin/perfline" <<SCRIPT
#!/bin/sh
[ "\$1" != lsp ] || echo \$\$ >>"$work/servers"
exec "$perfline" "\$@"
SCRIPT
chmod +x "$work/bin/perfline"
clean=(env -i HOME="$work/home" XDG_RUNTIME_DIR="$work/run" PATH="$work/bin:/usr/local/bin:/usr/bin:/bin" LANG=C.UTF-8
  COLORTERM=truecolor TERM=screen-256color)

# configuration EDITOR FILE: what the README says to write into it: the block under the editor's heading that begins by naming it.
configuration() {
  awk -v editor="## $1" -v file="$2" '
    /^## / { inside = index($0, editor) == 1 }
    inside && /^```/ { block = !block; first = block; taken = taken && block; next }
    inside && block { if (first) { taken = index($0, file) > 0; first = 0 } if (taken) print }
  ' "$repository/editors/README.md"
}

failed() {
  echo "FAIL $*"
  screen 2>/dev/null || true
  exit 1
}

# terminal COLUMNS LINES COMMAND...: starts an editor in the project.
terminal() {
  local columns=$1 lines=$2
  shift 2
  t new-session -d -x "$columns" -y "$lines" -c "$project" "${clean[@]}" "$@"
  t set-option -g remain-on-exit on
}
screen() { t capture-pane -p; }
type_in() { t send-keys -l -- "$1"; }
press() { t send-keys "$@"; }

# until_so COMMAND...: waits until it succeeds.
until_so() {
  local end=$((${EPOCHREALTIME/[.,]/} + patience * 1000))
  while ((${EPOCHREALTIME/[.,]/} < end)); do
    if "$@"; then return 0; fi
    sleep 0.05
  done
  return 1
}
shows() { screen | grep -qF -- "$1"; }
shows_not() { ! shows "$1"; }
beside() { screen | grep -F -- "$1" | grep -qE -- "$2"; }

# check SEEN NOT_SEEN COMMAND...: waits until the command succeeds, and says which of the two came out.
check() {
  local seen=$1 not_seen=$2
  shift 2
  until_so "$@" || failed "$not_seen"
  echo "ok   $seen"
}
see() { check "seen: $1" "not seen: $1" shows "$1"; }
see_no() { check "gone: $1" "still there: $1" shows_not "$1"; }
# see_beside TEXT PATTERN: on one line of the screen.
see_beside() { check "seen: $2 beside $1" "not seen: $2 beside $1" beside "$1" "$2"; }

none_left() {
  local server
  while read -r server; do
    if kill -0 "$server" 2>/dev/null; then return 1; fi
  done <"$work/servers"
}
servers_gone() {
  [ -s "$work/servers" ] || failed "no server was started"
  check 'the server is gone' 'the server is still there' none_left
}
