#!/usr/bin/env bash
# Fetches the MySQL that Debian unstable has, with the libraries that it needs, verifies their signatures, unpacks them
# into a folder of its own (nothing is installed), and runs on it what runs on MariaDB otherwise, and a sale. Outside
# `make test`: a folder of MySQL's takes ten seconds to make, where MariaDB's takes one.
#
#   scripts/mysql.sh                   fetch (once), the ledger's suites, a sale of nodes on it
#   scripts/mysql.sh fetch             fetch, and print the folder for SLUICE_TEST_MYSQL
#   scripts/mysql.sh test ./internal/settle -run X     fetch, and go test with that MySQL in MariaDB's place
#
# MYSQL_CACHE is where it is kept (default: $HOME/.cache/sluice/mysql). It needs Debian's apt and its keys
# (debian-archive-keyring).
set -euo pipefail

cache=${MYSQL_CACHE:-$HOME/.cache/sluice/mysql}
root=$(cd "$(dirname "$0")/.." && pwd)
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
keys=/usr/share/keyrings/debian-archive-keyring.gpg

fetch() {
    if [ -x "$cache/root/usr/sbin/mysqld" ]; then
        return
    fi
    echo "fetching MySQL: 55 MB" >&2
    rm -rf "$cache"
    mkdir -p "$cache/apt/lists/partial" "$cache/apt/cache/archives/partial" "$cache/debs"
    : >"$cache/apt/status" # as if nothing were installed, so that every library comes along
    echo "deb [signed-by=$keys] $mirror sid main" >"$cache/apt/sources"
    cat >"$cache/apt/conf" <<CONF
Dir::Etc::sourcelist "$cache/apt/sources";
Dir::Etc::sourceparts "-";
Dir::Etc::trusted "/dev/null";
Dir::Etc::trustedparts "/nonexistent";
Dir::State::lists "$cache/apt/lists";
Dir::State::status "$cache/apt/status";
Dir::Cache "$cache/apt/cache";
Acquire::Languages "none";
APT::Install-Recommends "false";
APT::Sandbox::User "$(id -un)";
CONF
    export APT_CONFIG=$cache/apt/conf
    apt-get update >&2
    # The scripts beside the server need Perl; the server does not.
    local packages
    packages=$(apt-get -s install mysql-server-core | awk '/^Inst/ { print $2 }' |
        grep -vE '^(perl|libperl|libgdbm|libdb5|libbz2|gcc-[0-9]+-base|libc-gconv|openssl-provider)')
    (cd "$cache/debs" && apt-get download $packages >&2)
    unset APT_CONFIG
    for deb in "$cache"/debs/*.deb; do
        dpkg-deb -x "$deb" "$cache/root.new"
    done
    mv "$cache/root.new" "$cache/root"
    rm -rf "$cache/debs" "$cache/apt"
}

fetch
export SLUICE_TEST_MYSQL=$cache/root
lib=$(dirname "$(ls -d "$cache"/root/usr/lib/*/ld-linux*.so.*)")
version=$("$lib"/ld-linux*.so.* --library-path "$lib" "$cache/root/usr/sbin/mysqld" --version | sed 's/.*Ver/Ver/')
echo "MySQL $version" >&2
cd "$root"
case ${1:-} in
fetch) echo "$SLUICE_TEST_MYSQL" ;;
test)
    shift
    go test -count=1 -timeout 60m "$@"
    ;;
*)
    echo "== the ledger's suites, faults on the way to it, ten nodes that migrate at once" >&2
    go test -count=1 -timeout 60m ./internal/sqldb ./internal/direct
    echo "== settlers on it, what doctor says of it" >&2
    go test -count=1 -timeout 30m ./internal/settle
    go test -count=1 -timeout 30m -run Doctor ./cmd/sluice
    echo "== fleets on it: three nodes, ten that start at once, a sale on guarded stores" >&2
    go test -count=1 -timeout 30m -run 'TestThreeNodes|TestTenNodesMigrateAtOnce|TestServeOnGuardedRedis' ./test/e2e
    ;;
esac
