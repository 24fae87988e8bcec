# Every developer command. A fresh machine needs Rust, Python 3.11 or later, a C compiler and make; the rest comes from
# the package registries, at the versions in Cargo.lock and requirements/.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
OUT ?= out
MINUTES ?= 30
FUZZ_SECONDS ?= 60
CLIENT_CASES ?= 1000
PAPER ?= all
PART ?= 0/200
EVERY ?= 1
EVERY_PROGRAM ?= 1
PREFIX ?= /usr/local
DESTDIR ?=
LIBRARY := target/library
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
LOCK = $(BIN)/uv pip compile --upgrade --quiet --universal --python-version 3.11 --generate-hashes --custom-compile-command "make lock"
STAMPS := .venv/stamps
MATURIN := PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/maturin
DIST := target/dist
ENGINE_SOURCES := Cargo.toml Cargo.lock pyproject.toml $(shell find crates/*/Cargo.toml crates/*/src crates/engine/build* -type f)

# Tests start hundreds of commands: none should compile Python's modules again, even if the environment forbids to keep them.
export PYTHONPYCACHEPREFIX := $(CURDIR)/target/bytecode
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help
help: ## Show this list.
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 16

.PHONY: compare
compare: engine ## The main job: compare the SecPM family, as tables and as $(OUT)/report.html.
	$(BIN)/counterpoint compare --out $(OUT)

.PHONY: test test-engine test-c test-python
test: test-engine test-c test-python ## Run all tests: engine, C interface, and Python package with its pages in a browser.

# As released, with assertions. What the engine depends on is built once, for the package, which comes first because more
# waits for it, and for the tests.
TEST_ENGINE := --locked --release --config crates/engine/checked.toml -p counterpoint-engine --lib

test-engine: engine
	cargo test $(TEST_ENGINE)

# The C interface is tested as it is released, and the calls of the playground with it, with the engine that the Python package
# has: named together, they need the same features.
TEST_C := --locked --release -p counterpoint-c -p counterpoint-web -p counterpoint-python

# Beside the workspace, see there.
HEADER := --locked --manifest-path crates/c/header/Cargo.toml --target-dir target/header

test-c: engine
	cargo test $(TEST_C)
	cargo test $(HEADER)

test-python: engine chromium
	$(BIN)/pytest --numprocesses auto --dist loadfile --no-loadscope-reorder

.PHONY: test-build
test-build: engine ## Build the tests of the engine and of the C interface.
	cargo test $(TEST_ENGINE) --no-run
	cargo test $(TEST_C) --no-run
	cargo test $(HEADER) --no-run

.PHONY: test-pages
test-pages: engine ## Call every command of the pages, each for at most some seconds; EVERY=8: of one page of eight.
	PYTHONPATH=tests $(BIN)/python tests/page_calls.py --every $(EVERY)

.PHONY: recorder-tools
recorder-tools:
	tests/recorder/install.sh

.PHONY: install-tools
install-tools:
	tests/install/install.sh

.PHONY: test-install
test-install: engine library manual install-tools ## Install into a temporary prefix; build, run, read and complete what is there.
	$(BIN)/python tests/install/installed.py --out $(OUT)/install

.PHONY: test-recorder
test-recorder: engine chromium recorder-tools ## Record programs and compare the traces with the files that they leave behind.
	PYTHONPATH=tests/recorder:tests/python $(BIN)/python tests/recorder/check.py --out $(OUT)/recorder
	PYTHONPATH=tests/recorder $(BIN)/python tests/recorder/reads.py --out $(OUT)/recorder/reads
	PYTHONPATH=tests/recorder $(BIN)/python tests/recorder/causes.py --out $(OUT)/recorder/causes
	PYTHONPATH=tests/recorder $(BIN)/python tests/recorder/databases.py --out $(OUT)/recorder/databases
	PYTHONPATH=tests/recorder $(BIN)/python tests/recorder/nested.py --out $(OUT)/recorder/nested
	PYTHONPATH=tests/recorder $(BIN)/python tests/recorder/example_programs.py --out $(OUT)/recorder/examples
	PYTHONPATH=tests $(BIN)/python tests/recorder/story.py --out $(OUT)/recorder/story

.PHONY: test-programs
test-programs: engine recorder-tools ## Prove the corpus of persistence bugs: every broken form fails, every fixed form holds; EVERY_PROGRAM=3: one of three.
	PYTHONPATH=tests/recorder $(BIN)/python tests/programs/prove.py --every $(EVERY_PROGRAM) --out $(OUT)/programs

.PHONY: library
library: $(LIBRARY) ## Build the C interface, as a folder to build other programs against: target/library.

$(LIBRARY): $(ENGINE_SOURCES) $(wildcard crates/c/include/* crates/c/*.* install/library.sh install/counterpoint*)
	install/library.sh $@ $(TEST_C)

.PHONY: manual
manual: target/manual ## Write the man pages and shell completions of the command, into target/manual.

target/manual: $(STAMPS)/engine install/manual.py $(shell find python/counterpoint -name '*.py')
	$(BIN)/python install/manual.py $@

# What is built already is only copied, so that root need not build.
.PHONY: install uninstall
install uninstall: export PREFIX := $(PREFIX)
install uninstall: export DESTDIR := $(DESTDIR)
install: $(LIBRARY) target/manual ## Install library, man pages and completions: PREFIX=/usr/local, below DESTDIR.
	@$(PYTHON) -BI install/place.py install $^

uninstall: ## Remove what `make install` has put under the same PREFIX and DESTDIR.
	@$(PYTHON) -BI install/place.py uninstall

.PHONY: test-integrations
test-integrations: library venv ## Build a real simulator with our memory and run programs in it; SRC=CHECKOUT: of ChampSim or gem5.
	@test -n "$(SRC)" || { echo "error: name a checkout of ChampSim or gem5: make test-integrations SRC=/path/to/checkout" >&2; exit 2; }
	$(BIN)/python tests/integrations/simulators.py --out $(OUT)/integrations $(SRC)

# Nothing is compiled again: this wheel is for a Linux like this one. That of a release is built from the source
# distribution, and linked with an old C library.
.PHONY: test-wheel
test-wheel: engine ## Install the package as a wheel, without a compiler, into a bare environment of each Python that is there.
	rm -rf target/test-wheel
	$(MATURIN) build --quiet --compatibility linux --auditwheel skip --out target/test-wheel
	$(MATURIN) sdist --out target/test-wheel
	$(BIN)/python tests/wheel.py target/test-wheel

.PHONY: wheel
wheel: $(STAMPS)/release ## Build a release, in target/dist: source distribution, and wheels for x86-64 and 64-bit Arm Linux with glibc 2.17.
	install/wheel.sh $(DIST)

.PHONY: test-release
test-release: engine ## Test what `make wheel` has built as test-wheel does, with the newest packages, installed by pip; the wheel for Arm under QEMU.
	$(BIN)/python tests/wheel.py --newest $(DIST)
	tests/packages.sh "the test of the wheel for Arm" qemu-user
	$(BIN)/python tests/arm_wheel.py $(DIST)

.PHONY: test-container
test-container: venv ## Build the container and crash a design in it, where docker, podman or buildah works; else only read its file.
	$(BIN)/python tests/container.py

.PHONY: bench
bench: venv ## Measure the engine, beside goals and the baseline; BENCH="crash --update": only some files, as the new baseline.
	$(BIN)/python tests/bench.py $(BENCH)

.PHONY: scale
scale: ## Measure what a request costs against footprint, queues, length and cores, and the memory that a run takes, as tables.
	cargo run --locked --release --package counterpoint-engine --example scale

.PHONY: lint lint-rust lint-python
lint: lint-rust lint-python ## Check formatting, lints and types without changing files.

# Where Cargo puts what lints and the reference need. Elsewhere than what is built, they need not wait for each other, and
# nothing is compiled twice: they have another profile.
LINT_TARGET ?= target

# To check the fuzz targets, libFuzzer need not be built. The engine of the playground is without a computer around it, wherever
# it is built.
lint-rust:
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets --target-dir $(LINT_TARGET) -- -D warnings
	CUSTOM_LIBFUZZER_PATH=/nowhere/libfuzzer.a cargo clippy --locked --manifest-path crates/engine/fuzz/Cargo.toml --target-dir $(LINT_TARGET) -- -D warnings
	cargo clippy --locked --package counterpoint-web --target-dir $(LINT_TARGET) -- -D warnings

lint-python: venv
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	PYTHONPATH=python $(BIN)/lint-imports --no-logo --no-cache

.PHONY: docs
docs: ## Build the engine's reference, in target/doc.
	RUSTDOCFLAGS="-D warnings" cargo doc --locked --workspace --no-deps --document-private-items --target-dir $(LINT_TARGET)

.PHONY: site
site: engine $(STAMPS)/site ## Build the documentation as a site, in target/site: search, guides, reference.
	rm -rf target/site
	$(BIN)/sphinx-build --fail-on-warning --keep-going --quiet --jobs auto --conf-dir site --doctree-dir target/site-doctrees . target/site
	@test -f target/site/playground/index.html || echo "The site is without the playground: make playground, then make site again."

WASM := wasm32-unknown-unknown
PLAYGROUND := target/playground/engine.gzip

.PHONY: playground test-playground
playground: $(PLAYGROUND) ## Build the engine as WebAssembly, for the page of the site on which it runs; it needs the Rust target wasm32-unknown-unknown.

# The stack is that of a thread of Linux; 1 MiB is the default.
$(PLAYGROUND): $(ENGINE_SOURCES)
	@test -d "$$(rustc --print target-libdir --target $(WASM))" || \
		{ echo "error: the Rust target $(WASM) is not installed: rustup target add $(WASM)" >&2; exit 2; }
	cargo rustc --locked --profile web --package counterpoint-web --target $(WASM) --crate-type cdylib -- -C link-arg=-zstack-size=8388608
	mkdir -p $(@D)
	gzip --best --no-name --stdout target/$(WASM)/web/counterpoint_web.wasm > $@.part
	mv $@.part $@

test-playground: engine $(PLAYGROUND) chromium ## Compare the engine of the playground with the one of this computer, in Node and in a browser.
	$(BIN)/pytest tests/python/test_playground.py

AXE := target/axe/node_modules/axe-core/axe.min.js

.PHONY: test-site
test-site: site chromium $(AXE) ## Open the site in a browser: it asks for nothing else, and everybody can read it; EVERY=8: one page of eight.
	PYTHONPATH=tests $(BIN)/python tests/site/check.py --every $(EVERY) target/site $(AXE)

$(AXE): tests/site/package.json tests/site/package-lock.json
	@command -v npm >/dev/null || tests/packages.sh "the tests of the site" npm
	install -D -m 644 -t target/axe $^
	npm ci --prefix target/axe --ignore-scripts --no-audit --no-fund --loglevel=error
	touch $@

.PHONY: pages
pages: engine ## Write the parts of README and docs/ that follow from the program.
	$(BIN)/python tests/contract.py
	$(BIN)/python tests/pages.py

.PHONY: contract
contract: engine ## Write the files that follow from types: options.py, flags.py, types of results, docs/schema/.
	$(BIN)/python tests/contract.py

.PHONY: header
header: ## Write the C header from crates/c/src.
	cargo run $(HEADER)

.PHONY: diagrams
diagrams: engine ## Redraw the diagrams in docs/img/ of docs/ten-minutes.md.
	$(BIN)/python tests/diagrams.py

.PHONY: talk
talk: engine chromium ## Make a talk of ten slides from docs/talk/slides.md, as a page and a PDF in $(OUT)/.
	$(BIN)/python tests/talk.py $(OUT)

.PHONY: pictures
pictures: compare chromium recorder-tools diagrams ## Redraw all pictures in docs/img/: the comparison, a crash and its causes, the diagrams.
	cp $(OUT)/compare.svg docs/img/compare.svg
	$(BIN)/python tests/pictures.py

.PHONY: images
images: engine chromium ## Draw the images of pages in tests/data/pages/, to be looked at when a page has changed.
	COUNTERPOINT_IMAGES=1 $(BIN)/pytest -k stored_image

.PHONY: validate
validate: engine ## Reproduce the papers at their footprints, into $(OUT)/ and validation/; PAPER=secpm, ...: only one.
	$(BIN)/counterpoint reproduce $(PAPER) --depends --out $(OUT) || test $$? = 1
	cp $(OUT)/{secpm,secpm-workshop,counter-atomicity,easy-pm,sepencr}{,.directions}.md validation/
	$(BIN)/counterpoint reproduce integrity --out $(OUT)/integrity || test $$? = 1
	cp $(OUT)/integrity/integrity.md validation/
	$(BIN)/counterpoint reproduce optane --seeds 1 --out $(OUT)/optane || test $$? = 1
	cp $(OUT)/optane/optane.md validation/

.PHONY: calibrate
calibrate: engine ## Repeat the search over what the papers leave open, into docs/; PAPER=secpm, ...: only those of its simulator. It resumes from $(OUT)/.
	mkdir -p $(OUT)
	$(BIN)/counterpoint calibrate $(PAPER) --store $(OUT)/calibrate.duckdb --out docs

.PHONY: study
study: engine ## Search for designs that are better than the published ones (docs/study.md), and crash what is found; it resumes from $(OUT)/.
	mkdir -p $(OUT)
	$(BIN)/counterpoint search docs/study/goals.toml --store $(OUT)/study.duckdb --out $(OUT)/study
	$(BIN)/counterpoint search docs/study/within.toml --store $(OUT)/study.duckdb --out $(OUT)/within || test $$? = 1
	$(BIN)/counterpoint search docs/study/protected.toml --store $(OUT)/study.duckdb --out $(OUT)/protected
	$(BIN)/python tests/soak.py --designs $(OUT)/study/designs --design docs/study/inline-log.toml \
		--set program.log_granularity=line --crash-points 10000000

.PHONY: verdict-tables
verdict-tables: engine ## Repeat the tables of docs/designs/; DESIGNS="secpm sca": only some.
	$(BIN)/python tests/verdict_tables.py $(DESIGNS)

.PHONY: attacks
attacks: engine ## Attack every design with a tree, on two machines, in every workload.
	$(BIN)/python tests/attacks.py

.PHONY: soak
soak: engine ## Drive the memory of each design with $(CLIENT_CASES) random sequences, fuzz every reader for $(FUZZ_SECONDS) seconds, then crash designs that must survive for $(MINUTES) minutes.
	PROPTEST_CASES=$(CLIENT_CASES) cargo test $(TEST_ENGINE) -- embed_random controller_values counter_atomicity durable_counters settings_of_the_controller
	$(BIN)/python tests/soak.py --minutes $(MINUTES) --fuzz-seconds $(FUZZ_SECONDS)

.PHONY: soak-proofs
soak-proofs: engine ## Prove the designs that must hold over every program of 6 operations over 3 lines, for $(MINUTES) minutes; it resumes from $(OUT)/.
	$(BIN)/python tests/long_proofs.py --minutes $(MINUTES) --store $(OUT)/long-proofs.jsonl

.PHONY: lattice
lattice: engine ## Repeat the order of designs over small programs: tables and pictures of docs/lattice.md.
	$(BIN)/python tests/lattice.py

.PHONY: mutants
mutants: ## Change the engine in one place after another and see its tests fail, which takes hours; PART=K/N: which part of all.
	$(PYTHON) tests/mutants.py --part $(PART) $(MUTANTS)

.PHONY: fmt
fmt: venv ## Format everything.
	cargo fmt --all
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

.PHONY: lock
lock: venv ## Choose the newest versions of the Python packages and lock them.
	$(LOCK) --group dev pyproject.toml -o requirements/dev.lock
	$(LOCK) --group site -c requirements/dev.lock -o requirements/site.lock
	echo uv | $(LOCK) - -o requirements/uv.lock
	echo ziglang | $(LOCK) - -o requirements/release.lock

.PHONY: clean
clean: ## Remove everything that was built.
	rm -rf target .venv $(OUT) python/counterpoint/_engine*.so .pytest_cache .mypy_cache .ruff_cache .hypothesis

.PHONY: venv
venv: $(STAMPS)/packages ## Set up .venv with the locked packages.

.PHONY: engine
engine: $(STAMPS)/engine ## Build the engine and install the package into .venv.

.PHONY: chromium
chromium: ## Install Chromium for the tests of pages, if it is missing.
	@command -v chromium chromium-browser >/dev/null || tests/packages.sh "the tests of pages" chromium fonts-liberation

# uv takes seconds where pip takes minutes. But uv ignores pip's settings; if they are needed, pip installs.
INSTALL = $(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r $(1) || $(PIP) --require-hashes -r $(1)

$(STAMPS)/packages: requirements/uv.lock requirements/dev.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "error: Python 3.11 or later is needed; this is " + sys.version.split()[0])'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(PIP) --require-hashes -r requirements/uv.lock
	$(call INSTALL,requirements/dev.lock)
	mkdir -p $(STAMPS) && touch $@

# The compiler of a release takes as much space as everything else together.
$(STAMPS)/release: $(STAMPS)/packages requirements/release.lock
	$(call INSTALL,requirements/release.lock)
	touch $@

$(STAMPS)/site: $(STAMPS)/packages requirements/site.lock
	$(call INSTALL,requirements/site.lock)
	touch $@

$(STAMPS)/engine: $(STAMPS)/packages $(ENGINE_SOURCES)
	PATH="$(CURDIR)/$(BIN):$$PATH" $(PIP) --no-deps --no-build-isolation --editable .
	touch $@
