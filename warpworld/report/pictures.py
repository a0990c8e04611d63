"""A recording as moving pictures: a GIF, or an MP4 where ffmpeg's wheel is installed."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from warpworld.drawing import SMOOTH, colour_table, font, paint, replacing, write_whole
from warpworld.errors import RunError
from warpworld.report.recording import Frame, Recording
from warpworld.text import shown

GIF_SIZE, MP4_SIZE = 400, 720  # longer side of the picture, pixels
GIF_FRAMES = 300  # about
GIF_COLOURS = 128
SHORTEST = 0.02  # seconds; browsers show shorter frames of a GIF for a tenth of a second
PAUSE_AT_END = 1.0  # seconds for which the last frame of an episode stays
CAPTION = 34  # height of the line below the picture, pixels


@dataclass(frozen=True)
class Shown:
    """A frame, and the seconds for which it stays."""

    frame: Frame
    seconds: float


def write_gif(recording: Recording, path: str | Path, size: int = GIF_SIZE, frames: int = GIF_FRAMES) -> Path:
    """Write a recording as a GIF that plays without end.

    Args:
        recording: what is played.
        path: the file; it appears complete or not at all.
        size: longer side of the picture, pixels.
        frames: about how many are shown; of longer recordings every second, third ... one.

    Returns:
        ``path``.

    Raises:
        RunError: it cannot be written.
    """
    shown = chosen(recording, frames)
    images = [picture(recording, entry.frame, size) for entry in shown]
    palette = _palette(images)
    indexed = [_indexed(image, palette) for image in images]
    content = io.BytesIO()
    milliseconds = [round(100 * max(entry.seconds, SHORTEST)) * 10 for entry in shown]
    indexed[0].save(content, "GIF", save_all=True, append_images=indexed[1:], duration=milliseconds, loop=0, disposal=1)
    return write_whole(Path(path), content.getvalue())


def write_mp4(recording: Recording, path: str | Path, size: int = MP4_SIZE) -> Path:
    """Write a recording as an MP4 (H.264).

    Args:
        recording: what is played.
        path: the file; it appears complete or not at all.
        size: longer side of the picture, pixels.

    Returns:
        ``path``.

    Raises:
        RunError: ffmpeg's wheel is not installed, or the file cannot be written.
    """
    # the encoder
    try:
        import imageio_ffmpeg
    except ImportError as error:
        raise RunError(
            f"'{path}' needs the imageio-ffmpeg package, which is not installed: pip install 'warpworld[video]'"
        ) from error
    # frames, as often as the shortest lasts
    shown = chosen(recording, len(recording.frames))
    tick = min(max(min(entry.seconds for entry in shown), SHORTEST), 1.0)
    size_in_pixels = picture(recording, shown[0].frame, size).size
    # the video
    with replacing(Path(path)) as unfinished:
        video = imageio_ffmpeg.write_frames(
            str(unfinished),
            size_in_pixels,
            fps=1 / tick,
            codec="libx264",
            quality=8,
            macro_block_size=2,
            output_params=["-f", "mp4"],  # the name does not say so yet
        )
        video.send(None)
        for entry in shown:
            pixels = np.asarray(picture(recording, entry.frame, size)).tobytes()
            for _ in range(max(round(entry.seconds / tick), 1)):
                video.send(pixels)
        video.close()
    return Path(path)


def chosen(recording: Recording, most: int) -> list[Shown]:
    """The frames that are shown: about ``most`` of them, among them first and last ones of all episodes."""
    frames = recording.frames
    stride = max(math.ceil(len(frames) / most), 1)
    kept = [frame for frame in frames if frame.timestep % stride == 0 or frame.end]
    seconds = [frame.drawing.seconds * stride + (PAUSE_AT_END if frame.end else 0.0) for frame in kept]
    return [Shown(frame, time) for frame, time in zip(kept, seconds, strict=True)]


def picture(recording: Recording, frame: Frame, size: int) -> Image.Image:
    """A frame on white paper, with a caption below: groups, their returns so far, and the step if it fits.

    Args:
        recording: where the frame is from.
        frame: which.
        size: longer side of the picture above the caption, pixels.
    """
    view = recording.frames[0].drawing
    width = max(round(size * min(1.0, view.width / view.height)), 200)
    height = round(width * view.height / view.width)
    colours = {name: light for name, (light, _) in colour_table(recording.groups).items()}
    image = Image.new("RGB", (width + width % 2, height + CAPTION + height % 2), colours["paper"])  # even, for videos
    image.paste(paint(frame.drawing, width, height, colours), (0, 0))
    image.paste(_caption(recording, frame, image.width, colours), (0, height))
    return image


def _caption(recording: Recording, frame: Frame, width: int, colours: dict[str, str]) -> Image.Image:
    # an empty strip
    image = Image.new("RGB", (width * SMOOTH, CAPTION * SMOOTH), colours["paper"])
    draw = ImageDraw.Draw(image)
    letters, middle, x = font(13 * SMOOTH), CAPTION * SMOOTH / 2, 10.0 * SMOOTH
    end, gap = (width - 10.0) * SMOOTH, 14 * SMOOTH
    # groups, as far as they fit
    for words, colour in _legend(recording, frame):
        length = gap + draw.textlength(words, letters)
        if x + length > end:
            break
        dot = 4.5 * SMOOTH
        draw.ellipse([x, middle - dot, x + 2 * dot, middle + dot], fill=colours[colour])
        draw.text((x + gap, middle), words, fill=colours["ink"], font=letters, anchor="lm")
        x += length + gap
    # the step at the right end, if it fits
    step = f"step {frame.timestep}"
    if x + draw.textlength(step, letters) <= end:
        draw.text((end, middle), step, fill=colours["muted"], font=letters, anchor="rm")
    return image.reduce(SMOOTH)


def _legend(recording: Recording, frame: Frame) -> Iterator[tuple[str, str]]:
    """Each group's text, and the name of its colour."""
    for name, value in recording.group_returns(frame).items():
        yield f"{name} {shown(value)}", name


def _palette(images: list[Image.Image]) -> np.ndarray:
    """(up to GIF_COLOURS, 3) uint8: the commonest colours of some of the frames; large flat areas keep theirs."""
    some = images[:: max(len(images) // 20, 1)] + images[-1:]
    packed, counts = np.unique(np.concatenate([_packed(image).ravel() for image in some]), return_counts=True)
    common = packed[np.argsort(-counts, kind="stable")[:GIF_COLOURS]]
    return np.stack([common >> 16, common >> 8 & 255, common & 255], -1).astype(np.uint8)


def _indexed(image: Image.Image, palette: np.ndarray) -> Image.Image:
    """The image in the palette's colours, the nearest one where a pixel's own is not among them."""
    packed = _packed(image)
    colours, place = np.unique(packed, return_inverse=True)
    split = np.stack([colours >> 16, colours >> 8 & 255, colours & 255], -1).astype(np.float32)
    # |a - b|^2 without the |a|^2 that all candidates share
    nearest = ((palette.astype(np.float32) ** 2).sum(1) - 2 * split @ palette.astype(np.float32).T).argmin(1)
    indexed = Image.fromarray(nearest.astype(np.uint8)[place.reshape(packed.shape)], "P")
    indexed.putpalette(palette.tobytes())
    return indexed


def _packed(image: Image.Image) -> np.ndarray:
    """(height, width) uint32, 0xrrggbb."""
    pixels = np.asarray(image).astype(np.uint32)
    return pixels[..., 0] << 16 | pixels[..., 1] << 8 | pixels[..., 2]
