# What developers run; `just` lists it. Everything happens in one virtual environment: .venv, or VENV=elsewhere.

venv := absolute_path(env("VENV", ".venv"))
python := venv / "bin/python"
build := "build/dev"
sanitizers := "build/sanitize"

set positional-arguments

export PATH := venv / "bin" + ":" + env("PATH")

_list:
    @just --list --unsorted

# Make the environment. PyTorch comes along: install the build you want beforehand to keep it
setup:
    [ -x {{ python }} ] || python3 -m venv {{ venv }}
    {{ python }} -m pip install --quiet --upgrade pip
    {{ python }} -m pip install --quiet --group dev

# Build the core with warnings as errors, and install the package in place (Python changes need no rebuild)
build:
    {{ python }} -m pip install --quiet --no-build-isolation --no-deps --editable . \
        --config-settings build-dir={{ build }} --config-settings cmake.define.DETENT_DEVELOPER=ON

# Run the tests, the docstrings, and the examples of the README and the docs
test *arguments:
    {{ python }} -m pytest "$@"

# Run the tests of the playground and of pages in a real browser: apt-get install chromium; pip install --group browser
browser *arguments:
    {{ python }} -m pytest -m browser tests/serve tests/test_pictures_browser.py tests/test_pages_browser.py tests/sources/json_schema/test_ecma.py "$@"

# Run the tests of an engine in an environment of its own: llama-cpp, mlx, onnxruntime, outlines, sglang or vllm
engine name:
    [ -x build/engines/{{ name }}/bin/python ] || {{ python }} -m venv build/engines/{{ name }}
    build/engines/{{ name }}/bin/python -m pip install --quiet --upgrade pip
    build/engines/{{ name }}/bin/python -m pip install --quiet --group engine --group engine-{{ name }} .
    build/engines/{{ name }}/bin/python -m pytest -W default -m engines \
        tests/integrations/engines/test_{{ replace(name, "-", "_") }}*.py

# Run the tests and report the lines of the package that none of them runs (Python; processes that tests start are not seen)
coverage *arguments:
    coverage run -m pytest "$@"
    coverage report

# Check style, formatting, layers, C++ files that are not committed, and that the committed stubs have not drifted
lint: layers
    ruff check
    ruff format --check
    {{ python }} tools/check_words.py
    git ls-files 'cpp/*.h' 'cpp/*.cc' | xargs clang-format --dry-run --Werror
    git diff --name-only HEAD -- 'cpp/*.cc' | xargs --no-run-if-empty just tidy
    diff -u src/detent/_core.pyi {{ build }}/_core.pyi || (echo "the stub has drifted: run just stubs" && false)
    {{ python }} tools/write_package_stub.py --check

# Check C++ files for mistakes with clang-tidy; all of them take a minute
tidy *files:
    printf '%s\n' "${@:-$(git ls-files 'cpp/*.cc')}" | xargs -P "$(getconf _NPROCESSORS_ONLN)" -n 1 clang-tidy -p {{ build }} --quiet

# Check that imports and includes run one way
layers:
    lint-imports
    {{ python }} tools/check_layers.py

# Check the types
types:
    mypy

# Write what the linter can mend by itself
format:
    ruff check --fix
    ruff format
    git ls-files 'cpp/*.h' 'cpp/*.cc' | xargs clang-format -i

# Write the committed stubs: the core's is a copy of the built one, the package's lists its public names
stubs: build
    cp {{ build }}/_core.pyi src/detent/_core.pyi
    {{ python }} tools/write_package_stub.py

# Build the docs into build/docs; warnings are errors
docs:
    sphinx-build --quiet --fail-on-warning --keep-going --builder html docs build/docs

# Run the tests of jobs on Ray, on a cluster of this machine
ray:
    {{ python }} -m pip install --quiet "ray[data]"
    {{ python }} -m pytest -m engines tests/ray

# Run the tests on a core with the address and undefined-behaviour sanitizers (CPython's own leaks are not looked for)
sanitize *arguments: (_instrument "DETENT_SANITIZE" "address")
    ASAN_OPTIONS=detect_leaks=0 just venv={{ venv }} \
        _instrumented address "libasan.so libubsan.so libstdc++.so" -m pytest "$@"

# Run tests on a core with the thread sanitizer; give it those that start threads
tsan *arguments: (_instrument "DETENT_SANITIZE_THREAD" "thread")
    TSAN_OPTIONS="halt_on_error=1 die_after_fork=0 suppressions=$PWD/tools/tsan.supp" just venv={{ venv }} \
        _instrumented thread "libtsan.so libstdc++.so" -m pytest "$@"

# A copy of the package with an instrumented core. Without the developer switch: writing the stub would run the core
_instrument switch name:
    cmake -S . -B {{ sanitizers }}/{{ name }} -G Ninja -D {{ switch }}=ON -D CMAKE_BUILD_TYPE=RelWithDebInfo \
        -D Python_EXECUTABLE={{ python }} --log-level=WARNING
    cmake --build {{ sanitizers }}/{{ name }} --target _core
    rm -rf {{ sanitizers }}/{{ name }}/package
    mkdir {{ sanitizers }}/{{ name }}/package
    cp -rs "$PWD/src/detent" {{ sanitizers }}/{{ name }}/package/
    cp --remove-destination {{ sanitizers }}/{{ name }}/_core.*so {{ sanitizers }}/{{ name }}/package/detent/

# -S: the environment's packages without its .pth files, one of which is the editable installation of the ordinary build
_instrumented name libraries *arguments:
    #!/usr/bin/env bash
    set -euo pipefail
    preload=()
    for library in {{ libraries }}; do preload+=("$(g++ -print-file-name="$library")"); done
    site=$({{ python }} -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
    export PYTHONPATH="$PWD/{{ sanitizers }}/{{ name }}/package:$site"
    LD_PRELOAD="${preload[*]}" exec setarch --addr-no-randomize {{ python }} -S "${@:3}"

# All that is checked before a change is handed in
check: build lint tidy types docs test
