"""The models of agents.json, with the fields that installed extensions add.

Fields that an extension declares become fields of a subclass of the core's model. So one model
validates a part of the file, including all such fields, and is copied and compared as usual.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from types import GenericAlias, MappingProxyType, new_class
from typing import Any, NamedTuple, TypeVar

from pydantic import Field, create_model

from orchestrator import installed
from orchestrator.agentsfile.agent_definition import AgentDefinition
from orchestrator.agentsfile.agents_file import AgentsFile, Channels, ExtensionSettings
from orchestrator.agentsfile.channel_kinds import load_channel_kinds
from orchestrator.agentsfile.field_types import ConfigModel
from orchestrator.errors import FAULTS, ConfigError, describe_fault
from orchestrator.installed import Loaded

M = TypeVar("M", bound=ConfigModel)
Named = tuple[tuple[str, Loaded], ...]


class NoSettings(ConfigModel):
    """Settings of an extension that takes none: `{}`."""


class MountedModels(NamedTuple):
    """The models of agents.json, with the fields of installed extensions.

    ``settings`` maps the name of each extension to the model of its settings. ``brought`` maps a
    field of agents to the third-party extension that declares it. ``rejected`` maps an extension to
    the reason why its fields are left out.
    """

    agent: type[AgentDefinition]
    channels: type[Channels]
    settings: Mapping[str, type[ConfigModel]]
    brought: Mapping[str, str] = MappingProxyType({})
    rejected: Mapping[str, str] = MappingProxyType({})


def load_models() -> MountedModels:
    """Return the models with the fields of every installed extension."""
    found = installed.find_installed()
    return _mount_models(tuple(found.own.items()), tuple(found.foreign.items()))


def list_channel_names() -> list[str]:
    """Return the names of all installed channels."""
    return [*load_models().channels.model_fields, *load_channel_kinds()]


def build_file_model() -> type[AgentsFile]:
    """Return the model of the whole file with only the fields of bundled extensions."""
    return _build_file_model(tuple(installed.find_installed().own.items()))


@cache
def _build_file_model(own: Named) -> type[AgentsFile]:
    models = _mount_models(own, ())
    settings: dict[str, Any] = {
        name: (model, Field(model(), alias=name, description=f"Settings of {name}."))
        for name, model in models.settings.items()
        if model is not NoSettings
    }
    fields: dict[str, Any] = {
        "agents": (GenericAlias(tuple, (models.agent, ...)), Field(min_length=1)),
        "channels": (models.channels, models.channels()),
    }
    if settings:
        extensions = _override_fields(ExtensionSettings, settings)
        fields["extensions"] = (extensions, extensions())
    return _override_fields(AgentsFile, fields)


@cache
def _mount_models(own: Named, foreign: Named) -> MountedModels:
    agents, channels, settings = [], [], {}
    for name, extension in own:
        agents.append(extension.get_agent_model())
        channels.append(extension.get_channels_model())
        settings[name] = extension.get_settings_model() or NoSettings
    brought: dict[str, str] = {}
    rejected: dict[str, str] = {}
    for name, extension in foreign:
        try:
            fields = _ask_for_model(extension.get_agent_model)
            model = _ask_for_model(extension.get_settings_model) or NoSettings
            _require_usable_fields(fields, agents)
        except ConfigError as error:
            rejected[name] = str(error)
            continue
        settings[name] = model
        agents.append(fields)
        brought |= dict.fromkeys(_list_names(fields), name)
    return MountedModels(
        _extend_model(AgentDefinition, agents),
        _extend_model(Channels, channels),
        settings,
        brought,
        rejected,
    )


def _list_names(model: type[ConfigModel] | None) -> Iterable[str]:
    return () if model is None else model.model_fields


def _ask_for_model(hook: Callable[[], Any]) -> type[ConfigModel] | None:
    """Return the answer of a foreign extension; raise ConfigError if there is no usable one."""
    try:
        model = hook()
    except FAULTS as error:
        raise ConfigError(f"{hook.__name__} raised {describe_fault(error)}") from error
    if model is None or (isinstance(model, type) and issubclass(model, ConfigModel)):
        return model
    raise ConfigError(f"{model!r} is not a subclass of orchestrator.agentsfile.ConfigModel")


def _require_usable_fields(
    fields: type[ConfigModel] | None, others: Iterable[type[ConfigModel] | None]
) -> None:
    """Raise ConfigError if a field is taken or has no default."""
    taken = {*dir(AgentDefinition), *AgentDefinition.model_fields}
    taken |= {name for other in others for name in _list_names(other)}
    for name in _list_names(fields):
        if name in taken:
            raise ConfigError(f'its agent field "{name}" is already declared by another extension')
        if fields is not None and fields.model_fields[name].is_required():
            raise ConfigError(f'its agent field "{name}" has no default')


def _extend_model(base: type[M], parts: Iterable[type[ConfigModel] | None]) -> type[M]:
    """Return a subclass of ``base`` with the fields of ``parts`` appended."""
    bases: list[type[ConfigModel]] = [base, *(part for part in parts if part is not None)]
    if len(bases) == 1:
        return base
    body = {
        "model_config": base.model_config,
        "__module__": base.__module__,
        "__doc__": base.__doc__,
    }
    made: type[M] = new_class(base.__name__, tuple(bases), {}, lambda space: space.update(body))
    ordered = (name for model in bases for name in model.model_fields)
    made.__pydantic_fields__ = {name: made.__pydantic_fields__[name] for name in ordered}
    return made


def _override_fields(base: type[M], fields: Mapping[str, Any]) -> type[M]:
    """Return a subclass of ``base`` that replaces the fields of these names."""
    return create_model(
        base.__name__, __base__=base, __module__=base.__module__, __doc__=base.__doc__, **fields
    )
