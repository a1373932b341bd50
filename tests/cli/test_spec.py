from __future__ import annotations

from pathlib import Path

import pytest

import suffice as sf
from suffice.cli.spec import STATE_ME, read, recipe_table, text
from suffice.cli.toml import document
from suffice.core.codec import encode
from suffice.core.errors import InputError

DESIGN = """
source = "sales/*.parquet"
[statistic]
kind = "MeanOperator"
label = "bought"
classes = ["no", "yes"]
bound = { norm = 2, public_quantile = 0.95 }
features = [
  { name = "age",    kind = "Numeric", centre = 41.0, scale = 12.5, missing = "refuse" },
  { name = "region", kind = "Categorical", levels = ["north", "south"], missing = "other" },
]
[mechanism]
kind = "L2Laplace"
epsilon = 0.5
"""
COLUMNS = (
    sf.Numeric("age", 41.0, 12.5),
    sf.Numeric("income", 1.0, 2.0, missing="indicate"),
    sf.Categorical("region", ("north", "south"), missing="other", unseen="other"),
    sf.Hashed("post code", 16, salt="a"),
    sf.Cross(sf.Categorical("a", (1, 2)), sf.Categorical("b", (True, False))),
)


def spec_of(folder: Path, words: str):
    path = folder / "spec.toml"
    path.write_text(words, "utf-8")
    return read(path)


def test_the_form_in_the_design_is_read_as_it_is_meant(tmp_path):
    spec = spec_of(tmp_path, DESIGN)
    recipe = sf.Recipe(
        (sf.Numeric("age", 41.0, 12.5), sf.Categorical("region", ("north", "south"), missing="other"))
    )
    bound = sf.Bound(2, sf.Radius.public(0.95))
    assert spec.source == "sales/*.parquet"
    assert spec.made_statistic() == sf.MeanOperator(recipe, "bought", bound=bound, classes=["no", "yes"])
    assert spec.made_mechanism() == sf.L2Laplace(epsilon=0.5)


@pytest.mark.parametrize("origin", ["given", "learned"])
@pytest.mark.parametrize("intercept", [True, False])
def test_a_recipe_of_every_kind_of_column_comes_back_as_it_was(tmp_path, origin, intercept):
    recipe = sf.Recipe(COLUMNS, intercept=intercept, origin=origin)
    statistic = {"kind": "MeanOperator", "label": "y", "bound": {"norm": 2, "radius": 1.0}}
    words = text(
        "a.parquet", statistic | recipe_table(recipe), {"kind": "Laplace", "epsilon": 1.0}, ("A remark.",)
    )
    made = spec_of(tmp_path, words).made_statistic()
    assert made.features == recipe
    assert made == sf.MeanOperator(recipe, "y", bound=sf.Bound(2, 1.0))


def test_a_recipe_may_live_in_a_file_of_its_own_beside_the_spec(tmp_path):
    recipe = sf.Recipe(COLUMNS, origin="learned")
    (tmp_path / "recipe.toml").write_text(document(encode(recipe)), "utf-8")
    words = (
        DESIGN[: DESIGN.index("features")] + 'features = "recipe.toml"\n' + DESIGN[DESIGN.index("[mech") :]
    )
    assert spec_of(tmp_path, words).made_statistic().features == recipe


def test_names_alone_are_numbers_as_they_are(tmp_path):
    words = DESIGN[: DESIGN.index("features")] + 'features = ["a", "b"]\n' + DESIGN[DESIGN.index("[mech") :]
    assert spec_of(tmp_path, words).made_statistic().features == ("a", "b")


def test_a_number_at_the_command_line_wins_over_the_spec(tmp_path):
    spec = spec_of(tmp_path, DESIGN)
    assert spec.made_mechanism(epsilon=2.0, delta=None) == sf.L2Laplace(epsilon=2.0)


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("source =", "sauce =", "'sauce'"),
        ('[mechanism]\nkind = "L2Laplace"\nepsilon = 0.5', "", "no 'mechanism'"),
        ("public_quantile = 0.95", "public_quantile = 0.95, radius = 1.0", "both"),
        ('kind = "Numeric"', 'kind = "Owner"', "'Owner' is not admitted"),
        ('"L2Laplace"', '"Popen"', "'Popen' is not admitted"),
        ("centre = 41.0", 'centre = "forty"', "Numeric"),
        ('label = "bought"', "", "label"),
        ('classes = ["no", "yes"]', "klasses = 2", "'klasses'"),
        ("[mechanism]", "[mechanism", "not TOML"),
        ('kind = "L2Laplace"', "", "needs a kind"),
    ],
)
def test_what_cannot_be_meant_is_refused_by_name(tmp_path, old, new, sentence):
    assert old in DESIGN
    with pytest.raises(InputError, match=sentence):
        made(tmp_path, DESIGN.replace(old, new))


def made(folder: Path, words: str):
    spec = spec_of(folder, words)
    return spec.made_statistic(), spec.made_mechanism()


def test_every_place_that_is_left_to_state_is_named(tmp_path):
    words = DESIGN.replace("41.0", f'"{STATE_ME}"').replace('["north", "south"]', f'["{STATE_ME}"]')
    with pytest.raises(
        InputError, match=r"2 places.*features\[age\]\.centre.*features\[region\]\.levels\[0\]"
    ):
        spec_of(tmp_path, words)
