"""Problems to start from, and starter experiences; data only."""
