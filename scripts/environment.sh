# Sourced by ./start and ./check, from the root of the checkout: makes .venv, and only when needed.

# make_environment FILE: install the requirements of FILE into .venv unless that was done before.
make_environment() {
    local wanted stamp=".venv/installed-$1"
    wanted=$(cat requirements.txt requirements-dev.txt constraints.txt | sha256sum)
    if [ -x .venv/bin/python ] && [ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ]; then
        return
    fi
    if [ ! -x .venv/bin/python ]; then
        "$(find_python)" -m venv .venv
    fi
    echo "Installing the packages of $1 into .venv; this happens once." >&2
    .venv/bin/python -m pip install --quiet --disable-pip-version-check -r "$1"
    echo "$wanted" >"$stamp"
}

# find_python: print a Python that is new enough.
find_python() {
    local candidate
    for candidate in python3.11 python3 python3.12 python3.13; do
        if "$candidate" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' \
            2>/dev/null; then
            echo "$candidate"
            return
        fi
    done
    echo "Python 3.11 or newer with venv is needed: apt-get install python3 python3-venv" >&2
    return 1
}

# need_packages PACKAGE...: install Debian packages, as root or through sudo.
need_packages() {
    local as_root=""
    [ "$#" -gt 0 ] || return 0
    if [ "$(id -u)" -ne 0 ]; then
        as_root=sudo
    fi
    if ! command -v apt-get >/dev/null || { [ -n "$as_root" ] && ! command -v sudo >/dev/null; }; then
        echo "These are missing; please install them: $*" >&2
        return 1
    fi
    echo "Installing with apt: $*" >&2
    $as_root apt-get -qq update
    $as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get -qq install -y --no-install-recommends "$@" >/dev/null
}
