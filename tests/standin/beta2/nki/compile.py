"""By this module the dialect of NKI 0.1 and 0.2 is told."""


class GenericKernel:
    pass
