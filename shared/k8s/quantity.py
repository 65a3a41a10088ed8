"""Kubernetes quantities such as 64Gi, 500m or 1e3, exactly."""

import re
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Final, Self

ACCEPTED_FORMAT: Final = "a Kubernetes quantity such as 64Gi, 1.5G, 500m or 1e3"

NANOS_PER_UNIT: Final = 10**9
MAX_NANOS: Final = (2**63 - 1) * NANOS_PER_UNIT

MAX_TEXT_LENGTH: Final = 64  # far above real quantities, and cheap to parse
# For schemas: the syntax that `parse` accepts without a sign, in a dialect that Python and Go
# share.
UNSIGNED_PATTERN: Final = (
    r"^([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,3})?$"
)

_BINARY_SCALES: Final = {f"{unit}i": 1024**power for power, unit in enumerate("KMGTPE", start=1)}
_DECIMAL_SCALES: Final = {
    **{"n": Fraction(1, 10**9), "u": Fraction(1, 10**6), "m": Fraction(1, 1000), "": Fraction(1)},
    **{unit: Fraction(1000**power) for power, unit in enumerate("kMGTPE", start=1)},
}
_PATTERN: Final = re.compile(
    r"([+-]?)(\d+\.?\d*|\.\d+)(?:([KMGTPE]i|[numkMGTPE])|[eE]([+-]?\d{1,3}))?", re.ASCII
)


@dataclass(frozen=True, order=True, slots=True)
class Quantity:
    """An amount in nanos (10^-9), the smallest unit of Kubernetes."""

    nanos: int

    def __post_init__(self) -> None:
        if abs(self.nanos) > MAX_NANOS:
            raise ValueError("the quantity exceeds the maximum of Kubernetes, 2^63-1")

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse a quantity; a fraction of a nano is rounded away from zero, as in Kubernetes."""
        match = _PATTERN.fullmatch(text) if len(text) <= MAX_TEXT_LENGTH else None
        if match is None:
            raise ValueError(f"{text[:MAX_TEXT_LENGTH]!r} is not {ACCEPTED_FORMAT}")
        sign, number, suffix, exponent = match.groups()
        nanos = ceil(Fraction(number) * _scale(suffix, exponent) * NANOS_PER_UNIT)
        try:
            return cls(-nanos if sign == "-" else nanos)
        except ValueError as error:
            raise ValueError(f"{text!r}: {error}") from None

    @property
    def whole_units(self) -> int:
        """Return the amount in units (bytes, GPUs), rounded up."""
        return -(-self.nanos // NANOS_PER_UNIT)

    def __str__(self) -> str:
        """Return the exact amount with the largest suffix that leaves no fraction."""
        for suffix, scale in _possible_suffixes(self.nanos):
            count = Fraction(self.nanos, NANOS_PER_UNIT) / scale
            if count.denominator == 1:
                return f"{count.numerator}{suffix}"
        raise AssertionError("every amount is a whole number of nanos")


def _scale(suffix: str | None, exponent: str | None) -> Fraction:
    if exponent is not None:
        return Fraction(10) ** int(exponent)
    return (
        Fraction(_BINARY_SCALES[suffix])
        if suffix in _BINARY_SCALES
        else _DECIMAL_SCALES[suffix or ""]
    )


def _possible_suffixes(nanos: int) -> list[tuple[str, Fraction]]:
    """Return the suffixes for a number, the best first; 0 has no suffix."""
    if nanos == 0:
        return [("", Fraction(1))]
    binary = [(suffix, Fraction(scale)) for suffix, scale in _BINARY_SCALES.items()]
    return [*reversed(binary), *reversed(_DECIMAL_SCALES.items())]
