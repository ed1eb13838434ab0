"""A llama.cpp server on loopback with a random model of half a megabyte.

Arguments: the folder for the model, the context in tokens. Prints the address when it listens, and ends with its standard
input. The model has a token for each byte and some for pairs, and random weights: what it says has no meaning.
"""

import collections
import pathlib
import re
import sys

import gguf
import numpy
import xllamacpp

WIDTH, LAYERS, HEADS, INNER, MERGES = 64, 1, 2, 128, 400
TEMPLATE = (
    "{% for message in messages %}<{{ message.role }}>"
    "{% if message.content is string %}{{ message.content }}"
    "{% else %}{% for part in message.content %}{{ part.text }}{% endfor %}{% endif %}\n{% endfor %}<assistant>"
)


def byte_names():
    """The printable character that byte-level vocabularies write for each byte."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    names = {byte: chr(byte) for byte in plain}
    for byte in range(256):
        if byte not in names:
            names[byte] = chr(256 + len(names) - len(plain))
    return [names[byte] for byte in range(256)]


def merges_of(text, names):
    """The most frequent pairs of a text, so that a prompt has fewer tokens than bytes."""
    counts = collections.Counter(re.findall(r" ?[A-Za-z]+| ?[^A-Za-z ]+| +", text))
    words = {tuple(names[byte] for byte in word.encode()): count for word, count in counts.items()}
    merges = []
    while len(merges) < MERGES:
        pairs = collections.Counter()
        for word, count in words.items():
            for pair in zip(word, word[1:]):
                pairs[pair] += count
        if not pairs:
            break
        best = max(pairs, key=lambda pair: (pairs[pair], pair))
        merges.append(best)
        merged = {}
        for word, count in words.items():
            parts, at = [], 0
            while at < len(word):
                step = 2 if word[at : at + 2] == best else 1
                parts.append("".join(word[at : at + step]))
                at += step
            merged[tuple(parts)] = merged.get(tuple(parts), 0) + count
        words = merged
    return merges


def write_model(path, context):
    names = byte_names()
    merges = merges_of(pathlib.Path(__file__).read_text(), names)
    end = len(names) + len(merges)
    tokens = names + ["".join(pair) for pair in merges] + ["<|end|>"]
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_context_length(context)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types([gguf.TokenType.NORMAL] * end + [gguf.TokenType.CONTROL])
    writer.add_token_merges([" ".join(pair) for pair in merges])
    writer.add_bos_token_id(end)
    writer.add_eos_token_id(end)
    writer.add_add_bos_token(False)
    writer.add_chat_template(TEMPLATE)
    random = numpy.random.default_rng(7)

    def tensor(name, *shape):
        writer.add_tensor(name, (random.standard_normal(shape) / 8).astype(numpy.float32))

    def ones(name):
        writer.add_tensor(name, numpy.ones(WIDTH, dtype=numpy.float32))

    tensor("token_embd.weight", len(tokens), WIDTH)
    ones("output_norm.weight")
    # The end is never the most likely token, so that only limits end an answer.
    output = (random.standard_normal((len(tokens), WIDTH)) / 8).astype(numpy.float32)
    output[end] = 0
    writer.add_tensor("output.weight", output)
    for layer in range(LAYERS):
        block = f"blk.{layer}"
        ones(f"{block}.attn_norm.weight")
        ones(f"{block}.ffn_norm.weight")
        for part in ("attn_q", "attn_k", "attn_v", "attn_output"):
            tensor(f"{block}.{part}.weight", WIDTH, WIDTH)
        tensor(f"{block}.ffn_gate.weight", INNER, WIDTH)
        tensor(f"{block}.ffn_up.weight", INNER, WIDTH)
        tensor(f"{block}.ffn_down.weight", WIDTH, INNER)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main():
    folder, context = pathlib.Path(sys.argv[1]), int(sys.argv[2])
    path = folder / "random.gguf"
    write_model(path, context)
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(path)
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.n_ctx = context
    parameters.n_parallel = 1
    parameters.warmup = False
    parameters.n_gpu_layers = 0
    parameters.cpuparams.n_threads = 2
    parameters.cpuparams_batch.n_threads = 2
    parameters.sampling.temp = 0.0
    parameters.offline = True
    server = xllamacpp.Server(parameters)
    print(server.listening_address, flush=True)
    sys.stdin.read()


main()
