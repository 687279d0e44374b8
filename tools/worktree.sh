#!/usr/bin/env bash
# Add a git worktree next to this checkout, on a branch of its name, with the builds and the tools of this one.
set -euo pipefail
cd "$(dirname "$0")/.."
name=${1:?NAME=x is needed: make worktree NAME=x}
here=$PWD
there=$(dirname "$here")/$name
target=${CARGO_TARGET_DIR:-target}

if git show-ref --quiet --verify "refs/heads/$name"; then
    git worktree add --quiet "$there" "$name"
else
    git worktree add --quiet "$there" -b "$name"
fi

# Dependencies are copied, built. The crates of this repository are not: cargo trusts the times of files, and would take
# what this checkout built for what the other one has.
if [[ -d $target/debug ]]; then
    mkdir -p "$there/target/debug"
    for part in deps build .fingerprint; do
        cp --archive --reflink=auto "$target/debug/$part" "$there/target/debug/$part"
    done
    find "$there/target/debug" -mindepth 2 -maxdepth 2 \
        \( -name '*frazil[-_]*' -o -name 'lib_native*' -o -name '_native-*' \) -exec rm -rf {} +
fi

# The tools, without the package, which `make dev` installs.
if [[ -e .venv/.tools-installed ]]; then
    cp --archive --reflink=auto .venv "$there/.venv"
    rm -f "$there"/.venv/.editable "$there"/.venv/lib/python*/site-packages/frazil.pth
    # Scripts name their interpreter by its path.
    find "$there/.venv/bin" "$there/.venv/pyvenv.cfg" -maxdepth 1 -type f -size -64k \
        -exec sed --in-place "s|$here/.venv|$there/.venv|g" {} +
    touch "$there/.venv/.tools-installed"
fi

env --unset=CARGO_TARGET_DIR make --directory "$there" --no-print-directory dev
echo "$there is ready"
