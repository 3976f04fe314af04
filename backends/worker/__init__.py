"""What is shipped to the machine that runs a kernel: Python 3.10, standard library and NumPy."""
