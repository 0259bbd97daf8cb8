"""Manners: what of a device decides how batches are merged and run on it."""

from __future__ import annotations

from dataclasses import dataclass

from ge_engine.devices import Device


@dataclass(frozen=True)
class Manners:
    """As a Device says it: whole gears only or not, on the host's cores or its own, and batches at once a stream."""

    pads: bool
    on_host: bool
    cards: int = 1
    in_flight: int = 1

    @classmethod
    def of(cls, device: Device) -> Manners:
        return cls(device.pads, device.on_host, device.cards, device.in_flight)

    @property
    def lanes(self) -> int:
        """For each stream of the deployment, the batches that are on their way at once, on all cards."""
        return self.cards * self.in_flight
