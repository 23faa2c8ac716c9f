#!/bin/sh
# Runs as a service under systemd in a guest: a node's first start, its metrics, and its failures.
# Every step leaves NAME.code and NAME.txt in /out, the last one a file done.
set -u
exec 2>/out/bootstrap.stderr

step() {
    name=$1
    shift
    "$@" >"/out/$name.txt" 2>&1
    echo $? >"/out/$name.code"
}
wait_for() {
    tries=0
    until [ -e "$1" ] || [ $((tries += 1)) -gt 90 ]; do sleep 1; done
    # The recording appears at once, but its unit ends a little later.
    while systemctl is-active --quiet cpuctl-capture@kubelet; do sleep 1; done
    ls -l "$1"
}
configure() {
    printf 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\ncpuManagerPolicy: %s\n' "$1" \
        >/var/lib/kubelet/config.yaml
}
stop_kubelet() { systemctl stop kubelet; systemctl reset-failed; }

mkdir -p /etc/default /var/lib/kubelet /var/lib/prometheus/node-exporter
# The kubelet of this machine is a substitute that does not report its release.
inputs='--config-dir /etc/kubernetes/kubelet.conf.d --kubelet-version 1.36'
settings() { printf 'CPUCTL_SECONDS=300\nCPUCTL_INPUTS="%s"\n' "$1" >/etc/default/cpuctl; }
settings "$inputs"
configure static
step enable systemctl enable cpuctl-reserve.service

step first-start systemctl start kubelet
step reserved cat /etc/kubernetes/kubelet.conf.d/90-cpuctl-reserved.conf
step reserve-again systemctl start cpuctl-reserve
step reserve-condition systemctl show --property ConditionResult cpuctl-reserve

# shellcheck disable=SC2086  # options are words
step state cpuctl checkpoint new -q $inputs --write-state /var/lib/kubelet
step metrics systemctl start cpuctl-metrics.service
# Under emulation, an audit takes longer than on any real machine.
mkdir -p /run/systemd/system/cpuctl-watch.service.d
printf '[Service]\nTimeoutStartSec=infinity\nWatchdogSec=0\n' >/run/systemd/system/cpuctl-watch.service.d/slow.conf
systemctl daemon-reload
step watch systemctl start cpuctl-watch.service
step watch-state systemctl is-active cpuctl-watch.service
step watch-stop systemctl stop cpuctl-watch.service
step watch-result systemctl show --property Result --value cpuctl-watch.service
cp /var/lib/prometheus/node-exporter/* /out/
step timer systemctl start cpuctl-metrics.timer
step timers systemctl list-timers --all --no-legend
stop_kubelet

configure none
step refused-start systemctl start kubelet
step refused-recording wait_for /var/lib/cpuctl/kubelet.tar.gz
cp /var/lib/cpuctl/kubelet.tar.gz /out/refused.tar.gz
stop_kubelet

settings --no-such-option
step start-without-answer systemctl start kubelet
stop_kubelet

settings "$inputs"
configure static
rm /var/lib/cpuctl/kubelet.tar.gz
touch /run/kubelet-fails
step failing-start systemctl start kubelet
step failure-recording wait_for /var/lib/cpuctl/kubelet.tar.gz
recording=$(stat -c %i /var/lib/cpuctl/kubelet.tar.gz)
systemctl start cpuctl-capture@kubelet
step recorded-again test "$(stat -c %i /var/lib/cpuctl/kubelet.tar.gz)" != "$recording"
stop_kubelet
touch /out/done
