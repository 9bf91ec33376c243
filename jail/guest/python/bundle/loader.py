"""Runs first in the runner, with `here` and `codes` as globals: loads modules from the bundle's code objects.

The modules look as if they were loaded from the package `warder` in the folder `here`, which has the other modules.
"""
import sys
from _frozen_importlib import ModuleSpec


class Loader:
    """Removes itself from sys.meta_path when the last module of the bundle is loaded."""

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
        return None  # the default module type

    @staticmethod
    def exec_module(module):
        code = codes.pop(module.__name__)
        if not codes:
            sys.meta_path.remove(Loader)
        exec(code, module.__dict__)


sys.meta_path.insert(0, Loader)
