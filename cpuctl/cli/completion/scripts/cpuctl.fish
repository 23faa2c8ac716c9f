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

set -g __cpuctl_paths @PATHS@
set -g __cpuctl_values @VALUES@

complete -c cpuctl -f
@COMPLETIONS@
