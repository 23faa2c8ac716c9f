# shellcheck shell=bash
# Completion of cpuctl for bash 4.3 and newer: source this file, or put it into
# /usr/share/bash-completion/completions/cpuctl.
# Made from the command table by "cpuctl completion bash": change it there.

_cpuctl_verbs() {
    case $1 in
@VERBS@
        *) verbs='' ;;
    esac
}

_cpuctl_options() {
    case $1 in
@OPTIONS@
        *) options='' ;;
    esac
}

# Says what follows "COMMAND:OPTION", or is argument number N of "COMMAND:N"; empty for a flag.
_cpuctl_value() {
    case $1 in
@VALUES@
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
