"""Layer normalisation of each row: y = g * (x - mean(x)) / sqrt(var(x) + eps) + b."""

import numpy as np

M = 320
N = 768


def get_inputs():
    """The rows x [M, N], gain and bias [N], and epsilon."""
    x = np.random.standard_normal((M, N)).astype(np.float32)
    gain = np.random.standard_normal(N).astype(np.float32)
    bias = np.random.standard_normal(N).astype(np.float32)
    return [x, gain, bias, 1e-5]


def forward(x, gain, bias, eps):
    """The normalised rows [M, N]; the variance is the mean square about the mean."""
    width = x.shape[-1]
    centred = x - x.sum(axis=-1, keepdims=True) / width
    variance = np.square(centred).sum(axis=-1, keepdims=True) / width
    return centred / np.sqrt(variance + eps) * gain + bias
