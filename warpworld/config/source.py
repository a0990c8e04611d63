"""The source of a configuration: a YAML file, or a packaged config by its name."""

from __future__ import annotations

from pathlib import Path

from warpworld.config.documents import Document, known
from warpworld.errors import ConfigError, suggest
from warpworld.files import read_file, reason
from warpworld.near_names import nearest
from warpworld.packaged import PRETRAINED, packaged_configs, pretrained_runs


def read_source(source: str | Path) -> tuple[Document, Path]:
    """The document, and the folder that files named in it are relative to.

    Raises:
        ConfigError: there is no such file or packaged config, or it cannot be read.
    """
    if str(source).startswith(PRETRAINED):
        return _of_pretrained(str(source)), Path()
    path, packaged = Path(source), packaged_configs()
    if path.suffix in {".py", ".cu"}:
        near = f", such as {path.with_suffix('.yaml')}" if path.with_suffix(".yaml").is_file() else ""
        raise ConfigError(
            f"'{source}' is an environment's code, expected a YAML file{near} or a name of `warpworld list`"
        )
    try:
        if str(source) in packaged and not path.is_file():
            return Document.parse(packaged[str(source)].read_bytes(), f"packaged config '{source}'"), Path()
        return Document.parse(read_file(path), str(source)), path.parent
    except FileNotFoundError as error:
        stem = path.name.removesuffix(".yaml").removesuffix(".yml")
        hint = _hint_at_file(path.parent, stem) or suggest(stem, packaged)
        raise ConfigError(
            f"no file '{source}', and no packaged config of that name."
            + (f"{hint} All: warpworld list" if hint else f" {known(packaged)}")
        ) from error
    except IsADirectoryError as error:
        if (path / "config.yaml").is_file():
            raise ConfigError(
                f"'{source}' is a run folder, expected a config. To continue the run: warpworld train --resume "
                f"{source}; to repeat it: warpworld train {path / 'config.yaml'}"
            ) from error
        raise ConfigError(f"'{source}' is a folder, expected a YAML file or a name of `warpworld list`") from error
    except (OSError, ValueError) as error:
        raise ConfigError(f"config '{source}' cannot be read: {reason(error)}") from error


def _of_pretrained(source: str) -> Document:
    """The configuration by which a policy of the package was trained."""
    name, found = source.removeprefix(PRETRAINED), pretrained_runs()
    if name not in found:
        raise ConfigError(f"there is no pretrained policy '{name}'.{suggest(name, found)} {known(found)}")
    return Document.parse(read_file(found[name] / "config.yaml"), source)


def _hint_at_file(folder: Path, stem: str) -> str:
    """The YAML file of a folder that may be meant; nothing where no name is near."""
    files = {file.stem: file for file in sorted(folder.glob("*.yaml"))}
    near = nearest(stem, files)
    return f" Did you mean '{files[near]}'?" if near else ""
