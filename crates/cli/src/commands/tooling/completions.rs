//! `convoke completions`: what a shell needs to complete our command line.
//!
//! Commands and flags are in the script; names that change (runs, tasks, gates, presets, providers) it asks `convoke complete` for.

use crate::args::Cli;
use crate::console::Console;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use clap::CommandFactory;
use clap_complete::Shell;

/// Prints the script for a shell.
pub fn run(console: &Console, shell: Shell) -> Result<Exit, CommandFailure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "convoke", &mut script);
    console.data(&(String::from_utf8_lossy(&script).into_owned() + names(shell)))?;
    Ok(Exit::Success)
}

/// Asks for names first, and leaves everything else to the script before it.
fn names(shell: Shell) -> &'static str {
    match shell {
        Shell::Bash => BASH,
        Shell::Zsh => ZSH,
        Shell::Fish => FISH,
        _ => "",
    }
}

const BASH: &str = r#"
_convoke_names() {
    local names
    names=$("${COMP_WORDS[0]}" complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
    if [[ -n $names ]]; then
        local typed=${COMP_WORDS[COMP_CWORD]}
        [[ $typed == : ]] && typed=
        COMPREPLY=($(compgen -W "$names" -- "$typed"))
        return 0
    fi
    _convoke "$@"
}
complete -F _convoke_names -o bashdefault -o default convoke
"#;

const ZSH: &str = r#"
_convoke_names() {
    local -a names
    names=(${(f)"$(${words[1]} complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)"})
    if (( ${#names} )); then
        compadd -a names
    else
        _convoke "$@"
    fi
}
compdef _convoke_names convoke
"#;

const FISH: &str = r#"
function __convoke_names
    set -l words (commandline -opc) (commandline -ct)
    $words[1] complete -- $words[2..] 2>/dev/null
end
complete -c convoke -f -k -n 'count (__convoke_names)' -a '(__convoke_names)'
complete -c convoke -s p -l provider -x -a '(__convoke_names)'
"#;
