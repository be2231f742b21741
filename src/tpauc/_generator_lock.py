"""One lock for the global generators of random numbers: torch's, NumPy's and Python's.

Layers such as dropout draw from torch's global generator, and a user's data set may draw from NumPy's or Python's. All
threads of a process share them. Whoever seeds them holds this lock until it has put the caller's state back: trainings
in several threads then take turns, and each draws the numbers of its own seed.
"""

from __future__ import annotations

import threading

GENERATOR_LOCK = threading.RLock()  # a training inside another one, in the same thread, need not wait
