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

PACKAGES = ("tvm", "tvm_ffi", "msgspec", "numpy", "ml_dtypes", "psutil", "tornado", "cloudpickle")
BIG = "libtvm_compiler.so"
PART_BYTES = 63 << 20


def pack(out: Path) -> int:
    """Two archives: the compiler's library, and everything else.  Returns an exit code."""
    out.mkdir(parents=True, exist_ok=True)
    parts = [out / "part-0.tar.xz", out / "part-1.tar.xz"]
    with _archive(parts[0]) as big, _archive(parts[1]) as rest:
        for name in PACKAGES:
            spec = importlib.util.find_spec(name)
            if spec is None or spec.origin is None:
                print(f"{name} is not installed here", file=sys.stderr)
                return 1
            root = Path(spec.origin).parent
            places = [
                root,
                *root.parent.glob(f"{name}.libs"),
                *root.parent.glob(f"{name.replace('tvm', 'apache_tvm')}-*.dist-info"),
            ]
            for place in places:
                for path in sorted(p for p in place.rglob("*") if p.is_file()):
                    if "__pycache__" not in path.parts:
                        target = big if path.name == BIG else rest
                        target.add(path, str(path.relative_to(root.parent)))
    sizes = [part.stat().st_size for part in parts]
    for part, size in zip(parts, sizes, strict=True):
        print(f"{part}: {size / (1 << 20):.1f} MiB")
    return 0 if max(sizes) <= PART_BYTES else 1


def unpack(out: Path, folder: Path) -> int:
    """Both archives into `folder`, to be put on PYTHONPATH."""
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
