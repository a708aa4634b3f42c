"""Files as users have them: rows that add up, or one line that says what to set so that they do."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import opencc
import pyarrow as pa
import pytest
from pyarrow import parquet
from ruamel.yaml import YAML

from hanyi.corpus.formats import FORMATS
from hanyi.errors import DataError
from hanyi.tracking import Tracker
from stages import fetch, prepare
from stages.paths import PREPARED
from tests.written import PACK, WRITERS, Unit, names_of

PAIRS = [
    ("我每天早上喝一杯热茶。", "I drink a cup of hot tea every morning."),
    ("火车晚点了两个小时。", "The train was delayed by two hours."),
    ("她把钥匙忘在办公室了。", "She left her keys in the office."),
    ("孩子们正在公园里放风筝。", "The children are flying kites in the park."),
    ("这本书我已经读过三遍。", "I have read this book three times already."),
    ("请把窗户关上，外面很吵。", "Please shut the window, it is noisy outside."),
    ("他的祖父曾经是一名渔夫。", "His grandfather used to be a fisherman."),
    ("超市里的苹果今天打折。", "Apples are on sale at the supermarket today."),
    ("医生建议我多休息几天。", "The doctor advised me to rest a few more days."),
    ("昨晚的雨把路都淹了。", "Last night's rain flooded the roads."),
    ("我们打算明年搬到海边住。", "We plan to move to the seaside next year."),
    ("这道菜对我来说太辣了。", "This dish is too spicy for me."),
    ("老师让学生们安静下来。", "The teacher told the pupils to be quiet."),
    ("图书馆星期一不开门。", "The library is closed on Mondays."),
    ("他一边唱歌一边洗碗。", "He sings while he washes the dishes."),
    ("谁把牛奶喝光了？", "Who drank all the milk?"),
    ("山顶上覆盖着白雪。", "The mountain top is covered with snow."),
    ("电梯坏了，我们走楼梯吧。", "The lift is broken, let us take the stairs."),
    ("邻居家的狗总是半夜叫。", "The neighbour's dog always barks at midnight."),
    ("会议推迟到下星期五。", "The meeting is put off until next Friday."),
]  # fmt: skip
UNITS = [Unit(*pair) for pair in PAIRS]
TSV = WRITERS["tsv"](UNITS)[0].decode()


@dataclass(frozen=True)
class Case:
    """What files hold, the entry that names them, and what becomes of the rows.

    Where `error` has words, fetch refuses them in a line with these, and takes them once the entry
    is mended with `then`, or the files are with `mended`.
    """

    files: dict[str, str | bytes]
    rejected: dict[str, int] = field(default_factory=dict)
    kept: int = len(PAIRS)
    entry: dict[str, Any] = field(default_factory=dict)
    error: list[str] = field(default_factory=list)
    then: dict[str, Any] = field(default_factory=dict)
    mended: dict[str, str | bytes] = field(default_factory=dict)
    pairs: list[tuple[str, str]] = field(default_factory=lambda: PAIRS)


def lines(*rows: tuple[str, ...], delimiter: str = "\t", end: str = "\n") -> str:
    return "".join(delimiter.join(row) + end for row in rows)


def quoted(*rows: tuple[str, ...]) -> str:
    cells = [tuple('"{}"'.format(cell.replace('"', '""')) for cell in row) for row in rows]
    return lines(*cells, delimiter=",", end="\r\n")


ENGLISH_FIRST = [(english, chinese) for chinese, english in PAIRS]
DIRTY = "".join(
    [
        TSV,
        lines(("她很高。", "She is tall."), ("猫跑了。", "The cat ran off.")),  # swapped
        "only one column\nthree\t三\tcolumns\n\n   \t \n",
        lines(("Tom &amp; Mary &quot;left&quot;.", "汤姆&amp;玛丽“走了”。")),
        lines(("A\u200bll\ufeff gone\xa0now.", "现在\u3000全没\u200b了。")),
        lines(ENGLISH_FIRST[0], ("the TRAIN was delayed by two hours", "火车晚点了两个小时")),
        lines(("OK", "OK"), ("", "只有中文。")),
        "No newline here.\t这里没有换行。",
    ]
)
SIDE = '<tuv xml:lang="{}"><note>n</note><seg>{}</seg></tuv>'
CODES = [("en", "zh"), ("EN-us", "zh-CN"), ("eng", "ZHO"), ("en_GB", "zh-Hans"), ("en", "cmn")]


def tmx() -> str:
    def unit(*sides: tuple[str, str]) -> str:
        return f"<tu><note>n</note>{''.join(SIDE.format(*side) for side in sides)}</tu>"

    both = [tuple(zip(CODES[n % 5], pair, strict=True)) for n, pair in enumerate(ENGLISH_FIRST)]
    odd = [[("en", "Alone.")], [("zh", "独自。")], [("fr", "Bon."), ("zh-CN", "好。")]]
    units = "\n".join(unit(*sides) for sides in [*both, *odd])
    head = '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE tmx SYSTEM "tmx14.dtd">\n'
    return f'{head}<tmx version="1.4"><header/><body>\n{units}\n</body></tmx>'


def po(language: str) -> str:
    def entry(message: str, translation: str, comment: str = "#: main.c:1", old: str = "") -> str:
        return f'{comment}\n{old}msgid "{message}"\n{old}msgstr "{translation}"\n\n'

    head = f'msgid ""\nmsgstr ""\n"{language}Content-Type: text/plain; charset=UTF-8\\n"\n\n'
    odd = [entry("Open", "开", "#, fuzzy"), entry("Shut", ""), entry("Old", "旧", old="#~ ")]
    return head + "".join([entry(*pair) for pair in ENGLISH_FIRST] + odd)


def sgm(kind: str, side: int, extra: str) -> str:
    segments = [f'<seg id="{n}">{pair[side]}</seg>' for n, pair in enumerate(PAIRS)]
    doc = "\n".join([*segments, f'<seg id="{extra}">{extra}</seg>'])
    return f'<{kind} setid="t" srclang="any">\n<doc docid="d">\n{doc}\n</doc>\n</{kind}>\n'


def jsonl(src: str, tgt: str) -> str:
    whole = [json.dumps({tgt: english, src: chinese, "id": 1}) for chinese, english in PAIRS]
    odd = ["", "not json", json.dumps({tgt: "No Chinese."}), json.dumps({src: None, tgt: "Null."}),
           json.dumps([1]), json.dumps({tgt: "Half \ud800.", src: "半。"})]  # fmt: skip
    return "\n".join(whole + odd)


def table(*names: str) -> bytes:
    file = io.BytesIO()
    columns = [list(range(len(PAIRS) + 1)), [*(tgt for _, tgt in PAIRS), "Null."],
               [*(src for src, _ in PAIRS), None]]  # fmt: skip
    parquet.write_table(pa.table(dict(zip(names, columns, strict=True))), file)
    return file.getvalue()


moses = {"m.zh": lines(*((zh,) for zh, _ in PAIRS)), "m.en": lines(*((en,) for _, en in PAIRS))}
TRADITIONAL_PAIRS = [
    (opencc.OpenCC("s2tw").convert(chinese), english) for chinese, english in PAIRS
]
TRADITIONAL = lines(*((english, chinese) for chinese, english in TRADITIONAL_PAIRS))
sgm_files = {"s.sgm": sgm("srcset", 0, "独"), "r.sgm": sgm("refset", 1, "Lonely")}
EXPORT = "CC-BY 2.0 (France) Attribution: tatoeba.org #{} (CK) & #{} (fucongcong)"

CASES = {
    "Chinese first, CRLF": Case(
        {"a.tsv": lines(*PAIRS, end="\r\n")},
        error=["a.tsv:1", "swapped", "corpora.0.src_column: 0 and tgt_column: 1"],
        then={"src_column": 0, "tgt_column": 1},
    ),
    "Tatoeba export": Case(
        {"cmn.txt": lines(*((*pair, EXPORT.format(1, 2)) for pair in ENGLISH_FIRST))}
    ),
    "Tatoeba sentence pairs": Case(
        {"a.tsv": lines(*((str(n), en, str(n + 9), zh) for n, (zh, en) in enumerate(PAIRS)))},
        error=["a.tsv:1", "no letter in column 0", "corpora.0.tgt_column"],
        then={"src_column": 3, "tgt_column": 1},
    ),
    "BOM, CRLF": Case({"a.tsv": "\ufeff" + lines(*ENGLISH_FIRST, end="\r\n")}),
    "UTF-16": Case({"a.tsv": TSV.encode("utf-16")}),
    "UTF-16 big-endian": Case({"a.tsv": ("\ufeff" + TSV).encode("utf-16-be")}),
    "UTF-16 without a mark": Case({"a.tsv": TSV.encode("utf-16-le")}),
    "GB18030": Case({"a.tsv": TSV.encode("gb18030")}),
    "Big5": Case({"a.tsv": TRADITIONAL.encode("big5")}, pairs=TRADITIONAL_PAIRS),
    "invalid bytes": Case(
        {"a.tsv": TSV.encode() + b"Bad \xff one.\t\xe5\x9d\x8f\nBad\xc0 two.\t\xe5\x9d\n"},
        {"encoding": 2},
    ),
    "a wrong encoding": Case(
        {"a.tsv": TSV.encode("gb18030")},
        entry={"encoding": "utf-8"},
        error=["a.tsv:1", "no utf-8", "corpora.0.encoding: gb18030"],
        then={"encoding": "gb18030"},
    ),
    "dirt of all kinds": Case(
        {"a.tsv": DIRTY},
        {"swapped": 2, "columns": 2, "blank": 2, "duplicate": 2, "identical": 1, "empty": 1},
        kept=len(PAIRS) + 3,
    ),
    "CSV with mark and header": Case(
        {"a.csv": "\ufeffEnglish,中文\r\n" + quoted(*ENGLISH_FIRST)},
        error=["a.csv:1", "header row", "corpora.0.header: true"],
        then={"header": True},
    ),
    "CSV with columns by name": Case(
        {"a.csv": "id,zh,en\r\n" + quoted(*(("1", *pair) for pair in PAIRS))},
        entry={"src_column": "zh", "tgt_column": "en"},
        error=["corpora.0.src_column", "corpora.0.header: true"],
        then={"header": True},
    ),
    "CSV, all quoted, newlines inside, GB18030": Case(
        {
            "a.csv": quoted(
                *((str(n), zh.replace("，", "，\n"), f'"{en}"') for n, (zh, en) in enumerate(PAIRS))
            ).encode("gb18030")
        },
        error=["a.csv:1", "no letter in column 0", "corpora.0.tgt_column"],
        then={"tgt_column": 2},
        pairs=[(zh.replace("，", "， "), f'"{en}"') for zh, en in PAIRS],
    ),
    "CSV called TSV": Case(
        {"a.tsv": quoted(*ENGLISH_FIRST)},
        error=["a.tsv:1", "1 column", 'corpora.0.delimiter to ","'],
        then={"format": "csv"},
    ),
    "semicolons": Case(
        {"a.csv": lines(*ENGLISH_FIRST, delimiter=";")},
        error=["a.csv:1", 'corpora.0.delimiter to ";"'],
        then={"delimiter": ";"},
    ),
    "line ends of old Macs": Case(
        {"a.tsv": lines(*ENGLISH_FIRST, end="\r")},
        error=["a.tsv:1", r"\r alone", "tr"],
        mended={"a.tsv": lines(*ENGLISH_FIRST)},
    ),
    "Moses": Case(moses, entry={"source": ["m.zh", "m.en"]}),
    "Moses the wrong way round": Case(
        moses,
        entry={"source": ["m.en", "m.zh"]},
        error=["files look swapped", "give the other file first"],
        then={"source": ["m.zh", "m.en"]},
    ),
    "Moses of unequal length": Case(
        {**moses, "m.en": moses["m.en"] + "One too many.\n"},
        entry={"source": ["m.zh", "m.en"]},
        error=["20 lines beside 21", "find the line"],
        mended=moses,
    ),
    "TMX": Case({"a.tmx": tmx()}, {"language": 3}),
    "TMX of other languages": Case(
        {"a.tmx": tmx().replace('"zh', '"ja').replace('"ZHO', '"ja').replace('"cmn', '"ja')},
        error=["a.tmx:4", "units in", "ja", "languages.src"],
        mended={"a.tmx": tmx()},
        rejected={"language": 3},
    ),
    "PO": Case({"zh.po": po("Language: zh_CN\\n")}, {"fuzzy": 1, "untranslated": 1, "obsolete": 1}),
    "PO that tells no language": Case(
        {"zh.po": po("")},
        {"fuzzy": 1, "untranslated": 1, "obsolete": 1},
        error=["zh.po", "no Language", "corpora.0.src_column", "msgid", "msgstr"],
        then={"src_column": "msgstr", "tgt_column": "msgid"},
    ),
    "SGM": Case(sgm_files, {"unpaired": 2}, entry={"source": ["s.sgm", "r.sgm"]}),
    "SGM the wrong way round": Case(
        sgm_files,
        {"unpaired": 2},
        entry={"source": ["r.sgm", "s.sgm"]},
        error=["r.sgm", "sources first", "turn the two names"],
        then={"source": ["s.sgm", "r.sgm"]},
    ),
    "SGM, one file": Case(
        sgm_files,
        {"unpaired": 2},
        entry={"source": "s.sgm"},
        error=["s.sgm", "one file", "list of both"],
        then={"source": ["s.sgm", "r.sgm"]},
    ),
    "JSON Lines": Case(
        {"a.jsonl": jsonl("zh", "en")}, {"blank": 1, "json": 2, "columns": 2, "encoding": 1}
    ),
    "JSON Lines with other keys": Case(
        {"a.jsonl": jsonl("q", "a")},
        {"blank": 1, "json": 2, "columns": 2, "encoding": 1},
        error=["a.jsonl:1", "keys a, q", "corpora.0.src_column"],
        then={"src_column": "q", "tgt_column": "a"},
    ),
    "Parquet": Case({"a.parquet": table("id", "en", "zh")}, {"columns": 1}),
    "Parquet with other columns": Case(
        {"a.parquet": table("id", "first", "second")},
        {"columns": 1},
        error=["a.parquet", "int64 in column id", "corpora.0.tgt_column", "first, second"],
        then={"src_column": "second", "tgt_column": "first"},
    ),
    "broken gzip": Case(
        {"a.tsv.gz": PACK[".gz"](TSV.encode())[:-20]},
        error=["a.tsv.gz", "broken gzip", "download it again"],
        mended={"a.tsv.gz": PACK[".gz"](TSV.encode())},
    ),
    "zip": Case(
        {"a.zip": b"PK\x03\x04" + bytes(60)},
        error=["a.zip", "a zip archive", "unpack it"],
        then={"source": "a.tsv"},
        mended={"a.tsv": TSV},
    ),
    **{
        f"{format_}{suffix}": Case(
            {
                name + suffix: PACK[suffix](content)
                for name, content in zip(names_of(format_), WRITERS[format_](UNITS), strict=True)
            },
            entry={"source": [name + suffix for name in names_of(format_)]},
        )
        for number, format_ in enumerate(FORMATS)
        for suffix in (".gz", ".xz", ".bz2", ".zst")
        if format_ == "tsv" or list(PACK)[1 + number % 4] == suffix
    },
}  # fmt: skip
Run = Callable[[dict[str, Any]], dict[str, Any]]


@pytest.fixture
def run(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Stand in an empty project; give the function that runs both stages for one entry."""
    yaml = YAML()
    params = yaml.load((root / "params.yaml").read_text(encoding="utf-8"))
    params["prepare"]["split"].update(valid=2, test=3)
    monkeypatch.setattr(prepare, "write_report", lambda *_: None)  # pictures take long
    monkeypatch.chdir(tmp_path)
    Path("data/inputs").mkdir(parents=True)

    def both(entry: dict[str, Any]) -> dict[str, Any]:
        params["fetch"]["corpora"] = [{"name": "mine", **entry}]
        with Path("params.yaml").open("w", encoding="utf-8") as file:
            yaml.dump(params, file)
        fetch.main(Tracker())
        return prepare.main(Tracker())

    return both


def put(files: dict[str, str | bytes]) -> None:
    for name, content in files.items():
        data = content.encode() if isinstance(content, str) else content
        Path("data/inputs", name).write_bytes(data)


@pytest.mark.parametrize("name", CASES)
def test_messy_files(run: Run, name: str) -> None:
    case = CASES[name]
    put(case.files)
    entry = {"source": next(iter(case.files)), **case.entry}
    if isinstance(entry["source"], list) and len(entry["source"]) == 1:
        [entry["source"]] = entry["source"]
    if case.error:
        with pytest.raises(DataError) as caught:
            run(entry)
        line = str(caught.value)
        assert "\n" not in line
        assert all(word in line for word in case.error), line
        assert not Path("data/raw").exists()
        put(case.mended)
    metrics = run({**entry, **case.then})
    rejected = {reason: count for reason, count in metrics["rejected"].items() if count}
    assert rejected == case.rejected
    lost = sum(rejected.values())
    assert metrics["rows"] == {"read": case.kept + lost, "kept": case.kept, "rejected": lost}
    found = [
        (row["src"], row["tgt"])
        for split in ("train", "valid", "test")
        for row in parquet.read_table(PREPARED / f"{split}.parquet").to_pylist()
    ]
    assert len(found) == case.kept
    assert set(case.pairs) <= set(found)
    assert parquet.read_metadata(PREPARED / "rejected.parquet").num_rows == lost
