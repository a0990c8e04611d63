"""The gallery of environments: ``make gallery`` steps each at random and draws one frame of it."""

from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

import warpworld

OUT = Path(__file__).with_name("gallery.png")
SIDE, CAPTION, GAP, COLUMNS = 240, 26, 16, 5  # pixels; tiles in a row
INK, PAPER, FRAME = "#1f2328", "#ffffff", "#d0d7de"
STEPS = {  # after which an env looks like itself; the others take 12
    "cartpole": 5,
    "minatar_breakout": 3,
    "minatar_freeway": 30,
    "recall": 0,
}
LEFT_OUT = {"recall"}  # a cue and nothing else: there is little to see


def frame(name: str) -> Image.Image:
    """A picture of one env of this environment, on a square tile."""
    envs = warpworld.make(name, num_envs=1, device="cpu", api="gymnasium", render_mode="rgb_array")
    envs.reset(seed=3)
    envs.action_space.seed(3)
    for _ in range(STEPS.get(name, 12)):
        envs.step(envs.action_space.sample())
    picture = Image.fromarray(np.asarray(envs.render()[0]))
    picture.thumbnail((SIDE, SIDE), Image.Resampling.LANCZOS)
    tile = Image.new("RGB", (SIDE, SIDE), PAPER)
    tile.paste(picture, ((SIDE - picture.width) // 2, (SIDE - picture.height) // 2))
    return tile


def main() -> None:
    """Write ``gallery.png``."""
    names = [name for name in warpworld.environment_names() if name not in LEFT_OUT | {"external"}]
    rows = -(-len(names) // COLUMNS)
    sheet = Image.new("RGB", (COLUMNS * (SIDE + GAP) + GAP, rows * (SIDE + CAPTION + GAP) + GAP), PAPER)
    draw, font = ImageDraw.Draw(sheet), ImageFont.load_default(15)
    for place, name in enumerate(names):
        x = GAP + place % COLUMNS * (SIDE + GAP)
        y = GAP + place // COLUMNS * (SIDE + CAPTION + GAP)
        sheet.paste(frame(name), (x, y))
        draw.rectangle((x - 1, y - 1, x + SIDE, y + SIDE), outline=FRAME)
        draw.text((x, y + SIDE + 5), name, fill=INK, font=font)
    sheet.quantize(128).save(OUT, optimize=True)


if __name__ == "__main__":
    main()
