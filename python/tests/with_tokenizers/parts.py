"""Parts of a tokenizer.json."""
from charsmap import NFKC_LIKE, charsmap

CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
LLAMA3 = (CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+"
          r"[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
CL100K = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}{1,3}+").replace(r"\p{L}+", r"\p{L}++")
LOWER, UPPER = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]", r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"
O200K = (rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}*{LOWER}+{CONTRACTIONS}?"
         rf"|[^\r\n\p{{L}}\p{{N}}]?{UPPER}+{LOWER}*{CONTRACTIONS}?"
         r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
DEEPSEEK = [r"\p{N}{1,3}", "[一-龥\u3040-ゟ゠-ヿ]+",
            "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+"
            r"|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*"
            r"|\s*[\r\n]+|\s+(?!\S)|\s+"]
CLIP = (r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+")


def part(kind, **keys):
    return {"type": kind, **keys}


def sequence(key, *parts):
    return {"type": "Sequence", key: list(parts)}


def normalizers(*parts):
    return sequence("normalizers", *parts)


def words(*parts):
    return sequence("pretokenizers", *parts)


def decoders(*parts):
    return sequence("decoders", *parts)


def regex(text):
    return {"Regex": text}


def string(text):
    return {"String": text}


def split(pattern, behavior="Isolated", invert=False):
    return part("Split", pattern=pattern, behavior=behavior, invert=invert)


def byte_level(prefix=False, trim=True, use_regex=True):
    return part("ByteLevel", add_prefix_space=prefix, trim_offsets=trim,
                use_regex=use_regex)


def by_regex(*patterns):
    """The patterns one by one, then bytes, as Llama 3's and its like do."""
    return words(*(split(regex(each)) for each in patterns),
                 byte_level(use_regex=False))


def metaspace(scheme="always", split=True):
    return part("Metaspace", replacement="▁", prepend_scheme=scheme, split=split)


def bert(clean=True, chinese=True, accents=None, lower=True):
    return part("BertNormalizer", clean_text=clean, handle_chinese_chars=chinese,
                strip_accents=accents, lowercase=lower)


def replace(pattern, content):
    return part("Replace", pattern=pattern, content=content)


def precompiled():
    return part("Precompiled", precompiled_charsmap=charsmap(NFKC_LIKE))


def template(single, pair, ids):
    """"[CLS] $A [SEP]:1": pieces of a template with their type ids."""
    def piece(text):
        name, _, type_id = text.partition(":")
        if name.startswith("$"):
            return {"Sequence": {"id": name[1:], "type_id": int(type_id or 0)}}
        return {"SpecialToken": {"id": name, "type_id": int(type_id or 0)}}
    return part("TemplateProcessing", single=[piece(p) for p in single.split()],
                pair=[piece(p) for p in pair.split()],
                special_tokens={name: {"id": name, "ids": numbers, "tokens":
                                       [name] * len(numbers)}
                                for name, numbers in ids.items()})


def processing(kind, sep, cls, **keys):
    return part(kind, sep=list(sep), cls=list(cls), **keys)


LLAMA2_NORMALIZER = normalizers(part("Prepend", prepend="▁"), replace(string(" "), "▁"))
LLAMA2_DECODER = decoders(replace(string("▁"), " "), part("ByteFallback"), part("Fuse"),
                          part("Strip", content=" ", start=1, stop=0))


def added(content, number=0, **flags):
    return {"id": number, "content": content, "single_word": False, "lstrip": False,
            "rstrip": False, "normalized": True, "special": False, **flags}


def document(model, **parts):
    return {"version": "1.0", "truncation": None, "padding": None,
            "added_tokens": parts.get("added_tokens", []),
            "normalizer": parts.get("normalizer"),
            "pre_tokenizer": parts.get("pre_tokenizer"),
            "post_processor": parts.get("post_processor"),
            "decoder": parts.get("decoder"), "model": model}
