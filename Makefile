# SPDX-License-Identifier: BSD-3-Clause
# A thin front for CMake: "make help" lists the words. The build itself is CMakeLists.txt.

PREFIX       ?= /usr/local
DESTDIR      ?=
JOBS         ?= $(shell nproc 2>/dev/null || echo 2)
FUZZ_SECONDS ?= 60
# most tests wait most of the time: room for three on a processor; those that compute count as two (tests/tiers.cmake)
TEST_JOBS    ?= $(shell expr 3 \* $(JOBS))
LINT_BASE    ?= HEAD

# Ninja where it is installed; a build folder keeps the generator it was made with.
ifneq ($(shell command -v ninja 2>/dev/null),)
export CMAKE_GENERATOR ?= Ninja
endif

first_of     = $(firstword $(foreach tool,$(1),$(shell command -v $(tool) 2>/dev/null)) $(firstword $(1)))
CLANG        = $(call first_of,clang-14 clang)
CLANG_FORMAT = $(call first_of,clang-format-14 clang-format)
CLANG_TIDY   = $(call first_of,clang-tidy-14 clang-tidy)

c_files      = $(shell find src include tests examples fuzz bench tools -name '*.[ch]' 2>/dev/null)
sh_files     = $(shell tools/list-scripts)

.PHONY: all
all: build/.configured
	@cmake --build build -j $(JOBS)

# Configures again only when a preset changed; CMake itself watches its other inputs.
build/.configured: CMakePresets.json
	@cmake --preset release || { echo "something missing? tools/setup installs what is needed" >&2; exit 4; }
	@touch $@

.PHONY: setup
setup:
	@tools/setup build demo check test develop package

.PHONY: demo
demo:
	@tools/setup build demo
	@$(MAKE) --no-print-directory build/.configured
	@cmake --build build -j $(JOBS) --target iorama iorama_preload
	@tools/demo

.PHONY: test
test: setup
	@$(MAKE) --no-print-directory all
	@ctest --test-dir build --output-on-failure --no-tests=error --no-label-summary \
	       -j $(TEST_JOBS) --output-log build/test.log; status=$$?; \
	       grep '% tests passed' build/test.log | tail -n 1; \
	       echo "second tries: $$(grep -c . build/tests/tries 2>/dev/null) of at most 3"; exit $$status

# What is done in under two minutes: pure parts, commands, and a few cases of every other area.
.PHONY: check
check: all
	@ctest --test-dir build --output-on-failure --no-tests=error --no-label-summary -j $(TEST_JOBS) -L '^quick$$'

# on other systems: Debian 12 and 13, aarch64
.PHONY: test-chroots
test-chroots:
	@tools/setup package chroots
	@tools/chroots

.PHONY: bench
bench: all
	@bench/run

.PHONY: install
install: all
	@DESTDIR="$(DESTDIR)" cmake --install build --prefix "$(PREFIX)"
	@if [ -z "$(DESTDIR)" ] && [ "$$(id -u)" = 0 ]; then ldconfig 2>/dev/null || true; fi

.PHONY: uninstall
uninstall:
	@DESTDIR="$(DESTDIR)" tools/uninstall "$(PREFIX)"
	@if [ -z "$(DESTDIR)" ] && [ "$$(id -u)" = 0 ]; then ldconfig 2>/dev/null || true; fi

.PHONY: format
format:
	@$(CLANG_FORMAT) -i $(c_files)

.PHONY: lint
lint: build/.configured
	@$(CLANG_FORMAT) --dry-run -Werror $(c_files)
	@changed=$$({ git diff --name-only --diff-filter=d $(LINT_BASE) -- && git ls-files -o --exclude-standard; } \
	            2>/dev/null || git ls-files -co --exclude-standard); \
	 changed=$$(echo "$$changed" | grep -E '^(src|tools)/.*\.c$$' || true); \
	 test -z "$$changed" || $(CLANG_TIDY) -p build --quiet --warnings-as-errors='*' $$changed
	@shellcheck $(sh_files)
	@codespell --config .codespellrc
	@tools/check-layers
	@tools/check-size
	@tools/check-tree
	@tools/check-names
	@tools/check-docs
	@tools/check-headers build
	@echo "lint: clean"

.PHONY: fuzz
fuzz:
	@CLANG=$(CLANG) fuzz/run $(FUZZ_SECONDS)

# Would a test notice? One line broken at a time, in copies: tools/mutate --help. Goes on where it was ended.
.PHONY: mutate
mutate: all
	@tools/mutate -j $(JOBS) build

.PHONY: coverage
coverage:
	@cmake --preset coverage
	@cmake --build build-coverage -j $(JOBS)
	@find build-coverage -name '*.gcda' -delete
	@ctest --preset coverage
	@gcovr --root . --object-directory build-coverage --filter 'src/' \
	       --html-details build-coverage/coverage.html --print-summary
	@echo "coverage: build-coverage/coverage.html"

.PHONY: clean
clean:
	@rm -rf build build-debug build-asan build-tsan build-coverage build-fuzz

.PHONY: help
help:
	@echo "make               build into build/ (program: build/bin/iorama)"
	@echo "make setup         install the packages of tools/packages.txt that are missing"
	@echo "make demo          set up, build, show what it does"
	@echo "make test          set up, build, run all tests"
	@echo "make check         build, run the tests that take two minutes together"
	@echo "make test-chroots  build and test on Debian 12, Debian 13 and for aarch64"
	@echo "make bench         measure, compared with the peers"
	@echo "make install       PREFIX=$(PREFIX) DESTDIR="
	@echo "make uninstall     the same PREFIX and DESTDIR: takes it away again"
	@echo "make format        clang-format all C files"
	@echo "make lint          format, clang-tidy on files changed since LINT_BASE=$(LINT_BASE), scripts,"
	@echo "                   spelling, layers, sizes"
	@echo "make fuzz          every fuzz target for FUZZ_SECONDS=$(FUZZ_SECONDS) seconds"
	@echo "make mutate        break a line at a time: the share that tests notice"
	@echo "make coverage      tests with coverage, as HTML"
	@echo "make clean         remove the build folders"
	@echo "other builds       cmake --preset debug|asan|tsan, cmake --build --preset ..., ctest --preset ..."
