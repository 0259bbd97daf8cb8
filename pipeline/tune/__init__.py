"""tune: which gears, streams, and cores or threads; measured on a device, or by a model of one that is not there."""
