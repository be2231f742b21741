"""Reading what the commands write."""

import functools

import pandas as pd

# Before 3.0 pandas rounds by default; from 3.1 on it warns of the argument.
_EXACT = {"float_precision": "round_trip"} if int(pd.__version__.partition(".")[0]) < 3 else {}
read_csv = functools.partial(pd.read_csv, **_EXACT)
