import gzip
import pickle
import zipfile

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import csv, parquet

from tpauc.cli.errors import UsageError
from tpauc.cli.table_io import check_table_path, column_names, read_table, write_table

TEXTS = (pa.string(), pa.large_string(), pa.string_view())
COLUMNS = {"name": ["a", "b, c", None], "number": [1.5, -2.0, None], "whole": [1, 2, 3], "flag": [True, False, True]}


def written(folder, name, contents):
    path = folder / name
    path.write_bytes(contents if isinstance(contents, bytes) else contents.encode())
    return path


# ----------------------------------------------------------------------------------------------------- what is read


@pytest.mark.parametrize("name", ["table.csv", "table.tsv", "table.parquet", "table.pq", "with spaces é.CSV"])
def test_a_table_is_read_as_it_was_written(tmp_path, name):
    path = tmp_path / name
    write_table(path, pa.table(COLUMNS))
    assert read_table(path).to_pydict() == COLUMNS
    assert column_names(path) == list(COLUMNS)
    assert read_table(path, ["flag", "name"]).to_pydict() == {"flag": COLUMNS["flag"], "name": COLUMNS["name"]}
    assert [file.name for file in tmp_path.iterdir()] == [name]


@given(
    st.lists(
        st.tuples(st.floats(allow_nan=False, allow_infinity=False), st.text("ab,;\"'\t \nß", min_size=1)), min_size=1
    )
)
@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_numbers_and_texts_survive_a_csv_file(tmp_path, rows):
    numbers, texts = zip(*rows, strict=True)
    path = tmp_path / "table.csv"
    write_table(path, pa.table({"text": texts, "number": numbers}))
    found = read_table(path, numbers=["number"], texts=["text"])
    assert found["number"].to_pylist() == list(numbers)
    assert found["text"].to_pylist() == list(texts)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\ufeffa,b\n1,2\n", {"a": [1], "b": [2]}),
        ("a,b\r\n1,2\r\n", {"a": [1], "b": [2]}),
        ("a;b\n1;2\n", {"a": [1], "b": [2]}),
        ('a;"b,c"\n1;2\n', None),  # a comma in the header: not taken for a semicolon file
        ("a\n1\n", {"a": [1]}),
        ("a,b\nNA,x\n,NaN\nnull,z\n", {"a": [None, None, None], "b": ["x", None, "z"]}),
        ("a,b\n1,2\n\n3,4\n", {"a": [1, 3], "b": [2, 4]}),
        ('a,b\n1,"x\ny"\n', {"a": [1], "b": ["x\ny"]}),
        ("a,b\n1e-3,+2\n", {"a": [0.001], "b": [2]}),
    ],
)
def test_dialects_of_csv(tmp_path, text, expected):
    path = written(tmp_path, "table.csv", text)
    if expected is None:
        with pytest.raises(ValueError, match="cannot be read"):
            read_table(path)
    else:
        assert read_table(path).to_pydict() == expected


def test_a_number_far_down_decides_the_kind_of_its_column(tmp_path):
    path = written(tmp_path, "table.csv", "a,b\n" + "1,2\n" * 300_000 + "1.5,x\n")
    table = read_table(path)
    assert table.schema.types == [pa.float64(), pa.string()]
    assert table.num_rows == 300_001


def test_line_breaks_in_quotes_far_down(tmp_path):
    path = written(tmp_path, "table.csv", "a,b\n" + '1,"x\ny"\n' * 200_000)
    assert read_table(path).num_rows == 200_000


def test_text_is_read_as_it_is_written_on_demand(tmp_path):
    path = written(tmp_path, "table.csv", "code,value\n007,1\n008,2\n")
    assert read_table(path)["code"].to_pylist() == [7, 8]
    assert read_table(path, texts=["code"])["code"].to_pylist() == ["007", "008"]


def test_copied_text_has_no_words_for_missing_values(tmp_path):
    path = written(tmp_path, "table.csv", 'id,code,x\nNA,NA,1\nnull,7,NA\n,x,2\n"",y,3\n')
    assert read_table(path, texts=["id"])["id"].to_pylist() == [None] * 4
    table = read_table(path, ["x", "id", "code"], texts=["code"], copied=["id"])
    assert table.to_pydict() == {"x": [1, None, 2, 3], "id": ["NA", "null", None, ""], "code": [None, "7", "x", "y"]}
    assert read_table(path, ["id"], copied=["id"]).to_pydict() == {"id": ["NA", "null", None, ""]}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\n1\n\n3\n", [1, None, 3]),
        ("a\n\n1\n\n\n3", [None, 1, None, None, 3]),
        ("a\r\n1\r\n\r\n3\r\n", [1, None, 3]),
        ("a\n1\n\n", [1]),
        ("a\r\n1\r\n\r\n", [1]),
        ("\n\na\n1\n\n3\n", [1, None, 3]),
        ("\ufeff\na\n1\n\n3\n", [1, None, 3]),
        ('a\n"x\n\ny"\n\nz\n', ["x\n\ny", None, "z"]),
    ],
)
def test_a_blank_line_of_a_single_column_is_a_missing_value(tmp_path, text, expected):
    path = written(tmp_path, "table.csv", text)
    assert read_table(path).to_pydict() == {"a": expected}
    copied = read_table(path, copied=["a"]).to_pydict()
    assert copied == {"a": [None if value is None else str(value) for value in expected]}


def test_npz_holds_vectors_and_matrices(tmp_path):
    np.savez(tmp_path / "data.npz", X=np.arange(6.0).reshape(3, 2), y=np.array([0, 1, 0]))
    table = read_table(tmp_path / "data.npz")
    assert table.to_pydict() == {"X[0]": [0, 2, 4], "X[1]": [1, 3, 5], "y": [0, 1, 0]}


def test_an_index_of_pandas_is_not_a_column(tmp_path):
    parquet.write_table(pa.table({"a": [1], "__index_level_0__": [7]}), tmp_path / "table.parquet")
    assert read_table(tmp_path / "table.parquet").column_names == ["a"]


@pytest.mark.parametrize(
    ("kind", "encoded"),  # pyarrow has no dictionaries of string views
    [*((kind, True) for kind in TEXTS[:2]), *((kind, False) for kind in TEXTS)],
)
def test_words_for_missing_values_are_the_same_in_parquet(tmp_path, kind, encoded):
    words = ["NA", "x", "", "null", None, "na"]
    if kind == pa.string_view() and int(pa.__version__.split(".")[0]) < 18:
        pytest.skip("this pyarrow cannot write string views")
    column = pa.array(words, pa.string()).cast(kind)
    table = pa.table({"word": column.dictionary_encode() if encoded else column})
    parquet.write_table(table, tmp_path / "table.parquet")
    write_table(tmp_path / "table.csv", table.cast(pa.schema({"word": pa.string()})))
    for name in ("table.parquet", "table.csv"):
        assert read_table(tmp_path / name)["word"].to_pylist() == [None, "x", None, None, None, "na"]
    assert read_table(tmp_path / "table.parquet", copied=["word"])["word"].to_pylist() == words


def test_words_for_missing_values_are_the_same_in_npz(tmp_path):
    np.savez(tmp_path / "data.npz", word=np.array(["NA", "x", ""]), y=np.array([0, 1, 0]))
    assert read_table(tmp_path / "data.npz")["word"].to_pylist() == [None, "x", None]
    assert read_table(tmp_path / "data.npz", copied=["word"])["word"].to_pylist() == ["NA", "x", ""]


# -------------------------------------------------------------------------------------------------- what is refused


class Dangerous:
    def __reduce__(self):
        return print, ("code from the file has run",)


BAD_FILES = {
    "empty.csv": (b"", "cannot be read: Empty CSV file"),
    "blank.csv": (b"\n\n", "cannot be read: "),
    "header.csv": (b"a,b\n", "has no rows"),
    "short.csv": (b"a,b\n1,2\n3\n", "Expected 2 columns, got 1"),
    "long.csv": (b"a,b\n1,2\n3,4,5\n", "Expected 2 columns, got 3"),
    "twice.csv": (b"a,b,a\n1,2,3\n", "more than one column called 'a'; rename them"),
    "latin1.csv": ("a,b\n1,é\n".encode("latin1"), "column 'b' is not UTF-8 text; save it as UTF-8"),
    "latin1_header.csv": ("é,b\n1,2\n".encode("latin1"), "is not UTF-8 text; save it as UTF-8"),
    "utf16.csv": ("a,b\n1,2\n".encode("utf16"), "it is UTF-16 text; save it as UTF-8"),
    "packed.csv": (gzip.compress(b"a,b\n1,2\n" * 100), "it is not a text file, in spite of its name"),
    "quote.csv": (b'a,b\n1,"x\n2,3\n4,5\n', "the quote before 'x.n2,3.n4,5.n' is never closed"),
    "text.parquet": (b"a,b\n1,2\n", "cannot be read: "),
    "cut.parquet": (b"PAR1" + b"\x00" * 30, "cannot be read: "),
    "empty.parquet": (b"", "cannot be read: "),
    "text.npz": (b"a,b\n1,2\n", "cannot be read: "),
    "empty.npz": (b"", "cannot be read: "),
    "pickle.npz": (pickle.dumps(Dangerous()), "cannot be read: "),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_a_file_that_cannot_be_read_is_one_clear_line(tmp_path, name, capfd):
    contents, message = BAD_FILES[name]
    path = written(tmp_path, name, contents)
    with pytest.raises(ValueError, match=message) as caught:
        read_table(path)
    assert not isinstance(caught.value, UsageError)
    assert str(caught.value).startswith(str(path))
    assert "code from the file" not in capfd.readouterr().out


@pytest.mark.parametrize("end", [b"x", "é".encode("latin1")])
def test_a_quote_that_is_never_closed_is_found_in_a_column_that_nobody_wants(tmp_path, end):
    path = written(tmp_path, "table.csv", b'a,b,c\n1,2,x\n2,3,"' + end + b"\n3,4,x\n4,5,x\n")
    for columns in (["a"], ["b", "a"]):
        with pytest.raises(ValueError, match=r"the quote before .* is never closed"):
            read_table(path, columns)
    with pytest.raises(ValueError, match=r"the quote before .* is never closed"):
        read_table(path, ["a"], copied=["a"])
    path = written(tmp_path, "table.csv", b'a,b,c\n1,2,NA\n2,3,"' + end + b'\ny"\n')
    assert read_table(path, ["b", "a"]).to_pydict() == {"b": [2, 3], "a": [1, 2]}


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"X": np.zeros((3, 1)), "X[0]": np.ones(3)}, r"two of its arrays give a column called 'X\[0\]'; rename one"),
        ({"a": np.zeros(3), "b": np.zeros(4)}, "arrays must have equal length, found a 3, b 4"),
        ({"a": np.zeros((2, 2, 2))}, r"the array 'a' must have one or two dimensions, got shape \(2, 2, 2\)"),
        ({"a": np.array([Dangerous()], dtype=object)}, "allow_pickle=False"),
    ],
)
def test_arrays_that_are_no_table(tmp_path, arrays, message):
    np.savez(tmp_path / "data.npz", **arrays)
    with pytest.raises(ValueError, match=message):
        read_table(tmp_path / "data.npz")


def test_a_single_array_is_no_archive(tmp_path):
    with open(tmp_path / "data.npz", "wb") as file:
        np.save(file, np.zeros(3))
    with pytest.raises(ValueError, match="a single array"):
        read_table(tmp_path / "data.npz")


@pytest.mark.parametrize("name", ["missing.csv", "folder.csv", "table.xlsx", "table"])
def test_a_path_that_is_no_table_is_a_mistake_in_what_was_typed(tmp_path, name):
    (tmp_path / "folder.csv").mkdir()
    for kind in ("table.xlsx", "table"):
        (tmp_path / kind).touch()
    with pytest.raises(UsageError, match=r"does not exist|is a folder|must end in \.csv"):
        read_table(tmp_path / name)


def test_a_column_that_is_not_there(tmp_path):
    path = written(tmp_path, "table.csv", "a,b\n1,2\n")
    with pytest.raises(UsageError, match=r"has no column 'c'; its columns are 'a', 'b'$"):
        read_table(path, ["a", "c"])
    with pytest.raises(UsageError, match=r"has no columns 'c', 'd'; "):
        read_table(path, ["d", "c"][::-1])


def test_text_where_numbers_must_be(tmp_path):
    path = written(tmp_path, "table.csv", "a,b\n1,2\n3,high\n")
    with pytest.raises(ValueError, match=r"column 'b': .*invalid value 'high'"):
        read_table(path, numbers=["b"])


def test_where_a_table_may_be_written(tmp_path):
    path = written(tmp_path, "table.csv", "a\n1\n")
    assert check_table_path(tmp_path / "new.csv", overwrite=False) == tmp_path / "new.csv"
    assert check_table_path(path, overwrite=True) == path
    with pytest.raises(UsageError, match=r"table.csv exists; choose another --out, or give --overwrite"):
        check_table_path(path, overwrite=False)
    with pytest.raises(UsageError, match=r"--out must end in \.csv or "):
        check_table_path(tmp_path / "new.npz", overwrite=False)
    with pytest.raises(UsageError, match=r"the folder of --out, .*missing does not exist"):
        check_table_path(tmp_path / "missing" / "new.csv", overwrite=False)
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(UsageError, match="is a folder"):
        check_table_path(tmp_path / "folder.csv", overwrite=True)


def test_a_parquet_page_with_a_flipped_bit_is_refused(tmp_path):
    path = tmp_path / "table.parquet"
    write_table(path, pa.table({"whole": np.arange(10_000)}))
    contents = bytearray(path.read_bytes())
    contents[len(contents) // 2] ^= 1
    path.write_bytes(contents)
    with pytest.raises(ValueError, match="cannot be read: "):
        read_table(path)


@pytest.mark.parametrize(("place", "value"), [(6, 0x20), (6, 0x01), (8, 99)])
def test_zip_archives_of_another_kind_are_refused(tmp_path, place, value):
    """Found by fuzzing: patched and encrypted data, and unknown compression, are a RuntimeError of zipfile."""
    path = tmp_path / "table.npz"
    np.savez(path, a=np.arange(3))
    contents = bytearray(path.read_bytes())
    directory = contents.rindex(b"PK\x01\x02")  # the last entry of the list of files
    for start in (place, directory + place + 2):
        contents[start] = value
    path.write_bytes(contents)
    with pytest.raises(ValueError, match="cannot be read: "):
        read_table(path)


@pytest.mark.parametrize("name", ["scores.csv", "scores.tsv", "scores.parquet"])
def test_scores_are_read_back_before_they_are_put_in_place(tmp_path, monkeypatch, name):
    path = tmp_path / name
    path.write_text("former")
    table = pa.table({"id": ["a\nb", "", None], "score": [0.1, np.nan, -np.inf], "alarm": [True, False, False]})
    rows = parquet.read_table if name.endswith("parquet") else csv.read_csv
    where = "pyarrow.parquet.read_table" if name.endswith("parquet") else "pyarrow.csv.read_csv"
    for spoil in (
        lambda found: found.slice(0, 2),
        lambda found: found.rename_columns(["other", "score", "alarm"]),
        lambda found: found.set_column(1, "score", pa.array([0.2, np.nan, -np.inf])),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(where, lambda *args, spoil=spoil, **options: spoil(rows(*args, **options)))
            with pytest.raises(ValueError, match="is not written, because its rows could not be read again"):
                write_table(path, table)
        assert path.read_text() == "former"
    write_table(path, table)
    assert path.read_bytes() != b"former"


@pytest.mark.parametrize(
    "header",
    [
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2,",  # found by fuzzing
        "{'descr': '<f8'\n  3\n 4",
        "{'descr': ['<f8'], 'fortran_order': False, 'shape': (2,), }",
        "{'descr': [()], 'fortran_order': False, 'shape': (2,), }",
        "{'descr': {}, 'fortran_order': False, 'shape': (2,), }",
        "{'descr': {'names': 1}, 'fortran_order': False, 'shape': (2,), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (-2,), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (True,), }",
        "{'descr': '|O', 'fortran_order': False, 'shape': (2,), }",
        "(" * 300,
    ],
)
def test_forged_headers_of_arrays_are_refused(tmp_path, header):
    path, text = tmp_path / "data.npz", header.encode()
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("s.npy", b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(16))
    with pytest.raises(ValueError, match=r"data\.npz cannot be read: "):
        read_table(path)


# -------------------------------------------------------------------------------------------------------- long lines


def test_a_header_of_more_than_a_mebibyte(tmp_path):
    names = [f"column number {number:06}" for number in range(70_000)]
    rows = [",".join(map(str, range(start, start + 70_000))) for start in (0, 1)]
    path = written(tmp_path, "wide.csv", "\n".join([",".join(names), *rows]))
    assert path.stat().st_size > 2 << 20
    assert column_names(path) == names
    assert read_table(path, [names[0], names[-1]]).to_pydict() == {names[0]: [0, 1], names[-1]: [69_999, 70_000]}


def test_a_row_of_more_than_a_mebibyte(tmp_path):
    path = written(tmp_path, "long.csv", f"text,y\n{'x' * (3 << 20)},1\nz,0\n")
    assert read_table(path, ["y"]).to_pydict() == {"y": [1, 0]}


@pytest.mark.parametrize(("version", "threads"), [("16.0.0", False), ("23.0.1", False), ("24.0.0", True)])
def test_one_thread_reads_where_an_error_may_end_in_a_deadlock(tmp_path, monkeypatch, version, threads):
    asked, options = [], csv.ReadOptions
    monkeypatch.setattr("pyarrow.__version__", version)
    monkeypatch.setattr("pyarrow.csv.ReadOptions", lambda **of: asked.append(of["use_threads"]) or options(**of))
    path = written(tmp_path, "scores.csv", "s,y\n0.5,1\n")
    write_table(path, read_table(path))
    assert len(asked) >= 3
    assert set(asked) == {threads}


def test_lines_that_are_too_long_are_refused_before_they_are_in_memory(tmp_path, monkeypatch):
    monkeypatch.setattr("tpauc.cli._csv_files._LARGEST_BLOCK", 2 << 20)
    endless = written(tmp_path, "endless.csv", "x" * (3 << 20))
    with pytest.raises(ValueError, match=r"endless\.csv cannot be read: its first line is longer than 2 MiB"):
        read_table(endless)
    long = written(tmp_path, "long.csv", f"text,y\n{'x' * (5 << 20)},1\n")
    with pytest.raises(ValueError, match=r"long\.csv cannot be read: a line of it is longer than 2 MiB, or a quote"):
        read_table(long)
