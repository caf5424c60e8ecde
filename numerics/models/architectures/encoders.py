"""Bidirectional encoders with a norm after each sum (BERT, RoBERTa, DistilBERT, MPNet), and T5's two stacks.

In the post-norm encoders the attention reads the residual stream itself: there is no norm before it to fold.
"""

from __future__ import annotations

from typing import ClassVar

from numerics.models.architectures.base import Architecture, Letter, Projections
from numerics.models.positions import RelativeBias, ScoreBias


class Bert(Architecture):
    model_type = "bert"
    block = "encoder.layer.{layer}."
    attention = "attention.self"
    projections = Projections(
        "attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"
    )
    causal = False
    embedding = "embeddings.word_embeddings"
    token_type_name: ClassVar[str | None] = "embeddings.token_type_embeddings"
    embedding_norm_name = "embeddings.LayerNorm"
    learned_positions = ("embeddings.position_embeddings", 0)
    final_norm_name = None
    unembedding = None

    def check_options(self) -> None:
        for option in ("is_decoder", "add_cross_attention"):
            if getattr(self.config, option, False):
                raise self.refuse(option, True)
        kind = getattr(self.config, "position_embedding_type", "absolute")
        if kind != "absolute":
            raise self.refuse("position_embedding_type", kind)

    def projection_bias(self, letter: Letter) -> bool:
        return True


class Roberta(Bert):
    """BERT whose position 0 is row `pad_token_id + 1` of the table."""

    model_type = "roberta"

    @property
    def learned_positions(self) -> tuple[str, int]:  # type: ignore[override]
        return "embeddings.position_embeddings", self.first_position_id

    @property
    def first_position_id(self) -> int:
        return int(self.config.pad_token_id) + 1


class DistilBert(Bert):
    """BERT with other names; its norms' epsilon is not in the config."""

    model_type = "distilbert"
    block = "transformer.layer.{layer}."
    attention = "attention"
    token_type_name = None
    projections = Projections("attention.q_lin", "attention.k_lin", "attention.v_lin", "attention.out_lin")

    @property
    def norm_epsilon(self) -> float:
        return 1e-12


class MPNet(Bert):
    """BERT with a relative bias shared by the layers next to its position vectors (which start at row 2)."""

    model_type = "mpnet"
    attention = "attention.attn"
    token_type_name = None
    projections = Projections("attention.attn.q", "attention.attn.k", "attention.attn.v", "attention.attn.o")
    learned_positions = ("embeddings.position_embeddings", 2)
    bias_name = "relative bias"

    @property
    def first_position_id(self) -> int:
        return 2

    def bias(self, layer: int) -> ScoreBias | None:
        buckets = 32  # the model builds a table of the config's size but looks up by 32 buckets and distance 128
        if self.config.relative_attention_num_buckets != buckets:
            raise self.refuse("relative_attention_num_buckets", self.config.relative_attention_num_buckets)
        table = self.read("encoder.relative_attention_bias.weight", (buckets, self.n_heads))
        return RelativeBias(table, bidirectional=True, max_distance=128)


class T5(Architecture):
    """Layers run over the encoder's self-attention, then the decoder's; cross-attention is not read.

    No score scale; one relative bias shared by the layers of a stack.
    """

    model_type = "t5"
    projections = Projections(
        "layer.0.SelfAttention.q", "layer.0.SelfAttention.k", "layer.0.SelfAttention.v", "layer.0.SelfAttention.o"
    )
    attention = "layer.0.SelfAttention"
    norm_name = "layer.0.layer_norm"
    norm_kind = "rms"
    norm_bias = False
    norm_eps = "layer_norm_epsilon"
    embedding = "shared"
    final_norm_name = "decoder.final_layer_norm"
    bias_name = "relative bias"
    accepts_positions = False

    @property
    def n_encoder_layers(self) -> int:
        return int(self.config.num_layers)

    @property
    def n_layers(self) -> int:
        return self.n_encoder_layers + int(self.config.num_decoder_layers)

    @property
    def head_dim(self) -> int:
        return int(self.config.d_kv)

    @property
    def stacks(self) -> tuple[str, ...] | None:
        return tuple("encoder" if layer < self.n_encoder_layers else "decoder" for layer in range(self.n_layers))

    def block_name(self, layer: int) -> str:
        if layer < self.n_encoder_layers:
            return f"encoder.block.{layer}."
        return f"decoder.block.{layer - self.n_encoder_layers}."

    def is_causal(self, layer: int) -> bool:
        return layer >= self.n_encoder_layers

    def scale(self, layer: int) -> float:
        return 1.0

    def bias(self, layer: int) -> ScoreBias | None:
        stack = "decoder" if self.is_causal(layer) else "encoder"
        table = self.read(
            f"{stack}.block.0.layer.0.SelfAttention.relative_attention_bias.weight",
            (int(self.config.relative_attention_num_buckets), self.n_heads),
        )
        return RelativeBias(table, not self.is_causal(layer), int(self.config.relative_attention_max_distance))

    @property
    def logit_scale(self) -> float:
        return float(self.width**-0.5) if self.config.scale_decoder_outputs else 1.0
