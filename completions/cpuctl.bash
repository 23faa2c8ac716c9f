# shellcheck shell=bash
# Completion of cpuctl for bash 4.3 and newer: source this file, or put it into
# /usr/share/bash-completion/completions/cpuctl.
# Made from the command table by "cpuctl completion bash": change it there.

_cpuctl_verbs() {
    case $1 in
        '') verbs='plan explain advise resize pods replay policies topology config checkpoint audit top report watch cgroups nri dra capture fleet schema completion' ;;
        'pods') verbs='show diff lint' ;;
        'policies') verbs='list show new' ;;
        'topology') verbs='show map distances synthetic devices' ;;
        'config') verbs='reserve show check versions' ;;
        'checkpoint') verbs='dump verify diff migrate repair new versions' ;;
        'cgroups') verbs='show apply' ;;
        'nri') verbs='run' ;;
        'dra') verbs='slices allocate' ;;
        'fleet') verbs='list check diff plan report' ;;
        *) verbs='' ;;
    esac
}

_cpuctl_options() {
    case $1 in
        '') options='-V --version -h --help' ;;
        'plan') options='-f --filename -T --template -m --machine --state --pods --devices --assume-devices --driver-args --ephemeral-storage --memory --skip-apiserver --include-completed --kubelet-config --config-dir --kubelet-args --kubelet-version --feature-gates --ignore-unknown-gates --help-kubelet --policy --order --repeat --capacity --compare --svg --html --write-state --force --publisher -o --output --no-color -q --quiet --exit-zero -h --help' ;;
        'explain') options='--message -f --filename -T --template -m --machine --state --pods --events --devices --assume-devices --driver-args --ephemeral-storage --memory --skip-apiserver --include-completed --kubelet-config --config-dir --kubelet-args --kubelet-version --feature-gates --ignore-unknown-gates --help-kubelet --policy -o --output --no-color -q --quiet --exit-zero -h --help' ;;
        'advise') options='-f --filename -T --template -m --machine --state --pods --devices --assume-devices --driver-args --ephemeral-storage --memory --skip-apiserver --include-completed --kubelet-config --config-dir --kubelet-args --kubelet-version --feature-gates --ignore-unknown-gates --help-kubelet --defragment --budget --what-if --keep --snippet -o --output --no-color -q --quiet --exit-zero -h --help' ;;
        'resize') options='-f --filename -T --template -m --machine --state --pods --devices --assume-devices --driver-args --ephemeral-storage --memory --skip-apiserver --kubelet-config --config-dir --kubelet-args --kubelet-version --feature-gates --ignore-unknown-gates --apiserver-version --apiserver-feature-gates --help-kubelet --set --edited --policy --resize-semantics --preview --write-state --force -o --output --no-color -q --quiet --exit-zero -h --help' ;;
        'pods') options='-h --help' ;;
        'pods show') options='-f --filename -T --template -m --machine --memory --cgroup-version --oci-runtime --usage --kubelet-config --config-dir --kubelet-args --kubelet-version --feature-gates --ignore-unknown-gates --apiserver-version --apiserver-feature-gates --help-kubelet -o --output --no-color -q --quiet -h --help' ;;
        'pods diff') options='-f --filename -m --machine --memory --cgroup-version --oci-runtime --kubelet-config --kubelet-version --feature-gates --apiserver-version --apiserver-feature-gates --help-kubelet --to --to-feature-gates --exit-code -o --output --no-color -q --quiet -h --help' ;;
        'pods lint') options='-f --filename -m --machine --cgroup-version --kubelet-config --config-dir --kubelet-args --kubelet-version --feature-gates --ignore-unknown-gates --apiserver-version --apiserver-feature-gates --help-kubelet --static --strict -o --output --no-color -q --quiet --exit-zero -h --help' ;;
        'replay') options='-f --filename -m --machine --driver-args --skip-apiserver --kubelet-config --config-dir --kubelet-args --kubelet-version --feature-gates --ignore-unknown-gates --help-kubelet --until --follow --speed --new --policy --svg --force -o --output --no-color -q --quiet --exit-zero -h --help' ;;
        'policies') options='-h --help' ;;
        'policies list') options='-o --output --no-color -q --quiet -h --help' ;;
        'policies show') options='-o --output --no-color -q --quiet -h --help' ;;
        'policies new') options='--force -h --help' ;;
        'topology') options='-m --machine --kubelet-config --config-dir --kubelet-args --kubelet-version --help-kubelet --columns --cpus --numa-memory --svg --force --publisher -o --output --no-color -q --quiet -h --help' ;;
        'topology show') options='-m --machine --kubelet-config --config-dir --kubelet-args --kubelet-version --help-kubelet --columns --cpus --numa-memory --svg --force --publisher -o --output --no-color -q --quiet -h --help' ;;
        'topology map') options='-m --machine --cpus --svg --force -o --output --no-color -q --quiet -h --help' ;;
        'topology distances') options='-m --machine -o --output --no-color -q --quiet -h --help' ;;
        'topology synthetic') options='-m --machine -o --output --no-color -q --quiet -h --help' ;;
        'topology devices') options='-m --machine -o --output --no-color -q --quiet -h --help' ;;
        'config') options='-h --help' ;;
        'config reserve') options='-m --machine --cgroup-version --ephemeral-storage --memory --kubelet-config --config-dir --kubelet-args --kubelet-version --feature-gates --ignore-unknown-gates --help-kubelet --cpu-count --per-numa --whole-cores --keep-p-cores --spread --numa-node --snippet -o --output --no-color -q --quiet --exit-zero -h --help' ;;
        'config show') options='-m --machine --ephemeral-storage --memory --kubelet-config --config-dir --kubelet-args --kubelet-version --feature-gates --ignore-unknown-gates --help-kubelet -o --output --no-color -q --quiet -h --help' ;;
        'config check') options='-m --machine --cgroup-version --ephemeral-storage --memory --state --driver-args --kubelet-config --config-dir --kubelet-args --kubelet-version --feature-gates --ignore-unknown-gates --help-kubelet --strict -o --output --no-color -q --quiet --exit-zero -h --help' ;;
        'config versions') options='-f --filename -T --template -m --machine --memory --state --pods --kubelet-config --config-dir --kubelet-args --feature-gates --ignore-unknown-gates --help-kubelet --from --to --all -o --output --no-color -q --quiet -h --help' ;;
        'checkpoint') options='-h --help' ;;
        'checkpoint dump') options='--state -m --machine --pods --map --svg --force -o --output --no-color -q --quiet -h --help' ;;
        'checkpoint verify') options='--state -m --machine --pods --memory --pod-resources --kubelet-config --config-dir --kubelet-args --kubelet-version --feature-gates --ignore-unknown-gates --help-kubelet --strict -o --output --no-color -q --quiet --exit-zero -h --help' ;;
        'checkpoint diff') options='--pods --exit-code -o --output --no-color -q --quiet -h --help' ;;
        'checkpoint migrate') options='--state --pods -m --machine --memory --root --feature-gates --kubelet-config --config-dir --kubelet-args --help-kubelet --to -y --yes --force-kubelet-running --write-state --force --exit-code -o --output --no-color -q --quiet -h --help' ;;
        'checkpoint repair') options='--state -m --machine --pods --memory --root --kubelet-config --config-dir --kubelet-args --kubelet-version --feature-gates --ignore-unknown-gates --help-kubelet -y --yes --force-kubelet-running --write-state --force --exit-code -o --output --no-color -q --quiet -h --help' ;;
        'checkpoint new') options='--root -f --filename -T --template -m --machine --devices --assume-devices --driver-args --memory --kubelet-config --config-dir --kubelet-args --kubelet-version --feature-gates --ignore-unknown-gates --help-kubelet --force-kubelet-running --write-state --force -o --output --no-color -q --quiet -h --help' ;;
        'checkpoint versions') options='-o --output --no-color -q --quiet -h --help' ;;
        'audit') options='-m --machine --root --state --pods --pod-resources --kubelet-config --config-dir --kubelet-args --kubelet-version --feature-gates --ignore-unknown-gates --help-kubelet --check -o --output --no-color -q --quiet --exit-zero -h --help' ;;
        'top') options='-m --machine --root --state --pods --replay --kubelet-config --config-dir --kubelet-args --kubelet-version --feature-gates --ignore-unknown-gates --help-kubelet --interval --samples --once -o --output --record --no-color -q --quiet -h --help' ;;
        'report') options='--pod-resources --timeline -f --filename -T --template -m --machine --state --pods --devices --assume-devices --driver-args --ephemeral-storage --memory --skip-apiserver --include-completed --kubelet-config --config-dir --kubelet-args --kubelet-version --feature-gates --ignore-unknown-gates --help-kubelet --html --force -o --output --no-color -q --quiet --exit-zero -h --help' ;;
        'watch') options='--root --pods --pod-resources --kubelet-config --config-dir --kubelet-args --kubelet-version --feature-gates --ignore-unknown-gates --help-kubelet --check --every --full --settle --max-cpu --fail-on --for --textfile -o --output -q --quiet -h --help' ;;
        'cgroups') options='-h --help' ;;
        'cgroups show') options='-m --machine --root --state --pods --oci-runtime --kubelet-config --config-dir --kubelet-args --kubelet-version --feature-gates --ignore-unknown-gates --help-kubelet --exit-code -o --output --no-color -q --quiet -h --help' ;;
        'cgroups apply') options='-f --filename -m --machine --root --state --pods --kubelet-config --config-dir --kubelet-args --kubelet-version --feature-gates --ignore-unknown-gates --help-kubelet -y --yes --no-wait --quota --log --force-offline --force-reserved --force-exclusive --exit-code -o --output --no-color -q --quiet -h --help' ;;
        'nri') options='-h --help' ;;
        'nri run') options='--plan -m --machine --kubelet-config --config-dir --kubelet-args --kubelet-version --feature-gates --ignore-unknown-gates --help-kubelet --policy --state-file --socket --index --dry-run -o --output -q --quiet -h --help' ;;
        'dra') options='-h --help' ;;
        'dra slices') options='-m --machine --kubelet-config --config-dir --kubelet-args --kubelet-version --feature-gates --ignore-unknown-gates --help-kubelet --cpu-device-mode --group-by --reserved-cpus --expose-pcie-roots --publish-node-allocatable-resource-mapping --hostname-override -o --output --no-color -q --quiet -h --help' ;;
        'dra allocate') options='-f --filename -m --machine --kubelet-config --config-dir --kubelet-args --kubelet-version --feature-gates --ignore-unknown-gates --help-kubelet --cpu-device-mode --group-by --reserved-cpus --expose-pcie-roots --publish-node-allocatable-resource-mapping --hostname-override --fixed --exit-zero -o --output --no-color -q --quiet -h --help' ;;
        'capture') options='--root --anonymize --timestamp --force -o --output --no-color -q --quiet -h --help' ;;
        'fleet') options='-h --help' ;;
        'fleet list') options='-f --filename -T --template --nodes --resume --kubelet-config --config-dir --kubelet-args --kubelet-version --feature-gates --ignore-unknown-gates --help-kubelet -j --jobs --dask-scheduler --svg --html --force --publisher -o --output --no-color -q --quiet --exit-zero -h --help' ;;
        'fleet check') options='--nrt --pods --nodes --resume --kubelet-config --config-dir --kubelet-args --kubelet-version --feature-gates --ignore-unknown-gates --help-kubelet --check -j --jobs --dask-scheduler --strict -o --output --no-color -q --quiet --exit-zero -h --help' ;;
        'fleet diff') options='--nodes --nodes-before --pods --pods-before --resume --kubelet-config --config-dir --kubelet-args --kubelet-version --feature-gates --ignore-unknown-gates --help-kubelet --check -j --jobs --dask-scheduler --exit-code -o --output --no-color -q --quiet --exit-zero -h --help' ;;
        'fleet plan') options='-f --filename -T --template --nodes --pods --nrt --devices --driver-args --skip-apiserver --kubelet-config --config-dir --kubelet-args --kubelet-version --feature-gates --ignore-unknown-gates --help-kubelet --scheduler-plugin --drain --without --repeat --policy -j --jobs --dask-scheduler -o --output --no-color -q --quiet --exit-zero -h --help' ;;
        'fleet report') options='-f --filename -T --template --pods --nodes --kubelet-config --config-dir --kubelet-args --kubelet-version --feature-gates --ignore-unknown-gates --help-kubelet -j --jobs --html --force -o --output --no-color -q --quiet --exit-zero -h --help' ;;
        'schema') options='-h --help' ;;
        'completion') options='-h --help' ;;
        *) options='' ;;
    esac
}

# Says what follows "COMMAND:OPTION", or is argument number N of "COMMAND:N"; empty for a flag.
_cpuctl_value() {
    case $1 in
        'plan:-f' | \
        'plan:--filename' | \
        'plan:--state' | \
        'plan:--pods' | \
        'plan:--devices' | \
        'plan:--kubelet-config' | \
        'plan:--svg' | \
        'plan:--html' | \
        'plan:...' | \
        'explain:-f' | \
        'explain:--filename' | \
        'explain:--state' | \
        'explain:--pods' | \
        'explain:--events' | \
        'explain:--devices' | \
        'explain:--kubelet-config' | \
        'advise:-f' | \
        'advise:--filename' | \
        'advise:--state' | \
        'advise:--pods' | \
        'advise:--devices' | \
        'advise:--kubelet-config' | \
        'advise:...' | \
        'resize:-f' | \
        'resize:--filename' | \
        'resize:--state' | \
        'resize:--pods' | \
        'resize:--devices' | \
        'resize:--kubelet-config' | \
        'resize:--edited' | \
        'resize:...' | \
        'pods show:-f' | \
        'pods show:--filename' | \
        'pods show:--usage' | \
        'pods show:--kubelet-config' | \
        'pods show:...' | \
        'pods diff:-f' | \
        'pods diff:--filename' | \
        'pods diff:--kubelet-config' | \
        'pods diff:1' | \
        'pods diff:2' | \
        'pods lint:-f' | \
        'pods lint:--filename' | \
        'pods lint:--kubelet-config' | \
        'pods lint:...' | \
        'replay:-f' | \
        'replay:--filename' | \
        'replay:--kubelet-config' | \
        'replay:--svg' | \
        'replay:1' | \
        'policies new:1' | \
        'topology:--kubelet-config' | \
        'topology:--svg' | \
        'topology show:--kubelet-config' | \
        'topology show:--svg' | \
        'topology map:--svg' | \
        'config reserve:--kubelet-config' | \
        'config show:--kubelet-config' | \
        'config check:--state' | \
        'config check:--kubelet-config' | \
        'config versions:-f' | \
        'config versions:--filename' | \
        'config versions:--state' | \
        'config versions:--pods' | \
        'config versions:--kubelet-config' | \
        'checkpoint dump:--state' | \
        'checkpoint dump:--pods' | \
        'checkpoint dump:--svg' | \
        'checkpoint dump:1' | \
        'checkpoint verify:--state' | \
        'checkpoint verify:--pods' | \
        'checkpoint verify:--kubelet-config' | \
        'checkpoint verify:1' | \
        'checkpoint diff:--pods' | \
        'checkpoint diff:1' | \
        'checkpoint diff:2' | \
        'checkpoint migrate:--state' | \
        'checkpoint migrate:--pods' | \
        'checkpoint migrate:--kubelet-config' | \
        'checkpoint migrate:1' | \
        'checkpoint repair:--state' | \
        'checkpoint repair:--pods' | \
        'checkpoint repair:--kubelet-config' | \
        'checkpoint repair:1' | \
        'checkpoint new:-f' | \
        'checkpoint new:--filename' | \
        'checkpoint new:--devices' | \
        'checkpoint new:--kubelet-config' | \
        'checkpoint new:...' | \
        'audit:--state' | \
        'audit:--pods' | \
        'audit:--kubelet-config' | \
        'top:--state' | \
        'top:--pods' | \
        'top:--replay' | \
        'top:--kubelet-config' | \
        'top:--record' | \
        'report:--timeline' | \
        'report:-f' | \
        'report:--filename' | \
        'report:--state' | \
        'report:--pods' | \
        'report:--devices' | \
        'report:--kubelet-config' | \
        'report:--html' | \
        'watch:--pods' | \
        'watch:--kubelet-config' | \
        'watch:--textfile' | \
        'cgroups show:--state' | \
        'cgroups show:--pods' | \
        'cgroups show:--kubelet-config' | \
        'cgroups apply:-f' | \
        'cgroups apply:--filename' | \
        'cgroups apply:--state' | \
        'cgroups apply:--pods' | \
        'cgroups apply:--kubelet-config' | \
        'cgroups apply:--log' | \
        'nri run:--plan' | \
        'nri run:--kubelet-config' | \
        'nri run:--state-file' | \
        'nri run:--socket' | \
        'dra slices:--kubelet-config' | \
        'dra allocate:-f' | \
        'dra allocate:--filename' | \
        'dra allocate:--kubelet-config' | \
        'dra allocate:...' | \
        'capture:1' | \
        'fleet list:-f' | \
        'fleet list:--filename' | \
        'fleet list:--nodes' | \
        'fleet list:--resume' | \
        'fleet list:--kubelet-config' | \
        'fleet list:--svg' | \
        'fleet list:--html' | \
        'fleet list:...' | \
        'fleet check:--nrt' | \
        'fleet check:--pods' | \
        'fleet check:--nodes' | \
        'fleet check:--resume' | \
        'fleet check:--kubelet-config' | \
        'fleet check:...' | \
        'fleet diff:--nodes' | \
        'fleet diff:--nodes-before' | \
        'fleet diff:--pods' | \
        'fleet diff:--pods-before' | \
        'fleet diff:--resume' | \
        'fleet diff:--kubelet-config' | \
        'fleet diff:1' | \
        'fleet diff:2' | \
        'fleet plan:-f' | \
        'fleet plan:--filename' | \
        'fleet plan:--nodes' | \
        'fleet plan:--pods' | \
        'fleet plan:--nrt' | \
        'fleet plan:--devices' | \
        'fleet plan:--kubelet-config' | \
        'fleet plan:...' | \
        'fleet report:-f' | \
        'fleet report:--filename' | \
        'fleet report:--pods' | \
        'fleet report:--nodes' | \
        'fleet report:--kubelet-config' | \
        'fleet report:...') value='file' ;;
        'plan:-T' | \
        'plan:--template' | \
        'plan:--driver-args' | \
        'plan:--ephemeral-storage' | \
        'plan:--memory' | \
        'plan:--kubelet-args' | \
        'plan:--compare' | \
        'plan:--publisher' | \
        'explain:--message' | \
        'explain:-T' | \
        'explain:--template' | \
        'explain:--driver-args' | \
        'explain:--ephemeral-storage' | \
        'explain:--memory' | \
        'explain:--kubelet-args' | \
        'advise:-T' | \
        'advise:--template' | \
        'advise:--driver-args' | \
        'advise:--ephemeral-storage' | \
        'advise:--memory' | \
        'advise:--kubelet-args' | \
        'advise:--budget' | \
        'advise:--snippet' | \
        'resize:-T' | \
        'resize:--template' | \
        'resize:--driver-args' | \
        'resize:--ephemeral-storage' | \
        'resize:--memory' | \
        'resize:--kubelet-args' | \
        'pods show:-T' | \
        'pods show:--template' | \
        'pods show:--memory' | \
        'pods show:--oci-runtime' | \
        'pods show:--kubelet-args' | \
        'pods diff:--memory' | \
        'pods diff:--oci-runtime' | \
        'pods lint:--kubelet-args' | \
        'replay:--driver-args' | \
        'replay:--kubelet-args' | \
        'replay:--until' | \
        'replay:--speed' | \
        'topology:--kubelet-args' | \
        'topology:--publisher' | \
        'topology show:--kubelet-args' | \
        'topology show:--publisher' | \
        'config reserve:--ephemeral-storage' | \
        'config reserve:--memory' | \
        'config reserve:--kubelet-args' | \
        'config reserve:--cpu-count' | \
        'config reserve:--numa-node' | \
        'config show:--ephemeral-storage' | \
        'config show:--memory' | \
        'config show:--kubelet-args' | \
        'config check:--ephemeral-storage' | \
        'config check:--memory' | \
        'config check:--driver-args' | \
        'config check:--kubelet-args' | \
        'config versions:-T' | \
        'config versions:--template' | \
        'config versions:--memory' | \
        'config versions:--kubelet-args' | \
        'checkpoint verify:--memory' | \
        'checkpoint verify:--pod-resources' | \
        'checkpoint verify:--kubelet-args' | \
        'checkpoint migrate:--memory' | \
        'checkpoint migrate:--kubelet-args' | \
        'checkpoint repair:--memory' | \
        'checkpoint repair:--kubelet-args' | \
        'checkpoint new:-T' | \
        'checkpoint new:--template' | \
        'checkpoint new:--driver-args' | \
        'checkpoint new:--memory' | \
        'checkpoint new:--kubelet-args' | \
        'audit:--pod-resources' | \
        'audit:--kubelet-args' | \
        'top:--kubelet-args' | \
        'top:--interval' | \
        'top:--samples' | \
        'report:--pod-resources' | \
        'report:-T' | \
        'report:--template' | \
        'report:--driver-args' | \
        'report:--ephemeral-storage' | \
        'report:--memory' | \
        'report:--kubelet-args' | \
        'watch:--pod-resources' | \
        'watch:--kubelet-args' | \
        'watch:--every' | \
        'watch:--full' | \
        'watch:--settle' | \
        'watch:--max-cpu' | \
        'watch:--for' | \
        'cgroups show:--oci-runtime' | \
        'cgroups show:--kubelet-args' | \
        'cgroups apply:--kubelet-args' | \
        'nri run:--kubelet-args' | \
        'nri run:--index' | \
        'dra slices:--kubelet-args' | \
        'dra slices:--hostname-override' | \
        'dra allocate:--kubelet-args' | \
        'dra allocate:--hostname-override' | \
        'fleet list:-T' | \
        'fleet list:--template' | \
        'fleet list:--kubelet-args' | \
        'fleet list:-j' | \
        'fleet list:--jobs' | \
        'fleet list:--dask-scheduler' | \
        'fleet list:--publisher' | \
        'fleet check:--kubelet-args' | \
        'fleet check:-j' | \
        'fleet check:--jobs' | \
        'fleet check:--dask-scheduler' | \
        'fleet diff:--kubelet-args' | \
        'fleet diff:-j' | \
        'fleet diff:--jobs' | \
        'fleet diff:--dask-scheduler' | \
        'fleet plan:-T' | \
        'fleet plan:--template' | \
        'fleet plan:--driver-args' | \
        'fleet plan:--kubelet-args' | \
        'fleet plan:--scheduler-plugin' | \
        'fleet plan:--drain' | \
        'fleet plan:--without' | \
        'fleet plan:-j' | \
        'fleet plan:--jobs' | \
        'fleet plan:--dask-scheduler' | \
        'fleet report:-T' | \
        'fleet report:--template' | \
        'fleet report:--kubelet-args' | \
        'fleet report:-j' | \
        'fleet report:--jobs') value='nothing' ;;
        'plan:-m' | \
        'plan:--machine' | \
        'explain:-m' | \
        'explain:--machine' | \
        'advise:-m' | \
        'advise:--machine' | \
        'resize:-m' | \
        'resize:--machine' | \
        'pods show:-m' | \
        'pods show:--machine' | \
        'pods diff:-m' | \
        'pods diff:--machine' | \
        'pods lint:-m' | \
        'pods lint:--machine' | \
        'replay:-m' | \
        'replay:--machine' | \
        'topology:-m' | \
        'topology:--machine' | \
        'topology show:-m' | \
        'topology show:--machine' | \
        'topology show:1' | \
        'topology map:-m' | \
        'topology map:--machine' | \
        'topology map:1' | \
        'topology distances:-m' | \
        'topology distances:--machine' | \
        'topology distances:1' | \
        'topology synthetic:-m' | \
        'topology synthetic:--machine' | \
        'topology synthetic:1' | \
        'topology devices:-m' | \
        'topology devices:--machine' | \
        'topology devices:1' | \
        'config reserve:-m' | \
        'config reserve:--machine' | \
        'config reserve:1' | \
        'config show:-m' | \
        'config show:--machine' | \
        'config show:1' | \
        'config check:-m' | \
        'config check:--machine' | \
        'config check:1' | \
        'config versions:-m' | \
        'config versions:--machine' | \
        'config versions:1' | \
        'checkpoint dump:-m' | \
        'checkpoint dump:--machine' | \
        'checkpoint verify:-m' | \
        'checkpoint verify:--machine' | \
        'checkpoint migrate:-m' | \
        'checkpoint migrate:--machine' | \
        'checkpoint repair:-m' | \
        'checkpoint repair:--machine' | \
        'checkpoint new:-m' | \
        'checkpoint new:--machine' | \
        'audit:-m' | \
        'audit:--machine' | \
        'audit:1' | \
        'top:-m' | \
        'top:--machine' | \
        'report:-m' | \
        'report:--machine' | \
        'report:1' | \
        'cgroups show:-m' | \
        'cgroups show:--machine' | \
        'cgroups show:1' | \
        'cgroups apply:-m' | \
        'cgroups apply:--machine' | \
        'nri run:-m' | \
        'nri run:--machine' | \
        'dra slices:-m' | \
        'dra slices:--machine' | \
        'dra slices:1' | \
        'dra allocate:-m' | \
        'dra allocate:--machine') value='machine' ;;
        'plan:--config-dir' | \
        'plan:--write-state' | \
        'explain:--config-dir' | \
        'advise:--config-dir' | \
        'resize:--config-dir' | \
        'resize:--write-state' | \
        'pods show:--config-dir' | \
        'pods lint:--config-dir' | \
        'replay:--config-dir' | \
        'topology:--config-dir' | \
        'topology show:--config-dir' | \
        'config reserve:--config-dir' | \
        'config show:--config-dir' | \
        'config check:--config-dir' | \
        'config versions:--config-dir' | \
        'checkpoint verify:--config-dir' | \
        'checkpoint migrate:--root' | \
        'checkpoint migrate:--config-dir' | \
        'checkpoint migrate:--write-state' | \
        'checkpoint repair:--root' | \
        'checkpoint repair:--config-dir' | \
        'checkpoint repair:--write-state' | \
        'checkpoint new:--root' | \
        'checkpoint new:--config-dir' | \
        'checkpoint new:--write-state' | \
        'audit:--root' | \
        'audit:--config-dir' | \
        'top:--root' | \
        'top:--config-dir' | \
        'report:--config-dir' | \
        'watch:--root' | \
        'watch:--config-dir' | \
        'cgroups show:--root' | \
        'cgroups show:--config-dir' | \
        'cgroups apply:--root' | \
        'cgroups apply:--config-dir' | \
        'nri run:--config-dir' | \
        'dra slices:--config-dir' | \
        'dra allocate:--config-dir' | \
        'capture:--root' | \
        'fleet list:--config-dir' | \
        'fleet check:--config-dir' | \
        'fleet diff:--config-dir' | \
        'fleet plan:--config-dir' | \
        'fleet report:--config-dir' | \
        'fleet report:--html') value='directory' ;;
        'plan:--kubelet-version' | \
        'explain:--kubelet-version' | \
        'advise:--kubelet-version' | \
        'resize:--kubelet-version' | \
        'resize:--apiserver-version' | \
        'pods show:--kubelet-version' | \
        'pods show:--apiserver-version' | \
        'pods diff:--kubelet-version' | \
        'pods diff:--apiserver-version' | \
        'pods diff:--to' | \
        'pods lint:--kubelet-version' | \
        'pods lint:--apiserver-version' | \
        'replay:--kubelet-version' | \
        'topology:--kubelet-version' | \
        'topology show:--kubelet-version' | \
        'config reserve:--kubelet-version' | \
        'config show:--kubelet-version' | \
        'config check:--kubelet-version' | \
        'config versions:--from' | \
        'config versions:--to' | \
        'checkpoint verify:--kubelet-version' | \
        'checkpoint migrate:--to' | \
        'checkpoint repair:--kubelet-version' | \
        'checkpoint new:--kubelet-version' | \
        'audit:--kubelet-version' | \
        'top:--kubelet-version' | \
        'report:--kubelet-version' | \
        'watch:--kubelet-version' | \
        'cgroups show:--kubelet-version' | \
        'cgroups apply:--kubelet-version' | \
        'nri run:--kubelet-version' | \
        'dra slices:--kubelet-version' | \
        'dra allocate:--kubelet-version' | \
        'fleet list:--kubelet-version' | \
        'fleet check:--kubelet-version' | \
        'fleet diff:--kubelet-version' | \
        'fleet plan:--kubelet-version' | \
        'fleet report:--kubelet-version') value='words 1.38 1.37 1.36 1.35 1.34 1.33 1.32 1.31 1.30 1.29 1.28 1.27' ;;
        'plan:--feature-gates' | \
        'explain:--feature-gates' | \
        'advise:--feature-gates' | \
        'resize:--feature-gates' | \
        'resize:--apiserver-feature-gates' | \
        'pods show:--feature-gates' | \
        'pods show:--apiserver-feature-gates' | \
        'pods diff:--feature-gates' | \
        'pods diff:--apiserver-feature-gates' | \
        'pods diff:--to-feature-gates' | \
        'pods lint:--feature-gates' | \
        'pods lint:--apiserver-feature-gates' | \
        'replay:--feature-gates' | \
        'config reserve:--feature-gates' | \
        'config show:--feature-gates' | \
        'config check:--feature-gates' | \
        'config versions:--feature-gates' | \
        'checkpoint verify:--feature-gates' | \
        'checkpoint migrate:--feature-gates' | \
        'checkpoint repair:--feature-gates' | \
        'checkpoint new:--feature-gates' | \
        'audit:--feature-gates' | \
        'top:--feature-gates' | \
        'report:--feature-gates' | \
        'watch:--feature-gates' | \
        'cgroups show:--feature-gates' | \
        'cgroups apply:--feature-gates' | \
        'nri run:--feature-gates' | \
        'dra slices:--feature-gates' | \
        'dra allocate:--feature-gates' | \
        'fleet list:--feature-gates' | \
        'fleet check:--feature-gates' | \
        'fleet diff:--feature-gates' | \
        'fleet plan:--feature-gates' | \
        'fleet report:--feature-gates') value='gates' ;;
        'plan:--policy' | \
        'explain:--policy' | \
        'resize:--policy' | \
        'replay:--policy' | \
        'policies show:1' | \
        'nri run:--policy' | \
        'fleet plan:--policy') value='words static numa-allocation min-shared favour-cpus core-kinds koordinator katalyst' ;;
        'plan:--order') value='words given priority qos largest-first' ;;
        'plan:--repeat' | \
        'fleet plan:--repeat') value='words max' ;;
        'plan:-o' | \
        'plan:--output') value='words table wide json yaml prom nrt nri memory-qos balloons crictl systemd' ;;
        'explain:-o' | \
        'explain:--output' | \
        'advise:-o' | \
        'advise:--output' | \
        'resize:-o' | \
        'resize:--output' | \
        'policies list:-o' | \
        'policies list:--output' | \
        'policies show:-o' | \
        'policies show:--output' | \
        'topology map:-o' | \
        'topology map:--output' | \
        'topology distances:-o' | \
        'topology distances:--output' | \
        'topology synthetic:-o' | \
        'topology synthetic:--output' | \
        'topology devices:-o' | \
        'topology devices:--output' | \
        'config reserve:-o' | \
        'config reserve:--output' | \
        'config show:-o' | \
        'config show:--output' | \
        'config check:-o' | \
        'config check:--output' | \
        'config versions:-o' | \
        'config versions:--output' | \
        'checkpoint diff:-o' | \
        'checkpoint diff:--output' | \
        'checkpoint migrate:-o' | \
        'checkpoint migrate:--output' | \
        'checkpoint repair:-o' | \
        'checkpoint repair:--output' | \
        'checkpoint new:-o' | \
        'checkpoint new:--output' | \
        'checkpoint versions:-o' | \
        'checkpoint versions:--output' | \
        'report:-o' | \
        'report:--output' | \
        'cgroups apply:-o' | \
        'cgroups apply:--output' | \
        'dra slices:-o' | \
        'dra slices:--output' | \
        'dra allocate:-o' | \
        'dra allocate:--output' | \
        'capture:-o' | \
        'capture:--output' | \
        'fleet report:-o' | \
        'fleet report:--output') value='words table wide json yaml' ;;
        'explain:1') value='pod' ;;
        'advise:--keep') value='words cpuManagerPolicy cpuManagerPolicyOptions reservedSystemCPUs topologyManagerPolicy topologyManagerScope topologyManagerPolicyOptions memoryManagerPolicy full-pcpus-only distribute-cpus-across-numa align-by-socket distribute-cpus-across-cores strict-cpu-reservation prefer-align-cpus-by-uncorecache prefer-closest-numa-nodes' ;;
        'resize:--set') value='resize' ;;
        'resize:--resize-semantics') value='words kep reference' ;;
        'pods show:--cgroup-version' | \
        'pods diff:--cgroup-version' | \
        'pods lint:--cgroup-version' | \
        'config reserve:--cgroup-version' | \
        'config check:--cgroup-version') value='words 1 2' ;;
        'pods show:-o' | \
        'pods show:--output' | \
        'pods diff:-o' | \
        'pods diff:--output' | \
        'pods lint:-o' | \
        'pods lint:--output' | \
        'top:-o' | \
        'top:--output' | \
        'cgroups show:-o' | \
        'cgroups show:--output' | \
        'fleet diff:-o' | \
        'fleet diff:--output' | \
        'fleet plan:-o' | \
        'fleet plan:--output') value='words table wide json yaml jsonl' ;;
        'replay:-o' | \
        'replay:--output') value='words table wide json yaml jsonl nri' ;;
        'topology:--columns' | \
        'topology show:--columns') value='columns' ;;
        'topology:--cpus' | \
        'topology show:--cpus' | \
        'topology map:--cpus' | \
        'dra slices:--reserved-cpus' | \
        'dra allocate:--reserved-cpus') value='cpus' ;;
        'topology:-o' | \
        'topology:--output' | \
        'topology show:-o' | \
        'topology show:--output') value='words table wide json yaml lscpu numactl hwloc-xml nrt' ;;
        'config reserve:--spread') value='words even proportional one-node' ;;
        'checkpoint dump:-o' | \
        'checkpoint dump:--output' | \
        'checkpoint verify:-o' | \
        'checkpoint verify:--output') value='words table wide json yaml prom' ;;
        'audit:--check' | \
        'watch:--check' | \
        'fleet check:--check' | \
        'fleet diff:--check') value='checks' ;;
        'audit:-o' | \
        'audit:--output') value='words table wide json yaml jsonl plan prom' ;;
        'watch:--fail-on') value='words error warning note' ;;
        'watch:-o' | \
        'watch:--output') value='words lines jsonl' ;;
        'cgroups apply:...') value='container' ;;
        'nri run:-o' | \
        'nri run:--output') value='words log jsonl' ;;
        'dra slices:--cpu-device-mode' | \
        'dra allocate:--cpu-device-mode') value='words grouped individual' ;;
        'dra slices:--group-by' | \
        'dra allocate:--group-by') value='words numanode socket machine' ;;
        'fleet list:-o' | \
        'fleet list:--output') value='words table wide json yaml jsonl prom nrt' ;;
        'fleet check:-o' | \
        'fleet check:--output') value='words table wide json yaml jsonl prom' ;;
        'schema:1') value='words advice audit capture cgroupsapply cgroupsplan cgroupsshow checkpointchange checkpointdiff checkpointdump checkpointverify checkpointversions claimallocation configcheck configreserve configshow configversions defragmentation devices explanation fleetcheck fleetdiff fleetlist fleetplan fleetreport messages nrievent nriplan nrireplay plan plancomparison podresources podsdiff podslint podsshow policies policydescription replay report resize timeline top topology watchevent' ;;
        'completion:1') value='words bash zsh fish' ;;
        *) value='' ;;
    esac
}

# Puts the words before the cursor together again: bash takes them apart at ":" and "=", too.
_cpuctl_split() {
    local rest=${COMP_LINE:0:COMP_POINT} gap word i
    words=()
    for ((i = 0; i <= COMP_CWORD; i++)); do
        gap=${rest%%[![:space:]]*}
        rest=${rest#"$gap"}
        word=${COMP_WORDS[i]}
        ((i < COMP_CWORD)) || word=$rest
        rest=${rest#"$word"}
        if [[ -z $gap && ${#words[@]} -gt 0 ]]; then
            words[-1]+=$word
        else
            words+=("$word")
        fi
    done
    current=${words[-1]}
    unset 'words[-1]'
}

# Offers words that begin with what was typed. Nothing here is ever expanded or evaluated.
_cpuctl_offer() {
    local word
    for word in "$@"; do
        if [[ $word == "$typed"* ]]; then
            COMPREPLY+=("${word#"$before"}")
        fi
    done
    if [[ ${COMPREPLY[0]-} == *[=:/,] ]]; then
        compopt -o nospace
    fi
}

_cpuctl_ask() {
    local -a answer
    mapfile -t answer < <(command cpuctl __complete "$1" bash "${words[@]}" "$typed" 2>/dev/null </dev/null)
    _cpuctl_offer "${answer[@]}"
}

_cpuctl_machine() {
    case $typed in
        synthetic:*) _cpuctl_ask machine ;;
        '')
            mapfile -t COMPREPLY < <(compgen -f)
            COMPREPLY+=(live synthetic:)
            compopt -o filenames -o nospace
            ;;
        *)
            _cpuctl_offer live synthetic:
            if [[ ${#COMPREPLY[@]} -eq 0 ]]; then
                compopt -o default
            fi
            ;;
    esac
}

_cpuctl_complete_value() {
    local -a known
    # What is typed between quotes is a word of its own to bash; else it sees what follows the last of these.
    typed=$current before=''
    case $typed in
        [\'\"]*) typed=${typed:1} ;;
        *[=:]*) before=${typed%"${typed##*["${COMP_WORDBREAKS//[^=:]/}x"]}"} ;;
    esac
    case $value in
        words\ *)
            read -ra known <<<"${value#words }"
            _cpuctl_offer "${known[@]}"
            ;;
        file) compopt -o default ;;
        directory) compopt -o dirnames ;;
        machine) _cpuctl_machine ;;
        nothing) ;;
        *) _cpuctl_ask "$value" ;;
    esac
}

_cpuctl() {
    local IFS=$' \t\n' LC_ALL=C
    local current path='' verbs='' options='' value='' typed='' before='' word number=1 plain=''
    local -a words known
    COMPREPLY=()
    _cpuctl_split
    _cpuctl_verbs ''
    for word in "${words[@]:1}"; do
        if [[ -n $value ]]; then
            value=''
        elif [[ -n $plain ]]; then
            ((number += 1))
        elif [[ $word == -- ]]; then
            plain=yes
        elif [[ $word == -* ]]; then
            _cpuctl_value "$path:$word"
        elif [[ " $verbs " == *" $word "* ]]; then
            path+="${path:+ }$word"
            _cpuctl_verbs "$path"
        else
            ((number += 1))
        fi
    done
    if [[ -n $value ]]; then
        _cpuctl_complete_value
    elif [[ -z $plain && $current == --*=* ]]; then
        _cpuctl_value "$path:${current%%=*}"
        current=${current#*=}
        _cpuctl_complete_value
    elif [[ -z $plain && $current == -* ]]; then
        _cpuctl_options "$path"
        read -ra known <<<"$options"
        typed=$current
        _cpuctl_offer "${known[@]}"
    elif [[ -n $verbs ]]; then
        read -ra known <<<"$verbs"
        typed=$current
        _cpuctl_offer "${known[@]}"
    else
        _cpuctl_value "$path:$number"
        if [[ -z $value ]]; then
            _cpuctl_value "$path:..."
        fi
        _cpuctl_complete_value
    fi
}

complete -F _cpuctl cpuctl
