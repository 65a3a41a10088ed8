"""The files of the operations page, as they are in this package: there is no build step."""

from collections.abc import Mapping
from importlib import resources
from typing import Final

from apiserver.http.static_files import Asset, create_asset

UI_INDEX_FILE: Final = "index.html"
# No script and no style but our own files, and no text that is taken for a script or for HTML.
UI_CSP: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)


def load_ui_assets() -> Mapping[str, Asset]:
    """Every file of the page, by name."""
    files = (resources.files("apiserver.dashboard") / "static").iterdir()
    return {file.name: create_asset(file.name, file.read_bytes()) for file in files}
