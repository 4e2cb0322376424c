# Thin: every target is one command that can be typed by hand.
PREFIX ?= /usr/local

.PHONY: help
help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | sort | expand -t 12

.PHONY: build
build: ## build ./iocause, one static binary
	CGO_ENABLED=0 go build -trimpath -o iocause .

.PHONY: light
light: ## build ./iocause without the storage engine: 28 MB rather than 38, no agent, no query, no mcp
	CGO_ENABLED=0 go build -trimpath -tags light -o iocause .

.PHONY: install
install: build ## install to $(PREFIX)/bin (DESTDIR is honoured)
	install -D -m 0755 iocause $(DESTDIR)$(PREFIX)/bin/iocause

.PHONY: test
test: ## run every test (as root, or with sudo)
	./test/all

.PHONY: scenarios
scenarios: ## put every cause on this machine and demand its name, in all variants (root, 9 minutes)
	go test ./scenarios -all -v -count=1 -timeout 30m

.PHONY: race-commands
race-commands: ## run commands that watch, write and are interrupted under the race detector (root, 4 minutes)
	CGO_ENABLED=1 go test -race -short ./internal/cli -count=1 -run 'StopsOnSIGTERM|BesideAnAgent|JudgeIncident|Interrupt|HasItsSignals|EndsHalfWay|RecordRuns|RecordEnds|LabRunKeeps|LabEatReaches|LabEatEnds|Progress|KilledTrace|TraceEnds'

.PHONY: laws
laws: ## judge a million windows that nobody recorded (half an hour; IOCAUSE_SYNTHETIC=FROM..TO with go test for a part)
	IOCAUSE_SYNTHETIC=1000000 go test ./internal/diagnose -run 'TestSynthetic|TestLaws' -timeout 1h -v

.PHONY: browser
browser: ## use the pages of reports in Chromium, as people do
	go test -tags browser ./internal/cli -run 'TestFirstScreen|TestByMouse|TestSavedPictures|TestByKeyboard|TestManyCells|TestHostileNamesInABrowser|TestAgentsPageInABrowser|TestFlamesInABrowser|TestSituationsInABrowser' -v

.PHONY: screenshots
screenshots: ## make pictures of pages and of the live screen in dist/screenshots, with Chromium
	mkdir -p dist/screenshots
	IOCAUSE_SCREENSHOTS=$(CURDIR)/dist/screenshots go test ./internal/live/feed -run TestGoldenScreens -count=1
	IOCAUSE_SCREENSHOTS=$(CURDIR)/dist/screenshots go test -tags browser ./internal/cli -run TestScreenshots -v

SITUATIONS = ^(cache-pollution|cgroup-cache-limit|cgroup-io-throttle-bps|cold-cache-scan|cpu-saturated|device-degraded|device-errors|device-latency-bound|direct-io|dirty-throttling|fuse-daemon-slow|healthy-cached-reads|lock-contention|microbursts|noisy-neighbour|readahead-waste|reclaim-stall|swap-thrash|sync-writes|writeback-interference)$$

.PHONY: situations
situations: build ## record the situations that first screens are held against (root, 5 minutes)
	./iocause lab score --filter '$(SITUATIONS)' --keep dist/situations
	IOCAUSE_SITUATIONS=$(CURDIR)/dist/situations go test ./internal/cli -run TestKeepSituations -v -count=1

.PHONY: ci
ci: ## run everything that must hold for a change, tests included
	bash .ci/run

.PHONY: vm-score
vm-score: build ## count right verdicts on what needs a virtual machine (20 minutes)
	./iocause lab score --vm

.PHONY: vm-sleep
vm-sleep: ## in a virtual machine that sleeps, and whose parts come and go, check what the agent records
	./test/vm/sleep

.PHONY: release
release: ## make archives, packages and a container image in dist/ (from a clean clone)
	cd deploy/release && CGO_ENABLED=0 go run . -root ../.. -o ../../dist

.PHONY: release-check
release-check: ## make a release twice, compare, and install it in clean systems (root, Debian)
	./test/release

.PHONY: helm-check
helm-check: ## lint the Helm chart, render it, and hold it against the types of Kubernetes
	cd deploy/helm/check && CGO_ENABLED=0 GOWORK=off go test -count=1 ./...

TRUTH = Truth|TestCallsWithoutEvents|TestAccountOnO|TestReadLarger|TestReadsBeyond|TestReadsThatMayNot|TestMajorFaults|TestDirectReads|TestFunctionsAreProved

.PHONY: vm-truth
vm-truth: ## hold the account of the page cache against known loads, on each kernel and by each way (2 hours)
	./test/vm/matrix -w each -p 10007 -n truth -r '$(TRUTH)' -u ./internal/source/probe/pagecache

.PHONY: vm-matrix
vm-matrix: ## on each kernel: the BPF tests, known loads by each way, and a dozen scenarios, for docs/kernels.md (some hours)
	$(MAKE) -k vm-tests vm-truth vm-verdicts

.PHONY: vm-tests
vm-tests: ## run the BPF tests on several kernels in virtual machines
	./test/vm/matrix -u

VERDICTS = cold-cache-(scan|random)|cpu-bound|cpu-quota|cpu-saturated|dd-dsync|device-(errors|latency-bound|queueing-threads)|direct-io|dirty-throttling|fuse-daemon-slow|lock-contention|lock-of-the-program|small-io|sync-writes

.PHONY: vm-verdicts
vm-verdicts: ## score scenarios on Debian 12's kernel, with cgroup v2 alone (an hour)
	./test/vm/score -k bookworm -a -u '^($(VERDICTS))$$'
	./test/vm/score -k bookworm -u '^vm-(io-(max|cost)|memory-max)'

.PHONY: generate
generate: ## build the BPF objects (clang 14) and generated documents anew
	go generate ./...

.PHONY: bench
bench: ## run the benchmarks
	go test -run '^$$' -bench . -benchmem ./...

.PHONY: bench-machine
bench-machine: ## run the benchmarks that need root and a quiet machine (30 minutes)
	for b in start slowdown direct switches programs verdict residency load; do bench/$$b || exit 1; done
	for n in 100 5000; do go run ./bench/tick -processes $$n || exit 1; done

.PHONY: bench-start
bench-start: ## how long until a diagnosis observes, and what takes it (root; a minute)
	bench/start

.PHONY: collector
collector: ## send to the receiver of the OpenTelemetry Collector, which is built for it (5 minutes)
	cd test/collector && CGO_ENABLED=0 go build -o ../../dist/collector .
	IOCAUSE_COLLECTOR=$(CURDIR)/dist/collector go test -count=1 -v -run 'TestCollectorTakes' ./internal/store/remote ./internal/agent

.PHONY: predictions
predictions: ## predict what other memory limits would do, set them and measure, for docs/predictions.md (as root; 35 minutes)
	go run ./bench/predictions
	go run ./bench/predictions -write docs/predictions.md

.PHONY: vm-predictions
vm-predictions: ## the same in virtual machines, with cgroup v2 and both kinds of lists (some hours where they are emulated)
	test/vm/predictions -t 120
	test/vm/predictions -l -t 120
	go run ./bench/predictions -write docs/predictions.md

.PHONY: fmt
fmt: ## format the Go code
	gofmt -w $$(git ls-files -co --exclude-standard '*.go')

.PHONY: lint
lint: ## go vet and staticcheck
	go vet ./...
	. ./.ci/tools && go run "$$STATICCHECK" ./...

.PHONY: clean
clean: ## remove what the build made
	rm -rf iocause dist
