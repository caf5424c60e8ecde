"""The table of supported architectures, generated from their classes."""

from __future__ import annotations

from numerics.models.architectures import ARCHITECTURES, Architecture

COLUMNS = ("model_type", "positions", "heads stored as", "norm before attention", "norm on q and k", "attention")


def support_table() -> str:
    """Markdown table, one row per `model_type`, in alphabetical order."""
    rows = [_row(cls) for _, cls in sorted(ARCHITECTURES.items())]
    widths = [max(len(row[column]) for row in [COLUMNS, *rows]) for column in range(len(COLUMNS))]
    lines = [COLUMNS, tuple("-" * width for width in widths), *rows]
    return "\n".join(
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |" for line in lines
    )


def _row(cls: type[Architecture]) -> tuple[str, ...]:
    return (
        f"`{cls.model_type}`",
        _positions(cls),
        "fused q, k, v" if cls.projections.q == cls.projections.k else "separate q, k, v",
        "none" if cls.norm_name is None else {"rms": "RMS", "layernorm": "LayerNorm"}[cls.norm_kind],
        "yes, or by option" if cls.qk_norm is not Architecture.qk_norm else "no",
        _attention(cls),
    )


def _positions(cls: type[Architecture]) -> str:
    parts = []
    if cls.learned_positions is not None:
        parts.append("learned absolute")
    if cls.rotary is not Architecture.rotary:
        parts.append(f"rotary ({cls.pairing})")
    if cls.bias_name is not None:
        parts.append(cls.bias_name)
    alternatives = cls.rotary is not Architecture.rotary and cls.bias_name is not None
    return (" or " if alternatives else " + ").join(parts)


def _attention(cls: type[Architecture]) -> str:
    if cls.stacks is not Architecture.stacks:
        return "encoder and causal decoder"
    parts = ["causal" if cls.causal else "bidirectional"]
    if cls.window is not Architecture.window:
        parts.append("windows")
    if cls.softcap is not Architecture.softcap:
        parts.append("softcap")
    return ", ".join(parts)
