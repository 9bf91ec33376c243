"""Runs first in the runner, with `here` and `codes` as globals: modules are made of the bundle's code objects.

As if they had been loaded from the files of the package `warder` in the folder `here`, where the others are found.
"""
import sys
from _frozen_importlib import ModuleSpec


class Loader:
    """Leaves sys.meta_path by itself when the last module has been loaded."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name not in codes:
            return None
        folder = f"{here}/{name.replace('.', '/')}"
        is_package = name == "warder"
        spec = ModuleSpec(name, Loader, origin=f"{folder}/__init__.py" if is_package else f"{folder}.py",
                          is_package=is_package)
        spec.has_location = True
        if is_package:
            spec.submodule_search_locations.append(folder)
        return spec

    @staticmethod
    def create_module(spec):
        return None  # the usual kind

    @staticmethod
    def exec_module(module):
        code = codes.pop(module.__name__)
        if not codes:
            sys.meta_path.remove(Loader)
        exec(code, module.__dict__)


sys.meta_path.insert(0, Loader)
