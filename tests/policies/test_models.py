"""Models that users bring along, from the YAML file to a trained policy."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml

from tests.docs.pages import blocks, page
from tests.policies.my_models import Shared
from warpworld.config import RunConfig, config_from_dict, load_config
from warpworld.errors import ConfigError
from warpworld.runs import Run
from warpworld.trainers.algorithms.parameters.flat_parameters import flattened
from warpworld.trainers.trainer import Trainer


def cartpole(**model: Any) -> RunConfig:
    data = load_config("cartpole").to_dict()
    data["trainer"] |= {"num_envs": 8, "num_steps": 8, "total_env_steps": 192}
    data["policy"]["agent"]["model"] = model
    return config_from_dict(data)


def test_a_model_of_ones_own_is_trained(tmp_path: Path) -> None:
    config = cartpole(type="tests.policies.my_models:Shared", width=16)
    assert config.policy["agent"].model.settings == {"width": 16, "slope": 0.1}
    trainer = Trainer(config)
    model = trainer.policies["agent"].model
    assert isinstance(model, Shared)
    assert model.action.in_features == 16
    before = {name: value.clone() for name, value in model.state_dict().items()}
    run = Run.create(config, tmp_path)
    trainer.train(run)
    run.close()
    assert not any(torch.equal(before[name], value) for name, value in model.state_dict().items())
    assert Run.open(run.path).config == config


def test_the_same_seed_gives_the_same_weights() -> None:
    torch.manual_seed(5)
    first = Trainer(cartpole(type="tests.policies.my_models:Shared")).policies["agent"]
    torch.manual_seed(6)
    second = Trainer(cartpole(type="tests.policies.my_models:Shared")).policies["agent"]
    assert all(torch.equal(a, b) for a, b in zip(first.parameters(), second.parameters(), strict=True))


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ({"type": "mpl"}, r"policy.agent.model.type: model type 'mpl', .* Did you mean 'mlp'\?"),
        ({"type": "no_module:Net"}, r"model 'no_module:Net' cannot be imported: No module named 'no_module'"),
        (
            {"type": ".my_models:Shared"},
            "cannot be imported: '.my_models' is relative, expected the module's full name",
        ),
        ({"type": "tests.policies.my_broken_models:Net"}, "cannot be imported: ZeroDivisionError: division by zero$"),
        ({"type": "tests.policies.my_models:Sharde"}, "cannot be imported: .* no attribute 'Sharde'"),
        ({"type": "tests.policies.my_models:not_a_model"}, "is not a torch.nn.Module"),
        ({"type": "tests.policies.my_models:NoCritic"}, r"has no critic\(observations\)"),
        (
            {"type": "tests.policies.my_models:Shared", "widht": 3},
            "model.widht is not a known key. Did you mean 'width'?",
        ),
        (
            {"type": "tests.policies.my_models:Shared", "width": "wide"},
            "model.width is 'wide', expected a whole number",
        ),
        ({"type": "tests.policies.my_models:Shared", "hidden_sizes": [3]}, "hidden_sizes is not a known key"),
        ({"type": "tests.policies.my_models:Demanding"}, "policy.agent.model.depth is missing"),
        (
            {"type": "tests.policies.my_models:Typed"},
            r"model 'Typed' has a keyword argument 'type', .*: give it another name$",
        ),
        (
            {"type": "tests.policies.my_models:Normalised"},
            "model 'Normalised' has a keyword argument 'normalise_observations', which ",
        ),
        (
            {"type": "tests.policies.my_models:Settled"},
            "'settings', which policy.agent.model has a meaning of its own for: give",
        ),
        (
            {"type": "tests.policies.my_models:Activated"},
            r"model 'Activated': the default of 'activation' is <class .*Tanh'>, which no",
        ),
        (
            {"type": "tests.policies.my_models:Stored", "file": "x"},
            r"the value of 'file' is PosixPath\('x'\), which no config can hold",
        ),
        (
            {"type": "tests.policies.my_models:Endless"},
            r"the default of 'limits' is \(1.0, nan\), .* expected plain numbers",
        ),
        (
            {"type": "tests.policies.my_models:Misannotated"},
            "an annotation cannot be resolved: ZeroDivisionError: division by zero",
        ),
        ({"type": "mlp", "hidden_sizes": [64, 0]}, r"hidden_sizes\[1\] is 0, expected at least 1"),
        ({"type": "mlp", "activation": "tahn"}, "activation is 'tahn', expected 'tanh' or 'relu'"),
        ({"type": "mlp", "normalise_observations": 3}, "normalise_observations is 3, expected true or false"),
    ],
)
def test_wrong_settings_are_refused_with_the_config(model: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        cartpole(**model)


def test_a_setting_that_is_none_or_a_list_is_written_and_read_back() -> None:
    config = cartpole(type="tests.policies.my_models:Stored")
    assert config.policy["agent"].model.settings == {"file": None}
    assert config_from_dict(yaml.safe_load(config.to_yaml())) == config


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Column", r"critic of observations \(2, 3, 4\) gave shape \(2, 3, 1\), expected \(2, 3\)"),
        ("Narrow", r"actor fails on observations \(2, 3, 4\): "),
        ("Positional", "cannot be made: .*positional"),
        ("Huge", "cannot be made: .*can't allocate memory: .*; see warpworld.policies.Model$"),
        ("Lookup", r"critic fails on observations \(2, 3, 4\): KeyError: 'value'$"),
        ("Precise", "parameter 'scale' is float64, expected float32; make what is not learnt a buffer$"),
        ("Counting", "parameter 'steps' is int64, expected float32; make what is not learnt a buffer$"),
        ("Doubling", r"critic of observations \(2, 3, 4\) gave float64, expected float32$"),
        ("Constant", "it has no parameters, expected at least one that can be learnt$"),
        ("Frozen", "none of its parameters requires a gradient, expected at least one that can be learnt$"),
    ],
)
def test_models_that_do_not_do_what_a_model_does(name: str, words: str) -> None:
    with pytest.raises(ConfigError, match=f"model 'tests.policies.my_models:{name}'.*{words}"):
        Trainer(cartpole(type=f"tests.policies.my_models:{name}"))


@pytest.mark.parametrize(
    ("error", "words"),
    [
        ("TypeError", "first line second line"),
        ("ValueError", "first line second line"),
        ("RuntimeError", "first line second line"),
        ("MemoryError", "MemoryError: first line second line"),
        ("IndexError", "IndexError: first line second line"),
    ],
)
def test_models_whose_constructor_raises(error: str, words: str) -> None:
    with pytest.raises(
        ConfigError, match=f"^model 'tests.policies.my_models:Raising' cannot be made: {words}; see warpworld"
    ):
        Trainer(cartpole(type="tests.policies.my_models:Raising", error=error))


def test_more_weights_than_memory_holds() -> None:
    with pytest.raises(ConfigError, match=r"^model 'mlp' cannot be made: .*can't allocate memory.*; see warpworld"):
        Trainer(cartpole(type="mlp", hidden_sizes=[10**15]))
    with pytest.raises(ConfigError, match=r"^model 'mlp' cannot be made: .*; see warpworld"):
        Trainer(cartpole(type="mlp", hidden_sizes=[10**30]))


def test_frozen_parameters_keep_their_values_and_buffers_their_dtypes(tmp_path: Path) -> None:
    trainer = Trainer(cartpole(type="tests.policies.my_models:HalfFrozen"))
    model = trainer.policies["agent"].model
    before = {name: value.clone() for name, value in model.state_dict().items()}
    assert trainer.algorithms["agent"].parameters.optimizer.param_groups[0]["params"][0].numel() == 8 * 2 + 4 + 8 + 4
    trainer.train(Run.create(trainer.config, tmp_path))
    same = {name for name, value in model.state_dict().items() if torch.equal(value, before[name])}
    assert same == {"trunk.0.weight", "trunk.0.bias", "exact", "steps"}
    assert (model.exact.dtype, model.steps.dtype) == (torch.float64, torch.int64)


def test_flattened_leaves_out_what_requires_no_gradient() -> None:
    layers = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Linear(3, 1))
    layers[0].weight.requires_grad_(False)
    before = copy.deepcopy(layers.state_dict())
    vector = flattened(layers)
    assert vector.numel() == 4 + 4 + 4  # 3, 3 and 1
    assert all(torch.equal(value, before[name]) for name, value in layers.state_dict().items())
    with torch.no_grad():
        vector += 1
    assert torch.equal(layers[0].weight, before["0.weight"]) and layers[0].weight.grad is None
    assert torch.equal(layers[0].bias, before["0.bias"] + 1)
    assert torch.equal(layers[1].weight, before["1.weight"] + 1)


def test_flattened_aligns_every_parameter_and_its_gradient() -> None:
    layers = torch.nn.Sequential(torch.nn.Linear(5, 42), torch.nn.Linear(42, 3), torch.nn.Linear(3, 1))
    before = copy.deepcopy(layers.state_dict())
    vector = flattened(layers)
    assert vector.grad is not None
    start = vector.data_ptr()
    at = [(parameter.data_ptr() - start) // 4 for parameter in layers.parameters()]
    assert at == [0, 212, 256, 384, 388, 392]  # of 210, 42, 126, 3, 3 and 1 numbers
    assert vector.numel() == 396
    for parameter in layers.parameters():
        assert parameter.grad is not None
        assert parameter.data_ptr() % 16 == 0 and parameter.grad.data_ptr() % 16 == 0
        assert parameter.grad.data_ptr() - vector.grad.data_ptr() == parameter.data_ptr() - start
    assert all(torch.equal(value, before[name]) for name, value in layers.state_dict().items())
    sums = [float(value.double().sum()) for value in before.values()]
    assert float(vector.detach().double().sum()) == pytest.approx(sum(sums), abs=1e-9)


def test_a_model_with_lazy_layers_is_trained(tmp_path: Path) -> None:
    trainer = Trainer(cartpole(type="tests.policies.my_models:Lazy"))
    assert trainer.policies["agent"].model.trunk.weight.shape == (8, 4)
    trainer.train(Run.create(trainer.config, tmp_path))


def test_dropout_does_nothing(tmp_path: Path) -> None:
    def trained(seed: int) -> Trainer:
        config = cartpole(type="tests.policies.my_models:Dropping")
        policies = {"agent": config.policy["agent"].model_copy(update={"num_minibatches": 1, "update_epochs": 1})}
        trainer = Trainer(config.model_copy(update={"policy": policies}))
        torch.manual_seed(seed)
        run = Run.create(trainer.config, tmp_path)
        trainer.train(run)
        run.close()
        kls = [json.loads(line)["losses/agent/approx_kl"] for line in run.metrics_path.read_text().splitlines()]
        assert kls == pytest.approx([0.0] * 3, abs=1e-6)  # so the ratio of the only minibatch is 1
        return trainer

    first, second = (trained(seed).policies["agent"] for seed in (1, 2))
    assert not any(module.training for module in first.modules())
    assert all(torch.equal(a, b) for a, b in zip(first.parameters(), second.parameters(), strict=True))


def test_the_guide_s_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "models_of_the_guide.py").write_text(blocks(page("learning"), "python")[0], encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    trainer = Trainer(cartpole(type="models_of_the_guide:Wide", width=32))
    assert trainer.policies["agent"].model.policy.weight.shape == (2, 32)
    trainer.train(Run.create(trainer.config, tmp_path))
