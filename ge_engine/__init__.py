"""Models, gears, static graphs, buffers, streams and devices."""
