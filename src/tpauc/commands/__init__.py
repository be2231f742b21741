"""What the commands of `tpauc.cli` do: files, runs, numbers and text, one idea a module. Needs ``tpauc[cli]``."""
