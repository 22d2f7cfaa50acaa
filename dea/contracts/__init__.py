"""Everything that crosses a boundary, as models that are exact on the wire."""
