"""Reading what the commands write."""

import functools

import pandas as pd

read_csv = functools.partial(pd.read_csv, float_precision="round_trip")  # before 3.0 pandas rounds by default
