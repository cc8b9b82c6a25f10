#!/usr/bin/env bash
# Builds TiDB (four minutes, once), starts one on a free port with its data in a temporary folder, runs the ledger's
# suites and a sale on it, and stops it. Outside `make test`: nothing there needs TiDB.
#
#   scripts/tidb.sh              build, start, test, stop
#   scripts/tidb.sh serve        build and start; print the address; stop with Ctrl-C
#
# TIDB_CACHE is where the program is kept (default: $HOME/.cache/sluice/tidb).
set -euo pipefail

VERSION=v1.1.0-beta.0.20251126154744-e4e814fdc0af
cache=${TIDB_CACHE:-$HOME/.cache/sluice/tidb}
root=$(cd "$(dirname "$0")/.." && pwd)
program=$cache/tidb-server-$VERSION

if [ ! -x "$program" ]; then
    echo "building tidb-server $VERSION: about four minutes" >&2
    work=$(mktemp -d)
    mkdir -p "$cache"
    cat >"$work/go.mod" <<MOD
module example.org/tidb
go 1.25
MOD
    (cd "$work" && go get "github.com/pingcap/tidb/cmd/tidb-server@$VERSION" >&2 &&
        go build -o "$program.new" github.com/pingcap/tidb/cmd/tidb-server)
    mv "$program.new" "$program"
    rm -rf "$work"
fi

dir=$(mktemp -d)
port=$(python3 -c 'import socket; s=socket.socket(); s.bind(("127.0.0.1",0)); print(s.getsockname()[1])')
status=$(python3 -c 'import socket; s=socket.socket(); s.bind(("127.0.0.1",0)); print(s.getsockname()[1])')
"$program" -store unistore -path "$dir/data" -host 127.0.0.1 -P "$port" -status "$status" -status-host 127.0.0.1 \
    -socket "$dir/sock" -temp-dir "$dir/tmp" -log-file "$dir/log" >/dev/null 2>&1 &
pid=$!
trap 'kill "$pid" 2>/dev/null || true; wait "$pid" 2>/dev/null || true; rm -rf "$dir"' EXIT

sql() { mariadb --no-defaults -h 127.0.0.1 -P "$port" -u root -N -e "$1"; }
for _ in $(seq 120); do
    sql 'SELECT 1' >/dev/null 2>&1 && break
    kill -0 "$pid" || { tail -20 "$dir/log" >&2; exit 1; }
    sleep 0.5
done
echo "TiDB $(sql 'SELECT VERSION()') on 127.0.0.1:$port" >&2
export SLUICE_TEST_TIDB="mysql://root:@127.0.0.1:$port"
if [ "${1:-}" = serve ]; then
    echo "$SLUICE_TEST_TIDB"
    wait "$pid"
    exit 0
fi

cd "$root"
echo "== the ledger's suites" >&2
go test -count=1 -timeout 30m -tags tidb -run 'TiDB' ./internal/sqldb
echo "== a sale: 5,000 buyers, 500 units, claims admitted by the ledger" >&2
sql 'CREATE DATABASE sale'
mkdir -p "$dir/node"
go build -o "$dir/sluice" ./cmd/sluice
"$dir/sluice" lab --buyers 5000 --stock 500 --server-args \
    "--admission ledger --ledger mysql://root:@127.0.0.1:$port/sale" || exit 1
