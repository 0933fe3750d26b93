"""The files for containers say what the program does: commands, variables, paths, times."""

import re
import shlex
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from fakes import manual
from fakes.command_line import check_command
from fakes.manual import ROOT, CommandLine

from orchestrator import settings
from orchestrator.agentsfile.loading import parse_agents_file
from orchestrator.cli.stop import WAIT
from orchestrator.control.daemon_answer import ANSWER_SECONDS
from orchestrator.errors import ExitCode
from orchestrator.extensions.http_api.api_settings import ApiSettings
from orchestrator.home_paths import Paths

CLUSTER = ROOT / "config" / "cluster"
CONTAINERFILE = (CLUSTER / "Containerfile").read_text("utf-8").replace("\\\n", " ")
COMPOSE: Any = yaml.safe_load((CLUSTER / "compose.yaml").read_text("utf-8"))
MANIFEST: dict[str, Any] = {
    part["kind"]: part
    for part in yaml.safe_load_all((CLUSTER / "kubernetes.yaml").read_text("utf-8"))
}
NODES = [COMPOSE["services"][name] for name in ("one", "two")]
POD = MANIFEST["StatefulSet"]["spec"]["template"]["spec"]
CONTAINER = POD["containers"][0]
ALIVE = f"orchestrator health || test $? -eq {ExitCode.NOT_RUNNING.value}"
READY = "orchestrator health --ready"


def instruction(name: str) -> list[str]:
    """What follows each instruction of this name in the Containerfile."""
    return re.findall(rf"^{name} (.*)$", CONTAINERFILE, re.MULTILINE)


def probe(name: str) -> str:
    """The line of a probe of the manifest, as a shell reads it."""
    words: list[str] = CONTAINER[name]["exec"]["command"]
    return words[2] if words[:2] == ["sh", "-c"] else shlex.join(words)


def home() -> Path:
    """The home in the image."""
    named = [line.partition("=")[2] for line in instruction("ENV") if "ORCHESTRATOR_HOME" in line]
    return Path(*named)


def mounts(node: dict[str, Any]) -> dict[Path, tuple[str, bool]]:
    """What a node of compose.yaml mounts, and whether it may only read it, by place."""
    parts = [volume.split(":") for volume in node["volumes"]]
    return {Path(place): (source, mode == ["ro"]) for source, place, *mode in parts}


def test_nodes_are_alive_while_they_stand_by_but_not_ready() -> None:
    """Code 3 is what `orchestrator health` ends with then."""
    assert [node["healthcheck"]["test"].replace("$$", "$") for node in NODES] == [ALIVE, ALIVE]
    assert (probe("livenessProbe"), probe("readinessProbe")) == (ALIVE, READY)


@pytest.mark.parametrize("line", [shlex.join(["orchestrator", "run"]), ALIVE, READY])
def test_commands_are_those_of_the_program(line: str) -> None:
    """With their options; `orchestrator run` is the image's own."""
    assert instruction("CMD") == ['["orchestrator", "run"]']
    commands = list(manual.commands_in(line))
    assert commands
    for words in commands:
        check_command(CommandLine(words, whole=True))


@pytest.mark.parametrize("file", sorted(CLUSTER.iterdir()), ids=lambda file: file.name)
def test_variables_are_settings(file: Path) -> None:
    """Also those that a comment names."""
    named = set(re.findall(r"\bORCHESTRATOR_\w+", file.read_text("utf-8")))
    assert named
    assert named <= settings.VARIABLES


def test_nodes_differ_in_their_volume_alone() -> None:
    """Each has a home of its own, and all else in common."""
    one, two = ({**node, "volumes": len(node["volumes"])} for node in NODES)
    assert one == two
    places = [mounts(node) for node in NODES]
    own = [place.pop(home().parent) for place in places]
    assert own == [("one", False), ("two", False)]
    assert places[0] == places[1]
    assert {*COMPOSE["volumes"]} == {"one", "two", "database"}


def test_nodes_that_all_work_reach_each_other() -> None:
    """By their names in the network of compose.yaml, and at the port of the API."""
    services = yaml.safe_load((CLUSTER / "all-work.yaml").read_text("utf-8"))["services"]
    assert {*services} == {*COMPOSE["services"]} - {"database"}
    for name, node in services.items():
        url = f"http://{name}:{ApiSettings().port}"
        assert node == {"environment": {"ORCHESTRATOR_NODE_URL": url}}
        assert node["environment"].keys().isdisjoint(COMPOSE["services"][name]["environment"])


def test_shared_folders_are_where_the_daemon_looks_for_them() -> None:
    """They can be read only."""
    config = Path(NODES[0]["environment"]["ORCHESTRATOR_CONFIG"])
    paths = Paths(home())
    shared = {place: found for place, found in mounts(NODES[0]).items() if place != home().parent}
    assert shared == {
        config.parent: ("./shared", True),
        paths.skills: ("./shared/skills", True),
        paths.prompts: ("./shared/prompts", True),
    }
    assert config.name == "agents.json"


def test_pods_mount_what_the_daemon_uses() -> None:
    """A volume for the home, agents.json, and a place for temporary files."""
    places = {mount["name"]: Path(mount["mountPath"]) for mount in CONTAINER["volumeMounts"]}
    config = MANIFEST["ConfigMap"]
    [variable] = CONTAINER["env"]
    assert (variable["name"], Path(variable["value"]).parent) == (
        "ORCHESTRATOR_CONFIG",
        places["config"],
    )
    assert list(config["data"]) == [Path(variable["value"]).name]
    assert places["home"] == home().parent == Path(*instruction("VOLUME"))
    volumes = {volume["name"]: volume for volume in POD["volumes"]}
    claims = MANIFEST["StatefulSet"]["spec"]["volumeClaimTemplates"]
    assert {*volumes} | {claim["metadata"]["name"] for claim in claims} == {*places}
    assert volumes["config"]["configMap"]["name"] == config["metadata"]["name"]


def test_agents_json_of_the_manifest_has_no_problem() -> None:
    """As `orchestrator check` reads it."""
    loaded = parse_agents_file(MANIFEST["ConfigMap"]["data"]["agents.json"].encode(), environ={})
    assert loaded.problems == ()


def test_a_stop_has_the_time_that_it_may_take() -> None:
    """As long as `orchestrator stop` waits; and a node that hangs is told from a slow machine."""
    assert [node["stop_grace_period"] for node in NODES] == [f"{WAIT:.0f}s"] * 2
    assert POD["terminationGracePeriodSeconds"] == WAIT
    assert CONTAINER["livenessProbe"]["timeoutSeconds"] > ANSWER_SECONDS
    assert all(int(node["healthcheck"]["timeout"][:-1]) > ANSWER_SECONDS for node in NODES)


def test_user_of_the_image_is_that_of_the_pods() -> None:
    """Otherwise the home would belong to another one."""
    [user] = instruction("USER")
    context = POD["securityContext"]
    assert user == f"{context['runAsUser']}:{context['runAsGroup']}"
    assert context["fsGroup"] == context["runAsGroup"]
    assert f"useradd --uid {context['runAsUser']} " in CONTAINERFILE


def test_image_is_made_of_what_the_checkout_has() -> None:
    """The sources of each COPY exist, and are all that the build reads."""
    copied = [
        source
        for line in instruction("COPY")
        if not line.startswith("--")
        for source in line.split()[:-1]
    ]
    assert [source for source in copied if not (ROOT / source).exists()] == []
    assert {"orchestrator", "thinker", "config", "prompts", "skills", "LICENSE"} <= {*copied}


@pytest.mark.process
def test_package_is_built_from_what_the_image_copies(tmp_path: Path) -> None:
    """With all of its data: the last command of the build, on the files that it has."""
    places = [line.split() for line in instruction("COPY") if not line.startswith("--")]
    for *sources, _ in places:
        for source in sources:
            if (ROOT / source).is_dir():
                shutil.copytree(ROOT / source, tmp_path / source, dirs_exist_ok=True)
            else:
                shutil.copy(ROOT / source, tmp_path)
    [build] = [line for line in instruction("RUN") if "--no-build-isolation" in line]
    assert build.endswith("--no-build-isolation --no-deps .")
    program = "import hatchling.build as build; print(build.build_wheel('wheels'))"
    (tmp_path / "wheels").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    with zipfile.ZipFile(tmp_path / "wheels" / done.stdout.split()[-1]) as wheel:
        names = {*wheel.namelist()}
    data = "orchestrator/_data"
    assert {
        "orchestrator/__main__.py",
        "thinker/__main__.py",
        f"{data}/config/agents.json",
        f"{data}/prompts/default-system-prompt.md",
        f"{data}/skills/orchestrator-guide/SKILL.md",
    } <= names


def test_page_about_docker_starts_the_image_as_it_is_made() -> None:
    """With its volume, its home, its user, and the times that a stop and an answer may take."""
    page = (manual.REFERENCES / "docker.md").read_text("utf-8")
    assert f"--volume orchestrator:{Path(*instruction('VOLUME'))}" in page
    assert f"`{home()}`" in page
    assert f"USER {instruction('USER')[0]}" in page
    assert f"--stop-timeout {WAIT:.0f}" in page
    [seconds] = re.findall(r"--health-timeout (\d+)s", page)
    assert int(seconds) > ANSWER_SECONDS


def test_driver_of_the_image_is_locked() -> None:
    """So is the library of every channel: the image has all extras."""
    [lock] = re.findall(r"--require-hashes --requirement (\S+)", CONTAINERFILE)
    parts = re.split(r"^(?=\S)", (ROOT / lock).read_text("utf-8"), flags=re.MULTILINE)[1:]
    assert all("--hash=sha256:" in part for part in parts)
    locked = {part.partition("==")[0] for part in parts}
    assert {"psycopg", "psycopg-binary", "matrix-nio", "discord-py", "slack-sdk"} <= locked
