"""What a release consists of: one version, a dated changelog, workflows that call what is there."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

import tpauc

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
LONGEST_ENTRY = 200  # characters; a sentence


def make_targets(text):
    """Return the names of all rules of a Makefile."""
    return {name for line in re.findall(r"^([\w. /-]+):(?!=)", text, flags=re.MULTILINE) for name in line.split()}


def called_targets(text):
    """Return the targets that the shell commands of a workflow give to make."""
    jobs = yaml.safe_load(text)["jobs"].values()
    commands = [step["run"] for job in jobs for step in job["steps"] if "run" in step]
    calls = re.findall(r"\bmake((?: [\w-]+(?!\S))+)", "\n".join(commands))
    return {target for call in calls for target in call.split()}


def entries(text, version):
    """Return the entries of a version of the changelog, each as one line."""
    part = re.split(r"^## ", text, flags=re.MULTILINE)
    section = next(section for section in part if section.startswith(version))
    return [" ".join(entry.split()) for entry in re.findall(r"^- (.*?)(?=^- |^#|^$|\Z)", section, flags=re.M | re.S)]


def test_the_version_stands_in_one_place():
    assert "version" not in PROJECT
    assert PROJECT["dynamic"] == ["version"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == tpauc.__version__


def test_the_changelog_has_the_version_with_its_date_and_a_sentence_per_entry():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert f"## {tpauc.__version__} - {citation['date-released']}" in text
    found = entries(text, tpauc.__version__)
    assert len(found) > 20
    long = [entry for entry in found if len(entry) > LONGEST_ENTRY or ". " in entry.rstrip(".").replace("e.g. ", "")]
    assert not long, long


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_every_make_target_of_a_workflow_exists(path):
    missing = called_targets(path.read_text(encoding="utf-8")) - make_targets((ROOT / "Makefile").read_text("utf-8"))
    assert not missing, f"{path.name} calls make {missing}"


def test_the_check_of_targets_can_fail():
    workflow = "jobs:\n  a:\n    steps:\n      - uses: x\n      - run: |\n          make test no-such ARGS=1\n"
    assert called_targets(workflow) == {"test", "no-such"}
    assert make_targets("A := 1\nB ?= 2\ntest: lint\n\tmake no-such:\nlint:\n.venv/x: y\n") == {
        "test",
        "lint",
        ".venv/x",
    }


def test_the_workflows_call_what_a_developer_calls():
    called = {path.stem: called_targets(path.read_text(encoding="utf-8")) for path in WORKFLOWS}
    assert {"test", "test-oldest", "dist", "docs"} <= called["tests"]
    assert "dist" in called["release"]


def test_every_supported_python_is_tested_and_classified():
    jobs = yaml.safe_load((ROOT / ".github/workflows/tests.yml").read_text(encoding="utf-8"))["jobs"]
    versions = jobs["newest"]["strategy"]["matrix"]["python"]
    classified = [line.rpartition(" ")[2] for line in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", line)]
    assert versions == classified
    first, last = versions[0], int(versions[-1].partition(".")[2])
    assert PROJECT["requires-python"].startswith(f">={first}")
    assert PROJECT["requires-python"].endswith(f"<3.{last + 1}")


def test_a_release_is_published_without_a_secret():
    text = (ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8")
    publish = yaml.safe_load(text)["jobs"]["publish"]
    assert publish["permissions"] == {"id-token": "write"}
    assert publish["needs"] == "build"
    assert "secrets." not in text


@pytest.mark.parametrize("path", sorted((ROOT / ".github").rglob("*.yml")), ids=lambda path: path.name)
def test_forms_and_workflows_are_yaml(path):
    assert isinstance(yaml.safe_load(path.read_text(encoding="utf-8")), dict)


def test_hooks_call_the_tools_of_the_environment():
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    hooks = [hook for repository in config["repos"] for hook in repository["hooks"]]
    assert all(hook["entry"].startswith(".venv/bin/") for hook in hooks)
    tools = {hook["entry"].split()[0].rpartition("/")[2] for hook in hooks}
    tests = PROJECT["optional-dependencies"]["test"]
    assert tools <= {re.match(r"[\w-]+", line)[0] for line in tests if not line.startswith("tpauc")}
