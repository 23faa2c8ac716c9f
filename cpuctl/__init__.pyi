# Names stand here for type checkers: an import in __init__.py, even one for them alone, would tie the
# package to the topmost of its layers. What is said twice is compared in tests/test_library.py.
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
from cpuctl.errors import PolicyError as PolicyError
from cpuctl.errors import UsageError as UsageError
from cpuctl.policies.model import CPU as CPU
from cpuctl.policies.model import ContainerView as ContainerView
from cpuctl.policies.model import Holder as Holder
from cpuctl.policies.model import PodView as PodView
from cpuctl.policies.model import Policy as Policy
from cpuctl.policies.model import Rejection as Rejection
from cpuctl.policies.model import Topology as Topology
from cpuctl.policies.model import Usage as Usage
from cpuctl.policies.model import View as View

__version__: str
