//! The script in which a client runs the command of a call: `source SNAPSHOT … && eval 'COMMAND'
//! < /dev/null && pwd -P >| FILE`.

use super::parse;
use super::syntax::{Command, Kind, Pipeline, Word};

/// The command that the last statement of a script hands to `eval`, with nothing but `pwd`
/// behind it; `None` in a script of another form.
pub(super) fn evaluated(script: &str) -> Option<String> {
    let (list, fault) = parse::statements(script, 0);
    if fault.is_some() {
        return None;
    }
    let last = list.last()?;
    let behind = last.rest.iter().map(|(_, pipeline)| pipeline);
    let mut pipelines = std::iter::once(&last.first).chain(behind).rev();
    match words(pipelines.find(|pipeline| !is_pwd(pipeline))?)? {
        words @ [_, command] if is_run(words, "eval") => command.literal(),
        _ => None,
    }
}

fn is_pwd(pipeline: &Pipeline) -> bool {
    words(pipeline).is_some_and(|words| is_run(words, "pwd"))
}

/// The words of a pipeline that is one simple command.
fn words(pipeline: &Pipeline) -> Option<&[Word]> {
    match pipeline.commands.as_slice() {
        [
            Command {
                kind: Kind::Simple(simple),
                ..
            },
        ] if simple.assignments.is_empty() => Some(&simple.words),
        _ => None,
    }
}

/// Whether words begin with the name of a command.
fn is_run(words: &[Word], name: &str) -> bool {
    words.first().and_then(Word::literal).as_deref() == Some(name)
}

#[cfg(test)]
mod tests {
    use super::evaluated;

    #[test]
    fn the_command_is_what_is_evaluated_last() {
        // As 2.1.332 and 2.1.250 write it.
        let client = |command: &str| {
            format!(
                "source /h/.claude/shell-snapshots/s.sh 2>/dev/null || true && [ -x /b/s ] && echo\n\
                 export A=b\n: && \\builtin shopt -u extglob 2>/dev/null || true && \
                 {{ \\builtin unalias -- 'which'; }} >/dev/null 2>&1 || true && \
                 eval {command} < /dev/null && pwd -P >| /tmp/claude-1-cwd"
            )
        };
        for (script, command) in [
            (client("'make test'"), Some("make test")),
            (
                client("'echo '\"'\"'a b'\"'\"'\nls'"),
                Some("echo 'a b'\nls"),
            ),
            ("source s && eval 'ls'".to_owned(), Some("ls")),
            (client("\"$X\""), None),
            (client("ls; python3 x.py"), None),
            ("eval 'ls'; python3 x.py".to_owned(), None),
            ("eval 'ls' | python3 x.py".to_owned(), None),
            ("python3 x.py && pwd".to_owned(), None),
            ("make".to_owned(), None),
        ] {
            assert_eq!(evaluated(&script).as_deref(), command, "{script}");
        }
    }
}
