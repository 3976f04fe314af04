"""What one instruction costs by itself: cycles of its engine, bytes and descriptors of its transfer. No
schedule here."""
