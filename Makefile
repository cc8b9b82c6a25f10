# make run    build and start the demo
# make test   everything: format, vet, lint, house rules, unit, conformance, race, end to end, the pages; meant to take under 25 minutes on two cores
# make check  the inner loop, about two minutes
# make chaos  every part broken in every way in the middle of a sale at full size, into docs/chaos.md; half an hour
# make bench  micro-benchmarks, then the promised figures beside their baselines, into bench/history.jsonl
# make golden rewrite the golden files from what the code gives now
# make servers installs the real servers that tests start, where they are missing (Debian, Ubuntu)
# make fuzz   every fuzzer for FUZZTIME
# make web    builds the pages and the TypeScript SDK into the folders that the binary embeds; needs Node 20
# make browser  the pages in a real Chromium, against the built binary

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

GO          ?= go
LINT_VERSION := 2.15.0
LINT        := bin/golangci-lint
FUZZTIME    ?= 20s
BENCHTIME   ?= 1s
BENCH_ARGS  ?=
RUN_ARGS    ?=
VERSION     ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)

# Lazy on purpose: only the targets that need a list pay for it.
UNIT   = $(shell $(GO) list ./... | grep -v /test/)
# What the race detector looks at: all that has something to race, which a house test holds against this list.
RACED  = $(shell $(GO) list ./... | grep -v -e /test/ -e /internal/model$$ -e /internal/house$$ -e /internal/servers$$)
# SQLite is C, translated: instrumented it is several times slower, and the detector can say nothing of our code in it.
RACE   = -race -vet=off '-gcflags=modernc.org/...=-race=false'
# The longest come first, so that none of them runs alone at the end; and two more at once than there are cores, since
# they wait for servers more than they work.
LONG   = ./internal/redis ./internal/sqldb ./internal/rabbitmq ./internal/upkeep ./internal/direct ./internal/sim ./cmd/sluice
AT_ONCE ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 2)
GOLDEN = $(shell grep -rlE --include='*_test.go' 'flag.Bool."update"' . | xargs -r -n1 dirname | sort -u)

.PHONY: help
help:
	@sed -n 's/^# make /  make /p' Makefile

.PHONY: build
build:
	@mkdir -p bin
	$(GO) build -ldflags '-X main.version=$(VERSION)' -o bin/sluice ./cmd/sluice

.PHONY: run
run: build
	./bin/sluice demo $(RUN_ARGS)

.PHONY: deps
deps: $(LINT)
	$(GO) mod download
	$(GO) mod verify

# A linter of this very version that is already installed is taken as it is; else it is built, which takes minutes.
$(LINT): Makefile
	@mkdir -p bin
	@have="$$($(GO) env GOPATH)/bin/golangci-lint"; \
	if "$$have" version 2>/dev/null | grep -q 'version $(LINT_VERSION) '; then \
		cp "$$have" $(LINT); \
	else \
		echo "building golangci-lint $(LINT_VERSION)"; \
		GOBIN="$(CURDIR)/bin" $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v$(LINT_VERSION); \
	fi
	@touch $(LINT)

# go.mod and go.sum say what the code needs, and no more.
.PHONY: tidy
tidy:
	$(GO) mod tidy -diff

.PHONY: fmt
fmt:
	@bad="$$(gofmt -l $$(git ls-files --cached --others --exclude-standard '*.go'))"; \
	if [ -n "$$bad" ]; then echo "not gofmt'ed:"; echo "$$bad"; exit 1; fi

.PHONY: vet
vet:
	$(GO) vet ./...

.PHONY: lint
lint: $(LINT)
	$(LINT) run ./...

.PHONY: arrows
arrows:
	$(GO) test -count=1 ./internal/house

# What tests start by themselves: internal/servers. Nothing is installed where all of it is there.
SERVERS = redis-server:redis-server mariadb-server:mariadbd rabbitmq-server:rabbitmqctl nginx:nginx systemd:systemd-analyze
.PHONY: servers
servers:
	@missing=""; for s in $(SERVERS); do \
		PATH="$$PATH:/usr/sbin:/sbin" command -v "$${s#*:}" >/dev/null || missing="$$missing $${s%%:*}"; done; \
	[ -n "$$missing" ] || exit 0; \
	echo "installing:$$missing"; \
	as=""; [ "$$(id -u)" = 0 ] || as="sudo"; \
	$$as apt-get update -q && \
	$$as env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $$missing

.PHONY: unit
unit: servers
	$(GO) test -p $(AT_ONCE) -timeout 15m $(LONG) $(UNIT)

.PHONY: race
race: servers
	$(GO) test $(RACE) -p $(AT_ONCE) -timeout 15m $(LONG) $(RACED)

.PHONY: e2e
e2e: servers
	$(GO) test -count=1 -v -vet=off -timeout 15m -p 2 ./test/e2e/... ./test/upgrade/... ./test/front/...

# The pages are committed as built, so that the binary builds without Node. Each folder has its own locked packages.
NPM_CI = npm ci --prefer-offline --no-audit --no-fund --silent
PAGES = $(patsubst %/package.json,%,$(wildcard web/storefront/package.json web/console/package.json))
BUILT = internal/storefront/dist internal/console/dist
.PHONY: web
web:
	@for d in $(PAGES); do echo "building $$d"; (cd $$d && $(NPM_CI) && npm run --silent build); done

# What is committed is what the sources give.
.PHONY: web-check
web-check: web
	@git --no-pager diff --exit-code --stat -- $(BUILT) && [ -z "$$(git status --porcelain -- $(BUILT))" ]

# Chromium and Chinese letters for the browser tests, where they are missing (Debian, Ubuntu).
.PHONY: chromium
chromium:
	@missing=""; command -v chromium >/dev/null || missing="chromium"; \
	fc-list 2>/dev/null | grep -q 'Noto.*CJK' || missing="$$missing fonts-noto-cjk"; \
	[ -n "$$missing" ] || exit 0; \
	echo "installing: $$missing"; \
	as=""; [ "$$(id -u)" = 0 ] || as="sudo"; \
	$$as apt-get update -q && \
	$$as env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $$missing

# The TypeScript SDK by itself, its examples among its tests.
.PHONY: sdk
sdk:
	cd web/sdk && $(NPM_CI) && npm test --silent

.PHONY: browser
browser: build chromium servers
	cd web/e2e && $(NPM_CI) && node all.mjs

# Eight cells of the chaos matrix; the seed is printed.
CHAOS_ARGS ?=
.PHONY: chaos-some
chaos-some:
	$(GO) test -count=1 -v -timeout 20m ./test/chaos $(CHAOS_ARGS)

.PHONY: chaos
chaos: servers
	$(GO) test -count=1 -v -timeout 90m ./test/chaos -full -table $(CURDIR)/docs/chaos.md $(CHAOS_ARGS)

.PHONY: check
check: fmt vet lint unit

# What vet and arrows did already is not done again. What measures a fleet by the clock (e2e, chaos) has the machine to itself.
.PHONY: test
test: deps servers tidy fmt vet lint arrows
	$(GO) test -count=1 -v -vet=off -p $(AT_ONCE) -timeout 15m $(LONG) $(filter-out %/internal/house,$(UNIT))
	$(MAKE) --no-print-directory race
	$(MAKE) --no-print-directory e2e
	$(MAKE) --no-print-directory web-check
	$(MAKE) --no-print-directory sdk
	$(MAKE) --no-print-directory browser
	$(MAKE) --no-print-directory chaos-some

.PHONY: bench
bench: build
	$(GO) test -run '^$$' -bench . -benchmem -benchtime $(BENCHTIME) -p 1 $(UNIT)
	$(GO) run ./bench $(BENCH_ARGS)

.PHONY: golden
golden:
	@for d in $(GOLDEN); do $(GO) test -count=1 "$$d" -update; done
	git --no-pager diff --stat

.PHONY: fuzz
fuzz:
	@grep -rnoE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]+' . | sed -E 's|^(.*)/[^/]+:[0-9]+:func |\1 |' \
	| while read -r dir name; do \
		echo "fuzz $$dir $$name"; \
		$(GO) test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) "$$dir"; \
	done

.PHONY: clean
clean:
	rm -rf bin coverage
