"""Evidence in, findings out. Pure: rules read evidence kinds, never program text or names."""
