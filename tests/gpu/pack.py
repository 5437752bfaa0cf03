"""Carry the installed Python packages to a machine without a network, in parts below 64 MiB.

python tests/gpu/pack.py pack OUT
python tests/gpu/pack.py unpack OUT DIR
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import tarfile
from pathlib import Path

BIG = "libtvm_compiler.so"
PARTS: dict[str, tuple[str, ...]] = {
    "part-0": ("tvm",),
    "part-1": (
        "tvm", "tvm_ffi", "typing_extensions", "msgspec", "numpy", "ml_dtypes", "psutil", "tornado",
        "cloudpickle",
    ),
    "part-2": ("cuda", "nvidia"),
}  # fmt: skip
"""Packages by archive.  The first has TVM's largest library alone; the last what compiles CUDA
text: without NVRTC (or an nvcc over there) no kernel can be made ready for the GPU."""
LEFT_OUT = ("nccl", "__pycache__")
NOT_NEEDED = (".a", ".pyx", ".pxd", ".pxi")
"""Endings of files that only builds of other programs use."""
PART_BYTES = 63 << 20


def pack(out: Path) -> int:
    """An archive for each part.  Returns an exit code."""
    out.mkdir(parents=True, exist_ok=True)
    sizes = []
    for part, packages in PARTS.items():
        path = out / f"{part}.tar.xz"
        with _archive(path) as archive:
            for name in packages:
                folders = _folders(name)
                if not folders:
                    print(f"{name} is not installed here", file=sys.stderr)
                    return 1
                for folder in folders:
                    _add(archive, folder, big=part == "part-0")
        sizes.append(path.stat().st_size)
        print(f"{path}: {sizes[-1] / (1 << 20):.1f} MiB", flush=True)
    return 0 if max(sizes) <= PART_BYTES else 1


def _folders(name: str) -> list[Path]:
    """What belongs to an installed package: folders (or file), libraries, its wheel's record."""
    spec = importlib.util.find_spec(name)
    if spec is None:
        return []
    roots = [Path(place) for place in spec.submodule_search_locations or ()]
    if not roots and spec.origin is not None:
        return [Path(spec.origin)]
    found = []
    for root in roots:
        wheel = name.replace("tvm", "apache_tvm")
        found += [
            root,
            *root.parent.glob(f"{name}.libs"),
            *root.parent.glob(f"{wheel}-*.dist-info"),
        ]
    return found


def _add(archive: tarfile.TarFile, place: Path, *, big: bool) -> None:
    for path in sorted(p for p in (place, *place.rglob("*")) if p.is_file()):
        inside = path.relative_to(place.parent)
        if set(inside.parts) & set(LEFT_OUT) or path.suffix in NOT_NEEDED:
            continue
        if (path.name == BIG) == big:
            archive.add(path, str(inside))


def unpack(out: Path, folder: Path) -> int:
    """All archives into `folder`, to be put on PYTHONPATH."""
    for part in sorted(out.glob("part-*.tar.xz")):
        with tarfile.open(part) as archive:
            archive.extractall(folder, filter="data")
    return 0


def _archive(path: Path) -> tarfile.TarFile:
    return tarfile.open(path, "w:xz", preset=6)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("do", choices=("pack", "unpack"))
    options.add_argument("out", type=Path)
    options.add_argument("folder", type=Path, nargs="?")
    given = options.parse_args()
    if given.do == "pack":
        return pack(given.out)
    if given.folder is None:
        options.error("unpack needs DIR")
    return unpack(given.out, given.folder)


if __name__ == "__main__":
    sys.exit(main())
