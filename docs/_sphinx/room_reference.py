"""The reference: one page per room, written from the stub of the package, so that a new public name appears by itself.

A Sphinx extension. Before the pages are read it writes ``docs/reference/ROOM.rst`` for every room with public names: an
autosummary of these names and, apart, of the classes that their functions return. References that name the module
of a public name, ``tpauc.metrics.area.tpauc_score``, are resolved to the public name, ``tpauc.tpauc_score``.
"""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes

import tpauc

# In the order of the reference: the title of a room, and what is said of it. A room that is missing here gets its name.
ROOMS = {
    "metrics": ("Metrics", "How good is a model in the corner, how sure are we, and where is the threshold?"),
    "region": ("Region", "Which examples count."),
    "frames": ("Frames", "The metrics on an engine that holds the table: DuckDB, Polars, PySpark, Ibis, or files."),
    "losses": ("Losses", "What to minimise so that the corner grows. Needs the extra ``torch``."),
    "samplers": ("Samplers", "Which examples are in a batch. Needs the extra ``torch``."),
    "training": ("Training", "A loop that stops, resumes and keeps the best epoch. Needs the extra ``train``."),
    "classifiers": ("Classifiers", "Models for tables, in scikit-learn's form. Needs the extra ``sklearn``."),
    "reporting": ("Reporting", "Pictures and pages. Needs the extra ``report``."),
}


_FRAMES = {f"frames.{name}" for name in import_module("tpauc.frames").__all__}


def public_names() -> dict[str, dict[str, str]]:
    """Return the public names by room: for each the full name under which it is documented."""
    rooms: dict[str, dict[str, str]] = {}
    for name, module in tpauc._MODULE_OF.items():
        rooms.setdefault(module.split(".")[1], {})[name] = f"tpauc.{name}"
    rooms["frames"] = {name: f"tpauc.frames.{name}" for name in import_module("tpauc.frames").__all__}
    order = [*ROOMS, *sorted(set(rooms) - set(ROOMS))]
    return {room: rooms[room] for room in order if room in rooms}


def result_classes(names: dict[str, str]) -> list[str]:
    """Return the full names of classes of the package that functions in ``names`` return and that are not public."""
    found = set()
    for full_name in names.values():
        value = _resolve(full_name)
        words = re.findall(r"\w+", str(getattr(value, "__annotations__", {}).get("return")))
        for cls in (getattr(value, "__globals__", {}).get(word) for word in words):
            public = getattr(cls, "__name__", None) in {*tpauc.__all__, *names}
            if inspect.isclass(cls) and cls.__module__.startswith("tpauc.") and not public:
                found.add(f"{cls.__module__}.{cls.__name__}")
    return sorted(found, key=lambda name: name.rpartition(".")[2])


def _resolve(full_name: str) -> Any:
    module, _, name = full_name.rpartition(".")
    return getattr(import_module(module), name)


def room_page(room: str, names: dict[str, str]) -> str:
    """Return the page of one room."""
    title, text = ROOMS.get(room, (room, f"What ``tpauc.{room}`` holds."))
    prefix = "tpauc.frames" if room == "frames" else "tpauc"
    lines = [title, "=" * len(title), "", text, "", f".. currentmodule:: {prefix}", ""]
    lines += _summary(sorted(names, key=lambda name: (not name[0].islower(), name.lower())))
    results = result_classes(names)
    if results:
        lines += ["What the functions return", "-" * 25, "", ".. currentmodule:: tpauc", ""]
        lines += _summary([name.removeprefix("tpauc.") for name in results])
    return "\n".join(lines)


def index_page(rooms: list[str]) -> str:
    """Return the page that lists the rooms."""
    titles = {room: ROOMS.get(room, (room, "")) for room in rooms}
    text = "Every public name, from its docstring. ``from tpauc import NAME`` imports it; those of *Frames* are in "
    text += "``tpauc.frames``. ``tpauc --help`` and ``tpauc COMMAND --help`` describe the command line."
    lines = [
        "Reference",
        "=" * 9,
        "",
        text,
        "",
        ".. toctree::",
        "   :hidden:",
        "",
        *(f"   {room}" for room in rooms),
        "",
    ]
    lines += [line for room, (title, text) in titles.items() for line in (f":doc:`{title} <{room}>`", f"    {text}")]
    return "\n".join([*lines, ""])


def _summary(names: list[str]) -> list[str]:
    return [".. autosummary::", "   :toctree: ../api", "   :nosignatures:", "", *(f"   {name}" for name in names), ""]


def write_pages(app: Any, config: Any) -> None:
    """Write the pages that changed, and the list of them."""
    folder = Path(app.srcdir) / "reference"
    pages = {f"{room}.rst": room_page(room, names) for room, names in public_names().items()}
    pages["index.rst"] = index_page(list(public_names()))
    folder.mkdir(exist_ok=True)
    for old in {path.name for path in folder.glob("*.rst")} - set(pages):
        (folder / old).unlink()
    for name, text in pages.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def resolve_by_module(app: Any, env: Any, node: Any, contnode: Any) -> Any:
    """Resolve a reference to the module of a public name."""
    name = str(node.get("reftarget", "")).rpartition(".")[2]
    if node.get("refdomain") != "py" or name not in tpauc.__all__:
        return None
    domain = env.get_domain("py")
    if contnode.astext().startswith("tpauc."):  # show the name by which it is imported
        contnode = nodes.literal("", contnode.astext().rpartition(".")[2], classes=contnode["classes"])
    return domain.resolve_xref(env, node["refdoc"], app.builder, node["reftype"], f"tpauc.{name}", node, contnode)


# Names that are also words of other things on the pages: a command, a method.
AMBIGUOUS = {"fit", "evaluate", "report"}


def link_names(app: Any, doctree: nodes.document) -> None:
    """Link every public name that stands in backticks on a page, ``tpauc_score`` or ``frames.evaluate(...)``."""
    if app.env.docname.startswith("api/"):
        return
    for literal in list(doctree.findall(nodes.literal)):
        name = literal.astext().partition("(")[0].removeprefix("tpauc.")
        is_public = (name in tpauc.__all__ and name not in AMBIGUOUS) or name in _FRAMES
        if not is_public or isinstance(literal.parent, nodes.reference | nodes.title | addnodes.pending_xref):
            continue
        reference = addnodes.pending_xref(
            "", refdomain="py", reftype="obj", reftarget=f"tpauc.{name}", refdoc=app.env.docname, refexplicit=True
        )
        literal.replace_self(reference)
        reference += literal


def setup(app: Any) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("config-inited", write_pages)  # before Sphinx lists the pages
    app.connect("doctree-read", link_names)
    app.connect("missing-reference", resolve_by_module)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
