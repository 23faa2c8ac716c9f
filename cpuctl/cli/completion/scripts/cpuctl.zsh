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
@VERBS@
    esac
    _describe -t commands 'command' verbs
}

_cpuctl_run() {
    local curcontext=$curcontext command=$1 verb state line
    local -A opt_args
    case $command in
@COMMANDS@
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
