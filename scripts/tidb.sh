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
    # The replacements are those of TiDB's own go.mod, which do not count in another module.
    cat >"$work/go.mod" <<MOD
module example.org/tidb

go 1.25

require github.com/pingcap/tidb $VERSION

replace github.com/pingcap/tidb/pkg/parser => github.com/pingcap/tidb/pkg/parser ${VERSION/v1.1.0-beta.0./v0.0.0-}

replace github.com/go-ldap/ldap/v3 => github.com/YangKeao/ldap/v3 v3.4.5-0.20230421065457-369a3bab1117

replace sourcegraph.com/sourcegraph/appdash => github.com/sourcegraph/appdash v0.0.0-20190731080439-ebfcffb1b5c0

replace sourcegraph.com/sourcegraph/appdash-data => github.com/sourcegraph/appdash-data v0.0.0-20151005221446-73f23eafcf67
MOD
    (cd "$work" && go get "github.com/pingcap/tidb/cmd/tidb-server@$VERSION" >&2 &&
        go build -o "$program.new" github.com/pingcap/tidb/cmd/tidb-server)
    mv "$program.new" "$program"
    rm -rf "$work"
fi

dir=$(mktemp -d)
free() { python3 -c 'import socket; s=socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
port=$(free) status=$(free)
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
# The embedded store cannot read all tables whose rows lie in their key ("not supported
# in IntHandle" ends the process); TiKV, the store of a real cluster, is another program.
sql "SET GLOBAL tidb_enable_clustered_index = 'OFF'"
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
go build -o "$dir/sluice" ./cmd/sluice
export SLUICE_DATA=$dir/node SLUICE_ADMIN_KEY=tidb-operator-key-0123456789 SLUICE_JWT_SECRET=tidb-jwt-secret-0123456789-0123456789
export SLUICE_PAYMENT_SECRET=tidb-payment-secret-0123456789
public=127.0.0.1:$(free) operators=127.0.0.1:$(free)
"$dir/sluice" serve --listen "$public" --admin-listen "$operators" --admission ledger \
    --ledger "mysql://root:@127.0.0.1:$port/sale" >"$dir/serve.log" 2>&1 &
node=$!
trap 'kill "$node" "$pid" 2>/dev/null || true; wait "$node" "$pid" 2>/dev/null || true; rm -rf "$dir"' EXIT
for _ in $(seq 120); do
    curl -sf "http://$operators/readyz" >/dev/null && break
    kill -0 "$node" || { cat "$dir/serve.log" >&2; exit 1; }
    sleep 0.5
done
"$dir/sluice" lab --url "http://$public" --admin-url "http://$operators" --buyers 5000 --stock 500
