#!/bin/sh
# Run in a guest: makes it a node with one pinned pod, then keeps what cpuctl and other tools print there.
# $1 is a CPU to stop, or empty.
set -eu

# keep NAME COMMAND: stdout, stderr and exit status of a command become files in /out.
keep() {
    name=$1
    shift
    code=0
    "$@" >"/out/$name" 2>"/out/$name.stderr" || code=$?
    echo "$code" >"/out/$name.code"
}

pin_a_pod() {
    cd /sys/fs/cgroup
    echo +cpuset >cgroup.subtree_control
    for group in kubepods.slice kubepods-pod1.slice; do
        mkdir $group
        cd $group
        echo +cpuset >cgroup.subtree_control
    done
    mkdir cri-containerd-1.scope
    cd cri-containerd-1.scope
    echo 2-3 >cpuset.cpus
    sleep 1000 &
    echo $! >cgroup.procs
    cd /share
}

[ -z "$1" ] || echo 0 >"/sys/devices/system/cpu/cpu$1/online"
mkdir -p /var/lib/kubelet
cp kubelet.yaml /var/lib/kubelet/config.yaml
pin_a_pod

keep lscpu.txt lscpu --online --extended=CPU,NODE,SOCKET,CORE,CACHE
keep numactl.txt numactl --hardware
keep topology.json python3 -m cpuctl topology show -m live -o json
keep distances.txt python3 -m cpuctl topology distances -m live
keep plan.json python3 -m cpuctl plan -m live -T 'web=2/2,64Mi' --kubelet-config kubelet.yaml -o json
keep capture.json python3 -m cpuctl capture /out/node.tar.xz -o json
