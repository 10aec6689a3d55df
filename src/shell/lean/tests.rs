//! What lean commands come to is what trees of them come to.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use crate::base::disk::cache::Disk;
use crate::base::target::Target;
use crate::shell::{Extent, Scene, analyze};

struct Plain;

impl Disk for Plain {
    fn entries(&self, _dir: &str) -> Vec<String> {
        ["a", "b c", "d"].map(str::to_owned).to_vec()
    }

    fn is_dir(&self, path: &str) -> bool {
        path.ends_with("/d")
    }

    fn text(&self, _path: &str) -> Option<String> {
        None
    }
}

#[rustfmt::skip]
const BEFORE: &[&str] = &[
    "v=a", "v='a b'", "v='*'", "v=", "v=~", "v='x;y'", "w=d/b", "w=$v", "v+=c", "v=(a 'b c')",
    "v=()", "v=$(date)", "unset v", "IFS=/", "IFS=,; w=a,b", "declare -n v=w; w=c", "export v=e",
    "set -- p 'q r'", "cd d", "f() { touch \"$1\"; }", "alias f=rm",
];

#[rustfmt::skip]
const NAMES: &[&str] = &[
    "touch", "touch", "touch", "rm", "mkdir", "cp", "mv", "ln -s", "tee", "echo", "cd", "f",
    "\"touch\"", "t'ou'ch", "$v", "\"$v\"", "sh -c", "eval", "export", "set --", "x=1 touch", "!",
    "/bin/touch", "time touch", "coproc touch", "a=b", "2", "test -e", "touch -- a",
];

#[rustfmt::skip]
const PIECES: &[&str] = &[
    "a", "b.c", "d/", "2", "12", "'s q'", "\"d q\"", "''", "\"\"", "$v", "$w", "\"$v\"", "\"$v$w\"",
    "\"x$v/y\"", "$u", "\"$u\"", "$v_", "=", "a=b", "!a", "}", "a#", "''#", "-f", "é", "\r", "'\n'", "\"'#\"",
    "'\"'", "$1", "\"$@\"", "$_", "\"$\"", "~", "*", "{a,b}", "[", "\\ ", "${v}", "$(echo g)",
];

#[rustfmt::skip]
const BETWEEN: &[&str] = &[
    " ", " ", " ", " ", "", "", "  ", "\t", " \t", ">", " >", " > ", ">>", " >>", " >\t", " 2>",
    " 1>", " 2>> ", " >&1 ", " 2>&1 ", " >&2 ", " >&1", " >&", " &> ", " >| ", " <", " > >", " >! ",
];

#[rustfmt::skip]
const ENDS: &[&str] = &[
    "\n", "\n", "; ", ";", " && ", "&&", " || ", " | ", "|", " & ", "&", " # it's\n", "\n\n", " |& ",
];

const AROUND: &[(&str, &str)] = &[
    ("", ""),
    ("", ""),
    ("{ ", "\n}"),
    ("(", ")"),
    ("f() {\n", "\n}; f a 'b c'"),
    ("v=$(", ")"),
    ("if ", "\nthen touch g; fi"),
    ("if :; then ", "\nelse rm h; fi"),
    ("for v in a 'b c' $w; do ", "\ndone"),
    ("while read v w; do ", "\ndone <<< 'a b'"),
    ("while ", "\ndo touch g; done"),
    ("case $v in a) ", ";; *) touch g; esac"),
];

/// Ways to write a command, all of which do the same.
#[derive(Clone, Copy)]
enum Way {
    Lean,
    /// The line goes on behind it.
    Tree,
    /// Each word ends with what prints nothing.
    Expanded,
}

#[derive(Clone, Debug)]
struct Written {
    name: &'static str,
    words: Vec<(&'static str, &'static str)>,
    end: &'static str,
}

impl Written {
    fn put(&self, way: Way, script: &mut String) {
        script.push_str(self.name);
        for (n, (between, piece)) in self.words.iter().enumerate() {
            script.extend([*between, *piece]);
            let ends_word = self
                .words
                .get(n + 1)
                .is_none_or(|(between, _)| !between.is_empty());
            let is_number = piece.bytes().all(|byte| byte.is_ascii_digit());
            if matches!(way, Way::Expanded) && ends_word && !is_number {
                script.push_str("$()");
            }
        }
        if matches!(way, Way::Tree) {
            script.push_str(" \\\n");
        }
    }
}

fn command() -> impl Strategy<Value = Written> {
    let words = vec((select(BETWEEN), select(PIECES)), 0..5);
    let parts = (select(NAMES), words, select(ENDS));
    parts.prop_map(|(name, words, end)| Written { name, words, end })
}

fn analyse(script: &str) -> (Vec<Target>, Extent) {
    let scene = Scene {
        cwd: "/p",
        home: Some("/home/u"),
        project_dir: None,
        config_dir: None,
        feature_dir: None,
        disk: &Plain,
    };
    let found = analyze(script, &scene);
    (found.targets, found.extent)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn a_lean_command_changes_what_its_tree_does(
        before in vec(select(BEFORE), 0..4),
        (open, close) in select(AROUND),
        commands in vec(command(), 1..4),
        behind in command(),
    ) {
        let changes = |way| {
            let mut script = before.join("\n") + "\n" + open;
            for command in &commands {
                command.put(way, &mut script);
                script.push_str(command.end);
            }
            script.extend([close, "\n"]);
            behind.put(way, &mut script);
            (analyse(&script), script)
        };
        let (lean, script) = changes(Way::Lean);
        // Behind `!` it is a word of the grammar, and with an expansion at its end it is none.
        prop_assume!(!script.contains("[["));
        for way in [Way::Tree, Way::Expanded] {
            prop_assert_eq!(&lean, &changes(way).0, "{}", script);
        }
    }
}
