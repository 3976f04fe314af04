"""The report of one problem: one HTML file with its pictures inside, readable without a network, light or dark."""
