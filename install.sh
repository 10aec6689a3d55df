#!/bin/sh
# Builds statewarden, puts it in place, wires it into Claude Code and shows that
# it works. `./install.sh --help` lists the options.
#
# Everything is a function and the last line runs `main`, so a file that was
# only half downloaded does nothing.

set -eu

# A release fills this line in.
releases='' version=''

# Where it is set, `cd` may go elsewhere and prints where.
unset CDPATH

usage() {
    cat <<'EOF'
Usage: ./install.sh [OPTIONS]

Builds statewarden from this checkout, or without cargo fetches its release, and
installs it. Runs `statewarden install` and `statewarden doctor`, and shows one
denied and one allowed write.

  --prefix DIR    install to DIR/bin (default: ~/.local)
  --project DIR   the project to wire (default: the current directory)
  --scope SCOPE   project, local, user, or none to wire nothing (default: where it is
                  wired already, else local)
  --from FILE     install this program instead of building one; a checksum
                  in FILE.sha256 or from --sha256 has to be right
  --sha256 SUM    checksum of the file given with --from
  --dry-run       say what would be done and do nothing
  --uninstall     take out everything this script put in under --prefix
  -h, --help      this text

STATEWARDEN_RELEASES is the address (https://… or file://…) of releases other than those
of this repository: the program is fetched from STATEWARDEN_RELEASES/vVERSION/.
EOF
}

say() { printf '%s\n' "$*"; }

die() {
    printf 'install.sh: %s\n' "$*" >&2
    exit 1
}

main() {
    prefix='' project=$PWD scope='' from='' sum=''
    dry_run=no verb=install given_project='' fresh=''
    parse "$@"
    [ -n "${HOME:-}" ] || die "HOME is not set; set it to your home directory: HOME=/home/you ./install.sh"
    : "${prefix:=$HOME/.local}"
    case $prefix in /*) ;; *) prefix=$PWD/$prefix ;; esac
    [ ! -d "$prefix" ] || prefix=$(cd "$prefix" && pwd)
    here=$(cd "$(dirname "$0")" && pwd -P)
    case $(uname -s) in
        MINGW* | MSYS* | CYGWIN*) exe=.exe ;;
        *) exe='' ;;
    esac
    program=$prefix/bin/statewarden$exe
    receipt=$prefix/bin/.statewarden-receipt
    if [ "$verb" = uninstall ]; then
        uninstall
    else
        [ -d "$project" ] || die "\`$project\` is not a directory"
        project=$(cd "$project" && pwd -P)
        check_home
        install
    fi
}

parse() {
    while [ $# -gt 0 ]; do
        case $1 in
            --prefix | --project | --scope | --from | --sha256)
                set_option "$1" "${2-}"
                shift
                ;;
            --*=*)
                set_option "${1%%=*}" "${1#*=}"
                ;;
            --dry-run) dry_run=yes ;;
            --uninstall) verb=uninstall ;;
            -h | --help)
                usage
                exit 0
                ;;
            *) refuse_option "$1" ;;
        esac
        shift
    done
    [ -z "$sum" ] || [ -n "$from" ] || usage_error "--sha256 goes with --from"
}

set_option() {
    case $1 in
        --prefix | --project | --scope | --from | --sha256)
            [ -n "$2" ] || usage_error "$1 needs a value"
            ;;
    esac
    case $1 in
        --prefix) prefix=$2 ;;
        --project) project=$2 given_project=yes ;;
        --scope)
            case $2 in
                project | local | user | none) scope=$2 ;;
                *) usage_error "--scope takes project, local, user or none, not \`$2\`" ;;
            esac
            ;;
        --from) from=$2 ;;
        --sha256) sum=$2 ;;
        *) refuse_option "$1" ;;
    esac
}

refuse_option() { usage_error "unknown option \`$1\`; see ./install.sh --help"; }

usage_error() {
    printf 'install.sh: %s\n' "$*" >&2
    exit 2
}

check_home() {
    case $scope in user | none) return ;; esac
    home=$(cd "$HOME" && pwd -P)
    [ "$project" != "$home" ] ||
        die "the home directory is no project; use --scope user, or --project DIR"
}

install() {
    if [ "$dry_run" = yes ]; then
        plan
        return
    fi
    scratch=$(mktemp -d "${TMPDIR:-/tmp}/statewarden.XXXXXX")
    scratch=$(cd "$scratch" && pwd -P)
    trap 'rm -rf "$scratch" "$fresh"' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
    if [ -z "$from" ] && has_cargo; then
        build
    else
        [ -n "$from" ] || fetch
        check_sum
        built=$from
    fi
    put_in_place
    status=0
    if [ "$scope" != none ]; then
        # It notes there what it wires.
        : >>"$receipt"
        "$program" install --project "$project" ${scope:+--scope "$scope"}
        say
        "$program" doctor --project "$project" || status=1
    fi
    say
    prove
    [ "$scope" != none ] || say "not wired yet: run \`$program install\` in a project, or use the plugin"
    if [ "$project" = "$here" ] && [ -z "$given_project" ]; then
        say "that project is statewarden's own checkout; for another: $program install --project DIR"
    fi
    [ "$status" -eq 0 ] || die "installed, but doctor found something to mend (above)"
}

plan() {
    if [ -n "$from" ]; then
        check_sum
        say "would install \`$from\` as \`$program\`"
    elif ! has_cargo; then
        find_release
        say "would fetch \`$url\` and install \`$program\`"
    else
        say "would build \`$here\` and install \`$program\`"
    fi
    [ "$scope" = none ] ||
        say "would run \`statewarden install --project $project${scope:+ --scope $scope}\` and \`statewarden doctor\`"
    if [ "$scope" != none ] && [ -x "$program" ]; then
        "$program" install --project "$project" ${scope:+--scope "$scope"} --dry-run
    fi
}

has_cargo() {
    if ! command -v cargo >/dev/null 2>&1; then
        PATH=${CARGO_HOME:-$HOME/.cargo}/bin:$PATH
    fi
    is_own_source && command -v cargo >/dev/null 2>&1
}

# Whether the script lies in its own sources: it may have been fetched into another's.
is_own_source() {
    grep -qsx 'name = "statewarden"' "$here/Cargo.toml"
}

# Sets `url`, the address of the released program for this machine.
find_release() {
    if [ -z "$version" ] && is_own_source; then
        version=$(sed -n '/^version = /{s/.*"\(.*\)".*/\1/p;q;}' "$here/Cargo.toml" 2>/dev/null) || :
        origin=''
        # Sources without a `.git` may lie in a checkout of something else.
        [ ! -e "$here/.git" ] || origin=$(git -C "$here" remote get-url origin 2>/dev/null) || origin=''
        case $origin in https://*) releases=${origin%.git}/releases/download ;; esac
    fi
    releases=${STATEWARDEN_RELEASES:-$releases}
    if [ -z "$releases" ] || [ -z "$version" ]; then
        die "no cargo to build with and no release known. Install Rust (https://rustup.rs), or give a built program: --from FILE"
    fi
    case $(uname -sm) in
        'Linux x86_64') target=x86_64-unknown-linux-musl ;;
        'Linux aarch64') target=aarch64-unknown-linux-musl ;;
        'Darwin x86_64') target=x86_64-apple-darwin ;;
        'Darwin arm64') target=aarch64-apple-darwin ;;
        MINGW* | MSYS* | CYGWIN*) target=x86_64-pc-windows-msvc ;;
        *) die "there is no release for $(uname -sm): install Rust (https://rustup.rs)" ;;
    esac
    url=$releases/v$version/statewarden-$target$exe
}

# Fetches the released program and its checksum, and goes on as with --from.
fetch() {
    find_release
    from=$scratch/statewarden
    say "fetching $url"
    download "$url" "$from"
    download "$url.sha256" "$from.sha256"
}

download() {
    case $1 in
        https://*) proto='=https' ;;
        file:///*) proto='=file' ;;
        *) die "programs are fetched by https:// alone, not from $1; nothing was installed" ;;
    esac
    # wget cannot be kept from following a redirection to http.
    command -v curl >/dev/null 2>&1 || die "no curl to fetch $1 with: install it, or give a built program: --from FILE"
    curl --proto "$proto" --proto-redir '=https' --tlsv1.2 \
        --fail --silent --show-error --location --output "$2" "$1" ||
        die "could not fetch $1; nothing was installed"
}

# Sets `built`. A static musl program starts several times faster than one that
# is linked dynamically, so that target comes first where it can be had.
build() {
    out=${CARGO_TARGET_DIR:-$here/target}
    target=$(musl_target)
    if [ -n "$target" ] && compile --target "$target"; then
        built=$out/$target/release/statewarden$exe
    else
        compile || die "cargo could not build statewarden (above)"
        built=$out/release/statewarden$exe
    fi
}

compile() {
    say "building: cargo build --release${1:+ $*}"
    (cd "$here" && cargo build --release --locked --bin statewarden --target-dir "$out" "$@")
}

# Prints the musl target of this machine where Rust has it or rustup can add it.
musl_target() {
    host=$(rustc -vV | sed -n 's/^host: //p')
    case $host in
        x86_64-*-linux-*) musl=x86_64-unknown-linux-musl ;;
        aarch64-*-linux-*) musl=aarch64-unknown-linux-musl ;;
        *) return 0 ;;
    esac
    libraries=$(rustc --print target-libdir --target "$musl") || return 0
    if [ -d "$libraries" ] || rustup target add "$musl" >/dev/null 2>&1; then
        say "$musl"
    fi
}

check_sum() {
    [ -f "$from" ] || die "\`$from\` is not a file"
    if [ -z "$sum" ]; then
        [ -f "$from.sha256" ] || { say "no checksum for \`$from\`, so it is not checked" && return; }
        read -r sum _ <"$from.sha256" || [ -n "$sum" ] || die "\`$from.sha256\` is empty"
    fi
    sum=$(say "$sum" | tr 'A-F' 'a-f')
    found=$(sha256 "$from")
    [ "$found" = "$sum" ] || die "\`$from\` has checksum $found, not $sum; nothing was installed"
}

sha256() {
    if command -v sha256sum >/dev/null 2>&1; then
        sha256sum <"$1" | cut -d ' ' -f 1
    elif command -v shasum >/dev/null 2>&1; then
        shasum -a 256 <"$1" | cut -d ' ' -f 1
    else
        openssl dgst -sha256 <"$1" | sed 's/.* //'
    fi
}

# Copies the program under a temporary name and renames it, so that a hook that
# runs right now finds the old program or the new one.
put_in_place() {
    if cmp -s "$built" "$program" && [ -x "$program" ]; then
        say "already in place: \`$program\`"
        return
    fi
    [ ! -d "$program" ] || die "\`$program\` is a directory; move it away, or install elsewhere with --prefix DIR"
    list_missing "$prefix/bin" >"$scratch/dirs"
    mkdir -p "$prefix/bin"
    fresh=$prefix/bin/.statewarden.$$.tmp
    if ! cp "$built" "$fresh" || ! chmod 755 "$fresh"; then
        take_back "\`$built\` could not be copied into \`$prefix/bin\` (above)"
    fi
    # What cannot run would refuse every call in the projects that are wired.
    is_statewarden "$fresh" || take_back "\`$built\` is no statewarden for this machine"
    mv -f "$fresh" "$program"
    note "program $program"
    while read -r dir; do note "dir $dir"; done <"$scratch/dirs"
    say "installed \`$program\`"
}

take_back() {
    rm -f "$fresh"
    remove_dirs <"$scratch/dirs"
    die "$1; nothing was installed"
}

is_statewarden() {
    case $("$1" --version 2>/dev/null </dev/null) in
        'statewarden '*) ;;
        *) return 1 ;;
    esac
}

# Removes the directories that are listed, the deepest first, as far as they are empty.
remove_dirs() {
    while read -r dir; do
        rmdir "$dir" 2>/dev/null || break
    done
}

# Lists the directories of a path that are not there, the deepest first.
list_missing() {
    dir=$1
    while [ ! -d "$dir" ]; do
        say "$dir"
        dir=$(dirname "$dir")
    done
}

# Adds a line to the receipt that `--uninstall` works from.
note() {
    if ! grep -qxF -- "$1" "$receipt" 2>/dev/null; then
        say "$1" >>"$receipt"
    fi
}

# Asks the installed program about two writes in a project that is thrown away.
prove() {
    mkdir -p "$scratch/.devt/state"
    denied=$(ask notes.md)
    case $denied in
        *'"permissionDecision":"deny"'*) ;;
        *) die "the proof failed: a write of .devt/state/notes.md was not denied: $denied" ;;
    esac
    say "denied:  a write of .devt/state/notes.md. What Claude Code was told:"
    say "         $denied"
    allowed=$(ask scratchpad.md)
    [ -z "$allowed" ] || die "the proof failed: a write of .devt/state/scratchpad.md was not allowed: $allowed"
    say "allowed: a write of .devt/state/scratchpad.md. No objection is no output."
}

ask() {
    printf '{"session_id":"install","transcript_path":"","cwd":"%s","hook_event_name":"PreToolUse","tool_name":"Write","tool_input":{"file_path":"%s","content":"A line.\\n"}}\n' \
        "$scratch" "$scratch/.devt/state/$1" |
        CLAUDE_PROJECT_DIR=$scratch HOME=$scratch/home XDG_CONFIG_HOME=$scratch/home XDG_STATE_HOME=$scratch/home \
            "$program" hook
}

uninstall() {
    [ -e "$receipt" ] || [ -x "$program" ] || {
        say "not installed: \`$program\`"
        return
    }
    if [ ! -e "$receipt" ]; then
        die "\`$program\` was not installed by this script; run \`statewarden uninstall\` and remove it by hand"
    fi
    while read -r what where dir; do
        [ "$what" != wired ] || unwire "$where" "$dir" ||
            die "entries that run \`$program\` are left (above), so it stays"
    done <"$receipt"
    if ! grep -q '^program ' "$receipt"; then
        say "\`$program\` was there before and stays"
        [ "$dry_run" = yes ] || rm -f "$receipt"
        return
    fi
    if [ "$dry_run" = yes ]; then
        say "would remove \`$program\`"
        return
    fi
    dirs=$(sed -n 's/^dir //p' "$receipt")
    rm -f "$program" "$receipt"
    remove_dirs <<EOF
$dirs
EOF
    say "removed \`$program\`"
}

# Takes out the entries that run this program and leaves those of another copy.
unwire() {
    if [ "$1" != user ] && [ ! -d "$2" ]; then
        say "\`$2\` is gone; if it was moved, its settings still run \`$program\`"
        return
    fi
    [ -x "$program" ] ||
        die "\`$program\` is gone, but its entries may not be; put it back with --scope none, then --uninstall"
    set -- --scope "$1" --project "$2"
    [ -d "$4" ] || set -- --scope user
    [ "$dry_run" = no ] || set -- "$@" --dry-run
    "$program" uninstall --own "$@" </dev/null
}

{ main "$@"; exit; }
