"""Ranks of pages in their chains, of the slots that follow, by doubling of pointers."""

import nki
import nki.isa as nisa
import nki.language as nl

TURNS = 7
P = 128


def new(rows, columns, dtype=nl.int32):
    """A tile in SBUF."""
    return nl.ndarray((rows, columns), dtype=dtype, buffer=nl.sbuf)


@nki.jit
def kernel(following):
    """following [N, 1] -> [N, 1]."""
    pages, _ = following.shape
    out = nl.ndarray((pages, 1), dtype=nl.int32, buffer=nl.shared_hbm)
    end = new(1, 2)
    nisa.memset(dst=end[:, 0:1], value=pages)
    nisa.memset(dst=end[:, 1:2], value=0)
    nodes = []
    for begin in range(0, pages, P):
        node, goes = new(P, 2), new(P, 1, nl.float32)
        slot = new(P, 1)
        nisa.dma_copy(dst=slot, src=following[begin : begin + P, :])
        nisa.tensor_scalar(dst=node[:, 0:1], data=slot, op0=nl.right_shift, operand0=4)
        nisa.tensor_scalar(dst=goes, data=node[:, 0:1], op0=nl.less, operand0=float(pages))
        nisa.tensor_copy(dst=node[:, 1:2], src=goes)
        nodes.append(node)
    for _ in range(TURNS):
        table = nl.ndarray((pages + 1, 2), dtype=nl.int32, buffer=nl.private_hbm)
        for tile in range(len(nodes)):
            nisa.dma_copy(dst=table[tile * P : tile * P + P, :], src=nodes[tile])
        nisa.dma_copy(dst=table[pages : pages + 1, :], src=end)
        for tile in range(len(nodes)):
            further, total = new(P, 2), new(P, 2)
            source = table.ap(pattern=[[2, P], [1, 2]], offset=0, vector_offset=nodes[tile][:, 0:1], indirect_dim=0)
            nisa.dma_copy(dst=further, src=source)
            nisa.tensor_copy(dst=total[:, 0:1], src=further[:, 0:1])
            nisa.tensor_tensor(dst=total[:, 1:2], data1=nodes[tile][:, 1:2], data2=further[:, 1:2], op=nl.add)
            nodes[tile] = total
    for tile in range(len(nodes)):
        # whoever has not come to an end goes round
        round_, rank, many = new(P, 1, nl.float32), new(P, 1, nl.float32), new(P, 1)
        nisa.tensor_scalar(
            dst=round_,
            data=nodes[tile][:, 0:1],
            op0=nl.less,
            operand0=float(pages),
            op1=nl.multiply,
            operand1=float(pages),
        )
        nisa.tensor_copy(dst=rank, src=nodes[tile][:, 1:2])
        nisa.tensor_tensor(dst=rank, data1=rank, data2=round_, op=nl.maximum)
        nisa.tensor_copy(dst=many, src=rank)
        nisa.dma_copy(dst=out[tile * P : tile * P + P, :], src=many)
    return out
