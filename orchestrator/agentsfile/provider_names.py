"""The names of providers: which are known, which a person may mean, and what to write instead."""

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


def named(text: str, known: Iterable[str] = PROVIDERS) -> str:
    """Return the provider that a person means, otherwise the text in small letters."""
    plain = "".join(char for char in text.lower() if char.isalnum())
    names = (*known, *ALIASES)
    if text.lower() in names:
        return ALIASES.get(text.lower(), text.lower())
    found = next((name for name in (plain, plain.removesuffix("ai")) if name in names), plain)
    return ALIASES.get(found, found)


def advice(text: str, known: Iterable[str] = PROVIDERS) -> str:
    """Return what to write in place of an unknown provider; nothing if none has such a name."""
    known = tuple(known)
    name = named(text, known)
    return f'; did you mean "{name}"?' if name in known else ""


def providers_in(info: ValidationInfo) -> Mapping[str, Provider]:
    """Return the providers that the file being validated may name."""
    context: Any = info.context
    return context if isinstance(context, Mapping) else PROVIDERS


def _known(value: str, info: ValidationInfo) -> str:
    return value if value == AUTO else _able(value, info, None)


def _like(value: str) -> str:
    known = [name for name, provider in PROVIDERS.items() if provider.wire != "demo"]
    if value in known:
        return value
    message = "must be a known provider"
    raise PydanticCustomError(UNKNOWN, "{message}", {"message": message, "known": known})


def _able(value: str, info: ValidationInfo, ability: Ability | None) -> str:
    providers = providers_in(info)
    known = [name for name, p in providers.items() if ability is None or ability in p.can]
    if value in known:
        return value
    which = f"that has {ability}" if ability else "of the list or of the file's providers"
    message = f"must be a provider {which}"
    context = {"message": message, "known": known, "ability": ability}
    raise PydanticCustomError(UNKNOWN, "{message}", context)


def _schema(names: Iterable[str]) -> WithJsonSchema:
    own = {"type": "string", "pattern": r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$"}
    return WithJsonSchema({"anyOf": [{"enum": [*names]}, own]})


def _that(ability: Ability) -> tuple[AfterValidator, WithJsonSchema]:
    """Return what a name of a provider with an ability has to be."""

    def check(value: str, info: ValidationInfo) -> str:
        return _able(value, info, ability)

    return AfterValidator(check), _schema(n for n, p in PROVIDERS.items() if ability in p.can)


ProviderName = Annotated[str, AfterValidator(_known), _schema((*PROVIDERS, AUTO))]
EmbeddingsProvider = Annotated[str, *_that("embeddings")]
HearingProvider = Annotated[str, *_that("transcription")]
SpeakingProvider = Annotated[str, *_that("speech")]
DrawingProvider = Annotated[str, *_that("drawing")]
LikeProvider = Annotated[str, AfterValidator(_like), WithJsonSchema({"enum": [*PROVIDERS]})]
