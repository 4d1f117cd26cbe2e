"""Confines worker processes: they get a small environment, and little else if their tools only read files.

Libraries that parse documents, sound and video have defects that a hostile file can use. The processes of such tools
give up the network, other programs and processes, and all files but those that they need, before they see a file.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path

from agentgauge.core.files import expanded_if_known
from agentgauge.sandbox.inner import landlock, linux, seccomp
from agentgauge.sandbox.paths import HIDDEN, view
from tool_impls import registry
from tool_impls.fonts import FOLDERS
from tool_impls.settings import ToolSettings

_KEPT = """
PATH HOME USER LANG LANGUAGE LC_ALL LC_CTYPE TZ TMPDIR LD_LIBRARY_PATH
PYTHONPATH PYTHONHOME PYTHONDONTWRITEBYTECODE PYTHONUTF8 PYTHONHASHSEED PYTHONWARNINGS VIRTUAL_ENV
XDG_CACHE_HOME XDG_CONFIG_HOME XDG_DATA_HOME NUMBA_CACHE_DIR MPLCONFIGDIR YOLO_CONFIG_DIR
HF_HOME HF_HUB_CACHE HF_HUB_OFFLINE HF_ENDPOINT TRANSFORMERS_OFFLINE TORCH_HOME
OMP_NUM_THREADS MKL_NUM_THREADS OPENBLAS_NUM_THREADS NUMBA_NUM_THREADS TOKENIZERS_PARALLELISM
CUDA_VISIBLE_DEVICES CUDA_DEVICE_ORDER CUDA_HOME CUDA_PATH CUDA_CACHE_PATH CUDA_MODULE_LOADING
NVIDIA_VISIBLE_DEVICES NVIDIA_DRIVER_CAPABILITIES HIP_VISIBLE_DEVICES ROCR_VISIBLE_DEVICES
PYTORCH_CUDA_ALLOC_CONF CUBLAS_WORKSPACE_CONFIG
"""
"""Variables that the interpreter and the libraries read: paths, languages, threads, devices."""

_OF_THE_NETWORK = "HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE"
"""For processes of tools that may ask a service. A proxy's address may hold a password."""

_DATA = "/etc/fonts /etc/localtime /etc/mime.types /usr/share /usr/local/share /proc/self /sys/devices/system/cpu"
"""What libraries look up: fonts, time zones, kinds of files, the number of processors."""

_DEVICES = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom")
_ROOT = Path(__file__).parents[2]


def environment(settings: ToolSettings, tools: Iterable[str]) -> dict[str, str]:
    """The environment variables for a process of these tools. Only keys of services that the tools are configured to
    use are among them.
    """
    kinds = [registry.TOOLS[name] for name in tools if name in registry.TOOLS]
    wanted = {HIDDEN, *_KEPT.split()}
    if not kinds or not all(kind.confined and not kind.on_device(settings) for kind in kinds):
        wanted |= {*_OF_THE_NETWORK.split(), *_OF_THE_NETWORK.lower().split()}
    for kind in kinds:
        wanted |= set(kind.variables)
        for table in (settings.tables.get(name, {}) for name in kind.tables):
            wanted |= {str(table["key_env"])} if table.get("key_env") else set()
            wanted |= {"HF_TOKEN"} if table.get("allow_download") else set()
    return {name: value for name, value in os.environ.items() if name in wanted}


def confine(read: Iterable[str], write: Iterable[str]) -> str:
    """Give up all rights that tools do not need to read files, for this process and for good. Call it before threads
    start.

    ``read``: files and folders that stay readable beside the interpreter, its packages and fonts; ``write``: folders.
    Returns the layers in force, and the reason for each that is missing.
    """
    if sys.platform != "linux":
        return f"not confined: {sys.platform} has no seccomp and no Landlock"
    os.environ["JOBLIB_MULTIPROCESSING"] = "0"  # else it warns that it has no semaphores
    missing, found = [], ["no_new_privs"]
    linux.prctl(linux.PR_SET_NO_NEW_PRIVS, 1)
    if os.geteuid() == 0:
        linux.drop_capabilities()
        found.append("no_capabilities")
    fonts = (str(expanded_if_known(folder)) for folder in FOLDERS)
    seen = view([*read, *_DATA.split(), *fonts, *(str(_ROOT / name) for name in ("agentgauge", "tool_impls"))])
    # The first takes the right to execute anything, which the second would leave.
    if landlock.restrict((), (), ("/",), ()) and landlock.restrict(seen.readable, seen.listed, write, _DEVICES):
        found.append("landlock")
    else:
        missing.append("this kernel has no Landlock, so it may read and write the user's files")
    if seccomp.restrict(alone=True, network=False, counted=False):
        found.append("seccomp")
    else:
        missing.append("seccomp cannot be used here, so it may use the network and start processes")
    return ", ".join(found) + "".join(f"; not fully confined: {reason}" for reason in missing)


def paths_of(settings: ToolSettings, tools: Iterable[str]) -> list[str]:
    """The files and folders that the options of tools name, such as fonts."""
    named = ((name, option) for name in tools for option in registry.TOOLS[name].options if option.kind == "path")
    return [str(path) for name, option in named if (path := settings.value(name, option))]
