"""Library baselines in a race: each in a process of its own, with the same inputs and checks."""

from __future__ import annotations

from explorer.baselines import BASELINES, Baseline, Buffer, Call, NotOffered, Processor, installed
from explorer.engine.operation import NoEquivalent, operation_of
from explorer.engine.race_line import Make, NotLoaded, Order, Told, interruptions, unlimited_data
from explorer.engine.race_material import Material
from explorer.engine.race_outputs import Contents, Outputs
from explorer.model.operation import Operation
from explorer.runners import Say


def offers(material: Material, processor: Processor) -> tuple[Operation, tuple[Baseline, ...]]:
    """What the function is, and the installed libraries to ask.

    Raises NoEquivalent with the sentence to show.
    """
    func, subject = material.original[material.name], material.subject
    try:
        operation = operation_of(func, subject.params, material.arrays.shapes.number)
    except NoEquivalent as why:
        raise NoEquivalent(f"No library equivalent: {why}.") from None
    found = installed(processor)
    if not found:
        able = (each.LABEL for each in BASELINES.values() if processor in each.PROCESSORS)
        what = "GPU" if processor == "cuda" else "processor"
        raise NoEquivalent(f"No library for this {what} is installed ({' or '.join(able)}).")
    return operation, found


def library(
    baseline: Baseline, operation: Operation, processor: Processor, device: int, material: Material
) -> Make:
    """What a process is to do that calls a library."""

    def make(say: Say) -> _Library:
        if processor == "cuda":
            unlimited_data()
        return _Library(baseline, operation, processor, device, material)

    return make


class _Library:
    """One call of one library; the variant's number in orders says nothing here."""

    def __init__(
        self, baseline: Baseline, operation: Operation, processor: Processor, device: int,
        material: Material,
    ) -> None:  # fmt: skip
        self.hello = Told(device=baseline.version(processor, device))
        self._baseline, self._operation = baseline, operation
        self._processor, self._device = processor, device
        self._material = material
        self._outputs = Outputs(material)
        self._call: Call | None = None

    def load(self, order: Order) -> None:
        """Make the call ready.  Raises NotLoaded."""
        params, starts = self._material.subject.params, self._material.start[0]
        buffers = [
            Buffer(tuple(values.shape), param.dtype)
            for param, values in zip(params, starts, strict=True)
        ]
        try:
            self._call = self._baseline.offer(
                self._operation, buffers, self._processor, self._device
            )
        except NotOffered as why:
            raise NotLoaded(f"No library equivalent: {why}") from None

    def turn(self, order: Order) -> Told:
        """The plan's inputs, timed calls, the output compared."""
        call = self._call
        assert call is not None
        call.fill(self._material.start[order.plan])
        before = interruptions()
        seconds = call.seconds(order.calls, order.flush)
        clean = self._processor != "cpu" or interruptions() == before
        outputs: Contents = [None] * len(self._material.subject.params)
        outputs[self._operation.output.param] = call.result().copy()
        wrong = self._outputs.wrong(order.variant, order.plan, outputs)
        return Told(us=seconds * 1e6, clean=clean, wrong=wrong)
