"""TVM Schedule Explorer: see, bind, compare and export GPU schedules of TensorIR modules."""

__version__ = "0.1.0"
