"""The gallery: ``make gallery`` plays the committed run of each environment and draws it.

Each environment that has a run gets a moving picture of its own. The README's sheet has the middle frame of each, or
one of random play where there is no moving picture; ``python docs/images/gallery.py sheet`` draws it alone. A run
comes from
``python -m benchmarks.experiments NAME --first-seed 11 --keep benchmarks/gallery/runs``.
"""

import dataclasses
import sys
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from warpworld.config import load_config
from warpworld.environment import get_environment
from warpworld.packaged import FAMILIES
from warpworld.report.pictures import CAPTION as BELOW
from warpworld.report.pictures import picture, write_gif
from warpworld.report.recording import Recording, record, record_random
from warpworld.runs import Run
from warpworld.trainers.collecting.players import Player, Scripted
from warpworld.trainers.evaluate import load_policies

RUNS = Path(__file__).parents[2] / "benchmarks" / "gallery" / "runs"
OUT = Path(__file__).with_name("gallery")
SHEET = Path(__file__).with_name("gallery.png")
EPISODES, STEPS = 20, 400  # that are recorded at most
SIZE, FRAMES, TICK = 240, 100, 0.08  # of a moving picture: longer side in pixels, frames, seconds between two at least
SECONDS = 10  # of several episodes; a single one may take longer
SIDE, CAPTION, GAP, COLUMNS = 150, 20, 10, 6  # of the sheet: pixels; tiles in a row
INK, PAPER, FRAME = "#1f2328", "#ffffff", "#d0d7de"
SEED = 3
# Whose actions are drawn: greedy ones get stuck at walls or block each other.
DRAWN = {"explorer", "waypoint", "point_goal", "deathmatch", "foraging", "warehouse", "coins"}
SCRIPTED = {"coins": ("hider", "biased"), "skirmish": ("enemy", "attack")}  # a group, and the script that plays it


def beginning(played: Recording) -> Recording:
    """As much as ``FRAMES`` pictures show, at least ``TICK`` seconds apart: whole episodes, if the first one fits."""
    seconds = played.frames[0].drawing.seconds
    frames = played.frames[: FRAMES * max(round(TICK / seconds), 1)]
    ends = [count for count, frame in enumerate(frames, 1) if frame.end]
    in_time = [count for count in ends if count * seconds <= SECONDS]
    shown = (in_time[-1:] or ends[:1] or [len(frames)])[0]
    return dataclasses.replace(played, frames=frames[:shown])


def has_run(name: str) -> bool:
    """Whether what the environment's config learns is committed."""
    return (RUNS / name).is_dir()


def recording(name: str) -> Recording:
    """The first steps of an environment, by what its committed run has learnt."""
    device = ["trainer.device=cpu"]
    if not has_run(name):
        return beginning(record_random(load_config(name, device), EPISODES, SEED, steps=STEPS))
    config = load_config(RUNS / name / "config.yaml", device)
    players = {**load_policies(Run(RUNS / name, config), "best"), **scripted(name)}
    return beginning(record(config, players, EPISODES, SEED, name not in DRAWN, steps=STEPS))


def scripted(name: str) -> dict[str, Player]:
    """The script that plays in the environment's claim, by the policy whose place it takes."""
    if name not in SCRIPTED:
        return {}
    group, script = SCRIPTED[name]
    return {group: Scripted(script, get_environment(name)().scripts()[script])}


def middle(name: str) -> Image.Image:
    """A frame from the middle of an environment's moving picture; of random play where there is none."""
    for path in (OUT / f"{name}.gif", SHEET.with_name(f"{name}.gif")):
        if path.exists():
            with Image.open(path) as moving:
                moving.seek(getattr(moving, "n_frames", 1) // 2)
                return moving.convert("RGB")
    played = recording(name)
    return picture(played, played.frames[len(played.frames) // 2], 2 * SIDE)


def tile(image: Image.Image) -> Image.Image:
    """A picture without its caption, on a square."""
    image = image.crop((0, 0, image.width, image.height - BELOW))
    image.thumbnail((SIDE, SIDE), Image.Resampling.LANCZOS)
    square = Image.new("RGB", (SIDE, SIDE), PAPER)
    square.paste(image, ((SIDE - image.width) // 2, (SIDE - image.height) // 2))
    return square


def main() -> None:
    """Write the moving pictures that are named on the command line, or all of them and the sheet; or the sheet."""
    names = [name for family in FAMILIES.values() for name in family]
    OUT.mkdir(exist_ok=True)
    for name in [] if sys.argv[1:] == ["sheet"] else sys.argv[1:] or names:
        if has_run(name):
            write_gif(recording(name), OUT / f"{name}.gif", SIZE, FRAMES)
    if sys.argv[1:] in ([], ["sheet"]):
        draw_sheet({name: tile(middle(name)) for name in names})


def draw_sheet(tiles: dict[str, Image.Image]) -> None:
    """Write the sheet of tiles with their names."""
    names = list(tiles)
    rows = -(-len(names) // COLUMNS)
    sheet = Image.new("RGB", (COLUMNS * (SIDE + GAP) + GAP, rows * (SIDE + CAPTION + GAP) + GAP), PAPER)
    draw, font = ImageDraw.Draw(sheet), ImageFont.load_default(12)
    for place, (name, image) in enumerate(tiles.items()):
        x = GAP + place % COLUMNS * (SIDE + GAP)
        y = GAP + place // COLUMNS * (SIDE + CAPTION + GAP)
        sheet.paste(image, (x, y))
        draw.rectangle((x - 1, y - 1, x + SIDE, y + SIDE), outline=FRAME)
        draw.text((x, y + SIDE + 4), name, fill=INK, font=font)
    sheet.quantize(128).save(SHEET, optimize=True)


if __name__ == "__main__":
    main()
