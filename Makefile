# The verbs of this project. Each prepares what it needs inside the clone first; nothing has to be
# installed but make, bash and Python 3.12 or newer. `make` alone lists them.

SHELL := bash
PY := @bash scripts/python.sh

# Taken as they are typed, so that a dollar sign in them is not read as a variable of make.
override export Q := $(value Q)
override export DATA := $(value DATA)
override export PASSWORD := $(value PASSWORD)
override export SEED := $(value SEED)
override export STORE := $(value STORE)
export PORT

.DEFAULT_GOAL := help
.PHONY: help setup run workers ask doctor test unit contract host e2e browser check fmt bench torture clean

help: ## list the verbs
	@sed -nE 's/^([a-z0-9]+): ## (.*)/  make \1|\2/p' Makefile | while IFS='|' read -r verb text; \
	  do printf '%-16s %s\n' "$$verb" "$$text"; done

setup: ## make the environments: .venv and one AstrBot of each kind in .venvs/
	$(PY) scripts/environments.py

run: ## start a real AstrBot with this plugin (PORT=6185 DATA=.demo)
	$(PY) scripts/launch.py demo/run.py

workers: ## start two AstrBots that share their work (DATABASE_URL= PORT=6185 DATA=.demo-workers)
	$(PY) scripts/launch.py demo/workers.py

ask: ## send one message to it (Q="..." DATA=.demo SESSION= TIMEOUT=300)
	$(PY) scripts/launch.py demo/ask.py "$$Q"

doctor: ## look whether the store of a bot is sound (STORE=.../subagents.sqlite3)
	$(PY) scripts/launch.py store_tool.py doctor "$$STORE"

test: ## run all tests, 10 to 18 minutes; the last line names what did not run
	$(PY) scripts/run_tests.py

unit: ## run the unit tests
	$(PY) scripts/run_tests.py unit

contract: ## run the contract tests
	$(PY) scripts/run_tests.py contract

host: ## run all tests with AstrBot, with the oldest and the latest one
	$(PY) scripts/run_tests.py host --thorough

e2e: ## run the tests of the running whole
	$(PY) scripts/run_tests.py e2e

browser: ## run the tests of the page in Chromium
	$(PY) scripts/run_tests.py browser

check: ## check style, types and the directions of imports
	$(PY) scripts/check.py

fmt: ## format, and mend what the linter can mend
	$(PY) scripts/check.py --fix

bench: ## measure, into bench/out/
	$(PY) scripts/launch.py bench/run.py

torture: ## kill a core at work again and again and check it, about a minute (SEED=)
	$(PY) scripts/torture.py --seed "$$SEED"

clean: ## remove environments, caches and the data of the demo
	@rm -rf .venv .venvs .uv .cache .demo .demo-workers .mypy_cache .pytest_cache .ruff_cache .hypothesis \
	  .import_linter_cache build *.egg-info
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
