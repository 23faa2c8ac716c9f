"""cpuctl: what the kubelet's CPU, memory and topology managers do on a node, and why.

The names in ``__all__`` are public (``docs/library.md``, types in ``__init__.pyi``); each is loaded when
it is first used.
"""

__all__ = [
    "CPU",
    "LIBRARY_VERSION",
    "CPUSet",
    "Configuration",
    "ContainerView",
    "CpuctlError",
    "Decision",
    "Explanation",
    "Holder",
    "InputError",
    "Machine",
    "Node",
    "NodeAccessError",
    "NotStartedError",
    "Pod",
    "PodView",
    "Policy",
    "PolicyError",
    "Rejection",
    "ResizeDecision",
    "Topology",
    "Usage",
    "UsageError",
    "View",
    "make_node",
    "read_configuration",
    "read_machine",
    "read_pods",
]
__version__ = "0.1.0.dev0"


_MODULES = ("cpuctl.cpuset", "cpuctl.errors", "cpuctl.policies.model", "cpuctl.api")
"""The modules of the public names, the fastest to load first."""


def __getattr__(name: str) -> object:
    """Load a public name when it is first used; raise AttributeError for any other."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    from importlib import import_module

    return next(vars(found)[name] for found in map(import_module, _MODULES) if name in vars(found))


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
