"""Metadata of the warpworld package; pyproject.toml holds the build system and the settings of the tools."""

import re
from pathlib import Path

from setuptools import find_namespace_packages, setup

ROOT = Path(__file__).resolve().parent


def read_version() -> str:
    """The ``__version__`` of ``warpworld/version.py``, read as text: building needs no torch."""
    text = (ROOT / "warpworld" / "version.py").read_text(encoding="utf-8")
    found = re.search(r'^__version__ = "([^"]+)"$', text, re.MULTILINE)
    if found is None:
        raise SystemExit('setup.py: warpworld/version.py has no line of the form __version__ = "1.2.3"')
    return found.group(1)


# Every folder counts as a package, so that those holding only kernels or headers are installed as well.
packages = find_namespace_packages(include=["warpworld", "warpworld.*"], exclude=["*.__pycache__", "*.__pycache__.*"])

setup(
    name="warpworld",
    version=read_version(),
    description="Multi-agent reinforcement learning on one device, from CUDA kernels that also run without a GPU",
    long_description=(ROOT / "README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    author="the warpworld authors",
    license="MIT",
    license_files=["LICENSE"],
    python_requires=">=3.10",
    packages=[*packages, "warpworld.configs"],
    package_dir={"warpworld.configs": "configs"},
    package_data={
        "": [
            "*.cu",
            "*.cuh",
            "*.h",
            "*.hpp",
            "*.cpp",
            "*.yaml",
            "*.html",
            "*.css",
            "*.js",
            "*.json",
            "*.md",
            "*.so",
            "py.typed",
        ],
        "warpworld.configs": ["reproduce/*.yaml"],
        "warpworld.runs": ["pretrained/*/checkpoints/*.pt"],
    },
    include_package_data=False,
    install_requires=[
        "gymnasium>=1.1",
        "matplotlib>=3.8",
        "numpy>=1.26",
        "pillow>=10.1",
        "pydantic>=2.7",
        "pyyaml>=6.0",
        "rich>=13.0",
        "shtab>=1.13",
        "tensorboardX>=2.6",
        "torch>=2.5",
        "tree-sitter>=0.24",
        "tree-sitter-cuda>=0.21",
    ],
    extras_require={
        # The board's server: Starlette answers, Uvicorn listens; both are small, pure Python and widely used.
        "board": ["starlette>=0.37", "uvicorn>=0.29"],
        "adapters": ["dm-env>=1.6", "pettingzoo>=1.24", "stable-baselines3>=2.3"],
        "external": ["ale-py>=0.12", "envpool>=1.1", "pettingzoo>=1.24"],
        "cuda": ["pycuda>=2024.1"],
        # Data sets of episodes: Minari's form, which offline learners read, and Parquet.
        "data": ["minari[hdf5]>=0.5.3; python_version >= '3.11'", "pyarrow>=16"],
        "compiler": ["ziglang>=0.13"],
        # The site: Markdown as it is read on GitHub, an API reference from docstrings, notebooks as pages; Python 3.11.
        "docs": ["mkdocstrings[python]>=0.29", "nbconvert>=7.16", "zensical>=0.0.73"],
        "export": ["onnx>=1.16", "onnxruntime>=1.18", "onnxscript>=0.2"],
        "gym": ["gym>=0.26"],
        # Sweeps: Optuna brings samplers, pruners, and studies in a database that several machines share.
        "sweep": ["optuna>=4.9"],
        # Shows event files; they are written by tensorboardX, which is small.
        "tensorboard": ["tensorboard>=2.14"],
        "video": ["imageio-ffmpeg>=0.4.9"],
        "wandb": ["wandb>=0.16"],
        "mlflow": ["mlflow-skinny>=2.10"],  # the client alone: the server is not needed here
        "test": [
            "hypothesis>=6.100",
            "ipykernel>=6.29",
            "nbclient>=0.10",
            "nbformat>=5.9",
            "packaging>=23.0",
            "pytest>=8.0",
            "pytest-timeout>=2.2",
            "pytest-xdist>=3.5",
            "setuptools>=77",
        ],
        "dev": ["mypy>=1.11", "pre-commit>=3.7", "ruff>=0.6"],
    },
    entry_points={
        "console_scripts": ["warpworld = warpworld.cli:main"],
        "pytest11": ["warpworld = warpworld.checking.pytest_plugin"],
    },
    classifiers=[
        "Development Status :: 5 - Production/Stable",
        "Environment :: GPU :: NVIDIA CUDA",
        "Intended Audience :: Science/Research",
        "Operating System :: POSIX :: Linux",
        "Programming Language :: Python :: 3",
        "Programming Language :: Python :: 3.10",
        "Programming Language :: Python :: 3.11",
        "Programming Language :: Python :: 3.12",
        "Programming Language :: Python :: 3.13",
        "Programming Language :: Python :: 3.14",
        "Topic :: Scientific/Engineering :: Artificial Intelligence",
    ],
)
