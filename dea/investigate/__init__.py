"""One plan per symptom: which looks to take side by side, and which only if those call for it."""
