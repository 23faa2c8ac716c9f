"""What an API server says of a pod that it does not store, or does not change."""

from __future__ import annotations

from cpuctl.messages.message import Message, Speaker, Text

_LINT = "cpuctl pods lint -f PODS"

OBJECTS = (
    Message(
        code="huge-pages-alone",
        speaker=Speaker.API_SERVER,
        texts=(
            Text("{field:object}: Forbidden: HugePages require cpu or memory"),
            Text(
                "{field:object}: Invalid value: {value:quoted}: {amount:rest} is not positive integer "
                "multiple of {resource:word}"
            ),
            Text("{field:object}: Required value: Limit must be set for non overcommitable resources"),
        ),
        meaning="huge pages and devices are asked for in whole pieces, with a limit that equals the "
        "request, and huge pages beside cpu or memory",
        fix="set the limit, and a multiple of the page size",
        commands=(_LINT,),
    ),
    Message(
        code="request-above-limit",
        speaker=Speaker.API_SERVER,
        texts=(
            Text("{field:object}: Invalid value: {value:quoted}: must be less than or equal to {bound:rest}"),
            Text("{field:object}: Invalid value: {value:quoted}: must be equal to {bound:rest}"),
            Text(
                "{field:object}: Invalid value: {value:quoted}: must be greater than or equal to {bound:rest}"
            ),
        ),
        meaning="a request is above its limit, or the containers' sum and the pod's own amount do not fit",
        fix="raise the limit or lower the request",
        commands=(_LINT,),
    ),
    Message(
        code="pod-refused",
        speaker=Speaker.API_SERVER,
        texts=(
            Text("{field:object}: Invalid value: {cause:rest}"),
            Text("{field:object}: Required value: {cause:rest}"),
            Text("{field:object}: Required value"),
            Text("{field:object}: Forbidden: {cause:rest}"),
            Text("{field:object}: Unsupported value: {cause:rest}"),
            Text("{field:object}: Duplicate value: {cause:rest}"),
            Text("{field:object}: Not found: {cause:rest}"),
            Text("{field:object}: Too long: {cause:rest}"),
            Text("quantities must match the regular expression"),
            Text("unable to parse quantity's suffix"),
        ),
        meaning="the API server does not store the pod: a field has no value that it takes",
        fix="correct the field that the message names",
        commands=(_LINT,),
        general=True,
    ),
    Message(
        code="exceeded-quota",
        speaker=Speaker.API_SERVER,
        texts=(Text("is forbidden: exceeded quota: {figures:rest}"), Text("is forbidden: {cause:rest}")),
        meaning="a ResourceQuota or LimitRange of the namespace does not allow the pod",
        commands=(f"{_LINT} -f NAMESPACE_OBJECTS",),
        general=True,
    ),
)
