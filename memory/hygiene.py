"""Text from strangers that tries to act: markup is taken out, disguised letters are undisguised, orders are refused.

An experience is read by an assistant that holds tools. So it may say what to do to a kernel, and nothing else: no
orders to the reader, no way round the checks, no commands, links or hidden words, and no figures nobody measured.
"""

from __future__ import annotations

import base64
import binascii
import html
import re
import unicodedata
from collections.abc import Iterator
from typing import Final
from urllib.parse import unquote

_LOOKALIKES: Final = str.maketrans(
    "АВЕЅІЈКМНОРСТУХԚԜасеорухіѕјһԁԛԝүΑΒΕΖΗΙΚΜΝΟΡΤΥΧαεικνορτυχϲӏɡɑⅼօսո",
    "ABESIJKMHOPCTYXQWaceopyxisjhdqwyABEZHIKMNOPTYXaeiknoptuxclgaloun",
)
"""Cyrillic, Greek and other letters that look like Latin ones."""

_MARKUP: Final = (
    (re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL), " "),
    (re.compile(r"</?(?:[a-zA-Z][\w-]*)(?:\s[^<>]*)?/?>"), " "),
    (re.compile(r"!?\[([^\]\n]*)\]\([^)\n]*\)"), r"\1"),
    (re.compile(r"^\s*\[[^\]\n]+\]:\s*\S+.*$", re.MULTILINE), ""),
    (re.compile(r"(?:https?|ftp|file|data|javascript)\s*:\s*/{0,2}\S+", re.IGNORECASE), "(address removed)"),
)
"""HTML comments and tags, Markdown links and images (their text stays), addresses."""

_ORDERS: Final = tuple(
    re.compile(pattern, re.MULTILINE)
    for pattern in (
        r"\b(ignor|disregard|forget|overrid|bypass)\w*\b.{0,40}"
        r"\b(instruction|prompt|guideline|system message|directive)s?\b",
        r"\b(ignor|disregard|forget)\w* (all |any |everything |what |the |your |you |were |was )*"
        r"(previous|prior|above|earlier|before|told)",
        r"\b(system|developer) (prompt|message|instruction)",
        r"\byou are (now|no longer)\b|\bpretend (to|that|you)\b|\bnew (task|role)s?\b",
        r"\bact as (an?|the)\b.{0,20}\b(assistant|user|admin\w*|developer|expert|model)\b",
        r"\b(do not|don'?t|never|without) (tell|inform|mention|show|reveal|ask)\w* .{0,20}"
        r"\b(user|person|human|anyone|anybody|operator)\b",
        r"\b(skip|bypass|disabl|circumvent|evad|fool|cheat|defeat|turn off|switch off|work around)\w*\b.{0,30}"
        r"\b(verif\w*|gates?|guard|verdict|checks?|checker|tests?|tolerance|grader|validation|benchmark)\b",
        r"\b(rais|loosen|increas|widen|relax|edit|chang|modif|overwrit)\w* (the |its |your |a )*"
        r"(tolerance|reference|problem\.toml|reference\.py|settings?|limits file)\b",
        r"\b(set|add|put|declar)\w* .{0,30}\b(stochastic ?=|data_loops\b|(problem\.)?toml\b)|"
        r"\b(set|put)\w* (the |its |your |a )*tolerance\b",
        r"\b(verification|verify_kernel|verify step|validation)\b.{0,40}"
        r"\b(unnecessary|superfluous|not needed|omitted|skipped)\b",
        r"\bneeds? no (verif|verdict|checks?\b|gates?\b)|"
        r"\b(hand|finish|claim|submit|keep)\w*\b.{0,40}\bwithout (the |any |its )*(checks?|verif\w*|gates?|guard)\b",
        r"\b(delet|remov|eras|empt)\w*\b.{0,40}\b(data folder|state folder|seals\.jsonl|experiments\.jsonl)",
        r"\b(re)?open(s|ing)? (the |a |this )*(reference|problem|(reference )?module rather)\b",
        r"\b(hard-?cod|memori[sz]|cach|embed|return)\w*\b.{0,30}"
        r"\b(expected|reference|known) (output|answer|result)s?\b",
        r"\b(read|send|post|upload|print|leak|exfiltrat|fetch|copy)\w*\b.{0,40}\b(id_rsa|secrets?|passwords?|"
        r"credentials?|api[ _-]?keys?|environment variables?|access tokens?)\b|[./](ssh|env|aws|etc)/\w",
        r"\b(run|execute|paste|type|call|invoke)\b.{0,30}\b(command|shell|terminal|bash|script|curl|wget|powershell)\b",
        r"\brm -rf\b|\bcurl\b.{0,80}\||\bwget\b|\bos\.system\b|"
        r"\bsubprocess\b|\beval\(|\bexec\(|__import__|\bsudo\b",
        r"\b(finish_problem|record_reflexion|revert_to_best|add_experience|open_problem)\b",
        r"^\s*(system|assistant|user|human|developer|tool)\s*:",
        r"<\|?(im_start|im_end|endoftext|system|user|assistant)|\[/?inst\]|<</?sys>>|\bbegin (system|prompt)\b",
    )
)
"""What no lesson about kernels says, over text in lower case with its spaces made one."""

_WORDED: Final = (
    r"\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|(?:thir|four|fif|six|seven|eigh|nine)teen|"
    r"(?:twen|thir|for|fif|six|seven|eigh|nine)ty|hundred|dozens of|hundreds of)"
)
_NUMBER: Final = rf"(?:(?<![\d.])\d+(?:[.,]\d+)?|{_WORDED})"
_GAIN: Final = r"(?:fast|speed|quick|improv|better|gain|wins?\b|boost|perform|throughput|latency)"
_TIMES: Final = (
    r"(?:\d+(?:[.,]\d+)? ?(?:x|×|times|-?fold|%|per ?cent)|"
    rf"{_WORDED}[ -]?(?:fold|per ?cent))(?!\w| ?\d)"
)
_COUNTED: Final = rf"(?:twice|thrice|{_WORDED}(?:[ -]?fold| times)|[x×] ?\d+(?:[.,]\d+)?\b)"
_PIECE: Final = r"(?:third|quarter|(?:four|fif|six|seven|eigh|nin|ten)th)s?"
_PART: Final = rf"(?:half|[1-9]/\d+|(?:an?|one|two|three|four|\d+)[ -]{_PIECE})"
_TIME: Final = r"(?:latency|(?:run)?time|duration)"
_LOSS: Final = r"(?:sav|reduc|cut|drop|fall|fell|lower|less|shrink)\w*"
_UNIT: Final = r"(?:ns|us|ms|(?:nano|micro|milli)seconds)\b"
_US: Final = rf"{_NUMBER} ?{_UNIT}"
_ABOUT: Final = "(?: in| at| only| just| about)*"
_CHIP: Final = r"(?:hardware|devices?|silicon|trn\d\w*|trainium\w*)"
_EVERY: Final = r"(?:all|every|each)(?: of)?(?: the| its| nine| \d)*"
_CLAIMS: Final = re.compile(
    "|".join(
        (
            rf"(?<![\d.]){_TIMES}(?=[^.]{{0,40}}\b{_GAIN})",
            rf"\b{_GAIN}\w*\b[^.]{{0,30}}?(?<![\d.]){_TIMES}",
            rf"(?<!\w)(?<!\d ){_COUNTED} (?:as )?(?:fast|quick|speed)\w*",
            rf"(?<!\w)(?<!\d ){_COUNTED} (?:the |its |more |better |higher )+(?:speed|throughput|performance)\b",
            r"\b(?:doubl|tripl|quadrupl)(?:es?|ed|ing) (?:the |its )?(?:speed|throughput|performance)\b",
            rf"\b(?:{_TIME}|throughput|speed) (?:is|was|has) (?:halved|doubled|tripled)\b",
            r"\ba \d+(?:[.,]\d+)?:1 (?:gain|speed|improvement)",
            r"\b(?:fast|quick)er by a factor of \w+|"
            rf"\borders? of magnitude (?:(?:fast|quick)er|less {_TIME}|less time|more speed)",
            rf"\b(?:{_PART}|a fraction of) (?:of )?the (?:{_TIME}|time) of\b",
            r"\bspeed-?ups?(?: of| by|:| ?=| is| was)? ?~?\d+(?:[.,]\d+)?",
            rf"\b{_LOSS} [^.\d]{{0,20}}(?<![\d.]){_TIMES} (?:of )?(?:the )?(?:cycles|run|{_TIME})\b",
            rf"(?<![\d.]){_TIMES} less {_TIME}",
            rf"\b{_TIME} {_LOSS} (?:by|to|in) (?:{_TIMES}|{_PART}|{_US})",
            rf"\b{_LOSS} (?:the |its )?{_TIME} (?:by|to|in) (?:{_TIMES}|{_PART}|{_US})",
            rf"\b(?:halv|quarter)(?:es|ed|ing|s) the {_TIME}\b",
            rf"\b(?:run|ran|tak|took|need|finish)(?:s|es|ed|ing)?{_ABOUT} {_PART} (?:of )?(?:the |its )*{_TIME}\b",
            rf"\b(?:run|ran|tak|took|last)(?:s|es|ed|ing)?{_ABOUT} half as long\b",
            rf"(?<![\d.]){_US} ?(?:to|->|→|=>|instead of|rather than|before)[^.]{{0,20}}?(?<![\d.]){_US}",
            rf"\bfrom {_NUMBER}(?: ?{_UNIT})? (?:down )?to {_US}|\bfrom {_US} (?:down )?to {_NUMBER}",
            rf"\b{_TIME}:? {_NUMBER}(?: ?{_UNIT})? ?(?:to|->|→|=>) ?{_US}",
            rf"\bkernel (?:now )?(?:runs|takes|needs|finishes){_ABOUT} {_US}",
            rf"\b(?:measured|verified|timed|benchmarked|confirmed)(?: \w+){{0,2}} on (?:an? |the |real )*{_CHIP}\b",
            rf"(?<![\d.]){_TIMES}(?=[^.]{{0,40}}\b(?:real|actual) {_CHIP}\b)",
            rf"\bpass(?:es|ed) {_EVERY} (?:gates?|checks?|tests?)\b",
            rf"\b(?:right|correct) (?:on|by|in|at) {_EVERY} (?:gates?|checks?)\b",
            r"\b(?<!not )passed (?:the )?verif\w+|\b(?:verified|found) (?:as |to be )?(?:right|correct)\b(?! of)",
            r"\bkept (?:\d+ times|(?:in )?(?:every|each|all) (?:its )?(?:attempts?|times?))\b",
        )
    ),
    re.IGNORECASE,
)
"""A figure of a speedup, where it was measured, or what came of it: those come from the record."""

_REMARK: Final = re.compile(r"\"{3}.*?\"{3}|'{3}.*?'{3}|\"[^\"\n]*\"|'[^'\n]*'|#[^\n]*", re.DOTALL)

_MIXED: Final = re.compile(r"\w*(?:[a-zA-Z][\u0400-\u04ff]|[\u0400-\u04ff][a-zA-Z])\w*")
"""A word of Latin and Cyrillic letters: nobody writes that by accident."""

_BLOB: Final = re.compile(
    r"(?=[^\s]*[a-z])(?=[^\s]*[A-Z])(?=[^\s]*\d)[A-Za-z0-9+/]{40,}={0,2}|\b(?:[0-9a-fA-F]{2}[\s:]?){24,}|"
    r"(?:\\x[0-9a-fA-F]{2}){4,}|(?:%[0-9a-fA-F]{2}){4,}"
)
_ENCODED: Final = re.compile(r"[A-Za-z0-9+/=_-]{16,}")


def undisguised(text: str) -> str:
    """The text as a reader sees it: entities and compatibility forms resolved, look-alikes of Latin letters made so."""
    folded = unicodedata.normalize("NFKC", html.unescape(text).replace("µ", "u"))
    bare = "".join(c for c in unicodedata.normalize("NFKD", folded) if not unicodedata.combining(c))
    return re.sub(r"\w+", lambda word: _latin(word[0]), bare)


def _latin(word: str) -> str:
    changed = word.translate(_LOOKALIKES)
    return changed if changed.isascii() else word


def without_markup(text: str) -> str:
    """Prose without comments, tags, links and addresses; a tag that only appears when another is gone goes too."""
    while True:
        bare = text
        for pattern, replacement in _MARKUP:
            bare = pattern.sub(replacement, bare)
        if bare == text:
            return text.strip()
        text = bare


def order_in(text: str) -> str:
    """What a text says to its reader rather than about kernels; empty where it only speaks of kernels."""
    if mixed := _MIXED.search(undisguised(text)):
        return mixed[0][:60]
    for reading in _readings(text):
        flat = "\n".join(" ".join(line.split()) for line in reading.lower().splitlines())
        for form in (flat, flat.replace("\n", " "), re.sub(r"(?<=\b\w)[ .*_-](?=\w\b)", "", flat)):
            found = next((match for pattern in _ORDERS if (match := pattern.search(form))), None)
            if found:
                return found[0].strip()[:60]
    return ""


def _readings(text: str) -> Iterator[str]:
    """The text in every spelling in which an assistant would understand it."""
    plain = undisguised(text)
    yield plain
    yield re.sub(r"[*_`~#>|\\]", "", plain)
    yield plain.translate(str.maketrans("013457@$", "oleastas"))
    yield plain.translate(str.maketrans("013457@$", "oieastas"))
    yield unquote(plain)
    yield plain.translate(_ROT13)
    yield plain[::-1]
    for blob in _ENCODED.findall(plain):
        yield from _decoded(blob)


_ROT13: Final = str.maketrans(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", "nopqrstuvwxyzabcdefghijklmNOPQRSTUVWXYZABCDEFGHIJKLM"
)


def _decoded(blob: str) -> Iterator[str]:
    for decode in (base64.b64decode, base64.urlsafe_b64decode, bytes.fromhex):
        try:
            yield decode(blob + "=" * (-len(blob) % 4) if decode is not bytes.fromhex else blob).decode()
        except (binascii.Error, ValueError):
            continue


def encoded(text: str) -> str:
    """A stretch that is no language but an encoding; empty where there is none."""
    found = _BLOB.search(text)
    return found[0][:20] if found else ""


def claim_in(text: str) -> str:
    """A speedup that the text gives a figure for, or a verdict that it claims; empty where there is none."""
    found = _CLAIMS.search(undisguised(text))
    return found[0].strip()[:60] if found else ""


def remarks(snippet: str) -> str:
    """What lines of code say in words: their comments and quoted texts."""
    return "\n".join(found[0] for found in _REMARK.finditer(snippet))


def without_remarked_claims(snippet: str) -> str:
    """The same for lines of code, where only a comment or a quoted text can claim anything."""
    return _REMARK.sub(lambda found: without_claims(found[0]), snippet)


def without_claims(text: str) -> str:
    """The text with every such figure taken out, also one that only stands when another is gone."""
    while claim_in(text):
        text = _CLAIMS.sub("(figure removed)", undisguised(text))
    return text
