# Needs Python 3.11 or later, pip and make. Everything else is set up by the first target that needs it.
PYTHON  ?= python3
VENV    := .venv
BIN     := $(VENV)/bin
STAMP   := $(VENV)/.installed
CLIENTS := $(VENV)/.clients
CLUSTER := $(VENV)/.cluster
PIP     := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: demo test lint types bench check-all slow endurance audit setup clean

demo: $(STAMP)
	@$(BIN)/python -P tests/demo/demo.py

test: $(STAMP)
	@$(BIN)/pytest -m "not slow" -n 2 --dist worksteal

lint: $(STAMP)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: $(STAMP)
	@$(BIN)/pyright

bench: $(STAMP)
	@$(BIN)/python tests/bench/bench.py

# The slower proofs: whole loops over stdio, other clients, conformance. Skips, with a message, what npm cannot bring.
check-all: lint types test slow

slow: $(STAMP) $(CLIENTS) $(CLUSTER)
	@$(BIN)/pytest -m slow -n 2 --dist loadgroup

# Long runs by hand; the same proofs run in short form in check-all.
endurance: $(STAMP) $(CLUSTER)
	@NKI_ANVIL_ENDURANCE=1 $(BIN)/pytest -m slow

# Known vulnerabilities of what is installed; says so where the database cannot be asked, and fails only for a finding.
audit: $(STAMP)
	@$(PIP) "pip-audit>=2.7" 2>/dev/null || echo "pip-audit cannot be installed here."
	@$(BIN)/python tests/repository/dependencies.py

setup: $(STAMP)
	@echo "nki-anvil is in $(CURDIR)/$(BIN): put that on your PATH."

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("nki-anvil needs Python 3.11 or later; this is " + sys.version.split()[0] + ". Set PYTHON=/path/to/python3.11.") if sys.version_info < (3, 11) else None'
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { echo "Python's venv is missing: install it first (on Debian and Ubuntu: apt-get install python3-venv), then run make again."; exit 2; }
	@test -x $(BIN)/pip || $(PYTHON) -m venv $(VENV)
	@echo "setting up $(VENV) ..."
	@{ $(PIP) "pip>=25.1" && $(PIP) --editable . --group dev; } >$(VENV)/setup.log 2>&1 || { cat $(VENV)/setup.log; exit 1; }
	@touch $@

# Node, for other people's clients. Where it cannot be had, the tests that need it skip and say so.
$(CLIENTS): $(STAMP)
	@$(PIP) --group clients && touch $@ || echo "Node cannot be installed here: other clients are not checked."

# Ray, for the tests of clusters: too large for `make test`. Where it cannot be had, they skip and say so.
$(CLUSTER): $(STAMP)
	@$(PIP) --group cluster && touch $@ || echo "Ray cannot be installed here: clusters are not checked."

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .ruff_cache .hypothesis
