//! Commands made to exhaust time, memory or the stack: the analysis ends, and
//! what stood before them is still found.

use std::sync::LazyLock;

use super::{Limit, Scene, analyze, analyze_powershell};
use crate::base::disk::cache::Disk;
use crate::base::env::Env;

struct Crowded;

impl Disk for Crowded {
    fn entries(&self, _dir: &str) -> Vec<String> {
        (0..50).map(|n| format!("{}{n}", "a".repeat(60))).collect()
    }

    fn is_dir(&self, _path: &str) -> bool {
        true
    }

    fn text(&self, _path: &str) -> Option<String> {
        None
    }
}

const SMALL: usize = 4 << 10;
const LARGE: usize = 256 << 10;

/// Fragments that are repeated up to the size.
const REPEATED: &[&str] = &[
    "(",
    ")",
    "((",
    "{ ",
    "}",
    "$(",
    "\"$(",
    "`",
    "\\`",
    "$((",
    "$((a=",
    "$((1?",
    "$((a=1+a,",
    "touch $((a+=1))\n",
    "for ((i=0;i<9;i++)); do touch $i; ",
    "for ((;;)); do for ((;;)); do :; done; done\n",
    "mktemp\n",
    "declare -n a=b; b=$a; ",
    "alias a='a b'; a\n",
    "alias a='b b'; alias b='a a'; a\n",
    "sh <(echo ",
    "cat <(echo a); ",
    "base64 -d <<< YWFh | ",
    "make -f - <<< '",
    "parallel a ::: ",
    "git clean -fd -e a\n",
    "$((a) ",
    "((a) ",
    "${",
    "${x:-",
    "${x/",
    "{a,b}",
    "{a,",
    "{",
    "{{a,b},",
    "{1..99999}",
    "<<a ",
    "<<a\n",
    "<<<",
    "<(",
    ">(",
    "case x in ",
    "case x in a) ",
    "if ",
    "if a; then ",
    "for i in a b c; do ",
    "while a; do ",
    "f() { ",
    "f() { f; f; }; f; ",
    "eval ",
    "eval 'eval ",
    "sh -c \"",
    "a=(",
    "[[ ",
    "$'\\x",
    "$'",
    "'",
    "\"",
    "\\",
    "#",
    "# ",
    ";",
    "&",
    "|",
    "a | ",
    "a && ",
    "! ",
    "time ",
    "x=\"$x$x\"; ",
    "x=aaaa$x$x; touch $x\n",
    "x=${x//a/aaaa}; ",
    "x=a${x%%*a*}$x; ",
    "touch a\n",
    "touch \\\n",
    "ln -s a b; touch b/c\n",
    "cd a; touch b\n",
    "touch *\n",
    "*",
    "?*",
    "[a",
    "rm */*/*/*; ",
    "for i in * *; do for j in * *; do touch $i$j; done; done\n",
    "f() { g; g; }; g() { f; f; }; f\n",
    "set -- a a a; shift; ",
    "a+=(b); ",
    "xargs sh -c ",
    "echo a | ",
    "sudo ",
    "env -S ",
    "find . -exec ",
    "find . -name '*' -exec touch {} \\;\n",
    "sed -i s/a/b/ ",
    "sed 's/",
    "awk '{ print > ",
    "python3 -c '",
    "trap '",
    "1",
    "$x",
    "$x/",
    "~",
    "~/",
    "é",
    "\u{10FFFF}",
    "\0",
    "\r\n",
    "\t",
    "alias a=b; ",
    "if a; then x=1; fi; ",
    "case $a in a) x=1;; b) y=2;; c) z=3;; esac; touch $x\n",
    "cd a || cd b; ",
    "{0..9} $(cd a || cd b; ",
    "coproc ",
    "select x in a; do ",
    "until a; do ",
    "function f { ",
    "}; ",
    "done; ",
    "@'\n",
    "@\"\n",
    "[a;",
    "[a]$x;",
    "echo \"$(cat <<'E'\n",
    "cat <<E\n$(cat <<E\n",
    "${x[",
    "${!x",
    "${#",
    "$[",
    "@(",
    "x!(",
    "a(",
];

/// Fragments of scripts, fed to an interpreter.
const SCRIPTED: &[&str] = &[
    "(",
    "[",
    "{",
    "open(",
    "open('a','w')\n",
    "Path('a')/",
    "a = a + a\n",
    "a = f'{a}{a}'\n",
    "for a in [a, 'b']:\n",
    "'",
    "\"\"\"",
    "/*",
    "#",
    "os.path.join(",
    "x.y.",
    "a = ['b', a]\n",
    "[os.remove(p) for p in ",
    "os.system('sh -c ls')\n",
    "Path('.').glob('*')\n",
    "f'{",
    "\\",
    "unlink 'a', ",
    "a = ",
    "print > \"a\" ",
    "def f(a):\n",
    "def f(a): return f(f(a))\n",
    "def f(a): g(a); g(a)\ndef g(a): h(a); h(a)\ndef h(a): f(a); f(a)\nf('a')\n",
    "f(f('a', *a), *a)\ndef f(*a): open(a, 'w')\n",
    "function f(a, b) { f(a, b); ",
    "f = (a) => f(a, f(a));\n",
    "sub f { f(shift); @_ } ",
    "def f(a) f(a) end\n",
    "f = lambda a: ",
    "a, b = b, a\n",
    "a = '{0}{0}{0}'.format(a)\n",
    "a = '%s%s' % (a, a)\n",
    "a = a + [a]\n",
    "a += a\n",
    "shift @ARGV; ",
    "\"$x[",
    "`${`${",
    "os.environ['",
    "a = sys.argv[1:",
    "a if a else ",
    "a or ",
    "{'a': ",
    "for a, b in [('a', ",
    "my ($a, ",
    "for a, b in {'a': 'b'}.items():\n",
    "for a, (b, c) in enumerate(zip(a, [",
    "for i in range(99999999):\n",
    "for (let i = 0; i < 99999999; i++) a = `${a}${i}`;\n",
    "Object.entries({a: ",
    "for (const {a, b} of [{a, b}, ",
    "%w[a b ",
    "for (keys %h) { ",
    "a['b'] = a\n",
    "a = {'b': a}; a['b']['b']\n",
    "a['b']['b']",
    "a.append(a)\n",
    "self.a = self.a + self.a\n",
    "class A:\n def __init__(self, a): self.a = A(a)\nA('a')\n",
    "(a := ",
    "exec('exec(",
    "eval q(",
    "a = a.replace('a', 'aaaaaaaa')\n",
    "import a as b, b as a\n",
    "subprocess.run('ls', cwd='a')\n",
];

fn filled(head: &str, fragment: &str, size: usize) -> String {
    let mut text = head.to_owned();
    while text.len() + fragment.len() <= size {
        text.push_str(fragment);
    }
    text
}

static ENV: LazyLock<Env> = LazyLock::new(Env::default);

fn scene() -> Scene<'static> {
    Scene {
        cwd: "/p",
        env: &ENV,
        disk: &Crowded,
    }
}

#[track_caller]
fn check(command: &str, shown: &str) -> Option<Limit> {
    let found = analyze(command, &scene());
    let mut paths = found.targets.iter().map(|target| target.path.as_str());
    assert!(paths.any(|path| path == "/p/first"), "{shown}");
    analyze_powershell(command, &scene());
    found.limit
}

/// Whether the command is kept as text or made into a tree.
#[test]
fn a_long_word_in_loops_is_not_copied_in_every_turn() {
    let long = "x".repeat(5 * SMALL);
    for word in [long.clone(), format!("\"$(true)\"{long}")] {
        let body = format!("echo $a$b {word}\n");
        let names: String = (0..90).map(|n| format!(" n{n}")).collect();
        let command = format!("for a in{names}; do for b in{names}; do > $a-$b; {body}done; done");
        let found = analyze(&command, &scene());
        assert_eq!(found.limit, Some(Limit::Steps));
        assert!(found.targets.len() < 1000, "{}", found.targets.len());
    }
}

#[test]
fn every_command_comes_to_an_end() {
    for fragment in REPEATED {
        check(&filled("touch first\n", fragment, SMALL), fragment);
    }
}

/// One of each kind: nesting, expansion, growing values, many targets, ends that are not there.
#[test]
fn large_commands_come_to_an_end() {
    let kinds = ["$(", "{a,b}", "x=\"$x$x\"; ", "cd a; touch b\n"];
    for fragment in kinds {
        check(&filled("touch first\n", fragment, LARGE), fragment);
    }
    for fragment in ["/[", "/\\"] {
        check(
            &filled("touch first\nnode - <<'END'\n", fragment, LARGE),
            fragment,
        );
    }
}

#[test]
fn every_script_comes_to_an_end() {
    for interpreter in ["python3", "node", "ruby", "perl"] {
        for fragment in SCRIPTED {
            let head = format!("touch first\n{interpreter} - a b <<'END'\n");
            check(&filled(&head, fragment, SMALL), fragment);
        }
    }
}

/// What nests deeper than a stack may be is not read.
#[test]
fn deep_nesting_is_said() {
    for (open, close) in [
        ("( ", ")"),
        ("{ ", "; }"),
        ("$(", ")"),
        ("\"$(", ")\""),
        ("echo <(", ")"),
        ("${x:-", "}"),
        ("if a; then ", "; fi"),
        ("while a; do ", "; done"),
        ("for i in a; do ", "; done"),
        ("case a in a) ", ";; esac"),
        ("f() { ", "; }; f"),
        ("eval ", ""),
        ("sudo ", ""),
    ] {
        let (opens, closes) = (open.repeat(60), close.repeat(60));
        let command = format!("touch first\n{opens}touch last{closes}");
        assert_eq!(check(&command, open), Some(Limit::Depth), "{open}");
    }
}

#[test]
fn what_stays_unread_is_said() {
    let before = |command: &str| format!("touch first\n{command}");
    let many = |n: usize, line: &str| before(&line.repeat(n));
    let words = "a b c d e f ".repeat(100);
    let depth = Some(Limit::Depth);
    let steps = Some(Limit::Steps);
    for (command, extent) in [
        (before("f() { f; }; f"), None),
        (before("f() { g; g; }; g() { f; f; }; f"), None),
        (
            before(&format!(
                "cat > a <<E\n{}E\npython3 a",
                "os.system('python3 a')\n".repeat(3)
            )),
            depth,
        ),
        (before(&format!("touch {}", "{a,b}".repeat(40))), steps),
        (
            before(&format!(
                "for i in {words}; do for j in {words}; do for k in {words}; do touch $i; done; done; done"
            )),
            steps,
        ),
        (
            before(&format!(
                "x=aaaaaaaa; for i in {words}; do x=$x$x; done; touch $x"
            )),
            steps,
        ),
        (many(5_000, "touch zzz*\n"), steps),
        (many(60, &format!("touch {}b\n", "*a".repeat(500))), steps),
        (before("find . -name x -delete"), steps),
        (
            before(&format!("for i in {words}; do touch a b; touch c; done")),
            None,
        ),
        (before("while true; do touch a; done"), None),
        (before("alias a=b b=a; a"), None),
        (before(&format!("touch {}", "x".repeat(1 << 20))), None),
        (before(&format!("echo '{}'", "x ".repeat(1 << 19))), None),
        (many(10_000, "cat > a <<E\nx\nE\n"), None),
        (before(&"cat <<E ".repeat(10_000)), None),
        (many(20_000, "touch a b c\n"), None),
        (many(20_000, "cd x; cd ..\n"), None),
        (many(2_000, "[ -n \"$x\" ] && y=a\n"), None),
        (many(2_000, "if [ -d x ]; then y=a; fi\n"), None),
        (many(2_000, "[ -d x ] && cd a\n"), None),
    ] {
        let shown = command.get(..60).unwrap_or(&command);
        assert_eq!(check(&command, shown), extent, "{shown}");
    }
}
