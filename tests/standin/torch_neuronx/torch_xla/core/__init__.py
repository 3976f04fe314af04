"""torch_xla.core, standing in."""
