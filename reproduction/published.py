"""The numbers that the paper prints: the target of the reproduction, as data.

C. P. de Campos, M. Scanagatta, G. Corani and M. Zaffalon, "Entropy-based Pruning for Learning
Bayesian Networks using BIC", Artificial Intelligence (2018): the worked example on glass, Table 1
(parent bounds), Tables 2 and 3 (families pruned by in-degree) and the statistics behind
Figures 1 and 2. Nothing here is computed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

CITATION = (
    "de Campos, Scanagatta, Corani, Zaffalon (2018), "
    "“Entropy-based Pruning for Learning Bayesian Networks using BIC”"
)

IN_DEGREES = (3, 4, 5)
COLUMNS = ("Alg1", "Alg2", "Alg1+Alg2", "Alg3", "Alg4", "Alg3+Alg4", "Alg1+Alg4")
"""The columns of Tables 2 and 3 behind |S|: one rule, or the union of two."""
STATISTICS = ("min", "q1", "median", "q3", "max", "mean")
FIGURES = {1: ("Alg1+Alg2", "Alg1"), 2: ("Alg1+Alg4", "Alg1")}
"""What each figure shows: the ratio of two columns."""


class Bounds(NamedTuple):
    """A row of Table 1."""

    variables: int
    rows: int
    theorem3: dict[int, int]
    """Number of variables by their bound."""
    corollary1: int


@dataclass(frozen=True)
class Example:
    """One of the two families of the worked example on glass, and its printed numbers."""

    child: str
    star: tuple[str, ...]
    """Π*."""
    parent: str
    """Y, which would join Π*."""
    entropy_child: float
    """N·H(X|Π*)."""
    entropy_parent: float
    """N·H(Y|Π*)."""
    added: float
    """(r_Y − 1)·pen(X, Π*)."""


BOUNDS: dict[str, Bounds] = {
    "glass": Bounds(8, 214, {6: 7, 3: 1}, 6),
    "diabetes": Bounds(9, 768, {7: 9}, 8),
    "tic-tac-toe": Bounds(10, 958, {6: 10}, 8),
    "cmc": Bounds(10, 1473, {8: 3, 7: 7}, 9),
    "breast-cancer": Bounds(10, 286, {6: 4, 5: 2, 4: 1, 3: 3}, 7),
    "solar-flare": Bounds(12, 1066, {7: 4, 6: 1, 5: 5, 3: 1, 2: 1}, 8),
    "heart-h": Bounds(12, 294, {6: 6, 5: 3, 4: 2, 3: 1}, 7),
    "vowel": Bounds(14, 990, {8: 12, 4: 2}, 8),
    "zoo": Bounds(17, 101, {5: 10, 4: 6, 2: 1}, 5),
    "vote": Bounds(17, 435, {7: 15, 6: 2}, 7),
    "segment": Bounds(17, 2310, {9: 16, 6: 1}, 9),
    "lymph": Bounds(18, 148, {5: 8, 4: 8, 3: 2}, 6),
    "primary-tumor": Bounds(18, 339, {6: 9, 5: 7, 4: 1, 2: 1}, 7),
    "vehicle": Bounds(19, 846, {7: 18, 6: 1}, 8),
    "hepatitis": Bounds(20, 155, {5: 18, 4: 2}, 6),
    "colic": Bounds(23, 368, {6: 8, 5: 12, 4: 3}, 7),
    "autos": Bounds(26, 205, {6: 16, 5: 3, 4: 1, 3: 5, 1: 1}, 6),
    "flags": Bounds(29, 194, {6: 5, 5: 7, 4: 7, 3: 7, 2: 3}, 6),
}

DATASETS = tuple(BOUNDS)
"""The 18 UCI tables, in the order of the paper."""

_TABLES_2_AND_3: dict[str, dict[int, tuple[int, ...]]] = {
    "glass": {
        3: (504, 0, 0, 0, 0, 0, 0, 0),
        4: (784, 114, 66, 154, 0, 0, 0, 114),
        5: (952, 222, 171, 280, 105, 57, 126, 240),
    },
    "diabetes": {
        3: (828, 0, 0, 0, 0, 0, 0, 0),
        4: (1458, 0, 0, 0, 0, 0, 0, 0),
        5: (1962, 0, 0, 0, 0, 0, 0, 0),
    },
    "tic-tac-toe": {
        3: (1290, 0, 0, 0, 0, 0, 0, 0),
        4: (2550, 0, 0, 0, 0, 0, 0, 0),
        5: (3810, 659, 1114, 1244, 504, 504, 504, 659),
    },
    "cmc": {
        3: (1290, 0, 0, 0, 0, 0, 0, 0),
        4: (2550, 30, 81, 106, 7, 27, 34, 53),
        5: (3810, 410, 691, 877, 271, 483, 660, 707),
    },
    "breast-cancer": {
        3: (1290, 624, 578, 704, 611, 528, 671, 684),
        4: (2550, 1776, 1660, 1902, 1756, 1475, 1855, 1874),
        5: (3810, 3021, 2905, 3161, 2997, 2589, 3109, 3130),
    },
    "solar-flare": {
        3: (2772, 825, 1326, 1666, 687, 1131, 1468, 1544),
        4: (6732, 3419, 4772, 5464, 2945, 4170, 5068, 5211),
        5: (12_276, 8144, 10_197, 11_005, 7324, 9137, 10_563, 10_726),
    },
    "heart-h": {
        3: (2772, 206, 356, 471, 196, 330, 459, 463),
        4: (6732, 1820, 2710, 3098, 1615, 2384, 2908, 2942),
        5: (12_276, 6223, 7914, 8449, 5837, 6941, 8110, 8157),
    },
    "vowel": {
        3: (5278, 288, 478, 614, 132, 111, 243, 379),
        4: (15_288, 1718, 2468, 2854, 1232, 551, 1343, 1809),
        5: (33_306, 10_257, 13_170, 14_247, 8162, 2333, 9065, 11_140),
    },
    "zoo": {
        3: (11_832, 1704, 2354, 2655, 735, 518, 1237, 2189),
        4: (42_772, 12_652, 17_034, 20_055, 7875, 2843, 10_201, 14_807),
        5: (117_028, 70_383, 91_180, 94_306, 32_541, 20_162, 49_366, 79_220),
    },
    "vote": {
        3: (11_832, 0, 0, 0, 0, 0, 0, 0),
        4: (42_772, 0, 0, 0, 0, 0, 0, 0),
        5: (117_028, 577, 852, 1429, 0, 0, 0, 577),
    },
    "segment": {
        3: (11_832, 0, 0, 0, 0, 0, 0, 0),
        4: (42_772, 201, 309, 506, 0, 0, 0, 201),
        5: (117_028, 3983, 7580, 10_635, 0, 0, 0, 3983),
    },
    "lymph": {
        3: (14_994, 3254, 4100, 5779, 2822, 2921, 4689, 5066),
        4: (57_834, 31_751, 37_285, 44_532, 27_057, 23_232, 37_284, 40_225),
        5: (169_218, 130_426, 147_311, 155_807, 118_134, 97_946, 143_188, 149_137),
    },
    "primary-tumor": {
        3: (14_994, 2196, 2634, 3097, 2176, 1475, 3034, 3049),
        4: (57_834, 13_159, 18_299, 20_780, 12_827, 11_817, 20_073, 20_370),
        5: (169_218, 61_443, 98_794, 109_665, 58_182, 65_331, 98_280, 99_988),
    },
    "vehicle": {
        3: (18_753, 3, 3, 6, 0, 0, 0, 3),
        4: (76_893, 697, 1096, 1750, 0, 0, 0, 697),
        5: (239_685, 10_863, 23_197, 32_306, 0, 0, 0, 10_863),
    },
    "hepatitis": {
        3: (23_180, 0, 0, 0, 0, 0, 0, 0),
        4: (100_700, 0, 0, 0, 0, 0, 0, 0),
        5: (333_260, 21_692, 64_380, 81_809, 0, 0, 0, 21_692),
    },
    "colic": {
        3: (41_239, 3108, 4622, 5896, 2362, 3515, 4536, 5067),
        4: (209_484, 94_741, 98_958, 123_967, 84_182, 79_540, 109_266, 115_882),
        5: (815_166, 640_892, 643_377, 709_743, 607_555, 515_894, 676_558, 692_531),
    },
    "autos": {
        3: (68_250, 20_393, 22_139, 27_655, 17_625, 14_600, 22_815, 25_223),
        4: (397_150, 237_949, 252_244, 292_005, 186_808, 140_784, 232_158, 272_899),
        5: (1_778_530, 1_384_004, 1_523_500, 1_605_611, 1_221_799, 850_889, 1_448_294, 1_533_419),
    },
    "flags": {
        3: (106_720, 61_999, 57_143, 74_774, 59_060, 46_597, 69_884, 71_439),
        4: (700_495, 579_352, 547_529, 634_327, 562_905, 405_275, 613_594, 620_955),
        5: (3_550_586, 3_323_460, 3_301_446, 3_469_073, 3_261_508, 2_478_191, 3_411_111, 3_433_015),
    },
}

SEARCH_SPACE = {
    name: {k: row[0] for k, row in rows.items()} for name, rows in _TABLES_2_AND_3.items()
}
"""|S| by table and in-degree."""

COUNTS = {
    name: {k: dict(zip(COLUMNS, row[1:], strict=True)) for k, row in rows.items()}
    for name, rows in _TABLES_2_AND_3.items()
}
"""Families pruned, by table, in-degree and column."""

_FIGURES: dict[int, dict[int, tuple[float, ...]]] = {
    1: {
        3: (1, 1, 1.281, 1.867, 2.286, 1.432),
        4: (1, 1.077, 1.377, 1.645, 3.533, 1.563),
        5: (1, 1.169, 1.355, 2.076, 3.771, 1.72),
    },
    2: {
        3: (1, 1, 1.124, 1.37, 2.248, 1.266),
        4: (1, 1, 1.063, 1.256, 1.767, 1.191),
        5: (1, 1, 1.081, 1.139, 1.724, 1.149),
    },
}

FIGURE_STATISTICS = {
    figure: {k: dict(zip(STATISTICS, row, strict=True)) for k, row in rows.items()}
    for figure, rows in _FIGURES.items()
}
"""By figure, in-degree and statistic, to three decimals."""

GLASS_EXAMPLE = {
    "E1": Example("RI", ("Na", "Mg", "Al"), "class", 126.68, 210.88, 128.76),
    "E2": Example("Na", ("RI", "Mg", "class"), "Ca", 102.81, 71.23, 75.11),
}
