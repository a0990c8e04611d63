"""The modules that trainings need: the process that they are forked from imports this one."""

# ruff: noqa: F401

from importlib import import_module

import matplotlib.backends.backend_agg
import matplotlib.figure
import matplotlib.style
import tensorboardX.proto.event_pb2
import tensorboardX.proto.plugin_hparams_pb2
import tree_sitter_cuda

import warpworld.managers.cpu.backend
import warpworld.runs.curve
import warpworld.trainers.algorithms.ppo
import warpworld.trainers.session.session
import warpworld.trainers.trainer
from warpworld.cli.main import COMMANDS

for command in COMMANDS:
    import_module(f"warpworld.cli.{command}")
