"""A machine as other tools print it: lscpu, numactl, hwloc, ghw."""
