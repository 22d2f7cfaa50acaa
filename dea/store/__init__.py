"""Sessions on disk: raw before derived, atomic, hashed."""
