"""Uses no instruction at all."""

import nki
import numpy as np


@nki.jit
def kernel(x, gain, eps):
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + eps) * gain
