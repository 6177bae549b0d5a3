"""Start SGLang's server on a CPU: `python tests/support/sglang_server.py OPTION...`.

SGLang imports `sgl_kernel` and torchvision, whose packages are for CUDA, even where it uses PyTorch's own kernels. If
they are missing, stand-ins take their names: a function of `sgl_kernel` raises when it is called.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import runpy
import sys
from types import ModuleType
from typing import Any


class _Class(type):
    def __getattr__(cls, name: str) -> str:
        if name.startswith("__"):
            raise AttributeError(name)
        return f"{cls.__name__}.{name}"


class _Name:
    """A constant, such as a type of numbers: equal to itself alone."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> _Name:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Name(f"{self._name}.{name}")

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        raise NotImplementedError(f"{self._name} is missing on this machine")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Name) and other._name == self._name

    def __hash__(self) -> int:
        return hash(self._name)


class _StandIns(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self, names: list[str]) -> None:
        self._names = names

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        found = name.split(".")[0] in self._names
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if found else None

    def create_module(self, spec: Any) -> ModuleType:
        def attribute(name: str) -> Any:
            if name.startswith("__"):
                raise AttributeError(name)
            return _Class(name, (), {}) if name[0].isupper() else _Name(f"{spec.name}.{name}")

        module = ModuleType(spec.name)
        module.__version__ = "0"  # type: ignore[attr-defined]
        module.__getattr__ = attribute  # type: ignore[method-assign]
        return module

    def exec_module(self, module: ModuleType) -> None:
        pass


# The scheduler is a process of its own, which imports this file again.
sys.meta_path.append(_StandIns([name for name in ("sgl_kernel", "torchvision") if not importlib.util.find_spec(name)]))

if __name__ == "__main__":
    runpy.run_module("sglang.launch_server", run_name="__main__")
