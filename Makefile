# Commands of the project. A fresh machine needs Python 3.11 or later and make; the packages go to .venv once.

PORT ?= 8000
VENV := .venv
PYTHON := $(VENV)/bin/python
PIP_INSTALL := $(PYTHON) -m pip install -qq --disable-pip-version-check --no-input

# What a deployment may have set; tests and checks run on the defaults.
SETTINGS := BUILTIN_TOOLS CELERY_BROKER_URL CLINICAL_TRIALS_URL DATABASE_POOL_SIZE DATABASE_URL DATA_DIR \
	DJANGO_ALLOWED_HOSTS DJANGO_DEBUG DJANGO_SECRET_KEY EGRESS_ALLOW_PRIVATE EUROPE_PMC_URL HARNESS_TOOLS HTTPS_ONLY LLM_API_KEY \
	LLM_BASE_URL LLM_MODEL_EXPERT LLM_MODEL_FLASH LLM_TIMEOUT_SECONDS LOG_FORMAT LOG_LEVEL METRICS_TOKEN MODEL_CATALOGUE RATE_LIMIT_RPM REDIS_URL \
	REQUEST_BODY_BYTES RESPONSE_TTL_DAYS TOOL_CHOICE_NONE TURN_DEADLINE_SECONDS TURN_MODEL_CALLS TURN_THREADS \
	WORKER_GRACE_SECONDS WORKER_METRICS_PORT
ON_DEFAULTS := env $(addprefix -u ,$(SETTINGS)) ENV_FILE=/dev/null

# The database that test-postgres makes its own databases beside; its user must be allowed to create some.
POSTGRES_URL ?= postgres://postgres@127.0.0.1:5432/postgres
ON_POSTGRES := $(ON_DEFAULTS) DATABASE_URL=$(POSTGRES_URL)
STATEFUL := tests/responses_app tests/tools_app tests/tenancy tests/conversations tests/mirobody_site
# What stands in those folders and promises nothing about a database.
STATELESS := $(addprefix tests/responses_app/,engine llm playground protocol rendering) tests/tools_app/standardization

.PHONY: serve up test test-clients test-postgres test-races test-schema bench bench-streams bench-soak bench-chain bench-health bench-admin check openapi format

# The server with demo data on http://127.0.0.1:8000 (another port: make serve PORT=8001).
serve: $(VENV)/serve.stamp
	@$(PYTHON) manage.py migrate --no-input --verbosity 0
	@$(PYTHON) manage.py fail_abandoned_turns
	@PORT=$(PORT) $(PYTHON) manage.py seed_demo
	@exec $(PYTHON) -m uvicorn mirobody_site.asgi:application --host 127.0.0.1 --port $(PORT) \
		--lifespan off --ws none --no-access-log --timeout-keep-alive 75 --timeout-graceful-shutdown 10

# For many callers: web, worker and beat on Postgres and Redis, until Ctrl-C or SIGTERM stops them (docs/operations.md).
up: $(VENV)/serve.stamp
	@exec $(PYTHON) -m mirobody_site.up

# The whole suite on all cores (a part of it on one: make test ARGS="-n 0 tests/tenancy -k user").
test: $(VENV)/dev.stamp
	@$(ON_DEFAULTS) $(PYTHON) -m pytest -n auto $(ARGS)

# Every client build of the matrix against a running server; needs Node 20 and npm. Clients are installed once, to .clients
# (only the last version of each: make test-clients MATRIX="matrix and newest").
MATRIX ?= matrix
test-clients: $(VENV)/dev.stamp
	@$(ON_DEFAULTS) $(PYTHON) -m pytest -m "$(MATRIX)" tests/clients/matrix $(ARGS)

# What touches the database, on Postgres.
test-postgres: $(VENV)/dev.stamp
	@$(ON_POSTGRES) $(PYTHON) -m pytest -n auto --create-db $(STATEFUL) $(addprefix --ignore=,$(STATELESS)) $(ARGS)
	@$(ON_POSTGRES) $(PYTHON) -m pytest -n auto --dist loadfile --create-db tests/faults

# The races at full width, on Postgres: takes long.
test-races: export RACE_ROUNDS ?= 50
test-races: export RACE_WIDTH ?= 16
test-races: $(VENV)/dev.stamp
	@$(ON_POSTGRES) $(PYTHON) -m pytest -n auto --create-db tests/conversations/test_races.py $(ARGS)

# All that the OpenAPI document allows, and much that it does not, asked of a server: about ten minutes.
test-schema: export SCHEMA_EXAMPLES ?= 300
test-schema: export SCHEMA_SEED ?= $(shell date +%s)
test-schema: export SCHEMA_PHASES ?= coverage,fuzzing,stateful
test-schema: $(VENV)/dev.stamp
	@$(ON_DEFAULTS) $(PYTHON) -m pytest -n 0 -s tests/schema $(ARGS)

# Turns a second and what each costs, on Redis, Postgres and workers as in production: two minutes.
bench: $(VENV)/dev.stamp
	@$(ON_DEFAULTS) POSTGRES_URL=$(POSTGRES_URL) $(PYTHON) -m bench.throughput

# A thousand streams at once, and a hundred turns of a slow provider at once: two minutes.
bench-streams: $(VENV)/dev.stamp
	@$(ON_DEFAULTS) POSTGRES_URL=$(POSTGRES_URL) $(PYTHON) -m bench.many_streams
	@$(ON_DEFAULTS) POSTGRES_URL=$(POSTGRES_URL) $(PYTHON) -m bench.slow_provider

# A mixed load while workers and Redis are killed, and what is left of it: some minutes more than MINUTES.
bench-soak: MINUTES ?= 10
bench-soak: $(VENV)/dev.stamp
	@$(ON_DEFAULTS) POSTGRES_URL=$(POSTGRES_URL) $(PYTHON) -m bench.soak $(MINUTES)

# What one more turn of a 500-turn conversation costs, on SQLite and on Postgres: about a minute.
bench-chain: $(VENV)/dev.stamp
	@$(ON_DEFAULTS) $(PYTHON) bench/deep_chain.py
	@$(ON_POSTGRES) $(PYTHON) bench/deep_chain.py

# How fast a person's million readings are asked about, and records taken in, on Postgres: about two minutes.
bench-health: $(VENV)/dev.stamp
	@$(ON_POSTGRES) $(PYTHON) bench/health_queries.py

# How fast the admin's pages are over a million responses, on Postgres: some minutes.
bench-admin: $(VENV)/dev.stamp
	@$(ON_POSTGRES) $(PYTHON) bench/admin_pages.py

# Format, lint, types, floors of the house, missing migrations.
check: $(VENV)/dev.stamp
	@$(PYTHON) -m ruff format --check .
	@$(PYTHON) -m ruff check .
	@$(ON_DEFAULTS) $(PYTHON) -m mypy
	@$(VENV)/bin/lint-imports
	@$(ON_DEFAULTS) $(PYTHON) manage.py makemigrations --check --dry-run

# Writes what /v1/openapi.json serves into docs/; a test says when it is stale.
openapi: $(VENV)/dev.stamp
	@$(ON_DEFAULTS) $(PYTHON) manage.py spectacular --validate --format openapi-json --file docs/openapi.json

format: $(VENV)/dev.stamp
	@$(PYTHON) -m ruff format .
	@$(PYTHON) -m ruff check --fix .

$(VENV)/serve.stamp: requirements.txt | $(PYTHON)
	@echo "Installing what the server needs (once) ..."
	@$(PIP_INSTALL) -r requirements.txt
	@touch $@

$(VENV)/dev.stamp: requirements.txt requirements-dev.txt | $(PYTHON)
	@echo "Installing what tests and checks need (once) ..."
	@$(PIP_INSTALL) -r requirements-dev.txt
	@touch $(VENV)/serve.stamp $@

# A python3.11 that is there but does not run (a version manager's stand-in) is passed over.
$(PYTHON):
	@for python in python3.11 python3 python; do \
		if $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
			$$python -m venv $(VENV) || { rm -rf $(VENV); exit 1; }; \
			exit 0; \
		fi; \
	done; \
	echo "Python 3.11 or later is needed, as python3.11 or python3 on the PATH." >&2; \
	exit 1
