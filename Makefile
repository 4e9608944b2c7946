# make demo   build and run the demo            make test    go vet, and the tests of two minutes, which need only Go
# make check  everything that must pass before  make lint    golangci-lint, as .golangci.yml says
#             a change lands                    make bench   benchmarks, as ratios
# make fresh  demo and test on Debians that nobody has touched, as root and as a user without rights
# make release  archives, wheels and checksums in dist, for VERSION or the commit, and for PLATFORM or all
# make engines  searches of our codes in DuckDB, ClickHouse, PostgreSQL, Dask and on a cluster of Spark, beside our own index
# make nightly  hours: all tests, the long ones too, guided fuzzing, a thousand kills, mutants, races, other programs
# make clean    remove what was built here and what make setup has put into the cache folder
GO       ?= go
# For go test, such as TESTFLAGS='-shuffle=on -count=1'.
TESTFLAGS ?=
export CGO_ENABLED = 0

# Where the home folder cannot be written, the caches lie in the checkout.
CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)
ifneq ($(shell mkdir -p '$(CACHE)' 2>/dev/null && [ -w '$(CACHE)' ] && echo yes),yes)
CACHE := $(CURDIR)/.cache
export XDG_CACHE_HOME = $(CACHE)
GOPATH ?= $(CACHE)/go
GOCACHE ?= $(CACHE)/go-build
export GOPATH GOCACHE
endif

# Modules of their own, whose dependencies are none of the library's.
MODULES = $(filter-out x/tools,$(patsubst %/go.mod,%,$(wildcard */go.mod */*/go.mod */*/*/go.mod)))

.PHONY: demo build setup test check checks engines full race nested twins platforms types lint bench release fresh \
	nightly modules clean

demo: build
	./bin/hashgrove demo

build:
	$(GO) build -trimpath -ldflags="-s -w" -o bin/ ./cmd/hashgrove ./cmd/hashgrove-gpu

# A test process may take three quarters of the machine's memory, and fails then, instead of the machine.
BOUNDED = ulimit -d $$(awk '/MemTotal/ { print int($$2 * 3 / 4) }' /proc/meminfo 2>/dev/null || echo unlimited) 2>/dev/null;

test:
	$(GO) vet ./...
	$(BOUNDED) $(GO) test -vet=off -timeout 30m $(TESTFLAGS) ./...

# What tests need beside Go: a browser, a server of PostgreSQL, other programs. Where something cannot be installed
# a message says which tests are skipped.
setup:
	@sh internal/testkit/needs/setup.sh

# HASHGROVE_REQUIRED has all tests run in full, and fail where something is missing that setup could have installed.
check: setup
	@HASHGROVE_REQUIRED=$${HASHGROVE_REQUIRED-$$($(GO) run ./internal/testkit/needs/required)} \
		$(MAKE) --no-print-directory -j2 --output-sync=target checks

checks: full race nested twins platforms types lint

# make check runs all of these but Spark, whose installation and cluster take minutes: nightly runs that too.
engines:
	@sh internal/testkit/needs/setup.sh python venv engines postgres spark
	HASHGROVE_REQUIRED=engines,postgres,spark $(GO) test -count=1 -v -timeout 60m -run '^TestEngines$$' $(TESTFLAGS) ./client

full:
	$(BOUNDED) $(GO) test -timeout 30m $(TESTFLAGS) ./...

# The packages in which goroutines share memory or files; the others only call them. The race detector is the one thing that
# needs a C compiler. It slows the trees thirtyfold: the long tests run with it only in nightly.
QUICK = HASHGROVE_REQUIRED=
RACE = ./internal/fasthash/boost/... ./internal/fasthash/inference ./internal/numeric/gemm ./internal/numeric/linalg ./client/... ./internal/postgres ./internal/hamming/... ./internal/index/... ./internal/cli/... \
	./internal/par/... ./internal/fileio/... ./server/... ./internal/store/... ./internal/vectors/...
REQUIRED = $(GO) run ./internal/testkit/needs/required
race:
	@if command -v gcc >/dev/null 2>&1 || command -v clang >/dev/null 2>&1; then \
		$(QUICK) CGO_ENABLED=1 $(GO) test -race -timeout 30m -skip Budget $(TESTFLAGS) $(RACE); \
	else \
		$(REQUIRED) compiler "no C compiler: no race detector"; \
	fi

nested:
	@for module in $(MODULES); do \
		(cd $$module && $(GO) vet ./... && $(GO) test -timeout 30m $(TESTFLAGS) ./...) || exit 1; \
	done

# The plain Go twins of the assembly kernels.
twins:
	$(QUICK) $(GO) test -timeout 30m -tags purego $(TESTFLAGS) ./internal/fasthash/boost/... ./internal/hamming/... ./internal/numeric/gemm/... ./internal/numeric/linalg/... ./internal/fasthash/svm/...
	$(QUICK) $(GO) test -timeout 30m -tags purego $(TESTFLAGS) -run 'Agree|Definition|Equal|Kernel' ./internal/model

# Other kinds of processors: readers where int has 32 bits; under qemu kernels, formats, indexes and digests of trained
# models on arm64.
ARM64 = Kernel|StayInside|EqualsGo|EqualTheirTwins|QuantizeEquals|BackwardCompat|TreeEquals|NearestInParts|ManyCodes|GoldenFile|FlippedBytes|Migrate$$|OnEveryMachine
EMULATED = $(GO) test -vet=off -timeout 30m $(TESTFLAGS)
platforms:
	$(QUICK) GOARCH=386 $(EMULATED) ./internal/dataset ./internal/hamming ./internal/fileio ./internal/vectors
	@if command -v qemu-aarch64-static >/dev/null 2>&1; then \
		$(QUICK) GOARCH=arm64 $(EMULATED) -exec qemu-aarch64-static ./internal/hamming ./internal/numeric/gemm ./internal/fileio ./internal/fasthash/svm && \
		$(QUICK) GOARCH=arm64 $(EMULATED) -exec qemu-aarch64-static -run '$(ARM64)' ./internal/fasthash/boost ./internal/index ./internal/method ./internal/model ./internal/store; \
	else \
		$(REQUIRED) qemu "qemu-user-static is missing: nothing is tested on arm64."; \
	fi

# Everything compiles for the platforms of a release; make release itself links the programs.
types:
	cd x/tools && $(GO) run ./platforms ../..

# The first time golangci-lint is compiled, in 85 s on two cores and 170 s on two busy ones; then it is in the cache.
GOLANGCI = $$(cd '$(CURDIR)/x/tools' && $(GO) tool -n golangci-lint) run --allow-parallel-runners ./...
lint:
	$(GO) mod verify
	$(GOLANGCI)

release:
	$(GO) run ./x/release -version '$(VERSION)' -platform '$(PLATFORM)'

bench:
	$(GO) test -run '^$$' -bench . -benchtime 1x ./...

# RUNS and COMMANDS choose a part: x/fresh has the scripts.
fresh:
	@GO=$(GO) sh x/fresh/run.sh

# STAGES chooses some; logs go to bin/nightly.
nightly:
	@GO=$(GO) sh x/nightly/run.sh $(STAGES)

modules:
	@echo $(MODULES)

clean:
	-chmod -R u+w .cache 2>/dev/null # modules are read-only
	rm -rf bin dist .cache '$(CACHE)/hashgrove-test'
