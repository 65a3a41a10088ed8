"""The command that creates or repairs the virtualenv from the lock file, with any Python 3.

It needs the standard library only. It is safe to run at any time and several times at once: a lock
file serialises the runs, and a stamp, which is written last, names the lock file that the
virtualenv holds.
"""

import sys

if sys.version_info < (3, 11):  # noqa: UP036 - an older Python must get a message, not a traceback
    sys.exit(
        f"gpu-runtime needs Python 3.11 or newer, and {sys.executable} is "
        f"{sys.version.split()[0]}.\nInstall one and choose it: make PYTHON=python3.11 up"
    )

import configparser
import fcntl
import hashlib
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"


def main() -> None:
    VENV.mkdir(exist_ok=True)
    with (VENV / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        stamp, current = VENV / "stamp", fingerprint()
        if stamp.exists() and stamp.read_text() == current:
            return
        stamp.unlink(missing_ok=True)
        create_virtualenv()
        install()
        stamp.write_text(current)


def fingerprint() -> str:
    """Return a digest of the lock, the package, its path and the Python version."""
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    package = [dict(setup[name]) for name in setup if name.startswith(("metadata", "options"))]
    digest = hashlib.sha256(f"{ROOT} {sys.version} {package}".encode())
    digest.update((ROOT / "requirements.lock").read_bytes())
    return digest.hexdigest()


def create_virtualenv() -> None:
    print(f"venv: creating .venv with {sys.executable}", flush=True)
    result = subprocess.run(
        [sys.executable, "-m", "venv", str(VENV)], capture_output=True, text=True, check=False
    )
    if result.returncode != 0:
        sys.exit(
            f"{result.stdout}{result.stderr}\nCould not create the virtualenv. "
            "On Debian and Ubuntu: apt-get install python3-venv"
        )


def install() -> None:
    print("venv: installing the locked dependencies (about a minute the first time)", flush=True)
    pip("install", "--require-hashes", "-r", str(ROOT / "requirements.lock"))
    pip("install", "--no-deps", "--no-build-isolation", "--editable", str(ROOT))


def pip(*arguments: str) -> None:
    command = [str(VENV / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "-q"]
    result = subprocess.run([*command, *arguments], check=False)
    if result.returncode != 0:
        sys.exit("pip failed, see above; the next make continues from here")


if __name__ == "__main__":
    main()
