# make demo   build and run the demo            make test    everything that must pass
# make bench  benchmarks, as ratios             make lint    vet, staticcheck, gofmt
# make platforms  tests on 32-bit x86, and on arm64 and s390x under qemu
# make windows  tests of what touches files, and a session of the program, for Windows under wine
# make release  archives, packages, checksums and lists of parts in dist, for VERSION or the commit
# make beam     vet and test connect/beam, which takes minutes to compile
# make nightly  an hour: all tests, the long ones too, guided fuzzing, a thousand kills, races, memory, a soak of the service
# make weekly   the same and what takes hours
GO       ?= go
FUZZTIME ?= 1s
FUZZFLOOR ?= 100
export CGO_ENABLED = 0

# Modules of their own, whose dependencies are none of the library's. Beam alone takes longer to compile than everything
# else together, so make beam and make nightly test it.
MODULES = bench connect/stream engine/sqlitetest examples report/browsertest server/browsertest

.PHONY: demo build setup test race docs packages nested purego platforms windows lint fuzz bench beam release nightly weekly modules

demo: build
	./bin/hashgrove demo

build:
	$(GO) build -trimpath -ldflags="-s -w" -o bin/hashgrove ./cmd/hashgrove

test: setup lint race docs purego platforms fuzz

# What tests need beside Go. Those in report/browsertest and server/browsertest open the report and the page of the service
# in a browser, and npm downloads axe-core, which looks at the page for people who cannot see it. Those in client run the
# Python client, and those in engine and cmd start servers of PostgreSQL and Redis of their own in temporary folders and run
# sqlite3. Where something cannot be installed they are skipped with a message, or fail where HASHGROVE_REQUIRED names the
# thing (internal/needs).
MISSING = $(GO) run ./internal/needs/missing

# $(call install,THING,CHECK,PACKAGES,PURPOSE) installs packages of Debian where the check fails.
define install
	@if { $(2); } >/dev/null 2>&1; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then \
		echo "Installing $(strip $(3)) with apt-get: $(strip $(4))."; \
		export DEBIAN_FRONTEND=noninteractive; \
		{ apt-get update -q && apt-get install -q -y --no-install-recommends $(3); } || \
		$(MISSING) $(1) "$(strip $(3)) could not be installed: tests will be skipped."; \
	else \
		$(MISSING) $(1) "Only root can install what is missing of $(strip $(3)): tests may be skipped."; \
	fi
endef

PYTHON_HAS = f() { /usr/bin/python3 -c "import $$1" || python3 -c "import $$1"; }; f
setup:
	$(call install,browser,command -v chromium && command -v npm && [ -d /usr/share/fonts/truetype/dejavu ],\
		chromium fonts-dejavu-core npm,tests open pages in a browser)
	$(call install,python,$(PYTHON_HAS) numpy,python3 python3-numpy,the tests run the Python client)
	$(call install,faiss,$(PYTHON_HAS) faiss,python3-faiss,FAISS reads our files)
	$(call install,postgres,command -v pg_ctl || ls /usr/lib/postgresql/*/bin/initdb,postgresql,\
		the tests push codes into a server of their own)
	$(call install,qemu,command -v qemu-s390x-static,qemu-user-static,tests run on other kinds of processors)
	$(call install,sqlite,command -v sqlite3,sqlite3,the tests push codes into files of SQLite)
	$(call install,compiler,command -v gcc,gcc libc6-dev,the race detector and exported C code need it)
	$(call install,groff,command -v groff,groff-base,the tests read the manual pages)
	$(call install,shell,command -v bash && command -v curl,bash curl,the tests send files as the documents do)
	$(call install,zsh,command -v zsh,zsh,the tests read its completions)
	$(call install,fish,command -v fish,fish,the tests read its completions)
	@sh internal/redistest/install.sh || $(MISSING) redis "Redis 8 could not be fetched: the tests of that engine will be skipped."
	@sh internal/pgtest/install.sh || $(MISSING) pgvector "pgvector could not be compiled: searching with it will not be tested."

# The race detector is the one thing that needs a C compiler; without one the tests run plain. It slows the trees
# thirtyfold, so packages that train whole models, the suites of the engines but one, and the long tests run with it only in
# nightly. Everything runs without it in docs.
RACE ?= . ./boost/... ./client/... ./dataset/... ./engine/... ./eval/... ./hamming/... ./index/... ./inference/... \
	./internal/cli/... ./internal/gemm/... ./internal/items/... ./internal/pages/... ./internal/par/... ./internal/section/... \
	./internal/trial/... ./model/... ./server/... ./store/... ./vectors/...
SUITES = ^Test(Elastic|Milvus|Postgres|Redis|SQLite|SQLiteVec|Vespa|Weaviate)$$
race:
	@if command -v gcc >/dev/null 2>&1 || command -v clang >/dev/null 2>&1; then \
		CGO_ENABLED=1 $(GO) test -race -short -timeout 12m -skip '$(SUITES)|Budget' $(RACE); \
	else \
		$(MISSING) compiler "no C compiler: running the tests without the race detector" && $(GO) test -short -timeout 12m $(RACE); \
	fi

# More at a time than there are cores: some tests wait for servers of theirs, for a browser, or for a disk.
docs:
	@$(MAKE) --no-print-directory -j2 packages nested

packages:
	$(GO) test -timeout 12m ./...

nested:
	@for module in $(MODULES); do (cd $$module && $(GO) test -timeout 12m ./...) || exit 1; done

# The plain Go twins of the assembly kernels.
purego:
	$(GO) test -short -tags purego ./boost/... ./hamming/... ./model/... ./internal/gemm/... ./svm/...
	$(GO) test -short -tags purego -run 'Agree|Definition' ./feature/...

# Other kinds of processors: readers where int has 32 bits; under qemu kernels, formats, indexes and digests of trained
# models on arm64, and formats and digests on s390x, where numbers have the other order of bytes.
ARM64 = Kernel|StayInside|EqualsGo|EqualTheirTwins|QuantizeEquals|BackwardCompat|TreeEquals|NearestEquals|ManyCodes|GoldenFile|OtherOrder|FlippedBytes|Migrate$$|OnEveryMachine
S390X = BackwardCompat|NPY|Npy|IDX|RoundTrip|OtherOrder|OnEveryMachine/^(fasthash|ksh|mdsh)$$/classes
platforms:
	GOARCH=386 $(GO) test -short -vet=off -timeout 12m ./dataset ./hamming ./internal/section ./vectors
	@echo "count: platforms 2" # this one, on which everything runs, and 386
	@if command -v qemu-aarch64-static >/dev/null 2>&1 && command -v qemu-s390x-static >/dev/null 2>&1; then \
		GOARCH=arm64 $(GO) test -short -vet=off -timeout 12m -exec qemu-aarch64-static \
			./hamming ./internal/gemm ./internal/section ./svm && \
		GOARCH=arm64 $(GO) test -short -vet=off -timeout 12m -exec qemu-aarch64-static -run '$(ARM64)' \
			./boost ./feature ./index ./method ./model ./store && \
		GOARCH=s390x $(GO) test -short -vet=off -timeout 12m -exec qemu-s390x-static -run '$(S390X)' \
			./dataset ./hamming ./internal/section ./method ./model ./store && \
		echo "count: platforms 2"; \
	else \
		$(MISSING) qemu "qemu-user-static is missing: nothing is tested on arm64 and s390x."; \
	fi

# Not a part of make test: TestTypesOnEveryPlatform checks there that everything compiles for Windows.
windows:
	$(call install,wine,command -v wine && command -v x86_64-w64-mingw32-gcc,wine wine64 gcc-mingw-w64-x86-64-win32,\
		programs for Windows run under it)
	@GO=$(GO) sh internal/winetest/run.sh

lint:
	$(GO) mod verify
	$(GO) vet ./...
	$(GO) tool staticcheck ./...
	@for module in $(MODULES); do (cd $$module && $(GO) vet ./...) || exit 1; done
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then echo "gofmt would change:"; echo "$$unformatted"; exit 1; fi

# Every fuzz target for a short while, and until each has tried as many inputs as the floor says. Inputs are tried without a
# look at what they reach, with the binaries of the tests; in nightly they are guided. What guided fuzzing found lies in
# testdata/fuzz of each package.
fuzz:
	@$(GO) run ./internal/nightly fuzz -time $(FUZZTIME) -floor $(FUZZFLOOR)

# The same bytes in any folder, for the same source, VERSION and toolchain.
release:
	$(GO) run ./internal/release -version '$(VERSION)' $(if $(MAINTAINER),-maintainer '$(MAINTAINER)')

bench:
	$(GO) test -run '^$$' -bench . -benchtime 1x ./...

beam:
	cd connect/beam && $(GO) vet ./... && $(GO) test -timeout 12m ./...
	@staticcheck=$$($(GO) tool -n staticcheck); cd connect/beam && $$staticcheck ./...

# The stages are listed in internal/nightly/stages.go; logs and counts go to bin/nightly. After a night in which all
# passed, go run ./internal/nightly record takes the counts over into the documents.
nightly:
	$(GO) run ./internal/nightly

weekly:
	$(GO) run ./internal/nightly -weekly

modules:
	@echo $(MODULES)
