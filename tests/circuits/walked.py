"""Models with hand-made weights: tokens, positions and a slot for the previous token on axes of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch

from tests.positional.walked import save_tokenizer

V, PERIOD, COPIES = 29, 20, 2
LENGTH = 1 + COPIES * PERIOD
TURN = np.pi / LENGTH
SHARPNESS, MATCH = 40000.0, 20.0
TOKEN, SLOT, PLACE = slice(0, V), slice(V, 2 * V), slice(2 * V, 2 * V + 2)
WIDTH = 2 * (2 * V + 2)
"""Every axis twice, with both signs: the mean over the width is zero, and a LayerNorm only divides."""

BOS = 1


def save_tokenizer_with_bos(folder: Path, vocabulary: int) -> None:
    """The words of `save_tokenizer`, with `<bos>` put before every text."""
    from tokenizers import Tokenizer
    from tokenizers.processors import TemplateProcessing

    save_tokenizer(folder, vocabulary)
    file = folder / "tokenizer.json"
    tokenizer = Tokenizer.from_file(str(file))
    tokenizer.post_processor = TemplateProcessing(single="<bos> $A", special_tokens=[("<bos>", BOS)])
    tokenizer.save(str(file))


def both_signs(half: np.ndarray) -> np.ndarray:
    return np.concatenate([half, -half], axis=-1)


def hand_made_gpt2(folder: Path, layers: int = 2) -> Path:
    """Two heads a layer, no MLP. With one layer: 0.0 copies the previous token, 0.1 looks at the first.

    With two, 0.0 writes the previous token into a slot and 1.0 is the induction head: it compares the present token
    with the slots (K-composition) and copies the token where they agree. The others write a little noise.
    """
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(
        vocab_size=V, n_embd=WIDTH, n_layer=layers, n_head=2, n_positions=LENGTH + 3, layer_norm_epsilon=0.0,
        bos_token_id=BOS, eos_token_id=2,
    )  # fmt: skip
    module: Any = GPT2LMHeadModel(config).double().eval()
    rng = np.random.default_rng(0)
    n = WIDTH // 2
    tokens, places = np.zeros((V, WIDTH // 2)), np.zeros((LENGTH + 3, WIDTH // 2))
    tokens[:, TOKEN] = np.eye(V)
    angle = TURN * np.arange(LENGTH + 3)
    places[:, PLACE] = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    with torch.no_grad():
        module.transformer.wte.weight.copy_(torch.as_tensor(both_signs(tokens)))
        module.transformer.wpe.weight.copy_(torch.as_tensor(both_signs(places)))
        for layer in range(layers):
            block = module.transformer.h[layer]
            # The residual has length 2 per written axis: token and place, and in layer 1 the slot.
            length = np.sqrt(WIDTH / (2 * (2 + layer)))
            Q, K, Val = np.zeros((3, 2, WIDTH // 2, n))  # (head, in, out)
            written, Val[1] = (
                0.01 * rng.standard_normal((2, n, WIDTH // 2)),
                0.01 * rng.standard_normal((WIDTH // 2, n)),
            )
            bias = np.zeros(3 * WIDTH)
            if layer == 0:
                back = np.array([[np.cos(TURN), np.sin(TURN)], [-np.sin(TURN), np.cos(TURN)]])  # turns by −TURN
                Q[0, PLACE, :2] = SHARPNESS * np.sqrt(n) / length**2 * back.T
                K[0, PLACE, :2] = np.eye(2)
                K[1, BOS, 0] = 1.0
                bias[n] = MATCH * np.sqrt(n) / length  # the query of head 1
                target = TOKEN if layers == 1 else SLOT
            else:
                Q[0, TOKEN, :V] = MATCH * np.sqrt(n) / length**2 * np.eye(V)
                K[0, SLOT, :V] = np.eye(V)
                target = TOKEN
            written[0] = 0.0
            Val[0, TOKEN, :V] = np.eye(V) / length
            written[0, :V, target] = np.eye(V)
            half = np.concatenate([np.concatenate(list(matrix), axis=1) for matrix in (Q, K, Val)], axis=1)
            fused = both_signs(half.T / 2).T
            block.attn.c_attn.weight.copy_(torch.as_tensor(fused))
            block.attn.c_attn.bias.copy_(torch.as_tensor(bias))
            block.attn.c_proj.weight.copy_(torch.as_tensor(both_signs(written).reshape(2 * n, WIDTH)))
            for vector in (block.attn.c_proj.bias, block.mlp.c_proj.weight, block.mlp.c_proj.bias):
                vector.zero_()
    module.save_pretrained(folder)
    save_tokenizer_with_bos(folder, V)
    return folder
