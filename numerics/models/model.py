"""A model as the rest of the project sees it: five views, nothing of its architecture leaks upwards."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

from numerics.errors import InvalidArgument, UnreachableAttention
from numerics.models.architectures import Architecture, architecture
from numerics.models.heads import HeadWeights
from numerics.models.positions import Positions
from numerics.models.vocabulary import Vocabulary

if TYPE_CHECKING:
    import torch

    from numerics.models.source import Source
    from numerics.models.visitor import Visitor


class Model:
    """A language model, read from its checkpoint; the transformers model is built only when it is run.

    Views: `heads(layer)`, `positions`, `vocabulary`, `attention(visitor)`, `forward(ids, positions)`.
    """

    def __init__(self, source: Source, dtype: torch.dtype | None = None) -> None:
        self._source = source
        self._dtype = dtype
        self._visited: list[Any] = []
        self._architecture: Architecture = architecture(source.config, source.weights, source.name)

    def __repr__(self) -> str:
        heads = f"{self.n_layers} layers × {self.n_heads} heads of {self.head_dim}"
        return f"Model({self.name!r}, {self.model_type}, {heads})"

    # -- what it is ------------------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        return self._source.name

    @property
    def source(self) -> str:
        """The reference it was loaded from, with the resolved revision if it has one."""
        revision = self._source.revision
        return self._source.reference + (f"@{revision}" if revision else "")

    @property
    def sha256(self) -> str:
        return self._source.sha256

    @property
    def model_type(self) -> str:
        return self._architecture.model_type

    @property
    def dtype(self) -> str:
        """The dtype its weights are stored in."""
        return self._source.dtype

    @property
    def compute_dtype(self) -> str:
        """The dtype that `forward` computes in; the model is built to know it."""
        return str(next(self._module.parameters()).dtype).removeprefix("torch.")

    @property
    def n_layers(self) -> int:
        return self._architecture.n_layers

    @property
    def n_heads(self) -> int:
        return self._architecture.n_heads

    @property
    def head_dim(self) -> int:
        return self._architecture.head_dim

    @property
    def width(self) -> int:
        return self._architecture.width

    @property
    def stacks(self) -> tuple[str, ...] | None:
        """Per layer `encoder` or `decoder` for a model with both, else None."""
        return self._architecture.stacks

    @property
    def takes_positions(self) -> bool:
        """Whether `forward` can be given positions other than 0…T−1."""
        return self._architecture.accepts_positions

    def provenance(self, created_by: str) -> dict[str, str]:
        """The attrs that every Dataset of this model carries; `created_by` is the command that makes it."""
        from numerics import __version__

        return {
            "model": self.name,
            "source": self.source,
            "sha256": self.sha256,
            "model_type": self.model_type,
            "positions": self.positions.scheme,
            "dtype": self.dtype,
            "package_version": __version__,
            "created_by": created_by,
        }

    # -- the five views --------------------------------------------------------------------------------------------

    def heads(self, layer: int) -> HeadWeights:
        """Weights of one layer's heads; each matrix is read from the checkpoint when it is first used."""
        if not 0 <= layer < self.n_layers:
            raise InvalidArgument(
                f"{self.name} has no layer {layer}", f"its layers are 0 to {self.n_layers - 1}, counted from 0"
            )
        return self._architecture.heads(layer)

    @cached_property
    def positions(self) -> Positions:
        """The positional scheme: its name, the rotary table and the score bias of each layer."""
        return self._architecture.positions()

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """Embeddings, unembedding, final norm, tokenizer."""
        return Vocabulary(self._architecture, self._source.tokenizer)

    @contextmanager
    def attention(self, visitor: Visitor) -> Iterator[None]:
        """Within the block every attention layer of `forward` passes through `visitor`.

        `with model.attention(visitor): model.forward(ids)`: the visitor is called once per layer and pass, in layer
        order, and returns the (q, k) to go on with, or None. A pass in which some layer did not call it raises
        `UnreachableAttention`.
        """
        from numerics.models.reach import sites_installed
        from numerics.models.visitor import Site

        if self._visited:
            raise InvalidArgument(
                f"{self.name}: another visitor is already at work", "leave its `with` block first, or join the two"
            )
        arch, sites = self._architecture, {}
        for layer in range(self.n_layers):
            sites[arch.attention_module(layer)] = Site(
                layer=layer,
                visitor=visitor,
                rotary=arch.rotary(layer),
                scale=arch.scale(layer),
                scale_in_query=arch.scale_in_query,
                sin_cos_per_band=arch.sin_cos_per_band,
                window=arch.window(layer),
            )
        with sites_installed(self._module, self.model_type, sites, self.name):
            self._visited = list(sites.values())
            try:
                yield
            finally:
                self._visited = []

    def forward(
        self, ids: torch.Tensor, positions: torch.Tensor | None = None, *, logits: bool | torch.Tensor = True
    ) -> torch.Tensor:
        """Run the model on token ids (batch, T): logits (batch, T, V), or the last hidden states of an encoder.

        With `logits=False` the last hidden states (batch, T, D), final norm included, of any model: the unembedding
        of a large vocabulary can cost more than all layers. Given places (K,) in the text, what stands there alone:
        (batch, K, V). `positions` (T,) or (batch, T), 0-based, replace 0…T−1 where the model takes them. A T5 reads
        the same ids in its encoder and its decoder. Nothing is cached between calls; gradients flow if the caller
        enables them.
        """
        arch = self._architecture
        arguments: dict[str, Any] = {"input_ids": ids}
        if positions is not None:
            if not arch.accepts_positions:
                raise InvalidArgument(
                    f"{self.name}: its positions ({self.positions.scheme}) are relative, so they cannot be set",
                    "leave positions out",
                )
            shifted = positions + arch.first_position_id
            arguments["position_ids"] = shifted.expand(ids.shape) if shifted.ndim == 1 else shifted
        if arch.stacks is not None:
            arguments["decoder_input_ids"] = ids
        if arch.unembedding is not None:
            arguments["use_cache"] = False
        for site in self._visited:
            site.visits = 0
        places, wanted = (None, logits) if isinstance(logits, bool) else (logits, True)
        if places is not None and arch.unembedding is not None and arch.stacks is None:
            arguments["logits_to_keep"] = places  # the other rows are never multiplied with the unembedding
        with_head = wanted or arch.stacks is not None
        output = (self._module if with_head else self._module.base_model)(**arguments, output_hidden_states=not wanted)
        for site in self._visited:
            if site.visits != 1:
                raise UnreachableAttention(
                    f"{self.name}: attention layer {site.layer} called the visitor {site.visits} times in one pass",
                    "use the transformers version that the project's constraints pin",
                )
        result: torch.Tensor
        if wanted and arch.unembedding is not None:
            result = output.logits
        elif arch.stacks is not None:
            result = output.decoder_hidden_states[-1]
        else:
            result = output.last_hidden_state
        return result if places is None or "logits_to_keep" in arguments else result[:, places]

    @cached_property
    def _module(self) -> Any:
        module: Any = self._source.build(self._dtype)
        module.config._attn_implementation = self._architecture.attention_implementation
        return module
