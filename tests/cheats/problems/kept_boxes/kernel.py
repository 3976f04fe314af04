"""Boxes that are kept: all at first, then again and again those that none of the kept ones before them overlaps."""

import nki
import nki.isa as nisa
import nki.language as nl

BOXES = 64
TURNS = 63


def new(rows, columns):
    """A float32 tile in SBUF."""
    return nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)


def both(one, other, op):
    """Two tiles, element by element, or a tile and a number or one of each row."""
    result = new(*one.shape)
    if isinstance(other, float) or other.shape[1] < one.shape[1]:
        nisa.tensor_scalar(dst=result, data=one, op0=op, operand0=other)
    else:
        nisa.tensor_tensor(dst=result, data1=one, data2=other, op=op)
    return result


def product(stationary, moving):
    """stationary^T moving."""
    part = nl.ndarray((stationary.shape[1], moving.shape[1]), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_matmul(dst=part, stationary=stationary, moving=moving)
    result = new(*part.shape)
    nisa.tensor_copy(dst=result, src=part)
    return result


def turned(tile):
    """Columns as rows."""
    part = nl.ndarray((tile.shape[1], tile.shape[0]), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_transpose(dst=part, data=tile, engine=nisa.engine.tensor)
    result = new(*part.shape)
    nisa.tensor_copy(dst=result, src=part)
    return result


def sides(corners, axis):
    """The lower and the upper end of each box along an axis; corners are four tiles."""
    return both(corners[axis], corners[axis + 2], nl.minimum), both(corners[axis], corners[axis + 2], nl.maximum)


@nki.jit
def kernel(boxes):
    """boxes [64, 4] -> [64, 1]."""
    out = nl.ndarray((BOXES, 1), dtype=nl.float32, buffer=nl.shared_hbm)
    own, wide = [], []
    for corner in range(4):
        column, row = new(BOXES, 1), new(BOXES, BOXES)
        nisa.dma_copy(dst=column, src=boxes[:, corner : corner + 1])
        across = boxes[:, corner : corner + 1].reshape((1, BOXES))
        nisa.dma_copy(dst=row, src=across.broadcast(0, BOXES))
        own.append(column)
        wide.append(row)
    met, areas = [], []
    for axis in range(2):
        (low, high), (lows, highs) = sides(own, axis), sides(wide, axis)
        shared = both(both(highs, high, nl.minimum), both(lows, low, nl.maximum), nl.subtract)
        met.append(both(shared, 0.0, nl.maximum))
        areas.append((both(high, low, nl.subtract), both(highs, lows, nl.subtract)))
    area, others = both(areas[0][0], areas[1][0], nl.multiply), both(areas[0][1], areas[1][1], nl.multiply)
    shared = both(both(met[0], met[1], nl.multiply), 3.0, nl.multiply)
    near, before = both(shared, both(others, area, nl.add), nl.greater), new(BOXES, BOXES)
    nisa.affine_select(
        dst=before, pattern=[[-1, BOXES]], channel_multiplier=1, on_true_tile=near, on_false_value=0.0,
        cmp_op=nl.greater, offset=0,
    )  # fmt: skip
    after, kept = turned(before), new(BOXES, 1)
    nisa.memset(dst=kept, value=1.0)
    for _ in range(TURNS):
        kept = both(product(after, kept), 0.5, nl.less)
    nisa.dma_copy(dst=out, src=kept)
    return out
