#compdef cpuctl
# Completion of cpuctl for zsh 5 and newer: put this file as _cpuctl into a directory of $fpath.
# Made from the command table by "cpuctl completion zsh": change it there.

# Offers what cpuctl knows of the files on the command line; compadd quotes, nothing is evaluated.
# "typed" is the whole line up to the cursor: words loses its beginning on the way to a verb.
_cpuctl_ask() {
    local -a answer ending
    answer=("${(@f)$(command cpuctl __complete $1 zsh "${(@Q)typed[1,-2]}" "${(Q)PREFIX}" 2>/dev/null </dev/null)}")
    answer=("${(@)answer:#}")
    (( $#answer )) || return 1
    [[ $answer[1] == *[=:/,] ]] && ending=(-S '')
    compadd "${(@)ending}" -- "${(@)answer}"
}

_cpuctl_machine() {
    if [[ $PREFIX == synthetic:* ]]; then
        _cpuctl_ask machine
    else
        compadd -- live
        compadd -S '' -- synthetic:
        _files
    fi
}

_cpuctl_commands() {
    local -a verbs
    local command=$1
    case $command in
        '')
            verbs=(
                'plan:Dry-run pods: which CPUs each container would get, and why.'
                'explain:Explain why a pod is admitted or rejected, and what would help.'
                'advise:Recommend kubelet settings for these pods on this machine.'
                'resize:Dry-run an in-place resize of a running pod.'
                'pods:Show QoS, sums and cgroups of pods; compare and check manifests.'
                'replay:Replay a node'\''s history over time, and check expectations.'
                'policies:Show what-if policies that choose CPUs instead of the kubelet.'
                'topology:Show a machine'\''s NUMA nodes, sockets, cores and caches.'
                'config:Show and check the kubelet'\''s configuration; check an upgrade.'
                'checkpoint:Show, verify, migrate and repair the kubelet'\''s state files.'
                'audit:Find wrong CPU sets and noisy neighbours on a node, with fixes.'
                'top:Show the live load on exclusive CPUs, and what disturbs them.'
                'report:Write a full report on a node as one HTML page.'
                'watch:Watch a node, and report every finding and change.'
                'cgroups:Show the kubelet'\''s cgroups, and correct their CPU sets.'
                'nri:Set the CPUs of containers from the container runtime (NRI).'
                'dra:Show CPUs as devices (DRA), and dry-run resource claims.'
                'capture:Record a node in one archive that all commands can read.'
                'fleet:List, check, compare and plan many nodes at once.'
                'schema:Print the JSON Schema of what a command prints or reads.'
                'completion:Print the completion script for bash, zsh or fish.'
            )
            ;;
        'pods')
            verbs=(
                'show:Show what follows from pods'\'' resources: QoS class, sums, cgroups.'
                'diff:Compare two manifests, or one manifest on two kubelets.'
                'lint:Check, before kubectl apply, whether the cluster would reject pods.'
            )
            ;;
        'policies')
            verbs=(
                'list:List the named policies, shipped and installed.'
                'show:Show a policy: what it does, its origin, steps, options and source code.'
                'new:Create a Python file with a template for your own policy.'
            )
            ;;
        'topology')
            verbs=(
                'show:Show a machine'\''s NUMA nodes, sockets, cores, caches and CPUs.'
                'map:Draw a machine as boxes: sockets, NUMA nodes, L3 caches, cores.'
                'distances:Show NUMA nodes, their memory and distances, as numactl -H does.'
                'synthetic:Describe a machine in one line (synthetic:2s4n16c2t) for -m.'
                'devices:Show PCI devices and their NUMA nodes, as a draft for --devices.'
            )
            ;;
        'config')
            verbs=(
                'reserve:Propose reserved CPUs and memory that the kubelet accepts.'
                'show:Show the settings in effect, their origin, and what is reserved.'
                'check:Check whether the kubelet would start with this configuration.'
                'versions:Check an upgrade: what changes for this configuration.'
            )
            ;;
        'checkpoint')
            verbs=(
                'dump:Show the owners of CPUs and memory in the kubelet'\''s state files.'
                'verify:Check whether the kubelet would start with these state files.'
                'diff:Show which containers gained or lost CPUs or memory.'
                'migrate:Rewrite state files for another kubelet version, newer or older.'
                'repair:Repair state files so that the kubelet starts, and verify them.'
                'new:Create the state files that a kubelet would have with these pods.'
                'versions:List state file formats, and which kubelets write and read them.'
            )
            ;;
        'cgroups')
            verbs=(
                'show:Show the tree of kubepods, with expected and actual values.'
                'apply:Write CPU sets to cgroups, in a safe order.'
            )
            ;;
        'nri')
            verbs=(
                'run:Run as a plugin of containerd or CRI-O that sets CPUs of containers.'
            )
            ;;
        'dra')
            verbs=(
                'slices:Show the ResourceSlices that the dra.cpu driver would publish.'
                'allocate:Dry-run ResourceClaims: which devices and CPUs pods get.'
            )
            ;;
        'fleet')
            verbs=(
                'list:List the nodes of a fleet, and find the odd ones.'
                'check:Check the nodes of a fleet, and show each finding once.'
                'diff:Compare two collections of recordings: before and after.'
                'plan:Dry-run pods on a fleet: where they go, and which nodes reject them.'
                'report:Write a page for each node, and an index with the most urgent first.'
            )
            ;;
    esac
    _describe -t commands 'command' verbs
}

_cpuctl_run() {
    local curcontext=$curcontext command=$1 verb state line
    local -A opt_args
    case $command in
        '')
            _cpuctl_group '' \
                '(-V --version)'{-V,--version}'[Print the version and exit.]' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]'
            ;;
        'plan')
            _arguments \
                '*'{-f+,--filename=}'[Manifests\: files, directories, or - for stdin.]:PODS:_files' \
                '*'{-T+,--template=}'[A pod without YAML, NAME=REQUEST/LIMIT\: '\''web=4/4,2Gi x3'\'' is three pods; a single value sets both. web=1/2 (request below limit) and web=1/ (no limit) are Burstable, web alone is BestEffort.]:NAME[=CPU[,MEM]]: ' \
                '(-m --machine)'{-m+,--machine=}'[The machine\: live, a directory with sys/, an archive of one (.tar, .tar.gz, .tar.xz, ...), a sosreport, a must-gather (PATH#NODE), synthetic\:... (see cpuctl topology synthetic -h), or the output of lscpu -e -J, lscpu -p, numactl -H, lstopo, ghwc, knit machineinfo or dracpu gatherinfo.]:SOURCE: _cpuctl_machine' \
                '(--state)'--state='[The kubelet'\''s state files to start from\: cpu_manager_state, memory_manager_state, or the directory with both. Default\: those of a recording (-m), unless --kubelet-config is given; otherwise an empty node.]:STATE:_files' \
                '(--pods)'--pods='[The pods running on the node (kubectl get pods -o json), or MUST-GATHER#NODE.]:FILE:_files' \
                '(--devices)'--devices='[Free, healthy devices of device plugins, by resource and NUMA node (see cpuctl schema devices), or the answers of the pod resources API (GetAllocatableResources, List).]:FILE:_files' \
                '(--assume-devices)'--assume-devices'[Assume that every NUMA node has enough of the devices that pods request and --devices does not list.]' \
                '(--driver-args)'--driver-args='[Flags of the dra.cpu driver, for pods with resource claims\: '\''--cpu-device-mode individual --reserved-cpus 0,32'\''. Default\: CPUs grouped by NUMA node, none reserved.]:FLAGS: ' \
                '(--ephemeral-storage)'--ephemeral-storage='[Size of the kubelet'\''s file system. Default\: the live host'\''s; otherwise storage is ignored.]:QUANTITY: ' \
                '(--memory)'--memory='[Memory of a machine that was recorded without it.]:QUANTITY: ' \
                '(--skip-apiserver)'--skip-apiserver'[Skip the API server'\''s validation of the pods.]' \
                '(--include-completed)'--include-completed'[Treat completed pods (Succeeded, Failed) as new ones.]' \
                '(--kubelet-config)'--kubelet-config='[KubeletConfiguration file. Default\: the recorded kubelet'\''s; with -m live, the running kubelet'\''s, otherwise /var/lib/kubelet/config.yaml; always with flags and drop-ins.]:FILE:_files' \
                '(--config-dir)'--config-dir='[The kubelet'\''s drop-in directory (its flag --config-dir).]:DIR:_files -/' \
                '(--kubelet-args)'--kubelet-args='[The kubelet'\''s flags, or @FILE with its command line; flags override files.]:'\''--FLAG=VALUE ...'\'': ' \
                '(--kubelet-version)'--kubelet-version='[The kubelet'\''s version, 1.27 to 1.38\: a minor or a patch (1.33.4), or @FILE with its Node (kubectl get node -o json).]:VERSION:(1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27)' \
                '(--feature-gates)'--feature-gates='[Feature gates in addition to those of the configuration.]:A=true,B=false: _cpuctl_ask gates' \
                '(--ignore-unknown-gates)'--ignore-unknown-gates'[Ignore feature gates that Kubernetes does not know, as OpenShift'\''s kubelet does.]' \
                '(--help-kubelet)'--help-kubelet'[Explain the kubelet options, and exit.]' \
                '(--policy)'--policy='[What if\: let a policy (plugin) choose CPUs instead of the kubelet. NAME (see cpuctl policies list) or FILE.py\:CLASS, with ,OPTION=VALUE for its options.]:POLICY:(static numa-allocation min-shared favour-cpus core-kinds koordinator katalyst)' \
                '(--order)'--order='[Order of the pods\: given, priority (highest first), qos (Guaranteed, Burstable, BestEffort), or largest-first (by exclusive CPUs, then memory).]:ORDER:(given priority qos largest-first)' \
                '(--repeat)'--repeat='[Plan the pods N times; copies are named NAME-2, NAME-3, ... max\: as many times as all of them fit.]:N|max:(max)' \
                '(--capacity)'--capacity'[Also show what else fits\: copies, the largest requests, how fragmented free CPUs are, and which pods to move to make room for rejected ones.]' \
                '(--compare)'--compare'[Compare two kubelets side by side. Each is a list of changes to the configuration, such as restricted,pod,1.37 or full-pcpus-only=false,kubeReserved.cpu=2; a configuration file, optionally with such a list; a policy (as --policy); or . for unchanged.]:A B: :A B: ' \
                '(--svg)'--svg='[Also draw the machine with its CPUs as SVG; - is stdout, without the answer.]:FILE:_files' \
                '(--html)'--html='[Also write the answer, the picture and the inputs as one self-contained HTML page; - is stdout, without the answer.]:FILE:_files' \
                '(--write-state)'--write-state='[Write the new state files to DIR.]:DIR:_files -/' \
                '(--force)'--force'[Overwrite existing files; state files are backed up.]' \
                '(--publisher)'--publisher='[The exporter whose object -o nrt writes\: rte, the resource topology exporter (rte,fingerprint=all or none\: which pods its fingerprint covers), or nfd, node-feature-discovery'\''s topology updater.]:NAME: ' \
                '(-o --output)'{-o+,--output=}'[Output format\: table, wide, json, yaml; prom\: the kubelet'\''s metrics; nrt\: the NodeResourceTopology that an exporter would publish; nri\: what an NRI plugin would answer the container runtime. To apply the plan\: memory-qos and balloons (for NRI plugins), crictl (a script), systemd (drop-ins).]:FORMAT:(table wide json yaml prom nrt nri memory-qos balloons crictl systemd)' \
                '(--no-color)'--no-color'[Disable colour, as NO_COLOR does.]' \
                '(-q --quiet)'{-q,--quiet}'[Suppress notes and warnings on stderr.]' \
                '(--exit-zero)'--exit-zero'[Exit 0 even if the answer is no.]' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]' \
                '*:[PODS]...:_files'
            ;;
        'explain')
            _arguments \
                '*'--message='[Explain a line of an event, status or log; - for lines on stdin.]:TEXT: ' \
                '*'{-f+,--filename=}'[Manifests\: files, directories, or - for stdin.]:PODS:_files' \
                '*'{-T+,--template=}'[A pod without YAML, NAME=REQUEST/LIMIT\: '\''web=4/4,2Gi x3'\'' is three pods; a single value sets both. web=1/2 (request below limit) and web=1/ (no limit) are Burstable, web alone is BestEffort.]:NAME[=CPU[,MEM]]: ' \
                '(-m --machine)'{-m+,--machine=}'[The machine\: live, a directory with sys/, an archive of one (.tar, .tar.gz, .tar.xz, ...), a sosreport, a must-gather (PATH#NODE), synthetic\:... (see cpuctl topology synthetic -h), or the output of lscpu -e -J, lscpu -p, numactl -H, lstopo, ghwc, knit machineinfo or dracpu gatherinfo.]:SOURCE: _cpuctl_machine' \
                '(--state)'--state='[The kubelet'\''s state files to start from\: cpu_manager_state, memory_manager_state, or the directory with both. Default\: those of a recording (-m), unless --kubelet-config is given; otherwise an empty node.]:STATE:_files' \
                '(--pods)'--pods='[The pods running on the node (kubectl get pods -o json), or MUST-GATHER#NODE.]:FILE:_files' \
                '(--events)'--events='[Events (kubectl get events -o json)\: explain the pod that was rejected last.]:FILE:_files' \
                '(--devices)'--devices='[Free, healthy devices of device plugins, by resource and NUMA node (see cpuctl schema devices), or the answers of the pod resources API (GetAllocatableResources, List).]:FILE:_files' \
                '(--assume-devices)'--assume-devices'[Assume that every NUMA node has enough of the devices that pods request and --devices does not list.]' \
                '(--driver-args)'--driver-args='[Flags of the dra.cpu driver, for pods with resource claims\: '\''--cpu-device-mode individual --reserved-cpus 0,32'\''. Default\: CPUs grouped by NUMA node, none reserved.]:FLAGS: ' \
                '(--ephemeral-storage)'--ephemeral-storage='[Size of the kubelet'\''s file system. Default\: the live host'\''s; otherwise storage is ignored.]:QUANTITY: ' \
                '(--memory)'--memory='[Memory of a machine that was recorded without it.]:QUANTITY: ' \
                '(--skip-apiserver)'--skip-apiserver'[Skip the API server'\''s validation of the pods.]' \
                '(--include-completed)'--include-completed'[Treat completed pods (Succeeded, Failed) as new ones.]' \
                '(--kubelet-config)'--kubelet-config='[KubeletConfiguration file. Default\: the recorded kubelet'\''s; with -m live, the running kubelet'\''s, otherwise /var/lib/kubelet/config.yaml; always with flags and drop-ins.]:FILE:_files' \
                '(--config-dir)'--config-dir='[The kubelet'\''s drop-in directory (its flag --config-dir).]:DIR:_files -/' \
                '(--kubelet-args)'--kubelet-args='[The kubelet'\''s flags, or @FILE with its command line; flags override files.]:'\''--FLAG=VALUE ...'\'': ' \
                '(--kubelet-version)'--kubelet-version='[The kubelet'\''s version, 1.27 to 1.38\: a minor or a patch (1.33.4), or @FILE with its Node (kubectl get node -o json).]:VERSION:(1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27)' \
                '(--feature-gates)'--feature-gates='[Feature gates in addition to those of the configuration.]:A=true,B=false: _cpuctl_ask gates' \
                '(--ignore-unknown-gates)'--ignore-unknown-gates'[Ignore feature gates that Kubernetes does not know, as OpenShift'\''s kubelet does.]' \
                '(--help-kubelet)'--help-kubelet'[Explain the kubelet options, and exit.]' \
                '(--policy)'--policy='[What if\: let a policy (plugin) choose CPUs instead of the kubelet. NAME (see cpuctl policies list) or FILE.py\:CLASS, with ,OPTION=VALUE for its options.]:POLICY:(static numa-allocation min-shared favour-cpus core-kinds koordinator katalyst)' \
                '(-o --output)'{-o+,--output=}'[Output format.]:table|wide|json|yaml:(table wide json yaml)' \
                '(--no-color)'--no-color'[Disable colour, as NO_COLOR does.]' \
                '(-q --quiet)'{-q,--quiet}'[Suppress notes and warnings on stderr.]' \
                '(--exit-zero)'--exit-zero'[Exit 0 even if the answer is no.]' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]' \
                '1::[POD]: _cpuctl_ask pod'
            ;;
        'advise')
            _arguments \
                '*'{-f+,--filename=}'[Manifests\: files, directories, or - for stdin.]:PODS:_files' \
                '*'{-T+,--template=}'[A pod without YAML, NAME=REQUEST/LIMIT\: '\''web=4/4,2Gi x3'\'' is three pods; a single value sets both. web=1/2 (request below limit) and web=1/ (no limit) are Burstable, web alone is BestEffort.]:NAME[=CPU[,MEM]]: ' \
                '(-m --machine)'{-m+,--machine=}'[The machine\: live, a directory with sys/, an archive of one (.tar, .tar.gz, .tar.xz, ...), a sosreport, a must-gather (PATH#NODE), synthetic\:... (see cpuctl topology synthetic -h), or the output of lscpu -e -J, lscpu -p, numactl -H, lstopo, ghwc, knit machineinfo or dracpu gatherinfo.]:SOURCE: _cpuctl_machine' \
                '(--state)'--state='[The kubelet'\''s state files to start from\: cpu_manager_state, memory_manager_state, or the directory with both. Default\: those of a recording (-m), unless --kubelet-config is given; otherwise an empty node.]:STATE:_files' \
                '(--pods)'--pods='[The pods running on the node (kubectl get pods -o json), or MUST-GATHER#NODE.]:FILE:_files' \
                '(--devices)'--devices='[Free, healthy devices of device plugins, by resource and NUMA node (see cpuctl schema devices), or the answers of the pod resources API (GetAllocatableResources, List).]:FILE:_files' \
                '(--assume-devices)'--assume-devices'[Assume that every NUMA node has enough of the devices that pods request and --devices does not list.]' \
                '(--driver-args)'--driver-args='[Flags of the dra.cpu driver, for pods with resource claims\: '\''--cpu-device-mode individual --reserved-cpus 0,32'\''. Default\: CPUs grouped by NUMA node, none reserved.]:FLAGS: ' \
                '(--ephemeral-storage)'--ephemeral-storage='[Size of the kubelet'\''s file system. Default\: the live host'\''s; otherwise storage is ignored.]:QUANTITY: ' \
                '(--memory)'--memory='[Memory of a machine that was recorded without it.]:QUANTITY: ' \
                '(--skip-apiserver)'--skip-apiserver'[Skip the API server'\''s validation of the pods.]' \
                '(--include-completed)'--include-completed'[Treat completed pods (Succeeded, Failed) as new ones.]' \
                '(--kubelet-config)'--kubelet-config='[KubeletConfiguration file. Default\: the recorded kubelet'\''s; with -m live, the running kubelet'\''s, otherwise /var/lib/kubelet/config.yaml; always with flags and drop-ins.]:FILE:_files' \
                '(--config-dir)'--config-dir='[The kubelet'\''s drop-in directory (its flag --config-dir).]:DIR:_files -/' \
                '(--kubelet-args)'--kubelet-args='[The kubelet'\''s flags, or @FILE with its command line; flags override files.]:'\''--FLAG=VALUE ...'\'': ' \
                '(--kubelet-version)'--kubelet-version='[The kubelet'\''s version, 1.27 to 1.38\: a minor or a patch (1.33.4), or @FILE with its Node (kubectl get node -o json).]:VERSION:(1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27)' \
                '(--feature-gates)'--feature-gates='[Feature gates in addition to those of the configuration.]:A=true,B=false: _cpuctl_ask gates' \
                '(--ignore-unknown-gates)'--ignore-unknown-gates'[Ignore feature gates that Kubernetes does not know, as OpenShift'\''s kubelet does.]' \
                '(--help-kubelet)'--help-kubelet'[Explain the kubelet options, and exit.]' \
                '(--defragment)'--defragment'[Find the fewest pod moves on this node that make room for the given pod or, without one, for the largest possible container.]' \
                '(--budget)'--budget='[Try at most N settings (default 2000) or, with --defragment, steps (default 20000).]:N: ' \
                '(--what-if)'--what-if'[Also try the what-if policies that come with cpuctl (see cpuctl policies list). Reserved CPUs and full-pcpus-only stay unchanged for these.]' \
                '*'--keep='[Keep this setting\: a configuration field, such as cpuManagerPolicy, or a policy option, such as full-pcpus-only.]:SETTING:(cpuManagerPolicy cpuManagerPolicyOptions reservedSystemCPUs topologyManagerPolicy topologyManagerScope topologyManagerPolicyOptions memoryManagerPolicy full-pcpus-only distribute-cpus-across-numa align-by-socket distribute-cpus-across-cores strict-cpu-reservation prefer-align-cpus-by-uncorecache prefer-closest-numa-nodes)' \
                '(--snippet)'--snippet='[Print only a KubeletConfiguration with the settings of row N.]:N: ' \
                '(-o --output)'{-o+,--output=}'[Output format.]:table|wide|json|yaml:(table wide json yaml)' \
                '(--no-color)'--no-color'[Disable colour, as NO_COLOR does.]' \
                '(-q --quiet)'{-q,--quiet}'[Suppress notes and warnings on stderr.]' \
                '(--exit-zero)'--exit-zero'[Exit 0 even if the answer is no.]' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]' \
                '*:[PODS]...:_files'
            ;;
        'resize')
            _arguments \
                '*'{-f+,--filename=}'[Manifests\: files, directories, or - for stdin.]:PODS:_files' \
                '*'{-T+,--template=}'[A pod without YAML, NAME=REQUEST/LIMIT\: '\''web=4/4,2Gi x3'\'' is three pods; a single value sets both. web=1/2 (request below limit) and web=1/ (no limit) are Burstable, web alone is BestEffort.]:NAME[=CPU[,MEM]]: ' \
                '(-m --machine)'{-m+,--machine=}'[The machine\: live, a directory with sys/, an archive of one (.tar, .tar.gz, .tar.xz, ...), a sosreport, a must-gather (PATH#NODE), synthetic\:... (see cpuctl topology synthetic -h), or the output of lscpu -e -J, lscpu -p, numactl -H, lstopo, ghwc, knit machineinfo or dracpu gatherinfo.]:SOURCE: _cpuctl_machine' \
                '(--state)'--state='[The kubelet'\''s state files to start from\: cpu_manager_state, memory_manager_state, or the directory with both. Default\: those of a recording (-m), unless --kubelet-config is given; otherwise an empty node.]:STATE:_files' \
                '(--pods)'--pods='[The pods running on the node (kubectl get pods -o json), or MUST-GATHER#NODE.]:FILE:_files' \
                '(--devices)'--devices='[Free, healthy devices of device plugins, by resource and NUMA node (see cpuctl schema devices), or the answers of the pod resources API (GetAllocatableResources, List).]:FILE:_files' \
                '(--assume-devices)'--assume-devices'[Assume that every NUMA node has enough of the devices that pods request and --devices does not list.]' \
                '(--driver-args)'--driver-args='[Flags of the dra.cpu driver, for pods with resource claims\: '\''--cpu-device-mode individual --reserved-cpus 0,32'\''. Default\: CPUs grouped by NUMA node, none reserved.]:FLAGS: ' \
                '(--ephemeral-storage)'--ephemeral-storage='[Size of the kubelet'\''s file system. Default\: the live host'\''s; otherwise storage is ignored.]:QUANTITY: ' \
                '(--memory)'--memory='[Memory of a machine that was recorded without it.]:QUANTITY: ' \
                '(--skip-apiserver)'--skip-apiserver'[Skip the API server'\''s validation of the pods.]' \
                '(--kubelet-config)'--kubelet-config='[KubeletConfiguration file. Default\: the recorded kubelet'\''s; with -m live, the running kubelet'\''s, otherwise /var/lib/kubelet/config.yaml; always with flags and drop-ins.]:FILE:_files' \
                '(--config-dir)'--config-dir='[The kubelet'\''s drop-in directory (its flag --config-dir).]:DIR:_files -/' \
                '(--kubelet-args)'--kubelet-args='[The kubelet'\''s flags, or @FILE with its command line; flags override files.]:'\''--FLAG=VALUE ...'\'': ' \
                '(--kubelet-version)'--kubelet-version='[The kubelet'\''s version, 1.27 to 1.38\: a minor or a patch (1.33.4), or @FILE with its Node (kubectl get node -o json).]:VERSION:(1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27)' \
                '(--feature-gates)'--feature-gates='[Feature gates in addition to those of the configuration.]:A=true,B=false: _cpuctl_ask gates' \
                '(--ignore-unknown-gates)'--ignore-unknown-gates'[Ignore feature gates that Kubernetes does not know, as OpenShift'\''s kubelet does.]' \
                '(--apiserver-version)'--apiserver-version='[The API server'\''s version. Default\: the kubelet'\''s.]:VERSION:(1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27)' \
                '(--apiserver-feature-gates)'--apiserver-feature-gates='[The API server'\''s feature gates. Default\: the kubelet'\''s.]:A=true,B=false: _cpuctl_ask gates' \
                '(--help-kubelet)'--help-kubelet'[Explain the kubelet options, and exit.]' \
                '*'--set='[New resources, also memory=N; N sets request and limit, N/M sets a different limit M.]:POD[/CONTAINER]\:cpu=N: _cpuctl_ask resize' \
                '*'--edited='[Manifests of running pods with new resources.]:PODS:_files' \
                '(--policy)'--policy='[What if\: let a policy (plugin) choose CPUs instead of the kubelet. NAME (see cpuctl policies list) or FILE.py\:CLASS, with ,OPTION=VALUE for its options.]:POLICY:(static numa-allocation min-shared favour-cpus core-kinds koordinator katalyst)' \
                '(--resize-semantics)'--resize-semantics='[Preview as in the KEP, or as in its reference implementation.]:kep|reference:(kep reference)' \
                '(--preview)'--preview'[Use the gate'\''s allocator as if it were released, for any kubelet version.]' \
                '(--write-state)'--write-state='[Write the new state files to DIR.]:DIR:_files -/' \
                '(--force)'--force'[Overwrite existing files; state files are backed up.]' \
                '(-o --output)'{-o+,--output=}'[Output format.]:table|wide|json|yaml:(table wide json yaml)' \
                '(--no-color)'--no-color'[Disable colour, as NO_COLOR does.]' \
                '(-q --quiet)'{-q,--quiet}'[Suppress notes and warnings on stderr.]' \
                '(--exit-zero)'--exit-zero'[Exit 0 even if the answer is no.]' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]' \
                '*:[PODS]...:_files'
            ;;
        'pods')
            _cpuctl_group 'pods' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]'
            ;;
        'pods show')
            _arguments \
                '*'{-f+,--filename=}'[Manifests\: files, directories, or - for stdin.]:PODS:_files' \
                '*'{-T+,--template=}'[A pod without YAML, NAME=REQUEST/LIMIT\: '\''web=4/4,2Gi x3'\'' is three pods; a single value sets both. web=1/2 (request below limit) and web=1/ (no limit) are Burstable, web alone is BestEffort.]:NAME[=CPU[,MEM]]: ' \
                '(-m --machine)'{-m+,--machine=}'[The machine, as for other commands; OOM scores depend on its memory. Default\: none.]:SOURCE: _cpuctl_machine' \
                '(--memory)'--memory='[The node'\''s memory, if no machine is given.]:QUANTITY: ' \
                '(--cgroup-version)'--cgroup-version='[The host'\''s cgroup version. Default\: the machine'\''s, or 2.]:1|2:(1 2)' \
                '(--oci-runtime)'--oci-runtime='[The OCI runtime, e.g. runc-1.2.6 or crun-1.23; the CPU weight of containers depends on it.]:NAME-VERSION: ' \
                '(--usage)'--usage='[Memory that pods use, for the order of eviction\: a mapping of \[NAMESPACE/\]NAME to a quantity, or the output of kubectl get podmetrics -A -o json.]:FILE:_files' \
                '(--kubelet-config)'--kubelet-config='[KubeletConfiguration file. Default\: the recorded kubelet'\''s; with -m live, the running kubelet'\''s, otherwise /var/lib/kubelet/config.yaml; always with flags and drop-ins.]:FILE:_files' \
                '(--config-dir)'--config-dir='[The kubelet'\''s drop-in directory (its flag --config-dir).]:DIR:_files -/' \
                '(--kubelet-args)'--kubelet-args='[The kubelet'\''s flags, or @FILE with its command line; flags override files.]:'\''--FLAG=VALUE ...'\'': ' \
                '(--kubelet-version)'--kubelet-version='[The kubelet'\''s version, 1.27 to 1.38\: a minor or a patch (1.33.4), or @FILE with its Node (kubectl get node -o json).]:VERSION:(1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27)' \
                '(--feature-gates)'--feature-gates='[Feature gates in addition to those of the configuration.]:A=true,B=false: _cpuctl_ask gates' \
                '(--ignore-unknown-gates)'--ignore-unknown-gates'[Ignore feature gates that Kubernetes does not know, as OpenShift'\''s kubelet does.]' \
                '(--apiserver-version)'--apiserver-version='[The API server'\''s version. Default\: the kubelet'\''s.]:VERSION:(1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27)' \
                '(--apiserver-feature-gates)'--apiserver-feature-gates='[The API server'\''s feature gates. Default\: the kubelet'\''s.]:A=true,B=false: _cpuctl_ask gates' \
                '(--help-kubelet)'--help-kubelet'[Explain the kubelet options, and exit.]' \
                '(-o --output)'{-o+,--output=}'[Output format; jsonl is one pod per line.]:table|wide|json|yaml|jsonl:(table wide json yaml jsonl)' \
                '(--no-color)'--no-color'[Disable colour, as NO_COLOR does.]' \
                '(-q --quiet)'{-q,--quiet}'[Suppress notes and warnings on stderr.]' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]' \
                '*:[PODS]...:_files'
            ;;
        'pods diff')
            _arguments \
                '*'{-f+,--filename=}'[Same as OLD; given a second time, same as NEW.]:PODS:_files' \
                '(-m --machine)'{-m+,--machine=}'[The machine, as for other commands; OOM scores depend on its memory. Default\: none.]:SOURCE: _cpuctl_machine' \
                '(--memory)'--memory='[The node'\''s memory, if no machine is given.]:QUANTITY: ' \
                '(--cgroup-version)'--cgroup-version='[The host'\''s cgroup version. Default\: the machine'\''s, or 2.]:1|2:(1 2)' \
                '(--oci-runtime)'--oci-runtime='[The OCI runtime, e.g. runc-1.2.6 or crun-1.23; the CPU weight of containers depends on it.]:NAME-VERSION: ' \
                '(--kubelet-config)'--kubelet-config='[KubeletConfiguration file. Default\: the recorded kubelet'\''s; with -m live, the running kubelet'\''s, otherwise /var/lib/kubelet/config.yaml; always with flags and drop-ins.]:FILE:_files' \
                '(--kubelet-version)'--kubelet-version='[The kubelet'\''s version, 1.27 to 1.38\: a minor or a patch (1.33.4), or @FILE with its Node (kubectl get node -o json).]:VERSION:(1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27)' \
                '(--feature-gates)'--feature-gates='[Feature gates in addition to those of the configuration.]:A=true,B=false: _cpuctl_ask gates' \
                '(--apiserver-version)'--apiserver-version='[The API server'\''s version. Default\: the kubelet'\''s.]:VERSION:(1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27)' \
                '(--apiserver-feature-gates)'--apiserver-feature-gates='[The API server'\''s feature gates. Default\: the kubelet'\''s.]:A=true,B=false: _cpuctl_ask gates' \
                '(--help-kubelet)'--help-kubelet'[Explain the kubelet options, and exit.]' \
                '(--to)'--to='[Compare with this kubelet version.]:VERSION:(1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27)' \
                '(--to-feature-gates)'--to-feature-gates='[Compare with these feature gates of the kubelet.]:A=true,B=false: _cpuctl_ask gates' \
                '(--exit-code)'--exit-code'[Exit 3 if anything differs.]' \
                '(-o --output)'{-o+,--output=}'[Output format; jsonl is one pod per line.]:table|wide|json|yaml|jsonl:(table wide json yaml jsonl)' \
                '(--no-color)'--no-color'[Disable colour, as NO_COLOR does.]' \
                '(-q --quiet)'{-q,--quiet}'[Suppress notes and warnings on stderr.]' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]' \
                '1::[OLD]:_files' \
                '2::[NEW]:_files'
            ;;
        'pods lint')
            _arguments \
                '*'{-f+,--filename=}'[Manifests\: files, directories, or - for stdin.]:PODS:_files' \
                '(-m --machine)'{-m+,--machine=}'[Also check admission on this machine, as for other commands. Default\: none.]:SOURCE: _cpuctl_machine' \
                '(--cgroup-version)'--cgroup-version='[The host'\''s cgroup version. Default\: the machine'\''s, or 2.]:1|2:(1 2)' \
                '(--kubelet-config)'--kubelet-config='[KubeletConfiguration file. Default\: the recorded kubelet'\''s; with -m live, the running kubelet'\''s, otherwise /var/lib/kubelet/config.yaml; always with flags and drop-ins.]:FILE:_files' \
                '(--config-dir)'--config-dir='[The kubelet'\''s drop-in directory (its flag --config-dir).]:DIR:_files -/' \
                '(--kubelet-args)'--kubelet-args='[The kubelet'\''s flags, or @FILE with its command line; flags override files.]:'\''--FLAG=VALUE ...'\'': ' \
                '(--kubelet-version)'--kubelet-version='[The kubelet'\''s version, 1.27 to 1.38\: a minor or a patch (1.33.4), or @FILE with its Node (kubectl get node -o json).]:VERSION:(1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27)' \
                '(--feature-gates)'--feature-gates='[Feature gates in addition to those of the configuration.]:A=true,B=false: _cpuctl_ask gates' \
                '(--ignore-unknown-gates)'--ignore-unknown-gates'[Ignore feature gates that Kubernetes does not know, as OpenShift'\''s kubelet does.]' \
                '(--apiserver-version)'--apiserver-version='[The API server'\''s version. Default\: the kubelet'\''s.]:VERSION:(1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27)' \
                '(--apiserver-feature-gates)'--apiserver-feature-gates='[The API server'\''s feature gates. Default\: the kubelet'\''s.]:A=true,B=false: _cpuctl_ask gates' \
                '(--help-kubelet)'--help-kubelet'[Explain the kubelet options, and exit.]' \
                '(--static)'--static'[Check static pods\: manifests that the kubelet reads from files, by its own rules.]' \
                '(--strict)'--strict'[Exit 3 also for warnings.]' \
                '(-o --output)'{-o+,--output=}'[Output format.]:table|wide|json|yaml|jsonl:(table wide json yaml jsonl)' \
                '(--no-color)'--no-color'[Disable colour, as NO_COLOR does.]' \
                '(-q --quiet)'{-q,--quiet}'[Suppress notes and warnings on stderr.]' \
                '(--exit-zero)'--exit-zero'[Exit 0 even if the answer is no.]' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]' \
                '*:[PODS]...:_files'
            ;;
        'replay')
            _arguments \
                '*'{-f+,--filename=}'[Manifests\: files, directories, or - for stdin.]:PODS:_files' \
                '(-m --machine)'{-m+,--machine=}'[Use this machine instead of the timeline'\''s; for a log, its machine (default\: live).]:SOURCE: _cpuctl_machine' \
                '(--driver-args)'--driver-args='[Flags of the dra.cpu driver, for pods with resource claims\: '\''--cpu-device-mode individual --reserved-cpus 0,32'\''. Default\: CPUs grouped by NUMA node, none reserved.]:FLAGS: ' \
                '(--skip-apiserver)'--skip-apiserver'[Skip the API server'\''s validation of the pods.]' \
                '(--kubelet-config)'--kubelet-config='[KubeletConfiguration file. Default\: the recorded kubelet'\''s; with -m live, the running kubelet'\''s, otherwise /var/lib/kubelet/config.yaml; always with flags and drop-ins.]:FILE:_files' \
                '(--config-dir)'--config-dir='[The kubelet'\''s drop-in directory (its flag --config-dir).]:DIR:_files -/' \
                '(--kubelet-args)'--kubelet-args='[The kubelet'\''s flags, or @FILE with its command line; flags override files.]:'\''--FLAG=VALUE ...'\'': ' \
                '(--kubelet-version)'--kubelet-version='[The kubelet'\''s version, 1.27 to 1.38\: a minor or a patch (1.33.4), or @FILE with its Node (kubectl get node -o json).]:VERSION:(1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27)' \
                '(--feature-gates)'--feature-gates='[Feature gates in addition to those of the configuration.]:A=true,B=false: _cpuctl_ask gates' \
                '(--ignore-unknown-gates)'--ignore-unknown-gates'[Ignore feature gates that Kubernetes does not know, as OpenShift'\''s kubelet does.]' \
                '(--help-kubelet)'--help-kubelet'[Explain the kubelet options, and exit.]' \
                '(--until)'--until='[Stop after this simulated time, e.g. 30s.]:DURATION: ' \
                '(--follow)'--follow'[Print events as they happen.]' \
                '(--speed)'--speed='[Speed of time with --follow, e.g. 10x.]:FACTOR: ' \
                '(--new)'--new'[Print a commented example of a timeline.]' \
                '(--policy)'--policy='[What if\: let a policy (plugin) choose CPUs instead of the kubelet. NAME (see cpuctl policies list) or FILE.py\:CLASS, with ,OPTION=VALUE for its options.]:POLICY:(static numa-allocation min-shared favour-cpus core-kinds koordinator katalyst)' \
                '(--svg)'--svg='[Also draw CPUs over time as SVG; - is stdout, without the answer.]:FILE:_files' \
                '(--force)'--force'[Overwrite existing files.]' \
                '(-o --output)'{-o+,--output=}'[Output format; jsonl is one entry per line, nri is what an NRI plugin would answer the container runtime, event by event.]:table|wide|json|yaml|jsonl|nri:(table wide json yaml jsonl nri)' \
                '(--no-color)'--no-color'[Disable colour, as NO_COLOR does.]' \
                '(-q --quiet)'{-q,--quiet}'[Suppress notes and warnings on stderr.]' \
                '(--exit-zero)'--exit-zero'[Exit 0 even if the answer is no.]' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]' \
                '1::[TIMELINE]:_files'
            ;;
        'policies')
            _cpuctl_group 'policies' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]'
            ;;
        'policies list')
            _arguments \
                '(-o --output)'{-o+,--output=}'[Output format.]:table|wide|json|yaml:(table wide json yaml)' \
                '(--no-color)'--no-color'[Disable colour, as NO_COLOR does.]' \
                '(-q --quiet)'{-q,--quiet}'[Suppress notes and warnings on stderr.]' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]'
            ;;
        'policies show')
            _arguments \
                '(-o --output)'{-o+,--output=}'[Output format.]:table|wide|json|yaml:(table wide json yaml)' \
                '(--no-color)'--no-color'[Disable colour, as NO_COLOR does.]' \
                '(-q --quiet)'{-q,--quiet}'[Suppress notes and warnings on stderr.]' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]' \
                '1:POLICY:(static numa-allocation min-shared favour-cpus core-kinds koordinator katalyst)'
            ;;
        'policies new')
            _arguments \
                '(--force)'--force'[Overwrite existing files.]' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]' \
                '1:FILE:_files'
            ;;
        'topology')
            _cpuctl_group 'topology' \
                '(-m --machine)'{-m+,--machine=}'[The machine\: live, a directory with sys/, an archive of one (.tar, .tar.gz, .tar.xz, ...), a sosreport, a must-gather (PATH#NODE), synthetic\:... (see cpuctl topology synthetic -h), or the output of lscpu -e -J, lscpu -p, numactl -H, lstopo, ghwc, knit machineinfo or dracpu gatherinfo.]:SOURCE: _cpuctl_machine' \
                '(--kubelet-config)'--kubelet-config='[KubeletConfiguration file. Default\: the recorded kubelet'\''s; with -m live, the running kubelet'\''s, otherwise /var/lib/kubelet/config.yaml; always with flags and drop-ins.]:FILE:_files' \
                '(--config-dir)'--config-dir='[The kubelet'\''s drop-in directory (its flag --config-dir).]:DIR:_files -/' \
                '(--kubelet-args)'--kubelet-args='[The kubelet'\''s flags, or @FILE with its command line; flags override files.]:'\''--FLAG=VALUE ...'\'': ' \
                '(--kubelet-version)'--kubelet-version='[The kubelet'\''s version, 1.27 to 1.38\: a minor or a patch (1.33.4), or @FILE with its Node (kubectl get node -o json).]:VERSION:(1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27)' \
                '(--help-kubelet)'--help-kubelet'[Explain the kubelet options, and exit.]' \
                '(--columns)'--columns='[Show only a table of CPUs with these columns, or '\''all'\''.]:COLUMN,...: _cpuctl_ask columns' \
                '(--cpus)'--cpus='[Show only these CPUs\: 0-3,8, a mask (0xff), or node\:1, socket\:0, l3\:2, core\:5.]:LIST: _cpuctl_ask cpus' \
                '(--numa-memory)'--numa-memory'[Also show the memory of each NUMA node, as the kubelet'\''s Memory Manager counts it.]' \
                '(--svg)'--svg='[Also draw the machine with its CPUs as SVG; - is stdout, without the answer.]:FILE:_files' \
                '(--force)'--force'[Overwrite existing files.]' \
                '(--publisher)'--publisher='[The exporter whose object -o nrt writes\: rte, the resource topology exporter (rte,fingerprint=all or none\: which pods its fingerprint covers), or nfd, node-feature-discovery'\''s topology updater.]:NAME: ' \
                '(-o --output)'{-o+,--output=}'[Output format; lscpu (-p -a), numactl (-H) and hwloc-xml are what these tools print, nrt is the NodeResourceTopology that an exporter would publish.]:table|wide|json|yaml|lscpu|numactl|hwloc-xml|nrt:(table wide json yaml lscpu numactl hwloc-xml nrt)' \
                '(--no-color)'--no-color'[Disable colour, as NO_COLOR does.]' \
                '(-q --quiet)'{-q,--quiet}'[Suppress notes and warnings on stderr.]' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]'
            ;;
        'topology show')
            _arguments \
                '(-m --machine)'{-m+,--machine=}'[The machine\: live, a directory with sys/, an archive of one (.tar, .tar.gz, .tar.xz, ...), a sosreport, a must-gather (PATH#NODE), synthetic\:... (see cpuctl topology synthetic -h), or the output of lscpu -e -J, lscpu -p, numactl -H, lstopo, ghwc, knit machineinfo or dracpu gatherinfo.]:SOURCE: _cpuctl_machine' \
                '(--kubelet-config)'--kubelet-config='[KubeletConfiguration file. Default\: the recorded kubelet'\''s; with -m live, the running kubelet'\''s, otherwise /var/lib/kubelet/config.yaml; always with flags and drop-ins.]:FILE:_files' \
                '(--config-dir)'--config-dir='[The kubelet'\''s drop-in directory (its flag --config-dir).]:DIR:_files -/' \
                '(--kubelet-args)'--kubelet-args='[The kubelet'\''s flags, or @FILE with its command line; flags override files.]:'\''--FLAG=VALUE ...'\'': ' \
                '(--kubelet-version)'--kubelet-version='[The kubelet'\''s version, 1.27 to 1.38\: a minor or a patch (1.33.4), or @FILE with its Node (kubectl get node -o json).]:VERSION:(1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27)' \
                '(--help-kubelet)'--help-kubelet'[Explain the kubelet options, and exit.]' \
                '(--columns)'--columns='[Show only a table of CPUs with these columns, or '\''all'\''.]:COLUMN,...: _cpuctl_ask columns' \
                '(--cpus)'--cpus='[Show only these CPUs\: 0-3,8, a mask (0xff), or node\:1, socket\:0, l3\:2, core\:5.]:LIST: _cpuctl_ask cpus' \
                '(--numa-memory)'--numa-memory'[Also show the memory of each NUMA node, as the kubelet'\''s Memory Manager counts it.]' \
                '(--svg)'--svg='[Also draw the machine with its CPUs as SVG; - is stdout, without the answer.]:FILE:_files' \
                '(--force)'--force'[Overwrite existing files.]' \
                '(--publisher)'--publisher='[The exporter whose object -o nrt writes\: rte, the resource topology exporter (rte,fingerprint=all or none\: which pods its fingerprint covers), or nfd, node-feature-discovery'\''s topology updater.]:NAME: ' \
                '(-o --output)'{-o+,--output=}'[Output format; lscpu (-p -a), numactl (-H) and hwloc-xml are what these tools print, nrt is the NodeResourceTopology that an exporter would publish.]:table|wide|json|yaml|lscpu|numactl|hwloc-xml|nrt:(table wide json yaml lscpu numactl hwloc-xml nrt)' \
                '(--no-color)'--no-color'[Disable colour, as NO_COLOR does.]' \
                '(-q --quiet)'{-q,--quiet}'[Suppress notes and warnings on stderr.]' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]' \
                '1::[SOURCE]: _cpuctl_machine'
            ;;
        'topology map')
            _arguments \
                '(-m --machine)'{-m+,--machine=}'[The machine\: live, a directory with sys/, an archive of one (.tar, .tar.gz, .tar.xz, ...), a sosreport, a must-gather (PATH#NODE), synthetic\:... (see cpuctl topology synthetic -h), or the output of lscpu -e -J, lscpu -p, numactl -H, lstopo, ghwc, knit machineinfo or dracpu gatherinfo.]:SOURCE: _cpuctl_machine' \
                '(--cpus)'--cpus='[Show only these CPUs\: 0-3,8, a mask (0xff), or node\:1, socket\:0, l3\:2, core\:5.]:LIST: _cpuctl_ask cpus' \
                '(--svg)'--svg='[Also draw the machine with its CPUs as SVG; - is stdout, without the answer.]:FILE:_files' \
                '(--force)'--force'[Overwrite existing files.]' \
                '(-o --output)'{-o+,--output=}'[Output format.]:table|wide|json|yaml:(table wide json yaml)' \
                '(--no-color)'--no-color'[Disable colour, as NO_COLOR does.]' \
                '(-q --quiet)'{-q,--quiet}'[Suppress notes and warnings on stderr.]' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]' \
                '1::[SOURCE]: _cpuctl_machine'
            ;;
        'topology distances')
            _arguments \
                '(-m --machine)'{-m+,--machine=}'[The machine\: live, a directory with sys/, an archive of one (.tar, .tar.gz, .tar.xz, ...), a sosreport, a must-gather (PATH#NODE), synthetic\:... (see cpuctl topology synthetic -h), or the output of lscpu -e -J, lscpu -p, numactl -H, lstopo, ghwc, knit machineinfo or dracpu gatherinfo.]:SOURCE: _cpuctl_machine' \
                '(-o --output)'{-o+,--output=}'[Output format.]:table|wide|json|yaml:(table wide json yaml)' \
                '(--no-color)'--no-color'[Disable colour, as NO_COLOR does.]' \
                '(-q --quiet)'{-q,--quiet}'[Suppress notes and warnings on stderr.]' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]' \
                '1::[SOURCE]: _cpuctl_machine'
            ;;
        'topology synthetic')
            _arguments \
                '(-m --machine)'{-m+,--machine=}'[The machine\: live, a directory with sys/, an archive of one (.tar, .tar.gz, .tar.xz, ...), a sosreport, a must-gather (PATH#NODE), synthetic\:... (see cpuctl topology synthetic -h), or the output of lscpu -e -J, lscpu -p, numactl -H, lstopo, ghwc, knit machineinfo or dracpu gatherinfo.]:SOURCE: _cpuctl_machine' \
                '(-o --output)'{-o+,--output=}'[Output format.]:table|wide|json|yaml:(table wide json yaml)' \
                '(--no-color)'--no-color'[Disable colour, as NO_COLOR does.]' \
                '(-q --quiet)'{-q,--quiet}'[Suppress notes and warnings on stderr.]' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]' \
                '1::[SOURCE]: _cpuctl_machine'
            ;;
        'topology devices')
            _arguments \
                '(-m --machine)'{-m+,--machine=}'[The machine\: live, a directory with sys/, an archive of one (.tar, .tar.gz, .tar.xz, ...), a sosreport, a must-gather (PATH#NODE), synthetic\:... (see cpuctl topology synthetic -h), or the output of lscpu -e -J, lscpu -p, numactl -H, lstopo, ghwc, knit machineinfo or dracpu gatherinfo.]:SOURCE: _cpuctl_machine' \
                '(-o --output)'{-o+,--output=}'[Output format.]:table|wide|json|yaml:(table wide json yaml)' \
                '(--no-color)'--no-color'[Disable colour, as NO_COLOR does.]' \
                '(-q --quiet)'{-q,--quiet}'[Suppress notes and warnings on stderr.]' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]' \
                '1::[SOURCE]: _cpuctl_machine'
            ;;
        'config')
            _cpuctl_group 'config' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]'
            ;;
        'config reserve')
            _arguments \
                '(-m --machine)'{-m+,--machine=}'[The machine\: live, a directory with sys/, an archive of one (.tar, .tar.gz, .tar.xz, ...), a sosreport, a must-gather (PATH#NODE), synthetic\:... (see cpuctl topology synthetic -h), or the output of lscpu -e -J, lscpu -p, numactl -H, lstopo, ghwc, knit machineinfo or dracpu gatherinfo.]:SOURCE: _cpuctl_machine' \
                '(--cgroup-version)'--cgroup-version='[The host'\''s cgroup version. Default\: the machine'\''s, or 2.]:1|2:(1 2)' \
                '(--ephemeral-storage)'--ephemeral-storage='[Size of the kubelet'\''s file system. Default\: the live host'\''s; otherwise storage is ignored.]:QUANTITY: ' \
                '(--memory)'--memory='[Memory of a machine that was recorded without it.]:QUANTITY: ' \
                '(--kubelet-config)'--kubelet-config='[KubeletConfiguration file. Default\: the recorded kubelet'\''s; with -m live, the running kubelet'\''s, otherwise /var/lib/kubelet/config.yaml; always with flags and drop-ins.]:FILE:_files' \
                '(--config-dir)'--config-dir='[The kubelet'\''s drop-in directory (its flag --config-dir).]:DIR:_files -/' \
                '(--kubelet-args)'--kubelet-args='[The kubelet'\''s flags, or @FILE with its command line; flags override files.]:'\''--FLAG=VALUE ...'\'': ' \
                '(--kubelet-version)'--kubelet-version='[The kubelet'\''s version, 1.27 to 1.38\: a minor or a patch (1.33.4), or @FILE with its Node (kubectl get node -o json).]:VERSION:(1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27)' \
                '(--feature-gates)'--feature-gates='[Feature gates in addition to those of the configuration.]:A=true,B=false: _cpuctl_ask gates' \
                '(--ignore-unknown-gates)'--ignore-unknown-gates'[Ignore feature gates that Kubernetes does not know, as OpenShift'\''s kubelet does.]' \
                '(--help-kubelet)'--help-kubelet'[Explain the kubelet options, and exit.]' \
                '(--cpu-count)'--cpu-count='[Choose N CPUs for reservedSystemCPUs.]:N: ' \
                '(--per-numa)'--per-numa'[Choose the same number from each NUMA node\: N in total, or a few more.]' \
                '(--whole-cores)'--whole-cores'[Choose only whole cores\: N CPUs, or a few more.]' \
                '(--keep-p-cores)'--keep-p-cores'[Choose performance cores last, if the machine has several core types.]' \
                '(--spread)'--spread='[Reserve the same memory on each NUMA node (even, the default), in proportion to its size (proportional), or all on one (one-node).]:even|proportional|one-node:(even proportional one-node)' \
                '(--numa-node)'--numa-node='[Reserve all memory on this NUMA node.]:N: ' \
                '(--snippet)'--snippet'[Print only a KubeletConfiguration with the settings, for a drop-in file.]' \
                '(-o --output)'{-o+,--output=}'[Output format.]:table|wide|json|yaml:(table wide json yaml)' \
                '(--no-color)'--no-color'[Disable colour, as NO_COLOR does.]' \
                '(-q --quiet)'{-q,--quiet}'[Suppress notes and warnings on stderr.]' \
                '(--exit-zero)'--exit-zero'[Exit 0 even if the answer is no.]' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]' \
                '1::[SOURCE]: _cpuctl_machine'
            ;;
        'config show')
            _arguments \
                '(-m --machine)'{-m+,--machine=}'[The machine\: live, a directory with sys/, an archive of one (.tar, .tar.gz, .tar.xz, ...), a sosreport, a must-gather (PATH#NODE), synthetic\:... (see cpuctl topology synthetic -h), or the output of lscpu -e -J, lscpu -p, numactl -H, lstopo, ghwc, knit machineinfo or dracpu gatherinfo.]:SOURCE: _cpuctl_machine' \
                '(--ephemeral-storage)'--ephemeral-storage='[Size of the kubelet'\''s file system. Default\: the live host'\''s; otherwise storage is ignored.]:QUANTITY: ' \
                '(--memory)'--memory='[Memory of a machine that was recorded without it.]:QUANTITY: ' \
                '(--kubelet-config)'--kubelet-config='[KubeletConfiguration file. Default\: the recorded kubelet'\''s; with -m live, the running kubelet'\''s, otherwise /var/lib/kubelet/config.yaml; always with flags and drop-ins.]:FILE:_files' \
                '(--config-dir)'--config-dir='[The kubelet'\''s drop-in directory (its flag --config-dir).]:DIR:_files -/' \
                '(--kubelet-args)'--kubelet-args='[The kubelet'\''s flags, or @FILE with its command line; flags override files.]:'\''--FLAG=VALUE ...'\'': ' \
                '(--kubelet-version)'--kubelet-version='[The kubelet'\''s version, 1.27 to 1.38\: a minor or a patch (1.33.4), or @FILE with its Node (kubectl get node -o json).]:VERSION:(1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27)' \
                '(--feature-gates)'--feature-gates='[Feature gates in addition to those of the configuration.]:A=true,B=false: _cpuctl_ask gates' \
                '(--ignore-unknown-gates)'--ignore-unknown-gates'[Ignore feature gates that Kubernetes does not know, as OpenShift'\''s kubelet does.]' \
                '(--help-kubelet)'--help-kubelet'[Explain the kubelet options, and exit.]' \
                '(-o --output)'{-o+,--output=}'[Output format.]:table|wide|json|yaml:(table wide json yaml)' \
                '(--no-color)'--no-color'[Disable colour, as NO_COLOR does.]' \
                '(-q --quiet)'{-q,--quiet}'[Suppress notes and warnings on stderr.]' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]' \
                '1::[SOURCE]: _cpuctl_machine'
            ;;
        'config check')
            _arguments \
                '(-m --machine)'{-m+,--machine=}'[The machine\: live, a directory with sys/, an archive of one (.tar, .tar.gz, .tar.xz, ...), a sosreport, a must-gather (PATH#NODE), synthetic\:... (see cpuctl topology synthetic -h), or the output of lscpu -e -J, lscpu -p, numactl -H, lstopo, ghwc, knit machineinfo or dracpu gatherinfo.]:SOURCE: _cpuctl_machine' \
                '(--cgroup-version)'--cgroup-version='[The host'\''s cgroup version. Default\: the machine'\''s, or 2.]:1|2:(1 2)' \
                '(--ephemeral-storage)'--ephemeral-storage='[Size of the kubelet'\''s file system. Default\: the live host'\''s; otherwise storage is ignored.]:QUANTITY: ' \
                '(--memory)'--memory='[Memory of a machine that was recorded without it.]:QUANTITY: ' \
                '(--state)'--state='[The kubelet'\''s state files. Default\: the node'\''s own.]:STATE:_files' \
                '(--driver-args)'--driver-args='[Flags of the dra.cpu driver that will run on the node, to check for conflicts.]:FLAGS: ' \
                '(--kubelet-config)'--kubelet-config='[KubeletConfiguration file. Default\: the recorded kubelet'\''s; with -m live, the running kubelet'\''s, otherwise /var/lib/kubelet/config.yaml; always with flags and drop-ins.]:FILE:_files' \
                '(--config-dir)'--config-dir='[The kubelet'\''s drop-in directory (its flag --config-dir).]:DIR:_files -/' \
                '(--kubelet-args)'--kubelet-args='[The kubelet'\''s flags, or @FILE with its command line; flags override files.]:'\''--FLAG=VALUE ...'\'': ' \
                '(--kubelet-version)'--kubelet-version='[The kubelet'\''s version, 1.27 to 1.38\: a minor or a patch (1.33.4), or @FILE with its Node (kubectl get node -o json).]:VERSION:(1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27)' \
                '(--feature-gates)'--feature-gates='[Feature gates in addition to those of the configuration.]:A=true,B=false: _cpuctl_ask gates' \
                '(--ignore-unknown-gates)'--ignore-unknown-gates'[Ignore feature gates that Kubernetes does not know, as OpenShift'\''s kubelet does.]' \
                '(--help-kubelet)'--help-kubelet'[Explain the kubelet options, and exit.]' \
                '(--strict)'--strict'[Exit 3 also for warnings.]' \
                '(-o --output)'{-o+,--output=}'[Output format.]:table|wide|json|yaml:(table wide json yaml)' \
                '(--no-color)'--no-color'[Disable colour, as NO_COLOR does.]' \
                '(-q --quiet)'{-q,--quiet}'[Suppress notes and warnings on stderr.]' \
                '(--exit-zero)'--exit-zero'[Exit 0 even if the answer is no.]' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]' \
                '1::[SOURCE]: _cpuctl_machine'
            ;;
        'config versions')
            _arguments \
                '*'{-f+,--filename=}'[Manifests\: files, directories, or - for stdin.]:PODS:_files' \
                '*'{-T+,--template=}'[A pod without YAML, NAME=REQUEST/LIMIT\: '\''web=4/4,2Gi x3'\'' is three pods; a single value sets both. web=1/2 (request below limit) and web=1/ (no limit) are Burstable, web alone is BestEffort.]:NAME[=CPU[,MEM]]: ' \
                '(-m --machine)'{-m+,--machine=}'[The machine\: live, a directory with sys/, an archive of one (.tar, .tar.gz, .tar.xz, ...), a sosreport, a must-gather (PATH#NODE), synthetic\:... (see cpuctl topology synthetic -h), or the output of lscpu -e -J, lscpu -p, numactl -H, lstopo, ghwc, knit machineinfo or dracpu gatherinfo.]:SOURCE: _cpuctl_machine' \
                '(--memory)'--memory='[Memory of a machine that was recorded without it.]:QUANTITY: ' \
                '(--state)'--state='[The kubelet'\''s state files. Default\: the node'\''s own.]:STATE:_files' \
                '(--pods)'--pods='[The pods running on the node (kubectl get pods -o json), or MUST-GATHER#NODE.]:FILE:_files' \
                '(--kubelet-config)'--kubelet-config='[KubeletConfiguration file. Default\: the recorded kubelet'\''s; with -m live, the running kubelet'\''s, otherwise /var/lib/kubelet/config.yaml; always with flags and drop-ins.]:FILE:_files' \
                '(--config-dir)'--config-dir='[The kubelet'\''s drop-in directory (its flag --config-dir).]:DIR:_files -/' \
                '(--kubelet-args)'--kubelet-args='[The kubelet'\''s flags, or @FILE with its command line; flags override files.]:'\''--FLAG=VALUE ...'\'': ' \
                '(--feature-gates)'--feature-gates='[Feature gates in addition to those of the configuration.]:A=true,B=false: _cpuctl_ask gates' \
                '(--ignore-unknown-gates)'--ignore-unknown-gates'[Ignore feature gates that Kubernetes does not know, as OpenShift'\''s kubelet does.]' \
                '(--help-kubelet)'--help-kubelet'[Explain the kubelet options, and exit.]' \
                '(--from)'--from='[The kubelet version to upgrade from. Default\: the node'\''s.]:VERSION:(1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27)' \
                '(--to)'--to='[The kubelet version to upgrade to. Default\: the next minor version.]:VERSION:(1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27)' \
                '(--all)'--all'[Also show changes that do not affect this configuration.]' \
                '(-o --output)'{-o+,--output=}'[Output format.]:table|wide|json|yaml:(table wide json yaml)' \
                '(--no-color)'--no-color'[Disable colour, as NO_COLOR does.]' \
                '(-q --quiet)'{-q,--quiet}'[Suppress notes and warnings on stderr.]' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]' \
                '1::[SOURCE]: _cpuctl_machine'
            ;;
        'checkpoint')
            _cpuctl_group 'checkpoint' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]'
            ;;
        'checkpoint dump')
            _arguments \
                '(--state)'--state='[State files (same as the argument STATE).]:STATE:_files' \
                '(-m --machine)'{-m+,--machine=}'[The node, as for other commands\: the source of the state files, and the machine that --map and --svg draw.]:SOURCE: _cpuctl_machine' \
                '(--pods)'--pods='[The pods running on the node (kubectl get pods -o json), or MUST-GATHER#NODE.]:FILE:_files' \
                '(--map)'--map'[Draw the machine with the owner of each CPU.]' \
                '(--svg)'--svg='[Also draw the machine with its CPUs as SVG; - is stdout, without the answer.]:FILE:_files' \
                '(--force)'--force'[Overwrite existing files.]' \
                '(-o --output)'{-o+,--output=}'[Output format.]:table|wide|json|yaml|prom:(table wide json yaml prom)' \
                '(--no-color)'--no-color'[Disable colour, as NO_COLOR does.]' \
                '(-q --quiet)'{-q,--quiet}'[Suppress notes and warnings on stderr.]' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]' \
                '1::[STATE]:_files'
            ;;
        'checkpoint verify')
            _arguments \
                '(--state)'--state='[State files (same as the argument STATE).]:STATE:_files' \
                '(-m --machine)'{-m+,--machine=}'[The machine\: live, a directory with sys/, an archive of one (.tar, .tar.gz, .tar.xz, ...), a sosreport, a must-gather (PATH#NODE), synthetic\:... (see cpuctl topology synthetic -h), or the output of lscpu -e -J, lscpu -p, numactl -H, lstopo, ghwc, knit machineinfo or dracpu gatherinfo.]:SOURCE: _cpuctl_machine' \
                '(--pods)'--pods='[The pods running on the node (kubectl get pods -o json), or MUST-GATHER#NODE.]:FILE:_files' \
                '(--memory)'--memory='[Memory of a machine that was recorded without it.]:QUANTITY: ' \
                '(--pod-resources)'--pod-resources='[Query the kubelet'\''s pod resources socket, or read its answers (List, GetAllocatableResources) from a JSON file. Without a value, or with '\''live'\''\: the socket in the kubelet'\''s directory.]:[SOCKET]: ' \
                '(--kubelet-config)'--kubelet-config='[KubeletConfiguration file. Default\: the recorded kubelet'\''s; with -m live, the running kubelet'\''s, otherwise /var/lib/kubelet/config.yaml; always with flags and drop-ins.]:FILE:_files' \
                '(--config-dir)'--config-dir='[The kubelet'\''s drop-in directory (its flag --config-dir).]:DIR:_files -/' \
                '(--kubelet-args)'--kubelet-args='[The kubelet'\''s flags, or @FILE with its command line; flags override files.]:'\''--FLAG=VALUE ...'\'': ' \
                '(--kubelet-version)'--kubelet-version='[The kubelet'\''s version, 1.27 to 1.38\: a minor or a patch (1.33.4), or @FILE with its Node (kubectl get node -o json).]:VERSION:(1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27)' \
                '(--feature-gates)'--feature-gates='[Feature gates in addition to those of the configuration.]:A=true,B=false: _cpuctl_ask gates' \
                '(--ignore-unknown-gates)'--ignore-unknown-gates'[Ignore feature gates that Kubernetes does not know, as OpenShift'\''s kubelet does.]' \
                '(--help-kubelet)'--help-kubelet'[Explain the kubelet options, and exit.]' \
                '(--strict)'--strict'[Exit 3 also for warnings.]' \
                '(-o --output)'{-o+,--output=}'[Output format.]:table|wide|json|yaml|prom:(table wide json yaml prom)' \
                '(--no-color)'--no-color'[Disable colour, as NO_COLOR does.]' \
                '(-q --quiet)'{-q,--quiet}'[Suppress notes and warnings on stderr.]' \
                '(--exit-zero)'--exit-zero'[Exit 0 even if the answer is no.]' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]' \
                '1::[STATE]:_files'
            ;;
        'checkpoint diff')
            _arguments \
                '(--pods)'--pods='[The pods running on the node (kubectl get pods -o json), or MUST-GATHER#NODE.]:FILE:_files' \
                '(--exit-code)'--exit-code'[Exit 3 if anything differs or would change.]' \
                '(-o --output)'{-o+,--output=}'[Output format.]:table|wide|json|yaml:(table wide json yaml)' \
                '(--no-color)'--no-color'[Disable colour, as NO_COLOR does.]' \
                '(-q --quiet)'{-q,--quiet}'[Suppress notes and warnings on stderr.]' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]' \
                '1:A:_files' \
                '2:B:_files'
            ;;
        'checkpoint migrate')
            _arguments \
                '(--state)'--state='[State files (same as the argument STATE).]:STATE:_files' \
                '(--pods)'--pods='[The pods running on the node (kubectl get pods -o json), or MUST-GATHER#NODE.]:FILE:_files' \
                '(-m --machine)'{-m+,--machine=}'[The machine, as for other commands, on which the result is verified. Default\: none.]:SOURCE: _cpuctl_machine' \
                '(--memory)'--memory='[Memory of a machine that was recorded without it.]:QUANTITY: ' \
                '(--root)'--root='[Root of the node'\''s file system, e.g. /host in a debugging pod, or a mounted disk\: its state files are used and, with kubelet options but no -m, its machine.]:DIR:_files -/' \
                '(--feature-gates)'--feature-gates='[Feature gates in addition to those of the configuration.]:A=true,B=false: _cpuctl_ask gates' \
                '(--kubelet-config)'--kubelet-config='[KubeletConfiguration file. Default\: the recorded kubelet'\''s; with -m live, the running kubelet'\''s, otherwise /var/lib/kubelet/config.yaml; always with flags and drop-ins.]:FILE:_files' \
                '(--config-dir)'--config-dir='[The kubelet'\''s drop-in directory (its flag --config-dir).]:DIR:_files -/' \
                '(--kubelet-args)'--kubelet-args='[The kubelet'\''s flags, or @FILE with its command line; flags override files.]:'\''--FLAG=VALUE ...'\'': ' \
                '(--help-kubelet)'--help-kubelet'[Explain the kubelet options, and exit.]' \
                '(--to)'--to='[The kubelet version that will read the files, 1.27 to 1.38.]:VERSION:(1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27)' \
                '(-y --yes)'{-y,--yes}'[Write in place, with a backup; without this, only show what would change.]' \
                '(--force-kubelet-running)'--force-kubelet-running'[Write even if a kubelet is using these files; it may overwrite the changes.]' \
                '(--write-state)'--write-state='[Write the new state files to DIR; --yes is not needed.]:DIR:_files -/' \
                '(--force)'--force'[Overwrite existing files; state files are backed up.]' \
                '(--exit-code)'--exit-code'[Exit 3 if anything differs or would change.]' \
                '(-o --output)'{-o+,--output=}'[Output format.]:table|wide|json|yaml:(table wide json yaml)' \
                '(--no-color)'--no-color'[Disable colour, as NO_COLOR does.]' \
                '(-q --quiet)'{-q,--quiet}'[Suppress notes and warnings on stderr.]' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]' \
                '1::[STATE]:_files'
            ;;
        'checkpoint repair')
            _arguments \
                '(--state)'--state='[State files (same as the argument STATE).]:STATE:_files' \
                '(-m --machine)'{-m+,--machine=}'[The machine\: live, a directory with sys/, an archive of one (.tar, .tar.gz, .tar.xz, ...), a sosreport, a must-gather (PATH#NODE), synthetic\:... (see cpuctl topology synthetic -h), or the output of lscpu -e -J, lscpu -p, numactl -H, lstopo, ghwc, knit machineinfo or dracpu gatherinfo.]:SOURCE: _cpuctl_machine' \
                '(--pods)'--pods='[The pods running on the node (kubectl get pods -o json), or MUST-GATHER#NODE.]:FILE:_files' \
                '(--memory)'--memory='[Memory of a machine that was recorded without it.]:QUANTITY: ' \
                '(--root)'--root='[Root of the node'\''s file system, e.g. /host in a debugging pod, or a mounted disk\: its machine, kubelet configuration and state files are used.]:DIR:_files -/' \
                '(--kubelet-config)'--kubelet-config='[KubeletConfiguration file. Default\: the recorded kubelet'\''s; with -m live, the running kubelet'\''s, otherwise /var/lib/kubelet/config.yaml; always with flags and drop-ins.]:FILE:_files' \
                '(--config-dir)'--config-dir='[The kubelet'\''s drop-in directory (its flag --config-dir).]:DIR:_files -/' \
                '(--kubelet-args)'--kubelet-args='[The kubelet'\''s flags, or @FILE with its command line; flags override files.]:'\''--FLAG=VALUE ...'\'': ' \
                '(--kubelet-version)'--kubelet-version='[The kubelet'\''s version, 1.27 to 1.38\: a minor or a patch (1.33.4), or @FILE with its Node (kubectl get node -o json).]:VERSION:(1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27)' \
                '(--feature-gates)'--feature-gates='[Feature gates in addition to those of the configuration.]:A=true,B=false: _cpuctl_ask gates' \
                '(--ignore-unknown-gates)'--ignore-unknown-gates'[Ignore feature gates that Kubernetes does not know, as OpenShift'\''s kubelet does.]' \
                '(--help-kubelet)'--help-kubelet'[Explain the kubelet options, and exit.]' \
                '(-y --yes)'{-y,--yes}'[Write in place, with a backup; without this, only show what would change.]' \
                '(--force-kubelet-running)'--force-kubelet-running'[Write even if a kubelet is using these files; it may overwrite the changes.]' \
                '(--write-state)'--write-state='[Write the new state files to DIR; --yes is not needed.]:DIR:_files -/' \
                '(--force)'--force'[Overwrite existing files; state files are backed up.]' \
                '(--exit-code)'--exit-code'[Exit 3 if anything differs or would change.]' \
                '(-o --output)'{-o+,--output=}'[Output format.]:table|wide|json|yaml:(table wide json yaml)' \
                '(--no-color)'--no-color'[Disable colour, as NO_COLOR does.]' \
                '(-q --quiet)'{-q,--quiet}'[Suppress notes and warnings on stderr.]' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]' \
                '1::[STATE]:_files'
            ;;
        'checkpoint new')
            _arguments \
                '(--root)'--root='[Root of the node'\''s file system, e.g. /host in a debugging pod, or a mounted disk\: its machine, kubelet configuration and state files are used.]:DIR:_files -/' \
                '*'{-f+,--filename=}'[Manifests\: files, directories, or - for stdin.]:PODS:_files' \
                '*'{-T+,--template=}'[A pod without YAML, NAME=REQUEST/LIMIT\: '\''web=4/4,2Gi x3'\'' is three pods; a single value sets both. web=1/2 (request below limit) and web=1/ (no limit) are Burstable, web alone is BestEffort.]:NAME[=CPU[,MEM]]: ' \
                '(-m --machine)'{-m+,--machine=}'[The machine\: live, a directory with sys/, an archive of one (.tar, .tar.gz, .tar.xz, ...), a sosreport, a must-gather (PATH#NODE), synthetic\:... (see cpuctl topology synthetic -h), or the output of lscpu -e -J, lscpu -p, numactl -H, lstopo, ghwc, knit machineinfo or dracpu gatherinfo.]:SOURCE: _cpuctl_machine' \
                '(--devices)'--devices='[Free, healthy devices of device plugins, by resource and NUMA node (see cpuctl schema devices), or the answers of the pod resources API (GetAllocatableResources, List).]:FILE:_files' \
                '(--assume-devices)'--assume-devices'[Assume that every NUMA node has enough of the devices that pods request and --devices does not list.]' \
                '(--driver-args)'--driver-args='[Flags of the dra.cpu driver, for pods with resource claims\: '\''--cpu-device-mode individual --reserved-cpus 0,32'\''. Default\: CPUs grouped by NUMA node, none reserved.]:FLAGS: ' \
                '(--memory)'--memory='[Memory of a machine that was recorded without it.]:QUANTITY: ' \
                '(--kubelet-config)'--kubelet-config='[KubeletConfiguration file. Default\: the recorded kubelet'\''s; with -m live, the running kubelet'\''s, otherwise /var/lib/kubelet/config.yaml; always with flags and drop-ins.]:FILE:_files' \
                '(--config-dir)'--config-dir='[The kubelet'\''s drop-in directory (its flag --config-dir).]:DIR:_files -/' \
                '(--kubelet-args)'--kubelet-args='[The kubelet'\''s flags, or @FILE with its command line; flags override files.]:'\''--FLAG=VALUE ...'\'': ' \
                '(--kubelet-version)'--kubelet-version='[The kubelet'\''s version, 1.27 to 1.38\: a minor or a patch (1.33.4), or @FILE with its Node (kubectl get node -o json).]:VERSION:(1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27)' \
                '(--feature-gates)'--feature-gates='[Feature gates in addition to those of the configuration.]:A=true,B=false: _cpuctl_ask gates' \
                '(--ignore-unknown-gates)'--ignore-unknown-gates'[Ignore feature gates that Kubernetes does not know, as OpenShift'\''s kubelet does.]' \
                '(--help-kubelet)'--help-kubelet'[Explain the kubelet options, and exit.]' \
                '(--force-kubelet-running)'--force-kubelet-running'[Write even if a kubelet is using these files; it may overwrite the changes.]' \
                '(--write-state)'--write-state='[Write the new state files to DIR; --yes is not needed.]:DIR:_files -/' \
                '(--force)'--force'[Overwrite existing files; state files are backed up.]' \
                '(-o --output)'{-o+,--output=}'[Output format.]:table|wide|json|yaml:(table wide json yaml)' \
                '(--no-color)'--no-color'[Disable colour, as NO_COLOR does.]' \
                '(-q --quiet)'{-q,--quiet}'[Suppress notes and warnings on stderr.]' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]' \
                '*:[PODS]...:_files'
            ;;
        'checkpoint versions')
            _arguments \
                '(-o --output)'{-o+,--output=}'[Output format.]:table|wide|json|yaml:(table wide json yaml)' \
                '(--no-color)'--no-color'[Disable colour, as NO_COLOR does.]' \
                '(-q --quiet)'{-q,--quiet}'[Suppress notes and warnings on stderr.]' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]'
            ;;
        'audit')
            _arguments \
                '(-m --machine)'{-m+,--machine=}'[The node\: live, a directory with sys/, or a recording.]:SOURCE: _cpuctl_machine' \
                '(--root)'--root='[Root of the node'\''s file system, e.g. /host in a debugging pod, or a mounted disk.]:DIR:_files -/' \
                '(--state)'--state='[The kubelet'\''s state files. Default\: the node'\''s own.]:STATE:_files' \
                '(--pods)'--pods='[The pods running on the node (kubectl get pods -o json), or MUST-GATHER#NODE.]:FILE:_files' \
                '(--pod-resources)'--pod-resources='[Query the kubelet'\''s pod resources socket, or read its answers (List, GetAllocatableResources) from a JSON file. Without a value, or with '\''live'\''\: the socket in the kubelet'\''s directory.]:[SOCKET]: ' \
                '(--kubelet-config)'--kubelet-config='[KubeletConfiguration file. Default\: the recorded kubelet'\''s; with -m live, the running kubelet'\''s, otherwise /var/lib/kubelet/config.yaml; always with flags and drop-ins.]:FILE:_files' \
                '(--config-dir)'--config-dir='[The kubelet'\''s drop-in directory (its flag --config-dir).]:DIR:_files -/' \
                '(--kubelet-args)'--kubelet-args='[The kubelet'\''s flags, or @FILE with its command line; flags override files.]:'\''--FLAG=VALUE ...'\'': ' \
                '(--kubelet-version)'--kubelet-version='[The kubelet'\''s version, 1.27 to 1.38\: a minor or a patch (1.33.4), or @FILE with its Node (kubectl get node -o json).]:VERSION:(1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27)' \
                '(--feature-gates)'--feature-gates='[Feature gates in addition to those of the configuration.]:A=true,B=false: _cpuctl_ask gates' \
                '(--ignore-unknown-gates)'--ignore-unknown-gates'[Ignore feature gates that Kubernetes does not know, as OpenShift'\''s kubelet does.]' \
                '(--help-kubelet)'--help-kubelet'[Explain the kubelet options, and exit.]' \
                '(--check)'--check='[Only these checks\: state, hotplug, reserved, cpusets, mems, threads, quota, memory, hugepages, stale, devices, claims, answers, foreign, kernel, interrupts, siblings, isolation, volumes.]:CHECK,...: _cpuctl_ask checks' \
                '(-o --output)'{-o+,--output=}'[Output format; jsonl is one finding per line, plan is the changes for cpuctl cgroups apply, prom is metrics for node_exporter.]:table|wide|json|yaml|jsonl|plan|prom:(table wide json yaml jsonl plan prom)' \
                '(--no-color)'--no-color'[Disable colour, as NO_COLOR does.]' \
                '(-q --quiet)'{-q,--quiet}'[Suppress notes and warnings on stderr.]' \
                '(--exit-zero)'--exit-zero'[Exit 0 even if the answer is no.]' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]' \
                '1::[SOURCE]: _cpuctl_machine'
            ;;
        'top')
            _arguments \
                '(-m --machine)'{-m+,--machine=}'[The node\: live, a directory with sys/, or a recording.]:SOURCE: _cpuctl_machine' \
                '(--root)'--root='[Root of the node'\''s file system, e.g. /host in a debugging pod, or a mounted disk.]:DIR:_files -/' \
                '(--state)'--state='[The kubelet'\''s state files. Default\: the node'\''s own.]:STATE:_files' \
                '(--pods)'--pods='[The pods running on the node (kubectl get pods -o json), or MUST-GATHER#NODE.]:FILE:_files' \
                '(--replay)'--replay='[Play a file written by --record or -o jsonl; with --once, show its last sample.]:FILE:_files' \
                '(--kubelet-config)'--kubelet-config='[KubeletConfiguration file. Default\: the recorded kubelet'\''s; with -m live, the running kubelet'\''s, otherwise /var/lib/kubelet/config.yaml; always with flags and drop-ins.]:FILE:_files' \
                '(--config-dir)'--config-dir='[The kubelet'\''s drop-in directory (its flag --config-dir).]:DIR:_files -/' \
                '(--kubelet-args)'--kubelet-args='[The kubelet'\''s flags, or @FILE with its command line; flags override files.]:'\''--FLAG=VALUE ...'\'': ' \
                '(--kubelet-version)'--kubelet-version='[The kubelet'\''s version, 1.27 to 1.38\: a minor or a patch (1.33.4), or @FILE with its Node (kubectl get node -o json).]:VERSION:(1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27)' \
                '(--feature-gates)'--feature-gates='[Feature gates in addition to those of the configuration.]:A=true,B=false: _cpuctl_ask gates' \
                '(--ignore-unknown-gates)'--ignore-unknown-gates'[Ignore feature gates that Kubernetes does not know, as OpenShift'\''s kubelet does.]' \
                '(--help-kubelet)'--help-kubelet'[Explain the kubelet options, and exit.]' \
                '(--interval)'--interval='[Seconds between samples, 0.2 to 3600.]:SECONDS: ' \
                '(--samples)'--samples='[With -o jsonl\: exit after N samples; 0 means no limit.]:N: ' \
                '(--once)'--once'[Print one sample and exit.]' \
                '(-o --output)'{-o+,--output=}'[With --once\: table, wide, json or yaml. jsonl\: one sample per line.]:table|wide|json|yaml|jsonl:(table wide json yaml jsonl)' \
                '(--record)'--record='[Write every sample to a new file, one JSON object per line, up to 1 GiB; compressed if the name ends in .gz.]:FILE:_files' \
                '(--no-color)'--no-color'[Disable colour, as NO_COLOR does.]' \
                '(-q --quiet)'{-q,--quiet}'[Suppress notes and warnings on stderr.]' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]'
            ;;
        'report')
            _arguments \
                '(--pod-resources)'--pod-resources='[Query the kubelet'\''s pod resources socket, or read its answers (List, GetAllocatableResources) from a JSON file. Without a value, or with '\''live'\''\: the socket in the kubelet'\''s directory.]:[SOCKET]: ' \
                '(--timeline)'--timeline='[Also replay a timeline (see cpuctl replay).]:FILE:_files' \
                '*'{-f+,--filename=}'[Manifests\: files, directories, or - for stdin.]:PODS:_files' \
                '*'{-T+,--template=}'[A pod without YAML, NAME=REQUEST/LIMIT\: '\''web=4/4,2Gi x3'\'' is three pods; a single value sets both. web=1/2 (request below limit) and web=1/ (no limit) are Burstable, web alone is BestEffort.]:NAME[=CPU[,MEM]]: ' \
                '(-m --machine)'{-m+,--machine=}'[The machine\: live, a directory with sys/, an archive of one (.tar, .tar.gz, .tar.xz, ...), a sosreport, a must-gather (PATH#NODE), synthetic\:... (see cpuctl topology synthetic -h), or the output of lscpu -e -J, lscpu -p, numactl -H, lstopo, ghwc, knit machineinfo or dracpu gatherinfo.]:SOURCE: _cpuctl_machine' \
                '(--state)'--state='[The kubelet'\''s state files to start from\: cpu_manager_state, memory_manager_state, or the directory with both. Default\: those of a recording (-m), unless --kubelet-config is given; otherwise an empty node.]:STATE:_files' \
                '(--pods)'--pods='[The pods running on the node (kubectl get pods -o json), or MUST-GATHER#NODE.]:FILE:_files' \
                '(--devices)'--devices='[Free, healthy devices of device plugins, by resource and NUMA node (see cpuctl schema devices), or the answers of the pod resources API (GetAllocatableResources, List).]:FILE:_files' \
                '(--assume-devices)'--assume-devices'[Assume that every NUMA node has enough of the devices that pods request and --devices does not list.]' \
                '(--driver-args)'--driver-args='[Flags of the dra.cpu driver, for pods with resource claims\: '\''--cpu-device-mode individual --reserved-cpus 0,32'\''. Default\: CPUs grouped by NUMA node, none reserved.]:FLAGS: ' \
                '(--ephemeral-storage)'--ephemeral-storage='[Size of the kubelet'\''s file system. Default\: the live host'\''s; otherwise storage is ignored.]:QUANTITY: ' \
                '(--memory)'--memory='[Memory of a machine that was recorded without it.]:QUANTITY: ' \
                '(--skip-apiserver)'--skip-apiserver'[Skip the API server'\''s validation of the pods.]' \
                '(--include-completed)'--include-completed'[Treat completed pods (Succeeded, Failed) as new ones.]' \
                '(--kubelet-config)'--kubelet-config='[KubeletConfiguration file. Default\: the recorded kubelet'\''s; with -m live, the running kubelet'\''s, otherwise /var/lib/kubelet/config.yaml; always with flags and drop-ins.]:FILE:_files' \
                '(--config-dir)'--config-dir='[The kubelet'\''s drop-in directory (its flag --config-dir).]:DIR:_files -/' \
                '(--kubelet-args)'--kubelet-args='[The kubelet'\''s flags, or @FILE with its command line; flags override files.]:'\''--FLAG=VALUE ...'\'': ' \
                '(--kubelet-version)'--kubelet-version='[The kubelet'\''s version, 1.27 to 1.38\: a minor or a patch (1.33.4), or @FILE with its Node (kubectl get node -o json).]:VERSION:(1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27)' \
                '(--feature-gates)'--feature-gates='[Feature gates in addition to those of the configuration.]:A=true,B=false: _cpuctl_ask gates' \
                '(--ignore-unknown-gates)'--ignore-unknown-gates'[Ignore feature gates that Kubernetes does not know, as OpenShift'\''s kubelet does.]' \
                '(--help-kubelet)'--help-kubelet'[Explain the kubelet options, and exit.]' \
                '(--html)'--html='[Write one self-contained HTML page; - is stdout, without the summary.]:FILE:_files' \
                '(--force)'--force'[Overwrite existing files.]' \
                '(-o --output)'{-o+,--output=}'[Output format.]:table|wide|json|yaml:(table wide json yaml)' \
                '(--no-color)'--no-color'[Disable colour, as NO_COLOR does.]' \
                '(-q --quiet)'{-q,--quiet}'[Suppress notes and warnings on stderr.]' \
                '(--exit-zero)'--exit-zero'[Exit 0 even if the answer is no.]' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]' \
                '1::[SOURCE]: _cpuctl_machine'
            ;;
        'watch')
            _arguments \
                '(--root)'--root='[Root of the node'\''s file system, e.g. /host in a debugging pod, or a mounted disk.]:DIR:_files -/' \
                '(--pods)'--pods='[The pods running on the node (kubectl get pods -o json), or MUST-GATHER#NODE.]:FILE:_files' \
                '(--pod-resources)'--pod-resources='[Query the kubelet'\''s pod resources socket, or read its answers (List, GetAllocatableResources) from a JSON file. Without a value, or with '\''live'\''\: the socket in the kubelet'\''s directory.]:[SOCKET]: ' \
                '(--kubelet-config)'--kubelet-config='[KubeletConfiguration file. Default\: the recorded kubelet'\''s; with -m live, the running kubelet'\''s, otherwise /var/lib/kubelet/config.yaml; always with flags and drop-ins.]:FILE:_files' \
                '(--config-dir)'--config-dir='[The kubelet'\''s drop-in directory (its flag --config-dir).]:DIR:_files -/' \
                '(--kubelet-args)'--kubelet-args='[The kubelet'\''s flags, or @FILE with its command line; flags override files.]:'\''--FLAG=VALUE ...'\'': ' \
                '(--kubelet-version)'--kubelet-version='[The kubelet'\''s version, 1.27 to 1.38\: a minor or a patch (1.33.4), or @FILE with its Node (kubectl get node -o json).]:VERSION:(1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27)' \
                '(--feature-gates)'--feature-gates='[Feature gates in addition to those of the configuration.]:A=true,B=false: _cpuctl_ask gates' \
                '(--ignore-unknown-gates)'--ignore-unknown-gates'[Ignore feature gates that Kubernetes does not know, as OpenShift'\''s kubelet does.]' \
                '(--help-kubelet)'--help-kubelet'[Explain the kubelet options, and exit.]' \
                '(--check)'--check='[Only these checks\: state, hotplug, reserved, cpusets, mems, threads, quota, memory, hugepages, stale, devices, claims, answers, foreign, kernel, interrupts, siblings, isolation, volumes.]:CHECK,...: _cpuctl_ask checks' \
                '(--every)'--every='[How often threads and interrupts are sampled; 100ms or more.]:DURATION: ' \
                '(--full)'--full='[How often the node is audited when nothing changes; 1s or more.]:DURATION: ' \
                '(--settle)'--settle='[How long a finding must be gone, or different, before that is reported.]:DURATION: ' \
                '(--max-cpu)'--max-cpu='[Share of one CPU that audits may use on average; sampling may use the same share in addition.]:PERCENT: ' \
                '(--fail-on)'--fail-on='[Exit with code 3 on the first finding of this severity or worse.]:error|warning|note:(error warning note)' \
                '(--for)'--for='[Exit with code 0 after this time.]:DURATION: ' \
                '(--textfile)'--textfile='[Write the metrics of cpuctl audit -o prom to this file after each audit, atomically\: for node_exporter'\''s textfile collector.]:FILE:_files' \
                '(-o --output)'{-o+,--output=}'[Output format\: text lines, or jsonl with one change per line.]:lines|jsonl:(lines jsonl)' \
                '(-q --quiet)'{-q,--quiet}'[Suppress notes and warnings on stderr.]' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]'
            ;;
        'cgroups')
            _cpuctl_group 'cgroups' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]'
            ;;
        'cgroups show')
            _arguments \
                '(-m --machine)'{-m+,--machine=}'[The node\: live, a directory with sys/, or a recording.]:SOURCE: _cpuctl_machine' \
                '(--root)'--root='[Root of the node'\''s file system, e.g. /host in a debugging pod, or a mounted disk.]:DIR:_files -/' \
                '(--state)'--state='[The kubelet'\''s state files. Default\: the node'\''s own.]:STATE:_files' \
                '(--pods)'--pods='[The pods running on the node (kubectl get pods -o json), or MUST-GATHER#NODE.]:FILE:_files' \
                '(--oci-runtime)'--oci-runtime='[The OCI runtime, e.g. runc-1.2.6 or crun-1.23; the CPU weight of containers depends on it.]:NAME-VERSION: ' \
                '(--kubelet-config)'--kubelet-config='[KubeletConfiguration file. Default\: the recorded kubelet'\''s; with -m live, the running kubelet'\''s, otherwise /var/lib/kubelet/config.yaml; always with flags and drop-ins.]:FILE:_files' \
                '(--config-dir)'--config-dir='[The kubelet'\''s drop-in directory (its flag --config-dir).]:DIR:_files -/' \
                '(--kubelet-args)'--kubelet-args='[The kubelet'\''s flags, or @FILE with its command line; flags override files.]:'\''--FLAG=VALUE ...'\'': ' \
                '(--kubelet-version)'--kubelet-version='[The kubelet'\''s version, 1.27 to 1.38\: a minor or a patch (1.33.4), or @FILE with its Node (kubectl get node -o json).]:VERSION:(1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27)' \
                '(--feature-gates)'--feature-gates='[Feature gates in addition to those of the configuration.]:A=true,B=false: _cpuctl_ask gates' \
                '(--ignore-unknown-gates)'--ignore-unknown-gates'[Ignore feature gates that Kubernetes does not know, as OpenShift'\''s kubelet does.]' \
                '(--help-kubelet)'--help-kubelet'[Explain the kubelet options, and exit.]' \
                '(--exit-code)'--exit-code'[Exit 3 if anything differs.]' \
                '(-o --output)'{-o+,--output=}'[Output format; jsonl is one pod per line.]:table|wide|json|yaml|jsonl:(table wide json yaml jsonl)' \
                '(--no-color)'--no-color'[Disable colour, as NO_COLOR does.]' \
                '(-q --quiet)'{-q,--quiet}'[Suppress notes and warnings on stderr.]' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]' \
                '1::[SOURCE]: _cpuctl_machine'
            ;;
        'cgroups apply')
            _arguments \
                '(-f --filename)'{-f+,--filename=}'[A plan or a CPU Manager state; - for stdin.]:FILE:_files' \
                '(-m --machine)'{-m+,--machine=}'[The node\: live, a directory with sys/, or a recording.]:SOURCE: _cpuctl_machine' \
                '(--root)'--root='[Root of the node'\''s file system, e.g. /host in a debugging pod, or a mounted disk.]:DIR:_files -/' \
                '(--state)'--state='[The kubelet'\''s state files. Default\: the node'\''s own.]:STATE:_files' \
                '(--pods)'--pods='[The pods running on the node (kubectl get pods -o json), or MUST-GATHER#NODE.]:FILE:_files' \
                '(--kubelet-config)'--kubelet-config='[KubeletConfiguration file. Default\: the recorded kubelet'\''s; with -m live, the running kubelet'\''s, otherwise /var/lib/kubelet/config.yaml; always with flags and drop-ins.]:FILE:_files' \
                '(--config-dir)'--config-dir='[The kubelet'\''s drop-in directory (its flag --config-dir).]:DIR:_files -/' \
                '(--kubelet-args)'--kubelet-args='[The kubelet'\''s flags, or @FILE with its command line; flags override files.]:'\''--FLAG=VALUE ...'\'': ' \
                '(--kubelet-version)'--kubelet-version='[The kubelet'\''s version, 1.27 to 1.38\: a minor or a patch (1.33.4), or @FILE with its Node (kubectl get node -o json).]:VERSION:(1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27)' \
                '(--feature-gates)'--feature-gates='[Feature gates in addition to those of the configuration.]:A=true,B=false: _cpuctl_ask gates' \
                '(--ignore-unknown-gates)'--ignore-unknown-gates'[Ignore feature gates that Kubernetes does not know, as OpenShift'\''s kubelet does.]' \
                '(--help-kubelet)'--help-kubelet'[Explain the kubelet options, and exit.]' \
                '(-y --yes)'{-y,--yes}'[Write the changes; without this, only show them.]' \
                '(--no-wait)'--no-wait'[Do not wait to see if the kubelet rewrites the set.]' \
                '(--quota)'--quota'[Also write CFS quotas\: none for exclusive CPUs, otherwise from the pods'\'' limits (--pods).]' \
                '(--log)'--log='[Append every step to FILE, one JSON object per line.]:FILE:_files' \
                '(--force-offline)'--force-offline'[Allow offline CPUs (cgroup v2 only).]' \
                '(--force-reserved)'--force-reserved'[Allow reserved CPUs.]' \
                '(--force-exclusive)'--force-exclusive'[Allow exclusive CPUs of another container.]' \
                '(--exit-code)'--exit-code'[Exit 3 if a dry run has something to write.]' \
                '(-o --output)'{-o+,--output=}'[Output format.]:table|wide|json|yaml:(table wide json yaml)' \
                '(--no-color)'--no-color'[Disable colour, as NO_COLOR does.]' \
                '(-q --quiet)'{-q,--quiet}'[Suppress notes and warnings on stderr.]' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]' \
                '*:[NS/POD/CONTAINER=CPUS]...: _cpuctl_ask container'
            ;;
        'nri')
            _cpuctl_group 'nri' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]'
            ;;
        'nri run')
            _arguments \
                '(--plan)'--plan='[Apply this plan (output of cpuctl plan -o json); - for stdin.]:FILE:_files' \
                '(-m --machine)'{-m+,--machine=}'[The machine\: live, a directory with sys/, an archive of one (.tar, .tar.gz, .tar.xz, ...), a sosreport, a must-gather (PATH#NODE), synthetic\:... (see cpuctl topology synthetic -h), or the output of lscpu -e -J, lscpu -p, numactl -H, lstopo, ghwc, knit machineinfo or dracpu gatherinfo.]:SOURCE: _cpuctl_machine' \
                '(--kubelet-config)'--kubelet-config='[KubeletConfiguration file. Default\: the recorded kubelet'\''s; with -m live, the running kubelet'\''s, otherwise /var/lib/kubelet/config.yaml; always with flags and drop-ins.]:FILE:_files' \
                '(--config-dir)'--config-dir='[The kubelet'\''s drop-in directory (its flag --config-dir).]:DIR:_files -/' \
                '(--kubelet-args)'--kubelet-args='[The kubelet'\''s flags, or @FILE with its command line; flags override files.]:'\''--FLAG=VALUE ...'\'': ' \
                '(--kubelet-version)'--kubelet-version='[The kubelet'\''s version, 1.27 to 1.38\: a minor or a patch (1.33.4), or @FILE with its Node (kubectl get node -o json).]:VERSION:(1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27)' \
                '(--feature-gates)'--feature-gates='[Feature gates in addition to those of the configuration.]:A=true,B=false: _cpuctl_ask gates' \
                '(--ignore-unknown-gates)'--ignore-unknown-gates'[Ignore feature gates that Kubernetes does not know, as OpenShift'\''s kubelet does.]' \
                '(--help-kubelet)'--help-kubelet'[Explain the kubelet options, and exit.]' \
                '(--policy)'--policy='[Assign CPUs when containers are created\: static (the kubelet'\''s), another NAME (see cpuctl policies list) or FILE.py\:CLASS, with ,OPTION=VALUE for its options.]:POLICY:(static numa-allocation min-shared favour-cpus core-kinds koordinator katalyst)' \
                '(--state-file)'--state-file='[File in which a policy keeps its assignments between runs.]:FILE:_files' \
                '(--socket)'--socket='[The runtime'\''s socket for plugins.]:PATH:_files' \
                '(--index)'--index='[Two digits\: runtimes call plugins in order of their index.]:NN: ' \
                '(--dry-run)'--dry-run'[Only log the answers; containers stay unchanged.]' \
                '(-o --output)'{-o+,--output=}'[log\: lines on stderr; jsonl\: also every answer on stdout, one JSON object per line.]:log|jsonl:(log jsonl)' \
                '(-q --quiet)'{-q,--quiet}'[Suppress notes and warnings on stderr.]' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]'
            ;;
        'dra')
            _cpuctl_group 'dra' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]'
            ;;
        'dra slices')
            _arguments \
                '(-m --machine)'{-m+,--machine=}'[The machine\: live, a directory with sys/, an archive of one (.tar, .tar.gz, .tar.xz, ...), a sosreport, a must-gather (PATH#NODE), synthetic\:... (see cpuctl topology synthetic -h), or the output of lscpu -e -J, lscpu -p, numactl -H, lstopo, ghwc, knit machineinfo or dracpu gatherinfo.]:SOURCE: _cpuctl_machine' \
                '(--kubelet-config)'--kubelet-config='[KubeletConfiguration file. Default\: the recorded kubelet'\''s; with -m live, the running kubelet'\''s, otherwise /var/lib/kubelet/config.yaml; always with flags and drop-ins.]:FILE:_files' \
                '(--config-dir)'--config-dir='[The kubelet'\''s drop-in directory (its flag --config-dir).]:DIR:_files -/' \
                '(--kubelet-args)'--kubelet-args='[The kubelet'\''s flags, or @FILE with its command line; flags override files.]:'\''--FLAG=VALUE ...'\'': ' \
                '(--kubelet-version)'--kubelet-version='[The kubelet'\''s version, 1.27 to 1.38\: a minor or a patch (1.33.4), or @FILE with its Node (kubectl get node -o json).]:VERSION:(1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27)' \
                '(--feature-gates)'--feature-gates='[Feature gates in addition to those of the configuration.]:A=true,B=false: _cpuctl_ask gates' \
                '(--ignore-unknown-gates)'--ignore-unknown-gates'[Ignore feature gates that Kubernetes does not know, as OpenShift'\''s kubelet does.]' \
                '(--help-kubelet)'--help-kubelet'[Explain the kubelet options, and exit.]' \
                '(--cpu-device-mode)'--cpu-device-mode='[One device per group of CPUs, or one per CPU.]:grouped|individual:(grouped individual)' \
                '(--group-by)'--group-by='[How CPUs are grouped.]:numanode|socket|machine:(numanode socket machine)' \
                '(--reserved-cpus)'--reserved-cpus='[CPUs that do not become devices\: 0-3,8, a mask (0xff), or node\:1, socket\:0, l3\:2, core\:5.]:LIST: _cpuctl_ask cpus' \
                '(--expose-pcie-roots)'--expose-pcie-roots'[Publish nearby PCIe roots, for claims that combine CPUs with other devices.]' \
                '(--publish-node-allocatable-resource-mapping)'--publish-node-allocatable-resource-mapping'[Count the CPUs of claims as the node'\''s (KEP-5517), as the driver'\''s setting of the same name does.]' \
                '(--hostname-override)'--hostname-override='[The node'\''s name. Default\: the machine'\''s etc/hostname.]:NAME: ' \
                '(-o --output)'{-o+,--output=}'[Output format.]:table|wide|json|yaml:(table wide json yaml)' \
                '(--no-color)'--no-color'[Disable colour, as NO_COLOR does.]' \
                '(-q --quiet)'{-q,--quiet}'[Suppress notes and warnings on stderr.]' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]' \
                '1::[SOURCE]: _cpuctl_machine'
            ;;
        'dra allocate')
            _arguments \
                '*'{-f+,--filename=}'[Manifests\: files, directories, or - for stdin.]:PODS:_files' \
                '(-m --machine)'{-m+,--machine=}'[The machine\: live, a directory with sys/, an archive of one (.tar, .tar.gz, .tar.xz, ...), a sosreport, a must-gather (PATH#NODE), synthetic\:... (see cpuctl topology synthetic -h), or the output of lscpu -e -J, lscpu -p, numactl -H, lstopo, ghwc, knit machineinfo or dracpu gatherinfo.]:SOURCE: _cpuctl_machine' \
                '(--kubelet-config)'--kubelet-config='[KubeletConfiguration file. Default\: the recorded kubelet'\''s; with -m live, the running kubelet'\''s, otherwise /var/lib/kubelet/config.yaml; always with flags and drop-ins.]:FILE:_files' \
                '(--config-dir)'--config-dir='[The kubelet'\''s drop-in directory (its flag --config-dir).]:DIR:_files -/' \
                '(--kubelet-args)'--kubelet-args='[The kubelet'\''s flags, or @FILE with its command line; flags override files.]:'\''--FLAG=VALUE ...'\'': ' \
                '(--kubelet-version)'--kubelet-version='[The kubelet'\''s version, 1.27 to 1.38\: a minor or a patch (1.33.4), or @FILE with its Node (kubectl get node -o json).]:VERSION:(1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27)' \
                '(--feature-gates)'--feature-gates='[Feature gates in addition to those of the configuration.]:A=true,B=false: _cpuctl_ask gates' \
                '(--ignore-unknown-gates)'--ignore-unknown-gates'[Ignore feature gates that Kubernetes does not know, as OpenShift'\''s kubelet does.]' \
                '(--help-kubelet)'--help-kubelet'[Explain the kubelet options, and exit.]' \
                '(--cpu-device-mode)'--cpu-device-mode='[One device per group of CPUs, or one per CPU.]:grouped|individual:(grouped individual)' \
                '(--group-by)'--group-by='[How CPUs are grouped.]:numanode|socket|machine:(numanode socket machine)' \
                '(--reserved-cpus)'--reserved-cpus='[CPUs that do not become devices\: 0-3,8, a mask (0xff), or node\:1, socket\:0, l3\:2, core\:5.]:LIST: _cpuctl_ask cpus' \
                '(--expose-pcie-roots)'--expose-pcie-roots'[Publish nearby PCIe roots, for claims that combine CPUs with other devices.]' \
                '(--publish-node-allocatable-resource-mapping)'--publish-node-allocatable-resource-mapping'[Count the CPUs of claims as the node'\''s (KEP-5517), as the driver'\''s setting of the same name does.]' \
                '(--hostname-override)'--hostname-override='[The node'\''s name. Default\: the machine'\''s etc/hostname.]:NAME: ' \
                '(--fixed)'--fixed'[Pick CPUs as a driver would that distinguishes cores with the same ID on different sockets.]' \
                '(--exit-zero)'--exit-zero'[Exit 0 even if the answer is no.]' \
                '(-o --output)'{-o+,--output=}'[Output format.]:table|wide|json|yaml:(table wide json yaml)' \
                '(--no-color)'--no-color'[Disable colour, as NO_COLOR does.]' \
                '(-q --quiet)'{-q,--quiet}'[Suppress notes and warnings on stderr.]' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]' \
                '*:[PODS]...:_files'
            ;;
        'capture')
            _arguments \
                '(--root)'--root='[Root of the node'\''s file system, e.g. /host in a debugging pod, or a mounted disk.]:DIR:_files -/' \
                '(--anonymize)'--anonymize'[Replace names of hosts, pods, containers and programs with stable pseudonyms.]' \
                '(--timestamp)'--timestamp'[Record the time; without it, archives of an unchanged node are identical.]' \
                '(--force)'--force'[Overwrite FILE if it exists; the old file is backed up.]' \
                '(-o --output)'{-o+,--output=}'[Output format.]:table|wide|json|yaml:(table wide json yaml)' \
                '(--no-color)'--no-color'[Disable colour, as NO_COLOR does.]' \
                '(-q --quiet)'{-q,--quiet}'[Suppress notes and warnings on stderr.]' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]' \
                '1:FILE:_files'
            ;;
        'fleet')
            _cpuctl_group 'fleet' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]'
            ;;
        'fleet list')
            _arguments \
                '*'{-f+,--filename=}'[Manifests\: files, directories, or - for stdin.]:PODS:_files' \
                '*'{-T+,--template=}'[A pod without YAML, NAME=REQUEST/LIMIT\: '\''web=4/4,2Gi x3'\'' is three pods; a single value sets both. web=1/2 (request below limit) and web=1/ (no limit) are Burstable, web alone is BestEffort.]:NAME[=CPU[,MEM]]: ' \
                '(--nodes)'--nodes='[Nodes (kubectl get nodes -o json), for kubelet versions that recordings do not have. A recording is named after its node\: node7.tar.xz, or any name in a directory node7.]:FILE:_files' \
                '(--resume)'--resume='[Reuse the answers in FILE, written by an earlier run with -o jsonl, and process only the rest.]:FILE:_files' \
                '(--kubelet-config)'--kubelet-config='[KubeletConfiguration file. Default\: the recorded kubelet'\''s; with -m live, the running kubelet'\''s, otherwise /var/lib/kubelet/config.yaml; always with flags and drop-ins.]:FILE:_files' \
                '(--config-dir)'--config-dir='[The kubelet'\''s drop-in directory (its flag --config-dir).]:DIR:_files -/' \
                '(--kubelet-args)'--kubelet-args='[The kubelet'\''s flags, or @FILE with its command line; flags override files.]:'\''--FLAG=VALUE ...'\'': ' \
                '(--kubelet-version)'--kubelet-version='[The kubelet'\''s version, 1.27 to 1.38\: a minor or a patch (1.33.4), or @FILE with its Node (kubectl get node -o json).]:VERSION:(1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27)' \
                '(--feature-gates)'--feature-gates='[Feature gates in addition to those of the configuration.]:A=true,B=false: _cpuctl_ask gates' \
                '(--ignore-unknown-gates)'--ignore-unknown-gates'[Ignore feature gates that Kubernetes does not know, as OpenShift'\''s kubelet does.]' \
                '(--help-kubelet)'--help-kubelet'[Explain the kubelet options, and exit.]' \
                '(-j --jobs)'{-j+,--jobs=}'[Number of processes. Default\: one per CPU.]:N: ' \
                '(--dask-scheduler)'--dask-scheduler='[Use the workers of a Dask scheduler, e.g. tcp\://host\:8786, or local for workers on this machine (pip install '\''cpuctl\[fleet\]'\'').]:ADDRESS: ' \
                '(--svg)'--svg='[Also draw the fleet as SVG, one strip per node; - is stdout, without the answer.]:FILE:_files' \
                '(--html)'--html='[Also write the answer, the picture and the inputs as one self-contained HTML page; - is stdout, without the answer.]:FILE:_files' \
                '(--force)'--force'[Overwrite existing files.]' \
                '(--publisher)'--publisher='[The exporter whose object -o nrt writes\: rte, the resource topology exporter (rte,fingerprint=all or none\: which pods its fingerprint covers), or nfd, node-feature-discovery'\''s topology updater.]:NAME: ' \
                '(-o --output)'{-o+,--output=}'[Output format; jsonl is one node per line, written as soon as it is known, prom is metrics for Prometheus, nrt is a List of the NodeResourceTopologies that exporters would publish.]:table|wide|json|yaml|jsonl|prom|nrt:(table wide json yaml jsonl prom nrt)' \
                '(--no-color)'--no-color'[Disable colour, as NO_COLOR does.]' \
                '(-q --quiet)'{-q,--quiet}'[Suppress notes and warnings on stderr.]' \
                '(--exit-zero)'--exit-zero'[Exit 0 even if the answer is no.]' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]' \
                '*:RECORDINGS...:_files'
            ;;
        'fleet check')
            _arguments \
                '(--nrt)'--nrt='[NodeResourceTopologies (kubectl get noderesourcetopologies -o json).]:FILE:_files' \
                '(--pods)'--pods='[The pods running on the nodes (kubectl get pods -A -o json); those without a node are ignored.]:FILE:_files' \
                '(--nodes)'--nodes='[Nodes (kubectl get nodes -o json), for kubelet versions that recordings do not have. A recording is named after its node\: node7.tar.xz, or any name in a directory node7.]:FILE:_files' \
                '(--resume)'--resume='[Reuse the answers in FILE, written by an earlier run with -o jsonl, and process only the rest.]:FILE:_files' \
                '(--kubelet-config)'--kubelet-config='[KubeletConfiguration file. Default\: the recorded kubelet'\''s; with -m live, the running kubelet'\''s, otherwise /var/lib/kubelet/config.yaml; always with flags and drop-ins.]:FILE:_files' \
                '(--config-dir)'--config-dir='[The kubelet'\''s drop-in directory (its flag --config-dir).]:DIR:_files -/' \
                '(--kubelet-args)'--kubelet-args='[The kubelet'\''s flags, or @FILE with its command line; flags override files.]:'\''--FLAG=VALUE ...'\'': ' \
                '(--kubelet-version)'--kubelet-version='[The kubelet'\''s version, 1.27 to 1.38\: a minor or a patch (1.33.4), or @FILE with its Node (kubectl get node -o json).]:VERSION:(1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27)' \
                '(--feature-gates)'--feature-gates='[Feature gates in addition to those of the configuration.]:A=true,B=false: _cpuctl_ask gates' \
                '(--ignore-unknown-gates)'--ignore-unknown-gates'[Ignore feature gates that Kubernetes does not know, as OpenShift'\''s kubelet does.]' \
                '(--help-kubelet)'--help-kubelet'[Explain the kubelet options, and exit.]' \
                '(--check)'--check='[Only these checks\: config, state, audit, nrt.]:CHECK,...: _cpuctl_ask checks' \
                '(-j --jobs)'{-j+,--jobs=}'[Number of processes. Default\: one per CPU.]:N: ' \
                '(--dask-scheduler)'--dask-scheduler='[Use the workers of a Dask scheduler, e.g. tcp\://host\:8786, or local for workers on this machine (pip install '\''cpuctl\[fleet\]'\'').]:ADDRESS: ' \
                '(--strict)'--strict'[Exit 3 also for warnings.]' \
                '(-o --output)'{-o+,--output=}'[Output format; jsonl is one node per line, written as soon as it is known.]:table|wide|json|yaml|jsonl|prom:(table wide json yaml jsonl prom)' \
                '(--no-color)'--no-color'[Disable colour, as NO_COLOR does.]' \
                '(-q --quiet)'{-q,--quiet}'[Suppress notes and warnings on stderr.]' \
                '(--exit-zero)'--exit-zero'[Exit 0 even if the answer is no.]' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]' \
                '*:RECORDINGS...:_files'
            ;;
        'fleet diff')
            _arguments \
                '(--nodes)'--nodes='[Nodes (kubectl get nodes -o json), for kubelet versions that recordings do not have. Without --nodes-before, also for BEFORE.]:FILE:_files' \
                '(--nodes-before)'--nodes-before='[The Nodes of BEFORE.]:FILE:_files' \
                '(--pods)'--pods='[The pods running on the nodes of AFTER (kubectl get pods -A -o json), for --check state and audit.]:FILE:_files' \
                '(--pods-before)'--pods-before='[The pods that ran on the nodes of BEFORE.]:FILE:_files' \
                '(--resume)'--resume='[Reuse the answers in FILE, written by fleet list -o jsonl (with --check, fleet check), and process only the rest.]:FILE:_files' \
                '(--kubelet-config)'--kubelet-config='[KubeletConfiguration file. Default\: the recorded kubelet'\''s; with -m live, the running kubelet'\''s, otherwise /var/lib/kubelet/config.yaml; always with flags and drop-ins.]:FILE:_files' \
                '(--config-dir)'--config-dir='[The kubelet'\''s drop-in directory (its flag --config-dir).]:DIR:_files -/' \
                '(--kubelet-args)'--kubelet-args='[The kubelet'\''s flags, or @FILE with its command line; flags override files.]:'\''--FLAG=VALUE ...'\'': ' \
                '(--kubelet-version)'--kubelet-version='[The kubelet'\''s version, 1.27 to 1.38\: a minor or a patch (1.33.4), or @FILE with its Node (kubectl get node -o json).]:VERSION:(1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27)' \
                '(--feature-gates)'--feature-gates='[Feature gates in addition to those of the configuration.]:A=true,B=false: _cpuctl_ask gates' \
                '(--ignore-unknown-gates)'--ignore-unknown-gates'[Ignore feature gates that Kubernetes does not know, as OpenShift'\''s kubelet does.]' \
                '(--help-kubelet)'--help-kubelet'[Explain the kubelet options, and exit.]' \
                '(--check)'--check='[Also compare what these checks find\: config, state, audit.]:CHECK,...: _cpuctl_ask checks' \
                '(-j --jobs)'{-j+,--jobs=}'[Number of processes. Default\: one per CPU.]:N: ' \
                '(--dask-scheduler)'--dask-scheduler='[Use the workers of a Dask scheduler, e.g. tcp\://host\:8786, or local for workers on this machine (pip install '\''cpuctl\[fleet\]'\'').]:ADDRESS: ' \
                '(--exit-code)'--exit-code'[Exit 3 if anything differs.]' \
                '(-o --output)'{-o+,--output=}'[Output format; jsonl is one node per line.]:table|wide|json|yaml|jsonl:(table wide json yaml jsonl)' \
                '(--no-color)'--no-color'[Disable colour, as NO_COLOR does.]' \
                '(-q --quiet)'{-q,--quiet}'[Suppress notes and warnings on stderr.]' \
                '(--exit-zero)'--exit-zero'[Exit 0 even if the answer is no.]' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]' \
                '1:BEFORE:_files' \
                '2:AFTER:_files'
            ;;
        'fleet plan')
            _arguments \
                '*'{-f+,--filename=}'[Manifests\: files, directories, or - for stdin.]:PODS:_files' \
                '*'{-T+,--template=}'[A pod without YAML, NAME=REQUEST/LIMIT\: '\''web=4/4,2Gi x3'\'' is three pods; a single value sets both. web=1/2 (request below limit) and web=1/ (no limit) are Burstable, web alone is BestEffort.]:NAME[=CPU[,MEM]]: ' \
                '(--nodes)'--nodes='[Nodes (kubectl get nodes -o json), for kubelet versions that recordings do not have. A recording is named after its node\: node7.tar.xz, or any name in a directory node7.]:FILE:_files' \
                '(--pods)'--pods='[The pods running on the nodes (kubectl get pods -A -o json); those without a node are ignored.]:FILE:_files' \
                '(--nrt)'--nrt='[NodeResourceTopologies (kubectl get noderesourcetopologies -o json).]:FILE:_files' \
                '(--devices)'--devices='[Free, healthy devices of device plugins, by resource and NUMA node (see cpuctl schema devices), or the answers of the pod resources API (GetAllocatableResources, List).]:FILE:_files' \
                '(--driver-args)'--driver-args='[Flags of the dra.cpu driver, for pods with resource claims\: '\''--cpu-device-mode individual --reserved-cpus 0,32'\''. Default\: CPUs grouped by NUMA node, none reserved.]:FLAGS: ' \
                '(--skip-apiserver)'--skip-apiserver'[Skip the API server'\''s validation of the pods.]' \
                '(--kubelet-config)'--kubelet-config='[KubeletConfiguration file. Default\: the recorded kubelet'\''s; with -m live, the running kubelet'\''s, otherwise /var/lib/kubelet/config.yaml; always with flags and drop-ins.]:FILE:_files' \
                '(--config-dir)'--config-dir='[The kubelet'\''s drop-in directory (its flag --config-dir).]:DIR:_files -/' \
                '(--kubelet-args)'--kubelet-args='[The kubelet'\''s flags, or @FILE with its command line; flags override files.]:'\''--FLAG=VALUE ...'\'': ' \
                '(--kubelet-version)'--kubelet-version='[The kubelet'\''s version, 1.27 to 1.38\: a minor or a patch (1.33.4), or @FILE with its Node (kubectl get node -o json).]:VERSION:(1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27)' \
                '(--feature-gates)'--feature-gates='[Feature gates in addition to those of the configuration.]:A=true,B=false: _cpuctl_ask gates' \
                '(--ignore-unknown-gates)'--ignore-unknown-gates'[Ignore feature gates that Kubernetes does not know, as OpenShift'\''s kubelet does.]' \
                '(--help-kubelet)'--help-kubelet'[Explain the kubelet options, and exit.]' \
                '(--scheduler-plugin)'--scheduler-plugin='[Add a scheduler plugin, noderesourcetopologymatch, with its options.]:NAME[,...]: ' \
                '*'--drain='[Drain this node\: its pods, except static and DaemonSet pods, are planned on other nodes first.]:NODE: ' \
                '*'--without='[Ignore this node and everything that runs on it.]:NODE: ' \
                '(--repeat)'--repeat='[Plan the pods N times; max\: as many times as all of them fit. DaemonSets are planned once.]:N|max:(max)' \
                '(--policy)'--policy='[What if\: let a policy (plugin) choose CPUs instead of the kubelet. NAME (see cpuctl policies list) or FILE.py\:CLASS, with ,OPTION=VALUE for its options.]:POLICY:(static numa-allocation min-shared favour-cpus core-kinds koordinator katalyst)' \
                '(-j --jobs)'{-j+,--jobs=}'[Number of processes. Default\: one per CPU.]:N: ' \
                '(--dask-scheduler)'--dask-scheduler='[Use the workers of a Dask scheduler, e.g. tcp\://host\:8786, or local for workers on this machine (pip install '\''cpuctl\[fleet\]'\'').]:ADDRESS: ' \
                '(-o --output)'{-o+,--output=}'[Output format; jsonl is one pod per line.]:table|wide|json|yaml|jsonl:(table wide json yaml jsonl)' \
                '(--no-color)'--no-color'[Disable colour, as NO_COLOR does.]' \
                '(-q --quiet)'{-q,--quiet}'[Suppress notes and warnings on stderr.]' \
                '(--exit-zero)'--exit-zero'[Exit 0 even if the answer is no.]' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]' \
                '*:[RECORDINGS]...:_files'
            ;;
        'fleet report')
            _arguments \
                '*'{-f+,--filename=}'[Manifests\: files, directories, or - for stdin.]:PODS:_files' \
                '*'{-T+,--template=}'[A pod without YAML, NAME=REQUEST/LIMIT\: '\''web=4/4,2Gi x3'\'' is three pods; a single value sets both. web=1/2 (request below limit) and web=1/ (no limit) are Burstable, web alone is BestEffort.]:NAME[=CPU[,MEM]]: ' \
                '(--pods)'--pods='[The pods running on the nodes (kubectl get pods -A -o json); those without a node are ignored.]:FILE:_files' \
                '(--nodes)'--nodes='[Nodes (kubectl get nodes -o json), for kubelet versions that recordings do not have. A recording is named after its node\: node7.tar.xz, or any name in a directory node7.]:FILE:_files' \
                '(--kubelet-config)'--kubelet-config='[KubeletConfiguration file. Default\: the recorded kubelet'\''s; with -m live, the running kubelet'\''s, otherwise /var/lib/kubelet/config.yaml; always with flags and drop-ins.]:FILE:_files' \
                '(--config-dir)'--config-dir='[The kubelet'\''s drop-in directory (its flag --config-dir).]:DIR:_files -/' \
                '(--kubelet-args)'--kubelet-args='[The kubelet'\''s flags, or @FILE with its command line; flags override files.]:'\''--FLAG=VALUE ...'\'': ' \
                '(--kubelet-version)'--kubelet-version='[The kubelet'\''s version, 1.27 to 1.38\: a minor or a patch (1.33.4), or @FILE with its Node (kubectl get node -o json).]:VERSION:(1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27)' \
                '(--feature-gates)'--feature-gates='[Feature gates in addition to those of the configuration.]:A=true,B=false: _cpuctl_ask gates' \
                '(--ignore-unknown-gates)'--ignore-unknown-gates'[Ignore feature gates that Kubernetes does not know, as OpenShift'\''s kubelet does.]' \
                '(--help-kubelet)'--help-kubelet'[Explain the kubelet options, and exit.]' \
                '(-j --jobs)'{-j+,--jobs=}'[Number of processes. Default\: one per CPU.]:N: ' \
                '(--html)'--html='[Write index.html and a page for every node to this directory (created if missing).]:DIR:_files -/' \
                '(--force)'--force'[Overwrite existing files.]' \
                '(-o --output)'{-o+,--output=}'[Output format.]:table|wide|json|yaml:(table wide json yaml)' \
                '(--no-color)'--no-color'[Disable colour, as NO_COLOR does.]' \
                '(-q --quiet)'{-q,--quiet}'[Suppress notes and warnings on stderr.]' \
                '(--exit-zero)'--exit-zero'[Exit 0 even if the answer is no.]' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]' \
                '*:RECORDINGS...:_files'
            ;;
        'schema')
            _arguments \
                '(-h --help)'{-h,--help}'[Show this message and exit.]' \
                '1::[NAME]:(advice audit capture cgroupsapply cgroupsplan cgroupsshow checkpointchange checkpointdiff checkpointdump checkpointverify checkpointversions claimallocation configcheck configreserve configshow configversions defragmentation devices explanation fleetcheck fleetdiff fleetlist fleetplan fleetreport messages nrievent nriplan nrireplay plan plancomparison podresources podsdiff podslint podsshow policies policydescription replay report resize timeline top topology watchevent)'
            ;;
        'completion')
            _arguments \
                '(-h --help)'{-h,--help}'[Show this message and exit.]' \
                '1:SHELL:(bash zsh fish)'
            ;;
    esac
}

# Goes from a group to the verb that stands behind it.
_cpuctl_group() {
    local command=$1 place
    shift
    _arguments -C -A '-*' "$@" '1: :->verb' '*:: :->rest'
    case $state in
        verb) _cpuctl_commands "$command" ;;
        rest) _cpuctl_run "${command:+$command }${words[1]}" ;;
    esac
}

_cpuctl() {
    local -a typed
    typed=("${(@)words[1,CURRENT]}")
    _cpuctl_run ''
}

if [[ $funcstack[1] == _cpuctl ]]; then
    _cpuctl "$@"
else
    compdef _cpuctl cpuctl
fi
