"""``neuronxcc.nki.isa``: instructions that return the tile they compute, over the machine's own instructions."""
