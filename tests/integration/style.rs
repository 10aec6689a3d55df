//! Habits that make code hard to read, counted for each layer of `src`.
//!
//! `tests/integration/style.txt` holds what each layer has of each. More is a failure, and so is
//! less, until the file says so: `STYLE=overwrite cargo test --test integration style::` lowers
//! the figures, and never raises one. Rows go when a layer reaches the goals.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use regex::Regex;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, Block, Expr, Item, ItemFn, Lit, Local, Pat, Stmt};

/// The words of the columns, in their order.
const HABITS: [(&str, &str); 6] = [
    (
        "closures",
        "a closure with a name that is used once: inline it, or make it a function",
    ),
    ("bools", "a match on a bool: write `if`"),
    (
        "rebound",
        "a name bound anew from itself: give the new value a name",
    ),
    (
        "filters",
        "a filter that ignores its argument: write `if` or `then`",
    ),
    ("long", "a function of more than 50 lines"),
    (
        "dialect",
        "a comment with a word of the old dialect: see CONTRIBUTING.md",
    ),
];
const LONGEST: usize = 50;
/// The type names that are in more than three places, and in how many at most. `Args` and
/// `Error` say what they are everywhere.
const REPEATED: [(&str, usize); 4] = [("Entry", 8), ("Place", 5), ("Step", 4), ("Value", 7)];
const FIGURES: &str = "tests/integration/style.txt";

type Counts = BTreeMap<String, [usize; HABITS.len()]>;

/// What one file has of each habit, as `path:line`.
#[derive(Default)]
struct Places {
    found: [Vec<usize>; HABITS.len()],
    /// The lines with code: neither blank nor comment.
    code: Vec<bool>,
}

impl Places {
    fn add(&mut self, habit: &str, spanned: &impl Spanned) {
        let line = spanned.span().start().line;
        self.add_line(habit, line);
    }

    fn add_line(&mut self, habit: &str, line: usize) {
        let column = HABITS.iter().position(|(name, _)| *name == habit).unwrap();
        self.found[column].push(line);
    }

    fn check_length(&mut self, signature: &impl Spanned, block: &Block) {
        let (first, last) = (signature.span().start().line, block.span().end().line);
        let lines = self.code[first - 1..last].iter().filter(|code| **code);
        if lines.count() > LONGEST {
            self.add("long", signature);
        }
    }
}

/// Whether an attribute keeps an item out of the program: `#[cfg(test)]`, `#[cfg(all(test, …))]`.
fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.meta.require_list().is_ok_and(|list| {
                let condition = list.tokens.to_string();
                condition == "test"
                    || condition.starts_with("all (test")
                    || condition.starts_with("all(test")
            })
    })
}

/// How often a name is used in some statements.
struct Uses<'a> {
    name: &'a syn::Ident,
    count: usize,
}

impl<'ast> Visit<'ast> for Uses<'_> {
    fn visit_ident(&mut self, ident: &'ast syn::Ident) {
        self.count += usize::from(ident == self.name);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.count += count_in(call.tokens.clone(), self.name);
    }
}

fn count_in(tokens: proc_macro2::TokenStream, name: &syn::Ident) -> usize {
    let tokens = tokens.into_iter().map(|token| match token {
        proc_macro2::TokenTree::Group(group) => count_in(group.stream(), name),
        proc_macro2::TokenTree::Ident(ident) => usize::from(ident == *name),
        _ => 0,
    });
    tokens.sum()
}

/// The name that `let` binds, if it binds just one.
fn bound(local: &Local) -> Option<&syn::Ident> {
    let pattern = match &local.pat {
        Pat::Type(typed) => &*typed.pat,
        pattern => pattern,
    };
    match pattern {
        Pat::Ident(ident) => Some(&ident.ident),
        _ => None,
    }
}

/// The value on the left of a chain of calls and fields: `x` of `x.a().b`.
fn head(expression: &Expr) -> Option<&syn::Ident> {
    match expression {
        Expr::MethodCall(call) => head(&call.receiver),
        Expr::Field(field) => head(&field.base),
        Expr::Try(tried) => head(&tried.expr),
        Expr::Path(path) => path.path.get_ident(),
        _ => None,
    }
}

fn is_bool(pattern: &Pat) -> bool {
    matches!(pattern, Pat::Lit(literal) if matches!(literal.lit, Lit::Bool(_)))
}

impl<'ast> Visit<'ast> for Places {
    fn visit_item(&mut self, item: &'ast Item) {
        let attributes = match item {
            Item::Mod(item) => &item.attrs,
            Item::Fn(item) => &item.attrs,
            Item::Impl(item) => &item.attrs,
            Item::Use(item) => &item.attrs,
            _ => return visit::visit_item(self, item),
        };
        if !is_test(attributes) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        self.check_length(&item.sig, &item.block);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.check_length(&item.sig, &item.block);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_block(&mut self, block: &'ast Block) {
        for (index, statement) in block.stmts.iter().enumerate() {
            let Stmt::Local(local) = statement else {
                continue;
            };
            let (Some(name), Some(init)) = (bound(local), &local.init) else {
                continue;
            };
            if matches!(*init.expr, Expr::Closure(_)) {
                let mut uses = Uses { name, count: 0 };
                block.stmts[index + 1..]
                    .iter()
                    .for_each(|statement| uses.visit_stmt(statement));
                if uses.count <= 1 {
                    self.add("closures", local);
                }
            }
            if head(&init.expr) == Some(name) {
                self.add("rebound", local);
            }
        }
        visit::visit_block(self, block);
    }

    fn visit_expr_match(&mut self, matched: &'ast syn::ExprMatch) {
        if matched.arms.iter().any(|arm| is_bool(&arm.pat)) {
            self.add("bools", matched);
        }
        visit::visit_expr_match(self, matched);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        let filters = ["filter", "map_while", "take_while"];
        let ignores = |argument: &Expr| {
            matches!(argument, Expr::Closure(closure)
                if closure.inputs.iter().all(|input| matches!(input, Pat::Wild(_))
                    || matches!(input, Pat::Ident(ident) if ident.ident.to_string().starts_with('_'))))
        };
        if filters.iter().any(|name| call.method == name) && call.args.iter().any(ignores) {
            self.add("filters", &call.method);
        }
        visit::visit_expr_method_call(self, call);
    }
}

/// The files of `src` that are part of the program, with their text.
fn sources(dir: &Path, found: &mut Vec<(String, String)>) {
    let declared = Regex::new(
        r"#\[cfg\((?:all\()?test\b[^\]]*\]\s*(?:#\[[^\]]*\]\s*)*(?:pub(?:\([^)]*\))? )?mod (\w+);",
    )
    .unwrap();
    let mut tests: Vec<String> = vec!["tests".to_owned()];
    // The files that declare the modules of a directory: the one beside it, or a crate's root.
    for file in [dir.with_extension("rs"), dir.join("lib.rs")] {
        let text = fs::read_to_string(file).unwrap_or_default();
        let names = declared.captures_iter(&text).map(|name| name[1].to_owned());
        tests.extend(names);
    }
    let mut entries: Vec<_> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    entries.sort();
    for path in entries {
        let stem = path.file_stem().unwrap().to_str().unwrap();
        if tests.iter().any(|test| test == stem) {
            continue;
        }
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            found.push((path.to_str().unwrap().replace('\\', "/"), text));
        }
    }
}

fn is_code(line: &str) -> bool {
    let line = line.trim_start();
    !line.is_empty() && !line.starts_with("//")
}

fn places(text: &str) -> Places {
    let dialect =
        Regex::new(r"^\s*//.*\b(stands?|lies|told|tells|untold|meant|nobody|hears?|wants)\b")
            .unwrap();
    let mut places = Places {
        code: text.lines().map(is_code).collect(),
        ..Places::default()
    };
    for (index, line) in text.lines().enumerate() {
        if dialect.is_match(line) {
            places.add_line("dialect", index + 1);
        }
    }
    places.visit_file(&syn::parse_file(text).unwrap());
    places
}

fn read_figures(text: &str) -> Counts {
    let rows = text.lines().filter(|line| !line.starts_with('#'));
    let rows = rows.map(|row| {
        let mut words = row.split_whitespace();
        let layer = words.next().unwrap().to_owned();
        let figures: Vec<usize> = words.map(|word| word.parse().unwrap()).collect();
        (layer, figures.try_into().unwrap())
    });
    rows.collect()
}

fn write_figures(counts: &Counts) -> String {
    let mut text =
        String::from("# At most so many in each layer; a layer without a row has none.\n");
    text.push_str("# layer   ");
    HABITS
        .iter()
        .for_each(|(name, _)| write!(text, "{name:>9}").unwrap());
    text.push('\n');
    for (layer, figures) in counts {
        write!(text, "{layer:10}").unwrap();
        figures
            .iter()
            .for_each(|figure| write!(text, "{figure:9}").unwrap());
        text.push('\n');
    }
    text
}

#[test]
fn no_layer_takes_up_a_habit() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (mut files, mut lines) = (Vec::new(), BTreeMap::<_, Vec<String>>::new());
    sources(&root.join("src"), &mut files);
    let mut counts = Counts::new();
    for (path, text) in files {
        let below = path.split("/src/").last().unwrap();
        let layer = below.split(['/', '.']).next().unwrap();
        for (column, found) in places(&text).found.iter().enumerate() {
            counts.entry(layer.to_owned()).or_default()[column] += found.len();
            let shown = found.iter().map(|line| format!("src/{below}:{line}"));
            lines
                .entry((layer.to_owned(), column))
                .or_default()
                .extend(shown);
        }
    }
    counts.retain(|_, figures| figures.iter().any(|figure| *figure > 0));

    let kept = fs::read_to_string(root.join(FIGURES)).unwrap();
    let allowed = read_figures(&kept);
    let mut more = String::new();
    for (layer, figures) in &counts {
        let limits = allowed.get(layer).copied().unwrap_or_default();
        for (column, (name, advice)) in HABITS.iter().enumerate() {
            if figures[column] > limits[column] {
                let found = lines[&(layer.clone(), column)].join("\n  ");
                let (has, may) = (figures[column], limits[column]);
                writeln!(
                    more,
                    "{layer} has {has} of `{name}`, {may} are allowed: {advice}\n  {found}"
                )
                .unwrap();
            }
        }
    }
    assert!(more.is_empty(), "\n{more}");
    if std::env::var_os("STYLE").is_some_and(|mode| mode == "overwrite") {
        fs::write(root.join(FIGURES), write_figures(&counts)).unwrap();
        return;
    }
    assert!(
        kept == write_figures(&counts),
        "fewer than {FIGURES} says: lower it with `STYLE=overwrite cargo test --test integration style::`"
    );
}

#[test]
fn a_type_name_says_what_it_is() {
    let mut files = Vec::new();
    sources(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("src"),
        &mut files,
    );
    let mut types = BTreeMap::<String, Vec<String>>::new();
    for (path, text) in files {
        let declared = syn::parse_file(&text).unwrap();
        for name in declared.items.iter().filter_map(type_name) {
            types
                .entry(name.to_string())
                .or_default()
                .push(path.clone());
        }
    }
    types.retain(|name, places| {
        let known = REPEATED.iter().find(|(known, _)| known == name);
        let limit = known.map_or(3, |(_, limit)| *limit);
        places.len() > limit && !matches!(name.as_str(), "Args" | "Error")
    });
    assert!(types.is_empty(), "in too many places: {types:#?}");
}

fn type_name(item: &Item) -> Option<&syn::Ident> {
    match item {
        Item::Struct(item) if !is_test(&item.attrs) => Some(&item.ident),
        Item::Enum(item) if !is_test(&item.attrs) => Some(&item.ident),
        Item::Type(item) if !is_test(&item.attrs) => Some(&item.ident),
        Item::Trait(item) if !is_test(&item.attrs) => Some(&item.ident),
        _ => None,
    }
}

#[test]
fn each_habit_is_seen() {
    let text = "\
fn f(x: Option<u8>, flag: bool) {
    let once = |n: u8| n + 1;
    let twice = |n: u8| n + once(n);
    let x = x.map(twice);
    let y = x.map(twice).filter(|_| flag);
    // What it is told.
    match flag {
        true => (),
        false => (),
    }
    println!(\"{y:?}\");
}
#[cfg(test)]
mod unit {
    fn f(x: u8) { let x = x.into(); }
}
";
    let found = places(text).found;
    let lines = found.iter().map(|found| found.as_slice());
    let expected: [&[usize]; HABITS.len()] = [&[2], &[7], &[4], &[5], &[], &[6]];
    assert!(lines.eq(expected), "{found:?}");
    let long = format!("fn f() {{\n{}}}\n", "    g();\n".repeat(LONGEST));
    assert_eq!(places(&long).found[4], [1]);
}
