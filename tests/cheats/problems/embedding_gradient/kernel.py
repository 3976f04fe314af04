"""Reads, adds to and writes back the row that each token names, in order."""

import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def kernel(table, grad, tokens):
    (height, width), count = table.shape, grad.shape[0]
    out = nl.ndarray((height, width), dtype=table.dtype, buffer=nl.shared_hbm)
    p, f, one = nl.arange(height)[:, None], nl.arange(width)[None, :], nl.arange(1)[:, None]
    nl.store(out[p, f], nl.load(table[p, f]))
    places = tokens.reshape((count, 1))
    for i in nl.sequential_range(count):
        place = nl.load(places[i + one, nl.arange(1)[None, :]])
        row = nl.load(out[place[one, nl.arange(1)[None, :]], f])
        nl.store(out[place[one, nl.arange(1)[None, :]], f], nl.add(row, nl.load(grad[i + one, f])))
    return out
