"""The import graph of the package, read from its source: what `test_house` checks and `docs/architecture.md` shows.

``python tests/house.py`` prints the numbers of the house: lines, files, import edges between rooms, longest chain.
"""

import ast
from collections import Counter
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "src" / "tpauc"

# From the lowest floor to the highest. A room may import rooms of lower floors, and nothing else.
FLOORS = [
    {"_validation", "_files", "_notebook"},
    {"region"},
    {"metrics"},
    {"frames", "losses", "samplers"},
    {"training"},
    {"classifiers"},
    {"reporting"},
    {"paper"},
    {"cli"},
    {"__main__"},
]

# Basenames that may stand in several rooms: each room has one of its own kind.
COMMON_BASENAMES = {"__init__"}


def sources():
    """Return the source of each module by its name inside the package, ``paper.data.datasets`` for a nested one."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        if name:  # the public names of the package itself are above all floors
            found[name] = path.read_text(encoding="utf-8")
    return found


def imported_names(module, source):
    """Dotted names that a module imports from the package, wherever the statement stands, the package included."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.partition(".")[0] == "tpauc")
        elif isinstance(node, ast.ImportFrom):
            # One dot is the folder of the module, each further one the folder above.
            folder = ["tpauc", *module.split(".")][: -node.level] if node.level else []
            origin = ".".join([*folder, *([node.module] if node.module else [])])
            if origin.partition(".")[0] == "tpauc":
                yield from (f"{origin}.{alias.name}" for alias in node.names)


def imported_modules(module, source, known):
    """Modules of the package that ``module`` imports, and a list of what is imported past them."""
    modules, past_modules = set(), []
    for name in imported_names(module, source):
        inside = name.removeprefix("tpauc").removeprefix(".")
        owner = inside if inside in known else inside.rpartition(".")[0]
        if owner in known:
            modules.add(owner)
        elif not inside.startswith("__"):  # tpauc.__version__ depends on no module
            past_modules.append(name)
    return modules, past_modules


def import_graph(modules):
    """Return the modules that each module imports."""
    return {module: imported_modules(module, source, modules)[0] for module, source in modules.items()}


def room(module):
    """Return the room of a module: its first name."""
    return module.partition(".")[0]


def room_edges(graph):
    """Return the pairs (room, imported room), without those inside a room."""
    return {(room(a), room(b)) for a, imported in graph.items() for b in imported if room(a) != room(b)}


def longest_chain(graph):
    """Return the number of modules in the longest chain of imports."""

    @cache
    def length(module):
        return 1 + max((length(other) for other in graph[module]), default=0)

    return max(length(module) for module in graph)


def import_problems(modules):
    """Say what breaks the rules of imports among ``modules``, a mapping from name to source."""
    floor = {name: number for number, names in enumerate(FLOORS) for name in names}
    problems, graph = [], {}
    for module, source in modules.items():
        if room(module) not in floor:
            problems.append(f"{room(module)} is in no floor: add it to FLOORS in tests/house.py, as low as it can be")
            continue
        graph[module], past_modules = imported_modules(module, source, modules)
        problems += [f"{module} imports {name}: name the module that it is defined in" for name in past_modules]
        for other in sorted(graph[module]):
            if room(other) != room(module) and floor.get(room(other), -1) >= floor[room(module)]:
                problems.append(f"{module} imports {other}, which is not on a lower floor")
            if (owner := private_owner(other)) is not None and not f"{module}.".startswith(owner):
                problems.append(f"{module} imports {other}, which is private to {owner.removesuffix('.')}")
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        problems.append(f"imports form a cycle: {' <- '.join(error.args[1])}")
    return list(dict.fromkeys(problems))


def private_owner(module):
    """Return the folder, with a dot behind it, to which a module with a leading underscore belongs, None for others."""
    names = module.split(".")
    private = next((place for place, name in enumerate(names) if name.startswith("_")), None)
    return None if not private else ".".join(names[:private]) + "."


def repeated_basenames(modules):
    """Return the basenames that stand in several places, with the modules that have them."""
    packages = {module.rpartition(".")[0] for module in modules}
    leaves = [module for module in modules if module not in packages]
    basename = {module: module.rpartition(".")[2] for module in leaves}
    several = {name for name, count in Counter(basename.values()).items() if count > 1} - COMMON_BASENAMES
    return {name: [module for module in leaves if basename[module] == name] for name in sorted(several)}


def main():
    """Print the numbers of the house."""
    modules = sources()
    graph = import_graph(modules)
    files = list(PACKAGE.rglob("*.py"))
    lines = [len(path.read_text(encoding="utf-8").splitlines()) for path in files]
    print(f"source lines                 {sum(lines)}")
    print(f"files                        {len(files)} ({sum(n < 100 for n in lines)} below 100 lines)")
    print(f"import edges between rooms   {len(room_edges(graph))}")
    print(f"import edges between modules {sum(map(len, graph.values()))}")
    print(f"longest import chain         {longest_chain(graph)} modules")
    for name, places in repeated_basenames(modules).items():
        print(f"basename {name} stands in {', '.join(places)}")
    for problem in import_problems(modules):
        print(f"problem: {problem}")


if __name__ == "__main__":
    main()
