"""Prune the MLPs of a small transformer to 2:4, and compare accuracy and speed before and after.

    python transformer.py                 # train, prune, fine-tune, measure: about a minute on an H200
    python transformer.py --steps 2000    # a better model

The model predicts the next byte of the documentation that comes with Python (``pydoc_data.topics``), from weights of a
seeded training, so nothing is downloaded. Three models are compared: dense; pruned by magnitude at once; and pruned,
then trained a little with the mask held. The last two run with sparse weights. Other layers stay dense.
"""

from __future__ import annotations

import argparse
import copy
import statistics
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tritonext_sparsity.linear import SparseLinear24, sparsified
from tritonext_sparsity.prune import prune

CONTEXT = 256


class Block(nn.Module):
    """Attention and an MLP, each behind a normalization and with a residual."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(attended.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(F.relu(self.up(self.norm2(x))))


class Model(nn.Module):
    """Bytes to logits of the next byte."""

    def __init__(self, width: int, layers: int) -> None:
        super().__init__()
        self.bytes = nn.Embedding(256, width)
        self.places = nn.Embedding(CONTEXT, width)
        self.blocks = nn.Sequential(*(Block(width, width // 64) for _ in range(layers)))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, 256)

    def forward(self, text: Tensor) -> Tensor:
        places = torch.arange(text.shape[1], device=text.device)
        return self.head(self.norm(self.blocks(self.bytes(text) + self.places(places))))


def in_mlp(path: str, layer: nn.Linear) -> bool:
    """Whether a layer belongs to an MLP."""
    return path.endswith((".up", ".down"))


def corpus(device: str) -> tuple[Tensor, Tensor]:
    """Return bytes to train on and bytes to test on."""
    from pydoc_data.topics import topics

    text = torch.tensor(list("\n".join(topics[name] for name in sorted(topics)).encode()), device=device)
    split = len(text) * 9 // 10
    return text[:split], text[split:]


def batch_of(text: Tensor, size: int, generator: torch.Generator) -> Tensor:
    """Return random pieces of a text, one byte longer than the context."""
    starts = torch.randint(len(text) - CONTEXT - 1, (size, 1), generator=generator).to(text.device)
    return text[starts + torch.arange(CONTEXT + 1, device=text.device)]


def train(model: Model, text: Tensor, steps: int, rate: float, masks: dict[nn.Parameter, Tensor], seed: int) -> None:
    """Train a model in place; what ``masks`` hold at zero stays zero."""
    generator = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=0.01)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=steps)
    for _ in range(steps):
        pieces = batch_of(text, 64, generator)
        with torch.autocast(text.device.type, torch.bfloat16):
            logits = model(pieces[:, :-1])
        F.cross_entropy(logits.float().flatten(0, 1), pieces[:, 1:].flatten()).backward()
        optimizer.step()
        optimizer.zero_grad()
        scheduler.step()
        with torch.no_grad():
            for parameter, mask in masks.items():
                parameter.mul_(mask)


@torch.no_grad()
def tested(model: nn.Module, text: Tensor) -> tuple[float, float]:
    """Return bits per byte and the share of bytes that a model predicts."""
    pieces = text[: len(text) // (CONTEXT + 1) * (CONTEXT + 1)].view(-1, CONTEXT + 1)
    bits = hits = 0.0
    for part in pieces.split(64):
        logits = model(part[:, :-1]).float()
        bits += (
            F.cross_entropy(logits.flatten(0, 1), part[:, 1:].flatten(), reduction="sum").item() / 0.6931471805599453
        )
        hits += (logits.argmax(2) == part[:, 1:]).sum().item()
    count = pieces.shape[0] * CONTEXT
    return bits / count, hits / count


def halved(model: Model) -> Model:
    """Return a copy of a model in bfloat16, for inference."""
    return copy.deepcopy(model).bfloat16().eval().requires_grad_(False)


@torch.no_grad()
def prune_mlps_(model: Model) -> dict[nn.Parameter, Tensor]:
    """Prune the MLPs of a model in place, and return the masks of their weights."""
    masks = {}
    for path, layer in model.named_modules():
        if isinstance(layer, nn.Linear) and in_mlp(path, layer):
            # In bfloat16 two of four are kept. Of float32 it would be one of two, which the tensor cores want of tf32.
            masks[layer.weight] = prune(layer.weight.bfloat16()) != 0
            layer.weight.mul_(masks[layer.weight])
    return masks


def milliseconds(run: Callable[[], object], rounds: int = 20) -> float:
    """Return the median time of a run, replayed from a CUDA graph, which has none of the host's time for launches."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            run()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    times = []
    for _ in range(rounds):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end))
    return statistics.median(times)


@torch.no_grad()
def speeds(model: nn.Module, tokens: int) -> tuple[float, float]:
    """Return the milliseconds of a model and of the MLP of its first block for so many tokens."""
    block = model.blocks[0]
    text = torch.randint(256, (tokens // CONTEXT, CONTEXT), device="cuda")
    x = torch.randn((tokens, block.up.in_features), device="cuda", dtype=torch.bfloat16)
    return milliseconds(lambda: model(text)), milliseconds(lambda: block.down(F.relu(block.up(x))))


@dataclass(frozen=True)
class Row:
    """What is said of one model."""

    name: str
    bits: float
    hits: float
    whole_ms: float
    mlp_ms: float

    def __str__(self) -> str:
        accuracy = f"{self.bits:.3f} bits per byte, {self.hits:6.1%} predicted"
        return f"{self.name:24} {accuracy}, model {self.whole_ms:7.3f} ms, MLP {self.mlp_ms:7.3f} ms"


def main(argv: list[str] | None = None) -> list[Row]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--width", type=int, default=1024)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--steps", type=int, default=300, help="of training (default: %(default)s)")
    parser.add_argument("--tokens", type=int, default=16384, help="of the measured inputs (default: %(default)s)")
    arguments = parser.parse_args(argv)
    if not torch.cuda.is_available():
        parser.exit(2, "sparse products need a GPU\n")
    torch.manual_seed(0)
    train_text, test_text = corpus("cuda")
    model = Model(arguments.width, arguments.layers).cuda()
    train(model, train_text, arguments.steps, 6e-4, {}, seed=1)
    rows = []

    def report(name: str, candidate: nn.Module) -> None:
        rows.append(Row(name, *tested(candidate, test_text), *speeds(candidate, arguments.tokens)))
        print(rows[-1], flush=True)

    dense = halved(model)
    report("dense", dense)
    report("2:4, pruned at once", sparsified(dense, in_mlp, prune="magnitude"))
    train(model, train_text, max(arguments.steps // 4, 1), 2e-4, prune_mlps_(model), seed=2)
    # The masks were held, so that nothing is left to prune: anything else would be an error here.
    tuned = sparsified(halved(model), in_mlp)
    report("2:4, trained with masks", tuned)
    layers = [layer.weight for layer in tuned.modules() if isinstance(layer, SparseLinear24)]
    print("MLPs:", sum((weight.memory() for weight in layers[1:]), layers[0].memory()))
    return rows


if __name__ == "__main__":
    main()
