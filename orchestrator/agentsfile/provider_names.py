"""The names of providers: the known ones, their spellings, and suggestions for unknown ones."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, ValidationInfo, WithJsonSchema
from pydantic_core import PydanticCustomError

from thinker.protocol.providers import PROVIDERS, Ability, Provider

AUTO = "auto"  # the first provider with a key, or a local server
UNKNOWN = "unknown_provider"  # kind of pydantic's error, with the known names in its context
ALIASES: Mapping[str, str] = {
    alias: name for name, provider in PROVIDERS.items() for alias in provider.aliases
}


def match_provider_name(text: str, known: Iterable[str] = PROVIDERS) -> str:
    """Return the known provider for a spelling; any other text in lower case."""
    plain = "".join(char for char in text.lower() if char.isalnum())
    names = (*known, *ALIASES)
    if text.lower() in names:
        return ALIASES.get(text.lower(), text.lower())
    found = next((name for name in (plain, plain.removesuffix("ai")) if name in names), plain)
    return ALIASES.get(found, found)


def suggest_provider(text: str, known: Iterable[str] = PROVIDERS) -> str:
    """Return the suggestion for an unknown provider; empty if no name is similar."""
    known = tuple(known)
    name = match_provider_name(text, known)
    return f'; did you mean "{name}"?' if name in known else ""


def get_known_providers(info: ValidationInfo) -> Mapping[str, Provider]:
    """Return the providers that the file under validation may name."""
    context: Any = info.context
    return context if isinstance(context, Mapping) else PROVIDERS


def _require_known_provider(value: str, info: ValidationInfo) -> str:
    return value if value == AUTO else _require_ability(value, info, None)


def _require_base_provider(value: str) -> str:
    known = [name for name, provider in PROVIDERS.items() if provider.wire != "demo"]
    if value in known:
        return value
    message = "must be a known provider"
    raise PydanticCustomError(UNKNOWN, "{message}", {"message": message, "known": known})


def _require_ability(value: str, info: ValidationInfo, ability: Ability | None) -> str:
    providers = get_known_providers(info)
    known = [name for name, p in providers.items() if ability is None or ability in p.can]
    if value in known:
        return value
    which = f"that has {ability}" if ability else "of the list or of the file's providers"
    message = f"must be a provider {which}"
    context = {"message": message, "known": known, "ability": ability}
    raise PydanticCustomError(UNKNOWN, "{message}", context)


def _build_name_schema(names: Iterable[str]) -> WithJsonSchema:
    own = {"type": "string", "pattern": r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$"}
    return WithJsonSchema({"anyOf": [{"enum": [*names]}, own]})


def _build_ability_check(ability: Ability) -> tuple[AfterValidator, WithJsonSchema]:
    """Return a validator of provider names that requires an ability."""

    def check_ability(value: str, info: ValidationInfo) -> str:
        return _require_ability(value, info, ability)

    return AfterValidator(check_ability), _build_name_schema(
        n for n, p in PROVIDERS.items() if ability in p.can
    )


ProviderName = Annotated[
    str, AfterValidator(_require_known_provider), _build_name_schema((*PROVIDERS, AUTO))
]
EmbeddingsProvider = Annotated[str, *_build_ability_check("embeddings")]
TranscriptionProvider = Annotated[str, *_build_ability_check("transcription")]
SpeechProvider = Annotated[str, *_build_ability_check("speech")]
PictureProvider = Annotated[str, *_build_ability_check("drawing")]
LikeProvider = Annotated[
    str, AfterValidator(_require_base_provider), WithJsonSchema({"enum": [*PROVIDERS]})
]
