# All entry points; `make help` lists them.
# Each does its own set-up: only Python 3.11, Rust and, for Spark, Java 17 must be installed.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
CARGO ?= cargo
JOBS ?= $(shell $(PYTHON) -c 'import os; print(max(2, min(4, os.cpu_count() or 2)))')
FUZZ_SECONDS ?= 4
# Chooses the samples and damages the input of fuzz targets; another one each day.
FRAZIL_SEED ?= $(shell $(PYTHON) -c 'import time; print(int(time.time()) // 86400)')
export FRAZIL_SEED
HISTORIES ?= 10000
ICEBERG_HISTORIES ?= 5000
PAIMON_HISTORIES ?= 2000
SQL_QUERIES ?= 500
SQL_MERGES ?= 300
WIDE_VECTORS := +avx512f,+avx512bw,+avx512cd,+avx512dq,+avx512vl,+avx2,+bmi1,+bmi2,+lzcnt,+popcnt

TARGET := $(or $(CARGO_TARGET_DIR),target)
RUST_SOURCES := $(shell find rust -name '*.rs' -o -name Cargo.toml) Cargo.toml Cargo.lock
PYTHON_SOURCES := $(shell find python -name '*.py' -o -name '*.pyi' -o -name py.typed)
TOOLS := $(VENV)/.tools-installed
EDITABLE := $(VENV)/.editable
NATIVE := python/frazil/_native.abi3.so
# The packages of .venv, but frazil from a wheel: one of the release build, one of the quick build.
RELEASE := $(TARGET)/release-venv
QUICK := $(TARGET)/quick-venv
WHEEL := $(RELEASE)/.wheel-installed
# The packages of .venv, but the oldest pyarrow that the metadata allows; Daft does not accept the newest.
OLDEST := $(TARGET)/oldest-venv
OLDEST_SQLGLOT := $(shell sed -n 's/^spark = .*"sqlglot>=\([0-9]*\)".*/\1/p' pyproject.toml)
# Minor releases of pyspark that the metadata allows, the lowest and the newest; those of .venv are tested there.
SPARK_LINES := $(shell $(PYTHON) tools/spark_lines.py)
SPARK_TESTS := tests/spark/test_sql_timestamps.py tests/spark/test_write_source.py tests/spark/test_paimon_write.py \
	tests/spark/test_write.py::test_hash_distribution_writes_one_file_per_partition \
	tests/spark/test_write.py::test_types_that_spark_has_in_another_form
OLDEST_PYARROW := $(shell sed -n 's/^dependencies = .*"pyarrow>=\([0-9]*\)".*/\1/p' pyproject.toml)
BENCH := $(TARGET)/bench
INTEROP := $(TARGET)/interop
PAIMON_JAVA := $(INTEROP)/paimon
BENCH_TABLES ?= $(BENCH)/tables
COMPARE = $(RELEASE)/bin/python benches/compare/run.py --tables $(BENCH_TABLES) --environments $(BENCH) \
	--limits $(TARGET)/release/limits $(addprefix --row ,$(ROW)) $(if $(STRICT),--strict)
# More than cores, because tests wait half of the time: for Spark, for servers and for processes that they kill.
WORKERS ?= $(shell expr $(JOBS) + 2)
PYTEST_PARALLEL := -m pytest --numprocesses $(WORKERS)
# Of the cases of a test, other versions of libraries run one in PORTION, and others each day.
PORTION ?= 3
PYTEST_PORTION := -m pytest --quiet --portion $(PORTION)
# The test files to run; all by default.
FILES ?=
# Where `tools/ci.py` wants the times of tests.
REPORT = $(if $(FRAZIL_REPORTS),--junitxml '$(FRAZIL_REPORTS)/$@.xml' -o junit_family=xunit1)

# Java opens files with non-ASCII paths only in a UTF-8 locale.
ifneq ($(shell locale charmap 2>/dev/null),UTF-8)
export LC_ALL := C.UTF-8
endif
export PYTHONDONTWRITEBYTECODE := 1
export CARGO_TERM_PROGRESS_WHEN ?= never
say = @printf '\n==> %s\n' $(1)

# Cargo trusts the times of files: in a target directory of another checkout it would run the code of that checkout.
ifdef CARGO_TARGET_DIR
ifneq ($(MAKECMDGOALS),help)
$(shell mkdir -p '$(TARGET)'; test -s '$(TARGET)/.checkout' || echo '$(CURDIR)' > '$(TARGET)/.checkout')
OWNER := $(shell cat '$(TARGET)/.checkout')
ifneq ($(OWNER),$(CURDIR))
ifneq ($(wildcard $(OWNER)/Cargo.toml),)
$(error CARGO_TARGET_DIR=$(TARGET) is in use by the checkout $(OWNER); unset it or choose another directory)
endif
$(shell echo '$(CURDIR)' > '$(TARGET)/.checkout')
endif
endif
endif

.DEFAULT_GOAL := help
.PHONY: help tools build-extension dev check test build-tests test-rust test-early test-rest test-python test-alone test-docstrings test-oldest \
	test-spark test-release demo build interop faults nightly miri lint lint-style lint-format lint-ruff lint-ruff-format \
	lint-budgets lint-prose lint-stub lint-types lint-rust bench bench-full bench-inputs fuzz worktree clean

help:
	@echo 'make dev     build the extension quickly and install the package, editable, into $(VENV)'
	@echo 'make check   format, lint and test what changed since the last green check (a minute or two)'
	@echo 'make test    run everything: cargo tests, pytest, doctests, README, fuzz targets'
	@echo 'make demo    read tables of this repository from Python and from PySpark, with a wheel of the quick build'
	@echo 'make lint    formatters, linters, types and size budgets'
	@echo '.ci/run      lint, test and demo at the same time, in a copy of the checkout; FAST=1 for ten minutes of it'
	@echo 'make interop have Java, PyIceberg and DuckDB read all that is written, and Java write on top'
	@echo 'make faults  fail every request of every operation on tables, and kill writers'
	@echo 'make nightly run slow tests, all tests on the release build, and random histories against models:'
	@echo '             $(HISTORIES) of each merge engine, $(ICEBERG_HISTORIES) of Iceberg tables, $(PAIMON_HISTORIES) of Paimon tables, and as many in turns with Paimon;'
	@echo '             $(SQL_QUERIES) random queries of Spark SQL, $(SQL_MERGES) random MERGE statements'
	@echo 'make miri    run the kernels under Miri, which needs `rustup component add miri --toolchain nightly`'
	@echo 'make bench   time frazil, its limits and the fastest peers, row by row; ROW=B6 for one row,'
	@echo '             STRICT=1 to fail if a row is short of its mark'
	@echo 'make bench-full   the same with all peers, and write docs/benchmarks.md'
	@echo 'make fuzz    run the fuzz targets for FUZZ_SECONDS each ($(FUZZ_SECONDS))'
	@echo 'make build   build the wheel in release mode'
	@echo 'make worktree NAME=x   add a git worktree ../x, ready to build and test within two minutes'

# The tools, in the versions of tools/constraints.txt.
$(TOOLS): pyproject.toml tools/constraints.txt
	$(call say,'Installing the Python tools into $(VENV) (some minutes the first time: pyspark is large)')
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement tools/constraints.txt
	@touch $@

# A path file, so that an edit in Python needs no step at all.
$(EDITABLE): | $(TOOLS)
	@$(BIN)/python -m pip uninstall --quiet --yes --disable-pip-version-check frazil 2>/dev/null
	@echo '$(CURDIR)/python' > "$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/frazil.pth"
	@touch $@

tools: $(TOOLS)

# Without the tools, so that both can be set up at the same time.
build-extension:
ifndef FRAZIL_BUILT
	$(call say,'Building the extension without optimizing it fully')
	@$(CARGO) build --locked --quiet --package frazil-py
endif

# The extension is replaced by a rename: a process that has it loaded goes on with the old one.
dev: $(TOOLS) $(EDITABLE) build-extension
	@library=$$(ls $(TARGET)/debug/lib_native.so $(TARGET)/debug/lib_native.dylib 2>/dev/null | head -n 1); \
	cmp --silent "$$library" $(NATIVE) || { cp "$$library" $(NATIVE).$$$$ && mv $(NATIVE).$$$$ $(NATIVE); }

check: dev
	@$(BIN)/python tools/check.py --jobs $(JOBS)

# $(call install_wheel,profile,environment,folder of the wheel)
define install_wheel
	@rm -rf $(3)
	@test -x $(2)/bin/python || $(PYTHON) -m venv $(2)
	$(BIN)/python -m maturin build --profile $(1) --locked --out $(3)
	@$(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))' \
		> "$$($(2)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/tools.pth"
	$(2)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --force-reinstall $(3)/*.whl
endef

# The release build, as it is shipped.
$(WHEEL): $(TOOLS) $(RUST_SOURCES) $(PYTHON_SOURCES) README.md LICENSE
	$(call say,'Building the wheel in release mode (ten minutes the first time on two cores)')
	$(call install_wheel,release,$(RELEASE),$(TARGET)/wheels)
	@touch $@

build: $(WHEEL)

# From an installed wheel, which shows that it holds what it needs, but of the build that the tests use.
demo:
	$(call say,'This builds frazil and reads the tables of tests/golden in Python and Spark:')
	@echo '    six minutes the first time on two cores (tools, dependencies in Rust), then one minute'
	@$(MAKE) --no-print-directory --jobs 2 tools build-extension
	$(call say,'Building a wheel without optimizing it fully')
	$(call install_wheel,dev,$(QUICK),$(TARGET)/quick-wheels)
	$(call say,'Reading tables in tests/golden')
	$(QUICK)/bin/python tools/demo.py

test:
	@$(PYTHON) tools/ci.py test

build-tests:
	$(CARGO) test --locked --quiet --workspace --exclude frazil-py --no-run
	$(CARGO) build --locked --quiet --package frazil-fuzz

test-rust:
	$(CARGO) test --locked --quiet --workspace --exclude frazil-py

test-python: test-early test-rest test-docstrings test-alone

# A minute in which most mistakes show: the rules of the repository, the facts of the documentation, messages, modules.
EARLY := tests/architecture tests/unit tests/docs/test_facts.py tests/docs/test_links.py tests/docs/test_types.py \
	tests/behavior/test_errors.py tests/behavior/test_messages.py tests/behavior/test_property_names.py

test-early: dev
	$(BIN)/python -m pytest --quiet $(REPORT) $(EARLY)

test-rest: dev
	$(BIN)/python $(PYTEST_PARALLEL) -m 'not alone' $(REPORT) $(FILES) $(EARLY:%=--ignore=%)

test-alone: dev
	$(BIN)/python -m pytest -m alone $(REPORT) tests/spark

test-docstrings: dev
	$(BIN)/python -m pytest --quiet --doctest-modules $(REPORT) --pyargs frazil

$(OLDEST)/.installed: pyproject.toml | $(TOOLS)
	$(call say,'Installing Daft with pyarrow $(OLDEST_PYARROW) and sqlglot $(OLDEST_SQLGLOT) into $(OLDEST)')
	test -x $(OLDEST)/bin/python || $(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps 'pyarrow==$(OLDEST_PYARROW).*' \
		'sqlglot==$(OLDEST_SQLGLOT).0.*' daft==0.7.26 tqdm
	@printf '%s\n' "$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')" '$(CURDIR)/python' \
		> "$$($(OLDEST)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/tools.pth"
	@touch $@

# ORC files with timestamps that 64 bits of nanoseconds do not hold, which old versions of pyarrow misread.
OLDEST_ORC := oldts or p_v2_day_timestamptz_orc or append_ltz_orc_legacy_false or pk_types_orc_b4

# Arguments of pyarrow differ between its versions where files are written, and trees of sqlglot wherever they are read.
test-oldest: dev $(OLDEST)/.installed
	$(call say,'Testing with pyarrow $(OLDEST_PYARROW) and sqlglot $(OLDEST_SQLGLOT)')
	$(OLDEST)/bin/python $(PYTEST_PORTION) --numprocesses $(JOBS) tests/behavior/test_append.py \
		tests/behavior/test_data_files.py tests/behavior/test_reading.py tests/unit/test_sql_narrow.py \
		tests/unit/test_sql_sources.py tests/unit/test_sql_statements.py
	$(OLDEST)/bin/python $(PYTEST_PORTION) --numprocesses $(JOBS) tests/interop/test_golden_tables.py \
		tests/interop/test_paimon_found.py tests/interop/test_paimon_tables.py tests/behavior/test_pyiceberg_lines.py \
		-k 'daft or $(OLDEST_ORC)'

$(TARGET)/spark-%/.installed: pyproject.toml | $(TOOLS)
	$(call say,'Installing pyspark $* into $(@D)')
	test -x $(@D)/bin/python || $(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps 'pyspark==$*.*'
	@printf '%s\n' "$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')" '$(CURDIR)/python' \
		> "$$($(@D)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/tools.pth"
	@touch $@

# Functions of pyspark by which rows are written take other arguments from release to release.
test-spark: dev $(SPARK_LINES:%=$(TARGET)/spark-%/.installed)
	@for line in $(SPARK_LINES); do \
		printf '\n==> %s\n' "Testing with pyspark $$line"; \
		$(TARGET)/spark-$$line/bin/python $(PYTEST_PORTION) $(SPARK_TESTS) || exit 1; \
	done

# The same tests on what is shipped.
test-release: $(WHEEL)
	$(call say,'Testing the wheel')
	$(RELEASE)/bin/python $(PYTEST_PARALLEL) -m 'not alone'
	$(RELEASE)/bin/python -m pytest --quiet -m alone tests/spark

# What `make test` does with some of the tables. Java comes from the public Java registry, unless Ivy has it.
interop: export FRAZIL_SAMPLES := all
interop: dev $(INTEROP)/.installed $(PAIMON_JAVA)/.installed
	$(call say,'Having others read what frazil writes (twenty minutes on two cores)')
	FRAZIL_INTEROP=1 FRAZIL_DUCKDB="$(abspath $(INTEROP))/bin/python" $(BIN)/python -m pytest tests/interop/test_java_reads.py \
		tests/interop/test_java_writes.py tests/interop/test_java_picks.py tests/interop/test_java_replaces.py \
		tests/interop/test_java_expires.py tests/interop/test_java_maintains.py tests/interop/test_java_alters.py \
		tests/interop/test_java_changes_rows.py tests/interop/test_java_histories.py tests/interop/test_other_readers.py
	$(call say,'Testing catalogs on MariaDB')
	FRAZIL_INTEROP=1 $(BIN)/python -m pytest --quiet tests/catalog/test_conformance.py tests/catalog/test_sql_servers.py \
		tests/catalog/test_paimon_jdbc.py tests/catalog/test_paimon_servers.py -k 'mariadb or serializable'
	$(call say,'Having Java read the Paimon tables that frazil writes')
	FRAZIL_INTEROP=1 FRAZIL_PAIMON_JAVA="$(abspath $(PAIMON_JAVA))" $(BIN)/python -m pytest tests/interop/test_java_reads_paimon.py \
		tests/interop/test_java_reads_golden_paimon.py tests/interop/test_paimon_catalogs.py \
		tests/interop/test_java_format_tables.py tests/interop/test_java_reads_row_changes.py
	$(call say,'Reading and writing tables in turns with Paimon by random histories')
	FRAZIL_PAIMON_HISTORIES=30 FRAZIL_PAIMON_JAVA="$(abspath $(PAIMON_JAVA))" $(BIN)/python -m pytest tests/histories/paimon

# A DuckDB that has its extensions in the Python registry, which the newest one need not have.
$(INTEROP)/.installed: tests/interop/requirements-duckdb.txt | $(TOOLS)
	$(call say,'Installing DuckDB with its extension for Iceberg into $(@D)')
	$(BIN)/python -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --requirement $<
	@touch $@

# Paimon (Java) and JPype, through which Python calls it.
$(PAIMON_JAVA)/.installed: tests/interop/requirements-paimon.txt tests/histories/paimon/install.py | $(TOOLS)
	$(call say,'Installing Paimon (Java) and JPype into $(@D)')
	$(BIN)/python tests/histories/paimon/install.py $(@D) $<
	@touch $@

# What `make test` does with some requests, four writers and six kills.
faults: export FRAZIL_FAULTS := all
faults: export FRAZIL_WRITERS := 16
faults: export FRAZIL_KILLS := 100
faults: export FRAZIL_RACES := all
faults: export FRAZIL_SAMPLES := all
faults: $(WHEEL)
	$(call say,'Failing every request of every operation, writing at the same time and killing writers (an hour)')
	$(CARGO) test --locked --quiet --package frazil-iceberg --lib fault
	$(RELEASE)/bin/python -m pytest --capture=no tests/behavior/test_faults.py tests/behavior/test_bad_writes.py tests/behavior/test_writers.py \
		tests/behavior/test_paimon_writers.py tests/behavior/test_races.py tests/spark/test_sql_faults.py

# What `make test` does with 500 histories of each engine, with 60 of Iceberg tables, and with samples of some cases.
nightly: export FRAZIL_SAMPLES := all
nightly: test-release test-oldest test-spark $(PAIMON_JAVA)/.installed
	$(call say,'Merging $(HISTORIES) random histories with each merge engine')
	FRAZIL_HISTORIES=$(HISTORIES) $(CARGO) test --locked --quiet --package frazil-paimon --lib random_histories
	$(call say,'Comparing $(ICEBERG_HISTORIES) random histories of Iceberg tables with a model')
	FRAZIL_ICEBERG_HISTORIES=$(ICEBERG_HISTORIES) $(RELEASE)/bin/python -m pytest tests/histories/iceberg
	$(call say,'Comparing $(PAIMON_HISTORIES) random histories of Paimon tables with a model')
	FRAZIL_PAIMON_MODELS=$(PAIMON_HISTORIES) $(RELEASE)/bin/python -m pytest --quiet tests/behavior/test_paimon_histories.py
	$(call say,'Reading and writing $(PAIMON_HISTORIES) tables in turns with Paimon by random histories (an hour on two cores)')
	FRAZIL_PAIMON_HISTORIES=$(PAIMON_HISTORIES) FRAZIL_PAIMON_JAVA="$(abspath $(PAIMON_JAVA))" \
		$(RELEASE)/bin/python -m pytest --quiet tests/histories/paimon
	$(call say,'Comparing $(SQL_QUERIES) random queries of Spark SQL with queries that read everything')
	FRAZIL_SQL_QUERIES=$(SQL_QUERIES) $(RELEASE)/bin/python -m pytest --quiet tests/spark/test_sql_narrowing.py
	$(call say,'Comparing $(SQL_MERGES) random MERGE statements of Spark SQL with a model')
	FRAZIL_SQL_MERGES=$(SQL_MERGES) $(RELEASE)/bin/python -m pytest --quiet tests/spark/test_sql_merge.py -k random
	$(call say,'Inserting, and merging into one table by concurrent statements of Spark SQL')
	FRAZIL_SQL_INSERTS=all $(RELEASE)/bin/python -m pytest --quiet tests/spark/test_sql_insert.py -k native
	FRAZIL_SQL_COMMITS=200 $(RELEASE)/bin/python -m pytest --quiet tests/spark/test_sql_concurrent.py -k lose_no_change

# Once as on the oldest processor and once as on one with wide vectors; Miri knows no processor but that of its flags.
miri: export MIRIFLAGS := -Zmiri-disable-isolation
miri: export PROPTEST_CASES := 1
miri:
	$(call say,'Running the kernels under Miri')
	$(CARGO) +nightly miri test --locked --package frazil-core --lib -- simd:: every_level
	RUSTFLAGS='-C target-feature=$(WIDE_VECTORS)' $(CARGO) +nightly miri test --locked --package frazil-core --lib -- simd:: every_level

# In the build with overflow checks.
fuzz:
	$(call say,'Feeding damaged bytes to every decoder')
	$(CARGO) run --locked --quiet --package frazil-fuzz -- --seconds $(FUZZ_SECONDS) --jobs $(JOBS) --seed $(FRAZIL_SEED)

lint:
	@$(PYTHON) tools/ci.py lint

# All of them run with `make -k`, even if one fails.
lint-style: lint-format lint-ruff lint-ruff-format lint-budgets lint-prose

lint-format:
	$(CARGO) fmt --all --check

lint-ruff: $(TOOLS)
	$(BIN)/python -m ruff check .

lint-ruff-format: $(TOOLS)
	$(BIN)/python -m ruff format --check .

lint-budgets: $(TOOLS)
	$(BIN)/python tools/check_budgets.py

lint-prose: $(TOOLS)
	$(BIN)/python tools/check_prose.py

lint-stub: dev
	MYPYPATH=python $(BIN)/python -m mypy.stubtest --mypy-config-file pyproject.toml frazil._native
	$(BIN)/python tools/document_stub.py --check

lint-types: $(TOOLS)
	$(BIN)/python -m mypy python/frazil tools

lint-rust:
	$(CARGO) clippy --locked --workspace --all-targets -- --deny warnings

bench: bench-inputs $(BENCH)/peers/.installed
	$(call say,'Comparing with limits and peers (ten minutes on two cores)')
	$(COMPARE)

bench-full: bench-inputs $(BENCH)/peers/.installed-full $(BENCH)/pypaimon/.installed
	$(call say,'Comparing with limits and all peers (an hour or more)')
	$(COMPARE) --full $(if $(ROW),,--document)

# The limits, the tables and an archive of Spark's classes: they are made once, 2 GB.
bench-inputs: $(WHEEL)
	$(call say,'Making the limits and the tables of the benchmark')
	$(CARGO) build --release --locked --quiet --package frazil-benches --bin limits
	$(RELEASE)/bin/python benches/tables/make.py --out $(BENCH_TABLES)
	$(RELEASE)/bin/python benches/compare/engines/spark.py

# What peers cannot be installed is said and left out; the rows say so too.
$(BENCH)/peers/.installed: benches/compare/requirements.txt | $(TOOLS)
	$(call say,'Installing peers into $(@D)')
	$(BIN)/python benches/compare/install.py $(@D) $<
	@touch $@

$(BENCH)/peers/.installed-full: benches/compare/requirements-full.txt $(BENCH)/peers/.installed
	$(call say,'Installing more peers into $(@D)')
	$(BIN)/python benches/compare/install.py $(@D) $<
	@touch $@

$(BENCH)/pypaimon/.installed: benches/compare/requirements-pypaimon.txt | $(TOOLS)
	$(call say,'Installing pypaimon into $(@D)')
	$(BIN)/python benches/compare/install.py $(@D) $<
	@touch $@

worktree:
	@tools/worktree.sh '$(NAME)'

clean:
	rm -rf $(TARGET) $(VENV) $(NATIVE) .mypy_cache .ruff_cache .pytest_cache .hypothesis spark-warehouse
