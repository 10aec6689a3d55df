use proptest::prelude::*;

use super::*;

#[track_caller]
fn check(text: &str, taken: &[&str], others: &[&str]) {
    let pattern = Pattern::parse(text).unwrap();
    for name in taken {
        assert!(pattern.matches(name), "`{text}` takes `{name}`");
    }
    for name in others {
        assert!(!pattern.matches(name), "`{text}` does not take `{name}`");
    }
}

#[test]
fn every_form_takes_what_it_says() {
    check(
        "note.md",
        &["note.md"],
        &["", "note.m", "note.mdx", "a/note.md"],
    );
    check("?.md", &["a.md", "..md"], &[".md", "ab.md", "/.md", "é.md"]);
    check(
        "*.md",
        &[".md", "a b.md"],
        &["a/b.md", "a.txt", "a\n.md", "\0.md"],
    );
    check("a*b*c", &["abc", "a-b-bc"], &["ab", "a/bc", "abcd"]);
    check("[a-c]x", &["ax", "cx"], &["dx", "-x", "x"]);
    check("[!a-c]x", &["dx", "/x"], &["ax", "x"]);
    check("[^]-]", &["a"], &["]", "-"]);
    check("[a-]", &["a", "-"], &["b"]);
    check("[+--]", &["+", ",", "-"], &["."]);
    check("[é]?", &["é"], &["e", "éa"]);
    check(
        "{a,b{c,?}}.md",
        &["a.md", "bc.md", "bd.md"],
        &["b.md", "ab.md"],
    );
    check("a{,b}{}", &["a", "ab"], &["b", "abb"]);
    check("{{},a}b", &["b", "ab"], &["a", "aab"]);
    check("run{,-[0-9]}.md", &["run.md", "run-2.md"], &["run-.md"]);
    check("a,b", &["a,b"], &["a", "b"]);
    check(r"\*\{\[\\", &[r"*{[\"], &["a", r"\*\{\[\\"]);
    check("**", &["", "a", "a/b"], &["a\rb"]);
    check("**/a", &["a", "x/a", "x/y/a", "/a"], &["xa", "a/x"]);
    check("a/**", &["a/", "a/b", "a/b/c"], &["a", "ab"]);
    check(
        "a/**/b",
        &["a/b", "a/x/b", "a/x/y/b"],
        &["ab", "a/xb", "ax/b"],
    );
    check("a**b", &["ab", "axb"], &["a/b"]);
    check(
        "x{**/a,b/**}",
        &["xa", "xy/a", "xb/", "xb/c", "xb/c/d"],
        &["xya", "xb"],
    );
    check("{**,b}", &["xy", "b"], &["x/y"]);
    check("a/**,b", &["a/x,b"], &["a/x/y,b"]);
    check(r"{a\,**/b}", &["a/b"], &["a,/b", "ab"]);
}

#[test]
fn what_is_no_glob_is_refused() {
    let long = "a".repeat(Pattern::MAX_BYTES + 1);
    for (text, problem) in [
        ("", "the glob is empty"),
        (" \t", "the glob is empty"),
        ("[a", "unclosed character class"),
        ("[z-a]", "invalid range"),
        ("{a", "unclosed alternate group"),
        ("a}", "unopened alternate group"),
        ("a\\", "dangling '\\'"),
        (&long, "`aaaaaaaaaaaaaaaa…` is longer than 1024 bytes"),
    ] {
        let error = Pattern::parse(text).unwrap_err();
        assert!(error.contains(problem), "`{text}`: {error}");
    }
}

/// With backtracking each would take longer than anyone waits.
#[test]
fn hostile_globs_and_deep_braces_end() {
    let name = "a".repeat(255);
    check(&("*a".repeat(500) + "b"), &[], &[&name]);
    check(&("{a,*a}".repeat(150) + "b"), &[], &[&name]);
    check(
        &("*{**/a,a}".repeat(100) + "b"),
        &[],
        &[&name.replace("aa", "a/")],
    );
    check(&("{".repeat(512) + &"}".repeat(512)), &[""], &[&name]);
}

#[test]
fn a_glob_without_shape_takes_everything() {
    for (text, is_shapeless) in [("*", true), ("**", true), ("{?*,x}", true), ("*.md", false)] {
        let pattern = Pattern::parse(text).unwrap();
        assert_eq!(pattern.matches_everything(), is_shapeless, "{text}");
    }
}

/// Pieces make globs likely; single characters reach what no piece says.
fn globs() -> impl Strategy<Value = String> {
    const PIECES: &[&str] = &[
        "**", "/**/", "**/", "/**", "[!a-b]", "[a-", "{a,", ",b}", "{**/", "{a\\,**", "{{}", "é",
    ];
    let piece = prop_oneof![
        2 => "[ab/.*?!^,{}\\[\\]\\\\-]",
        1 => prop::sample::select(PIECES).prop_map(str::to_owned),
    ];
    prop::collection::vec(piece, 1..10)
        .prop_map(|pieces| pieces.concat())
        .prop_filter("not a glob", |text| glob(text).is_ok())
        .prop_filter("a slash to globset", |text| {
            !(cfg!(windows) && text.contains('\\'))
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]
    #[test]
    fn what_is_simple_is_a_glob(
        text in "([^\\[{}\\\\]|[*/?!\\]-]|\\[[a-c]{0,2}(-[a-c!-]?){0,2}[a-c]?\\]){1,8}",
    ) {
        prop_assert!(!is_simple(&text) || glob(&text).is_ok());
    }

    #[test]
    fn a_name_matches_where_globset_says_so(
        text in globs(),
        names in prop::collection::vec("[ab/.,{é-]{0,6}", 24),
    ) {
        let pattern = Pattern::parse(&text).unwrap();
        #[expect(clippy::disallowed_methods, reason = "the matcher to be equal to")]
        let matcher = glob(&text).unwrap().compile_matcher();
        for name in names.iter().chain([&text]) {
            prop_assert_eq!(pattern.matches(name), matcher.is_match(name), "{} {}", text, name);
        }
    }
}

#[test]
fn a_directory_leads_to_the_names_below_it() {
    for (text, dirs, others) in [
        ("a/*.md", &["a"][..], &["b", "a/b", "", "a/x.md"][..]),
        ("a/**", &["a", "a/b"], &["b", "ab"]),
        ("**/x", &["a", "a/b"], &[]),
        ("{a,b/c}/*", &["a", "b", "b/c"], &["c", "a/x"]),
        ("*.md", &[], &["a", "a.md"]),
    ] {
        let pattern = Pattern::parse(text).unwrap();
        for dir in dirs {
            assert!(pattern.leads_below(dir), "`{text}` lies below `{dir}`");
        }
        for dir in others {
            assert!(!pattern.leads_below(dir), "`{text}` and `{dir}`");
        }
    }
}
