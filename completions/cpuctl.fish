# Completion of cpuctl for fish 3.1 and newer: put this file into ~/.config/fish/completions/.
# Made from the command table by "cpuctl completion fish": change it there.

# Prints the commands that were typed ("checkpoint dump"), and after a colon how many arguments follow.
function __cpuctl_place
    set -l words (commandline -opc)
    set -l path
    set -l number 1
    set -l skip 0
    set -l plain 0
    for word in $words[2..-1]
        if test $skip -gt 0
            set skip (math $skip - 1)
        else if test $plain = 0; and test "$word" = --
            set plain 1
        else if test $plain = 0; and string match -q -- '-*' "$word"
            if contains -- "$path:$word" $__cpuctl_values
                set skip 1
            end
        else if contains -- (string join ' ' $path "$word") $__cpuctl_paths
            set path (string join ' ' $path "$word")
        else
            set number (math $number + 1)
        end
    end
    echo "$path:$number"
end

function __cpuctl_at
    string match -q -- "$argv[1]:*" (__cpuctl_place)
end

function __cpuctl_argument
    test (__cpuctl_place) = "$argv[1]"
end

# Prints what cpuctl knows of the files on the command line; fish quotes it, nothing is evaluated.
function __cpuctl_ask
    set -l current (commandline -ct | string unescape)
    set current (string replace -r -- '^--[^=]*=' '' "$current")
    command cpuctl __complete $argv[1] fish (commandline -opc) "$current" 2>/dev/null </dev/null
end

function __cpuctl_machine
    set -l current (commandline -ct | string replace -r -- '^--[^=]*=' '')
    if string match -q -- 'synthetic:*' "$current"
        __cpuctl_ask machine
    else
        printf '%s\n' live synthetic:
        __fish_complete_path "$current"
    end
end

set -g __cpuctl_paths 'plan' \
    'explain' \
    'advise' \
    'resize' \
    'pods' \
    'pods show' \
    'pods diff' \
    'pods lint' \
    'replay' \
    'policies' \
    'policies list' \
    'policies show' \
    'policies new' \
    'topology' \
    'topology show' \
    'topology map' \
    'topology distances' \
    'topology synthetic' \
    'topology devices' \
    'config' \
    'config reserve' \
    'config show' \
    'config check' \
    'config versions' \
    'checkpoint' \
    'checkpoint dump' \
    'checkpoint verify' \
    'checkpoint diff' \
    'checkpoint migrate' \
    'checkpoint repair' \
    'checkpoint new' \
    'checkpoint versions' \
    'audit' \
    'top' \
    'report' \
    'watch' \
    'cgroups' \
    'cgroups show' \
    'cgroups apply' \
    'nri' \
    'nri run' \
    'dra' \
    'dra slices' \
    'dra allocate' \
    'capture' \
    'fleet' \
    'fleet list' \
    'fleet check' \
    'fleet diff' \
    'fleet plan' \
    'fleet report' \
    'schema' \
    'completion'
set -g __cpuctl_values 'plan:-f' \
    'plan:--filename' \
    'plan:-T' \
    'plan:--template' \
    'plan:-m' \
    'plan:--machine' \
    'plan:--state' \
    'plan:--pods' \
    'plan:--devices' \
    'plan:--driver-args' \
    'plan:--ephemeral-storage' \
    'plan:--memory' \
    'plan:--kubelet-config' \
    'plan:--config-dir' \
    'plan:--kubelet-args' \
    'plan:--kubelet-version' \
    'plan:--feature-gates' \
    'plan:--policy' \
    'plan:--order' \
    'plan:--repeat' \
    'plan:--compare' \
    'plan:--svg' \
    'plan:--html' \
    'plan:--write-state' \
    'plan:--publisher' \
    'plan:-o' \
    'plan:--output' \
    'explain:--message' \
    'explain:-f' \
    'explain:--filename' \
    'explain:-T' \
    'explain:--template' \
    'explain:-m' \
    'explain:--machine' \
    'explain:--state' \
    'explain:--pods' \
    'explain:--events' \
    'explain:--devices' \
    'explain:--driver-args' \
    'explain:--ephemeral-storage' \
    'explain:--memory' \
    'explain:--kubelet-config' \
    'explain:--config-dir' \
    'explain:--kubelet-args' \
    'explain:--kubelet-version' \
    'explain:--feature-gates' \
    'explain:--policy' \
    'explain:-o' \
    'explain:--output' \
    'advise:-f' \
    'advise:--filename' \
    'advise:-T' \
    'advise:--template' \
    'advise:-m' \
    'advise:--machine' \
    'advise:--state' \
    'advise:--pods' \
    'advise:--devices' \
    'advise:--driver-args' \
    'advise:--ephemeral-storage' \
    'advise:--memory' \
    'advise:--kubelet-config' \
    'advise:--config-dir' \
    'advise:--kubelet-args' \
    'advise:--kubelet-version' \
    'advise:--feature-gates' \
    'advise:--budget' \
    'advise:--keep' \
    'advise:--snippet' \
    'advise:-o' \
    'advise:--output' \
    'resize:-f' \
    'resize:--filename' \
    'resize:-T' \
    'resize:--template' \
    'resize:-m' \
    'resize:--machine' \
    'resize:--state' \
    'resize:--pods' \
    'resize:--devices' \
    'resize:--driver-args' \
    'resize:--ephemeral-storage' \
    'resize:--memory' \
    'resize:--kubelet-config' \
    'resize:--config-dir' \
    'resize:--kubelet-args' \
    'resize:--kubelet-version' \
    'resize:--feature-gates' \
    'resize:--apiserver-version' \
    'resize:--apiserver-feature-gates' \
    'resize:--set' \
    'resize:--edited' \
    'resize:--policy' \
    'resize:--resize-semantics' \
    'resize:--write-state' \
    'resize:-o' \
    'resize:--output' \
    'pods show:-f' \
    'pods show:--filename' \
    'pods show:-T' \
    'pods show:--template' \
    'pods show:-m' \
    'pods show:--machine' \
    'pods show:--memory' \
    'pods show:--cgroup-version' \
    'pods show:--oci-runtime' \
    'pods show:--usage' \
    'pods show:--kubelet-config' \
    'pods show:--config-dir' \
    'pods show:--kubelet-args' \
    'pods show:--kubelet-version' \
    'pods show:--feature-gates' \
    'pods show:--apiserver-version' \
    'pods show:--apiserver-feature-gates' \
    'pods show:-o' \
    'pods show:--output' \
    'pods diff:-f' \
    'pods diff:--filename' \
    'pods diff:-m' \
    'pods diff:--machine' \
    'pods diff:--memory' \
    'pods diff:--cgroup-version' \
    'pods diff:--oci-runtime' \
    'pods diff:--kubelet-config' \
    'pods diff:--kubelet-version' \
    'pods diff:--feature-gates' \
    'pods diff:--apiserver-version' \
    'pods diff:--apiserver-feature-gates' \
    'pods diff:--to' \
    'pods diff:--to-feature-gates' \
    'pods diff:-o' \
    'pods diff:--output' \
    'pods lint:-f' \
    'pods lint:--filename' \
    'pods lint:-m' \
    'pods lint:--machine' \
    'pods lint:--cgroup-version' \
    'pods lint:--kubelet-config' \
    'pods lint:--config-dir' \
    'pods lint:--kubelet-args' \
    'pods lint:--kubelet-version' \
    'pods lint:--feature-gates' \
    'pods lint:--apiserver-version' \
    'pods lint:--apiserver-feature-gates' \
    'pods lint:-o' \
    'pods lint:--output' \
    'replay:-f' \
    'replay:--filename' \
    'replay:-m' \
    'replay:--machine' \
    'replay:--driver-args' \
    'replay:--kubelet-config' \
    'replay:--config-dir' \
    'replay:--kubelet-args' \
    'replay:--kubelet-version' \
    'replay:--feature-gates' \
    'replay:--until' \
    'replay:--speed' \
    'replay:--policy' \
    'replay:--svg' \
    'replay:-o' \
    'replay:--output' \
    'policies list:-o' \
    'policies list:--output' \
    'policies show:-o' \
    'policies show:--output' \
    'topology:-m' \
    'topology:--machine' \
    'topology:--kubelet-config' \
    'topology:--config-dir' \
    'topology:--kubelet-args' \
    'topology:--kubelet-version' \
    'topology:--columns' \
    'topology:--cpus' \
    'topology:--svg' \
    'topology:--publisher' \
    'topology:-o' \
    'topology:--output' \
    'topology show:-m' \
    'topology show:--machine' \
    'topology show:--kubelet-config' \
    'topology show:--config-dir' \
    'topology show:--kubelet-args' \
    'topology show:--kubelet-version' \
    'topology show:--columns' \
    'topology show:--cpus' \
    'topology show:--svg' \
    'topology show:--publisher' \
    'topology show:-o' \
    'topology show:--output' \
    'topology map:-m' \
    'topology map:--machine' \
    'topology map:--cpus' \
    'topology map:--svg' \
    'topology map:-o' \
    'topology map:--output' \
    'topology distances:-m' \
    'topology distances:--machine' \
    'topology distances:-o' \
    'topology distances:--output' \
    'topology synthetic:-m' \
    'topology synthetic:--machine' \
    'topology synthetic:-o' \
    'topology synthetic:--output' \
    'topology devices:-m' \
    'topology devices:--machine' \
    'topology devices:-o' \
    'topology devices:--output' \
    'config reserve:-m' \
    'config reserve:--machine' \
    'config reserve:--cgroup-version' \
    'config reserve:--ephemeral-storage' \
    'config reserve:--memory' \
    'config reserve:--kubelet-config' \
    'config reserve:--config-dir' \
    'config reserve:--kubelet-args' \
    'config reserve:--kubelet-version' \
    'config reserve:--feature-gates' \
    'config reserve:--cpu-count' \
    'config reserve:--spread' \
    'config reserve:--numa-node' \
    'config reserve:-o' \
    'config reserve:--output' \
    'config show:-m' \
    'config show:--machine' \
    'config show:--ephemeral-storage' \
    'config show:--memory' \
    'config show:--kubelet-config' \
    'config show:--config-dir' \
    'config show:--kubelet-args' \
    'config show:--kubelet-version' \
    'config show:--feature-gates' \
    'config show:-o' \
    'config show:--output' \
    'config check:-m' \
    'config check:--machine' \
    'config check:--cgroup-version' \
    'config check:--ephemeral-storage' \
    'config check:--memory' \
    'config check:--state' \
    'config check:--driver-args' \
    'config check:--kubelet-config' \
    'config check:--config-dir' \
    'config check:--kubelet-args' \
    'config check:--kubelet-version' \
    'config check:--feature-gates' \
    'config check:-o' \
    'config check:--output' \
    'config versions:-f' \
    'config versions:--filename' \
    'config versions:-T' \
    'config versions:--template' \
    'config versions:-m' \
    'config versions:--machine' \
    'config versions:--memory' \
    'config versions:--state' \
    'config versions:--pods' \
    'config versions:--kubelet-config' \
    'config versions:--config-dir' \
    'config versions:--kubelet-args' \
    'config versions:--feature-gates' \
    'config versions:--from' \
    'config versions:--to' \
    'config versions:-o' \
    'config versions:--output' \
    'checkpoint dump:--state' \
    'checkpoint dump:-m' \
    'checkpoint dump:--machine' \
    'checkpoint dump:--pods' \
    'checkpoint dump:--svg' \
    'checkpoint dump:-o' \
    'checkpoint dump:--output' \
    'checkpoint verify:--state' \
    'checkpoint verify:-m' \
    'checkpoint verify:--machine' \
    'checkpoint verify:--pods' \
    'checkpoint verify:--memory' \
    'checkpoint verify:--pod-resources' \
    'checkpoint verify:--kubelet-config' \
    'checkpoint verify:--config-dir' \
    'checkpoint verify:--kubelet-args' \
    'checkpoint verify:--kubelet-version' \
    'checkpoint verify:--feature-gates' \
    'checkpoint verify:-o' \
    'checkpoint verify:--output' \
    'checkpoint diff:--pods' \
    'checkpoint diff:-o' \
    'checkpoint diff:--output' \
    'checkpoint migrate:--state' \
    'checkpoint migrate:--pods' \
    'checkpoint migrate:-m' \
    'checkpoint migrate:--machine' \
    'checkpoint migrate:--memory' \
    'checkpoint migrate:--root' \
    'checkpoint migrate:--feature-gates' \
    'checkpoint migrate:--kubelet-config' \
    'checkpoint migrate:--config-dir' \
    'checkpoint migrate:--kubelet-args' \
    'checkpoint migrate:--to' \
    'checkpoint migrate:--write-state' \
    'checkpoint migrate:-o' \
    'checkpoint migrate:--output' \
    'checkpoint repair:--state' \
    'checkpoint repair:-m' \
    'checkpoint repair:--machine' \
    'checkpoint repair:--pods' \
    'checkpoint repair:--memory' \
    'checkpoint repair:--root' \
    'checkpoint repair:--kubelet-config' \
    'checkpoint repair:--config-dir' \
    'checkpoint repair:--kubelet-args' \
    'checkpoint repair:--kubelet-version' \
    'checkpoint repair:--feature-gates' \
    'checkpoint repair:--write-state' \
    'checkpoint repair:-o' \
    'checkpoint repair:--output' \
    'checkpoint new:--root' \
    'checkpoint new:-f' \
    'checkpoint new:--filename' \
    'checkpoint new:-T' \
    'checkpoint new:--template' \
    'checkpoint new:-m' \
    'checkpoint new:--machine' \
    'checkpoint new:--devices' \
    'checkpoint new:--driver-args' \
    'checkpoint new:--memory' \
    'checkpoint new:--kubelet-config' \
    'checkpoint new:--config-dir' \
    'checkpoint new:--kubelet-args' \
    'checkpoint new:--kubelet-version' \
    'checkpoint new:--feature-gates' \
    'checkpoint new:--write-state' \
    'checkpoint new:-o' \
    'checkpoint new:--output' \
    'checkpoint versions:-o' \
    'checkpoint versions:--output' \
    'audit:-m' \
    'audit:--machine' \
    'audit:--root' \
    'audit:--state' \
    'audit:--pods' \
    'audit:--pod-resources' \
    'audit:--kubelet-config' \
    'audit:--config-dir' \
    'audit:--kubelet-args' \
    'audit:--kubelet-version' \
    'audit:--feature-gates' \
    'audit:--check' \
    'audit:-o' \
    'audit:--output' \
    'top:-m' \
    'top:--machine' \
    'top:--root' \
    'top:--state' \
    'top:--pods' \
    'top:--replay' \
    'top:--kubelet-config' \
    'top:--config-dir' \
    'top:--kubelet-args' \
    'top:--kubelet-version' \
    'top:--feature-gates' \
    'top:--interval' \
    'top:--samples' \
    'top:-o' \
    'top:--output' \
    'top:--record' \
    'report:--pod-resources' \
    'report:--timeline' \
    'report:-f' \
    'report:--filename' \
    'report:-T' \
    'report:--template' \
    'report:-m' \
    'report:--machine' \
    'report:--state' \
    'report:--pods' \
    'report:--devices' \
    'report:--driver-args' \
    'report:--ephemeral-storage' \
    'report:--memory' \
    'report:--kubelet-config' \
    'report:--config-dir' \
    'report:--kubelet-args' \
    'report:--kubelet-version' \
    'report:--feature-gates' \
    'report:--html' \
    'report:-o' \
    'report:--output' \
    'watch:--root' \
    'watch:--pods' \
    'watch:--pod-resources' \
    'watch:--kubelet-config' \
    'watch:--config-dir' \
    'watch:--kubelet-args' \
    'watch:--kubelet-version' \
    'watch:--feature-gates' \
    'watch:--check' \
    'watch:--every' \
    'watch:--full' \
    'watch:--settle' \
    'watch:--max-cpu' \
    'watch:--fail-on' \
    'watch:--for' \
    'watch:--textfile' \
    'watch:-o' \
    'watch:--output' \
    'cgroups show:-m' \
    'cgroups show:--machine' \
    'cgroups show:--root' \
    'cgroups show:--state' \
    'cgroups show:--pods' \
    'cgroups show:--oci-runtime' \
    'cgroups show:--kubelet-config' \
    'cgroups show:--config-dir' \
    'cgroups show:--kubelet-args' \
    'cgroups show:--kubelet-version' \
    'cgroups show:--feature-gates' \
    'cgroups show:-o' \
    'cgroups show:--output' \
    'cgroups apply:-f' \
    'cgroups apply:--filename' \
    'cgroups apply:-m' \
    'cgroups apply:--machine' \
    'cgroups apply:--root' \
    'cgroups apply:--state' \
    'cgroups apply:--pods' \
    'cgroups apply:--kubelet-config' \
    'cgroups apply:--config-dir' \
    'cgroups apply:--kubelet-args' \
    'cgroups apply:--kubelet-version' \
    'cgroups apply:--feature-gates' \
    'cgroups apply:--log' \
    'cgroups apply:-o' \
    'cgroups apply:--output' \
    'nri run:--plan' \
    'nri run:-m' \
    'nri run:--machine' \
    'nri run:--kubelet-config' \
    'nri run:--config-dir' \
    'nri run:--kubelet-args' \
    'nri run:--kubelet-version' \
    'nri run:--feature-gates' \
    'nri run:--policy' \
    'nri run:--state-file' \
    'nri run:--socket' \
    'nri run:--index' \
    'nri run:-o' \
    'nri run:--output' \
    'dra slices:-m' \
    'dra slices:--machine' \
    'dra slices:--kubelet-config' \
    'dra slices:--config-dir' \
    'dra slices:--kubelet-args' \
    'dra slices:--kubelet-version' \
    'dra slices:--feature-gates' \
    'dra slices:--cpu-device-mode' \
    'dra slices:--group-by' \
    'dra slices:--reserved-cpus' \
    'dra slices:--hostname-override' \
    'dra slices:-o' \
    'dra slices:--output' \
    'dra allocate:-f' \
    'dra allocate:--filename' \
    'dra allocate:-m' \
    'dra allocate:--machine' \
    'dra allocate:--kubelet-config' \
    'dra allocate:--config-dir' \
    'dra allocate:--kubelet-args' \
    'dra allocate:--kubelet-version' \
    'dra allocate:--feature-gates' \
    'dra allocate:--cpu-device-mode' \
    'dra allocate:--group-by' \
    'dra allocate:--reserved-cpus' \
    'dra allocate:--hostname-override' \
    'dra allocate:-o' \
    'dra allocate:--output' \
    'capture:--root' \
    'capture:-o' \
    'capture:--output' \
    'fleet list:-f' \
    'fleet list:--filename' \
    'fleet list:-T' \
    'fleet list:--template' \
    'fleet list:--nodes' \
    'fleet list:--resume' \
    'fleet list:--kubelet-config' \
    'fleet list:--config-dir' \
    'fleet list:--kubelet-args' \
    'fleet list:--kubelet-version' \
    'fleet list:--feature-gates' \
    'fleet list:-j' \
    'fleet list:--jobs' \
    'fleet list:--dask-scheduler' \
    'fleet list:--svg' \
    'fleet list:--html' \
    'fleet list:--publisher' \
    'fleet list:-o' \
    'fleet list:--output' \
    'fleet check:--nrt' \
    'fleet check:--pods' \
    'fleet check:--nodes' \
    'fleet check:--resume' \
    'fleet check:--kubelet-config' \
    'fleet check:--config-dir' \
    'fleet check:--kubelet-args' \
    'fleet check:--kubelet-version' \
    'fleet check:--feature-gates' \
    'fleet check:--check' \
    'fleet check:-j' \
    'fleet check:--jobs' \
    'fleet check:--dask-scheduler' \
    'fleet check:-o' \
    'fleet check:--output' \
    'fleet diff:--nodes' \
    'fleet diff:--nodes-before' \
    'fleet diff:--pods' \
    'fleet diff:--pods-before' \
    'fleet diff:--resume' \
    'fleet diff:--kubelet-config' \
    'fleet diff:--config-dir' \
    'fleet diff:--kubelet-args' \
    'fleet diff:--kubelet-version' \
    'fleet diff:--feature-gates' \
    'fleet diff:--check' \
    'fleet diff:-j' \
    'fleet diff:--jobs' \
    'fleet diff:--dask-scheduler' \
    'fleet diff:-o' \
    'fleet diff:--output' \
    'fleet plan:-f' \
    'fleet plan:--filename' \
    'fleet plan:-T' \
    'fleet plan:--template' \
    'fleet plan:--nodes' \
    'fleet plan:--pods' \
    'fleet plan:--nrt' \
    'fleet plan:--devices' \
    'fleet plan:--driver-args' \
    'fleet plan:--kubelet-config' \
    'fleet plan:--config-dir' \
    'fleet plan:--kubelet-args' \
    'fleet plan:--kubelet-version' \
    'fleet plan:--feature-gates' \
    'fleet plan:--scheduler-plugin' \
    'fleet plan:--drain' \
    'fleet plan:--without' \
    'fleet plan:--repeat' \
    'fleet plan:--policy' \
    'fleet plan:-j' \
    'fleet plan:--jobs' \
    'fleet plan:--dask-scheduler' \
    'fleet plan:-o' \
    'fleet plan:--output' \
    'fleet report:-f' \
    'fleet report:--filename' \
    'fleet report:-T' \
    'fleet report:--template' \
    'fleet report:--pods' \
    'fleet report:--nodes' \
    'fleet report:--kubelet-config' \
    'fleet report:--config-dir' \
    'fleet report:--kubelet-args' \
    'fleet report:--kubelet-version' \
    'fleet report:--feature-gates' \
    'fleet report:-j' \
    'fleet report:--jobs' \
    'fleet report:--html' \
    'fleet report:-o' \
    'fleet report:--output'

complete -c cpuctl -f
complete -c cpuctl -n '__cpuctl_argument ":1"' -a plan -d 'Dry-run pods: which CPUs each container would get, and why.'
complete -c cpuctl -n '__cpuctl_argument ":1"' -a explain -d 'Explain why a pod is admitted or rejected, and what would help.'
complete -c cpuctl -n '__cpuctl_argument ":1"' -a advise -d 'Recommend kubelet settings for these pods on this machine.'
complete -c cpuctl -n '__cpuctl_argument ":1"' -a resize -d 'Dry-run an in-place resize of a running pod.'
complete -c cpuctl -n '__cpuctl_argument ":1"' -a pods -d 'Show QoS, sums and cgroups of pods; compare and check manifests.'
complete -c cpuctl -n '__cpuctl_argument ":1"' -a replay -d 'Replay a node\'s history over time, and check expectations.'
complete -c cpuctl -n '__cpuctl_argument ":1"' -a policies -d 'Show what-if policies that choose CPUs instead of the kubelet.'
complete -c cpuctl -n '__cpuctl_argument ":1"' -a topology -d 'Show a machine\'s NUMA nodes, sockets, cores and caches.'
complete -c cpuctl -n '__cpuctl_argument ":1"' -a config -d 'Show and check the kubelet\'s configuration; check an upgrade.'
complete -c cpuctl -n '__cpuctl_argument ":1"' -a checkpoint -d 'Show, verify, migrate and repair the kubelet\'s state files.'
complete -c cpuctl -n '__cpuctl_argument ":1"' -a audit -d 'Find wrong CPU sets and noisy neighbours on a node, with fixes.'
complete -c cpuctl -n '__cpuctl_argument ":1"' -a top -d 'Show the live load on exclusive CPUs, and what disturbs them.'
complete -c cpuctl -n '__cpuctl_argument ":1"' -a report -d 'Write a full report on a node as one HTML page.'
complete -c cpuctl -n '__cpuctl_argument ":1"' -a watch -d 'Watch a node, and report every finding and change.'
complete -c cpuctl -n '__cpuctl_argument ":1"' -a cgroups -d 'Show the kubelet\'s cgroups, and correct their CPU sets.'
complete -c cpuctl -n '__cpuctl_argument ":1"' -a nri -d 'Set the CPUs of containers from the container runtime (NRI).'
complete -c cpuctl -n '__cpuctl_argument ":1"' -a dra -d 'Show CPUs as devices (DRA), and dry-run resource claims.'
complete -c cpuctl -n '__cpuctl_argument ":1"' -a capture -d 'Record a node in one archive that all commands can read.'
complete -c cpuctl -n '__cpuctl_argument ":1"' -a fleet -d 'List, check, compare and plan many nodes at once.'
complete -c cpuctl -n '__cpuctl_argument ":1"' -a schema -d 'Print the JSON Schema of what a command prints or reads.'
complete -c cpuctl -n '__cpuctl_argument ":1"' -a completion -d 'Print the completion script for bash, zsh or fish.'
complete -c cpuctl -n '__cpuctl_at ""' -s V -l version -d 'Print the version and exit.'
complete -c cpuctl -n '__cpuctl_at ""' -s h -l help -d 'Show this message and exit.'
complete -c cpuctl -n '__cpuctl_at "plan"' -F
complete -c cpuctl -n '__cpuctl_at "plan"' -s f -l filename -r -F -d 'Manifests: files, directories, or - for stdin.'
complete -c cpuctl -n '__cpuctl_at "plan"' -s T -l template -x -d 'A pod without YAML, NAME=REQUEST/LIMIT: \'web=4/4,2Gi x3\' is three pods; a single value sets both. web=1/2 (request below limit) and web=1/ (no limit) are Burstable, web alone is BestEffort.'
complete -c cpuctl -n '__cpuctl_at "plan"' -s m -l machine -x -a '(__cpuctl_machine)' -d 'The machine: live, a directory with sys/, an archive of one (.tar, .tar.gz, .tar.xz, ...), a sosreport, a must-gather (PATH#NODE), synthetic:... (see cpuctl topology synthetic -h), or the output of lscpu -e -J, lscpu -p, numactl -H, lstopo, ghwc, knit machineinfo or dracpu gatherinfo.'
complete -c cpuctl -n '__cpuctl_at "plan"' -l state -r -F -d 'The kubelet\'s state files to start from: cpu_manager_state, memory_manager_state, or the directory with both. Default: those of a recording (-m), unless --kubelet-config is given; otherwise an empty node.'
complete -c cpuctl -n '__cpuctl_at "plan"' -l pods -r -F -d 'The pods running on the node (kubectl get pods -o json), or MUST-GATHER#NODE.'
complete -c cpuctl -n '__cpuctl_at "plan"' -l devices -r -F -d 'Free, healthy devices of device plugins, by resource and NUMA node (see cpuctl schema devices), or the answers of the pod resources API (GetAllocatableResources, List).'
complete -c cpuctl -n '__cpuctl_at "plan"' -l assume-devices -d 'Assume that every NUMA node has enough of the devices that pods request and --devices does not list.'
complete -c cpuctl -n '__cpuctl_at "plan"' -l driver-args -x -d 'Flags of the dra.cpu driver, for pods with resource claims: \'--cpu-device-mode individual --reserved-cpus 0,32\'. Default: CPUs grouped by NUMA node, none reserved.'
complete -c cpuctl -n '__cpuctl_at "plan"' -l ephemeral-storage -x -d 'Size of the kubelet\'s file system. Default: the live host\'s; otherwise storage is ignored.'
complete -c cpuctl -n '__cpuctl_at "plan"' -l memory -x -d 'Memory of a machine that was recorded without it.'
complete -c cpuctl -n '__cpuctl_at "plan"' -l skip-apiserver -d 'Skip the API server\'s validation of the pods.'
complete -c cpuctl -n '__cpuctl_at "plan"' -l include-completed -d 'Treat completed pods (Succeeded, Failed) as new ones.'
complete -c cpuctl -n '__cpuctl_at "plan"' -l kubelet-config -r -F -d 'KubeletConfiguration file. Default: the recorded kubelet\'s; with -m live, the running kubelet\'s, otherwise /var/lib/kubelet/config.yaml; always with flags and drop-ins.'
complete -c cpuctl -n '__cpuctl_at "plan"' -l config-dir -x -a '(__fish_complete_directories)' -d 'The kubelet\'s drop-in directory (its flag --config-dir).'
complete -c cpuctl -n '__cpuctl_at "plan"' -l kubelet-args -x -d 'The kubelet\'s flags, or @FILE with its command line; flags override files.'
complete -c cpuctl -n '__cpuctl_at "plan"' -l kubelet-version -x -a '1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27' -d 'The kubelet\'s version, 1.27 to 1.38: a minor or a patch (1.33.4), or @FILE with its Node (kubectl get node -o json).'
complete -c cpuctl -n '__cpuctl_at "plan"' -l feature-gates -x -a '(__cpuctl_ask gates)' -d 'Feature gates in addition to those of the configuration.'
complete -c cpuctl -n '__cpuctl_at "plan"' -l ignore-unknown-gates -d 'Ignore feature gates that Kubernetes does not know, as OpenShift\'s kubelet does.'
complete -c cpuctl -n '__cpuctl_at "plan"' -l help-kubelet -d 'Explain the kubelet options, and exit.'
complete -c cpuctl -n '__cpuctl_at "plan"' -l policy -x -a 'static numa-allocation min-shared favour-cpus core-kinds koordinator katalyst' -d 'What if: let a policy (plugin) choose CPUs instead of the kubelet. NAME (see cpuctl policies list) or FILE.py:CLASS, with ,OPTION=VALUE for its options.'
complete -c cpuctl -n '__cpuctl_at "plan"' -l order -x -a 'given priority qos largest-first' -d 'Order of the pods: given, priority (highest first), qos (Guaranteed, Burstable, BestEffort), or largest-first (by exclusive CPUs, then memory).'
complete -c cpuctl -n '__cpuctl_at "plan"' -l repeat -x -a 'max' -d 'Plan the pods N times; copies are named NAME-2, NAME-3, ... max: as many times as all of them fit.'
complete -c cpuctl -n '__cpuctl_at "plan"' -l capacity -d 'Also show what else fits: copies, the largest requests, how fragmented free CPUs are, and which pods to move to make room for rejected ones.'
complete -c cpuctl -n '__cpuctl_at "plan"' -l compare -x -d 'Compare two kubelets side by side. Each is a list of changes to the configuration, such as restricted,pod,1.37 or full-pcpus-only=false,kubeReserved.cpu=2; a configuration file, optionally with such a list; a policy (as --policy); or . for unchanged.'
complete -c cpuctl -n '__cpuctl_at "plan"' -l svg -r -F -d 'Also draw the machine with its CPUs as SVG; - is stdout, without the answer.'
complete -c cpuctl -n '__cpuctl_at "plan"' -l html -r -F -d 'Also write the answer, the picture and the inputs as one self-contained HTML page; - is stdout, without the answer.'
complete -c cpuctl -n '__cpuctl_at "plan"' -l write-state -x -a '(__fish_complete_directories)' -d 'Write the new state files to DIR.'
complete -c cpuctl -n '__cpuctl_at "plan"' -l force -d 'Overwrite existing files; state files are backed up.'
complete -c cpuctl -n '__cpuctl_at "plan"' -l publisher -x -d 'The exporter whose object -o nrt writes: rte, the resource topology exporter (rte,fingerprint=all or none: which pods its fingerprint covers), or nfd, node-feature-discovery\'s topology updater.'
complete -c cpuctl -n '__cpuctl_at "plan"' -s o -l output -x -a 'table wide json yaml prom nrt nri memory-qos balloons crictl systemd' -d 'Output format: table, wide, json, yaml; prom: the kubelet\'s metrics; nrt: the NodeResourceTopology that an exporter would publish; nri: what an NRI plugin would answer the container runtime. To apply the plan: memory-qos and balloons (for NRI plugins), crictl (a script), systemd (drop-ins).'
complete -c cpuctl -n '__cpuctl_at "plan"' -l no-color -d 'Disable colour, as NO_COLOR does.'
complete -c cpuctl -n '__cpuctl_at "plan"' -s q -l quiet -d 'Suppress notes and warnings on stderr.'
complete -c cpuctl -n '__cpuctl_at "plan"' -l exit-zero -d 'Exit 0 even if the answer is no.'
complete -c cpuctl -n '__cpuctl_at "plan"' -s h -l help -d 'Show this message and exit.'
complete -c cpuctl -n '__cpuctl_argument "explain:1"' -a '(__cpuctl_ask pod)'
complete -c cpuctl -n '__cpuctl_at "explain"' -l message -x -d 'Explain a line of an event, status or log; - for lines on stdin.'
complete -c cpuctl -n '__cpuctl_at "explain"' -s f -l filename -r -F -d 'Manifests: files, directories, or - for stdin.'
complete -c cpuctl -n '__cpuctl_at "explain"' -s T -l template -x -d 'A pod without YAML, NAME=REQUEST/LIMIT: \'web=4/4,2Gi x3\' is three pods; a single value sets both. web=1/2 (request below limit) and web=1/ (no limit) are Burstable, web alone is BestEffort.'
complete -c cpuctl -n '__cpuctl_at "explain"' -s m -l machine -x -a '(__cpuctl_machine)' -d 'The machine: live, a directory with sys/, an archive of one (.tar, .tar.gz, .tar.xz, ...), a sosreport, a must-gather (PATH#NODE), synthetic:... (see cpuctl topology synthetic -h), or the output of lscpu -e -J, lscpu -p, numactl -H, lstopo, ghwc, knit machineinfo or dracpu gatherinfo.'
complete -c cpuctl -n '__cpuctl_at "explain"' -l state -r -F -d 'The kubelet\'s state files to start from: cpu_manager_state, memory_manager_state, or the directory with both. Default: those of a recording (-m), unless --kubelet-config is given; otherwise an empty node.'
complete -c cpuctl -n '__cpuctl_at "explain"' -l pods -r -F -d 'The pods running on the node (kubectl get pods -o json), or MUST-GATHER#NODE.'
complete -c cpuctl -n '__cpuctl_at "explain"' -l events -r -F -d 'Events (kubectl get events -o json): explain the pod that was rejected last.'
complete -c cpuctl -n '__cpuctl_at "explain"' -l devices -r -F -d 'Free, healthy devices of device plugins, by resource and NUMA node (see cpuctl schema devices), or the answers of the pod resources API (GetAllocatableResources, List).'
complete -c cpuctl -n '__cpuctl_at "explain"' -l assume-devices -d 'Assume that every NUMA node has enough of the devices that pods request and --devices does not list.'
complete -c cpuctl -n '__cpuctl_at "explain"' -l driver-args -x -d 'Flags of the dra.cpu driver, for pods with resource claims: \'--cpu-device-mode individual --reserved-cpus 0,32\'. Default: CPUs grouped by NUMA node, none reserved.'
complete -c cpuctl -n '__cpuctl_at "explain"' -l ephemeral-storage -x -d 'Size of the kubelet\'s file system. Default: the live host\'s; otherwise storage is ignored.'
complete -c cpuctl -n '__cpuctl_at "explain"' -l memory -x -d 'Memory of a machine that was recorded without it.'
complete -c cpuctl -n '__cpuctl_at "explain"' -l skip-apiserver -d 'Skip the API server\'s validation of the pods.'
complete -c cpuctl -n '__cpuctl_at "explain"' -l include-completed -d 'Treat completed pods (Succeeded, Failed) as new ones.'
complete -c cpuctl -n '__cpuctl_at "explain"' -l kubelet-config -r -F -d 'KubeletConfiguration file. Default: the recorded kubelet\'s; with -m live, the running kubelet\'s, otherwise /var/lib/kubelet/config.yaml; always with flags and drop-ins.'
complete -c cpuctl -n '__cpuctl_at "explain"' -l config-dir -x -a '(__fish_complete_directories)' -d 'The kubelet\'s drop-in directory (its flag --config-dir).'
complete -c cpuctl -n '__cpuctl_at "explain"' -l kubelet-args -x -d 'The kubelet\'s flags, or @FILE with its command line; flags override files.'
complete -c cpuctl -n '__cpuctl_at "explain"' -l kubelet-version -x -a '1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27' -d 'The kubelet\'s version, 1.27 to 1.38: a minor or a patch (1.33.4), or @FILE with its Node (kubectl get node -o json).'
complete -c cpuctl -n '__cpuctl_at "explain"' -l feature-gates -x -a '(__cpuctl_ask gates)' -d 'Feature gates in addition to those of the configuration.'
complete -c cpuctl -n '__cpuctl_at "explain"' -l ignore-unknown-gates -d 'Ignore feature gates that Kubernetes does not know, as OpenShift\'s kubelet does.'
complete -c cpuctl -n '__cpuctl_at "explain"' -l help-kubelet -d 'Explain the kubelet options, and exit.'
complete -c cpuctl -n '__cpuctl_at "explain"' -l policy -x -a 'static numa-allocation min-shared favour-cpus core-kinds koordinator katalyst' -d 'What if: let a policy (plugin) choose CPUs instead of the kubelet. NAME (see cpuctl policies list) or FILE.py:CLASS, with ,OPTION=VALUE for its options.'
complete -c cpuctl -n '__cpuctl_at "explain"' -s o -l output -x -a 'table wide json yaml' -d 'Output format.'
complete -c cpuctl -n '__cpuctl_at "explain"' -l no-color -d 'Disable colour, as NO_COLOR does.'
complete -c cpuctl -n '__cpuctl_at "explain"' -s q -l quiet -d 'Suppress notes and warnings on stderr.'
complete -c cpuctl -n '__cpuctl_at "explain"' -l exit-zero -d 'Exit 0 even if the answer is no.'
complete -c cpuctl -n '__cpuctl_at "explain"' -s h -l help -d 'Show this message and exit.'
complete -c cpuctl -n '__cpuctl_at "advise"' -F
complete -c cpuctl -n '__cpuctl_at "advise"' -s f -l filename -r -F -d 'Manifests: files, directories, or - for stdin.'
complete -c cpuctl -n '__cpuctl_at "advise"' -s T -l template -x -d 'A pod without YAML, NAME=REQUEST/LIMIT: \'web=4/4,2Gi x3\' is three pods; a single value sets both. web=1/2 (request below limit) and web=1/ (no limit) are Burstable, web alone is BestEffort.'
complete -c cpuctl -n '__cpuctl_at "advise"' -s m -l machine -x -a '(__cpuctl_machine)' -d 'The machine: live, a directory with sys/, an archive of one (.tar, .tar.gz, .tar.xz, ...), a sosreport, a must-gather (PATH#NODE), synthetic:... (see cpuctl topology synthetic -h), or the output of lscpu -e -J, lscpu -p, numactl -H, lstopo, ghwc, knit machineinfo or dracpu gatherinfo.'
complete -c cpuctl -n '__cpuctl_at "advise"' -l state -r -F -d 'The kubelet\'s state files to start from: cpu_manager_state, memory_manager_state, or the directory with both. Default: those of a recording (-m), unless --kubelet-config is given; otherwise an empty node.'
complete -c cpuctl -n '__cpuctl_at "advise"' -l pods -r -F -d 'The pods running on the node (kubectl get pods -o json), or MUST-GATHER#NODE.'
complete -c cpuctl -n '__cpuctl_at "advise"' -l devices -r -F -d 'Free, healthy devices of device plugins, by resource and NUMA node (see cpuctl schema devices), or the answers of the pod resources API (GetAllocatableResources, List).'
complete -c cpuctl -n '__cpuctl_at "advise"' -l assume-devices -d 'Assume that every NUMA node has enough of the devices that pods request and --devices does not list.'
complete -c cpuctl -n '__cpuctl_at "advise"' -l driver-args -x -d 'Flags of the dra.cpu driver, for pods with resource claims: \'--cpu-device-mode individual --reserved-cpus 0,32\'. Default: CPUs grouped by NUMA node, none reserved.'
complete -c cpuctl -n '__cpuctl_at "advise"' -l ephemeral-storage -x -d 'Size of the kubelet\'s file system. Default: the live host\'s; otherwise storage is ignored.'
complete -c cpuctl -n '__cpuctl_at "advise"' -l memory -x -d 'Memory of a machine that was recorded without it.'
complete -c cpuctl -n '__cpuctl_at "advise"' -l skip-apiserver -d 'Skip the API server\'s validation of the pods.'
complete -c cpuctl -n '__cpuctl_at "advise"' -l include-completed -d 'Treat completed pods (Succeeded, Failed) as new ones.'
complete -c cpuctl -n '__cpuctl_at "advise"' -l kubelet-config -r -F -d 'KubeletConfiguration file. Default: the recorded kubelet\'s; with -m live, the running kubelet\'s, otherwise /var/lib/kubelet/config.yaml; always with flags and drop-ins.'
complete -c cpuctl -n '__cpuctl_at "advise"' -l config-dir -x -a '(__fish_complete_directories)' -d 'The kubelet\'s drop-in directory (its flag --config-dir).'
complete -c cpuctl -n '__cpuctl_at "advise"' -l kubelet-args -x -d 'The kubelet\'s flags, or @FILE with its command line; flags override files.'
complete -c cpuctl -n '__cpuctl_at "advise"' -l kubelet-version -x -a '1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27' -d 'The kubelet\'s version, 1.27 to 1.38: a minor or a patch (1.33.4), or @FILE with its Node (kubectl get node -o json).'
complete -c cpuctl -n '__cpuctl_at "advise"' -l feature-gates -x -a '(__cpuctl_ask gates)' -d 'Feature gates in addition to those of the configuration.'
complete -c cpuctl -n '__cpuctl_at "advise"' -l ignore-unknown-gates -d 'Ignore feature gates that Kubernetes does not know, as OpenShift\'s kubelet does.'
complete -c cpuctl -n '__cpuctl_at "advise"' -l help-kubelet -d 'Explain the kubelet options, and exit.'
complete -c cpuctl -n '__cpuctl_at "advise"' -l defragment -d 'Find the fewest pod moves on this node that make room for the given pod or, without one, for the largest possible container.'
complete -c cpuctl -n '__cpuctl_at "advise"' -l budget -x -d 'Try at most N settings (default 2000) or, with --defragment, steps (default 20000).'
complete -c cpuctl -n '__cpuctl_at "advise"' -l what-if -d 'Also try the what-if policies that come with cpuctl (see cpuctl policies list). Reserved CPUs and full-pcpus-only stay unchanged for these.'
complete -c cpuctl -n '__cpuctl_at "advise"' -l keep -x -a 'cpuManagerPolicy cpuManagerPolicyOptions reservedSystemCPUs topologyManagerPolicy topologyManagerScope topologyManagerPolicyOptions memoryManagerPolicy full-pcpus-only distribute-cpus-across-numa align-by-socket distribute-cpus-across-cores strict-cpu-reservation prefer-align-cpus-by-uncorecache prefer-closest-numa-nodes' -d 'Keep this setting: a configuration field, such as cpuManagerPolicy, or a policy option, such as full-pcpus-only.'
complete -c cpuctl -n '__cpuctl_at "advise"' -l snippet -x -d 'Print only a KubeletConfiguration with the settings of row N.'
complete -c cpuctl -n '__cpuctl_at "advise"' -s o -l output -x -a 'table wide json yaml' -d 'Output format.'
complete -c cpuctl -n '__cpuctl_at "advise"' -l no-color -d 'Disable colour, as NO_COLOR does.'
complete -c cpuctl -n '__cpuctl_at "advise"' -s q -l quiet -d 'Suppress notes and warnings on stderr.'
complete -c cpuctl -n '__cpuctl_at "advise"' -l exit-zero -d 'Exit 0 even if the answer is no.'
complete -c cpuctl -n '__cpuctl_at "advise"' -s h -l help -d 'Show this message and exit.'
complete -c cpuctl -n '__cpuctl_at "resize"' -F
complete -c cpuctl -n '__cpuctl_at "resize"' -s f -l filename -r -F -d 'Manifests: files, directories, or - for stdin.'
complete -c cpuctl -n '__cpuctl_at "resize"' -s T -l template -x -d 'A pod without YAML, NAME=REQUEST/LIMIT: \'web=4/4,2Gi x3\' is three pods; a single value sets both. web=1/2 (request below limit) and web=1/ (no limit) are Burstable, web alone is BestEffort.'
complete -c cpuctl -n '__cpuctl_at "resize"' -s m -l machine -x -a '(__cpuctl_machine)' -d 'The machine: live, a directory with sys/, an archive of one (.tar, .tar.gz, .tar.xz, ...), a sosreport, a must-gather (PATH#NODE), synthetic:... (see cpuctl topology synthetic -h), or the output of lscpu -e -J, lscpu -p, numactl -H, lstopo, ghwc, knit machineinfo or dracpu gatherinfo.'
complete -c cpuctl -n '__cpuctl_at "resize"' -l state -r -F -d 'The kubelet\'s state files to start from: cpu_manager_state, memory_manager_state, or the directory with both. Default: those of a recording (-m), unless --kubelet-config is given; otherwise an empty node.'
complete -c cpuctl -n '__cpuctl_at "resize"' -l pods -r -F -d 'The pods running on the node (kubectl get pods -o json), or MUST-GATHER#NODE.'
complete -c cpuctl -n '__cpuctl_at "resize"' -l devices -r -F -d 'Free, healthy devices of device plugins, by resource and NUMA node (see cpuctl schema devices), or the answers of the pod resources API (GetAllocatableResources, List).'
complete -c cpuctl -n '__cpuctl_at "resize"' -l assume-devices -d 'Assume that every NUMA node has enough of the devices that pods request and --devices does not list.'
complete -c cpuctl -n '__cpuctl_at "resize"' -l driver-args -x -d 'Flags of the dra.cpu driver, for pods with resource claims: \'--cpu-device-mode individual --reserved-cpus 0,32\'. Default: CPUs grouped by NUMA node, none reserved.'
complete -c cpuctl -n '__cpuctl_at "resize"' -l ephemeral-storage -x -d 'Size of the kubelet\'s file system. Default: the live host\'s; otherwise storage is ignored.'
complete -c cpuctl -n '__cpuctl_at "resize"' -l memory -x -d 'Memory of a machine that was recorded without it.'
complete -c cpuctl -n '__cpuctl_at "resize"' -l skip-apiserver -d 'Skip the API server\'s validation of the pods.'
complete -c cpuctl -n '__cpuctl_at "resize"' -l kubelet-config -r -F -d 'KubeletConfiguration file. Default: the recorded kubelet\'s; with -m live, the running kubelet\'s, otherwise /var/lib/kubelet/config.yaml; always with flags and drop-ins.'
complete -c cpuctl -n '__cpuctl_at "resize"' -l config-dir -x -a '(__fish_complete_directories)' -d 'The kubelet\'s drop-in directory (its flag --config-dir).'
complete -c cpuctl -n '__cpuctl_at "resize"' -l kubelet-args -x -d 'The kubelet\'s flags, or @FILE with its command line; flags override files.'
complete -c cpuctl -n '__cpuctl_at "resize"' -l kubelet-version -x -a '1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27' -d 'The kubelet\'s version, 1.27 to 1.38: a minor or a patch (1.33.4), or @FILE with its Node (kubectl get node -o json).'
complete -c cpuctl -n '__cpuctl_at "resize"' -l feature-gates -x -a '(__cpuctl_ask gates)' -d 'Feature gates in addition to those of the configuration.'
complete -c cpuctl -n '__cpuctl_at "resize"' -l ignore-unknown-gates -d 'Ignore feature gates that Kubernetes does not know, as OpenShift\'s kubelet does.'
complete -c cpuctl -n '__cpuctl_at "resize"' -l apiserver-version -x -a '1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27' -d 'The API server\'s version. Default: the kubelet\'s.'
complete -c cpuctl -n '__cpuctl_at "resize"' -l apiserver-feature-gates -x -a '(__cpuctl_ask gates)' -d 'The API server\'s feature gates. Default: the kubelet\'s.'
complete -c cpuctl -n '__cpuctl_at "resize"' -l help-kubelet -d 'Explain the kubelet options, and exit.'
complete -c cpuctl -n '__cpuctl_at "resize"' -l set -x -a '(__cpuctl_ask resize)' -d 'New resources, also memory=N; N sets request and limit, N/M sets a different limit M.'
complete -c cpuctl -n '__cpuctl_at "resize"' -l edited -r -F -d 'Manifests of running pods with new resources.'
complete -c cpuctl -n '__cpuctl_at "resize"' -l policy -x -a 'static numa-allocation min-shared favour-cpus core-kinds koordinator katalyst' -d 'What if: let a policy (plugin) choose CPUs instead of the kubelet. NAME (see cpuctl policies list) or FILE.py:CLASS, with ,OPTION=VALUE for its options.'
complete -c cpuctl -n '__cpuctl_at "resize"' -l resize-semantics -x -a 'kep reference' -d 'Preview as in the KEP, or as in its reference implementation.'
complete -c cpuctl -n '__cpuctl_at "resize"' -l preview -d 'Use the gate\'s allocator as if it were released, for any kubelet version.'
complete -c cpuctl -n '__cpuctl_at "resize"' -l write-state -x -a '(__fish_complete_directories)' -d 'Write the new state files to DIR.'
complete -c cpuctl -n '__cpuctl_at "resize"' -l force -d 'Overwrite existing files; state files are backed up.'
complete -c cpuctl -n '__cpuctl_at "resize"' -s o -l output -x -a 'table wide json yaml' -d 'Output format.'
complete -c cpuctl -n '__cpuctl_at "resize"' -l no-color -d 'Disable colour, as NO_COLOR does.'
complete -c cpuctl -n '__cpuctl_at "resize"' -s q -l quiet -d 'Suppress notes and warnings on stderr.'
complete -c cpuctl -n '__cpuctl_at "resize"' -l exit-zero -d 'Exit 0 even if the answer is no.'
complete -c cpuctl -n '__cpuctl_at "resize"' -s h -l help -d 'Show this message and exit.'
complete -c cpuctl -n '__cpuctl_argument "pods:1"' -a show -d 'Show what follows from pods\' resources: QoS class, sums, cgroups.'
complete -c cpuctl -n '__cpuctl_argument "pods:1"' -a diff -d 'Compare two manifests, or one manifest on two kubelets.'
complete -c cpuctl -n '__cpuctl_argument "pods:1"' -a lint -d 'Check, before kubectl apply, whether the cluster would reject pods.'
complete -c cpuctl -n '__cpuctl_at "pods"' -s h -l help -d 'Show this message and exit.'
complete -c cpuctl -n '__cpuctl_at "pods show"' -F
complete -c cpuctl -n '__cpuctl_at "pods show"' -s f -l filename -r -F -d 'Manifests: files, directories, or - for stdin.'
complete -c cpuctl -n '__cpuctl_at "pods show"' -s T -l template -x -d 'A pod without YAML, NAME=REQUEST/LIMIT: \'web=4/4,2Gi x3\' is three pods; a single value sets both. web=1/2 (request below limit) and web=1/ (no limit) are Burstable, web alone is BestEffort.'
complete -c cpuctl -n '__cpuctl_at "pods show"' -s m -l machine -x -a '(__cpuctl_machine)' -d 'The machine, as for other commands; OOM scores depend on its memory. Default: none.'
complete -c cpuctl -n '__cpuctl_at "pods show"' -l memory -x -d 'The node\'s memory, if no machine is given.'
complete -c cpuctl -n '__cpuctl_at "pods show"' -l cgroup-version -x -a '1 2' -d 'The host\'s cgroup version. Default: the machine\'s, or 2.'
complete -c cpuctl -n '__cpuctl_at "pods show"' -l oci-runtime -x -d 'The OCI runtime, e.g. runc-1.2.6 or crun-1.23; the CPU weight of containers depends on it.'
complete -c cpuctl -n '__cpuctl_at "pods show"' -l usage -r -F -d 'Memory that pods use, for the order of eviction: a mapping of [NAMESPACE/]NAME to a quantity, or the output of kubectl get podmetrics -A -o json.'
complete -c cpuctl -n '__cpuctl_at "pods show"' -l kubelet-config -r -F -d 'KubeletConfiguration file. Default: the recorded kubelet\'s; with -m live, the running kubelet\'s, otherwise /var/lib/kubelet/config.yaml; always with flags and drop-ins.'
complete -c cpuctl -n '__cpuctl_at "pods show"' -l config-dir -x -a '(__fish_complete_directories)' -d 'The kubelet\'s drop-in directory (its flag --config-dir).'
complete -c cpuctl -n '__cpuctl_at "pods show"' -l kubelet-args -x -d 'The kubelet\'s flags, or @FILE with its command line; flags override files.'
complete -c cpuctl -n '__cpuctl_at "pods show"' -l kubelet-version -x -a '1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27' -d 'The kubelet\'s version, 1.27 to 1.38: a minor or a patch (1.33.4), or @FILE with its Node (kubectl get node -o json).'
complete -c cpuctl -n '__cpuctl_at "pods show"' -l feature-gates -x -a '(__cpuctl_ask gates)' -d 'Feature gates in addition to those of the configuration.'
complete -c cpuctl -n '__cpuctl_at "pods show"' -l ignore-unknown-gates -d 'Ignore feature gates that Kubernetes does not know, as OpenShift\'s kubelet does.'
complete -c cpuctl -n '__cpuctl_at "pods show"' -l apiserver-version -x -a '1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27' -d 'The API server\'s version. Default: the kubelet\'s.'
complete -c cpuctl -n '__cpuctl_at "pods show"' -l apiserver-feature-gates -x -a '(__cpuctl_ask gates)' -d 'The API server\'s feature gates. Default: the kubelet\'s.'
complete -c cpuctl -n '__cpuctl_at "pods show"' -l help-kubelet -d 'Explain the kubelet options, and exit.'
complete -c cpuctl -n '__cpuctl_at "pods show"' -s o -l output -x -a 'table wide json yaml jsonl' -d 'Output format; jsonl is one pod per line.'
complete -c cpuctl -n '__cpuctl_at "pods show"' -l no-color -d 'Disable colour, as NO_COLOR does.'
complete -c cpuctl -n '__cpuctl_at "pods show"' -s q -l quiet -d 'Suppress notes and warnings on stderr.'
complete -c cpuctl -n '__cpuctl_at "pods show"' -s h -l help -d 'Show this message and exit.'
complete -c cpuctl -n '__cpuctl_argument "pods diff:1"' -F
complete -c cpuctl -n '__cpuctl_argument "pods diff:2"' -F
complete -c cpuctl -n '__cpuctl_at "pods diff"' -s f -l filename -r -F -d 'Same as OLD; given a second time, same as NEW.'
complete -c cpuctl -n '__cpuctl_at "pods diff"' -s m -l machine -x -a '(__cpuctl_machine)' -d 'The machine, as for other commands; OOM scores depend on its memory. Default: none.'
complete -c cpuctl -n '__cpuctl_at "pods diff"' -l memory -x -d 'The node\'s memory, if no machine is given.'
complete -c cpuctl -n '__cpuctl_at "pods diff"' -l cgroup-version -x -a '1 2' -d 'The host\'s cgroup version. Default: the machine\'s, or 2.'
complete -c cpuctl -n '__cpuctl_at "pods diff"' -l oci-runtime -x -d 'The OCI runtime, e.g. runc-1.2.6 or crun-1.23; the CPU weight of containers depends on it.'
complete -c cpuctl -n '__cpuctl_at "pods diff"' -l kubelet-config -r -F -d 'KubeletConfiguration file. Default: the recorded kubelet\'s; with -m live, the running kubelet\'s, otherwise /var/lib/kubelet/config.yaml; always with flags and drop-ins.'
complete -c cpuctl -n '__cpuctl_at "pods diff"' -l kubelet-version -x -a '1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27' -d 'The kubelet\'s version, 1.27 to 1.38: a minor or a patch (1.33.4), or @FILE with its Node (kubectl get node -o json).'
complete -c cpuctl -n '__cpuctl_at "pods diff"' -l feature-gates -x -a '(__cpuctl_ask gates)' -d 'Feature gates in addition to those of the configuration.'
complete -c cpuctl -n '__cpuctl_at "pods diff"' -l apiserver-version -x -a '1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27' -d 'The API server\'s version. Default: the kubelet\'s.'
complete -c cpuctl -n '__cpuctl_at "pods diff"' -l apiserver-feature-gates -x -a '(__cpuctl_ask gates)' -d 'The API server\'s feature gates. Default: the kubelet\'s.'
complete -c cpuctl -n '__cpuctl_at "pods diff"' -l help-kubelet -d 'Explain the kubelet options, and exit.'
complete -c cpuctl -n '__cpuctl_at "pods diff"' -l to -x -a '1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27' -d 'Compare with this kubelet version.'
complete -c cpuctl -n '__cpuctl_at "pods diff"' -l to-feature-gates -x -a '(__cpuctl_ask gates)' -d 'Compare with these feature gates of the kubelet.'
complete -c cpuctl -n '__cpuctl_at "pods diff"' -l exit-code -d 'Exit 3 if anything differs.'
complete -c cpuctl -n '__cpuctl_at "pods diff"' -s o -l output -x -a 'table wide json yaml jsonl' -d 'Output format; jsonl is one pod per line.'
complete -c cpuctl -n '__cpuctl_at "pods diff"' -l no-color -d 'Disable colour, as NO_COLOR does.'
complete -c cpuctl -n '__cpuctl_at "pods diff"' -s q -l quiet -d 'Suppress notes and warnings on stderr.'
complete -c cpuctl -n '__cpuctl_at "pods diff"' -s h -l help -d 'Show this message and exit.'
complete -c cpuctl -n '__cpuctl_at "pods lint"' -F
complete -c cpuctl -n '__cpuctl_at "pods lint"' -s f -l filename -r -F -d 'Manifests: files, directories, or - for stdin.'
complete -c cpuctl -n '__cpuctl_at "pods lint"' -s m -l machine -x -a '(__cpuctl_machine)' -d 'Also check admission on this machine, as for other commands. Default: none.'
complete -c cpuctl -n '__cpuctl_at "pods lint"' -l cgroup-version -x -a '1 2' -d 'The host\'s cgroup version. Default: the machine\'s, or 2.'
complete -c cpuctl -n '__cpuctl_at "pods lint"' -l kubelet-config -r -F -d 'KubeletConfiguration file. Default: the recorded kubelet\'s; with -m live, the running kubelet\'s, otherwise /var/lib/kubelet/config.yaml; always with flags and drop-ins.'
complete -c cpuctl -n '__cpuctl_at "pods lint"' -l config-dir -x -a '(__fish_complete_directories)' -d 'The kubelet\'s drop-in directory (its flag --config-dir).'
complete -c cpuctl -n '__cpuctl_at "pods lint"' -l kubelet-args -x -d 'The kubelet\'s flags, or @FILE with its command line; flags override files.'
complete -c cpuctl -n '__cpuctl_at "pods lint"' -l kubelet-version -x -a '1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27' -d 'The kubelet\'s version, 1.27 to 1.38: a minor or a patch (1.33.4), or @FILE with its Node (kubectl get node -o json).'
complete -c cpuctl -n '__cpuctl_at "pods lint"' -l feature-gates -x -a '(__cpuctl_ask gates)' -d 'Feature gates in addition to those of the configuration.'
complete -c cpuctl -n '__cpuctl_at "pods lint"' -l ignore-unknown-gates -d 'Ignore feature gates that Kubernetes does not know, as OpenShift\'s kubelet does.'
complete -c cpuctl -n '__cpuctl_at "pods lint"' -l apiserver-version -x -a '1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27' -d 'The API server\'s version. Default: the kubelet\'s.'
complete -c cpuctl -n '__cpuctl_at "pods lint"' -l apiserver-feature-gates -x -a '(__cpuctl_ask gates)' -d 'The API server\'s feature gates. Default: the kubelet\'s.'
complete -c cpuctl -n '__cpuctl_at "pods lint"' -l help-kubelet -d 'Explain the kubelet options, and exit.'
complete -c cpuctl -n '__cpuctl_at "pods lint"' -l static -d 'Check static pods: manifests that the kubelet reads from files, by its own rules.'
complete -c cpuctl -n '__cpuctl_at "pods lint"' -l strict -d 'Exit 3 also for warnings.'
complete -c cpuctl -n '__cpuctl_at "pods lint"' -s o -l output -x -a 'table wide json yaml jsonl' -d 'Output format.'
complete -c cpuctl -n '__cpuctl_at "pods lint"' -l no-color -d 'Disable colour, as NO_COLOR does.'
complete -c cpuctl -n '__cpuctl_at "pods lint"' -s q -l quiet -d 'Suppress notes and warnings on stderr.'
complete -c cpuctl -n '__cpuctl_at "pods lint"' -l exit-zero -d 'Exit 0 even if the answer is no.'
complete -c cpuctl -n '__cpuctl_at "pods lint"' -s h -l help -d 'Show this message and exit.'
complete -c cpuctl -n '__cpuctl_argument "replay:1"' -F
complete -c cpuctl -n '__cpuctl_at "replay"' -s f -l filename -r -F -d 'Manifests: files, directories, or - for stdin.'
complete -c cpuctl -n '__cpuctl_at "replay"' -s m -l machine -x -a '(__cpuctl_machine)' -d 'Use this machine instead of the timeline\'s; for a log, its machine (default: live).'
complete -c cpuctl -n '__cpuctl_at "replay"' -l driver-args -x -d 'Flags of the dra.cpu driver, for pods with resource claims: \'--cpu-device-mode individual --reserved-cpus 0,32\'. Default: CPUs grouped by NUMA node, none reserved.'
complete -c cpuctl -n '__cpuctl_at "replay"' -l skip-apiserver -d 'Skip the API server\'s validation of the pods.'
complete -c cpuctl -n '__cpuctl_at "replay"' -l kubelet-config -r -F -d 'KubeletConfiguration file. Default: the recorded kubelet\'s; with -m live, the running kubelet\'s, otherwise /var/lib/kubelet/config.yaml; always with flags and drop-ins.'
complete -c cpuctl -n '__cpuctl_at "replay"' -l config-dir -x -a '(__fish_complete_directories)' -d 'The kubelet\'s drop-in directory (its flag --config-dir).'
complete -c cpuctl -n '__cpuctl_at "replay"' -l kubelet-args -x -d 'The kubelet\'s flags, or @FILE with its command line; flags override files.'
complete -c cpuctl -n '__cpuctl_at "replay"' -l kubelet-version -x -a '1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27' -d 'The kubelet\'s version, 1.27 to 1.38: a minor or a patch (1.33.4), or @FILE with its Node (kubectl get node -o json).'
complete -c cpuctl -n '__cpuctl_at "replay"' -l feature-gates -x -a '(__cpuctl_ask gates)' -d 'Feature gates in addition to those of the configuration.'
complete -c cpuctl -n '__cpuctl_at "replay"' -l ignore-unknown-gates -d 'Ignore feature gates that Kubernetes does not know, as OpenShift\'s kubelet does.'
complete -c cpuctl -n '__cpuctl_at "replay"' -l help-kubelet -d 'Explain the kubelet options, and exit.'
complete -c cpuctl -n '__cpuctl_at "replay"' -l until -x -d 'Stop after this simulated time, e.g. 30s.'
complete -c cpuctl -n '__cpuctl_at "replay"' -l follow -d 'Print events as they happen.'
complete -c cpuctl -n '__cpuctl_at "replay"' -l speed -x -d 'Speed of time with --follow, e.g. 10x.'
complete -c cpuctl -n '__cpuctl_at "replay"' -l new -d 'Print a commented example of a timeline.'
complete -c cpuctl -n '__cpuctl_at "replay"' -l policy -x -a 'static numa-allocation min-shared favour-cpus core-kinds koordinator katalyst' -d 'What if: let a policy (plugin) choose CPUs instead of the kubelet. NAME (see cpuctl policies list) or FILE.py:CLASS, with ,OPTION=VALUE for its options.'
complete -c cpuctl -n '__cpuctl_at "replay"' -l svg -r -F -d 'Also draw CPUs over time as SVG; - is stdout, without the answer.'
complete -c cpuctl -n '__cpuctl_at "replay"' -l force -d 'Overwrite existing files.'
complete -c cpuctl -n '__cpuctl_at "replay"' -s o -l output -x -a 'table wide json yaml jsonl nri' -d 'Output format; jsonl is one entry per line, nri is what an NRI plugin would answer the container runtime, event by event.'
complete -c cpuctl -n '__cpuctl_at "replay"' -l no-color -d 'Disable colour, as NO_COLOR does.'
complete -c cpuctl -n '__cpuctl_at "replay"' -s q -l quiet -d 'Suppress notes and warnings on stderr.'
complete -c cpuctl -n '__cpuctl_at "replay"' -l exit-zero -d 'Exit 0 even if the answer is no.'
complete -c cpuctl -n '__cpuctl_at "replay"' -s h -l help -d 'Show this message and exit.'
complete -c cpuctl -n '__cpuctl_argument "policies:1"' -a list -d 'List the named policies, shipped and installed.'
complete -c cpuctl -n '__cpuctl_argument "policies:1"' -a show -d 'Show a policy: what it does, its origin, steps, options and source code.'
complete -c cpuctl -n '__cpuctl_argument "policies:1"' -a new -d 'Create a Python file with a template for your own policy.'
complete -c cpuctl -n '__cpuctl_at "policies"' -s h -l help -d 'Show this message and exit.'
complete -c cpuctl -n '__cpuctl_at "policies list"' -s o -l output -x -a 'table wide json yaml' -d 'Output format.'
complete -c cpuctl -n '__cpuctl_at "policies list"' -l no-color -d 'Disable colour, as NO_COLOR does.'
complete -c cpuctl -n '__cpuctl_at "policies list"' -s q -l quiet -d 'Suppress notes and warnings on stderr.'
complete -c cpuctl -n '__cpuctl_at "policies list"' -s h -l help -d 'Show this message and exit.'
complete -c cpuctl -n '__cpuctl_argument "policies show:1"' -a 'static numa-allocation min-shared favour-cpus core-kinds koordinator katalyst'
complete -c cpuctl -n '__cpuctl_at "policies show"' -s o -l output -x -a 'table wide json yaml' -d 'Output format.'
complete -c cpuctl -n '__cpuctl_at "policies show"' -l no-color -d 'Disable colour, as NO_COLOR does.'
complete -c cpuctl -n '__cpuctl_at "policies show"' -s q -l quiet -d 'Suppress notes and warnings on stderr.'
complete -c cpuctl -n '__cpuctl_at "policies show"' -s h -l help -d 'Show this message and exit.'
complete -c cpuctl -n '__cpuctl_argument "policies new:1"' -F
complete -c cpuctl -n '__cpuctl_at "policies new"' -l force -d 'Overwrite existing files.'
complete -c cpuctl -n '__cpuctl_at "policies new"' -s h -l help -d 'Show this message and exit.'
complete -c cpuctl -n '__cpuctl_argument "topology:1"' -a show -d 'Show a machine\'s NUMA nodes, sockets, cores, caches and CPUs.'
complete -c cpuctl -n '__cpuctl_argument "topology:1"' -a map -d 'Draw a machine as boxes: sockets, NUMA nodes, L3 caches, cores.'
complete -c cpuctl -n '__cpuctl_argument "topology:1"' -a distances -d 'Show NUMA nodes, their memory and distances, as numactl -H does.'
complete -c cpuctl -n '__cpuctl_argument "topology:1"' -a synthetic -d 'Describe a machine in one line (synthetic:2s4n16c2t) for -m.'
complete -c cpuctl -n '__cpuctl_argument "topology:1"' -a devices -d 'Show PCI devices and their NUMA nodes, as a draft for --devices.'
complete -c cpuctl -n '__cpuctl_at "topology"' -s m -l machine -x -a '(__cpuctl_machine)' -d 'The machine: live, a directory with sys/, an archive of one (.tar, .tar.gz, .tar.xz, ...), a sosreport, a must-gather (PATH#NODE), synthetic:... (see cpuctl topology synthetic -h), or the output of lscpu -e -J, lscpu -p, numactl -H, lstopo, ghwc, knit machineinfo or dracpu gatherinfo.'
complete -c cpuctl -n '__cpuctl_at "topology"' -l kubelet-config -r -F -d 'KubeletConfiguration file. Default: the recorded kubelet\'s; with -m live, the running kubelet\'s, otherwise /var/lib/kubelet/config.yaml; always with flags and drop-ins.'
complete -c cpuctl -n '__cpuctl_at "topology"' -l config-dir -x -a '(__fish_complete_directories)' -d 'The kubelet\'s drop-in directory (its flag --config-dir).'
complete -c cpuctl -n '__cpuctl_at "topology"' -l kubelet-args -x -d 'The kubelet\'s flags, or @FILE with its command line; flags override files.'
complete -c cpuctl -n '__cpuctl_at "topology"' -l kubelet-version -x -a '1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27' -d 'The kubelet\'s version, 1.27 to 1.38: a minor or a patch (1.33.4), or @FILE with its Node (kubectl get node -o json).'
complete -c cpuctl -n '__cpuctl_at "topology"' -l help-kubelet -d 'Explain the kubelet options, and exit.'
complete -c cpuctl -n '__cpuctl_at "topology"' -l columns -x -a '(__cpuctl_ask columns)' -d 'Show only a table of CPUs with these columns, or \'all\'.'
complete -c cpuctl -n '__cpuctl_at "topology"' -l cpus -x -a '(__cpuctl_ask cpus)' -d 'Show only these CPUs: 0-3,8, a mask (0xff), or node:1, socket:0, l3:2, core:5.'
complete -c cpuctl -n '__cpuctl_at "topology"' -l numa-memory -d 'Also show the memory of each NUMA node, as the kubelet\'s Memory Manager counts it.'
complete -c cpuctl -n '__cpuctl_at "topology"' -l svg -r -F -d 'Also draw the machine with its CPUs as SVG; - is stdout, without the answer.'
complete -c cpuctl -n '__cpuctl_at "topology"' -l force -d 'Overwrite existing files.'
complete -c cpuctl -n '__cpuctl_at "topology"' -l publisher -x -d 'The exporter whose object -o nrt writes: rte, the resource topology exporter (rte,fingerprint=all or none: which pods its fingerprint covers), or nfd, node-feature-discovery\'s topology updater.'
complete -c cpuctl -n '__cpuctl_at "topology"' -s o -l output -x -a 'table wide json yaml lscpu numactl hwloc-xml nrt' -d 'Output format; lscpu (-p -a), numactl (-H) and hwloc-xml are what these tools print, nrt is the NodeResourceTopology that an exporter would publish.'
complete -c cpuctl -n '__cpuctl_at "topology"' -l no-color -d 'Disable colour, as NO_COLOR does.'
complete -c cpuctl -n '__cpuctl_at "topology"' -s q -l quiet -d 'Suppress notes and warnings on stderr.'
complete -c cpuctl -n '__cpuctl_at "topology"' -s h -l help -d 'Show this message and exit.'
complete -c cpuctl -n '__cpuctl_argument "topology show:1"' -a '(__cpuctl_machine)'
complete -c cpuctl -n '__cpuctl_at "topology show"' -s m -l machine -x -a '(__cpuctl_machine)' -d 'The machine: live, a directory with sys/, an archive of one (.tar, .tar.gz, .tar.xz, ...), a sosreport, a must-gather (PATH#NODE), synthetic:... (see cpuctl topology synthetic -h), or the output of lscpu -e -J, lscpu -p, numactl -H, lstopo, ghwc, knit machineinfo or dracpu gatherinfo.'
complete -c cpuctl -n '__cpuctl_at "topology show"' -l kubelet-config -r -F -d 'KubeletConfiguration file. Default: the recorded kubelet\'s; with -m live, the running kubelet\'s, otherwise /var/lib/kubelet/config.yaml; always with flags and drop-ins.'
complete -c cpuctl -n '__cpuctl_at "topology show"' -l config-dir -x -a '(__fish_complete_directories)' -d 'The kubelet\'s drop-in directory (its flag --config-dir).'
complete -c cpuctl -n '__cpuctl_at "topology show"' -l kubelet-args -x -d 'The kubelet\'s flags, or @FILE with its command line; flags override files.'
complete -c cpuctl -n '__cpuctl_at "topology show"' -l kubelet-version -x -a '1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27' -d 'The kubelet\'s version, 1.27 to 1.38: a minor or a patch (1.33.4), or @FILE with its Node (kubectl get node -o json).'
complete -c cpuctl -n '__cpuctl_at "topology show"' -l help-kubelet -d 'Explain the kubelet options, and exit.'
complete -c cpuctl -n '__cpuctl_at "topology show"' -l columns -x -a '(__cpuctl_ask columns)' -d 'Show only a table of CPUs with these columns, or \'all\'.'
complete -c cpuctl -n '__cpuctl_at "topology show"' -l cpus -x -a '(__cpuctl_ask cpus)' -d 'Show only these CPUs: 0-3,8, a mask (0xff), or node:1, socket:0, l3:2, core:5.'
complete -c cpuctl -n '__cpuctl_at "topology show"' -l numa-memory -d 'Also show the memory of each NUMA node, as the kubelet\'s Memory Manager counts it.'
complete -c cpuctl -n '__cpuctl_at "topology show"' -l svg -r -F -d 'Also draw the machine with its CPUs as SVG; - is stdout, without the answer.'
complete -c cpuctl -n '__cpuctl_at "topology show"' -l force -d 'Overwrite existing files.'
complete -c cpuctl -n '__cpuctl_at "topology show"' -l publisher -x -d 'The exporter whose object -o nrt writes: rte, the resource topology exporter (rte,fingerprint=all or none: which pods its fingerprint covers), or nfd, node-feature-discovery\'s topology updater.'
complete -c cpuctl -n '__cpuctl_at "topology show"' -s o -l output -x -a 'table wide json yaml lscpu numactl hwloc-xml nrt' -d 'Output format; lscpu (-p -a), numactl (-H) and hwloc-xml are what these tools print, nrt is the NodeResourceTopology that an exporter would publish.'
complete -c cpuctl -n '__cpuctl_at "topology show"' -l no-color -d 'Disable colour, as NO_COLOR does.'
complete -c cpuctl -n '__cpuctl_at "topology show"' -s q -l quiet -d 'Suppress notes and warnings on stderr.'
complete -c cpuctl -n '__cpuctl_at "topology show"' -s h -l help -d 'Show this message and exit.'
complete -c cpuctl -n '__cpuctl_argument "topology map:1"' -a '(__cpuctl_machine)'
complete -c cpuctl -n '__cpuctl_at "topology map"' -s m -l machine -x -a '(__cpuctl_machine)' -d 'The machine: live, a directory with sys/, an archive of one (.tar, .tar.gz, .tar.xz, ...), a sosreport, a must-gather (PATH#NODE), synthetic:... (see cpuctl topology synthetic -h), or the output of lscpu -e -J, lscpu -p, numactl -H, lstopo, ghwc, knit machineinfo or dracpu gatherinfo.'
complete -c cpuctl -n '__cpuctl_at "topology map"' -l cpus -x -a '(__cpuctl_ask cpus)' -d 'Show only these CPUs: 0-3,8, a mask (0xff), or node:1, socket:0, l3:2, core:5.'
complete -c cpuctl -n '__cpuctl_at "topology map"' -l svg -r -F -d 'Also draw the machine with its CPUs as SVG; - is stdout, without the answer.'
complete -c cpuctl -n '__cpuctl_at "topology map"' -l force -d 'Overwrite existing files.'
complete -c cpuctl -n '__cpuctl_at "topology map"' -s o -l output -x -a 'table wide json yaml' -d 'Output format.'
complete -c cpuctl -n '__cpuctl_at "topology map"' -l no-color -d 'Disable colour, as NO_COLOR does.'
complete -c cpuctl -n '__cpuctl_at "topology map"' -s q -l quiet -d 'Suppress notes and warnings on stderr.'
complete -c cpuctl -n '__cpuctl_at "topology map"' -s h -l help -d 'Show this message and exit.'
complete -c cpuctl -n '__cpuctl_argument "topology distances:1"' -a '(__cpuctl_machine)'
complete -c cpuctl -n '__cpuctl_at "topology distances"' -s m -l machine -x -a '(__cpuctl_machine)' -d 'The machine: live, a directory with sys/, an archive of one (.tar, .tar.gz, .tar.xz, ...), a sosreport, a must-gather (PATH#NODE), synthetic:... (see cpuctl topology synthetic -h), or the output of lscpu -e -J, lscpu -p, numactl -H, lstopo, ghwc, knit machineinfo or dracpu gatherinfo.'
complete -c cpuctl -n '__cpuctl_at "topology distances"' -s o -l output -x -a 'table wide json yaml' -d 'Output format.'
complete -c cpuctl -n '__cpuctl_at "topology distances"' -l no-color -d 'Disable colour, as NO_COLOR does.'
complete -c cpuctl -n '__cpuctl_at "topology distances"' -s q -l quiet -d 'Suppress notes and warnings on stderr.'
complete -c cpuctl -n '__cpuctl_at "topology distances"' -s h -l help -d 'Show this message and exit.'
complete -c cpuctl -n '__cpuctl_argument "topology synthetic:1"' -a '(__cpuctl_machine)'
complete -c cpuctl -n '__cpuctl_at "topology synthetic"' -s m -l machine -x -a '(__cpuctl_machine)' -d 'The machine: live, a directory with sys/, an archive of one (.tar, .tar.gz, .tar.xz, ...), a sosreport, a must-gather (PATH#NODE), synthetic:... (see cpuctl topology synthetic -h), or the output of lscpu -e -J, lscpu -p, numactl -H, lstopo, ghwc, knit machineinfo or dracpu gatherinfo.'
complete -c cpuctl -n '__cpuctl_at "topology synthetic"' -s o -l output -x -a 'table wide json yaml' -d 'Output format.'
complete -c cpuctl -n '__cpuctl_at "topology synthetic"' -l no-color -d 'Disable colour, as NO_COLOR does.'
complete -c cpuctl -n '__cpuctl_at "topology synthetic"' -s q -l quiet -d 'Suppress notes and warnings on stderr.'
complete -c cpuctl -n '__cpuctl_at "topology synthetic"' -s h -l help -d 'Show this message and exit.'
complete -c cpuctl -n '__cpuctl_argument "topology devices:1"' -a '(__cpuctl_machine)'
complete -c cpuctl -n '__cpuctl_at "topology devices"' -s m -l machine -x -a '(__cpuctl_machine)' -d 'The machine: live, a directory with sys/, an archive of one (.tar, .tar.gz, .tar.xz, ...), a sosreport, a must-gather (PATH#NODE), synthetic:... (see cpuctl topology synthetic -h), or the output of lscpu -e -J, lscpu -p, numactl -H, lstopo, ghwc, knit machineinfo or dracpu gatherinfo.'
complete -c cpuctl -n '__cpuctl_at "topology devices"' -s o -l output -x -a 'table wide json yaml' -d 'Output format.'
complete -c cpuctl -n '__cpuctl_at "topology devices"' -l no-color -d 'Disable colour, as NO_COLOR does.'
complete -c cpuctl -n '__cpuctl_at "topology devices"' -s q -l quiet -d 'Suppress notes and warnings on stderr.'
complete -c cpuctl -n '__cpuctl_at "topology devices"' -s h -l help -d 'Show this message and exit.'
complete -c cpuctl -n '__cpuctl_argument "config:1"' -a reserve -d 'Propose reserved CPUs and memory that the kubelet accepts.'
complete -c cpuctl -n '__cpuctl_argument "config:1"' -a show -d 'Show the settings in effect, their origin, and what is reserved.'
complete -c cpuctl -n '__cpuctl_argument "config:1"' -a check -d 'Check whether the kubelet would start with this configuration.'
complete -c cpuctl -n '__cpuctl_argument "config:1"' -a versions -d 'Check an upgrade: what changes for this configuration.'
complete -c cpuctl -n '__cpuctl_at "config"' -s h -l help -d 'Show this message and exit.'
complete -c cpuctl -n '__cpuctl_argument "config reserve:1"' -a '(__cpuctl_machine)'
complete -c cpuctl -n '__cpuctl_at "config reserve"' -s m -l machine -x -a '(__cpuctl_machine)' -d 'The machine: live, a directory with sys/, an archive of one (.tar, .tar.gz, .tar.xz, ...), a sosreport, a must-gather (PATH#NODE), synthetic:... (see cpuctl topology synthetic -h), or the output of lscpu -e -J, lscpu -p, numactl -H, lstopo, ghwc, knit machineinfo or dracpu gatherinfo.'
complete -c cpuctl -n '__cpuctl_at "config reserve"' -l cgroup-version -x -a '1 2' -d 'The host\'s cgroup version. Default: the machine\'s, or 2.'
complete -c cpuctl -n '__cpuctl_at "config reserve"' -l ephemeral-storage -x -d 'Size of the kubelet\'s file system. Default: the live host\'s; otherwise storage is ignored.'
complete -c cpuctl -n '__cpuctl_at "config reserve"' -l memory -x -d 'Memory of a machine that was recorded without it.'
complete -c cpuctl -n '__cpuctl_at "config reserve"' -l kubelet-config -r -F -d 'KubeletConfiguration file. Default: the recorded kubelet\'s; with -m live, the running kubelet\'s, otherwise /var/lib/kubelet/config.yaml; always with flags and drop-ins.'
complete -c cpuctl -n '__cpuctl_at "config reserve"' -l config-dir -x -a '(__fish_complete_directories)' -d 'The kubelet\'s drop-in directory (its flag --config-dir).'
complete -c cpuctl -n '__cpuctl_at "config reserve"' -l kubelet-args -x -d 'The kubelet\'s flags, or @FILE with its command line; flags override files.'
complete -c cpuctl -n '__cpuctl_at "config reserve"' -l kubelet-version -x -a '1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27' -d 'The kubelet\'s version, 1.27 to 1.38: a minor or a patch (1.33.4), or @FILE with its Node (kubectl get node -o json).'
complete -c cpuctl -n '__cpuctl_at "config reserve"' -l feature-gates -x -a '(__cpuctl_ask gates)' -d 'Feature gates in addition to those of the configuration.'
complete -c cpuctl -n '__cpuctl_at "config reserve"' -l ignore-unknown-gates -d 'Ignore feature gates that Kubernetes does not know, as OpenShift\'s kubelet does.'
complete -c cpuctl -n '__cpuctl_at "config reserve"' -l help-kubelet -d 'Explain the kubelet options, and exit.'
complete -c cpuctl -n '__cpuctl_at "config reserve"' -l cpu-count -x -d 'Choose N CPUs for reservedSystemCPUs.'
complete -c cpuctl -n '__cpuctl_at "config reserve"' -l per-numa -d 'Choose the same number from each NUMA node: N in total, or a few more.'
complete -c cpuctl -n '__cpuctl_at "config reserve"' -l whole-cores -d 'Choose only whole cores: N CPUs, or a few more.'
complete -c cpuctl -n '__cpuctl_at "config reserve"' -l keep-p-cores -d 'Choose performance cores last, if the machine has several core types.'
complete -c cpuctl -n '__cpuctl_at "config reserve"' -l spread -x -a 'even proportional one-node' -d 'Reserve the same memory on each NUMA node (even, the default), in proportion to its size (proportional), or all on one (one-node).'
complete -c cpuctl -n '__cpuctl_at "config reserve"' -l numa-node -x -d 'Reserve all memory on this NUMA node.'
complete -c cpuctl -n '__cpuctl_at "config reserve"' -l snippet -d 'Print only a KubeletConfiguration with the settings, for a drop-in file.'
complete -c cpuctl -n '__cpuctl_at "config reserve"' -s o -l output -x -a 'table wide json yaml' -d 'Output format.'
complete -c cpuctl -n '__cpuctl_at "config reserve"' -l no-color -d 'Disable colour, as NO_COLOR does.'
complete -c cpuctl -n '__cpuctl_at "config reserve"' -s q -l quiet -d 'Suppress notes and warnings on stderr.'
complete -c cpuctl -n '__cpuctl_at "config reserve"' -l exit-zero -d 'Exit 0 even if the answer is no.'
complete -c cpuctl -n '__cpuctl_at "config reserve"' -s h -l help -d 'Show this message and exit.'
complete -c cpuctl -n '__cpuctl_argument "config show:1"' -a '(__cpuctl_machine)'
complete -c cpuctl -n '__cpuctl_at "config show"' -s m -l machine -x -a '(__cpuctl_machine)' -d 'The machine: live, a directory with sys/, an archive of one (.tar, .tar.gz, .tar.xz, ...), a sosreport, a must-gather (PATH#NODE), synthetic:... (see cpuctl topology synthetic -h), or the output of lscpu -e -J, lscpu -p, numactl -H, lstopo, ghwc, knit machineinfo or dracpu gatherinfo.'
complete -c cpuctl -n '__cpuctl_at "config show"' -l ephemeral-storage -x -d 'Size of the kubelet\'s file system. Default: the live host\'s; otherwise storage is ignored.'
complete -c cpuctl -n '__cpuctl_at "config show"' -l memory -x -d 'Memory of a machine that was recorded without it.'
complete -c cpuctl -n '__cpuctl_at "config show"' -l kubelet-config -r -F -d 'KubeletConfiguration file. Default: the recorded kubelet\'s; with -m live, the running kubelet\'s, otherwise /var/lib/kubelet/config.yaml; always with flags and drop-ins.'
complete -c cpuctl -n '__cpuctl_at "config show"' -l config-dir -x -a '(__fish_complete_directories)' -d 'The kubelet\'s drop-in directory (its flag --config-dir).'
complete -c cpuctl -n '__cpuctl_at "config show"' -l kubelet-args -x -d 'The kubelet\'s flags, or @FILE with its command line; flags override files.'
complete -c cpuctl -n '__cpuctl_at "config show"' -l kubelet-version -x -a '1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27' -d 'The kubelet\'s version, 1.27 to 1.38: a minor or a patch (1.33.4), or @FILE with its Node (kubectl get node -o json).'
complete -c cpuctl -n '__cpuctl_at "config show"' -l feature-gates -x -a '(__cpuctl_ask gates)' -d 'Feature gates in addition to those of the configuration.'
complete -c cpuctl -n '__cpuctl_at "config show"' -l ignore-unknown-gates -d 'Ignore feature gates that Kubernetes does not know, as OpenShift\'s kubelet does.'
complete -c cpuctl -n '__cpuctl_at "config show"' -l help-kubelet -d 'Explain the kubelet options, and exit.'
complete -c cpuctl -n '__cpuctl_at "config show"' -s o -l output -x -a 'table wide json yaml' -d 'Output format.'
complete -c cpuctl -n '__cpuctl_at "config show"' -l no-color -d 'Disable colour, as NO_COLOR does.'
complete -c cpuctl -n '__cpuctl_at "config show"' -s q -l quiet -d 'Suppress notes and warnings on stderr.'
complete -c cpuctl -n '__cpuctl_at "config show"' -s h -l help -d 'Show this message and exit.'
complete -c cpuctl -n '__cpuctl_argument "config check:1"' -a '(__cpuctl_machine)'
complete -c cpuctl -n '__cpuctl_at "config check"' -s m -l machine -x -a '(__cpuctl_machine)' -d 'The machine: live, a directory with sys/, an archive of one (.tar, .tar.gz, .tar.xz, ...), a sosreport, a must-gather (PATH#NODE), synthetic:... (see cpuctl topology synthetic -h), or the output of lscpu -e -J, lscpu -p, numactl -H, lstopo, ghwc, knit machineinfo or dracpu gatherinfo.'
complete -c cpuctl -n '__cpuctl_at "config check"' -l cgroup-version -x -a '1 2' -d 'The host\'s cgroup version. Default: the machine\'s, or 2.'
complete -c cpuctl -n '__cpuctl_at "config check"' -l ephemeral-storage -x -d 'Size of the kubelet\'s file system. Default: the live host\'s; otherwise storage is ignored.'
complete -c cpuctl -n '__cpuctl_at "config check"' -l memory -x -d 'Memory of a machine that was recorded without it.'
complete -c cpuctl -n '__cpuctl_at "config check"' -l state -r -F -d 'The kubelet\'s state files. Default: the node\'s own.'
complete -c cpuctl -n '__cpuctl_at "config check"' -l driver-args -x -d 'Flags of the dra.cpu driver that will run on the node, to check for conflicts.'
complete -c cpuctl -n '__cpuctl_at "config check"' -l kubelet-config -r -F -d 'KubeletConfiguration file. Default: the recorded kubelet\'s; with -m live, the running kubelet\'s, otherwise /var/lib/kubelet/config.yaml; always with flags and drop-ins.'
complete -c cpuctl -n '__cpuctl_at "config check"' -l config-dir -x -a '(__fish_complete_directories)' -d 'The kubelet\'s drop-in directory (its flag --config-dir).'
complete -c cpuctl -n '__cpuctl_at "config check"' -l kubelet-args -x -d 'The kubelet\'s flags, or @FILE with its command line; flags override files.'
complete -c cpuctl -n '__cpuctl_at "config check"' -l kubelet-version -x -a '1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27' -d 'The kubelet\'s version, 1.27 to 1.38: a minor or a patch (1.33.4), or @FILE with its Node (kubectl get node -o json).'
complete -c cpuctl -n '__cpuctl_at "config check"' -l feature-gates -x -a '(__cpuctl_ask gates)' -d 'Feature gates in addition to those of the configuration.'
complete -c cpuctl -n '__cpuctl_at "config check"' -l ignore-unknown-gates -d 'Ignore feature gates that Kubernetes does not know, as OpenShift\'s kubelet does.'
complete -c cpuctl -n '__cpuctl_at "config check"' -l help-kubelet -d 'Explain the kubelet options, and exit.'
complete -c cpuctl -n '__cpuctl_at "config check"' -l strict -d 'Exit 3 also for warnings.'
complete -c cpuctl -n '__cpuctl_at "config check"' -s o -l output -x -a 'table wide json yaml' -d 'Output format.'
complete -c cpuctl -n '__cpuctl_at "config check"' -l no-color -d 'Disable colour, as NO_COLOR does.'
complete -c cpuctl -n '__cpuctl_at "config check"' -s q -l quiet -d 'Suppress notes and warnings on stderr.'
complete -c cpuctl -n '__cpuctl_at "config check"' -l exit-zero -d 'Exit 0 even if the answer is no.'
complete -c cpuctl -n '__cpuctl_at "config check"' -s h -l help -d 'Show this message and exit.'
complete -c cpuctl -n '__cpuctl_argument "config versions:1"' -a '(__cpuctl_machine)'
complete -c cpuctl -n '__cpuctl_at "config versions"' -s f -l filename -r -F -d 'Manifests: files, directories, or - for stdin.'
complete -c cpuctl -n '__cpuctl_at "config versions"' -s T -l template -x -d 'A pod without YAML, NAME=REQUEST/LIMIT: \'web=4/4,2Gi x3\' is three pods; a single value sets both. web=1/2 (request below limit) and web=1/ (no limit) are Burstable, web alone is BestEffort.'
complete -c cpuctl -n '__cpuctl_at "config versions"' -s m -l machine -x -a '(__cpuctl_machine)' -d 'The machine: live, a directory with sys/, an archive of one (.tar, .tar.gz, .tar.xz, ...), a sosreport, a must-gather (PATH#NODE), synthetic:... (see cpuctl topology synthetic -h), or the output of lscpu -e -J, lscpu -p, numactl -H, lstopo, ghwc, knit machineinfo or dracpu gatherinfo.'
complete -c cpuctl -n '__cpuctl_at "config versions"' -l memory -x -d 'Memory of a machine that was recorded without it.'
complete -c cpuctl -n '__cpuctl_at "config versions"' -l state -r -F -d 'The kubelet\'s state files. Default: the node\'s own.'
complete -c cpuctl -n '__cpuctl_at "config versions"' -l pods -r -F -d 'The pods running on the node (kubectl get pods -o json), or MUST-GATHER#NODE.'
complete -c cpuctl -n '__cpuctl_at "config versions"' -l kubelet-config -r -F -d 'KubeletConfiguration file. Default: the recorded kubelet\'s; with -m live, the running kubelet\'s, otherwise /var/lib/kubelet/config.yaml; always with flags and drop-ins.'
complete -c cpuctl -n '__cpuctl_at "config versions"' -l config-dir -x -a '(__fish_complete_directories)' -d 'The kubelet\'s drop-in directory (its flag --config-dir).'
complete -c cpuctl -n '__cpuctl_at "config versions"' -l kubelet-args -x -d 'The kubelet\'s flags, or @FILE with its command line; flags override files.'
complete -c cpuctl -n '__cpuctl_at "config versions"' -l feature-gates -x -a '(__cpuctl_ask gates)' -d 'Feature gates in addition to those of the configuration.'
complete -c cpuctl -n '__cpuctl_at "config versions"' -l ignore-unknown-gates -d 'Ignore feature gates that Kubernetes does not know, as OpenShift\'s kubelet does.'
complete -c cpuctl -n '__cpuctl_at "config versions"' -l help-kubelet -d 'Explain the kubelet options, and exit.'
complete -c cpuctl -n '__cpuctl_at "config versions"' -l from -x -a '1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27' -d 'The kubelet version to upgrade from. Default: the node\'s.'
complete -c cpuctl -n '__cpuctl_at "config versions"' -l to -x -a '1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27' -d 'The kubelet version to upgrade to. Default: the next minor version.'
complete -c cpuctl -n '__cpuctl_at "config versions"' -l all -d 'Also show changes that do not affect this configuration.'
complete -c cpuctl -n '__cpuctl_at "config versions"' -s o -l output -x -a 'table wide json yaml' -d 'Output format.'
complete -c cpuctl -n '__cpuctl_at "config versions"' -l no-color -d 'Disable colour, as NO_COLOR does.'
complete -c cpuctl -n '__cpuctl_at "config versions"' -s q -l quiet -d 'Suppress notes and warnings on stderr.'
complete -c cpuctl -n '__cpuctl_at "config versions"' -s h -l help -d 'Show this message and exit.'
complete -c cpuctl -n '__cpuctl_argument "checkpoint:1"' -a dump -d 'Show the owners of CPUs and memory in the kubelet\'s state files.'
complete -c cpuctl -n '__cpuctl_argument "checkpoint:1"' -a verify -d 'Check whether the kubelet would start with these state files.'
complete -c cpuctl -n '__cpuctl_argument "checkpoint:1"' -a diff -d 'Show which containers gained or lost CPUs or memory.'
complete -c cpuctl -n '__cpuctl_argument "checkpoint:1"' -a migrate -d 'Rewrite state files for another kubelet version, newer or older.'
complete -c cpuctl -n '__cpuctl_argument "checkpoint:1"' -a repair -d 'Repair state files so that the kubelet starts, and verify them.'
complete -c cpuctl -n '__cpuctl_argument "checkpoint:1"' -a new -d 'Create the state files that a kubelet would have with these pods.'
complete -c cpuctl -n '__cpuctl_argument "checkpoint:1"' -a versions -d 'List state file formats, and which kubelets write and read them.'
complete -c cpuctl -n '__cpuctl_at "checkpoint"' -s h -l help -d 'Show this message and exit.'
complete -c cpuctl -n '__cpuctl_argument "checkpoint dump:1"' -F
complete -c cpuctl -n '__cpuctl_at "checkpoint dump"' -l state -r -F -d 'State files (same as the argument STATE).'
complete -c cpuctl -n '__cpuctl_at "checkpoint dump"' -s m -l machine -x -a '(__cpuctl_machine)' -d 'The node, as for other commands: the source of the state files, and the machine that --map and --svg draw.'
complete -c cpuctl -n '__cpuctl_at "checkpoint dump"' -l pods -r -F -d 'The pods running on the node (kubectl get pods -o json), or MUST-GATHER#NODE.'
complete -c cpuctl -n '__cpuctl_at "checkpoint dump"' -l map -d 'Draw the machine with the owner of each CPU.'
complete -c cpuctl -n '__cpuctl_at "checkpoint dump"' -l svg -r -F -d 'Also draw the machine with its CPUs as SVG; - is stdout, without the answer.'
complete -c cpuctl -n '__cpuctl_at "checkpoint dump"' -l force -d 'Overwrite existing files.'
complete -c cpuctl -n '__cpuctl_at "checkpoint dump"' -s o -l output -x -a 'table wide json yaml prom' -d 'Output format.'
complete -c cpuctl -n '__cpuctl_at "checkpoint dump"' -l no-color -d 'Disable colour, as NO_COLOR does.'
complete -c cpuctl -n '__cpuctl_at "checkpoint dump"' -s q -l quiet -d 'Suppress notes and warnings on stderr.'
complete -c cpuctl -n '__cpuctl_at "checkpoint dump"' -s h -l help -d 'Show this message and exit.'
complete -c cpuctl -n '__cpuctl_argument "checkpoint verify:1"' -F
complete -c cpuctl -n '__cpuctl_at "checkpoint verify"' -l state -r -F -d 'State files (same as the argument STATE).'
complete -c cpuctl -n '__cpuctl_at "checkpoint verify"' -s m -l machine -x -a '(__cpuctl_machine)' -d 'The machine: live, a directory with sys/, an archive of one (.tar, .tar.gz, .tar.xz, ...), a sosreport, a must-gather (PATH#NODE), synthetic:... (see cpuctl topology synthetic -h), or the output of lscpu -e -J, lscpu -p, numactl -H, lstopo, ghwc, knit machineinfo or dracpu gatherinfo.'
complete -c cpuctl -n '__cpuctl_at "checkpoint verify"' -l pods -r -F -d 'The pods running on the node (kubectl get pods -o json), or MUST-GATHER#NODE.'
complete -c cpuctl -n '__cpuctl_at "checkpoint verify"' -l memory -x -d 'Memory of a machine that was recorded without it.'
complete -c cpuctl -n '__cpuctl_at "checkpoint verify"' -l pod-resources -x -d 'Query the kubelet\'s pod resources socket, or read its answers (List, GetAllocatableResources) from a JSON file. Without a value, or with \'live\': the socket in the kubelet\'s directory.'
complete -c cpuctl -n '__cpuctl_at "checkpoint verify"' -l kubelet-config -r -F -d 'KubeletConfiguration file. Default: the recorded kubelet\'s; with -m live, the running kubelet\'s, otherwise /var/lib/kubelet/config.yaml; always with flags and drop-ins.'
complete -c cpuctl -n '__cpuctl_at "checkpoint verify"' -l config-dir -x -a '(__fish_complete_directories)' -d 'The kubelet\'s drop-in directory (its flag --config-dir).'
complete -c cpuctl -n '__cpuctl_at "checkpoint verify"' -l kubelet-args -x -d 'The kubelet\'s flags, or @FILE with its command line; flags override files.'
complete -c cpuctl -n '__cpuctl_at "checkpoint verify"' -l kubelet-version -x -a '1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27' -d 'The kubelet\'s version, 1.27 to 1.38: a minor or a patch (1.33.4), or @FILE with its Node (kubectl get node -o json).'
complete -c cpuctl -n '__cpuctl_at "checkpoint verify"' -l feature-gates -x -a '(__cpuctl_ask gates)' -d 'Feature gates in addition to those of the configuration.'
complete -c cpuctl -n '__cpuctl_at "checkpoint verify"' -l ignore-unknown-gates -d 'Ignore feature gates that Kubernetes does not know, as OpenShift\'s kubelet does.'
complete -c cpuctl -n '__cpuctl_at "checkpoint verify"' -l help-kubelet -d 'Explain the kubelet options, and exit.'
complete -c cpuctl -n '__cpuctl_at "checkpoint verify"' -l strict -d 'Exit 3 also for warnings.'
complete -c cpuctl -n '__cpuctl_at "checkpoint verify"' -s o -l output -x -a 'table wide json yaml prom' -d 'Output format.'
complete -c cpuctl -n '__cpuctl_at "checkpoint verify"' -l no-color -d 'Disable colour, as NO_COLOR does.'
complete -c cpuctl -n '__cpuctl_at "checkpoint verify"' -s q -l quiet -d 'Suppress notes and warnings on stderr.'
complete -c cpuctl -n '__cpuctl_at "checkpoint verify"' -l exit-zero -d 'Exit 0 even if the answer is no.'
complete -c cpuctl -n '__cpuctl_at "checkpoint verify"' -s h -l help -d 'Show this message and exit.'
complete -c cpuctl -n '__cpuctl_argument "checkpoint diff:1"' -F
complete -c cpuctl -n '__cpuctl_argument "checkpoint diff:2"' -F
complete -c cpuctl -n '__cpuctl_at "checkpoint diff"' -l pods -r -F -d 'The pods running on the node (kubectl get pods -o json), or MUST-GATHER#NODE.'
complete -c cpuctl -n '__cpuctl_at "checkpoint diff"' -l exit-code -d 'Exit 3 if anything differs or would change.'
complete -c cpuctl -n '__cpuctl_at "checkpoint diff"' -s o -l output -x -a 'table wide json yaml' -d 'Output format.'
complete -c cpuctl -n '__cpuctl_at "checkpoint diff"' -l no-color -d 'Disable colour, as NO_COLOR does.'
complete -c cpuctl -n '__cpuctl_at "checkpoint diff"' -s q -l quiet -d 'Suppress notes and warnings on stderr.'
complete -c cpuctl -n '__cpuctl_at "checkpoint diff"' -s h -l help -d 'Show this message and exit.'
complete -c cpuctl -n '__cpuctl_argument "checkpoint migrate:1"' -F
complete -c cpuctl -n '__cpuctl_at "checkpoint migrate"' -l state -r -F -d 'State files (same as the argument STATE).'
complete -c cpuctl -n '__cpuctl_at "checkpoint migrate"' -l pods -r -F -d 'The pods running on the node (kubectl get pods -o json), or MUST-GATHER#NODE.'
complete -c cpuctl -n '__cpuctl_at "checkpoint migrate"' -s m -l machine -x -a '(__cpuctl_machine)' -d 'The machine, as for other commands, on which the result is verified. Default: none.'
complete -c cpuctl -n '__cpuctl_at "checkpoint migrate"' -l memory -x -d 'Memory of a machine that was recorded without it.'
complete -c cpuctl -n '__cpuctl_at "checkpoint migrate"' -l root -x -a '(__fish_complete_directories)' -d 'Root of the node\'s file system, e.g. /host in a debugging pod, or a mounted disk: its state files are used and, with kubelet options but no -m, its machine.'
complete -c cpuctl -n '__cpuctl_at "checkpoint migrate"' -l feature-gates -x -a '(__cpuctl_ask gates)' -d 'Feature gates in addition to those of the configuration.'
complete -c cpuctl -n '__cpuctl_at "checkpoint migrate"' -l kubelet-config -r -F -d 'KubeletConfiguration file. Default: the recorded kubelet\'s; with -m live, the running kubelet\'s, otherwise /var/lib/kubelet/config.yaml; always with flags and drop-ins.'
complete -c cpuctl -n '__cpuctl_at "checkpoint migrate"' -l config-dir -x -a '(__fish_complete_directories)' -d 'The kubelet\'s drop-in directory (its flag --config-dir).'
complete -c cpuctl -n '__cpuctl_at "checkpoint migrate"' -l kubelet-args -x -d 'The kubelet\'s flags, or @FILE with its command line; flags override files.'
complete -c cpuctl -n '__cpuctl_at "checkpoint migrate"' -l help-kubelet -d 'Explain the kubelet options, and exit.'
complete -c cpuctl -n '__cpuctl_at "checkpoint migrate"' -l to -x -a '1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27' -d 'The kubelet version that will read the files, 1.27 to 1.38.'
complete -c cpuctl -n '__cpuctl_at "checkpoint migrate"' -s y -l yes -d 'Write in place, with a backup; without this, only show what would change.'
complete -c cpuctl -n '__cpuctl_at "checkpoint migrate"' -l force-kubelet-running -d 'Write even if a kubelet is using these files; it may overwrite the changes.'
complete -c cpuctl -n '__cpuctl_at "checkpoint migrate"' -l write-state -x -a '(__fish_complete_directories)' -d 'Write the new state files to DIR; --yes is not needed.'
complete -c cpuctl -n '__cpuctl_at "checkpoint migrate"' -l force -d 'Overwrite existing files; state files are backed up.'
complete -c cpuctl -n '__cpuctl_at "checkpoint migrate"' -l exit-code -d 'Exit 3 if anything differs or would change.'
complete -c cpuctl -n '__cpuctl_at "checkpoint migrate"' -s o -l output -x -a 'table wide json yaml' -d 'Output format.'
complete -c cpuctl -n '__cpuctl_at "checkpoint migrate"' -l no-color -d 'Disable colour, as NO_COLOR does.'
complete -c cpuctl -n '__cpuctl_at "checkpoint migrate"' -s q -l quiet -d 'Suppress notes and warnings on stderr.'
complete -c cpuctl -n '__cpuctl_at "checkpoint migrate"' -s h -l help -d 'Show this message and exit.'
complete -c cpuctl -n '__cpuctl_argument "checkpoint repair:1"' -F
complete -c cpuctl -n '__cpuctl_at "checkpoint repair"' -l state -r -F -d 'State files (same as the argument STATE).'
complete -c cpuctl -n '__cpuctl_at "checkpoint repair"' -s m -l machine -x -a '(__cpuctl_machine)' -d 'The machine: live, a directory with sys/, an archive of one (.tar, .tar.gz, .tar.xz, ...), a sosreport, a must-gather (PATH#NODE), synthetic:... (see cpuctl topology synthetic -h), or the output of lscpu -e -J, lscpu -p, numactl -H, lstopo, ghwc, knit machineinfo or dracpu gatherinfo.'
complete -c cpuctl -n '__cpuctl_at "checkpoint repair"' -l pods -r -F -d 'The pods running on the node (kubectl get pods -o json), or MUST-GATHER#NODE.'
complete -c cpuctl -n '__cpuctl_at "checkpoint repair"' -l memory -x -d 'Memory of a machine that was recorded without it.'
complete -c cpuctl -n '__cpuctl_at "checkpoint repair"' -l root -x -a '(__fish_complete_directories)' -d 'Root of the node\'s file system, e.g. /host in a debugging pod, or a mounted disk: its machine, kubelet configuration and state files are used.'
complete -c cpuctl -n '__cpuctl_at "checkpoint repair"' -l kubelet-config -r -F -d 'KubeletConfiguration file. Default: the recorded kubelet\'s; with -m live, the running kubelet\'s, otherwise /var/lib/kubelet/config.yaml; always with flags and drop-ins.'
complete -c cpuctl -n '__cpuctl_at "checkpoint repair"' -l config-dir -x -a '(__fish_complete_directories)' -d 'The kubelet\'s drop-in directory (its flag --config-dir).'
complete -c cpuctl -n '__cpuctl_at "checkpoint repair"' -l kubelet-args -x -d 'The kubelet\'s flags, or @FILE with its command line; flags override files.'
complete -c cpuctl -n '__cpuctl_at "checkpoint repair"' -l kubelet-version -x -a '1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27' -d 'The kubelet\'s version, 1.27 to 1.38: a minor or a patch (1.33.4), or @FILE with its Node (kubectl get node -o json).'
complete -c cpuctl -n '__cpuctl_at "checkpoint repair"' -l feature-gates -x -a '(__cpuctl_ask gates)' -d 'Feature gates in addition to those of the configuration.'
complete -c cpuctl -n '__cpuctl_at "checkpoint repair"' -l ignore-unknown-gates -d 'Ignore feature gates that Kubernetes does not know, as OpenShift\'s kubelet does.'
complete -c cpuctl -n '__cpuctl_at "checkpoint repair"' -l help-kubelet -d 'Explain the kubelet options, and exit.'
complete -c cpuctl -n '__cpuctl_at "checkpoint repair"' -s y -l yes -d 'Write in place, with a backup; without this, only show what would change.'
complete -c cpuctl -n '__cpuctl_at "checkpoint repair"' -l force-kubelet-running -d 'Write even if a kubelet is using these files; it may overwrite the changes.'
complete -c cpuctl -n '__cpuctl_at "checkpoint repair"' -l write-state -x -a '(__fish_complete_directories)' -d 'Write the new state files to DIR; --yes is not needed.'
complete -c cpuctl -n '__cpuctl_at "checkpoint repair"' -l force -d 'Overwrite existing files; state files are backed up.'
complete -c cpuctl -n '__cpuctl_at "checkpoint repair"' -l exit-code -d 'Exit 3 if anything differs or would change.'
complete -c cpuctl -n '__cpuctl_at "checkpoint repair"' -s o -l output -x -a 'table wide json yaml' -d 'Output format.'
complete -c cpuctl -n '__cpuctl_at "checkpoint repair"' -l no-color -d 'Disable colour, as NO_COLOR does.'
complete -c cpuctl -n '__cpuctl_at "checkpoint repair"' -s q -l quiet -d 'Suppress notes and warnings on stderr.'
complete -c cpuctl -n '__cpuctl_at "checkpoint repair"' -s h -l help -d 'Show this message and exit.'
complete -c cpuctl -n '__cpuctl_at "checkpoint new"' -F
complete -c cpuctl -n '__cpuctl_at "checkpoint new"' -l root -x -a '(__fish_complete_directories)' -d 'Root of the node\'s file system, e.g. /host in a debugging pod, or a mounted disk: its machine, kubelet configuration and state files are used.'
complete -c cpuctl -n '__cpuctl_at "checkpoint new"' -s f -l filename -r -F -d 'Manifests: files, directories, or - for stdin.'
complete -c cpuctl -n '__cpuctl_at "checkpoint new"' -s T -l template -x -d 'A pod without YAML, NAME=REQUEST/LIMIT: \'web=4/4,2Gi x3\' is three pods; a single value sets both. web=1/2 (request below limit) and web=1/ (no limit) are Burstable, web alone is BestEffort.'
complete -c cpuctl -n '__cpuctl_at "checkpoint new"' -s m -l machine -x -a '(__cpuctl_machine)' -d 'The machine: live, a directory with sys/, an archive of one (.tar, .tar.gz, .tar.xz, ...), a sosreport, a must-gather (PATH#NODE), synthetic:... (see cpuctl topology synthetic -h), or the output of lscpu -e -J, lscpu -p, numactl -H, lstopo, ghwc, knit machineinfo or dracpu gatherinfo.'
complete -c cpuctl -n '__cpuctl_at "checkpoint new"' -l devices -r -F -d 'Free, healthy devices of device plugins, by resource and NUMA node (see cpuctl schema devices), or the answers of the pod resources API (GetAllocatableResources, List).'
complete -c cpuctl -n '__cpuctl_at "checkpoint new"' -l assume-devices -d 'Assume that every NUMA node has enough of the devices that pods request and --devices does not list.'
complete -c cpuctl -n '__cpuctl_at "checkpoint new"' -l driver-args -x -d 'Flags of the dra.cpu driver, for pods with resource claims: \'--cpu-device-mode individual --reserved-cpus 0,32\'. Default: CPUs grouped by NUMA node, none reserved.'
complete -c cpuctl -n '__cpuctl_at "checkpoint new"' -l memory -x -d 'Memory of a machine that was recorded without it.'
complete -c cpuctl -n '__cpuctl_at "checkpoint new"' -l kubelet-config -r -F -d 'KubeletConfiguration file. Default: the recorded kubelet\'s; with -m live, the running kubelet\'s, otherwise /var/lib/kubelet/config.yaml; always with flags and drop-ins.'
complete -c cpuctl -n '__cpuctl_at "checkpoint new"' -l config-dir -x -a '(__fish_complete_directories)' -d 'The kubelet\'s drop-in directory (its flag --config-dir).'
complete -c cpuctl -n '__cpuctl_at "checkpoint new"' -l kubelet-args -x -d 'The kubelet\'s flags, or @FILE with its command line; flags override files.'
complete -c cpuctl -n '__cpuctl_at "checkpoint new"' -l kubelet-version -x -a '1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27' -d 'The kubelet\'s version, 1.27 to 1.38: a minor or a patch (1.33.4), or @FILE with its Node (kubectl get node -o json).'
complete -c cpuctl -n '__cpuctl_at "checkpoint new"' -l feature-gates -x -a '(__cpuctl_ask gates)' -d 'Feature gates in addition to those of the configuration.'
complete -c cpuctl -n '__cpuctl_at "checkpoint new"' -l ignore-unknown-gates -d 'Ignore feature gates that Kubernetes does not know, as OpenShift\'s kubelet does.'
complete -c cpuctl -n '__cpuctl_at "checkpoint new"' -l help-kubelet -d 'Explain the kubelet options, and exit.'
complete -c cpuctl -n '__cpuctl_at "checkpoint new"' -l force-kubelet-running -d 'Write even if a kubelet is using these files; it may overwrite the changes.'
complete -c cpuctl -n '__cpuctl_at "checkpoint new"' -l write-state -x -a '(__fish_complete_directories)' -d 'Write the new state files to DIR; --yes is not needed.'
complete -c cpuctl -n '__cpuctl_at "checkpoint new"' -l force -d 'Overwrite existing files; state files are backed up.'
complete -c cpuctl -n '__cpuctl_at "checkpoint new"' -s o -l output -x -a 'table wide json yaml' -d 'Output format.'
complete -c cpuctl -n '__cpuctl_at "checkpoint new"' -l no-color -d 'Disable colour, as NO_COLOR does.'
complete -c cpuctl -n '__cpuctl_at "checkpoint new"' -s q -l quiet -d 'Suppress notes and warnings on stderr.'
complete -c cpuctl -n '__cpuctl_at "checkpoint new"' -s h -l help -d 'Show this message and exit.'
complete -c cpuctl -n '__cpuctl_at "checkpoint versions"' -s o -l output -x -a 'table wide json yaml' -d 'Output format.'
complete -c cpuctl -n '__cpuctl_at "checkpoint versions"' -l no-color -d 'Disable colour, as NO_COLOR does.'
complete -c cpuctl -n '__cpuctl_at "checkpoint versions"' -s q -l quiet -d 'Suppress notes and warnings on stderr.'
complete -c cpuctl -n '__cpuctl_at "checkpoint versions"' -s h -l help -d 'Show this message and exit.'
complete -c cpuctl -n '__cpuctl_argument "audit:1"' -a '(__cpuctl_machine)'
complete -c cpuctl -n '__cpuctl_at "audit"' -s m -l machine -x -a '(__cpuctl_machine)' -d 'The node: live, a directory with sys/, or a recording.'
complete -c cpuctl -n '__cpuctl_at "audit"' -l root -x -a '(__fish_complete_directories)' -d 'Root of the node\'s file system, e.g. /host in a debugging pod, or a mounted disk.'
complete -c cpuctl -n '__cpuctl_at "audit"' -l state -r -F -d 'The kubelet\'s state files. Default: the node\'s own.'
complete -c cpuctl -n '__cpuctl_at "audit"' -l pods -r -F -d 'The pods running on the node (kubectl get pods -o json), or MUST-GATHER#NODE.'
complete -c cpuctl -n '__cpuctl_at "audit"' -l pod-resources -x -d 'Query the kubelet\'s pod resources socket, or read its answers (List, GetAllocatableResources) from a JSON file. Without a value, or with \'live\': the socket in the kubelet\'s directory.'
complete -c cpuctl -n '__cpuctl_at "audit"' -l kubelet-config -r -F -d 'KubeletConfiguration file. Default: the recorded kubelet\'s; with -m live, the running kubelet\'s, otherwise /var/lib/kubelet/config.yaml; always with flags and drop-ins.'
complete -c cpuctl -n '__cpuctl_at "audit"' -l config-dir -x -a '(__fish_complete_directories)' -d 'The kubelet\'s drop-in directory (its flag --config-dir).'
complete -c cpuctl -n '__cpuctl_at "audit"' -l kubelet-args -x -d 'The kubelet\'s flags, or @FILE with its command line; flags override files.'
complete -c cpuctl -n '__cpuctl_at "audit"' -l kubelet-version -x -a '1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27' -d 'The kubelet\'s version, 1.27 to 1.38: a minor or a patch (1.33.4), or @FILE with its Node (kubectl get node -o json).'
complete -c cpuctl -n '__cpuctl_at "audit"' -l feature-gates -x -a '(__cpuctl_ask gates)' -d 'Feature gates in addition to those of the configuration.'
complete -c cpuctl -n '__cpuctl_at "audit"' -l ignore-unknown-gates -d 'Ignore feature gates that Kubernetes does not know, as OpenShift\'s kubelet does.'
complete -c cpuctl -n '__cpuctl_at "audit"' -l help-kubelet -d 'Explain the kubelet options, and exit.'
complete -c cpuctl -n '__cpuctl_at "audit"' -l check -x -a '(__cpuctl_ask checks)' -d 'Only these checks: state, hotplug, reserved, cpusets, mems, threads, quota, memory, hugepages, stale, devices, claims, answers, foreign, kernel, interrupts, siblings, isolation, volumes.'
complete -c cpuctl -n '__cpuctl_at "audit"' -s o -l output -x -a 'table wide json yaml jsonl plan prom' -d 'Output format; jsonl is one finding per line, plan is the changes for cpuctl cgroups apply, prom is metrics for node_exporter.'
complete -c cpuctl -n '__cpuctl_at "audit"' -l no-color -d 'Disable colour, as NO_COLOR does.'
complete -c cpuctl -n '__cpuctl_at "audit"' -s q -l quiet -d 'Suppress notes and warnings on stderr.'
complete -c cpuctl -n '__cpuctl_at "audit"' -l exit-zero -d 'Exit 0 even if the answer is no.'
complete -c cpuctl -n '__cpuctl_at "audit"' -s h -l help -d 'Show this message and exit.'
complete -c cpuctl -n '__cpuctl_at "top"' -s m -l machine -x -a '(__cpuctl_machine)' -d 'The node: live, a directory with sys/, or a recording.'
complete -c cpuctl -n '__cpuctl_at "top"' -l root -x -a '(__fish_complete_directories)' -d 'Root of the node\'s file system, e.g. /host in a debugging pod, or a mounted disk.'
complete -c cpuctl -n '__cpuctl_at "top"' -l state -r -F -d 'The kubelet\'s state files. Default: the node\'s own.'
complete -c cpuctl -n '__cpuctl_at "top"' -l pods -r -F -d 'The pods running on the node (kubectl get pods -o json), or MUST-GATHER#NODE.'
complete -c cpuctl -n '__cpuctl_at "top"' -l replay -r -F -d 'Play a file written by --record or -o jsonl; with --once, show its last sample.'
complete -c cpuctl -n '__cpuctl_at "top"' -l kubelet-config -r -F -d 'KubeletConfiguration file. Default: the recorded kubelet\'s; with -m live, the running kubelet\'s, otherwise /var/lib/kubelet/config.yaml; always with flags and drop-ins.'
complete -c cpuctl -n '__cpuctl_at "top"' -l config-dir -x -a '(__fish_complete_directories)' -d 'The kubelet\'s drop-in directory (its flag --config-dir).'
complete -c cpuctl -n '__cpuctl_at "top"' -l kubelet-args -x -d 'The kubelet\'s flags, or @FILE with its command line; flags override files.'
complete -c cpuctl -n '__cpuctl_at "top"' -l kubelet-version -x -a '1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27' -d 'The kubelet\'s version, 1.27 to 1.38: a minor or a patch (1.33.4), or @FILE with its Node (kubectl get node -o json).'
complete -c cpuctl -n '__cpuctl_at "top"' -l feature-gates -x -a '(__cpuctl_ask gates)' -d 'Feature gates in addition to those of the configuration.'
complete -c cpuctl -n '__cpuctl_at "top"' -l ignore-unknown-gates -d 'Ignore feature gates that Kubernetes does not know, as OpenShift\'s kubelet does.'
complete -c cpuctl -n '__cpuctl_at "top"' -l help-kubelet -d 'Explain the kubelet options, and exit.'
complete -c cpuctl -n '__cpuctl_at "top"' -l interval -x -d 'Seconds between samples, 0.2 to 3600.'
complete -c cpuctl -n '__cpuctl_at "top"' -l samples -x -d 'With -o jsonl: exit after N samples; 0 means no limit.'
complete -c cpuctl -n '__cpuctl_at "top"' -l once -d 'Print one sample and exit.'
complete -c cpuctl -n '__cpuctl_at "top"' -s o -l output -x -a 'table wide json yaml jsonl' -d 'With --once: table, wide, json or yaml. jsonl: one sample per line.'
complete -c cpuctl -n '__cpuctl_at "top"' -l record -r -F -d 'Write every sample to a new file, one JSON object per line, up to 1 GiB; compressed if the name ends in .gz.'
complete -c cpuctl -n '__cpuctl_at "top"' -l no-color -d 'Disable colour, as NO_COLOR does.'
complete -c cpuctl -n '__cpuctl_at "top"' -s q -l quiet -d 'Suppress notes and warnings on stderr.'
complete -c cpuctl -n '__cpuctl_at "top"' -s h -l help -d 'Show this message and exit.'
complete -c cpuctl -n '__cpuctl_argument "report:1"' -a '(__cpuctl_machine)'
complete -c cpuctl -n '__cpuctl_at "report"' -l pod-resources -x -d 'Query the kubelet\'s pod resources socket, or read its answers (List, GetAllocatableResources) from a JSON file. Without a value, or with \'live\': the socket in the kubelet\'s directory.'
complete -c cpuctl -n '__cpuctl_at "report"' -l timeline -r -F -d 'Also replay a timeline (see cpuctl replay).'
complete -c cpuctl -n '__cpuctl_at "report"' -s f -l filename -r -F -d 'Manifests: files, directories, or - for stdin.'
complete -c cpuctl -n '__cpuctl_at "report"' -s T -l template -x -d 'A pod without YAML, NAME=REQUEST/LIMIT: \'web=4/4,2Gi x3\' is three pods; a single value sets both. web=1/2 (request below limit) and web=1/ (no limit) are Burstable, web alone is BestEffort.'
complete -c cpuctl -n '__cpuctl_at "report"' -s m -l machine -x -a '(__cpuctl_machine)' -d 'The machine: live, a directory with sys/, an archive of one (.tar, .tar.gz, .tar.xz, ...), a sosreport, a must-gather (PATH#NODE), synthetic:... (see cpuctl topology synthetic -h), or the output of lscpu -e -J, lscpu -p, numactl -H, lstopo, ghwc, knit machineinfo or dracpu gatherinfo.'
complete -c cpuctl -n '__cpuctl_at "report"' -l state -r -F -d 'The kubelet\'s state files to start from: cpu_manager_state, memory_manager_state, or the directory with both. Default: those of a recording (-m), unless --kubelet-config is given; otherwise an empty node.'
complete -c cpuctl -n '__cpuctl_at "report"' -l pods -r -F -d 'The pods running on the node (kubectl get pods -o json), or MUST-GATHER#NODE.'
complete -c cpuctl -n '__cpuctl_at "report"' -l devices -r -F -d 'Free, healthy devices of device plugins, by resource and NUMA node (see cpuctl schema devices), or the answers of the pod resources API (GetAllocatableResources, List).'
complete -c cpuctl -n '__cpuctl_at "report"' -l assume-devices -d 'Assume that every NUMA node has enough of the devices that pods request and --devices does not list.'
complete -c cpuctl -n '__cpuctl_at "report"' -l driver-args -x -d 'Flags of the dra.cpu driver, for pods with resource claims: \'--cpu-device-mode individual --reserved-cpus 0,32\'. Default: CPUs grouped by NUMA node, none reserved.'
complete -c cpuctl -n '__cpuctl_at "report"' -l ephemeral-storage -x -d 'Size of the kubelet\'s file system. Default: the live host\'s; otherwise storage is ignored.'
complete -c cpuctl -n '__cpuctl_at "report"' -l memory -x -d 'Memory of a machine that was recorded without it.'
complete -c cpuctl -n '__cpuctl_at "report"' -l skip-apiserver -d 'Skip the API server\'s validation of the pods.'
complete -c cpuctl -n '__cpuctl_at "report"' -l include-completed -d 'Treat completed pods (Succeeded, Failed) as new ones.'
complete -c cpuctl -n '__cpuctl_at "report"' -l kubelet-config -r -F -d 'KubeletConfiguration file. Default: the recorded kubelet\'s; with -m live, the running kubelet\'s, otherwise /var/lib/kubelet/config.yaml; always with flags and drop-ins.'
complete -c cpuctl -n '__cpuctl_at "report"' -l config-dir -x -a '(__fish_complete_directories)' -d 'The kubelet\'s drop-in directory (its flag --config-dir).'
complete -c cpuctl -n '__cpuctl_at "report"' -l kubelet-args -x -d 'The kubelet\'s flags, or @FILE with its command line; flags override files.'
complete -c cpuctl -n '__cpuctl_at "report"' -l kubelet-version -x -a '1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27' -d 'The kubelet\'s version, 1.27 to 1.38: a minor or a patch (1.33.4), or @FILE with its Node (kubectl get node -o json).'
complete -c cpuctl -n '__cpuctl_at "report"' -l feature-gates -x -a '(__cpuctl_ask gates)' -d 'Feature gates in addition to those of the configuration.'
complete -c cpuctl -n '__cpuctl_at "report"' -l ignore-unknown-gates -d 'Ignore feature gates that Kubernetes does not know, as OpenShift\'s kubelet does.'
complete -c cpuctl -n '__cpuctl_at "report"' -l help-kubelet -d 'Explain the kubelet options, and exit.'
complete -c cpuctl -n '__cpuctl_at "report"' -l html -r -F -d 'Write one self-contained HTML page; - is stdout, without the summary.'
complete -c cpuctl -n '__cpuctl_at "report"' -l force -d 'Overwrite existing files.'
complete -c cpuctl -n '__cpuctl_at "report"' -s o -l output -x -a 'table wide json yaml' -d 'Output format.'
complete -c cpuctl -n '__cpuctl_at "report"' -l no-color -d 'Disable colour, as NO_COLOR does.'
complete -c cpuctl -n '__cpuctl_at "report"' -s q -l quiet -d 'Suppress notes and warnings on stderr.'
complete -c cpuctl -n '__cpuctl_at "report"' -l exit-zero -d 'Exit 0 even if the answer is no.'
complete -c cpuctl -n '__cpuctl_at "report"' -s h -l help -d 'Show this message and exit.'
complete -c cpuctl -n '__cpuctl_at "watch"' -l root -x -a '(__fish_complete_directories)' -d 'Root of the node\'s file system, e.g. /host in a debugging pod, or a mounted disk.'
complete -c cpuctl -n '__cpuctl_at "watch"' -l pods -r -F -d 'The pods running on the node (kubectl get pods -o json), or MUST-GATHER#NODE.'
complete -c cpuctl -n '__cpuctl_at "watch"' -l pod-resources -x -d 'Query the kubelet\'s pod resources socket, or read its answers (List, GetAllocatableResources) from a JSON file. Without a value, or with \'live\': the socket in the kubelet\'s directory.'
complete -c cpuctl -n '__cpuctl_at "watch"' -l kubelet-config -r -F -d 'KubeletConfiguration file. Default: the recorded kubelet\'s; with -m live, the running kubelet\'s, otherwise /var/lib/kubelet/config.yaml; always with flags and drop-ins.'
complete -c cpuctl -n '__cpuctl_at "watch"' -l config-dir -x -a '(__fish_complete_directories)' -d 'The kubelet\'s drop-in directory (its flag --config-dir).'
complete -c cpuctl -n '__cpuctl_at "watch"' -l kubelet-args -x -d 'The kubelet\'s flags, or @FILE with its command line; flags override files.'
complete -c cpuctl -n '__cpuctl_at "watch"' -l kubelet-version -x -a '1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27' -d 'The kubelet\'s version, 1.27 to 1.38: a minor or a patch (1.33.4), or @FILE with its Node (kubectl get node -o json).'
complete -c cpuctl -n '__cpuctl_at "watch"' -l feature-gates -x -a '(__cpuctl_ask gates)' -d 'Feature gates in addition to those of the configuration.'
complete -c cpuctl -n '__cpuctl_at "watch"' -l ignore-unknown-gates -d 'Ignore feature gates that Kubernetes does not know, as OpenShift\'s kubelet does.'
complete -c cpuctl -n '__cpuctl_at "watch"' -l help-kubelet -d 'Explain the kubelet options, and exit.'
complete -c cpuctl -n '__cpuctl_at "watch"' -l check -x -a '(__cpuctl_ask checks)' -d 'Only these checks: state, hotplug, reserved, cpusets, mems, threads, quota, memory, hugepages, stale, devices, claims, answers, foreign, kernel, interrupts, siblings, isolation, volumes.'
complete -c cpuctl -n '__cpuctl_at "watch"' -l every -x -d 'How often threads and interrupts are sampled; 100ms or more.'
complete -c cpuctl -n '__cpuctl_at "watch"' -l full -x -d 'How often the node is audited when nothing changes; 1s or more.'
complete -c cpuctl -n '__cpuctl_at "watch"' -l settle -x -d 'How long a finding must be gone, or different, before that is reported.'
complete -c cpuctl -n '__cpuctl_at "watch"' -l max-cpu -x -d 'Share of one CPU that audits may use on average; sampling may use the same share in addition.'
complete -c cpuctl -n '__cpuctl_at "watch"' -l fail-on -x -a 'error warning note' -d 'Exit with code 3 on the first finding of this severity or worse.'
complete -c cpuctl -n '__cpuctl_at "watch"' -l for -x -d 'Exit with code 0 after this time.'
complete -c cpuctl -n '__cpuctl_at "watch"' -l textfile -r -F -d 'Write the metrics of cpuctl audit -o prom to this file after each audit, atomically: for node_exporter\'s textfile collector.'
complete -c cpuctl -n '__cpuctl_at "watch"' -s o -l output -x -a 'lines jsonl' -d 'Output format: text lines, or jsonl with one change per line.'
complete -c cpuctl -n '__cpuctl_at "watch"' -s q -l quiet -d 'Suppress notes and warnings on stderr.'
complete -c cpuctl -n '__cpuctl_at "watch"' -s h -l help -d 'Show this message and exit.'
complete -c cpuctl -n '__cpuctl_argument "cgroups:1"' -a show -d 'Show the tree of kubepods, with expected and actual values.'
complete -c cpuctl -n '__cpuctl_argument "cgroups:1"' -a apply -d 'Write CPU sets to cgroups, in a safe order.'
complete -c cpuctl -n '__cpuctl_at "cgroups"' -s h -l help -d 'Show this message and exit.'
complete -c cpuctl -n '__cpuctl_argument "cgroups show:1"' -a '(__cpuctl_machine)'
complete -c cpuctl -n '__cpuctl_at "cgroups show"' -s m -l machine -x -a '(__cpuctl_machine)' -d 'The node: live, a directory with sys/, or a recording.'
complete -c cpuctl -n '__cpuctl_at "cgroups show"' -l root -x -a '(__fish_complete_directories)' -d 'Root of the node\'s file system, e.g. /host in a debugging pod, or a mounted disk.'
complete -c cpuctl -n '__cpuctl_at "cgroups show"' -l state -r -F -d 'The kubelet\'s state files. Default: the node\'s own.'
complete -c cpuctl -n '__cpuctl_at "cgroups show"' -l pods -r -F -d 'The pods running on the node (kubectl get pods -o json), or MUST-GATHER#NODE.'
complete -c cpuctl -n '__cpuctl_at "cgroups show"' -l oci-runtime -x -d 'The OCI runtime, e.g. runc-1.2.6 or crun-1.23; the CPU weight of containers depends on it.'
complete -c cpuctl -n '__cpuctl_at "cgroups show"' -l kubelet-config -r -F -d 'KubeletConfiguration file. Default: the recorded kubelet\'s; with -m live, the running kubelet\'s, otherwise /var/lib/kubelet/config.yaml; always with flags and drop-ins.'
complete -c cpuctl -n '__cpuctl_at "cgroups show"' -l config-dir -x -a '(__fish_complete_directories)' -d 'The kubelet\'s drop-in directory (its flag --config-dir).'
complete -c cpuctl -n '__cpuctl_at "cgroups show"' -l kubelet-args -x -d 'The kubelet\'s flags, or @FILE with its command line; flags override files.'
complete -c cpuctl -n '__cpuctl_at "cgroups show"' -l kubelet-version -x -a '1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27' -d 'The kubelet\'s version, 1.27 to 1.38: a minor or a patch (1.33.4), or @FILE with its Node (kubectl get node -o json).'
complete -c cpuctl -n '__cpuctl_at "cgroups show"' -l feature-gates -x -a '(__cpuctl_ask gates)' -d 'Feature gates in addition to those of the configuration.'
complete -c cpuctl -n '__cpuctl_at "cgroups show"' -l ignore-unknown-gates -d 'Ignore feature gates that Kubernetes does not know, as OpenShift\'s kubelet does.'
complete -c cpuctl -n '__cpuctl_at "cgroups show"' -l help-kubelet -d 'Explain the kubelet options, and exit.'
complete -c cpuctl -n '__cpuctl_at "cgroups show"' -l exit-code -d 'Exit 3 if anything differs.'
complete -c cpuctl -n '__cpuctl_at "cgroups show"' -s o -l output -x -a 'table wide json yaml jsonl' -d 'Output format; jsonl is one pod per line.'
complete -c cpuctl -n '__cpuctl_at "cgroups show"' -l no-color -d 'Disable colour, as NO_COLOR does.'
complete -c cpuctl -n '__cpuctl_at "cgroups show"' -s q -l quiet -d 'Suppress notes and warnings on stderr.'
complete -c cpuctl -n '__cpuctl_at "cgroups show"' -s h -l help -d 'Show this message and exit.'
complete -c cpuctl -n '__cpuctl_at "cgroups apply"' -a '(__cpuctl_ask container)'
complete -c cpuctl -n '__cpuctl_at "cgroups apply"' -s f -l filename -r -F -d 'A plan or a CPU Manager state; - for stdin.'
complete -c cpuctl -n '__cpuctl_at "cgroups apply"' -s m -l machine -x -a '(__cpuctl_machine)' -d 'The node: live, a directory with sys/, or a recording.'
complete -c cpuctl -n '__cpuctl_at "cgroups apply"' -l root -x -a '(__fish_complete_directories)' -d 'Root of the node\'s file system, e.g. /host in a debugging pod, or a mounted disk.'
complete -c cpuctl -n '__cpuctl_at "cgroups apply"' -l state -r -F -d 'The kubelet\'s state files. Default: the node\'s own.'
complete -c cpuctl -n '__cpuctl_at "cgroups apply"' -l pods -r -F -d 'The pods running on the node (kubectl get pods -o json), or MUST-GATHER#NODE.'
complete -c cpuctl -n '__cpuctl_at "cgroups apply"' -l kubelet-config -r -F -d 'KubeletConfiguration file. Default: the recorded kubelet\'s; with -m live, the running kubelet\'s, otherwise /var/lib/kubelet/config.yaml; always with flags and drop-ins.'
complete -c cpuctl -n '__cpuctl_at "cgroups apply"' -l config-dir -x -a '(__fish_complete_directories)' -d 'The kubelet\'s drop-in directory (its flag --config-dir).'
complete -c cpuctl -n '__cpuctl_at "cgroups apply"' -l kubelet-args -x -d 'The kubelet\'s flags, or @FILE with its command line; flags override files.'
complete -c cpuctl -n '__cpuctl_at "cgroups apply"' -l kubelet-version -x -a '1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27' -d 'The kubelet\'s version, 1.27 to 1.38: a minor or a patch (1.33.4), or @FILE with its Node (kubectl get node -o json).'
complete -c cpuctl -n '__cpuctl_at "cgroups apply"' -l feature-gates -x -a '(__cpuctl_ask gates)' -d 'Feature gates in addition to those of the configuration.'
complete -c cpuctl -n '__cpuctl_at "cgroups apply"' -l ignore-unknown-gates -d 'Ignore feature gates that Kubernetes does not know, as OpenShift\'s kubelet does.'
complete -c cpuctl -n '__cpuctl_at "cgroups apply"' -l help-kubelet -d 'Explain the kubelet options, and exit.'
complete -c cpuctl -n '__cpuctl_at "cgroups apply"' -s y -l yes -d 'Write the changes; without this, only show them.'
complete -c cpuctl -n '__cpuctl_at "cgroups apply"' -l no-wait -d 'Do not wait to see if the kubelet rewrites the set.'
complete -c cpuctl -n '__cpuctl_at "cgroups apply"' -l quota -d 'Also write CFS quotas: none for exclusive CPUs, otherwise from the pods\' limits (--pods).'
complete -c cpuctl -n '__cpuctl_at "cgroups apply"' -l log -r -F -d 'Append every step to FILE, one JSON object per line.'
complete -c cpuctl -n '__cpuctl_at "cgroups apply"' -l force-offline -d 'Allow offline CPUs (cgroup v2 only).'
complete -c cpuctl -n '__cpuctl_at "cgroups apply"' -l force-reserved -d 'Allow reserved CPUs.'
complete -c cpuctl -n '__cpuctl_at "cgroups apply"' -l force-exclusive -d 'Allow exclusive CPUs of another container.'
complete -c cpuctl -n '__cpuctl_at "cgroups apply"' -l exit-code -d 'Exit 3 if a dry run has something to write.'
complete -c cpuctl -n '__cpuctl_at "cgroups apply"' -s o -l output -x -a 'table wide json yaml' -d 'Output format.'
complete -c cpuctl -n '__cpuctl_at "cgroups apply"' -l no-color -d 'Disable colour, as NO_COLOR does.'
complete -c cpuctl -n '__cpuctl_at "cgroups apply"' -s q -l quiet -d 'Suppress notes and warnings on stderr.'
complete -c cpuctl -n '__cpuctl_at "cgroups apply"' -s h -l help -d 'Show this message and exit.'
complete -c cpuctl -n '__cpuctl_argument "nri:1"' -a run -d 'Run as a plugin of containerd or CRI-O that sets CPUs of containers.'
complete -c cpuctl -n '__cpuctl_at "nri"' -s h -l help -d 'Show this message and exit.'
complete -c cpuctl -n '__cpuctl_at "nri run"' -l plan -r -F -d 'Apply this plan (output of cpuctl plan -o json); - for stdin.'
complete -c cpuctl -n '__cpuctl_at "nri run"' -s m -l machine -x -a '(__cpuctl_machine)' -d 'The machine: live, a directory with sys/, an archive of one (.tar, .tar.gz, .tar.xz, ...), a sosreport, a must-gather (PATH#NODE), synthetic:... (see cpuctl topology synthetic -h), or the output of lscpu -e -J, lscpu -p, numactl -H, lstopo, ghwc, knit machineinfo or dracpu gatherinfo.'
complete -c cpuctl -n '__cpuctl_at "nri run"' -l kubelet-config -r -F -d 'KubeletConfiguration file. Default: the recorded kubelet\'s; with -m live, the running kubelet\'s, otherwise /var/lib/kubelet/config.yaml; always with flags and drop-ins.'
complete -c cpuctl -n '__cpuctl_at "nri run"' -l config-dir -x -a '(__fish_complete_directories)' -d 'The kubelet\'s drop-in directory (its flag --config-dir).'
complete -c cpuctl -n '__cpuctl_at "nri run"' -l kubelet-args -x -d 'The kubelet\'s flags, or @FILE with its command line; flags override files.'
complete -c cpuctl -n '__cpuctl_at "nri run"' -l kubelet-version -x -a '1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27' -d 'The kubelet\'s version, 1.27 to 1.38: a minor or a patch (1.33.4), or @FILE with its Node (kubectl get node -o json).'
complete -c cpuctl -n '__cpuctl_at "nri run"' -l feature-gates -x -a '(__cpuctl_ask gates)' -d 'Feature gates in addition to those of the configuration.'
complete -c cpuctl -n '__cpuctl_at "nri run"' -l ignore-unknown-gates -d 'Ignore feature gates that Kubernetes does not know, as OpenShift\'s kubelet does.'
complete -c cpuctl -n '__cpuctl_at "nri run"' -l help-kubelet -d 'Explain the kubelet options, and exit.'
complete -c cpuctl -n '__cpuctl_at "nri run"' -l policy -x -a 'static numa-allocation min-shared favour-cpus core-kinds koordinator katalyst' -d 'Assign CPUs when containers are created: static (the kubelet\'s), another NAME (see cpuctl policies list) or FILE.py:CLASS, with ,OPTION=VALUE for its options.'
complete -c cpuctl -n '__cpuctl_at "nri run"' -l state-file -r -F -d 'File in which a policy keeps its assignments between runs.'
complete -c cpuctl -n '__cpuctl_at "nri run"' -l socket -r -F -d 'The runtime\'s socket for plugins.'
complete -c cpuctl -n '__cpuctl_at "nri run"' -l index -x -d 'Two digits: runtimes call plugins in order of their index.'
complete -c cpuctl -n '__cpuctl_at "nri run"' -l dry-run -d 'Only log the answers; containers stay unchanged.'
complete -c cpuctl -n '__cpuctl_at "nri run"' -s o -l output -x -a 'log jsonl' -d 'log: lines on stderr; jsonl: also every answer on stdout, one JSON object per line.'
complete -c cpuctl -n '__cpuctl_at "nri run"' -s q -l quiet -d 'Suppress notes and warnings on stderr.'
complete -c cpuctl -n '__cpuctl_at "nri run"' -s h -l help -d 'Show this message and exit.'
complete -c cpuctl -n '__cpuctl_argument "dra:1"' -a slices -d 'Show the ResourceSlices that the dra.cpu driver would publish.'
complete -c cpuctl -n '__cpuctl_argument "dra:1"' -a allocate -d 'Dry-run ResourceClaims: which devices and CPUs pods get.'
complete -c cpuctl -n '__cpuctl_at "dra"' -s h -l help -d 'Show this message and exit.'
complete -c cpuctl -n '__cpuctl_argument "dra slices:1"' -a '(__cpuctl_machine)'
complete -c cpuctl -n '__cpuctl_at "dra slices"' -s m -l machine -x -a '(__cpuctl_machine)' -d 'The machine: live, a directory with sys/, an archive of one (.tar, .tar.gz, .tar.xz, ...), a sosreport, a must-gather (PATH#NODE), synthetic:... (see cpuctl topology synthetic -h), or the output of lscpu -e -J, lscpu -p, numactl -H, lstopo, ghwc, knit machineinfo or dracpu gatherinfo.'
complete -c cpuctl -n '__cpuctl_at "dra slices"' -l kubelet-config -r -F -d 'KubeletConfiguration file. Default: the recorded kubelet\'s; with -m live, the running kubelet\'s, otherwise /var/lib/kubelet/config.yaml; always with flags and drop-ins.'
complete -c cpuctl -n '__cpuctl_at "dra slices"' -l config-dir -x -a '(__fish_complete_directories)' -d 'The kubelet\'s drop-in directory (its flag --config-dir).'
complete -c cpuctl -n '__cpuctl_at "dra slices"' -l kubelet-args -x -d 'The kubelet\'s flags, or @FILE with its command line; flags override files.'
complete -c cpuctl -n '__cpuctl_at "dra slices"' -l kubelet-version -x -a '1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27' -d 'The kubelet\'s version, 1.27 to 1.38: a minor or a patch (1.33.4), or @FILE with its Node (kubectl get node -o json).'
complete -c cpuctl -n '__cpuctl_at "dra slices"' -l feature-gates -x -a '(__cpuctl_ask gates)' -d 'Feature gates in addition to those of the configuration.'
complete -c cpuctl -n '__cpuctl_at "dra slices"' -l ignore-unknown-gates -d 'Ignore feature gates that Kubernetes does not know, as OpenShift\'s kubelet does.'
complete -c cpuctl -n '__cpuctl_at "dra slices"' -l help-kubelet -d 'Explain the kubelet options, and exit.'
complete -c cpuctl -n '__cpuctl_at "dra slices"' -l cpu-device-mode -x -a 'grouped individual' -d 'One device per group of CPUs, or one per CPU.'
complete -c cpuctl -n '__cpuctl_at "dra slices"' -l group-by -x -a 'numanode socket machine' -d 'How CPUs are grouped.'
complete -c cpuctl -n '__cpuctl_at "dra slices"' -l reserved-cpus -x -a '(__cpuctl_ask cpus)' -d 'CPUs that do not become devices: 0-3,8, a mask (0xff), or node:1, socket:0, l3:2, core:5.'
complete -c cpuctl -n '__cpuctl_at "dra slices"' -l expose-pcie-roots -d 'Publish nearby PCIe roots, for claims that combine CPUs with other devices.'
complete -c cpuctl -n '__cpuctl_at "dra slices"' -l publish-node-allocatable-resource-mapping -d 'Count the CPUs of claims as the node\'s (KEP-5517), as the driver\'s setting of the same name does.'
complete -c cpuctl -n '__cpuctl_at "dra slices"' -l hostname-override -x -d 'The node\'s name. Default: the machine\'s etc/hostname.'
complete -c cpuctl -n '__cpuctl_at "dra slices"' -s o -l output -x -a 'table wide json yaml' -d 'Output format.'
complete -c cpuctl -n '__cpuctl_at "dra slices"' -l no-color -d 'Disable colour, as NO_COLOR does.'
complete -c cpuctl -n '__cpuctl_at "dra slices"' -s q -l quiet -d 'Suppress notes and warnings on stderr.'
complete -c cpuctl -n '__cpuctl_at "dra slices"' -s h -l help -d 'Show this message and exit.'
complete -c cpuctl -n '__cpuctl_at "dra allocate"' -F
complete -c cpuctl -n '__cpuctl_at "dra allocate"' -s f -l filename -r -F -d 'Manifests: files, directories, or - for stdin.'
complete -c cpuctl -n '__cpuctl_at "dra allocate"' -s m -l machine -x -a '(__cpuctl_machine)' -d 'The machine: live, a directory with sys/, an archive of one (.tar, .tar.gz, .tar.xz, ...), a sosreport, a must-gather (PATH#NODE), synthetic:... (see cpuctl topology synthetic -h), or the output of lscpu -e -J, lscpu -p, numactl -H, lstopo, ghwc, knit machineinfo or dracpu gatherinfo.'
complete -c cpuctl -n '__cpuctl_at "dra allocate"' -l kubelet-config -r -F -d 'KubeletConfiguration file. Default: the recorded kubelet\'s; with -m live, the running kubelet\'s, otherwise /var/lib/kubelet/config.yaml; always with flags and drop-ins.'
complete -c cpuctl -n '__cpuctl_at "dra allocate"' -l config-dir -x -a '(__fish_complete_directories)' -d 'The kubelet\'s drop-in directory (its flag --config-dir).'
complete -c cpuctl -n '__cpuctl_at "dra allocate"' -l kubelet-args -x -d 'The kubelet\'s flags, or @FILE with its command line; flags override files.'
complete -c cpuctl -n '__cpuctl_at "dra allocate"' -l kubelet-version -x -a '1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27' -d 'The kubelet\'s version, 1.27 to 1.38: a minor or a patch (1.33.4), or @FILE with its Node (kubectl get node -o json).'
complete -c cpuctl -n '__cpuctl_at "dra allocate"' -l feature-gates -x -a '(__cpuctl_ask gates)' -d 'Feature gates in addition to those of the configuration.'
complete -c cpuctl -n '__cpuctl_at "dra allocate"' -l ignore-unknown-gates -d 'Ignore feature gates that Kubernetes does not know, as OpenShift\'s kubelet does.'
complete -c cpuctl -n '__cpuctl_at "dra allocate"' -l help-kubelet -d 'Explain the kubelet options, and exit.'
complete -c cpuctl -n '__cpuctl_at "dra allocate"' -l cpu-device-mode -x -a 'grouped individual' -d 'One device per group of CPUs, or one per CPU.'
complete -c cpuctl -n '__cpuctl_at "dra allocate"' -l group-by -x -a 'numanode socket machine' -d 'How CPUs are grouped.'
complete -c cpuctl -n '__cpuctl_at "dra allocate"' -l reserved-cpus -x -a '(__cpuctl_ask cpus)' -d 'CPUs that do not become devices: 0-3,8, a mask (0xff), or node:1, socket:0, l3:2, core:5.'
complete -c cpuctl -n '__cpuctl_at "dra allocate"' -l expose-pcie-roots -d 'Publish nearby PCIe roots, for claims that combine CPUs with other devices.'
complete -c cpuctl -n '__cpuctl_at "dra allocate"' -l publish-node-allocatable-resource-mapping -d 'Count the CPUs of claims as the node\'s (KEP-5517), as the driver\'s setting of the same name does.'
complete -c cpuctl -n '__cpuctl_at "dra allocate"' -l hostname-override -x -d 'The node\'s name. Default: the machine\'s etc/hostname.'
complete -c cpuctl -n '__cpuctl_at "dra allocate"' -l fixed -d 'Pick CPUs as a driver would that distinguishes cores with the same ID on different sockets.'
complete -c cpuctl -n '__cpuctl_at "dra allocate"' -l exit-zero -d 'Exit 0 even if the answer is no.'
complete -c cpuctl -n '__cpuctl_at "dra allocate"' -s o -l output -x -a 'table wide json yaml' -d 'Output format.'
complete -c cpuctl -n '__cpuctl_at "dra allocate"' -l no-color -d 'Disable colour, as NO_COLOR does.'
complete -c cpuctl -n '__cpuctl_at "dra allocate"' -s q -l quiet -d 'Suppress notes and warnings on stderr.'
complete -c cpuctl -n '__cpuctl_at "dra allocate"' -s h -l help -d 'Show this message and exit.'
complete -c cpuctl -n '__cpuctl_argument "capture:1"' -F
complete -c cpuctl -n '__cpuctl_at "capture"' -l root -x -a '(__fish_complete_directories)' -d 'Root of the node\'s file system, e.g. /host in a debugging pod, or a mounted disk.'
complete -c cpuctl -n '__cpuctl_at "capture"' -l anonymize -d 'Replace names of hosts, pods, containers and programs with stable pseudonyms.'
complete -c cpuctl -n '__cpuctl_at "capture"' -l timestamp -d 'Record the time; without it, archives of an unchanged node are identical.'
complete -c cpuctl -n '__cpuctl_at "capture"' -l force -d 'Overwrite FILE if it exists; the old file is backed up.'
complete -c cpuctl -n '__cpuctl_at "capture"' -s o -l output -x -a 'table wide json yaml' -d 'Output format.'
complete -c cpuctl -n '__cpuctl_at "capture"' -l no-color -d 'Disable colour, as NO_COLOR does.'
complete -c cpuctl -n '__cpuctl_at "capture"' -s q -l quiet -d 'Suppress notes and warnings on stderr.'
complete -c cpuctl -n '__cpuctl_at "capture"' -s h -l help -d 'Show this message and exit.'
complete -c cpuctl -n '__cpuctl_argument "fleet:1"' -a list -d 'List the nodes of a fleet, and find the odd ones.'
complete -c cpuctl -n '__cpuctl_argument "fleet:1"' -a check -d 'Check the nodes of a fleet, and show each finding once.'
complete -c cpuctl -n '__cpuctl_argument "fleet:1"' -a diff -d 'Compare two collections of recordings: before and after.'
complete -c cpuctl -n '__cpuctl_argument "fleet:1"' -a plan -d 'Dry-run pods on a fleet: where they go, and which nodes reject them.'
complete -c cpuctl -n '__cpuctl_argument "fleet:1"' -a report -d 'Write a page for each node, and an index with the most urgent first.'
complete -c cpuctl -n '__cpuctl_at "fleet"' -s h -l help -d 'Show this message and exit.'
complete -c cpuctl -n '__cpuctl_at "fleet list"' -F
complete -c cpuctl -n '__cpuctl_at "fleet list"' -s f -l filename -r -F -d 'Manifests: files, directories, or - for stdin.'
complete -c cpuctl -n '__cpuctl_at "fleet list"' -s T -l template -x -d 'A pod without YAML, NAME=REQUEST/LIMIT: \'web=4/4,2Gi x3\' is three pods; a single value sets both. web=1/2 (request below limit) and web=1/ (no limit) are Burstable, web alone is BestEffort.'
complete -c cpuctl -n '__cpuctl_at "fleet list"' -l nodes -r -F -d 'Nodes (kubectl get nodes -o json), for kubelet versions that recordings do not have. A recording is named after its node: node7.tar.xz, or any name in a directory node7.'
complete -c cpuctl -n '__cpuctl_at "fleet list"' -l resume -r -F -d 'Reuse the answers in FILE, written by an earlier run with -o jsonl, and process only the rest.'
complete -c cpuctl -n '__cpuctl_at "fleet list"' -l kubelet-config -r -F -d 'KubeletConfiguration file. Default: the recorded kubelet\'s; with -m live, the running kubelet\'s, otherwise /var/lib/kubelet/config.yaml; always with flags and drop-ins.'
complete -c cpuctl -n '__cpuctl_at "fleet list"' -l config-dir -x -a '(__fish_complete_directories)' -d 'The kubelet\'s drop-in directory (its flag --config-dir).'
complete -c cpuctl -n '__cpuctl_at "fleet list"' -l kubelet-args -x -d 'The kubelet\'s flags, or @FILE with its command line; flags override files.'
complete -c cpuctl -n '__cpuctl_at "fleet list"' -l kubelet-version -x -a '1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27' -d 'The kubelet\'s version, 1.27 to 1.38: a minor or a patch (1.33.4), or @FILE with its Node (kubectl get node -o json).'
complete -c cpuctl -n '__cpuctl_at "fleet list"' -l feature-gates -x -a '(__cpuctl_ask gates)' -d 'Feature gates in addition to those of the configuration.'
complete -c cpuctl -n '__cpuctl_at "fleet list"' -l ignore-unknown-gates -d 'Ignore feature gates that Kubernetes does not know, as OpenShift\'s kubelet does.'
complete -c cpuctl -n '__cpuctl_at "fleet list"' -l help-kubelet -d 'Explain the kubelet options, and exit.'
complete -c cpuctl -n '__cpuctl_at "fleet list"' -s j -l jobs -x -d 'Number of processes. Default: one per CPU.'
complete -c cpuctl -n '__cpuctl_at "fleet list"' -l dask-scheduler -x -d 'Use the workers of a Dask scheduler, e.g. tcp://host:8786, or local for workers on this machine (pip install \'cpuctl[fleet]\').'
complete -c cpuctl -n '__cpuctl_at "fleet list"' -l svg -r -F -d 'Also draw the fleet as SVG, one strip per node; - is stdout, without the answer.'
complete -c cpuctl -n '__cpuctl_at "fleet list"' -l html -r -F -d 'Also write the answer, the picture and the inputs as one self-contained HTML page; - is stdout, without the answer.'
complete -c cpuctl -n '__cpuctl_at "fleet list"' -l force -d 'Overwrite existing files.'
complete -c cpuctl -n '__cpuctl_at "fleet list"' -l publisher -x -d 'The exporter whose object -o nrt writes: rte, the resource topology exporter (rte,fingerprint=all or none: which pods its fingerprint covers), or nfd, node-feature-discovery\'s topology updater.'
complete -c cpuctl -n '__cpuctl_at "fleet list"' -s o -l output -x -a 'table wide json yaml jsonl prom nrt' -d 'Output format; jsonl is one node per line, written as soon as it is known, prom is metrics for Prometheus, nrt is a List of the NodeResourceTopologies that exporters would publish.'
complete -c cpuctl -n '__cpuctl_at "fleet list"' -l no-color -d 'Disable colour, as NO_COLOR does.'
complete -c cpuctl -n '__cpuctl_at "fleet list"' -s q -l quiet -d 'Suppress notes and warnings on stderr.'
complete -c cpuctl -n '__cpuctl_at "fleet list"' -l exit-zero -d 'Exit 0 even if the answer is no.'
complete -c cpuctl -n '__cpuctl_at "fleet list"' -s h -l help -d 'Show this message and exit.'
complete -c cpuctl -n '__cpuctl_at "fleet check"' -F
complete -c cpuctl -n '__cpuctl_at "fleet check"' -l nrt -r -F -d 'NodeResourceTopologies (kubectl get noderesourcetopologies -o json).'
complete -c cpuctl -n '__cpuctl_at "fleet check"' -l pods -r -F -d 'The pods running on the nodes (kubectl get pods -A -o json); those without a node are ignored.'
complete -c cpuctl -n '__cpuctl_at "fleet check"' -l nodes -r -F -d 'Nodes (kubectl get nodes -o json), for kubelet versions that recordings do not have. A recording is named after its node: node7.tar.xz, or any name in a directory node7.'
complete -c cpuctl -n '__cpuctl_at "fleet check"' -l resume -r -F -d 'Reuse the answers in FILE, written by an earlier run with -o jsonl, and process only the rest.'
complete -c cpuctl -n '__cpuctl_at "fleet check"' -l kubelet-config -r -F -d 'KubeletConfiguration file. Default: the recorded kubelet\'s; with -m live, the running kubelet\'s, otherwise /var/lib/kubelet/config.yaml; always with flags and drop-ins.'
complete -c cpuctl -n '__cpuctl_at "fleet check"' -l config-dir -x -a '(__fish_complete_directories)' -d 'The kubelet\'s drop-in directory (its flag --config-dir).'
complete -c cpuctl -n '__cpuctl_at "fleet check"' -l kubelet-args -x -d 'The kubelet\'s flags, or @FILE with its command line; flags override files.'
complete -c cpuctl -n '__cpuctl_at "fleet check"' -l kubelet-version -x -a '1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27' -d 'The kubelet\'s version, 1.27 to 1.38: a minor or a patch (1.33.4), or @FILE with its Node (kubectl get node -o json).'
complete -c cpuctl -n '__cpuctl_at "fleet check"' -l feature-gates -x -a '(__cpuctl_ask gates)' -d 'Feature gates in addition to those of the configuration.'
complete -c cpuctl -n '__cpuctl_at "fleet check"' -l ignore-unknown-gates -d 'Ignore feature gates that Kubernetes does not know, as OpenShift\'s kubelet does.'
complete -c cpuctl -n '__cpuctl_at "fleet check"' -l help-kubelet -d 'Explain the kubelet options, and exit.'
complete -c cpuctl -n '__cpuctl_at "fleet check"' -l check -x -a '(__cpuctl_ask checks)' -d 'Only these checks: config, state, audit, nrt.'
complete -c cpuctl -n '__cpuctl_at "fleet check"' -s j -l jobs -x -d 'Number of processes. Default: one per CPU.'
complete -c cpuctl -n '__cpuctl_at "fleet check"' -l dask-scheduler -x -d 'Use the workers of a Dask scheduler, e.g. tcp://host:8786, or local for workers on this machine (pip install \'cpuctl[fleet]\').'
complete -c cpuctl -n '__cpuctl_at "fleet check"' -l strict -d 'Exit 3 also for warnings.'
complete -c cpuctl -n '__cpuctl_at "fleet check"' -s o -l output -x -a 'table wide json yaml jsonl prom' -d 'Output format; jsonl is one node per line, written as soon as it is known.'
complete -c cpuctl -n '__cpuctl_at "fleet check"' -l no-color -d 'Disable colour, as NO_COLOR does.'
complete -c cpuctl -n '__cpuctl_at "fleet check"' -s q -l quiet -d 'Suppress notes and warnings on stderr.'
complete -c cpuctl -n '__cpuctl_at "fleet check"' -l exit-zero -d 'Exit 0 even if the answer is no.'
complete -c cpuctl -n '__cpuctl_at "fleet check"' -s h -l help -d 'Show this message and exit.'
complete -c cpuctl -n '__cpuctl_argument "fleet diff:1"' -F
complete -c cpuctl -n '__cpuctl_argument "fleet diff:2"' -F
complete -c cpuctl -n '__cpuctl_at "fleet diff"' -l nodes -r -F -d 'Nodes (kubectl get nodes -o json), for kubelet versions that recordings do not have. Without --nodes-before, also for BEFORE.'
complete -c cpuctl -n '__cpuctl_at "fleet diff"' -l nodes-before -r -F -d 'The Nodes of BEFORE.'
complete -c cpuctl -n '__cpuctl_at "fleet diff"' -l pods -r -F -d 'The pods running on the nodes of AFTER (kubectl get pods -A -o json), for --check state and audit.'
complete -c cpuctl -n '__cpuctl_at "fleet diff"' -l pods-before -r -F -d 'The pods that ran on the nodes of BEFORE.'
complete -c cpuctl -n '__cpuctl_at "fleet diff"' -l resume -r -F -d 'Reuse the answers in FILE, written by fleet list -o jsonl (with --check, fleet check), and process only the rest.'
complete -c cpuctl -n '__cpuctl_at "fleet diff"' -l kubelet-config -r -F -d 'KubeletConfiguration file. Default: the recorded kubelet\'s; with -m live, the running kubelet\'s, otherwise /var/lib/kubelet/config.yaml; always with flags and drop-ins.'
complete -c cpuctl -n '__cpuctl_at "fleet diff"' -l config-dir -x -a '(__fish_complete_directories)' -d 'The kubelet\'s drop-in directory (its flag --config-dir).'
complete -c cpuctl -n '__cpuctl_at "fleet diff"' -l kubelet-args -x -d 'The kubelet\'s flags, or @FILE with its command line; flags override files.'
complete -c cpuctl -n '__cpuctl_at "fleet diff"' -l kubelet-version -x -a '1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27' -d 'The kubelet\'s version, 1.27 to 1.38: a minor or a patch (1.33.4), or @FILE with its Node (kubectl get node -o json).'
complete -c cpuctl -n '__cpuctl_at "fleet diff"' -l feature-gates -x -a '(__cpuctl_ask gates)' -d 'Feature gates in addition to those of the configuration.'
complete -c cpuctl -n '__cpuctl_at "fleet diff"' -l ignore-unknown-gates -d 'Ignore feature gates that Kubernetes does not know, as OpenShift\'s kubelet does.'
complete -c cpuctl -n '__cpuctl_at "fleet diff"' -l help-kubelet -d 'Explain the kubelet options, and exit.'
complete -c cpuctl -n '__cpuctl_at "fleet diff"' -l check -x -a '(__cpuctl_ask checks)' -d 'Also compare what these checks find: config, state, audit.'
complete -c cpuctl -n '__cpuctl_at "fleet diff"' -s j -l jobs -x -d 'Number of processes. Default: one per CPU.'
complete -c cpuctl -n '__cpuctl_at "fleet diff"' -l dask-scheduler -x -d 'Use the workers of a Dask scheduler, e.g. tcp://host:8786, or local for workers on this machine (pip install \'cpuctl[fleet]\').'
complete -c cpuctl -n '__cpuctl_at "fleet diff"' -l exit-code -d 'Exit 3 if anything differs.'
complete -c cpuctl -n '__cpuctl_at "fleet diff"' -s o -l output -x -a 'table wide json yaml jsonl' -d 'Output format; jsonl is one node per line.'
complete -c cpuctl -n '__cpuctl_at "fleet diff"' -l no-color -d 'Disable colour, as NO_COLOR does.'
complete -c cpuctl -n '__cpuctl_at "fleet diff"' -s q -l quiet -d 'Suppress notes and warnings on stderr.'
complete -c cpuctl -n '__cpuctl_at "fleet diff"' -l exit-zero -d 'Exit 0 even if the answer is no.'
complete -c cpuctl -n '__cpuctl_at "fleet diff"' -s h -l help -d 'Show this message and exit.'
complete -c cpuctl -n '__cpuctl_at "fleet plan"' -F
complete -c cpuctl -n '__cpuctl_at "fleet plan"' -s f -l filename -r -F -d 'Manifests: files, directories, or - for stdin.'
complete -c cpuctl -n '__cpuctl_at "fleet plan"' -s T -l template -x -d 'A pod without YAML, NAME=REQUEST/LIMIT: \'web=4/4,2Gi x3\' is three pods; a single value sets both. web=1/2 (request below limit) and web=1/ (no limit) are Burstable, web alone is BestEffort.'
complete -c cpuctl -n '__cpuctl_at "fleet plan"' -l nodes -r -F -d 'Nodes (kubectl get nodes -o json), for kubelet versions that recordings do not have. A recording is named after its node: node7.tar.xz, or any name in a directory node7.'
complete -c cpuctl -n '__cpuctl_at "fleet plan"' -l pods -r -F -d 'The pods running on the nodes (kubectl get pods -A -o json); those without a node are ignored.'
complete -c cpuctl -n '__cpuctl_at "fleet plan"' -l nrt -r -F -d 'NodeResourceTopologies (kubectl get noderesourcetopologies -o json).'
complete -c cpuctl -n '__cpuctl_at "fleet plan"' -l devices -r -F -d 'Free, healthy devices of device plugins, by resource and NUMA node (see cpuctl schema devices), or the answers of the pod resources API (GetAllocatableResources, List).'
complete -c cpuctl -n '__cpuctl_at "fleet plan"' -l driver-args -x -d 'Flags of the dra.cpu driver, for pods with resource claims: \'--cpu-device-mode individual --reserved-cpus 0,32\'. Default: CPUs grouped by NUMA node, none reserved.'
complete -c cpuctl -n '__cpuctl_at "fleet plan"' -l skip-apiserver -d 'Skip the API server\'s validation of the pods.'
complete -c cpuctl -n '__cpuctl_at "fleet plan"' -l kubelet-config -r -F -d 'KubeletConfiguration file. Default: the recorded kubelet\'s; with -m live, the running kubelet\'s, otherwise /var/lib/kubelet/config.yaml; always with flags and drop-ins.'
complete -c cpuctl -n '__cpuctl_at "fleet plan"' -l config-dir -x -a '(__fish_complete_directories)' -d 'The kubelet\'s drop-in directory (its flag --config-dir).'
complete -c cpuctl -n '__cpuctl_at "fleet plan"' -l kubelet-args -x -d 'The kubelet\'s flags, or @FILE with its command line; flags override files.'
complete -c cpuctl -n '__cpuctl_at "fleet plan"' -l kubelet-version -x -a '1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27' -d 'The kubelet\'s version, 1.27 to 1.38: a minor or a patch (1.33.4), or @FILE with its Node (kubectl get node -o json).'
complete -c cpuctl -n '__cpuctl_at "fleet plan"' -l feature-gates -x -a '(__cpuctl_ask gates)' -d 'Feature gates in addition to those of the configuration.'
complete -c cpuctl -n '__cpuctl_at "fleet plan"' -l ignore-unknown-gates -d 'Ignore feature gates that Kubernetes does not know, as OpenShift\'s kubelet does.'
complete -c cpuctl -n '__cpuctl_at "fleet plan"' -l help-kubelet -d 'Explain the kubelet options, and exit.'
complete -c cpuctl -n '__cpuctl_at "fleet plan"' -l scheduler-plugin -x -d 'Add a scheduler plugin, noderesourcetopologymatch, with its options.'
complete -c cpuctl -n '__cpuctl_at "fleet plan"' -l drain -x -d 'Drain this node: its pods, except static and DaemonSet pods, are planned on other nodes first.'
complete -c cpuctl -n '__cpuctl_at "fleet plan"' -l without -x -d 'Ignore this node and everything that runs on it.'
complete -c cpuctl -n '__cpuctl_at "fleet plan"' -l repeat -x -a 'max' -d 'Plan the pods N times; max: as many times as all of them fit. DaemonSets are planned once.'
complete -c cpuctl -n '__cpuctl_at "fleet plan"' -l policy -x -a 'static numa-allocation min-shared favour-cpus core-kinds koordinator katalyst' -d 'What if: let a policy (plugin) choose CPUs instead of the kubelet. NAME (see cpuctl policies list) or FILE.py:CLASS, with ,OPTION=VALUE for its options.'
complete -c cpuctl -n '__cpuctl_at "fleet plan"' -s j -l jobs -x -d 'Number of processes. Default: one per CPU.'
complete -c cpuctl -n '__cpuctl_at "fleet plan"' -l dask-scheduler -x -d 'Use the workers of a Dask scheduler, e.g. tcp://host:8786, or local for workers on this machine (pip install \'cpuctl[fleet]\').'
complete -c cpuctl -n '__cpuctl_at "fleet plan"' -s o -l output -x -a 'table wide json yaml jsonl' -d 'Output format; jsonl is one pod per line.'
complete -c cpuctl -n '__cpuctl_at "fleet plan"' -l no-color -d 'Disable colour, as NO_COLOR does.'
complete -c cpuctl -n '__cpuctl_at "fleet plan"' -s q -l quiet -d 'Suppress notes and warnings on stderr.'
complete -c cpuctl -n '__cpuctl_at "fleet plan"' -l exit-zero -d 'Exit 0 even if the answer is no.'
complete -c cpuctl -n '__cpuctl_at "fleet plan"' -s h -l help -d 'Show this message and exit.'
complete -c cpuctl -n '__cpuctl_at "fleet report"' -F
complete -c cpuctl -n '__cpuctl_at "fleet report"' -s f -l filename -r -F -d 'Manifests: files, directories, or - for stdin.'
complete -c cpuctl -n '__cpuctl_at "fleet report"' -s T -l template -x -d 'A pod without YAML, NAME=REQUEST/LIMIT: \'web=4/4,2Gi x3\' is three pods; a single value sets both. web=1/2 (request below limit) and web=1/ (no limit) are Burstable, web alone is BestEffort.'
complete -c cpuctl -n '__cpuctl_at "fleet report"' -l pods -r -F -d 'The pods running on the nodes (kubectl get pods -A -o json); those without a node are ignored.'
complete -c cpuctl -n '__cpuctl_at "fleet report"' -l nodes -r -F -d 'Nodes (kubectl get nodes -o json), for kubelet versions that recordings do not have. A recording is named after its node: node7.tar.xz, or any name in a directory node7.'
complete -c cpuctl -n '__cpuctl_at "fleet report"' -l kubelet-config -r -F -d 'KubeletConfiguration file. Default: the recorded kubelet\'s; with -m live, the running kubelet\'s, otherwise /var/lib/kubelet/config.yaml; always with flags and drop-ins.'
complete -c cpuctl -n '__cpuctl_at "fleet report"' -l config-dir -x -a '(__fish_complete_directories)' -d 'The kubelet\'s drop-in directory (its flag --config-dir).'
complete -c cpuctl -n '__cpuctl_at "fleet report"' -l kubelet-args -x -d 'The kubelet\'s flags, or @FILE with its command line; flags override files.'
complete -c cpuctl -n '__cpuctl_at "fleet report"' -l kubelet-version -x -a '1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27' -d 'The kubelet\'s version, 1.27 to 1.38: a minor or a patch (1.33.4), or @FILE with its Node (kubectl get node -o json).'
complete -c cpuctl -n '__cpuctl_at "fleet report"' -l feature-gates -x -a '(__cpuctl_ask gates)' -d 'Feature gates in addition to those of the configuration.'
complete -c cpuctl -n '__cpuctl_at "fleet report"' -l ignore-unknown-gates -d 'Ignore feature gates that Kubernetes does not know, as OpenShift\'s kubelet does.'
complete -c cpuctl -n '__cpuctl_at "fleet report"' -l help-kubelet -d 'Explain the kubelet options, and exit.'
complete -c cpuctl -n '__cpuctl_at "fleet report"' -s j -l jobs -x -d 'Number of processes. Default: one per CPU.'
complete -c cpuctl -n '__cpuctl_at "fleet report"' -l html -x -a '(__fish_complete_directories)' -d 'Write index.html and a page for every node to this directory (created if missing).'
complete -c cpuctl -n '__cpuctl_at "fleet report"' -l force -d 'Overwrite existing files.'
complete -c cpuctl -n '__cpuctl_at "fleet report"' -s o -l output -x -a 'table wide json yaml' -d 'Output format.'
complete -c cpuctl -n '__cpuctl_at "fleet report"' -l no-color -d 'Disable colour, as NO_COLOR does.'
complete -c cpuctl -n '__cpuctl_at "fleet report"' -s q -l quiet -d 'Suppress notes and warnings on stderr.'
complete -c cpuctl -n '__cpuctl_at "fleet report"' -l exit-zero -d 'Exit 0 even if the answer is no.'
complete -c cpuctl -n '__cpuctl_at "fleet report"' -s h -l help -d 'Show this message and exit.'
complete -c cpuctl -n '__cpuctl_argument "schema:1"' -a 'advice audit capture cgroupsapply cgroupsplan cgroupsshow checkpointchange checkpointdiff checkpointdump checkpointverify checkpointversions claimallocation configcheck configreserve configshow configversions defragmentation devices explanation fleetcheck fleetdiff fleetlist fleetplan fleetreport messages nrievent nriplan nrireplay plan plancomparison podresources podsdiff podslint podsshow policies policydescription replay report resize timeline top topology watchevent'
complete -c cpuctl -n '__cpuctl_at "schema"' -s h -l help -d 'Show this message and exit.'
complete -c cpuctl -n '__cpuctl_argument "completion:1"' -a 'bash zsh fish'
complete -c cpuctl -n '__cpuctl_at "completion"' -s h -l help -d 'Show this message and exit.'
