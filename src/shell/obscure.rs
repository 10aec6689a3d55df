//! What keeps a command from being what its text says: a program under a path of its own, a search
//! path that was changed, options that run code. It matters where the text decides what may write.

use super::args::Args;
use super::test_tools;
use crate::base::env;
use crate::base::text::is_in;

/// Where systems have their programs.
const SYSTEM_DIRS: &str = "/bin /sbin /usr/bin /usr/sbin /usr/local/bin /opt/homebrew/bin";

/// Builtins that change what a name runs.
const RENAMING: &str = "alias enable hash";

/// Variables by which interpreters, git and the shell load code or name a program that they run,
/// beside those that tests heed.
const LOADING: &str = "BROWSER CDPATH EDITOR HOME IFS LESS LESSCLOSE LESSOPEN MANPAGER NODE_OPTIONS NODE_PATH PAGER \
    PERL5LIB PERL5OPT PYTHONHOME PYTHONPATH PYTHONSTARTUP RUBYLIB RUBYOPT SHELL SSH_ASKPASS VISUAL";

/// Options of git that are about where it works, or how it prints.
const GIT_PLACES: &str = "C no-pager P";

/// Options by which a verb of git runs a program.
const GIT_RUNS: &str = "exec ext-diff open-files-in-pager receive-pack upload-pack";

/// Programs that run the one behind them as it is.
const PLAIN_WRAPPERS: &str = "builtin chronic command coproc doas env exec flock ionice nice nohup setsid stdbuf \
    sudo time timeout xargs";

/// Whether a path may lead to another program than its base name says.
pub(super) fn is_own_path(program: &str) -> bool {
    let dir = program.rsplit_once('/').map(|(dir, _)| dir);
    dir.is_some_and(|dir| !is_in(SYSTEM_DIRS, dir)) && env::own_program().all(|own| own != program)
}

pub(super) fn changes_names(builtin: &str) -> bool {
    is_in(RENAMING, builtin)
}

/// Whether a variable says which code a program runs.
pub(super) fn loads_code(variable: &str) -> bool {
    is_in(LOADING, variable)
        || variable.starts_with("GIT_")
        || variable.starts_with("BASH_")
        || test_tools::is_path_like(variable)
}

pub(super) fn is_plain_wrapper(name: &str) -> bool {
    is_in(PLAIN_WRAPPERS, name)
}

/// Whether options of git, before its verb and behind it, let it run something else.
pub(super) fn git_runs_more(own: &Args<'_>, verb: &str, of_verb: &Args<'_>) -> bool {
    own.options().any(|(name, _)| !is_in(GIT_PLACES, name))
        || of_verb.has(GIT_RUNS)
        || (verb == "rebase" && of_verb.has("x"))
}
