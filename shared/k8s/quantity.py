"""Kubernetes quantities such as 64Gi, 500m or 1e3, exactly."""

import re
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Final, Self

ACCEPTED: Final = "a Kubernetes quantity such as 64Gi, 1.5G, 500m or 1e3"

NANOS: Final = 10**9
LARGEST: Final = (2**63 - 1) * NANOS

LONGEST_TEXT: Final = 64  # far above what can be meant, and cheap to compute with
# For schemas: what `parse` takes without a sign, in a dialect that Python and Go share.
UNSIGNED: Final = r"^([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,3})?$"

_BINARY: Final = {f"{unit}i": 1024**power for power, unit in enumerate("KMGTPE", start=1)}
_DECIMAL: Final = {
    **{"n": Fraction(1, 10**9), "u": Fraction(1, 10**6), "m": Fraction(1, 1000), "": Fraction(1)},
    **{unit: Fraction(1000**power) for power, unit in enumerate("kMGTPE", start=1)},
}
_TEXT: Final = re.compile(
    r"([+-]?)(\d+\.?\d*|\.\d+)(?:([KMGTPE]i|[numkMGTPE])|[eE]([+-]?\d{1,3}))?", re.ASCII
)


@dataclass(frozen=True, order=True, slots=True)
class Quantity:
    """An amount in thousand-millionths, the finest that Kubernetes knows."""

    nanos: int

    def __post_init__(self) -> None:
        if abs(self.nanos) > LARGEST:
            raise ValueError("a quantity beyond 2^63-1 is more than Kubernetes can hold")

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a quantity; what is finer than a nano is rounded away from zero, as there."""
        match = _TEXT.fullmatch(text) if len(text) <= LONGEST_TEXT else None
        if match is None:
            raise ValueError(f"{text[:LONGEST_TEXT]!r} is not {ACCEPTED}")
        sign, number, suffix, exponent = match.groups()
        nanos = ceil(Fraction(number) * _scale(suffix, exponent) * NANOS)
        try:
            return cls(-nanos if sign == "-" else nanos)
        except ValueError as error:
            raise ValueError(f"{text!r}: {error}") from None

    @property
    def whole(self) -> int:
        """The amount in units (bytes, GPUs), rounded up."""
        return -(-self.nanos // NANOS)

    def __str__(self) -> str:
        """The exact amount with the largest suffix that leaves no fraction."""
        for suffix, scale in _suffixes(self.nanos):
            count = Fraction(self.nanos, NANOS) / scale
            if count.denominator == 1:
                return f"{count.numerator}{suffix}"
        raise AssertionError("every amount is a whole number of nanos")


def _scale(suffix: str | None, exponent: str | None) -> Fraction:
    if exponent is not None:
        return Fraction(10) ** int(exponent)
    return Fraction(_BINARY[suffix]) if suffix in _BINARY else _DECIMAL[suffix or ""]


def _suffixes(nanos: int) -> list[tuple[str, Fraction]]:
    """What may stand after the number, the best first; nought stands alone."""
    if nanos == 0:
        return [("", Fraction(1))]
    binary = [(suffix, Fraction(scale)) for suffix, scale in _BINARY.items()]
    return [*reversed(binary), *reversed(_DECIMAL.items())]
