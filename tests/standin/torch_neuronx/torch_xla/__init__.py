"""torch_xla, standing in."""
