"""Builds a policy from its ``model`` settings and a group's spaces."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import torch
from gymnasium.spaces import Box
from torch import nn

from warpworld.config import model_class
from warpworld.environment import Group, action_heads, action_layout, is_nested, observation_parts
from warpworld.errors import ConfigError, WarpworldError, said
from warpworld.policies.distributions import ActionDistribution, Categorical, Gaussian, Hybrid
from warpworld.policies.inputs import CallersSpaces, ObservationNormaliser, ObservationRows, Preprocessing
from warpworld.policies.layers import EntityEncoder, make_cell, one_torch_thread
from warpworld.policies.policy import Policy
from warpworld.policies.recurrent import Recurrent, RecurrentPolicy, RememberingNetwork, check_encoder, encoded_width
from warpworld.policies.shared import Shared
from warpworld.policies.stateful_model import StatefulModel

if TYPE_CHECKING:
    from warpworld.config import ModelConfig

HeadsMaker = Callable[[nn.Module, int], nn.Module]


def get_model(name: str, needs_critic: bool = True) -> type[nn.Module]:
    """The model of that name, or the class that ``module:Class`` names.

    Args:
        name: see above.
        needs_critic: whether the policy's algorithm reads values.

    Raises:
        ConfigError: there is none, or it is no model.
    """
    found: type[nn.Module] = model_class(name, needs_critic)
    return found


def build_policy(
    model: ModelConfig,
    group: Group,
    generator: torch.Generator,
    needs_critic: bool = True,
    critic_input: Box | None = None,
    heads: HeadsMaker | None = None,
    distribution: ActionDistribution | None = None,
) -> Policy:
    """Build the policy that a group's spaces call for, on the CPU and in eval mode.

    Args:
        model: which model, and its settings.
        group: the agents that it is to play.
        generator: CPU generator that the weights are drawn from; the same state gives the same weights. Torch's global
            one is left as it is.
        needs_critic: whether the policy's algorithm reads values.
        critic_input: what the critic reads; None for the group's observations.
        heads: makes the network from the model's encoder and its width; None takes the model's own actor and critic.
        distribution: what the outputs mean; None takes ``action_distribution(group)``.

    Raises:
        ConfigError: unknown model, or one that does not do what a model does.
        DeclarationError: a space that no policy can serve.
    """
    cls, features = get_model(model.type, needs_critic), observation_size(group)
    distribution = distribution or action_distribution(group)
    # requirements of the algorithm on the model
    if model.shared and (heads is not None or critic_input is not None):
        raise ConfigError(
            "model.shared is true, but this algorithm's actor and critic cannot share an encoder: "
            f"{'it gives the encoder heads of its own' if critic_input is None else 'its critic reads other inputs'}; "
            "set it to false"
        )
    if model.declares_state:
        _check_own_state(model, group, heads, critic_input)
    if heads is not None or model.recurrent is not None or model.shared:
        purpose = "given heads of the algorithm's own" if heads else "made recurrent" if model.recurrent else "shared"
        check_encoder(cls, model.type, purpose)
    if critic_input is not None and heads is None:
        _check_critic_input(cls, model, group)
    # the network, from a seed of its own
    seed = int(torch.randint(2**63 - 1, (), generator=generator))
    with torch.random.fork_rng(devices=[]), one_torch_thread():  # bits of a decomposition depend on the threads
        torch.default_generator.manual_seed(seed)  # the CPU's: torch.manual_seed would seed a GPU's, too
        try:
            network = _network(cls, model, group, distribution.num_outputs, critic_input, heads, needs_critic)
        except WarpworldError:
            raise
        except Exception as error:  # a model's own code may raise anything, and torch does where memory is short
            reason = said(error)
            raise ConfigError(f"model '{model.type}' cannot be made: {reason}; see warpworld.policies.Model") from error
        # its parameters, and the shapes of its outputs
        network.eval()
        _check_parameters(network, model.type)
        expected: dict[str, tuple[int, tuple[int, ...]]] = {"actor": (features, (distribution.num_outputs,))}
        if needs_critic:
            expected["critic"] = (features if critic_input is None else math.prod(critic_input.shape), ())
        _check(network, expected, model.type)
    # parts around the network
    rows = ObservationRows(group.observation)
    normaliser = _normaliser(rows, group, network) if model.normalise_observations else None
    preprocessing = None if rows.is_plain else Preprocessing(rows, may_reduce=":" not in model.type)
    policy = (
        RecurrentPolicy(network, distribution, normaliser, preprocessing, critic_input)
        if isinstance(network, RememberingNetwork)
        else Policy(network, distribution, normaliser, critic_input, preprocessing)
    )
    policy.spaces = CallersSpaces(group.observation, group.callers_action)
    return policy.eval()


def _normaliser(rows: ObservationRows, group: Group, network: nn.Module) -> ObservationNormaliser:
    """Normaliser of the floats that the group sees."""
    if any(isinstance(module, EntityEncoder) for module in network.modules()):
        raise ConfigError(
            "normalise_observations=true, but model 'entities' reads flags of entities that are there, which "
            "normalising would move; set it to false"
        )
    floats = sum(part.numbers for part in rows.parts if part.is_float)
    if not floats:
        raise ConfigError(
            f"normalise_observations=true, but group '{group.name}' sees no floats: what it reads of "
            f"{group.observation} is between 0 and 1 already; set it to false"
        )
    return ObservationNormaliser(floats)


def _network(
    cls: type[nn.Module],
    model: ModelConfig,
    group: Group,
    num_outputs: int,
    critic_input: Box | None,
    heads: HeadsMaker | None,
    needs_critic: bool,
) -> nn.Module:
    """The model itself, or its encoder with other heads, shared ones, or a recurrent cell and heads, behind it."""
    if model.declares_state:
        own = cls(group.observation, num_outputs, **model.settings).eval()
        return StatefulModel(own, model.type, observation_size(group), num_outputs, needs_critic)
    if heads is None and model.recurrent is None and not model.shared:
        read = () if critic_input is None else (critic_input,)
        return cls(group.observation, num_outputs, *read, **model.settings)
    defaults = {name: p.default for name, p in inspect.signature(cls).parameters.items() if p.kind is p.KEYWORD_ONLY}
    encoder = cls.encoder(group.observation, **{**defaults, **model.settings})  # type: ignore[attr-defined]
    width = encoded_width(encoder.eval(), observation_size(group), model.type)
    if heads is not None:
        return heads(encoder, width)
    if model.shared:
        return Shared(encoder, width, num_outputs)
    return Recurrent(encoder, make_cell(model, width), num_outputs)


def _check_critic_input(cls: type[nn.Module], model: ModelConfig, group: Group) -> None:
    """Refuse a model whose critic can read nothing but what its actor reads."""
    what = f"group '{group.name}' names '{group.critic_input}' for its critic to read"
    if model.recurrent is not None:
        raise ConfigError(
            f"{what}, but a recurrent model's critic reads what its cell remembers; set model.recurrent=null"
        )
    if "critic_input" not in inspect.signature(cls).parameters:
        raise ConfigError(
            f"{what}, but model '{model.type}' takes no critic_input, expected (observation, num_outputs, "
            "critic_input, **settings); see warpworld.policies.Model"
        )


def _check_own_state(model: ModelConfig, group: Group, heads: HeadsMaker | None, critic_input: Box | None) -> None:
    """Refuse what cannot stand behind, or beside, a model that declares a state."""
    beside = model.beside_own_state()
    if beside is not None:
        raise ConfigError(beside)
    what = f"model '{model.type}' declares a state of its own"
    if heads is not None:
        raise ConfigError(f"{what}, but this algorithm puts heads of its own behind an encoder; take another model")
    if critic_input is not None:
        raise ConfigError(
            f"{what}, but group '{group.name}' names '{group.critic_input}' for its critic to read, which such a model "
            "does not take; leave critic_input out of the group"
        )


def _check_parameters(network: nn.Module, name: str) -> None:
    """Refuse parameters that no learner can hold; buffers may be anything."""
    parameters = dict(network.named_parameters())
    for key, parameter in parameters.items():
        if parameter.dtype != torch.float32:
            raise ConfigError(
                f"model '{name}': parameter '{key}' is {_dtype(parameter)}, expected float32; "
                "make what is not learnt a buffer"
            )
    if not any(parameter.requires_grad for parameter in parameters.values()):
        what = "none of its parameters requires a gradient" if parameters else "it has no parameters"
        raise ConfigError(f"model '{name}': {what}, expected at least one that can be learnt")


def _check(network: nn.Module, expected: Mapping[str, tuple[int, tuple[int, ...]]], name: str) -> None:
    """Refuse a user's model whose outputs would broadcast to wrong numbers in silence.

    Args:
        network: the model.
        expected: by method, how many numbers it reads and the shape of what it makes of them.
        name: of the model.
    """
    for method, (features, made) in expected.items():
        rows, where, shape = torch.zeros(2, 3, features), f"observations (2, 3, {features})", (2, 3, *made)
        with torch.no_grad():
            try:
                given = getattr(network, method)(rows)
            except Exception as error:
                raise ConfigError(f"model '{name}': {method} fails on {where}: {said(error)}") from error
        if not isinstance(given, torch.Tensor) or given.shape != shape:
            what = f"shape {tuple(given.shape)}" if isinstance(given, torch.Tensor) else type(given).__name__
            raise ConfigError(f"model '{name}': {method} of {where} gave {what}, expected {shape}")
        if given.dtype != torch.float32:
            raise ConfigError(f"model '{name}': {method} of {where} gave {_dtype(given)}, expected float32")


def _dtype(tensor: torch.Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def observation_size(group: Group) -> int:
    """Number of features that a model reads of one agent's observation: of all parts of a Dict together.

    Raises:
        DeclarationError: the group's observation is nothing that a policy can read.
    """
    return sum(math.prod(part.feature_shape) for part in observation_parts(group).values())


def action_distribution(group: Group) -> ActionDistribution:
    """The distribution that a policy of this group draws from.

    Raises:
        DeclarationError: as of ``action_parts``.
    """
    heads, row = action_heads(group.action), action_layout(group.action)[1]
    if is_nested(group.action):
        return Hybrid(heads, row - len(heads))
    return Categorical(heads) if heads else Gaussian(row)
