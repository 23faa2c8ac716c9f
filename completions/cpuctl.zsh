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
                'explain:Why a pod is admitted or rejected, and what would change it.'
                'advise:Which settings serve pods best here, each tried on the engine.'
                'resize:Dry-run an in-place resize of a running pod, CPU by CPU.'
                'pods:Show what follows from pods'\'' resources; check manifests.'
                'replay:Replay a node'\''s history over time, and check expectations.'
                'policies:Policies to try in the kubelet'\''s place: what if.'
                'topology:Show a machine'\''s NUMA nodes, sockets, cores and caches.'
                'config:The kubelet'\''s configuration: show, check, reserve, upgrade.'
                'checkpoint:The kubelet'\''s state files: show, verify, migrate, repair.'
                'audit:Check a node: wrong CPU sets, noisy neighbours, and the fixes.'
                'cgroups:The kubelet'\''s control groups: show them, set them right.'
                'nri:Tell the container runtime which CPUs containers get (NRI).'
                'dra:CPUs as devices (DRA): slices, and what claims get.'
                'capture:Record a node in one archive that every command reads.'
                'fleet:Ask many nodes at once: list, check, compare, plan.'
                'schema:Print the JSON Schema of an answer.'
                'completion:Print the script that completes words in a shell.'
            )
            ;;
        'pods')
            verbs=(
                'show:Show what follows from pods'\'' resources: QoS class, sums, cgroups.'
                'diff:Show what differs between two manifests, or for one on two kubelets.'
                'lint:Check before kubectl apply why the cluster would reject pods.'
            )
            ;;
        'policies')
            verbs=(
                'list:List the policies that have names, shipped and installed ones.'
                'show:Show a policy: what it does, its source, steps, options and text.'
                'new:Write a file to start a policy of one'\''s own from, with every step.'
            )
            ;;
        'topology')
            verbs=(
                'show:Show what a machine consists of.'
                'map:Draw a machine as boxes: sockets, NUMA nodes, L3 caches, cores.'
                'distances:Show NUMA nodes, their memory and distances, as numactl -H does.'
                'synthetic:Write a machine in one line, such as synthetic:2s4n16c2t, for -m.'
                'devices:Show PCI devices and their NUMA nodes, as a draft for --devices.'
            )
            ;;
        'config')
            verbs=(
                'reserve:Propose reserved CPUs and memory that the kubelet accepts.'
                'show:Show the settings in force, their origin, and what is reserved.'
                'check:Check whether the kubelet would start with this configuration.'
                'versions:Check an upgrade: what changes for this configuration.'
            )
            ;;
        'checkpoint')
            verbs=(
                'dump:Show who holds which CPUs and memory in the kubelet'\''s state files.'
                'verify:Check whether the kubelet would start with these state files.'
                'diff:Show who gained or lost CPUs and memory between two states.'
                'migrate:Rewrite state files for another kubelet version, up or down.'
                'repair:Change state files so that the kubelet starts, and prove it.'
                'new:Make the state files that a kubelet would have with these pods.'
                'versions:List state file formats: which kubelet writes and reads which.'
            )
            ;;
        'cgroups')
            verbs=(
                'show:Show the tree of kubepods, expected beside actual values.'
                'apply:Write CPU sets to control groups, in a safe order.'
            )
            ;;
        'nri')
            verbs=(
                'run:Run as a plug-in of containerd or CRI-O that sets CPUs of containers.'
            )
            ;;
        'dra')
            verbs=(
                'slices:Show the ResourceSlices that the driver dra.cpu would publish.'
                'allocate:Dry-run ResourceClaims: which devices and CPUs pods get.'
            )
            ;;
        'fleet')
            verbs=(
                'list:List the nodes of a fleet, and find the odd ones.'
                'check:Check the nodes of a fleet, and show each finding once.'
                'diff:Compare two collections of recordings: before and after.'
                'plan:Dry-run pods on a fleet: where they go, and who rejects them.'
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
                '*'{-T+,--template=}'[A pod without YAML\: '\''web=4/4,2Gi x3'\'' are three of requests/limits, one amount stands for both; web=1/2 (less than the limit) and web=1/ (no limit) are Burstable, web alone is BestEffort.]:NAME[=CPU[,MEM]]: ' \
                '(-m --machine)'{-m+,--machine=}'[The machine\: live, a directory that holds sys/, a .tar\[.gz|.bz2|.xz|.zst\] of one, a sosreport, a must-gather (PATH#NODE), synthetic\:... (its forms\: cpuctl topology synthetic -h), or what lscpu -e -J, lscpu -p, numactl -H, lstopo, ghwc, knit machineinfo or dracpu gatherinfo print.]:SOURCE: _cpuctl_machine' \
                '(--state)'--state='[Start from a state file of the kubelet, cpu_manager_state or memory_manager_state, or from the directory that holds both.]:DIR|FILE:_files' \
                '(--pods)'--pods='[The pods that run on the node, as kubectl get pods -o json prints them; or MUST-GATHER#NODE.]:FILE:_files' \
                '(--devices)'--devices='[The devices of device plugins\: free and healthy ones by resource and NUMA node (schema\: cpuctl schema devices), or what the pod resources API answers to GetAllocatableResources and List.]:FILE:_files' \
                '(--assume-devices)'--assume-devices'[Take for granted that every NUMA node has enough of the devices that pods ask for and --devices does not tell of.]' \
                '(--driver-args)'--driver-args='[The flags of the driver dra.cpu, for pods with resource claims\: '\''--cpu-device-mode individual --reserved-cpus 0,32'\''. Without it, CPUs are grouped by NUMA node, and none is reserved.]:FLAGS: ' \
                '(--ephemeral-storage)'--ephemeral-storage='[The size of the kubelet'\''s file system; default\: the live host'\''s, else storage is ignored.]:QUANTITY: ' \
                '(--memory)'--memory='[The memory of a machine that was recorded without it.]:AMOUNT: ' \
                '(--skip-api-server)'--skip-api-server'[Ask the kubelet also about pods that no API server would store.]' \
                '(--include-completed)'--include-completed'[Take pods that have ended (Succeeded, Failed) for new ones.]' \
                '(--kubelet-config)'--kubelet-config='[The KubeletConfiguration; without it that of the recorded kubelet, with -m live of the running one (else /var/lib/kubelet/config.yaml), with their flags and drop-ins.]:FILE:_files' \
                '(--config-dir)'--config-dir='[The kubelet'\''s drop-in directory, as its flag of that name.]:DIR:_files -/' \
                '(--kubelet-args)'--kubelet-args='[The kubelet'\''s command line, or @FILE that holds it\: its flags win over files.]:'\''--FLAG=VALUE ...'\'': ' \
                '(--kubelet-version)'--kubelet-version='[The kubelet'\''s release, 1.27 to 1.38\: a minor, or with its patch (1.33.4), or @FILE with its Node (kubectl get node -o json).]:VERSION:(1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27)' \
                '(--feature-gates)'--feature-gates='[Gates on top of the configuration'\''s.]:A=true,B=false: _cpuctl_ask gates' \
                '(--ignore-unknown-gates)'--ignore-unknown-gates'[Pass over gates that Kubernetes does not know, as OpenShift'\''s kubelet does.]' \
                '(--help-kubelet)'--help-kubelet'[Explain the options that say what the kubelet is told, and exit.]' \
                '(--policy)'--policy='[What if\: a policy (a plug-in) chooses CPUs in the kubelet'\''s place. NAME (cpuctl policies list has them) or FILE.py\:CLASS, and ,OPTION=VALUE for each of its options.]:POLICY:(static numa-allocation min-shared favour-cpus core-kinds koordinator katalyst)' \
                '(--order)'--order='[Which pod comes first\: given, priority (the highest), qos (Guaranteed, Burstable, BestEffort), or largest-first (exclusive CPUs, then memory).]:ORDER:(given priority qos largest-first)' \
                '(--repeat)'--repeat='[Plan the pods N times over, copies being called NAME-2 and so on; max\: as often as all of them fit.]:N|max:(max)' \
                '(--capacity)'--capacity'[Also tell what else fits\: copies, the largest requests, how scattered free CPUs are, and which pods to move for those that were rejected.]' \
                '(--compare)'--compare'[Plan with two settings of the kubelet side by side. Each is a list on top of the configuration, such as restricted,pod,1.37 or full-pcpus-only=false,kubeReserved.cpu=2, or a configuration file in place of it, and a list behind that; or a policy (as --policy); a dot is no change.]:A B: :A B: ' \
                '(--svg)'--svg='[Also draw the machine with its CPUs, as SVG; - is stdout, with no answer.]:FILE:_files' \
                '(--html)'--html='[Also write a page with the answer, the picture and the inputs\: one file that needs no network; - is stdout, with no answer.]:FILE:_files' \
                '(--write-state)'--write-state='[Write the state files that the kubelet would have afterwards.]:DIR:_files -/' \
                '(--force)'--force'[Replace files that exist; what state files hold is kept as a backup.]' \
                '(--publisher)'--publisher='[Whose object -o nrt writes\: rte, the resource topology exporter (rte,fingerprint=all or none\: which pods its fingerprint covers), or nfd, node-feature-discovery'\''s topology updater.]:NAME: ' \
                '(-o --output)'{-o+,--output=}'[table, wide, json, yaml; prom\: what the kubelet'\''s metrics read; nrt\: the NodeResourceTopology that an exporter would publish then; nri\: what a plug-in of the Node Resource Interface would answer the container runtime. To carry the plan out\: memory-qos and balloons (NRI plug-ins), crictl (a script), systemd (drop-ins).]:FORMAT:(table wide json yaml prom nrt nri memory-qos balloons crictl systemd)' \
                '(--no-color)'--no-color'[No colour, as with NO_COLOR set.]' \
                '(-q --quiet)'{-q,--quiet}'[Only the answer\: no notes on stderr.]' \
                '(--exit-zero)'--exit-zero'[Exit 0 also when the answer is no.]' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]' \
                '*:[PODS]...:_files'
            ;;
        'explain')
            _arguments \
                '*'--message='[Tell what a line of an event, status or log means; - for lines on stdin.]:TEXT: ' \
                '*'{-f+,--filename=}'[Manifests\: files, directories, or - for stdin.]:PODS:_files' \
                '*'{-T+,--template=}'[A pod without YAML\: '\''web=4/4,2Gi x3'\'' are three of requests/limits, one amount stands for both; web=1/2 (less than the limit) and web=1/ (no limit) are Burstable, web alone is BestEffort.]:NAME[=CPU[,MEM]]: ' \
                '(-m --machine)'{-m+,--machine=}'[The machine\: live, a directory that holds sys/, a .tar\[.gz|.bz2|.xz|.zst\] of one, a sosreport, a must-gather (PATH#NODE), synthetic\:... (its forms\: cpuctl topology synthetic -h), or what lscpu -e -J, lscpu -p, numactl -H, lstopo, ghwc, knit machineinfo or dracpu gatherinfo print.]:SOURCE: _cpuctl_machine' \
                '(--state)'--state='[Start from a state file of the kubelet, cpu_manager_state or memory_manager_state, or from the directory that holds both.]:DIR|FILE:_files' \
                '(--pods)'--pods='[The pods that run on the node, as kubectl get pods -o json prints them; or MUST-GATHER#NODE.]:FILE:_files' \
                '(--events)'--events='[Events, as kubectl get events -o json prints them\: the pod rejected last is explained.]:FILE:_files' \
                '(--devices)'--devices='[The devices of device plugins\: free and healthy ones by resource and NUMA node (schema\: cpuctl schema devices), or what the pod resources API answers to GetAllocatableResources and List.]:FILE:_files' \
                '(--assume-devices)'--assume-devices'[Take for granted that every NUMA node has enough of the devices that pods ask for and --devices does not tell of.]' \
                '(--driver-args)'--driver-args='[The flags of the driver dra.cpu, for pods with resource claims\: '\''--cpu-device-mode individual --reserved-cpus 0,32'\''. Without it, CPUs are grouped by NUMA node, and none is reserved.]:FLAGS: ' \
                '(--ephemeral-storage)'--ephemeral-storage='[The size of the kubelet'\''s file system; default\: the live host'\''s, else storage is ignored.]:QUANTITY: ' \
                '(--memory)'--memory='[The memory of a machine that was recorded without it.]:AMOUNT: ' \
                '(--skip-api-server)'--skip-api-server'[Ask the kubelet also about pods that no API server would store.]' \
                '(--include-completed)'--include-completed'[Take pods that have ended (Succeeded, Failed) for new ones.]' \
                '(--kubelet-config)'--kubelet-config='[The KubeletConfiguration; without it that of the recorded kubelet, with -m live of the running one (else /var/lib/kubelet/config.yaml), with their flags and drop-ins.]:FILE:_files' \
                '(--config-dir)'--config-dir='[The kubelet'\''s drop-in directory, as its flag of that name.]:DIR:_files -/' \
                '(--kubelet-args)'--kubelet-args='[The kubelet'\''s command line, or @FILE that holds it\: its flags win over files.]:'\''--FLAG=VALUE ...'\'': ' \
                '(--kubelet-version)'--kubelet-version='[The kubelet'\''s release, 1.27 to 1.38\: a minor, or with its patch (1.33.4), or @FILE with its Node (kubectl get node -o json).]:VERSION:(1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27)' \
                '(--feature-gates)'--feature-gates='[Gates on top of the configuration'\''s.]:A=true,B=false: _cpuctl_ask gates' \
                '(--ignore-unknown-gates)'--ignore-unknown-gates'[Pass over gates that Kubernetes does not know, as OpenShift'\''s kubelet does.]' \
                '(--help-kubelet)'--help-kubelet'[Explain the options that say what the kubelet is told, and exit.]' \
                '(--policy)'--policy='[What if\: a policy (a plug-in) chooses CPUs in the kubelet'\''s place. NAME (cpuctl policies list has them) or FILE.py\:CLASS, and ,OPTION=VALUE for each of its options.]:POLICY:(static numa-allocation min-shared favour-cpus core-kinds koordinator katalyst)' \
                '(-o --output)'{-o+,--output=}'[Output format.]:table|wide|json|yaml:(table wide json yaml)' \
                '(--no-color)'--no-color'[No colour, as with NO_COLOR set.]' \
                '(-q --quiet)'{-q,--quiet}'[Only the answer\: no notes on stderr.]' \
                '(--exit-zero)'--exit-zero'[Exit 0 also when the answer is no.]' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]' \
                '1::[POD]: _cpuctl_ask pod'
            ;;
        'advise')
            _arguments \
                '*'{-f+,--filename=}'[Manifests\: files, directories, or - for stdin.]:PODS:_files' \
                '*'{-T+,--template=}'[A pod without YAML\: '\''web=4/4,2Gi x3'\'' are three of requests/limits, one amount stands for both; web=1/2 (less than the limit) and web=1/ (no limit) are Burstable, web alone is BestEffort.]:NAME[=CPU[,MEM]]: ' \
                '(-m --machine)'{-m+,--machine=}'[The machine\: live, a directory that holds sys/, a .tar\[.gz|.bz2|.xz|.zst\] of one, a sosreport, a must-gather (PATH#NODE), synthetic\:... (its forms\: cpuctl topology synthetic -h), or what lscpu -e -J, lscpu -p, numactl -H, lstopo, ghwc, knit machineinfo or dracpu gatherinfo print.]:SOURCE: _cpuctl_machine' \
                '(--state)'--state='[Start from a state file of the kubelet, cpu_manager_state or memory_manager_state, or from the directory that holds both.]:DIR|FILE:_files' \
                '(--pods)'--pods='[The pods that run on the node, as kubectl get pods -o json prints them; or MUST-GATHER#NODE.]:FILE:_files' \
                '(--devices)'--devices='[The devices of device plugins\: free and healthy ones by resource and NUMA node (schema\: cpuctl schema devices), or what the pod resources API answers to GetAllocatableResources and List.]:FILE:_files' \
                '(--assume-devices)'--assume-devices'[Take for granted that every NUMA node has enough of the devices that pods ask for and --devices does not tell of.]' \
                '(--driver-args)'--driver-args='[The flags of the driver dra.cpu, for pods with resource claims\: '\''--cpu-device-mode individual --reserved-cpus 0,32'\''. Without it, CPUs are grouped by NUMA node, and none is reserved.]:FLAGS: ' \
                '(--ephemeral-storage)'--ephemeral-storage='[The size of the kubelet'\''s file system; default\: the live host'\''s, else storage is ignored.]:QUANTITY: ' \
                '(--memory)'--memory='[The memory of a machine that was recorded without it.]:AMOUNT: ' \
                '(--skip-api-server)'--skip-api-server'[Ask the kubelet also about pods that no API server would store.]' \
                '(--include-completed)'--include-completed'[Take pods that have ended (Succeeded, Failed) for new ones.]' \
                '(--kubelet-config)'--kubelet-config='[The KubeletConfiguration; without it that of the recorded kubelet, with -m live of the running one (else /var/lib/kubelet/config.yaml), with their flags and drop-ins.]:FILE:_files' \
                '(--config-dir)'--config-dir='[The kubelet'\''s drop-in directory, as its flag of that name.]:DIR:_files -/' \
                '(--kubelet-args)'--kubelet-args='[The kubelet'\''s command line, or @FILE that holds it\: its flags win over files.]:'\''--FLAG=VALUE ...'\'': ' \
                '(--kubelet-version)'--kubelet-version='[The kubelet'\''s release, 1.27 to 1.38\: a minor, or with its patch (1.33.4), or @FILE with its Node (kubectl get node -o json).]:VERSION:(1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27)' \
                '(--feature-gates)'--feature-gates='[Gates on top of the configuration'\''s.]:A=true,B=false: _cpuctl_ask gates' \
                '(--ignore-unknown-gates)'--ignore-unknown-gates'[Pass over gates that Kubernetes does not know, as OpenShift'\''s kubelet does.]' \
                '(--help-kubelet)'--help-kubelet'[Explain the options that say what the kubelet is told, and exit.]' \
                '(--defragment)'--defragment'[Instead\: the fewest moves of pods on the node after which the given pod fits or, where none is given, the largest there can be.]' \
                '(--budget)'--budget='[Settings to try on the engine, at most (2000), or evictions and admissions (20000).]:N: ' \
                '(--what-if)'--what-if'[Also try the policies (plug-ins) that come with cpuctl, which no kubelet has\: cpuctl policies list. They are tried with the reserved CPUs and full-pcpus-only as they are.]' \
                '*'--keep='[Leave a setting as it is\: a field of the configuration, such as cpuManagerPolicy, or an option of a policy, such as full-pcpus-only. May be given several times.]:SETTING:(cpuManagerPolicy cpuManagerPolicyOptions reservedSystemCPUs topologyManagerPolicy topologyManagerScope topologyManagerPolicyOptions memoryManagerPolicy full-pcpus-only distribute-cpus-across-numa align-by-socket distribute-cpus-across-cores strict-cpu-reservation prefer-align-cpus-by-uncorecache prefer-closest-numa-nodes)' \
                '(--snippet)'--snippet='[Only a KubeletConfiguration with the settings of row N, to paste.]:N: ' \
                '(-o --output)'{-o+,--output=}'[Output format.]:table|wide|json|yaml:(table wide json yaml)' \
                '(--no-color)'--no-color'[No colour, as with NO_COLOR set.]' \
                '(-q --quiet)'{-q,--quiet}'[Only the answer\: no notes on stderr.]' \
                '(--exit-zero)'--exit-zero'[Exit 0 also when the answer is no.]' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]' \
                '*:[PODS]...:_files'
            ;;
        'resize')
            _arguments \
                '*'{-f+,--filename=}'[Manifests\: files, directories, or - for stdin.]:PODS:_files' \
                '*'{-T+,--template=}'[A pod without YAML\: '\''web=4/4,2Gi x3'\'' are three of requests/limits, one amount stands for both; web=1/2 (less than the limit) and web=1/ (no limit) are Burstable, web alone is BestEffort.]:NAME[=CPU[,MEM]]: ' \
                '(-m --machine)'{-m+,--machine=}'[The machine\: live, a directory that holds sys/, a .tar\[.gz|.bz2|.xz|.zst\] of one, a sosreport, a must-gather (PATH#NODE), synthetic\:... (its forms\: cpuctl topology synthetic -h), or what lscpu -e -J, lscpu -p, numactl -H, lstopo, ghwc, knit machineinfo or dracpu gatherinfo print.]:SOURCE: _cpuctl_machine' \
                '(--state)'--state='[Start from a state file of the kubelet, cpu_manager_state or memory_manager_state, or from the directory that holds both.]:DIR|FILE:_files' \
                '(--pods)'--pods='[The pods that run on the node, as kubectl get pods -o json prints them; or MUST-GATHER#NODE.]:FILE:_files' \
                '(--devices)'--devices='[The devices of device plugins\: free and healthy ones by resource and NUMA node (schema\: cpuctl schema devices), or what the pod resources API answers to GetAllocatableResources and List.]:FILE:_files' \
                '(--assume-devices)'--assume-devices'[Take for granted that every NUMA node has enough of the devices that pods ask for and --devices does not tell of.]' \
                '(--driver-args)'--driver-args='[The flags of the driver dra.cpu, for pods with resource claims\: '\''--cpu-device-mode individual --reserved-cpus 0,32'\''. Without it, CPUs are grouped by NUMA node, and none is reserved.]:FLAGS: ' \
                '(--ephemeral-storage)'--ephemeral-storage='[The size of the kubelet'\''s file system; default\: the live host'\''s, else storage is ignored.]:QUANTITY: ' \
                '(--memory)'--memory='[The memory of a machine that was recorded without it.]:AMOUNT: ' \
                '(--skip-api-server)'--skip-api-server'[Ask the kubelet also about pods that no API server would store.]' \
                '(--kubelet-config)'--kubelet-config='[The KubeletConfiguration; without it that of the recorded kubelet, with -m live of the running one (else /var/lib/kubelet/config.yaml), with their flags and drop-ins.]:FILE:_files' \
                '(--config-dir)'--config-dir='[The kubelet'\''s drop-in directory, as its flag of that name.]:DIR:_files -/' \
                '(--kubelet-args)'--kubelet-args='[The kubelet'\''s command line, or @FILE that holds it\: its flags win over files.]:'\''--FLAG=VALUE ...'\'': ' \
                '(--kubelet-version)'--kubelet-version='[The kubelet'\''s release, 1.27 to 1.38\: a minor, or with its patch (1.33.4), or @FILE with its Node (kubectl get node -o json).]:VERSION:(1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27)' \
                '(--feature-gates)'--feature-gates='[Gates on top of the configuration'\''s.]:A=true,B=false: _cpuctl_ask gates' \
                '(--ignore-unknown-gates)'--ignore-unknown-gates'[Pass over gates that Kubernetes does not know, as OpenShift'\''s kubelet does.]' \
                '(--apiserver-version)'--apiserver-version='[The API server'\''s minor; else the kubelet'\''s.]:VERSION:(1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27)' \
                '(--apiserver-feature-gates)'--apiserver-feature-gates='[The API server'\''s; else the kubelet'\''s.]:A=true,B=false: _cpuctl_ask gates' \
                '(--help-kubelet)'--help-kubelet'[Explain the options that say what the kubelet is told, and exit.]' \
                '*'--set='[New resources, memory=N as well; N stands for request and limit, N/M tells them apart.]:POD[/CONTAINER]\:cpu=N: _cpuctl_ask resize' \
                '*'--to='[Manifests of pods that run, with new resources.]:PODS:_files' \
                '(--policy)'--policy='[What if\: a policy (a plug-in) chooses CPUs in the kubelet'\''s place. NAME (cpuctl policies list has them) or FILE.py\:CLASS, and ,OPTION=VALUE for each of its options.]:POLICY:(static numa-allocation min-shared favour-cpus core-kinds koordinator katalyst)' \
                '(--resize-semantics)'--resize-semantics='[The preview as the KEP says, or as its reference has it.]:kep|reference:(kep reference)' \
                '(--preview)'--preview'[Take the gate'\''s allocator for released, whatever the minor.]' \
                '(--write-state)'--write-state='[Write the state files that the kubelet would have afterwards.]:DIR:_files -/' \
                '(--force)'--force'[Replace files that exist.]' \
                '(-o --output)'{-o+,--output=}'[Output format.]:table|wide|json|yaml:(table wide json yaml)' \
                '(--no-color)'--no-color'[No colour, as with NO_COLOR set.]' \
                '(-q --quiet)'{-q,--quiet}'[Only the answer\: no notes on stderr.]' \
                '(--exit-zero)'--exit-zero'[Exit 0 also when the answer is no.]' \
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
                '*'{-T+,--template=}'[A pod without YAML\: '\''web=4/4,2Gi x3'\'' are three of requests/limits, one amount stands for both; web=1/2 (less than the limit) and web=1/ (no limit) are Burstable, web alone is BestEffort.]:NAME[=CPU[,MEM]]: ' \
                '(-m --machine)'{-m+,--machine=}'[The node, as for other commands; OOM scores depend on its memory. Without it none is known.]:SOURCE: _cpuctl_machine' \
                '(--memory)'--memory='[The node'\''s memory, where no machine is named.]:AMOUNT: ' \
                '(--cgroup-version)'--cgroup-version='[The host'\''s cgroup version; else the machine'\''s own, or 2.]:1|2:(1 2)' \
                '(--oci-runtime)'--oci-runtime='[runc-1.2.6, crun-1.23, ...\: the weights of containers depend on it.]:NAME-VERSION: ' \
                '(--usage)'--usage='[Memory that pods use, for their order of eviction\: a mapping of \[NAMESPACE/\]NAME to an amount, or what kubectl get podmetrics -A -o json prints.]:FILE:_files' \
                '(--kubelet-config)'--kubelet-config='[The KubeletConfiguration; without it that of the recorded kubelet, with -m live of the running one (else /var/lib/kubelet/config.yaml), with their flags and drop-ins.]:FILE:_files' \
                '(--config-dir)'--config-dir='[The kubelet'\''s drop-in directory, as its flag of that name.]:DIR:_files -/' \
                '(--kubelet-args)'--kubelet-args='[The kubelet'\''s command line, or @FILE that holds it\: its flags win over files.]:'\''--FLAG=VALUE ...'\'': ' \
                '(--kubelet-version)'--kubelet-version='[The kubelet'\''s release, 1.27 to 1.38\: a minor, or with its patch (1.33.4), or @FILE with its Node (kubectl get node -o json).]:VERSION:(1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27)' \
                '(--feature-gates)'--feature-gates='[Gates on top of the configuration'\''s.]:A=true,B=false: _cpuctl_ask gates' \
                '(--ignore-unknown-gates)'--ignore-unknown-gates'[Pass over gates that Kubernetes does not know, as OpenShift'\''s kubelet does.]' \
                '(--apiserver-version)'--apiserver-version='[The API server'\''s minor; else the kubelet'\''s.]:VERSION:(1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27)' \
                '(--apiserver-feature-gates)'--apiserver-feature-gates='[The API server'\''s; else the kubelet'\''s.]:A=true,B=false: _cpuctl_ask gates' \
                '(--help-kubelet)'--help-kubelet'[Explain the options that say what the kubelet is told, and exit.]' \
                '(-o --output)'{-o+,--output=}'[Output format; jsonl is one pod a line.]:table|wide|json|yaml|jsonl:(table wide json yaml jsonl)' \
                '(--no-color)'--no-color'[No colour, as with NO_COLOR set.]' \
                '(-q --quiet)'{-q,--quiet}'[Only the answer\: no notes on stderr.]' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]' \
                '*:[PODS]...:_files'
            ;;
        'pods diff')
            _arguments \
                '*'{-f+,--filename=}'[The same as OLD and, given again, as NEW.]:PODS:_files' \
                '(-m --machine)'{-m+,--machine=}'[The node, as for other commands; OOM scores depend on its memory. Without it none is known.]:SOURCE: _cpuctl_machine' \
                '(--memory)'--memory='[The node'\''s memory, where no machine is named.]:AMOUNT: ' \
                '(--cgroup-version)'--cgroup-version='[The host'\''s cgroup version; else the machine'\''s own, or 2.]:1|2:(1 2)' \
                '(--oci-runtime)'--oci-runtime='[runc-1.2.6, crun-1.23, ...\: the weights of containers depend on it.]:NAME-VERSION: ' \
                '(--kubelet-config)'--kubelet-config='[The KubeletConfiguration; without it that of the recorded kubelet, with -m live of the running one (else /var/lib/kubelet/config.yaml), with their flags and drop-ins.]:FILE:_files' \
                '(--kubelet-version)'--kubelet-version='[The kubelet'\''s release, 1.27 to 1.38\: a minor, or with its patch (1.33.4), or @FILE with its Node (kubectl get node -o json).]:VERSION:(1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27)' \
                '(--feature-gates)'--feature-gates='[Gates on top of the configuration'\''s.]:A=true,B=false: _cpuctl_ask gates' \
                '(--apiserver-version)'--apiserver-version='[The API server'\''s minor; else the kubelet'\''s.]:VERSION:(1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27)' \
                '(--apiserver-feature-gates)'--apiserver-feature-gates='[The API server'\''s; else the kubelet'\''s.]:A=true,B=false: _cpuctl_ask gates' \
                '(--help-kubelet)'--help-kubelet'[Explain the options that say what the kubelet is told, and exit.]' \
                '(--to-kubelet-version)'--to-kubelet-version='[Compare with this minor of the kubelet.]:VERSION:(1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27)' \
                '(--to-feature-gates)'--to-feature-gates='[Compare with these gates of the kubelet.]:A=true,B=false: _cpuctl_ask gates' \
                '(--exit-code)'--exit-code'[Exit 3 where something differs.]' \
                '(-o --output)'{-o+,--output=}'[Output format; jsonl is one pod a line.]:table|wide|json|yaml|jsonl:(table wide json yaml jsonl)' \
                '(--no-color)'--no-color'[No colour, as with NO_COLOR set.]' \
                '(-q --quiet)'{-q,--quiet}'[Only the answer\: no notes on stderr.]' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]' \
                '1::[OLD]:_files' \
                '2::[NEW]:_files'
            ;;
        'pods lint')
            _arguments \
                '*'{-f+,--filename=}'[Manifests\: files, directories, or - for stdin.]:PODS:_files' \
                '(-m --machine)'{-m+,--machine=}'[The node, as for other commands; without it none is known.]:SOURCE: _cpuctl_machine' \
                '(--cgroup-version)'--cgroup-version='[The host'\''s cgroup version; else the machine'\''s own, or 2.]:1|2:(1 2)' \
                '(--kubelet-config)'--kubelet-config='[The KubeletConfiguration; without it that of the recorded kubelet, with -m live of the running one (else /var/lib/kubelet/config.yaml), with their flags and drop-ins.]:FILE:_files' \
                '(--config-dir)'--config-dir='[The kubelet'\''s drop-in directory, as its flag of that name.]:DIR:_files -/' \
                '(--kubelet-args)'--kubelet-args='[The kubelet'\''s command line, or @FILE that holds it\: its flags win over files.]:'\''--FLAG=VALUE ...'\'': ' \
                '(--kubelet-version)'--kubelet-version='[The kubelet'\''s release, 1.27 to 1.38\: a minor, or with its patch (1.33.4), or @FILE with its Node (kubectl get node -o json).]:VERSION:(1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27)' \
                '(--feature-gates)'--feature-gates='[Gates on top of the configuration'\''s.]:A=true,B=false: _cpuctl_ask gates' \
                '(--ignore-unknown-gates)'--ignore-unknown-gates'[Pass over gates that Kubernetes does not know, as OpenShift'\''s kubelet does.]' \
                '(--apiserver-version)'--apiserver-version='[The API server'\''s minor; else the kubelet'\''s.]:VERSION:(1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27)' \
                '(--apiserver-feature-gates)'--apiserver-feature-gates='[The API server'\''s; else the kubelet'\''s.]:A=true,B=false: _cpuctl_ask gates' \
                '(--help-kubelet)'--help-kubelet'[Explain the options that say what the kubelet is told, and exit.]' \
                '(--static)'--static'[Static pods\: files that a kubelet reads itself, by its own rules.]' \
                '(--strict --warnings-as-errors)'{--strict,--warnings-as-errors}'[Exit 3 also where there are warnings.]' \
                '(-o --output)'{-o+,--output=}'[Output format.]:table|wide|json|yaml|jsonl:(table wide json yaml jsonl)' \
                '(--no-color)'--no-color'[No colour, as with NO_COLOR set.]' \
                '(-q --quiet)'{-q,--quiet}'[Only the answer\: no notes on stderr.]' \
                '(--exit-zero)'--exit-zero'[Exit 0 also when the answer is no.]' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]' \
                '*:[PODS]...:_files'
            ;;
        'replay')
            _arguments \
                '*'{-f+,--filename=}'[Manifests\: files, directories, or - for stdin.]:PODS:_files' \
                '(-m --machine)'{-m+,--machine=}'[Another machine than the timeline'\''s; that of a log (default\: live).]:SOURCE: _cpuctl_machine' \
                '(--driver-args)'--driver-args='[The flags of the driver dra.cpu, for pods with resource claims\: '\''--cpu-device-mode individual --reserved-cpus 0,32'\''. Without it, CPUs are grouped by NUMA node, and none is reserved.]:FLAGS: ' \
                '(--skip-api-server)'--skip-api-server'[Ask the kubelet also about pods that no API server would store.]' \
                '(--kubelet-config)'--kubelet-config='[The KubeletConfiguration; without it that of the recorded kubelet, with -m live of the running one (else /var/lib/kubelet/config.yaml), with their flags and drop-ins.]:FILE:_files' \
                '(--config-dir)'--config-dir='[The kubelet'\''s drop-in directory, as its flag of that name.]:DIR:_files -/' \
                '(--kubelet-args)'--kubelet-args='[The kubelet'\''s command line, or @FILE that holds it\: its flags win over files.]:'\''--FLAG=VALUE ...'\'': ' \
                '(--kubelet-version)'--kubelet-version='[The kubelet'\''s release, 1.27 to 1.38\: a minor, or with its patch (1.33.4), or @FILE with its Node (kubectl get node -o json).]:VERSION:(1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27)' \
                '(--feature-gates)'--feature-gates='[Gates on top of the configuration'\''s.]:A=true,B=false: _cpuctl_ask gates' \
                '(--ignore-unknown-gates)'--ignore-unknown-gates'[Pass over gates that Kubernetes does not know, as OpenShift'\''s kubelet does.]' \
                '(--help-kubelet)'--help-kubelet'[Explain the options that say what the kubelet is told, and exit.]' \
                '(--until)'--until='[Stop after so much of the timeline, e.g. 30s.]:DURATION: ' \
                '(--follow)'--follow'[Tell what happens when it happens.]' \
                '(--speed)'--speed='[How fast time goes by with --follow, e.g. 10x.]:FACTOR: ' \
                '(--new)'--new'[Print a commented example of a timeline.]' \
                '(--policy)'--policy='[What if\: a policy (a plug-in) chooses CPUs in the kubelet'\''s place. NAME (cpuctl policies list has them) or FILE.py\:CLASS, and ,OPTION=VALUE for each of its options.]:POLICY:(static numa-allocation min-shared favour-cpus core-kinds koordinator katalyst)' \
                '(--svg)'--svg='[Also draw CPUs over time, as SVG; - is stdout, with no answer.]:FILE:_files' \
                '(--force)'--force'[Replace files that exist.]' \
                '(-o --output)'{-o+,--output=}'[Output format; jsonl is one entry a line, nri what a plug-in of the Node Resource Interface would answer the container runtime, event by event.]:table|wide|json|yaml|jsonl|nri:(table wide json yaml jsonl nri)' \
                '(--no-color)'--no-color'[No colour, as with NO_COLOR set.]' \
                '(-q --quiet)'{-q,--quiet}'[Only the answer\: no notes on stderr.]' \
                '(--exit-zero)'--exit-zero'[Exit 0 also when the answer is no.]' \
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
                '(--no-color)'--no-color'[No colour, as with NO_COLOR set.]' \
                '(-q --quiet)'{-q,--quiet}'[Only the answer\: no notes on stderr.]' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]'
            ;;
        'policies show')
            _arguments \
                '(-o --output)'{-o+,--output=}'[Output format.]:table|wide|json|yaml:(table wide json yaml)' \
                '(--no-color)'--no-color'[No colour, as with NO_COLOR set.]' \
                '(-q --quiet)'{-q,--quiet}'[Only the answer\: no notes on stderr.]' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]' \
                '1:POLICY:(static numa-allocation min-shared favour-cpus core-kinds koordinator katalyst)'
            ;;
        'policies new')
            _arguments \
                '(--force)'--force'[Write over a file that is there.]' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]' \
                '1:FILE:_files'
            ;;
        'topology')
            _cpuctl_group 'topology' \
                '(-m --machine)'{-m+,--machine=}'[The machine\: live, a directory that holds sys/, a .tar\[.gz|.bz2|.xz|.zst\] of one, a sosreport, a must-gather (PATH#NODE), synthetic\:... (its forms\: cpuctl topology synthetic -h), or what lscpu -e -J, lscpu -p, numactl -H, lstopo, ghwc, knit machineinfo or dracpu gatherinfo print.]:SOURCE: _cpuctl_machine' \
                '(--kubelet-config)'--kubelet-config='[The KubeletConfiguration; without it that of the recorded kubelet, with -m live of the running one (else /var/lib/kubelet/config.yaml), with their flags and drop-ins.]:FILE:_files' \
                '(--config-dir)'--config-dir='[The kubelet'\''s drop-in directory, as its flag of that name.]:DIR:_files -/' \
                '(--kubelet-args)'--kubelet-args='[The kubelet'\''s command line, or @FILE that holds it\: its flags win over files.]:'\''--FLAG=VALUE ...'\'': ' \
                '(--kubelet-version)'--kubelet-version='[The kubelet'\''s release, 1.27 to 1.38\: a minor, or with its patch (1.33.4), or @FILE with its Node (kubectl get node -o json).]:VERSION:(1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27)' \
                '(--help-kubelet)'--help-kubelet'[Explain the options that say what the kubelet is told, and exit.]' \
                '(--columns)'--columns='[Only a table of CPUs with these columns; '\''all'\'' for all.]:A,B: _cpuctl_ask columns' \
                '(--cpus)'--cpus='[Only these CPUs\: 0-3,8, a mask (0xff), or node\:1, socket\:0, l3\:2, core\:5.]:LIST: _cpuctl_ask cpus' \
                '(--memory)'--memory'[Also memory by NUMA node, as the kubelet'\''s Memory Manager counts it.]' \
                '(--svg)'--svg='[Also draw the machine with its CPUs, as SVG; - is stdout, with no answer.]:FILE:_files' \
                '(--force)'--force'[Replace files that exist.]' \
                '(--publisher)'--publisher='[Whose object -o nrt writes\: rte, the resource topology exporter (rte,fingerprint=all or none\: which pods its fingerprint covers), or nfd, node-feature-discovery'\''s topology updater.]:NAME: ' \
                '(-o --output)'{-o+,--output=}'[Output format; lscpu (-p -a), numactl (-H) and hwloc-xml are what these tools print, nrt is the NodeResourceTopology that an exporter would publish.]:table|wide|json|yaml|lscpu|numactl|hwloc-xml|nrt:(table wide json yaml lscpu numactl hwloc-xml nrt)' \
                '(--no-color)'--no-color'[No colour, as with NO_COLOR set.]' \
                '(-q --quiet)'{-q,--quiet}'[Only the answer\: no notes on stderr.]' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]'
            ;;
        'topology show')
            _arguments \
                '(-m --machine)'{-m+,--machine=}'[The machine\: live, a directory that holds sys/, a .tar\[.gz|.bz2|.xz|.zst\] of one, a sosreport, a must-gather (PATH#NODE), synthetic\:... (its forms\: cpuctl topology synthetic -h), or what lscpu -e -J, lscpu -p, numactl -H, lstopo, ghwc, knit machineinfo or dracpu gatherinfo print.]:SOURCE: _cpuctl_machine' \
                '(--kubelet-config)'--kubelet-config='[The KubeletConfiguration; without it that of the recorded kubelet, with -m live of the running one (else /var/lib/kubelet/config.yaml), with their flags and drop-ins.]:FILE:_files' \
                '(--config-dir)'--config-dir='[The kubelet'\''s drop-in directory, as its flag of that name.]:DIR:_files -/' \
                '(--kubelet-args)'--kubelet-args='[The kubelet'\''s command line, or @FILE that holds it\: its flags win over files.]:'\''--FLAG=VALUE ...'\'': ' \
                '(--kubelet-version)'--kubelet-version='[The kubelet'\''s release, 1.27 to 1.38\: a minor, or with its patch (1.33.4), or @FILE with its Node (kubectl get node -o json).]:VERSION:(1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27)' \
                '(--help-kubelet)'--help-kubelet'[Explain the options that say what the kubelet is told, and exit.]' \
                '(--columns)'--columns='[Only a table of CPUs with these columns; '\''all'\'' for all.]:A,B: _cpuctl_ask columns' \
                '(--cpus)'--cpus='[Only these CPUs\: 0-3,8, a mask (0xff), or node\:1, socket\:0, l3\:2, core\:5.]:LIST: _cpuctl_ask cpus' \
                '(--memory)'--memory'[Also memory by NUMA node, as the kubelet'\''s Memory Manager counts it.]' \
                '(--svg)'--svg='[Also draw the machine with its CPUs, as SVG; - is stdout, with no answer.]:FILE:_files' \
                '(--force)'--force'[Replace files that exist.]' \
                '(--publisher)'--publisher='[Whose object -o nrt writes\: rte, the resource topology exporter (rte,fingerprint=all or none\: which pods its fingerprint covers), or nfd, node-feature-discovery'\''s topology updater.]:NAME: ' \
                '(-o --output)'{-o+,--output=}'[Output format; lscpu (-p -a), numactl (-H) and hwloc-xml are what these tools print, nrt is the NodeResourceTopology that an exporter would publish.]:table|wide|json|yaml|lscpu|numactl|hwloc-xml|nrt:(table wide json yaml lscpu numactl hwloc-xml nrt)' \
                '(--no-color)'--no-color'[No colour, as with NO_COLOR set.]' \
                '(-q --quiet)'{-q,--quiet}'[Only the answer\: no notes on stderr.]' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]' \
                '1::[SOURCE]: _cpuctl_machine'
            ;;
        'topology map')
            _arguments \
                '(-m --machine)'{-m+,--machine=}'[The machine\: live, a directory that holds sys/, a .tar\[.gz|.bz2|.xz|.zst\] of one, a sosreport, a must-gather (PATH#NODE), synthetic\:... (its forms\: cpuctl topology synthetic -h), or what lscpu -e -J, lscpu -p, numactl -H, lstopo, ghwc, knit machineinfo or dracpu gatherinfo print.]:SOURCE: _cpuctl_machine' \
                '(--cpus)'--cpus='[Only these CPUs\: 0-3,8, a mask (0xff), or node\:1, socket\:0, l3\:2, core\:5.]:LIST: _cpuctl_ask cpus' \
                '(--svg)'--svg='[Also draw the machine with its CPUs, as SVG; - is stdout, with no answer.]:FILE:_files' \
                '(--force)'--force'[Replace files that exist.]' \
                '(-o --output)'{-o+,--output=}'[Output format.]:table|wide|json|yaml:(table wide json yaml)' \
                '(--no-color)'--no-color'[No colour, as with NO_COLOR set.]' \
                '(-q --quiet)'{-q,--quiet}'[Only the answer\: no notes on stderr.]' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]' \
                '1::[SOURCE]: _cpuctl_machine'
            ;;
        'topology distances')
            _arguments \
                '(-m --machine)'{-m+,--machine=}'[The machine\: live, a directory that holds sys/, a .tar\[.gz|.bz2|.xz|.zst\] of one, a sosreport, a must-gather (PATH#NODE), synthetic\:... (its forms\: cpuctl topology synthetic -h), or what lscpu -e -J, lscpu -p, numactl -H, lstopo, ghwc, knit machineinfo or dracpu gatherinfo print.]:SOURCE: _cpuctl_machine' \
                '(-o --output)'{-o+,--output=}'[Output format.]:table|wide|json|yaml:(table wide json yaml)' \
                '(--no-color)'--no-color'[No colour, as with NO_COLOR set.]' \
                '(-q --quiet)'{-q,--quiet}'[Only the answer\: no notes on stderr.]' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]' \
                '1::[SOURCE]: _cpuctl_machine'
            ;;
        'topology synthetic')
            _arguments \
                '(-m --machine)'{-m+,--machine=}'[The machine\: live, a directory that holds sys/, a .tar\[.gz|.bz2|.xz|.zst\] of one, a sosreport, a must-gather (PATH#NODE), synthetic\:... (its forms\: cpuctl topology synthetic -h), or what lscpu -e -J, lscpu -p, numactl -H, lstopo, ghwc, knit machineinfo or dracpu gatherinfo print.]:SOURCE: _cpuctl_machine' \
                '(-o --output)'{-o+,--output=}'[Output format.]:table|wide|json|yaml:(table wide json yaml)' \
                '(--no-color)'--no-color'[No colour, as with NO_COLOR set.]' \
                '(-q --quiet)'{-q,--quiet}'[Only the answer\: no notes on stderr.]' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]' \
                '1::[SOURCE]: _cpuctl_machine'
            ;;
        'topology devices')
            _arguments \
                '(-m --machine)'{-m+,--machine=}'[The machine\: live, a directory that holds sys/, a .tar\[.gz|.bz2|.xz|.zst\] of one, a sosreport, a must-gather (PATH#NODE), synthetic\:... (its forms\: cpuctl topology synthetic -h), or what lscpu -e -J, lscpu -p, numactl -H, lstopo, ghwc, knit machineinfo or dracpu gatherinfo print.]:SOURCE: _cpuctl_machine' \
                '(-o --output)'{-o+,--output=}'[Output format.]:table|wide|json|yaml:(table wide json yaml)' \
                '(--no-color)'--no-color'[No colour, as with NO_COLOR set.]' \
                '(-q --quiet)'{-q,--quiet}'[Only the answer\: no notes on stderr.]' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]' \
                '1::[SOURCE]: _cpuctl_machine'
            ;;
        'config')
            _cpuctl_group 'config' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]'
            ;;
        'config reserve')
            _arguments \
                '(-m --machine)'{-m+,--machine=}'[The machine\: live, a directory that holds sys/, a .tar\[.gz|.bz2|.xz|.zst\] of one, a sosreport, a must-gather (PATH#NODE), synthetic\:... (its forms\: cpuctl topology synthetic -h), or what lscpu -e -J, lscpu -p, numactl -H, lstopo, ghwc, knit machineinfo or dracpu gatherinfo print.]:SOURCE: _cpuctl_machine' \
                '(--cgroup-version)'--cgroup-version='[The host'\''s cgroup version; else the machine'\''s own, or 2.]:1|2:(1 2)' \
                '(--ephemeral-storage)'--ephemeral-storage='[The size of the kubelet'\''s file system; default\: the live host'\''s, else storage is ignored.]:QUANTITY: ' \
                '(--memory)'--memory='[The memory of a machine that was recorded without it.]:AMOUNT: ' \
                '(--kubelet-config)'--kubelet-config='[The KubeletConfiguration; without it that of the recorded kubelet, with -m live of the running one (else /var/lib/kubelet/config.yaml), with their flags and drop-ins.]:FILE:_files' \
                '(--config-dir)'--config-dir='[The kubelet'\''s drop-in directory, as its flag of that name.]:DIR:_files -/' \
                '(--kubelet-args)'--kubelet-args='[The kubelet'\''s command line, or @FILE that holds it\: its flags win over files.]:'\''--FLAG=VALUE ...'\'': ' \
                '(--kubelet-version)'--kubelet-version='[The kubelet'\''s release, 1.27 to 1.38\: a minor, or with its patch (1.33.4), or @FILE with its Node (kubectl get node -o json).]:VERSION:(1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27)' \
                '(--feature-gates)'--feature-gates='[Gates on top of the configuration'\''s.]:A=true,B=false: _cpuctl_ask gates' \
                '(--ignore-unknown-gates)'--ignore-unknown-gates'[Pass over gates that Kubernetes does not know, as OpenShift'\''s kubelet does.]' \
                '(--help-kubelet)'--help-kubelet'[Explain the options that say what the kubelet is told, and exit.]' \
                '(--reserved-cpus)'--reserved-cpus='[Also choose N CPUs for reservedSystemCPUs.]:N: ' \
                '(--per-numa)'--per-numa'[As many from every NUMA node, N in all or a few more.]' \
                '(--whole-cores)'--whole-cores'[Whole cores\: N CPUs or a few more.]' \
                '(--keep-p-cores)'--keep-p-cores'[Performance cores last, where the machine tells them apart.]' \
                '(--spread)'--spread='[How much of every NUMA node\: alike (even, the default), by its size (proportional), or all of one node.]:even|proportional|one-node:(even proportional one-node)' \
                '(--node)'--node='[All memory of this NUMA node.]:NODE: ' \
                '(--snippet)'--snippet'[Only a KubeletConfiguration with the settings, for a drop-in file.]' \
                '(-o --output)'{-o+,--output=}'[Output format.]:table|wide|json|yaml:(table wide json yaml)' \
                '(--no-color)'--no-color'[No colour, as with NO_COLOR set.]' \
                '(-q --quiet)'{-q,--quiet}'[Only the answer\: no notes on stderr.]' \
                '(--exit-zero)'--exit-zero'[Exit 0 also when the answer is no.]' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]' \
                '1::[SOURCE]: _cpuctl_machine'
            ;;
        'config show')
            _arguments \
                '(-m --machine)'{-m+,--machine=}'[The machine\: live, a directory that holds sys/, a .tar\[.gz|.bz2|.xz|.zst\] of one, a sosreport, a must-gather (PATH#NODE), synthetic\:... (its forms\: cpuctl topology synthetic -h), or what lscpu -e -J, lscpu -p, numactl -H, lstopo, ghwc, knit machineinfo or dracpu gatherinfo print.]:SOURCE: _cpuctl_machine' \
                '(--ephemeral-storage)'--ephemeral-storage='[The size of the kubelet'\''s file system; default\: the live host'\''s, else storage is ignored.]:QUANTITY: ' \
                '(--memory)'--memory='[The memory of a machine that was recorded without it.]:AMOUNT: ' \
                '(--kubelet-config)'--kubelet-config='[The KubeletConfiguration; without it that of the recorded kubelet, with -m live of the running one (else /var/lib/kubelet/config.yaml), with their flags and drop-ins.]:FILE:_files' \
                '(--config-dir)'--config-dir='[The kubelet'\''s drop-in directory, as its flag of that name.]:DIR:_files -/' \
                '(--kubelet-args)'--kubelet-args='[The kubelet'\''s command line, or @FILE that holds it\: its flags win over files.]:'\''--FLAG=VALUE ...'\'': ' \
                '(--kubelet-version)'--kubelet-version='[The kubelet'\''s release, 1.27 to 1.38\: a minor, or with its patch (1.33.4), or @FILE with its Node (kubectl get node -o json).]:VERSION:(1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27)' \
                '(--feature-gates)'--feature-gates='[Gates on top of the configuration'\''s.]:A=true,B=false: _cpuctl_ask gates' \
                '(--ignore-unknown-gates)'--ignore-unknown-gates'[Pass over gates that Kubernetes does not know, as OpenShift'\''s kubelet does.]' \
                '(--help-kubelet)'--help-kubelet'[Explain the options that say what the kubelet is told, and exit.]' \
                '(-o --output)'{-o+,--output=}'[Output format.]:table|wide|json|yaml:(table wide json yaml)' \
                '(--no-color)'--no-color'[No colour, as with NO_COLOR set.]' \
                '(-q --quiet)'{-q,--quiet}'[Only the answer\: no notes on stderr.]' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]' \
                '1::[SOURCE]: _cpuctl_machine'
            ;;
        'config check')
            _arguments \
                '(-m --machine)'{-m+,--machine=}'[The machine\: live, a directory that holds sys/, a .tar\[.gz|.bz2|.xz|.zst\] of one, a sosreport, a must-gather (PATH#NODE), synthetic\:... (its forms\: cpuctl topology synthetic -h), or what lscpu -e -J, lscpu -p, numactl -H, lstopo, ghwc, knit machineinfo or dracpu gatherinfo print.]:SOURCE: _cpuctl_machine' \
                '(--cgroup-version)'--cgroup-version='[The host'\''s cgroup version; else the machine'\''s own, or 2.]:1|2:(1 2)' \
                '(--ephemeral-storage)'--ephemeral-storage='[The size of the kubelet'\''s file system; default\: the live host'\''s, else storage is ignored.]:QUANTITY: ' \
                '(--memory)'--memory='[The memory of a machine that was recorded without it.]:AMOUNT: ' \
                '(--state)'--state='[Would it start on these state files of the kubelet?]:DIR|FILE:_files' \
                '(--driver-args)'--driver-args='[The flags of the driver dra.cpu that is to run beside it\: what does not go together is said.]:FLAGS: ' \
                '(--kubelet-config)'--kubelet-config='[The KubeletConfiguration; without it that of the recorded kubelet, with -m live of the running one (else /var/lib/kubelet/config.yaml), with their flags and drop-ins.]:FILE:_files' \
                '(--config-dir)'--config-dir='[The kubelet'\''s drop-in directory, as its flag of that name.]:DIR:_files -/' \
                '(--kubelet-args)'--kubelet-args='[The kubelet'\''s command line, or @FILE that holds it\: its flags win over files.]:'\''--FLAG=VALUE ...'\'': ' \
                '(--kubelet-version)'--kubelet-version='[The kubelet'\''s release, 1.27 to 1.38\: a minor, or with its patch (1.33.4), or @FILE with its Node (kubectl get node -o json).]:VERSION:(1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27)' \
                '(--feature-gates)'--feature-gates='[Gates on top of the configuration'\''s.]:A=true,B=false: _cpuctl_ask gates' \
                '(--ignore-unknown-gates)'--ignore-unknown-gates'[Pass over gates that Kubernetes does not know, as OpenShift'\''s kubelet does.]' \
                '(--help-kubelet)'--help-kubelet'[Explain the options that say what the kubelet is told, and exit.]' \
                '(--strict)'--strict'[Exit 3 also where there are warnings.]' \
                '(-o --output)'{-o+,--output=}'[Output format.]:table|wide|json|yaml:(table wide json yaml)' \
                '(--no-color)'--no-color'[No colour, as with NO_COLOR set.]' \
                '(-q --quiet)'{-q,--quiet}'[Only the answer\: no notes on stderr.]' \
                '(--exit-zero)'--exit-zero'[Exit 0 also when the answer is no.]' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]' \
                '1::[SOURCE]: _cpuctl_machine'
            ;;
        'config versions')
            _arguments \
                '*'{-f+,--filename=}'[Manifests\: files, directories, or - for stdin.]:PODS:_files' \
                '*'{-T+,--template=}'[A pod without YAML\: '\''web=4/4,2Gi x3'\'' are three of requests/limits, one amount stands for both; web=1/2 (less than the limit) and web=1/ (no limit) are Burstable, web alone is BestEffort.]:NAME[=CPU[,MEM]]: ' \
                '(-m --machine)'{-m+,--machine=}'[The machine\: live, a directory that holds sys/, a .tar\[.gz|.bz2|.xz|.zst\] of one, a sosreport, a must-gather (PATH#NODE), synthetic\:... (its forms\: cpuctl topology synthetic -h), or what lscpu -e -J, lscpu -p, numactl -H, lstopo, ghwc, knit machineinfo or dracpu gatherinfo print.]:SOURCE: _cpuctl_machine' \
                '(--memory)'--memory='[The memory of a machine that was recorded without it.]:AMOUNT: ' \
                '(--state)'--state='[Would it start on these state files of the kubelet?]:DIR|FILE:_files' \
                '(--pods)'--pods='[The pods that run on the node, as kubectl get pods -o json prints them; or MUST-GATHER#NODE.]:FILE:_files' \
                '(--kubelet-config)'--kubelet-config='[The KubeletConfiguration; without it that of the recorded kubelet, with -m live of the running one (else /var/lib/kubelet/config.yaml), with their flags and drop-ins.]:FILE:_files' \
                '(--config-dir)'--config-dir='[The kubelet'\''s drop-in directory, as its flag of that name.]:DIR:_files -/' \
                '(--kubelet-args)'--kubelet-args='[The kubelet'\''s command line, or @FILE that holds it\: its flags win over files.]:'\''--FLAG=VALUE ...'\'': ' \
                '(--feature-gates)'--feature-gates='[Gates on top of the configuration'\''s.]:A=true,B=false: _cpuctl_ask gates' \
                '(--ignore-unknown-gates)'--ignore-unknown-gates'[Pass over gates that Kubernetes does not know, as OpenShift'\''s kubelet does.]' \
                '(--help-kubelet)'--help-kubelet'[Explain the options that say what the kubelet is told, and exit.]' \
                '(--from)'--from='[The release to come from; else the kubelet'\''s.]:VERSION:(1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27)' \
                '(--to)'--to='[The release to go to; else the next minor.]:VERSION:(1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27)' \
                '(--all)'--all'[Also what this configuration cannot notice.]' \
                '(-o --output)'{-o+,--output=}'[Output format.]:table|wide|json|yaml:(table wide json yaml)' \
                '(--no-color)'--no-color'[No colour, as with NO_COLOR set.]' \
                '(-q --quiet)'{-q,--quiet}'[Only the answer\: no notes on stderr.]' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]' \
                '1::[SOURCE]: _cpuctl_machine'
            ;;
        'checkpoint')
            _cpuctl_group 'checkpoint' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]'
            ;;
        'checkpoint dump')
            _arguments \
                '(--state)'--state='[The same as STATE, as other commands call it.]:DIR|FILE:_files' \
                '(-m --machine)'{-m+,--machine=}'[The node, as for other commands\: where STATE is, and what --map and --svg draw.]:SOURCE: _cpuctl_machine' \
                '(--pods)'--pods='[The pods that run on the node, as kubectl get pods -o json prints them; or MUST-GATHER#NODE.]:FILE:_files' \
                '(--map)'--map'[Draw the machine with who holds which CPU.]' \
                '(--svg)'--svg='[Also draw the machine with its CPUs, as SVG; - is stdout, with no answer.]:FILE:_files' \
                '(--force)'--force'[Replace files that exist.]' \
                '(-o --output)'{-o+,--output=}'[Output format.]:table|wide|json|yaml|prom:(table wide json yaml prom)' \
                '(--no-color)'--no-color'[No colour, as with NO_COLOR set.]' \
                '(-q --quiet)'{-q,--quiet}'[Only the answer\: no notes on stderr.]' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]' \
                '1::[STATE]:_files'
            ;;
        'checkpoint verify')
            _arguments \
                '(--state)'--state='[The same as STATE, as other commands call it.]:DIR|FILE:_files' \
                '(-m --machine)'{-m+,--machine=}'[The machine\: live, a directory that holds sys/, a .tar\[.gz|.bz2|.xz|.zst\] of one, a sosreport, a must-gather (PATH#NODE), synthetic\:... (its forms\: cpuctl topology synthetic -h), or what lscpu -e -J, lscpu -p, numactl -H, lstopo, ghwc, knit machineinfo or dracpu gatherinfo print.]:SOURCE: _cpuctl_machine' \
                '(--pods)'--pods='[The pods that run on the node, as kubectl get pods -o json prints them; or MUST-GATHER#NODE.]:FILE:_files' \
                '(--memory)'--memory='[The memory of a machine that was recorded without it.]:AMOUNT: ' \
                '(--pod-resources)'--pod-resources='[Ask the kubelet at its pod resources socket, or read a file of its answers (List, GetAllocatableResources) as JSON. Alone, or with '\''live'\''\: the socket in the kubelet'\''s directory.]:[SOCKET]: ' \
                '(--kubelet-config)'--kubelet-config='[The KubeletConfiguration; without it that of the recorded kubelet, with -m live of the running one (else /var/lib/kubelet/config.yaml), with their flags and drop-ins.]:FILE:_files' \
                '(--config-dir)'--config-dir='[The kubelet'\''s drop-in directory, as its flag of that name.]:DIR:_files -/' \
                '(--kubelet-args)'--kubelet-args='[The kubelet'\''s command line, or @FILE that holds it\: its flags win over files.]:'\''--FLAG=VALUE ...'\'': ' \
                '(--kubelet-version)'--kubelet-version='[The kubelet'\''s release, 1.27 to 1.38\: a minor, or with its patch (1.33.4), or @FILE with its Node (kubectl get node -o json).]:VERSION:(1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27)' \
                '(--feature-gates)'--feature-gates='[Gates on top of the configuration'\''s.]:A=true,B=false: _cpuctl_ask gates' \
                '(--ignore-unknown-gates)'--ignore-unknown-gates'[Pass over gates that Kubernetes does not know, as OpenShift'\''s kubelet does.]' \
                '(--help-kubelet)'--help-kubelet'[Explain the options that say what the kubelet is told, and exit.]' \
                '(--strict)'--strict'[Exit 3 also where there are warnings.]' \
                '(-o --output)'{-o+,--output=}'[Output format.]:table|wide|json|yaml|prom:(table wide json yaml prom)' \
                '(--no-color)'--no-color'[No colour, as with NO_COLOR set.]' \
                '(-q --quiet)'{-q,--quiet}'[Only the answer\: no notes on stderr.]' \
                '(--exit-zero)'--exit-zero'[Exit 0 also when the answer is no.]' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]' \
                '1::[STATE]:_files'
            ;;
        'checkpoint diff')
            _arguments \
                '(--pods)'--pods='[The pods that run on the node, as kubectl get pods -o json prints them; or MUST-GATHER#NODE.]:FILE:_files' \
                '(--exit-code)'--exit-code'[Exit 3 where something would change, or differs.]' \
                '(-o --output)'{-o+,--output=}'[Output format.]:table|wide|json|yaml:(table wide json yaml)' \
                '(--no-color)'--no-color'[No colour, as with NO_COLOR set.]' \
                '(-q --quiet)'{-q,--quiet}'[Only the answer\: no notes on stderr.]' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]' \
                '1:A:_files' \
                '2:B:_files'
            ;;
        'checkpoint migrate')
            _arguments \
                '(--state)'--state='[The same as STATE, as other commands call it.]:DIR|FILE:_files' \
                '(--pods)'--pods='[The pods that run on the node, as kubectl get pods -o json prints them; or MUST-GATHER#NODE.]:FILE:_files' \
                '(-m --machine)'{-m+,--machine=}'[The node, as for other commands; the result is proven on it. Without it none is known.]:SOURCE: _cpuctl_machine' \
                '(--memory)'--memory='[The memory of a machine that was recorded without it.]:AMOUNT: ' \
                '(--root)'--root='[Where the node'\''s file tree stands, with its proc\: /host in a container, a mounted disk. Its state files are taken from there; with options of the kubelet and without -m, its machine, too.]:DIR:_files -/' \
                '(--feature-gates)'--feature-gates='[Gates on top of the configuration'\''s.]:A=true,B=false: _cpuctl_ask gates' \
                '(--kubelet-config)'--kubelet-config='[The KubeletConfiguration; without it that of the recorded kubelet, with -m live of the running one (else /var/lib/kubelet/config.yaml), with their flags and drop-ins.]:FILE:_files' \
                '(--config-dir)'--config-dir='[The kubelet'\''s drop-in directory, as its flag of that name.]:DIR:_files -/' \
                '(--kubelet-args)'--kubelet-args='[The kubelet'\''s command line, or @FILE that holds it\: its flags win over files.]:'\''--FLAG=VALUE ...'\'': ' \
                '(--help-kubelet)'--help-kubelet'[Explain the options that say what the kubelet is told, and exit.]' \
                '(--to-kubelet)'--to-kubelet='[The minor that is to read the files, 1.27 to 1.38.]:VERSION:(1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27)' \
                '(--yes)'--yes'[Write in place, with a backup; without it only tell what would change.]' \
                '(--force-kubelet-running)'--force-kubelet-running'[Write although a kubelet runs that uses these files\: it may write its own over them.]' \
                '(--write-state)'--write-state='[Write the new files into DIR instead, at once.]:DIR:_files -/' \
                '(--force)'--force'[Replace files that exist; what state files hold is kept as a backup.]' \
                '(--exit-code)'--exit-code'[Exit 3 where something would change, or differs.]' \
                '(-o --output)'{-o+,--output=}'[Output format.]:table|wide|json|yaml:(table wide json yaml)' \
                '(--no-color)'--no-color'[No colour, as with NO_COLOR set.]' \
                '(-q --quiet)'{-q,--quiet}'[Only the answer\: no notes on stderr.]' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]' \
                '1::[STATE]:_files'
            ;;
        'checkpoint repair')
            _arguments \
                '(--state)'--state='[The same as STATE, as other commands call it.]:DIR|FILE:_files' \
                '(-m --machine)'{-m+,--machine=}'[The machine\: live, a directory that holds sys/, a .tar\[.gz|.bz2|.xz|.zst\] of one, a sosreport, a must-gather (PATH#NODE), synthetic\:... (its forms\: cpuctl topology synthetic -h), or what lscpu -e -J, lscpu -p, numactl -H, lstopo, ghwc, knit machineinfo or dracpu gatherinfo print.]:SOURCE: _cpuctl_machine' \
                '(--pods)'--pods='[The pods that run on the node, as kubectl get pods -o json prints them; or MUST-GATHER#NODE.]:FILE:_files' \
                '(--memory)'--memory='[The memory of a machine that was recorded without it.]:AMOUNT: ' \
                '(--root)'--root='[Where the node'\''s file tree stands, with its proc\: /host in a container, a mounted disk. Its machine, kubelet configuration and state files are taken from there.]:DIR:_files -/' \
                '(--kubelet-config)'--kubelet-config='[The KubeletConfiguration; without it that of the recorded kubelet, with -m live of the running one (else /var/lib/kubelet/config.yaml), with their flags and drop-ins.]:FILE:_files' \
                '(--config-dir)'--config-dir='[The kubelet'\''s drop-in directory, as its flag of that name.]:DIR:_files -/' \
                '(--kubelet-args)'--kubelet-args='[The kubelet'\''s command line, or @FILE that holds it\: its flags win over files.]:'\''--FLAG=VALUE ...'\'': ' \
                '(--kubelet-version)'--kubelet-version='[The kubelet'\''s release, 1.27 to 1.38\: a minor, or with its patch (1.33.4), or @FILE with its Node (kubectl get node -o json).]:VERSION:(1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27)' \
                '(--feature-gates)'--feature-gates='[Gates on top of the configuration'\''s.]:A=true,B=false: _cpuctl_ask gates' \
                '(--ignore-unknown-gates)'--ignore-unknown-gates'[Pass over gates that Kubernetes does not know, as OpenShift'\''s kubelet does.]' \
                '(--help-kubelet)'--help-kubelet'[Explain the options that say what the kubelet is told, and exit.]' \
                '(--yes)'--yes'[Write in place, with a backup; without it only tell what would change.]' \
                '(--force-kubelet-running)'--force-kubelet-running'[Write although a kubelet runs that uses these files\: it may write its own over them.]' \
                '(--write-state)'--write-state='[Write the new files into DIR instead, at once.]:DIR:_files -/' \
                '(--force)'--force'[Replace files that exist; what state files hold is kept as a backup.]' \
                '(--exit-code)'--exit-code'[Exit 3 where something would change, or differs.]' \
                '(-o --output)'{-o+,--output=}'[Output format.]:table|wide|json|yaml:(table wide json yaml)' \
                '(--no-color)'--no-color'[No colour, as with NO_COLOR set.]' \
                '(-q --quiet)'{-q,--quiet}'[Only the answer\: no notes on stderr.]' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]' \
                '1::[STATE]:_files'
            ;;
        'checkpoint new')
            _arguments \
                '*'{-f+,--filename=}'[Manifests\: files, directories, or - for stdin.]:PODS:_files' \
                '*'{-T+,--template=}'[A pod without YAML\: '\''web=4/4,2Gi x3'\'' are three of requests/limits, one amount stands for both; web=1/2 (less than the limit) and web=1/ (no limit) are Burstable, web alone is BestEffort.]:NAME[=CPU[,MEM]]: ' \
                '(-m --machine)'{-m+,--machine=}'[The machine\: live, a directory that holds sys/, a .tar\[.gz|.bz2|.xz|.zst\] of one, a sosreport, a must-gather (PATH#NODE), synthetic\:... (its forms\: cpuctl topology synthetic -h), or what lscpu -e -J, lscpu -p, numactl -H, lstopo, ghwc, knit machineinfo or dracpu gatherinfo print.]:SOURCE: _cpuctl_machine' \
                '(--devices)'--devices='[The devices of device plugins\: free and healthy ones by resource and NUMA node (schema\: cpuctl schema devices), or what the pod resources API answers to GetAllocatableResources and List.]:FILE:_files' \
                '(--assume-devices)'--assume-devices'[Take for granted that every NUMA node has enough of the devices that pods ask for and --devices does not tell of.]' \
                '(--driver-args)'--driver-args='[The flags of the driver dra.cpu, for pods with resource claims\: '\''--cpu-device-mode individual --reserved-cpus 0,32'\''. Without it, CPUs are grouped by NUMA node, and none is reserved.]:FLAGS: ' \
                '(--memory)'--memory='[The memory of a machine that was recorded without it.]:AMOUNT: ' \
                '(--root)'--root='[Where the node'\''s file tree stands, with its proc\: /host in a container, a mounted disk. Its machine, kubelet configuration and state files are taken from there.]:DIR:_files -/' \
                '(--kubelet-config)'--kubelet-config='[The KubeletConfiguration; without it that of the recorded kubelet, with -m live of the running one (else /var/lib/kubelet/config.yaml), with their flags and drop-ins.]:FILE:_files' \
                '(--config-dir)'--config-dir='[The kubelet'\''s drop-in directory, as its flag of that name.]:DIR:_files -/' \
                '(--kubelet-args)'--kubelet-args='[The kubelet'\''s command line, or @FILE that holds it\: its flags win over files.]:'\''--FLAG=VALUE ...'\'': ' \
                '(--kubelet-version)'--kubelet-version='[The kubelet'\''s release, 1.27 to 1.38\: a minor, or with its patch (1.33.4), or @FILE with its Node (kubectl get node -o json).]:VERSION:(1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27)' \
                '(--feature-gates)'--feature-gates='[Gates on top of the configuration'\''s.]:A=true,B=false: _cpuctl_ask gates' \
                '(--ignore-unknown-gates)'--ignore-unknown-gates'[Pass over gates that Kubernetes does not know, as OpenShift'\''s kubelet does.]' \
                '(--help-kubelet)'--help-kubelet'[Explain the options that say what the kubelet is told, and exit.]' \
                '(--force-kubelet-running)'--force-kubelet-running'[Write although a kubelet runs that uses these files\: it may write its own over them.]' \
                '(--write-state)'--write-state='[Write the new files into DIR instead, at once.]:DIR:_files -/' \
                '(--force)'--force'[Replace files that exist; what state files hold is kept as a backup.]' \
                '(-o --output)'{-o+,--output=}'[Output format.]:table|wide|json|yaml:(table wide json yaml)' \
                '(--no-color)'--no-color'[No colour, as with NO_COLOR set.]' \
                '(-q --quiet)'{-q,--quiet}'[Only the answer\: no notes on stderr.]' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]' \
                '*:[PODS]...:_files'
            ;;
        'checkpoint versions')
            _arguments \
                '(-o --output)'{-o+,--output=}'[Output format.]:table|wide|json|yaml:(table wide json yaml)' \
                '(--no-color)'--no-color'[No colour, as with NO_COLOR set.]' \
                '(-q --quiet)'{-q,--quiet}'[Only the answer\: no notes on stderr.]' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]'
            ;;
        'audit')
            _arguments \
                '(-m --machine)'{-m+,--machine=}'[The node\: live, a directory that holds sys/, a recording.]:SOURCE: _cpuctl_machine' \
                '(--root)'--root='[The node whose file system is mounted at DIR, not this one.]:DIR:_files -/' \
                '(--state)'--state='[The kubelet'\''s state files; else those of the node itself.]:DIR|FILE:_files' \
                '(--pods)'--pods='[The pods that run on the node, as kubectl get pods -o json prints them; or MUST-GATHER#NODE.]:FILE:_files' \
                '(--pod-resources)'--pod-resources='[Ask the kubelet at its pod resources socket, or read a file of its answers (List, GetAllocatableResources) as JSON. Alone, or with '\''live'\''\: the socket in the kubelet'\''s directory.]:[SOCKET]: ' \
                '(--kubelet-config)'--kubelet-config='[The KubeletConfiguration; without it that of the recorded kubelet, with -m live of the running one (else /var/lib/kubelet/config.yaml), with their flags and drop-ins.]:FILE:_files' \
                '(--config-dir)'--config-dir='[The kubelet'\''s drop-in directory, as its flag of that name.]:DIR:_files -/' \
                '(--kubelet-args)'--kubelet-args='[The kubelet'\''s command line, or @FILE that holds it\: its flags win over files.]:'\''--FLAG=VALUE ...'\'': ' \
                '(--kubelet-version)'--kubelet-version='[The kubelet'\''s release, 1.27 to 1.38\: a minor, or with its patch (1.33.4), or @FILE with its Node (kubectl get node -o json).]:VERSION:(1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27)' \
                '(--feature-gates)'--feature-gates='[Gates on top of the configuration'\''s.]:A=true,B=false: _cpuctl_ask gates' \
                '(--ignore-unknown-gates)'--ignore-unknown-gates'[Pass over gates that Kubernetes does not know, as OpenShift'\''s kubelet does.]' \
                '(--help-kubelet)'--help-kubelet'[Explain the options that say what the kubelet is told, and exit.]' \
                '(--check)'--check='[Only these checks\: state, hotplug, reserved, cpusets, mems, threads, quota, memory, hugepages, stale, devices, claims, answers, foreign, kernel, interrupts, siblings, isolation, volumes.]:A,B: _cpuctl_ask checks' \
                '(-o --output)'{-o+,--output=}'[Output format; jsonl is one finding a line, plan the changes to apply, prom metrics for node_exporter.]:table|wide|json|yaml|jsonl|plan|prom:(table wide json yaml jsonl plan prom)' \
                '(--no-color)'--no-color'[No colour, as with NO_COLOR set.]' \
                '(-q --quiet)'{-q,--quiet}'[Only the answer\: no notes on stderr.]' \
                '(--exit-zero)'--exit-zero'[Exit 0 also when the answer is no.]' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]' \
                '1::[SOURCE]: _cpuctl_machine'
            ;;
        'cgroups')
            _cpuctl_group 'cgroups' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]'
            ;;
        'cgroups show')
            _arguments \
                '(-m --machine)'{-m+,--machine=}'[The node\: live, a directory that holds sys/, a recording.]:SOURCE: _cpuctl_machine' \
                '(--root)'--root='[The node whose file system is mounted at DIR, not this one.]:DIR:_files -/' \
                '(--state)'--state='[The kubelet'\''s state files; else those of the node itself.]:DIR|FILE:_files' \
                '(--pods)'--pods='[The pods that run on the node, as kubectl get pods -o json prints them; or MUST-GATHER#NODE.]:FILE:_files' \
                '(--oci-runtime)'--oci-runtime='[runc-1.2.6, crun-1.23, ...\: the weights of containers depend on it.]:NAME-VERSION: ' \
                '(--kubelet-config)'--kubelet-config='[The KubeletConfiguration; without it that of the recorded kubelet, with -m live of the running one (else /var/lib/kubelet/config.yaml), with their flags and drop-ins.]:FILE:_files' \
                '(--config-dir)'--config-dir='[The kubelet'\''s drop-in directory, as its flag of that name.]:DIR:_files -/' \
                '(--kubelet-args)'--kubelet-args='[The kubelet'\''s command line, or @FILE that holds it\: its flags win over files.]:'\''--FLAG=VALUE ...'\'': ' \
                '(--kubelet-version)'--kubelet-version='[The kubelet'\''s release, 1.27 to 1.38\: a minor, or with its patch (1.33.4), or @FILE with its Node (kubectl get node -o json).]:VERSION:(1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27)' \
                '(--feature-gates)'--feature-gates='[Gates on top of the configuration'\''s.]:A=true,B=false: _cpuctl_ask gates' \
                '(--ignore-unknown-gates)'--ignore-unknown-gates'[Pass over gates that Kubernetes does not know, as OpenShift'\''s kubelet does.]' \
                '(--help-kubelet)'--help-kubelet'[Explain the options that say what the kubelet is told, and exit.]' \
                '(--exit-code)'--exit-code'[Exit 3 where something differs.]' \
                '(-o --output)'{-o+,--output=}'[Output format; jsonl is one pod a line.]:table|wide|json|yaml|jsonl:(table wide json yaml jsonl)' \
                '(--no-color)'--no-color'[No colour, as with NO_COLOR set.]' \
                '(-q --quiet)'{-q,--quiet}'[Only the answer\: no notes on stderr.]' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]' \
                '1::[SOURCE]: _cpuctl_machine'
            ;;
        'cgroups apply')
            _arguments \
                '(-f --filename)'{-f+,--filename=}'[A plan or a CPU Manager state; - for stdin.]:FILE:_files' \
                '(-m --machine)'{-m+,--machine=}'[The node\: live, a directory that holds sys/, a recording.]:SOURCE: _cpuctl_machine' \
                '(--root)'--root='[The node whose file system is mounted at DIR, not this one.]:DIR:_files -/' \
                '(--state)'--state='[The kubelet'\''s state files; else those of the node itself.]:DIR|FILE:_files' \
                '(--pods)'--pods='[The pods that run on the node, as kubectl get pods -o json prints them; or MUST-GATHER#NODE.]:FILE:_files' \
                '(--kubelet-config)'--kubelet-config='[The KubeletConfiguration; without it that of the recorded kubelet, with -m live of the running one (else /var/lib/kubelet/config.yaml), with their flags and drop-ins.]:FILE:_files' \
                '(--config-dir)'--config-dir='[The kubelet'\''s drop-in directory, as its flag of that name.]:DIR:_files -/' \
                '(--kubelet-args)'--kubelet-args='[The kubelet'\''s command line, or @FILE that holds it\: its flags win over files.]:'\''--FLAG=VALUE ...'\'': ' \
                '(--kubelet-version)'--kubelet-version='[The kubelet'\''s release, 1.27 to 1.38\: a minor, or with its patch (1.33.4), or @FILE with its Node (kubectl get node -o json).]:VERSION:(1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27)' \
                '(--feature-gates)'--feature-gates='[Gates on top of the configuration'\''s.]:A=true,B=false: _cpuctl_ask gates' \
                '(--ignore-unknown-gates)'--ignore-unknown-gates'[Pass over gates that Kubernetes does not know, as OpenShift'\''s kubelet does.]' \
                '(--help-kubelet)'--help-kubelet'[Explain the options that say what the kubelet is told, and exit.]' \
                '(-y --yes)'{-y,--yes}'[Write; otherwise nothing is changed.]' \
                '(--no-wait)'--no-wait'[Do not wait for the kubelet to rewrite it.]' \
                '(--quota)'--quota'[CFS quotas, too\: none with exclusive CPUs, else the limits of the manifest (--pods).]' \
                '(--log)'--log='[Append every step to FILE, a JSON object a line.]:FILE:_files' \
                '(--force-offline)'--force-offline'[Write CPUs that are offline (v2 only\: v1 refuses).]' \
                '(--force-reserved)'--force-reserved'[Write reserved CPUs.]' \
                '(--force-exclusive)'--force-exclusive'[Write CPUs that are exclusive to another container.]' \
                '(--exit-code)'--exit-code'[Exit 3 where a dry run has something to write.]' \
                '(-o --output)'{-o+,--output=}'[Output format.]:table|wide|json|yaml:(table wide json yaml)' \
                '(--no-color)'--no-color'[No colour, as with NO_COLOR set.]' \
                '(-q --quiet)'{-q,--quiet}'[Only the answer\: no notes on stderr.]' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]' \
                '*:[NS/POD/CONTAINER=CPUS]...: _cpuctl_ask container'
            ;;
        'nri')
            _cpuctl_group 'nri' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]'
            ;;
        'nri run')
            _arguments \
                '(--plan)'--plan='[Carry out a plan\: what cpuctl plan -o json has printed; - for stdin.]:FILE:_files' \
                '(-m --machine)'{-m+,--machine=}'[The machine\: live, a directory that holds sys/, a .tar\[.gz|.bz2|.xz|.zst\] of one, a sosreport, a must-gather (PATH#NODE), synthetic\:... (its forms\: cpuctl topology synthetic -h), or what lscpu -e -J, lscpu -p, numactl -H, lstopo, ghwc, knit machineinfo or dracpu gatherinfo print.]:SOURCE: _cpuctl_machine' \
                '(--kubelet-config)'--kubelet-config='[The KubeletConfiguration; without it that of the recorded kubelet, with -m live of the running one (else /var/lib/kubelet/config.yaml), with their flags and drop-ins.]:FILE:_files' \
                '(--config-dir)'--config-dir='[The kubelet'\''s drop-in directory, as its flag of that name.]:DIR:_files -/' \
                '(--kubelet-args)'--kubelet-args='[The kubelet'\''s command line, or @FILE that holds it\: its flags win over files.]:'\''--FLAG=VALUE ...'\'': ' \
                '(--kubelet-version)'--kubelet-version='[The kubelet'\''s release, 1.27 to 1.38\: a minor, or with its patch (1.33.4), or @FILE with its Node (kubectl get node -o json).]:VERSION:(1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27)' \
                '(--feature-gates)'--feature-gates='[Gates on top of the configuration'\''s.]:A=true,B=false: _cpuctl_ask gates' \
                '(--ignore-unknown-gates)'--ignore-unknown-gates'[Pass over gates that Kubernetes does not know, as OpenShift'\''s kubelet does.]' \
                '(--help-kubelet)'--help-kubelet'[Explain the options that say what the kubelet is told, and exit.]' \
                '(--policy)'--policy='[Give CPUs away as containers come\: static (the kubelet'\''s), another NAME (cpuctl policies list has them) or FILE.py\:CLASS, and ,OPTION=VALUE for each of its options.]:POLICY:(static numa-allocation min-shared favour-cpus core-kinds koordinator katalyst)' \
                '(--state-file)'--state-file='[Where a policy keeps, from one run to the next, who holds what.]:FILE:_files' \
                '(--socket)'--socket='[Where the runtime listens for plug-ins.]:PATH:_files' \
                '(--index)'--index='[Two digits\: runtimes ask plug-ins in the order of their indices.]:NN: ' \
                '(--dry-run)'--dry-run'[Only log what would be answered; containers pass untouched.]' \
                '(-o --output)'{-o+,--output=}'[log is lines on stderr; jsonl also writes every answer to stdout, a JSON object a line.]:log|jsonl:(log jsonl)' \
                '(-q --quiet)'{-q,--quiet}'[Only the answer\: no notes on stderr.]' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]'
            ;;
        'dra')
            _cpuctl_group 'dra' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]'
            ;;
        'dra slices')
            _arguments \
                '(-m --machine)'{-m+,--machine=}'[The machine\: live, a directory that holds sys/, a .tar\[.gz|.bz2|.xz|.zst\] of one, a sosreport, a must-gather (PATH#NODE), synthetic\:... (its forms\: cpuctl topology synthetic -h), or what lscpu -e -J, lscpu -p, numactl -H, lstopo, ghwc, knit machineinfo or dracpu gatherinfo print.]:SOURCE: _cpuctl_machine' \
                '(--kubelet-config)'--kubelet-config='[The KubeletConfiguration; without it that of the recorded kubelet, with -m live of the running one (else /var/lib/kubelet/config.yaml), with their flags and drop-ins.]:FILE:_files' \
                '(--config-dir)'--config-dir='[The kubelet'\''s drop-in directory, as its flag of that name.]:DIR:_files -/' \
                '(--kubelet-args)'--kubelet-args='[The kubelet'\''s command line, or @FILE that holds it\: its flags win over files.]:'\''--FLAG=VALUE ...'\'': ' \
                '(--kubelet-version)'--kubelet-version='[The kubelet'\''s release, 1.27 to 1.38\: a minor, or with its patch (1.33.4), or @FILE with its Node (kubectl get node -o json).]:VERSION:(1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27)' \
                '(--feature-gates)'--feature-gates='[Gates on top of the configuration'\''s.]:A=true,B=false: _cpuctl_ask gates' \
                '(--ignore-unknown-gates)'--ignore-unknown-gates'[Pass over gates that Kubernetes does not know, as OpenShift'\''s kubelet does.]' \
                '(--help-kubelet)'--help-kubelet'[Explain the options that say what the kubelet is told, and exit.]' \
                '(--cpu-device-mode)'--cpu-device-mode='[A device a CPU, or a device a group of CPUs.]:grouped|individual:(grouped individual)' \
                '(--group-by)'--group-by='[What makes a group of CPUs.]:numanode|socket|machine:(numanode socket machine)' \
                '(--reserved-cpus)'--reserved-cpus='[CPUs that are no devices\: 0-3,8, a mask (0xff), or node\:1, socket\:0, l3\:2, core\:5.]:LIST: _cpuctl_ask cpus' \
                '(--expose-pcie-roots)'--expose-pcie-roots'[Tell which PCIe roots are near, for claims with other devices.]' \
                '(--publish-node-allocatable-resource-mapping)'--publish-node-allocatable-resource-mapping'[Count claims'\'' CPUs as the node'\''s (KEP-5517), as the driver'\''s setting of that name.]' \
                '(--hostname-override)'--hostname-override='[The node'\''s name; else what the machine'\''s etc/hostname says.]:NAME: ' \
                '(-o --output)'{-o+,--output=}'[Output format.]:table|wide|json|yaml:(table wide json yaml)' \
                '(--no-color)'--no-color'[No colour, as with NO_COLOR set.]' \
                '(-q --quiet)'{-q,--quiet}'[Only the answer\: no notes on stderr.]' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]' \
                '1::[SOURCE]: _cpuctl_machine'
            ;;
        'dra allocate')
            _arguments \
                '*'{-f+,--filename=}'[Manifests\: files, directories, or - for stdin.]:PODS:_files' \
                '(-m --machine)'{-m+,--machine=}'[The machine\: live, a directory that holds sys/, a .tar\[.gz|.bz2|.xz|.zst\] of one, a sosreport, a must-gather (PATH#NODE), synthetic\:... (its forms\: cpuctl topology synthetic -h), or what lscpu -e -J, lscpu -p, numactl -H, lstopo, ghwc, knit machineinfo or dracpu gatherinfo print.]:SOURCE: _cpuctl_machine' \
                '(--kubelet-config)'--kubelet-config='[The KubeletConfiguration; without it that of the recorded kubelet, with -m live of the running one (else /var/lib/kubelet/config.yaml), with their flags and drop-ins.]:FILE:_files' \
                '(--config-dir)'--config-dir='[The kubelet'\''s drop-in directory, as its flag of that name.]:DIR:_files -/' \
                '(--kubelet-args)'--kubelet-args='[The kubelet'\''s command line, or @FILE that holds it\: its flags win over files.]:'\''--FLAG=VALUE ...'\'': ' \
                '(--kubelet-version)'--kubelet-version='[The kubelet'\''s release, 1.27 to 1.38\: a minor, or with its patch (1.33.4), or @FILE with its Node (kubectl get node -o json).]:VERSION:(1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27)' \
                '(--feature-gates)'--feature-gates='[Gates on top of the configuration'\''s.]:A=true,B=false: _cpuctl_ask gates' \
                '(--ignore-unknown-gates)'--ignore-unknown-gates'[Pass over gates that Kubernetes does not know, as OpenShift'\''s kubelet does.]' \
                '(--help-kubelet)'--help-kubelet'[Explain the options that say what the kubelet is told, and exit.]' \
                '(--cpu-device-mode)'--cpu-device-mode='[A device a CPU, or a device a group of CPUs.]:grouped|individual:(grouped individual)' \
                '(--group-by)'--group-by='[What makes a group of CPUs.]:numanode|socket|machine:(numanode socket machine)' \
                '(--reserved-cpus)'--reserved-cpus='[CPUs that are no devices\: 0-3,8, a mask (0xff), or node\:1, socket\:0, l3\:2, core\:5.]:LIST: _cpuctl_ask cpus' \
                '(--expose-pcie-roots)'--expose-pcie-roots'[Tell which PCIe roots are near, for claims with other devices.]' \
                '(--publish-node-allocatable-resource-mapping)'--publish-node-allocatable-resource-mapping'[Count claims'\'' CPUs as the node'\''s (KEP-5517), as the driver'\''s setting of that name.]' \
                '(--hostname-override)'--hostname-override='[The node'\''s name; else what the machine'\''s etc/hostname says.]:NAME: ' \
                '(--fixed)'--fixed'[As a driver would pick that tells cores of several sockets apart which share an id.]' \
                '(--exit-zero)'--exit-zero'[Exit 0 also when the answer is no.]' \
                '(-o --output)'{-o+,--output=}'[Output format.]:table|wide|json|yaml:(table wide json yaml)' \
                '(--no-color)'--no-color'[No colour, as with NO_COLOR set.]' \
                '(-q --quiet)'{-q,--quiet}'[Only the answer\: no notes on stderr.]' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]' \
                '*:[PODS]...:_files'
            ;;
        'capture')
            _arguments \
                '(--root)'--root='[Record the node whose files stand below DIR, not this one.]:DIR:_files -/' \
                '(--anonymize)'--anonymize'[Replace names of hosts, pods, containers and programs by stable pseudonyms.]' \
                '(--timestamp)'--timestamp'[Record the time; without it, the same node gives the same bytes.]' \
                '(--force)'--force'[Replace FILE when it exists; the old one is kept as a backup.]' \
                '(-o --output)'{-o+,--output=}'[Output format.]:table|wide|json|yaml:(table wide json yaml)' \
                '(--no-color)'--no-color'[No colour, as with NO_COLOR set.]' \
                '(-q --quiet)'{-q,--quiet}'[Only the answer\: no notes on stderr.]' \
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
                '*'{-T+,--template=}'[A pod without YAML\: '\''web=4/4,2Gi x3'\'' are three of requests/limits, one amount stands for both; web=1/2 (less than the limit) and web=1/ (no limit) are Burstable, web alone is BestEffort.]:NAME[=CPU[,MEM]]: ' \
                '(--nodes)'--nodes='[Nodes, as kubectl get nodes -o json prints them\: they tell the release of kubelets whose recordings do not. Each recording is called as its node\: node7.tar.xz, or any name in a directory node7.]:FILE:_files' \
                '(--resume)'--resume='[Take over the answers in FILE, which an earlier run wrote with -o jsonl, and ask the rest.]:FILE:_files' \
                '(--kubelet-config)'--kubelet-config='[The KubeletConfiguration; without it that of the recorded kubelet, with -m live of the running one (else /var/lib/kubelet/config.yaml), with their flags and drop-ins.]:FILE:_files' \
                '(--config-dir)'--config-dir='[The kubelet'\''s drop-in directory, as its flag of that name.]:DIR:_files -/' \
                '(--kubelet-args)'--kubelet-args='[The kubelet'\''s command line, or @FILE that holds it\: its flags win over files.]:'\''--FLAG=VALUE ...'\'': ' \
                '(--kubelet-version)'--kubelet-version='[The kubelet'\''s release, 1.27 to 1.38\: a minor, or with its patch (1.33.4), or @FILE with its Node (kubectl get node -o json).]:VERSION:(1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27)' \
                '(--feature-gates)'--feature-gates='[Gates on top of the configuration'\''s.]:A=true,B=false: _cpuctl_ask gates' \
                '(--ignore-unknown-gates)'--ignore-unknown-gates'[Pass over gates that Kubernetes does not know, as OpenShift'\''s kubelet does.]' \
                '(--help-kubelet)'--help-kubelet'[Explain the options that say what the kubelet is told, and exit.]' \
                '(-j --jobs)'{-j+,--jobs=}'[Use N processes; by default one for each CPU.]:N: ' \
                '(--scheduler)'--scheduler='[Let the workers of a Dask scheduler do it, as tcp\://host\:8786, or local for workers on this machine (pip install '\''cpuctl\[fleet\]'\'').]:ADDRESS: ' \
                '(--svg)'--svg='[Also draw the fleet, a strip a node, as SVG; - is stdout, with no answer.]:FILE:_files' \
                '(--html)'--html='[Also write a page with the answer, the picture and the inputs\: one file that needs no network; - is stdout, with no answer.]:FILE:_files' \
                '(--force)'--force'[Replace files that exist.]' \
                '(--publisher)'--publisher='[Whose object -o nrt writes\: rte, the resource topology exporter (rte,fingerprint=all or none\: which pods its fingerprint covers), or nfd, node-feature-discovery'\''s topology updater.]:NAME: ' \
                '(-o --output)'{-o+,--output=}'[Output format; jsonl is one node a line, written as it is answered, prom Prometheus'\'' text format, nrt a List of the NodeResourceTopologies that exporters would publish.]:table|wide|json|yaml|jsonl|prom|nrt:(table wide json yaml jsonl prom nrt)' \
                '(--no-color)'--no-color'[No colour, as with NO_COLOR set.]' \
                '(-q --quiet)'{-q,--quiet}'[Only the answer\: no notes on stderr.]' \
                '(--exit-zero)'--exit-zero'[Exit 0 also when the answer is no.]' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]' \
                '*:RECORDINGS...:_files'
            ;;
        'fleet check')
            _arguments \
                '(--nrt)'--nrt='[NodeResourceTopologies, as kubectl get noderesourcetopologies -o json prints them.]:FILE:_files' \
                '(--pods)'--pods='[The pods that run on the nodes, as kubectl get pods -A -o json prints them; those without a node do not count.]:FILE:_files' \
                '(--nodes)'--nodes='[Nodes, as kubectl get nodes -o json prints them\: they tell the release of kubelets whose recordings do not. Each recording is called as its node\: node7.tar.xz, or any name in a directory node7.]:FILE:_files' \
                '(--resume)'--resume='[Take over the answers in FILE, which an earlier run wrote with -o jsonl, and ask the rest.]:FILE:_files' \
                '(--kubelet-config)'--kubelet-config='[The KubeletConfiguration; without it that of the recorded kubelet, with -m live of the running one (else /var/lib/kubelet/config.yaml), with their flags and drop-ins.]:FILE:_files' \
                '(--config-dir)'--config-dir='[The kubelet'\''s drop-in directory, as its flag of that name.]:DIR:_files -/' \
                '(--kubelet-args)'--kubelet-args='[The kubelet'\''s command line, or @FILE that holds it\: its flags win over files.]:'\''--FLAG=VALUE ...'\'': ' \
                '(--kubelet-version)'--kubelet-version='[The kubelet'\''s release, 1.27 to 1.38\: a minor, or with its patch (1.33.4), or @FILE with its Node (kubectl get node -o json).]:VERSION:(1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27)' \
                '(--feature-gates)'--feature-gates='[Gates on top of the configuration'\''s.]:A=true,B=false: _cpuctl_ask gates' \
                '(--ignore-unknown-gates)'--ignore-unknown-gates'[Pass over gates that Kubernetes does not know, as OpenShift'\''s kubelet does.]' \
                '(--help-kubelet)'--help-kubelet'[Explain the options that say what the kubelet is told, and exit.]' \
                '(--check)'--check='[Make only these checks.]:config,state,audit,nrt:(config state audit nrt)' \
                '(--strict)'--strict'[Exit 3 also where there are warnings.]' \
                '(-j --jobs)'{-j+,--jobs=}'[Use N processes; by default one for each CPU.]:N: ' \
                '(--scheduler)'--scheduler='[Let the workers of a Dask scheduler do it, as tcp\://host\:8786, or local for workers on this machine (pip install '\''cpuctl\[fleet\]'\'').]:ADDRESS: ' \
                '(-o --output)'{-o+,--output=}'[Output format; jsonl is one node a line, written as it is answered.]:table|wide|json|yaml|jsonl|prom:(table wide json yaml jsonl prom)' \
                '(--no-color)'--no-color'[No colour, as with NO_COLOR set.]' \
                '(-q --quiet)'{-q,--quiet}'[Only the answer\: no notes on stderr.]' \
                '(--exit-zero)'--exit-zero'[Exit 0 also when the answer is no.]' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]' \
                '*:RECORDINGS...:_files'
            ;;
        'fleet diff')
            _arguments \
                '(--nodes)'--nodes='[Nodes, as kubectl get nodes -o json prints them\: they tell the release of kubelets whose recordings do not, as in fleet list. Without --nodes-before they count for BEFORE, too.]:FILE:_files' \
                '(--nodes-before)'--nodes-before='[The Nodes of BEFORE.]:FILE:_files' \
                '(--pods)'--pods='[The pods that run on the nodes of AFTER, as kubectl get pods -A -o json prints them, for --check state and audit.]:FILE:_files' \
                '(--pods-before)'--pods-before='[The pods that ran on those of BEFORE.]:FILE:_files' \
                '(--resume)'--resume='[Take over the answers in FILE, which fleet list (for --check, fleet check) wrote with -o jsonl, and ask the rest.]:FILE:_files' \
                '(--kubelet-config)'--kubelet-config='[The KubeletConfiguration; without it that of the recorded kubelet, with -m live of the running one (else /var/lib/kubelet/config.yaml), with their flags and drop-ins.]:FILE:_files' \
                '(--config-dir)'--config-dir='[The kubelet'\''s drop-in directory, as its flag of that name.]:DIR:_files -/' \
                '(--kubelet-args)'--kubelet-args='[The kubelet'\''s command line, or @FILE that holds it\: its flags win over files.]:'\''--FLAG=VALUE ...'\'': ' \
                '(--kubelet-version)'--kubelet-version='[The kubelet'\''s release, 1.27 to 1.38\: a minor, or with its patch (1.33.4), or @FILE with its Node (kubectl get node -o json).]:VERSION:(1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27)' \
                '(--feature-gates)'--feature-gates='[Gates on top of the configuration'\''s.]:A=true,B=false: _cpuctl_ask gates' \
                '(--ignore-unknown-gates)'--ignore-unknown-gates'[Pass over gates that Kubernetes does not know, as OpenShift'\''s kubelet does.]' \
                '(--help-kubelet)'--help-kubelet'[Explain the options that say what the kubelet is told, and exit.]' \
                '(--check)'--check='[Tell what these checks find no more, and what they find anew.]:config,state,audit:(config state audit)' \
                '(-j --jobs)'{-j+,--jobs=}'[Use N processes; by default one for each CPU.]:N: ' \
                '(--scheduler)'--scheduler='[Let the workers of a Dask scheduler do it, as tcp\://host\:8786, or local for workers on this machine (pip install '\''cpuctl\[fleet\]'\'').]:ADDRESS: ' \
                '(--exit-code)'--exit-code'[Exit 3 where something differs.]' \
                '(-o --output)'{-o+,--output=}'[Output format; jsonl is one node a line.]:table|wide|json|yaml|jsonl:(table wide json yaml jsonl)' \
                '(--no-color)'--no-color'[No colour, as with NO_COLOR set.]' \
                '(-q --quiet)'{-q,--quiet}'[Only the answer\: no notes on stderr.]' \
                '(--exit-zero)'--exit-zero'[Exit 0 also when the answer is no.]' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]' \
                '1:BEFORE:_files' \
                '2:AFTER:_files'
            ;;
        'fleet plan')
            _arguments \
                '*'{-f+,--filename=}'[Manifests\: files, directories, or - for stdin.]:PODS:_files' \
                '*'{-T+,--template=}'[A pod without YAML\: '\''web=4/4,2Gi x3'\'' are three of requests/limits, one amount stands for both; web=1/2 (less than the limit) and web=1/ (no limit) are Burstable, web alone is BestEffort.]:NAME[=CPU[,MEM]]: ' \
                '(--nodes)'--nodes='[Nodes, as kubectl get nodes -o json prints them\: they tell the release of kubelets whose recordings do not. Each recording is called as its node\: node7.tar.xz, or any name in a directory node7.]:FILE:_files' \
                '(--pods)'--pods='[The pods that run on the nodes, as kubectl get pods -A -o json prints them; those without a node do not count.]:FILE:_files' \
                '(--nrt)'--nrt='[NodeResourceTopologies, as kubectl get noderesourcetopologies -o json prints them.]:FILE:_files' \
                '(--devices)'--devices='[The devices of device plugins\: free and healthy ones by resource and NUMA node (schema\: cpuctl schema devices), or what the pod resources API answers to GetAllocatableResources and List.]:FILE:_files' \
                '(--driver-args)'--driver-args='[The flags of the driver dra.cpu, for pods with resource claims\: '\''--cpu-device-mode individual --reserved-cpus 0,32'\''. Without it, CPUs are grouped by NUMA node, and none is reserved.]:FLAGS: ' \
                '(--skip-api-server)'--skip-api-server'[Ask the kubelet also about pods that no API server would store.]' \
                '(--kubelet-config)'--kubelet-config='[The KubeletConfiguration; without it that of the recorded kubelet, with -m live of the running one (else /var/lib/kubelet/config.yaml), with their flags and drop-ins.]:FILE:_files' \
                '(--config-dir)'--config-dir='[The kubelet'\''s drop-in directory, as its flag of that name.]:DIR:_files -/' \
                '(--kubelet-args)'--kubelet-args='[The kubelet'\''s command line, or @FILE that holds it\: its flags win over files.]:'\''--FLAG=VALUE ...'\'': ' \
                '(--kubelet-version)'--kubelet-version='[The kubelet'\''s release, 1.27 to 1.38\: a minor, or with its patch (1.33.4), or @FILE with its Node (kubectl get node -o json).]:VERSION:(1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27)' \
                '(--feature-gates)'--feature-gates='[Gates on top of the configuration'\''s.]:A=true,B=false: _cpuctl_ask gates' \
                '(--ignore-unknown-gates)'--ignore-unknown-gates'[Pass over gates that Kubernetes does not know, as OpenShift'\''s kubelet does.]' \
                '(--help-kubelet)'--help-kubelet'[Explain the options that say what the kubelet is told, and exit.]' \
                '(--scheduler-plugin)'--scheduler-plugin='[Let the scheduler have a plug-in, noderesourcetopologymatch, and set it up.]:NAME[,...]: ' \
                '*'--drain='[Drain a node\: leave it out, and plan its pods elsewhere first, but for those of DaemonSets and static ones.]:NODE: ' \
                '*'--without='[Leave a node out, and all that runs there.]:NODE: ' \
                '(--repeat)'--repeat='[Plan the pods N times over; max\: as often as all of them are admitted. DaemonSets count once.]:N|max:(max)' \
                '(--policy)'--policy='[What if\: a policy (a plug-in) chooses CPUs in the kubelet'\''s place. NAME (cpuctl policies list has them) or FILE.py\:CLASS, and ,OPTION=VALUE for each of its options.]:POLICY:(static numa-allocation min-shared favour-cpus core-kinds koordinator katalyst)' \
                '(-j --jobs)'{-j+,--jobs=}'[Use N processes; by default one for each CPU.]:N: ' \
                '(--scheduler)'--scheduler='[Let the workers of a Dask scheduler do it, as tcp\://host\:8786, or local for workers on this machine (pip install '\''cpuctl\[fleet\]'\'').]:ADDRESS: ' \
                '(-o --output)'{-o+,--output=}'[Output format; jsonl is one pod a line.]:table|wide|json|yaml|jsonl:(table wide json yaml jsonl)' \
                '(--no-color)'--no-color'[No colour, as with NO_COLOR set.]' \
                '(-q --quiet)'{-q,--quiet}'[Only the answer\: no notes on stderr.]' \
                '(--exit-zero)'--exit-zero'[Exit 0 also when the answer is no.]' \
                '(-h --help)'{-h,--help}'[Show this message and exit.]' \
                '*:[RECORDINGS]...:_files'
            ;;
        'schema')
            _arguments \
                '(-h --help)'{-h,--help}'[Show this message and exit.]' \
                '1::[NAME]:(advice audit capture cgroupsapply cgroupsplan cgroupsshow checkpointchange checkpointdiff checkpointdump checkpointverify checkpointversions claimallocation configcheck configreserve configshow configversions defragmentation devices explanation fleetcheck fleetdiff fleetlist fleetplan messages nriplan nrireplay plan plancomparison podresources podsdiff podslint podsshow policies policydescription replay resize timeline topology)'
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
