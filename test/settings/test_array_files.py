"""Files of arrays: what their headers promise is checked before memory is asked for."""

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest

from contact_mpc.errors import PlanError
from contact_mpc.settings.array_files import read_arrays, write_arrays


def npy(header: str, data: bytes = b"") -> bytes:
    """Return an array file with any header; numpy pads headers to 64 bytes, but reads others."""
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + data


def archive(path: Path, **members: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(f"{name}.npy", content)
    return path


def saved(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=True)
    return file.getvalue()


EMPTY = saved(np.array("{}"))


def test_arrays_are_read_back(tmp_path: Path) -> None:
    written = {"q": np.arange(6.0).reshape(2, 3), "kind": np.array([1, 2])}
    write_arrays(tmp_path / "a.npz", "tree", {"seed": 3}, written)
    header, read = read_arrays(tmp_path / "a.npz", "tree", ("q", "kind"), ("du",))
    assert header == {"seed": 3} and set(read) == {"q", "kind"}
    for name, array in written.items():
        np.testing.assert_array_equal(read[name], array)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,)}"), "does not fit its"),
        (npy("{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296)}"), "does not fit its"),
        (npy("{'descr': '<f8', 'fortran_order': False, 'shape': (-1,)}"), "does not fit its"),
        (npy("{'descr': '<f8', 'fortran_order': False, 'shape': (" + "(" * 500), "not a plan file"),
        (saved(np.array([{}, 1], dtype=object)), "type object"),
        (saved(np.array(["1.0"])), "type <U3"),
        (b"", "not a plan file"),
    ],
)
def test_arrays_that_are_not_there_are_refused(tmp_path: Path, content: bytes, reason: str) -> None:
    path = archive(tmp_path / "a.npz", header=EMPTY, q=content)
    with pytest.raises(PlanError, match=reason):
        read_arrays(path, "plan", ("q",))


def test_a_small_file_does_not_unpack_to_gigabytes(tmp_path: Path) -> None:
    zeros = npy("{'descr': '|i1', 'fortran_order': False, 'shape': (600000000,)}", bytes(1_000_000))
    path = archive(tmp_path / "a.npz", header=EMPTY, q=zeros)
    data = bytearray(path.read_bytes())
    at = data.rindex(b"PK\x01\x02")  # of q in the directory: it shall claim what the header does
    data[at + 24 : at + 28] = (600_000_100).to_bytes(4, "little")
    path.write_bytes(data)
    with pytest.raises(PlanError, match="unpacks to .* bytes; at most 512000000"):
        read_arrays(path, "plan", ("q",))


@pytest.mark.parametrize("header", ["[1, 2]", "[" * 100_000, "{"])
def test_headers_that_are_no_mapping_are_refused(tmp_path: Path, header: str) -> None:
    path = archive(tmp_path / "a.npz", header=saved(np.array(header)))
    with pytest.raises(PlanError, match="not a plan file"):
        read_arrays(path, "plan", ())


def test_a_full_disk_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.npz"
    write_arrays(path, "plan", {"seed": 1}, {})

    def fail(*_args: object, **_keywords: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez_compressed", fail)
    with pytest.raises(PlanError, match="plan cannot be written .No space left"):
        write_arrays(path, "plan", {"seed": 2}, {})
    assert read_arrays(path, "plan", ())[0] == {"seed": 1}
