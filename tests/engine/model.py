#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A model with random weights, small enough to be made in a moment: llama's architecture in
GGUF (version 3, github.com/ggml-org/ggml/blob/master/docs/gguf.md), a vocabulary of bytes and
ASCII. What it says is noise; how it is computed, batched and streamed is the real thing.

    model.py OUT.gguf
"""
import array
import random
import struct
import sys

EMBEDDING, LAYERS, FORWARD, HEADS, CONTEXT = 64, 2, 192, 4, 8192
ALIGNMENT = 32
F32, F16 = 0, 1  # ggml's types
UINT32, FLOAT32, BOOL, STRING, ARRAY, INT32 = 4, 6, 7, 8, 9, 5  # GGUF's


def text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def value_of(kind, value):
    if kind == STRING:
        return text(value)
    if kind == ARRAY:
        element, values = value
        head = struct.pack("<IQ", element, len(values))
        return head + b"".join(value_of(element, v) for v in values)
    return struct.pack({UINT32: "<I", FLOAT32: "<f", BOOL: "<?", INT32: "<i"}[kind], value)


def vocabulary():
    """Pieces with their types: 2 unknown, 3 control, 6 byte, 1 normal."""
    control = [("<unk>", 2), ("<s>", 3), ("</s>", 3)]
    byte = [("<0x%02X>" % i, 6) for i in range(256)]
    normal = [("\u2581", 1)] + [(chr(i), 1) for i in range(33, 127)]
    return control + byte + normal


def metadata(pieces):
    names = [piece for piece, _ in pieces]
    llama, tokens = "llama.", "tokenizer.ggml."
    return [
        ("general.architecture", STRING, "llama"),
        ("general.name", STRING, "tiny-random"),
        ("general.file_type", UINT32, 1),
        (llama + "vocab_size", UINT32, len(pieces)),
        (llama + "context_length", UINT32, CONTEXT),
        (llama + "embedding_length", UINT32, EMBEDDING),
        (llama + "block_count", UINT32, LAYERS),
        (llama + "feed_forward_length", UINT32, FORWARD),
        (llama + "attention.head_count", UINT32, HEADS),
        (llama + "attention.head_count_kv", UINT32, HEADS),
        (llama + "attention.layer_norm_rms_epsilon", FLOAT32, 1e-5),
        (llama + "rope.dimension_count", UINT32, EMBEDDING // HEADS),
        (llama + "rope.freq_base", FLOAT32, 10000.0),
        (tokens + "model", STRING, "llama"),
        (tokens + "tokens", ARRAY, (STRING, names)),
        (tokens + "scores", ARRAY, (FLOAT32, [0.0] * len(names))),
        (tokens + "token_type", ARRAY, (INT32, [kind for _, kind in pieces])),
        (tokens + "bos_token_id", UINT32, 1),
        (tokens + "eos_token_id", UINT32, 2),
        (tokens + "unknown_token_id", UINT32, 0),
        (tokens + "add_bos_token", BOOL, True),
    ]


def tensors(n_pieces):
    yield "token_embd.weight", (EMBEDDING, n_pieces)
    yield "output_norm.weight", (EMBEDDING,)
    yield "output.weight", (EMBEDDING, n_pieces)
    for i in range(LAYERS):
        layer = "blk.%d." % i
        yield layer + "attn_norm.weight", (EMBEDDING,)
        for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
            yield layer + name + ".weight", (EMBEDDING, EMBEDDING)
        yield layer + "ffn_norm.weight", (EMBEDDING,)
        yield layer + "ffn_gate.weight", (EMBEDDING, FORWARD)
        yield layer + "ffn_up.weight", (EMBEDDING, FORWARD)
        yield layer + "ffn_down.weight", (FORWARD, EMBEDDING)


def padding(n):
    return b"\0" * (-n % ALIGNMENT)


def weights(shape, pool):
    """Norms are ones in F32; matrices are cut from the pool, in F16. Its length is prime, so
    that no row repeats another."""
    if len(shape) == 1:
        return array.array("f", [1.0] * shape[0]).tobytes()
    size = 2 * shape[0] * shape[1]
    return (pool * (size // len(pool) + 1))[:size]


def main(out):
    source = random.Random(7)
    pool = struct.pack("<65521e", *(source.gauss(0, 0.05) for _ in range(65521)))
    pieces = vocabulary()
    entries = metadata(pieces)
    described, data = b"", b""
    count = 0
    for name, shape in tensors(len(pieces)):
        kind = F32 if len(shape) == 1 else F16
        described += text(name) + struct.pack("<I", len(shape))
        described += struct.pack("<%dQ" % len(shape), *shape)
        described += struct.pack("<IQ", kind, len(data))
        data += weights(shape, pool)
        data += padding(len(data))
        count += 1
    head = b"GGUF" + struct.pack("<IQQ", 3, count, len(entries))
    for key, kind, value in entries:
        head += text(key) + struct.pack("<I", kind) + value_of(kind, value)
    head += described
    with open(out, "wb") as file:
        file.write(head + padding(len(head)) + data)


if __name__ == "__main__":
    main(sys.argv[1])
