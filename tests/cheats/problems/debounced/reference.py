"""A switch that two numbers in a row turn: on where both are above one, off where neither is."""

import numpy as np

M = 128
N = 256


def get_inputs():
    """Own draws."""
    return [np.random.standard_normal((M, N)).astype(np.float32)]


def forward(x):
    """One where the last two that agreed were above one."""
    above = x > 1.0
    before = np.concatenate([np.zeros_like(above[:, :1]), above[:, :-1]], axis=1)
    place = np.arange(1, x.shape[1] + 1)
    on = np.maximum.accumulate(np.where(above & before, place, 0), axis=1)
    off = np.maximum.accumulate(np.where(~above & ~before, place, 0), axis=1)
    return (on > off).astype(np.float32)
