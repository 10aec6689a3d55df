//! Names and paths as settings write them: what no entry can be is an error.

use std::collections::BTreeMap;

use crate::base::actor::AgentName;
use crate::base::text::nearest;
use crate::contract::glob::{Pattern, branches};
use crate::formats::ordered::Ordered;
use crate::settings::file::Words;
use crate::settings::model::ROLES;

pub(crate) fn globs(
    key: &str,
    texts: &Option<Vec<String>>,
    sites: &[Pattern],
) -> Result<Vec<Pattern>, String> {
    let each = texts.iter().flatten();
    each.map(|text| glob(key, text, sites)).collect()
}

pub(crate) fn glob(key: &str, text: &str, sites: &[Pattern]) -> Result<Pattern, String> {
    for branch in branches(text) {
        if branch.is_empty() && !text.is_empty() {
            return Err(format!(
                "`{key}`: by an empty branch `{text}` is the site itself; leave that branch out"
            ));
        }
        check_name(key, &branch, sites)?;
    }
    Pattern::parse(text).map_err(|e| format!("`{key}`: {e}"))
}

/// Refuses a name that no entry can have, and says what to write.
fn check_name(key: &str, text: &str, sites: &[Pattern]) -> Result<(), String> {
    let plain = plain(text);
    let name = plain.trim_start_matches("./").trim_matches('/');
    let is_site = |dir: &str| {
        sites.iter().any(|site| {
            // What begins with a wildcard may be a directory of the site as well.
            !site.as_str().starts_with(['*', '?', '[', '{']) && site.matches(dir)
        })
    };
    let mut ends = name.rmatch_indices('/').map(|(at, _)| at);
    let site = ends.find(|end| is_site(&name[..*end]));
    let below = site.map_or(name, |end| &name[end + 1..]);
    let shown = text.escape_debug();
    if matches!(text, "." | "./" | "/") {
        return Err(format!(
            "`{key}`: `{shown}` is the site itself; name a file in it"
        ));
    }
    if is_site(name) || below != name && is_site(below) {
        let namesake = class(below);
        return Err(format!(
            "`{key}`: `{shown}` is the site itself; name a file in it, or write the glob `{namesake}` \
             for one that has the site's name"
        ));
    }
    if text.trim().is_empty() || below == text && has_plain_parts(text) {
        return Ok(());
    }
    if !has_plain_parts(below) {
        return Err(format!(
            "`{key}`: `{shown}` is not a relative path without `..`"
        ));
    }
    let or_dir = if text.ends_with('/') {
        ", and name directories in `subdirectories`"
    } else {
        ""
    };
    Err(format!(
        "`{key}`: no name is like `{shown}`: names are relative to the site; write `{below}`{or_dir}"
    ))
}

/// A glob that one name alone is like, and that is no name itself: `[n]otes`.
fn class(name: &str) -> String {
    let (dir, last) = name.rsplit_once('/').unwrap_or(("", name));
    let mut chars = last.chars();
    let first = chars.next().map(String::from).unwrap_or_default();
    let parts = [dir, if dir.is_empty() { "" } else { "/" }];
    format!("{}[{first}]{}", parts.concat(), chars.as_str())
}

/// A path as settings write it: without blanks around it, and with `/` between its parts.
fn plain(text: &str) -> String {
    text.trim().replace('\\', "/")
}

fn has_plain_parts(path: &str) -> bool {
    path.split('/').all(|part| !matches!(part, "" | "." | ".."))
}

pub(crate) fn names(
    key: &str,
    texts: &Option<Vec<String>>,
    sites: &[Pattern],
) -> Result<Vec<String>, String> {
    let each = texts.iter().flatten();
    each.map(|text| name(key, text, sites)).collect()
}

fn name(key: &str, text: &str, sites: &[Pattern]) -> Result<String, String> {
    if text.contains(['*', '?']) {
        return Err(format!(
            "`{key}`: `{text}` is no plain name; globs go into `extra_globs`"
        ));
    }
    let name = relative(key, text, Root::Refused)?;
    check_name(key, &name, sites)?;
    Ok(name)
}

/// Whether a path may be the root itself.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Root {
    Allowed,
    Refused,
}

/// A path below a root, without `./` in front and `/` behind.
pub(crate) fn relative(key: &str, text: &str, root: Root) -> Result<String, String> {
    let plain = plain(text);
    if plain != text && has_plain_parts(&plain) {
        let shown = text.escape_debug();
        return Err(format!(
            "`{key}`: no path is like `{shown}`; write `{plain}`"
        ));
    }
    let path = text.trim_end_matches('/');
    let path = if path == "." {
        ""
    } else {
        path.strip_prefix("./").unwrap_or(path)
    };
    let is_below = plain == text
        && has_plain_parts(path)
        && !path.starts_with('~')
        && !path.contains(['\0', '\n', '\r']);
    let is_root = path.is_empty() && text.starts_with('.');
    if is_below || is_root && root == Root::Allowed {
        return Ok(path.to_owned());
    }
    if is_root {
        return Err(format!(
            "`{key}`: `{text}` is the root itself, nothing below it"
        ));
    }
    Err(format!(
        "`{key}`: `{}` is not a relative path without `..`",
        text.escape_debug()
    ))
}

/// Names of programs, without directories, and of tools of MCP servers.
pub(super) fn programs(names: &Option<Vec<String>>) -> Result<Vec<String>, String> {
    for name in names.iter().flatten() {
        check_program(name).map_err(|why| format!("`programs`: `{name}` {why}"))?;
    }
    Ok(names.clone().unwrap_or_default())
}

fn check_program(name: &str) -> Result<(), String> {
    if let Some(of_server) = name.strip_prefix("mcp__") {
        let (server, tool) = of_server.split_once("__").unwrap_or((of_server, ""));
        if server.is_empty() || server.contains('*') {
            return Err("names no server; write `mcp__SERVER__*`".to_owned());
        }
        if tool.is_empty() {
            return Err(format!("names no tool; write `mcp__{server}__*`"));
        }
    } else if name.contains('*') {
        return Err("is no name of a program; only tools take `*`: `mcp__SERVER__*`".to_owned());
    }
    if name.is_empty() || name.contains(['/', ' ']) {
        return Err("is no name of a program; leave directories and arguments out".to_owned());
    }
    Ok(())
}

/// Words for directories, each with its glob.
pub(super) fn aliases(file: &Option<Ordered<String>>) -> Result<Vec<(String, String)>, String> {
    let mut aliases = Vec::new();
    for (name, dir) in file.iter().flat_map(|aliases| &aliases.0) {
        let mut chars = name.chars();
        if name.is_empty() || !chars.all(|c| c.is_ascii_alphanumeric() || "_-".contains(c)) {
            return Err(format!(
                "`aliases`: `{name}` is no word of letters, digits, `_` and `-`; leave signs such as `$` out"
            ));
        }
        aliases.push((name.clone(), relative("aliases", dir, Root::Refused)?));
    }
    Ok(aliases)
}

/// Reads `agent: role` as well as `role: [agents]`.
pub(super) fn roles(file: &BTreeMap<String, Words>) -> Result<BTreeMap<String, String>, String> {
    let mut roles = BTreeMap::new();
    for (key, Words(values)) in file {
        let mut map = |agent: &str, role: &str| {
            roles.insert(AgentName::parse(agent).as_str().to_owned(), role.to_owned())
        };
        match values.as_slice() {
            [role] if ROLES.contains(&role.as_str()) => {
                map(key, role);
            }
            agents if ROLES.contains(&key.as_str()) => {
                for agent in agents {
                    map(agent, key);
                }
            }
            others => {
                let words = match others {
                    [value] => [value, key],
                    _ => [key, key],
                };
                let near = |word: &String| Some((word.clone(), nearest(word, ROLES)?));
                let (word, near) = (words.into_iter().find_map(near))
                    .unwrap_or_else(|| (words[0].clone(), "developer"));
                let known = ROLES.join(", ");
                return Err(format!(
                    "`roles.{key}`: `{word}` is not a role ({known}); did you mean `{near}`?"
                ));
            }
        }
    }
    Ok(roles)
}
