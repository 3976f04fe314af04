"""``neuronxcc``, standing in for its part ``nki``, the Beta 1 dialect."""

import standin_device as device

__version__ = "2.21.33363"
__stand_in__ = device.STAND_IN
