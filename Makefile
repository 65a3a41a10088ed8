# GPU Runtime. `make help` lists the targets; the most important are `make up` and `make test`.
PYTHON ?= python3
PY := .venv/bin/python
# The number of processes that run tests; each has its own control plane.
WORKERS ?= 5
# Keep the bytecode of Python: our programs start hundreds of times in a test run.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help venv programs up down status logs test test-unit test-kube test-faults test-e2e test-kind soak bench lint fmt generate swagger lock images clean

help: ## List the targets
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## /\1\t/' | while IFS="$$(printf '\t')" read -r name text; do printf '  %-12s %s\n' "$$name" "$$text"; done

venv: ## Create or repair the virtualenv from the lock file
	@command -v $(PYTHON) >/dev/null || { echo "$(PYTHON) was not found: install Python 3.11 or newer, or choose one: make PYTHON=/some/python3 up" >&2; exit 1; }
	@$(PYTHON) hack/venv.py

# The build runs before the tests: a test must end within five minutes, and the build takes longer.
programs: venv ## Find or build the programs of the control plane
	@$(PY) -m hack.cluster

up: venv ## Start the local system, or repair it (CLUSTER=local|kind|current NODES=4 GPUS=8)
	@$(PY) -m hack.local up $(if $(CLUSTER),--cluster $(CLUSTER)) $(if $(NODES),--nodes $(NODES)) $(if $(GPUS),--gpus $(GPUS))

down: venv ## Stop the local system and remove its state
	@$(PY) -m hack.local down

status: venv ## Show the processes and their readiness
	@$(PY) -m hack.local status

logs: venv ## Follow the logs (P="runtime-api controller" for some processes)
	@$(PY) -m hack.local logs $(P)

test: lint programs ## Everything CI runs: lint, then all tests
	@$(PY) -m pytest -n $(WORKERS) tests/unit tests/kube tests/faults tests/e2e

test-unit: venv ## Tests without sockets or processes
	@$(PY) -m pytest -n 2 tests/unit

test-kube: programs ## Tests on a real control plane
	@$(PY) -m pytest -n $(WORKERS) tests/kube

test-faults: programs ## Tests that kill and pause processes and cut connections
	@$(PY) -m pytest -n $(WORKERS) tests/faults

test-e2e: programs ## Tests of the whole system as a user sees it
	@$(PY) -m pytest -n $(WORKERS) tests/e2e

test-kind: venv ## Tests on kind with real pods; needs docker and kind
	@$(PY) -m pytest tests/kind

soak: venv ## Ten thousand random schedules of operations on the model (N=10000 SEED=0)
	@$(PY) -m tests.model $(if $(N),--schedules $(N)) $(if $(SEED),--seed $(SEED))

bench: venv ## Compare the library and the API with client-go (B="sync latency" for some cases); writes bench.json
	@$(PY) -m tests.bench $(B)

lint: venv ## ruff, mypy --strict, import contracts, generated files, word list
	@$(PY) -m ruff format --check --quiet . || { echo "not formatted; run: make fmt" >&2; exit 1; }
	@$(PY) -m ruff check --quiet .
	@$(PY) -m mypy --no-error-summary
	@.venv/bin/lint-imports --no-logo
	@$(PY) -m hack.generate --check
	@$(PY) -m hack.word_list

fmt: venv ## Format the code
	@$(PY) -m ruff format .
	@$(PY) -m ruff check --fix .

generate: venv ## Write the generated files: manifests, docs/configuration.md, docs/openapi.json
	@$(PY) -m hack.generate

swagger: generate ## Write docs/openapi.json

lock: venv ## Renew requirements.lock and requirements-runtime.lock from setup.cfg
	@$(PY) -m uv pip compile setup.cfg --extra dev --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --upgrade --quiet --output-file requirements.lock
	@$(PY) -m uv pip compile setup.cfg --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --quiet --constraint requirements.lock --output-file requirements-runtime.lock
	@echo "both locks renewed; the next make installs requirements.lock, the next image requirements-runtime.lock"

images: venv ## Build the container images with docker, podman or buildah
	@$(PY) -m hack.images

clean: down ## make down, and remove the virtualenv and tool caches
	@rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis .test-logs *.egg-info
