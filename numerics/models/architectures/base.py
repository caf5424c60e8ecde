"""What has to be known of an architecture to read its heads from a checkpoint.

One subclass of `Architecture` per `model_type` states names, layouts and options as class attributes and small methods.
Nothing is inferred from a tensor's shape: shapes are compared with what the config says and a mismatch is refused.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import partial
from typing import Any, ClassVar, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from numerics.errors import UnsupportedArchitecture, UnusableCheckpoint
from numerics.models.heads import Float, HeadWeights, Norm, Projection, QKNorm
from numerics.models.positions import Positions, ScoreBias, scheme_name
from numerics.models.rotary import Pairing, RotaryTable, rotary_table
from numerics.models.sources.classes import parameter_prefix

Letter = Literal["q", "k", "v", "o"]
NormKind = Literal["rms", "layernorm"]
Blocks = NDArray[np.int64]


class Weights(Protocol):
    """Named tensors, read one at a time in float64."""

    def names(self) -> frozenset[str]: ...

    def read(self, name: str) -> Float: ...

    def shape(self, name: str) -> tuple[int, ...]: ...


class Projections(NamedTuple):
    """Module of each projection, relative to the block."""

    q: str
    k: str
    v: str
    o: str

    def of(self, letter: Letter) -> str:
        name: str = getattr(self, letter)
        return name


def fused(qkv: str, o: str) -> Projections:
    """One module for q, k and v."""
    return Projections(qkv, qkv, qkv, o)


class Architecture:
    """One model: its config and checkpoint, read by the rules of its `model_type`.

    Names of parameters and modules are those of the transformers class, without the prefix of its base model
    (`transformer.`, `model.`); `numerics.models.sources` gives every checkpoint the names of that class.
    """

    model_type: ClassVar[str]
    block: ClassVar[str] = "layers.{layer}."
    attention: ClassVar[str] = "self_attn"
    """The module whose forward computes the scores, relative to the block."""
    projections: ClassVar[Projections]
    pairing: ClassVar[Pairing] = "half"
    causal: ClassVar[bool] = True
    norm_name: ClassVar[str | None] = None
    """The norm right before the attention, relative to the block; None where the attention reads the raw residual."""
    post_norm_name: ClassVar[str | None] = None
    """The norm between the attention's output and the residual stream."""
    norm_kind: ClassVar[NormKind] = "layernorm"
    norm_offset: ClassVar[float] = 0.0
    """Added to a stored gain (Gemma stores it minus one)."""
    norm_bias: ClassVar[bool] = True
    norm_eps: ClassVar[str] = "layer_norm_eps"
    q_norm_name: ClassVar[str] = "self_attn.q_norm"
    k_norm_name: ClassVar[str] = "self_attn.k_norm"
    learned_positions: ClassVar[tuple[str, int] | None] = None
    """Name of the table of position vectors and the row of position 0."""
    embedding: ClassVar[str] = "embed_tokens"
    token_type_name: ClassVar[str | None] = None
    """Table whose row 0 is added to every token embedding (BERT's token types)."""
    embedding_norm_name: ClassVar[str | None] = None
    """The norm of the embeddings' sum, before the first block."""
    final_norm_name: ClassVar[str | None] = "norm"
    unembedding: ClassVar[str | None] = "lm_head"
    """Module of the unembedding, named from the root of the checkpoint; None for an encoder."""
    accepts_positions: ClassVar[bool] = True
    """Whether the forward pass takes position ids."""
    sin_cos_per_band: ClassVar[bool] = False
    """Whether the model hands its attention (sin, cos) with one number per band, instead of (cos, sin) per dim."""
    scale_in_query: ClassVar[bool] = False
    """Whether the score scale is already inside q when the scores are computed (OPT)."""

    def __init__(self, config: Any, weights: Weights, name: str) -> None:
        self.config = config
        self.weights = weights
        self.name = name
        self.prefix = parameter_prefix(self.model_type)
        self.check_options()
        if self.n_layers < 1 or self.n_heads < 1:
            raise UnusableCheckpoint(f"{name} has no attention layers", "use a model with at least one layer and head")
        if self.n_heads % self.n_kv_heads:
            raise UnusableCheckpoint(
                f"{name}: {self.n_heads} query heads cannot share {self.n_kv_heads} key/value heads evenly",
                "correct the head counts in its config",
            )

    # -- sizes ---------------------------------------------------------------------------------------------------

    @property
    def n_layers(self) -> int:
        return int(self.config.num_hidden_layers)

    @property
    def n_heads(self) -> int:
        return int(self.config.num_attention_heads)

    @property
    def n_kv_heads(self) -> int:
        return int(getattr(self.config, "num_key_value_heads", None) or self.n_heads)

    @property
    def width(self) -> int:
        return int(self.config.hidden_size)

    @property
    def head_dim(self) -> int:
        return int(getattr(self.config, "head_dim", None) or self.width // self.n_heads)

    @property
    def stacks(self) -> tuple[str, ...] | None:
        """Per layer `encoder` or `decoder` for a model with both, else None."""
        return None

    # -- options that change with the architecture ---------------------------------------------------------------

    @property
    def attention_implementation(self) -> str:
        """The attention of transformers that a plain forward pass runs with."""
        return "eager"

    @property
    def first_position_id(self) -> int:
        """The id that the forward pass takes for position 0."""
        return 0

    def check_options(self) -> None:
        """Refuse options of the config whose layout is not known here."""

    def refuse(self, option: str, value: object) -> UnsupportedArchitecture:
        return UnsupportedArchitecture(
            f"{self.name}: {self.model_type} with {option}={value!r} is not supported",
            "use a model without that option",
        )

    def projection_bias(self, letter: Letter) -> bool:
        """Whether the projection has a bias."""
        return False

    def scale(self, layer: int) -> float:
        return 1.0 / math.sqrt(self.head_dim)

    def softcap(self, layer: int) -> float | None:
        return None

    def window(self, layer: int) -> int | None:
        return None

    def is_causal(self, layer: int) -> bool:
        return self.causal

    def layer_window(self, layer: int) -> int | None:
        """`sliding_window` on the layers that `layer_types` calls sliding."""
        kinds = getattr(self.config, "layer_types", None)
        sliding = kinds is None or kinds[layer] == "sliding_attention"
        window = getattr(self.config, "sliding_window", None)
        return int(window) if sliding and window is not None else None

    @property
    def norm_epsilon(self) -> float:
        return float(getattr(self.config, self.norm_eps))

    def has_norm(self, layer: int) -> bool:
        return self.norm_name is not None

    def qk_norm(self, letter: Literal["q", "k"], layer: int) -> QKNorm | None:
        return None

    # -- reading ---------------------------------------------------------------------------------------------------

    def block_name(self, layer: int) -> str:
        return self.block.format(layer=layer)

    def attention_module(self, layer: int) -> str:
        """Name of the attention module below the base model."""
        return self.block_name(layer) + self.attention

    def known(self, name: str) -> str:
        """The full name of a parameter that the checkpoint must have."""
        full = self.prefix + name
        if full not in self.weights.names():
            raise UnusableCheckpoint(
                f"{self.name}: the checkpoint has no tensor {full}",
                f"check that its files are complete and that it is a {self.model_type} model",
            )
        return full

    def read(self, name: str, shape: tuple[int, ...]) -> Float:
        tensor = self.weights.read(self.known(name))
        if tensor.shape != shape:
            raise UnusableCheckpoint(
                f"{self.name}: tensor {name} has shape {tensor.shape}, its config implies {shape}",
                "use the config that belongs to these weights",
            )
        return tensor

    def linear(self, name: str, shape: tuple[int, int]) -> Float:
        """Weight of a linear module as (out, in)."""
        return self.read(name + ".weight", shape)

    def fused_blocks(self, letter: Letter) -> tuple[int, Blocks] | None:
        """For a fused projection: how many blocks of `head_dim` rows it has, and which are this letter's heads."""
        return None

    def projection(self, letter: Letter, layer: int) -> Projection:
        """`W_Q`, `W_K` or `W_V` of one layer, split by head."""
        name = self.block_name(layer) + self.projections.of(letter)
        n, heads = self.head_dim, self.n_heads if letter == "q" else self.n_kv_heads
        fused = self.fused_blocks(letter)
        blocks = heads if fused is None else fused[0]
        rows: slice | Blocks = slice(None) if fused is None else fused[1]
        weight = self.linear(name, (blocks * n, self.width)).reshape(blocks, n, self.width)[rows]
        if self.projection_bias(letter):
            bias = self.read(name + ".bias", (blocks * n,)).reshape(blocks, n)[rows]
        else:
            bias = np.zeros((heads, n))
        return Projection(weight, bias)

    def output(self, layer: int) -> tuple[Float, Float]:
        """`W_O` (H, D, n) and `b_O` (D,) of one layer."""
        name = self.block_name(layer) + self.projections.o
        weight = self.linear(name, (self.width, self.n_heads * self.head_dim))
        by_head = np.moveaxis(weight.reshape(self.width, self.n_heads, self.head_dim), 0, 1)
        bias = self.read(name + ".bias", (self.width,)) if self.projection_bias("o") else np.zeros(self.width)
        return by_head, bias

    def norm(self, name: str) -> Norm:
        """A norm over the width, with the gain that is applied."""
        return Norm(
            self.norm_kind,
            self.read(name + ".weight", (self.width,)) + self.norm_offset,
            self.read(name + ".bias", (self.width,)) if self.norm_bias else None,
            self.norm_epsilon,
        )

    def heads(self, layer: int) -> HeadWeights:
        block = self.block_name(layer)
        return HeadWeights(
            model=self.name,
            layer=layer,
            n_heads=self.n_heads,
            n_kv_heads=self.n_kv_heads,
            head_dim=self.head_dim,
            width=self.width,
            scale=self.scale(layer),
            causal=self.is_causal(layer),
            softcap=self.softcap(layer),
            window=self.window(layer),
            norm=self.norm(block + self.norm_name) if self.norm_name and self.has_norm(layer) else None,
            post_norm=self.norm(block + self.post_norm_name) if self.post_norm_name else None,
            q_norm=self.qk_norm("q", layer),
            k_norm=self.qk_norm("k", layer),
            _read_q=partial(self.projection, "q", layer),
            _read_k=partial(self.projection, "k", layer),
            _read_v=partial(self.projection, "v", layer),
            _read_o=partial(self.output, layer),
        )

    # -- positions ---------------------------------------------------------------------------------------------------

    bias_name: ClassVar[str | None] = None
    """Name of the score bias in the positional scheme: `alibi` or `relative bias`."""

    def rotary(self, layer: int) -> RotaryTable | None:
        return None

    def bias(self, layer: int) -> ScoreBias | None:
        return None

    def positions(self) -> Positions:
        has_bias = self.bias_name if self.bias(0) is not None else None
        learned = self.learned_positions is not None
        scheme = scheme_name(learned, self.rotary(0) is not None, has_bias)
        return Positions(learned, self.rotary, self.bias, scheme, self.position_limit())

    def position_limit(self) -> int | None:
        """How many positions the table of learned ones has."""
        if self.learned_positions is None:
            return None
        name, first = self.learned_positions
        return self.weights.shape(self.known(name + ".weight"))[0] - first

    def rope_parameters(self, layer: int) -> dict[str, Any]:
        parameters = self.config.rope_parameters
        kinds = getattr(self.config, "layer_types", None)
        if kinds is not None and kinds[layer] in parameters:
            parameters = parameters[kinds[layer]]
        return dict(parameters)

    def config_rotary(self, layer: int) -> RotaryTable:
        """The rotary table that the config's `rope_parameters` describe."""
        return rotary_table(
            self.rope_parameters(layer),
            head_dim=self.head_dim,
            pairing=self.pairing,
            max_positions=int(self.config.max_position_embeddings),
            model=self.name,
        )

    # -- vocabulary ---------------------------------------------------------------------------------------------------

    @property
    def embedding_scale(self) -> float:
        """Factor on the token embedding."""
        return 1.0

    @property
    def logit_scale(self) -> float:
        """Factor on the logits."""
        return 1.0

    @property
    def logit_softcap(self) -> float | None:
        return None

    def has_final_norm(self) -> bool:
        return True

    def token_table(self) -> Float:
        """`W_E` (V, D) before its factor."""
        return self.read(self.embedding + ".weight", (int(self.config.vocab_size), self.width))

    def token_type(self) -> Float | None:
        """The vector (D,) added to every token embedding of a text without token types; None where there is none."""
        if self.token_type_name is None:
            return None
        table: Float = self.weights.read(self.known(self.token_type_name + ".weight"))
        return np.asarray(table[0])

    def embedding_norm(self) -> Norm | None:
        return None if self.embedding_norm_name is None else self.norm(self.embedding_norm_name)

    def position_table(self) -> Float | None:
        """`W_pos` (positions, D): row i is position i; None without learned positions."""
        if self.learned_positions is None:
            return None
        name, first = self.learned_positions
        return self.weights.read(self.known(name + ".weight"))[first:]

    def unembedding_table(self) -> Float | None:
        """`W_U` (V, D); the token embedding where the two are tied; None for an encoder."""
        if self.unembedding is None:
            return None
        name = self.unembedding + ".weight"
        if self.config.tie_word_embeddings or name not in self.weights.names():
            return self.token_table()
        return self.weights.read(name)

    def unembedding_bias(self) -> Float | None:
        """`b_U` (V,), None where there is none."""
        name = f"{self.unembedding}.bias"
        return self.weights.read(name) if self.unembedding and name in self.weights.names() else None

    def final_norm(self) -> Norm | None:
        """The norm before the unembedding."""
        if self.final_norm_name is None or not self.has_final_norm():
            return None
        return self.norm(self.final_norm_name)


def each(start: int, stop: int) -> Blocks:
    return np.arange(start, stop)


def registry(classes: Iterable[type[Architecture]]) -> dict[str, type[Architecture]]:
    """`model_type` → class."""
    return {cls.model_type: cls for cls in classes}
