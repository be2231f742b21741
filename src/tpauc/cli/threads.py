"""As many threads as the work is worth.

Handing out small pieces takes longer than doing them, most of all on a machine that is busy with other work.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

_WORTH_SHARING = 1_000_000  # values in a table; a pass over fewer takes less than a millisecond


def threads_for(n_values: int) -> AbstractContextManager[Any]:
    """Return a context in which torch and BLAS use one thread for small tables, and what they are set to for others.

    Examples
    --------
    >>> import torch
    >>> with threads_for(1000):
    ...     torch.get_num_threads()
    1
    """
    import torch  # noqa: F401  # only libraries that are loaded by now are held back
    from threadpoolctl import threadpool_limits

    if n_values >= _WORTH_SHARING:
        return nullcontext()
    limits: AbstractContextManager[Any] = threadpool_limits(1)
    return limits
