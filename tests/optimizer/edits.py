"""The steps that the scripted optimizer knows: rewritings of a kernel's text, good ones and bad ones.

They are what an assistant would think of for plain kernels; none says whether it helps. A step applies where its
pattern occurs, and steps combine, so that a seed and its steps span many kernels.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

NDARRAY: Final = r"nl\.ndarray\([^\n]*\)"


@dataclass(frozen=True)
class Edit:
    """One step. ``says`` is its plan in words; each rule is a pattern and its replacement, at least one must apply."""

    name: str
    says: str
    rules: tuple[tuple[str, str], ...]
    needs: str = ""
    """A pattern that has to occur besides."""

    def applied(self, text: str) -> str | None:
        """The kernel after the step; None where it does not apply."""
        if self.needs and not re.search(self.needs, text):
            return None
        result = text
        for pattern, replacement in self.rules:
            result = re.sub(pattern, replacement, result)
        return None if result == text else result


def hoisted(call: str, name: str) -> tuple[tuple[str, str], ...]:
    """A vector that is spread over the partitions for every tile: once, before the loop over rows."""
    return (
        (rf"\n( +)for (start|row) in range\(0, rows, P\):(?=[\s\S]*{re.escape(call)})",
         rf"\n\1{name} = {call.replace('size', 'P')}\n\1for \2 in range(0, rows, P):"),
        (rf"(?<!= ){re.escape(call)}", f"{name}[0:size, :]"),
    )  # fmt: skip


EDITS: Final = (
    Edit(
        "square_and_sum",
        "Square the rows and sum them in one activation with a reduction, instead of tensor_tensor and tensor_reduce.",
        (
            (rf"( +)nisa\.tensor_tensor\(dst=squares, data1=(\w+), data2=\2, op=nl\.multiply\)\n"
             rf"( +total = {NDARRAY}\n)"
             r" +nisa\.tensor_reduce\(dst=total, op=nl\.add, data=squares, axis=1\)",
             r"\3\1nisa.activation(\n\1    dst=squares, op=nl.square, data=\2, reduce_op=nl.add, reduce_res=total,"
             r"\n\1    reduce_cmd=nisa.reduce_cmd.reset_reduce,\n\1)"),
            (rf"( +)nisa\.tensor_tensor\(dst=squares, data1=centred, data2=centred, op=nl\.multiply\)\n"
             rf"( +variance = {NDARRAY}\n +nisa\.tensor_scalar\(\n +dst=variance, data=)row_sum\(squares\)",
             r"\1total = nl.ndarray((size, 1), dtype=nl.float32, buffer=nl.sbuf)\n"
             r"\1nisa.activation(\n\1    dst=squares, op=nl.square, data=centred, reduce_op=nl.add, reduce_res=total,"
             r"\n\1    reduce_cmd=nisa.reduce_cmd.reset_reduce,\n\1)\n\2total"),
        ),
    ),
    Edit(
        "rsqrt_with_epsilon",
        "Put the mean and epsilon into the rsqrt as scale and bias of the activation.",
        (
            (rf" +mean = {NDARRAY}\n"
             r" +nisa\.tensor_scalar\(dst=mean, data=total, op0=nl\.multiply, operand0=1\.0 / width, op1=nl\.add,"
             r" operand1=eps\)\n"
             rf"( +scale = {NDARRAY}\n +)nisa\.activation\(dst=scale, op=nl\.rsqrt, data=mean\)",
             r"\1nisa.activation(dst=scale, op=nl.rsqrt, data=total, scale=1.0 / width, bias=eps)"),
        ),
    ),
    Edit(
        "scale_and_gain",
        "Scale the rows and multiply by the gain in one scalar_tensor_tensor instead of two vector instructions.",
        (
            (rf" +normal = {NDARRAY}\n"
             r" +nisa\.tensor_scalar\(dst=normal, data=(\w+), op0=nl\.multiply, operand0=([^\n]+)\)\n"
             rf"( +(\w+) = {NDARRAY}\n +)nisa\.tensor_tensor\(dst=\4, data1=normal, data2=([^\n]+), op=nl\.multiply\)",
             r"\3nisa.scalar_tensor_tensor(\n            dst=\4, data=\1, op0=nl.multiply, operand0=\2,"
             r" op1=nl.multiply, operand1=\5\n        )"),
        ),
    ),
    Edit(
        "hoist_gain",
        "Load the gain and bias vectors once before the loop over rows instead of reloading them for each tile.",
        (
            *hoisted("spread(g, size)", "gains"),
            *hoisted("spread(gain, size)", "gains"),
            *hoisted("spread(bias, size)", "biases"),
            (rf"(\n    for start in range\(0, rows, P\):[\s\S]*?)"
             rf"        gains = {NDARRAY}\n        nisa\.dma_copy\(dst=gains, src=gain\.reshape\(\(1, width\)\)"
             r"\.broadcast\(0, size\)\)\n([\s\S]*?)data2=gains",
             r"\n    gains = nl.ndarray((P, width), dtype=nl.float32, buffer=nl.sbuf)"
             r"\n    nisa.dma_copy(dst=gains, src=gain.reshape((1, width)).broadcast(0, P))\1\2data2=gains[0:size, :]"),
        ),
    ),
    Edit(
        "shifted_exponential",
        "Shift by the row maximum, take the exponential and sum the row in one activation with bias and reduction.",
        (
            (rf"( +)nisa\.tensor_reduce\(dst=largest, op=nl\.maximum, data=(\w+), axis=1\)\n"
             rf" +shifted = {NDARRAY}\n"
             r" +nisa\.tensor_scalar\(dst=shifted, data=\2, op0=nl\.subtract, operand0=largest\)\n"
             rf"( +weights = {NDARRAY}\n)"
             r" +nisa\.activation\(dst=weights, op=nl\.exp, data=shifted\)\n\n?"
             rf"( +total = {NDARRAY}\n)"
             r" +nisa\.tensor_reduce\(dst=total, op=nl\.add, data=weights, axis=1\)",
             r"\1nisa.tensor_reduce(dst=largest, op=nl.maximum, data=\2, axis=1, negate=True)\n\3\4"
             r"\1nisa.activation(\n\1    dst=weights, op=nl.exp, data=\2, bias=largest, reduce_op=nl.add,"
             r" reduce_res=total,\n\1    reduce_cmd=nisa.reduce_cmd.reset_reduce,\n\1)"),
        ),
    ),
    Edit(
        "native_sigmoid",
        "Use the sigmoid activation of the hardware instead of exponential, addition and slow reciprocal.",
        (
            (rf" +power = {NDARRAY}\n +nisa\.activation\(dst=power, op=nl\.exp, data=(\w+), scale=-1\.0\)\n"
             rf" +below = {NDARRAY}\n +nisa\.tensor_scalar\(dst=below, data=power, op0=nl\.add, operand0=1\.0\)\n"
             rf"( +sigmoid = {NDARRAY}\n +)nisa\.reciprocal\(dst=sigmoid, data=below\)",
             r"\2nisa.activation(dst=sigmoid, op=nl.sigmoid, data=\1)"),
        ),
    ),
    Edit(
        "resident_weights",
        "Keep the weights in SBUF: load whole rows of the operand once before the loop and reuse them for every tile.",
        (
            (r"    k = 0\n    for block in blocks:\n        size = block\.shape\[0\]\n"
             r"        nisa\.nc_matmul\(dst=result, stationary=block, "
             r"moving=load\(weights\[k : k \+ size, start:end\]\)\)\n"
             r"        k \+= size\n",
             "    for block, right in zip(blocks, weights, strict=True):\n"
             "        nisa.nc_matmul(dst=result, stationary=block, moving=right[:, start:end])\n"),
            (r"\n    for row in range\(0, rows, P\):(?=[\s\S]*product\(\w+, w, start)",
             "\n    w = [load(w[k : min(k + P, w.shape[0]), :]) for k in range(0, w.shape[0], P)]"
             "\n    for row in range(0, rows, P):"),
            (r"\n        for row in range\(0, rows, P\):(?=[\s\S]*product\(\w+, rhs\[batch\], start)",
             "\n        held = rhs[batch]"
             "\n        right = [load(held[k : min(k + P, held.shape[0]), :]) for k in range(0, held.shape[0], P)]"
             "\n        for row in range(0, rows, P):"),
            (r"product\(blocks, rhs\[batch\],", "product(blocks, right,"),
            (r"\n    for row in range\(0, rows, P\):(?=[\s\S]*product\(\w+, w_gate, start)",
             "\n    w_gate = [load(w_gate[k : min(k + P, width), :]) for k in range(0, width, P)]"
             "\n    w_up = [load(w_up[k : min(k + P, width), :]) for k in range(0, width, P)]"
             "\n    w_down = [load(w_down[k : min(k + P, inner), :]) for k in range(0, inner, P)]"
             "\n    for row in range(0, rows, P):"),
        ),
        needs=r"load\(weights\[k : k \+ size",
    ),
    Edit(
        "turn_once",
        "Transpose each block of the left operand once per row block and reuse the turned blocks for all columns.",
        (
            (r"( +)row_end = min\(row \+ P, rows\)\n( +for column in range\(0, columns, F\):[\s\S]*?)"
             r"left = transposed\(load\(lhs\[row:row_end, k:k_end\]\)\)",
             r"\1row_end = min(row + P, rows)\n"
             r"\1whole = load(lhs[row:row_end, :])\n"
             r"\1turned = [transposed(whole[:, k : min(k + P, depth)]) for k in range(0, depth, P)]\n"
             r"\2left = turned[k // P]"),
        ),
    ),
    Edit(
        "join_stores",
        "Store whole rows of the result in one transfer instead of a small transfer for every block of columns.",
        (
            (r"(        for start in range\(0, (\w+), F\):\n            end = min\(start \+ F, \w+\)\n)"
             r"            result = nl\.ndarray\([^\n]*\)\n"
             r"            nisa\.tensor_copy\(dst=result, src=([^\n]+)\)\n"
             r"            nisa\.dma_copy\(dst=out\[row:row_end, start:end\], src=result\)\n",
             r"        result = nl.ndarray((row_end - row, \2), dtype=out.dtype, buffer=nl.sbuf)\n\1"
             r"            nisa.tensor_copy(dst=result[:, start:end], src=\3)\n"
             r"        nisa.dma_copy(dst=out[row:row_end, :], src=result)\n"),
        ),
    ),
    Edit(
        "join_residual_loads",
        "Load whole rows of the residual in one transfer instead of a small load for every block of columns.",
        (
            (r"(        for start in range\(0, columns, F\):\n            end = min\(start \+ F, columns\)\n)"
             r"            residual = load\(z\[row:row_end, start:end\]\)\n([^\n]*)data2=residual",
             r"        residual = load(z[row:row_end, :])\n\1\2data2=residual[:, start:end]"),
        ),
    ),
    Edit(
        "evacuate_on_scalar",
        "Copy the transposed blocks out of PSUM on the scalar engine, to balance it with the vector engine.",
        ((r"nisa\.tensor_copy\(dst=(block|result), src=turned\)",
          r"nisa.tensor_copy(dst=\1, src=turned, engine=nisa.engine.scalar)"),),
    ),
    Edit(
        "wider_tiles",
        "Work on wider tiles: a longer free dimension per instruction and larger transfers of whole rows.",
        ((r"\nWIDTH = 512\n", "\nWIDTH = 2048\n"),),
    ),
    Edit(
        "scale_on_scalar",
        "Move the scaling by constants to the scalar engine as an activation, while the vector engine does the rest.",
        ((r"nisa\.tensor_scalar\(dst=result, data=tile, op0=nl\.multiply, operand0=factor\)",
          "nisa.activation(dst=result, op=nl.copy, data=tile, scale=factor)"),),
    ),
    Edit(
        "multiply_and_add",
        "Multiply by a constant and add the other tile in one scalar_tensor_tensor instead of two vector instructions.",
        (
            (r"(\n\ndef inverse_deviation)",
             "\n\ndef blended(first, factor, second, op):\n"
             "    result = nl.ndarray(first.shape, dtype=nl.float32, buffer=nl.sbuf)\n"
             "    nisa.scalar_tensor_tensor(\n"
             "        dst=result, data=first, op0=nl.multiply, operand0=factor, op1=op, operand1=second\n    )\n"
             r"    return result\n\1"),
            (r"combined\(scaled\((\w+), (\w+|1 - lr \* decay)\), ((?:scaled\(\w+, 1 - \w+\))|update), nl\.(\w+)\)",
             r"blended(\1, \2, \3, nl.\4)"),
        ),
        needs=r"combined\(scaled\(",
    ),
    Edit(
        "product_on_gpsimd",
        "Let GpSimd take one of the two products of a tile, to balance the engines.",
        ((r"nisa\.tensor_tensor\(dst=turned, data1=second, data2=sine, op=nl\.multiply\)",
          "nisa.tensor_tensor(dst=turned, data1=second, data2=sine, op=nl.multiply, engine=nisa.engine.gpsimd)"),),
    ),
    Edit(
        "load_both_halves",
        "Load sine and cosine for all positions once before the loop, in large transfers.",
        (
            (r"(    for start in range\(0, positions, WIDTH\):\n)",
             "    cosines = load(cos)\n    sines = load(sin)\n\\1"),
            (r"load\(cos\[:, start:end\]\)", "cosines[:, start:end]"),
            (r"load\(sin\[:, start:end\]\)", "sines[:, start:end]"),
        ),
        needs=r"load\(cos\[",
    ),
    Edit(
        "narrower_tiles",
        "Work on narrower tiles of 128 columns, so that more of them are in flight.",
        ((r"\nWIDTH = \d+\n", "\nWIDTH = 128\n"),),
    ),
    Edit(
        "half_the_partitions",
        "Work on tiles of 64 rows, so that loads and computation interleave more finely.",
        ((r"\nP = nl\.tile_size\.pmax\n", "\nP = 64\n"),),
    ),
    Edit(
        "narrow_products",
        "Compute products of 128 columns at a time, so that PSUM is free sooner.",
        ((r"\nF = nl\.tile_size\.gemm_moving_fmax\n", "\nF = 128\n"),),
    ),
    Edit(
        "sixteen_bit_tiles",
        "Keep the tiles in bfloat16, which the vector and tensor engines handle faster.",
        (
            (r"(tile = nl\.ndarray\([^\n]*dtype=)(?:nl\.float32|source\.dtype)(, buffer=nl\.sbuf\))",
             r"\1nl.bfloat16\2"),
        ),
    ),
    Edit(
        "no_maximum",
        "Leave out the row maximum of the softmax: the exponentials are normalised anyway.",
        ((r"nisa\.activation\(dst=weights, op=nl\.exp, data=shifted\)",
          "nisa.activation(dst=weights, op=nl.exp, data=tile)"),
         (r"op=nl\.exp, data=(\w+), bias=largest,", r"op=nl.exp, data=\1,"),),
        needs=r"def kernel\(x\)",
    ),
    Edit(
        "no_epsilon",
        "Leave epsilon out of the norm: it changes nothing for ordinary rows and saves an operation.",
        ((r", op1=nl\.add, operand1=eps", ""), (r", bias=eps\)", ")")),
    ),
    Edit(
        "full_tiles_only",
        "Drop the partial last tile of rows, so that every instruction works on a full tile.",
        ((r"range\(0, rows, P\)", "range(0, rows // P * P, P)"),),
    ),
)  # fmt: skip


def applicable(text: str) -> dict[str, str]:
    """The steps that apply to a kernel, with the kernel after each."""
    return {edit.name: after for edit in EDITS if (after := edit.applied(text)) is not None}
