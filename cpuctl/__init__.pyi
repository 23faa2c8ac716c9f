from cpuctl.api import LIBRARY_VERSION as LIBRARY_VERSION
from cpuctl.api import Configuration as Configuration
from cpuctl.api import Decision as Decision
from cpuctl.api import Explanation as Explanation
from cpuctl.api import Machine as Machine
from cpuctl.api import Node as Node
from cpuctl.api import NotStartedError as NotStartedError
from cpuctl.api import Pod as Pod
from cpuctl.api import ResizeDecision as ResizeDecision
from cpuctl.api import make_node as make_node
from cpuctl.api import read_configuration as read_configuration
from cpuctl.api import read_machine as read_machine
from cpuctl.api import read_pods as read_pods
from cpuctl.cpuset import CPUSet as CPUSet
from cpuctl.errors import CpuctlError as CpuctlError
from cpuctl.errors import InputError as InputError
from cpuctl.errors import NodeAccessError as NodeAccessError
from cpuctl.errors import UsageError as UsageError

__all__ = [
    "LIBRARY_VERSION",
    "CPUSet",
    "Configuration",
    "CpuctlError",
    "Decision",
    "Explanation",
    "InputError",
    "Machine",
    "Node",
    "NodeAccessError",
    "NotStartedError",
    "Pod",
    "ResizeDecision",
    "UsageError",
    "make_node",
    "read_configuration",
    "read_machine",
    "read_pods",
]
__version__: str
