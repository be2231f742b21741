"""Small image sets in the official layouts: noise of the right size, equally many images of each class."""

import numpy as np
from PIL import Image

WNIDS = [f"n{number:08d}" for number in range(1_000, 1_200)]


def cifar_records(classes, rng, *, label_bytes=1):
    """Return one record for each class number given, shape (n, label_bytes + 3072); pixels are noise."""
    pixels = rng.integers(0, 256, (len(classes), 3072), dtype=np.uint8)
    labels = np.repeat(np.asarray(classes, dtype=np.uint8)[:, None], label_bytes, axis=1)
    labels[:, : label_bytes - 1] = 0  # the coarse label, which nothing reads
    return np.hstack([labels, pixels])


def write_cifar10(data_dir, per_class, *, seed=0):
    """Write the six files of CIFAR-10, and return all records in their order."""
    rng = np.random.default_rng(seed)
    records = cifar_records(rng.permutation(np.repeat(np.arange(10), per_class)), rng)
    names = [*(f"data_batch_{number}.bin" for number in range(1, 6)), "test_batch.bin"]
    return write_records(data_dir / "cifar-10-batches-bin", names, records)


def write_cifar100(data_dir, per_class, *, seed=0):
    """Write the two files of CIFAR-100, and return all records in their order."""
    rng = np.random.default_rng(seed)
    records = cifar_records(rng.permutation(np.repeat(np.arange(100), per_class)), rng, label_bytes=2)
    return write_records(data_dir / "cifar-100-binary", ["train.bin", "test.bin"], records)


def write_records(folder, names, records):
    """Share records among files, and return them."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, some in zip(names, np.array_split(records, len(names)), strict=True):
        (folder / name).write_bytes(some.tobytes())
    return records


def write_tiny_imagenet(data_dir, per_class, *, seed=0):
    """Write the training folders of Tiny-ImageNet-200, every seventh image grey, and return the folder."""
    folder = data_dir / "tiny-imagenet-200"
    rng = np.random.default_rng(seed)
    for wnid in WNIDS:
        (folder / "train" / wnid / "images").mkdir(parents=True)
        for number in range(per_class):
            # A few flat squares: small files, no two of which are equal.
            pixels = rng.integers(0, 256, (4, 4, 3), dtype=np.uint8).repeat(16, axis=0).repeat(16, axis=1)
            picture = Image.fromarray(pixels)
            picture = picture.convert("L") if number % 7 == 6 else picture
            picture.save(folder / "train" / wnid / "images" / f"{wnid}_{number}.JPEG")
    # The official list is not sorted; class numbers follow the sorted one.
    (folder / "wnids.txt").write_text("".join(f"{wnid}\n" for wnid in reversed(WNIDS)))
    return folder
