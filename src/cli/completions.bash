
# Which archives there are is known to the program alone.
_statewarden_with_archives() {
    _statewarden "$@"
    if [[ "${COMP_WORDS[*]:1:COMP_CWORD-1}" =~ (^| )restore$ ]]; then
        local names
        names=$("$1" history 2>/dev/null | grep -oE '^[a-z]+-[0-9]{4}-[^ ]+')
        COMPREPLY+=($(compgen -W "$names" -- "${COMP_WORDS[COMP_CWORD]}"))
    fi
}
complete -F _statewarden_with_archives -o nosort -o bashdefault -o default statewarden
