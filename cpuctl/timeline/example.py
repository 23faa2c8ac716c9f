"""The timeline that ``cpuctl replay --new`` prints: every part of the format once, with comments."""

from __future__ import annotations

EXAMPLE = """\
# A timeline for cpuctl replay. Times are durations from its beginning: 0s, 500ms, 1m30s.
apiVersion: cpuctl/v1alpha1
kind: Timeline
description: A packet gateway gives up CPUs while another pod waits for them.

# What -m takes elsewhere: live, synthetic:..., or a directory, archive or file beside this one.
machine: synthetic:1s1n8c2t
cgroupVersion: 2                # default; 1 rejects CPU sets with CPUs that are offline

kubelet:                        # runs from the beginning (running: false if not)
  version: "1.37"
  preview: true                 # default: the gate below enables KEP-5554's allocator in any release
  # podScaleDownGrace: true     # preview: the delay comes from pods' scaleDownGracePeriodSeconds
  config:                       # a KubeletConfiguration, or the name of a file with one
    cpuManagerPolicy: static
    reservedSystemCPUs: 0,8
    cpuManagerReconcilePeriod: 1s
    cpuManagerPolicyOptions: {scale-delay-time: 5s}
    featureGates:
      CPUManagerPolicyAlphaOptions: true
      InPlacePodVerticalScalingExclusiveCPUs: true

apiServer:                      # default: release and gates of the kubelet
  featureGates: {DownwardAPIAssignedResources: true}

timing:                         # these are the defaults
  volumeSync: 100ms             # from a pod's sync to the new content of its volumes
  podSync: 0s                   # from a reason to sync a pod until that happens
  reconcilePass: 0s             # how long a pass of the CPU Manager takes

pods:                           # manifests, or descriptions as for cpuctl plan -T
- filler=10,1Gi
- metadata: {name: gateway}
  spec:
    containers:
    - name: app
      resources: {limits: {cpu: 2, memory: 1Gi}}
    volumes:
    - name: podinfo
      downwardAPI:
        items:
        - path: assigned_cpuset
          resourceFieldRef: {containerName: app, resource: assigned.cpuset}
- late=2,1Gi

# Each event has a time and one action: admit, schedule, resize, update, remove, start, exit, kubelet,
# apiServer, cpus or stateFile. An expectation is checked after its own event.
events:
- {at: 0s, admit: gateway}
- at: 1500ms
  resize: {pod: gateway, cpu: 4}
- at: 2s
  expect:
    containers:
      gateway/app: {cpus: "1-2,9-10", cgroup: "1-2,9-10"}
- {at: 3s, admit: filler}
- at: 4001ms
  resize: {pod: gateway, cpu: 2}
- at: 5s
  note: The scheduler does not know yet that the CPUs are free, as the pod's status does not show it.
  schedule: late
  expect:
    pods:
      gateway: {conditions: {PodResizeInProgress: ""}}
      late: {phase: Unscheduled}
    scheduler: {cpu: "0"}
- at: 9s
  note: One millisecond before the delay expires.
  expect:
    containers:
      gateway/app: {cpus: "1-2,9-10", pending: "1,9", downward: "1,9", cgroup: "1-2,9-10"}
- at: 10s
  expect:
    containers:
      gateway/app: {cpus: "1,9", pending: null, downward: "1,9", cgroup: "1,9", actual: 2}
      late/late: {cpus: "2,10", state: running}
    slis: {lateNotifications: 0}
- {at: 12s, kubelet: restart}
# More of what can happen (then leave out until, or make it later):
# - {at: 14s, kubelet: {action: upgrade, version: "1.38", takes: 2s}}
# - {at: 20s, kubelet: {action: reconfigure, config: {cpuManagerReconcilePeriod: 10s}}}
# - {at: 21s, apiServer: {featureGates: {DownwardAPIAssignedResources: false}}}
# - {at: 22s, update: {pod: gateway, assignedCPUSet: []}}  # the pod is updated, without the volume
# - {at: 23s, kubelet: {action: downgrade, version: "1.37"}}
# - {at: 25s, cpus: {offline: "15"}}
# - {at: 26s, stateFile: {delete: true}}                   # or text, or entries and defaultCpuSet
# - {at: 27s, exit: gateway/app}
# - {at: 28s, start: gateway/app}
# - {at: 29s, remove: gateway}
# - {at: 30s, kubelet: stop}
# - {at: 31s, kubelet: start}
- at: 13s
  expect:
    kubelet: {running: true}
    stateFile:
      format: v4
      entries: {gateway/app: "1,9", late/late: "2,10"}
      baselines: {gateway/app: "1,9"}
until: 15s
"""
