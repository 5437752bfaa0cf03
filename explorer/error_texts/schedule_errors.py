"""What TVM's schedule errors mean: a pattern of its message, and our what, why and do.

Placeholders: `{block}` and `{loop}` are the ones TVM points at, `{inner}` the second loop,
`{blocks}` all blocks it points at, `{subject}` what the primitive was called on, `{trouble}`,
`{cure}` and `{culprit}` what `culprits` finds, and the named groups of the pattern.
"""

from __future__ import annotations

_PLAIN = "TVM reshapes only plain loops."
_SIMPLE = "Every iterator must be a sum of loops times constants that covers its domain once."

RULES: tuple[tuple[str, str, str, str], ...] = (
    # split, loop_partition
    (
        r"Only one factor can be specified",
        "More than one factor is None.",
        "TVM can work out a single one.",
        "Give the others as numbers.",
    ),
    (
        r"product of factors is not larger",
        "The factors don't cover {loop}.",
        "Their product is smaller than its number of iterations.",
        "Make one larger, or None.",
    ),
    (
        r"factor at position (?P<at>\d+) is (?P<value>-?\d+)",
        "The factor {value} is not allowed.",
        "Factors are whole numbers from 1 up.",
        "",
    ),
    (
        r"sum of factors is larger",
        "The parts are longer than {loop}.",
        "Together they must be shorter than its number of iterations.",
        "",
    ),
    (
        r"has annotation or thread binding",
        "{loop} is bound or annotated.",
        _PLAIN,
        "Undo the binding or annotation, shape the loop, then bind it.",
    ),
    (
        r"does not start with 0",
        "{loop} does not start at 0.",
        "TVM reshapes only loops that do.",
        "Write the loop from 0 and add the start to its index.",
    ),
    # fuse, reorder, merge
    (
        r"is not the parent of the inner loop",
        "{inner} is not directly inside {loop}.",
        "Only loops that hold one another can be fused.",
        "Name them outermost first; reorder them next to each other before.",
    ),
    (
        r"is not the only child of outer loop",
        "{loop} holds more than {inner}.",
        "Fused, the rest would run once for each iteration of both.",
        "Fuse before moving blocks under {loop}.",
    ),
    (
        r"`extent` is dependent on another loop (?P<other>\w+)",
        "{loop} depends on {other}.",
        "A loop whose length changes with another can't be fused with it.",
        "",
    ),
    (
        r"not in a chain because there is a non-single-branch",
        "The loops are not one chain.",
        "{loop} holds more than one thing.",
        "Reorder before moving blocks under it.",
    ),
    (
        r"not in a chain|not under the same scope",
        "These loops are not in one chain.",
        "Each must be inside the one before it.",
        "",
    ),
    (
        r"appears in the input array for multiple times",
        "{loop} is named twice.",
        "Each loop can have one place only.",
        "",
    ),
    (
        r"outer loop's `min` or `extent` is dependent",
        "A loop would be outside the one its length depends on.",
        "",
        "Keep {loop} inside.",
    ),
    (
        r"nesting depth must be same",
        "The loops are not at one depth.",
        "Only loops at the same depth of sibling nests can be merged.",
        "",
    ),
    # bind, vectorize, parallel
    (
        r'"bind" cannot be fulfilled .* contains (?P<var>\w+) does not',
        "{var} drives a reduction of block {block}: it can't be a block axis.",
        "Blocks of a grid can't add up into one element; threads of one block can.",
        "Bind it to threadIdx, or use rfactor.",
    ),
    (
        r'"(?P<how>vectorize|parallel)" cannot be fulfilled',
        "{loop} drives an iterator of block {block} that is not spatial: no {how}.",
        "Its iterations depend on one another.",
        "Pick a spatial loop, or use rfactor.",
    ),
    (
        r"violates condition #3 as a (local )?complete block",
        "Block {block} works in place: it reads the buffer that it writes.",
        "Its iterations might depend on one another, so TVM leaves them in order.",
        "Let the block write into a buffer of its own in the module's text.",
    ),
    (
        r"violates condition #1 as a (local )?complete block.*"
        r"violates condition #1 as a (local )?reduction block",
        "Block {block} {trouble}.",
        "TVM can't tell that its iterations may run in any order.",
        "{cure}",
    ),
    (
        r"violates condition #1 as a (local )?complete block.*"
        r"violates condition #2 as a (local )?reduction block",
        "Block {block} has an iterator that is no simple function of its loops.",
        _SIMPLE,
        "",
    ),
    (
        r"violates condition #2 as a (local )?complete block"
        r"|violates condition #4 as a (local )?reduction block",
        "Block {block} is not the only writer of its buffer.",
        "TVM moves work only where a single block makes each buffer.",
        "",
    ),
    (
        r"violates condition #5 as a (local )?reduction block",
        "Block {block} writes to a place that its reduction iterators choose.",
        "The elements it adds up can't be told apart.",
        "",
    ),
    # decompose_reduction, rfactor
    (
        r"is not a reduction block - it violates condition #1",
        "Block {block} is not a reduction: it has no T.init().",
        "",
        "Pick a block that sets an initial value.",
    ),
    (
        r"is not a reduction block",
        "Block {block} is not a reduction that TVM can take apart.",
        "Its iterators must be simple, and it must be the only writer of its buffer.",
        "",
    ),
    (
        r"is not a complete block",
        "Block {block} is not complete.",
        "It must be spatial only, the only writer of its buffer, and not read what it writes.",
        "",
    ),
    (
        r"to be higher than all the loops related to reduce block var",
        "{loop} is inside a reduction loop of {block}.",
        "The initial value must be set before any reduction loop starts.",
        "Pick the outermost reduction loop, or one outside it.",
    ),
    (
        r"is required to be an ancestor of block",
        "{loop} is not around block {block}.",
        "",
        "Pick one of the block's own loops.",
    ),
    (
        r"not to be touched by any data parallel block iter",
        "{loop} is not a pure reduction loop.",
        "It also moves along an output index.",
        "Pick a loop that only reduces; split one if need be.",
    ),
    (
        r"required to be touched by (at least|only)|touched by.*reduction block iter",
        "{loop} is not a reduction loop.",
        "rfactor works on a loop that a reduction runs over.",
        "",
    ),
    (
        r"`(?P<name>factor_axis|axis)` is required to be in (?P<range>\[[^\])]*[\])])",
        "{name} is out of range.",
        "The buffer allows {range}.",
        "",
    ),
    (
        r"No matched reducer|no matched reducer",
        "TVM does not know the reduction of block {block}.",
        "It takes apart sums, products, minima, maxima and arg-minima and -maxima only.",
        "",
    ),
    (
        r"is not a stage pipeline",
        "The blocks around {subject} can't be rearranged.",
        "{culprit}",
        "TVM needs every buffer to be written by blocks first and read by others afterwards.",
    ),
    # compute_at, reverse_compute_at, inline
    (
        r"requires all the (?P<who>consumer|producer)\(s\)",
        "Not every {who} of {subject} is under that loop.",
        "Its {who}s are: {blocks}.",
        "Pick a loop that holds them all.",
    ),
    (
        r"is an output block",
        "Block {block} writes an argument of the function.",
        "Only a result that stays inside the function can move or go away.",
        "Use cache_write to get such a block.",
    ),
    (
        r"under the same block scope, and loop not to be the ancestor",
        "{loop} is around {block} already, or in another block's body.",
        "A block moves under a loop of another nest of the same scope.",
        "",
    ),
    (
        r"has init statement",
        "Block {block} is a reduction.",
        "It has no single expression that could be inlined.",
        "",
    ),
    (
        r"only allowed to read a single buffer region, but it reads 1 region",
        "Nothing in the function computes what {block} reads.",
        "It reads an argument.",
        "",
    ),
    (
        r"only allowed to (?P<how>read|write) a single buffer region, but it \w+ (?P<n>\d+)",
        "Block {block} {how}s {n} buffers.",
        "Only a block that {how}s one can be inlined this way.",
        "",
    ),
    (
        r"only leaf",
        "Block {block} is the only one there.",
        "Without it nothing would be left.",
        "",
    ),
    (
        r"cannot be inlined|can't be inlined|body pattern does not meet",
        "Block {block} has a body that can't be inlined.",
        "It must be one store whose indices are its own iterators.",
        "",
    ),
    (
        r"required to have an affine binding",
        "Block {block} has an iterator that is no simple function of its loops.",
        _SIMPLE,
        "",
    ),
    # caches and scopes
    (
        r"has (?P<n>\d+) (?P<side>read|write) regions.*`buffer_index` is (?P<at>-?\d+)",
        "Block {block} {side}s {n} buffers; there is no number {at}.",
        "Buffers are counted from 0.",
        "",
    ),
    (
        r"Invalid buffer_index (?P<at>-?\d+)\.\s+Block (?P<name>\S+) has only "
        r"(?P<n>\d+) (?P<side>\w+)",
        "Block {name} {side}s {n} buffers; there is no number {at}.",
        "Buffers are counted from 0.",
        "",
    ),
    (
        r"Could not find buffer '(?P<buffer>[^']*)' in block '(?P<name>[^']*)'",
        "Block {name} does not use a buffer {buffer}.",
        "",
        "Name one that it reads or writes.",
    ),
    (
        r'storage scope "(?P<scope>[^"]*)" is invalid',
        '"{scope}" is not a memory scope.',
        "CUDA has global, shared, shared.dyn and local, and wmma fragments.",
        "",
    ),
    (
        r"input buffer (?P<buffer>\S+) is not allocated by a block",
        "{buffer} is an argument of the function.",
        "Only a buffer that the function allocates itself can be changed.",
        "Use cache_read or cache_write to get one.",
    ),
    (
        r"buffer (?P<buffer>\S+) is expected to be written by single block, but got (?P<n>\d+)",
        "{buffer} is written by {n} blocks.",
        "Only a buffer with a single writer can be cached.",
        "",
    ),
    (
        r"Cannot find annotation key: (?P<key>\S+)",
        "There is no annotation {key} here.",
        "",
        "",
    ),
    # layout
    (
        r"would introduce padding wherever (?P<where>.*) is true",
        "The new layout has places that the buffer does not fill.",
        "They are those with {where}.",
        "Give pad_value, or sizes that divide.",
    ),
    (
        r"key is not in Map|not bijective|not injective|non-bijective|Index map.*not surjective",
        "The index map is not one to one.",
        "Two elements would land in one place, or an index is left out.",
        "Use every index once.",
    ),
    (
        r"args\.size\(\) == initial_indices",
        "The index map takes another number of indices than there are.",
        "",
        "Give the lambda one argument for each dimension (or block iterator).",
    ),
    (
        r"not a valid permutation",
        "The new order is not one of the block's iterators.",
        "Each place from 0 up must be named once.",
        "",
    ),
    (
        r"should be a list of (?P<n>\d+) positive integers",
        "Block {block} has {n} iterators.",
        "Each needs its multiple, from 1 up.",
        "",
    ),
    (
        r"not a computation of Einsum pattern",
        "Block {block} indexes with more than plain iterators.",
        "Only a block like a matrix product, with indices like A[vi, vk], can be padded.",
        "",
    ),
    (
        r"to match padding pattern",
        "Block {block} does not pad.",
        "It must be one store of T.if_then_else(inside, value, constant).",
        "",
    ),
    # tensorize, blockize
    (
        r"TensorIntrin '(?P<name>[^']*)' is not registered",
        "TVM has no instruction called {name}.",
        "",
        "Pick one of those offered, e.g. wmma_sync_16x16x16_f16f16f32.",
    ),
    (
        r"match the tensor intrin",
        "What is under {subject} is not what the instruction does.",
        "Sizes, element types, memory scopes and the expression must be the same.",
        "",
    ),
    (
        r"can not be blockized",
        "The loops from {loop} down don't make a block.",
        _SIMPLE,
        "",
    ),
    (
        r"should be tiled so that the lca",
        "Block {block} is not yet under a loop of its consumer.",
        "",
        "Use compute_at first.",
    ),
)  # fmt: skip
