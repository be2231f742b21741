"""Histograms bound TPAUC and its interval, add up, and survive files."""

import json
import math
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tpauc
from scored_samples import SHARE, samples
from tpauc.metrics.histogram import Histogram, bin_numbers, lowest_score


def histogram_of(y, scores, bins):
    found = Histogram(bins)
    found.update(y, scores)
    return found


@settings(max_examples=40, deadline=None)
@given(
    sample=samples(),
    alpha=SHARE,
    beta=SHARE,
    bins=st.sampled_from([1, 16, 300, 65536]),
    scale=st.sampled_from([1e-3, 1, 40]),
)
def test_bounds_and_limits_contain_the_exact_ones(sample, alpha, beta, bins, scale):
    y, scores = sample[0], scale * (sample[1] - 0.4)
    found, region = histogram_of(y, scores, bins), {"alpha": alpha, "beta": beta}
    bounds, exact = found.bounds(**region), tpauc.tpauc_score(y, scores, **region)
    assert bounds.low <= exact <= bounds.high
    assert abs(bounds.estimate - exact) <= bounds.error
    limits, interval = found.interval(**region), tpauc.tpauc_interval(y, scores, **region, method="delong")
    assert limits.low <= interval.low + 1e-12
    assert interval.high <= limits.high + 1e-12


@settings(max_examples=40, deadline=None)
@given(sample=samples(), alpha=SHARE, beta=SHARE, bins=st.sampled_from([1, 16, 300, 65536]))
def test_the_operating_point_has_exact_rates(sample, alpha, beta, bins):
    y, scores = sample
    point = histogram_of(y, scores, bins).operating_point(alpha=alpha, beta=beta)
    exact = tpauc.operating_point(y, scores, alpha=alpha, beta=beta)
    assert point.tpr == np.mean(scores[y] >= point.threshold) <= exact.tpr
    assert point.fpr == np.mean(scores[~y] >= point.threshold) <= beta
    assert exact.feasible or not point.feasible


def test_fine_bins_give_the_exact_interval():
    rng = np.random.default_rng(0)
    y = rng.random(1000) < 0.3
    scores = np.round(rng.normal(size=1000) + y, 1)  # no two scores share a bin
    found = histogram_of(y, scores, 65536).interval(alpha=0.5, beta=0.5)
    exact = tpauc.tpauc_interval(y, scores, alpha=0.5, beta=0.5, method="delong")
    assert found.estimate == pytest.approx(exact.estimate, abs=0.05)
    assert found.low < exact.low < exact.high < found.high


def test_parts_add_up_to_the_whole():
    rng = np.random.default_rng(0)
    y, scores = rng.random(500) < 0.3, 10 * rng.normal(size=500)
    parts = [histogram_of(y[rows], scores[rows], 100) for rows in (slice(0, 7), slice(7, 7), slice(7, 500))]
    whole = histogram_of(y, scores, 100)
    assert parts[0] + parts[1] + parts[2] == whole
    assert parts[0].merge(*parts[1:]) == whole
    assert parts[0] != whole
    assert repr(parts[1]) == "Histogram(0 positives and 0 negatives in 100 bins)"


@pytest.mark.parametrize("suffix", [".json", ".parquet"])
def test_a_saved_histogram_is_read_back(tmp_path, suffix):
    rng = np.random.default_rng(0)
    saved = histogram_of(rng.random(50) < 0.5, rng.normal(size=50), 1000)
    saved.save(tmp_path / f"day{suffix}")
    assert Histogram.load(tmp_path / f"day{suffix}") == saved


WHOLE = {"format": "tpauc histogram 1", "bins": 3, "bin": [0, 1], "positives": [1, 0], "negatives": [1, 2]}
CHANGES = [
    {"bin": [0, 5]},
    {"bin": [-1, 1]},
    {"bin": [1, 1]},
    {"bin": [0, 1, 2]},
    {"positives": [-1, 0]},
    {"positives": [0.5, 0]},
    {"negatives": ["1", "2"]},
    {"negatives": [None, 2]},
    {"negatives": [[1], [2]]},
    {"bins": "3"},
    {"bins": 0},
    {"format": "another"},
]
BROKEN = {f"changed-{place}.json": json.dumps(WHOLE | change).encode() for place, change in enumerate(CHANGES)} | {
    "empty.json": b"{}",
    "list.json": b"[]",
    "text.json": b"not json",
    "bytes.json": bytes(range(256)),
    "text.parquet": b"not parquet",
}


def test_the_file_that_the_broken_ones_are_made_from_is_whole(tmp_path):
    (tmp_path / "whole.json").write_text(json.dumps(WHOLE))
    assert Histogram.load(tmp_path / "whole.json") == Histogram.from_counts([1, 0, 0], [1, 2, 0])


@pytest.mark.parametrize("name", BROKEN)
def test_a_file_that_holds_no_histogram_is_refused(tmp_path, name):
    (tmp_path / name).write_bytes(BROKEN[name])
    with pytest.raises(ValueError, match=f"{name} is not a histogram that tpauc wrote"):
        Histogram.load(tmp_path / name)


def test_a_parquet_file_of_something_else_is_refused(tmp_path):
    import pyarrow
    import pyarrow.parquet

    pyarrow.parquet.write_table(pyarrow.table({"bin": [1]}), tmp_path / "other.parquet")
    with pytest.raises(ValueError, match="it has no such format"):
        Histogram.load(tmp_path / "other.parquet")


def test_mistakes():
    with pytest.raises(ValueError, match=r"path must end in .json or .parquet"):
        Histogram().save("day.csv")
    with pytest.raises(ValueError, match="only histograms of equal size can be added, got 10 and 20 bins"):
        Histogram(10) + Histogram(20)
    with pytest.raises(ValueError, match="the histogram has no positive example"):
        Histogram().bounds(alpha=0.5, beta=0.5)
    with pytest.raises(ValueError, match="positives must be one-dimensional whole numbers"):
        Histogram.from_counts([0.5], [1])
    with pytest.raises(ValueError, match="positives and negatives must have equal length"):
        Histogram.from_counts([1, 2], [1])
    with pytest.raises(TypeError):
        Histogram() + 3


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=50),
    st.sampled_from([1, 3, 1000, 65536]),
)
def test_bins_keep_the_order_of_scores(scores, bins):
    numbers = bin_numbers(np.sort(np.array(scores)), bins)
    assert (np.diff(numbers) >= 0).all()
    assert numbers[0] >= 0
    assert numbers[-1] < bins


@pytest.mark.parametrize("number", [1, 100, 16383, 16384, 30000, 49151, 49152, 65535])
def test_the_lowest_score_of_a_bin(number):
    score = lowest_score(number)
    below = math.nextafter(score, -math.inf)
    assert bin_numbers(np.array([below, score])).tolist() == [number - 1, number]


def test_torch_uses_the_same_bins():
    torch = pytest.importorskip("torch")
    from tpauc.metrics.torchmetric import TwoWayPartialAUC

    rng = np.random.default_rng(0)
    y, scores = (
        rng.random(500) < 0.3,
        np.concatenate((rng.normal(size=480) * 3, [0, 0.5, 1, -1, *10.0 ** np.arange(-8, 8)])),
    )
    metric = TwoWayPartialAUC(0.5, 0.5, bins=1000)
    metric.update(torch.tensor(scores), torch.tensor(y))
    found = histogram_of(y, scores, 1000)
    assert metric.histogram == found
    bounds = found.bounds(alpha=0.5, beta=0.5)
    assert float(metric.compute()) == bounds.estimate
    assert metric.error_bound == bounds.error
    with pytest.raises(ValueError, match="give it bins"):
        _ = TwoWayPartialAUC(0.5, 0.5).histogram


# ------------------------------------------------------------------------------------------------------ hostile files


def json_of(**changes):
    whole = {"format": "tpauc histogram 1", "bins": 4, "bin": [0, 2], "positives": [1, 0], "negatives": [0, 2]}
    return json.dumps(whole | changes).encode()


@pytest.mark.parametrize(
    "contents",
    [
        b"[" * 100_000,
        b'{"format":' * 100_000,
        json_of(bins=10**12),  # 16 TB
        json_of(bins=10**9),
        json_of(positives=[1]),  # one count for two bins was taken for both
        json_of(negatives=[1]),
        json_of(positives=[]),
    ],
)
def test_a_hostile_json_file_is_refused(tmp_path, contents):
    (tmp_path / "counts.json").write_bytes(contents)
    with pytest.raises(ValueError, match="is not a histogram that tpauc wrote"):
        Histogram.load(tmp_path / "counts.json")


def test_a_hostile_parquet_file_is_refused(tmp_path, monkeypatch):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path, about = tmp_path / "counts.parquet", {"format": "tpauc histogram 1", "bins": "4"}
    columns = dict.fromkeys(("bin", "positives", "negatives"), np.zeros(1_000, dtype=np.int64))
    parquet.write_table(pyarrow.table(columns).replace_schema_metadata(about), path)
    with monkeypatch.context() as patch:
        patch.setattr(parquet.ParquetFile, "read", None)  # rows are counted before they are unpacked
        with pytest.raises(ValueError, match="it has 1000 rows for 4 bins"):
            Histogram.load(path)
    parquet.write_table(pyarrow.table(columns).replace_schema_metadata(about | {"bins": "9" * 12}), path)
    with pytest.raises(ValueError, match="bins must be at most"):
        Histogram.load(path)
    Histogram.from_counts([1, 0], [0, 2]).save(path)
    whole = path.read_bytes()
    for place in range(0, len(whole), 7):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with suppress(ValueError):  # every other error is a finding
            Histogram.load(path)


def test_the_number_of_bins_is_limited():
    with pytest.raises(ValueError, match="bins must be at most 67108864"):
        Histogram(2**26 + 1)
