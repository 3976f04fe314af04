"""torch-neuronx, standing in: that it is there is all that is asked."""
