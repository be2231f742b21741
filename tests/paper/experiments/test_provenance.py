"""The commit on which a result stands."""

import subprocess

from tpauc.paper.experiments import results


def test_commit_is_that_of_the_package(monkeypatch, tmp_path):
    monkeypatch.setattr(results, "_PACKAGE", tmp_path)
    look = results.commit.__wrapped__

    def git(*arguments):
        subprocess.run(
            ["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments],
            cwd=tmp_path,
            check=True,
            capture_output=True,
        )

    assert look() == ""
    git("init")
    (tmp_path / "__init__.py").write_text("")
    assert look() == ""  # a repository that knows nothing of these files
    git("add", ".")
    git("commit", "-m", "first")
    commit = look()
    assert len(commit) == 40
    (tmp_path / "__init__.py").write_text("changed")
    assert look() == f"{commit}+changes"


def test_without_git_there_is_no_commit(monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert results.commit.__wrapped__() == ""
