"""Hard use, at random: inputs, files, processes."""
