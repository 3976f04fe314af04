"""By this module Beta 1 is told."""

from neuronxcc.nki import GenericKernel

__all__ = ["GenericKernel"]
