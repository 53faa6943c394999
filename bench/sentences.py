"""The sentences of the workloads that encode: the same on every machine and with
every Python, for of `random` only random() is used, whose numbers are promised.
"""
import math
import random
import statistics

WORDS = """
the a an this that every some many few each his her their our of in on at by for
from with under over near after before between through during without within
against along behind beside and or but because while although when where until
unless if so yet is was were has had will would could should may might must can
makes takes gives finds keeps leaves brings holds turns moves shows tells asks
works plays runs walks reads writes learns builds opens closes begins ends grows
carries follows remembers forgets explains understands discovers measures changes
considers develops represents establishes investigates
time year day morning evening night week month season summer winter weather rain
wind snow river mountain valley forest field garden village city street road
bridge harbour station school teacher student child mother father brother friend
neighbour doctor farmer worker writer singer painter captain engineer scientist
house room kitchen window door table chair lamp clock mirror letter book story
song picture colour sound voice question answer reason problem idea thought dream
money market shop price trade company government law history language science
music machine engine computer network experiment temperature population
agriculture architecture photography electricity responsibility communication
old new young small large long short high low early late warm cold bright dark
quiet loud quick slow simple difficult careful honest gentle strange common rare
local public foreign ancient modern important different beautiful dangerous
comfortable unexpected extraordinary
always never often seldom soon already almost quite rather very together perhaps
suddenly slowly quickly carefully certainly immediately approximately
water bread fruit apple coffee tea fish horse dog cat bird tree flower stone iron
paper glass silk gold train ship boat bicycle carriage
""".split()
SHORTEST, LONGEST, MEDIAN = 3, 120, 18  # words
SPREAD = 0.75  # of the logarithm of the number of words
ONE = "The weather in the mountains changes quickly in autumn."
TOKENS_OF_ONE = 12  # with [CLS], the full stop and [SEP]


def lengths(count, rng):
    """In words: the quantiles of a log-normal, in an order of chance."""
    normal = statistics.NormalDist()
    drawn = [round(MEDIAN * math.exp(
        SPREAD * normal.inv_cdf((n + 0.5) / count))) for n in range(count)]
    kept = [min(max(words, SHORTEST), LONGEST) for words in drawn]
    return sorted(kept, key=lambda _: rng.random())


def sentence(words, rng):
    text = " ".join(WORDS[int(rng.random() * len(WORDS))] for _ in range(words))
    return text[0].upper() + text[1:] + "."


def mixed(count):
    rng = random.Random(20261122)
    return [sentence(words, rng) for words in lengths(count, rng)]


def distribution(token_counts):
    """What is said of them beside a result; [CLS] and [SEP] counted."""
    ordered = sorted(token_counts)
    return {"total": sum(ordered), "least": ordered[0],
            "median": statistics.median(ordered),
            "ninth_decile": ordered[len(ordered) * 9 // 10],
            "most": ordered[-1]}


WORKLOADS = {"encode_1000": mixed(1000), "encode_one": [ONE]}
