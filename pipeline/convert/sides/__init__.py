"""Programs that run where a framework is installed, which need not be where gepipe is."""
