"""Peak rates of known GPUs, for roofline bounds and for counting waves.

Each row is from NVIDIA's data sheet or architecture white paper of the product, named in `source`.
Peaks are at boost clock, without sparsity; a GPU that is not listed has no bound.
"""

from __future__ import annotations

import re

import msgspec


class Gpu(msgspec.Struct, frozen=True):
    """One product: SMs, FP32 and dense FP16 tensor-core TFLOP/s, memory GB/s, and the source."""

    name: str
    sms: int
    fp32_tflops: float
    fp16_tensor_tflops: float
    memory_gbs: float
    source: str


_ADA = "NVIDIA Ada GPU Architecture white paper"
_AMPERE = "NVIDIA Ampere GA102 GPU Architecture white paper"
_TURING = "NVIDIA Turing GPU Architecture white paper"

GPUS: tuple[Gpu, ...] = (
    Gpu("geforce-rtx-4090", 128, 82.6, 165.2, 1008, _ADA),
    Gpu("geforce-rtx-4080", 76, 48.7, 97.5, 716.8, _ADA),
    Gpu("geforce-rtx-4070-ti", 60, 40.1, 80.2, 504, _ADA),
    Gpu("geforce-rtx-4070", 46, 29.1, 58.3, 504, _ADA),
    Gpu("geforce-rtx-4060-ti", 34, 22.1, 44.1, 288, _ADA),
    Gpu("geforce-rtx-4060", 24, 15.1, 30.2, 272, _ADA),
    Gpu("geforce-rtx-3090-ti", 84, 40.0, 80.0, 1008, _AMPERE),
    Gpu("geforce-rtx-3090", 82, 35.6, 71.2, 936, _AMPERE),
    Gpu("geforce-rtx-3080-ti", 80, 34.1, 68.2, 912, _AMPERE),
    Gpu("geforce-rtx-3080", 68, 29.8, 59.5, 760, _AMPERE),
    Gpu("geforce-rtx-3070", 46, 20.3, 40.6, 448, _AMPERE),
    Gpu("geforce-rtx-2080-ti", 68, 13.4, 53.8, 616, _TURING),
    Gpu("geforce-rtx-2080", 46, 10.1, 40.3, 448, _TURING),
    Gpu("geforce-rtx-2070", 36, 7.5, 29.9, 448, _TURING),
    Gpu("nvidia-t4", 40, 8.1, 65.0, 320, "NVIDIA T4 data sheet"),
    Gpu("nvidia-l4", 58, 30.3, 121.0, 300, "NVIDIA L4 data sheet"),
    Gpu("nvidia-l40", 142, 90.5, 181.0, 864, "NVIDIA L40 data sheet"),
    Gpu("rtx-a6000", 84, 38.7, 154.8, 768, "NVIDIA RTX A6000 data sheet"),
    Gpu("nvidia-a10", 72, 31.2, 125.0, 600, "NVIDIA A10 data sheet"),
    Gpu("nvidia-a10g", 80, 31.5, 125.0, 600, "NVIDIA A10G data sheet"),
    Gpu("nvidia-a30", 56, 10.3, 165.0, 933, "NVIDIA A30 data sheet"),
    Gpu("nvidia-a40", 84, 37.4, 149.7, 696, "NVIDIA A40 data sheet"),
    Gpu("nvidia-a100", 108, 19.5, 312.0, 1555, "NVIDIA A100 data sheet (40 GB)"),
    Gpu("nvidia-h100", 132, 66.9, 989.4, 3352, "NVIDIA H100 data sheet (SXM)"),
    Gpu("nvidia-v100", 80, 15.7, 125.0, 900, "NVIDIA V100 data sheet (SXM2)"),
    Gpu("tesla-p100", 56, 10.6, 21.2, 732, "NVIDIA P100 data sheet (SXM2)"),
    Gpu("geforce-gtx-1080-ti", 28, 11.3, 0.2, 484, "NVIDIA GeForce GTX 1080 Ti data sheet"),
    Gpu("jetson-agx-orin-64gb", 16, 5.3, 42.6, 204.8, "NVIDIA Jetson AGX Orin data sheet (64 GB)"),
)
_BY_NAME = {gpu.name: gpu for gpu in GPUS}


def gpu(tag: str) -> Gpu | None:
    """The GPU of a TVM tag such as "nvidia/geforce-rtx-4090"; None when it is not listed."""
    name = re.sub(r"^nvidia/", "", tag.lower()).replace("_", "-")
    for candidate in (name, f"nvidia-{name}", name.removeprefix("tesla-"), f"geforce-{name}"):
        if candidate in _BY_NAME:
            return _BY_NAME[candidate]
    return None
