"""The Beta 1 dialect (``neuronxcc.nki``): a second front end that traces into the same programs as the current one."""
