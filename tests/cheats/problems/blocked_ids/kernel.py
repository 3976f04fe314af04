"""Which ids are blocked, one after the other."""

import nki
import nki.isa as nisa
import nki.language as nl

BLOCKED = (
    (4988360, 4640501, 13377420, 6490757, 15384439, 6920576, 9291932, 9472667),
    (8432839, 3700427, 11409493, 6509174, 5288879, 8528093, 15861777, 5047021),
    (10163103, 5030935, 16343456, 5736766, 15321866, 5349519, 10428612, 8663913),
    (12583975, 436005, 10453011, 299820, 10273485, 2214844, 15115421, 6497615),
    (13660262, 11990031, 16053048, 5189490, 1545393, 14249985, 4346783, 1644640),
    (10521173, 13389722, 7272354, 5763403, 11586866, 6286785, 3514088, 8858933),
    (8172486, 1002025, 15600034, 6248616, 307734, 4693951, 1071208, 10501071),
    (3995448, 13518748, 13711715, 7526660, 9121031, 12279874, 11119530, 14662624),
    (6721765, 3322247, 4499187, 7528728, 8267237, 12215228, 9018925, 10540883),
    (8646065, 14465264, 3859816, 7796087, 15898165, 3798045, 16517452, 16402520),
    (6618990, 16683390, 9207116, 11044641, 884354, 12761560, 1569004, 16499955),
    (7796266, 13144145, 14597171, 11585854, 16011927, 5332957, 14653949, 16362210),
)


def new(rows, columns):
    """A float32 tile."""
    return nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)


def load(source):
    """Integers as float32."""
    raw = nl.ndarray(source.shape, dtype=source.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=raw, src=source)
    tile = new(source.shape[0], source.shape[1])
    nisa.tensor_copy(dst=tile, src=raw)
    return tile


@nki.jit
def kernel(ids):
    """ids [128, N] -> [128, N]."""
    count, width = ids.shape
    tile, found = load(ids), new(count, width)
    out = nl.ndarray((count, width), dtype=nl.float32, buffer=nl.shared_hbm)
    nisa.memset(dst=found, value=0.0)
    for line in BLOCKED:
        for one in line:
            nisa.scalar_tensor_tensor(
                dst=found, data=tile, op0=nl.equal, operand0=float(one), op1=nl.add, operand1=found
            )
    nisa.dma_copy(dst=out, src=found)
    return out
