"""The paper's nine image sets: sizes, splits, readers of the official layouts, and what is said of damaged files."""

import hashlib
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

import image_files
from tpauc import Polynomial, TPAUCLoss, TrainConfig, evaluate, fit
from tpauc.paper.data.datasets import (
    DATASETS,
    _check_distinct_images,
    class_counts,
    distinct_rows,
    load_splits,
    part_sizes,
    split_rows,
)
from tpauc.paper.data.image_files import CIFAR10, CIFAR100, CifarFiles, TinyImageNetFiles, read_image
from tpauc.paper.experiments.recipes import Augment

PARTS = ("train", "validation", "test")
SUBSETS = [(name, number) for name in DATASETS for number in (1, 2, 3)]


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory):
    """Return a directory with all three sets, small: 60, 7 and 7 images per class."""
    folder = tmp_path_factory.mktemp("data")
    image_files.write_cifar10(folder, 60)
    image_files.write_cifar100(folder, 7)
    image_files.write_tiny_imagenet(folder, 7)
    return folder


def parts_of(splits):
    """Return images and labels of all three parts as arrays."""
    found = []
    for part in PARTS:
        data = getattr(splits, part)
        if not isinstance(data, tuple):
            data = np.array([data[row][0].numpy() for row in range(len(data))]), data.labels.numpy()
        found.append(tuple(map(np.asarray, data)))
    return found


def contents(images):
    return [hashlib.sha256(image.tobytes()).hexdigest() for image in images]


# -------------------------------------------------------------------------------------------------- the paper's sizes


def sizes_by_rule(name, number, counts=None):
    """Return positives and negatives, in all and in the training part, that the rule gives."""
    counts = DATASETS[name].counts() if counts is None else counts
    positive = DATASETS[name].subsets[number].positive_classes
    sizes = []
    for of_class in (counts, [part_sizes(count)[0] for count in counts]):
        n_positive = sum(of_class[i] for i in positive)
        sizes += [n_positive, sum(of_class) - n_positive]
    return sizes


def sizes_in_paper(name, number):
    subset = DATASETS[name].subsets[number]
    return [
        *(subset.paper_positives, subset.paper_negatives),
        *(subset.paper_train_positives, subset.paper_train_negatives),
    ]


@pytest.mark.parametrize("number", [1, 2, 3])
def test_sizes_of_cifar10_are_within_2_images_of_the_papers(number):
    difference = np.subtract(sizes_by_rule("cifar10-lt", number), sizes_in_paper("cifar10-lt", number))
    assert np.abs(difference).max() <= 2


@pytest.mark.parametrize("number", [1, 2, 3])
def test_sizes_of_cifar100_are_the_papers_only_with_more_images_than_there_are(number):
    # The paper's numbers follow from 1,000 images per class: the positives to within 3, the negatives, a sum over 95
    # classes, to within about half an image of each. But a class has 600 images.
    of_paper = sizes_in_paper("cifar100-lt", number)
    impossible = sizes_by_rule("cifar100-lt", number, class_counts(100, largest=1000, ratio=0.01))
    difference = np.abs(np.subtract(impossible, of_paper))
    assert difference[[0, 2]].max() <= 3
    assert difference[[1, 3]].max() <= 50
    assert DATASETS["cifar100-lt"].images_per_class == 600
    ours = sizes_by_rule("cifar100-lt", number)
    assert np.divide(ours, of_paper) == pytest.approx(0.6, abs=0.005)


@pytest.mark.parametrize("number", [1, 2, 3])
def test_sizes_of_tiny_imagenet_are_the_papers(number):
    assert sizes_by_rule("tiny-imagenet", number) == sizes_in_paper("tiny-imagenet", number)


def test_the_table_of_sets_is_whole():
    for image_set in DATASETS.values():
        assert set(image_set.subsets) == {1, 2, 3}
        classes = [number for subset in image_set.subsets.values() for number in subset.positive_classes]
        assert len(set(classes)) == len(classes)
        assert max(classes) < image_set.n_classes
    # Each positive class of CIFAR-100 is one of the five of its superclass.
    assert all(len(subset.positive_classes) == 5 for subset in DATASETS["cifar100-lt"].subsets.values())


# --------------------------------------------------------------------------------------------------- the sets as loaded


@pytest.mark.parametrize(("name", "number"), SUBSETS)
def test_a_set_has_the_sizes_of_the_rule_and_disjoint_parts(data_dir, name, number):
    image_set = DATASETS[name]
    parts = parts_of(load_splits(name, subset=number, data_dir=data_dir))
    counts = image_set.counts({"cifar10-lt": 60}.get(name, 7))
    positive = image_set.subsets[number].positive_classes
    for part, (images, labels) in enumerate(parts):
        assert images.dtype == np.uint8
        assert images.shape == (len(labels), *image_set.image_shape)
        assert labels.dtype == np.bool_
        assert len(labels) == sum(part_sizes(count)[part] for count in counts)
        assert labels.sum() == sum(part_sizes(counts[i])[part] for i in positive)
    everything = [content for images, _ in parts for content in contents(images)]
    assert len(set(everything)) == len(everything)


def test_images_and_labels_are_those_of_the_files(tmp_path):
    records = image_files.write_cifar10(tmp_path, 60)
    class_of = dict(zip(contents(records[:, 1:]), records[:, 0].tolist(), strict=True))
    for images, labels in parts_of(load_splits("cifar10-lt", subset=1, data_dir=tmp_path)):
        assert [class_of[content] == 2 for content in contents(images)] == labels.tolist()


def test_the_class_of_cifar100_is_the_fine_label(tmp_path):
    records = image_files.write_cifar100(tmp_path, 7)
    files = CifarFiles(tmp_path, CIFAR100)
    assert np.array_equal(files.classes, records[:, 1])
    rows = np.array([650, 3, 42])
    assert np.array_equal(files.images(rows), records[rows, 2:].reshape(-1, 3, 32, 32))


def test_planes_are_red_green_blue_row_by_row(tmp_path):
    image_files.write_cifar10(tmp_path, 6)
    path = tmp_path / "cifar-10-batches-bin" / "data_batch_1.bin"
    record = bytearray(path.read_bytes())
    record[1 : 1 + 3072] = bytes(np.add.outer(np.arange(3) * 60, np.arange(1024) % 60).astype(np.uint8).ravel())
    path.write_bytes(record)
    image = CifarFiles(tmp_path, CIFAR10).images(np.array([0]))[0]
    assert image[:, 0, :3].tolist() == [[0, 1, 2], [60, 61, 62], [120, 121, 122]]
    assert image[0, 1, 0] == 32


def test_subsets_share_their_images(data_dir):
    first, second = (parts_of(load_splits("cifar10-lt", subset=number, data_dir=data_dir)) for number in (1, 2))
    for (images, labels), (same_images, other_labels) in zip(first, second, strict=True):
        assert np.array_equal(images, same_images)
        assert not np.any(labels & other_labels)


def test_seed_decides_the_parts(data_dir):
    first, again, other = (
        parts_of(load_splits("cifar10-lt", subset=1, data_dir=str(data_dir), seed=seed)) for seed in (1, 1, 2)
    )
    assert all(np.array_equal(a[0], b[0]) for a, b in zip(first, again, strict=True))
    assert set(contents(first[0][0])) != set(contents(other[0][0]))


def test_the_order_of_images_in_the_files_does_not_matter(tmp_path):
    records = image_files.write_cifar10(tmp_path / "a", 60)
    shuffled = np.random.default_rng(1).permutation(records)
    image_files.write_records(tmp_path / "b" / "cifar-10-batches-bin", CIFAR10.files, shuffled)
    first, second = (parts_of(load_splits("cifar10-lt", subset=1, data_dir=tmp_path / name)) for name in "ab")
    for (images, labels), (same_images, same_labels) in zip(first, second, strict=True):
        assert np.array_equal(images, same_images)
        assert np.array_equal(labels, same_labels)


def test_a_copy_of_an_image_is_never_in_two_parts(tmp_path):
    records = image_files.write_cifar10(tmp_path, 60)
    # Three images of class 0 are there twice, and another three as ones of class 1.
    of_zero, of_one = np.flatnonzero(records[:, 0] == 0), np.flatnonzero(records[:, 0] == 1)
    records[of_zero[57:], 1:] = records[of_zero[:3], 1:]
    records[of_one[:3], 1:] = records[of_zero[3:6], 1:]
    image_files.write_records(tmp_path / "cifar-10-batches-bin", CIFAR10.files, records)
    parts = parts_of(load_splits("cifar10-lt", subset=2, data_dir=tmp_path))
    everything = [content for images, _ in parts for content in contents(images)]
    assert len(set(everything)) == len(everything)
    # 57 distinct images of class 0; of class 1 its 57 own ones, enough for the 35 of the rule.
    expected = [57, *class_counts(10, largest=60, ratio=0.01)[1:]]
    assert len(everything) == sum(expected)
    assert sum(int(labels.sum()) for _, labels in parts) == expected[1] == 35


def test_a_copied_file_of_tiny_imagenet_is_never_in_two_parts(tmp_path):
    folder = image_files.write_tiny_imagenet(tmp_path, 2)
    names = [folder / "train" / wnid / "images" / f"{wnid}_0.JPEG" for wnid in image_files.WNIDS]
    shutil.copy(names[24], names[100])
    parts = parts_of(load_splits("tiny-imagenet", subset=1, data_dir=tmp_path))
    everything = [content for images, _ in parts for content in contents(images)]
    assert len(everything) == len(set(everything)) == 2 * 200 - 1
    assert sum(int(labels.sum()) for _, labels in parts) == 6 * 2


@pytest.mark.parametrize("name", ["cifar10-lt", "tiny-imagenet"])
def test_fit_and_evaluate_take_the_parts(data_dir, name):
    splits = load_splits(name, subset=1, data_dir=data_dir)
    model = torch.nn.Sequential(Mean(), torch.nn.Linear(3, 1))
    config = TrainConfig(alpha=0.5, beta=0.5, epochs=1, batch_size=64, lr=1e-4, progress=False)
    loss = TPAUCLoss(Polynomial(3.0))
    result = fit(model, splits.train, splits.validation, loss, config, transform=Augment())
    assert len(result.history) == 1
    assert 0.0 <= evaluate(result.model, splits.test, alpha=0.5, beta=0.5).auc <= 1.0


class Mean(torch.nn.Module):
    def forward(self, images):
        return images.float().mean(dim=(2, 3))


def test_the_number_of_images_in_the_files_is_kept(data_dir):
    found = [load_splits(name, subset=1, data_dir=data_dir).images_per_class for name in DATASETS]
    assert found == [60, 7, 7]


def test_memory_holds_the_chosen_images_only(data_dir):
    splits = load_splits("cifar10-lt", subset=1, data_dir=data_dir)
    for images, _ in (splits.train, splits.validation, splits.test):
        assert images.untyped_storage().nbytes() == images.numel()


# -------------------------------------------------------------------------------------------------- Tiny-ImageNet files


def test_class_numbers_are_the_sorted_wnid_order(data_dir):
    files = TinyImageNetFiles(data_dir)
    assert files.classes.size == 1400
    assert all(image_files.WNIDS[number] in path for number, path in zip(files.classes, files.paths, strict=True))


def test_labels_are_known_without_reading_an_image(tmp_path):
    image_files.write_tiny_imagenet(tmp_path, 2)
    splits = load_splits("tiny-imagenet", subset=1, data_dir=tmp_path)
    shutil.rmtree(tmp_path / "tiny-imagenet-200" / "train")
    assert splits.train.labels.sum() == 6 * part_sizes(2)[0]
    with pytest.raises(FileNotFoundError, match=r"\.JPEG does not exist; .*tpauc data fetch tiny-imagenet"):
        splits.train[0]


def test_a_grey_image_has_three_equal_planes(data_dir):
    folder = data_dir / "tiny-imagenet-200" / "train" / image_files.WNIDS[0] / "images"
    grey = read_image(folder / f"{image_files.WNIDS[0]}_6.JPEG")
    colour = read_image(folder / f"{image_files.WNIDS[0]}_0.JPEG")
    assert grey.shape == colour.shape == (3, 64, 64)
    assert grey.is_contiguous()
    assert torch.equal(grey[0], grey[1])
    assert torch.equal(grey[0], grey[2])
    assert not torch.equal(colour[0], colour[1])


def test_pixels_are_what_the_decoder_gives(data_dir):
    path = TinyImageNetFiles(data_dir).paths[0]
    with Image.open(path) as picture:
        expected = np.asarray(picture.convert("RGB"))
    assert np.array_equal(read_image(Path(path)).numpy(), expected.transpose(2, 0, 1))


# ------------------------------------------------------------------------------------------- missing and damaged files


@pytest.mark.parametrize(
    ("name", "fetch_name", "first"),
    [
        ("cifar10-lt", "cifar10", "cifar-10-batches-bin/data_batch_1.bin"),
        ("cifar100-lt", "cifar100", "cifar-100-binary/train.bin"),
        ("tiny-imagenet", "tiny-imagenet", "tiny-imagenet-200/wnids.txt"),
    ],
)
def test_no_data_at_all(tmp_path, name, fetch_name, first):
    with pytest.raises(FileNotFoundError) as caught:
        load_splits(name, subset=1, data_dir=tmp_path)
    assert str(caught.value) == (
        f"{tmp_path / first} does not exist; give the directory that holds the data, "
        f"or run: tpauc data fetch {fetch_name} --data-dir {tmp_path}"
    )


@pytest.fixture
def cifar10(tmp_path):
    image_files.write_cifar10(tmp_path, 6)
    return tmp_path / "cifar-10-batches-bin"


def complaint(name, data_dir, error=ValueError):
    with pytest.raises(error) as caught:
        load_splits(name, subset=1, data_dir=data_dir)
    assert str(caught.value).endswith(f"--data-dir {data_dir} --overwrite")
    return str(caught.value)


def test_a_missing_file_of_cifar(cifar10):
    (cifar10 / "test_batch.bin").unlink()
    message = complaint("cifar10-lt", cifar10.parent, FileNotFoundError)
    assert message.startswith(f"{cifar10 / 'test_batch.bin'} does not exist; ")


def test_a_file_of_cifar_that_is_cut_within_an_image(cifar10):
    path = cifar10 / "data_batch_3.bin"
    path.write_bytes(path.read_bytes()[:-1])
    assert complaint("cifar10-lt", cifar10.parent).startswith(
        f"{path} has 30,729 bytes, which is no multiple of 3,073: it is damaged; run: tpauc data fetch cifar10 "
    )


def test_an_empty_file_of_cifar(cifar10):
    (cifar10 / "data_batch_3.bin").write_bytes(b"")
    assert "data_batch_3.bin has 0 bytes" in complaint("cifar10-lt", cifar10.parent)


def test_a_file_of_cifar_that_is_cut_between_images(cifar10):
    path = cifar10 / "data_batch_3.bin"
    path.write_bytes(path.read_bytes()[:-3073])
    assert "has 5 images of class" in complaint("cifar10-lt", cifar10.parent)


def test_a_file_of_cifar_that_is_a_copy_of_another(tmp_path):
    records = image_files.cifar_records(np.arange(600) % 10, np.random.default_rng(0))
    image_files.write_records(tmp_path / "cifar-10-batches-bin", CIFAR10.files, records)
    folder = tmp_path / "cifar-10-batches-bin"
    shutil.copy(folder / "data_batch_1.bin", folder / "data_batch_2.bin")
    message = complaint("cifar10-lt", tmp_path)
    assert message.startswith(f"{folder} has 600 images of which only 500 differ: it is damaged; run: tpauc data fetch")


def test_blank_images_of_cifar(tmp_path):
    # 20 of 6,000: fewer than 1 % of the images, but they are all the same.
    records = image_files.write_cifar10(tmp_path, 600)
    records[1000:1020, 1:] = 0
    image_files.write_records(tmp_path / "cifar-10-batches-bin", CIFAR10.files, records)
    assert "cifar-10-batches-bin has 20 images that are all the same" in complaint("cifar10-lt", tmp_path)


def test_some_images_may_be_there_twice(tmp_path):
    path = tmp_path / "cifar-100-binary"
    _check_distinct_images([2] * 26 + [1] * 59_948, path, "command")  # those of CIFAR-100
    _check_distinct_images([2] * 6 + [1] * 588, path, "command")
    with pytest.raises(ValueError, match="has 600 images of which only 593 differ"):
        _check_distinct_images([2] * 7 + [1] * 586, path, "command")
    _check_distinct_images([10] + [1] * 1000, path, "command")
    with pytest.raises(ValueError, match="has 11 images that are all the same"):
        _check_distinct_images([11] + [1] * 1_000_000, path, "command")


def test_images_of_tiny_imagenet_that_are_copies(tiny):
    names = [tiny / "train" / wnid / "images" / f"{wnid}_0.JPEG" for wnid in image_files.WNIDS]
    for number in range(3):
        shutil.copy(names[number], names[100 + number])
    assert "has 200 images of which only 197 differ" in complaint("tiny-imagenet", tiny.parent)


def test_a_label_that_is_no_class(cifar10):
    path = cifar10 / "data_batch_2.bin"
    content = bytearray(path.read_bytes())
    content[3073] = 10
    path.write_bytes(content)
    assert "has the label 10 in record 2, where classes end at 9" in complaint("cifar10-lt", cifar10.parent)


def test_a_folder_in_place_of_a_file(cifar10):
    (cifar10 / "data_batch_2.bin").unlink()
    (cifar10 / "data_batch_2.bin").mkdir()
    with pytest.raises(ValueError, match=r"data_batch_2\.bin has"):
        load_splits("cifar10-lt", subset=1, data_dir=cifar10.parent)


@pytest.fixture
def tiny(tmp_path):
    return image_files.write_tiny_imagenet(tmp_path, 1)


def test_a_missing_class_of_tiny_imagenet(tiny):
    shutil.rmtree(tiny / "train" / image_files.WNIDS[5])
    message = complaint("tiny-imagenet", tiny.parent, FileNotFoundError)
    assert f"{image_files.WNIDS[5]}/images does not exist" in message


def test_a_missing_image_of_tiny_imagenet(tiny):
    wnid = image_files.WNIDS[5]
    shutil.copy(tiny / "train" / wnid / "images" / f"{wnid}_0.JPEG", tiny / "train" / wnid / "images" / "more.JPEG")
    assert "train has 1 images of class 0 but 2 of class 5" in complaint("tiny-imagenet", tiny.parent)


def test_a_list_of_classes_that_is_cut(tiny):
    (tiny / "wnids.txt").write_text("n01443537\nn01629819\n")
    assert "wnids.txt has 2 classes instead of 200" in complaint("tiny-imagenet", tiny.parent)


def test_classes_without_any_image(tiny):
    for path in tiny.glob("train/*/images/*.JPEG"):
        path.unlink()
    assert "has no images" in complaint("tiny-imagenet", tiny.parent)


@pytest.mark.parametrize(
    ("spoil", "what"),
    [
        (lambda path: path.write_bytes(path.read_bytes()[:-100]), "cannot be decoded"),
        (lambda path: path.write_bytes(b"no picture"), "cannot be decoded"),
        (lambda path: path.write_bytes(b""), "cannot be decoded"),
        (lambda path: Image.new("RGB", (64, 32)).save(path), "has 64 x 32 pixels instead of 64 x 64"),
    ],
)
def test_a_damaged_image(tiny, spoil, what):
    path = tiny / "train" / image_files.WNIDS[0] / "images" / f"{image_files.WNIDS[0]}_0.JPEG"
    spoil(path)
    with pytest.raises(ValueError, match="it is damaged") as caught:
        read_image(path)
    assert str(caught.value).startswith(f"{path} {what}")
    assert str(caught.value).endswith(f"tpauc data fetch tiny-imagenet --data-dir {tiny.parent} --overwrite")


def test_an_image_outside_the_official_layout():
    with pytest.raises(FileNotFoundError, match=r"tpauc data fetch tiny-imagenet --data-dir \."):
        read_image(Path("nowhere.JPEG"))


# ------------------------------------------------------------------------------------------------------ wrong arguments


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"name": "cifar10"}, ValueError, "name must be one of 'cifar10-lt', 'cifar100-lt', 'tiny-imagenet', got"),
        ({"subset": 4}, ValueError, "subset must be one of 1, 2, 3, got 4"),
        ({"subset": 0}, ValueError, "subset must be at least 1, got 0"),
        ({"subset": "1"}, TypeError, "subset must be a whole number, got '1'"),
        ({"seed": -1}, ValueError, "seed must be at least 0, got -1"),
        ({"data_dir": 3}, TypeError, "data_dir must be a path, got 3"),
        ({"data_dir": ""}, ValueError, "data_dir must not be empty"),
    ],
)
def test_wrong_arguments(data_dir, changed, error, message):
    arguments = {"name": "cifar10-lt", "subset": 1, "data_dir": data_dir, "seed": 0} | changed
    with pytest.raises(error, match=message):
        load_splits(arguments.pop("name"), **arguments)


# ---------------------------------------------------------------------------------------------------- classes and parts


def test_counts_of_cifar10():
    assert class_counts(10, largest=6000, ratio=0.01) == [6000, 3596, 2156, 1292, 774, 464, 278, 166, 100, 60]


def test_no_rounding_error_loses_an_image():
    assert class_counts(3, largest=100, ratio=0.01) == [100, 10, 1]
    assert class_counts(2, largest=100, ratio=0.29)[1] == 29  # 100 * 0.29 is 28.999999999999996


@given(st.integers(2, 300), st.integers(1, 10_000), st.floats(0.001, 1.0))
@settings(deadline=None, max_examples=100)
def test_counts_fall_from_the_largest_to_the_smallest(n_classes, largest, ratio):
    counts = class_counts(n_classes, largest=largest, ratio=ratio)
    assert len(counts) == n_classes
    assert counts[0] == largest
    assert counts == sorted(counts, reverse=True)
    assert abs(counts[-1] - largest * ratio) <= 1.0  # a floor


@pytest.mark.parametrize(
    ("n_classes", "largest", "ratio", "message"),
    [
        (1, 10, 0.1, "n_classes must be at least 2, got 1"),
        (2, 0, 0.1, "largest must be at least 1, got 0"),
        (2, 10, 0.0, r"ratio must be a share in \(0, 1\], got 0.0"),
    ],
)
def test_wrong_counts(n_classes, largest, ratio, message):
    with pytest.raises(ValueError, match=message):
        class_counts(n_classes, largest=largest, ratio=ratio)


@given(st.integers(0, 10_000))
@settings(deadline=None, max_examples=50)
def test_parts_of_a_class_add_up(count):
    train, validation, test = part_sizes(count)
    assert train + validation + test == count
    assert (train, validation) == (int(count * 70 / 100), int(count * 15 / 100))


@given(st.lists(st.integers(0, 4), max_size=200), st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=50)
def test_parts_are_disjoint_and_as_large_as_asked(classes, seed):
    classes = np.array(classes, dtype=np.int64)
    keep = [50, 20, 10, 5, 0]
    parts = split_rows(classes, keep, seed=seed)
    rows = np.concatenate(parts)
    assert len(set(rows.tolist())) == rows.size
    for number, most in enumerate(keep):
        of_class = tuple(int(np.count_nonzero(classes[part] == number)) for part in parts)
        assert of_class == part_sizes(min(most, int(np.count_nonzero(classes == number))))


def test_split_depends_on_the_seed_alone():
    classes = np.arange(200) % 2
    first, again, other = (split_rows(classes, [100, 50], seed=seed) for seed in (3, 3, 4))
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not np.array_equal(first[0], other[0])
    # A class is drawn from its own rows: the other may have more or fewer images.
    fewer = split_rows(classes, [100, 10], seed=3)
    assert all(np.array_equal(a[classes[a] == 0], b[classes[b] == 0]) for a, b in zip(first, fewer, strict=True))


def test_distinct_rows_keep_the_lowest_class_of_each_content():
    rows = distinct_rows([b"z", b"a", b"z", b"a", b"m"], np.array([2, 0, 1, 0, 5]))
    assert rows.tolist() == [1, 4, 2]
