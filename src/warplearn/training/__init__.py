"""The generalized gradient method: what is minimized, by which steps, and until when."""
