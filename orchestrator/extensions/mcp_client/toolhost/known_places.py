"""Where users and machines keep secrets, and what starts programs outside of every jail.

The names in a user's home are below it; those of the machine are whole paths. A server reads no
secret unless its ``sandbox`` names the place, and writes nothing that starts programs at all.
"""

import os
import pwd
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

PACKAGE = Path(__file__).parents[3]
SECRETS = """
.ssh .gnupg .pki .putty .age .config/age .config/sops .netrc .authinfo .authinfo.gpg
.git-credentials .config/git/credentials .config/gh .config/hub .config/glab-cli .config/tea .aws
.azure .config/gcloud .boto .s3cfg .config/rclone .config/doctl .config/hcloud .config/scw
.config/linode-cli .oci .bluemix .terraform.d .terraformrc .pulumi .vault-token .config/op .kube
.config/helm .docker .config/containers .config/fly .fly .config/heroku .config/netlify
.config/vercel .local/share/com.vercel.cli .wrangler .config/.wrangler .config/configstore .npmrc
.yarnrc .yarnrc.yml .config/pnpm .pypirc .config/pip .pip .config/pypoetry .cargo/credentials
.cargo/credentials.toml .gem/credentials .m2/settings.xml .m2/settings-security.xml
.gradle/gradle.properties .nuget/NuGet .composer/auth.json .config/composer/auth.json
.config/hatch .cache/huggingface/token .huggingface .config/huggingface .config/openai .kaggle
.modal.toml .wandb .claude .claude.json .codex .gemini .config/github-copilot .config/anthropic
.cursor .continue .aider.conf.yml .local/share/keyrings .local/share/kwalletd
.kde/share/apps/kwallet .password-store .config/Bitwarden .config/1Password .config/keepassxc
.cache/keepassxc .lastpass .config/KeePass .mozilla .librewolf .waterfox .zen
.config/google-chrome .config/google-chrome-beta .config/chromium .config/microsoft-edge
.config/BraveSoftware .config/vivaldi .config/opera .cache/mozilla .cache/google-chrome
.cache/chromium .cache/BraveSoftware .var/app snap .local/share/epiphany .thunderbird
.config/evolution .local/share/evolution .cache/evolution .cache/thunderbird .local/share/kmail2
.local/share/akonadi .local/share/local-mail .config/neomutt .config/mutt .mutt .muttrc .mbsyncrc
.config/isyncrc .offlineimaprc .msmtprc .config/msmtp .config/himalaya .fetchmailrc Mail mail
Maildir .mail mbox .local/share/mail .config/Signal .config/Slack .config/discord .config/Element
.config/telegram-desktop .local/share/TelegramDesktop .config/Microsoft .config/weechat .weechat
.irssi .purple .bash_history .zsh_history .zhistory .zsh_sessions .history
.local/share/fish/fish_history .local/share/xonsh .config/nushell/history.txt .local/share/atuin
.python_history .node_repl_history .psql_history .mysql_history .sqlite_history .rediscli_history
.lesshst .viminfo .local/share/recently-used.xbel .pgpass .my.cnf .mylogin.cnf .config/psql
.dbshell .mongorc.js .config/DBeaver .local/share/DBeaverData .Xauthority .ICEauthority
.local/share/keybase .config/keybase .electrum .bitcoin .ethereum .config/solana .config/remmina
.local/share/remmina .vnc .config/filezilla .davfs2 .smbcredentials .cifs .wakatime.cfg
.config/Code/User/globalStorage .config/Cursor/User/globalStorage .config/JetBrains
.config/environment.d .config/orchestrator .env .envrc
"""
SPACED = (".config/Bitwarden CLI", ".config/Beeper Texts", ".config/Mullvad VPN")
# Of the machine: what the daemon may read when it is root, and what the user's sessions share.
MACHINE_SECRETS = (
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/krb5.keytab",
    "/etc/ssh",
    "/etc/ssl/private",
    "/etc/pki/tls/private",
    "/etc/letsencrypt",
    "/etc/wireguard",
    "/etc/openvpn",
    "/etc/NetworkManager/system-connections",
    "/etc/wpa_supplicant",
    "/etc/kubernetes",
    "/etc/rancher",
    "/etc/credstore",
    "/etc/credstore.encrypted",
    "/etc/mail",
    "/etc/exim4/passwd.client",
    "/etc/postfix/sasl_passwd",
    "/run/user",
    "/run/secrets",
    "/run/credentials",
    "/var/run/secrets",
    "/var/mail",
    "/var/spool/mail",
    "/var/spool/cron",
    "/var/lib/private",
    "/var/lib/sss",
    "/var/lib/systemd/credential.secret",
    "/var/lib/docker",
    "/var/lib/containers",
    "/var/backups",
)
# Terminals, cameras, shared memory and disks; a few harmless devices are granted by name.
DEVICE_FOLDER = "/dev"
DEVICES = tuple(f"/dev/{name}" for name in ("null", "zero", "full", "random", "urandom"))
# What starts programs, or is one, as the user without a jail. Python imports parts of .local/lib at
# each start, cargo and others read .cargo/env, docker runs the helpers that its file names.
STARTED = """
.bashrc .bash_profile .bash_login .bash_logout .bash_aliases .bash_completion .profile .inputrc
.envrc .zshrc .zshenv .zprofile .zlogin .zlogout .zsh .oh-my-zsh .zinit .config/zsh .config/fish
.config/nushell .local/share/bash-completion .local/share/fish .config/starship.toml
.config/direnv .config/mise .xinitrc .xprofile .xsession .xsessionrc .pam_environment
.config/plasma-workspace .config/systemd .config/autostart .config/environment.d
.local/share/systemd .config/sway .config/i3 .config/hypr .local/share/dbus-1
.local/share/applications .config/mimeapps.list .local/share/nautilus bin .bin .local/bin
.local/lib .local/share/uv .local/share/pipx .local/pipx .local/share/pnpm .local/share/mise
.cargo .rustup go/bin .bun .deno .pyenv .rbenv .nvm .volta .asdf .sdkman .npm-global .npm-packages
.npm .npmrc .yarnrc .yarnrc.yml .config/yarn .config/pnpm .config/pip .pip .config/uv .cache/uv
.cache/pip .cache/pre-commit .gem .bundle .m2 .gradle .ivy2 .sbt .nuget .composer .config/composer
.pydistutils.cfg .ssh .gnupg .gitconfig .gitignore .config/git .config/gh .hgrc .config/hg
.subversion .netrc .docker .config/containers .kube .aws .azure .config/gcloud .terraform.d
.terraformrc .tmux .tmux.conf .config/tmux .screenrc .gdbinit .gdbearlyinit .config/gdb .lldbinit
.psqlrc .config/psql .ipython .jupyter .pythonrc .pythonrc.py .Rprofile .irbrc .pryrc
.config/matplotlib .config/ranger .config/lf .vimrc .vim .config/nvim .local/share/nvim .emacs
.emacs.d .config/emacs .nanorc .config/nano .config/helix .vscode .vscode-server .cursor
.config/Code .config/Cursor .config/JetBrains .local/share/JetBrains .claude .claude.json .codex
.gemini .lesskey .lessfilter .mailcap .forward .procmailrc .config/mpv .mutt .muttrc .config/kitty
.config/alacritty .config/wezterm .config/ghostty .config/foot .mozilla .config/google-chrome
.config/chromium .var/app snap
"""
MACHINE_STARTED = (
    "/bin",
    "/boot",
    "/etc",
    "/lib",
    "/lib32",
    "/lib64",
    "/proc",
    "/sbin",
    "/snap",
    "/sys",
    "/usr",
    "/nix",
    "/run/systemd",
    "/run/user",
    "/var/lib/dpkg",
    "/var/spool/cron",
)


def list_user_homes(environ: Mapping[str, str]) -> list[str]:
    """Return the homes of this process's user; root can read all."""
    found = [environ.get("HOME") or "/nonexistent"]
    if os.getuid() == 0:
        found += ["/root", *(str(path) for path in _list_folder("/home"))]
    else:
        with suppress(KeyError):  # a container's user without a name
            found.append(pwd.getpwuid(os.getuid()).pw_dir)
    return list(dict.fromkeys(os.path.realpath(path) for path in found if path != "/"))


def list_secret_places(environ: Mapping[str, str]) -> list[str]:
    """Return the real paths of what servers do not read unless they are told to."""
    tickets = (str(path) for path in _list_folder("/tmp") if path.name.startswith("krb5cc"))  # noqa: S108 - where Kerberos keeps tickets
    machine = filter(os.path.lexists, MACHINE_SECRETS)
    return _resolve((*_join_homes((*SECRETS.split(), *SPACED), environ), *machine, *tickets))


def list_starting_places(environ: Mapping[str, str]) -> list[str]:
    """Return the real paths of what no server writes: the daemon's program and what starts others.

    A checkout of the program counts as a whole, with its tests, scripts and repository.
    """
    installed = PACKAGE.parent.name.endswith("-packages")
    program = str(PACKAGE if installed else PACKAGE.parent)
    machine = filter(os.path.lexists, MACHINE_STARTED)
    return _resolve(
        (*list_code_folders(), program, *machine, *_join_homes(STARTED.split(), environ))
    )


def list_program() -> tuple[str, ...]:
    """Return the folder of the daemon's program, and what of it starts programs for a developer."""
    installed = PACKAGE.parent.name.endswith("-packages")
    folder = PACKAGE if installed else PACKAGE.parent
    return (str(folder), *(() if installed else (f"{folder}/.git/hooks", f"{folder}/scripts")))


def list_code_folders() -> tuple[str, ...]:
    """Return the folders of the daemon's own program and of its Python."""
    return (sys.prefix, sys.base_prefix, str(PACKAGE), str(PACKAGE.parent / "thinker"))


def _join_homes(names: Iterable[str], environ: Mapping[str, str]) -> Iterator[str]:
    for home in list_user_homes(environ):
        for name in names:
            yield f"{home}/{name}"


def _list_folder(path: str) -> list[Path]:
    try:
        return sorted(Path(path).iterdir())
    except OSError:
        return []


def _resolve(paths: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(map(os.path.realpath, paths)))
